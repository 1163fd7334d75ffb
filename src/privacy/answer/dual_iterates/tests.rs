//! theta(s) inside the room: near the minimiser, insensitive, and released as planned.

use ndarray::Array2;

use super::*;
use crate::accounting::event::Adjacency;
use crate::exact::selection::Shape;
use crate::loss::Logistic;
use crate::privacy::{Bounds, Geometry, Schema, Target};

fn facts(n: usize, p: usize, ridge: f64, adjacency: Adjacency) -> MinimiserFacts {
    MinimiserFacts {
        lipschitz: 1.0,
        smoothness: 0.25,
        rows: (p as f64).sqrt(),
        ridge,
        alpha: 0.0,
        prox_error: 0.0,
        n_samples: n,
        columns: p,
        adjacency,
        records_per_person: 1,
    }
}

fn schema(p: usize) -> Schema {
    let bounds = Bounds {
        lower: vec![-1.0],
        upper: vec![1.0],
    };
    Schema::new(p, bounds, Geometry::Uncentred, Target::Classes, false, None).unwrap()
}

/// Records with entries +-1 or between, from a counter.
fn records(n: usize, p: usize, seed: usize) -> (Array2<f64>, Vec<f64>) {
    let entry = |k: usize| {
        let h = (k.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(seed) >> 17;
        (h % 2001) as f64 / 1000.0 - 1.0
    };
    let x = Array2::from_shape_fn((n, p), |(i, j)| entry(i * p + j + 1));
    let y = (0..n).map(|i| {
        if x[[i, 0]] + entry(7919 * i) > 0.0 {
            1.0
        } else {
            -1.0
        }
    });
    let y = y.collect();
    (x, y)
}

fn data(x: &Array2<f64>, y: &[f64]) -> BoundedData {
    BoundedData::from_dense(x.view(), y, schema(x.ncols())).unwrap()
}

/// theta(s) as the room holds it.
fn held(data: &BoundedData, facts: MinimiserFacts, path: &[Vec<f64>]) -> Vec<f64> {
    let plan = DualPlan::noisy_iterates(facts, 1.0, path.len() as u64, 1.0, 1e-6).unwrap();
    let mut source = Source::seeded(0);
    let mut iterates = DualIterates::new(data, &Logistic, &plan, &mut source).unwrap();
    for s in path {
        iterates.release(s).unwrap();
    }
    iterates.held.theta.clone()
}

/// The gradient at theta in plain floats.
fn slope(x: &Array2<f64>, y: &[f64], ridge: f64, n: usize, theta: &[f64], s: &[f64]) -> f64 {
    let mut slope: Vec<f64> = theta.iter().zip(s).map(|(t, s)| ridge * t + s).collect();
    for (row, y) in x.rows().into_iter().zip(y) {
        let z: f64 = row.iter().zip(theta).map(|(x, t)| x * t).sum();
        let d = -y / (1.0 + (y * z).exp()) / n as f64;
        slope.iter_mut().zip(row).for_each(|(g, x)| *g += d * x);
    }
    norm2(&slope)
}

fn round_to_lattice(x: &Array2<f64>) -> Array2<f64> {
    x.mapv(|v| (v * 16383.0).round() / 16383.0)
}

#[test]
fn the_room_holds_the_minimiser_whatever_it_started_from() {
    for (n, p, n_public, adjacency) in [
        (200, 3, 200, Adjacency::ReplaceOne),
        (200, 3, 20, Adjacency::AddRemove),
        // Beyond the columns of Newton's method.
        (40, 450, 40, Adjacency::ReplaceOne),
        (40, 450, 4, Adjacency::AddRemove),
    ] {
        let facts = facts(n_public, p, 0.05, adjacency);
        let (x, y) = records(n, p, 5);
        let records = data(&x, &y);
        let s: Vec<f64> = (0..p).map(|j| 0.3 / (1.0 + j as f64)).collect();
        let cold = held(&records, facts, std::slice::from_ref(&s));
        let residual = slope(&round_to_lattice(&x), &y, 0.05, n_public, &cold, &s);
        let error = facts.objective(1.0, None).distance(p);
        assert!(residual <= 0.05 * error, "{n} {p}: {residual} {error}");
        let far: Vec<f64> = s.iter().map(|s| -2.0 * s).collect();
        let warm = held(&records, facts, &[far, s.clone()]);
        let apart: Vec<f64> = cold.iter().zip(&warm).map(|(a, b)| a - b).collect();
        assert!(norm2(&apart) <= 2.0 * error);
    }
}

#[test]
fn neighbours_stay_within_the_sensitivity() {
    let (n, p) = (12, 2);
    let mut tightest = 0.0f64;
    for ridge in [0.02, 0.3, 5.0] {
        for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemove] {
            let facts = facts(n, p, ridge, adjacency);
            let bound = sensitivity(&facts, 1.0).unwrap();
            for seed in 0..40 {
                let (mut x, mut y) = records(n, p, seed);
                if seed % 2 == 0 {
                    x.mapv_inplace(f64::signum);
                }
                let s = vec![vec![
                    (seed as f64 * 0.7).cos() * 0.9,
                    (seed as f64).sin() * 0.4,
                ]];
                let one = held(&data(&x, &y), facts, &s);
                let other = match adjacency {
                    Adjacency::ReplaceOne => {
                        let row = [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]][seed % 3];
                        x[[4, 0]] = row[0];
                        x[[4, 1]] = row[1];
                        y[4] = -y[4];
                        held(&data(&x, &y), facts, &s)
                    }
                    Adjacency::AddRemove => {
                        let fewer = Array2::from_shape_fn((n - 1, p), |at| x[at]);
                        held(&data(&fewer, &y[..n - 1]), facts, &s)
                    }
                };
                let apart: Vec<f64> = one.iter().zip(&other).map(|(a, b)| a - b).collect();
                assert!(norm2(&apart) <= bound);
                tightest = tightest.max(norm2(&apart) / bound);
            }
        }
    }
    assert!(tightest > 0.3, "{tightest}");
}

#[test]
fn nothing_beyond_the_plan_is_answered() {
    let (x, y) = records(50, 3, 1);
    let records = data(&x, &y);
    let facts = facts(50, 3, 0.1, Adjacency::ReplaceOne);
    let summands = (0..3).map(|j| Summand {
        weight: 0.5,
        shape: Shape::Cross(vec![j]),
    });
    let plan = DualPlan::selection(facts, 1.0, summands.collect(), 3, 2, 0.5, 1.0, 1e-6).unwrap();
    let mut source = Source::seeded(0);
    let mut iterates = DualIterates::new(&records, &Logistic, &plan, &mut source).unwrap();
    let mut vertex = [0.0; 3];
    let beyond = |result: Result<()>| matches!(result, Err(Error::BudgetExceeded(_)));
    // Not before its turn, and not for an s that the bound does not hold for: nothing is spent.
    assert!(beyond(iterates.release(&[0.0; 3]).map(drop)));
    for bad in [
        vec![0.0; 2],
        vec![1.0, 0.1, 0.0],
        vec![f64::NAN, 0.0, 0.0],
        vec![f64::INFINITY, 0.0, 0.0],
    ] {
        let error = iterates.choose(&bad, &mut vertex).unwrap_err();
        assert!(error.to_string().starts_with("s "), "{error}");
    }
    iterates.choose(&[0.0; 3], &mut vertex).unwrap();
    assert!(vertex.iter().all(|v| v.abs() == 0.5));
    iterates.choose(&[0.0; 3], &mut vertex).unwrap();
    assert!(beyond(iterates.choose(&[0.0; 3], &mut vertex)));
    iterates.release(&[0.0; 3]).unwrap();
    assert!(beyond(iterates.release(&[0.0; 3]).map(drop)));
    let (events, secure) = iterates.finish().unwrap();
    assert_eq!(events, plan.events());
    assert!(!secure);

    let mut early = DualIterates::new(&records, &Logistic, &plan, &mut source).unwrap();
    early.choose(&[0.0; 3], &mut vertex).unwrap();
    assert!(early.finish().is_err());
}

#[test]
fn bad_facts_are_refused() {
    for ridge in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let facts = facts(50, 3, ridge, Adjacency::ReplaceOne);
        let error = DualPlan::noisy_iterates(facts, 1.0, 3, 1.0, 1e-6).unwrap_err();
        assert!(error.to_string().starts_with("ridge"), "{error}");
    }
    let facts = facts(3, 3, 0.1, Adjacency::AddRemove);
    let plan = DualPlan::noisy_iterates(facts, 1.0, 3, 1.0, 1e-6).unwrap();
    let mut source = Source::seeded(0);
    for (n, fits) in [(48, true), (49, false)] {
        let (x, y) = records(n, 3, 1);
        let records = data(&x, &y);
        assert_eq!(
            DualIterates::new(&records, &Logistic, &plan, &mut source).is_ok(),
            fits
        );
    }
}

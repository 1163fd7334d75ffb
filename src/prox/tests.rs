//! Every prox against the optimality condition, whose sup over K is taken by brute force over subsets.

use super::*;
use crate::error::Result;
use crate::lovasz::{extension, norm};
use crate::minimise::tests::{Double, cut, monotone, subsets, vector};
use crate::set_function::{ConcaveCardinality, Graph, GraphCut, GroupCover};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

/// x is the prox of step*Omega at v exactly where u = v - x is in step*K and <u, x> = step*Omega(x).
fn check(f: &Double, v: &[f64], step: f64) -> std::result::Result<(), TestCaseError> {
    let mut x = vec![0.0; v.len()];
    let excess = prox(f, v, step, &mut x, &mut Scratch::default()).unwrap();
    let u: Vec<f64> = v.iter().zip(&x).map(|(v, x)| v - x).collect();
    let omega = |x: &[f64]| -> Result<f64> {
        if f.is_monotone() {
            norm(f, x)
        } else {
            extension(f, x)
        }
    };
    // An excess of e allows |x - x*| <= sqrt(2e).
    let tol = 1e-10 + (2.0 * excess).sqrt() * (1.0 + v.len() as f64) * 10.0;
    prop_assert!(excess < 1e-8, "{excess}");
    let inner: f64 = u.iter().zip(&x).map(|(u, x)| u * x).sum();
    prop_assert!(
        (inner - step * omega(&x).unwrap()).abs() < tol * 10.0,
        "{x:?} {excess}"
    );
    for set in subsets(v.len()) {
        let load: f64 = set
            .iter()
            .map(|&j| if f.is_monotone() { u[j].abs() } else { u[j] })
            .sum();
        prop_assert!(load <= step * f.value(&set).unwrap() + tol, "{set:?} {x:?}");
    }
    if !f.is_monotone() {
        prop_assert!(u.iter().sum::<f64>().abs() < tol);
    }
    // The certificate: no point does better by more.
    let objective = |x: &[f64]| {
        let distance: f64 = x.iter().zip(v).map(|(x, v)| (x - v).powi(2)).sum();
        0.5 * distance + step * omega(x).unwrap()
    };
    let exact: f64 = {
        let hidden = Double::Hidden(Box::new(f.clone()));
        let mut y = vec![0.0; v.len()];
        prox(&hidden, v, step, &mut y, &mut Scratch::default()).unwrap();
        objective(&y)
    };
    prop_assert!(
        objective(&x) - exact <= excess + 1e-11,
        "{} {exact} {excess}",
        objective(&x)
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn prox_is_optimal(
        (f, v) in (1..9usize).prop_flat_map(|p| (prop_oneof![3 => monotone(p).boxed(), 1 => cut(p).boxed()], vector(p))),
        step in prop_oneof![0.01..3.0f64, Just(1.0), Just(0.0)],
    ) {
        check(&f, &v, step)?;
    }

    /// In integers and in floats alike, in any units, and with weights so large that they are cut off.
    #[test]
    fn proved_proxes_agree(
        (f, v) in (1..9usize).prop_flat_map(|p| (prop_oneof![3 => monotone(p).boxed(), 1 => cut(p).boxed()], vector(p))),
        step in prop_oneof![0.01..3.0f64, Just(1.0), Just(0.0), Just(1e12)],
        unit in prop_oneof![Just(1.0), Just(2f64.powi(-700)), Just(2f64.powi(600))],
    ) {
        let Some(error) = proved_error(&f) else {
            return Ok(());
        };
        let (mut a, mut b) = (vec![0.0; v.len()], vec![7.0; v.len()]);
        prox(&f, &v, step, &mut a, &mut Scratch::default()).unwrap();
        let scaled: Vec<f64> = v.iter().map(|v| v * unit).collect();
        let excess = proved_prox(&f, &scaled, step * unit, &mut b, &mut Scratch::default()).unwrap();
        let size = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        prop_assert!(excess == 0.0 && error < 1e-12, "{error}");
        for j in 0..v.len() {
            prop_assert!((a[j] - b[j] / unit).abs() <= 1e-11 * size, "{a:?} {b:?}");
        }
    }

    #[test]
    fn chain_agrees_with_the_general_graph(
        (v, weights) in (2..60usize).prop_flat_map(|p| (vector(p), prop::collection::vec(prop_oneof![0.0..3.0f64, Just(1.0), Just(0.0)], p - 1))),
        step in 0.0..2.0f64,
    ) {
        let p = v.len();
        let edges: Vec<_> = (0..p - 1).map(|j| (j, j + 1)).collect();
        let graph = Graph::new(&edges, Some(weights), p).unwrap();
        let (mut a, mut b) = (vec![0.0; p], vec![0.0; p]);
        prox(&Double::Cut(graph.clone()), &v, step, &mut a, &mut Scratch::default()).unwrap();
        decomposition::graph(&v, &graph, step, &mut b, &mut decomposition::Pieces::default());
        for j in 0..p {
            prop_assert!((a[j] - b[j]).abs() < 1e-11, "{a:?} {b:?}");
        }
    }
}

/// What is tied is tied to the bit: the number of distinct values is that of the level sets, which the data decide
/// clearly.
#[test]
fn ties_and_zeros_are_exact() {
    let p = 60;
    let v: Vec<f64> = (0..p)
        .map(|j| f64::from(j / 20 % 2) * 0.7 - 0.3 + 0.01 * f64::from(j * 37 % 11))
        .collect();
    let edges: Vec<_> = (0..p as usize - 1).map(|j| (j, j + 1)).collect();
    let chain = Double::Cut(Graph::new(&edges, None, p as usize).unwrap());
    let windows: Vec<Vec<usize>> = (0..11).map(|k| (5 * k..5 * k + 10).collect()).collect();
    let cover =
        Double::Cover(crate::set_function::Groups::new(&windows, None, p as usize).unwrap());
    let distinct = |x: &[f64]| {
        x.iter()
            .map(|x| x.to_bits())
            .collect::<std::collections::BTreeSet<_>>()
            .len()
    };
    for f in [&chain, &Double::Hidden(Box::new(chain.clone()))] {
        let mut x = vec![0.0; p as usize];
        prox(f, &v, 1.0, &mut x, &mut Scratch::default()).unwrap();
        assert_eq!(distinct(&x), 3, "{x:?}");
        prox(f, &v, 100.0, &mut x, &mut Scratch::default()).unwrap();
        assert_eq!(distinct(&x), 1, "{x:?}");
    }
    for f in [&cover, &Double::Hidden(Box::new(cover.clone()))] {
        let mut x = vec![0.0; p as usize];
        prox(f, &v, 100.0, &mut x, &mut Scratch::default()).unwrap();
        assert!(x.iter().all(|&x| x == 0.0), "{x:?}");
    }
}

/// Numbers that floats hold exactly: the prox in integers is the exact one, up to the division by the size of a piece.
#[test]
fn integers_keep_every_digit() {
    // 2 max(|x_0|, |x_1|) + 2 max(|x_1|, |x_2|): {0} at 5 - 2, {1, 2} at (4 + 3 - 2)/2.
    let groups = crate::set_function::Groups::new(&[vec![0, 1], vec![1, 2]], None, 3).unwrap();
    let mut x = [0.0; 3];
    let mut exact = lattice::Exact::default();
    lattice::cover(&[-5.0, 4.0, 3.0], &groups, 2.0, &mut x, &mut exact);
    assert_eq!(x, [-3.0, 2.5, 2.5]);
    let triangle = Graph::new(&[(0, 1), (1, 2), (0, 2)], None, 3).unwrap();
    lattice::graph(&[3.0, 0.0, -6.0], &triangle, 1.0, &mut x, &mut exact);
    assert_eq!(x, [1.0, 0.0, -4.0]);
    lattice::graph(&[3.0, 1.0, -6.0], &triangle, 1.0, &mut x, &mut exact);
    assert_eq!(x, [1.0, 1.0, -4.0]);
    lattice::graph(&[3.0, 0.0, -6.0], &triangle, 1e300, &mut x, &mut exact);
    assert_eq!(x, [-1.0, -1.0, -1.0]);
    lattice::graph(&[0.0; 3], &triangle, 1.0, &mut x, &mut exact);
    assert_eq!(x, [0.0; 3]);
    // The digits that are left for large problems.
    assert!(lattice::error(10, 20) < 1e-15 && lattice::error(1000, 2000) < 1e-14);
    assert!(lattice::error(1 << 20, 1 << 22) < 1e-3);
}

/// A scratch that has seen other problems changes nothing.
#[test]
fn scratch_is_forgotten() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut scratch = Scratch::default();
    for k in 0..300 {
        let p = 1 + k % 8;
        let strategy = (prop_oneof![monotone(p).boxed(), cut(p).boxed()], vector(p));
        let (f, v) = strategy.new_tree(&mut runner).unwrap().current();
        let (mut a, mut b) = (vec![0.0; p], vec![7.0; p]);
        let used = prox(&f, &v, 0.5, &mut a, &mut scratch).unwrap();
        let fresh = prox(&f, &v, 0.5, &mut b, &mut Scratch::default()).unwrap();
        assert_eq!((used, a), (fresh, b), "{f:?}");
        let (mut c, mut d) = (vec![3.0; p], vec![7.0; p]);
        let used = proved_prox(&f, &v, 0.5, &mut c, &mut scratch).unwrap();
        let fresh = proved_prox(&f, &v, 0.5, &mut d, &mut Scratch::default()).unwrap();
        assert_eq!((used, c), (fresh, d), "{f:?}");
    }
}

/// Cases that can be done by hand: a step of height h between runs of a and b entries loses step/a + step/b, until both
/// meet at the mean; every edge may weigh differently.
#[test]
fn total_variation_of_steps_is_known() {
    let chain = |p: usize, weights| {
        let edges: Vec<_> = (0..p - 1).map(|j| (j, j + 1)).collect();
        GraphCut::new(&edges, weights, p).unwrap()
    };
    let solve = |f: &GraphCut, v: &[f64], step: f64| {
        let mut x = vec![0.0; v.len()];
        prox(f, v, step, &mut x, &mut Scratch::default()).unwrap();
        x
    };
    let f = chain(6, None);
    let v = [0.0, 0.0, 0.0, 0.0, 12.0, 12.0];
    assert_eq!(solve(&f, &v, 4.0), [1.0, 1.0, 1.0, 1.0, 10.0, 10.0]);
    assert_eq!(solve(&f, &v, 16.0), [4.0; 6]);
    assert_eq!(solve(&f, &v, 1e9), [4.0; 6]);
    // A peak of one entry loses twice the step, its neighbours gain it.
    assert_eq!(
        solve(&chain(3, None), &[0.0, 9.0, 0.0], 1.0),
        [1.0, 7.0, 1.0]
    );
    // The edge of weight 0 cuts the chain in two.
    let cut = chain(4, Some(vec![1.0, 0.0, 2.0]));
    assert_eq!(
        solve(&cut, &[0.0, 6.0, -5.0, 5.0], 1.0),
        [1.0, 5.0, -3.0, 3.0]
    );
    // A ramp: only its ends move.
    let ramp: Vec<f64> = (0..5).map(f64::from).collect();
    assert_eq!(
        solve(&chain(5, None), &ramp, 1.0),
        [1.0, 1.0, 2.0, 3.0, 3.0]
    );
    // Total variation forgets nothing but differences.
    let shifted: Vec<f64> = ramp.iter().map(|v| v + 64.0).collect();
    assert_eq!(
        solve(&chain(5, None), &shifted, 1.0),
        [65.0, 65.0, 66.0, 67.0, 67.0]
    );
    // l-infinity: the water level, |v| - level summing to the step.
    let linf = ConcaveCardinality::new(vec![1.0; 3]).unwrap();
    let mut x = [0.0; 3];
    prox(
        &linf,
        &[5.0, -4.0, 1.0],
        3.0,
        &mut x,
        &mut Scratch::default(),
    )
    .unwrap();
    assert_eq!(x, [3.0, -3.0, 1.0]);
}

/// Sums beyond floats, and mean levels between two floats, end the search for pieces, whatever comes out.
#[test]
fn pieces_beyond_precision_come_to_an_end() {
    let scratch = &mut Scratch::default();
    for (weight, size) in [(1e308, 1e308), (1e308, 1.0), (1.0, f64::MAX)] {
        let edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)];
        let cut = GraphCut::new(&edges, Some(vec![weight; 5]), 4).unwrap();
        let v = [size, -size, size, size / 2.0];
        prox(&cut, &v, 2.0, &mut [0.0; 4], scratch).unwrap();
        let groups = [vec![0, 1], vec![1, 2], vec![2, 3]];
        let cover = GroupCover::new(&groups, Some(vec![weight; 3]), 4).unwrap();
        prox(&cover, &v, 2.0, &mut [0.0; 4], scratch).unwrap();
    }
    for shift in 0..32 {
        // Subnormal: multiples of the least positive float.
        let v: Vec<f64> = (0..5_u64)
            .map(|j| f64::from_bits((shift >> j & 1) + shift))
            .collect();
        let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)];
        let cut = GraphCut::new(&edges, None, 5).unwrap();
        for step in [0.0, 5e-324, 1.0] {
            let mut x = [0.0; 5];
            prox(&cut, &v, step, &mut x, scratch).unwrap();
            assert!(x.iter().all(|x| *x <= 2e-322));
        }
    }
}

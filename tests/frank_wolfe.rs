//! Private Frank-Wolfe from the Rust side: plans, threads, storage and the certificate.

use std::sync::Arc;

use dpsparse::accounting::event::Adjacency;
use dpsparse::exact::noise::source::Source;
use dpsparse::loss::{Logistic, Loss, Squared};
use dpsparse::mechanism::{Calibration, FrankWolfe, FrankWolfePlan, Plan};
use dpsparse::plan::Problem;
use dpsparse::polytope::{GroupBall, LinfBall, Polytope, SignedCoordinates, VertexList};
use dpsparse::privacy::{BoundedData, Bounds, Compressed, Geometry, Orientation, Schema, Target};
use dpsparse::release::run;
use dpsparse::{Certificate, Error, Release};
use ndarray::Array2;

fn schema(p: usize, geometry: Geometry) -> Schema {
    let bounds = Bounds {
        lower: vec![-1.0],
        upper: vec![2.0],
    };
    Schema::new(p, bounds, geometry, Target::Classes, true, None).unwrap()
}

fn problem(p: usize, n: usize, geometry: Geometry) -> Problem {
    Problem {
        schema: schema(p, geometry),
        n_samples: n,
        loss: Arc::new(Logistic),
        residual_bound: None,
        epsilon: 1.0,
        delta: None,
        adjacency: Adjacency::ReplaceOne,
        records_per_person: 1,
    }
}

/// Pseudo-random records without a dependency: a multiplicative congruential sequence.
fn records(n: usize, p: usize) -> (Array2<f64>, Vec<f64>) {
    let mut state = 12345u64;
    let mut next = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as f64 / f64::from(1u32 << 31)
    };
    let x = Array2::from_shape_fn((n, p), |_| {
        if next() < 0.4 {
            0.0
        } else {
            4.0 * next() - 1.5
        }
    });
    let y = (0..n)
        .map(|i| {
            if x[[i, 0]] + x[[i, 1]] > 0.6 + next() {
                1.0
            } else {
                -1.0
            }
        })
        .collect();
    (x, y)
}

fn fit(plan: &dyn Plan, data: &BoundedData, seed: u64) -> Release {
    run(plan, data, &mut Source::seeded(seed), &mut |_, _| Ok(())).unwrap()
}

fn polytopes(p: usize) -> Vec<(Arc<dyn Polytope>, Geometry)> {
    let groups: Vec<Vec<usize>> = vec![(0..p / 2).collect(), (p / 2..p).collect()];
    let vertices: Vec<Vec<f64>> = (0..4)
        .map(|k| (0..p).map(|j| ((k * j) % 5) as f64 - 2.0).collect())
        .collect();
    vec![
        (
            Arc::new(SignedCoordinates::l1_ball(p + 1, 10.0)),
            Geometry::Centred,
        ),
        (
            Arc::new(SignedCoordinates::simplex(p, true, 10.0)),
            Geometry::Centred,
        ),
        (Arc::new(LinfBall::new(p + 1, 1.0)), Geometry::Uncentred),
        (
            Arc::new(GroupBall::new(&groups, p, true, 10.0).unwrap()),
            Geometry::Centred,
        ),
        (
            Arc::new(VertexList::new(&vertices, p, true).unwrap()),
            Geometry::Centred,
        ),
    ]
}

fn plan(problem: Problem, polytope: Arc<dyn Polytope>) -> FrankWolfePlan {
    FrankWolfe {
        n_iter: Some(9),
        ..FrankWolfe::default()
    }
    .plan(problem, polytope)
    .unwrap()
}

#[test]
fn every_polytope_gives_one_model_whatever_the_threads_and_the_storage() {
    let (n, p) = (3000, 7);
    let (x, y) = records(n, p);
    // compressed rows and columns of the same matrix, zeros unstored
    let compress = |major: usize, minor: usize, at: &dyn Fn(usize, usize) -> f64| {
        let (mut starts, mut indices, mut values) = (vec![0i32], Vec::new(), Vec::new());
        for a in 0..major {
            for b in 0..minor {
                if at(a, b) != 0.0 {
                    indices.push(b as i32);
                    values.push(at(a, b));
                }
            }
            starts.push(indices.len() as i32);
        }
        (starts, indices, values)
    };
    let csr = compress(n, p, &|i, j| x[[i, j]]);
    let csc = compress(p, n, &|j, i| x[[i, j]]);
    for (polytope, geometry) in polytopes(p) {
        let plan = plan(problem(p, n, geometry), Arc::clone(&polytope));
        let dense = BoundedData::from_dense(x.view(), &y, schema(p, geometry)).unwrap();
        let reference = fit(&plan, &dense, 11);
        assert!(
            reference.coefficients.iter().any(|&c| c != 0.0) || reference.intercept != 0.0,
            "{}",
            polytope.name()
        );
        assert!(!reference.certificate.verify() && !reference.certificate.secure());

        let fortran = x.t().as_standard_layout().into_owned();
        let transposed = BoundedData::from_dense(fortran.t(), &y, schema(p, geometry)).unwrap();
        assert_eq!(
            fit(&plan, &transposed, 11).coefficients,
            reference.coefficients
        );
        for ((starts, indices, values), orientation) in
            [(&csr, Orientation::Rows), (&csc, Orientation::Columns)]
        {
            let parts = Compressed {
                starts,
                indices,
                values,
            };
            let sparse =
                BoundedData::from_sparse(parts, orientation, (n, p), &y, schema(p, geometry))
                    .unwrap();
            assert_eq!(
                fit(&plan, &sparse, 11).coefficients,
                reference.coefficients,
                "{}",
                polytope.name()
            );
        }
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let again = pool.install(|| {
                let data = BoundedData::from_dense(x.view(), &y, schema(p, geometry)).unwrap();
                fit(&plan, &data, 11)
            });
            assert_eq!(again.coefficients, reference.coefficients);
        }
    }
}

#[test]
fn a_release_carries_what_its_plan_announced() {
    let (x, y) = records(500, 4);
    let plan = plan(
        problem(4, 500, Geometry::Centred),
        Arc::new(SignedCoordinates::l1_ball(5, 10.0)),
    );
    let data = BoundedData::from_dense(x.view(), &y, schema(4, Geometry::Centred)).unwrap();
    let release = run(&plan, &data, &mut Source::secure().unwrap(), &mut |_, _| {
        Ok(())
    })
    .unwrap();
    let certificate = &release.certificate;
    let spent: Vec<_> = certificate
        .events()
        .iter()
        .map(|spent| (spent.event, spent.count))
        .collect();
    assert_eq!(spent, plan.events());
    assert!(certificate.secure() && certificate.certified() && certificate.verify());
    let (epsilon, delta) = certificate.claim();
    let proved = certificate.epsilon(delta).unwrap();
    assert!(proved <= epsilon && proved > 0.999 * epsilon, "{proved}");
    assert_eq!(
        Certificate::from_json(&certificate.to_json()).unwrap(),
        *certificate
    );
    let tampered = certificate
        .to_json()
        .replace("\"count\": 9", "\"count\": 90");
    assert!(!Certificate::from_json(&tampered).unwrap().verify());
    // another number of records, or other public facts was made for are refused before anything is drawn
    let other = BoundedData::from_dense(x.view(), &y, schema(4, Geometry::Uncentred)).unwrap();
    assert!(matches!(
        run(&plan, &other, &mut Source::seeded(1), &mut |_, _| Ok(())),
        Err(Error::InvalidArgument { .. })
    ));
}

#[test]
fn a_plan_holds_for_the_number_of_records_it_names() {
    let (x, y) = records(100, 4);
    let ball = || -> Arc<dyn Polytope> { Arc::new(SignedCoordinates::l1_ball(5, 10.0)) };
    let data = BoundedData::from_dense(x.view(), &y, schema(4, Geometry::Centred)).unwrap();
    let go = |problem| {
        run(
            &plan(problem, ball()),
            &data,
            &mut Source::seeded(1),
            &mut |_, _| Ok(()),
        )
    };
    let replace = problem(4, 101, Geometry::Centred);
    assert!(
        go(replace.clone())
            .unwrap_err()
            .to_string()
            .contains("number of records")
    );
    // under add-remove the true number is private: it is not compared with the public one
    let add_remove = Problem {
        adjacency: Adjacency::AddRemove,
        delta: Some(1e-6),
        ..replace
    };
    assert!(go(add_remove).unwrap().certificate.verify());
}

#[test]
fn progress_can_stop_a_run() {
    let (x, y) = records(100, 4);
    let plan = plan(
        problem(4, 100, Geometry::Centred),
        Arc::new(SignedCoordinates::l1_ball(5, 10.0)),
    );
    let data = BoundedData::from_dense(x.view(), &y, schema(4, Geometry::Centred)).unwrap();
    let mut seen = Vec::new();
    let result = run(&plan, &data, &mut Source::seeded(1), &mut |done, total| {
        seen.push((done, total));
        if done == 3 {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    });
    assert_eq!(result.unwrap_err(), Error::Interrupted);
    assert_eq!(seen, [(1, 9), (2, 9), (3, 9)]);
}

#[test]
fn the_papers_calibration_is_never_certified() {
    let make = |allow_uncertified| FrankWolfe {
        n_iter: Some(5),
        calibration: Calibration::Paper,
        allow_uncertified,
        penalty: None,
    };
    let ball: Arc<dyn Polytope> = Arc::new(SignedCoordinates::l1_ball(5, 10.0));
    let refused = make(false).plan(problem(4, 500, Geometry::Centred), Arc::clone(&ball));
    assert!(matches!(refused, Err(Error::UnsoundMechanism(_))));
    let plan = make(true)
        .plan(problem(4, 500, Geometry::Centred), ball)
        .unwrap();
    let (x, y) = records(500, 4);
    let data = BoundedData::from_dense(x.view(), &y, schema(4, Geometry::Centred)).unwrap();
    let certificate = fit(&plan, &data, 3).certificate;
    assert!(!certificate.certified() && !certificate.verify());
    assert_eq!(certificate.epsilon(1e-6).unwrap(), f64::INFINITY);
}

#[test]
fn public_parameters_are_checked_before_any_data() {
    let ball = || -> Arc<dyn Polytope> { Arc::new(SignedCoordinates::l1_ball(5, 10.0)) };
    let base = problem(4, 500, Geometry::Centred);
    let bad = [
        (
            Problem {
                epsilon: 0.0,
                ..base.clone()
            },
            "epsilon",
        ),
        (
            Problem {
                epsilon: f64::NAN,
                ..base.clone()
            },
            "epsilon",
        ),
        (
            Problem {
                delta: Some(1.0),
                ..base.clone()
            },
            "delta",
        ),
        (
            Problem {
                n_samples: 1,
                ..base.clone()
            },
            "n_samples=1",
        ),
        (
            Problem {
                adjacency: Adjacency::AddRemove,
                ..base.clone()
            },
            "delta",
        ),
        (
            Problem {
                records_per_person: 0,
                ..base.clone()
            },
            "records_per_person",
        ),
        (
            Problem {
                residual_bound: Some(1.0),
                ..base.clone()
            },
            "residual_bound",
        ),
        (
            Problem {
                loss: Arc::new(Squared) as Arc<dyn Loss>,
                residual_bound: Some(-1.0),
                ..base.clone()
            },
            "residual_bound",
        ),
        (
            Problem {
                records_per_person: usize::MAX,
                ..base.clone()
            },
            "records_per_person",
        ),
    ];
    for (problem, name) in bad {
        let error = FrankWolfe::default().plan(problem, ball()).unwrap_err();
        assert!(error.to_string().contains(name), "{name}: {error}");
    }
    for n_iter in [0, usize::MAX] {
        let mechanism = FrankWolfe {
            n_iter: Some(n_iter),
            ..FrankWolfe::default()
        };
        assert!(
            mechanism
                .plan(base.clone(), ball())
                .unwrap_err()
                .to_string()
                .contains("n_iter")
        );
    }
}

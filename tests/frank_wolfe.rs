//! Private Frank-Wolfe from the Rust side: plans, threads, storage and the certificate.

use dpsparse::accounting::event::Adjacency;
use dpsparse::exact::noise::source::Source;
use dpsparse::loss::{Logistic, Squared};
use dpsparse::mechanism::{Calibration, FrankWolfe, Refresh};
use dpsparse::plan::{Plan, Problem};
use dpsparse::polytope::{GroupBall, LinfBall, Selectable, SignedCoordinates, VertexList};
use dpsparse::privacy::{
    Bounds, Compressed, Curator, Geometry, MemoryLedger, Orientation, Schema, Statement, Target,
};
use dpsparse::release::run;
use dpsparse::{Certificate, Error, Release, Result};
use ndarray::Array2;

fn schema(p: usize, geometry: Geometry) -> Schema {
    let bounds = Bounds {
        lower: vec![-1.0],
        upper: vec![2.0],
    };
    Schema::new(p, bounds, geometry, Target::Classes, true, None).unwrap()
}

fn problem(p: usize, n: usize, geometry: Geometry) -> Problem {
    about(p, n, geometry, Adjacency::ReplaceOne)
}

fn about(p: usize, n: usize, geometry: Geometry, adjacency: Adjacency) -> Problem {
    Problem {
        statement: Statement::new(schema(p, geometry), n, adjacency, 1).unwrap(),
        loss: Logistic.into(),
        residual_bound: None,
        spread: None,
        opens: false,
        epsilon: 1.0,
        delta: None,
        reason: None,
        assumptions: Vec::new(),
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

fn release(plan: &Plan, curator: &Curator<'_>, source: Source) -> Result<Release> {
    run(
        plan,
        curator,
        &mut MemoryLedger::default(),
        source,
        &mut |_, _| Ok(()),
    )
}

fn fit(plan: &Plan, curator: &Curator<'_>, seed: u64) -> Release {
    release(plan, curator, Source::seeded(seed)).unwrap()
}

fn polytopes(p: usize) -> Vec<(Selectable, Geometry)> {
    let groups: Vec<Vec<usize>> = vec![(0..p / 2).collect(), (p / 2..p).collect()];
    let vertices: Vec<Vec<f64>> = (0..4)
        .map(|k| (0..p).map(|j| ((k * j) % 5) as f64 - 2.0).collect())
        .collect();
    vec![
        (
            SignedCoordinates::l1_ball(p + 1, 10.0).into(),
            Geometry::Centred,
        ),
        (
            SignedCoordinates::simplex(p, true, 10.0).into(),
            Geometry::Centred,
        ),
        (LinfBall::new(p + 1, 1.0).into(), Geometry::Uncentred),
        (
            GroupBall::new(&groups, p, true, 10.0).unwrap().into(),
            Geometry::Centred,
        ),
        (
            VertexList::new(&vertices, p, true).unwrap().into(),
            Geometry::Centred,
        ),
    ]
}

fn plan(problem: Problem, polytope: Selectable) -> Plan {
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
        let plan = plan(problem(p, n, geometry), polytope.clone());
        let dense = Curator::from_dense(x.view(), &y);
        let reference = fit(&plan, &dense, 11);
        assert!(
            reference.coefficients.iter().any(|&c| c != 0.0) || reference.intercepts != [0.0],
            "{}",
            polytope.name()
        );
        assert!(!reference.certificate.verify() && !reference.certificate.secure());

        let fortran = x.t().as_standard_layout().into_owned();
        let transposed = Curator::from_dense(fortran.t(), &y);
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
            let sparse = Curator::from_sparse(parts, orientation, (n, p), &y);
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
            let again = pool.install(|| fit(&plan, &Curator::from_dense(x.view(), &y), 11));
            assert_eq!(again.coefficients, reference.coefficients);
        }
    }
}

/// Where slopes lag behind too, between bounds that keep zeros and others: dense records, compressed rows and
/// compressed columns, one thread and three.
#[test]
fn lagging_slopes_give_one_model_whatever_the_threads_and_the_storage() {
    let (n, p) = (900, 300);
    let (mut x, y) = records(n, p);
    // Few entries, so that steps touch few records.
    x.indexed_iter_mut().for_each(|((i, j), value)| {
        if (i * 7 + j * 13) % 41 > 1 && j > 3 {
            *value = 0.0;
        }
    });
    let (mut starts, mut indices, mut values) = (vec![0i64], Vec::new(), Vec::new());
    for row in x.rows() {
        for (j, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            indices.push(j as i64);
            values.push(value);
        }
        starts.push(indices.len() as i64);
    }
    let parts = Compressed {
        starts: &starts,
        indices: &indices,
        values: &values,
    };
    let mut models = Vec::new();
    for (lower, intercept) in [(-2.0, true), (-1.0, true), (-1.0, false)] {
        let bounds = Bounds {
            lower: vec![lower],
            upper: vec![2.0],
        };
        let geometry = if intercept {
            Geometry::Centred
        } else {
            Geometry::Uncentred
        };
        let schema = Schema::new(p, bounds, geometry, Target::Classes, intercept, None).unwrap();
        for (calibrated, simplex) in [(1.0, false), (50.0, true), (50.0, false)] {
            let problem = Problem {
                statement: Statement::new(schema.clone(), n, Adjacency::ReplaceOne, 1).unwrap(),
                epsilon: calibrated,
                ..problem(4, n, Geometry::Centred)
            };
            let ball: Selectable = match simplex {
                true => SignedCoordinates::simplex(p, intercept, 10.0).into(),
                false => SignedCoordinates::l1_ball(schema.n_columns(), 10.0).into(),
            };
            let plan = |refresh| {
                let mechanism = FrankWolfe {
                    n_iter: Some(60),
                    penalty: simplex.then_some(1e-3),
                    refresh,
                    ..FrankWolfe::default()
                };
                mechanism.plan(problem.clone(), ball.clone()).unwrap()
            };
            let lagging = plan(Refresh::Lagging);
            assert!(lagging.summary.mechanism.contains("lag behind"));
            // 1/128 of the slope over the curvature of the logistic loss.
            assert_eq!(
                lagging.summary.parameters,
                [("score_tolerance", 4.0 / 128.0)]
            );
            assert_eq!(plan(Refresh::Auto).events(), lagging.events());
            assert!(plan(Refresh::Auto).summary.parameters.is_empty());
            let dense = Curator::from_dense(x.view(), &y);
            let reference = fit(&lagging, &dense, 3).coefficients;
            let rows = Curator::from_sparse(parts, Orientation::Rows, (n, p), &y);
            assert_eq!(fit(&lagging, &rows, 3).coefficients, reference);
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                let again = pool.install(|| fit(&lagging, &rows, 3).coefficients);
                assert_eq!(again, reference);
            }
            models.push(reference);
        }
    }
    assert!(models.iter().all(|model| model.iter().any(|&c| c != 0.0)));
}

/// "auto" by public facts alone: many columns, and zeros that stay zeros.
#[test]
fn slopes_lag_behind_where_there_are_many_columns() {
    let lags = |p: usize, lower: f64, geometry: Geometry, intercept: bool, refresh: Refresh| {
        let bounds = Bounds {
            lower: vec![lower],
            upper: vec![1.0],
        };
        let schema = Schema::new(p, bounds, geometry, Target::Classes, intercept, None).unwrap();
        let ball = SignedCoordinates::l1_ball(schema.n_columns(), 10.0).into();
        let problem = Problem {
            statement: Statement::new(schema, 1000, Adjacency::ReplaceOne, 1).unwrap(),
            ..problem(4, 1000, Geometry::Centred)
        };
        let mechanism = FrankWolfe {
            n_iter: Some(5),
            refresh,
            ..FrankWolfe::default()
        };
        let plan = mechanism.plan(problem, ball).unwrap();
        !plan.summary.parameters.is_empty()
    };
    let many = 1 << 16;
    assert!(lags(many, 0.0, Geometry::Uncentred, false, Refresh::Auto));
    assert!(lags(many, -1.0, Geometry::Centred, true, Refresh::Auto));
    assert!(!lags(many, 0.0, Geometry::Centred, true, Refresh::Auto));
    assert!(!lags(
        many - 1,
        0.0,
        Geometry::Uncentred,
        false,
        Refresh::Auto
    ));
    assert!(!lags(many, 0.0, Geometry::Uncentred, false, Refresh::Exact));
    assert!(lags(50, 0.0, Geometry::Uncentred, false, Refresh::Lagging));
}

#[test]
fn a_release_carries_what_its_plan_announced() {
    let (x, y) = records(500, 4);
    let plan = plan(
        problem(4, 500, Geometry::Centred),
        SignedCoordinates::l1_ball(5, 10.0).into(),
    );
    let curator = Curator::from_dense(x.view(), &y);
    let mut ledger = MemoryLedger::default();
    let source = Source::secure().unwrap();
    let release = run(&plan, &curator, &mut ledger, source, &mut |_, _| Ok(())).unwrap();
    let certificate = &release.certificate;
    assert_eq!(ledger.entries()[0].events(), plan.events());
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
}

#[test]
fn a_plan_holds_for_the_number_of_records_it_names() {
    let (x, y) = records(100, 4);
    let ball = || -> Selectable { SignedCoordinates::l1_ball(5, 10.0).into() };
    let curator = Curator::from_dense(x.view(), &y);
    let go = |problem| release(&plan(problem, ball()), &curator, Source::seeded(1));
    let replace = problem(4, 101, Geometry::Centred);
    assert!(
        go(replace)
            .unwrap_err()
            .to_string()
            .contains("number of records")
    );
    // under add-remove the true number is private: it is not compared with the public one
    let add_remove = Problem {
        delta: Some(1e-6),
        ..about(4, 101, Geometry::Centred, Adjacency::AddRemove)
    };
    let certificate = go(add_remove).unwrap().certificate;
    let proved = certificate.epsilon(1e-6).unwrap();
    assert!(certificate.certified() && proved > 0.9 && proved <= 1.0);
}

#[test]
fn progress_can_stop_a_run() {
    let (x, y) = records(100, 4);
    let plan = plan(
        problem(4, 100, Geometry::Centred),
        SignedCoordinates::l1_ball(5, 10.0).into(),
    );
    let curator = Curator::from_dense(x.view(), &y);
    let mut seen = Vec::new();
    let mut report = |done, total| {
        seen.push((done, total));
        if done == 3 {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    };
    let (mut ledger, source) = (MemoryLedger::default(), Source::seeded(1));
    let result = run(&plan, &curator, &mut ledger, source, &mut report);
    assert_eq!(result.unwrap_err(), Error::Interrupted);
    // What was committed stays committed; passes over the records look as often as steps end.
    assert_eq!(ledger.entries().len(), 1);
    seen.dedup();
    assert_eq!(seen, [(0, 1), (1, 9), (2, 9), (3, 9)]);
}

#[test]
fn the_papers_calibration_is_never_certified() {
    let make = |allow_uncertified| FrankWolfe {
        n_iter: Some(5),
        calibration: Calibration::Paper,
        allow_uncertified,
        ..FrankWolfe::default()
    };
    let ball: Selectable = SignedCoordinates::l1_ball(5, 10.0).into();
    let refused = make(false).plan(problem(4, 500, Geometry::Centred), ball.clone());
    assert!(matches!(refused, Err(Error::UnsoundMechanism(_))));
    let plan = make(true)
        .plan(problem(4, 500, Geometry::Centred), ball)
        .unwrap();
    let (x, y) = records(500, 4);
    let certificate = fit(&plan, &Curator::from_dense(x.view(), &y), 3).certificate;
    assert!(!certificate.certified() && !certificate.verify());
    assert_eq!(certificate.epsilon(1e-6).unwrap(), f64::INFINITY);
}

#[test]
fn public_parameters_are_checked_before_any_data() {
    let ball = || -> Selectable { SignedCoordinates::l1_ball(5, 10.0).into() };
    let base = problem(4, 500, Geometry::Centred);
    let persons = |m| {
        let schema = schema(4, Geometry::Centred);
        Statement::new(schema, 500, Adjacency::ReplaceOne, m)
    };
    let none = persons(0).unwrap_err().to_string();
    assert!(none.contains("records_per_person"), "{none}");
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
        (problem(4, 1, Geometry::Centred), "n_samples=1"),
        (
            about(4, 500, Geometry::Centred, Adjacency::AddRemove),
            "delta",
        ),
        (
            Problem {
                residual_bound: Some(1.0),
                spread: None,
                ..base.clone()
            },
            "residual_bound",
        ),
        (
            Problem {
                loss: Squared.into(),
                residual_bound: Some(-1.0),
                spread: None,
                ..base.clone()
            },
            "residual_bound",
        ),
        (
            Problem {
                statement: persons(usize::MAX).unwrap(),
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

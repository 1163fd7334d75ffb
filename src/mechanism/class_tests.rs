//! Softmax models in mechanisms: two classes have the scalar model's law; what has no proof is refused.

use ndarray::Array2;

use super::{CATALOGUE, by_name};
use crate::accounting::event::{Adjacency, Event};
use crate::error::Error;
use crate::exact::noise::source::Source;
use crate::loss::{Admitted, ClippedLogistic, Logistic, Squared};
use crate::plan::{Domain, Plan, Problem};
use crate::privacy::{Bounds, Curator, Geometry, MemoryLedger, Schema, Statement, Target, release};
use crate::question::{PermutedOptions, TiltNoise};

const N: usize = 4000;
const P: usize = 3;

fn problem(target: Target, epsilon: f64, geometry: Geometry) -> Problem {
    let bounds = Bounds {
        lower: vec![-1.0],
        upper: vec![1.0],
    };
    let schema = Schema::new(P, bounds, geometry, target, true, None).unwrap();
    Problem {
        statement: Statement::new(schema, N, Adjacency::ReplaceOne, 1).unwrap(),
        loss: Logistic.into(),
        residual_bound: None,
        spread: None,
        opens: false,
        epsilon,
        delta: Some(1e-7),
        reason: None,
        assumptions: Vec::new(),
    }
}

/// Features, and classes of which class 0 likes the first and class 1 the second.
fn records(classes: usize) -> (Array2<f64>, Vec<f64>) {
    let wave = |i: usize, j: usize| ((i * (7 + 4 * j) + 3 * j) as f64 * 0.618).sin();
    let x = Array2::from_shape_fn((N, P), |(i, j)| wave(i, j));
    let y = (0..N).map(|i| {
        let noise = ((i * 37) as f64 * 0.7548).fract();
        let z = 2.0 * x[(i, 0)] - x[(i, 1)] + 0.5;
        let other = f64::from(u8::from(noise > 1.0 / (1.0 + (-z).exp())));
        match other > 0.0 && i % 3 == 0 {
            true => (classes - 1) as f64,
            false => other,
        }
    });
    let y = y.collect();
    (x, y)
}

fn fit(plan: &Plan, x: &Array2<f64>, y: &[f64], seed: u64) -> Vec<f64> {
    let curator = Curator::from_dense(x.view(), y);
    let mut ledger = MemoryLedger::default();
    let report = &mut |_: usize, _: usize| Ok(());
    let source = Source::seeded(seed);
    let released = release(plan.sealed(), &curator, &mut ledger, source, report).unwrap();
    released.value.scaled
}

fn plan(name: &str, options: &str, problem: Problem) -> Plan {
    let mechanism = by_name(name, options).unwrap();
    mechanism.plan(problem, &Domain::L1).unwrap()
}

const TWO: Target = Target::Multiclass { classes: 2 };

/// Two scores, each half as far as the one of the scalar model: the same steps without noise, and the same noise.
#[test]
fn two_classes_have_the_law_of_the_scalar_model() {
    for (name, options) in [
        ("noisy-newton", r#"{"share": 0.2}"#),
        ("noisy-newton", r#"{"share": 0.2, "clip": 0.5}"#),
    ] {
        let plans = [Target::Classes, TWO]
            .map(|target| plan(name, options, problem(target, 2.0, Geometry::Uncentred)));
        let [one, two] = &plans;
        assert_eq!(one.events().len(), two.events().len());
        for (a, b) in one.events().iter().zip(two.events()) {
            let multiplier = |event: &Event| match event {
                Event::Gaussian { sensitivity, sigma } => sigma / sensitivity,
                event => panic!("{event:?}"),
            };
            assert_eq!(a.1, b.1);
            assert!((multiplier(&a.0) / multiplier(&b.0) - 1.0).abs() < 1e-6);
        }
        // sqrt(2) for the Euclidean norm of two opposite slopes; half of that noise is common to both and goes.
        let ratio = two.summary.noise_scale / one.summary.noise_scale;
        assert!((ratio / 2f64.sqrt() - 1.0).abs() < 1e-3, "{ratio}");
        let damping = |plan: &Plan| plan.summary.parameters[0].1;
        assert!((damping(two) / damping(one) / 2.0 - 1.0).abs() < 1e-3);
    }
    // With hardly any noise: the same model.
    let (x, y) = records(2);
    let signs: Vec<f64> = y.iter().map(|y| 2.0 * y - 1.0).collect();
    let near = |name: &str, options: &str| {
        let [one, two] = [Target::Classes, TWO].map(|target| {
            let plan = plan(name, options, problem(target, 1e6, Geometry::Uncentred));
            match target {
                Target::Classes => fit(&plan, &x, &signs, 3),
                _ => fit(&plan, &x, &y, 3),
            }
        });
        assert_eq!((one.len(), two.len()), (P + 1, 2 * (P + 1)));
        assert!(one[0].abs() > 0.5, "{one:?}");
        for j in 0..=P {
            assert!((two[P + 1 + j] + two[j]).abs() < 1e-3, "{name}: {two:?}");
            let difference = two[P + 1 + j] - two[j];
            assert!(
                (difference - one[j]).abs() < 2e-3,
                "{name}: {two:?} {one:?}"
            );
        }
    };
    near("noisy-newton", r#"{"n_iter": 60}"#);
    near(
        "noisy-proximal-gradient",
        r#"{"n_iter": 200, "step": 1.0, "momentum": 0.5}"#,
    );
    near("output-perturbation", r#"{"mode": "early-stopping"}"#);
}

/// The public rules find the same model: a ridge twice as large on coefficients half as large, or as many steps half as
/// long; noise of each class is by sqrt(2) smaller, so that of the difference is the scalar model's.
#[test]
fn minimisers_of_two_classes_have_the_law_of_the_scalar_model() {
    for options in [
        "{}",
        r#"{"mode": "early-stopping"}"#,
        r#"{"mode": "early-stopping", "ridge": 0.0, "n_iter": 20}"#,
    ] {
        for geometry in [Geometry::Uncentred, Geometry::Centred] {
            let [one, two] = [Target::Classes, TWO].map(|target| {
                plan(
                    "output-perturbation",
                    options,
                    problem(target, 2.0, geometry),
                )
            });
            let ratio = two.summary.noise_scale / one.summary.noise_scale;
            // Rounding to the lattice adds about a thousandth to both.
            assert!(
                (ratio * 2f64.sqrt() - 1.0).abs() < 5e-3,
                "{options}: {ratio}"
            );
            assert_eq!(one.summary.n_iter, two.summary.n_iter);
            let excess = two.summary.predicted_excess_risk / one.summary.predicted_excess_risk;
            assert!((excess - 1.0).abs() < 0.02, "{options}: {excess}");
        }
    }
}

/// One fit of three classes, by each mechanism that takes them: one model of as many rows, better than none.
#[test]
fn three_classes_are_one_model_of_three_rows() {
    let (x, y) = records(3);
    let target = Target::Multiclass { classes: 3 };
    for (name, options, geometry) in [
        ("noisy-newton", "{}", Geometry::Uncentred),
        (
            "noisy-proximal-gradient",
            r#"{"alpha": 1e-4}"#,
            Geometry::Uncentred,
        ),
        ("noisy-gradient-frank-wolfe", "{}", Geometry::Uncentred),
        ("mirror-descent", "{}", Geometry::Uncentred),
        ("frank-wolfe", "{}", Geometry::Centred),
        (
            "penalised-frank-wolfe",
            r#"{"alpha": 1e-4}"#,
            Geometry::Centred,
        ),
        ("select-refit", r#"{"n_selected": 2}"#, Geometry::Centred),
        ("output-perturbation", "{}", Geometry::Uncentred),
        (
            "output-perturbation",
            r#"{"noise": "gamma", "alpha": 1e-3, "threshold": 1e-3}"#,
            Geometry::Uncentred,
        ),
        (
            "output-perturbation",
            r#"{"mode": "early-stopping", "noise": "laplace"}"#,
            Geometry::Centred,
        ),
    ] {
        // Minimisers pay for the worst curvature, the ridge.
        let epsilon = if name == "output-perturbation" {
            30.0
        } else {
            8.0
        };
        let plan = plan(name, options, problem(target, epsilon, geometry));
        let theta = fit(&plan, &x, &y, 11);
        assert_eq!(theta.len(), 3 * (P + 1), "{name}");
        let right = (0..N).filter(|&i| {
            let score = |k: usize| {
                let theta = &theta[k * (P + 1)..][..P + 1];
                (0..P).map(|j| theta[j] * x[(i, j)]).sum::<f64>() + theta[P]
            };
            let best = (0..3).max_by(|&a, &b| score(a).total_cmp(&score(b)));
            best == Some(y[i] as usize)
        });
        let (right, largest) = (right.count(), (0..3).map(|k| count(&y, k)).max().unwrap());
        assert!(
            right > largest + N / 20,
            "{name}: {right} right, {largest} by a constant"
        );
    }
}

/// Steps that end early leave scores too small, and gradients tell so: differences are stretched, all alike and no
/// further than to twice, and mean scores stay. What a ridge holds is not stretched, if it is none at all.
#[test]
fn differences_that_steps_did_not_reach_are_stretched() {
    let (x, y) = records(3);
    let [free, held, all] = [
        r#"{"n_iter": 4, "damping": 3e4}"#,
        r#"{"n_iter": 4, "damping": 3e4, "ridge": 1e-12}"#,
        r#"{"n_iter": 60}"#,
    ]
    .map(|options| {
        let target = Target::Multiclass { classes: 3 };
        let plan = plan(
            "noisy-newton",
            options,
            problem(target, 1e6, Geometry::Uncentred),
        );
        fit(&plan, &x, &y, 5)
    });
    let features = |theta: &[f64]| -> Vec<f64> {
        (theta.chunks(P + 1))
            .flat_map(|theta| theta[..P].to_vec())
            .collect()
    };
    let product = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let times = |theta: &[f64], of: &[f64]| {
        let (a, b) = (features(theta), features(of));
        product(&a, &b) / product(&b, &b)
    };
    let factor = times(&free, &held);
    let exact: Vec<f64> = features(&held).iter().map(|x| factor * x).collect();
    for (stretched, exact) in features(&free).iter().zip(&exact) {
        assert!((stretched - exact).abs() < 1e-6, "{free:?} {held:?}");
    }
    assert!((1.2..=2.0).contains(&factor), "{factor}");
    assert!(times(&held, &all) < 0.8 && times(&free, &all) > times(&held, &all) + 0.1);
    let mean = |theta: &[f64], class: usize| {
        let theta = &theta[class * (P + 1)..][..P + 1];
        let of_features = |j: usize| theta[j] * x.column(j).mean().unwrap();
        (0..P).map(of_features).sum::<f64>() + theta[P]
    };
    for class in 0..3 {
        assert!((mean(&free, class) - mean(&held, class)).abs() < 1e-4);
    }
}

fn count(y: &[f64], class: usize) -> usize {
    y.iter().filter(|&&y| y == class as f64).count()
}

/// A feature is selected for all classes or for none.
#[test]
fn selections_are_of_features() {
    let (x, y) = records(3);
    let target = Target::Multiclass { classes: 3 };
    let plan = plan(
        "select-refit",
        r#"{"n_selected": 2}"#,
        problem(target, 8.0, Geometry::Centred),
    );
    let theta = fit(&plan, &x, &y, 5);
    let used = |j: usize| (0..3).filter(|k| theta[k * (P + 1) + j] != 0.0).count();
    assert_eq!(used(0), 3);
    assert!((0..P).all(|j| matches!(used(j), 0 | 3)));
}

#[test]
fn targets_are_numbers_of_classes() {
    let target = Target::Multiclass { classes: 3 };
    let plan = plan(
        "noisy-newton",
        "{}",
        problem(target, 1.0, Geometry::Uncentred),
    );
    let (x, y) = records(3);
    for wrong in [-1.0, 3.0, 0.5, f64::NAN, 1e300] {
        let mut y = y.clone();
        y[7] = wrong;
        let curator = Curator::from_dense(x.view(), &y);
        let mut ledger = MemoryLedger::default();
        let report = &mut |_: usize, _: usize| Ok(());
        let released = release(
            plan.sealed(),
            &curator,
            &mut ledger,
            Source::seeded(1),
            report,
        );
        assert!(matches!(released, Err(Error::InvalidData(_))), "{wrong}");
        assert!(ledger.entries().is_empty(), "nothing is spent");
    }
}

/// What has no proof, or no form, for several scores says so before any record is read.
#[test]
fn the_others_are_refused() {
    let target = Target::Multiclass { classes: 3 };
    let taken = [
        "frank-wolfe",
        "mirror-descent",
        "noisy-gradient-frank-wolfe",
        "noisy-newton",
        "noisy-proximal-gradient",
        "output-perturbation",
        "penalised-frank-wolfe",
        "select-refit",
    ];
    let mut refused = 0;
    for entry in CATALOGUE
        .iter()
        .filter(|entry| !taken.contains(&entry.name))
    {
        let options = match entry.name {
            "dual-frank-wolfe" => r#"{"alpha": 0.01}"#,
            _ => "{}",
        };
        let mechanism = by_name(entry.name, options).unwrap();
        let mut problem = problem(target, 1.0, Geometry::Uncentred);
        if entry.name == "simplex-sampling" {
            let bounds = problem.schema().bounds().clone();
            let schema = Schema::new(P, bounds, Geometry::Uncentred, target, false, None);
            problem.statement =
                Statement::new(schema.unwrap(), N, Adjacency::ReplaceOne, 1).unwrap();
        }
        let error = mechanism.plan(problem, &Domain::L1).unwrap_err();
        assert!(
            matches!(error, Error::UnsoundMechanism(_)),
            "{}: {error}",
            entry.name
        );
        refused += 1;
    }
    assert_eq!(refused, 4);
    let about = problem(target, 1.0, Geometry::Uncentred).statement;
    let model = problem(target, 1.0, Geometry::Uncentred).model().unwrap();
    // Minimisers are proved; linear terms on them, permuted descents and slopes with a clamp are not.
    let minimiser = about.strongly_convex(&model, None, 0.1).unwrap();
    let cover = 20.0;
    let tilt = TiltNoise::Gaussian { sigma: 7.0, cover };
    let tilted = minimiser.with_random_tilt(tilt).map(drop);
    let permuted = PermutedOptions {
        ridge: 0.0,
        passes: 1,
        batch: 1,
        step: 1e-3,
    };
    let permuted = about.permuted(&model, permuted).map(drop);
    let clipped = Problem {
        loss: ClippedLogistic::new(0.4).unwrap().into(),
        ..problem(target, 1.0, Geometry::Uncentred)
    };
    let clamped = about.strongly_convex(&clipped.model().unwrap(), None, 0.1);
    for made in [
        tilted,
        minimiser.path(0.6).map(drop),
        permuted,
        clamped.map(drop),
    ] {
        assert!(matches!(made, Err(Error::UnsoundMechanism(_))), "{made:?}");
    }
    for mode in ["ridge", "early-stopping"] {
        let mechanism = by_name("output-perturbation", &format!(r#"{{"mode": "{mode}"}}"#));
        let error = mechanism.unwrap().plan(clipped.clone(), &Domain::L1);
        assert!(
            matches!(error, Err(Error::UnsoundMechanism(_))),
            "{error:?}"
        );
    }
    let refit = by_name("select-refit", r#"{"refit": "objective-perturbation"}"#).unwrap();
    let error = refit.plan(problem(target, 1.0, Geometry::Centred), &Domain::L1);
    assert!(matches!(error, Err(Error::UnsoundMechanism(_))));
    let squared = Problem {
        loss: Admitted::from(Squared),
        ..problem(target, 1.0, Geometry::Uncentred)
    };
    let error = by_name("noisy-newton", "{}")
        .unwrap()
        .plan(squared, &Domain::L1)
        .unwrap_err();
    assert!(
        error.to_string().starts_with("loss must be \"logistic\""),
        "{error}"
    );
    let simplex = by_name("frank-wolfe", "{}").unwrap();
    let error = simplex.plan(problem(target, 1.0, Geometry::Centred), &Domain::Simplex);
    assert!(
        matches!(error, Err(Error::InvalidArgument { .. })),
        "{error:?}"
    );
}

//! `PrivateFit`: what it makes of labels, tasks and what was not stated, beside the longer way.

use dpsparse::Error;
use dpsparse::accounting::event::Adjacency;
use dpsparse::exact::noise::source::Source;
use dpsparse::fit::{Interval, PrivateFit};
use dpsparse::loss::Logistic;
use dpsparse::mechanism::{MirrorDescent, NoisyNewton};
use dpsparse::ndarray::{Array2, array};
use dpsparse::plan::{Domain, Problem};
use dpsparse::privacy::{Bounds, Curator, Geometry, MemoryLedger, Schema, Statement, Target};
use dpsparse::release::run;

fn records(n: usize, p: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, p), |(i, j)| {
        ((i * (j + 3) * 7919) % 201) as f64 / 100.0 - 1.0
    })
}

fn problem_of(error: Error) -> (String, String) {
    match error {
        Error::InvalidArgument { argument, problem } => (argument, problem),
        Error::InvalidData(problem) => ("data".into(), problem),
        other => panic!("unexpected error: {other}"),
    }
}

#[test]
fn it_is_the_longer_way_in_one_expression() {
    let x = records(3000, 4);
    let signs: Vec<f64> = x
        .column(1)
        .iter()
        .map(|v| if *v > 0.0 { 1.0 } else { -1.0 })
        .collect();
    let labels: Vec<bool> = signs.iter().map(|&sign| sign > 0.0).collect();
    let short = PrivateFit::classifier()
        .classes([true, false])
        .bounds(-1.0, 1.0)
        .epsilon(1.0)
        .delta(1e-6)
        .mechanism_by_name("frank-wolfe", r#"{"n_iter": 25}"#)
        .unwrap()
        .seed(5)
        .fit(&x, &labels)
        .unwrap();

    let bounds = Bounds {
        lower: vec![-1.0],
        upper: vec![1.0],
    };
    let schema = Schema::new(4, bounds, Geometry::Centred, Target::Classes, true, None).unwrap();
    let problem = Problem {
        statement: Statement::new(schema, 3000, Adjacency::ReplaceOne, 1).unwrap(),
        loss: Logistic.into(),
        residual_bound: None,
        spread: None,
        opens: false,
        epsilon: 1.0,
        delta: Some(1e-6),
        reason: None,
        assumptions: Vec::new(),
    };
    let constrained = dpsparse::mechanism::by_name("frank-wolfe", r#"{"n_iter": 25}"#).unwrap();
    let plan = constrained.plan(problem, &Domain::L1).unwrap();
    let curator = Curator::from_dense(x.view(), &signs);
    let mut ledger = MemoryLedger::default();
    let long = run(
        &plan,
        &curator,
        &mut ledger,
        Source::seeded(5),
        &mut |_, _| Ok(()),
    )
    .unwrap();
    assert_eq!(short.coefficients(), &long.coefficients[..]);
    assert_eq!(short.intercepts(), &long.intercepts[..]);
    assert!(!short.certificate().verify()); // seeded
}

#[test]
fn labels_are_sorted_and_read_where_they_are_not_declared() {
    let x = records(2000, 3);
    let y: Vec<&str> = (x.column(0).iter())
        .map(|&v| {
            if v < -0.3 {
                "low"
            } else if v < 0.3 {
                "middle"
            } else {
                "high"
            }
        })
        .collect();
    let fit = PrivateFit::classifier()
        .bounds(-1.0, 1.0)
        .epsilon(8.0)
        .seed(1);
    let model = fit.fit(&x, &y).unwrap();
    assert_eq!(model.classes(), ["high", "low", "middle"]);
    assert_eq!(
        (model.coefficients().len(), model.intercepts().len()),
        (9, 3)
    );
    let assumed = model.certificate().assumptions().join("; ");
    assert!(
        assumed.contains("the 3 labels, read from y, are public"),
        "{assumed}"
    );
    let all = model.predict_probabilities(&x).unwrap();
    assert!(
        all.rows()
            .into_iter()
            .all(|row| (row.sum() - 1.0).abs() < 1e-12)
    );
    let guesses = model.predict(&x).unwrap();
    let right = guesses.iter().zip(&y).filter(|(a, b)| a == b).count();
    assert!(right > 1200, "{right} of 2000"); // a third by chance

    let declared = fit.clone().classes(["middle", "low", "high", "none"]);
    assert_eq!(declared.fit(&x, &y).unwrap().classes().len(), 4);
    let missing = fit
        .clone()
        .classes(["low", "high"])
        .fit(&x, &y)
        .unwrap_err();
    assert_eq!(
        problem_of(missing).1,
        "y holds a label that is not among the declared classes"
    );
    let twice = fit.clone().classes(["low", "low"]).plan(10, 3).unwrap_err();
    assert_eq!(problem_of(twice).0, "classes");
    let one = fit.fit(&x, &vec!["low"; 2000]).unwrap_err();
    assert!(problem_of(one).1.contains("one class only"));
}

#[test]
fn two_labels_score_for_the_second() {
    let x = records(4000, 2);
    let y: Vec<i32> = x
        .column(0)
        .iter()
        .map(|&v| if v > 0.0 { 7 } else { 3 })
        .collect();
    let fit = PrivateFit::classifier()
        .classes([7, 3])
        .bounds(-1.0, 1.0)
        .epsilon(4.0)
        .seed(2);
    let model = fit.fit(&x, &y).unwrap();
    assert!(model.classes() == [3, 7] && model.coefficients()[0] > 0.0);
    let far = array![[1.0, 0.0], [-1.0, 0.0]];
    assert_eq!(model.predict(&far).unwrap(), [7, 3]);
    let likely = model.predict_probabilities(&far).unwrap();
    let score = model.release().scores(&far).unwrap()[[0, 0]];
    assert!((likely[[0, 1]] - 1.0 / (1.0 + (-score).exp())).abs() < 1e-12);
    // Single precision is read as it is.
    let single = fit.fit(&x.mapv(|v| v as f32), &y).unwrap();
    assert!(single.predict(&far).unwrap() == [7, 3]);
}

#[test]
fn numbers_and_counts_stay_within_their_bounds() {
    let x = records(6000, 3);
    let y: Vec<f64> = x
        .rows()
        .into_iter()
        .map(|row| 10.0 + 2.0 * row[0] - row[2])
        .collect();
    let fit = PrivateFit::regressor(5.0, 15.0)
        .bounds(-1.0, 1.0)
        .epsilon(4.0)
        .seed(3);
    let model = fit.fit(&x, &y).unwrap();
    assert!(
        (model.coefficients()[0] - 2.0).abs() < 0.3,
        "{:?}",
        model.coefficients()
    );
    assert!((model.intercepts()[0] - 10.0).abs() < 0.3);
    let narrow = PrivateFit::regressor(9.5, 10.5)
        .bounds(-1.0, 1.0)
        .epsilon(4.0)
        .seed(3);
    let within = narrow.fit(&x, &y).unwrap().predict(&x).unwrap();
    assert!(within.iter().all(|y| (9.5..=10.5).contains(y)));

    let counts: Vec<f64> = x
        .column(0)
        .iter()
        .map(|&v| (3.0 * v.exp()).round())
        .collect();
    let fit = PrivateFit::counts(0.0, 20.0)
        .bounds(-1.0, 1.0)
        .epsilon(4.0)
        .seed(4);
    let model = fit.fit(&x, &counts).unwrap();
    let rates = model
        .predict(&array![[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
        .unwrap();
    assert!(rates[0] > 1.5 * rates[1] && rates[1] > 0.0, "{rates}");
}

#[test]
fn what_is_public_must_be_stated() {
    let x = records(100, 2);
    let y = vec![0.0; 100];
    let fit = PrivateFit::regressor(-1.0, 1.0);
    let named = |fit: &PrivateFit<Interval>| problem_of(fit.fit(&x, &y).unwrap_err()).0;
    assert_eq!(named(&fit.clone().epsilon(1.0)), "bounds");
    assert_eq!(named(&fit.clone().bounds(-1.0, 1.0)), "epsilon");
    let stated = fit.bounds(-1.0, 1.0).epsilon(1.0);
    assert_eq!(named(&stated.clone().epsilon(-1.0)), "epsilon");
    assert_eq!(named(&stated.clone().delta(0.0)), "delta");
    assert_eq!(named(&stated.clone().add_remove(100)), "delta");
    assert_eq!(named(&stated.clone().bounds(1.0, -1.0)), "bounds");
    assert!(stated.clone().mechanism_by_name("newton", "{}").is_err());
    let short = stated.fit(&x, &y[..50]).unwrap_err();
    assert_eq!(problem_of(short).0, "data");
    let model = stated.seed(1).fit(&x, &y).unwrap();
    assert!(model.predict(&records(5, 3)).is_err());
}

#[test]
fn the_ledger_is_told_before_anything_is_drawn_and_certificates_hold() {
    let x = records(3000, 3);
    let y: Vec<f64> = x.column(0).to_vec();
    let weights = vec![1.5; 3000];
    let mut ledger = MemoryLedger::default();
    let model = (PrivateFit::regressor(-1.0, 1.0)
        .bounds(-1.0, 1.0)
        .epsilon(1.0)
        .delta(1e-6))
    .max_weight(2.0)
    .mechanism(NoisyNewton::default())
    .fit_recorded(&mut ledger, &x, &y, Some(&weights))
    .unwrap();
    assert_eq!(ledger.entries().len(), 1);
    assert!(model.certificate().verify());
    assert!(model.certificate().epsilon(1e-6).unwrap() <= 1.0);
    assert!(
        model.certificate().unit().contains("weight"),
        "{}",
        model.certificate().unit()
    );
}

#[test]
fn a_loss_of_ones_own_is_tabulated() {
    let x = records(4000, 2);
    let y: Vec<bool> = x.column(1).iter().map(|&v| v > 0.0).collect();
    let model = (PrivateFit::classifier()
        .classes([false, true])
        .bounds(-1.0, 1.0)
        .epsilon(4.0))
    .own_loss(|z, y| -y / (1.0 + (y * z).exp()), 1.0)
    .mechanism(MirrorDescent::default())
    .seed(6)
    .fit(&x, &y)
    .unwrap();
    assert!(model.coefficients()[1] > 0.5, "{:?}", model.coefficients());
    assert!(model.predict_probabilities(&x).is_err());
    let assumed = model.certificate().assumptions().join("; ");
    assert!(assumed.contains("the user's loss was chosen without looking at the data"));
}

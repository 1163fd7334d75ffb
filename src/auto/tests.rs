//! Every draw of every mechanism has its event: what samplers were given is counted against certificates.

use std::sync::Arc;

use ndarray::Array2;

use crate::accounting::event::{Adjacency, Event};
use crate::auto::{Asked, Facts, PrivateScale, auto};
use crate::error::Result;
use crate::exact::noise::source::Source;
use crate::exact::tap::{Seen, watched};
use crate::loss::{Admitted, Huber, Logistic, Pinball, Poisson, SmoothedHinge, Squared};
use crate::mechanism::{CATALOGUE, Mechanism, by_name};
use crate::plan::{Domain, Plan, Problem};
use crate::privacy::{Bounds, Curator, Geometry, MemoryLedger, Schema, Statement, Target, release};

const N: usize = 400;
const P: usize = 4;

/// What samplers were given, by kind.
#[derive(Debug, Default, PartialEq)]
struct Draws {
    /// Vectors that noise was added to; those of one matrix of second moments are one.
    sums: u64,
    choices: u64,
    signs: u64,
    tilts: u64,
}

impl Draws {
    fn of(seen: &[Seen]) -> Self {
        let mut draws = Self::default();
        for (k, seen_now) in seen.iter().enumerate() {
            match seen_now {
                Seen::Integers(values) => {
                    // The entries above a diagonal are no gradient, unless there are 3 columns: then they come first,
                    // or after a choice.
                    let at = |back: usize| k.checked_sub(back).map(|k| &seen[k]);
                    let triangle = values.len() * values.len().saturating_sub(1) / 2;
                    let sums = |back: usize| match at(back) {
                        Some(Seen::Integers(values)) => Some(values.len()),
                        _ => None,
                    };
                    let diagonal = sums(1) == Some(triangle)
                        && (sums(2).is_none() || triangle != values.len());
                    draws.sums += u64::from(!diagonal);
                }
                Seen::Scores(..) | Seen::Groups(..) => draws.choices += 1,
                Seen::Sign(..) => draws.signs += 1,
                Seen::Tilt(_) => draws.tilts += 1,
                Seen::Point(_) => {}
            }
        }
        draws
    }
}

fn count(events: &[(Event, u64)], of: fn(&Event) -> bool) -> u64 {
    let counts = events.iter().filter(|(event, _)| of(event));
    counts.map(|(_, count)| count).sum()
}

fn options(name: &str, domain: &Domain) -> &'static str {
    match name {
        "penalised-frank-wolfe" => r#"{"alpha": 0.01, "n_iter": 3}"#,
        "dual-frank-wolfe" => r#"{"alpha": 0.01, "n_iter": 3}"#,
        "frank-wolfe" | "noisy-gradient-frank-wolfe" | "noisy-proximal-gradient" => {
            r#"{"n_iter": 3}"#
        }
        // Several selections, some of which may go to the intercept.
        "select-refit" if matches!(domain, Domain::L1) => r#"{"n_selected": 3}"#,
        "noisy-newton" => r#"{"line": 0.1}"#,
        _ => "{}",
    }
}

/// A plan, unless the mechanism does not take the problem; none that costs more than it was asked to.
fn planned(name: &str, plan: Result<Plan>) -> Option<Plan> {
    if let Err(error) = &plan {
        assert!(
            !error.to_string().contains("cost more than"),
            "{name}: {error}"
        );
    }
    plan.ok()
}

fn problem(
    mechanism: &dyn Mechanism,
    domain: &Domain,
    bounds: Bounds,
    (intercept, adjacency, persons): (bool, Adjacency, usize),
    (loss, target): (Admitted, Target),
) -> Option<Problem> {
    let geometry = mechanism.geometry(domain, intercept, None).ok()?;
    let schema = Schema::new(P, bounds, geometry, target, intercept, None).unwrap();
    let statement = Statement::new(schema, N, adjacency, persons).unwrap();
    Some(problem_of(statement, loss, 3.0))
}

fn problem_of(statement: Arc<Statement>, loss: Admitted, epsilon: f64) -> Problem {
    Problem {
        statement,
        loss,
        residual_bound: None,
        spread: None,
        opens: false,
        epsilon,
        delta: Some(1e-5),
        reason: None,
        assumptions: Vec::new(),
    }
}

/// Runs a plan: its certificate lists the events that it announced, one for every draw.
fn check(name: &str, plan: &Plan, x: &Array2<f64>, y: &[f64]) {
    let curator = Curator::from_dense(x.view(), y);
    let (mut ledger, source) = (MemoryLedger::default(), Source::seeded(11));
    let (released, seen) = watched(|| {
        release(plan.sealed(), &curator, &mut ledger, source, &mut |_, _| {
            Ok(())
        })
    });
    let released = released.unwrap();
    let (statement, certificate) = (&plan.problem.statement, released.certificate);
    let columns = statement.n_columns();
    let scores = columns * statement.schema().target().outputs();
    assert_eq!(released.value.scaled.len(), scores, "{name}");
    let events: Vec<(Event, u64)> = (certificate.events().iter())
        .map(|spent| (spent.event, spent.count))
        .collect();
    assert_eq!(events, plan.events(), "{name}");
    assert_eq!(ledger.entries()[0].events(), events, "{name}");
    assert_eq!(certificate.claim(), (plan.epsilon(), plan.delta()));

    let draws = Draws::of(&seen);
    assert_ne!(draws, Draws::default(), "{name}: nothing was drawn");
    let noisy = |event: &Event| matches!(event, Event::Gaussian { .. } | Event::Laplace { .. });
    assert_eq!(draws.sums, count(&events, noisy), "{name}: {events:?}");
    let objectives = |event: &Event| matches!(event, Event::ObjectivePerturbation { .. });
    assert_eq!(
        draws.tilts,
        count(&events, objectives),
        "{name}: {events:?}"
    );
    let chosen = count(&events, |event| matches!(event, Event::Exponential { .. }));
    let concentrated = count(&events, |event| {
        matches!(event, Event::ZeroConcentrated { .. })
    });
    match name {
        // Choices from all summands of a step are one event, and so are the signs of a vertex of the cube.
        "dual-frank-wolfe" if concentrated > 0 => {
            assert!(draws.choices + draws.signs >= concentrated && chosen == 0);
        }
        _ => {
            assert_eq!(draws.choices, chosen, "{name}: {events:?}");
            if chosen == 0 {
                assert_eq!(draws.signs, concentrated * columns as u64, "{name}");
            }
        }
    }
}

/// Mechanisms with and without private scales, all kinds of targets and neighbours, one record a person and several.
#[test]
fn every_draw_has_its_event() {
    let (mut plain, mut scaled) = (0, 0);
    let interval = Target::Interval {
        low: -1.0,
        high: 1.0,
    };
    let counts = Target::counts(0.0, 3.0, true);
    let losses: [(Admitted, Target); 3] = [
        (Logistic.into(), Target::Classes),
        (Squared.into(), interval),
        (Poisson::new(8.0, 1.0).unwrap().into(), counts),
    ];
    let wide = Bounds {
        lower: vec![-2.0],
        upper: vec![5.0],
    };
    let unit = Bounds {
        lower: vec![-1.0],
        upper: vec![1.0],
    };
    let x = Array2::from_shape_fn((N, P), |(i, j)| ((i * (j + 3)) % 17) as f64 / 6.0 - 1.3);
    let y: Vec<f64> = (0..N)
        .map(|i| if i % 17 < 9 { 1.0 } else { -1.0 })
        .collect();
    let domains = [
        Domain::L1,
        Domain::Linf,
        Domain::Simplex,
        Domain::Groups(vec![vec![0, 2], vec![1, 3]]),
        Domain::Vertices(vec![vec![1.0, 0.0, 0.5, 0.0], vec![0.0, -1.0, 0.0, 0.5]]),
    ];
    for name in CATALOGUE.iter().map(|entry| entry.name) {
        let before = plain;
        let intercept = name != "simplex-sampling";
        for (adjacency, persons) in [
            (Adjacency::ReplaceOne, 1),
            (Adjacency::AddRemove, 1),
            (Adjacency::ReplaceOne, 2),
        ] {
            for domain in &domains {
                for loss in &losses {
                    let mechanism = || by_name(name, options(name, domain)).unwrap();
                    let facts = (intercept, adjacency, persons);
                    let own = mechanism();
                    let own_plan = problem(own.as_ref(), domain, unit.clone(), facts, loss.clone())
                        .and_then(|problem| planned(name, own.plan(problem, domain)));
                    if let Some(plan) = own_plan {
                        check(name, &plan, &x, &y);
                        plain += 1;
                    }
                    let Some(outer) =
                        problem(own.as_ref(), domain, wide.clone(), facts, loss.clone())
                    else {
                        continue;
                    };
                    let public = Facts {
                        claim: outer.claim(),
                        n_features: P,
                        bounds: &wide,
                        row_norm: None,
                        intercept,
                        target: loss.1,
                        domain,
                        asked: Asked::default(),
                        loss: loss.0.catalogued().map(|loss| &**loss),
                    };
                    let Ok(private) = PrivateScale::new(mechanism(), &public) else {
                        continue;
                    };
                    let private_plan = problem(&private, domain, wide.clone(), facts, loss.clone())
                        .and_then(|problem| planned(name, private.plan(problem, domain)));
                    if let Some(plan) = private_plan {
                        check(name, &plan, &x, &y);
                        // Of reals and counts a histogram of the targets: later sums move by thousands.
                        let scale = match plan.events()[0].0 {
                            Event::Exponential { .. } => true,
                            Event::Gaussian { sensitivity, .. } => {
                                !loss.1.is_classes() && sensitivity < 4.0001
                            }
                            _ => false,
                        };
                        assert!(scale, "{name}: scales come first");
                        scaled += 1;
                    }
                }
            }
        }
        assert!(plain > before, "{name} was never planned");
    }
    assert!(
        plain >= 40 && scaled >= 30,
        "{plain} plain, {scaled} with private scales"
    );
}

/// Where records are too few for a model of reals the whole budget goes into one choice; other targets, and reals
/// without an intercept, keep their mechanisms.
#[test]
fn a_constant_is_one_release() {
    let bounds = Bounds {
        lower: vec![-2.0],
        upper: vec![5.0],
    };
    let x = Array2::from_shape_fn((N, P), |(i, j)| ((i + j) % 5) as f64);
    let y: Vec<f64> = (0..N).map(|i| (i % 17) as f64 / 17.0).collect();
    let interval = Target::Interval {
        low: -1.0,
        high: 1.0,
    };
    let pinball = || Admitted::from(Pinball::new(0.8, 0.1).unwrap());
    let hinge = || Admitted::from(SmoothedHinge::new(0.5).unwrap());
    let two = Target::Multiclass { classes: 2 };
    let counts = Target::counts(0.0, 1.0, true);
    let counts_loss = || Admitted::from(Poisson::new(8.0, 1.0).unwrap());
    let losses: [(Admitted, Target, bool, bool); 14] = [
        (Squared.into(), interval, true, true),
        (pinball(), interval, true, true),
        (Squared.into(), interval, false, false),
        (Huber::new(0.1).unwrap().into(), interval, true, true),
        (Logistic.into(), Target::Classes, true, true),
        (Logistic.into(), two, true, true),
        (Logistic.into(), Target::Classes, false, false),
        (hinge(), Target::Classes, true, true),
        (hinge(), Target::Classes, false, false),
        (Squared.into(), Target::Classes, true, true),
        (Squared.into(), Target::Classes, false, false),
        (pinball(), Target::Classes, true, true),
        (counts_loss(), counts, true, true),
        (counts_loss(), counts, false, false),
    ];
    for (adjacency, persons) in [
        (Adjacency::ReplaceOne, 1),
        (Adjacency::AddRemove, 1),
        (Adjacency::ReplaceOne, 2),
    ] {
        for (loss, target, intercept, constant) in losses.clone() {
            let geometry = Geometry::Uncentred;
            let schema = Schema::new(P, bounds.clone(), geometry, target, intercept, None).unwrap();
            let statement = Statement::new(schema, N, adjacency, persons).unwrap();
            let problem = problem_of(statement, loss.clone(), 0.1);
            let facts = Facts {
                claim: problem.claim(),
                n_features: P,
                bounds: &bounds,
                row_norm: None,
                intercept,
                target,
                domain: &Domain::L1,
                asked: Asked::default(),
                loss: loss.catalogued().map(|loss| &**loss),
            };
            let chosen = auto(&facts, true).unwrap();
            let is_constant = chosen.reason == Some("too few records for a model");
            assert_eq!(is_constant, constant, "{}", loss.name());
            assert_ne!(
                auto(&facts, false).unwrap().reason,
                Some("too few records for a model")
            );
            if is_constant {
                let plan = chosen.mechanism.plan(problem, &Domain::L1).unwrap();
                let pure = match plan.events() {
                    [(Event::Exponential { epsilon0 }, 1)] => *epsilon0,
                    [(Event::Laplace { sensitivity, scale }, 1)] => sensitivity / scale,
                    events => panic!("{events:?}"),
                };
                assert!(pure >= 0.1);
                let made = |y: &f64| match target {
                    Target::Classes => (y - 0.7).signum(),
                    Target::Multiclass { .. } => f64::from(*y > 0.7),
                    _ => *y,
                };
                check(
                    "constant",
                    &plan,
                    &x,
                    &y.iter().map(made).collect::<Vec<_>>(),
                );
            }
        }
    }
}

/// Where a small row norm says that records are sparse counts, weights of columns come first: drawn, announced, and
/// paid for by the mechanism behind them.
#[test]
fn weights_of_columns_have_their_event() {
    let x = Array2::from_shape_fn((N, P), |(i, j)| ((i + j) % 5 / 4) as f64);
    for name in ["noisy-proximal-gradient", "objective-perturbation"] {
        let facts = (Logistic.into(), Target::Classes);
        for plan in plans_of_scales(name, facts, (0.0, 9.0), Some(0.25), 3.0) {
            assert!(plan.mechanism().contains("weights of the columns"));
            let first = plan.events()[0];
            assert!(matches!(first, (Event::Gaussian { .. }, 1)), "{first:?}");
            check(name, &plan, &x, &signs());
        }
    }
}

/// Where regressions have too few records for quantiles, six histograms of the targets and those of the features come
/// first, with an event for each of the seven.
#[test]
fn histograms_of_features_have_their_event() {
    let x = Array2::from_shape_fn((N, P), |(i, j)| ((i * (j + 3)) % 17) as f64 / 6.0);
    let interval = Target::Interval {
        low: -1.0,
        high: 1.0,
    };
    for name in ["noisy-proximal-gradient", "noisy-newton"] {
        let facts = || (Squared.into(), interval);
        // With a small budget features have wide bins, too.
        for (epsilon, histograms) in [
            (1.0, &[(4.0, 6), (2.0 * P as f64, 1)][..]),
            (0.4, &[(4.0, 6), (4.0 * P as f64, 1)]),
        ] {
            let [replaced, added] = plans_of_scales(name, facts(), (0.0, 9.0), None, epsilon);
            for (plan, half) in [(replaced, 1.0), (added, 0.5)] {
                assert!(plan.mechanism().contains("histograms of 4 features"));
                let small: Vec<(f64, u64)> = (plan.events().iter())
                    .filter_map(|event| match event.0 {
                        Event::Gaussian { sensitivity, .. } => Some((sensitivity, event.1)),
                        _ => None,
                    })
                    .filter(|(sensitivity, _)| *sensitivity < 100.0)
                    .collect();
                assert_eq!(small.len(), histograms.len(), "{:?}", plan.events());
                for ((sensitivity, count), (squared, times)) in small.into_iter().zip(histograms) {
                    let exact = (squared * half).sqrt();
                    assert!((exact..1.0001 * exact).contains(&sensitivity) && count == *times);
                }
                check(name, &plan, &x, &signs());
            }
        }
        // With more budget quantiles are sure, and with less nothing is.
        for (epsilon, has) in [
            (30.0, "ranges of 4 features"),
            (0.05, "rows shortened to a public norm"),
        ] {
            for plan in plans_of_scales(name, facts(), (0.0, 9.0), None, epsilon) {
                assert!(plan.mechanism().contains(has), "{}", plan.mechanism());
            }
        }
    }
}

/// Features that no range moves have their means, in one event of a row whose entries are not negative; with ranges of
/// all of them there is none.
#[test]
fn means_of_features_have_their_event() {
    let x = Array2::from_shape_fn((N, P), |(i, j)| ((i * (j + 3)) % 17) as f64 / 6.0);
    let facts = || (Logistic.into(), Target::Classes);
    // Rows that are shortened are not sparse once they are moved.
    for plan in plans_of_scales("noisy-proximal-gradient", facts(), (0.0, 9.0), None, 0.5) {
        assert!(!plan.mechanism().contains("means"), "{}", plan.mechanism());
    }
    let name = "noisy-newton";
    let [replaced, added] = plans_of_scales(name, facts(), (0.0, 9.0), None, 0.5);
    let row = 0.15 * 16_383.0;
    for (plan, exact) in [(replaced, f64::sqrt(2.0) * row), (added, row)] {
        assert!(
            plan.mechanism().contains("means of 4 features"),
            "{}",
            plan.mechanism()
        );
        let of_means = |event: &&(Event, u64)| match event.0 {
            Event::Gaussian { sensitivity, .. } => (exact..1.0001 * exact).contains(&sensitivity),
            _ => false,
        };
        let found: Vec<_> = plan.events().iter().filter(of_means).collect();
        assert!(matches!(found[..], [(_, 1)]), "{:?}", plan.events());
        check(name, &plan, &x, &signs());
    }
    // With more budget all have ranges, and with less means are hidden; elsewhere sizes are no sums.
    for (lower, epsilon) in [(0.0, 30.0), (0.0, 0.02), (-9.0, 0.5)] {
        for plan in plans_of_scales(name, facts(), (lower, 9.0), None, epsilon) {
            assert!(!plan.mechanism().contains("means"), "{}", plan.mechanism());
        }
    }
}

fn signs() -> Vec<f64> {
    (0..N)
        .map(|i| if i % 17 < 9 { 1.0 } else { -1.0 })
        .collect()
}

/// Private scales before a mechanism, for N records of which one is replaced, and added; no two features have the same
/// bounds.
fn plans_of_scales(
    name: &str,
    (loss, target): (Admitted, Target),
    (lower, upper): (f64, f64),
    row_norm: Option<f64>,
    epsilon: f64,
) -> [Plan; 2] {
    let bounds = Bounds {
        lower: vec![lower; P],
        upper: (0..P).map(|j| upper + j as f64).collect(),
    };
    [Adjacency::ReplaceOne, Adjacency::AddRemove].map(|adjacency| {
        let inner = by_name(name, options(name, &Domain::L1)).unwrap();
        let geometry = match row_norm {
            Some(_) => (inner.geometry(&Domain::L1, true, row_norm)).unwrap(),
            None => Geometry::Centred,
        };
        let schema = Schema::new(P, bounds.clone(), geometry, target, true, row_norm).unwrap();
        let statement = Statement::new(schema, N, adjacency, 1).unwrap();
        let problem = problem_of(statement, loss.clone(), epsilon);
        let facts = Facts {
            claim: problem.claim(),
            n_features: P,
            bounds: &bounds,
            row_norm,
            intercept: true,
            target,
            domain: &Domain::L1,
            asked: Asked::default(),
            loss: loss.catalogued().map(|loss| &**loss),
        };
        let private = PrivateScale::new(inner, &facts).unwrap();
        private.plan(problem, &Domain::L1).unwrap()
    })
}

//! What leaves minus what it was made from follows the law of the event, at a false-positive rate of 1e-6 a test.

mod choices;
mod minima;
mod noise;
mod splits;

use std::sync::Arc;

use super::harness::{Data, MAX_WEIGHT, P, Setting, View, asked, bounds, shared};
use crate::accounting::event::Adjacency;
use crate::error::Result;
use crate::exact::tap::Seen;
use crate::loss::Logistic;
use crate::privacy::{Geometry, RoomModel, Schema, Session, Statement, Target};

/// How often a choice is made.
const CHOICES: u64 = 6000;

pub(super) fn root(intercept: bool) -> Arc<Statement> {
    root_of(intercept, Target::Classes)
}

fn root_of(intercept: bool, target: Target) -> Arc<Statement> {
    let schema = Schema::new(
        P,
        bounds(),
        Geometry::Uncentred,
        target,
        intercept,
        Some(1.5),
    );
    Statement::new(schema.unwrap(), shared().len(), Adjacency::ReplaceOne, 1).unwrap()
}

/// The same records with weights, and without.
pub(super) fn roots() -> [Arc<Statement>; 2] {
    let root = root(true);
    let weighted = root.schema().clone().with_max_weight(MAX_WEIGHT).unwrap();
    let weighted = Statement::new(weighted, shared().len(), Adjacency::ReplaceOne, 1);
    [weighted.unwrap(), root]
}

pub(super) fn model() -> RoomModel {
    RoomModel::new(&Logistic.into(), None).unwrap()
}

/// Answers to one question, so many times, each with what the samplers were given.
pub(super) fn answers<R>(
    root: &Arc<Statement>,
    question: crate::privacy::Planned,
    draws: u64,
    ask: &dyn Fn(&mut Session<'_>) -> Result<R>,
) -> Vec<(R, Vec<Seen>)> {
    let setting = Setting {
        name: "laws".into(),
        root: Arc::clone(root),
        view: View::Whole,
        about: Arc::clone(root),
        model: model(),
    };
    let classes = root.schema().target().outputs() > 1;
    let rows = shared().into_iter().map(|(x, y)| match classes {
        true => (x, y.max(0.0)),
        false => (x, y),
    });
    let mut data = Data::new(&rows.collect::<Vec<_>>());
    if root.schema().max_weight().is_some() {
        data = data.weighted(vec![0.3, MAX_WEIGHT, 9.0, 1.7]);
    }
    let one = |seed| {
        let (answer, mut seen) = asked(&setting, &data, std::slice::from_ref(&question), seed, ask);
        if seed > 0 {
            // They are the same in all draws, and long.
            seen.retain(|seen| !matches!(seen, Seen::Scores(..) | Seen::Groups(..)));
        }
        (answer.unwrap(), seen)
    };
    (0..draws).map(one).collect()
}

fn integers(seen: &[Seen]) -> Vec<i64> {
    let integers = seen.iter().filter_map(|seen| match seen {
        Seen::Integers(values) => Some(values.clone()),
        _ => None,
    });
    integers.flatten().collect()
}

fn laplace(x: f64) -> f64 {
    if x < 0.0 {
        0.5 * x.exp()
    } else {
        1.0 - 0.5 * (-x).exp()
    }
}

/// Chi-square of choices with these probabilities, by Wilson & Hilferty's (1931) quantile, which errs by a percent.
pub(super) fn choices_follow(what: &str, counts: &[f64], probabilities: &[f64]) {
    let draws: f64 = counts.iter().sum();
    // Cells of fewer than 5 expected choices are put together.
    let (mut statistic, mut cells, mut rest) = (0.0, 0.0f64, (0.0, 0.0));
    for (&count, &probability) in counts.iter().zip(probabilities) {
        let expected = probability * draws;
        if expected < 5.0 {
            rest = (rest.0 + count, rest.1 + expected);
            continue;
        }
        statistic += (count - expected) * (count - expected) / expected;
        cells += 1.0;
    }
    if rest.1 >= 5.0 {
        statistic += (rest.0 - rest.1) * (rest.0 - rest.1) / rest.1;
        cells += 1.0;
    } else {
        // At most Poisson of mean 5: more than 21 have probability below 1e-7.
        assert!(rest.0 <= 21.0, "{what}: {rest:?}");
    }
    assert!(cells >= 2.0, "{what}: nothing to choose");
    let degrees = cells - 1.0;
    let variance = 2.0 / (9.0 * degrees);
    let critical = 1.02 * degrees * (1.0 - variance + 4.7534 * variance.sqrt()).powi(3) + 1.0;
    assert!(statistic < critical, "{what}: {statistic} of {critical}");
}

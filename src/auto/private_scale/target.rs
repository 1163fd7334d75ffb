//! Where the targets of a regression lie, and how far apart: bounds say little, and every clamp is in these units.

use crate::error::Result;
use crate::loss::{Admitted, Growth, Huber, Pinball};
use crate::numeric::normal::upper_quantile;
use crate::plan::Problem;
use crate::plan::defaults::{
    DISTANCE_NATS, LINE_DEFAULT_SHARE, MODEL_NATS, ROBUST_LEVEL, TARGET_CLAMP, TARGET_LEVELS,
    TARGET_NATS, TARGET_REACH, TARGET_SHARE, TARGET_TAIL, TARGET_TAIL_SHARE, clamps_open,
    level_times_epsilon0, line_clamp,
};
use crate::privacy::{FeatureMap, Planned, Question, Session};
use crate::question::{TargetQuantile, TargetValue};

/// What each of two choices, a median and a distance from it, may spend under a zCDP budget, for each of [`TARGET_SHARE`].
fn affordable(rho: f64) -> [f64; 3] {
    TARGET_SHARE.map(|share| (8.0 * share * rho / 2.0).sqrt())
}

/// What a median takes so that the quantile is so many nats likelier; no level is higher.
fn of_median(nats: f64, n: usize, person: usize) -> f64 {
    level_times_epsilon0(nats, n, person) / 0.5
}

/// Whether the targets of this loss are found first: its own units are those of the spread.
pub(in crate::auto) fn in_units_of_spread(loss: &str) -> bool {
    matches!(loss, "squared" | "pinball" | "huber")
}

/// Whether a model of so many records is worth its noise under a zCDP budget, where nothing but bounds is known of the targets.
pub(in crate::auto) fn models_targets(n: usize, person: usize, rho: f64) -> bool {
    let [_, most, _] = affordable(rho);
    most >= of_median(MODEL_NATS, n, person)
}

/// A median, and one or two quantiles of the distances from it; targets are mapped so that [`TargetScale::spread`] is about one
/// standard deviation of them, if they are normal.
#[derive(Debug)]
pub(super) struct TargetScale {
    median: Question<TargetQuantile>,
    distance: Question<TargetQuantile>,
    /// A distance that few targets exceed, where a line's clamp would be wider than most are.
    tail: Option<Question<TargetQuantile>>,
    /// Distance of the second quantile in standard deviations of a normal law.
    deviations: f64,
    /// Clamp of the residuals of a fit, in standard deviations.
    clamp: f64,
    /// What is mapped to 1, in standard deviations.
    reach: f64,
}

impl TargetScale {
    /// For a regression with an intercept and squared residuals, quantiles or Huber's loss, whose own units are those of
    /// the spread, under a zCDP budget; None for others, and where n is too small.
    pub fn new(problem: &Problem, rho: f64) -> Result<Option<Self>> {
        let schema = problem.schema();
        let squared = problem.loss.growth() == Growth::SquaredResidual;
        let takes = in_units_of_spread(problem.loss.name());
        if !takes || !schema.has_intercept() || schema.target().is_classes() {
            return Ok(None);
        }
        let (n, person) = (problem.n_samples(), problem.records_per_person());
        let [usual, most, all] = affordable(rho);
        let [least, sure, fine] = TARGET_NATS.map(|nats| of_median(nats, n, person));
        let wanted = level_times_epsilon0(DISTANCE_NATS, n, person);
        let worth = usual.max(most.min(fine)).max(all.min(sure));
        // No more than the lowest level wants.
        let epsilon0 = worth.min(wanted / TARGET_LEVELS.0);
        if epsilon0 < least {
            return Ok(None);
        }
        let lowest = match problem.threshold() {
            Some(_) => ROBUST_LEVEL,
            None => TARGET_LEVELS.0,
        };
        let tail = (wanted / epsilon0).clamp(lowest, TARGET_LEVELS.1);
        let statement = &problem.statement;
        let open = clamps_open(n, person, schema.n_columns(), rho);
        let clamp = TARGET_CLAMP * open.min(30.0);
        let line = line_clamp(n, person, LINE_DEFAULT_SHARE * rho);
        let small = (8.0 * TARGET_TAIL_SHARE * rho).sqrt();
        let few = level_times_epsilon0(TARGET_NATS[0], n, person) / small;
        let worth = squared && line > TARGET_REACH && few < TARGET_TAIL;
        let tail_question = || statement.target_quantile(small, 1.0 - few.max(TARGET_TAIL / 5.0));
        Ok(Some(Self {
            median: statement.target_quantile(epsilon0, 0.5)?,
            tail: worth.then(tail_question).transpose()?,
            distance: statement.target_quantile(epsilon0, 1.0 - tail)?,
            deviations: upper_quantile(tail / 2.0),
            clamp,
            reach: TARGET_REACH + line.max(clamp),
        }))
    }

    /// One standard deviation, in scaled units of the mapped records.
    pub fn spread(&self) -> f64 {
        1.0 / self.reach
    }

    /// Clamp of the residuals of a fit, in scaled units of the mapped records.
    pub fn clamp(&self) -> f64 {
        self.clamp * self.spread()
    }

    /// The loss of the mapped records: a width of smoothing and a threshold are in units of the spread.
    pub fn loss(&self, problem: &Problem) -> Result<Admitted> {
        Ok(match (problem.level(), problem.threshold()) {
            (Some(level), _) => Pinball::new(level, self.spread() / problem.smoothness())?.into(),
            (None, Some(threshold)) => Huber::new(threshold * self.spread())?.into(),
            (None, None) => problem.loss.clone(),
        })
    }

    pub fn planned(&self) -> impl Iterator<Item = Planned> {
        self.questions().map(Question::once)
    }

    pub fn questions(&self) -> impl Iterator<Item = &Question<TargetQuantile>> {
        [&self.median, &self.distance].into_iter().chain(&self.tail)
    }

    /// Asks, and adds what it learns to `map`.
    pub fn release(&self, session: &mut Session<'_>, map: FeatureMap) -> Result<FeatureMap> {
        let median = session.ask(&self.median, TargetValue::Itself)?;
        let distance = session.ask(&self.distance, TargetValue::DistanceFrom(median))?;
        let tail = (self.tail.as_ref())
            .map(|tail| session.ask(tail, TargetValue::DistanceFrom(median)))
            .transpose()?;
        let half = distance / self.deviations * self.reach;
        Ok(map.with_target(median, half).with_tail(tail))
    }
}

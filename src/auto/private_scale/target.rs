//! Where the targets of a regression lie, and how far apart: bounds say little, and every clamp is in these units.

use super::middle_spread::MiddleAndSpread;
use crate::accounting::event::Event;
use crate::error::Result;
use crate::loss::{Admitted, Growth, Huber, Pinball};
use crate::plan::Problem;
use crate::plan::defaults::{
    LEAST_LEVEL, LINE_DEFAULT_SHARE, MINOR_SHARE, QUARTER, TARGET_CLAMP, TARGET_NATS, TARGET_REACH,
    TARGET_TAIL, clamps_open, level_times_epsilon0, line_clamp, range_within,
};
use crate::privacy::{FeatureMap, Planned, Question, Session};
use crate::question::{TargetQuantile, TargetValue};

/// Whether the targets of this loss are found first: its own units are those of the spread.
pub(in crate::auto) fn in_units_of_spread(loss: &str) -> bool {
    matches!(loss, "squared" | "pinball" | "huber")
}

/// A middle and a spread, and where it is worth it a quantile of the distances; targets are mapped so that
/// [`TargetScale::spread`] is about one standard deviation of them, if they are normal, or more, where a sure tail is
/// farther out than that leaves room for.
#[derive(Debug)]
pub(super) struct TargetScale {
    targets: MiddleAndSpread,
    /// A distance that few targets exceed, where a line's clamp would be wider than most are.
    tail: Option<Question<TargetQuantile>>,
    /// Whether it is hardly ever missed, so that targets may be mapped by it.
    tail_maps: bool,
    /// Clamp of the residuals of a fit, in standard deviations.
    clamp: f64,
    /// What is mapped to 1, in standard deviations.
    reach: f64,
}

impl TargetScale {
    /// For a regression with an intercept and squared residuals, quantiles or Huber's loss, whose own units are those
    /// of the spread, under a zCDP budget; None for others, and where n is too small.
    pub fn new(problem: &Problem, rho: f64) -> Result<Option<Self>> {
        let schema = problem.schema();
        let squared = problem.loss.growth() == Growth::SquaredResidual;
        let takes = in_units_of_spread(problem.loss.name());
        if !takes || !schema.has_intercept() || schema.target().is_classes() {
            return Ok(None);
        }
        let lowest = match problem.threshold() {
            Some(_) => QUARTER,
            None => LEAST_LEVEL,
        };
        let Some(targets) = MiddleAndSpread::new(problem, rho, lowest)? else {
            return Ok(None);
        };
        let (n, person) = (problem.n_samples(), problem.records_per_person());
        let statement = &problem.statement;
        let open = clamps_open(n, person, schema.n_columns(), rho);
        let clamp = TARGET_CLAMP * open.min(30.0);
        let line = line_clamp(n, person, LINE_DEFAULT_SHARE * rho);
        let small = range_within(MINOR_SHARE * rho);
        let [few, sure] = TARGET_NATS.map(|nats| level_times_epsilon0(nats, n, person) / small);
        let worth = squared && line > TARGET_REACH && few < TARGET_TAIL;
        let maps = sure < TARGET_TAIL;
        let level = if maps { sure } else { few };
        let tail_question = || statement.target_quantile(small, 1.0 - level.max(TARGET_TAIL / 5.0));
        Ok(Some(Self {
            targets,
            tail: worth.then(tail_question).transpose()?,
            tail_maps: maps,
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
        let tail = self.tail.iter().map(Question::once);
        self.targets.planned().chain(tail)
    }

    pub fn events(&self) -> impl Iterator<Item = (Event, u64)> {
        let tail = self.tail.iter().flat_map(Question::events);
        self.targets.events().chain(tail.copied())
    }

    /// Asks, and adds what it learns to `map`.
    pub fn release(&self, session: &mut Session<'_>, map: FeatureMap) -> Result<FeatureMap> {
        let (median, spread) = self.targets.release(session, TargetValue::Itself)?;
        let tail = (self.tail.as_ref())
            .map(|tail| session.ask(tail, TargetValue::DistanceFrom(median)))
            .transpose()?;
        // Where most targets are alike their spread may be next to nothing, and what few have would be clipped; where
        // it is nothing any tail tells more. Equal targets seem no farther apart than a median may be off.
        let alike = TargetQuantile::FINEST;
        let tail = tail.filter(|tail| *tail > alike);
        let least = tail.filter(|_| self.tail_maps || spread <= alike);
        let half = (spread * self.reach).max(least.unwrap_or(0.0));
        Ok(map.with_target(median, half).with_tail(tail))
    }
}

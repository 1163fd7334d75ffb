//! A median of the targets, and how far from it they lie.

use crate::error::Result;
use crate::numeric::normal::upper_quantile;
use crate::plan::Problem;
use crate::plan::defaults::{
    DISTANCE_NATS, LEAST_LEVEL, MODEL_NATS, MOST_SHARE, SIDE_SHARE, TARGET_NATS, TARGET_SHARE,
    level_times_epsilon0, range_within,
};
use crate::privacy::{Question, Session};
use crate::question::{TargetQuantile, TargetValue};

/// What each of two choices, a median and a distance from it, may spend under a zCDP budget, for each of
/// [`TARGET_SHARE`].
fn affordable(rho: f64) -> [f64; 3] {
    [SIDE_SHARE, MOST_SHARE, TARGET_SHARE].map(|share| range_within(share * rho / 2.0))
}

/// What a median takes so that the quantile is so many nats likelier; no level is higher.
fn of_median(nats: f64, n: usize, person: usize) -> f64 {
    level_times_epsilon0(nats, n, person) / 0.5
}

/// Whether a model of so many records is worth its noise under a zCDP budget, where nothing but bounds is known of the
/// targets.
pub(in crate::auto) fn models_targets(n: usize, person: usize, rho: f64) -> bool {
    let [_, most, _] = affordable(rho);
    most >= of_median(MODEL_NATS, n, person)
}

/// Two choices of bounded range.
#[derive(Debug)]
pub(super) struct MiddleAndSpread {
    median: Question<TargetQuantile>,
    distance: Question<TargetQuantile>,
    /// Distance of the second quantile in standard deviations of a normal law.
    deviations: f64,
}

impl MiddleAndSpread {
    /// Under a zCDP budget, with a distance that no less than a share `lowest` of the targets exceed; None where n is
    /// too small.
    pub fn new(problem: &Problem, rho: f64, lowest: f64) -> Result<Option<Self>> {
        let (n, person) = (problem.n_samples(), problem.records_per_person());
        let [usual, most, all] = affordable(rho);
        let [least, sure, fine] = TARGET_NATS.map(|nats| of_median(nats, n, person));
        let wanted = level_times_epsilon0(DISTANCE_NATS, n, person);
        let worth = usual.max(most.min(fine)).max(all.min(sure));
        // No more than the lowest level wants.
        let epsilon0 = worth.min(wanted / LEAST_LEVEL);
        if epsilon0 < least {
            return Ok(None);
        }
        let tail = (wanted / epsilon0).clamp(lowest, 0.5);
        let statement = &problem.statement;
        Ok(Some(Self {
            median: statement.target_quantile(epsilon0, 0.5)?,
            distance: statement.target_quantile(epsilon0, 1.0 - tail)?,
            deviations: upper_quantile(tail / 2.0),
        }))
    }

    pub fn questions(&self) -> impl Iterator<Item = &Question<TargetQuantile>> {
        [&self.median, &self.distance].into_iter()
    }

    /// The median, on the grid of `value`, and about one standard deviation of the targets, if they are normal.
    pub fn release(&self, session: &mut Session<'_>, value: TargetValue) -> Result<(f64, f64)> {
        let median = session.ask(&self.median, value)?;
        let distance = session.ask(&self.distance, TargetValue::DistanceFrom(median))?;
        Ok((median, distance / self.deviations))
    }
}

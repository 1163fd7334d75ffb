//! A middle of the targets, and how far from it they lie.

use super::target_windows::TargetWindows;
use crate::accounting::event::Event;
use crate::error::Result;
use crate::numeric::normal::upper_quantile;
use crate::plan::Problem;
use crate::plan::defaults::{
    DISTANCE_NATS, HISTOGRAM_NATS, LEAST_LEVEL, MODEL_NATS, MOST_SHARE, SIDE_SHARE, TARGET_NATS,
    level_times_epsilon0, range_within,
};
use crate::privacy::{Planned, Question, Session};
use crate::question::{TargetQuantile, TargetValue};

/// What each of two choices, a median and a distance from it, may spend of a share of a zCDP budget.
fn affordable(share: f64, rho: f64) -> f64 {
    range_within(share * rho / 2.0)
}

/// What a median takes so that the quantile is so many nats likelier; no level is higher.
fn of_median(nats: f64, n: usize, person: usize) -> f64 {
    level_times_epsilon0(nats, n, person) / 0.5
}

/// Whether a model of so many records is worth its noise under a zCDP budget, where nothing but bounds is known of the
/// targets.
pub(in crate::auto) fn models_targets(n: usize, person: usize, rho: f64) -> bool {
    affordable(MOST_SHARE, rho) >= of_median(MODEL_NATS, n, person)
}

/// What tells the middle and the spread.
#[derive(Debug)]
pub(super) enum MiddleAndSpread {
    /// Two choices of bounded range.
    Quantiles {
        median: Question<TargetQuantile>,
        distance: Box<Question<TargetQuantile>>,
        /// Distance of the second quantile in standard deviations of a normal law.
        deviations: f64,
    },
    /// Where these would take much of the budget: what noise leaves of histograms.
    Histograms(TargetWindows),
}

impl MiddleAndSpread {
    /// Under a zCDP budget, with a distance that no less than a share `lowest` of the targets exceed; None where n is
    /// too small.
    pub fn new(problem: &Problem, rho: f64, lowest: f64) -> Result<Option<Self>> {
        let (n, person) = (problem.n_samples(), problem.records_per_person());
        let statement = &problem.statement;
        if affordable(MOST_SHARE, rho) < of_median(HISTOGRAM_NATS, n, person) {
            return Ok(TargetWindows::new(statement, rho)?.map(Self::Histograms));
        }
        let wanted = level_times_epsilon0(DISTANCE_NATS, n, person);
        let worth = affordable(SIDE_SHARE, rho).max(of_median(TARGET_NATS[1], n, person));
        // No more than the lowest level wants.
        let epsilon0 = worth.min(wanted / LEAST_LEVEL);
        let tail = (wanted / epsilon0).clamp(lowest, 0.5);
        Ok(Some(Self::Quantiles {
            median: statement.target_quantile(epsilon0, 0.5)?,
            distance: Box::new(statement.target_quantile(epsilon0, 1.0 - tail)?),
            deviations: upper_quantile(tail / 2.0),
        }))
    }

    pub fn planned(&self) -> impl Iterator<Item = Planned> {
        let planned = match self {
            Self::Quantiles {
                median, distance, ..
            } => vec![median.once(), distance.once()],
            Self::Histograms(windows) => vec![windows.planned()],
        };
        planned.into_iter()
    }

    pub fn events(&self) -> impl Iterator<Item = (Event, u64)> {
        let events = match self {
            Self::Quantiles {
                median, distance, ..
            } => [median.events(), distance.events()].concat(),
            Self::Histograms(windows) => windows.events().collect(),
        };
        events.into_iter()
    }

    /// The middle, and about one standard deviation of the targets, if they are normal. Of quantiles, on the grid of
    /// `value`.
    pub fn release(&self, session: &mut Session<'_>, value: TargetValue) -> Result<(f64, f64)> {
        match self {
            Self::Quantiles {
                median,
                distance,
                deviations,
            } => {
                let median = session.ask(median, value)?;
                let distance = session.ask(distance, TargetValue::DistanceFrom(median))?;
                Ok((median, distance / deviations))
            }
            Self::Histograms(windows) => windows.release(session),
        }
    }
}

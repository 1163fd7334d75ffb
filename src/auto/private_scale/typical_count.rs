//! How large counts are as a rule: upper bounds say little, and every clamp is in units of a typical count.

use crate::error::Result;
use crate::plan::Problem;
use crate::plan::defaults::{
    COUNT_CLAMP, COUNT_LEVELS, COUNT_NATS, COUNT_OPEN, COUNT_ROOM, COUNT_SHARE, LINE_DEFAULT_SHARE,
    count_line_clamp, level_times_epsilon0, noise_allows,
};
use crate::privacy::{FeatureMap, Planned, Question, Session, Target};
use crate::question::{TargetQuantile, TargetValue};

/// A high quantile of counts; they are mapped so that a typical one, their mean if they fall off exponentially, is a unit
/// of rates.
#[derive(Debug)]
pub(super) struct TypicalCount {
    quantile: Question<TargetQuantile>,
    /// The quantile in units of the mean of an exponential law.
    means: f64,
    /// Clamp of the slopes of a fit, in units of a typical count.
    clamp: f64,
    /// What is mapped to 1, in units of a typical count.
    reach: f64,
}

impl TypicalCount {
    /// For counts and an intercept, under a zCDP budget; None for others, and where n is too small.
    pub fn new(problem: &Problem, rho: f64) -> Result<Option<Self>> {
        let schema = problem.schema();
        if !schema.has_intercept() || !matches!(schema.target(), Target::Counts { .. }) {
            return Ok(None);
        }
        let (n, person) = (problem.n_samples(), problem.records_per_person());
        let [usual, most] = COUNT_SHARE.map(|share| (8.0 * share * rho).sqrt());
        let [least, sure, wanted] = COUNT_NATS.map(|nats| level_times_epsilon0(nats, n, person));
        // No more than the lowest level wants.
        let epsilon0 = usual
            .max(most.min(sure / COUNT_LEVELS.1))
            .min(wanted / COUNT_LEVELS.0);
        if epsilon0 * COUNT_LEVELS.1 < least {
            return Ok(None);
        }
        let tail = (wanted / epsilon0).clamp(COUNT_LEVELS.0, COUNT_LEVELS.1);
        let strength = noise_allows(n, person, rho) / schema.n_columns() as f64;
        let clamp = COUNT_CLAMP * (strength / COUNT_OPEN).max(1.0).sqrt().min(30.0);
        let line = count_line_clamp(n, person, LINE_DEFAULT_SHARE * rho);
        Ok(Some(Self {
            quantile: problem.statement.target_quantile(epsilon0, 1.0 - tail)?,
            means: (1.0 / tail).ln(),
            clamp,
            reach: COUNT_ROOM + line.max(clamp),
        }))
    }

    /// What targets are after the map.
    pub fn images(&self) -> Target {
        Target::Counts {
            low: 0.0,
            high: 1.0,
            unit: 1.0 / self.reach,
        }
    }

    /// Clamp of the slopes of a fit, in units of rates of the mapped records.
    pub fn clamp(&self) -> f64 {
        self.clamp
    }

    pub fn planned(&self) -> Planned {
        self.quantile.once()
    }

    pub fn question(&self) -> &Question<TargetQuantile> {
        &self.quantile
    }

    /// Asks, and adds what it learns to `map`.
    pub fn release(&self, session: &mut Session<'_>, map: FeatureMap) -> Result<FeatureMap> {
        // Counts are not negative: distances from 0, whose thresholds are as fine as the distances are small.
        let quantile = session.ask(&self.quantile, TargetValue::DistanceFrom(0.0))?;
        Ok(map.with_target(0.0, quantile / self.means * self.reach))
    }
}

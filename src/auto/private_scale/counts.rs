//! Where counts lie, and how far apart: upper bounds say little, and every clamp is in units of their spread.

use super::middle_spread::MiddleAndSpread;
use crate::accounting::event::Event;
use crate::error::Result;
use crate::plan::Problem;
use crate::plan::defaults::{
    COUNT_CLAMP, COUNT_OPEN, COUNT_RATE, COUNT_ROOM, LEAST_LEVEL, LINE_DEFAULT_SHARE,
    count_line_clamp, noise_allows, size_of_counts,
};
use crate::privacy::{FeatureMap, Planned, Session, Target};
use crate::question::TargetValue;

/// A median of counts and a quantile of the distances from it; counts are mapped so that their spread, about one
/// standard deviation, is a unit of rates.
///
/// Where the median is several spreads, scores are those of a rate that starts there
/// ([`FeatureMap::with_rate`]): a step of one moves the rate by about one spread, as it moves means of reals.
#[derive(Debug)]
pub(super) struct CountScale {
    targets: MiddleAndSpread,
    /// Whether scores may start at another rate than a unit.
    starts: bool,
    /// Upper bound of the counts.
    high: f64,
    /// Clamp of the slopes of a fit, in units of rates.
    clamp: f64,
    /// What is mapped to 1, in units of rates.
    reach: f64,
}

impl CountScale {
    /// For counts and an intercept, under a zCDP budget; None for others, and where n is too small. `starts` where
    /// coefficients are asked about in gradients alone.
    pub fn new(problem: &Problem, rho: f64, starts: bool) -> Result<Option<Self>> {
        let schema = problem.schema();
        let Target::Counts { high, .. } = schema.target() else {
            return Ok(None);
        };
        if !schema.has_intercept() {
            return Ok(None);
        }
        let Some(targets) = MiddleAndSpread::new(problem, rho, LEAST_LEVEL)? else {
            return Ok(None);
        };
        let (n, person) = (problem.n_samples(), problem.records_per_person());
        let strength = noise_allows(n, person, rho) / schema.n_columns() as f64;
        let clamp = COUNT_CLAMP * (strength / COUNT_OPEN).max(1.0).sqrt().min(30.0);
        let line = count_line_clamp(n, person, LINE_DEFAULT_SHARE * rho);
        let most = if starts { COUNT_RATE } else { 0.0 };
        Ok(Some(Self {
            targets,
            starts,
            high,
            clamp,
            reach: most + COUNT_ROOM + line.max(clamp),
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

    pub fn planned(&self) -> impl Iterator<Item = Planned> {
        self.targets.planned()
    }

    pub fn events(&self) -> impl Iterator<Item = (Event, u64)> {
        self.targets.events()
    }

    /// Asks, and adds what it learns to `map`.
    pub fn release(&self, session: &mut Session<'_>, map: FeatureMap) -> Result<FeatureMap> {
        let (median, spread) = self.targets.release(session, TargetValue::Size)?;
        let (unit, rate) = unit_and_rate(median, size_of_counts(spread, self.high), self.starts);
        Ok(map.with_target(0.0, unit * self.reach).with_rate(rate))
    }
}

/// A unit of rates, in scaled counts, and the rate where scores start, in units.
fn unit_and_rate(median: f64, spread: f64, starts: bool) -> (f64, f64) {
    if !starts {
        return (spread.max(median), 1.0);
    }
    let unit = spread.max(median / COUNT_RATE);
    (unit, (median / unit).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_start_at_the_median_where_that_is_more_than_the_spread() {
        assert_eq!(unit_and_rate(0.1, 0.2, true), (0.2, 1.0));
        assert_eq!(unit_and_rate(0.5, 0.125, true), (0.125, 4.0));
        assert_eq!(unit_and_rate(0.5, 0.125, false), (0.5, 1.0));
        // Hardly any spread: a rate has its room.
        let (unit, rate) = unit_and_rate(0.875, 0.001, true);
        assert_eq!((unit, rate), (0.875 / COUNT_RATE, COUNT_RATE));
    }
}

//! What is released of the scales, and the map that the releases make.

use std::sync::Arc;

use super::ranges::{
    RangeChoice, clipped_at_deviations, every, map_of_ranges, public_map, ranges_of_all,
};
use super::target::TargetScale;
use super::typical_count::TypicalCount;
use crate::accounting::event::Event;
use crate::error::Result;
use crate::plan::Problem;
use crate::plan::defaults::{
    NORM_LEVEL, NORM_NATS, NORM_SHARE, PUBLIC_NORM, SCALED_ROW, WEIGHT_SHARE, clamps_open,
};
use crate::privacy::{FeatureMap, Planned, Question, Session};
use crate::question::{AbsoluteSums, Ranges, RangesOf, TypicalNorm};

/// Which scales are worth their budget, by public facts that are known before there is a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scales {
    /// Ranges, mapped to [-1, 1] with a margin: for mechanisms that use the maximum norm of a row.
    Boxes,
    /// Ranges, mapped to a spread of 1, and a typical norm of rows; public bounds where n is too small for ranges.
    Ranges,
    /// The same for regressions, whose errors in the tails are large: features are clipped to widened ranges in fits and
    /// predictions alike.
    Clipped,
    /// Weights of columns, and a typical norm of rows.
    Weights,
    /// A typical norm of rows alone.
    Norm,
    /// Nothing of the features: they are taken as they are.
    Target,
}

impl Scales {
    /// Whether features are multiplied and not moved: sparse records stay sparse where zeros are zeros.
    pub(super) fn is_linear(self) -> bool {
        matches!(self, Scales::Weights | Scales::Norm)
    }

    /// Whether a typical norm of rows is released.
    pub(super) fn has_norm(self) -> bool {
        matches!(
            self,
            Scales::Ranges | Scales::Clipped | Scales::Weights | Scales::Norm
        )
    }
}

/// The map of the features, and the released ranges of all of them in scaled units, where there are any.
pub(super) type MapAndRanges = (FeatureMap, Option<Vec<(f64, f64)>>);

/// The scales' releases, in the order in which they are made.
#[derive(Debug)]
pub(super) struct Releases {
    scales: Scales,
    /// How many times as far out features are clipped as where noise is large.
    open: f64,
    ranges: Option<Question<Ranges>>,
    weights: Option<Question<AbsoluteSums>>,
    norm: Option<Question<TypicalNorm>>,
    target: Option<TargetScale>,
    count: Option<TypicalCount>,
}

impl Releases {
    /// What is released of the scales under a zCDP budget.
    ///
    /// # Errors
    /// Noise that the exact samplers do not take.
    pub(super) fn new(scales: Scales, problem: &Problem, rho: f64) -> Result<Self> {
        let statement = &problem.statement;
        let outer = problem.schema();
        let (n, p) = (problem.n_samples(), outer.n_features());
        let person = problem.records_per_person();
        let sure = |of| RangeChoice::new(of, scales, (n, p), person, rho);
        let choice = match scales {
            Scales::Boxes => Some(sure(every(outer.bounds(), p))),
            Scales::Ranges | Scales::Clipped => {
                RangeChoice::best(scales, outer.bounds(), n, p, person, rho)
            }
            Scales::Weights | Scales::Norm | Scales::Target => None,
        };
        let weights = || statement.absolute_sums(1.0 / (2.0 * WEIGHT_SHARE * rho).sqrt());
        let wanted = 4.0 * NORM_NATS[1] * person as f64 / (NORM_LEVEL * n as f64);
        let epsilon0 = (8.0 * NORM_SHARE * rho).sqrt().min(wanted);
        let found = scales.has_norm() && epsilon0 * NORM_NATS[1] >= wanted * NORM_NATS[0];
        let norm = || statement.typical_norm(epsilon0, NORM_LEVEL);
        Ok(Self {
            scales,
            open: clamps_open(n, person, outer.n_columns(), rho),
            ranges: (choice.map(|choice| choice.question(statement))).transpose()?,
            weights: (scales == Scales::Weights).then(weights).transpose()?,
            norm: found.then(norm).transpose()?,
            target: TargetScale::new(problem, rho)?,
            count: TypicalCount::new(problem, rho)?,
        })
    }

    /// Whether rows are shortened to a norm that is not released: none was asked for, or n is too small for it.
    fn has_public_norm(&self) -> bool {
        self.scales.has_norm() && self.norm.is_none()
    }

    /// What is released of the target.
    pub(super) fn target(&self) -> Option<&TargetScale> {
        self.target.as_ref()
    }

    /// What is released of counts.
    pub(super) fn count(&self) -> Option<&TypicalCount> {
        self.count.as_ref()
    }

    /// Where features are clipped to ranges that are released, in standard deviations if they are normal.
    pub(super) fn clipped_at(&self) -> Option<f64> {
        let ranges = (self.ranges.as_ref()).filter(|_| self.scales == Scales::Clipped);
        ranges.map(|ranges| self.open * clipped_at_deviations(ranges.level()))
    }

    pub(super) fn planned(&self) -> Vec<Planned> {
        let ranges = self.ranges.iter().map(Question::once);
        let weights = self.weights.iter().map(Question::once);
        let norm = self.norm.iter().map(Question::once);
        let count = self.count.iter().map(TypicalCount::planned);
        let target = (self.target.iter().flat_map(TargetScale::planned)).chain(count);
        target.chain(ranges).chain(weights).chain(norm).collect()
    }

    pub(super) fn events(&self) -> Vec<(Event, u64)> {
        let ranges = self.ranges.iter().flat_map(Question::events);
        let weights = self.weights.iter().flat_map(Question::events);
        let norm = self.norm.iter().flat_map(Question::events);
        let count = self.count.iter().map(TypicalCount::question);
        let target = (self.target.iter())
            .flat_map(TargetScale::questions)
            .chain(count)
            .flat_map(Question::events);
        (target.chain(ranges).chain(weights).chain(norm))
            .copied()
            .collect()
    }

    pub(super) fn describe(&self) -> String {
        let mut parts = Vec::new();
        if self.target.is_some() {
            parts.push("middle and spread of the target".into());
        }
        if self.count.is_some() {
            parts.push("size of a typical count".into());
        }
        if let Some(ranges) = &self.ranges {
            parts.push(match ranges.of() {
                RangesOf::Each(features) => format!("ranges of {} features", features.len()),
                RangesOf::Together(_) => "one range for all features".into(),
            });
        }
        if self.weights.is_some() {
            parts.push("weights of the columns".into());
        }
        if self.norm.is_some() {
            parts.push("a typical row norm".into());
        }
        let mut all = Vec::new();
        if !parts.is_empty() {
            all.push(format!("private {}", parts.join(" and ")));
        }
        if self.has_public_norm() {
            all.push("rows shortened to a public norm".into());
        }
        all.join(", ")
    }

    /// Asks, and makes the map; with it the ranges of all features that were released, if any were.
    pub(super) fn release(&self, session: &mut Session<'_>) -> Result<MapAndRanges> {
        let statement = Arc::clone(session.statement());
        let schema = statement.schema();
        let p = schema.n_features();
        let mut found = None;
        let map = match (&self.ranges, &self.weights) {
            (Some(question), _) => {
                let ranges = session.ask(question, ())?;
                found = Some(ranges_of_all(question, &ranges, schema));
                map_of_ranges(self.scales, question, &ranges, schema, self.open)
            }
            (None, Some(question)) => {
                let sums = session.ask(question, ())?;
                FeatureMap::linear(weights_of(&sums, question.noise_scale()))
            }
            (None, None) => public_map(self.scales, schema),
        };
        let map = match &self.target {
            Some(target) => target.release(session, map)?,
            None => map,
        };
        let map = match &self.count {
            Some(count) => count.release(session, map)?,
            None => map,
        };
        let norm = match &self.norm {
            Some(norm) => session.ask(norm, &map)?,
            None if self.has_public_norm() => PUBLIC_NORM * (p as f64).sqrt(),
            None => return Ok((map, found)),
        };
        Ok((map.divided_by(norm / SCALED_ROW), found))
    }
}

/// Least weight of a column: none is lost.
const LEAST_WEIGHT: f64 = 0.03;
/// Sums below so many standard deviations of the noise count as being there.
const FLOOR: f64 = 2.0;
/// Weights are only used where the largest sum is so many times the floor: otherwise the noise would choose them.
const LEAST_RATIO: f64 = 8.0;

/// One weight in (0, 1] a feature, less for features that are large in many records, as inverse document frequencies
/// have it (Sparck Jones 1972).
///
/// With s_j the noisy sum, floored at twice the noise, and M the largest: w_j = ln(M/s_j)/ln(M/floor), at least 0.03.
fn weights_of(noisy: &[i64], sigma: f64) -> Vec<f64> {
    let floor = FLOOR * sigma;
    let largest = noisy.iter().map(|&s| s as f64).fold(floor, f64::max);
    if largest < LEAST_RATIO * floor {
        return vec![1.0; noisy.len()];
    }
    let weight = |&sum: &i64| (largest / (sum as f64).max(floor)).ln() / (largest / floor).ln();
    let weights = noisy.iter().map(weight);
    weights
        .map(|weight| weight.clamp(LEAST_WEIGHT, 1.0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_features_weigh_less() {
        let weights = weights_of(&[1_000_000, 100_000, 2_500], 1000.0);
        assert_eq!(weights[0], LEAST_WEIGHT);
        assert!(weights[0] < weights[1] && weights[1] < weights[2] && weights[2] <= 1.0);
        // Where the noise is larger than every sum all columns are alike.
        assert_eq!(weights_of(&[1_000_000, 100_000, 2_500], 1e6), [1.0; 3]);
    }
}

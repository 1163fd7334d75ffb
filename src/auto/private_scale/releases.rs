//! What is released of the scales, and the map that the releases make.

use std::sync::Arc;

use super::counts::CountScale;
use super::features::OfFeatures;
use super::means::Means;
use super::ranges::public_map;
use super::scaled_row::scaled_row;
use super::target::TargetScale;
use crate::accounting::event::Event;
use crate::error::Result;
use crate::plan::Problem;
use crate::plan::defaults::{
    CLAMPED_MOST, CLAMPED_RESIDUAL, COUNTED_NORM, FAR_NORM, FAR_NORM_SHARE, NORM_NATS, PUBLIC_NORM,
    QUARTER, SCALED_ROW, SIDE_SHARE, clamps_open, range_within,
};
use crate::privacy::{FeatureMap, Planned, Question, Schema, Session, Target};
use crate::question::TypicalNorm;

/// Which scales are worth their budget, by public facts that are known before there is a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scales {
    /// Ranges, mapped to [-1, 1] with a margin: for mechanisms that use the maximum norm of a row.
    Boxes,
    /// Ranges, mapped to a spread of 1, and a typical norm of rows; public bounds where n is too small for ranges.
    Ranges,
    /// The same for regressions, whose errors in the tails are large: features are clipped to widened ranges in fits
    /// and predictions alike.
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
    /// How many times as far out features are clipped as where noise is large, and rows count less, up to a typical
    /// norm.
    open: f64,
    features: Option<OfFeatures>,
    means: Option<Means>,
    norm: Option<Question<TypicalNorm>>,
    target: Option<TargetScale>,
    counts: Option<CountScale>,
}

impl Releases {
    /// What is released of the scales under a zCDP budget, before a mechanism in which long rows count less, or are
    /// shortened.
    ///
    /// # Errors
    /// Noise that the exact samplers do not take.
    pub(super) fn new(scales: Scales, weighs: bool, problem: &Problem, rho: f64) -> Result<Self> {
        let outer = problem.schema();
        let n = problem.n_samples();
        let person = problem.records_per_person();
        let features = OfFeatures::new(scales, problem, rho)?;
        let norm = || typical_norm(problem, budget_of_norm(problem, rho));
        Ok(Self {
            scales,
            open: clamps_open(n, person, outer.n_columns(), rho),
            means: (weighs.then(|| Means::new(scales, features.as_ref(), problem, rho)))
                .transpose()?
                .flatten(),
            features,
            norm: (scales.has_norm().then(norm)).transpose()?.flatten(),
            target: TargetScale::new(problem, rho)?,
            counts: CountScale::new(problem, rho, weighs)?,
        })
    }

    /// Whether rows are shortened to a norm that is not released: none was asked for, or n is too small for it.
    fn has_public_norm(&self) -> bool {
        self.scales.has_norm() && self.norm.is_none()
    }

    /// Whether features without a range are around their means.
    pub(super) fn has_means(&self) -> bool {
        self.means.is_some()
    }

    /// What is released of the target.
    pub(super) fn target(&self) -> Option<&TargetScale> {
        self.target.as_ref()
    }

    /// What is released of counts.
    pub(super) fn counts(&self) -> Option<&CountScale> {
        self.counts.as_ref()
    }

    /// The clamp of residuals whose targets are taken as they are, such as two classes.
    pub(super) fn clamp(&self) -> f64 {
        CLAMPED_RESIDUAL * self.open.min(CLAMPED_MOST)
    }

    /// Whether features are clipped to ranges that are released, and farther out than where noise is large.
    pub(super) fn opens(&self) -> bool {
        self.clipped_at().is_some() && self.open > 1.0
    }

    /// Where features are clipped to ranges that are released, in standard deviations if they are normal.
    pub(super) fn clipped_at(&self) -> Option<f64> {
        let features = (self.features.as_ref()).filter(|_| self.scales == Scales::Clipped);
        Some(self.open * features?.clipped_at()?)
    }

    pub(super) fn planned(&self) -> Vec<Planned> {
        let features = self.features.iter().map(OfFeatures::planned);
        let means = self.means.iter().flat_map(Means::planned);
        let norm = self.norm.iter().map(Question::once);
        let counts = self.counts.iter().flat_map(CountScale::planned);
        let target = (self.target.iter().flat_map(TargetScale::planned)).chain(counts);
        let of_features = features.chain(means);
        target.chain(of_features).chain(norm).collect()
    }

    pub(super) fn events(&self) -> Vec<(Event, u64)> {
        let features = self.features.iter().flat_map(OfFeatures::events);
        let means = self.means.iter().flat_map(Means::events);
        let norm = self.norm.iter().flat_map(Question::events);
        let counts = self.counts.iter().flat_map(CountScale::events);
        let target = (self.target.iter().flat_map(TargetScale::events)).chain(counts);
        let of_features = features.chain(means);
        target.chain(of_features.chain(norm).copied()).collect()
    }

    pub(super) fn describe(&self) -> String {
        let mut parts = Vec::new();
        if self.target.is_some() {
            parts.push("middle and spread of the target".into());
        }
        if self.counts.is_some() {
            parts.push("size and spread of a typical count".into());
        }
        parts.extend(self.features.iter().map(OfFeatures::describe));
        parts.extend(self.means.iter().map(Means::describe));
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
        let (map, found) = match &self.features {
            Some(features) => features.release(session, self.scales, self.open)?,
            None => (public_map(self.scales, schema), None),
        };
        let map = match &self.target {
            Some(target) => target.release(session, map)?,
            None => map,
        };
        let map = match &self.counts {
            Some(counts) => counts.release(session, map)?,
            None => map,
        };
        let map = match &self.means {
            Some(means) => means.release(session, map)?,
            None => map,
        };
        let norm = match &self.norm {
            Some(norm) => session.ask(norm, &map)?,
            None if self.has_public_norm() => public_norm(p),
            None => return Ok((map, found)),
        };
        let norm = (COUNTED_NORM * self.open).min(1.0) * norm;
        // Where images end at 1, features that no range clips would lose what coefficients count on.
        let largest = (0..p)
            .filter(|&j| schema.bounds().is_unit(j) && !self.moves(schema, j))
            .fold(0.0f64, |most, j| most.max(map.largest_entry(j, schema)));
        let norm = norm.max(SCALED_ROW * largest);
        Ok((map.divided_by(norm / scaled_row(p)), found))
    }

    /// Whether feature `j` is mapped by what is released of it alone.
    fn moves(&self, schema: &Schema, j: usize) -> bool {
        (self.features.as_ref()).is_some_and(|of| of.moves(schema, j))
    }
}

/// The zCDP budget that the typical norm of the rows of a fit spends, and the largest where it could not be had for
/// that: more where two classes have rows that may be far shorter than the public norm.
fn budget_of_norm(problem: &Problem, rho: f64) -> [f64; 2] {
    let schema = problem.schema();
    let known = schema.row_norm().unwrap_or(f64::INFINITY);
    let far = public_norm(schema.n_features()).min(known) >= FAR_NORM;
    let most = match schema.target() {
        Target::Classes if far => FAR_NORM_SHARE,
        _ => SIDE_SHARE,
    };
    [SIDE_SHARE, most].map(|share| share * rho)
}

/// A typical norm of rows for a usual zCDP budget, no more than it is worth, or for the least that is enough; None
/// where that is beyond the largest.
pub(super) fn typical_norm(
    problem: &Problem,
    budget: [f64; 2],
) -> Result<Option<Question<TypicalNorm>>> {
    let [least, wanted] = ranges_of_norms(problem);
    let [usual, most] = budget.map(range_within);
    let epsilon0 = usual.clamp(least, wanted);
    (epsilon0 <= most)
        .then(|| problem.statement.typical_norm(epsilon0, QUARTER))
        .transpose()
}

/// Least and largest bounded range of the choice of a typical norm.
fn ranges_of_norms(problem: &Problem) -> [f64; 2] {
    let (n, person) = (
        problem.n_samples() as f64,
        problem.records_per_person() as f64,
    );
    NORM_NATS.map(|nats| 4.0 * nats * person / (QUARTER * n))
}

/// What rows of so many features are shortened to where nothing is released.
pub(super) fn public_norm(p: usize) -> f64 {
    PUBLIC_NORM * (p as f64).sqrt()
}

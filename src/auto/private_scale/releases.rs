//! What is released of the scales, and the map that the releases make.

use super::ranges::{RangeChoice, every, map_of_ranges, not_unit};
use crate::accounting::event::Event;
use crate::error::Result;
use crate::exact::noise::source::Source;
use crate::plan::Problem;
use crate::plan::defaults::{
    NORM_LEVEL, NORM_NATS, NORM_SHARE, PUBLIC_NORM, SCALED_ROW, WEIGHT_SHARE,
};
use crate::privacy::answer::{ColumnWeightsPlan, NormPlan, RangePlan, RangesOf};
use crate::privacy::{BoundedData, FeatureMap};

/// Which scales are worth their budget, by public facts that are known before there is a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scales {
    /// Ranges, mapped to [-1, 1] with a margin: for mechanisms that use the maximum norm of a row.
    Boxes,
    /// Ranges, mapped to a spread of 1, and a typical norm of rows.
    Ranges,
    /// Ranges, widened and mapped to [-1, 1], to which features are clipped in fits and predictions alike, and a
    /// typical norm of rows: for regressions, whose errors in the tails are large.
    Clipped,
    /// Weights of columns, and a typical norm of rows.
    Weights,
    /// A typical norm of rows alone.
    Norm,
    /// Nothing: public bounds to [-1, 1], and rows shortened to a public norm. Where n is too small for any release.
    Public,
}

impl Scales {
    /// Whether a typical norm of rows is released.
    pub(super) fn has_norm(self) -> bool {
        matches!(
            self,
            Scales::Ranges | Scales::Clipped | Scales::Weights | Scales::Norm
        )
    }
}

/// The scales' releases, in the order in which they are made.
#[derive(Debug)]
pub(super) struct Releases {
    scales: Scales,
    ranges: Option<RangePlan>,
    weights: Option<ColumnWeightsPlan>,
    norm: Option<NormPlan>,
}

impl Releases {
    /// What is released of the scales under a zCDP budget.
    ///
    /// # Errors
    /// Noise that the exact samplers do not take.
    pub(super) fn new(scales: Scales, problem: &Problem, rho: f64) -> Result<Self> {
        let outer = &problem.schema;
        let (n, p) = (problem.n_samples, outer.n_features());
        let person = problem.records_per_person;
        let sure = |of| RangeChoice::new(of, scales, n, person, rho);
        let choice = match scales {
            Scales::Boxes => Some(sure(every(outer.bounds(), p))),
            Scales::Ranges | Scales::Clipped => {
                let best = RangeChoice::best(scales, outer.bounds(), n, p, person, rho);
                Some(best.unwrap_or_else(|| sure(not_unit(outer.bounds(), p))))
            }
            Scales::Weights | Scales::Norm | Scales::Public => None,
        };
        let weights_plan = || {
            let multiplier = 1.0 / (2.0 * WEIGHT_SHARE * rho).sqrt();
            ColumnWeightsPlan::new(outer, multiplier, problem.adjacency, person)
        };
        let norm_plan = || {
            let wanted = 4.0 * NORM_NATS * person as f64 / (NORM_LEVEL * n as f64);
            let epsilon0 = (8.0 * NORM_SHARE * rho).sqrt().min(wanted);
            NormPlan::new(epsilon0, NORM_LEVEL, n, person)
        };
        Ok(Self {
            scales,
            ranges: (choice.map(|choice| choice.plan(n, person))).transpose()?,
            weights: (scales == Scales::Weights).then(weights_plan).transpose()?,
            norm: scales.has_norm().then(norm_plan).transpose()?,
        })
    }

    pub(super) fn events(&self) -> Vec<(Event, u64)> {
        let ranges = self.ranges.iter().flat_map(RangePlan::events);
        let weights = self.weights.iter().flat_map(ColumnWeightsPlan::events);
        let norm = self.norm.iter().flat_map(NormPlan::events);
        ranges.chain(weights).chain(norm).collect()
    }

    pub(super) fn describe(&self) -> String {
        if self.scales == Scales::Public {
            return "rows shortened to a public norm".into();
        }
        let mut parts = Vec::new();
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
        format!("private {}", parts.join(" and "))
    }

    /// Spends the events and makes the map.
    pub(super) fn release(&self, data: &BoundedData, source: &mut Source) -> Result<FeatureMap> {
        let schema = data.schema();
        let p = schema.n_features();
        let map = match (&self.ranges, &self.weights) {
            (Some(plan), _) => {
                let ranges = plan.release(data, source)?;
                map_of_ranges(self.scales, plan, &ranges, schema)
            }
            (None, Some(weights)) => FeatureMap::linear(weights.release(data, source)?),
            (None, None) => FeatureMap::linear(vec![1.0; p]),
        };
        let norm = match &self.norm {
            Some(norm) => norm.release(data, &map, source)?,
            None if self.scales == Scales::Public => PUBLIC_NORM * (p as f64).sqrt(),
            None => return Ok(map),
        };
        Ok(map.divided_by(norm / SCALED_ROW))
    }
}

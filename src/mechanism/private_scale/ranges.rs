//! Ranges of features: whose are worth their noise, and the map that they make.

use crate::error::Result;
use crate::mechanism::defaults::{
    MOST_UNIT_RANGES, RANGE_LEAST, RANGE_LEVELS, RANGE_LIMIT, RANGE_MARGIN, RANGE_NATS, RANGE_SHARE,
};
use crate::privacy::answer::{RangePlan, RangesOf};
use crate::privacy::{Bounds, FeatureMap, Schema};

/// All features.
pub(super) fn every(p: usize) -> RangesOf {
    RangesOf::Each((0..p as u32).collect())
}

/// The features whose bounds say nothing about how they are spread.
pub(super) fn not_unit(bounds: &Bounds, p: usize) -> RangesOf {
    let wide = |&j: &u32| !bounds.is_unit(j as usize);
    RangesOf::Each((0..p as u32).filter(wide).collect())
}

/// Whose ranges, at which quantiles, for how much.
#[derive(Debug)]
pub(super) struct RangeChoice {
    of: RangesOf,
    epsilon0: f64,
    level: f64,
}

impl RangeChoice {
    /// The exponential mechanism misses a quantile of level q where exp(-epsilon0 q n/(2 m)) times the number of
    /// thresholds in the empty tail is not small: q n epsilon0/(2 m) must be some nats. The level is as low as that
    /// allows, and epsilon0 no larger than the lowest level wants.
    pub(super) fn new(of: RangesOf, n: usize, person: usize, rho: f64) -> Self {
        let count = match &of {
            RangesOf::Each(features) => features.len().max(1),
            RangesOf::Together(_) => 1,
        };
        let needed = 2.0 * RANGE_NATS * person as f64 / n as f64;
        let most = (8.0 * RANGE_SHARE * rho / (2 * count) as f64).sqrt();
        let epsilon0 = most.min(4.0 * needed / RANGE_LEVELS.0);
        Self {
            of,
            epsilon0,
            level: (needed / epsilon0).max(RANGE_LEVELS.0),
        }
    }

    /// The same at the largest level, where its own is too large.
    pub(super) fn at_any_price(self) -> Self {
        let level = self.level.min(RANGE_LEVELS.1);
        Self { level, ..self }
    }

    /// The finest choice that is worth its noise.
    pub(super) fn best(
        bounds: &Bounds,
        n: usize,
        p: usize,
        person: usize,
        rho: f64,
    ) -> Option<Self> {
        let same = !bounds.all_unit(p) && bounds.all_equal(p);
        let together = same.then_some(RangesOf::Together(p));
        let units = (0..p).filter(|&j| bounds.is_unit(j)).count();
        let all = (units <= MOST_UNIT_RANGES).then(|| every(p));
        (all.into_iter())
            .chain(together)
            .chain([not_unit(bounds, p)])
            .map(|of| Self::new(of, n, person, rho))
            .find(|choice| choice.level <= RANGE_LEVELS.1)
    }

    /// As it is released.
    pub(super) fn plan(self, n: usize, person: usize) -> Result<RangePlan> {
        RangePlan::new(self.epsilon0, self.level, n, self.of, person)
    }
}

/// Maps ranges (in scaled units of a centred schema) to [-1, 1], widened by a margin for boxes; features without one
/// from their bounds [0, 1] or [-1, 1] to themselves.
pub(super) fn map_of_ranges(
    of: &RangesOf,
    ranges: &[(f64, f64)],
    schema: &Schema,
    boxes: bool,
) -> FeatureMap {
    let p = schema.n_features();
    let (mut factor, mut shift) = (Vec::with_capacity(p), Vec::with_capacity(p));
    for j in 0..p {
        let (lo, hi) = schema.bounds().of(j);
        let size = lo.abs().max(hi.abs());
        if size > 0.0 {
            factor.push(0.5 * (hi - lo) / size);
            shift.push(0.5 * (hi + lo) / size);
        } else {
            factor.push(0.0);
            shift.push(0.0);
        }
    }
    let mut set = |j: usize, (low, high): (f64, f64)| {
        let middle = 0.5 * (low + high);
        let at_bound = low <= -1.0 || high >= 1.0;
        if !boxes && at_bound && schema.bounds().is_unit(j) {
            return; // an indicator: it fills its bounds, however rare
        }
        // Nothing within the public bounds is clipped: models are linear beyond any limit.
        let least = match (boxes, low == high) {
            (true, _) => RANGE_LEAST,
            // Most values are equal; the others may be anywhere.
            (false, true) => 1.0 + middle.abs(),
            (false, false) => (1.0 + middle.abs()) / RANGE_LIMIT,
        };
        let half = (0.5 * (high - low)).max(least);
        let half = if boxes {
            half * (1.0 + 2.0 * RANGE_MARGIN)
        } else {
            half
        };
        (factor[j], shift[j]) = (1.0 / half, -middle / half);
    };
    match of {
        RangesOf::Each(features) => {
            for (&j, &range) in features.iter().zip(ranges) {
                set(j as usize, range);
            }
        }
        RangesOf::Together(_) => (0..p).for_each(|j| set(j, ranges[0])),
    }
    FeatureMap::new(factor, shift, if boxes { 1.0 } else { f64::INFINITY })
}

//! Ranges of features: whose are worth their noise, and the map that they make.

use std::sync::Arc;

use super::releases::Scales;
use crate::error::Result;
use crate::numeric::normal::upper_quantile;
use crate::plan::defaults::{
    CLIPPED_DEVIATION, CLIPPED_LEVEL, CLIPPED_MARGIN, LEAST_LEVEL, MORE_LEVEL, MOST_UNIT_RANGES,
    NEWTON_COLUMNS, RANGE_DEVIATION, RANGE_LEAST, RANGE_LEVEL, RANGE_LIMIT, RANGE_MARGIN,
    RANGE_ROOM, RANGE_SHARE, RANGE_WIDENED, level_times_epsilon0, range_within,
};
use crate::privacy::{Bounds, FeatureMap, Question, Schema, Statement};
use crate::question::{Ranges, RangesOf};

/// All features that vary.
pub(super) fn every(bounds: &Bounds, p: usize) -> RangesOf {
    RangesOf::Each((0..p as u32).filter(|&j| varies(bounds, j)).collect())
}

/// The features that vary whose bounds say nothing about how they are spread.
pub(super) fn not_unit(bounds: &Bounds, p: usize) -> RangesOf {
    let wide = |&j: &u32| varies(bounds, j) && !bounds.is_unit(j as usize);
    RangesOf::Each((0..p as u32).filter(wide).collect())
}

fn varies(bounds: &Bounds, j: u32) -> bool {
    let (low, high) = bounds.of(j as usize);
    low < high
}

/// Whose ranges, at which quantiles, for how much.
#[derive(Debug)]
pub(super) struct RangeChoice {
    of: RangesOf,
    epsilon0: f64,
    level: f64,
    /// Whether quantiles at this level are found well enough.
    sound: bool,
}

impl RangeChoice {
    /// For some of `p` features. The level is as low as [`Ranges::nats`] allow, and epsilon0 no larger than the lowest
    /// level wants, nor than [`RANGE_SHARE`] gives unless the highest level needs it.
    pub(super) fn new(
        of: RangesOf,
        scales: Scales,
        (n, p): (usize, usize),
        person: usize,
        rho: f64,
    ) -> Self {
        let least = match scales {
            Scales::Clipped => CLIPPED_LEVEL,
            _ => LEAST_LEVEL,
        };
        let count = match &of {
            RangesOf::Each(features) => features.len().max(1),
            RangesOf::Together(_) => 1,
        };
        let [needed, wanted] = Ranges::nats(count);
        // Where quantiles may be missed histograms are better, which tell how sure they are.
        let needed = match scales {
            Scales::Clipped => needed + Ranges::SPARE,
            _ => needed,
        };
        let [needed, wanted] = [needed, wanted].map(|nats| level_times_epsilon0(nats, n, person));
        // Where features are clipped as much again if every one has a range: less depends on them where most are
        // indicators.
        let again = match scales {
            Scales::Clipped => count as f64 / p.max(1) as f64,
            _ => 0.0,
        };
        let [usual, most] = RANGE_SHARE;
        let usual = usual * (1.0 + again);
        let most = match scales {
            Scales::Clipped => usual,
            _ => most,
        };
        let [usual, most] =
            [usual, most].map(|share| range_within(share * rho / (2 * count) as f64));
        // More than usual only where that suffices.
        let needed_at_most = needed / RANGE_LEVEL;
        let epsilon0 = match needed_at_most <= most {
            true => usual.max(needed_at_most),
            false => usual,
        };
        let epsilon0 = epsilon0.min(4.0 * wanted / least);
        let level = (wanted / epsilon0).clamp(least, RANGE_LEVEL);
        Self {
            of,
            epsilon0,
            level,
            sound: level * epsilon0 >= needed,
        }
    }

    /// The finest choice of those that `scales` allow which is worth its noise.
    pub(super) fn best(
        scales: Scales,
        bounds: &Bounds,
        n: usize,
        p: usize,
        person: usize,
        rho: f64,
    ) -> Option<Self> {
        let same = !bounds.all_unit(p) && bounds.all_equal(p);
        let together = same.then_some(RangesOf::Together(p));
        let units = (0..p).filter(|&j| bounds.is_unit(j)).count();
        let new = |of: RangesOf| Self::new(of, scales, (n, p), person, rho);
        let wide = || new(not_unit(bounds, p));
        if units == p {
            return None; // nothing is to be found of them
        }
        // Numbers that fill little of unit bounds would be lost in their unit; most are indicators, which need none.
        let all = || new(every(bounds, p));
        let beside = |all: &Self| all.is_fine() && all.level <= MORE_LEVEL * wide().level;
        let finest = match scales {
            Scales::Clipped => (p <= NEWTON_COLUMNS).then(all).filter(beside),
            _ => (units <= MOST_UNIT_RANGES).then(all),
        };
        let first = (scales == Scales::Clipped).then(wide);
        (finest.into_iter().chain(first))
            .chain(together.map(new))
            .chain([wide()])
            .find(|choice| choice.sound)
    }

    /// Whether quantiles are found on the finest grid, and farther out than where few records tell of them.
    fn is_fine(&self) -> bool {
        self.sound && self.level < RANGE_LEVEL
    }

    /// As it is asked.
    pub(super) fn question(self, statement: &Arc<Statement>) -> Result<Question<Ranges>> {
        statement.ranges(self.epsilon0, self.level, self.of)
    }
}

/// The map by public facts alone, where no ranges are released.
pub(super) fn public_map(scales: Scales, schema: &Schema) -> FeatureMap {
    let (factor, shift) = match scales {
        Scales::Ranges | Scales::Clipped => public_scales(schema),
        _ => return FeatureMap::linear(vec![1.0; schema.n_features()]),
    };
    // A finite limit: predictions clip features where fits do.
    let limit = match scales {
        Scales::Clipped => 1.0,
        _ => f64::INFINITY,
    };
    FeatureMap::new(factor, shift, limit)
}

/// Public factors and shifts, for features of a centred schema: bounds that begin or end at 0 to [0, 1] or [-1, 0],
/// since most values may be 0, others to [-1, 1].
pub(super) fn public_scales(schema: &Schema) -> (Vec<f64>, Vec<f64>) {
    let scale = |j: usize| {
        let (lo, hi) = schema.bounds().of(j);
        let size = lo.abs().max(hi.abs());
        if lo >= hi {
            (0.0, 0.0)
        } else if lo == 0.0 || hi == 0.0 {
            (0.5 * (hi - lo) / size, 0.5 * (hi + lo) / size)
        } else {
            (1.0, 0.0)
        }
    };
    (0..schema.n_features()).map(scale).unzip()
}

/// Ranges that were released, in scaled units of a centred schema.
#[derive(Debug)]
pub(super) struct Found {
    pub of: RangesOf,
    pub ranges: Vec<(f64, f64)>,
    /// Their ends are about these quantiles: q, and 1 - q.
    pub level: f64,
    /// Values at a bound have ends no farther from it than this.
    pub resolution: f64,
}

impl Found {
    /// Of all features; public bounds for those without one.
    pub fn of_all(&self, schema: &Schema) -> Vec<(f64, f64)> {
        let p = schema.n_features();
        match &self.of {
            RangesOf::Each(features) => {
                let mut all: Vec<_> = (0..p).map(|j| schema.scaled_bounds(j)).collect();
                for (&j, &range) in features.iter().zip(&self.ranges) {
                    all[j as usize] = range;
                }
                all
            }
            RangesOf::Together(_) => vec![self.ranges[0]; p],
        }
    }
}

/// Maps what was found as `scales` say; features without a range by their public bounds. Those that are clipped are so
/// `open` times as far out as where noise is large.
pub(super) fn map_of_ranges(
    scales: Scales,
    found: &Found,
    schema: &Schema,
    open: f64,
) -> FeatureMap {
    let p = schema.n_features();
    let (mut factor, mut shift) = public_scales(schema);
    let deviations = upper_quantile(found.level);
    let end = 1.0 - found.resolution;
    let mut fits = true;
    let mut set = |j: usize, range: (f64, f64)| {
        let range = of_equal_values(range, end);
        let at_bound = range.0 <= -end || range.1 >= end;
        let (low, high) = match scales {
            Scales::Boxes => boxed(range),
            _ if schema.bounds().is_unit(j) && at_bound => {
                return; // an indicator: it fills its bounds, however rare
            }
            Scales::Clipped => clipped(range, deviations),
            // Apart by noise alone, if at all: both quantiles are one value.
            _ if range.1 - range.0 < 3.0 * found.resolution => spread(range, deviations, 1.0),
            _ if at_bound => spread(range, deviations, RANGE_ROOM),
            _ => spread(range, deviations, f64::INFINITY),
        };
        let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
        fits &= 1.0 + middle.abs() <= RANGE_LIMIT * half * (1.0 + f64::EPSILON);
        (factor[j], shift[j]) = (1.0 / half, -middle / half);
    };
    match &found.of {
        RangesOf::Each(features) => {
            for (&j, &range) in features.iter().zip(&found.ranges) {
                set(j as usize, range);
            }
        }
        RangesOf::Together(_) => (0..p).for_each(|j| set(j, found.ranges[0])),
    }
    let limit = match scales {
        Scales::Boxes => 1.0,
        Scales::Clipped => clipped_at(found.level),
        _ if fits => f64::INFINITY,
        _ => RANGE_LIMIT,
    };
    match open > 1.0 && scales == Scales::Clipped {
        true => FeatureMap::new(factor, shift, open * limit).with_near(limit),
        false => FeatureMap::new(factor, shift, limit),
    }
}

/// Both ends at a bound that they may be at: most values are equal, and then they are most often the bound itself.
fn of_equal_values((low, high): (f64, f64), end: f64) -> (f64, f64) {
    match low == high && low.abs() >= end {
        true => (low.signum(), low.signum()),
        false => (low, high),
    }
}

/// Widened by a margin, and never narrow: the box of mechanisms that use the maximum norm of a row.
fn boxed((low, high): (f64, f64)) -> (f64, f64) {
    let half = (0.5 * (high - low)).max(RANGE_LEAST) * (1.0 + 2.0 * RANGE_MARGIN);
    let middle = 0.5 * (low + high);
    (middle - half, middle + half)
}

/// Mapped to a standard deviation of [`CLIPPED_DEVIATION`], if values are normal.
fn clipped(range: (f64, f64), deviations: f64) -> (f64, f64) {
    if range.0 == range.1 {
        return (-1.0, 1.0); // most values are equal; the others may be anywhere
    }
    let (middle, half) = of_deviation(range, deviations, CLIPPED_DEVIATION);
    (middle - half, middle + half)
}

/// Middle and half of what is mapped to [-1, 1]: no more than the public bounds, which are [-1, 1] here, are wide. They
/// bound the spread already, and noise on a range must not make a feature weigh less.
fn of_deviation((low, high): (f64, f64), deviations: f64, deviation: f64) -> (f64, f64) {
    let half = 0.5 * (high - low) / deviations / deviation;
    (0.5 * (low + high), half.min(1.0))
}

/// Where such features are clipped, beyond what few values are.
fn clipped_at(level: f64) -> f64 {
    clipped_at_deviations(level) * CLIPPED_DEVIATION
}

/// The same in standard deviations, if they are normal.
pub(super) fn clipped_at_deviations(level: f64) -> f64 {
    (1.0 + 2.0 * CLIPPED_MARGIN * (level - CLIPPED_LEVEL)) * upper_quantile(level)
}

/// Mapped to one of [`RANGE_DEVIATION`]: that of an indicator of half of the records; and widened until the public
/// bounds are within
/// [`RANGE_LIMIT`]: nothing within them is clipped, and models are linear beyond any limit. If that takes more than
/// [`RANGE_WIDENED`] times the width, as many features would say nothing, it is widened `room` times less, and values
/// beyond are clipped.
fn spread(range: (f64, f64), deviations: f64, room: f64) -> (f64, f64) {
    let (middle, half) = of_deviation(range, deviations, RANGE_DEVIATION);
    let fits = (1.0 + middle.abs()) / RANGE_LIMIT;
    let half = match fits <= RANGE_WIDENED * half {
        true => half.max(fits),
        false => half.max(fits / room),
    };
    (middle - half, middle + half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;
    use crate::numeric::kernel::MAX_FEATURE;
    use crate::privacy::{Geometry, Target};

    /// Most values of some features are equal: their image does not depend on whether noise parts the quantiles, and
    /// the public bounds fit.
    #[test]
    fn equal_quantiles_are_as_nearly_equal_ones() {
        for value in [-1.0, -0.3, 0.0, 1.0] {
            let (low, high) = spread((value, value), 1.28, 1.0);
            let near = spread((value, value + 1e-9), 1.28, 1.0);
            assert!((low - near.0).abs() < 1e-6 && (high - near.1).abs() < 1e-6);
            let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
            let largest = [-1.0f64, 1.0].map(|end| ((end - middle) / half).abs());
            assert!(largest[0].max(largest[1]) <= RANGE_LIMIT + 1e-9);
        }
        // Ranges that say how values are spread are taken as they are.
        let (low, high) = spread((-0.1, 0.3), 1.0, 1.0);
        assert!(((high - low) - 0.4 / RANGE_DEVIATION).abs() < 1e-12);
        assert!((0.5 * (low + high) - 0.1).abs() < 1e-12);
    }

    /// A range that bounds are far wider than says how values are spread, and clips; one that they are not so much
    /// wider than is widened; where most values are a bound, it says less of the others.
    #[test]
    fn narrow_ranges_clip() {
        let narrowest = 1.0 / RANGE_LIMIT / RANGE_WIDENED;
        let found = |half: f64, room: f64| {
            let deviation = half * RANGE_DEVIATION;
            let (low, high) = spread((-deviation, deviation), 1.0, room);
            0.5 * (high - low)
        };
        let narrow = 0.9 * narrowest;
        for (room, half) in [
            (f64::INFINITY, narrow),
            (1.0, 0.1),
            (RANGE_ROOM, 0.1 / RANGE_ROOM),
        ] {
            assert!((found(narrow, room) / half - 1.0).abs() < 1e-9, "{room}");
            assert!((found(1.1 * narrowest, room) - 0.1).abs() < 1e-9, "{room}");
        }
    }

    /// Indicators are taken as they are, however coarse the grid of thresholds is, and features most of whose values
    /// are a bound have that value in the middle; others have the middle of their range there.
    #[test]
    fn coarse_ranges_leave_indicators_alone() {
        let bounds = Bounds {
            lower: vec![0.0; 3],
            upper: vec![1.0, 1.0, 8.0],
        };
        let (geometry, target) = (Geometry::Centred, Target::Classes);
        let schema = Schema::new(3, bounds, geometry, target, true, None).unwrap();
        let statement = Statement::new(schema.clone(), 1000, Adjacency::ReplaceOne, 1).unwrap();
        for epsilon0 in [0.02, 0.1, 10.0] {
            let question = statement
                .ranges(epsilon0, 0.1, every(schema.bounds(), 3))
                .unwrap();
            // As far from the bound as may be released for values at it.
            let at = -1.0 + 0.99 * question.resolution();
            let ranges = [(at, at), (-0.3, 0.1), (at, at)];
            let found = Found {
                of: question.of().clone(),
                ranges: ranges.to_vec(),
                level: question.level(),
                resolution: question.resolution(),
            };
            let map = map_of_ranges(Scales::Ranges, &found, &schema, 1.0);
            let unit = f64::from(MAX_FEATURE);
            let image = |j: usize, x: f64| map.of(j).value((x * unit).trunc()) / unit;
            assert_eq!([image(0, -1.0), image(0, 1.0)], [0.0, 1.0]);
            assert!(image(1, -0.1).abs() < 1e-3 && image(1, 0.1) > 0.3);
            assert!(image(2, -1.0) == 0.0 && (image(2, 1.0) - RANGE_LIMIT).abs() < 1e-9);
        }
    }

    /// Two ranges that clip are paid as much again where they are all that there is, and next to nothing more among
    /// many indicators.
    #[test]
    fn ranges_are_paid_by_the_share_of_features_that_have_one() {
        let paid = |scales: Scales, p: usize| {
            let of = RangesOf::Each(vec![0, 1]);
            let choice = RangeChoice::new(of, scales, (2_000, p), 1, 0.02);
            2.0 * 2.0 * choice.epsilon0.powi(2) / 8.0 / 0.02
        };
        for (p, share) in [(2, 0.14), (4, 0.105), (200, 0.0707)] {
            assert!((paid(Scales::Clipped, p) - share).abs() < 1e-9, "{p}");
            assert!((paid(Scales::Ranges, p) - 0.07).abs() < 1e-9, "{p}");
        }
    }

    /// However wide noise makes a range, what is mapped to [-1, 1] is as wide as the public bounds at most, around the
    /// middle of the range.
    #[test]
    fn no_range_is_wider_than_the_public_bounds() {
        for range in [(-1.0, 1.0), (-0.9, 0.2), (-0.2, 0.9), (-0.6, 0.6)] {
            let middle = 0.5 * (range.0 + range.1);
            for (low, high) in [spread(range, 0.7, 1.0), clipped(range, 0.7)] {
                assert!((high - low - 2.0).abs() < 1e-12);
                assert!((0.5 * (low + high) - middle).abs() < 1e-12);
            }
        }
        assert!((spread((-0.2, 0.2), 0.7, 1.0).1 - 0.2 / 0.7 / RANGE_DEVIATION).abs() < 1e-12);
    }
}

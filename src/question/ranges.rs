//! Ranges of features: two quantiles of each.

use std::sync::Arc;

use super::Question;
use super::quantile::Quantile;
use super::statement::Statement;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::numeric::kernel::MAX_FEATURE;

/// Whose ranges are released.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RangesOf {
    /// One range for each of these features, ascending.
    Each(Vec<u32>),
    /// One range for the values of all features together, `n_features` of them.
    Together(usize),
}

impl RangesOf {
    /// Number of ranges.
    pub fn len(&self) -> usize {
        match self {
            RangesOf::Each(features) => features.len(),
            RangesOf::Together(_) => 1,
        }
    }

    /// Whether no range is released.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Values that one record adds to a range.
    fn values(&self) -> u64 {
        match self {
            RangesOf::Each(_) => 1,
            RangesOf::Together(n_features) => *n_features as u64,
        }
    }
}

/// Ranges of features: two quantiles of each by the exponential mechanism (Smith 2011).
///
/// Candidates are the thresholds t on the lattice of a feature. There are so many of them as the level, n and epsilon0
/// are worth: too many in an empty tail would together be as likely as the quantile. **Sensitivity**: that of a
/// quantile (`question/quantile.rs`) of one value a record, and of p values a record for p features together. Each
/// choice is a bounded-range event; they compose.
#[derive(Debug, Clone)]
pub struct Ranges {
    /// q of the lower end; the upper end has 1 - q.
    level: f64,
    /// At q and at 1 - q.
    pub(crate) quantiles: [Quantile; 2],
    pub(crate) of: RangesOf,
    /// Distance of neighbouring thresholds on the lattice, a power of two.
    pub(crate) stride: i64,
}

/// Fewest and most.
const BITS: (u32, u32) = (5, 15);
/// Candidates of all features together: beyond, the grid of thresholds gets coarser.
pub(crate) const MOST_CANDIDATES: usize = 1 << 26;
/// Bits of a lattice value.
const LATTICE_BITS: u32 = 15;

impl Ranges {
    /// A range may be asked for where so many nats are missing for the coarsest grid: a quantile that is missed makes
    /// it wider.
    pub const SPARE: f64 = 2.0;

    /// Nats beyond which few ranges are missed: of a fit's about exp(-3), where tails are empty.
    const RARE: f64 = 3.0;

    /// Bits of a grid from on which nats are worth more against tails than on finer thresholds. From 8 to 12 are alike
    /// on 111 tables; with none a range of 200 standard deviations is too coarse where little is known.
    const ENOUGH_BITS: u32 = 10;

    /// How much likelier, in nats, a threshold at a quantile must be than one in an empty tail, and for the finest grid
    /// should be, if few of so many ranges are to be missed.
    pub fn nats(ranges: usize) -> [f64; 2] {
        let grid = |bits: u32| f64::from(bits) * std::f64::consts::LN_2 + Self::sure(ranges);
        [grid(BITS.0) - Self::SPARE, grid(BITS.1) + Self::RARE]
    }

    /// How much likelier than all in the tail together, of all ranges.
    fn sure(ranges: usize) -> f64 {
        (2.0 * ranges as f64).ln()
    }
}

impl Statement {
    /// Ranges with two choices of bounded range `epsilon0` each, at the quantiles `level` and 1 - `level`.
    ///
    /// # Errors
    /// A level outside (0, 1/2), features that there are not, and an epsilon0 that the exact sampler does not take.
    pub fn ranges(
        self: &Arc<Self>,
        epsilon0: f64,
        level: f64,
        of: RangesOf,
    ) -> Result<Question<Ranges>> {
        if !(level > 0.0 && level < 0.5) {
            return Err(Error::invalid("scale", "needs a quantile below one half"));
        }
        let p = self.schema().n_features();
        let known = match &of {
            RangesOf::Each(features) => features.iter().all(|&j| (j as usize) < p),
            RangesOf::Together(n_features) => *n_features == p,
        };
        if !known {
            return Err(Error::invalid("scale", "needs features of the records"));
        }
        let quantile = |level: f64| self.quantile(epsilon0, level, of.values());
        let quantiles = [quantile(level)?, quantile(1.0 - level)?];
        let event = Event::exponential(epsilon0)?;
        let events = match of.len() as u64 {
            0 => Vec::new(),
            ranges => vec![(event, 2 * ranges)],
        };
        let sure = Ranges::sure(of.len());
        let bits = |sure: f64| self.grid_bits(epsilon0, level, sure, BITS);
        let bits = (bits(sure).min(Ranges::ENOUGH_BITS)).max(bits(sure + Ranges::RARE));
        let ranges = Ranges {
            level,
            quantiles,
            stride: stride(bits, of.len()),
            of,
        };
        Ok(Question::new(self, ranges, events))
    }
}

/// Of at most 2^bits + 1 thresholds for each of so many ranges.
pub(crate) fn stride(bits: u32, ranges: usize) -> i64 {
    let most = usize::from(MAX_FEATURE.unsigned_abs());
    let spare = (2 * most * ranges).div_ceil(MOST_CANDIDATES);
    (1 << (LATTICE_BITS - bits)).max(spare.next_power_of_two() as i64)
}

impl Question<Ranges> {
    /// The end of a range is closer than this to that of the values that it stands for, in scaled units: half of the
    /// distance of two thresholds.
    pub fn resolution(&self) -> f64 {
        0.5 * self.answer.stride as f64 / f64::from(MAX_FEATURE)
    }

    /// Whose ranges they are.
    pub fn of(&self) -> &RangesOf {
        &self.answer.of
    }

    /// q of the lower ends; the upper ends have 1 - q.
    pub fn level(&self) -> f64 {
        self.answer.level
    }
}

//! A quantile of the targets, or of their distances from a point.

use std::sync::Arc;

use super::Question;
use super::quantile::Quantile;
use super::statement::Statement;
use crate::accounting::event::Event;
use crate::error::{Error, Result};

/// A quantile of the targets of a regression, or of their distances from a public point, by the exponential mechanism
/// (Smith 2011): of the targets on an even grid over [-1, 1], as fine as n, the level and epsilon0 are worth, of counts
/// and of distances on geometric grids below 1 and 2, the largest.
///
/// **Sensitivity**: that of a quantile of one value a record (`question/quantile.rs`). One bounded-range event.
#[derive(Debug, Clone)]
pub struct TargetQuantile {
    pub(crate) quantile: Quantile,
    /// Thresholds of targets are multiples of 2^-bits.
    pub(crate) bits: u32,
}

/// Fewest and most bits of the grid of targets.
const BITS: (u32, u32) = (3, 17);
/// How much likelier, in nats, a threshold at the quantile must be than all those in the empty tail together.
const SURE: f64 = 9.0;

/// What the quantile is one of, in scaled units.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum TargetValue {
    /// The targets.
    Itself,
    /// The targets of counts, which are not negative, on a finer geometric grid than that of distances.
    Size,
    /// Their distances from this point, in [-1, 1].
    DistanceFrom(f64),
}

impl TargetQuantile {
    /// Least step of the grid of targets: a quantile of them is found within half of it.
    pub(crate) const FINEST: f64 = 1.0 / (1u32 << BITS.1) as f64;
}

impl Statement {
    /// One choice of bounded range `epsilon0`, of the `level` quantile.
    ///
    /// # Errors
    /// A level outside (0, 1), classes for targets, and an epsilon0 that the exact sampler does not take.
    pub fn target_quantile(
        self: &Arc<Self>,
        epsilon0: f64,
        level: f64,
    ) -> Result<Question<TargetQuantile>> {
        if self.schema().target().is_classes() {
            let problem = "of targets are those of a regression, not classes";
            return Err(Error::invalid("quantiles", problem));
        }
        let quantile = TargetQuantile {
            quantile: self.quantile(epsilon0, level, 1)?,
            bits: self.grid_bits(epsilon0, level, SURE, BITS),
        };
        let events = vec![(Event::exponential(epsilon0)?, 1)];
        Ok(Question::new(self, quantile, events))
    }
}

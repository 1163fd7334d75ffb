//! A quantile of the targets, or of their distances from a point.

use std::sync::Arc;

use super::Question;
use super::statement::Statement;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::selection::InverseTemperature;
use crate::schema::Target;

/// A quantile of the targets of a regression, or of their distances from a public point, by the exponential mechanism
/// (Smith 2011): of the targets on an even grid over [-1, 1], as fine as n, the level and epsilon0 are worth, of distances
/// on a geometric grid below 2, the largest.
///
/// Scores are those of `quantile_scores`, k = round(q n) is public. **Sensitivity**: a record moves the number of values
/// up to t by at most 1, m of them by m. One bounded-range event.
#[derive(Debug, Clone)]
pub struct TargetQuantile {
    pub(crate) temperature: InverseTemperature,
    pub(crate) rank: i64,
    /// Thresholds of targets are multiples of 2^-bits.
    pub(crate) bits: u32,
}

/// Fewest and most.
const BITS: (f64, f64) = (3.0, 17.0);
/// How much likelier, in nats, a threshold at the quantile must be than all those in the empty tail together.
const SURE: f64 = 9.0;

/// What the quantile is one of, in scaled units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TargetValue {
    /// The targets.
    Itself,
    /// Their distances from this point, in [-1, 1].
    DistanceFrom(f64),
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
        if !(level > 0.0 && level < 1.0) {
            let problem = "needs a quantile between zero and one";
            return Err(Error::invalid("level", problem));
        }
        if self.schema().target() == Target::Classes {
            let problem = "of targets are those of a regression, not classes";
            return Err(Error::invalid("quantiles", problem));
        }
        let (n, person) = (self.n_samples() as f64, self.records_per_person() as f64);
        let nats = level.min(1.0 - level) * n * epsilon0 / (2.0 * person);
        let bits = ((nats - SURE) / std::f64::consts::LN_2).clamp(BITS.0, BITS.1);
        let quantile = TargetQuantile {
            temperature: InverseTemperature::new(epsilon0, self.records_per_person())?,
            rank: (level * n).round() as i64,
            bits: bits as u32,
        };
        let events = vec![(Event::exponential(epsilon0)?, 1)];
        Ok(Question::new(self, quantile, events))
    }
}

//! What choices of a quantile share.

use super::statement::Statement;
use crate::error::{Error, Result};
use crate::exact::selection::InverseTemperature;

/// The choice of a quantile among thresholds, by the exponential mechanism (Smith 2011). Scores are those of
/// `quantile_scores`, k = round(q n) is public. **Sensitivity**: a record moves the number of values up to t by at most 1,
/// m of them by m.
#[derive(Debug, Clone)]
pub(crate) struct Quantile {
    pub(crate) temperature: InverseTemperature,
    pub(crate) rank: i64,
}

impl Statement {
    /// Of one value a record, with bounded range `epsilon0`.
    pub(super) fn quantile(&self, epsilon0: f64, level: f64) -> Result<Quantile> {
        if !(level > 0.0 && level < 1.0) {
            let problem = "needs a quantile between zero and one";
            return Err(Error::invalid("level", problem));
        }
        Ok(Quantile {
            temperature: InverseTemperature::new(epsilon0, self.records_per_person())?,
            rank: (level * self.n_samples() as f64).round() as i64,
        })
    }

    /// How many bits of a grid of thresholds a choice at `level` is worth, within `bits`: a threshold at the quantile is
    /// so many nats likelier than each in the empty tail, and shall be `sure` nats likelier than all of these together.
    pub(super) fn grid_bits(&self, epsilon0: f64, level: f64, sure: f64, bits: (u32, u32)) -> u32 {
        let (n, person) = (self.n_samples() as f64, self.records_per_person() as f64);
        let nats = level.min(1.0 - level) * n * epsilon0 / (2.0 * person);
        let worth = (nats - sure) / std::f64::consts::LN_2;
        worth.clamp(f64::from(bits.0), f64::from(bits.1)) as u32
    }
}

//! What choices of a quantile share.

use super::statement::Statement;
use crate::error::{Error, Result};
use crate::exact::selection::InverseTemperature;

/// Levels are multiples of 2^-LEVEL_BITS, so that ranks are exact.
const LEVEL_BITS: u32 = 40;

/// The choice of a quantile among thresholds, by the exponential mechanism (Smith 2011). Scores are those of
/// `quantile_score` for the rank k = round(q N) of the N values that are counted: with a public number in place of N,
/// that of n_public records, all ranges would end in an empty tail where there are fewer.
///
/// **Sensitivity**: a value more or less moves N, #{x <= t} and round(q N) by 0 or 1, since q < 1, all in one
/// direction: their differences, and so scores, move by at most 1; another value in place of one that is counted moves
/// #{x <= t} alone. Of m records with v values each they move by at most m v.
#[derive(Debug, Clone)]
pub(crate) struct Quantile {
    pub(crate) temperature: InverseTemperature,
    /// q 2^LEVEL_BITS.
    level: i64,
}

impl Quantile {
    /// k among so many values.
    pub(crate) fn rank(&self, count: i64) -> i64 {
        let half = 1 << (LEVEL_BITS - 1);
        // No more than the count, which fits.
        ((i128::from(self.level) * i128::from(count) + half) >> LEVEL_BITS) as i64
    }
}

impl Statement {
    /// Of so many values a record, with bounded range `epsilon0`.
    pub(super) fn quantile(&self, epsilon0: f64, level: f64, values: u64) -> Result<Quantile> {
        if !(level > 0.0 && level < 1.0) {
            let problem = "needs a quantile between zero and one";
            return Err(Error::invalid("level", problem));
        }
        let sensitivity = self
            .records_per_person()
            .checked_mul(values)
            .ok_or_else(|| Error::invalid("records_per_person", "is too large"))?;
        let one = 1_i64 << LEVEL_BITS;
        Ok(Quantile {
            temperature: InverseTemperature::new(epsilon0, sensitivity)?,
            // Up: ranks of halves are the next ones, whatever the last bit of the level.
            level: ((level * one as f64).ceil() as i64).min(one - 1),
        })
    }

    /// How many bits of a grid of thresholds a choice at `level` is worth, within `bits`: a threshold at the quantile
    /// is so many nats likelier than each in the empty tail, and shall be `sure` nats likelier than all of these
    /// together.
    pub(super) fn grid_bits(&self, epsilon0: f64, level: f64, sure: f64, bits: (u32, u32)) -> u32 {
        let (n, person) = (self.n_samples() as f64, self.records_per_person() as f64);
        let nats = level.min(1.0 - level) * n * epsilon0 / (2.0 * person);
        let worth = (nats - sure) / std::f64::consts::LN_2;
        worth.clamp(f64::from(bits.0), f64::from(bits.1)) as u32
    }
}

//! Whole exponents of weights far beyond 64, for classes that stay where they are while the least score moves.

/// Levels are cut off here.
pub(super) const MOST: usize = 1 << LOG_MOST;
const LOG_MOST: u32 = 12;

/// Fractional bits of the multiplier: the products below stay within 2 MOST 2^BITS = 2^63.
const BITS: u32 = 62 - LOG_MOST;

/// Bounds on the whole part of x = eta d / ln 2 for integers d >= 0: a weight exp(-eta d) is 2^-x.
#[derive(Debug, Clone, Copy)]
pub(super) struct Levels {
    limit: u64,
    shift: u32,
    multiplier: u64,
}

impl Levels {
    /// For eta / ln 2 in [mantissa, mantissa + 1] 2^-scale, mantissa in [2^63, 2^64).
    pub(super) fn new(mantissa: u64, scale: u32) -> Self {
        let most = MOST as u64;
        let limit = least_above(most, mantissa, scale);
        let shift = (64 - limit.leading_zeros()).saturating_sub(32);
        // floor(eta / ln 2 2^(shift + BITS)): epsilon0 is 2^10 at most, so that eta / ln 2 is below 2^10 and scale 54
        // at least; limit is below 2^(scale - 50), and shift + BITS below scale.
        let multiplier = mantissa >> (scale - shift - BITS).min(63);
        Self {
            limit,
            shift,
            multiplier,
        }
    }

    /// A level c <= min(x, MOST): exp(-eta d) <= 2^-c. Everything is rounded down, so that this always holds; c is the
    /// whole part of x but for x within 2^-18 above an integer, where it may be one less, and MOST - 1 at least for x
    /// beyond MOST.
    ///
    /// No overflow: d is cut to limit <= MOST/(eta/ln 2) + 1, and limit eta/ln 2 <= MOST + 2^10 < 2 MOST.
    #[inline(always)]
    pub(super) fn of(self, d: u64) -> u16 {
        let product = (d.min(self.limit) >> self.shift) * self.multiplier;
        (product >> BITS).min(MOST as u64) as u16
    }
}

/// The least integer d, nearly, with eta d / ln 2 >= `levels`: one more at most; what u64 holds at most.
pub(super) fn least_above(levels: u64, mantissa: u64, scale: u32) -> u64 {
    let levels = u128::from(levels);
    // What does not fit 128 bits has a quotient of 2^64 at least.
    if levels.leading_zeros() < scale {
        return u64::MAX;
    }
    let quotient = (levels << scale) / u128::from(mantissa);
    u64::try_from(quotient + 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::inverse_temperature::InverseTemperature;
    use super::*;
    use crate::numeric::enclosure::EXPONENT_BITS;
    use proptest::prelude::*;

    proptest! {
        /// A level never promises more than the exact exponent, and is tight up to the end.
        #[test]
        fn levels_are_tight_lower_bounds(
            epsilon_log in -64.0..9.99f64,
            sensitivity_log in 0u32..63,
            x in 0.0..6000.0f64,
            d: u64,
        ) {
            let eta = InverseTemperature::new(epsilon_log.exp2(), 1 << sensitivity_log).unwrap();
            let levels = eta.levels();
            let near = (x * std::f64::consts::LN_2 / eta.per_unit()).min(1e19) as u64;
            for d in [0, 1, near, d] {
                let [lo, _] = eta.wide_exponent(d.into());
                let (level, whole) = (u128::from(levels.of(d)), lo >> EXPONENT_BITS);
                prop_assert!(level << EXPONENT_BITS <= lo);
                prop_assert!(level + 1 >= whole.min(MOST as u128));
                let fraction = lo - (whole << EXPONENT_BITS);
                if whole < MOST as u128 && fraction > 1 << (EXPONENT_BITS - 17) {
                    prop_assert_eq!(level, whole);
                }
            }
        }
    }
}

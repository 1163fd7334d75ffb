//! Exponents rate * d of the laws exp(-rate * d), enclosed in integers.

use num_bigint::BigUint;

use crate::error::{Error, Result};
use crate::numeric::enclosure::{EXPONENT_BITS, exp_neg, ln2};

/// A scale as the exact number significand * 2^exponent, significand in [2^52, 2^53), exponent in [-62, -12].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scale {
    pub significand: u64,
    pub exponent: i32,
}

impl Scale {
    /// # Errors
    /// `scale` outside [2^-10, 2^40]; `name` is what the user called it.
    pub fn new(name: &str, scale: f64) -> Result<Self> {
        if !(2f64.powi(-10)..=2f64.powi(40)).contains(&scale) {
            return Err(Error::invalid(name, "must lie between 2^-10 and 2^40"));
        }
        // A normal, positive double.
        let bits = scale.to_bits();
        Ok(Self {
            significand: bits & ((1 << 52) - 1) | 1 << 52,
            exponent: (bits >> 52) as i32 - 1075,
        })
    }

    /// Binary logarithm of a strip's width: the scale is at least 16 and below 32 widths; for scales below 16 the
    /// width is one and the scale is below 32 widths.
    pub fn log_width(self) -> u32 {
        // The binary logarithm of the scale is exponent + 52, rounded down.
        (self.exponent + 52 - 4).max(0).unsigned_abs()
    }

    /// 1 / scale.
    pub fn inverse(self) -> Rate {
        let power = BigUint::from(1u8) << self.exponent.unsigned_abs();
        Rate::new(power, BigUint::from(self.significand))
    }

    /// 1 / (2 scale^2).
    pub fn half_inverse_square(self) -> Rate {
        let power = BigUint::from(1u8) << (2 * self.exponent.unsigned_abs() - 1);
        Rate::new(power, BigUint::from(self.significand).pow(2))
    }
}

/// The exact rational numerator / denominator, in [2^-140, 2^40], with bounds on it over ln 2.
pub(super) struct Rate {
    numerator: BigUint,
    denominator: BigUint,
    /// rate / ln 2 lies in [lo, hi] 2^-scale, lo in [2^63, 2^64), hi <= lo + 2.
    lo: u64,
    hi: u128,
    scale: u32,
}

impl Rate {
    pub fn new(numerator: BigUint, denominator: BigUint) -> Self {
        const PRECISION: u64 = 256;
        let (ln2_lo, ln2_hi) = ln2(PRECISION);
        let shifted = &numerator << (512 + PRECISION);
        let below = &shifted / (&denominator * ln2_hi);
        let above = shifted / (&denominator * ln2_lo) + 1u8;
        // The ratio has more than 300 bits, so this leaves 64 leading ones; the enclosure of ln 2 is good for
        // more than 240, so `above` exceeds `below` by less than one unit of what is left.
        let drop = below.bits() - 64;
        let lo = u64::try_from(&(below >> drop)).expect("64 bits are left");
        let hi = u128::try_from(&((above >> drop) + 1u8)).expect("65 bits at most");
        assert!(hi - u128::from(lo) <= 2);
        Self {
            numerator,
            denominator,
            lo,
            hi,
            scale: 512 - drop as u32,
        }
    }

    /// A lower bound of rate * d * 2^shift / ln 2 in units of 2^-57, saturating.
    pub fn below(&self, d: u128, shift: u32) -> u64 {
        let cut = cut(d);
        self.units((d >> cut) * u128::from(self.lo), cut + shift, false)
    }

    /// An upper bound of the same, saturating: 2^-(2^7) is as good as 0.
    pub fn above(&self, d: u128, shift: u32) -> u64 {
        let cut = cut(d);
        let top = (d >> cut) + u128::from(d & ((1u128 << cut) - 1) != 0);
        // top <= 2^63 and hi <= 2^64 + 1: the product stays below 2^128.
        self.units(top * self.hi, cut + shift, true)
    }

    /// product * 2^(shift - scale) in units of 2^-57, rounded up or down, saturating.
    fn units(&self, product: u128, shift: u32, up: bool) -> u64 {
        if product == 0 {
            return 0;
        }
        let left = shift + EXPONENT_BITS;
        let units = if left <= self.scale {
            let right = self.scale - left;
            let floor = product.checked_shr(right).unwrap_or(0);
            let exact = floor.checked_shl(right) == Some(product);
            floor + u128::from(up && !exact)
        } else if product.leading_zeros() < left - self.scale {
            u128::MAX
        } else {
            product << (left - self.scale)
        };
        u64::try_from(units).unwrap_or(u64::MAX)
    }

    /// Encloses exp(-rate * d * 2^-fraction) 2^shift in units of 2^-bits, where the exponent is at least
    /// shift * ln 2.
    pub fn weight(&self, d: &BigUint, fraction: u64, shift: u64, bits: u64) -> (BigUint, BigUint) {
        exp_neg(
            &(&self.numerator * d),
            &(&self.denominator << fraction),
            shift,
            bits,
        )
    }
}

/// How many low bits of d to drop so that 63 are left.
fn cut(d: u128) -> u32 {
    65u32.saturating_sub(d.leading_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// below <= rate d 2^shift / ln 2 <= above, against 300 bits of ln 2, and both are tight.
        #[test]
        fn bounds_enclose_the_exponent(scale_log in -10.0..40.0f64, d in any::<u128>(), drop in 1u32..127, shift in 0u32..20, square: bool) {
            let scale = Scale::new("scale", scale_log.exp2()).unwrap();
            let rate = if square { scale.half_inverse_square() } else { scale.inverse() };
            let d = d >> drop;
            let (lo, hi) = (rate.below(d, shift), rate.above(d, shift));
            let (ln2_lo, ln2_hi) = ln2(300);
            let exact = (&rate.numerator * BigUint::from(d)) << (300 + 57 + shift);
            let (below, above) = (&exact / (&rate.denominator * ln2_hi), exact / (&rate.denominator * ln2_lo) + 1u8);
            let most = BigUint::from(u64::MAX);
            prop_assert!(BigUint::from(lo) <= above);
            prop_assert!(BigUint::from(hi) >= below.clone().min(most.clone()));
            // relative error below 2^-60, and two units
            let slack = (&above >> 60u32) + 3u8;
            prop_assert!(BigUint::from(lo) + &slack >= below.min(most.clone()));
            prop_assert!(BigUint::from(hi) <= (above + slack).min(most));
        }

        #[test]
        fn scales_are_exact(x in 0.001..1e12f64) {
            let scale = Scale::new("sigma", x).unwrap();
            prop_assert_eq!(scale.significand as f64 * 2f64.powi(scale.exponent), x);
            let width = 2f64.powi(scale.log_width() as i32);
            prop_assert!(x / width < 32.0 && (width == 1.0 || x / width >= 16.0));
        }
    }

    /// The smallest rate in use, that of the real normal law: rate d 2^shift = 1, and 2^57 / ln 2 = 0x2e2a8ec...
    #[test]
    fn the_smallest_rate() {
        let rate = Rate::new(1u8.into(), BigUint::from(1u8) << 137u32);
        let truth = 0x02e2_a8ec_a570_5fc2u64;
        for (d, shift) in [(120, 17), (7, 130), (63, 74)] {
            let (lo, hi) = (rate.below(1 << d, shift), rate.above(1 << d, shift));
            assert!(lo <= truth && truth < hi && hi - lo <= 3, "{lo:x} {hi:x}");
        }
        assert_eq!((rate.below(0, 130), rate.above(0, 130)), (0, 0));
        assert_eq!(
            (rate.below(u128::MAX, 126), rate.above(u128::MAX, 126)),
            (u64::MAX, u64::MAX)
        );
    }

    #[test]
    fn the_ends_of_the_domain() {
        let ends = [2f64.powi(-10), 2f64.powi(40)].map(|x| Scale::new("sigma", x).unwrap());
        assert_eq!(ends.map(|scale| scale.exponent), [-62, -12]);
        assert_eq!(ends.map(Scale::log_width), [0, 36]);
        for bad in [0.0, -1.0, 9e-4, 1.2e12, f64::NAN, f64::INFINITY] {
            let error = Scale::new("sigma", bad).unwrap_err().to_string();
            assert_eq!(error, "sigma must lie between 2^-10 and 2^40");
        }
    }
}

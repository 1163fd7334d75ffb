use num_bigint::BigUint;

use super::levels::{Levels, least_above};
use crate::error::{Error, Result};
use crate::exact::noise::bernoulli::bernoulli;
use crate::exact::noise::source::Source;
use crate::numeric::enclosure::{EXPONENT_BITS, Interval, exp_neg, exp2_neg, ln2};

/// The exact rational eta = epsilon0 / (2 sensitivity), with integer bounds on eta d / ln 2 for integers d >=
/// 0.
///
/// A weight exp(-eta d) is written 2^-x, x = eta d / ln 2.
#[derive(Debug, Clone)]
pub struct InverseTemperature {
    numerator: BigUint,
    denominator: BigUint,
    /// eta / ln 2 lies in [mantissa, mantissa + 1] 2^-scale, mantissa in [2^63, 2^64).
    mantissa: u64,
    scale: u32,
    /// Constants of [`InverseTemperature::class`].
    limit: u64,
    shift: u32,
    multiplier: u64,
}

/// Weights below 2^-FAR share one class: a union that holds less than n 2^-FAR of the mass.
pub(super) const FAR: u8 = 64;

impl InverseTemperature {
    /// The inverse temperature at which scores of the given replace-one sensitivity cost `epsilon0` (bounded
    /// range): 2 eta sensitivity = epsilon0, exactly (`epsilon0` is a dyadic rational, as every float is).
    ///
    /// # Errors
    /// `epsilon0` outside [2^-64, 2^10] or `sensitivity` zero.
    pub fn new(epsilon0: f64, sensitivity: u64) -> Result<Self> {
        if !(epsilon0.is_finite() && (2f64.powi(-64)..=1024.0).contains(&epsilon0)) {
            return Err(Error::invalid(
                "epsilon",
                "of one selection must lie between 2^-64 and 1024",
            ));
        }
        if sensitivity == 0 {
            return Err(Error::invalid("sensitivity", "must be a positive integer"));
        }
        // epsilon0 = significand 2^(exponent - 1075) for a normal float.
        let bits = epsilon0.to_bits();
        let significand = bits & ((1 << 52) - 1) | 1 << 52;
        let exponent = (bits >> 52) as i64 - 1075;
        debug_assert!((-140..0).contains(&exponent));
        let numerator = BigUint::from(significand);
        let denominator = (BigUint::from(sensitivity) << 1u32) << exponent.unsigned_abs();

        // floor(eta / ln 2 * 2^512), from a lower bound of 1 / ln 2; then its 64 leading bits.
        let (_, ln2_hi) = ln2(256);
        let ratio = (&numerator << (512 + 256u32)) / (&denominator * ln2_hi);
        let drop = ratio.bits() - 64;
        let mantissa = u64::try_from(&(&ratio >> drop)).unwrap_or(u64::MAX);
        let scale = 512 - drop as u32;

        let mut this = Self {
            numerator,
            denominator,
            mantissa,
            scale,
            limit: 0,
            shift: 0,
            multiplier: 0,
        };
        this.prepare_classes();
        Ok(this)
    }

    fn prepare_classes(&mut self) {
        let far = BigUint::from(FAR);
        let limit = ((&far << self.scale) / self.mantissa) + 1u8;
        self.limit = u64::try_from(&limit).unwrap_or(u64::MAX);
        self.shift = (64 - self.limit.leading_zeros()).saturating_sub(32);
        // floor(min(eta / ln 2, 64) 2^(shift + 56))
        let multiplier = (BigUint::from(self.mantissa) << (self.shift + 56)) >> self.scale;
        self.multiplier = u64::try_from(&multiplier.min(far << 56u32)).unwrap_or(u64::MAX);
    }

    /// A class c <= min(x, 64): exp(-eta d) <= 2^-c. All roundings are down, so the inequality always holds;
    /// c is floor(x) except for x within 2^-25 above an integer, where it may be one less (acceptance above
    /// 1/4 instead of 1/2 and just as exact).
    ///
    /// No overflow: (limit >> shift) < 2^32, and (d >> shift) multiplier <= limit min(eta/ln 2, 64) 2^56
    /// <= (64 + 64) 2^56 = 2^63, as limit <= 64/(eta/ln 2) + 1.
    #[inline(always)]
    pub(super) fn class(&self, d: u64) -> u8 {
        let product = (d.min(self.limit) >> self.shift) * self.multiplier;
        ((product >> 56) as u8).min(FAR)
    }

    /// The same far beyond 64.
    pub(super) fn levels(&self) -> Levels {
        Levels::new(self.mantissa, self.scale)
    }

    /// The least distance, nearly, whose exponent is at least `levels`, which are fewer than 2^13.
    pub(super) fn least_above(&self, levels: u64) -> u64 {
        least_above(levels, self.mantissa, self.scale)
    }

    /// Encloses x = eta d / ln 2 in units of 2^-57, saturating at 2^7: 2^-128 counts as an interval from 0.
    pub(super) fn exponent(&self, d: u128) -> Interval {
        let [lo, hi] = self
            .wide_exponent(d)
            .map(|units| u64::try_from(units).unwrap_or(u64::MAX));
        Interval { lo, hi }
    }

    /// The same, saturating at 2^71 only: for weights that are products, where a large exponent is not yet a small
    /// weight.
    pub(super) fn wide_exponent(&self, d: u128) -> [u128; 2] {
        if d == 0 {
            return [0, 0];
        }
        // 63 bits of d are kept: the products stay below 2^127.
        let cut = 65u32.saturating_sub(d.leading_zeros());
        let below = d >> cut;
        let above = below + u128::from(below << cut != d);
        let mantissa = u128::from(self.mantissa);
        let to_units = |product: u128| {
            let left = cut + EXPONENT_BITS;
            if left <= self.scale {
                product.checked_shr(self.scale - left).unwrap_or(0)
            } else if product.leading_zeros() < left - self.scale {
                u128::MAX
            } else {
                product << (left - self.scale)
            }
        };
        let hi = to_units(above * (mantissa + 1)).saturating_add(1);
        [to_units(below * mantissa), hi]
    }

    /// [`InverseTemperature::exponent`] with the same operations for every d: what branches is public.
    pub(super) fn even_exponent(&self, d: u64) -> Interval {
        let (d, mantissa) = (u128::from(d), u128::from(self.mantissa));
        let most = u128::from(u64::MAX);
        // Below 2^128, as d < 2^64 and mantissa < 2^64.
        let (below, above) = (d * mantissa, d * (mantissa + 1));
        let [lo, hi] = match self.scale.checked_sub(EXPONENT_BITS) {
            Some(drop) if drop < 128 => {
                let rest = above & ((1 << drop) - 1);
                [below >> drop, (above >> drop) + u128::from(rest != 0)]
            }
            Some(_) => [0, u128::from(d != 0)],
            // eta / ln 2 is 2^7 or more: every d but 0 is as far as a class goes.
            None => [most * u128::from(d != 0); 2],
        };
        Interval {
            lo: lo.min(most) as u64,
            hi: hi.min(most) as u64,
        }
    }

    /// eta, as a float: for searches that decide nothing but the running time, and for tests.
    pub(super) fn per_unit(&self) -> f64 {
        self.mantissa as f64 * 2f64.powi(-(self.scale as i32)) * std::f64::consts::LN_2
    }

    /// True with probability exp(-eta d) 2^level = 2^(level - x) exactly, where that is 1 at most.
    pub(super) fn accepts(&self, d: u128, level: u64, source: &mut Source) -> bool {
        let offset = u128::from(level) << EXPONENT_BITS;
        let [lo, hi] = (self.wide_exponent(d))
            .map(|end| u64::try_from(end.saturating_sub(offset)).unwrap_or(u64::MAX));
        let refine = |bits| self.weight(d, level, bits);
        bernoulli(source, exp2_neg(Interval { lo, hi }), refine)
    }

    /// Encloses exp(-eta d) 2^shift in units of 2^-bits.
    pub(super) fn weight(&self, d: u128, shift: u64, bits: u64) -> (BigUint, BigUint) {
        exp_neg(&(&self.numerator * d), &self.denominator, shift, bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The class never promises more than the exact exponent: 2^-c >= exp(-eta d), and it is tight.
        #[test]
        fn class_is_a_tight_lower_bound(epsilon in 1e-18..1000.0f64, d_log in 0.0..63.0f64, sensitivity in 1u64..1 << 40) {
            let eta = InverseTemperature::new(epsilon, sensitivity).unwrap();
            let d = d_log.exp2() as u64;
            let x = eta.exponent(d.into());
            let class = u64::from(eta.class(d));
            prop_assert!(x.lo <= x.hi);
            prop_assert!(class << EXPONENT_BITS <= x.lo);
            let floor = x.lo >> EXPONENT_BITS;
            prop_assert!(class + 1 >= floor.min(64));
            // the interval encloses the float value to its accuracy
            let float = epsilon / (2.0 * sensitivity as f64) * d as f64 / std::f64::consts::LN_2;
            if float < 60.0 {
                let unit = 2f64.powi(-57);
                prop_assert!((x.lo as f64) * unit <= float * (1.0 + 1e-14) + 1e-14);
                prop_assert!((x.hi as f64) * unit >= float * (1.0 - 1e-14) - 1e-14);
            }
        }

        /// Enclosures of exponents beyond one word are right and tight, and saturate upwards alone.
        #[test]
        fn wide_exponents_enclose(epsilon_log in -63.0..9.9f64, d in any::<u128>(), drop in 1u32..128, sensitivity in 1u64..1 << 40) {
            let eta = InverseTemperature::new(epsilon_log.exp2(), sensitivity).unwrap();
            let d = d >> drop;
            let (ln2_lo, ln2_hi) = ln2(300);
            let exact = (&eta.numerator * BigUint::from(d)) << (300 + EXPONENT_BITS);
            let below = &exact / (&eta.denominator * ln2_hi);
            let above = exact / (&eta.denominator * ln2_lo) + 1u8;
            let most = BigUint::from(u128::MAX);
            let [lo, hi] = eta.wide_exponent(d).map(BigUint::from);
            prop_assert!(lo <= above && hi >= below.clone().min(most.clone()));
            // relative error below 2^-60, and two units
            let slack = (&above >> 60u32) + 3u8;
            prop_assert!(lo + &slack >= below.min(most.clone()));
            prop_assert!(hi <= (above + slack).min(most));
            let narrow = eta.exponent(d);
            prop_assert!(narrow.lo <= narrow.hi);
        }
    }
}

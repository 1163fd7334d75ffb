//! How often a record counts by the length of its row, as an integer that wide vectors multiply by.

/// An integer number of 2^-15, at most 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowWeight(u16);

/// Bits of a weight below 1.
const BITS: u32 = 15;

impl RowWeight {
    /// What leaves a record as it is.
    pub const ONE: Self = Self(1 << BITS);

    /// w with w^2 `own` <= `most`, neither negative: how often a record counts whose squares add up to `own`, where
    /// they may add up to `most`. Less than the largest such w by no more than 2^-14, and 1 where that is 1.
    #[inline(always)]
    pub fn new(own: i64, most: i64) -> Self {
        // Less than the root by a little, which errs by some ulps, and rounded down.
        let weight = (most as f64 / own as f64).sqrt() * (1.0 - 1e-12);
        let units = (weight.min(1.0) * f64::from(Self::ONE.0)) as u16;
        if own <= most { Self::ONE } else { Self(units) }
    }

    /// |w value| rounded down, with the sign of `value`, for |value| < 2^15: never more than the weight allows.
    #[inline(always)]
    pub fn of(self, value: i16) -> i16 {
        // Twice the size times the weight, of which wide vectors keep the upper half in one instruction. Nothing
        // wraps: a check of that would be a branch.
        let doubled = u32::from(value.unsigned_abs() << 1);
        let size = (doubled.wrapping_mul(u32::from(self.0)) >> (BITS + 1)) as i16;
        if value < 0 { size.wrapping_neg() } else { size }
    }
}

#[cfg(test)]
impl RowWeight {
    /// The same number.
    pub fn number(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ONE.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// No row is longer than it may be, in integers, and it loses no more than is said.
        #[test]
        fn weights_are_the_largest_that_may_be(
            own in prop_oneof![1i64..1000, 1i64..1 << 58, (1i64 << 57)..1 << 60],
            part in 1e-9..1.2f64,
        ) {
            let most = ((own as f64 * part) as i64).max(1);
            let weight = RowWeight::new(own, most);
            // w^2 own <= most, w in units of 2^-15.
            prop_assert!(i128::from(weight.0).pow(2) * i128::from(own) <= i128::from(most) << (2 * BITS));
            prop_assert!(weight.0 <= RowWeight::ONE.0 && (own > most || weight == RowWeight::ONE));
            let largest = (most as f64 / own as f64).sqrt().min(1.0);
            prop_assert!(weight.number() > largest - 2f64.powi(-14));
        }

        /// A value loses less than a unit more than its weight says, keeps its sign, and 1 changes nothing.
        #[test]
        fn values_are_rounded_towards_zero(value in -32_767i16..=32_767, units in 0u16..=1 << 15) {
            let of = RowWeight(units).of(value);
            let exact = f64::from(value) * RowWeight(units).number();
            prop_assert_eq!(f64::from(of), exact.trunc());
            prop_assert_eq!(RowWeight::ONE.of(value), value);
        }
    }
}

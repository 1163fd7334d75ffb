//! Enclosures of 2^-x and exp(-x) in integer arithmetic: a fast one of about 57 bits and one of any width.
//!
//! The exact samplers compare lazily drawn uniform bits with such an enclosure and ask for a narrower one
//! only when the bits drawn so far fall inside it ([`crate::theory_of_privacy::selection`]). Nothing here uses floating
//! point.

use num_bigint::BigUint;

/// Fractional bits of the exponents x of the fast enclosure.
pub const EXPONENT_BITS: u32 = 57;
/// Fractional bits of the probabilities of the fast enclosure.
pub const PROBABILITY_BITS: u32 = 63;

/// Closed interval [lo, hi] of integers; the unit is stated where it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Lower end.
    pub lo: u64,
    /// Upper end.
    pub hi: u64,
}

/// Enclosure of 2^-x, in units of 2^-63, for x in units of 2^-57 known by an interval.
///
/// Lower end: 2^-x >= its Taylor sum with every operation rounded down. Upper end: the same plus the error
/// bound of `exp2_neg_below`.
///
/// ```
/// use dpsparse::numeric::enclosure::{Interval, exp2_neg};
/// let half = exp2_neg(Interval { lo: 1 << 57, hi: 1 << 57 });
/// assert!(half.lo <= 1 << 62 && 1 << 62 <= half.hi && half.hi - half.lo < 16);
/// ```
pub fn exp2_neg(x: Interval) -> Interval {
    let one = 1u64 << PROBABILITY_BITS;
    Interval {
        lo: exp2_neg_below(x.hi),
        hi: (exp2_neg_below(x.lo) + ERROR).min(one),
    }
}

/// Bound on the error of `exp2_neg_below` in units of 2^-63: see there.
const ERROR: u64 = 12;

/// 2^-x rounded down, at most [`ERROR`] units of 2^-63 below the truth.
///
/// x = k - g with k integer and g in (0, 1]; 2^-x = 2^-k exp(u), u = g ln 2 in [0, ln 2], by Horner's rule
/// s_n = 1 + u s_{n+1} / n down from s_21 = 1. Every step rounds down twice (product, quotient), so its error
/// obeys e_n <= (u e_{n+1} + 1) / n + 1 <= 0.7 e_{n+1}/n + 2, hence e_1 < 5; u itself is below its value by
/// less than 2 units, which costs 2 exp(u) <= 4; the tail of the series is below u^21/21! 2^64 < 2^-6 units;
/// 2^-k shrinks all this and adds 1.
fn exp2_neg_below(x: u64) -> u64 {
    const LN2: u64 = 0xb172_17f7_d1cf_79ab; // floor(ln 2 * 2^64)
    let whole = x >> EXPONENT_BITS;
    let fraction = x & ((1 << EXPONENT_BITS) - 1);
    // g = 1 - fraction in units of 2^-57; u = g ln 2 in units of 2^-63.
    let g = (1u64 << EXPONENT_BITS) - fraction;
    let u = ((u128::from(g) * u128::from(LN2)) >> (EXPONENT_BITS + 1)) as u64;
    let one = 1u64 << PROBABILITY_BITS;
    let mut sum = one;
    for n in (1..=20u64).rev() {
        sum = one + (((u128::from(u) * u128::from(sum)) >> PROBABILITY_BITS) as u64) / n;
    }
    let k = whole + 1;
    if k < 64 { sum >> k } else { 0 }
}

/// Enclosure of exp(-x) 2^shift in units of 2^-bits, x = numerator / denominator >= shift ln 2.
///
/// ```
/// use dpsparse::numeric::enclosure::exp_neg;
/// let (lo, hi) = exp_neg(&1u8.into(), &1u8.into(), 0, 200);
/// assert!(&hi - &lo <= 4u8.into());
/// let first_digits = (lo * 10_000_000_000u64) >> 200u32; // exp(-1) = 0.36787944117...
/// assert_eq!(first_digits, 3_678_794_411u64.into());
/// ```
pub fn exp_neg(
    numerator: &BigUint,
    denominator: &BigUint,
    shift: u64,
    bits: u64,
) -> (BigUint, BigUint) {
    // Enough guard bits that the errors bounded below stay under one unit of 2^-bits, whatever the size of x.
    let precision = bits + 64 + numerator.bits().saturating_sub(denominator.bits());
    let x_lo = (numerator << precision) / denominator;
    let x_hi = &x_lo + 1u8;
    let (ln2_lo, ln2_hi) = ln2(precision);
    // x = k ln 2 + t, t >= 0: k is an integer below x / ln 2, so t stays enclosed whatever k is.
    let k = &x_lo / &ln2_hi;
    let t_lo = &x_lo - &k * &ln2_hi;
    let t_hi = x_hi - &k * &ln2_lo;
    let (_, exp_hi) = exp(&t_hi, precision);
    let (exp_lo, _) = exp(&t_lo, precision);
    // 1/exp(t), then times 2^(shift - k), all rounded outwards.
    let square = BigUint::from(1u8) << (2 * precision);
    let lo = &square / exp_hi;
    let hi = square / exp_lo + 1u8;
    let one = BigUint::from(1u8) << bits;
    let k = u64::try_from(&k).unwrap_or(u64::MAX);
    let drop = (precision - bits).saturating_add(k).saturating_sub(shift);
    let (lo, hi) = (lo >> drop, (hi >> drop) + 1u8);
    (lo.min(one.clone()), hi.min(one))
}

/// Enclosure of ln 2 = sum over k >= 1 of 1/(k 2^k), in units of 2^-precision.
pub(crate) fn ln2(precision: u64) -> (BigUint, BigUint) {
    let one = BigUint::from(1u8) << precision;
    let mut sum = BigUint::ZERO;
    for k in 1..=precision {
        sum += (&one >> k) / k;
    }
    // Each of the terms lost less than 2 units (two floors), the tail is below 1 unit.
    let hi = &sum + 2 * precision + 1u8;
    (sum, hi)
}

/// Enclosure of exp(t) for t >= 0, both in units of 2^-precision.
fn exp(t: &BigUint, precision: u64) -> (BigUint, BigUint) {
    let mut term = BigUint::from(1u8) << precision;
    let mut sum = term.clone();
    let mut n = 0u64;
    while term != BigUint::ZERO {
        n += 1;
        term = ((term * t) >> precision) / n;
        sum += &term;
    }
    // Here t < 1. Term n is low by e_n <= e_{n-1} t / n + 2 <= 4 units; the terms after the first zero one
    // are below 4 units in all.
    let hi = &sum + 4 * n + 4u8;
    (sum, hi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The fast enclosure must contain the narrow one of arbitrary precision, and be narrow itself.
        #[test]
        fn fast_enclosure_contains_the_truth(x in 0u64..(64 << EXPONENT_BITS)) {
            let fast = exp2_neg(Interval { lo: x, hi: x });
            // 2^-x = exp(-x ln 2): enclose ln 2 rationally at 200 bits.
            let (ln2_lo, ln2_hi) = ln2(200);
            let denominator = BigUint::from(1u8) << (200 + EXPONENT_BITS);
            let (lo, _) = exp_neg(&(ln2_hi * x), &denominator, 0, 120);
            let (_, hi) = exp_neg(&(ln2_lo * x), &denominator, 0, 120);
            prop_assert!(BigUint::from(fast.lo) << 57u32 <= lo);
            prop_assert!(BigUint::from(fast.hi) << 57u32 >= hi);
            prop_assert!(fast.hi - fast.lo <= ERROR);
        }

        #[test]
        fn narrow_enclosures_nest(a in 0u64..1 << 50, b in 1u64..1 << 40, shift in 0u64..64) {
            let (a, b) = (BigUint::from(a) + &BigUint::from(b) * (shift + 1), BigUint::from(b));
            let (lo, hi) = exp_neg(&a, &b, shift, 80);
            let (lo2, hi2) = exp_neg(&a, &b, shift, 400);
            prop_assert!(&lo << 320u32 <= lo2 && hi2 <= &hi << 320u32 && lo2 <= hi2);
            prop_assert!(&hi - &lo <= BigUint::from(4u8));
        }
    }

    #[test]
    fn far_exponents_are_enclosed_by_zero_and_one_unit() {
        let (lo, hi) = exp_neg(&(BigUint::from(1u8) << 200), &3u8.into(), 5, 128);
        assert_eq!((lo, hi), (BigUint::ZERO, 1u8.into()));
    }
}

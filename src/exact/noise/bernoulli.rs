//! Exact Bernoulli draws: uniform bits, drawn lazily, against an enclosure of the probability.

use num_bigint::BigUint;

use super::source::Source;
use crate::numeric::enclosure::{Interval, PROBABILITY_BITS};

/// True with probability p exactly, where `fast` encloses p in units of 2^-63 and `refine(bits)` encloses it
/// in units of 2^-bits, narrower and narrower.
///
/// The bits drawn so far say U in
/// [u, u + 1) 2^-bits. If u + 1 <= lo then U < p, if u >= hi then U >= p; otherwise more bits and a narrower enclosure
/// are taken. The answer is that of a comparison of the full real U with p, hence exact.
///
/// **Rounds:** fewer than 1.01 refinements are expected, whatever p is. All samplers refine to enclosures of 2^10 units
/// at most, and U falls into one with probability 2^10 2^-126 after the first refinement, less after each further one.
/// The first itself has the probability that `fast` is wide: below 2^-20 for those in use, 1 for one that knows
/// nothing.
pub fn bernoulli(
    source: &mut Source,
    fast: Interval,
    mut refine: impl FnMut(u64) -> (BigUint, BigUint),
) -> bool {
    let first = source.bits() >> (64 - PROBABILITY_BITS);
    if first < fast.lo {
        return true;
    }
    if first >= fast.hi {
        return false;
    }
    let mut bits = u64::from(PROBABILITY_BITS);
    let mut drawn = BigUint::from(first);
    loop {
        // Double the width.
        let words = bits.div_ceil(64);
        for _ in 0..words {
            drawn = (drawn << 64u32) + source.bits();
        }
        bits += 64 * words;
        let (lo, hi) = refine(bits);
        if drawn < lo {
            return true;
        }
        if drawn >= hi {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::enclosure::exp_neg;

    /// With a useless fast enclosure every draw goes through refinement; the law must stay
    /// Bernoulli(exp(-1)).
    #[test]
    fn refinement_is_exact() {
        let mut source = Source::seeded(3);
        let n = 20_000;
        let hits = (0..n)
            .filter(|_| {
                let nothing_known = Interval { lo: 0, hi: 1 << 63 };
                bernoulli(&mut source, nothing_known, |bits| {
                    exp_neg(&1u8.into(), &1u8.into(), 0, bits)
                })
            })
            .count() as f64;
        let p = (-1f64).exp();
        let z = (hits - f64::from(n) * p) / (f64::from(n) * p * (1.0 - p)).sqrt();
        assert!(z.abs() < 4.9, "{z}"); // two-sided 1e-6
    }

    /// A probability a quarter of a unit above the first digits, whatever they are: later digits decide, and show
    /// one in four.
    #[test]
    fn digits_beyond_the_first_word_are_drawn() {
        let n = 20_000u32;
        let hits = (0..n)
            .filter(|&seed| {
                let mut source = Source::seeded(seed.into());
                let first = Source::seeded(seed.into()).bits() >> 1;
                let nothing_known = Interval { lo: 0, hi: 1 << 63 };
                bernoulli(&mut source, nothing_known, |bits| {
                    let p = (BigUint::from(first) * 4u8 + 1u8) << (bits - 65);
                    (p.clone(), p + 1u8)
                })
            })
            .count() as f64;
        let z = (hits - f64::from(n) / 4.0) / (f64::from(n) * 3.0 / 16.0).sqrt();
        assert!(z.abs() < 4.9, "{z}"); // two-sided 1e-6
    }
}

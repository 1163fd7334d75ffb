//! The exponential mechanism by inversion: the same work for every candidate, whatever the scores are.

use num_bigint::BigUint;

use super::inverse_temperature::InverseTemperature;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::numeric::enclosure::{Interval, PROBABILITY_BITS, exp2_neg};

/// Draws k with probability proportional to exp(-eta q_k), exactly, by one walk through all candidates in which no
/// branch and no number of operations depends on scores: for those who fear that single choices are timed
/// ([`crate::theory_of_privacy::leaks`]). It takes some 200 ns a candidate, where
/// [`ExponentialMechanism`](super::ExponentialMechanism) takes 2.
///
/// **Law.** With w_k = exp(-eta (q_k - min q)), C_k = w_0 + ... + w_k, S the last C_k and U uniform on [0, 1), the
/// choice is the number of k below the last with C_k <= U S, which is k with probability w_k / S. Weights are enclosed
/// in units of 2^-63 and U is known to 64 bits: where no comparison is left open, all are those of the real numbers.
/// Else more bits of the same U are drawn and weights are enclosed anew.
///
/// **Rounds:** n comparisons of sums that are known to 2^7 n units, S >= 2^63 units, are left open with a probability
/// below n (n 2^8 + 4) 2^-63 in all: 2^-15 for 2^20 candidates, whatever their scores are. Every further round has 128
/// bits more.
///
/// ```
/// use dpsparse::exact::noise::source::Source;
/// use dpsparse::exact::selection::{InverseTemperature, draw_in_constant_time};
/// let eta = InverseTemperature::new(1.0, 2).unwrap();
/// let choice = draw_in_constant_time(&[1_000_000, 3, 3], &eta, &mut Source::secure().unwrap());
/// assert!(choice.unwrap() > 0);
/// ```
///
/// # Errors
/// No score at all, or 2^32 and more of them.
pub fn draw_in_constant_time(
    scores: &[i64],
    temperature: &InverseTemperature,
    source: &mut Source,
) -> Result<usize> {
    #[cfg(test)]
    crate::exact::tap::see(|| {
        crate::exact::tap::Seen::Scores(scores.to_vec(), temperature.per_unit())
    });
    let least = (scores.iter().copied().reduce(i64::min))
        .ok_or_else(|| Error::invalid("scores", "must not be empty"))?;
    if u32::try_from(scores.len()).is_err() {
        return Err(Error::invalid(
            "scores",
            "must have fewer than 2^32 entries",
        ));
    }
    let distances = || scores.iter().map(|score| score.abs_diff(least));
    let weights: Vec<Interval> = distances()
        .map(|d| exp2_neg(temperature.even_exponent(d)))
        .collect();
    // Fewer than 2^32 weights of at most 2^63.
    let sum = weights.iter().fold((0u128, 0u128), |(lo, hi), weight| {
        (lo + u128::from(weight.lo), hi + u128::from(weight.hi))
    });
    let drawn = source.bits();
    // U in [drawn, drawn + 1) 2^-64: U S is at least `below` and less than `above`.
    let below = scaled(sum.0, drawn);
    let above = scaled(sum.1, drawn) + (sum.1 >> 64) + 2;
    let (mut passed, mut reached, mut ends) = (0usize, 0usize, (0u128, 0u128));
    for weight in &weights[..scores.len() - 1] {
        ends = (
            ends.0 + u128::from(weight.lo),
            ends.1 + u128::from(weight.hi),
        );
        passed += usize::from(ends.1 <= below);
        reached += usize::from(ends.0 >= above);
    }
    if passed + reached == scores.len() - 1 {
        return Ok(passed);
    }
    Ok(refined(distances, temperature, drawn, source))
}

/// floor(sum drawn 2^-64), for sums below 2^96.
fn scaled(sum: u128, drawn: u64) -> u128 {
    let drawn = u128::from(drawn);
    let low = sum & u128::from(u64::MAX);
    (sum >> 64) * drawn + ((low * drawn) >> 64)
}

/// The choice where 64 bits of U leave it open.
#[cold]
fn refined<I: Iterator<Item = u64>>(
    distances: impl Fn() -> I,
    temperature: &InverseTemperature,
    first: u64,
    source: &mut Source,
) -> usize {
    let (mut drawn, mut bits) = (BigUint::from(first), 64u64);
    loop {
        drawn = (((drawn << 64u32) + source.bits()) << 64u32) + source.bits();
        bits += 128;
        let ends: Vec<(BigUint, BigUint)> = distances()
            .map(|d| temperature.weight(d.into(), 0, bits))
            .scan((BigUint::ZERO, BigUint::ZERO), |ends, weight| {
                *ends = (&ends.0 + weight.0, &ends.1 + weight.1);
                Some(ends.clone())
            })
            .collect();
        let Some(((lo, hi), others)) = ends.split_last() else {
            return 0;
        };
        let below = (lo * &drawn) >> bits;
        let above = ((hi * (&drawn + 1u8)) >> bits) + 1u8;
        let passed = others.iter().filter(|end| end.1 <= below).count();
        let reached = others.iter().filter(|end| end.0 >= above).count();
        if passed + reached == others.len() {
            return passed;
        }
    }
}

/// A probability of one is all units of the enclosures.
const _: () = assert!(PROBABILITY_BITS == 63);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chi_square(
        scores: &[i64],
        epsilon: f64,
        seed: u64,
        by: impl Fn(&mut Source, &InverseTemperature) -> usize,
    ) -> f64 {
        let eta = InverseTemperature::new(epsilon, 1).unwrap();
        let mut source = Source::seeded(seed);
        let n = 100_000;
        let mut counts = vec![0f64; scores.len()];
        (0..n).for_each(|_| counts[by(&mut source, &eta)] += 1.0);
        let least = *scores.iter().min().unwrap();
        let weight = |q: i64| (-epsilon / 2.0 * (q - least) as f64).exp();
        let total: f64 = scores.iter().map(|&q| weight(q)).sum();
        (scores.iter().zip(counts))
            .map(|(&q, count)| {
                let expected = weight(q) / total * f64::from(n);
                (count - expected).powi(2) / expected
            })
            .sum()
    }

    /// By 64 bits, and by what is done where they do not settle it.
    #[test]
    fn frequencies_follow_the_law() {
        // 1 - 1e-6 quantiles at 7, 1 and 3 degrees of freedom.
        for (case, (scores, epsilon, quantile)) in [
            (&[0i64, 1, 2, 3, 4, 5, 6, 7][..], 1.0, 42.7),
            (&[5, 3], 0.7, 24.0),
            (&[0, 0, 10, 11], 0.3, 30.7),
        ]
        .into_iter()
        .enumerate()
        {
            let fast = chi_square(scores, epsilon, case as u64, |source, eta| {
                draw_in_constant_time(scores, eta, source).unwrap()
            });
            assert!(fast < quantile, "case {case}: {fast}");
            let least = *scores.iter().min().unwrap();
            let slow = chi_square(scores, epsilon, case as u64, |source, eta| {
                let first = source.bits();
                refined(
                    || scores.iter().map(|q| q.abs_diff(least)),
                    eta,
                    first,
                    source,
                )
            });
            assert!(slow < quantile, "case {case}, refined: {slow}");
        }
    }

    #[test]
    fn one_candidate_and_ties() {
        let eta = InverseTemperature::new(0.5, 1).unwrap();
        let mut source = Source::seeded(3);
        assert_eq!(draw_in_constant_time(&[-7], &eta, &mut source).unwrap(), 0);
        assert!(draw_in_constant_time(&[], &eta, &mut source).is_err());
        let ties = vec![i64::MIN; 1000];
        let mean = (0..2000)
            .map(|_| draw_in_constant_time(&ties, &eta, &mut source).unwrap() as f64)
            .sum::<f64>()
            / 2000.0;
        assert!(
            (mean - 499.5).abs() < 5.0 * 288.7 / 2000f64.sqrt(),
            "{mean}"
        );
        let far = [i64::MAX, i64::MIN, 0];
        assert!((0..200).all(|_| draw_in_constant_time(&far, &eta, &mut source).unwrap() == 1));
    }

    proptest! {
        /// The first 64 bits settle nearly every choice, and settle it as more bits do; a draw takes one word, whatever
        /// the scores are.
        #[test]
        fn words_are_one_and_choices_those_of_more_bits(
            scores in proptest::collection::vec((any::<i64>(), 0u32..64), 1..40),
            epsilon_log in -63.0..9.9f64,
            seed: u64,
        ) {
            let scores: Vec<i64> = scores.into_iter().map(|(score, drop)| score >> drop).collect();
            let eta = InverseTemperature::new(epsilon_log.exp2(), 1).unwrap();
            let choice = draw_in_constant_time(&scores, &eta, &mut Source::limited(seed, 1)).unwrap();
            let mut source = Source::seeded(seed);
            let first = source.bits();
            let least = *scores.iter().min().unwrap();
            let again = refined(|| scores.iter().map(|q| q.abs_diff(least)), &eta, first, &mut source);
            prop_assert_eq!(choice, again);
        }

        /// Exponents without branches enclose what those with branches enclose.
        #[test]
        fn even_exponents_enclose(epsilon_log in -63.0..9.9f64, d: u64, drop in 0u32..64, sensitivity in 1u64..1 << 40) {
            let eta = InverseTemperature::new(epsilon_log.exp2(), sensitivity).unwrap();
            let d = d >> drop;
            let (even, other) = (eta.even_exponent(d), eta.exponent(d.into()));
            prop_assert!(even.lo <= even.hi && even.lo <= other.hi && other.lo <= even.hi);
            prop_assert!(d > 0 || (even.lo, even.hi) == (0, 0));
            // As narrow: 63 bits of d are kept by the other.
            prop_assert!(even.hi - even.lo <= other.hi - other.lo + 2);
        }
    }
}

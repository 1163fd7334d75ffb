//! One group, with the signs inside it left open: weights are products of 2 cosh(eta g_j) (MECHANISMS M3).

use num_bigint::BigUint;

use super::dyadic_classes::DyadicClasses;
use super::inverse_temperature::{FAR, InverseTemperature};
use crate::exact::noise::bernoulli::bernoulli;
use crate::exact::noise::source::Source;
use crate::numeric::enclosure::{EXPONENT_BITS, Interval, PROBABILITY_BITS, exp2_neg};

/// Draws group k with probability proportional to the product over j in group k of 2 cosh(eta g_j), exactly.
///
/// Together with independent signs inside the group this is the exponential mechanism over all signed
/// vertices of the ball of disjoint groups, without enumerating them. A weight is written
/// exp(eta S) P with S = sum |g_j| and P = prod (1 + exp(-2 eta |g_j|)), both enclosed.
///
/// The sums S must stay below 2^63; groups must not be empty and there must be at least one.
pub fn draw_group<'a>(
    groups: impl Iterator<Item = &'a [u32]> + Clone,
    gradient: &[i64],
    temperature: &InverseTemperature,
    source: &mut Source,
) -> usize {
    let magnitudes = |group: &'a [u32]| group.iter().map(|&j| gradient[j as usize].unsigned_abs());
    let sum = |group: &'a [u32]| magnitudes(group).sum::<u64>();
    let largest = groups.clone().map(sum).max().unwrap_or(0);

    let weights: Vec<Weight> = groups
        .clone()
        .map(|group| {
            let distance = largest - sum(group);
            Weight {
                distance,
                x: temperature.exponent(distance),
                product: Product::new(magnitudes(group), temperature),
            }
        })
        .collect();
    // A common power of two is free: the class of the heaviest group becomes 0.
    let base = weights.iter().map(Weight::level).min().unwrap_or(0);
    let class = |weight: &Weight| (weight.level() - base).min(i64::from(FAR)) as u8;
    let classes = DyadicClasses::new(Vec::new(), weights.iter().map(class));
    loop {
        let (candidate, class) = classes.propose(source);
        let weight = &weights[candidate];
        // Accept with probability weight 2^power <= 1.
        let power = base + i64::from(class);
        let beyond = (weight.level() - power) as u64; // positive only in the last class
        let group = groups.clone().nth(candidate).unwrap_or(&[]);
        let refine =
            |bits: u64| refine(weight.distance, magnitudes(group), temperature, power, bits);
        if bernoulli(source, weight.fast(beyond), refine) {
            return candidate;
        }
    }
}

/// exp(-eta distance) P = 2^-x P.
struct Weight {
    distance: u64,
    x: Interval,
    product: Product,
}

impl Weight {
    /// A level with weight <= 2^-level: floor(x) - (exponent + 1), as P < 2^(exponent + 1).
    fn level(&self) -> i64 {
        (self.x.lo >> EXPONENT_BITS) as i64 - i64::from(self.product.exponent) - 1
    }

    /// Encloses weight 2^(level - beyond) in units of 2^-63.
    fn fast(&self, beyond: u64) -> Interval {
        let whole = (self.x.lo >> EXPONENT_BITS) << EXPONENT_BITS;
        let power = exp2_neg(Interval {
            lo: self.x.lo - whole,
            hi: self.x.hi - whole,
        });
        // mantissa / 2^63 is P 2^-(exponent + 1); both factors are at most 1.
        let times = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> PROBABILITY_BITS) as u64;
        let lo = times(power.lo, self.product.mantissa.lo)
            .checked_shr(beyond as u32)
            .unwrap_or(0);
        let hi = (times(power.hi, self.product.mantissa.hi) + 1)
            .checked_shr(beyond as u32)
            .unwrap_or(0)
            + 1;
        // Saturated exponents (x >= 2^7) are known from above only.
        Interval {
            lo: if self.x.hi == u64::MAX { 0 } else { lo },
            hi: hi.min(1 << PROBABILITY_BITS),
        }
    }
}

/// P = prod (1 + v_j) in [mantissa.lo, mantissa.hi] 2^(exponent - 62), mantissa.hi in [2^62, 2^63).
struct Product {
    mantissa: Interval,
    exponent: u32,
}

impl Product {
    fn new(magnitudes: impl Iterator<Item = u64>, temperature: &InverseTemperature) -> Self {
        const ONE: u64 = 1 << 62;
        let (mut lo, mut hi, mut exponent) = (ONE, ONE, 0);
        for magnitude in magnitudes {
            let v = exp2_neg(temperature.exponent(magnitude.saturating_mul(2)));
            let (factor_lo, factor_hi) = (ONE + (v.lo >> 1), ONE + (v.hi >> 1) + 1);
            lo = ((u128::from(lo) * u128::from(factor_lo)) >> 62) as u64;
            // hi < 2^63 and factor_hi <= 2^63 + 1: the product is below 2^64 + 2^2.
            let product = ((u128::from(hi) * u128::from(factor_hi)) >> 62) + 1;
            if product >= 1 << 63 {
                lo >>= 1;
                hi = ((product >> 1) + 1) as u64;
                exponent += 1;
            } else {
                hi = product as u64;
            }
            // Rounding up may just reach 2^63 again.
            if hi >= 1 << 63 {
                (lo, hi, exponent) = (lo >> 1, (hi >> 1) + 1, exponent + 1);
            }
        }
        Product {
            mantissa: Interval { lo, hi },
            exponent,
        }
    }
}

/// Encloses exp(-eta distance) prod (1 + exp(-2 eta |g_j|)) 2^power in units of 2^-bits.
fn refine(
    distance: u64,
    magnitudes: impl Iterator<Item = u64>,
    temperature: &InverseTemperature,
    power: i64,
    bits: u64,
) -> (BigUint, BigUint) {
    let magnitudes: Vec<u64> = magnitudes.collect();
    let guard = 64 + 2 * magnitudes.len() as u64 + power.unsigned_abs();
    let precision = bits + guard;
    let one = BigUint::from(1u8) << precision;
    let (mut lo, mut hi) = temperature.weight(distance.into(), 0, precision);
    for magnitude in magnitudes {
        let (v_lo, v_hi) = temperature.weight(u128::from(magnitude) * 2, 0, precision);
        lo = (lo * (&one + v_lo)) >> precision;
        hi = ((hi * (&one + v_hi)) >> precision) + 1u8;
    }
    let drop = (guard as i64 - power) as u64;
    let whole = BigUint::from(1u8) << bits;
    (
        (lo >> drop).min(whole.clone()),
        ((hi >> drop) + 1u8).min(whole),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(groups: &[Vec<u32>], gradient: &[i64], epsilon: f64, quantile: f64, seed: u64) {
        let eta = InverseTemperature::new(epsilon, 1).unwrap();
        let mut source = Source::seeded(seed);
        let n = 60_000usize;
        let mut counts = vec![0f64; groups.len()];
        for _ in 0..n {
            counts[draw_group(
                groups.iter().map(Vec::as_slice),
                gradient,
                &eta,
                &mut source,
            )] += 1.0;
        }
        let weight = |group: &Vec<u32>| -> f64 {
            group
                .iter()
                .map(|&j| 2.0 * (epsilon / 2.0 * gradient[j as usize] as f64).cosh())
                .product()
        };
        let total: f64 = groups.iter().map(weight).sum();
        let statistic: f64 = groups
            .iter()
            .zip(counts)
            .map(|(group, count)| {
                let expected = weight(group) / total * n as f64;
                (count - expected) * (count - expected) / expected
            })
            .sum();
        assert!(statistic < quantile, "{statistic}");
    }

    #[test]
    fn frequencies_follow_the_law() {
        let groups = vec![vec![0, 1, 2], vec![3], vec![4, 5]];
        // 2 degrees of freedom: 1 - 1e-6 quantile 27.6
        check(&groups, &[1, -1, 2, 5, -2, 2], 0.9, 27.7, 1);
        check(&groups, &[0, 0, 0, 0, 0, 0], 0.9, 27.7, 2);
        check(&groups, &[3, 0, 0, 7, 1, -4], 0.31, 27.7, 3);
    }

    #[test]
    fn enclosures_agree_with_refinement() {
        let eta = InverseTemperature::new(0.37, 11).unwrap();
        let magnitudes = [5u64, 0, 80, 13, 200];
        let product = Product::new(magnitudes.iter().copied(), &eta);
        let weight = Weight {
            distance: 90,
            x: eta.exponent(90),
            product,
        };
        let fast = weight.fast(3);
        let (lo, hi) = refine(
            90,
            magnitudes.iter().copied(),
            &eta,
            weight.level() - 3,
            150,
        );
        assert!(BigUint::from(fast.lo) << 87u32 <= lo && hi <= BigUint::from(fast.hi) << 87u32);
        assert!(fast.hi - fast.lo < 1 << 12);
    }
}

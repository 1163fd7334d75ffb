//! One group, with the signs inside it left open: weights are products of 2 cosh(eta g_j)
//! ([`crate::theory_of_privacy::frank_wolfe`]).

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
/// **Rounds:** fewer than 5 are expected, whatever the gradient and the groups. The class of a group is that of the
/// whole product: a weight lies in (2^-(level + 2.01), 2^-level] by `Weight::level`, so that a proposal 2^-level
/// exceeds it by less than a factor of 4.1. The heaviest proposal has class 0; the last class, of levels 64 and more
/// above it, holds fewer than 2^32 groups, proposed with 2^-64 each. With the heaviest proposal as the unit, the
/// weights sum to W > 1/4.1 and the proposals to 4.1 W + 2^-32 at most: W is the share that is kept. After a
/// rejection the class is drawn again too, not its member alone.
///
/// Groups must not be empty, and hold fewer than 2^32 members.
///
/// # Panics
/// If there is no group, a member has no entry in `gradient`, or a sum S is 2^63 or more.
pub fn draw_group<'a>(
    groups: impl Iterator<Item = &'a [u32]> + Clone,
    gradient: &[i64],
    temperature: &InverseTemperature,
    source: &mut Source,
) -> usize {
    #[cfg(test)]
    crate::exact::tap::see(|| {
        let entries = |group: &[u32]| group.iter().map(|&j| gradient[j as usize]).collect();
        let groups = groups.clone().map(entries).collect();
        crate::exact::tap::Seen::Groups(groups, temperature.per_unit())
    });
    let magnitudes = |group: &'a [u32]| group.iter().map(|&j| gradient[j as usize].unsigned_abs());
    // A sum that wrapped would give its group another weight.
    let sum = |group: &'a [u32]| {
        magnitudes(group).fold(0, |sum: u64, size| {
            let sum = sum.saturating_add(size);
            assert!(sum < 1 << 63, "sums of groups are below 2^63");
            sum
        })
    };
    let largest = (groups.clone().map(sum).max()).expect("there is a group");

    let weights: Vec<Weight> = groups
        .clone()
        .map(|group| Weight::new(largest - sum(group), magnitudes(group), temperature))
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
        let beyond = weight.level() - power; // positive only in the last class
        let group = groups.clone().nth(candidate).unwrap_or(&[]);
        let refine =
            |bits: u64| refine(weight.distance, magnitudes(group), temperature, power, bits);
        if bernoulli(source, weight.fast(beyond), refine) {
            return candidate;
        }
    }
}

/// Whole parts of exponents are capped here. The group of distance 0 has a level of 0 at most and a product takes
/// fewer than 2^32 off a level, so a capped one stays in the last class: it would be there without the cap too.
const CAP: u128 = 1 << 40;

/// exp(-eta distance) P = 2^-x P, x = `whole` + `fraction`.
struct Weight {
    distance: u64,
    whole: i64,
    /// In units of 2^-57; from 0 to 1 but for its width, unless the whole part is capped.
    fraction: Interval,
    product: Product,
}

impl Weight {
    fn new(
        distance: u64,
        magnitudes: impl Iterator<Item = u64>,
        temperature: &InverseTemperature,
    ) -> Self {
        let x = temperature.wide_exponent(distance.into());
        let whole = (x[0] >> EXPONENT_BITS).min(CAP);
        // A saturated end is right for a weight: 2^-128 counts as an interval from 0.
        let [lo, hi] =
            x.map(|end| u64::try_from(end - (whole << EXPONENT_BITS)).unwrap_or(u64::MAX));
        Self {
            distance,
            whole: whole as i64,
            fraction: Interval { lo, hi },
            product: Product::new(magnitudes, temperature),
        }
    }

    /// A level with weight <= 2^-level: floor(x) - (exponent + 1), as P < 2^(exponent + 1).
    ///
    /// weight > 2^-(level + 2.01), unless x is capped: P >= 2^exponent (1 - 2^-21), as each of its fewer than 2^32
    /// factors is enclosed to 2^-54 of its size, and an x below 2^33 to 2^-28.
    fn level(&self) -> i64 {
        self.whole - i64::from(self.product.exponent) - 1
    }

    /// Encloses weight 2^(level - beyond) in units of 2^-63.
    fn fast(&self, beyond: i64) -> Interval {
        let power = exp2_neg(self.fraction);
        let drop = beyond.min(64) as u32;
        // mantissa / 2^63 is P 2^-(exponent + 1); both factors are at most 1.
        let times = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> PROBABILITY_BITS) as u64;
        let lo = times(power.lo, self.product.mantissa.lo);
        let hi = times(power.hi, self.product.mantissa.hi) + 1;
        Interval {
            lo: lo.checked_shr(drop).unwrap_or(0),
            hi: (hi.checked_shr(drop).unwrap_or(0) + 1).min(1 << PROBABILITY_BITS),
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
            let v = exp2_neg(temperature.exponent(u128::from(magnitude) * 2));
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
    use proptest::prelude::*;

    /// A sum that wrapped would be that of a light group.
    #[test]
    fn no_group_and_sums_that_wrap_are_refused() {
        let eta = InverseTemperature::new(1.0, 1).unwrap();
        let draw = |groups: &[&[u32]], gradient: &[i64]| {
            let groups = groups.iter().copied();
            std::panic::catch_unwind(|| draw_group(groups, gradient, &eta, &mut Source::seeded(1)))
        };
        let (far, half) = (i64::MIN, 1 << 61);
        assert!(draw(&[&[0, 1], &[1]], &[half, 0]).is_ok());
        assert!(draw(&[], &[1]).is_err());
        assert!(draw(&[&[5]], &[1]).is_err());
        assert!(draw(&[&[0, 1, 1]], &[far, far]).is_err());
    }

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
            product,
            ..Weight::new(90, [].into_iter(), &eta)
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

    /// ln of the product of 2 cosh(eta g_j), from eta = epsilon/2, without overflow.
    fn log_weight(group: &[u32], gradient: &[i64], epsilon: f64) -> f64 {
        let term = |&j: &u32| {
            let size = epsilon / 2.0 * gradient[j as usize].unsigned_abs() as f64;
            size + (-2.0 * size).exp().ln_1p()
        };
        group.iter().map(term).sum()
    }

    /// A strong group of 30 beside a noisy one of 400, whose sum is 277/eta behind and whose product is 2^400: the two
    /// weigh nearly the same, and words are few. A distance capped before its product would need 2^270 rounds.
    #[test]
    fn a_strong_group_beside_a_large_one() {
        let groups = [
            (0..30).collect::<Vec<u32>>(),
            (30..430).collect(),
            vec![430],
        ];
        let (epsilon, n) = (0.5, 4000u32);
        let mut gradient = vec![0i64; 431];
        gradient[..30].fill(-37);
        gradient[0] = 35; // a sum of 1108, beside 400 ln 2 = 277.3 quarters
        let logs = [0, 1].map(|g| log_weight(&groups[g], &gradient, epsilon));
        let p = 1.0 / (1.0 + (logs[1] - logs[0]).exp());
        assert!((0.2..0.8).contains(&p), "{p}");
        let eta = InverseTemperature::new(epsilon, 1).unwrap();
        // 5 rounds of 5 words at most are expected: two tries of two words for a class, and one to keep it.
        let mut source = Source::limited(4, 25 * u64::from(n));
        let members = groups.iter().map(Vec::as_slice);
        let mut draw = || draw_group(members.clone(), &gradient, &eta, &mut source);
        let choices: Vec<usize> = (0..n).map(|_| draw()).collect();
        assert!(choices.iter().all(|&g| g < 2)); // the third has a share below exp(-276)
        let hits = choices.iter().filter(|&&g| g == 0).count() as f64;
        let z = (hits - f64::from(n) * p) / (f64::from(n) * p * (1.0 - p)).sqrt();
        assert!(z.abs() < 4.9, "{z}"); // two-sided 1e-6
    }

    /// The very groups of a neighbour that favours the large one, and far beyond: gaps up to the end of the domain.
    #[test]
    fn large_gaps_and_products() {
        let groups = [(0..30).collect::<Vec<u32>>(), (30..5030).collect()];
        let eta = InverseTemperature::new(1024.0, 1).unwrap();
        for (strong, winner) in [(0i64, 1), (1 << 5, 0), (1 << 30, 0), (1 << 57, 0)] {
            let mut gradient = vec![0i64; 5030];
            gradient[..30].fill(strong);
            let mut source = Source::limited(4, 100);
            let members = groups.iter().map(Vec::as_slice);
            assert_eq!(draw_group(members, &gradient, &eta, &mut source), winner);
        }
    }

    proptest! {
        /// Whatever the gradient, sizes and temperature: 1000 words do. Each 3 words end the draw with a probability
        /// above 1/2 (a class) times 1/5 (kept), so that more than 1000 have a probability below 0.9^333 = 6e-16.
        #[test]
        fn words_are_bounded(sizes in proptest::collection::vec(1usize..700, 1..12), epsilon_log in -40.0..9.9f64, logs in proptest::collection::vec(0.0..50.0f64, 12), spread in 0.0..2.0f64, seed: u64) {
            let eta = InverseTemperature::new(epsilon_log.exp2(), 1).unwrap();
            let (mut groups, mut gradient) = (Vec::new(), Vec::new());
            for (size, log) in sizes.iter().zip(logs) {
                let from = gradient.len() as u32;
                let entry = |k: usize| (log - spread * (k % 7) as f64).exp2() as i64;
                gradient.extend((0..*size).map(entry));
                groups.push((from..gradient.len() as u32).collect::<Vec<u32>>());
            }
            let mut source = Source::limited(seed, 1000);
            let choice = draw_group(groups.iter().map(Vec::as_slice), &gradient, &eta, &mut source);
            prop_assert!(choice < groups.len());
        }
    }
}

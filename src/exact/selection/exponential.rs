//! One candidate among integer scores.

use super::dyadic_classes::DyadicClasses;
use super::inverse_temperature::InverseTemperature;
use crate::error::{Error, Result};
use crate::exact::noise::bernoulli::bernoulli;
use crate::exact::noise::source::Source;
use crate::numeric::enclosure::{EXPONENT_BITS, Interval, exp2_neg};

/// The exponential mechanism P(k) proportional to exp(-eta q_k), prepared for one vector of integer scores.
///
/// With eta = epsilon0 / (2 D) and scores that move by at most D it is epsilon0-bounded-range, hence
/// epsilon0^2/8-zCDP (Cesar & Rogers 2021; [`crate::theory_of_privacy::selection`]).
///
/// **Rounds** of a draw: fewer than 5 are expected, whatever the scores are. A weight 2^-x is proposed with 2^-class,
/// class > x - 2 (`InverseTemperature::class`), so that a proposal exceeds its weight by less than a factor of 4; the
/// fewer than 2^32 weights below 2^-63 are proposed with 2^-63 at most each. The candidate of the least score has
/// weight 1, so the weights sum to W >= 1 and the proposals to 4 W + 2^-31 at most.
///
/// ```
/// use dpsparse::exact::noise::source::Source;
/// use dpsparse::exact::selection::{ExponentialMechanism, InverseTemperature};
/// let eta = InverseTemperature::new(1.0, 2).unwrap();
/// let scores = [1_000_000_000_000_000, 3, 3];
/// let mechanism = ExponentialMechanism::new(&scores, &eta, Vec::new()).unwrap();
/// let choice = mechanism.draw(&mut Source::secure().unwrap());
/// assert!(choice == 1 || choice == 2);
/// ```
pub struct ExponentialMechanism<'a> {
    scores: &'a [i64],
    minimum: i64,
    temperature: &'a InverseTemperature,
    classes: DyadicClasses,
}

impl<'a> ExponentialMechanism<'a> {
    /// Sorts the candidates into classes in two passes; `storage` is scratch space that
    /// [`Self::into_storage`] returns.
    ///
    /// # Errors
    /// No score at all, or 2^32 and more of them.
    pub fn new(
        scores: &'a [i64],
        temperature: &'a InverseTemperature,
        storage: Vec<u8>,
    ) -> Result<Self> {
        let minimum = *scores
            .iter()
            .min()
            .ok_or_else(|| Error::invalid("scores", "must not be empty"))?;
        if u32::try_from(scores.len()).is_err() {
            return Err(Error::invalid(
                "scores",
                "must have fewer than 2^32 entries",
            ));
        }
        let classes = scores
            .iter()
            .map(|&score| temperature.class(score.abs_diff(minimum)));
        Ok(Self {
            scores,
            minimum,
            temperature,
            classes: DyadicClasses::new(storage, classes),
        })
    }

    /// Prepares for many draws: afterwards each costs O(1) in expectation.
    pub fn for_many_draws(mut self) -> Self {
        self.classes.index_members();
        self
    }

    /// Index of the chosen candidate.
    pub fn draw(&self, source: &mut Source) -> usize {
        #[cfg(test)]
        crate::exact::tap::see(|| {
            crate::exact::tap::Seen::Scores(self.scores.to_vec(), self.temperature.per_unit())
        });
        loop {
            let (candidate, class) = self.classes.propose(source);
            let distance = self.scores[candidate].abs_diff(self.minimum);
            if keeps(self.temperature, distance, class, source) {
                return candidate;
            }
        }
    }

    /// Gives the scratch space back.
    pub fn into_storage(self) -> Vec<u8> {
        self.classes.into_storage()
    }
}

/// Whether a candidate so far above the least score stays the choice, proposed by its class.
pub(super) fn keeps(
    temperature: &InverseTemperature,
    distance: u64,
    class: u8,
    source: &mut Source,
) -> bool {
    if distance == 0 {
        return true; // weight 1, class 0: accepted outright
    }
    // Acceptance probability exp(-eta d) 2^class = 2^-(x - class) <= 1, as class <= x.
    let x = temperature.exponent(distance.into());
    let offset = u64::from(class) << EXPONENT_BITS;
    let excess = Interval {
        lo: x.lo.saturating_sub(offset),
        hi: x.hi.saturating_sub(offset),
    };
    let refine = |bits| temperature.weight(distance.into(), class.into(), bits);
    bernoulli(source, exp2_neg(excess), refine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::selection::sign::draw_sign;
    use proptest::prelude::*;

    /// Pearson's statistic of `n` draws against exp(-eta q); compared with a 1 - 1e-6 quantile by the caller.
    fn chi_square(scores: &[i64], epsilon: f64, sensitivity: u64, n: usize, seed: u64) -> f64 {
        let eta = InverseTemperature::new(epsilon, sensitivity).unwrap();
        let mechanism = ExponentialMechanism::new(scores, &eta, Vec::new())
            .unwrap()
            .for_many_draws();
        let mut source = Source::seeded(seed);
        let mut counts = vec![0f64; scores.len()];
        (0..n).for_each(|_| counts[mechanism.draw(&mut source)] += 1.0);
        let minimum = *scores.iter().min().unwrap();
        let weight =
            |q: i64| (-(epsilon / (2.0 * sensitivity as f64)) * (q - minimum) as f64).exp();
        let total: f64 = scores.iter().map(|&q| weight(q)).sum();
        scores
            .iter()
            .zip(counts)
            .map(|(&q, count)| {
                let expected = weight(q) / total * n as f64;
                (count - expected) * (count - expected) / expected
            })
            .sum()
    }

    #[test]
    fn frequencies_follow_the_law() {
        // 7 degrees of freedom: 1 - 1e-6 quantile 42.7; the cases put weights just below and above powers of
        // two.
        let cases: [([i64; 8], f64, u64); 4] = [
            ([0, 1, 2, 3, 4, 5, 6, 7], 1.0, 1),
            ([0, 0, 0, 10, 10, 20, 30, 40], 0.1, 1),
            (
                [
                    -5_000_000, -4_999_999, 0, 3, 9, 1_000_000, 2_000_000, 3_000_000,
                ],
                1.5,
                1_000_000,
            ),
            ([0, 7, 7, 7, 7, 7, 7, 7], 2.0, 10),
        ];
        for (case, (scores, epsilon, sensitivity)) in cases.into_iter().enumerate() {
            let statistic = chi_square(&scores, epsilon, sensitivity, 200_000, case as u64);
            assert!(statistic < 42.7, "case {case}: {statistic}");
        }
    }

    /// Up to nine candidates: they are counted by fours, and what is left over one by one.
    #[test]
    fn frequencies_follow_the_law_for_every_number_of_candidates() {
        // 1 - 1e-6 quantiles at 1 to 8 degrees of freedom.
        let quantiles = [24.0, 27.7, 30.7, 33.4, 35.9, 38.3, 40.6, 42.8];
        for (extra, quantile) in quantiles.into_iter().enumerate() {
            let scores: Vec<i64> = (0..extra as i64 + 2).collect();
            let statistic = chi_square(&scores, 0.4, 1, 20_000, extra as u64);
            assert!(statistic < quantile, "{extra}: {statistic}");
        }
    }

    #[test]
    fn wide_gaps_and_ties() {
        let eta = InverseTemperature::new(0.1, 1).unwrap();
        let scores = [i64::MIN, i64::MAX, 1_000_000_000_000_000];
        let mechanism = ExponentialMechanism::new(&scores, &eta, Vec::new()).unwrap();
        assert!((0..100).all(|seed| mechanism.draw(&mut Source::seeded(seed)) == 0));

        let ties = vec![7i64; 1_000_000];
        let mechanism = ExponentialMechanism::new(&ties, &eta, Vec::new()).unwrap();
        let mut source = Source::seeded(1);
        let mean = (0..200)
            .map(|_| mechanism.draw(&mut source) as f64)
            .sum::<f64>()
            / 200.0;
        assert!((mean / 1e6 - 0.5).abs() < 0.11); // 5 standard errors of a uniform mean
    }

    #[test]
    fn one_draw_agrees_with_many_draws() {
        let eta = InverseTemperature::new(0.5, 3).unwrap();
        let scores: Vec<i64> = (0..10_000).map(|k| (k * 7919) % 101).collect();
        let single = ExponentialMechanism::new(&scores, &eta, Vec::new()).unwrap();
        let many = ExponentialMechanism::new(&scores, &eta, Vec::new())
            .unwrap()
            .for_many_draws();
        for seed in 0..50 {
            assert_eq!(
                single.draw(&mut Source::seeded(seed)),
                many.draw(&mut Source::seeded(seed))
            );
        }
    }

    proptest! {
        /// Whatever the scores and the temperature: 1000 words do. Each 3 words end the draw with a probability above
        /// 1/2 (a class) times 1/5 (kept), so that more than 1000 have a probability below 0.9^333 = 6e-16.
        #[test]
        fn words_are_bounded(
            scores in proptest::collection::vec((any::<i64>(), 0u32..64), 1..300),
            epsilon_log in -63.0..9.9f64,
            seed: u64,
        ) {
            let scores: Vec<i64> = scores.into_iter().map(|(score, drop)| score >> drop).collect();
            let eta = InverseTemperature::new(epsilon_log.exp2(), 1).unwrap();
            let mechanism = ExponentialMechanism::new(&scores, &eta, Vec::new()).unwrap();
            let mut source = Source::limited(seed, 1000);
            prop_assert!(mechanism.draw(&mut source) < scores.len());
            for score in scores {
                // 2 words a round at most, each the last with probability 1/2: 2^-50
                draw_sign(score, &eta, &mut Source::limited(seed, 100));
            }
        }
    }
}

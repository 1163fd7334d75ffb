//! One candidate where scores fall to a least one and rise again.

use super::dyadic_classes::{CLASSES, Tickets};
use super::exponential::keeps;
use super::inverse_temperature::InverseTemperature;
use crate::exact::noise::source::Source;
use crate::numeric::search::first_index;

/// [`ExponentialMechanism`](super::ExponentialMechanism) for scores that never rise before the candidate `bottom` and
/// never fall behind it, as those of a quantile: the members of a class are one run on either side, whose ends are
/// bisected. No score is written down, and few are computed.
///
/// It takes the same words for the same choice as the mechanism for any scores; the bound on **rounds** is that one's.
pub(crate) struct Valley<'a, S> {
    score: S,
    minimum: i64,
    temperature: &'a InverseTemperature,
    /// Where the run of a class begins before the bottom, and where it ends behind it; that of class c + 1 surrounds
    /// it.
    ends: [[usize; 2]; CLASSES],
    /// Between the runs of class 0.
    bottom: usize,
    tickets: Tickets,
}

impl<'a, S: Fn(usize) -> i64> Valley<'a, S> {
    /// Of fewer than 2^32 candidates, at least one; `bottom` is one of them.
    pub(crate) fn new(
        candidates: usize,
        bottom: usize,
        score: S,
        temperature: &'a InverseTemperature,
    ) -> Self {
        debug_assert!(bottom < candidates && u32::try_from(candidates).is_ok());
        let minimum = score(bottom);
        let class = |k: usize| usize::from(temperature.class(score(k).abs_diff(minimum)));
        let mut ends = [[0, candidates]; CLASSES];
        let [mut before, mut behind] = [bottom, bottom + 1];
        // Others are in the last class.
        for (c, ends) in ends[..CLASSES - 1].iter_mut().enumerate() {
            before = first_index(0..before, |k| class(k) <= c);
            behind = first_index(behind..candidates, |k| class(k) > c);
            *ends = [before, behind];
        }
        let lengths = ends.map(|[before, behind]| (behind - before) as u64);
        let within = |c: usize| if c == 0 { 0 } else { lengths[c - 1] };
        Self {
            score,
            minimum,
            temperature,
            ends,
            bottom,
            tickets: Tickets::new(std::array::from_fn(|c| lengths[c] - within(c))),
        }
    }

    /// Index of the chosen candidate.
    pub(crate) fn draw(&self, source: &mut Source) -> usize {
        #[cfg(test)]
        crate::exact::tap::see(|| {
            // The last class surrounds all others.
            let candidates = self.ends[CLASSES - 1][1];
            let scores = (0..candidates).map(&self.score).collect();
            crate::exact::tap::Seen::Scores(scores, self.temperature.per_unit())
        });
        loop {
            let (class, rank) = self.tickets.draw(source);
            let candidate = self.member(class, rank);
            let distance = (self.score)(candidate).abs_diff(self.minimum);
            if keeps(self.temperature, distance, class, source) {
                return candidate;
            }
        }
    }

    /// In the order of candidates.
    fn member(&self, class: u8, rank: usize) -> usize {
        let class = usize::from(class);
        let [within, until] = match class {
            // The bottom is the first behind it.
            0 => [self.bottom, self.bottom],
            _ => self.ends[class - 1],
        };
        let first = self.ends[class][0] + rank;
        if first < within {
            first
        } else {
            until + (first - within)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ExponentialMechanism;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The same words make the same choice of the mechanism for any scores, also where falls and rises are as steep
        /// as integers are.
        #[test]
        fn choices_are_those_among_any_scores(
            steps in proptest::collection::vec((0i64..1 << 40, 0u32..41), 1..200),
            at: prop::sample::Index,
            least in -5i64..5,
            epsilon_log in -40.0..9.0f64,
            seed: u64,
        ) {
            let bottom = at.index(steps.len());
            let step = |k: usize| steps[k].0 >> steps[k].1;
            let mut scores = vec![least; steps.len()];
            (0..bottom).rev().for_each(|k| scores[k] = scores[k + 1] + step(k));
            (bottom + 1..steps.len()).for_each(|k| scores[k] = scores[k - 1] + step(k));
            let eta = InverseTemperature::new(epsilon_log.exp2(), 1).unwrap();
            let any = ExponentialMechanism::new(&scores, &eta, Vec::new()).unwrap();
            let valley = Valley::new(scores.len(), bottom, |k| scores[k], &eta);
            let [mut one, mut other] = [Source::seeded(seed), Source::seeded(seed)];
            for _ in 0..50 {
                prop_assert_eq!(valley.draw(&mut one), any.draw(&mut other));
            }
            prop_assert_eq!(one.bits(), other.bits());
        }
    }

    /// Two candidates apart by x = eta d / ln 2 = .72: the worse one is chosen with exp(-1/2)/(1 + exp(-1/2)).
    #[test]
    fn frequencies_follow_the_law() {
        let eta = InverseTemperature::new(1.0, 1).unwrap();
        let valley = Valley::new(2, 1, |k| 1 - k as i64, &eta);
        let mut source = Source::seeded(3);
        let worse = (0..100_000)
            .filter(|_| valley.draw(&mut source) == 0)
            .count();
        let expected = (-0.5f64).exp() / (1.0 + (-0.5f64).exp());
        // Five standard deviations.
        assert!(
            (worse as f64 / 1e5 - expected).abs()
                < 5.0 * (expected * (1.0 - expected) / 1e5).sqrt()
        );
    }
}

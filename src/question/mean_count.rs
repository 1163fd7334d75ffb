//! About the mean of counts.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Question;
use super::statement::Statement;
use crate::accounting::event::Event;
use crate::error::{Error, Result, fraction};
use crate::exact::selection::InverseTemperature;

/// A rate near the mean of counts, by one choice of the exponential mechanism (McSherry & Talwar 2007) on a geometric
/// grid below the largest count. A clip of a mean is in units of the rate itself, so that no scale is released before.
///
/// With U integers a record, the score of a rate m is the largest of
///
/// ```text
/// U n/e - U #{y <= m},   U #{y <= m - 1} - U n (1 - 1/e),   |sum_i (U min(y_i/C, 1) - U m/C)|,
/// ```
///
/// where C is a multiple of m, at least that of one count, and no more than the largest count. The third is 0 at the
/// mean of counts clipped at C. The first two are not above 0 at the mean of any law with a log-concave density, which
/// has at least 1/e of its mass on either side of its mean (Gruenbaum 1960): where counts are far from 0 and close
/// together they say where they are, which the third hardly does; a count k takes the place of all of [k, k + 1). The
/// sums are over records: a record with a weight adds its share.
///
/// **Sensitivity**: with one record more or less each of the three sums moves by a contribution, which is no larger
/// than U in size (`MeanCandidates::contribution`); with one replaced by the difference of two, which lie within U of
/// each other, and shares of them too, since 0 is one of those numbers. The largest of several moves by no more than
/// the one that moves most: U, and m U for m records. One bounded-range event.
#[derive(Debug, Clone)]
pub struct MeanCount {
    pub(crate) candidates: MeanCandidates,
    pub(crate) temperature: InverseTemperature,
}

/// Rates among which a mean is chosen, in units of the largest count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MeanCandidates {
    /// Ascending; the last is 1.
    rates: Vec<f64>,
    /// One count.
    count: f64,
    /// Where counts are clipped, in rates.
    clip: f64,
}

/// Units of a record.
const UNIT: i64 = 1 << 14;
/// 1/e of them, rounded down.
const TAIL: i64 = 6027;
/// Rates to a factor of two.
const PER_OCTAVE: f64 = 12.0;
/// Largest exponent of 2 below the largest count.
const OCTAVES: f64 = 64.0;

impl MeanCandidates {
    /// Sums to a rate.
    pub(crate) const SUMS: usize = 3;
    /// Most that a record adds to a sum, in size.
    pub(crate) const LARGEST: i64 = UNIT;

    /// How many there are, at least one.
    pub(crate) fn len(&self) -> usize {
        self.rates.len()
    }

    /// One of them.
    pub(crate) fn rate(&self, k: usize) -> f64 {
        self.rates[k]
    }

    /// What a record of `y` in [0, 1] adds to the sums of a rate: too little up to it, too much below it, and the
    /// clipped count beyond it. The first and the last never rise with the rate, and the second never falls.
    ///
    /// Each lies in an interval of length U that begins at or below 0 and ends at or above it, whatever `y` is.
    pub(crate) fn contribution(&self, k: usize, y: f64) -> [i64; Self::SUMS] {
        let (rate, most) = (self.rates[k], self.clip * self.rates[k].max(self.count));
        let up_to = |rate: f64| if y <= rate { UNIT } else { 0 };
        // rate/C, as C is the lesser of `most` and 1: in this order it never falls, whatever is rounded.
        let share = ((rate / self.count).min(1.0) / self.clip).max(rate);
        let of_unit = |share: f64| (UNIT as f64 * share.clamp(0.0, 1.0)).round() as i64;
        [
            TAIL - up_to(rate),
            up_to(rate - self.count) - (UNIT - TAIL),
            of_unit(y / most.min(1.0)) - of_unit(share),
        ]
    }

    /// The scores of the rates, from the sums of all of them, one after the other.
    pub(crate) fn scores(&self, sums: &[i64]) -> Vec<i64> {
        let score = |sums: &[i64; Self::SUMS]| {
            let [few, many, beyond] = *sums;
            few.max(many).max(beyond.abs())
        };
        sums.as_chunks().0.iter().map(score).collect()
    }
}

impl Statement {
    /// One choice of bounded range `epsilon0`. Counts are clipped at `clip` of the rates that they are compared with,
    /// at least 1, and no less than `clip` times `count`, one count in units of the largest.
    ///
    /// The least rate is half a count, or the mean of as many ones as a choice is off by, 2/epsilon0, where that is
    /// less.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `counts` for other targets, `count` outside (0, 1), `clip` below 1 or not
    /// finite; an epsilon0 that the exact sampler does not take.
    pub fn mean_count(
        self: &Arc<Self>,
        epsilon0: f64,
        clip: f64,
        count: f64,
    ) -> Result<Question<MeanCount>> {
        if self.schema().target().units().is_none() {
            return Err(Error::invalid("counts", "have a mean, not other targets"));
        }
        let count = fraction("count", count)?;
        if !(clip >= 1.0 && clip.is_finite()) {
            return Err(Error::invalid("clip", "must be at least 1 and finite"));
        }
        let (n, person) = (self.n_samples() as f64, self.records_per_person());
        let temperature = InverseTemperature::new(epsilon0, person.saturating_mul(UNIT as u64))?;
        let least = count * (2.0 * person as f64 / (n * epsilon0)).min(0.5);
        let octaves = (-least.log2()).min(OCTAVES);
        let rate = |k: usize| 2f64.powf(-(k as f64) / PER_OCTAVE);
        let rates = (0..=(PER_OCTAVE * octaves) as usize).rev().map(rate);
        let candidates = MeanCandidates {
            rates: rates.collect(),
            count,
            clip,
        };
        let answer = MeanCount {
            candidates,
            temperature,
        };
        let events = vec![(Event::exponential(epsilon0)?, 1)];
        Ok(Question::new(self, answer, events))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use proptest::prelude::*;

    fn question(n: usize, person: usize, epsilon0: f64, clip: f64, count: f64) -> MeanCount {
        asked(
            Target::counts(0.0, 9.0, true),
            n,
            person,
            epsilon0,
            clip,
            count,
        )
        .unwrap()
    }

    fn asked(
        target: Target,
        n: usize,
        person: usize,
        epsilon0: f64,
        clip: f64,
        count: f64,
    ) -> Result<MeanCount> {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let schema = Schema::new(2, bounds, Geometry::Centred, target, true, None).unwrap();
        let statement = Statement::new(schema, n, Adjacency::ReplaceOne, person).unwrap();
        let question = statement.mean_count(epsilon0, clip, count)?;
        assert_eq!(question.events(), [(Event::exponential(epsilon0)?, 1)]);
        Ok(question.answer)
    }

    proptest! {
        /// What sensitivities rest on: any two contributions to a sum, and 0, lie within U of each other; and what the
        /// choice rests on: sums rise or fall with the rate.
        #[test]
        fn contributions_lie_within_a_unit(
            values in prop::collection::vec(
                prop_oneof![Just(0.0), Just(1.0), 0.0..1.0f64, 0.0..0.01f64, -9.0..9.0f64],
                2..9,
            ),
            clip in prop_oneof![Just(1.0), Just(3.0), 1.0..9.0f64],
            count in prop_oneof![Just(1e-9), Just(0.5), 1e-3..0.99f64],
        ) {
            let candidates = question(500, 1, 0.1, clip, count).candidates;
            for k in 0..candidates.len() {
                let each: Vec<_> = values.iter().map(|&y| candidates.contribution(k, y)).collect();
                for sum in 0..MeanCandidates::SUMS {
                    let all = || each.iter().map(|contribution| contribution[sum]).chain([0]);
                    let (least, most) = (all().min().unwrap(), all().max().unwrap());
                    prop_assert!(most - least <= UNIT, "{sum} at {k}: {least} {most}");
                }
                for (&y, [few, many, beyond]) in values.iter().zip(&each).filter(|_| k > 0) {
                    let before = candidates.contribution(k - 1, y);
                    prop_assert!(*few <= before[0] && *many >= before[1] && *beyond <= before[2]);
                }
            }
        }
    }

    /// Against the definition, a count of 1/9: clipped at three rates, at three counts and at the bound.
    #[test]
    fn contributions_are_those_of_their_definition() {
        let count = 1.0 / 9.0;
        let candidates = question(500, 1, 0.1, 3.0, count).candidates;
        let unit = UNIT as f64;
        let nearest = |rate: f64| {
            let distance = |k: &usize| (candidates.rate(*k) / rate).ln().abs();
            (0..candidates.len())
                .min_by(|a, b| distance(a).total_cmp(&distance(b)))
                .unwrap()
        };
        for (rate, clip) in [(0.05, 3.0 * count), (0.2, f64::NAN), (0.7, 1.0)] {
            let k = nearest(rate);
            let rate = candidates.rate(k);
            let clip = if clip.is_nan() { 3.0 * rate } else { clip };
            for y in [0.0, count, 3.0 * count, 1.0] {
                let [few, many, beyond] = candidates.contribution(k, y);
                let one = |is: bool| if is { unit } else { 0.0 };
                let tail = unit / std::f64::consts::E;
                assert!((few as f64 - (tail - one(y <= rate))).abs() < 1.0);
                assert!((many as f64 - (one(y + count <= rate) - unit + tail)).abs() < 1.0);
                let exact = unit * ((y / clip).min(1.0) - rate / clip);
                assert!((beyond as f64 - exact).abs() <= 1.0, "{y} {rate}");
            }
        }
        assert_eq!(
            candidates.scores(&[-3, 5, -9, 2, -1, 1, 1, 7, 6]),
            [9, 2, 7]
        );
    }

    /// The grid ends where it is said to, and no rate is 0.
    #[test]
    fn rates_go_from_what_a_choice_tells_to_the_bound() {
        for (n, person, epsilon0, counts) in [
            (500, 1, 0.1, 0.04),
            (500, 2, 0.1, 0.08),
            (10, 1, 0.1, 0.5),
            (1000, 1, 0.1, 0.02),
        ] {
            let candidates = question(n, person, epsilon0, 3.0, 0.01).candidates;
            let least = candidates.rate(0) / 0.01 / counts;
            assert!((1.0..1.06).contains(&least), "{least}");
            assert_eq!(candidates.rate(candidates.len() - 1), 1.0);
        }
        let candidates = question(1 << 30, 1, 1000.0, 3.0, 1e-300).candidates;
        assert_eq!(
            (candidates.len(), candidates.rate(0)),
            (769, 2f64.powi(-64))
        );
    }

    #[test]
    fn what_has_no_mean_of_counts_is_refused() {
        let counts = Target::counts(0.0, 9.0, true);
        let reals = Target::Interval {
            low: 0.0,
            high: 9.0,
        };
        for target in [reals, Target::Classes] {
            let error = asked(target, 9, 1, 1.0, 3.0, 0.1).unwrap_err();
            assert_eq!(error.to_string(), "counts have a mean, not other targets");
        }
        for (epsilon0, clip, count) in [
            (0.0, 3.0, 0.1),
            (f64::NAN, 3.0, 0.1),
            (1.0, 0.9, 0.1),
            (1.0, f64::NAN, 0.1),
            (1.0, f64::INFINITY, 0.1),
            (1.0, 3.0, 0.0),
            (1.0, 3.0, 1.5),
            (1.0, 3.0, f64::NAN),
        ] {
            assert!(asked(counts, 9, 1, epsilon0, clip, count).is_err());
        }
    }
}

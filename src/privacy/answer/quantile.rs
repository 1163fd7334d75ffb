use crate::error::Result;
use crate::exact::noise::source::Source;
use crate::exact::selection::ExponentialMechanism;
use crate::question::Quantile;

impl Quantile {
    /// The index of a threshold, from the numbers of values between neighbouring ones, of which it has this rank.
    pub(super) fn choose(
        &self,
        mut counts: Vec<i64>,
        rank: i64,
        source: &mut Source,
    ) -> Result<usize> {
        accumulate(&mut counts);
        let mut scores = vec![0; counts.len()];
        quantile_scores(&counts, rank, &mut scores);
        Ok(ExponentialMechanism::new(&scores, &self.temperature, Vec::new())?.draw(source))
    }
}

/// Thresholds `largest` 2^(-k/`per_octave`) over so many octaves, ascending.
pub(super) fn geometric(
    largest: f64,
    per_octave: usize,
    octaves: usize,
) -> impl Iterator<Item = f64> {
    let threshold = move |k: usize| largest * 2f64.powf(-(k as f64) / per_octave as f64);
    (0..=per_octave * octaves).rev().map(threshold)
}

/// Turns numbers of values between neighbouring thresholds into #{x <= t} for every threshold t.
pub(super) fn accumulate(counts: &mut [i64]) {
    let mut sum = 0;
    for count in counts {
        sum += *count;
        *count = sum;
    }
}

/// Writes the scores of thresholds, minimised by the exponential mechanism, for the quantile of rank k (Smith 2011):
/// max(#{x < t} - k, k - #{x <= t}, 0), where x < t means up to the threshold below t and `up_to` holds #{x <= t}.
///
/// 0 at a quantile, also where many values are equal: |#{x <= t} - k| would leave a choice among all the thresholds on
/// one side of such a value. **Sensitivity**: a value more or less moves each count, and so their maximum, by at most
/// 1 for the same k; for a k that follows the number of values see `Quantile`.
pub(super) fn quantile_scores(up_to: &[i64], rank: i64, scores: &mut [i64]) {
    let mut below = 0;
    for (score, &up_to) in scores.iter_mut().zip(up_to) {
        *score = (below - rank).max(rank - up_to).max(0);
        below = up_to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;
    use crate::question::Statement;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use proptest::prelude::*;

    fn scores(values: &[usize], rank: i64) -> Vec<i64> {
        let mut counts = vec![0; 6];
        values.iter().for_each(|&x| counts[x] += 1);
        accumulate(&mut counts);
        let mut scores = vec![0; counts.len()];
        quantile_scores(&counts, rank, &mut scores);
        scores
    }

    proptest! {
        /// Against the definition; a value more or less moves every score by at most 1; the value of a rank scores 0,
        /// and nothing else does where it is one of many equal ones.
        #[test]
        fn scores_are_those_of_quantiles(mut values in prop::collection::vec(0..6usize, 2..30), rank in 1..30i64) {
            let all = scores(&values, rank);
            for (t, &score) in all.iter().enumerate() {
                let below = values.iter().filter(|&&x| x < t).count() as i64;
                let up_to = values.iter().filter(|&&x| x <= t).count() as i64;
                prop_assert_eq!(score, (below - rank).max(rank - up_to).max(0));
            }
            for (one, other) in all.iter().zip(scores(&values[1..], rank)) {
                prop_assert!((one - other).abs() <= 1);
            }
            values.sort_unstable();
            if let Some(&x) = values.get(rank as usize - 1) {
                prop_assert_eq!(all[x], 0);
            }
        }
    }

    /// One of N values more, less or other moves every score by at most 1, also where the rank follows N.
    #[test]
    fn ranks_that_follow_the_number_of_values_keep_the_sensitivity() {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let schema = Schema::new(1, bounds, Geometry::Centred, Target::Classes, false, None);
        let statement = Statement::new(schema.unwrap(), 12, Adjacency::ReplaceOne, 1).unwrap();
        for level in [1e-12, 0.1, 0.25, 0.5, 0.6, 0.75, 0.999, 1.0 - 1e-15] {
            let question = statement.typical_norm(1.0, level).unwrap();
            let quantile = &question.answer.0;
            assert_eq!(quantile.rank(), (12.0 * level).round() as i64);
            let at = |values: &[usize]| {
                let mut counts = vec![0; 4];
                values.iter().for_each(|&x| counts[x] += 1);
                accumulate(&mut counts);
                let mut scores = vec![0; 4];
                let rank = quantile.rank_among(values.len() as i64);
                quantile_scores(&counts, rank, &mut scores);
                scores
            };
            // Every multiset of up to seven values of four.
            for code in 0..5_u32.pow(7) {
                let digits = (0..7).map(|k| (code / 5_u32.pow(k) % 5) as usize);
                let values: Vec<usize> = digits.filter(|&x| x < 4).collect();
                if values.is_empty() || !values.is_sorted() {
                    continue;
                }
                let (all, less) = (at(&values), at(&values[1..]));
                let largest = |other: &[i64]| {
                    let moved = all.iter().zip(other).map(|(a, b)| (a - b).abs());
                    moved.max().unwrap_or(0)
                };
                assert!(largest(&less) <= 1, "{values:?} at {level}");
                for x in 0..4 {
                    let mut other = values.clone();
                    other[0] = x;
                    assert!(largest(&at(&other)) <= 1, "{values:?} with {x} at {level}");
                }
            }
        }
    }

    #[test]
    fn equal_values_leave_no_choice() {
        assert_eq!(scores(&[2; 10], 3), [3, 3, 0, 7, 7, 7]);
    }
}

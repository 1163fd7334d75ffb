use crate::exact::noise::source::Source;
use crate::exact::selection::Valley;
use crate::question::Quantile;

impl Quantile {
    /// The index of a threshold, from the numbers of values between neighbouring ones.
    pub(super) fn choose(&self, mut counts: Vec<i64>, source: &mut Source) -> usize {
        accumulate(&mut counts);
        self.among(&counts).draw(source)
    }

    /// The choice of a threshold, where `up_to` holds #{x <= t}, of all values for the last: the first that as many
    /// values as the rank lie up to is the least of scores that fall before it and rise behind it.
    pub(super) fn among<'a>(&'a self, up_to: &'a [i64]) -> Valley<'a, impl Fn(usize) -> i64 + 'a> {
        let last = up_to.len() - 1;
        let rank = self.rank(up_to[last]);
        let bottom = up_to.partition_point(|&count| count < rank);
        let score = move |k: usize| quantile_score(up_to, rank, k);
        Valley::new(up_to.len(), bottom.min(last), score, &self.temperature)
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

/// The score of the threshold k, minimised by the exponential mechanism, for the quantile of this rank (Smith 2011):
/// max(#{x < t} - rank, rank - #{x <= t}, 0), where x < t means up to the threshold below t and `up_to` holds #{x <=
/// t}.
///
/// 0 at a quantile, also where many values are equal: |#{x <= t} - rank| would leave a choice among all the thresholds
/// on one side of such a value. **Sensitivity**: a value more or less moves each count, and so their maximum, by at
/// most 1 for the same rank; for a rank that follows the number of values see `Quantile`.
#[inline(always)]
fn quantile_score(up_to: &[i64], rank: i64, k: usize) -> i64 {
    let below = if k == 0 { 0 } else { up_to[k - 1] };
    (below - rank).max(rank - up_to[k]).max(0)
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
        (0..6).map(|k| quantile_score(&counts, rank, k)).collect()
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
            let least = all.iter().min().unwrap();
            let bottom = all.iter().position(|score| score == least).unwrap();
            prop_assert!(all[..=bottom].is_sorted_by(|a, b| a >= b) && all[bottom..].is_sorted());
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
            assert_eq!(quantile.rank(12), (12.0 * level).round() as i64);
            let at = |values: &[usize]| {
                let mut counts = vec![0; 4];
                values.iter().for_each(|&x| counts[x] += 1);
                accumulate(&mut counts);
                let rank = quantile.rank(values.len() as i64);
                (0..4)
                    .map(|k| quantile_score(&counts, rank, k))
                    .collect::<Vec<_>>()
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

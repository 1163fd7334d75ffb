use crate::error::Result;
use crate::exact::noise::source::Source;
use crate::exact::selection::ExponentialMechanism;
use crate::question::Quantile;

impl Quantile {
    /// The index of a threshold, from the numbers of values between neighbouring ones.
    pub(super) fn choose(&self, mut counts: Vec<i64>, source: &mut Source) -> Result<usize> {
        accumulate(&mut counts);
        let mut scores = vec![0; counts.len()];
        quantile_scores(&counts, self.rank, &mut scores);
        Ok(ExponentialMechanism::new(&scores, &self.temperature, Vec::new())?.draw(source))
    }
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
/// 1; k is public.
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

    #[test]
    fn equal_values_leave_no_choice() {
        assert_eq!(scores(&[2; 10], 3), [3, 3, 0, 7, 7, 7]);
    }
}

//! How much each record counts, where records come with weights: as part of bounded records
//! ([`crate::theory_of_privacy::records`]).

use crate::error::{Error, Result};
use crate::numeric::kernel::{for_wide_vectors, integer};

/// One share u_i = min(w_i, W)/W in [0, 1] a record, W the public largest weight: an entry of the record, as private as
/// the others.
///
/// Everything that a record adds to a sum is multiplied by its share, the loss becomes (1/n) sum_i u_i l_i, and every
/// bound on a record holds as it stands:
/// - a share of a convex loss with slopes up to L and curvature up to beta is a convex loss with slopes up to L and
///   curvature up to beta;
/// - |round(u d)| <= |d| for an integer d below 2^53: |d| is a float and an integer, and neither the rounded product
///   nor the nearest integer of it passes one that u |d| does not pass. So it is entry by entry, and in every norm;
/// - (u x x') is (r x)(r x)' with r = sqrt(u) in [0, 1], of a row that is no longer.
#[derive(Clone)]
pub(super) struct RecordWeights {
    shares: Vec<f64>,
}

impl RecordWeights {
    /// Weights clipped to `largest`, which is positive and finite.
    ///
    /// # Errors
    /// [`Error::InvalidData`] for other than `n` weights, or ones that are negative or not finite.
    pub(super) fn new(weights: &[f64], n: usize, largest: f64) -> Result<Self> {
        if weights.len() != n {
            return Err(Error::InvalidData(
                "sample_weight must have as many entries as there are records".into(),
            ));
        }
        if weights.iter().any(|weight| !weight.is_finite()) {
            return Err(Error::InvalidData(
                "sample_weight contains NaN or infinity; leave such records out, or give them the weight 0".into(),
            ));
        }
        if weights.iter().any(|&weight| weight < 0.0) {
            return Err(Error::InvalidData(
                "sample_weight must not be negative".into(),
            ));
        }
        let share = |&weight: &f64| weight.min(largest) / largest;
        Ok(Self {
            shares: weights.iter().map(share).collect(),
        })
    }

    /// The shares, one a record.
    pub(super) fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// The roots of the shares: what rows are multiplied by in second moments.
    pub(super) fn roots(&self) -> Vec<f64> {
        self.shares.iter().map(|share| share.sqrt()).collect()
    }

    /// Multiplies the integer slopes of the records from `start` on, of one output, by their shares.
    pub(super) fn weigh_slopes(&self, start: usize, slopes: &mut [i16]) {
        let shares = &self.shares[start..][..slopes.len()];
        for_wide_vectors(
            #[inline(always)]
            || {
                for (slope, &share) in slopes.iter_mut().zip(shares) {
                    *slope = part(i64::from(*slope), share) as i16;
                }
            },
        );
    }

    /// Those of consecutive blocks.
    pub(super) fn joined(blocks: Vec<&Self>) -> Self {
        let shares = blocks.iter().flat_map(|block| &block.shares);
        Self {
            shares: shares.copied().collect(),
        }
    }

    /// Those of the records at some positions.
    pub(super) fn picked(&self, positions: &[u32]) -> Self {
        let shares = positions.iter().map(|&i| self.shares[i as usize]);
        Self {
            shares: shares.collect(),
        }
    }
}

/// round(factor value) for a factor in [0, 1] and an integer of at most 2^52: no larger in size than `value`.
#[inline(always)]
pub(super) fn part(value: i64, factor: f64) -> i64 {
    integer((value as f64 * factor).round())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the weights are, no contribution grows, a full share leaves it as it is, and none of it is left
        /// without one.
        #[test]
        fn parts_are_no_larger(
            value in -(1i64 << 52)..1 << 52,
            weight in prop_oneof![Just(0.0), 0.0..1.0f64, 0.0..1e-300f64, 1.0..1e300f64, Just(f64::MAX)],
            largest in prop_oneof![Just(1.0), 1e-300..1e300f64, 0.1..10.0f64],
        ) {
            let one = RecordWeights::new(&[weight], 1, largest).unwrap();
            let share = one.shares()[0];
            prop_assert!((0.0..=1.0).contains(&share) && (0.0..=1.0).contains(&one.roots()[0]));
            prop_assert_eq!(share == 1.0 && weight < largest, false);
            prop_assert!(weight < largest || share == 1.0);
            for factor in [share, one.roots()[0]] {
                let weighed = part(value, factor);
                prop_assert!(weighed.abs() <= value.abs() && weighed.signum() * value.signum() >= 0);
            }
            prop_assert_eq!((part(value, 1.0), part(value, 0.0)), (value, 0));
            let small = (value % (1 << 14)) as i16;
            let mut slopes = [small];
            one.weigh_slopes(0, &mut slopes);
            let exact = share * f64::from(small);
            prop_assert!((f64::from(slopes[0]) - exact).abs() <= 0.5 && slopes[0].abs() <= small.abs());
        }
    }

    #[test]
    fn unusable_weights_are_refused() {
        for (weights, word) in [
            (vec![1.0], "as many"),
            (vec![1.0, f64::NAN], "NaN"),
            (vec![f64::INFINITY, 1.0], "NaN"),
            (vec![1.0, -1e-300], "negative"),
        ] {
            let error = RecordWeights::new(&weights, 2, 4.0).err().unwrap();
            assert!(error.to_string().contains(word), "{error}");
        }
        let picked = RecordWeights::new(&[0.0, 2.0, 9.0], 3, 4.0).unwrap();
        assert_eq!(picked.picked(&[1, 2]).shares(), [0.5, 1.0]);
    }
}

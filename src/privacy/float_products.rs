//! Products of the records with floats, with proved errors: for answers whose proof forbids rounding derivatives to a
//! lattice ([`crate::theory_of_privacy::records`], [`crate::theory_of_privacy::softmax`]).
//!
//! A sum in which every term meets at most D additions errs by at most (D + 2) u sum |terms| (1 + 2^-20), u = 2^-53,
//! the rounding of each term included (Higham 2002, chapter 4). Blocks keep D small at any length.

use rayon::prelude::*;

use super::bounded_data::{BoundedData, Features};
use crate::numeric::blocked::{BLOCK, COLUMNS, blocked_sum};
use crate::numeric::kernel::for_wide_vectors;

/// Records per piece of work.
const CHUNK: usize = 1024;

/// The sum of d_i of(x_i) over a block: eight lanes.
fn dot(column: &[i16], d: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    let mut lanes = [0.0; 8];
    let (xs, ds) = (column.chunks_exact(8), d.chunks_exact(8));
    let rest = xs.remainder().iter().zip(ds.remainder());
    let tail: f64 = rest.map(|(&x, &d)| of(x.into()) * d).sum();
    for_wide_vectors(
        #[inline(always)]
        || {
            for (x, d) in xs.zip(ds) {
                for k in 0..8 {
                    lanes[k] += of(x[k].into()) * d[k];
                }
            }
        },
    );
    lanes.iter().sum::<f64>() + tail
}

impl BoundedData {
    /// out_i = sum_j weights_j x_ij in lattice units, for records without an intercept column and with 0 for unstored
    /// entries (bounds that contain zero symmetrically).
    pub(in crate::privacy) fn float_margins(&self, weights: &[f64], out: &mut [f64]) {
        match &self.features {
            Features::Dense(_) | Features::Packed(_) => {
                (out.par_chunks_mut(CHUNK).enumerate()).for_each_init(
                    Vec::new,
                    |scratch, (chunk, out)| {
                        let start = chunk * CHUNK;
                        let mut sums = [0.0; CHUNK];
                        self.fetch(start..start + out.len());
                        out.fill(0.0);
                        for (block, weights) in weights.chunks(COLUMNS).enumerate() {
                            let sums = &mut sums[..out.len()];
                            sums.fill(0.0);
                            for (j, &weight) in (block * COLUMNS..).zip(weights) {
                                let column = self.column(j, start..start + out.len(), scratch);
                                for_wide_vectors(
                                    #[inline(always)]
                                    || {
                                        for (sum, &x) in sums.iter_mut().zip(column) {
                                            *sum += weight * f64::from(x);
                                        }
                                    },
                                );
                            }
                            for (out, &mut sum) in out.iter_mut().zip(sums) {
                                *out += sum;
                            }
                        }
                    },
                );
            }
            Features::Sparse { rows, .. } => {
                out.par_iter_mut()
                    .enumerate()
                    .with_min_len(64)
                    .for_each(|(i, out)| {
                        *out = blocked_sum(rows.line(i).map(|(j, x)| weights[j] * x as f64));
                    });
            }
        }
    }

    /// out_j = sum_i d_i x_ij in lattice units, under the conditions of [`Self::float_margins`].
    pub(in crate::privacy) fn float_gradient(&self, d: &[f64], out: &mut [f64]) {
        match &self.features {
            Features::Dense(_) | Features::Packed(_) => self.float_sums(d, |x| x, out),
            Features::Sparse { columns, .. } => out
                .par_iter_mut()
                .enumerate()
                .with_min_len(16)
                .for_each(|(j, out)| {
                    *out = blocked_sum(columns.line(j).map(|(i, x)| d[i] * x as f64));
                }),
        }
    }

    /// out_j = sum_i d_i of(x_ij), for records that are not sparse: block by block of records, the sums of all columns;
    /// then, column by column, blocks inside blocks.
    pub(in crate::privacy) fn float_sums(
        &self,
        d: &[f64],
        of: impl Fn(f64) -> f64 + Copy + Sync,
        out: &mut [f64],
    ) {
        if out.is_empty() {
            return;
        }
        let p = out.len();
        let mut blocks = vec![0.0; d.len().div_ceil(BLOCK) * p];
        (blocks
            .par_chunks_mut(p)
            .zip(d.par_chunks(BLOCK))
            .enumerate())
        .for_each_init(Vec::new, |scratch, (k, (sums, d))| {
            let records = k * BLOCK..k * BLOCK + d.len();
            self.fetch(records.clone());
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum = dot(self.column(j, records.clone(), scratch), d, of);
            }
        });
        (out.par_iter_mut().enumerate()).for_each(|(j, out)| {
            *out = blocked_sum(blocks.iter().skip(j).step_by(p).copied());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::blocked::additions_over_records;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;
    use proptest::prelude::*;

    proptest! {
        /// Against exact integer sums, of terms that are integers times one power of two.
        #[test]
        fn sums_are_within_their_bound(seed in any::<u64>(), n in 1usize..70_000) {
            let value = |k: usize| (seed ^ k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12;
            let d: Vec<f64> = (0..n).map(|k| value(k) as f64 * 2f64.powi(-52) - 0.5).collect();
            let column: Vec<i16> = (0..n).map(|k| (value(k + n) % 32_767) as i16 - 16_383).collect();
            let integer = |k: usize| (value(k) as i128 - (1 << 51)) * i128::from(column[k]);
            let (exact, size) = (0..n).map(integer).fold((0i128, 0i128), |(a, b), t| (a + t, b + t.abs()));
            let bound = (additions_over_records(n) + 2.0) * 2f64.powi(-53) * (size as f64) * 2f64.powi(-52);
            let blocks = column.chunks(BLOCK).zip(d.chunks(BLOCK)).map(|(x, d)| dot(x, d, |x| x));
            prop_assert!((blocked_sum(blocks) - exact as f64 * 2f64.powi(-52)).abs() <= bound);
            let plain = blocked_sum((0..n).map(|k| d[k] * f64::from(column[k])));
            prop_assert!((plain - exact as f64 * 2f64.powi(-52)).abs() <= bound);
        }
    }

    /// Beyond a chunk of records and a block of columns, in every storage: sums of integers, which floats hold.
    #[test]
    fn margins_and_gradients_are_those_of_the_entries() {
        let (n, p) = (CHUNK + 70, COLUMNS + 3);
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let (geometry, target) = (Geometry::Uncentred, Target::Classes);
        let schema = Schema::new(p, bounds, geometry, target, false, None).unwrap();
        let x = Array2::from_shape_fn((n, p), |(i, j)| {
            ((i * 31 + j * 17) % 5).saturating_sub(2) as f64 / 2.0
        });
        let value = |i: usize, j: usize| schema.lattice_value(x[[i, j]], j) as f64;
        let weights: Vec<f64> = (0..p).map(|j| (j % 7) as f64 - 3.0).collect();
        let d: Vec<f64> = (0..n).map(|i| (i % 11) as f64 - 5.0).collect();
        let margin = |i| (0..p).map(|j| weights[j] * value(i, j)).sum();
        let margins: Vec<f64> = (0..n).map(margin).collect();
        let of_column = |j| (0..n).map(|i| d[i] * value(i, j)).sum();
        let gradient: Vec<f64> = (0..p).map(of_column).collect();
        assert!(gradient.iter().all(|&sum| sum != 0.0));
        for data in all_kinds(&x, &schema) {
            let mut out = vec![7.0; n];
            data.float_margins(&weights, &mut out);
            assert_eq!(out, margins);
            let mut out = vec![7.0; p];
            data.float_gradient(&d, &mut out);
            assert_eq!(out, gradient);
            // Without features there is nothing to be added up.
            let nothing = data.restricted(&[]);
            let mut out = vec![7.0; n];
            nothing.float_margins(&[], &mut out);
            nothing.float_gradient(&d, &mut []);
            assert_eq!(out, vec![0.0; n]);
        }
    }
}

//! Sums of the sizes of features, and of what features add to others, exactly.

use std::ops::Range;

use rayon::prelude::*;

use super::bounded_data::{BoundedData, Features, chunk_of};
use crate::numeric::kernel::add_sizes;
use crate::numeric::pieces::fold_pieces;

/// Sums of all features over chunks of records.
pub(super) fn sums_of_chunks(
    data: &BoundedData,
    add: impl Fn(Range<usize>, &mut [i64]) + Sync,
) -> Vec<i64> {
    let (n, p) = (data.n_records(), data.schema.n_features());
    let (chunk, zeros) = (chunk_of(p), || vec![0; p]);
    let add = |mut sums: Vec<i64>, (k, ()): (usize, ())| {
        add(k * chunk..n.min((k + 1) * chunk), &mut sums);
        sums
    };
    let pieces = vec![(); n.div_ceil(chunk)];
    fold_pieces(pieces, n * p, zeros, add, |sums| sums, added)
}

/// The sums of both.
pub(super) fn added(mut sums: Vec<i64>, more: Vec<i64>) -> Vec<i64> {
    (sums.iter_mut().zip(more)).for_each(|(sum, more)| *sum += more);
    sums
}

/// sum_i |x_ij| in lattice units for every feature: below 2^31 2^14.
pub(super) fn absolute(data: &BoundedData) -> Vec<i64> {
    let n = data.n_records();
    match &data.features {
        Features::Dense(columns) => sums_of_chunks(data, |records, sums| {
            add_sizes(columns.strips_of(records), sums)
        }),
        Features::Packed(packed) => (0..data.schema.n_features())
            .into_par_iter()
            .map(|j| {
                let mut sum = 0;
                packed.for_each_value(j, |x, times| sum += i64::from(x).abs() * times);
                sum
            })
            .collect(),
        Features::Sparse { columns, base, .. } => (base.par_iter().enumerate())
            .map(|(j, &base)| {
                let base = i64::from(base);
                let change = |(_, x): (usize, i64)| (base + x).abs() - base.abs();
                base.abs() * n as i64 + columns.line(j).map(change).sum::<i64>()
            })
            .collect(),
    }
}

/// sum_i max(x_ij - b_i, 0) in lattice units for every feature j, b_i the largest of 0 and of x_ia over the chosen
/// features a: below 2^31 2^14.
pub(super) fn gains(data: &BoundedData, chosen: &[u32]) -> Vec<i64> {
    let n = data.n_records();
    let (mut best, mut values) = (vec![0i16; n], vec![0i16; n]);
    for &a in chosen {
        data.fill_column(a as usize, 0, &mut values);
        let pairs = best.iter_mut().zip(&values);
        pairs.for_each(|(best, &x)| *best = x.max(*best));
    }
    match &data.features {
        Features::Dense(_) | Features::Packed(_) => sums_of_chunks(data, |records, sums| {
            let (best, mut scratch) = (&best[records.clone()], Vec::new());
            data.fetch(records.clone());
            for (j, sum) in sums.iter_mut().enumerate() {
                let column = data.column(j, records.clone(), &mut scratch);
                let pairs = column.iter().zip(best);
                // At most 2^12 gains of less than 2^15.
                let gain = pairs.map(|(&x, &best)| (i32::from(x) - i32::from(best)).max(0));
                *sum += i64::from(gain.sum::<i32>());
            }
        }),
        Features::Sparse { columns, base, .. } => {
            let above = |x: i64, i: usize| (x - i64::from(best[i])).max(0);
            (base.par_iter().enumerate())
                .map(|(j, &base)| {
                    let base = i64::from(base);
                    let unstored: i64 = match base {
                        ..=0 => 0,
                        _ => (0..n).map(|i| above(base, i)).sum(),
                    };
                    let change = |(i, x): (usize, i64)| above(base + x, i) - above(base, i);
                    unstored + columns.line(j).map(change).sum::<i64>()
                })
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;
    use proptest::prelude::*;

    proptest! {
        /// Against the definitions, in every storage, with bounds that exclude zero on either side.
        #[test]
        fn sums_are_those_of_the_values(
            x in prop::collection::vec(prop_oneof![Just(0.0), -7.0..7.0f64], 40),
            chosen in prop::collection::vec(0..4u32, 0..4),
        ) {
            let bounds = Bounds { lower: vec![-1.0, 0.0, 2.0, -6.0], upper: vec![1.0, 5.0, 6.0, -2.0] };
            let schema = Schema::new(4, bounds, Geometry::Uncentred, Target::Classes, true, None).unwrap();
            let x = Array2::from_shape_vec((10, 4), x).unwrap();
            let value = |i: usize, j: usize| i64::from(schema.lattice_value(x[[i, j]], j));
            let best = |i: usize| chosen.iter().map(|&a| value(i, a as usize)).fold(0, i64::max);
            let sums = |of: &dyn Fn(usize, usize) -> i64| -> Vec<i64> {
                (0..4).map(|j| (0..10).map(|i| of(i, j)).sum()).collect()
            };
            for data in all_kinds(&x, &schema) {
                prop_assert_eq!(absolute(&data), sums(&|i, j| value(i, j).abs()));
                prop_assert_eq!(gains(&data, &chosen), sums(&|i, j| (value(i, j) - best(i)).max(0)));
            }
        }
    }
}

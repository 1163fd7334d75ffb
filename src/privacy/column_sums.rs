//! Sums of the sizes of features, exactly.

use rayon::prelude::*;

use super::bounded_data::{BoundedData, Features};
use crate::numeric::kernel::sum_of_sizes;

/// sum_i |x_ij| in lattice units for every feature: below 2^31 2^14.
pub(super) fn absolute(data: &BoundedData) -> Vec<i64> {
    let n = data.n_records();
    match &data.features {
        Features::Dense(columns) => columns.par_chunks(n).map(sum_of_sizes).collect(),
        Features::Sparse { columns, base, .. } => (base.par_iter().enumerate())
            .map(|(j, &base)| {
                let base = i64::from(base);
                let change = |(_, x): (usize, i64)| (base + x).abs() - base.abs();
                base.abs() * n as i64 + columns.line(j).map(change).sum::<i64>()
            })
            .collect(),
    }
}

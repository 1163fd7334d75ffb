//! Sums of the sizes of features, exactly.

use rayon::prelude::*;

use super::bounded_data::{BoundedData, Features};

/// sum_i |x_ij| in lattice units for every feature: below 2^31 2^14.
pub(super) fn absolute(data: &BoundedData) -> Vec<i64> {
    let n = data.n_records();
    match &data.features {
        Features::Dense(columns) => (columns.par_chunks(n))
            .map(|column| column.iter().map(|&x| i64::from(x).abs()).sum())
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

//! Second moments of bounded records, exactly.

use super::bounded_data::BoundedData;
use super::records::Watch;
use super::row_norm::RowNorm;
use crate::error::Result;
use crate::numeric::kernel::gradient_pass;

/// sum_i x_ij x_il for every j <= l, row by row; the intercept is the last column.
///
/// No overflow: an entry is below n 2^28 < 2^59.
pub(super) fn above(data: &BoundedData, watch: Watch<'_>) -> Result<Vec<i64>> {
    let (n, d) = (data.n_records(), data.n_columns());
    let columns = bounded_columns(data);
    let mut sums = vec![0i64; d * (d + 1) / 2];
    let mut rest = sums.as_mut_slice();
    for j in 0..d {
        let (products, after) = rest.split_at_mut(d - j);
        gradient_pass(&columns[j * n..], &columns[j * n..(j + 1) * n], products);
        rest = after;
        watch()?;
    }
    Ok(sums)
}

/// The columns one after the other, the intercept's last, with rows that count less in gradients shortened: truncation
/// moves towards zero, so |trunc(w x)| <= w |x| <= r.
fn bounded_columns(data: &BoundedData) -> Vec<i16> {
    let n = data.n_records();
    let mut columns = data.dense_columns(usize::from(data.schema.has_intercept()));
    if data.schema.has_intercept() {
        columns.resize(columns.len() + n, data.schema.lattice_intercept());
    }
    if let Some(weights) = RowNorm::gradient_weights(data) {
        for column in columns.chunks_exact_mut(n) {
            for (value, weight) in column.iter_mut().zip(&weights) {
                *value = (f64::from(*value) * weight) as i16;
            }
        }
    }
    columns
}

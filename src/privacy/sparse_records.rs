//! The one pass over a compressed matrix: indices checked, duplicates summed, then clipping and rounding.

use rayon::prelude::*;

use super::dense_records::not_finite;
use super::schema::Schema;
use crate::error::{Error, Result};

/// A compressed matrix as scipy holds it, borrowed for the one pass that reads it.
#[derive(Debug, Clone, Copy)]
pub struct Compressed<'a, T, I> {
    /// Start of every row (CSR) or column (CSC), and the end of the last one.
    pub starts: &'a [I],
    /// Column (CSR) or row (CSC) of every stored entry.
    pub indices: &'a [I],
    /// Stored entries; duplicates are summed before clipping.
    pub values: &'a [T],
}

/// Which way a [`Compressed`] matrix runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orientation {
    /// Rows are compressed.
    Rows,
    /// Columns are compressed.
    Columns,
}

/// Lines (rows or columns) per piece of work.
const LINES: usize = 64;

fn bad_index() -> Error {
    Error::InvalidData(
        "X is not a valid sparse matrix: an index or an index pointer is out of range".into(),
    )
}

/// Starts, rows and values (relative to `base`) of the compressed columns.
pub(super) fn read_sparse<T, I>(
    x: &Compressed<T, I>,
    orientation: Orientation,
    (n, p): (usize, usize),
    schema: &Schema,
    base: &[i16],
) -> Result<Parts>
where
    T: Copy + Into<f64> + Sync,
    I: Copy + TryInto<usize> + Sync,
{
    match orientation {
        Orientation::Columns => compress(x, p, n, schema, base, |major, _| major),
        Orientation::Rows => Ok(to_columns(
            p,
            compress(x, n, p, schema, base, |_, minor| minor)?,
        )),
    }
}

/// Starts, minor indices and values of a matrix compressed along its major axis.
pub(super) type Parts = (Vec<usize>, Vec<u32>, Vec<i16>);

/// Reads a compressed matrix once: checks, sorts, sums duplicates, clips, and drops entries equal to their
/// base. `feature(major, minor)` says which of the two indices is the feature.
fn compress<T, I>(
    x: &Compressed<T, I>,
    major: usize,
    minor: usize,
    schema: &Schema,
    base: &[i16],
    feature: impl Fn(usize, usize) -> usize + Sync,
) -> Result<Parts>
where
    T: Copy + Into<f64> + Sync,
    I: Copy + TryInto<usize> + Sync,
{
    if x.starts.len() != major + 1 || x.indices.len() != x.values.len() {
        return Err(bad_index());
    }
    if !matches!(x.starts[0].try_into(), Ok(0)) {
        return Err(bad_index());
    }
    let pieces: Vec<Result<Parts>> = (0..major.div_ceil(LINES))
        .into_par_iter()
        .map(|block| {
            let lines = block * LINES..major.min((block + 1) * LINES);
            let (mut lengths, mut indices, mut values) =
                (Vec::with_capacity(LINES), Vec::new(), Vec::new());
            let mut line: Vec<(usize, f64)> = Vec::new();
            for k in lines {
                let start = x.starts[k].try_into().map_err(|_| bad_index())?;
                let end = x.starts[k + 1].try_into().map_err(|_| bad_index())?;
                if start > end || end > x.indices.len() {
                    return Err(bad_index());
                }
                line.clear();
                for (&index, &value) in x.indices[start..end].iter().zip(&x.values[start..end]) {
                    let index = index.try_into().map_err(|_| bad_index())?;
                    let value: f64 = value.into();
                    if index >= minor {
                        return Err(bad_index());
                    }
                    if !value.is_finite() {
                        return Err(not_finite());
                    }
                    line.push((index, value));
                }
                if !line.is_sorted_by(|a, b| a.0 < b.0) {
                    line.sort_by_key(|entry| entry.0); // stable: duplicates are summed in the order of storage
                    line.dedup_by(|next, kept| {
                        let same = next.0 == kept.0;
                        if same {
                            kept.1 += next.1;
                        }
                        same
                    });
                }
                let before = values.len();
                for &(index, value) in &line {
                    let j = feature(k, index);
                    // Both lie in [-16383, 16383]: the difference fits.
                    let relative = schema.lattice_value(value, j) - base[j];
                    if relative != 0 {
                        indices.push(index as u32);
                        values.push(relative);
                    }
                }
                lengths.push(values.len() - before);
            }
            Ok((lengths, indices, values))
        })
        .collect();
    let pieces = pieces.into_iter().collect::<Result<Vec<Parts>>>()?;
    let stored = pieces.iter().map(|piece| piece.1.len()).sum();
    let mut starts = Vec::with_capacity(major + 1);
    starts.push(0);
    let (mut indices, mut values) = (Vec::with_capacity(stored), Vec::with_capacity(stored));
    for (lengths, more_indices, more_values) in pieces {
        for length in lengths {
            starts.push(starts[starts.len() - 1] + length);
        }
        indices.extend(more_indices);
        values.extend(more_values);
    }
    Ok((starts, indices, values))
}

/// Turns compressed rows into compressed columns (rows ascending in each).
fn to_columns(columns: usize, (row_starts, row_indices, row_values): Parts) -> Parts {
    let mut starts = vec![0usize; columns + 1];
    for &j in &row_indices {
        starts[j as usize + 1] += 1;
    }
    for j in 0..columns {
        starts[j + 1] += starts[j];
    }
    let mut next = starts.clone();
    let (mut rows, mut values) = (vec![0u32; row_values.len()], vec![0i16; row_values.len()]);
    for i in 0..row_starts.len() - 1 {
        for k in row_starts[i]..row_starts[i + 1] {
            let slot = &mut next[row_indices[k] as usize];
            rows[*slot] = i as u32;
            values[*slot] = row_values[k];
            *slot += 1;
        }
    }
    (starts, rows, values)
}

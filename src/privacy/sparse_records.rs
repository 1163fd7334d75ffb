//! The one pass over a compressed matrix: indices checked, duplicates summed, then clipping and rounding.

use std::ops::Range;

use rayon::prelude::*;

use super::dense_records::not_finite;
use super::lines::Lines;
use crate::error::{Error, Result};
use crate::numeric::kernel::on_large_pages;
use crate::schema::Schema;

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

/// Compressed rows or columns, as the matrix runs; values are relative to `base`.
pub(super) fn read_sparse<T, I>(
    x: &Compressed<T, I>,
    orientation: Orientation,
    (n, p): (usize, usize),
    schema: &Schema,
    base: &[i16],
) -> Result<Lines>
where
    T: Copy + Into<f64> + Sync,
    I: Copy + TryInto<usize> + Sync,
{
    match orientation {
        Orientation::Columns => compress(x, p, n, schema, base, |column, _| column),
        Orientation::Rows => compress(x, n, p, schema, base, |_, column| column),
    }
}

/// Checks the start of every line and the end of the last one.
fn check_starts<T, I>(x: &Compressed<T, I>, lines: usize) -> Result<Vec<usize>>
where
    I: Copy + TryInto<usize>,
{
    let starts = x.starts.iter().map(|&start| start.try_into());
    let starts: Vec<usize> = starts
        .collect::<std::result::Result<_, _>>()
        .map_err(|_| bad_index())?;
    let fits = starts.len() == lines + 1
        && starts[0] == 0
        && starts.is_sorted()
        && starts[lines] <= x.indices.len()
        && x.indices.len() == x.values.len();
    fits.then_some(starts).ok_or_else(bad_index)
}

/// Reads a compressed matrix once: checks, sorts, sums duplicates, clips, and drops entries equal to their
/// base. `feature(line, index)` says which of the two is the column.
///
/// Every piece of lines writes where the matrix held them; then the pieces close up. That needs no second
/// copy.
fn compress<T, I>(
    x: &Compressed<T, I>,
    lines: usize,
    width: usize,
    schema: &Schema,
    base: &[i16],
    feature: impl Fn(usize, usize) -> usize + Sync,
) -> Result<Lines>
where
    T: Copy + Into<f64> + Sync,
    I: Copy + TryInto<usize> + Sync,
{
    let old = check_starts(x, lines)?;
    let mut starts = on_large_pages(vec![0; lines + 1]);
    let mut indices = on_large_pages(vec![0u32; old[lines]]);
    let mut values = on_large_pages(vec![0i16; old[lines]]);
    let mut pieces = Vec::with_capacity(lines.div_ceil(LINES));
    let mut rest = (&mut indices[..], &mut values[..]);
    for (piece, lengths) in starts[1..].chunks_mut(LINES).enumerate() {
        let first = piece * LINES;
        let size = old[first + lengths.len()] - old[first];
        let (indices, more_indices) = rest.0.split_at_mut(size);
        let (values, more_values) = rest.1.split_at_mut(size);
        rest = (more_indices, more_values);
        pieces.push((first, lengths, indices, values));
    }
    let read =
        |(first, lengths, indices, values): (usize, &mut [usize], &mut [u32], &mut [i16])| {
            let mut line: Vec<(usize, f64)> = Vec::new();
            let mut end = 0;
            for (k, length) in (first..).zip(lengths) {
                read_line(x, old[k]..old[k + 1], width, &mut line)?;
                let before = end;
                for &(index, value) in &line {
                    let j = feature(k, index);
                    // Both lie in [-16383, 16383]: the difference fits.
                    let relative = schema.lattice_value(value, j) - base[j];
                    if relative != 0 {
                        (indices[end], values[end]) = (index as u32, relative);
                        end += 1;
                    }
                }
                *length = end - before;
            }
            Ok(())
        };
    // All of them, so that the error of the first bad piece is the one that is told.
    let read: Vec<Result<()>> = pieces.into_par_iter().map(read).collect();
    read.into_iter().collect::<Result<()>>()?;
    for k in 0..lines {
        starts[k + 1] += starts[k];
    }
    for first in (LINES..lines).step_by(LINES) {
        let size = starts[lines.min(first + LINES)] - starts[first];
        indices.copy_within(old[first]..old[first] + size, starts[first]);
        values.copy_within(old[first]..old[first] + size, starts[first]);
    }
    indices.truncate(starts[lines]);
    values.truncate(starts[lines]);
    indices.shrink_to_fit();
    values.shrink_to_fit();
    Ok(Lines::new(starts, indices, values))
}

/// One line with its indices checked and ascending, duplicates summed in the order of storage.
fn read_line<T, I>(
    x: &Compressed<T, I>,
    range: Range<usize>,
    width: usize,
    line: &mut Vec<(usize, f64)>,
) -> Result<()>
where
    T: Copy + Into<f64>,
    I: Copy + TryInto<usize>,
{
    line.clear();
    for (&index, &value) in x.indices[range.clone()].iter().zip(&x.values[range]) {
        let index = index.try_into().map_err(|_| bad_index())?;
        let value: f64 = value.into();
        if index >= width {
            return Err(bad_index());
        }
        if !value.is_finite() {
            return Err(not_finite());
        }
        line.push((index, value));
    }
    if !line.is_sorted_by(|a, b| a.0 < b.0) {
        line.sort_by_key(|entry| entry.0); // stable
        line.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::bounded_data::BoundedData;
    use crate::schema::{Bounds, Geometry, Target};

    #[test]
    fn starts_are_those_of_all_lines_and_of_no_more_entries_than_there_are() {
        let fits = |starts: &[i64], indices: &[i64], values: &[f64]| {
            let x = Compressed {
                starts,
                indices,
                values,
            };
            check_starts(&x, 2).is_ok()
        };
        let (indices, values) = ([0, 1, 1], [1.0, 2.0, 3.0]);
        assert!(fits(&[0, 2, 3], &indices, &values));
        // What stands behind the last line belongs to none.
        assert!(fits(&[0, 1, 2], &indices, &values));
        for starts in [
            &[0, 2, 3, 3][..],
            &[0, 3],
            &[],
            &[1, 2, 3],
            &[0, 3, 2],
            &[0, 2, 4],
            &[-1, 2, 3],
        ] {
            assert!(!fits(starts, &indices, &values), "{starts:?}");
        }
        assert!(!fits(&[0, 2, 3], &indices, &values[..2]));
        assert!(!fits(&[0, 1, 2], &indices[..2], &values));
    }

    /// In any order, and summed before they are clipped, by rows and by columns.
    #[test]
    fn entries_of_one_place_are_summed() {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let (geometry, target) = (Geometry::Uncentred, Target::Classes);
        let schema = Schema::new(3, bounds, geometry, target, false, None).unwrap();
        let dense = [[0.25, 0.0, 0.75], [0.0, 0.0, 0.0], [0.0, 0.5, 0.0]];
        let values = [0.5, 0.25, 0.25, 3.0, -2.5];
        let by_rows = ([0, 3, 3, 5], [2, 0, 2, 1, 1]);
        let turned = [0.25, 3.0, -2.5, 0.5, 0.25];
        let by_columns = ([0, 1, 3, 5], [0, 2, 2, 0, 0]);
        for (orientation, (starts, indices), values) in [
            (Orientation::Rows, by_rows, values),
            (Orientation::Columns, by_columns, turned),
        ] {
            let x = Compressed {
                starts: &starts[..],
                indices: &indices[..],
                values: &values[..],
            };
            let y = [1.0, -1.0, 1.0];
            let data =
                BoundedData::from_sparse(x, orientation, (3, 3), &y, schema.clone()).unwrap();
            for (i, expected) in dense.iter().enumerate() {
                let mut row = [0.0; 3];
                data.fill_row(i, &mut row);
                for (ours, truth) in row.iter().zip(expected) {
                    assert!((ours - truth).abs() < 1e-4, "{i} {row:?}");
                }
            }
        }
    }

    /// However a line is stored, its entries come out by ascending index, those of one index as one.
    #[test]
    fn lines_ascend() {
        let values = [3.0, 2.0, 1.0, 0.5];
        for (indices, expected) in [
            (
                [0i64, 1, 2, 3],
                [(0, 3.0), (1, 2.0), (2, 1.0), (3, 0.5)].as_slice(),
            ),
            ([3, 2, 1, 0], &[(0, 0.5), (1, 1.0), (2, 2.0), (3, 3.0)]),
            ([1, 1, 3, 3], &[(1, 5.0), (3, 1.5)]),
            ([3, 1, 0, 0], &[(0, 1.5), (1, 2.0), (3, 3.0)]),
        ] {
            let x = Compressed {
                starts: &[0, 4],
                indices: &indices,
                values: &values,
            };
            let mut line = vec![(7, 7.0)];
            read_line(&x, 0..4, 4, &mut line).unwrap();
            assert_eq!(line, expected);
            assert!(read_line(&x, 0..4, 3, &mut line).is_err());
        }
    }
}

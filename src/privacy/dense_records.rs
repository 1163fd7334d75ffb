//! The one pass over a dense array: finiteness, clipping, rounding, and rows turned into columns.

use std::sync::atomic::{AtomicBool, Ordering};

use ndarray::{ArrayView2, Axis, Slice};
use rayon::prelude::*;

use super::columns::Columns;
use crate::error::{Error, Result};
use crate::numeric::kernel::{LatticeMaps, quantise_column, quantise_row, transpose};
use crate::numeric::strips::{LINE, Line};
use crate::schema::Schema;

/// Features of a tile of rows, which stays in a second-level cache.
const PANEL: usize = 1024;

/// Entries from one row of a tile to the next. One cache line more than a panel: rows a power of two apart
/// would push one another out of the first-level cache.
const STRIDE: usize = PANEL + 32;

pub(super) fn not_finite() -> Error {
    Error::InvalidData("X contains NaN or infinity; impute or drop such entries first".into())
}

/// The lattice integers of an array.
pub(super) fn read_dense<T>(x: ArrayView2<T>, schema: &Schema) -> Result<Columns>
where
    T: Copy + Into<f64> + Sync,
{
    let (maps, (n, p)) = (schema.maps(), x.dim());
    let finite = AtomicBool::new(true);
    let by_columns = x.strides()[0] == 1 || n == 1;
    let columns = Columns::new(n, p, |start, lines| {
        let of_piece = if by_columns {
            read_columns(x, maps, start, lines)
        } else {
            let strips = (start..).step_by(LINE).zip(lines.chunks_mut(p));
            strips.fold(true, |finite, (start, strip)| {
                read_rows(x, maps, start, strip) && finite
            })
        };
        if !of_piece {
            finite.store(false, Ordering::Relaxed);
        }
    });
    if finite.into_inner() {
        Ok(columns)
    } else {
        Err(not_finite())
    }
}

/// Reads records from `start` on of an array whose columns are contiguous; false when an entry is not finite.
fn read_columns<T>(x: ArrayView2<T>, maps: LatticeMaps, start: usize, lines: &mut [Line]) -> bool
where
    T: Copy + Into<f64> + Sync,
{
    let (n, p) = x.dim();
    let end = n.min(start + lines.len() / p * LINE);
    let mut finite = true;
    let mut run = vec![0; end - start];
    for j in 0..p {
        let column = x.column(j);
        let Some(column) = column.as_slice() else {
            unreachable!("a column of stride 1 is contiguous")
        };
        let lines = lines[j..].iter_mut().step_by(p);
        finite &= quantise_column(&column[start..end], maps, j, &mut run);
        for (piece, line) in run.chunks(LINE).zip(lines) {
            line[..piece.len()].copy_from_slice(piece);
        }
    }
    finite
}

/// Reads the records of a strip row by row, panel by panel, and turns every panel; false when an entry is not finite.
fn read_rows<T>(x: ArrayView2<T>, maps: LatticeMaps, start: usize, strip: &mut [Line]) -> bool
where
    T: Copy + Into<f64> + Sync,
{
    let rows = LINE.min(x.nrows() - start);
    let read = |(panel, lines): (usize, &mut [Line])| {
        let (first, width) = (panel * PANEL, lines.len());
        let stride = STRIDE.min(width.next_multiple_of(32) + 32);
        let mut finite = true;
        let mut tile = vec![0i16; rows * stride];
        let mut strided: Vec<T> = Vec::new();
        for (row, line) in tile.chunks_exact_mut(stride).enumerate() {
            let mut entries = x.row(start + row);
            entries.slice_axis_inplace(Axis(0), Slice::from(first..first + width));
            finite &= match entries.as_slice() {
                Some(entries) => quantise_row(entries, maps, first, &mut line[..width]),
                None => {
                    strided.clear();
                    strided.extend(entries.iter());
                    quantise_row(&strided, maps, first, &mut line[..width])
                }
            };
        }
        transpose(&tile, stride, lines);
        finite
    };
    if strip.len() <= PANEL {
        return read((0, strip));
    }
    let panels = strip.par_chunks_mut(PANEL).enumerate();
    panels.map(read).reduce(|| true, |a, b| a && b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Bounds, Geometry, Target};
    use ndarray::{Array2, ShapeBuilder};

    /// Every storage order gives the integers of the map, across the borders of strips, panels and pieces.
    #[test]
    fn all_layouts_give_the_same_integers() {
        for (n, p) in [
            (1, 1),
            (1, 9),
            (LINE + 1, 9),
            (7, PANEL + 3),
            (2048 + LINE + 5, PANEL + 11),
        ] {
            let bounds = Bounds {
                lower: vec![-1.0],
                upper: vec![2.0],
            };
            let schema =
                Schema::new(p, bounds, Geometry::Centred, Target::Classes, true, None).unwrap();
            let rows = Array2::from_shape_fn((n, p), |(i, j)| {
                ((i * 31 + j * 17) % 97) as f32 / 25.0 - 1.5
            });
            let mut columns = Array2::zeros((n, p).f());
            columns.assign(&rows);
            let mut reversed = rows.clone();
            reversed.invert_axis(Axis(1));
            let backwards = Array2::from_shape_fn((n, p), |(i, j)| reversed[[i, j]]);
            let mut strided = backwards.view();
            strided.invert_axis(Axis(1));
            let double = rows.mapv(f64::from);
            let expected: Vec<i16> = (0..p)
                .flat_map(|j| double.column(j).to_vec().into_iter().map(move |x| (x, j)))
                .map(|(x, j)| schema.lattice_value(x, j))
                .collect();
            for integers in [
                read_dense(rows.view(), &schema),
                read_dense(columns.view(), &schema),
                read_dense(strided, &schema),
                read_dense(double.view(), &schema),
            ] {
                let (integers, mut column) = (integers.unwrap(), vec![0; n]);
                for (j, expected) in expected.chunks(n).enumerate() {
                    integers.fill(j, 0, &mut column);
                    assert!(column == expected, "{n} x {p}");
                }
            }
        }
    }

    /// Wherever it stands, and in either order of storage.
    #[test]
    fn one_entry_that_is_not_finite_is_refused() {
        let (n, p) = (2048 + LINE + 5, PANEL / 64 + 3);
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let schema =
            Schema::new(p, bounds, Geometry::Centred, Target::Classes, true, None).unwrap();
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for i in [0, 2047, 2048, n - 1] {
                for j in [0, p / 2, p - 1] {
                    let mut rows = Array2::zeros((n, p));
                    let mut columns = Array2::zeros((n, p).f());
                    for x in [&mut rows, &mut columns] {
                        assert!(read_dense(x.view(), &schema).is_ok());
                        x[[i, j]] = value;
                        assert!(read_dense(x.view(), &schema).is_err(), "{value} {i} {j}");
                    }
                }
            }
        }
    }
}

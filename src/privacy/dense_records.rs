//! The one pass over a dense array: finiteness, clipping, rounding, and rows turned into columns.

use ndarray::{ArrayView2, Axis, Slice};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::numeric::kernel::{
    LatticeMaps, on_large_pages, quantise_column, quantise_row, transpose,
};
use crate::schema::Schema;

/// Records per piece of work.
const CHUNK: usize = 2048;

/// Features per piece of work that reads rows.
const PANEL: usize = 1024;

/// Records per tile of the pass that turns rows into columns: a tile stays in a second-level cache and gives two
/// cache lines of each column.
const TILE: usize = 64;

/// Entries from one row of a tile to the next. One cache line more than a panel: rows a power of two apart
/// would push one another out of the first-level cache.
const STRIDE: usize = PANEL + 32;

pub(super) fn not_finite() -> Error {
    Error::InvalidData("X contains NaN or infinity; impute or drop such entries first".into())
}

/// Lattice integers, column after column.
pub(super) fn read_dense<T>(x: ArrayView2<T>, schema: &Schema) -> Result<Vec<i16>>
where
    T: Copy + Into<f64> + Sync,
{
    let maps = schema.maps();
    let mut columns = on_large_pages(vec![0i16; x.len()]);
    let finite = if x.strides()[0] == 1 || x.nrows() == 1 {
        read_columns(x, maps, &mut columns)
    } else {
        read_rows(x, maps, &mut columns)
    };
    if finite {
        Ok(columns)
    } else {
        Err(not_finite())
    }
}

/// Reads an array whose columns are contiguous; false when an entry is not finite.
fn read_columns<T>(x: ArrayView2<T>, maps: LatticeMaps, columns: &mut [i16]) -> bool
where
    T: Copy + Into<f64> + Sync,
{
    let read_column = |(j, out): (usize, &mut [i16])| {
        let column = x.column(j);
        let Some(column) = column.as_slice() else {
            unreachable!("a column of stride 1 is contiguous")
        };
        let chunks = column.par_chunks(CHUNK).zip(out.par_chunks_mut(CHUNK));
        chunks
            .map(|(column, out)| quantise_column(column, maps, j, out))
            .reduce(|| true, |a, b| a && b)
    };
    let columns = columns.par_chunks_mut(x.nrows()).enumerate();
    columns.map(read_column).reduce(|| true, |a, b| a && b)
}

/// Reads an array row by row, piece by piece, and turns every piece; false when an entry is not finite.
fn read_rows<T>(x: ArrayView2<T>, maps: LatticeMaps, columns: &mut [i16]) -> bool
where
    T: Copy + Into<f64> + Sync,
{
    let n = x.nrows();
    // One task for PANEL columns and CHUNK rows, which owns its part of each of those columns.
    let mut tasks: Vec<(usize, usize, Vec<&mut [i16]>)> = Vec::new();
    for (panel, columns) in columns.chunks_mut(n * PANEL).enumerate() {
        let first = tasks.len();
        for column in columns.chunks_mut(n) {
            for (chunk, part) in column.chunks_mut(CHUNK).enumerate() {
                if first + chunk == tasks.len() {
                    tasks.push((panel * PANEL, chunk * CHUNK, Vec::with_capacity(PANEL)));
                }
                tasks[first + chunk].2.push(part);
            }
        }
    }
    let read = |(first, start, mut out): (usize, usize, Vec<&mut [i16]>)| {
        let (height, width) = (out[0].len(), out.len());
        let mut finite = true;
        let mut tile = vec![0i16; TILE * STRIDE];
        let mut strided: Vec<T> = Vec::new();
        for top in (0..height).step_by(TILE) {
            let rows = TILE.min(height - top);
            for (row, line) in tile.chunks_exact_mut(STRIDE).take(rows).enumerate() {
                let mut entries = x.row(start + top + row);
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
            transpose(&tile[..rows * STRIDE], STRIDE, &mut out, top);
        }
        finite
    };
    tasks
        .into_par_iter()
        .map(read)
        .reduce(|| true, |a, b| a && b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Bounds, Geometry, Target};
    use ndarray::{Array2, ShapeBuilder};

    /// Every storage order gives the integers of the map, across the borders of tiles, panels and chunks.
    #[test]
    fn all_layouts_give_the_same_integers() {
        for (n, p) in [
            (1, 1),
            (1, 9),
            (TILE + 1, 9),
            (7, PANEL + 3),
            (CHUNK + TILE + 5, PANEL + 11),
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
                assert!(integers.unwrap() == expected, "{n} x {p}");
            }
        }
    }

    /// Wherever it stands, and in either order of storage.
    #[test]
    fn one_entry_that_is_not_finite_is_refused() {
        let (n, p) = (CHUNK + TILE + 5, PANEL / 64 + 3);
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let schema =
            Schema::new(p, bounds, Geometry::Centred, Target::Classes, true, None).unwrap();
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for i in [0, CHUNK - 1, CHUNK, n - 1] {
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

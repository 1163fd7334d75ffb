//! Records, clipped to public bounds and stored as integers on entry (MECHANISMS M1).
//!
//! The fields are readable inside `privacy` only; that is what makes the room a room. Outside it a [`BoundedData`] can be
//! made, passed on and dropped.

use ndarray::{ArrayView2, Axis, Slice};
use rayon::prelude::*;

use super::event::Adjacency;
use super::schema::{Schema, Target};
use crate::error::{Error, Result};
use crate::numeric::kernel::{
    LatticeMaps, MAX_FEATURE, add_scaled, gradient_pass, quantise, quantise_column, quantise_row,
    transpose, zeros,
};

/// Records as integers in [-16383, 16383], column by column, and targets in [-1, 1].
///
/// ```
/// use dpsparse::privacy::{BoundedData, Bounds, Geometry, Schema, Target};
/// let bounds = Bounds { lower: vec![0.0], upper: vec![10.0] };
/// let schema = Schema::new(2, bounds, Geometry::Centred, Target::Classes, true, None).unwrap();
/// let x = ndarray::array![[0.0, 10.0], [5.0, 2.0]];
/// let data = BoundedData::from_dense(x.view(), &[1.0, -1.0], schema).unwrap();
/// assert_eq!(data.n_columns(), 3);
/// ```
///
/// Reading a record outside the room does not compile:
/// ```compile_fail,E0616
/// # use dpsparse::privacy::BoundedData;
/// fn peek(data: &BoundedData) -> f64 { data.targets[0] }
/// ```
pub struct BoundedData {
    pub(in crate::privacy) schema: Schema,
    pub(in crate::privacy) targets: Vec<f64>,
    pub(in crate::privacy) columns: Columns,
}

/// The features; the intercept is not stored.
pub(in crate::privacy) enum Columns {
    /// Columns one after the other, each with one entry per record.
    Dense(Vec<i16>),
    /// Compressed columns. An unstored entry is `base` of its column (the lattice value of zero), a stored one is
    /// base + value, |value| <= 32766.
    Sparse {
        starts: Vec<usize>,
        rows: Vec<u32>,
        values: Vec<i16>,
        base: Vec<i16>,
    },
}

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

/// Records per piece of work.
const CHUNK: usize = 4096;

/// Features per piece of work that reads rows.
const PANEL: usize = 512;

/// Records per tile of the pass that turns rows into columns: a tile is 64 KiB and gives two cache lines of each column.
const TILE: usize = 64;

fn not_finite() -> Error {
    Error::InvalidData("X contains NaN or infinity; impute or drop such entries first".into())
}

fn bad_index() -> Error {
    Error::InvalidData(
        "X is not a valid sparse matrix: an index or an index pointer is out of range".into(),
    )
}

impl BoundedData {
    /// One parallel pass over a dense array of any strides: finiteness, clipping and rounding together.
    ///
    /// # Errors
    /// [`Error::InvalidData`] for a wrong shape, entries that are not finite, too many records (2^31) or labels other than
    /// -1 and +1.
    pub fn from_dense<T>(x: ArrayView2<T>, y: &[f64], schema: Schema) -> Result<Self>
    where
        T: Copy + Into<f64> + Sync,
    {
        let (n, p) = x.dim();
        let targets = check_targets(n, p, y, &schema)?;
        let maps = schema.maps();
        let mut columns = zeros(n * p);
        let finite = if x.strides()[0] == 1 || n == 1 {
            read_columns(x, maps, &mut columns)
        } else {
            read_rows(x, maps, &mut columns)
        };
        if !finite {
            return Err(not_finite());
        }
        let mut this = Self {
            schema,
            targets,
            columns: Columns::Dense(columns),
        };
        this.shorten_rows()?;
        Ok(this)
    }

    /// The same from a sparse matrix: indices are checked and duplicates summed before clipping, zeros stay unstored. The
    /// integers are those that [`BoundedData::from_dense`] gives for the dense matrix.
    ///
    /// # Errors
    /// As for dense data, and [`Error::InvalidData`] for indices out of range; [`Error::InvalidArgument`] where `row_norm`
    /// meets bounds that exclude zero (shortening a row would then move its unstored entries).
    pub fn from_sparse<T, I>(
        x: Compressed<T, I>,
        orientation: Orientation,
        shape: (usize, usize),
        y: &[f64],
        schema: Schema,
    ) -> Result<Self>
    where
        T: Copy + Into<f64> + Sync,
        I: Copy + TryInto<usize> + Sync,
    {
        let (n, p) = shape;
        let targets = check_targets(n, p, y, &schema)?;
        let base: Vec<i16> = (0..p).map(|j| lattice_value(0.0, &schema, j)).collect();
        if schema.row_norm().is_some() && base.iter().any(|&b| b != 0) {
            return Err(Error::invalid(
                "row_norm",
                "with sparse X needs bounds that contain zero; pass X as a dense array",
            ));
        }
        let (starts, rows, values) = match orientation {
            Orientation::Columns => {
                let place = |major: usize, _minor: usize| major;
                compress(&x, p, n, &schema, &base, place)?
            }
            Orientation::Rows => {
                let place = |_major: usize, minor: usize| minor;
                to_columns(p, compress(&x, n, p, &schema, &base, place)?)
            }
        };
        let mut this = Self {
            schema,
            targets,
            columns: Columns::Sparse {
                starts,
                rows,
                values,
                base,
            },
        };
        this.shorten_rows()?;
        Ok(this)
    }

    /// Number of records. Public under replace-one; private under add-remove.
    pub(in crate::privacy) fn n_records(&self) -> usize {
        self.targets.len()
    }

    /// Checks the number of records against the public one where it is public: under replace-one.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `data` when they differ.
    pub fn check_count(&self, n_samples: usize, adjacency: Adjacency) -> Result<()> {
        if adjacency == Adjacency::ReplaceOne && n_samples != self.n_records() {
            return Err(Error::invalid(
                "data",
                "hold another number of records than the plan was made for",
            ));
        }
        Ok(())
    }

    /// Number of columns, the intercept included (public).
    pub fn n_columns(&self) -> usize {
        self.schema.n_columns()
    }

    /// The public facts.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// gradient_j = sum_i d_i x_ij for every column, exactly.
    ///
    /// No overflow: n < 2^31, |d_i| <= 2^14, |x_ij| < 2^14, so |gradient_j| < 2^59. Sparse: |stored value| < 2^15 gives
    /// partial sums below 2^60, and base * sum d is below 2^59.
    pub(in crate::privacy) fn gradient(&self, d: &[i16], gradient: &mut [i64]) {
        let p = self.schema.n_features();
        let total: i64 = d.iter().map(|&d| i64::from(d)).sum();
        let (features, intercept) = gradient.split_at_mut(p);
        if let [intercept] = intercept {
            *intercept = i64::from(MAX_FEATURE) * total;
        }
        match &self.columns {
            Columns::Dense(columns) => gradient_pass(columns, d, features),
            Columns::Sparse {
                starts,
                rows,
                values,
                base,
            } => {
                features
                    .par_iter_mut()
                    .enumerate()
                    .with_min_len(16)
                    .for_each(|(j, out)| {
                        let range = starts[j]..starts[j + 1];
                        let stored = rows[range.clone()].iter().zip(&values[range]);
                        let sum: i64 = stored
                            .map(|(&i, &v)| i64::from(d[i as usize]) * i64::from(v))
                            .sum();
                        *out = sum + i64::from(base[j]) * total;
                    });
            }
        }
    }

    /// margins_i += sum over (column, weight) of weight * x_i,column, exactly. The caller proves that nothing overflows.
    pub(in crate::privacy) fn add_to_margins(&self, margins: &mut [i64], direction: &[(u32, i64)]) {
        let (n, p) = (margins.len(), self.schema.n_features());
        let mut constant = 0;
        for &(j, weight) in direction {
            constant += weight
                * i64::from(match &self.columns {
                    _ if j as usize == p => MAX_FEATURE,
                    Columns::Dense(_) => 0,
                    Columns::Sparse { base, .. } => base[j as usize],
                });
        }
        let features = || direction.iter().filter(|(j, _)| (*j as usize) < p);
        match &self.columns {
            Columns::Dense(columns) => {
                margins
                    .par_chunks_mut(4096)
                    .enumerate()
                    .for_each(|(chunk, margins)| {
                        let start = chunk * 4096;
                        for &(j, weight) in features() {
                            add_scaled(
                                margins,
                                &columns[j as usize * n + start..][..margins.len()],
                                weight,
                            );
                        }
                    });
            }
            Columns::Sparse {
                starts,
                rows,
                values,
                ..
            } => {
                for &(j, weight) in features() {
                    let range = starts[j as usize]..starts[j as usize + 1];
                    for (&i, &value) in rows[range.clone()].iter().zip(&values[range]) {
                        margins[i as usize] += weight * i64::from(value);
                    }
                }
            }
        }
        if constant != 0 {
            margins.iter_mut().for_each(|margin| *margin += constant);
        }
    }

    /// Enforces sum_j x_ij^2 <= R^2 in integers, R = floor(16383 row_norm), by scaling longer rows towards zero.
    fn shorten_rows(&mut self) -> Result<()> {
        let Some(norm) = self.schema.row_norm() else {
            return Ok(());
        };
        let bound = (norm * f64::from(MAX_FEATURE)).floor();
        // p < 2^32 entries below 2^28 each: sums below 2^60.
        let mut squares = vec![0i64; self.n_records()];
        self.for_each_entry(|i, value| {
            squares[i] += i64::from(*value) * i64::from(*value);
        });
        let limit = (bound as i128).pow(2);
        let factors: Vec<f64> = squares
            .iter()
            .map(|&square| {
                if i128::from(square) > limit {
                    bound / (square as f64).sqrt() * (1.0 - 1e-12)
                } else {
                    1.0
                }
            })
            .collect();
        squares.fill(0);
        self.for_each_entry(|i, value| {
            // Truncation moves towards zero: |new| <= |old| factor (1 + 2^-52), so the norm ends below the bound.
            if factors[i] < 1.0 {
                *value = (f64::from(*value) * factors[i]) as i16;
            }
            squares[i] += i64::from(*value) * i64::from(*value);
        });
        if squares.iter().all(|&square| i128::from(square) <= limit) {
            Ok(())
        } else {
            Err(Error::InvalidData(
                "rows could not be shortened to row_norm".into(),
            ))
        }
    }

    fn for_each_entry(&mut self, mut visit: impl FnMut(usize, &mut i16)) {
        let n = self.targets.len();
        match &mut self.columns {
            Columns::Dense(columns) => {
                for column in columns.chunks_exact_mut(n) {
                    column
                        .iter_mut()
                        .enumerate()
                        .for_each(|(i, value)| visit(i, value));
                }
            }
            Columns::Sparse { rows, values, .. } => {
                rows.iter()
                    .zip(values)
                    .for_each(|(&i, value)| visit(i as usize, value));
            }
        }
    }
}

/// Reads an array whose columns are contiguous; false when an entry is not finite.
fn read_columns<T>(x: ArrayView2<T>, maps: LatticeMaps, columns: &mut [i16]) -> bool
where
    T: Copy + Into<f64> + Sync,
{
    let read_column = |(j, out): (usize, &mut [i16])| {
        let column = x.column(j);
        let read_chunk = |(chunk, out): (usize, &mut [i16])| {
            let start = chunk * CHUNK;
            match column.as_slice() {
                Some(column) => quantise_column(&column[start..][..out.len()], maps, j, out),
                None => quantise_column(&column.to_vec()[start..][..out.len()], maps, j, out),
            }
        };
        let chunks = out.par_chunks_mut(CHUNK).enumerate();
        chunks.map(read_chunk).reduce(|| true, |a, b| a && b)
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
        let mut tile = [0i16; TILE * PANEL];
        let mut strided: Vec<T> = Vec::new();
        for top in (0..height).step_by(TILE) {
            let rows = TILE.min(height - top);
            for (row, line) in tile.chunks_exact_mut(PANEL).take(rows).enumerate() {
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
            transpose(&tile[..rows * PANEL], PANEL, &mut out, top);
        }
        finite
    };
    tasks
        .into_par_iter()
        .map(read)
        .reduce(|| true, |a, b| a && b)
}

/// Shapes, number of records and targets, checked and scaled.
fn check_targets(n: usize, p: usize, y: &[f64], schema: &Schema) -> Result<Vec<f64>> {
    if p != schema.n_features() {
        let expected = schema.n_features();
        return Err(Error::InvalidData(format!(
            "X has {p} features, but the plan is for {expected} features"
        )));
    }
    if y.len() != n {
        return Err(Error::InvalidData(
            "X and y must have as many entries as there are records".into(),
        ));
    }
    if n == 0 || n >= 1 << 31 {
        return Err(Error::InvalidData(
            "X must have at least one record and fewer than 2^31".into(),
        ));
    }
    if y.iter().any(|y| !y.is_finite()) {
        return Err(Error::InvalidData(
            "y contains NaN or infinity; impute or drop such records first".into(),
        ));
    }
    if schema.target() == Target::Classes && y.iter().any(|&y| y != 1.0 && y != -1.0) {
        return Err(Error::InvalidData("y must be -1 or +1".into()));
    }
    Ok(y.iter().map(|&y| schema.scale_target(y)).collect())
}

fn lattice_value(x: f64, schema: &Schema, j: usize) -> i16 {
    let maps = schema.maps();
    quantise(x, maps.scale[j], maps.offset[j], maps.low[j], maps.high[j])
}

/// Starts, minor indices and values of a matrix compressed along its major axis.
type Parts = (Vec<usize>, Vec<u32>, Vec<i16>);

/// Reads a compressed matrix once: checks, sorts, sums duplicates, clips, and drops entries equal to their base.
/// `feature(major, minor)` says which of the two indices is the feature.
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
    let pieces: Vec<Result<Parts>> = (0..major.div_ceil(TILE))
        .into_par_iter()
        .map(|block| {
            let lines = block * TILE..major.min((block + 1) * TILE);
            let (mut lengths, mut indices, mut values) =
                (Vec::with_capacity(TILE), Vec::new(), Vec::new());
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
                    let relative = lattice_value(value, schema, j) - base[j];
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
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for piece in pieces {
        let (lengths, more_indices, more_values) = piece?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::schema::{Bounds, Geometry};
    use ndarray::{Array2, ShapeBuilder};

    /// Every storage order gives the integers of the map, across the borders of tiles, panels and chunks.
    #[test]
    fn all_layouts_give_the_same_integers() {
        for (n, p) in [
            (1, 1),
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
            let y = vec![1.0; n];
            let expected: Vec<i16> = (0..p)
                .flat_map(|j| double.column(j).to_vec().into_iter().map(move |x| (x, j)))
                .map(|(x, j)| lattice_value(x, &schema, j))
                .collect();
            for data in [
                BoundedData::from_dense(rows.view(), &y, schema.clone()),
                BoundedData::from_dense(columns.view(), &y, schema.clone()),
                BoundedData::from_dense(strided, &y, schema.clone()),
                BoundedData::from_dense(double.view(), &y, schema.clone()),
            ] {
                let Columns::Dense(integers) = data.unwrap().columns else {
                    panic!("dense records stay dense");
                };
                assert!(integers == expected, "{n} x {p}");
            }
        }
    }
}

//! Records, clipped to public bounds and stored as integers on entry (MECHANISMS M1).
//!
//! The fields are readable inside `privacy` only; that is what makes the room a room. Outside it a
//! [`BoundedData`] can be made, passed on and dropped.

use ndarray::ArrayView2;
use rayon::prelude::*;

use super::dense_records::read_dense;
use super::event::Adjacency;
use super::schema::{Schema, Target};
use super::sparse_records::{Compressed, Orientation, read_sparse};
use crate::error::{Error, Result};
use crate::numeric::kernel::{MAX_FEATURE, add_scaled, gradient_pass};

/// Records per piece of work.
const CHUNK: usize = 4096;

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
    /// Compressed columns. An unstored entry is `base` of its column (the lattice value of zero), a stored
    /// one is base + value, |value| <= 32766.
    Sparse {
        starts: Vec<usize>,
        rows: Vec<u32>,
        values: Vec<i16>,
        base: Vec<i16>,
    },
}

impl BoundedData {
    /// One parallel pass over a dense array of any strides: finiteness, clipping and rounding together.
    ///
    /// # Errors
    /// [`Error::InvalidData`] for a wrong shape, entries that are not finite, too many records (2^31) or
    /// labels other than
    /// -1 and +1.
    pub fn from_dense<T>(x: ArrayView2<T>, y: &[f64], schema: Schema) -> Result<Self>
    where
        T: Copy + Into<f64> + Sync,
    {
        let (n, p) = x.dim();
        let targets = check_targets(n, p, y, &schema)?;
        let columns = read_dense(x, &schema)?;
        let mut this = Self {
            schema,
            targets,
            columns: Columns::Dense(columns),
        };
        this.shorten_rows()?;
        Ok(this)
    }

    /// The same from a sparse matrix: indices are checked and duplicates summed before clipping, zeros stay
    /// unstored. The integers are those that [`BoundedData::from_dense`] gives for the dense matrix.
    ///
    /// # Errors
    /// As for dense data, and [`Error::InvalidData`] for indices out of range; [`Error::InvalidArgument`]
    /// where `row_norm` meets bounds that exclude zero (shortening a row would then move its unstored
    /// entries).
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
        let base: Vec<i16> = (0..p).map(|j| schema.lattice_value(0.0, j)).collect();
        if schema.row_norm().is_some() && base.iter().any(|&b| b != 0) {
            return Err(Error::invalid(
                "row_norm",
                "with sparse X needs bounds that contain zero; pass X as a dense array",
            ));
        }
        let (starts, rows, values) = read_sparse(&x, orientation, shape, &schema, &base)?;
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
    /// No overflow: n < 2^31, |d_i| <= 2^14, |x_ij| < 2^14, so |gradient_j| < 2^59. Sparse: |stored value| <
    /// 2^15 gives partial sums below 2^60, and base * sum d is below 2^59.
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

    /// margins_i += sum over (column, weight) of weight * x_i,column, exactly. The caller proves that nothing
    /// overflows.
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
                    .par_chunks_mut(CHUNK)
                    .enumerate()
                    .for_each(|(chunk, margins)| {
                        let start = chunk * CHUNK;
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

    /// Enforces sum_j x_ij^2 <= R^2 in integers, R = floor(16383 row_norm), by scaling longer rows towards
    /// zero.
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
            // Truncation moves towards zero: |new| <= |old| factor (1 + 2^-52), so the norm ends below the
            // bound.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::kernel::MAX_DERIVATIVE;
    use crate::privacy::schema::{Bounds, Geometry};
    use ndarray::Array2;
    use proptest::prelude::*;

    fn schema(p: usize, intercept: bool) -> Schema {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![3.0],
        };
        Schema::new(
            p,
            bounds,
            Geometry::Centred,
            Target::Classes,
            intercept,
            None,
        )
        .unwrap()
    }

    fn sparse(x: &Array2<f64>, intercept: bool) -> BoundedData {
        let (n, p) = x.dim();
        let (mut starts, mut indices, mut values) = (vec![0i64], Vec::new(), Vec::new());
        for row in x.rows() {
            for (j, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                indices.push(j as i64);
                values.push(value);
            }
            starts.push(indices.len() as i64);
        }
        let parts = Compressed {
            starts: &starts,
            indices: &indices,
            values: &values,
        };
        let y = vec![1.0; n];
        BoundedData::from_sparse(parts, Orientation::Rows, (n, p), &y, schema(p, intercept))
            .unwrap()
    }

    /// The integer of every entry by the map itself, the intercept last.
    fn integers(x: &Array2<f64>, intercept: bool) -> Array2<i128> {
        let (n, p) = x.dim();
        let schema = schema(p, intercept);
        Array2::from_shape_fn((n, p + usize::from(intercept)), |(i, j)| {
            i128::from(if j < p {
                schema.lattice_value(x[[i, j]], j)
            } else {
                MAX_FEATURE
            })
        })
    }

    proptest! {
        #[test]
        fn gradients_and_margins_match_a_wide_reference(
            n in 1usize..150,
            p in 1usize..10,
            seed in any::<u64>(),
            intercept in any::<bool>(),
        ) {
            let mut state = seed | 1;
            let mut next = move |bound: i64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((state >> 33) as i64).rem_euclid(bound)
            };
            let x = Array2::from_shape_fn((n, p), |_| if next(2) == 0 { 0.0 } else { next(60) as f64 / 10.0 - 2.0 });
            let d: Vec<i16> = (0..n).map(|_| (next(2 * 16_384 + 1) - 16_384) as i16).collect();
            let direction: Vec<(u32, i64)> =
                (0..p + usize::from(intercept)).map(|j| (j as u32, next(1 << 30) - (1 << 29))).collect();
            let wide = integers(&x, intercept);
            let dense = BoundedData::from_dense(x.view(), &vec![1.0; n], schema(p, intercept)).unwrap();
            for data in [dense, sparse(&x, intercept)] {
                let mut gradient = vec![7i64; data.n_columns()];
                data.gradient(&d, &mut gradient);
                for (j, &entry) in gradient.iter().enumerate() {
                    let expected: i128 = (0..n).map(|i| i128::from(d[i]) * wide[[i, j]]).sum();
                    prop_assert_eq!(i128::from(entry), expected);
                }
                let mut margins = vec![11i64; n];
                data.add_to_margins(&mut margins, &direction);
                for (i, &margin) in margins.iter().enumerate() {
                    let moved: i128 = direction.iter().map(|&(j, w)| i128::from(w) * wide[[i, j as usize]]).sum();
                    prop_assert_eq!(i128::from(margin), 11 + moved);
                }
            }
        }
    }

    #[test]
    fn extreme_records_do_not_overflow() {
        let n = 70_001;
        for (value, d) in [
            (3.0, MAX_DERIVATIVE),
            (-1.0, MAX_DERIVATIVE),
            (3.0, -MAX_DERIVATIVE),
        ] {
            let x = Array2::from_elem((n, 5), value);
            let expected = i64::from(if value > 0.0 {
                MAX_FEATURE
            } else {
                -MAX_FEATURE
            }) * i64::from(d)
                * n as i64;
            let dense = BoundedData::from_dense(x.view(), &vec![1.0; n], schema(5, false)).unwrap();
            for data in [dense, sparse(&x, false)] {
                let mut gradient = vec![0i64; 5];
                data.gradient(&vec![d; n], &mut gradient);
                assert_eq!(gradient, [expected; 5]);
            }
        }
    }
}

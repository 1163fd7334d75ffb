//! Records, clipped to public bounds and stored as integers on entry ([`crate::theory_of_privacy::records`]).
//!
//! The fields are readable inside `privacy` only; that is what makes the room a room. Outside it a
//! [`BoundedData`] can be made, passed on and dropped.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ndarray::ArrayView2;
use rayon::prelude::*;

use super::columns::Columns;
use super::dense_records::read_dense;
use super::lines::Lines;
use super::packed::Packed;
use super::packed_records::layout;
use super::record_weights::RecordWeights;
use super::records::Move;
use super::row_norm::RowNorm;
use super::sparse_products::{add_rows, column_products};
use super::sparse_records::{Compressed, Orientation, read_sparse};
use crate::error::{Error, Result};
use crate::numeric::kernel::fetch;
use crate::numeric::pieces::for_each_piece;
use crate::numeric::strips::LINE;
use crate::question::check_sparse;
use crate::schema::{Schema, Target};

/// Records per piece of work where so many columns are read together, whole strips: what is read stays in a near cache.
pub(in crate::privacy) fn chunk_of(columns: usize) -> usize {
    const ENTRIES: usize = 1 << 17;
    (ENTRIES / columns.max(1)).clamp(256, 4096) / LINE * LINE
}

/// The sum of the slopes: of 2^16 of them at most 2^30, of fewer than 2^31 below 2^45, so that nothing wraps. Checks
/// would keep the loop from wide instructions.
pub(in crate::privacy) fn total(d: &[i16]) -> i64 {
    let short = |d: &[i16]| (d.iter()).fold(0i32, |sum, &d| sum.wrapping_add(i32::from(d)));
    (d.chunks(1 << 16)).fold(0, |sum, d| sum.wrapping_add(i64::from(short(d))))
}

/// Records as integers in [-16383, 16383] and targets in [-1, 1], with weights where the schema says so.
pub struct BoundedData {
    pub(in crate::privacy) schema: Schema,
    pub(in crate::privacy) targets: Vec<f64>,
    pub(in crate::privacy) features: Features,
    /// None: all records count alike, and fully.
    pub(in crate::privacy) weights: Option<RecordWeights>,
}

/// The features; the intercept is not stored.
pub(in crate::privacy) enum Features {
    /// Columns, each with one entry per record.
    Dense(Columns),
    /// The same entries, where columns have few public values.
    Packed(Packed),
    /// The same entries by rows and by columns. An unstored entry is `base` of its column (the lattice value
    /// of zero), a stored one is base + value, |value| <= 32766.
    Sparse {
        rows: Lines,
        columns: Lines,
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
        Self::from_array(x, &[], y, schema)
    }

    /// The same of an array of which some consecutive columns are one-hot blocks: in every row of a block at most one
    /// entry is 1, and the others are 0. Columns of whole numbers in few bytes, and blocks, are packed.
    ///
    /// # Errors
    /// As [`BoundedData::from_dense`], and [`Error::InvalidData`] for a block that is not one-hot;
    /// [`Error::InvalidArgument`] naming `one_hot` for blocks that do not ascend.
    pub(in crate::privacy) fn from_array<T>(
        x: ArrayView2<T>,
        one_hot: &[Range<usize>],
        y: &[f64],
        schema: Schema,
    ) -> Result<Self>
    where
        T: Copy + Into<f64> + Sync,
    {
        let (n, p) = x.dim();
        let targets = check_targets(n, p, y, &schema)?;
        let ends = one_hot.iter().flat_map(|block| [block.start, block.end]);
        if !ends.chain([p]).is_sorted() {
            return Err(Error::invalid(
                "one_hot",
                "must be blocks of columns of X, ascending",
            ));
        }
        if let Some(layout) = layout::<T>(&schema, one_hot) {
            return Ok(Self {
                features: Features::Packed(layout.read(x, &schema)?),
                schema,
                targets,
                weights: None,
            });
        }
        let mut columns = read_dense(x, &schema)?;
        if let Some(norm) = RowNorm::of(&schema) {
            norm.shorten_dense(&mut columns);
        }
        Ok(Self {
            schema,
            targets,
            features: Features::Dense(columns),
            weights: None,
        })
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
        check_sparse(&schema)?;
        let lines = read_sparse(&x, orientation, shape, &schema, &base)?;
        let (rows, columns) = match (orientation, RowNorm::of(&schema)) {
            (Orientation::Columns, None) => (lines.transposed(n), lines),
            (_, norm) => {
                let mut rows = match orientation {
                    Orientation::Rows => lines,
                    Orientation::Columns => lines.transposed(n),
                };
                if let Some(norm) = norm {
                    norm.shorten_rows(&mut rows);
                }
                let columns = rows.transposed(p);
                (rows, columns)
            }
        };
        Ok(Self {
            schema,
            targets,
            features: Features::Sparse {
                rows,
                columns,
                base,
            },
            weights: None,
        })
    }

    /// The same records with one weight each where the schema has a largest one, and with none otherwise.
    ///
    /// # Errors
    /// [`Error::InvalidData`] for unusable weights; [`Error::InvalidArgument`] naming `sample_weight` for weights that
    /// the schema does not speak of, or none where it does.
    pub(in crate::privacy) fn weighed(self, weights: Option<&[f64]>) -> Result<Self> {
        let weights = match (weights, self.schema.max_weight()) {
            (None, None) => None,
            (Some(weights), Some(largest)) => {
                Some(RecordWeights::new(weights, self.n_records(), largest)?)
            }
            _ => {
                return Err(Error::invalid(
                    "sample_weight",
                    "must be given where a largest weight is public, and nowhere else",
                ));
            }
        };
        Ok(Self { weights, ..self })
    }

    /// The same with its features in a nameless file of a directory; sparse and packed ones stay in memory.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub(in crate::privacy) fn in_file(self, directory: &Path) -> Result<Self> {
        let features = match self.features {
            Features::Dense(columns) => Features::Dense(columns.in_file(directory)?),
            small => small,
        };
        Ok(Self { features, ..self })
    }

    /// Dense blocks of consecutive records, read under one schema, as one block.
    pub(in crate::privacy) fn joined(blocks: &[Arc<Self>]) -> Self {
        let first = &blocks[0];
        let n: usize = blocks.iter().map(|block| block.n_records()).sum();
        let ends: Vec<usize> = (blocks.iter())
            .scan(0, |end, block| {
                *end += block.n_records();
                Some(*end)
            })
            .collect();
        let columns = Columns::of_columns(n, first.schema.n_features(), |j, start, out| {
            let (mut start, mut rest) = (start, out);
            for (block, &end) in blocks.iter().zip(&ends) {
                if start < end && !rest.is_empty() {
                    let (here, later) = rest.split_at_mut(rest.len().min(end - start));
                    block.fill_column(j, start + block.n_records() - end, here);
                    (start, rest) = (start + here.len(), later);
                }
            }
        });
        let targets = blocks.iter().flat_map(|block| &block.targets);
        let weights = blocks.iter().map(|block| block.weights.as_ref());
        Self {
            schema: first.schema.clone(),
            targets: targets.copied().collect(),
            features: Features::Dense(columns),
            weights: weights
                .collect::<Option<Vec<_>>>()
                .map(RecordWeights::joined),
        }
    }

    /// Number of records. Public under replace-one; private under add-remove.
    pub(in crate::privacy) fn n_records(&self) -> usize {
        self.targets.len()
    }

    /// How much record i counts: 1 without weights.
    pub(in crate::privacy) fn share(&self, i: usize) -> f64 {
        (self.weights.as_ref()).map_or(1.0, |weights| weights.shares()[i])
    }

    /// Number of columns, the intercept included (public).
    pub fn n_columns(&self) -> usize {
        self.schema.n_columns()
    }

    /// The integers of feature `j` from record `start` on.
    pub(in crate::privacy) fn fill_column(&self, j: usize, start: usize, out: &mut [i16]) {
        match &self.features {
            Features::Dense(columns) => columns.fill(j, start, out),
            Features::Packed(packed) => packed.fill(j, start, out),
            Features::Sparse { columns, base, .. } => {
                let base = i64::from(base[j]);
                out.fill(base as i16);
                let end = start + out.len();
                for (i, value) in columns.part_of_line(j, start..end) {
                    // base + value is the lattice value, in [-16383, 16383].
                    out[i - start] = (base + value) as i16;
                }
            }
        }
    }

    /// Reads dense features of some records, from the first one of a strip on, so that they are in a near cache
    /// whatever the order is in which they are taken next.
    pub(in crate::privacy) fn fetch(&self, records: Range<usize>) {
        if let Features::Dense(columns) = &self.features {
            fetch(columns.strips_of(records).lines());
        }
    }

    /// The integers of feature `j` of some records, written to `scratch`.
    pub(in crate::privacy) fn column<'a>(
        &self,
        j: usize,
        records: Range<usize>,
        scratch: &'a mut Vec<i16>,
    ) -> &'a [i16] {
        scratch.resize(records.len(), 0);
        self.fill_column(j, records.start, scratch);
        scratch
    }

    /// gradient_j = sum_i d_i x_ij for every column, exactly.
    ///
    /// No overflow: n < 2^31, |d_i| <= 2^14, |x_ij| < 2^14, so |gradient_j| < 2^59. Sparse: |stored value| <
    /// 2^15 gives partial sums below 2^60, and base * sum d is below 2^59.
    pub(in crate::privacy) fn gradient(&self, d: &[i16], gradient: &mut [i64]) {
        let p = self.schema.n_features();
        let total = total(d);
        let (features, intercept) = gradient.split_at_mut(p);
        if let [intercept] = intercept {
            *intercept = i64::from(self.schema.lattice_intercept()) * total;
        }
        match &self.features {
            Features::Dense(_) | Features::Packed(_) => {
                if let Some(groups) = self.groups() {
                    groups.inner_products(0, &groups.sums_of(&[d]), features);
                }
            }
            Features::Sparse { columns, base, .. } => {
                let products = column_products(columns, [d]);
                for ((out, [product]), &base) in features.iter_mut().zip(products).zip(base) {
                    *out = product + i64::from(base) * total;
                }
            }
        }
    }

    /// margins_i += weight * <direction, x_i>, exactly. The caller proves that nothing overflows: with W the
    /// sum of |weight * entry|, the change of a margin and the base of all columns are below W 2^14, what a
    /// sparse row stores is below W 2^15.
    pub(in crate::privacy) fn add_to_margins(
        &self,
        margins: &mut [i64],
        direction: &[(u32, i64)],
        weight: i64,
    ) {
        let (output, p) = (0, self.schema.n_features());
        let steps = self.steps(&[Move {
            output,
            direction,
            weight,
        }]);
        let Features::Sparse {
            rows,
            columns,
            base,
        } = &self.features
        else {
            if let Some(groups) = self.groups() {
                let (addends, chunk) = (groups.addends(&steps, 1), chunk_of(steps[0].columns()));
                let entries = margins.len() * steps[0].columns();
                let pieces = margins.par_chunks_mut(chunk).enumerate();
                for_each_piece(entries, pieces, |(k, margins)| {
                    addends.add(&mut [margins], k * chunk);
                });
            }
            return;
        };
        let (terms, mut constant) = (steps[0].terms(), steps[0].constant());
        for &(j, weight) in terms {
            constant += weight * i64::from(base[j]);
        }
        let stored: usize = terms.iter().map(|&(j, _)| columns.stored(j)).sum();
        // One walk of all threads through all rows, or one thread's walk through these columns.
        if stored * rayon::current_num_threads() > rows.values.len() {
            let mut weights = vec![0; p];
            (terms.iter()).for_each(|&(j, weight)| weights[j] += weight);
            add_rows(margins, (rows, columns), weights, constant);
        } else {
            add_columns(margins, columns, terms.iter().copied());
            // A move of few columns whose zeros stay zero touches few margins.
            if constant != 0 {
                margins.iter_mut().for_each(|margin| *margin += constant);
            }
        }
    }
}

/// margins += weight * column, one column after the other.
fn add_columns(
    margins: &mut [i64],
    columns: &Lines,
    direction: impl Iterator<Item = (usize, i64)>,
) {
    for (j, weight) in direction {
        for (i, value) in columns.line(j) {
            margins[i] += weight * value;
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
    if let Target::Multiclass { classes } = schema.target() {
        let is_class = |&y: &f64| (0.0..f64::from(classes)).contains(&y) && y.fract() == 0.0;
        if !y.iter().all(is_class) {
            return Err(Error::InvalidData(
                "y must be the number of a class, from 0".into(),
            ));
        }
    }
    Ok(y.iter().map(|&y| schema.scale_target(y)).collect())
}

#[cfg(test)]
pub(in crate::privacy) mod tests {
    use super::*;
    use crate::numeric::kernel::{MAX_DERIVATIVE, MAX_FEATURE};
    use crate::schema::{Bounds, Geometry};
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

    fn sparse(x: &Array2<f64>, y: &[f64], orientation: Orientation, schema: Schema) -> BoundedData {
        let lines = match orientation {
            Orientation::Rows => x.view(),
            Orientation::Columns => x.t(),
        };
        let (mut starts, mut indices, mut values) = (vec![0i64], Vec::new(), Vec::new());
        for line in lines.rows() {
            for (k, &value) in line.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                indices.push(k as i64);
                values.push(value);
            }
            starts.push(indices.len() as i64);
        }
        let parts = Compressed {
            starts: &starts,
            indices: &indices,
            values: &values,
        };
        BoundedData::from_sparse(parts, orientation, x.dim(), y, schema).unwrap()
    }

    /// The same records in every kind of storage, all of one target.
    pub(in crate::privacy) fn all_kinds(x: &Array2<f64>, schema: &Schema) -> [BoundedData; 3] {
        all_kinds_of(x, &vec![1.0; x.nrows()], schema)
    }

    /// The same with these targets.
    pub(in crate::privacy) fn all_kinds_of(
        x: &Array2<f64>,
        y: &[f64],
        schema: &Schema,
    ) -> [BoundedData; 3] {
        [
            BoundedData::from_dense(x.view(), y, schema.clone()).unwrap(),
            sparse(x, y, Orientation::Rows, schema.clone()),
            sparse(x, y, Orientation::Columns, schema.clone()),
        ]
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
            for data in all_kinds(&x, &schema(p, intercept)) {
                let mut gradient = vec![7i64; data.n_columns()];
                data.gradient(&d, &mut gradient);
                for (j, &entry) in gradient.iter().enumerate() {
                    let expected: i128 = (0..n).map(|i| i128::from(d[i]) * wide[[i, j]]).sum();
                    prop_assert_eq!(i128::from(entry), expected);
                }
                for j in 0..p {
                    let (mut scratch, some) = (Vec::new(), n / 3..n - n / 3);
                    let found = data.column(j, some.clone(), &mut scratch).iter().map(|&x| i128::from(x));
                    prop_assert!(found.eq(some.clone().map(|i| wide[[i, j]])));
                    let mut filled = vec![0i16; some.len()];
                    data.fill_column(j, some.start, &mut filled);
                    prop_assert!(filled.iter().map(|&x| i128::from(x)).eq(some.map(|i| wide[[i, j]])));
                }
                // Few columns and many: sparse records go by columns or by rows.
                for direction in [&direction[..1], &direction[p / 2..], &direction] {
                    let mut margins = vec![11i64; n];
                    data.add_to_margins(&mut margins, direction, -3);
                    for (i, &margin) in margins.iter().enumerate() {
                        let moved: i128 = direction.iter().map(|&(j, w)| i128::from(w) * wide[[i, j as usize]]).sum();
                        prop_assert_eq!(i128::from(margin), 11 - 3 * moved);
                    }
                }
                if let Features::Sparse { rows, columns, .. } = &data.features {
                    let weights: Vec<i64> = (0..p).map(|_| next(1 << 30) - (1 << 29)).collect();
                    let (mut by_rows, mut by_columns) = (vec![5i64; n], vec![5i64; n]);
                    add_rows(&mut by_rows, (rows, columns), weights.clone(), 0);
                    add_columns(&mut by_columns, columns, weights.iter().copied().enumerate());
                    prop_assert_eq!(by_rows, by_columns);
                }
            }
        }

        /// Every row ends within `row_norm` and close to where scaling puts it, the same in every storage, and
        /// both copies of sparse records are shortened.
        #[test]
        fn long_rows_are_shortened_in_every_storage(
            n in 1usize..200,
            p in 1usize..9,
            norm in 0.01..3.0f64,
            seed in any::<u32>(),
        ) {
            let entry = |i: usize, j: usize| (seed as usize).wrapping_add(i * 7919 + j * 104_729) % 13;
            let x = Array2::from_shape_fn((n, p), |(i, j)| entry(i, j).saturating_sub(6) as f64 / 2.0);
            let bounds = Bounds { lower: vec![-1.0], upper: vec![3.0] };
            let schema = Schema::new(p, bounds, Geometry::Uncentred, Target::Classes, false, Some(norm)).unwrap();
            let limit = (norm * f64::from(MAX_FEATURE)).floor();
            let mut kinds = all_kinds(&x, &schema).into_iter();
            let Some(Features::Dense(expected)) = kinds.next().map(|data| data.features) else { unreachable!() };
            for i in 0..n {
                let before: Vec<f64> = (0..p).map(|j| f64::from(schema.lattice_value(x[[i, j]], j))).collect();
                let after: Vec<f64> = (0..p).map(|j| f64::from(expected.at(i, j))).collect();
                let length = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
                prop_assert!(length(&after) <= limit);
                let factor = (limit / length(&before)).min(1.0);
                for (before, after) in before.iter().zip(&after) {
                    prop_assert!((before * factor - after).abs() <= 1.0 + 1e-6);
                }
            }
            for data in kinds {
                let Features::Sparse { rows, columns, .. } = &data.features else { unreachable!() };
                for i in 0..n {
                    let row: Vec<_> = rows.line(i).filter(|entry| entry.1 != 0).collect();
                    let expected = (0..p).map(|j| (j, i64::from(expected.at(i, j))));
                    prop_assert_eq!(row, expected.filter(|entry| entry.1 != 0).collect::<Vec<_>>());
                }
                for j in 0..p {
                    let column: Vec<_> = columns.line(j).filter(|entry| entry.1 != 0).collect();
                    let expected = (0..n).map(|i| (i, i64::from(expected.at(i, j))));
                    prop_assert_eq!(column, expected.filter(|entry| entry.1 != 0).collect::<Vec<_>>());
                }
            }
        }
    }

    /// A bound that no row reaches, however large, changes nothing.
    #[test]
    fn huge_row_norms_are_harmless() {
        let x = Array2::from_elem((3, 2), 2.5);
        let schema = |norm| {
            let bounds = Bounds {
                lower: vec![-1.0],
                upper: vec![3.0],
            };
            Schema::new(2, bounds, Geometry::Uncentred, Target::Classes, false, norm).unwrap()
        };
        let mut gradients = Vec::new();
        for norm in [None, Some(1e30), Some(1e300)] {
            for data in all_kinds(&x, &schema(norm)) {
                let mut gradient = vec![0; 2];
                data.gradient(&[1, 2, 3], &mut gradient);
                gradients.push(gradient);
            }
        }
        assert!(gradients.iter().all(|gradient| *gradient == gradients[0]));
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
            for data in all_kinds(&x, &schema(5, false)) {
                let mut gradient = vec![0i64; 5];
                data.gradient(&vec![d; n], &mut gradient);
                assert_eq!(gradient, [expected; 5]);
            }
        }
    }

    #[test]
    fn shapes_and_targets_are_checked() {
        let read = |shape: (usize, usize), y: &[f64]| {
            let data =
                BoundedData::from_dense(Array2::<f64>::zeros(shape).view(), y, schema(2, true));
            data.err().map(|error| error.to_string())
        };
        for (shape, y, part) in [
            ((0, 2), &[][..], "at least one record"),
            ((2, 3), &[1.0, -1.0], "3 features"),
            ((2, 2), &[1.0], "as many entries"),
            ((2, 2), &[1.0, f64::NAN], "NaN"),
            ((2, 2), &[1.0, 0.0], "-1 or +1"),
        ] {
            let refusal = read(shape, y).unwrap();
            assert!(refusal.contains(part), "{refusal}");
        }
        assert!(read((2, 2), &[1.0, -1.0]).is_none());
    }
}

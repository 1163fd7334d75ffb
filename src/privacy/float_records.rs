//! Records in floats: rows, blocks of them, and their weighted second moments.

use rayon::prelude::*;

use super::bounded_data::{BoundedData, Features};
use super::columns::Columns;
use crate::numeric::gram::{Block, ROWS, add_lower_products};
use crate::numeric::kernel::{MAX_FEATURE, for_wide_vectors};
use crate::numeric::strips::LINE;
use crate::question::RoomModel;
use crate::schema::Schema;

/// Records per block.
const BLOCK: usize = 512;

/// Columns of a block that a thread fills, at least.
const COLUMNS: usize = 16;

impl BoundedData {
    /// out_jk = sum_i w_i x_ij x_ik in scaled units for k <= j, row by row in a square; the intercept last. Threads
    /// share the entries of `out`, so they change no bit of it.
    pub(in crate::privacy) fn weighted_gram(&self, weights: &[f64], out: &mut [f64]) {
        let (n, p) = (self.n_records(), self.n_columns());
        let mut block = vec![0.0; BLOCK * p];
        out.fill(0.0);
        let mut add = |start: usize| {
            let size = BLOCK.min(n - start);
            self.fill_block(start, size, &mut block);
            let weights = &weights[start..start + size];
            (out.par_chunks_mut(ROWS * p).enumerate()).for_each(|(k, rows)| {
                let mut weighted = [0.0; ROWS * BLOCK];
                let own = block[k * ROWS * BLOCK..].chunks(BLOCK);
                for (weighted, column) in weighted.chunks_mut(BLOCK).zip(own) {
                    for_wide_vectors(
                        #[inline(always)]
                        || {
                            for ((weighted, x), w) in weighted.iter_mut().zip(column).zip(weights) {
                                *weighted = w * x;
                            }
                        },
                    );
                }
                let [own, all] = [&weighted[..], &block].map(|entries| Block {
                    entries,
                    stride: BLOCK,
                    size,
                });
                add_lower_products(own, all, k * ROWS, p, rows);
            });
        };
        // Within the pool: a loop that is begun outside of it waits until a thread wakes up.
        rayon::scope(|_| (0..n).step_by(BLOCK).for_each(&mut add));
    }

    /// Lower triangle, row by row in a square, of the `factor` times sum_i (diag(P_i) - P_i P_i') (x) x_i x_i' of a
    /// softmax model, P_i the probabilities at `scores`, class by class. It steers, and proves nothing.
    pub(in crate::privacy) fn curvature_of_classes(
        &self,
        model: &RoomModel,
        factor: f64,
        scores: &[f64],
        out: &mut [f64],
    ) {
        let (n, p, classes) = (self.n_records(), self.n_columns(), model.outputs());
        // Slopes are probabilities, less 1 for the own class.
        let mut probabilities = vec![0.0; classes * n];
        model.unclamped(scores, &self.targets, &mut probabilities);
        for (k, probabilities) in probabilities.chunks_mut(n).enumerate() {
            for (probability, &y) in probabilities.iter_mut().zip(&self.targets) {
                *probability += f64::from(u8::from(y == k as f64));
            }
        }
        let of_class = |k: usize| &probabilities[k * n..][..n];
        let (mut weights, mut gram) = (vec![0.0; n], vec![0.0; p * p]);
        for (k, l) in (0..classes).flat_map(|k| (0..=k).map(move |l| (k, l))) {
            let own = if k == l { 1.0 } else { 0.0 };
            for ((weight, a), b) in weights.iter_mut().zip(of_class(k)).zip(of_class(l)) {
                *weight = factor * a * (own - b);
            }
            if let Some(own) = &self.weights {
                let pairs = weights.iter_mut().zip(own.shares());
                pairs.for_each(|(weight, share)| *weight *= share);
            }
            self.weighted_gram(&weights, &mut gram);
            for i in 0..p {
                for j in 0..=i {
                    out[(k * p + i) * classes * p + l * p + j] = gram[i * p + j];
                    out[(k * p + j) * classes * p + l * p + i] = gram[i * p + j];
                }
            }
        }
    }

    /// The same records with some of the features alone, without a row norm; sparse records stay sparse. Which ones
    /// must be public, or paid for.
    pub(in crate::privacy) fn restricted(&self, features: &[u32]) -> Self {
        self.with_features(features, self.schema.restricted(features))
    }

    /// The same records with the features alone that vary, and the same bound on the norm of a row; sparse records stay
    /// sparse. The others are public, and 0.
    pub(in crate::privacy) fn varying(&self) -> Self {
        let features = self.schema.varying();
        self.with_features(&features, self.schema.with_features(&features))
    }

    fn with_features(&self, features: &[u32], schema: Schema) -> Self {
        let n = self.n_records();
        let stored = match &self.features {
            Features::Dense(columns) => Features::Dense(columns.picked(features)),
            Features::Packed(packed) => match packed.restricted(features) {
                Some(packed) => Features::Packed(packed),
                None => Features::Dense(self.dense_columns().picked(features)),
            },
            Features::Sparse { columns, base, .. } => {
                let columns = columns.picked(features);
                Features::Sparse {
                    rows: columns.transposed(n),
                    columns,
                    base: features.iter().map(|&j| base[j as usize]).collect(),
                }
            }
        };
        Self {
            schema,
            targets: self.targets.clone(),
            features: stored,
            weights: self.weights.clone(),
        }
    }

    /// A copy of all features, as dense columns.
    pub(in crate::privacy) fn dense_columns(&self) -> Columns {
        let (n, p) = (self.n_records(), self.schema.n_features());
        match &self.features {
            Features::Dense(columns) => columns.mapped(|_, line, copy| *copy = *line),
            Features::Packed(packed) => {
                Columns::of_columns(n, p, |j, start, out| packed.fill(j, start, out))
            }
            Features::Sparse { rows, base, .. } => Columns::new(n, p, |start, lines| {
                let strips = (start..n).step_by(LINE).zip(lines.chunks_exact_mut(p));
                for (start, strip) in strips {
                    for (line, &base) in strip.iter_mut().zip(base) {
                        line.fill(base);
                    }
                    for i in start..n.min(start + LINE) {
                        for (j, value) in rows.line(i) {
                            // base + value is the lattice value, in [-16383, 16383].
                            strip[j][i - start] = (i64::from(base[j]) + value) as i16;
                        }
                    }
                }
            }),
        }
    }

    /// The records at ascending positions.
    pub(in crate::privacy) fn rows(&self, positions: &[u32]) -> Self {
        let features = match &self.features {
            Features::Dense(columns) => Features::Dense(columns.rows(positions)),
            Features::Packed(packed) => Features::Packed(packed.rows(positions)),
            Features::Sparse { rows, base, .. } => {
                let rows = rows.picked(positions);
                Features::Sparse {
                    columns: rows.transposed(base.len()),
                    rows,
                    base: base.clone(),
                }
            }
        };
        let targets = positions.iter().map(|&i| self.targets[i as usize]);
        Self {
            schema: self.schema.clone(),
            targets: targets.collect(),
            features,
            weights: (self.weights.as_ref()).map(|weights| weights.picked(positions)),
        }
    }

    /// The same where the rest is of no more use: dense records in memory move up within it, so that there never is
    /// more than all of them.
    pub(in crate::privacy) fn into_rows(self, positions: &[u32]) -> Self {
        let Features::Dense(columns) = self.features else {
            return self.rows(positions);
        };
        Self {
            features: Features::Dense(columns.into_rows(positions)),
            targets: (positions.iter().map(|&i| self.targets[i as usize])).collect(),
            weights: (self.weights.as_ref()).map(|weights| weights.picked(positions)),
            schema: self.schema,
        }
    }

    /// The scaled features of record i, the intercept last.
    pub(in crate::privacy) fn fill_row(&self, i: usize, row: &mut [f64]) {
        let p = self.schema.n_features();
        let unit = 1.0 / f64::from(MAX_FEATURE);
        match &self.features {
            Features::Dense(columns) => {
                for (j, out) in row[..p].iter_mut().enumerate() {
                    *out = f64::from(columns.at(i, j)) * unit;
                }
            }
            Features::Packed(packed) => {
                packed.for_each_entry(i, |j, x| row[j] = f64::from(x) * unit);
            }
            Features::Sparse { rows, base, .. } => {
                for (out, &base) in row.iter_mut().zip(base) {
                    *out = f64::from(base) * unit;
                }
                for (j, value) in rows.line(i) {
                    row[j] = (i64::from(base[j]) + value) as f64 * unit;
                }
            }
        }
        if self.schema.has_intercept() {
            row[p] = self.schema.intercept_value();
        }
    }

    /// Scaled features of `size` records from `start`, column by column in strides of BLOCK.
    fn fill_block(&self, start: usize, size: usize, block: &mut [f64]) {
        let p = self.schema.n_features();
        let unit = 1.0 / f64::from(MAX_FEATURE);
        match &self.features {
            Features::Dense(_) | Features::Packed(_) => {
                self.fetch(start..start + size);
                let columns = block[..p * BLOCK].par_chunks_mut(BLOCK).enumerate();
                columns
                    .with_min_len(COLUMNS)
                    .for_each_init(Vec::new, |scratch, (j, out)| {
                        let column = self.column(j, start..start + size, scratch);
                        for_wide_vectors(
                            #[inline(always)]
                            || {
                                for (out, &x) in out.iter_mut().zip(column) {
                                    *out = f64::from(x) * unit;
                                }
                            },
                        );
                    });
            }
            Features::Sparse { rows, base, .. } => {
                for (out, &base) in block.chunks_mut(BLOCK).zip(base) {
                    out[..size].fill(f64::from(base) * unit);
                }
                for i in 0..size {
                    for (j, value) in rows.line(start + i) {
                        block[j * BLOCK + i] = (i64::from(base[j]) + value) as f64 * unit;
                    }
                }
            }
        }
        if self.schema.has_intercept() {
            block[p * BLOCK..][..size].fill(self.schema.intercept_value());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Logistic;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::schema::{Bounds, Geometry, Target};
    use ndarray::Array2;

    const P: usize = 3;

    /// Beyond a block of records, in every storage, with a column of which zero is no value.
    fn records(target: Target) -> [BoundedData; 3] {
        let bounds = Bounds {
            lower: vec![-1.0, 0.5, -2.0],
            upper: vec![1.0, 2.0, 2.0],
        };
        let schema = Schema::new(P, bounds, Geometry::Uncentred, target, true, None).unwrap();
        let schema = schema.with_intercept_value(0.5).unwrap();
        let x = Array2::from_shape_fn((BLOCK + 90, P), |(i, j)| {
            ((i * 29 + j * 13) % 9).saturating_sub(3) as f64 / 3.0
        });
        all_kinds(&x, &schema)
    }

    fn row(data: &BoundedData, i: usize) -> [f64; P + 1] {
        let mut row = [0.0; P + 1];
        data.fill_row(i, &mut row);
        row
    }

    fn close(ours: f64, truth: f64) {
        assert!(
            (ours - truth).abs() <= 1e-9 * (1.0 + truth.abs()),
            "{ours} {truth}"
        );
    }

    #[test]
    fn second_moments_are_those_of_the_rows() {
        let weight = |i: usize| (i % 7) as f64 / 7.0;
        for data in records(Target::Classes) {
            let n = data.n_records();
            let weights: Vec<f64> = (0..n).map(weight).collect();
            let columns = data.n_columns();
            let mut gram = vec![9.0; columns * columns];
            data.weighted_gram(&weights, &mut gram);
            for j in 0..columns {
                for k in 0..=j {
                    let term = |i| weight(i) * row(&data, i)[j] * row(&data, i)[k];
                    close(gram[j * columns + k], (0..n).map(term).sum());
                }
            }
        }
    }

    /// All of the rows' entries are those of the lattice, so that the moments above are.
    #[test]
    fn rows_are_lattice_values() {
        let [dense, by_rows, by_columns] = records(Target::Classes);
        let Features::Dense(columns) = &dense.features else {
            panic!("dense");
        };
        for data in [&dense, &by_rows, &by_columns] {
            let n = data.n_records();
            for i in 0..n {
                let row = row(data, i);
                for (j, x) in row[..P].iter().enumerate() {
                    close(*x, f64::from(columns.at(i, j)) / 16_383.0);
                }
                assert_eq!(row[P], data.schema.intercept_value());
            }
        }
    }

    #[test]
    fn curvature_of_classes_is_that_of_the_probabilities() {
        let classes = 3;
        let target = Target::Multiclass { classes };
        let model = RoomModel::for_target(&Logistic.into(), None, target).unwrap();
        let classes = classes as usize;
        for data in records(target) {
            let (n, p) = (data.n_records(), data.n_columns());
            let own: Vec<f64> = (0..n).map(|i| (i % 5) as f64 / 2.0).collect();
            let data = BoundedData {
                weights: Some(
                    crate::privacy::record_weights::RecordWeights::new(&own, n, 2.0).unwrap(),
                ),
                ..data
            };
            let scores: Vec<f64> = (0..classes * n)
                .map(|k| (k % 13) as f64 / 6.0 - 1.0)
                .collect();
            let probability = |i: usize, k: usize| {
                let part = |k: usize| scores[k * n + i].exp();
                part(k) / (0..classes).map(part).sum::<f64>()
            };
            let size = classes * p;
            let mut out = vec![0.0; size * size];
            data.curvature_of_classes(&model, 0.7, &scores, &mut out);
            for (a, b) in (0..size).flat_map(|a| (0..=a).map(move |b| (a, b))) {
                let (k, l) = (a / p, b / p);
                let term = |i: usize| {
                    let own = if k == l { 1.0 } else { 0.0 };
                    let row = row(&data, i);
                    let weight = probability(i, k) * (own - probability(i, l)) * data.share(i);
                    0.7 * weight * row[a % p] * row[b % p]
                };
                close(out[a * size + b], (0..n).map(term).sum());
            }
        }
    }
}

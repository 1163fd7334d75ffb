//! A public affine map of every feature, onto records of another schema.

use rayon::prelude::*;

use super::bounded_data::{BoundedData, Features};
use super::lines::Lines;
use super::row_norm::RowNorm;
use super::schema::Schema;
use crate::error::Result;
use crate::numeric::kernel::MAX_FEATURE;

/// Records per piece of work.
const CHUNK: usize = 4096;

/// x_j -> clamp(factor_j x_j + shift_j, -limit, limit)/norm, in scaled units.
///
/// The map is public: fixed beforehand, or released. Then the image of a record depends on the record alone, in every
/// storage: neighbouring records stay neighbouring.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureMap {
    factor: Vec<f64>,
    shift: Vec<f64>,
    limit: f64,
    norm: f64,
}

impl FeatureMap {
    /// The map with these constants and norm 1; one factor and one shift a feature.
    pub fn new(factor: Vec<f64>, shift: Vec<f64>, limit: f64) -> Self {
        debug_assert_eq!(factor.len(), shift.len());
        Self {
            factor,
            shift,
            limit,
            norm: 1.0,
        }
    }

    /// x_j -> factor_j x_j.
    pub fn linear(factor: Vec<f64>) -> Self {
        let shift = vec![0.0; factor.len()];
        Self::new(factor, shift, f64::INFINITY)
    }

    /// The same map with its image divided by `norm`.
    pub fn divided_by(self, norm: f64) -> Self {
        Self { norm, ..self }
    }

    /// A bound on the norm of the image of any record of `schema`, positive.
    pub(in crate::privacy) fn largest_norm(&self, schema: &Schema) -> f64 {
        let entry = |(factor, shift): (&f64, &f64)| (factor.abs() + shift.abs()).min(self.limit);
        let entries = self.factor.iter().zip(&self.shift).map(entry);
        let by_entries = entries.map(|entry| entry * entry).sum::<f64>().sqrt();
        let moved = self.shift.iter().any(|&shift| shift != 0.0);
        let largest = match schema.row_norm() {
            Some(norm) if !moved => {
                let factor = self.factor.iter().fold(0.0f64, |m, f| m.max(f.abs()));
                by_entries.min(norm * factor)
            }
            _ => by_entries,
        };
        largest.max(f64::MIN_POSITIVE) / self.norm
    }

    #[inline(always)]
    fn value(&self, x: f64, j: usize) -> f64 {
        (x * self.factor[j] + self.shift[j]).clamp(-self.limit, self.limit) / self.norm
    }

    fn lattice_value(&self, x: i64, j: usize) -> i16 {
        let unit = f64::from(MAX_FEATURE);
        // Rounded to the nearest integer in [-16383, 16383].
        (self.value(x as f64 / unit, j) * unit)
            .round()
            .clamp(-unit, unit) as i16
    }

    /// Whether unstored zeros stay zero.
    fn keeps_zeros(&self, base: &[i16]) -> bool {
        base.iter().all(|&base| base == 0) && self.shift.iter().all(|&shift| shift == 0.0)
    }

    /// |image of x_i|_2 of every record, one record's sum in the order of the features.
    pub(in crate::privacy) fn norms(&self, data: &BoundedData) -> Vec<f64> {
        let n = data.n_records();
        let unit = f64::from(MAX_FEATURE);
        let mut squares = vec![0.0; n];
        match &data.features {
            Features::Dense(columns) => {
                squares
                    .par_chunks_mut(CHUNK)
                    .enumerate()
                    .for_each(|(chunk, squares)| {
                        for (j, column) in columns.chunks_exact(n).enumerate() {
                            let part = &column[chunk * CHUNK..][..squares.len()];
                            for (square, &x) in squares.iter_mut().zip(part) {
                                let value = self.value(f64::from(x) / unit, j);
                                *square += value * value;
                            }
                        }
                    });
            }
            Features::Sparse { rows, base, .. } if self.keeps_zeros(base) => {
                squares
                    .par_iter_mut()
                    .enumerate()
                    .with_min_len(64)
                    .for_each(|(i, square)| {
                        for (j, x) in rows.line(i) {
                            let value = self.value(x as f64 / unit, j);
                            *square += value * value;
                        }
                    });
            }
            Features::Sparse { .. } => return self.norms(&data.dense()),
        }
        squares.iter().map(|square| square.sqrt()).collect()
    }

    /// The images of the records, under `schema`, whose row norm they are shortened to; sparse records stay sparse where
    /// zeros stay zero.
    ///
    /// # Errors
    /// [`crate::Error::InvalidData`] where rows cannot be shortened.
    pub fn apply(&self, data: &BoundedData, schema: &Schema) -> Result<BoundedData> {
        let n = data.n_records();
        let features = match &data.features {
            Features::Dense(columns) => {
                let mut mapped = vec![0i16; columns.len()];
                (mapped.par_chunks_mut(n))
                    .zip(columns.par_chunks(n))
                    .enumerate()
                    .for_each(|(j, (out, column))| {
                        for (out, &x) in out.iter_mut().zip(column) {
                            *out = self.lattice_value(i64::from(x), j);
                        }
                    });
                if let Some(norm) = RowNorm::of(schema) {
                    norm.shorten_dense(&mut mapped, n)?;
                }
                Features::Dense(mapped)
            }
            Features::Sparse { rows, base, .. } if self.keeps_zeros(base) => {
                let mut values = vec![0i16; rows.values.len()];
                (values.par_iter_mut())
                    .zip(rows.indices.par_iter().zip(&rows.values))
                    .for_each(|(out, (&j, &x))| {
                        *out = self.lattice_value(i64::from(x), j as usize);
                    });
                let mut rows = Lines {
                    starts: rows.starts.clone(),
                    indices: rows.indices.clone(),
                    values,
                };
                if let Some(norm) = RowNorm::of(schema) {
                    norm.shorten_rows(&mut rows)?;
                }
                Features::Sparse {
                    columns: rows.transposed(schema.n_features()),
                    rows,
                    base: base.clone(),
                }
            }
            Features::Sparse { .. } => return self.apply(&data.dense(), schema),
        };
        Ok(BoundedData {
            schema: schema.clone(),
            targets: data.targets.clone(),
            features,
        })
    }

    /// Turns coefficients for the images, of schema `from`, into those for the records themselves, of schema `to`.
    ///
    /// Clipping aside, sum theta_j (factor_j x_j + shift_j)/norm + theta_p c is linear in x; the constant part joins the
    /// intercept. Without an intercept shifts must be 0.
    pub fn undo(&self, theta: &mut [f64], from: &Schema, to: &Schema) {
        let (features, intercept) = theta.split_at_mut(self.factor.len());
        let mut constant = 0.0;
        for ((theta, factor), shift) in features.iter_mut().zip(&self.factor).zip(&self.shift) {
            constant += *theta * shift / self.norm;
            *theta *= factor / self.norm;
        }
        if let [intercept] = intercept {
            let constant = constant + *intercept * from.intercept_value();
            *intercept = constant / to.intercept_value();
        }
    }
}

//! Rows shortened to a public Euclidean norm, in integers (MECHANISMS M1).

use rayon::prelude::*;

use super::lines::Lines;
use super::schema::Schema;
use crate::error::{Error, Result};
use crate::numeric::kernel::MAX_FEATURE;

/// Records per piece of work.
const CHUNK: usize = 4096;

/// sum_j x_ij^2 <= R^2 for every row, R = floor(16383 row_norm).
#[derive(Clone, Copy)]
pub(super) struct RowNorm {
    bound: f64,
}

impl RowNorm {
    /// The bound of a schema that has one.
    pub(super) fn of(schema: &Schema) -> Option<Self> {
        let bound = |norm: f64| (norm * f64::from(MAX_FEATURE)).floor();
        schema.row_norm().map(|norm| Self { bound: bound(norm) })
    }

    fn exceeded_by(self, square: i64) -> bool {
        i128::from(square) > (self.bound as i128).saturating_pow(2)
    }

    /// What the entries of a row with this sum of squares are multiplied by: 1 for a short one.
    fn factor(self, square: i64) -> f64 {
        if self.exceeded_by(square) {
            self.bound / (square as f64).sqrt() * (1.0 - 1e-12)
        } else {
            1.0
        }
    }

    /// Truncation moves towards zero: |new| <= |old| factor (1 + 2^-52), so the norm ends below the bound.
    /// Checked all the same.
    fn check(self, square: i64) -> Result<()> {
        if self.exceeded_by(square) {
            let problem = "rows could not be shortened to row_norm";
            return Err(Error::InvalidData(problem.into()));
        }
        Ok(())
    }

    /// Columns of `n` records one after the other.
    pub(super) fn shorten_dense(self, columns: &mut [i16], n: usize) -> Result<()> {
        let factors: Vec<f64> = squares(columns, n)
            .into_iter()
            .map(|square| self.factor(square))
            .collect();
        columns.par_chunks_exact_mut(n).for_each(|column| {
            for (value, &factor) in column.iter_mut().zip(&factors) {
                shorten(value, factor);
            }
        });
        let mut squares = squares(columns, n).into_iter();
        squares.try_for_each(|square| self.check(square))
    }

    /// Compressed rows; an unstored entry must be 0.
    pub(super) fn shorten_rows(self, rows: &mut Lines) -> Result<()> {
        let square = |row: &[i16]| row.iter().map(|&value| square(value)).sum::<i64>();
        let rows: Vec<&mut [i16]> = rows.values_mut().collect();
        rows.into_par_iter().try_for_each(|row| {
            let factor = self.factor(square(row));
            row.iter_mut().for_each(|value| shorten(value, factor));
            self.check(square(row))
        })
    }
}

fn shorten(value: &mut i16, factor: f64) {
    if factor < 1.0 {
        *value = (f64::from(*value) * factor) as i16;
    }
}

fn square(value: i16) -> i64 {
    i64::from(value) * i64::from(value)
}

/// sum_j x_ij^2 of every record: p < 2^32 entries below 2^28 each stay below 2^60.
fn squares(columns: &[i16], n: usize) -> Vec<i64> {
    let mut squares = vec![0i64; n];
    squares
        .par_chunks_mut(CHUNK)
        .enumerate()
        .for_each(|(chunk, squares)| {
            for column in columns.chunks_exact(n) {
                let part = &column[chunk * CHUNK..][..squares.len()];
                for (sum, &value) in squares.iter_mut().zip(part) {
                    *sum += square(value);
                }
            }
        });
    squares
}

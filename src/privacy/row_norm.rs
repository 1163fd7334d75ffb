//! Rows shortened to a public Euclidean norm, in integers ([`crate::theory_of_privacy::records`]).

use rayon::prelude::*;

use super::bounded_data::{BoundedData, Features};
use super::columns::Columns;
use super::lines::Lines;
use super::row_weight::RowWeight;
use crate::numeric::kernel::{MAX_FEATURE, add_squares, for_wide_vectors, truncate};
use crate::numeric::pieces::for_each_piece;
use crate::numeric::strips::{LINE, Line, Strips};
use crate::schema::Schema;

/// Records per piece of work.
const CHUNK: usize = 4096;

/// sum_j x_ij^2 <= R^2 for every row, R = floor(16383 row_norm).
#[derive(Clone, Copy)]
pub(super) struct RowNorm {
    bound: f64,
    /// Its square: what squares of a row that is left as it is add up to at most.
    most: i64,
}

impl RowNorm {
    /// The bound of a schema that has one.
    pub(super) fn of(schema: &Schema) -> Option<Self> {
        schema.row_norm().map(Self::new)
    }

    /// The bound of a norm in scaled units.
    pub(super) fn new(norm: f64) -> Self {
        let bound = (norm * f64::from(MAX_FEATURE)).floor();
        let most = i64::try_from((bound as i128).saturating_pow(2)).unwrap_or(i64::MAX);
        Self { bound, most }
    }

    /// How often each record counts in a gradient: w with w |(x_i, c)|_2 <= |(R, c)|_2, c the lattice value of the
    /// intercept's column; None where the schema shortens rows or bounds nothing.
    ///
    /// A function of record i and public facts. Rounded down, so that |trunc(w d)| |(x_i, c)|_2 <= |d| |(R, c)|_2.
    /// Squares of no row add up to 2^61 with that of the intercept, nor do those of the bound.
    pub(super) fn gradient_weights(data: &BoundedData) -> Option<Vec<RowWeight>> {
        let norm = data.schema.lattice_gradient_norm()? as i64;
        let intercept = square(data.schema.lattice_intercept());
        let most = norm * norm + intercept;
        let n = data.n_records();
        let squares = match &data.features {
            Features::Dense(columns) => squares(columns),
            Features::Packed(packed) => packed.sums(|_, x| square(x)),
            Features::Sparse { rows, base, .. } => {
                let base_square: i64 = base.iter().map(|&base| square(base)).sum();
                let change = |(j, value): (usize, i64)| {
                    value * (value + 2 * i64::from(base[j])) // (base + value)^2 - base^2
                };
                (0..n)
                    .into_par_iter()
                    .with_min_len(64)
                    .map(|i| base_square + rows.line(i).map(change).sum::<i64>())
                    .collect()
            }
        };
        let mut weights = vec![RowWeight::ONE; n];
        let pieces = weights.par_chunks_mut(CHUNK).zip(squares.par_chunks(CHUNK));
        for_each_piece(n, pieces, |(weights, squares)| {
            for_wide_vectors(
                #[inline(always)]
                || {
                    for (weight, &square) in weights.iter_mut().zip(squares) {
                        *weight = RowWeight::new(square + intercept, most);
                    }
                },
            );
        });
        Some(weights)
    }

    /// Whether rows whose squares add up to this are left as they are.
    pub(super) fn covers(self, square: i64) -> bool {
        !self.exceeded_by(square)
    }

    fn exceeded_by(self, square: i64) -> bool {
        square > self.most
    }

    /// What the entries of a row with this sum of squares are multiplied by: 1 for a short one.
    pub(super) fn factor(self, square: i64) -> f64 {
        if self.exceeded_by(square) {
            self.bound / (square as f64).sqrt() * (1.0 - 1e-12)
        } else {
            1.0
        }
    }

    /// Truncation moves towards zero: |new| <= |old| factor (1 + 2^-52), so the norm ends below the bound. Checked all
    /// the same: nothing is left of a row that is longer still. An error would tell of one record.
    pub(super) fn check(self, square: i64) -> f64 {
        if self.exceeded_by(square) { 0.0 } else { 1.0 }
    }

    /// All rows of columns.
    pub(super) fn shorten_dense(self, columns: &mut Columns) {
        let p = columns.n_columns();
        columns.change_strips(|_, lines| self.shorten_strips(lines, p));
    }

    /// All rows of strips of so many columns.
    pub(super) fn shorten_strips(self, lines: &mut [Line], columns: usize) {
        let mut squares = vec![0i64; lines.len() / columns.max(1) * LINE];
        for factor in [Self::factor, Self::check] {
            squares.fill(0);
            add_squares(Strips::new(lines, columns), &mut squares);
            let factors: Vec<f64> = squares.iter().map(|&square| factor(self, square)).collect();
            if factors.iter().all(|&factor| factor == 1.0) {
                continue;
            }
            let strips = lines.chunks_exact_mut(columns).zip(factors.as_chunks().0);
            for_wide_vectors(
                #[inline(always)]
                || {
                    for (strip, factors) in strips {
                        strip
                            .iter_mut()
                            .for_each(|line| shorten_line(line, factors));
                    }
                },
            );
        }
    }

    /// Compressed rows; an unstored entry must be 0.
    pub(super) fn shorten_rows(self, rows: &mut Lines) {
        let rows: Vec<&mut [i16]> = rows.values_mut().collect();
        rows.into_par_iter().for_each(|row| self.shorten_row(row));
    }

    /// One row.
    pub(super) fn shorten_row(self, row: &mut [i16]) {
        for factor in [Self::factor, Self::check] {
            let factor = factor(self, row.iter().map(|&value| square(value)).sum());
            if factor < 1.0 {
                row.iter_mut().for_each(|value| shorten(value, factor));
            }
        }
    }
}

#[inline(always)]
fn shorten_line(line: &mut Line, factors: &[f64; LINE]) {
    for (value, &factor) in line.iter_mut().zip(factors) {
        shorten(value, factor);
    }
}

/// What is multiplied by 1 stays as it is.
#[inline(always)]
fn shorten(value: &mut i16, factor: f64) {
    *value = truncate(f64::from(*value) * factor);
}

fn square(value: i16) -> i64 {
    i64::from(value) * i64::from(value)
}

/// sum_j x_ij^2 of every record: p < 2^32 entries below 2^28 each stay below 2^60.
fn squares(columns: &Columns) -> Vec<i64> {
    let mut squares = vec![0i64; columns.n_records()];
    let entries = columns.n_records() * columns.n_columns();
    let pieces = squares.par_chunks_mut(CHUNK).enumerate();
    for_each_piece(entries, pieces, |(chunk, squares)| {
        add_squares(columns.strips().from_record(chunk * CHUNK), squares);
    });
    squares
}

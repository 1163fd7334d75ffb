//! Eigenvectors of symmetric matrices by all threads, with the same bits on any number of them.
//!
//! Householder's tridiagonal form, then implicit QL steps (Wilkinson & Reinsch 1971, tred2 and tql2). Every row of the
//! eigenvectors goes through the same reflections and rotations, whatever the other rows are: they are recorded, and
//! then made on a few rows at a time, which stay in the nearest cache. A library's are as fast on one thread (faer),
//! but it chooses its instructions by the processor, and rounds as they do: seeded models could differ between
//! machines.

use nalgebra::{DMatrix, DVector, Dyn, SymmetricEigen};
use rayon::prelude::*;

use super::kernel::for_wide_vectors;
use super::linear::{dot, norm2};
use super::pieces::for_each_piece;

/// Rows per piece of work: two of the widest vectors.
const ROWS: usize = 16;

/// Rotations that are recorded before they are made: a megabyte.
const MOST: usize = 1 << 16;

/// Steps for one eigenvalue, of which two are usual: beyond them it is taken as it is.
const STEPS: usize = 60;

/// One column of a piece.
type Column = [f64; ROWS];

/// Eigenvalues, in no order, and eigenvectors of a symmetric matrix whose squared entries are finite.
pub(crate) fn symmetric_eigen(matrix: DMatrix<f64>) -> SymmetricEigen<f64, Dyn> {
    let n = matrix.nrows();
    let mut form = Tridiagonal::of(matrix);
    let mut pieces: Vec<Vec<Column>> = (0..n).step_by(ROWS).map(|i| unit_rows(i, n)).collect();
    let all = n * n * n;
    for_each_piece(all, pieces.par_iter_mut(), |rows| {
        for_wide_vectors(
            #[inline(always)]
            || form.reflect(rows),
        )
    });
    form.diagonalise(|turns| {
        for_each_piece(all, pieces.par_iter_mut(), |rows| {
            for_wide_vectors(
                #[inline(always)]
                || turns.rotate(rows),
            )
        });
    });
    SymmetricEigen {
        eigenvectors: DMatrix::from_fn(n, n, |i, j| pieces[i / ROWS][j][i % ROWS]),
        eigenvalues: DVector::from_vec(form.diagonal),
    }
}

/// Rows of the identity from row `first` on; zeros beyond the last one.
fn unit_rows(first: usize, n: usize) -> Vec<Column> {
    let mut rows = vec![[0.0; ROWS]; n];
    let own = rows[first..].iter_mut().take(ROWS);
    own.enumerate().for_each(|(k, column)| column[k] = 1.0);
    rows
}

/// Q' A Q, Q the product of the reflections I - v v'.
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// Beside the diagonal; then 0.
    beside: Vec<f64>,
    /// The v of each reflection, from its first entry that is not 0 on: entry k + 1 of reflection k.
    reflections: Vec<Vec<f64>>,
}

impl Tridiagonal {
    fn of(mut matrix: DMatrix<f64>) -> Self {
        let n = matrix.nrows();
        let (mut beside, mut reflections) = (vec![0.0; n], Vec::with_capacity(n));
        // What the last reflection leaves to be taken off the columns behind it: v w' + w v'.
        let (mut v, mut w) = (vec![0.0; n], vec![0.0; n]);
        let mut image = vec![0.0; n];
        let entries = matrix.as_mut_slice();
        for k in 0..n {
            let (next, after) = entries[k * n..].split_at_mut(n);
            subtract(&mut next[k..], (&v[k..], w[k]), (&w[k..], v[k]));
            let Some(column) = next.get(k + 1..).filter(|column| !column.is_empty()) else {
                continue;
            };
            let (reflection, left) = reflection(column);
            beside[k] = left;
            image[k + 1..].fill(0.0);
            let (left, image_here) = ((&v[k + 1..], &w[k + 1..]), &mut image[k + 1..]);
            let behind = after.chunks_exact_mut(n).map(|column| &mut column[k + 1..]);
            for_wide_vectors(
                #[inline(always)]
                || walk(behind, left, &reflection, image_here),
            );
            v[k + 1..].copy_from_slice(&reflection);
            let half = 0.5 * dot(&reflection, &image[k + 1..]);
            for ((w, image), v) in w[k + 1..].iter_mut().zip(&image[k + 1..]).zip(&reflection) {
                *w = image - half * v;
            }
            reflections.push(reflection);
        }
        Self {
            diagonal: matrix.diagonal().as_slice().to_vec(),
            beside,
            reflections,
        }
    }

    /// Rows times Q. Each walk takes one v off the columns and has their products with the next one.
    #[inline(always)]
    fn reflect(&self, rows: &mut [Column]) {
        let (zeros, mut products) = (vec![0.0; rows.len()], [0.0; ROWS]);
        let mut v = &zeros;
        for (k, next) in self.reflections.iter().enumerate() {
            rows[k] = combined(&rows[k], &products, -v[0]);
            let mut sums = [0.0; ROWS];
            for ((column, v), next) in rows[k + 1..].iter_mut().zip(&v[1..]).zip(next) {
                *column = combined(column, &products, -v);
                sums = combined(&sums, column, *next);
            }
            (v, products) = (next, sums);
        }
        if let ([.., last], [v]) = (rows, &v[..]) {
            *last = combined(last, &products, -v);
        }
    }

    /// Rotates until nothing stands beside the diagonal; `make` is called with rotations in their order.
    fn diagonalise(&mut self, mut make: impl FnMut(&Rotations)) {
        let mut rotations = Rotations::default();
        for first in 0..self.diagonal.len() {
            for _ in 0..STEPS {
                let last = self.end_of_block(first);
                if last == first {
                    break;
                }
                self.step(first, last, &mut rotations);
                if rotations.turns.len() > MOST {
                    make(&rotations);
                    rotations = Rotations::default();
                }
            }
        }
        make(&rotations);
    }

    /// The last row of the block that row `first` is in: what stands beside its diagonal is more than rounding.
    fn end_of_block(&self, first: usize) -> usize {
        let d = &self.diagonal;
        let last = d.len() - 1;
        let ends =
            |&i: &usize| self.beside[i].abs() <= f64::EPSILON * (d[i].abs() + d[i + 1].abs());
        (first..last).find(ends).unwrap_or(last)
    }

    /// One implicit QL step on the rows from `first` to `last`, shifted by an eigenvalue of the first two.
    fn step(&mut self, first: usize, last: usize, rotations: &mut Rotations) {
        let (d, e) = (&mut self.diagonal, &mut self.beside);
        let g = (d[first + 1] - d[first]) / (2.0 * e[first]);
        let shift = d[first] - e[first] / (g + g.hypot(1.0).copysign(g));
        let mut g = d[last] - shift;
        let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
        rotations.sweeps.push(last);
        for i in (first..last).rev() {
            let (f, b) = (s * e[i], c * e[i]);
            let r = f.hypot(g);
            e[i + 1] = r;
            if r == 0.0 {
                // The block falls into two.
                d[i + 1] -= p;
                e[last] = 0.0;
                rotations.ends.push(rotations.turns.len());
                return;
            }
            (s, c) = (f / r, g / r);
            g = d[i + 1] - p;
            let r = (d[i] - g) * s + 2.0 * c * b;
            p = s * r;
            d[i + 1] = g + p;
            g = c * r - b;
            rotations.turns.push((c, s));
        }
        d[first] -= p;
        e[first] = g;
        e[last] = 0.0;
        rotations.ends.push(rotations.turns.len());
    }
}

/// Rotations (c, s) of neighbouring columns, sweep by sweep, each from its last column to the one before and so on.
#[derive(Default)]
struct Rotations {
    turns: Vec<(f64, f64)>,
    /// The last column of every sweep, and where its rotations end.
    sweeps: Vec<usize>,
    ends: Vec<usize>,
}

impl Rotations {
    #[inline(always)]
    fn rotate(&self, rows: &mut [Column]) {
        let mut start = 0;
        for (&last, &end) in self.sweeps.iter().zip(&self.ends) {
            let turns = &self.turns[start..end];
            let columns = &mut rows[last - turns.len()..=last];
            let (mut right, mut i) = (columns[turns.len()], turns.len());
            for &(c, s) in turns {
                let left = columns[i - 1];
                for k in 0..ROWS {
                    columns[i][k] = s * left[k] + c * right[k];
                    right[k] = c * left[k] - s * right[k];
                }
                i -= 1;
            }
            columns[0] = right;
            start = end;
        }
    }
}

/// v with |v|^2 = 2, of the reflection I - v v' that leaves only a first entry of x, and this entry.
fn reflection(x: &[f64]) -> (Vec<f64>, f64) {
    let norm = norm2(x);
    if x[1..].iter().all(|&x| x == 0.0) {
        return (vec![0.0; x.len()], x[0]);
    }
    let left = -norm.copysign(x[0]);
    let mut v = x.to_vec();
    v[0] -= left;
    // |x - left e|^2 = 2 norm (norm + |x_0|)
    let scale = 1.0 / (norm * (norm + x[0].abs())).sqrt();
    v.iter_mut().for_each(|v| *v *= scale);
    (v, left)
}

/// a + factor b
#[inline(always)]
fn combined(a: &Column, b: &Column, factor: f64) -> Column {
    std::array::from_fn(|k| a[k] + factor * b[k])
}

/// column -= v a + w b
#[inline(always)]
fn subtract(column: &mut [f64], (v, a): (&[f64], f64), (w, b): (&[f64], f64)) {
    for ((x, v), w) in column.iter_mut().zip(v).zip(w) {
        *x -= v * a + w * b;
    }
}

/// Takes v w' + w v' off these columns, and adds their products with `next` to `image`.
#[inline(always)]
fn walk<'a>(
    columns: impl Iterator<Item = &'a mut [f64]>,
    (v, w): (&[f64], &[f64]),
    next: &[f64],
    image: &mut [f64],
) {
    for (j, column) in columns.enumerate() {
        let (a, b, factor) = (w[j], v[j], next[j]);
        let pairs = column.iter_mut().zip(image.iter_mut());
        for ((x, image), (v, w)) in pairs.zip(v.iter().zip(w)) {
            *x -= v * a + w * b;
            *image += factor * *x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As many rows as columns of small integers, which repeat, or of anything.
    fn matrices() -> impl Strategy<Value = DMatrix<f64>> {
        let entries = prop_oneof![
            prop::collection::vec((-2i8..3).prop_map(f64::from), 70 * 70),
            prop::collection::vec(-1e9..1e9f64, 70 * 70),
            Just(vec![0.0; 70 * 70]),
        ];
        // The last are so large that threads share them.
        let sizes = prop_oneof![9 => 1usize..40, 1 => 65usize..70];
        (sizes, entries, any::<bool>()).prop_map(|(n, entries, gram)| {
            let square = DMatrix::from_fn(n, n, |i, j| entries[70 * i + j]);
            match gram {
                true => &square * square.transpose(),
                false => &square + square.transpose(),
            }
        })
    }

    proptest! {
        /// V is orthogonal and V diag(values) V' is the matrix, and threads change no bit.
        #[test]
        fn eigenvectors_make_up_the_matrix(matrix in matrices()) {
            let n = matrix.nrows();
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| symmetric_eigen(matrix.clone()))
            };
            let (one, three) = (on(1), on(3));
            prop_assert_eq!(&one.eigenvectors, &three.eigenvectors);
            prop_assert_eq!(&one.eigenvalues, &three.eigenvalues);
            let vectors = &one.eigenvectors;
            let unit = vectors.transpose() * vectors - DMatrix::identity(n, n);
            prop_assert!(unit.amax() < 1e-13 * n as f64, "{unit}");
            let back = vectors * DMatrix::from_diagonal(&one.eigenvalues) * vectors.transpose();
            let error = (back - &matrix).amax();
            prop_assert!(error <= 1e-13 * n as f64 * matrix.amax(), "{error}");
            // What else is known to be right, which shares no code.
            let mut ours = one.eigenvalues.as_slice().to_vec();
            let mut others = matrix.clone().symmetric_eigenvalues().as_slice().to_vec();
            ours.sort_by(f64::total_cmp);
            others.sort_by(f64::total_cmp);
            for (ours, others) in ours.iter().zip(&others) {
                prop_assert!((ours - others).abs() <= 1e-13 * n as f64 * matrix.norm());
            }
        }
    }

    /// So large that rotations are made before all are known.
    #[test]
    fn rotations_may_be_made_in_several_turns() {
        let (n, mut state) = (300, 1u64);
        let square = DMatrix::from_fn(n, n, |_, _| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as f64 - 2f64.powi(30)
        });
        let matrix = &square + square.transpose();
        let mut turns = 0;
        Tridiagonal::of(matrix.clone()).diagonalise(|_| turns += 1);
        assert!(turns > 1);
        let found = symmetric_eigen(matrix.clone());
        let values = DMatrix::from_diagonal(&found.eigenvalues);
        let back = &found.eigenvectors * values * found.eigenvectors.transpose();
        assert!((back - &matrix).amax() < 1e-9 * matrix.norm());
    }
}

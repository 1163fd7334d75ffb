use crate::error::{Error, Result};
use crate::numeric::vectors::{add, add4, add4_weighted, dot, dot4, pair_products};
use rayon::prelude::*;
use std::borrow::Cow;

/// The matrix X of a linear model, as the solvers see it: n rows (records) and p columns (features).
///
/// An implementation is trusted to be linear; a type whose entries must stay hidden can implement it
/// privately.
///
/// ```
/// use dpsparse::solver::{DenseDesign, Design};
/// let x = DenseDesign::from_columns(2, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
/// let mut z = [0.0; 2];
/// x.multiply(&[1.0, 10.0], &mut z);
/// assert_eq!(z, [31.0, 42.0]);
/// ```
pub trait Design: Sync {
    /// n.
    fn n_rows(&self) -> usize;

    /// p.
    fn n_columns(&self) -> usize;

    /// Number of stored entries, a measure of the cost of one pass over X.
    fn n_stored(&self) -> usize;

    /// Most numbers that a linear system on part of the coordinates may hold: as many as X, and O(n + p), so that a fit
    /// takes the memory of the data and O(n + p).
    fn most_scratch(&self) -> usize {
        const PER_LINE: usize = 1024;
        self.n_stored()
            .min(PER_LINE * (self.n_rows() + self.n_columns()))
    }

    /// out = X theta; columns with theta_j = 0 cost nothing.
    fn multiply(&self, theta: &[f64], out: &mut [f64]);

    /// <x_j, v>.
    fn dot(&self, j: usize, v: &[f64]) -> f64;

    /// out_i += scale * h_i * x_ij.
    fn add_scaled(&self, j: usize, scale: f64, h: &[f64], out: &mut [f64]);

    /// out += sum_k scales_k x_j for the columns j = columns_k; those with scale 0 cost nothing.
    fn add_columns(&self, columns: &[usize], scales: &[f64], out: &mut [f64]);

    /// out_i += h_i sum_k scales_k x_ij for the columns j = columns_k.
    fn add_scaled_columns(&self, columns: &[usize], scales: &[f64], h: &[f64], out: &mut [f64]) {
        for (&j, &scale) in columns.iter().zip(scales).filter(|(_, s)| **s != 0.0) {
            self.add_scaled(j, scale, h, out);
        }
    }

    /// sum_i h_i x_ij x_ik of the pairs (1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2) of four columns, where four are
    /// better taken together than one after another; nothing where they are not.
    fn pair_products(&self, _columns: [usize; 4], _h: &[f64]) -> Option<[f64; 6]> {
        None
    }

    /// out_ab = sum_i h_i x_ia x_ib for the columns of `columns`, row by row in a square; `out` comes with zeros. Asked
    /// for only where [`Design::gram_cost`] is finite.
    fn gram(&self, _columns: &[usize], _h: &[f64], _out: &mut [f64]) {}

    /// Passes of coordinate descent over `columns` that cost as much as [`Design::gram`]; infinite where there is none.
    fn gram_cost(&self, _columns: &[usize]) -> f64 {
        f64::INFINITY
    }

    /// out_k = <x_j, v> for the columns j = columns_k.
    fn dot_columns(&self, columns: &[usize], v: &[f64], out: &mut [f64]) {
        for (out, &j) in out.iter_mut().zip(columns) {
            *out = self.dot(j, v);
        }
    }

    /// m = sum_i h_i x_ij / total and sum_i h_i (x_ij - m)^2, in two passes: no cancellation where a mean is
    /// far from 0. `total` is sum_i h_i > 0.
    fn centred_moments(&self, j: usize, h: &[f64], total: f64) -> (f64, f64);

    /// sum_i h_i x_ij^2.
    fn squared_norm(&self, j: usize, h: &[f64]) -> f64;

    /// out = X' v. No entry's arithmetic depends on the number of threads.
    fn transpose_multiply(&self, v: &[f64], out: &mut [f64]) {
        out.par_iter_mut()
            .with_min_len(64)
            .enumerate()
            .for_each(|(j, out)| *out = self.dot(j, v));
    }
}

fn check_finite(values: &[f64]) -> Result<()> {
    if values.iter().all(|v| v.is_finite()) {
        Ok(())
    } else {
        Err(Error::InvalidData("X contains NaN or infinity".into()))
    }
}

/// A dense matrix, columns contiguous, owned or borrowed.
#[derive(Debug, Clone)]
pub struct DenseDesign<'a> {
    n_rows: usize,
    n_columns: usize,
    data: Cow<'a, [f64]>,
}

impl<'a> DenseDesign<'a> {
    /// From the columns one after another (Fortran order), without a copy.
    ///
    /// # Errors
    /// No rows, no columns, a length that is no multiple of `n_rows`, or an entry that is not finite.
    ///
    /// ```
    /// use dpsparse::solver::{DenseDesign, Design};
    /// let columns = [1.0, 2.0, 3.0, 4.0];
    /// let x = DenseDesign::from_columns(2, &columns)?;
    /// assert_eq!(x.dot(1, &[1.0, 1.0]), 7.0);
    /// # Ok::<(), dpsparse::Error>(())
    /// ```
    pub fn from_columns(n_rows: usize, data: impl Into<Cow<'a, [f64]>>) -> Result<Self> {
        let data = data.into();
        check_finite(&data)?;
        Self::from_finite_columns(n_rows, data)
    }

    /// As [`DenseDesign::from_columns`] for entries that are known to be finite: a solver that meets others ends
    /// without a result that means anything.
    ///
    /// # Errors
    /// No rows, no columns, or a length that is no multiple of `n_rows`.
    pub fn from_finite_columns(n_rows: usize, data: impl Into<Cow<'a, [f64]>>) -> Result<Self> {
        let data = data.into();
        if n_rows == 0 || data.is_empty() || !data.len().is_multiple_of(n_rows) {
            return Err(Error::InvalidData(format!(
                "X needs at least one row and one column; got {} entries for {n_rows} rows",
                data.len()
            )));
        }
        Ok(Self {
            n_rows,
            n_columns: data.len() / n_rows,
            data,
        })
    }

    /// From the rows one after another (C order): one transposed copy.
    ///
    /// # Errors
    /// As [`DenseDesign::from_columns`].
    ///
    /// ```
    /// use dpsparse::solver::{DenseDesign, Design};
    /// let x = DenseDesign::from_rows(2, &[1.0, 2.0, 3.0, 4.0]).unwrap();
    /// assert_eq!(x.dot(1, &[1.0, 1.0]), 6.0);
    /// ```
    pub fn from_rows(n_rows: usize, rows: &[f64]) -> Result<Self> {
        let n_columns = rows.len() / n_rows.max(1);
        let mut data = vec![0.0; rows.len()];
        if n_columns * n_rows == rows.len() && n_rows > 0 {
            // Blocks of 16 columns: a cache line of every row is read once and written to 16 open columns.
            for (block, out) in data.chunks_mut(16 * n_rows).enumerate() {
                let first = 16 * block;
                for i in 0..n_rows {
                    let row = &rows[i * n_columns + first..];
                    for (column, &x) in out.chunks_exact_mut(n_rows).zip(row) {
                        column[i] = x;
                    }
                }
            }
        }
        Self::from_columns(n_rows, data)
    }

    #[inline]
    pub(super) fn column(&self, j: usize) -> &[f64] {
        &self.data[j * self.n_rows..(j + 1) * self.n_rows]
    }

    /// out += sum of scale * x_j over (j, scale), four columns at a time.
    #[inline]
    fn add(&self, terms: impl Iterator<Item = (usize, f64)>, out: &mut [f64]) {
        let (mut columns, mut scales) = ([0; 4], [0.0; 4]);
        let mut count = 0;
        for (j, scale) in terms.filter(|(_, scale)| *scale != 0.0) {
            (columns[count], scales[count]) = (j, scale);
            count += 1;
            if count == 4 {
                add4(columns.map(|j| self.column(j)), scales, out);
                count = 0;
            }
        }
        for (&j, &scale) in columns[..count].iter().zip(&scales) {
            add(self.column(j), scale, out);
        }
    }
}

impl Design for DenseDesign<'_> {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn n_columns(&self) -> usize {
        self.n_columns
    }

    fn n_stored(&self) -> usize {
        self.data.len()
    }

    fn multiply(&self, theta: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        self.add(theta.iter().copied().enumerate(), out);
    }

    #[inline]
    fn dot(&self, j: usize, v: &[f64]) -> f64 {
        dot(self.column(j), v)
    }

    #[inline]
    fn add_scaled(&self, j: usize, scale: f64, h: &[f64], out: &mut [f64]) {
        for ((out, h), x) in out.iter_mut().zip(h).zip(self.column(j)) {
            *out += scale * h * x;
        }
    }

    #[inline]
    fn add_columns(&self, columns: &[usize], scales: &[f64], out: &mut [f64]) {
        self.add(columns.iter().copied().zip(scales.iter().copied()), out);
    }

    fn add_scaled_columns(&self, columns: &[usize], scales: &[f64], h: &[f64], out: &mut [f64]) {
        let (fours, rest) = columns.as_chunks::<4>();
        let (scale_fours, scale_rest) = scales.as_chunks::<4>();
        for (columns, scales) in fours.iter().zip(scale_fours) {
            add4_weighted(columns.map(|j| self.column(j)), *scales, h, out);
        }
        for (&j, &scale) in rest.iter().zip(scale_rest) {
            self.add_scaled(j, scale, h, out);
        }
    }

    fn pair_products(&self, columns: [usize; 4], h: &[f64]) -> Option<[f64; 6]> {
        Some(pair_products(columns.map(|j| self.column(j)), h))
    }

    fn dot_columns(&self, columns: &[usize], v: &[f64], out: &mut [f64]) {
        let (fours, rest) = columns.as_chunks::<4>();
        let (out_fours, out_rest) = out.as_chunks_mut::<4>();
        for (out, columns) in out_fours.iter_mut().zip(fours) {
            *out = dot4(columns.map(|j| self.column(j)), v);
        }
        for (out, &j) in out_rest.iter_mut().zip(rest) {
            *out = self.dot(j, v);
        }
    }

    fn transpose_multiply(&self, v: &[f64], out: &mut [f64]) {
        (out.par_chunks_mut(4)
            .zip(self.data.par_chunks(4 * self.n_rows)))
        .with_min_len(16)
        .for_each(|(out, block)| {
            let mut columns = block.chunks_exact(self.n_rows);
            if let [a, b, c, d] = out {
                let four = [(); 4].map(|()| columns.next().unwrap_or_default());
                [*a, *b, *c, *d] = dot4(four, v);
            } else {
                for (out, column) in out.iter_mut().zip(columns) {
                    *out = dot(column, v);
                }
            }
        });
    }

    fn centred_moments(&self, j: usize, h: &[f64], total: f64) -> (f64, f64) {
        let column = self.column(j);
        let mean = dot(column, h) / total;
        let square = (column.iter().zip(h))
            .map(|(x, h)| h * (x - mean) * (x - mean))
            .sum();
        (mean, square)
    }

    fn squared_norm(&self, j: usize, h: &[f64]) -> f64 {
        self.column(j).iter().zip(h).map(|(x, h)| h * x * x).sum()
    }
}

/// Rows of which a Gram matrix takes the entries at a time.
const TILE: usize = 512;

/// A sparse matrix in compressed columns.
#[derive(Debug, Clone)]
pub struct CscDesign {
    n_rows: usize,
    starts: Vec<usize>,
    rows: Vec<usize>,
    values: Vec<f64>,
}

impl CscDesign {
    /// Column j holds `values[starts[j]..starts[j + 1]]` in the rows `rows[starts[j]..starts[j + 1]]`.
    ///
    /// # Errors
    /// An empty matrix, lengths that do not match, rows of a column that are not strictly increasing (sort
    /// them and sum duplicates) or lie outside the matrix, or a value that is not finite.
    ///
    /// ```
    /// use dpsparse::solver::{CscDesign, Design};
    /// let x = CscDesign::new(3, vec![0, 1, 2], vec![2, 0], vec![5.0, 7.0]).unwrap();
    /// assert_eq!(x.dot(0, &[0.0, 0.0, 1.0]), 5.0);
    /// assert!(CscDesign::new(3, vec![0, 2], vec![1, 1], vec![5.0, 7.0]).is_err());
    /// ```
    pub fn new(
        n_rows: usize,
        starts: Vec<usize>,
        rows: Vec<usize>,
        values: Vec<f64>,
    ) -> Result<Self> {
        let invalid = |text: &str| Err(Error::InvalidData(text.into()));
        if n_rows == 0 || starts.len() < 2 {
            return invalid("X needs at least one row and one column");
        }
        let ends_match = starts.first() == Some(&0) && starts.last() == Some(&rows.len());
        if !ends_match || rows.len() != values.len() || starts.windows(2).any(|w| w[0] > w[1]) {
            return invalid("the arrays of the sparse X do not fit each other");
        }
        for column in starts.windows(2) {
            let rows = &rows[column[0]..column[1]];
            if rows.windows(2).any(|w| w[0] >= w[1]) || rows.last().is_some_and(|&i| i >= n_rows) {
                return invalid(
                    "the rows of every sparse column must increase strictly and lie inside X: sort them, sum duplicates",
                );
            }
        }
        check_finite(&values)?;
        Ok(Self {
            n_rows,
            starts,
            rows,
            values,
        })
    }

    #[inline]
    pub(super) fn column(&self, j: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = self.starts[j]..self.starts[j + 1];
        let values = self.values[range.clone()].iter().copied();
        self.rows[range].iter().copied().zip(values)
    }
}

impl Design for CscDesign {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn n_columns(&self) -> usize {
        self.starts.len() - 1
    }

    fn n_stored(&self) -> usize {
        self.values.len()
    }

    fn multiply(&self, theta: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (j, &t) in theta.iter().enumerate().filter(|(_, t)| **t != 0.0) {
            for (i, x) in self.column(j) {
                out[i] += t * x;
            }
        }
    }

    #[inline]
    fn dot(&self, j: usize, v: &[f64]) -> f64 {
        let range = self.starts[j]..self.starts[j + 1];
        let (rows, last_rows) = self.rows[range.clone()].as_chunks::<4>();
        let (values, last_values) = self.values[range].as_chunks::<4>();
        // Four sums, of which none waits for another.
        let mut sums = [0.0; 4];
        for (rows, values) in rows.iter().zip(values) {
            for k in 0..4 {
                sums[k] += values[k] * v[rows[k]];
            }
        }
        for (k, (&i, x)) in last_rows.iter().zip(last_values).enumerate() {
            sums[k] += x * v[i];
        }
        (sums[0] + sums[1]) + (sums[2] + sums[3])
    }

    /// Row by row: a row with r entries in `columns` adds to r(r + 1)/2 products.
    fn gram(&self, columns: &[usize], h: &[f64], out: &mut [f64]) {
        let size = columns.len();
        let mut cursors: Vec<usize> = columns.iter().map(|&j| self.starts[j]).collect();
        let mut starts = Vec::new();
        let mut entries: Vec<(usize, f64)> = Vec::new();
        for (first, h) in (0..self.n_rows).step_by(TILE).zip(h.chunks(TILE)) {
            // The entries of these rows, row by row: their number, where each row starts, and then the entries.
            let column = |k: usize, from: usize| {
                let end = self.starts[columns[k] + 1];
                let rows = self.rows[from..end].iter().zip(&self.values[from..end]);
                rows.map(move |(i, x)| (i - first, *x))
                    .take_while(|(row, _)| *row < h.len())
            };
            starts.clear();
            starts.resize(h.len() + 1, 0);
            for (k, &from) in cursors.iter().enumerate() {
                column(k, from).for_each(|(row, _)| starts[row + 1] += 1);
            }
            for row in 0..h.len() {
                starts[row + 1] += starts[row];
            }
            entries.clear();
            entries.resize(starts[h.len()], (0, 0.0));
            for (k, cursor) in cursors.iter_mut().enumerate() {
                for (row, x) in column(k, *cursor) {
                    entries[starts[row]] = (k, x);
                    starts[row] += 1;
                    *cursor += 1;
                }
            }
            // Every start is now the end of its row.
            let mut start = 0;
            for (&end, h) in starts.iter().zip(h) {
                let row = &entries[start..end];
                for (at, &(a, x)) in row.iter().enumerate() {
                    let (products, scale) = (&mut out[a * size..=a * size + a], h * x);
                    for &(b, x) in &row[..=at] {
                        products[b] += scale * x;
                    }
                }
                start = end;
            }
        }
        for a in 0..size {
            for b in 0..a {
                out[b * size + a] = out[a * size + b];
            }
        }
    }

    fn gram_cost(&self, columns: &[usize]) -> f64 {
        let mut counts = vec![0u32; self.n_rows];
        let mut stored = 0;
        for &j in columns {
            let rows = &self.rows[self.starts[j]..self.starts[j + 1]];
            stored += rows.len();
            rows.iter().for_each(|&i| counts[i] += 1);
        }
        let products: f64 = counts.iter().map(|&r| 0.5 * f64::from(r).powi(2)).sum();
        // A pass reads an entry for the inner product, and most once more for the residual.
        products / (1.5 * stored.max(1) as f64)
    }

    #[inline]
    fn add_scaled(&self, j: usize, scale: f64, h: &[f64], out: &mut [f64]) {
        for (i, x) in self.column(j) {
            out[i] += scale * h[i] * x;
        }
    }

    fn add_columns(&self, columns: &[usize], scales: &[f64], out: &mut [f64]) {
        for (&j, &scale) in columns.iter().zip(scales).filter(|(_, s)| **s != 0.0) {
            for (i, x) in self.column(j) {
                out[i] += scale * x;
            }
        }
    }

    fn centred_moments(&self, j: usize, h: &[f64], total: f64) -> (f64, f64) {
        let mean = self.dot(j, h) / total;
        let (mut square, mut stored) = (0.0, 0.0);
        for (i, x) in self.column(j) {
            square += h[i] * (x - mean) * (x - mean);
            stored += h[i];
        }
        (mean, square + (total - stored).max(0.0) * mean * mean)
    }

    fn squared_norm(&self, j: usize, h: &[f64]) -> f64 {
        self.column(j).map(|(i, x)| h[i] * x * x).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn layouts_agree(
            n in 1..20usize,
            entries in prop::collection::vec(prop_oneof![Just(0.0), -3.0..3.0f64], 400),
        ) {
            let p = entries.len() / n;
            let rows = &entries[..n * p];
            let dense = DenseDesign::from_rows(n, rows).unwrap();
            let (mut starts, mut indices, mut values) = (vec![0], vec![], vec![]);
            for j in 0..p {
                for i in (0..n).filter(|i| rows[i * p + j] != 0.0) {
                    indices.push(i);
                    values.push(rows[i * p + j]);
                }
                starts.push(values.len());
            }
            let sparse = CscDesign::new(n, starts, indices, values).unwrap();
            let h: Vec<f64> = (0..n).map(|i| 0.5 + (i % 3) as f64).collect();
            let total = h.iter().sum();
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-10;
            for j in 0..p {
                prop_assert!(close(dense.dot(j, &h), sparse.dot(j, &h)));
                prop_assert!(close(dense.squared_norm(j, &h), sparse.squared_norm(j, &h)));
                let (a, b) = (dense.centred_moments(j, &h, total), sparse.centred_moments(j, &h, total));
                prop_assert!(close(a.0, b.0) && close(a.1, b.1));
                let (mut u, mut v) = (h.clone(), h.clone());
                dense.add_scaled(j, -1.5, &h, &mut u);
                sparse.add_scaled(j, -1.5, &h, &mut v);
                prop_assert!(u.iter().zip(&v).all(|(a, b)| close(*a, *b)));
            }
            let columns: Vec<usize> = (0..p).rev().step_by(2).collect();
            let size = columns.len();
            let mut gram = vec![0.0; size * size];
            sparse.gram(&columns, &h, &mut gram);
            for (a, &j) in columns.iter().enumerate() {
                let mut weighted = vec![0.0; n];
                dense.add_scaled(j, 1.0, &h, &mut weighted);
                for (b, &k) in columns.iter().enumerate() {
                    prop_assert!(close(gram[a * size + b], dense.dot(k, &weighted)));
                }
            }
            if p >= 4 {
                let columns = [3, 1, 0, 2];
                let pairs = dense.pair_products(columns, &h).unwrap();
                let mut sum = vec![1.0; n];
                dense.add_scaled_columns(&columns, &[1.0, -2.0, 0.0, 3.0], &h, &mut sum);
                let mut alone = vec![1.0; n];
                sparse.add_scaled_columns(&columns, &[1.0, -2.0, 0.0, 3.0], &h, &mut alone);
                prop_assert!(sum.iter().zip(&alone).all(|(a, b)| close(*a, *b)));
                let mut weighted = vec![0.0; n];
                dense.add_scaled(0, 1.0, &h, &mut weighted);
                prop_assert!(close(pairs[1], dense.dot(3, &weighted)));
                weighted.fill(0.0);
                dense.add_scaled(2, 1.0, &h, &mut weighted);
                prop_assert!(close(pairs[5], dense.dot(0, &weighted)));
            }
            let (mut u, mut v) = (vec![0.0; p], vec![0.0; p]);
            dense.transpose_multiply(&h, &mut u);
            sparse.transpose_multiply(&h, &mut v);
            prop_assert!(u.iter().zip(&v).all(|(a, b)| close(*a, *b)));
            let theta: Vec<f64> = (0..p).map(|j| (j % 4) as f64 - 1.0).collect();
            let (mut u, mut v) = (vec![1.0; n], vec![2.0; n]);
            dense.multiply(&theta, &mut u);
            sparse.multiply(&theta, &mut v);
            prop_assert!(u.iter().zip(&v).all(|(a, b)| close(*a, *b)));
        }
    }
}

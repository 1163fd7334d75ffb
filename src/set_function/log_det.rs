use ndarray::ArrayView2;

use super::{SetFunction, check_n_features};
use crate::error::{Error, Result};

/// Largest asymmetry and most negative eigenvalue taken for rounding, relative to the largest entry of the kernel.
const TOLERANCE: f64 = 1e-10;

/// F(A) = log det(I + K_AA/noise): twice the information about a Gaussian process with covariance K that noisy
/// observations at A give (natural logarithm; noise is a variance).
///
/// Gains take O(p^3) time for p features, by a Cholesky factor that grows along the order.
///
/// ```
/// use dpsparse::set_function::{LogDet, SetFunction};
/// let f = LogDet::new(ndarray::arr2(&[[1.0, 0.5], [0.5, 1.0]]).view(), 1.0)?;
/// assert!((f.value(&[0])? - 2.0_f64.ln()).abs() < 1e-15);
/// assert!((f.value(&[0, 1])? - 3.75_f64.ln()).abs() < 1e-15);
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LogDet {
    n_features: usize,
    /// I + K/noise, row after row.
    matrix: Vec<f64>,
}

impl LogDet {
    /// With a symmetric, positive semidefinite kernel of shape (p, p) and a positive noise variance.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a kernel that is empty, not square, not finite, not symmetric (the text names the
    /// entry) or has an eigenvalue below -1e-10 times its largest entry (the text names the first feature at which a
    /// Cholesky factor fails); for a noise that is not positive and finite, or so small that K/noise overflows.
    pub fn new(kernel: ArrayView2<'_, f64>, noise: f64) -> Result<Self> {
        let (p, columns) = kernel.dim();
        let invalid = |problem: String| Err(Error::invalid("kernel", problem));
        if p != columns {
            return invalid(format!("must be square; its shape is ({p}, {columns})"));
        }
        check_n_features(p)?;
        if let Some(((i, j), value)) = kernel.indexed_iter().find(|(_, value)| !value.is_finite()) {
            return invalid(format!("must be finite; entry ({i}, {j}) is {value}"));
        }
        let size = kernel
            .iter()
            .fold(0.0, |size: f64, value| size.max(value.abs()));
        for i in 0..p {
            for j in 0..i {
                let (lower, upper) = (kernel[(i, j)], kernel[(j, i)]);
                if (lower - upper).abs() > TOLERANCE * size {
                    return invalid(format!(
                        "must be symmetric; entry ({i}, {j}) is {lower} and entry ({j}, {i}) is {upper}"
                    ));
                }
            }
        }
        if !(noise.is_finite() && noise > 0.0) {
            return Err(Error::invalid(
                "noise",
                format!("must be positive and finite; got {noise}"),
            ));
        }
        if !(size / noise).is_finite() {
            return Err(Error::invalid(
                "noise",
                format!("is too small for this kernel: {size}/{noise} overflows"),
            ));
        }
        // K + t I has a Cholesky factor exactly where every eigenvalue of K is above -t.
        let shift = TOLERANCE * size;
        let all: Vec<usize> = (0..p).collect();
        let shifted = |i: usize, j: usize| kernel[(i, j)] + if i == j { shift } else { 0.0 };
        let mut failed = None;
        if size > 0.0 {
            pivots(&all, shifted, |k, pivot| {
                if pivot <= 0.0 {
                    failed = failed.or(Some(k));
                }
                pivot.max(f64::MIN_POSITIVE)
            });
        }
        if let Some(k) = failed {
            return invalid(format!(
                "must be positive semidefinite: its block of the features up to {k} has a negative eigenvalue"
            ));
        }
        let mut matrix = vec![0.0; p * p];
        for i in 0..p {
            for j in 0..p {
                let symmetric = kernel[(i, j)] / noise / 2.0 + kernel[(j, i)] / noise / 2.0;
                matrix[i * p + j] = symmetric + f64::from(i == j);
            }
        }
        Ok(Self {
            n_features: p,
            matrix,
        })
    }
}

/// Pivots of the Cholesky factor of M along `order`; `accept(k, pivot)` returns the pivot to go on with.
fn pivots(
    order: &[usize],
    matrix: impl Fn(usize, usize) -> f64,
    mut accept: impl FnMut(usize, f64) -> f64,
) {
    // Rows of the lower triangle, one after another.
    let mut rows: Vec<f64> = Vec::with_capacity(order.len() * (order.len() + 1) / 2);
    for (k, &i) in order.iter().enumerate() {
        let start = rows.len();
        for (m, &j) in order[..k].iter().enumerate() {
            let other = m * (m + 1) / 2;
            let product = dot(&rows[start..], &rows[other..other + m]);
            rows.push((matrix(i, j) - product) / rows[other + m]);
        }
        let row = &rows[start..];
        rows.push(accept(k, matrix(i, i) - dot(row, row)).sqrt());
    }
}

/// Inner product in eight running sums, which compilers turn into vector code.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (mut sums, mut rest) = ([0.0; 8], 0.0);
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    for (x, y) in a.remainder().iter().zip(b.remainder()) {
        rest += x * y;
    }
    for (x, y) in a.zip(b) {
        for k in 0..8 {
            sums[k] += x[k] * y[k];
        }
    }
    sums.iter().sum::<f64>() + rest
}

impl SetFunction for LogDet {
    fn name(&self) -> &'static str {
        "log det"
    }

    fn n_features(&self) -> usize {
        self.n_features
    }

    fn gains(&self, order: &[usize], gains: &mut [f64]) -> Result<()> {
        let entry = |i: usize, j: usize| self.matrix[i * self.n_features + j];
        pivots(order, entry, |k, pivot| {
            // One plus a conditional variance over the noise: never below 1 but by rounding.
            let pivot = pivot.max(1.0);
            gains[k] = pivot.ln();
            pivot
        });
        Ok(())
    }

    fn is_monotone(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, arr2};

    fn text(kernel: Array2<f64>, noise: f64) -> String {
        LogDet::new(kernel.view(), noise).unwrap_err().to_string()
    }

    #[test]
    fn bad_kernels_are_refused_by_name() {
        let skew = text(arr2(&[[1.0, 0.2], [0.3, 1.0]]), 1.0);
        assert!(
            skew.starts_with("kernel must be symmetric; entry (1, 0) is 0.3"),
            "{skew}"
        );
        let nan = text(arr2(&[[1.0, f64::NAN], [0.3, 1.0]]), 1.0);
        assert_eq!(nan, "kernel must be finite; entry (0, 1) is NaN");
        assert!(text(Array2::zeros((2, 3)), 1.0).contains("square"));
        assert!(text(Array2::zeros((0, 0)), 1.0).contains("at least 1"));
        for noise in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-320] {
            assert!(text(Array2::eye(2), noise).starts_with("noise"));
        }
    }

    /// I + K/noise may be positive definite, and its pivots in one order above 1, without K being a covariance.
    #[test]
    fn indefinite_kernels_are_refused_whatever_the_noise() {
        for noise in [0.1, 1.0, 100.0] {
            let error = text(arr2(&[[0.0, 0.5], [0.5, 1.0]]), noise);
            assert!(error.contains("features up to 1"), "{error}");
            let error = text(arr2(&[[-0.01, 0.0], [0.0, 1.0]]), noise);
            assert!(error.contains("features up to 0"), "{error}");
        }
    }

    #[test]
    fn a_kernel_of_rank_one_and_a_zero_kernel_are_fine() {
        let ones = LogDet::new(Array2::ones((60, 60)).view(), 1e-9).unwrap();
        let mut gains = vec![0.0; 60];
        ones.gains(&(0..60).rev().collect::<Vec<_>>(), &mut gains)
            .unwrap();
        let expected = (1.0 + 60e9_f64).ln();
        assert!((gains.iter().sum::<f64>() - expected).abs() < 1e-5);
        assert!(gains.iter().all(|gain| *gain >= 0.0));
        let zero = LogDet::new(Array2::zeros((3, 3)).view(), 1.0).unwrap();
        assert_eq!(zero.value(&[0, 2]).unwrap(), 0.0);
    }

    #[test]
    fn inner_products_do_not_depend_on_the_length() {
        for n in 0..40 {
            let a: Vec<f64> = (0..n).map(f64::from).collect();
            let expected: f64 = a.iter().map(|x| x * x).sum();
            assert_eq!(dot(&a, &a), expected);
        }
    }
}

//! What noisy gradients and moments tell of the minimiser, whose noise is known
//! ([`crate::theory_of_privacy::noisy_gradients`]).

use nalgebra::{DMatrix, DVector, Dyn, SymmetricEigen};

/// The Hessian of the mean loss, as it was released, and gradients near the minimiser.
#[derive(Debug)]
pub(super) struct Evidence {
    /// Of the sums of squares.
    pub moments: SymmetricEigen<f64, Dyn>,
    /// Of the mean loss, per unit of the sums of squares.
    pub scale: f64,
    /// The mean of coefficients, and of the gradients there.
    pub theta: DVector<f64>,
    pub gradient: DVector<f64>,
    /// Variance of the noise on an entry of the mean gradient.
    pub variance: f64,
}

/// The matrix of the same eigenvectors whose eigenvalues are those of `map`.
pub(super) fn with_eigenvalues(
    moments: &SymmetricEigen<f64, Dyn>,
    map: impl Fn(f64) -> f64,
) -> DMatrix<f64> {
    let mut scaled = moments.eigenvectors.clone();
    for (mut column, &value) in scaled.column_iter_mut().zip(&moments.eigenvalues) {
        column *= map(value);
    }
    scaled * moments.eigenvectors.transpose()
}

impl Evidence {
    /// H, without negative eigenvalues: as many multiplications as the cube of its columns, which lines have two of.
    fn hessian(&self) -> DMatrix<f64> {
        with_eigenvalues(&self.moments, |value| (self.scale * value).max(0.0))
    }

    /// The sum of the squared scores of `theta`.
    pub fn squares(&self, theta: &DVector<f64>) -> f64 {
        let parts = self.moments.eigenvectors.tr_mul(theta);
        let values = self.moments.eigenvalues.iter();
        values
            .zip(&parts)
            .map(|(value, x)| value.max(0.0) * x * x)
            .sum()
    }

    /// The minimiser that is expected, if before it was normal around `start` with these standard deviations.
    ///
    /// With g the mean gradient at theta, b = H (theta - start) - g is H (minimiser - start) and the noise, where the
    /// loss is quadratic: every gradient counts, wherever it was taken. So the expected minimiser is
    /// start + (H^2/v + P)^-1 H b/v, P the inverse of the variances.
    pub fn expected(
        &self,
        start: &DVector<f64>,
        deviations: &DVector<f64>,
    ) -> Option<DVector<f64>> {
        let hessian = self.hessian();
        let b = &hessian * (&self.theta - start) - &self.gradient;
        let precision = DMatrix::from_diagonal(&deviations.map(|deviation| deviation.powi(-2)));
        let matrix = &hessian * &hessian / self.variance + precision;
        let found = matrix.cholesky()?.solve(&(hessian * b / self.variance));
        Some(start + found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gradients of a quadratic loss tell its minimiser; a narrow start stays, and between the two precisions add up.
    #[test]
    fn precise_gradients_decide_and_precise_starts_stay() {
        let matrix = DMatrix::from_row_slice(2, 2, &[2.0, 0.5, 0.5, 1.0]);
        let minimiser = DVector::from_vec(vec![0.7, -0.2]);
        let start = DVector::from_vec(vec![0.1, 0.4]);
        let theta = DVector::from_vec(vec![-3.0, 5.0]);
        let mut evidence = Evidence {
            moments: SymmetricEigen::new(2.0 * &matrix),
            scale: 0.5,
            gradient: &matrix * (&theta - &minimiser),
            theta,
            variance: 1e-12,
        };
        let of = |evidence: &Evidence, deviation: f64| {
            (evidence.expected(&start, &DVector::from_element(2, deviation))).unwrap()
        };
        assert!((of(&evidence, 1.0) - &minimiser).norm() < 1e-9);
        evidence.variance = 1.0;
        assert!((of(&evidence, 1e-6) - &start).norm() < 1e-9);
        let one = Evidence {
            moments: SymmetricEigen::new(DMatrix::from_element(1, 1, 4.0)),
            scale: 0.5,
            theta: DVector::zeros(1),
            gradient: DVector::from_element(1, -6.0),
            variance: 4.0,
        };
        let mean = (one.expected(&DVector::zeros(1), &DVector::from_element(1, 1.0))).unwrap();
        // 3 from the gradient with variance 1, 0 from the start with variance 1.
        assert!((mean[0] - 1.5).abs() < 1e-12);
        assert!((one.squares(&mean) - 9.0).abs() < 1e-12);
    }
}

//! What noisy gradients and moments tell of the minimiser, whose noise is known
//! ([`crate::theory_of_privacy::noisy_gradients`]).

use nalgebra::{DMatrix, DVector, Dyn, SymmetricEigen};

/// The Hessian of the mean loss, as it was released, and gradients near the minimiser.
#[derive(Debug)]
pub(super) struct Evidence {
    hessian: DMatrix<f64>,
    /// The mean of coefficients, and of the gradients there.
    pub theta: DVector<f64>,
    pub gradient: DVector<f64>,
    /// Variance of the noise on an entry of the mean gradient.
    pub variance: f64,
}

impl Evidence {
    /// `scale` times the moments, without negative eigenvalues.
    pub fn new(moments: &SymmetricEigen<f64, Dyn>, scale: f64) -> Self {
        let values = moments.eigenvalues.map(|value| (scale * value).max(0.0));
        let scaled = &moments.eigenvectors * DMatrix::from_diagonal(&values);
        let columns = values.len();
        Self {
            hessian: scaled * moments.eigenvectors.transpose(),
            theta: DVector::zeros(columns),
            gradient: DVector::zeros(columns),
            variance: 0.0,
        }
    }

    /// <theta, H theta>.
    pub fn square(&self, theta: &DVector<f64>) -> f64 {
        theta.dot(&(&self.hessian * theta))
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
        let b = &self.hessian * (&self.theta - start) - &self.gradient;
        let precision = DMatrix::from_diagonal(&deviations.map(|deviation| deviation.powi(-2)));
        let matrix = &self.hessian * &self.hessian / self.variance + precision;
        let found = matrix
            .cholesky()?
            .solve(&(&self.hessian * b / self.variance));
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
        let mut evidence = Evidence::new(&SymmetricEigen::new(matrix.clone()), 1.0);
        evidence.theta = DVector::from_vec(vec![-3.0, 5.0]);
        evidence.gradient = &matrix * (&evidence.theta - &minimiser);
        evidence.variance = 1e-12;
        let of = |evidence: &Evidence, deviation: f64| {
            (evidence.expected(&start, &DVector::from_element(2, deviation))).unwrap()
        };
        assert!((of(&evidence, 1.0) - &minimiser).norm() < 1e-9);
        evidence.variance = 1.0;
        assert!((of(&evidence, 1e-6) - &start).norm() < 1e-9);
        let one = Evidence {
            hessian: DMatrix::from_element(1, 1, 2.0),
            theta: DVector::zeros(1),
            gradient: DVector::from_element(1, -6.0),
            variance: 4.0,
        };
        let mean = (one.expected(&DVector::zeros(1), &DVector::from_element(1, 1.0))).unwrap();
        // 3 from the gradient with variance 1, 0 from the start with variance 1.
        assert!((mean[0] - 1.5).abs() < 1e-12);
        assert!((one.square(&mean) - 4.5).abs() < 1e-12);
    }
}

//! What Newton steps divide gradients by.

use nalgebra::{DMatrix, DVector, Dyn, SymmetricEigen};

use super::damping::Damping;
use super::evidence::with_eigenvalues;
use super::nearest_sparse::{Curvature, factor_of};
use super::ridge::Ridge;
use crate::error::Result;

/// The bound on all Hessians by the released moments, if there are any, without its negative eigenvalues, a multiple of
/// the identity and a ridge.
#[derive(Debug)]
pub(super) struct Divisor<'a> {
    pub moments: Option<&'a SymmetricEigen<f64, Dyn>>,
    /// Of the bound, per unit of the moments.
    pub scale: f64,
    pub damping: Damping,
    /// Whether it is that of one step, or of what all of them act as.
    pub of_step: bool,
    /// A ridge of all coefficients, beside that of features.
    pub shared: f64,
    pub ridge: Option<&'a Ridge>,
    /// Coefficients of one score.
    pub columns: usize,
}

impl Divisor<'_> {
    fn value(&self, moment: f64) -> f64 {
        let curvature = (self.scale * moment).max(0.0);
        let damping = match self.of_step {
            true => self.damping.of(curvature),
            false => self.damping.ridge(curvature),
        };
        curvature + (self.shared + damping)
    }

    pub fn curvature(&self) -> Curvature {
        let ridge = |j: usize| self.ridge.map_or(0.0, |ridge| ridge.of(j));
        match self.moments {
            Some(moments) => {
                let mut matrix = with_eigenvalues(moments, |moment| self.value(moment));
                (0..self.columns).for_each(|j| matrix[(j, j)] += ridge(j));
                Curvature::Matrix(matrix)
            }
            None => {
                let least = self.value(0.0);
                Curvature::Diagonal((0..self.columns).map(|j| least + ridge(j)).collect())
            }
        }
    }

    /// x' H x, over all scores.
    pub fn square(&self, x: &DVector<f64>) -> f64 {
        let ridge = |j: usize| self.ridge.map_or(0.0, |ridge| ridge.of(j));
        let of_score = |first: usize| {
            let x = x.rows(first, self.columns);
            let of_ridge = |(j, x): (usize, &f64)| ridge(j) * x * x;
            let ridges: f64 = x.iter().enumerate().map(of_ridge).sum();
            let Some(moments) = self.moments else {
                return ridges + self.value(0.0) * x.norm_squared();
            };
            let parts = moments.eigenvectors.tr_mul(&x);
            let values = moments.eigenvalues.iter().map(|&moment| self.value(moment));
            ridges
                + values
                    .zip(&parts)
                    .map(|(value, x)| value * x * x)
                    .sum::<f64>()
        };
        (0..x.len()).step_by(self.columns).map(of_score).sum()
    }

    /// # Errors
    /// [`Error::InvalidData`](crate::Error::InvalidData) where it is not positive definite.
    pub fn inverse(&self) -> Result<Inverse> {
        if let (Some(moments), None) = (self.moments, self.ridge) {
            return Ok(Inverse::Matrix(with_eigenvalues(moments, |moment| {
                1.0 / self.value(moment)
            })));
        }
        Ok(match self.curvature() {
            Curvature::Matrix(matrix) => Inverse::Matrix(factor_of(matrix)?.inverse()),
            Curvature::Diagonal(divisors) => Inverse::Diagonal(divisors),
        })
    }
}

/// The inverse of a matrix, or of a diagonal, which is kept as it is.
#[derive(Debug)]
pub(super) enum Inverse {
    Matrix(DMatrix<f64>),
    Diagonal(Vec<f64>),
}

impl Inverse {
    /// Subtracts `share` times its product with `gradient` from `theta`, score by score.
    pub fn take(&self, share: f64, gradient: &DVector<f64>, theta: &mut DVector<f64>) {
        match self {
            // One bound on all Hessians serves every score.
            Self::Matrix(inverse) => {
                let columns = inverse.nrows();
                for first in (0..theta.len()).step_by(columns) {
                    let gradient = gradient.rows(first, columns);
                    let mut theta = theta.rows_mut(first, columns);
                    theta.gemv(-share, inverse, &gradient, 1.0);
                }
            }
            Self::Diagonal(divisors) => {
                let entries = theta.iter_mut().zip(gradient).zip(divisors.iter().cycle());
                for ((theta, gradient), divisor) in entries {
                    *theta -= share / divisor * gradient;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With and without moments, for two scores: what is taken off, multiplied by the curvature, is the gradient.
    #[test]
    fn the_inverse_is_that_of_the_curvature() {
        let moments = SymmetricEigen::new(DMatrix::from_row_slice(
            3,
            3,
            &[4.0, 1.0, 0.5, 1.0, 3.0, 0.2, 0.5, 0.2, 2.0],
        ));
        let ridge = Ridge::new(Some(0.7), 2).unwrap().unwrap();
        let gradient = DVector::from_vec(vec![0.3, -1.0, 2.0, 0.1, 0.0, -0.4]);
        for moments in [None, Some(&moments)] {
            for ridge in [None, Some(&ridge)] {
                let divisor = Divisor {
                    moments,
                    scale: 0.5,
                    damping: Damping {
                        least: 0.06,
                        n_iter: 1.0,
                        noise: 0.0,
                        usual: 1.0,
                        hidden: 0.0,
                    },
                    of_step: true,
                    shared: 0.04,
                    ridge,
                    columns: 3,
                };
                let matrix = match divisor.curvature() {
                    Curvature::Matrix(matrix) => matrix,
                    Curvature::Diagonal(values) => {
                        DMatrix::from_diagonal(&DVector::from_vec(values))
                    }
                };
                let off = if ridge.is_some() { 0.7 } else { 0.0 };
                let of_moments = moments.map_or(0.0, |_| 2.0);
                assert!((matrix[(0, 0)] - off - of_moments - 0.1).abs() < 1e-12);
                assert!((matrix[(2, 2)] - of_moments / 2.0 - 0.1).abs() < 1e-12);
                let mut theta = DVector::zeros(6);
                divisor.inverse().unwrap().take(0.5, &gradient, &mut theta);
                for k in 0..2 {
                    let back = &matrix * theta.rows(3 * k, 3) * -2.0;
                    assert!((back - gradient.rows(3 * k, 3)).norm() < 1e-12);
                }
                // H theta is -gradient/2.
                let square = -0.5 * theta.dot(&gradient);
                assert!((divisor.square(&theta) / square - 1.0).abs() < 1e-12);
            }
        }
    }
}

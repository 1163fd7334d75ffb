//! What a fit has beside its loss, in the units of what is fitted.

use nalgebra::{DMatrix, DVector};

use super::nearest_sparse::{Curvature, LAST_GAP, Nearest, factor_of};
use super::pace::curvature;
use super::ridge::Ridge;
use super::sparsity::Sparsity;
use crate::error::{Error, Result};
use crate::loss::Growth;
use crate::norm::Norm;
use crate::plan::Problem;
use crate::question::Units;

/// Largest penalty, ridge and weights: their products with units, and the squares of those, are floats whatever is
/// released.
pub(super) const MOST: f64 = 1e100;

/// The argument of a name, by which what is released is multiplied or divided, where floats take that.
pub(super) fn moderate(argument: &str, value: f64) -> Result<f64> {
    match (1.0 / MOST..=MOST).contains(&value) {
        true => Ok(value),
        false => Err(Error::invalid(
            argument,
            "must be positive, between 1e-100 and 1e100",
        )),
    }
}

/// The same, or 0 for nothing.
pub(super) fn moderate_or_none(argument: &str, value: f64) -> Result<f64> {
    match value == 0.0 || (1.0 / MOST..=MOST).contains(&value) {
        true => Ok(value),
        false => Err(Error::invalid(
            argument,
            "must be non-negative: 0, or between 1e-100 and 1e100",
        )),
    }
}

/// Refuses weights of a norm that floats do not take.
pub(super) fn check_weights(norm: &dyn Norm) -> Result<()> {
    let outside = |weight: &f64| !(1.0 / MOST..=MOST).contains(weight);
    match norm
        .weights()
        .is_some_and(|weights| weights.iter().any(outside))
    {
        true => Err(Error::invalid(
            "feature_weights",
            "must lie between 1e-100 and 1e100",
        )),
        false => Ok(()),
    }
}

/// What a loss weighs beside a penalty.
#[derive(Debug, Clone, Copy)]
pub(super) struct LossWeight {
    /// It is so high a power of the unit of the targets.
    power: i32,
    /// About what clamped residuals leave of it.
    pub left: f64,
}

impl LossWeight {
    pub fn new(problem: &Problem) -> Self {
        let counts = problem.schema().target().units().is_some();
        let squares = problem.loss.growth() == Growth::SquaredResidual;
        Self {
            power: match counts || problem.level().is_some() {
                true => 1,
                false => 2,
            },
            left: match counts || squares {
                true => curvature(problem),
                false => 1.0,
            },
        }
    }

    /// So many times the loss is that of images whose units these are, if they are images.
    pub fn of_images(self, units: Option<&Units>) -> f64 {
        units.map_or(1.0, |units| units.target.powi(-self.power))
    }
}

/// A ball or a penalty of a norm, and a ridge, of the features of all scores.
#[derive(Debug, Clone, Default)]
pub(super) struct Regularisation {
    pub sparsity: Option<Sparsity>,
    pub ridge: Option<Ridge>,
}

impl Regularisation {
    fn map(
        &self,
        sparsity: impl FnOnce(&Sparsity) -> Sparsity,
        ridge: impl FnOnce(&Ridge) -> Ridge,
    ) -> Self {
        Self {
            sparsity: self.sparsity.as_ref().map(sparsity),
            ridge: self.ridge.as_ref().map(ridge),
        }
    }

    /// The same of coefficients of images whose units these are, if they are images.
    pub fn of_images(&self, units: Option<&Units>, loss: LossWeight) -> Self {
        self.map(
            |sparsity| sparsity.of_images(units, loss),
            |ridge| ridge.of_images(units, loss),
        )
    }

    /// The same beside so many times the loss.
    pub fn of_loss(&self, factor: f64) -> Self {
        self.map(
            |sparsity| sparsity.clone().of_loss(factor),
            |ridge| ridge.times(factor),
        )
    }

    /// The same of coefficients that will be multiplied by `slope`.
    pub fn before_slope(&self, slope: f64) -> Self {
        self.map(
            |sparsity| sparsity.clone().before_slope(slope),
            |ridge| ridge.times(slope),
        )
    }

    /// The same of the t of models t/`unit` times `theta`, one row of coefficients.
    ///
    /// # Errors
    /// As [`Sparsity::value`].
    pub fn of_multiples(&self, theta: &[f64], unit: f64) -> Result<Self> {
        let sparsity = self.sparsity.as_ref();
        let slopes = sparsity.map(|sparsity| sparsity.of_multiples(theta, unit));
        let ridge = self.ridge.as_ref();
        Ok(Self {
            sparsity: slopes.transpose()?.flatten(),
            ridge: ridge.map(|ridge| ridge.of_multiples(theta, unit)),
        })
    }

    /// Moves `theta`, the minimiser of a quadratic loss of one score with this Hessian, to where the sum of both is
    /// least.
    ///
    /// # Errors
    /// As [`Nearest::new`] and [`Nearest::move_to`].
    pub fn move_minimiser(&self, theta: &mut [f64], mut hessian: DMatrix<f64>) -> Result<()> {
        if let Some(ridge) = &self.ridge {
            // (H + R)^-1 H theta, and what is beside moves from there by H + R.
            let loss = &hessian * DVector::from_column_slice(theta);
            (0..theta.len()).for_each(|j| hessian[(j, j)] += ridge.of(j));
            let found = factor_of(hessian.clone())?.solve(&loss);
            theta.copy_from_slice(found.as_slice());
        }
        if let Some(sparsity) = &self.sparsity {
            let curvature = Curvature::Matrix(hessian);
            let mut nearest = Nearest::new(sparsity.clone(), 1, theta.len(), &curvature)?;
            nearest.move_to(theta, LAST_GAP)?;
        }
        Ok(())
    }
}

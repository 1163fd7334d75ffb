//! How a ridge enters a fit, in the units of what is fitted.

use super::regularisation::{LossWeight, MOST};
use crate::error::{Error, Result};
use crate::question::Units;

/// sum_kj r_j theta_kj^2/2, over the features j of all scores k.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ridge(Vec<f64>);

impl Ridge {
    /// `value` for each of `p` features; None for 0 and for none.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for one that is negative, above 1e100 or NaN.
    pub fn new(value: Option<f64>, p: usize) -> Result<Option<Self>> {
        let value = value.unwrap_or(0.0);
        if !(0.0..=MOST).contains(&value) {
            return Err(Error::invalid(
                "ridge",
                "must be non-negative, at most 1e100",
            ));
        }
        Ok((value > 0.0).then(|| Self(vec![value; p])))
    }

    /// r_j; 0 for the intercept.
    pub fn of(&self, j: usize) -> f64 {
        self.0.get(j).copied().unwrap_or(0.0)
    }

    /// The mean over the features.
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len().max(1) as f64
    }

    /// The same of coefficients of images whose units these are, if they are images.
    pub fn of_images(&self, units: Option<&Units>, loss: LossWeight) -> Self {
        let factor = loss.of_images(units);
        let unit = |j: usize| units.map_or(1.0, |units| units.coefficients[j]);
        let values = self.0.iter().enumerate();
        Self(
            values
                .map(|(j, value)| factor * value * unit(j).powi(2))
                .collect(),
        )
    }

    /// So many times it.
    pub fn times(&self, factor: f64) -> Self {
        Self(self.0.iter().map(|value| factor * value).collect())
    }

    /// The same of the t of models t/`unit` times `theta`, one row of coefficients.
    pub fn of_multiples(&self, theta: &[f64], unit: f64) -> Self {
        let entries = self.0.iter().zip(theta);
        let squares: f64 = entries.map(|(value, theta)| value * theta.powi(2)).sum();
        Self(vec![squares / unit.powi(2)])
    }
}

//! How a norm enters a fit, in the units of what is fitted.

use std::sync::Arc;

use super::public_width::dual_width;
use super::regularisation::LossWeight;
use crate::error::Result;
use crate::norm::{GroupLasso, Norm, SetFunctionNorm};
use crate::question::Units;
use crate::set_function::Cardinality;
use crate::solver::{Form, Regulariser};

/// How Omega(weights * theta_k), the sum over all scores k, enters: as a ball or as a penalty.
#[derive(Debug, Clone)]
pub(super) struct Sparsity {
    /// Omega; None: the l1 norm.
    norm: Option<Arc<dyn Norm>>,
    /// Positive, one a feature.
    pub weights: Vec<f64>,
    /// A positive radius, or a penalty.
    pub form: Form,
    /// Which coefficients of all scores must be zero; empty: none.
    zero: Vec<bool>,
}

impl Sparsity {
    /// Of the l1 norm with these weights.
    pub fn new(weights: Vec<f64>, form: Form) -> Self {
        Self {
            norm: None,
            weights,
            form,
            zero: Vec::new(),
        }
    }

    /// Of any norm that has a prox.
    pub fn of_norm(norm: Arc<dyn Norm>, form: Form) -> Self {
        let l1 = norm.weights();
        let weights = l1.clone().unwrap_or(vec![1.0; norm.n_features()]);
        Self {
            norm: Some(norm).filter(|_| l1.is_none()),
            ..Self::new(weights, form)
        }
    }

    /// The same norm with these weights and in this form, and zeros nowhere.
    pub fn with(&self, weights: Vec<f64>, form: Form) -> Self {
        Self {
            norm: self.norm.clone(),
            ..Self::new(weights, form)
        }
    }

    /// Omega, where it is not the l1 norm.
    pub fn norm(&self) -> Option<&dyn Norm> {
        self.norm.as_deref()
    }

    /// The dual norm of Omega at slopes of weighted coefficients.
    ///
    /// # Errors
    /// As [`Norm::dual`].
    pub fn dual(&self, slopes: &[f64]) -> Result<f64> {
        let largest = || {
            slopes
                .iter()
                .fold(0.0, |most: f64, slope| most.max(slope.abs()))
        };
        self.norm()
            .map_or_else(|| Ok(largest()), |norm| norm.dual(slopes))
    }

    /// About the mean of that of standard normal slopes.
    ///
    /// # Errors
    /// As [`Norm::dual`].
    pub fn dual_width(&self) -> Result<f64> {
        let p = self.weights.len();
        match self.norm() {
            Some(norm) => dual_width(norm),
            None => dual_width(&SetFunctionNorm::new(Arc::new(Cardinality::new(p)?))?),
        }
    }

    /// Omega of the weighted coefficients, as solvers know it.
    pub fn regulariser(&self) -> Regulariser<'_> {
        self.norm().map_or(Regulariser::L1, Regulariser::Norm)
    }

    /// The same of coefficients of images whose units these are, if they are images.
    pub fn of_images(&self, units: Option<&Units>, loss: LossWeight) -> Self {
        let unit = |j: usize| units.map_or(1.0, |units| units.coefficients[j]);
        let weights = self.weights.iter().enumerate();
        let weights = weights.map(|(j, weight)| weight * unit(j)).collect();
        let of_images = self.with(weights, self.form);
        of_images.of_loss(loss.of_images(units))
    }

    /// The same beside so many times the loss.
    pub fn of_loss(self, factor: f64) -> Self {
        Self {
            form: self.form_of_loss(factor),
            ..self
        }
    }

    /// Its form beside so many times the loss.
    pub fn form_of_loss(&self, factor: f64) -> Form {
        match self.form {
            Form::Penalty(alpha) => Form::Penalty(factor * alpha),
            Form::Ball(radius) => Form::Ball(radius),
        }
    }

    /// The same of coefficients that will be multiplied by `slope`: a ball is so much larger.
    pub fn before_slope(self, slope: f64) -> Self {
        match self.form {
            Form::Ball(radius) => Self {
                form: Form::Ball(radius / slope),
                ..self
            },
            Form::Penalty(_) => self,
        }
    }

    /// The same among models that are zero where `theta` is, rows of `columns` coefficients.
    pub fn where_not_zero(self, theta: &[f64], columns: usize) -> Self {
        let p = self.weights.len();
        let rows = theta.chunks(columns);
        let zero = rows.flat_map(|theta| theta[..p].iter().map(|theta| *theta == 0.0));
        Self {
            zero: zero.collect(),
            ..self
        }
    }

    /// Whether it is a penalty of 0, and so only says which models are sparse.
    pub fn is_free(&self) -> bool {
        self.form == Form::Penalty(0.0)
    }

    /// Whether no coefficient may be negative.
    pub fn is_positive(&self) -> bool {
        self.norm().is_some_and(Norm::is_positive)
    }

    /// Whether rows of `columns` coefficients have the signs that they must have.
    pub fn has_signs(&self, theta: &[f64], columns: usize) -> bool {
        let mut features = theta
            .chunks(columns)
            .flat_map(|theta| &theta[..self.weights.len()]);
        !self.is_positive() || features.all(|theta| *theta >= 0.0)
    }

    /// Whether any coefficient must be zero.
    pub fn has_zeros(&self) -> bool {
        !self.zero.is_empty()
    }

    /// Whether coefficient `j` of score `k` must be zero.
    pub fn is_zero(&self, k: usize, j: usize) -> bool {
        let at = k * self.weights.len() + j;
        self.zero.get(at).copied().unwrap_or(false)
    }

    /// The same of the t of models t/`unit` times `theta`, one row of coefficients; None where that is 0 or free.
    pub fn of_multiples(&self, theta: &[f64], unit: f64) -> Result<Option<Self>> {
        let norm = self.value(theta, theta.len())?;
        if norm == 0.0 || self.is_free() {
            return Ok(None);
        }
        let slopes = Self::new(vec![norm / unit], self.form);
        // A negative multiple of what is not negative would be.
        let positive = || -> Result<Arc<dyn Norm>> {
            Ok(Arc::new(
                GroupLasso::new(&[vec![0]], None, 0.0)?.on_positive(),
            ))
        };
        Ok(Some(Self {
            norm: self.is_positive().then(positive).transpose()?,
            ..slopes
        }))
    }

    /// Omega of rows of `columns` coefficients: those that have no weight, of the intercept, are free.
    ///
    /// # Errors
    /// As [`Norm::value`].
    pub fn value(&self, theta: &[f64], columns: usize) -> Result<f64> {
        let rows = theta.chunks(columns);
        let weighted = |row: &[f64]| -> Vec<f64> {
            let entries = row.iter().zip(&self.weights);
            entries.map(|(theta, weight)| weight * theta).collect()
        };
        let Some(norm) = self.norm() else {
            let l1 = rows.map(|row| weighted(row).iter().map(|theta| theta.abs()).sum::<f64>());
            return Ok(l1.sum());
        };
        rows.map(|row| norm.value(&weighted(row))).sum()
    }
}

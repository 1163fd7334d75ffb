//! How an l1 norm enters a fit, in the units of what is fitted.

use super::regularisation::LossWeight;
use crate::question::Units;
use crate::solver::Form;

/// How Omega(theta) = sum_kj weights_j |theta_kj|, over the features j of all scores k, enters: as a ball or as a penalty.
#[derive(Debug, Clone)]
pub(super) struct Sparsity {
    /// Positive.
    pub weights: Vec<f64>,
    /// A positive radius or penalty.
    pub form: Form,
    /// Which coefficients of all scores must be zero; empty: none.
    zero: Vec<bool>,
}

impl Sparsity {
    pub fn new(weights: Vec<f64>, form: Form) -> Self {
        Self {
            weights,
            form,
            zero: Vec::new(),
        }
    }

    /// The same of coefficients of images whose units these are, if they are images.
    pub fn of_images(&self, units: Option<&Units>, loss: LossWeight) -> Self {
        let unit = |j: usize| units.map_or(1.0, |units| units.coefficients[j]);
        let weights = self.weights.iter().enumerate();
        let weights = weights.map(|(j, weight)| weight * unit(j)).collect();
        let of_images = Self::new(weights, self.form);
        of_images.of_loss(loss.of_images(units))
    }

    /// The same beside so many times the loss.
    pub fn of_loss(self, factor: f64) -> Self {
        match self.form {
            Form::Penalty(alpha) => Self {
                form: Form::Penalty(factor * alpha),
                ..self
            },
            Form::Ball(_) => self,
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

    /// Whether any coefficient must be zero.
    pub fn has_zeros(&self) -> bool {
        !self.zero.is_empty()
    }

    /// Whether coefficient `j` of score `k` must be zero.
    pub fn is_zero(&self, k: usize, j: usize) -> bool {
        let at = k * self.weights.len() + j;
        self.zero.get(at).copied().unwrap_or(false)
    }

    /// The same of the t of models t/`unit` times `theta`, one row of coefficients; None where Omega is 0.
    pub fn of_multiples(&self, theta: &[f64], unit: f64) -> Option<Self> {
        let norm = self.norm(theta, theta.len());
        (norm > 0.0).then(|| Self::new(vec![norm / unit], self.form))
    }

    /// Omega of rows of `columns` coefficients: those that have no weight, of the intercept, are free.
    pub fn norm(&self, theta: &[f64], columns: usize) -> f64 {
        let rows = theta.chunks(columns);
        let entries = rows.flat_map(|theta| theta.iter().zip(&self.weights));
        entries.map(|(theta, weight)| weight * theta.abs()).sum()
    }
}

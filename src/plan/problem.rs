use std::sync::Arc;

use crate::accounting::event::Adjacency;
use crate::error::{Error, Result};
use crate::loss::{Loss, Task};
use crate::plan::defaults::{
    CLASSIFIER_CURVATURE, CLASSIFIER_DISTANCE, CLASSIFIER_FLATNESS, CLASSIFIER_MARGIN,
    CLASSIFIER_RADIUS, LEAST_RIDGE, REGRESSOR_CURVATURE, REGRESSOR_DISTANCE, REGRESSOR_FLATNESS,
    REGRESSOR_MARGIN, REGRESSOR_RADIUS, RESIDUAL_BOUND,
};
use crate::plan::{Domain, PrivacyClaim};
use crate::polytope::Polytope;
use crate::privacy::{DerivativeLattice, Schema, Target};
use crate::theory::Landscape;

/// The public statement of a private fit: everything that a plan may depend on.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Bounds, scaling, target, intercept.
    pub schema: Schema,
    /// Number of records (under add-remove: the public normaliser `n_public`).
    pub n_samples: usize,
    /// The loss.
    pub loss: Arc<dyn Loss>,
    /// Clamp of the derivative of a loss that has no Lipschitz constant (squared), in scaled units; None: 2.
    pub residual_bound: Option<f64>,
    /// Privacy parameter epsilon.
    pub epsilon: f64,
    /// Privacy parameter delta; None: min(1/n^2, 1e-6), for replace-one only.
    pub delta: Option<f64>,
    /// Neighbouring relation.
    pub adjacency: Adjacency,
    /// How many records one person may own.
    pub records_per_person: usize,
}

impl Problem {
    /// delta, after all checks of public parameters.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `epsilon`, `delta`, `records_per_person`, `residual_bound`, `loss`
    /// or the number of samples.
    pub fn validate(&self) -> Result<f64> {
        let delta = self.claim().validate()?;
        if self.loss.task() == Task::Classification && self.schema.target() != Target::Classes {
            return Err(Error::invalid(
                "loss",
                format!(
                    "{:?} is for two classes, not for regression",
                    self.loss.name()
                ),
            ));
        }
        match (self.loss.lipschitz(), self.residual_bound) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid(
                    "residual_bound",
                    "is used by the squared loss only; leave it at None",
                ));
            }
            (None, Some(bound)) if !(bound.is_finite() && bound > 0.0) => {
                return Err(Error::invalid(
                    "residual_bound",
                    "must be positive and finite",
                ));
            }
            _ => {}
        }
        Ok(delta)
    }

    /// What is asked for, and for whom.
    pub fn claim(&self) -> PrivacyClaim {
        PrivacyClaim {
            n_samples: self.n_samples,
            epsilon: self.epsilon,
            delta: self.delta,
            adjacency: self.adjacency,
            records_per_person: self.records_per_person,
        }
    }

    /// L: the Lipschitz constant of the loss, or the clamp of its derivative.
    pub fn lipschitz(&self) -> f64 {
        self.loss
            .lipschitz()
            .unwrap_or(self.residual_bound.unwrap_or(RESIDUAL_BOUND))
    }

    /// The lattice of integer derivatives.
    ///
    /// # Errors
    /// A Lipschitz constant that no lattice fits.
    pub fn derivative_lattice(&self) -> Result<DerivativeLattice> {
        DerivativeLattice::new(self.lipschitz())
    }

    /// Curvature of the mean loss per unit of smoothness and squared reach: a public constant, see
    /// [`defaults`](crate::plan::defaults).
    pub fn curvature(&self) -> f64 {
        match self.schema.target() {
            Target::Classes => CLASSIFIER_CURVATURE,
            Target::Interval { .. } => REGRESSOR_CURVATURE,
        }
    }

    /// beta, or L for a user's own loss, whose second derivative nothing bounds.
    pub fn smoothness(&self) -> f64 {
        let smoothness = self.loss.smoothness();
        if smoothness.is_finite() {
            smoothness
        } else {
            self.lipschitz()
        }
    }

    /// R2: the Euclidean bound of a scaled row, the intercept included; features that do not vary are 0.
    pub fn row_bound(&self) -> f64 {
        let schema = &self.schema;
        let entries = (schema.n_varying().max(1) as f64).sqrt();
        let features = schema.row_norm().map_or(entries, |norm| norm.min(entries));
        // Rounded up: roots and hypot err by an ulp.
        features.hypot(schema.intercept_value()) * (1.0 + 1e-15)
    }

    /// The Euclidean bound of what a record adds to a gradient, per unit of its derivative: R2, or less where long rows
    /// count less ([`Schema::with_gradient_norm`]).
    pub fn gradient_bound(&self) -> f64 {
        match self.schema.gradient_norm() {
            Some(norm) => self
                .row_bound()
                .min(norm.hypot(self.schema.intercept_value()) * (1.0 + 1e-15)),
            None => self.row_bound(),
        }
    }

    /// The least ridge of the public rules, in scaled units, for rows no longer than `rows`: the proved number of steps
    /// of the minimiser stays below 1e7.
    pub fn least_ridge(&self, rows: f64) -> f64 {
        let records = match self.adjacency {
            Adjacency::ReplaceOne => 1.0,
            // They may be 16 times as many as announced, which doubles the margin left.
            Adjacency::AddRemove => 8.0,
        };
        records * LEAST_RIDGE * self.smoothness() * rows * rows
    }

    /// What the public rules of mechanisms with Euclidean noise take the mean loss to look like.
    pub fn landscape(&self) -> Landscape {
        let (flatness, least, margin) = match self.schema.target() {
            Target::Classes => (CLASSIFIER_FLATNESS, CLASSIFIER_DISTANCE, CLASSIFIER_MARGIN),
            Target::Interval { .. } => (REGRESSOR_FLATNESS, REGRESSOR_DISTANCE, REGRESSOR_MARGIN),
        };
        let bound = self.smoothness() * self.gradient_bound().powi(2);
        // Records span no more directions than there are records.
        let directions = self.schema.n_columns().min(self.n_samples) as f64;
        Landscape {
            columns: self.schema.n_columns() as f64,
            trace: self.curvature() * bound,
            floor: flatness * bound / self.schema.n_columns() as f64,
            distance: least.max(margin * directions.sqrt() / self.gradient_bound()),
        }
    }

    /// The ball of a domain that selection works on; no radius means the public default.
    ///
    /// # Errors
    /// As [`Domain::polytope`].
    pub fn polytope(&self, domain: &Domain, radius: Option<f64>) -> Result<Arc<dyn Polytope>> {
        let schema = &self.schema;
        let default = Self::default_radius(schema.target());
        domain.polytope(schema.n_features(), schema.has_intercept(), radius, default)
    }

    /// The public default radius for a target.
    pub fn default_radius(target: Target) -> f64 {
        match target {
            Target::Classes => CLASSIFIER_RADIUS,
            Target::Interval { .. } => REGRESSOR_RADIUS,
        }
    }
}

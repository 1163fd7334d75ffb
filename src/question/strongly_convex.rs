//! The minimiser of one strongly convex objective: its public constants.

use std::sync::Arc;

use super::model::RoomModel;
use super::objective::{MOST_LOAD, Objective};
use super::statement::Statement;
use crate::accounting::event::Adjacency;
use crate::error::{Error, Result};
use crate::loss::Growth;
use crate::norm::ReviewedNorm;
use crate::numeric::directed::{add_up, div_up, mul_up};

/// The minimiser of F(theta) = mean loss + (ridge/2)|theta|_2^2 + alpha Omega, in scaled units, the intercept under the
/// ridge and not in Omega. Its constants come from the statement and from reviewed parts. Of a softmax model theta has
/// a row a class, one norm for all of them, and the penalty is the sum over the rows.
///
/// **Sensitivity.** The objectives of neighbours differ by at most c L R2/n in gradient, c the number of contributions
/// that change, and both are ridge-strongly convex: |theta* - theta*'|_2 <= c L R2/(n ridge). What the room holds is
/// within e of theta*, whatever it started from, so D2 = c L R2/(n ridge) + 2 e.
#[derive(Debug, Clone)]
pub struct StronglyConvex {
    statement: Arc<Statement>,
    pub(crate) model: RoomModel,
    penalty: Option<(ReviewedNorm, f64)>,
    ridge: f64,
    smoothness: f64,
}

/// Most steps that the proved way to the minimiser may take.
const MOST_STEPS: f64 = 1e7;

/// A ridge that makes an objective strongly convex.
///
/// # Errors
/// [`Error::UnsoundMechanism`] for 0, with which nothing is proved; [`Error::InvalidArgument`] for one that is negative
/// or not finite.
pub(crate) fn check_ridge(ridge: f64) -> Result<f64> {
    if ridge == 0.0 {
        return Err(Error::UnsoundMechanism(
            "nothing is proved with ridge = 0: the minimiser of an objective that is not strongly convex may jump between \
             neighbours; set ridge > 0, leave it at None, or use a mechanism that needs none, such as noisy-newton"
                .into(),
        ));
    }
    if !(ridge.is_finite() && ridge > 0.0) {
        return Err(Error::invalid(
            "ridge",
            "must be positive: the minimiser of an objective that is not strongly convex may jump between neighbours",
        ));
    }
    Ok(ridge)
}

impl Statement {
    /// The minimiser of a reviewed loss with a ridge, and a reviewed norm times alpha as a penalty where one is given.
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`] for a user's own loss, clamped slopes of several scores, or a ridge of 0;
    /// [`Error::InvalidArgument`] for a ridge or an alpha that is not positive and finite, or a norm on other features.
    pub fn strongly_convex(
        self: &Arc<Self>,
        model: &RoomModel,
        penalty: Option<(ReviewedNorm, f64)>,
        ridge: f64,
    ) -> Result<StronglyConvex> {
        let smoothness = model.convex()?;
        check_ridge(ridge)?;
        check_penalty(self, penalty.as_ref())?;
        Ok(StronglyConvex {
            statement: Arc::clone(self),
            model: model.clone(),
            penalty,
            ridge,
            smoothness,
        })
    }
}

/// Refuses a penalty on other features, or one that is not positive and finite; 0 is the constraint alone where theta
/// >= 0 is part of the norm.
pub(crate) fn check_penalty(
    statement: &Statement,
    penalty: Option<&(ReviewedNorm, f64)>,
) -> Result<()> {
    if let Some((norm, alpha)) = penalty {
        let least = *alpha > 0.0 || (*alpha == 0.0 && norm.is_positive());
        if !(alpha.is_finite() && least) {
            return Err(Error::invalid("alpha", "must be positive and finite"));
        }
        if norm.n_features() != statement.schema().n_features() {
            return Err(Error::invalid("norm", "must be one of the features of X"));
        }
    }
    Ok(())
}

impl StronglyConvex {
    /// Under add-remove the true number of records is at most so many times n: a public fact, which the float error
    /// needs.
    pub const MOST_LOAD: usize = MOST_LOAD as usize;

    /// The public facts of the records.
    pub fn statement(&self) -> &Arc<Statement> {
        &self.statement
    }

    pub(crate) fn penalty(&self) -> Option<&(ReviewedNorm, f64)> {
        self.penalty.as_ref()
    }

    pub(crate) fn ridge(&self) -> f64 {
        self.ridge
    }

    /// n.
    pub(crate) fn n_samples(&self) -> f64 {
        self.statement.n_samples() as f64
    }

    pub(crate) fn columns(&self) -> usize {
        self.statement.n_columns()
    }

    /// Coefficients: a column of every score.
    pub(crate) fn entries(&self) -> usize {
        self.columns() * self.model.outputs()
    }

    /// L R2: the largest norm of one record's gradient, L the Euclidean norm of its slopes, rounded up.
    pub fn slope_norm(&self) -> f64 {
        mul_up(self.model.bound().l2, self.statement.row_bound())
    }

    /// c L R2, rounded up.
    pub fn changed_slope(&self) -> f64 {
        let changed = self.statement.changed_contributions() as f64;
        mul_up(changed, self.slope_norm())
    }

    /// ln(1 + kappa), kappa = beta R2^2/(n ridge), rounded up.
    pub fn curvature_log(&self) -> f64 {
        let rows = self.statement.row_bound();
        let kappa = div_up(
            mul_up(self.smoothness, mul_up(rows, rows)),
            self.n_samples() * self.ridge * (1.0 - 1e-15),
        );
        // ln_1p is within a few ulp.
        kappa.ln_1p() * (1.0 + 1e-14)
    }

    /// That so small a ridge leaves no epsilon for noise.
    pub fn too_small_a_ridge(&self, epsilon: f64) -> Error {
        let rows = self.statement.row_bound();
        Error::invalid(
            "ridge",
            format!(
                "is too small for this epsilon: ln(1 + beta R2^2/(n ridge)) = {:.3} of epsilon is lost before any noise; a \
                 ridge of {:.3e} leaves room",
                self.curvature_log(),
                self.smoothness * rows * rows / (self.n_samples() * (0.1 * epsilon).exp_m1())
            ),
        )
    }

    /// What objective perturbation asks: a loss with bounded slopes, and one record a person.
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`] otherwise.
    pub fn check_tilted(&self) -> Result<()> {
        if self.statement.records_per_person() != 1 {
            return Err(Error::UnsoundMechanism(
                "objective perturbation is proved for one record per person; use output-perturbation or \
                 noisy-gradient-frank-wolfe for records_per_person > 1"
                    .into(),
            ));
        }
        match self.model.reviewed()?.growth() {
            Growth::Bounded { .. } => {}
            Growth::SquaredResidual => {
                return Err(Error::UnsoundMechanism(
                    "the squared loss has no Lipschitz constant once the objective is perturbed (Kifer, Smith & Thakurta \
                     2012 assume one); use loss=\"huber\""
                        .into(),
                ));
            }
        }
        // Before anything else can refuse a ridge that is absurdly small.
        self.solver_error(0.0).map(|_| ())
    }

    /// c L R2/(n ridge), rounded up.
    pub(crate) fn shift(&self) -> f64 {
        div_up(
            self.changed_slope(),
            self.n_samples() * self.ridge * (1.0 - 1e-15),
        )
    }

    /// e, whatever the records are, with a linear term of norm at most `tilt_bound`.
    pub(crate) fn solver_error(&self, tilt_bound: f64) -> Result<f64> {
        let objective = self.objective(tilt_bound, None);
        let steps = objective.steps(self.columns());
        if steps.is_nan() || steps > MOST_STEPS {
            return Err(Error::invalid(
                "ridge",
                format!(
                    "is too small: the minimiser might take {steps:.1e} passes over the data; beta R2^2/ridge of at most 1e4 is \
                     safe"
                ),
            ));
        }
        Ok(objective.distance(self.columns()))
    }

    /// D2 of the minimiser that the solver returns.
    ///
    /// # Errors
    /// A ridge so small that the solver could take too many steps.
    pub fn sensitivity(&self) -> Result<f64> {
        Ok(add_up(self.shift(), mul_up(2.0, self.solver_error(0.0)?)))
    }

    /// The same for minimisers with linear terms of norm at most `tilt_bound`, however many steps they take.
    pub(crate) fn tilted_sensitivity(&self, tilt_bound: f64) -> f64 {
        let error = self.objective(tilt_bound, None).distance(self.columns());
        add_up(self.shift(), mul_up(2.0, error))
    }

    /// Most records for which the float error is proved.
    pub(crate) fn most_records(&self) -> usize {
        match self.statement.adjacency() {
            Adjacency::ReplaceOne => self.statement.n_samples(),
            Adjacency::AddRemove => (self.statement.n_samples()).saturating_mul(Self::MOST_LOAD),
        }
    }

    /// F; the load is the largest until the records are known.
    pub(crate) fn objective(&self, tilt_bound: f64, load: Option<f64>) -> Objective<'_> {
        let most_load = match self.statement.adjacency() {
            Adjacency::ReplaceOne => 1.0,
            Adjacency::AddRemove => MOST_LOAD,
        };
        Objective {
            prox_error: (self.penalty.as_ref()).map_or(0.0, |(norm, _)| norm.prox_error()),
            model: &self.model,
            smoothness: self.smoothness,
            rows: self.statement.row_bound(),
            ridge: self.ridge,
            penalty: self.penalty.as_ref().map(|(norm, alpha)| (norm, *alpha)),
            tilt_bound,
            load: load.unwrap_or(most_load),
            most_load,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ridge_is_positive() {
        assert_eq!(check_ridge(1e-300), Ok(1e-300));
        assert!(matches!(check_ridge(0.0), Err(Error::UnsoundMechanism(_))));
        assert!(matches!(check_ridge(-0.0), Err(Error::UnsoundMechanism(_))));
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let found = check_ridge(bad).unwrap_err().to_string();
            assert!(found.starts_with("ridge must be positive"), "{found}");
        }
    }
}

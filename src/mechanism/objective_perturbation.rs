use serde::Deserialize;

use super::minimiser::{Minimisation, Options, check_reviewed};
use super::noisy_gradient::row_bound;
use crate::error::{Error, Result};
use crate::mechanism::defaults::{LEAST_RIDGE, OBJECTIVE_CURVATURE_SHARE, OBJECTIVE_RIDGE_FACTOR};
use crate::mechanism::{Domain, Mechanism, Plan, Problem};
use crate::privacy::Target;
use crate::privacy::answer::Perturbation;

/// The minimiser of mean loss + alpha Omega(theta) + (ridge/2)|theta|^2 + <b, theta>/n with a random b (Chaudhuri, Monteleoni
/// & Sarwate 2011; Kifer, Smith & Thakurta 2012; Jain & Thakurta 2014, Theorem 2; Redberg, Koskela & Wang 2023; MECHANISMS
/// M8).
///
/// **Neighbours**: replace-one or add-remove. **Privacy**: the event of
/// [`crate::privacy::event::Event::objective_perturbation`] with L R2, s and ln(1 + beta R2^2/(n ridge)), whose curves are
/// those of M8; and a small Gaussian event that covers the float error of the minimiser ([`crate::privacy::answer::MinimiserPlan`]).
/// **Needs** a catalogued Lipschitz loss (squared is refused: use huber), a catalogued norm, ridge > 0.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ObjectivePerturbation {
    /// Ridge in scaled units; None: the public rule of [`crate::mechanism::defaults::OBJECTIVE_CURVATURE_SHARE`].
    pub ridge: Option<f64>,
    /// alpha in scaled units; None: 0.
    pub alpha: Option<f64>,
    /// tau of a prox that follows the release (post-processing), in scaled units; None: 0.
    pub threshold: Option<f64>,
}

impl Mechanism for ObjectivePerturbation {
    fn margin_bound(&self, _: &Domain, _: usize, _: bool, _: Target) -> Result<f64> {
        Ok(1.0) // users' own losses are refused by the plan
    }

    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Box<dyn Plan>> {
        check_reviewed(&problem, domain)?;
        let ridge = match self.ridge {
            Some(ridge) => ridge,
            None => default_ridge(&problem)?,
        };
        let options = Options {
            ridge,
            alpha: self.alpha.unwrap_or(0.0),
            threshold: self.threshold.unwrap_or(0.0),
        };
        let perturbation = Perturbation::Objective;
        Ok(Box::new(Minimisation::plan(
            "objective-perturbation",
            perturbation,
            problem,
            domain,
            options,
        )?))
    }
}

/// The ridge at which ln(1 + kappa) takes a given share of epsilon, times a factor: both tuned on the open sets.
fn default_ridge(problem: &Problem) -> Result<f64> {
    problem.validate()?;
    let rows = row_bound(problem);
    let share = (OBJECTIVE_CURVATURE_SHARE * problem.epsilon).exp_m1();
    let least = problem.loss.smoothness() * rows * rows / (problem.n_samples as f64 * share);
    let ridge =
        (OBJECTIVE_RIDGE_FACTOR * least).max(LEAST_RIDGE * problem.loss.smoothness() * rows * rows);
    if ridge.is_finite() {
        Ok(ridge)
    } else {
        Err(Error::invalid(
            "epsilon",
            "is too small for objective-perturbation",
        ))
    }
}

//! How selected features are refitted ([`crate::theory_of_privacy::select_refit`]).

use serde::Deserialize;

use super::minimiser::{check_tilted_scalar, describe_clip};
use super::newton_steps::{NewtonOptions, NewtonSteps, Start};
use super::noise_law::TiltLaw;
use super::objective_perturbation::tilted;
use super::regularisation::Regularisation;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::plan::Problem;
use crate::plan::defaults::{SELECT_CURVATURE_SHARE, SELECT_RIDGE_FACTOR};
use crate::privacy::{Planned, Question, Session};
use crate::question::{Point, check_ridge};

/// The mechanism of a refit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RefitBy {
    /// Objective perturbation ([`crate::theory_of_privacy::objective_perturbation`]): for Lipschitz losses.
    ObjectivePerturbation,
    /// Noisy Newton steps: for every loss, the squared one above all.
    NoisyNewton,
}

impl RefitBy {
    /// The better one of those that are proved: objective perturbation spends nothing on curvature, but needs a
    /// Lipschitz loss and one record a person. Of counts, quantiles and reals in units of their spread the curvature is
    /// far below its bound, which decides the ridge there.
    pub(super) fn best(problem: &Problem) -> Self {
        let counts = problem.schema().target().units().is_some();
        let flat = counts || problem.level().is_some() || problem.spread.is_some();
        let scalar = problem.outputs() == 1;
        let proved = problem.loss.growth().is_bounded() && problem.records_per_person() == 1;
        if scalar && proved && !flat {
            Self::ObjectivePerturbation
        } else {
            Self::NoisyNewton
        }
    }
}

/// A planned refit of at most so many features.
#[derive(Debug)]
pub(super) enum Refit {
    Objective {
        question: Question<Point>,
        ridge: f64,
    },
    Newton(NewtonSteps),
}

impl Refit {
    /// For the features of the restricted statement of `problem`, beside `companions`, the events of the selection.
    pub fn plan(
        by: RefitBy,
        problem: &Problem,
        ridge: Option<f64>,
        companions: &[(Event, u64)],
    ) -> Result<Self> {
        match by {
            RefitBy::ObjectivePerturbation => objective(problem, ridge, companions),
            RefitBy::NoisyNewton => {
                let options = NewtonOptions {
                    ridge,
                    ..NewtonOptions::default()
                };
                let steps = NewtonSteps::plan(problem, options, companions)?;
                Ok(Self::Newton(steps))
            }
        }
    }

    pub fn planned(&self) -> Vec<Planned> {
        match self {
            Self::Objective { question, .. } => vec![question.once()],
            Self::Newton(steps) => steps.planned(),
        }
    }

    pub fn describe(&self, problem: &Problem) -> String {
        let clip = describe_clip(problem);
        match self {
            Self::Objective { ridge, .. } => {
                format!("objective-perturbation with ridge {ridge:.6}{clip}")
            }
            Self::Newton(steps) => steps.describe(steps.ridge) + &clip,
        }
    }

    /// Standard deviation of the noise on an entry of the gradient of the mean loss, or the minimiser where that is
    /// more.
    pub fn noise_scale(&self) -> f64 {
        match self {
            Self::Objective { question, .. } => question.tilt_scale().max(question.output_scale()),
            Self::Newton(steps) => steps.gradients.noise_scale,
        }
    }

    /// What is added to the curvature of the loss.
    pub fn ridge(&self) -> f64 {
        match self {
            Self::Objective { ridge, .. } => *ridge,
            Self::Newton(steps) => steps.ridge + steps.damping.least,
        }
    }

    /// Coefficients of the `p` features of a restricted session, then the intercept, `columns` in all. `progress` may
    /// stop the run.
    pub fn release(
        &self,
        session: &mut Session<'_>,
        (p, columns): (usize, usize),
        progress: &dyn Fn(&mut Session<'_>, usize) -> Result<()>,
    ) -> Result<Vec<f64>> {
        match self {
            Self::Objective { question, .. } => session.ask(question, ()),
            Self::Newton(steps) => {
                let start = Start::zero(p, columns, steps.outputs());
                Ok((steps.run(session, &start, &Regularisation::default(), progress)?).theta)
            }
        }
    }
}

fn objective(problem: &Problem, ridge: Option<f64>, companions: &[(Event, u64)]) -> Result<Refit> {
    check_tilted_scalar(problem)?;
    if !problem.loss.growth().is_bounded() {
        return Err(Error::UnsoundMechanism(
            "a refit by objective perturbation needs a Lipschitz loss, which the squared loss is not (Kifer, Smith & \
             Thakurta 2012); use refit=\"noisy-newton\" or loss=\"huber\""
                .into(),
        ));
    }
    let rows = problem.row_bound();
    let ridge = match ridge {
        Some(ridge) => ridge,
        None => {
            let kappa = (SELECT_CURVATURE_SHARE * problem.epsilon).exp_m1();
            let rule = SELECT_RIDGE_FACTOR / (problem.n_samples() as f64 * kappa);
            (rule * problem.loss.smoothness() * rows * rows).max(problem.least_ridge(rows))
        }
    };
    let ridge = check_ridge(ridge)?;
    let question = tilted(problem, None, ridge, TiltLaw::Gaussian, companions)?;
    Ok(Refit::Objective { question, ridge })
}

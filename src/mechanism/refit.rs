//! How selected features are refitted (MECHANISMS M10).

use serde::Deserialize;

use super::minimiser::{assumptions, describe_clip};
use super::newton_steps::{NewtonOptions, NewtonSteps};
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::numeric::directed::sqrt_up;
use crate::plan::Problem;
use crate::plan::defaults::{SELECT_CURVATURE_SHARE, SELECT_RIDGE_FACTOR};
use crate::privacy::BoundedData;
use crate::privacy::answer::{MinimiserFacts, MinimiserPlan};

/// The mechanism of a refit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefitBy {
    /// Objective perturbation (M8): for Lipschitz losses.
    ObjectivePerturbation,
    /// Noisy Newton steps: for every loss, the squared one above all.
    NoisyNewton,
}

impl RefitBy {
    /// The better one of those that are proved: objective perturbation spends nothing on curvature, but needs a
    /// Lipschitz loss and one record a person.
    pub(super) fn best(problem: &Problem) -> Self {
        if problem.loss.lipschitz().is_some() && problem.records_per_person == 1 {
            Self::ObjectivePerturbation
        } else {
            Self::NoisyNewton
        }
    }
}

/// A planned refit of at most so many features.
#[derive(Debug)]
pub(super) enum Refit {
    Objective { plan: MinimiserPlan, ridge: f64 },
    Newton(NewtonSteps),
}

impl Refit {
    /// For `columns` columns, the intercept included, beside `companions`, the events of the selection.
    pub fn plan(
        by: RefitBy,
        problem: &Problem,
        n_features: usize,
        ridge: Option<f64>,
        companions: &[(Event, u64)],
    ) -> Result<Self> {
        match by {
            RefitBy::ObjectivePerturbation => objective(problem, n_features, ridge, companions),
            RefitBy::NoisyNewton => {
                // Bounds do not depend on which features they are.
                let some: Vec<u32> = (0..n_features as u32).collect();
                let problem = Problem {
                    schema: problem.schema.restricted(&some),
                    ..problem.clone()
                };
                let options = NewtonOptions {
                    ridge,
                    ..NewtonOptions::default()
                };
                Ok(Self::Newton(NewtonSteps::plan(
                    &problem, options, companions,
                )?))
            }
        }
    }

    pub fn events(&self) -> Vec<(Event, u64)> {
        match self {
            Self::Objective { plan, .. } => plan.events().to_vec(),
            Self::Newton(steps) => steps.events(),
        }
    }

    pub fn describe(&self, problem: &Problem) -> String {
        let clip = describe_clip(problem);
        match self {
            Self::Objective { ridge, .. } => {
                format!("objective-perturbation with ridge {ridge:.6}{clip}")
            }
            Self::Newton(steps) => steps.describe() + &clip,
        }
    }

    pub fn assumptions(&self, problem: &Problem) -> Vec<String> {
        match self {
            Self::Objective { .. } => assumptions(problem.adjacency),
            Self::Newton(_) => Vec::new(),
        }
    }

    /// Standard deviation of the noise on an entry of the gradient of the mean loss, or the minimiser where that is
    /// more.
    pub fn noise_scale(&self) -> f64 {
        match self {
            Self::Objective { plan, .. } => plan.tilt_scale().max(plan.output_scale()),
            Self::Newton(steps) => steps.gradients.noise_scale,
        }
    }

    /// What is added to the curvature of the loss.
    pub fn ridge(&self) -> f64 {
        match self {
            Self::Objective { ridge, .. } => *ridge,
            Self::Newton(steps) => steps.ridge + steps.damping,
        }
    }

    /// Coefficients of `features`, which are public, then the intercept. `poll` may stop the run.
    pub fn release(
        &self,
        data: &BoundedData,
        features: &[u32],
        problem: &Problem,
        source: &mut Source,
        poll: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Vec<f64>> {
        let loss = problem.loss.as_ref();
        match self {
            Self::Objective { plan, .. } => {
                plan.release_restricted(data, features, loss, source, poll)
            }
            Self::Newton(steps) => {
                let restricted = data.restricted(features)?;
                Ok(steps.run(&restricted, loss, source, &mut |_| poll())?.0)
            }
        }
    }
}

fn objective(
    problem: &Problem,
    n_features: usize,
    ridge: Option<f64>,
    companions: &[(Event, u64)],
) -> Result<Refit> {
    let Some(lipschitz) = problem.loss.lipschitz() else {
        return Err(Error::UnsoundMechanism(
            "a refit by objective perturbation needs a Lipschitz loss, which the squared loss is not (MECHANISMS M8); use \
             refit=\"noisy-newton\" or loss=\"huber\""
                .into(),
        ));
    };
    let columns = n_features + usize::from(problem.schema.has_intercept());
    let rows = sqrt_up(columns as f64);
    let smoothness = problem.loss.smoothness();
    let ridge = match ridge {
        Some(ridge) => ridge,
        None => {
            let kappa = (SELECT_CURVATURE_SHARE * problem.epsilon).exp_m1();
            let rule = SELECT_RIDGE_FACTOR / (problem.n_samples as f64 * kappa);
            (rule * smoothness * rows * rows).max(problem.least_ridge(rows))
        }
    };
    if !(ridge.is_finite() && ridge > 0.0) {
        return Err(Error::invalid("ridge", "must be positive and finite"));
    }
    let facts = MinimiserFacts {
        lipschitz,
        smoothness,
        rows,
        ridge,
        alpha: 0.0,
        prox_error: 0.0,
        n_samples: problem.n_samples,
        columns,
        adjacency: problem.adjacency,
        records_per_person: problem.records_per_person,
    };
    let delta = problem.validate()?;
    let plan = MinimiserPlan::objective_beside(facts, companions, problem.epsilon, delta)?;
    Ok(Refit::Objective { plan, ridge })
}

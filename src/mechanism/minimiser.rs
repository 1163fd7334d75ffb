//! What output and objective perturbation share: the release of one regularised minimiser (MECHANISMS M7, M8).

use std::sync::Arc;

use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::loss::ClippedLogistic;
use crate::mechanism::{Outcome, Plan};
use crate::norm::{Norm, SetFunctionNorm};
use crate::plan::{Domain, Problem};
use crate::privacy::BoundedData;
use crate::privacy::answer::{MinimiserFacts, MinimiserPlan, Perturbation};
use crate::prox::Scratch;

/// One minimiser with its noise.
#[derive(Debug)]
pub(super) struct Minimisation {
    pub name: &'static str,
    problem: Problem,
    norm: Arc<SetFunctionNorm>,
    plan: MinimiserPlan,
    ridge: f64,
    alpha: f64,
    threshold: f64,
    delta: f64,
    predicted_excess_risk: f64,
}

/// Options in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    pub ridge: f64,
    pub alpha: f64,
    /// tau of the prox that follows the release.
    pub threshold: f64,
}

impl Minimisation {
    pub fn plan(
        name: &'static str,
        perturbation: Perturbation,
        problem: Problem,
        domain: &Domain,
        options: Options,
    ) -> Result<Self> {
        let delta = problem.validate()?;
        let Options {
            ridge,
            alpha,
            threshold,
        } = options;
        for (name, value) in [("alpha", alpha), ("threshold", threshold)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::invalid(name, "must be non-negative and finite"));
            }
        }
        check_reviewed(&problem, domain)?;
        let norm = domain.norm(problem.schema.n_features())?;
        let columns = problem.schema.n_columns();
        let smoothness = problem.loss.smoothness();
        let facts = MinimiserFacts {
            lipschitz: lipschitz(&problem, perturbation, ridge)?,
            smoothness,
            rows: problem.row_bound(),
            ridge,
            alpha,
            prox_error: norm.prox_error(),
            n_samples: problem.n_samples,
            columns,
            adjacency: problem.adjacency,
            records_per_person: problem.records_per_person,
        };
        let plan = MinimiserPlan::new(perturbation, facts, problem.epsilon, delta)?;
        let landscape = problem.landscape();
        let excess = landscape.ridge_excess(ridge, plan.tilt_scale(), plan.output_scale());
        Ok(Self {
            name,
            norm,
            predicted_excess_risk: excess,
            plan,
            problem,
            ridge,
            alpha,
            threshold,
            delta,
        })
    }
}

/// The proofs of M6 to M8 need a loss that was reviewed: convex and smooth.
pub(super) fn check_loss(problem: &Problem) -> Result<()> {
    if !problem.loss.smoothness().is_finite() {
        return Err(Error::UnsoundMechanism(
            "this mechanism rests on the loss being convex and smooth, which is not proved for a user's own loss; use a \
             catalogued loss, or frank-wolfe, noisy-gradient-frank-wolfe or noisy-proximal-gradient"
                .into(),
        ));
    }
    Ok(())
}

/// The proofs of M7 and M8 need a norm that was reviewed too: with a prox that does not expand.
pub(super) fn check_reviewed(problem: &Problem, domain: &Domain) -> Result<()> {
    check_loss(problem)?;
    if !domain.is_reviewed() {
        return Err(Error::UnsoundMechanism(
            "this mechanism rests on the norm being convex with a prox that does not expand and has a proved float error, which \
             is so for catalogued norms, but not for a user's own set function, LogDet or sums of unlike ones; use \
             dual-frank-wolfe, noisy-gradient-frank-wolfe or noisy-proximal-gradient"
                .into(),
        ));
    }
    Ok(())
}

/// The same problem with derivatives of the logistic loss clamped at `clip`, where one is given.
pub(super) fn clipped(problem: Problem, clip: Option<f64>) -> Result<Problem> {
    let Some(clip) = clip else {
        return Ok(problem);
    };
    if problem.loss.name() != "logistic" {
        return Err(Error::invalid(
            "clip",
            "is for the logistic loss; leave it at None",
        ));
    }
    let loss = ClippedLogistic::new(clip)
        .map_err(|_| Error::invalid("clip", "must lie strictly between 0 and 1"))?;
    Ok(Problem {
        loss: Arc::new(loss),
        ..problem
    })
}

/// What a plan says about its loss where that is not the user's own choice.
pub(super) fn describe_clip(problem: &Problem) -> String {
    match (problem.loss.name(), problem.loss.parameter()) {
        ("clipped-logistic", Some((_, bound))) => {
            format!(" and derivatives of the logistic loss clamped at {bound}")
        }
        _ => String::new(),
    }
}

/// What a bound on the float error of a minimiser assumes.
pub(super) fn assumptions(adjacency: Adjacency) -> Vec<String> {
    match adjacency {
        Adjacency::ReplaceOne => Vec::new(),
        Adjacency::AddRemove => vec![format!(
            "there are at most {} times as many records as the public number",
            MinimiserFacts::MOST_RECORDS
        )],
    }
}

/// L. The squared loss has none, but 0 = <theta*, subgradient> gives ridge |theta*|^2 <= mean of z (y - z) <= 1/4, as
/// targets fill [-1, 1]: around theta* the residual is at most 1 + R2/(2 sqrt(ridge)). Beyond that the derivative is
/// clamped, which changes no minimiser (MECHANISMS M7).
pub(super) fn lipschitz(problem: &Problem, perturbation: Perturbation, ridge: f64) -> Result<f64> {
    match (problem.loss.lipschitz(), perturbation) {
        (Some(lipschitz), _) => Ok(lipschitz),
        (None, Perturbation::Objective(_)) => Err(Error::UnsoundMechanism(
            "the squared loss has no Lipschitz constant once the objective is perturbed (MECHANISMS M8); use loss=\"huber\""
                .into(),
        )),
        (None, Perturbation::Output(_)) => {
            if problem.residual_bound.is_some() {
                return Err(Error::invalid(
                    "residual_bound",
                    "is not used by output-perturbation, which derives the bound from the ridge; leave it at None",
                ));
            }
            Ok((0.5 * problem.row_bound() / ridge.sqrt() + 1.0) * (1.0 + 1e-12))
        }
    }
}

impl Plan for Minimisation {
    fn problem(&self) -> &Problem {
        &self.problem
    }

    fn describe(&self) -> String {
        let mut text = format!("{} with ridge {:.6}", self.name, self.ridge);
        text += &describe_clip(&self.problem);
        if self.alpha > 0.0 {
            text += &format!(" and penalty {}", self.alpha);
        }
        if self.threshold > 0.0 {
            text += &format!(", then a prox of {}", self.threshold);
        }
        text
    }

    fn certified(&self) -> bool {
        true
    }

    fn assumptions(&self) -> Vec<String> {
        assumptions(self.problem.adjacency)
    }

    fn delta(&self) -> f64 {
        self.delta
    }

    fn n_iter(&self) -> usize {
        1
    }

    fn events(&self) -> Vec<(Event, u64)> {
        self.plan.events().to_vec()
    }

    fn noise_scale(&self) -> f64 {
        self.plan.output_scale().max(self.plan.tilt_scale())
    }

    fn predicted_excess_risk(&self) -> f64 {
        self.predicted_excess_risk
    }

    fn non_private_release(
        &self,
        data: &BoundedData,
        source: &mut Source,
    ) -> Result<Option<(Vec<f64>, f64)>> {
        let loss = self.problem.loss.as_ref();
        (self.plan).non_private_point(data, loss, Some(self.norm.as_ref()), source)
    }

    fn execute(
        &self,
        data: &BoundedData,
        source: &mut Source,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Outcome> {
        let loss = self.problem.loss.as_ref();
        let mut scaled =
            self.plan
                .release(data, loss, Some(self.norm.as_ref()), source, &mut || {
                    progress(0, 1)
                })?;
        if self.threshold > 0.0 {
            let p = self.norm.n_features();
            let released = scaled[..p].to_vec();
            let mut scratch = Scratch::default();
            (self.norm).prox(&released, self.threshold, &mut scaled[..p], &mut scratch)?;
        }
        progress(1, 1)?;
        Ok(Outcome {
            scaled,
            events: self.plan.events().to_vec(),
            secure: source.is_secure(),
            feature_ranges: None,
        })
    }
}

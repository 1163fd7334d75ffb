use std::sync::Arc;

use serde::Deserialize;

use super::minimiser::{Minimisation, Options, check_reviewed, lipschitz};
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::mechanism::{Mechanism, Outcome, Plan};
use crate::norm::{Norm, SetFunctionNorm};
use crate::plan::defaults::DESCENT_STEPS;
use crate::plan::{Domain, Problem};
use crate::privacy::answer::{
    DescentFacts, DescentPlan, MinimiserFacts, MinimiserPlan, OutputNoise, Perturbation,
};
use crate::privacy::{BoundedData, Target};
use crate::prox::Scratch;
use crate::theory::least;

/// What makes the released point insensitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A ridge: the minimiser moves by at most 2 L R2/(n ridge).
    #[default]
    Ridge,
    /// A public number of proximal gradient steps, with or without a ridge.
    EarlyStopping,
}

/// Output perturbation: fit, then add noise (Chaudhuri, Monteleoni & Sarwate 2011; Kifer, Smith & Thakurta 2012; Jain &
/// Thakurta 2014, Theorem 1; Kumar & Deisenroth 2019, Theorem 1; MECHANISMS M7).
///
/// **Neighbours**: replace-one; mode "ridge" also add-remove. **Sensitivity**: 2 L R2/(n ridge) for the minimiser of
/// mean loss + alpha Omega + (ridge/2)|theta|^2 ([`crate::privacy::answer::MinimiserPlan`]); 2 L R2 eta T/n for T steps
/// of length eta ([`crate::privacy::answer::DescentPlan`]), float errors included in both. A norm alone makes nothing
/// strongly convex: ridge = 0 in mode "ridge" is refused, as KD Theorem 1 is not private as printed. **Privacy**:
/// Gaussian, spherical Gamma or lattice Laplace noise. **Needs** a catalogued loss and norm.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OutputPerturbation {
    /// Ridge or early stopping.
    pub mode: Mode,
    /// Law of the noise.
    pub noise: OutputNoise,
    /// Ridge in scaled units; None: a public rule (mode "ridge") or 0.
    pub ridge: Option<f64>,
    /// alpha in scaled units; None: 0.
    pub alpha: Option<f64>,
    /// T of mode "early-stopping"; None: a public rule.
    pub n_iter: Option<usize>,
    /// tau of a prox that follows the release (post-processing), in scaled units; None: 0.
    pub threshold: Option<f64>,
}

impl Mechanism for OutputPerturbation {
    fn margin_bound(&self, _: &Domain, _: usize, _: bool, _: Target) -> Result<f64> {
        Ok(1.0) // users' own losses are refused by the plan
    }

    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Box<dyn Plan>> {
        match self.mode {
            Mode::Ridge => self.plan_ridge(problem, domain),
            Mode::EarlyStopping => self.plan_early_stopping(problem, domain),
        }
    }
}

impl OutputPerturbation {
    fn plan_ridge(&self, problem: Problem, domain: &Domain) -> Result<Box<dyn Plan>> {
        if self.n_iter.is_some() {
            return Err(Error::invalid(
                "n_iter",
                "is not used by output-perturbation in mode \"ridge\"; leave it at None",
            ));
        }
        if self.ridge == Some(0.0) {
            return Err(Error::UnsoundMechanism(
                "output perturbation without a ridge is not private as Kumar & Deisenroth's Theorem 1 prints it: a norm is not \
                 strongly convex, and the minimiser may jump between neighbours (MECHANISMS M7); set ridge > 0, or use \
                 mode=\"early-stopping\", which needs none"
                    .into(),
            ));
        }
        let delta = problem.validate()?;
        let ridge = match self.ridge {
            Some(ridge) => ridge,
            None => default_ridge(&problem, self.noise, delta),
        };
        let options = Options {
            ridge,
            alpha: self.alpha.unwrap_or(0.0),
            threshold: self.threshold.unwrap_or(0.0),
        };
        Ok(Box::new(Minimisation::plan(
            "output-perturbation",
            Perturbation::Output(self.noise),
            problem,
            domain,
            options,
        )?))
    }

    /// T steps of the longest length that does not expand; T minimises the predicted excess, where what is left to go
    /// falls with T and the noise grows with it.
    fn plan_early_stopping(&self, problem: Problem, domain: &Domain) -> Result<Box<dyn Plan>> {
        let delta = problem.validate()?;
        check_reviewed(&problem, domain)?;
        let alpha = self.alpha.unwrap_or(0.0);
        let ridge = self.ridge.unwrap_or(0.0);
        let threshold = self.threshold.unwrap_or(0.0);
        for (name, value) in [("alpha", alpha), ("ridge", ridge), ("threshold", threshold)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::invalid(name, "must be non-negative and finite"));
            }
        }
        let norm = domain.norm(problem.schema.n_features())?;
        let columns = problem.schema.n_columns();
        let rows = problem.row_bound();
        let smoothness = problem.loss.smoothness();
        let curvature = smoothness * rows * rows;
        let step = 2.0 / ((curvature + 2.0 * ridge) * (1.0 + 1e-9));
        let lipschitz = problem.lipschitz();
        let facts = |n_iter| DescentFacts {
            lipschitz,
            smoothness,
            rows,
            ridge,
            alpha,
            prox_error: norm.prox_error(),
            n_iter,
            step,
            n_samples: problem.n_samples,
            columns,
            records_per_person: problem.records_per_person,
        };
        let plan = |n_iter| {
            DescentPlan::new(
                facts(n_iter),
                self.noise,
                problem.adjacency,
                problem.epsilon,
                delta,
            )
        };
        // Noise of one step; the sensitivity is proportional to T.
        let one = plan(1)?.output_scale();
        let landscape = problem.landscape();
        let excess = |t: f64| landscape.ridge_excess(ridge + 1.0 / (step * t), 0.0, one * t);
        let n_iter = match self.n_iter {
            Some(t) => t,
            None => least((1..=DESCENT_STEPS.1).map(|t| t as f64), excess) as usize,
        };
        let descent = plan(n_iter)?;
        Ok(Box::new(EarlyStopping {
            norm,
            predicted_excess_risk: excess(n_iter as f64),
            descent,
            problem,
            n_iter,
            ridge,
            alpha,
            threshold,
            delta,
        }))
    }
}

/// The ridge, in steps of a quarter of an octave, at which the predicted excess is least: more ridge means more bias
/// and less noise, for the squared loss by a smaller Lipschitz constant too.
pub(super) fn default_ridge(problem: &Problem, noise: OutputNoise, delta: f64) -> f64 {
    let landscape = problem.landscape();
    let rows = problem.row_bound();
    let smoothness = problem.smoothness() * rows * rows;
    let excess = |ridge: f64| -> Result<f64> {
        let facts = MinimiserFacts {
            lipschitz: lipschitz(problem, Perturbation::Output(noise), ridge)?,
            smoothness: problem.smoothness(),
            rows,
            ridge,
            alpha: 0.0,
            prox_error: 0.0,
            n_samples: problem.n_samples,
            columns: problem.schema.n_columns(),
            adjacency: problem.adjacency,
            records_per_person: problem.records_per_person,
        };
        let perturbation = Perturbation::Output(noise);
        let plan = MinimiserPlan::new(perturbation, facts, problem.epsilon, delta)?;
        Ok(landscape.ridge_excess(ridge, 0.0, plan.output_scale()))
    };
    let candidates = (-72..=16).map(|k| smoothness * 2f64.powf(0.25 * f64::from(k)));
    let candidates = candidates.filter(|ridge| *ridge >= problem.least_ridge(rows));
    least(candidates, |ridge| excess(ridge).unwrap_or(f64::NAN))
}

#[derive(Debug)]
struct EarlyStopping {
    problem: Problem,
    norm: Arc<SetFunctionNorm>,
    descent: DescentPlan,
    n_iter: usize,
    ridge: f64,
    alpha: f64,
    threshold: f64,
    delta: f64,
    predicted_excess_risk: f64,
}

impl Plan for EarlyStopping {
    fn problem(&self) -> &Problem {
        &self.problem
    }

    fn describe(&self) -> String {
        format!(
            "output-perturbation of {} proximal gradient steps with penalty {}, ridge {}, then a prox of {}",
            self.n_iter, self.alpha, self.ridge, self.threshold
        )
    }

    fn certified(&self) -> bool {
        true
    }

    fn delta(&self) -> f64 {
        self.delta
    }

    fn n_iter(&self) -> usize {
        self.n_iter
    }

    fn events(&self) -> Vec<(Event, u64)> {
        self.descent.events().to_vec()
    }

    fn noise_scale(&self) -> f64 {
        self.descent.output_scale()
    }

    fn predicted_excess_risk(&self) -> f64 {
        self.predicted_excess_risk
    }

    fn non_private_release(
        &self,
        data: &BoundedData,
        _: &mut Source,
    ) -> Result<Option<(Vec<f64>, f64)>> {
        let loss = self.problem.loss.as_ref();
        (self.descent)
            .non_private_point(data, loss, self.norm.as_ref())
            .map(Some)
    }

    fn execute(
        &self,
        data: &BoundedData,
        source: &mut Source,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Outcome> {
        let loss = self.problem.loss.as_ref();
        let mut scaled =
            (self.descent).release(data, loss, self.norm.as_ref(), source, progress)?;
        if self.threshold > 0.0 {
            let p = self.norm.n_features();
            let released = scaled[..p].to_vec();
            let mut scratch = Scratch::default();
            (self.norm).prox(&released, self.threshold, &mut scaled[..p], &mut scratch)?;
        }
        Ok(Outcome {
            scaled,
            events: self.descent.events().to_vec(),
            secure: source.is_secure(),
            feature_ranges: None,
        })
    }
}

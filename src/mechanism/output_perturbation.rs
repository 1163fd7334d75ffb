use serde::Deserialize;

use super::minimiser::{Options, Release, landscape, minimiser, plan_minimiser, reviewed};
use super::noise_law::OutputNoise;
use crate::error::{Error, Result};
use crate::mechanism::Mechanism;
use crate::plan::defaults::DESCENT_STEPS;
use crate::plan::{Domain, Plan, Problem, Summary};
use crate::privacy::Target;
use crate::question::DescentOptions;
use crate::theory::least;

/// What makes the released point insensitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Mode {
    /// A ridge: the minimiser moves by at most 2 L R2/(n ridge).
    #[default]
    Ridge,
    /// A public number of proximal gradient steps, with or without a ridge.
    EarlyStopping,
}

/// Output perturbation: fit, then add noise (Chaudhuri, Monteleoni & Sarwate 2011; Kifer, Smith & Thakurta 2012; Jain &
/// Thakurta 2014, Theorem 1; Kumar & Deisenroth 2019, Theorem 1; [`crate::theory_of_privacy::output_perturbation`]).
///
/// **Neighbours**: replace-one; mode "ridge" also add-remove. **Sensitivity**: 2 L R2/(n ridge) for the minimiser of
/// mean loss + alpha Omega + (ridge/2)|theta|^2 ([`crate::question::StronglyConvex`]); 2 L R2 eta T/n for T steps of
/// length eta ([`crate::question::Descent`]), float errors included in both. A norm alone makes nothing strongly
/// convex: ridge = 0 in mode "ridge" is refused, as KD Theorem 1 is not private as printed. **Privacy**: Gaussian,
/// spherical Gamma or lattice Laplace noise. **Needs** a catalogued loss and norm. **Three or more classes** have a row
/// of theta each; L is sqrt(2), the Euclidean norm of a record's slopes, and the penalty, like the last prox, is the
/// sum of Omega over the rows.
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

    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Plan> {
        match self.mode {
            Mode::Ridge => self.plan_ridge(problem, domain),
            Mode::EarlyStopping => self.plan_early_stopping(problem, domain),
        }
    }
}

impl OutputPerturbation {
    fn plan_ridge(&self, problem: Problem, domain: &Domain) -> Result<Plan> {
        if self.n_iter.is_some() {
            return Err(Error::invalid(
                "n_iter",
                "is not used by output-perturbation in mode \"ridge\"; leave it at None",
            ));
        }
        if self.ridge == Some(0.0) {
            return Err(Error::UnsoundMechanism(
                "output perturbation without a ridge is not private as Kumar & Deisenroth's Theorem 1 prints it: a norm is not \
                 strongly convex, and the minimiser may jump between neighbours; set ridge > 0, or use \
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
        options.check()?;
        let norm = reviewed(&problem, domain)?;
        let minimiser = minimiser(&problem, options.penalty(&norm), ridge)?;
        let noise = self.noise.within(problem.epsilon, delta)?;
        let question = minimiser.with_output_noise(noise)?;
        plan_minimiser("output-perturbation", problem, options, norm, question)
    }

    /// T steps of the longest length that does not expand; T minimises the predicted excess, where what is left to go
    /// falls with T and the noise grows with it.
    fn plan_early_stopping(&self, problem: Problem, domain: &Domain) -> Result<Plan> {
        let delta = problem.validate()?;
        let norm = reviewed(&problem, domain)?;
        let ridge = self.ridge.unwrap_or(0.0);
        let options = Options {
            ridge,
            alpha: self.alpha.unwrap_or(0.0),
            threshold: self.threshold.unwrap_or(0.0),
        };
        options.check()?;
        let rows = problem.row_bound();
        let curvature = problem.smoothness() * rows * rows;
        let step = 2.0 / ((curvature + 2.0 * ridge) * (1.0 + 1e-9));
        let (model, noise) = (problem.model()?, self.noise.within(problem.epsilon, delta)?);
        let question = |n_iter| {
            let options = DescentOptions {
                ridge,
                penalty: options.penalty(&norm),
                n_iter,
                step,
            };
            (problem.statement.descent(&model, options)?).with_output_noise(noise)
        };
        // Noise of one step; the sensitivity is proportional to T.
        let one = question(1)?.output_scale();
        let landscape = landscape(&problem);
        let excess = |t: f64| landscape.ridge_excess(ridge + 1.0 / (step * t), 0.0, one * t);
        let n_iter = match self.n_iter {
            Some(t) => t,
            None => least((1..=DESCENT_STEPS.1).map(|t| t as f64), excess) as usize,
        };
        let question = question(n_iter)?;
        let Options {
            alpha, threshold, ..
        } = options;
        let summary = Summary {
            mechanism: format!(
                "output-perturbation of {n_iter} proximal gradient steps with penalty {alpha}, ridge {ridge}, then a \
                 prox of {threshold}"
            ),
            n_iter,
            noise_scale: question.output_scale(),
            predicted_excess_risk: excess(n_iter as f64),
            point: Some(question.clone()),
            ..Summary::default()
        };
        let release = Release {
            question,
            norm,
            threshold,
        };
        Plan::seal(problem, release, summary)
    }
}

/// The ridge, in steps of a quarter of an octave, at which the predicted excess is least: more ridge means more bias
/// and less noise, for the squared loss by a smaller Lipschitz constant too.
pub(super) fn default_ridge(problem: &Problem, noise: OutputNoise, delta: f64) -> f64 {
    let landscape = landscape(problem);
    let rows = problem.row_bound();
    let smoothness = problem.smoothness() * rows * rows;
    let output = noise.within(problem.epsilon, delta);
    let excess = |ridge: f64| -> Result<f64> {
        let noise = output.clone()?;
        let question = minimiser(problem, None, ridge)?.with_output_noise(noise)?;
        Ok(landscape.ridge_excess(ridge, 0.0, question.output_scale()))
    };
    let candidates = (-72..=16).map(|k| smoothness * 2f64.powf(0.25 * f64::from(k)));
    let candidates = candidates.filter(|ridge| *ridge >= problem.least_ridge(rows));
    least(candidates, |ridge| excess(ridge).unwrap_or(f64::NAN))
}

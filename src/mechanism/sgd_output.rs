use serde::Deserialize;

use super::minimiser::{Release, check_scalar, reviewed};
use super::noise_law::OutputNoise;
use crate::error::{Error, Result, non_negative};
use crate::mechanism::Mechanism;
use crate::plan::defaults::SGD_PASSES;
use crate::plan::{Domain, Plan, Problem, Summary};
use crate::privacy::Target;
use crate::question::PermutedOptions;
use crate::theory::least;

/// Stochastic gradient descent over data-independent permutations, then noise: "bolt-on" privacy (Wu et al. 2017,
/// Theorems 2 and 3; [`crate::theory_of_privacy::output_perturbation`]).
///
/// **Neighbours**: replace-one. **Sensitivity**: 2 k eta L R2/b without a ridge, 2 L R2/(n ridge) with one, float
/// errors added ([`crate::question::Permuted`]). **Privacy**: Gaussian, spherical Gamma or lattice Laplace noise.
/// **Needs** a catalogued loss. There is no penalty: the norm is not used. Full gradient descent (Zhang et al. 2017) is
/// output-perturbation with mode "early-stopping".
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SgdOutput {
    /// Law of the noise.
    pub noise: OutputNoise,
    /// k; None: 5.
    pub n_passes: Option<usize>,
    /// b; None: the least that keeps steps from expanding at the public step.
    pub batch_size: Option<usize>,
    /// Ridge in scaled units; None: 0.
    pub ridge: Option<f64>,
    /// Length of a step without a ridge; None: a public rule.
    pub step: Option<f64>,
}

impl Mechanism for SgdOutput {
    fn margin_bound(&self, _: &Domain, _: usize, _: bool, _: Target) -> Result<f64> {
        Ok(1.0) // users' own losses are refused by the plan
    }

    /// Without a ridge the total length u n = k eta n/b of the descent minimises the predicted excess, whose noise is
    /// proportional to u; eta is then 1/(beta R2^2) at most, and b what gives u.
    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Plan> {
        let delta = problem.validate()?;
        check_scalar(&problem)?;
        domain.check_free("its steps know no norm")?;
        let norm = reviewed(&problem, domain)?;
        let ridge = non_negative("ridge", self.ridge.unwrap_or(0.0))?;
        if ridge > 0.0 && self.step.is_some() {
            return Err(Error::invalid(
                "step",
                "is not used with a ridge, which sets the steps; leave it at None",
            ));
        }
        let rows = problem.row_bound();
        let smoothness = problem.loss.smoothness();
        let curvature = smoothness * rows * rows;
        let passes = self.n_passes.unwrap_or(SGD_PASSES);
        let n = problem.n_samples() as f64;
        let (model, noise) = (problem.model()?, self.noise.within(problem.epsilon, delta)?);
        let question = |options| {
            problem
                .statement
                .permuted(&model, options)?
                .with_output_noise(noise)
        };
        let landscape = problem.landscape();
        // Noise per unit of u, from one pass of single records.
        let probe = 1.0 / curvature;
        let unit = question(PermutedOptions {
            ridge: 0.0,
            passes: 1,
            batch: 1,
            step: probe,
        })?
        .output_scale()
            / probe;
        let longest = 1.0 / curvature;
        let lengths = (-120..=40).map(|k| longest * 2f64.powf(0.125 * f64::from(k)));
        let length = least(lengths, |u| landscape.descent_excess(n * u, 0.0, unit * u));
        let batch = match self.batch_size {
            Some(batch) => batch,
            None if ridge > 0.0 => 32.min(problem.n_samples()),
            None => ((passes as f64 * longest / length) as usize).clamp(1, problem.n_samples()),
        };
        let step = self
            .step
            .unwrap_or((length * batch as f64 / passes.max(1) as f64).min(longest));
        let options = PermutedOptions {
            ridge,
            passes,
            batch,
            step,
        };
        let question = question(options)?;
        let output = question.output_scale();
        let excess = if ridge > 0.0 {
            landscape.ridge_excess(ridge, 0.0, output)
        } else {
            landscape.descent_excess(step * passes as f64 * n / batch as f64, 0.0, output)
        };
        let summary = Summary {
            mechanism: format!("sgd-output, {passes} passes in batches of {batch}, ridge {ridge}"),
            n_iter: passes,
            noise_scale: output,
            predicted_excess_risk: excess,
            point: Some(question.clone()),
            ..Summary::default()
        };
        let release = Release {
            question,
            norm,
            threshold: 0.0,
        };
        Plan::seal(problem, release, summary)
    }
}

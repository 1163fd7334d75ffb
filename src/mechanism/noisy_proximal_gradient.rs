use std::sync::Arc;

use serde::Deserialize;

use super::class_scores::ClassScores;
use super::noisy_gradient::{Gradients, noise_of_one};
use super::public_width;
use super::regularisation::{LossWeight, moderate, moderate_or_none};
use super::ridge::Ridge;
use crate::error::{Error, Result};
use crate::mechanism::Mechanism;
use crate::norm::Norm;
use crate::plan::defaults::{
    CLASSIFIER_SIGNAL, CLASSIFIER_STEP, DESCENT_MOMENTUM, DESCENT_STEPS, LONGEST_DESCENT,
    NOISE_PENALTY, REGRESSOR_STEP, SCALED_STEP, USER_LOSS_MARGIN,
};
use crate::plan::{Domain, Fitted, Plan, Problem, Summary};
use crate::privacy::{Planned, Program, Session, Target};
use crate::prox::{Scratch, soft_threshold};
use crate::question::Units;

/// Private proximal gradient descent on mean loss + alpha Omega(theta) + (ridge/2)|theta|^2 with noisy gradients, the
/// mean of the last half of the iterates released (Bassily, Smith & Thakurta 2014; Wang, Ye & Xu 2017;
/// [`crate::theory_of_privacy::noisy_gradients`]).
///
/// theta <- prox(theta - step g_t + momentum (theta - theta of before)) with the prox of step times alpha Omega +
/// (ridge/2)|.|^2 (Polyak 1964; Ochs, Chen, Brox & Pock 2014); the intercept is neither penalised nor part of the
/// ridge. An entry of the mean is zero where it is so in all of these iterates; with alpha one more step follows, from
/// the mean by the mean of their gradients, which is that of the mean where the loss is quadratic and has the noise of
/// all of them, and its prox decides which entries are zero.
///
/// After private scales alpha and the ridge are in units of the public bounds still, where Omega is a weighted l1 norm:
/// what is released of the scales is public, and so is the weight of every coefficient of the images
/// ([`Session::units`]). Of other norms they are in units of the images.
///
/// theta >= 0, where it is part of the norm, holds after every prox, one of alpha = 0 too, and so of the mean.
///
/// Three or more classes have a row of theta each, and the penalty is the sum of Omega over the classes. What noise all
/// classes have in common is taken from the gradients: their slopes add up to 0.
///
/// **Neighbours**: replace-one or add-remove. **Sensitivity**: 2 d_max |x|_2 on the integer gradient
/// (`question/sensitivity.rs`). **Privacy**: T Gaussian mechanisms, by the exact Gaussian curve; the iterates are
/// post-processing, so the mean is free and privacy does not depend on the norm or its prox being right.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NoisyProximalGradient {
    /// T; None: a public rule.
    pub n_iter: Option<usize>,
    /// alpha in scaled units, of weighted l1 norms those of the public bounds; None: 0, and so only signs of the norm
    /// count.
    pub alpha: Option<f64>,
    /// Ridge in the same units; None: 0.
    pub ridge: Option<f64>,
    /// Length of a step; None: a public rule.
    pub step: Option<f64>,
    /// Share of the last move that a step repeats, in [0, 1); None: [`DESCENT_MOMENTUM`].
    pub momentum: Option<f64>,
    /// Whether alpha None means a public quarter of the dual norm that the noise on the mean gradient has, and not 0:
    /// what a norm may ask for without hiding much that noise does not.
    pub hides_noise: bool,
}

#[derive(Debug)]
struct Steps {
    norm: Arc<dyn Norm>,
    gradients: Gradients,
    /// 1/n.
    normaliser: f64,
    alpha: f64,
    /// Whether alpha was given, and is no public rule's: that is in units of the images.
    is_given: bool,
    loss: LossWeight,
    ridge: Option<Ridge>,
    step: f64,
    /// Of the last step.
    longest: f64,
    momentum: f64,
}

/// alpha Omega + (ridge/2)|.|^2 of images.
struct Penalty<'a> {
    norm: &'a dyn Norm,
    alpha: f64,
    /// Of alpha Omega, where it is a weighted l1 norm of the coefficients that images have without private scales.
    weights: Option<Vec<f64>>,
    ridge: Option<Ridge>,
}

impl Penalty<'_> {
    /// The prox of `step` times it at `v`, which is scaled on the way.
    fn prox(
        &self,
        step: f64,
        v: &mut [f64],
        theta: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let shrunk = |j: usize| 1.0 + step * self.ridge.as_ref().map_or(0.0, |ridge| ridge.of(j));
        v.iter_mut().enumerate().for_each(|(j, v)| *v /= shrunk(j));
        match &self.weights {
            Some(weights) => {
                for (j, (theta, weight)) in theta.iter_mut().zip(weights).enumerate() {
                    *theta = soft_threshold(v[j], step * weight / shrunk(j));
                }
            }
            // One ridge for all.
            None => {
                self.norm
                    .prox(v, step * self.alpha / shrunk(0), theta, scratch)?;
            }
        }
        Ok(())
    }
}

/// Longest descent whose noise leaves scores of classes where their losses are curved, with `noise` on the mean
/// gradient: 1/length is twice the ridge N^2 p/V against noise in p directions
/// ([`crate::theory_of_privacy::noisy_gradients`]). Beyond a score or two these losses are straight lines, which hold
/// no noise back, and the mean of such iterates is no minimiser.
fn longest_for_classes(problem: &Problem, noise: f64) -> f64 {
    match problem.schema().target() {
        Target::Classes | Target::Multiclass { .. } => {
            let columns = problem.statement.n_columns() as f64;
            LONGEST_DESCENT * CLASSIFIER_SIGNAL / (noise.powi(2) * columns)
        }
        Target::Interval { .. } | Target::Counts { .. } => f64::INFINITY,
    }
}

impl Mechanism for NoisyProximalGradient {
    fn weighs_records(&self, target: Target) -> bool {
        target != Target::Classes
    }

    fn margin_bound(&self, domain: &Domain, n_features: usize, _: bool, _: Target) -> Result<f64> {
        domain.norm(n_features)?;
        // Nothing bounds theta: the table ends here, and a margin beyond takes the derivative at its end.
        Ok(USER_LOSS_MARGIN)
    }

    /// The total length eta T/(1 - momentum) of the descent is [`crate::theory::Landscape::best_length`], whatever T,
    /// or that of `longest_for_classes`; then T is as large as keeps the step short enough.
    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Plan> {
        problem.validate()?;
        let norm = domain.norm(problem.schema().n_features())?;
        let alpha = moderate_or_none("alpha", self.alpha.unwrap_or(0.0))?;
        let ridge = self.ridge.unwrap_or(0.0);
        let ridges = Ridge::new(self.ridge, problem.schema().n_features())?;
        let momentum = self.momentum.unwrap_or(DESCENT_MOMENTUM);
        if !(0.0..1.0).contains(&momentum) {
            return Err(Error::invalid("momentum", "must be at least 0 and below 1"));
        }
        let one = noise_of_one(&problem)?;
        let alpha = match self.alpha {
            None if self.hides_noise => {
                NOISE_PENALTY * one * public_width::dual_width(norm.as_ref())?
            }
            _ => alpha,
        };
        let rows = problem.gradient_bound();
        let size = match problem.schema().target() {
            Target::Classes | Target::Multiclass { .. } => CLASSIFIER_STEP,
            _ if problem.schema().gradient_norm().is_some() => SCALED_STEP,
            Target::Interval { .. } | Target::Counts { .. } => REGRESSOR_STEP,
        };
        let longest = size / (problem.smoothness() * rows * rows + ridge);
        let landscape = problem.landscape();
        let longest_descent = longest_for_classes(&problem, one);
        let total = (1.0 - momentum) * landscape.best_length(one).min(longest_descent);
        let n_iter = match self.n_iter {
            Some(t) => t,
            None => ((total / longest).ceil() as usize).clamp(DESCENT_STEPS.0, DESCENT_STEPS.1),
        };
        let step = match self.step {
            None => longest.min(total / n_iter.max(1) as f64),
            Some(step) => moderate("step", step)?,
        };
        let gradients = Gradients::calibrated(&problem, n_iter)?;
        let loss = LossWeight::new(&problem);
        let length = step * n_iter as f64 / (1.0 - momentum);
        let summary = Summary {
            mechanism: format!(
                "noisy-proximal-gradient with penalty {alpha}, ridge {ridge}, {n_iter} steps of length {step:.4}"
            ),
            n_iter,
            noise_scale: gradients.noise_scale,
            predicted_excess_risk: landscape.ridge_excess(ridge + 1.0 / length, one, 0.0),
            ..Summary::default()
        };
        let steps = Steps {
            normaliser: 1.0 / problem.n_samples() as f64,
            norm,
            gradients,
            alpha,
            is_given: self.alpha.is_some(),
            loss,
            ridge: ridges,
            step,
            longest,
            momentum,
        };
        Plan::seal(problem, steps, summary)
    }
}

impl Steps {
    fn penalty(&self, units: Option<&Units>) -> Penalty<'_> {
        let (norm, left) = (self.norm.as_ref(), self.loss.left);
        let weights = norm.weights();
        let units = units.filter(|_| weights.is_some());
        let ridge = (self.ridge.as_ref()).map(|ridge| match units {
            Some(_) => ridge.of_images(units, self.loss).times(left),
            None => ridge.clone(),
        });
        // That of a public rule is in units of the images.
        let units = units.filter(|_| self.is_given);
        let all = units.map_or(self.alpha, |_| {
            left * self.alpha * self.loss.of_images(units)
        });
        let one = |j: usize| units.map_or(1.0, |units| units.coefficients[j]);
        let weights = weights.map(|weights| {
            let weights = weights.iter().enumerate();
            weights.map(|(j, weight)| all * weight * one(j)).collect()
        });
        Penalty {
            norm,
            alpha: self.alpha,
            weights,
            ridge,
        }
    }
}

impl Program<Fitted> for Steps {
    fn questions(&self) -> Vec<Planned> {
        vec![self.gradients.planned()]
    }

    fn run(&self, session: &mut Session<'_>) -> Result<Fitted> {
        let n_iter = self.gradients.n_iter;
        let p = session.statement().schema().n_features();
        let columns = session.statement().n_columns();
        let scores = ClassScores(session.statement().schema().target().outputs());
        let entries = scores.0 * columns;
        let (mut theta, mut before) = (vec![0.0; entries], vec![0.0; entries]);
        let (mut mean, mut moved) = (vec![0.0; entries], vec![0.0; p]);
        let mut scratch = Scratch::default();
        let penalty = self.penalty(session.units());
        let mut mean_gradient = vec![0.0; entries];
        let first_of_mean = n_iter / 2;
        for t in 0..n_iter {
            let mut gradient = self.gradients.ask(session, &theta)?;
            scores.project(&mut gradient);
            let weight = match t.checked_sub(first_of_mean) {
                Some(later) => 1.0 / (later + 1) as f64,
                None => 0.0,
            };
            for (j, (theta, g)) in theta.iter_mut().zip(&gradient).enumerate() {
                let here = *theta;
                let gradient = g * self.normaliser;
                mean_gradient[j] += weight * (gradient - mean_gradient[j]);
                *theta += self.momentum * (here - before[j]) - self.step * gradient;
                before[j] = here;
            }
            if self.alpha > 0.0 || self.ridge.is_some() || self.norm.is_positive() {
                for theta in theta.chunks_mut(columns) {
                    moved.copy_from_slice(&theta[..p]);
                    penalty.prox(self.step, &mut moved, &mut theta[..p], &mut scratch)?;
                }
            }
            if t >= first_of_mean {
                for (mean, theta) in mean.iter_mut().zip(&theta) {
                    *mean += weight * (theta - *mean);
                }
            }
            session.progress(t + 1, n_iter)?;
        }
        if self.alpha > 0.0 {
            for (mean, gradient) in mean.chunks_mut(columns).zip(mean_gradient.chunks(columns)) {
                let step = |(mean, gradient): (&f64, &f64)| mean - self.longest * gradient;
                let steps = mean.iter().zip(gradient).take(p).map(step);
                moved
                    .iter_mut()
                    .zip(steps)
                    .for_each(|(moved, step)| *moved = step);
                penalty.prox(self.longest, &mut moved, &mut mean[..p], &mut scratch)?;
            }
        }
        Ok(mean.into())
    }
}

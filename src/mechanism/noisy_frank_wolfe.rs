use std::sync::Arc;

use serde::Deserialize;

use super::noisy_gradient::{Gradients, noise_of_one};
use super::public_width;
use crate::error::{Error, Result};
use crate::mechanism::defaults::MAX_ITER;
use crate::mechanism::{Domain, Mechanism, Outcome, Plan, Problem};
use crate::norm::{Norm, SetFunctionNorm};
use crate::privacy::answer::NoisyGradient;
use crate::privacy::event::Event;
use crate::privacy::noise::source::Source;
use crate::privacy::{BoundedData, Target};

/// Private Frank-Wolfe over the ball {Omega(theta) + |b| <= radius} of any norm with noisy gradients (TTZ Algorithm 3,
/// Theorem 2.6; MECHANISMS M4).
///
/// theta <- (1 - mu_t) theta + mu_t v_t with mu_t = 2/(t + 2), v_t the vertex of the ball that minimises the inner product
/// with the noisy gradient: argmin over the ball of the norm, not the greedy vertex of |P|(F). The gradient may be averaged
/// over the steps, d_t = (1 - nu_t) d_{t-1} + nu_t g_t with nu_t = 4/(t + 8)^(2/3) (Mokhtari, Hassani & Karbasi 2020): less
/// noise, some delay.
///
/// **Neighbours**: replace-one or add-remove. **Sensitivity**: 2 d_max |x|_2 on the integer gradient
/// ([`crate::privacy::sensitivity`]). **Privacy**: T Gaussian mechanisms, by the exact Gaussian curve. Vertices are public,
/// so privacy does not depend on the norm or its oracle being right.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NoisyFrankWolfe {
    /// T; None: 2 Gamma/(T + 2) + width(T) at its least, as for [`crate::mechanism::FrankWolfe`].
    pub n_iter: Option<usize>,
    /// Radius in scaled units; None: the public default.
    pub radius: Option<f64>,
    /// Whether gradients are averaged over steps.
    pub average_gradients: bool,
}

#[derive(Debug)]
struct NoisyFrankWolfePlan {
    problem: Problem,
    norm: Arc<SetFunctionNorm>,
    gradients: Gradients,
    radius: f64,
    average_gradients: bool,
    predicted_excess_risk: f64,
}

impl NoisyFrankWolfe {
    fn size(&self, target: Target) -> Result<f64> {
        let radius = self.radius.unwrap_or(Problem::default_radius(target));
        if !(1e-100..=1e100).contains(&radius) {
            return Err(Error::invalid(
                "radius",
                "must be positive, between 1e-100 and 1e100",
            ));
        }
        Ok(radius)
    }
}

impl Mechanism for NoisyFrankWolfe {
    fn margin_bound(
        &self,
        domain: &Domain,
        n_features: usize,
        intercept: bool,
        target: Target,
    ) -> Result<f64> {
        let norm = domain.norm(n_features)?;
        let radius = self.size(target)?;
        // |<theta, x>| <= Omega(theta) * dual(x), and the dual norm of a row in [-1, 1]^p is at most that of ones.
        let features = norm.dual(&vec![1.0; n_features])?;
        Ok(radius * features.max(f64::from(u8::from(intercept))))
    }

    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Box<dyn Plan>> {
        let radius = self.size(problem.schema.target())?;
        let norm = domain.norm(problem.schema.n_features())?;
        if !norm.function().is_monotone() {
            return Err(Error::invalid(
                "norm",
                "is a seminorm, whose ball is unbounded; use noisy-proximal-gradient or output-perturbation",
            ));
        }
        let one = noise_of_one(&problem)?;
        let width = radius * public_width::dual_width(norm.as_ref())?;
        let reach = radius * public_width::reach(norm.as_ref())?.max(1.0);
        let smoothness = problem.loss.smoothness();
        let smoothness = if smoothness.is_finite() {
            smoothness
        } else {
            problem.lipschitz()
        };
        let gamma = problem.curvature() * smoothness * reach * reach;
        let excess =
            |t: usize| 2.0 * gamma / (t as f64 + 2.0) + 2.0 * width * one * (t as f64).sqrt();
        let n_iter = match self.n_iter {
            Some(t) => t,
            None => (1..=MAX_ITER)
                .min_by(|&a, &b| excess(a).total_cmp(&excess(b)))
                .unwrap_or(1),
        };
        Ok(Box::new(NoisyFrankWolfePlan {
            gradients: Gradients::calibrated(&problem, n_iter)?,
            predicted_excess_risk: excess(n_iter),
            average_gradients: self.average_gradients,
            problem,
            norm,
            radius,
        }))
    }
}

impl Plan for NoisyFrankWolfePlan {
    fn problem(&self) -> &Problem {
        &self.problem
    }

    fn describe(&self) -> String {
        format!(
            "noisy-gradient-frank-wolfe over a ball of radius {}, {} iterations",
            self.radius, self.gradients.n_iter
        )
    }

    fn certified(&self) -> bool {
        true
    }

    fn delta(&self) -> f64 {
        self.gradients.delta
    }

    fn n_iter(&self) -> usize {
        self.gradients.n_iter
    }

    fn events(&self) -> Vec<(Event, u64)> {
        self.gradients.events()
    }

    fn noise_scale(&self) -> f64 {
        self.gradients.noise_scale
    }

    fn predicted_excess_risk(&self) -> f64 {
        self.predicted_excess_risk
    }

    fn execute(
        &self,
        data: &BoundedData,
        source: &mut Source,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Outcome> {
        let n_iter = self.gradients.n_iter;
        let loss = self.problem.loss.as_ref();
        let mut answer =
            NoisyGradient::new(data, loss, &self.gradients.plan, n_iter as u64, source)?;
        let p = self.problem.schema.n_features();
        let columns = data.n_columns();
        let (mut theta, mut gradient) = (vec![0.0; columns], vec![0.0; columns]);
        let (mut mean, mut vertex) = (vec![0.0; columns], vec![0.0; columns]);
        for t in 0..n_iter {
            answer.release(&theta, &mut gradient)?;
            let nu = if self.average_gradients {
                (4.0 / (t as f64 + 8.0).powf(2.0 / 3.0)).min(1.0)
            } else {
                1.0
            };
            for (mean, g) in mean.iter_mut().zip(&gradient) {
                *mean += if t == 0 { *g } else { nu * (g - *mean) };
            }
            self.vertex(&mean, p, &mut vertex)?;
            let mu = 2.0 / (t as f64 + 2.0);
            for (theta, v) in theta.iter_mut().zip(&vertex) {
                *theta += mu * (v - *theta);
            }
            progress(t + 1, n_iter)?;
        }
        let (events, secure) = answer.finish();
        Ok(Outcome {
            scaled: theta,
            events,
            secure,
        })
    }
}

impl NoisyFrankWolfePlan {
    /// argmin <gradient, v> over {Omega(theta) + |b| <= radius}: the better of the norm's vertex and of +-b.
    fn vertex(&self, gradient: &[f64], p: usize, vertex: &mut [f64]) -> Result<()> {
        self.norm.ball_vertex(&gradient[..p], &mut vertex[..p])?;
        let reached: f64 = gradient[..p]
            .iter()
            .zip(&vertex[..p])
            .map(|(g, v)| -g * v)
            .sum();
        vertex[..p].iter_mut().for_each(|v| *v *= self.radius);
        if let Some(&intercept) = gradient.get(p) {
            vertex[p] = 0.0;
            if intercept.abs() > reached {
                vertex[..p].fill(0.0);
                vertex[p] = -self.radius * intercept.signum();
            }
        }
        Ok(())
    }
}

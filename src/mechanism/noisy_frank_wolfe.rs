use std::sync::Arc;

use serde::Deserialize;

use super::class_scores::ClassScores;
use super::noisy_gradient::{Gradients, noise_of_one};
use super::public_width;
use crate::error::Result;
use crate::mechanism::Mechanism;
use crate::norm::Norm;
use crate::plan::defaults::MAX_ITER;
use crate::plan::{Domain, Fitted, Plan, Problem, Summary};
use crate::privacy::{Planned, Program, Session, Target};
use crate::theory::{frank_wolfe_excess, least, noisy_vertex_error};

/// Private Frank-Wolfe over the ball {Omega(theta) + |b| <= radius} of any norm with noisy gradients (TTZ Algorithm 3,
/// Theorem 2.6; [`crate::theory_of_privacy::noisy_gradients`]).
///
/// theta <- (1 - mu_t) theta + mu_t v_t, v_t the vertex of the ball that minimises the inner product with the noisy
/// gradient: argmin over the ball of the norm, not the greedy vertex of |P|(F). The gradient is averaged over the
/// steps, d_t = (1 - nu_t) d_{t-1} + nu_t g_t with nu_t = 4/(t + 8)^(2/3) (Mokhtari, Hassani & Karbasi 2020): less
/// noise, some delay, and mu_t = 2/(t + 8), which does not start with a jump to a vertex. Without the mean
/// mu_t = 2/(t + 2), as in the paper.
///
/// Three or more classes have a row of theta each, and the ball is that of the sum of Omega + |b| over the classes.
///
/// **Neighbours**: replace-one or add-remove. **Sensitivity**: 2 d_max |x|_2 on the integer gradient
/// (`question/sensitivity.rs`). **Privacy**: T Gaussian mechanisms, by the exact Gaussian curve. Vertices are
/// public, so privacy does not depend on the norm or its oracle being right.
#[derive(Debug, Clone, Deserialize)]
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
struct Steps {
    norm: Arc<dyn Norm>,
    gradients: Gradients,
    radius: f64,
    options: NoisyFrankWolfe,
}

impl Default for NoisyFrankWolfe {
    fn default() -> Self {
        Self {
            n_iter: None,
            radius: None,
            average_gradients: true,
        }
    }
}

impl NoisyFrankWolfe {
    /// nu_t, the weight of a gradient in the running mean.
    fn weight(&self, t: f64) -> f64 {
        if self.average_gradients {
            (4.0 / (t + 8.0).powf(2.0 / 3.0)).min(1.0)
        } else {
            1.0
        }
    }

    /// mu_t.
    fn step(&self, t: f64) -> f64 {
        2.0 / (t + if self.average_gradients { 8.0 } else { 2.0 })
    }

    fn size(&self, target: Target) -> Result<f64> {
        Domain::size(self.radius, Problem::default_radius(target))
    }
}

impl Mechanism for NoisyFrankWolfe {
    fn weighs_records(&self, target: Target) -> bool {
        target != Target::Classes
    }

    fn margin_bound(
        &self,
        domain: &Domain,
        n_features: usize,
        intercept: bool,
        target: Target,
    ) -> Result<f64> {
        let norm = domain.ball(n_features)?;
        let radius = self.size(target)?;
        // |<theta, x>| <= Omega(theta) * dual(x), and the dual norm of a row in [-1, 1]^p is at most that of ones.
        let features = norm.dual(&vec![1.0; n_features])?;
        Ok(radius * features.max(f64::from(u8::from(intercept))))
    }

    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Plan> {
        let radius = self.size(problem.schema().target())?;
        let norm = domain.ball(problem.schema().n_features())?;
        let one = noise_of_one(&problem)?;
        let width = radius * public_width::dual_width(norm.as_ref())?;
        let reach = radius * norm.reach()?.max(1.0);
        let gamma = problem.curvature() * problem.smoothness() * reach * reach;
        let excess = |t: f64| {
            // Of a running mean of weight nu: nu/(2 - nu) of the variance.
            let nu = self.weight(t);
            let noise = one * (t * nu / (2.0 - nu)).sqrt();
            frank_wolfe_excess(gamma, t, noisy_vertex_error(width, noise))
        };
        let n_iter = match self.n_iter {
            Some(t) => t,
            None => least((1..=MAX_ITER).map(|t| t as f64), excess) as usize,
        };
        let gradients = Gradients::calibrated(&problem, n_iter)?;
        let summary = Summary {
            mechanism: format!(
                "noisy-gradient-frank-wolfe over a ball of radius {radius}, {n_iter} iterations"
            ),
            n_iter,
            noise_scale: gradients.noise_scale,
            predicted_excess_risk: excess(n_iter as f64),
            ..Summary::default()
        };
        let steps = Steps {
            norm,
            gradients,
            radius,
            options: self.clone(),
        };
        Plan::seal(problem, steps, summary)
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
        let (mut theta, mut mean) = (vec![0.0; entries], vec![0.0; entries]);
        let mut vertex = vec![0.0; entries];
        for t in 0..n_iter {
            let mut gradient = self.gradients.ask(session, &theta)?;
            scores.project(&mut gradient);
            let nu = self.options.weight(t as f64);
            for (mean, g) in mean.iter_mut().zip(&gradient) {
                *mean += if t == 0 { *g } else { nu * (g - *mean) };
            }
            self.best_vertex(&mean, (p, columns), &mut vertex)?;
            let mu = self.options.step(t as f64);
            for (theta, v) in theta.iter_mut().zip(&vertex) {
                *theta += mu * (v - *theta);
            }
            session.progress(t + 1, n_iter)?;
        }
        Ok(theta.into())
    }
}

impl Steps {
    /// The vertex of the score, one of those with `columns` entries each, whose own is best: the ball is of the sum
    /// over the scores.
    fn best_vertex(
        &self,
        gradient: &[f64],
        (p, columns): (usize, usize),
        vertex: &mut [f64],
    ) -> Result<()> {
        let (mut best, mut least) = (0, f64::INFINITY);
        let parts = gradient.chunks(columns).zip(vertex.chunks_mut(columns));
        for (k, (gradient, vertex)) in parts.enumerate() {
            self.vertex(gradient, p, vertex)?;
            let reached: f64 = gradient.iter().zip(vertex.iter()).map(|(g, v)| g * v).sum();
            if reached < least {
                (best, least) = (k, reached);
            }
        }
        for (k, vertex) in vertex.chunks_mut(columns).enumerate() {
            if k != best {
                vertex.fill(0.0);
            }
        }
        Ok(())
    }

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

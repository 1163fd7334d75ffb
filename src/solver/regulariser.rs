//! The norm of a problem as the solver uses it: the l1 norm in closed form, any other through [`Norm`].

use super::kernel::Kernel;
use super::{Design, Problem};
use crate::error::{Error, Result};
use crate::norm::Norm;
use crate::prox::{Scratch, l1_ball_threshold, soft_threshold};

/// Proxes that the search for the level of a ball may spend at one point.
const LEVEL_STEPS: usize = 30;

/// Omega.
#[derive(Debug, Clone, Copy)]
pub enum Regulariser<'a> {
    /// The l1 norm, for which there is coordinate descent.
    L1,
    /// Any norm or seminorm.
    Norm(&'a dyn Norm),
}

/// Omega for one run, with the memory that its methods use.
#[derive(Debug)]
pub(super) struct Omega<'a> {
    pub regulariser: Regulariser<'a>,
    /// Directions that Omega leaves free; none for a norm.
    pub kernel: Kernel,
    scratch: Scratch,
    negated: Vec<f64>,
    image: Vec<f64>,
    levels: Vec<f64>,
}

impl<'a> Omega<'a> {
    /// # Errors
    /// A norm on another number of features, and an oracle that fails.
    pub fn new<D: Design + ?Sized>(
        regulariser: Regulariser<'a>,
        problem: &Problem<'_, D>,
    ) -> Result<Self> {
        let mut omega = Self {
            regulariser,
            kernel: Kernel::default(),
            scratch: Scratch::default(),
            negated: Vec::new(),
            image: Vec::new(),
            levels: Vec::new(),
        };
        if let Regulariser::Norm(norm) = regulariser {
            let p = problem.design().n_columns();
            if norm.n_features() != p {
                return Err(Error::invalid(
                    "norm",
                    format!("is on {} features, but X has {p}", norm.n_features()),
                ));
            }
            omega.negated = vec![0.0; p];
            omega.image = vec![0.0; p];
            omega.kernel = Kernel::find(norm, &mut omega.scratch)?;
        }
        Ok(omega)
    }

    /// Omega(theta).
    pub fn value(&self, theta: &[f64]) -> Result<f64> {
        match self.regulariser {
            Regulariser::L1 => Ok(theta.iter().map(|t| t.abs()).sum()),
            Regulariser::Norm(norm) => norm.value(theta),
        }
    }

    /// A vertex s of K with <s, theta> = Omega(theta).
    pub fn vertex(&self, theta: &[f64], s: &mut [f64]) -> Result<()> {
        match self.regulariser {
            Regulariser::L1 => {
                for (s, t) in s.iter_mut().zip(theta) {
                    *s = if *t == 0.0 { 0.0 } else { t.signum() };
                }
                Ok(())
            }
            Regulariser::Norm(norm) => norm.vertex(theta, s),
        }
    }

    /// out = argmin_x |x - v|^2/2 + step*Omega(x), up to what an iterative prox leaves.
    pub fn prox(&mut self, v: &[f64], step: f64, out: &mut [f64]) -> Result<()> {
        match self.regulariser {
            Regulariser::L1 => {
                for (out, v) in out.iter_mut().zip(v) {
                    *out = soft_threshold(*v, step);
                }
            }
            Regulariser::Norm(norm) => {
                norm.prox(v, step, out, &mut self.scratch)?;
            }
        }
        Ok(())
    }

    /// The dual norm of -`correlations`, which must be orthogonal to the kernel up to rounding.
    pub fn dual(&mut self, correlations: &[f64]) -> Result<f64> {
        match self.regulariser {
            Regulariser::L1 => Ok(correlations.iter().fold(0.0f64, |m, v| m.max(v.abs()))),
            Regulariser::Norm(norm) => {
                self.negate(correlations, 1.0);
                self.kernel.project_out(&mut self.negated);
                norm.dual(&self.negated)
            }
        }
    }

    /// Lower bound on min_theta <scale*correlations, theta> + alpha*Omega(theta) + (ridge/2)|theta|^2 for a positive
    /// ridge.
    ///
    /// The minimiser is the prox of alpha*Omega at -scale*correlations, divided by the ridge.
    pub fn ridge_minimum(
        &mut self,
        correlations: &[f64],
        scale: f64,
        alpha: f64,
        ridge: f64,
    ) -> Result<f64> {
        match self.regulariser {
            Regulariser::L1 => {
                let square: f64 = (correlations.iter())
                    .map(|v| soft_threshold(scale * v, alpha).powi(2))
                    .sum();
                Ok(-square / (2.0 * ridge))
            }
            Regulariser::Norm(norm) => {
                self.negate(correlations, scale);
                let excess = norm.prox(&self.negated, alpha, &mut self.image, &mut self.scratch)?;
                // At a rough prox the value is above the minimum by at most `excess`.
                let smooth: f64 = (self.image.iter().zip(&self.negated))
                    .map(|(x, v)| x * (0.5 * x - v))
                    .sum();
                Ok((smooth + alpha * norm.value(&self.image)? - excess) / ridge)
            }
        }
    }

    /// The penalty t that gives the best bound over the ball of `radius` at these correlations: Omega of the minimiser
    /// above is the radius. Any t >= 0 gives a bound, so a rough one will do.
    pub fn ball_level(&mut self, correlations: &[f64], radius: f64, ridge: f64) -> Result<f64> {
        match self.regulariser {
            Regulariser::L1 => Ok(l1_ball_threshold(
                correlations,
                ridge * radius,
                &mut self.levels,
            )),
            Regulariser::Norm(norm) => {
                let mut high = self.dual(correlations)?;
                if ridge == 0.0 {
                    return Ok(high);
                }
                let mut low = 0.0;
                for _ in 0..LEVEL_STEPS {
                    let t = 0.5 * (low + high);
                    norm.prox(&self.negated, t, &mut self.image, &mut self.scratch)?;
                    if norm.value(&self.image)? > ridge * radius {
                        low = t;
                    } else {
                        high = t;
                    }
                }
                Ok(high)
            }
        }
    }

    /// negated = -scale*correlations.
    fn negate(&mut self, correlations: &[f64], scale: f64) {
        for (out, v) in self.negated.iter_mut().zip(correlations) {
            *out = -scale * v;
        }
    }
}

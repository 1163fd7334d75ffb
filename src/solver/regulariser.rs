//! The norm of a problem as the solver uses it: l1 norms, weighted ones too, in closed form, any other through
//! [`Norm`].

use super::kernel::Kernel;
use super::{Design, Problem};
use crate::error::{Error, Result};
use crate::norm::{GroupLasso, Norm};
use crate::prox::{Scratch, l1_ball_threshold, soft_threshold};

/// Proxes that the search for the level of a ball may spend at one point.
const LEVEL_STEPS: usize = 30;

/// Omega.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Regulariser<'a> {
    /// The l1 norm.
    L1,
    /// Any norm or seminorm. One with [`Norm::weights`] is treated like the l1 norm: there is coordinate descent for
    /// it.
    Norm(&'a dyn Norm),
}

/// Omega, in the form that its methods tell apart.
#[derive(Debug)]
enum Kind<'a> {
    /// sum_j w_j |theta_j|.
    Weighted(Vec<f64>),
    /// Any other.
    General(&'a dyn Norm),
}

/// Omega for one run, with the memory that its methods use.
#[derive(Debug)]
pub(super) struct Omega<'a> {
    kind: Kind<'a>,
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
        let p = problem.design().n_columns();
        let weights = match regulariser {
            Regulariser::L1 => Some(vec![1.0; p]),
            Regulariser::Norm(norm) if norm.n_features() != p => {
                return Err(Error::invalid(
                    "norm",
                    format!("is on {} features, but X has {p}", norm.n_features()),
                ));
            }
            Regulariser::Norm(norm) => {
                if let Some(lasso) = norm.group_lasso() {
                    check_lasso(lasso, problem.ridge())?;
                }
                norm.weights()
            }
        };
        let mut scratch = Scratch::default();
        let (kind, kernel) = match (regulariser, weights) {
            (Regulariser::Norm(norm), None) => {
                (Kind::General(norm), Kernel::find(norm, &mut scratch)?)
            }
            (_, weights) => (
                Kind::Weighted(weights.unwrap_or_default()),
                Kernel::default(),
            ),
        };
        Ok(Self {
            kind,
            kernel,
            scratch,
            negated: vec![0.0; p],
            image: vec![0.0; p],
            levels: Vec::new(),
        })
    }

    /// The w of a weighted l1 norm, 1 each for the l1 norm itself; none for any other.
    pub fn weights(&self) -> Option<&[f64]> {
        match &self.kind {
            Kind::Weighted(weights) => Some(weights),
            Kind::General(_) => None,
        }
    }

    /// Omega where it is a group lasso.
    pub fn group_lasso(&self) -> Option<&'a GroupLasso> {
        match self.kind {
            Kind::General(norm) => norm.group_lasso(),
            Kind::Weighted(_) => None,
        }
    }

    /// Whether theta >= 0 is part of Omega.
    pub fn is_positive(&self) -> bool {
        self.group_lasso().is_some_and(Norm::is_positive)
    }

    /// Omega(theta).
    pub fn value(&self, theta: &[f64]) -> Result<f64> {
        match &self.kind {
            Kind::General(norm) => norm.value(theta),
            Kind::Weighted(weights) => {
                Ok(weights.iter().zip(theta).map(|(w, t)| w * t.abs()).sum())
            }
        }
    }

    /// A vertex s of K with <s, theta> = Omega(theta).
    pub fn vertex(&self, theta: &[f64], s: &mut [f64]) -> Result<()> {
        match &self.kind {
            Kind::General(norm) => norm.vertex(theta, s)?,
            Kind::Weighted(weights) => {
                for (s, (w, t)) in s.iter_mut().zip(weights.iter().zip(theta)) {
                    *s = if *t == 0.0 { 0.0 } else { w.copysign(*t) };
                }
            }
        }
        Ok(())
    }

    /// out = argmin_x |x - v|^2/2 + step*Omega(x), up to what an iterative prox leaves.
    pub fn prox(&mut self, v: &[f64], step: f64, out: &mut [f64]) -> Result<()> {
        match &self.kind {
            Kind::General(norm) => {
                norm.prox(v, step, out, &mut self.scratch)?;
            }
            Kind::Weighted(weights) => {
                for (out, (w, v)) in out.iter_mut().zip(weights.iter().zip(v)) {
                    *out = soft_threshold(*v, step * w);
                }
            }
        }
        Ok(())
    }

    /// The dual norm of -`correlations`, which must be orthogonal to the kernel up to rounding.
    pub fn dual(&mut self, correlations: &[f64]) -> Result<f64> {
        match &self.kind {
            Kind::General(norm) => {
                negate(correlations, 1.0, &mut self.negated);
                self.kernel.project_out(&mut self.negated);
                norm.dual(&self.negated)
            }
            Kind::Weighted(weights) => {
                let levels = weights.iter().zip(correlations).map(|(w, v)| v.abs() / w);
                Ok(levels.fold(0.0, f64::max))
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
        match &self.kind {
            Kind::General(norm) => {
                negate(correlations, scale, &mut self.negated);
                let excess = norm.prox(&self.negated, alpha, &mut self.image, &mut self.scratch)?;
                // At a rough prox the value is above the minimum by at most `excess`.
                let smooth: f64 = (self.image.iter().zip(&self.negated))
                    .map(|(x, v)| x * (0.5 * x - v))
                    .sum();
                Ok((smooth + alpha * norm.value(&self.image)? - excess) / ridge)
            }
            Kind::Weighted(weights) => {
                let square: f64 = weights
                    .iter()
                    .zip(correlations)
                    .map(|(w, v)| soft_threshold(scale * v, alpha * w).powi(2))
                    .sum();
                Ok(-square / (2.0 * ridge))
            }
        }
    }

    /// The penalty t that gives the best bound over the ball of `radius` at these correlations: Omega of the minimiser
    /// above is the radius. Any t >= 0 gives a bound, so a rough one will do.
    pub fn ball_level(&mut self, correlations: &[f64], radius: f64, ridge: f64) -> Result<f64> {
        if (self.weights()).is_some_and(|weights| weights.iter().all(|w| *w == 1.0)) {
            let bound = ridge * radius;
            return Ok(l1_ball_threshold(correlations, bound, &mut self.levels));
        }
        let mut high = self.dual(correlations)?;
        if ridge == 0.0 {
            return Ok(high);
        }
        let (mut low, mut t) = (0.0, 0.0);
        for _ in 0..LEVEL_STEPS {
            let norm = match &self.kind {
                Kind::General(norm) => {
                    norm.prox(&self.negated, t, &mut self.image, &mut self.scratch)?;
                    norm.value(&self.image)?
                }
                Kind::Weighted(weights) => weights
                    .iter()
                    .zip(correlations)
                    .map(|(w, v)| w * soft_threshold(*v, t * w).abs())
                    .sum(),
            };
            if norm > ridge * radius {
                low = t;
            } else {
                high = t;
                if t == 0.0 {
                    // The ball is no constraint.
                    break;
                }
            }
            t = 0.5 * (low + high);
        }
        Ok(high)
    }
}

/// Refuses what has no prox, and what has no certificate.
fn check_lasso(lasso: &GroupLasso, ridge: f64) -> Result<()> {
    if lasso.overlaps() {
        let problem = "has groups that overlap: copy the columns of X, one copy a group";
        return Err(Error::invalid("norm", problem));
    }
    if lasso.is_positive() && lasso.is_seminorm() && ridge == 0.0 {
        // The multiplier of theta_j >= 0 would have to be guessed for the dual point to be feasible.
        return Err(Error::invalid(
            "norm",
            "must have positive weights where coefficients must be positive, or come with a positive ridge: without either \
             nothing certifies optimality",
        ));
    }
    Ok(())
}

/// out = -scale*correlations.
fn negate(correlations: &[f64], scale: f64, out: &mut [f64]) {
    for (out, v) in out.iter_mut().zip(correlations) {
        *out = -scale * v;
    }
}

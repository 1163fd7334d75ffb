//! Noisy Newton steps: what noisy-newton and the refit of a selection share
//! ([`crate::theory_of_privacy::noisy_gradients`], [`crate::theory_of_privacy::select_refit`]).

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use super::noisy_gradient::Gradients;
use crate::accounting::calibrate::calibrate_events;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::plan::Problem;
use crate::plan::defaults::{NEWTON_DAMPING, NEWTON_MOMENTUM, NEWTON_SHARE, NEWTON_STEPS};
use crate::privacy::{Planned, Question, Session};
use crate::question::Moments;

/// What users may set; None: the public constants.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NewtonOptions {
    pub n_iter: Option<usize>,
    pub share: Option<f64>,
    pub damping: Option<f64>,
    pub ridge: Option<f64>,
}

/// One release of second moments and T of gradients, calibrated, and the constants of the steps.
#[derive(Debug, Clone)]
pub(super) struct NewtonSteps {
    moments: Question<Moments>,
    pub gradients: Gradients,
    /// lambda, in units of the Hessian of the mean loss.
    pub damping: f64,
    pub ridge: f64,
    /// beta/n.
    scale: f64,
    normaliser: f64,
}

impl NewtonSteps {
    /// Calibrated so that with `companions`, events that the release spends besides, (epsilon, delta) of `problem` is
    /// met.
    pub fn plan(
        problem: &Problem,
        options: NewtonOptions,
        companions: &[(Event, u64)],
    ) -> Result<Self> {
        let delta = problem.validate()?;
        let ridge = options.ridge.unwrap_or(0.0);
        if !(ridge.is_finite() && ridge >= 0.0) {
            return Err(Error::invalid("ridge", "must be non-negative and finite"));
        }
        let share = options.share.unwrap_or(NEWTON_SHARE);
        if !(share > 0.0 && share < 1.0) {
            return Err(Error::invalid("share", "must lie strictly between 0 and 1"));
        }
        let damping = options.damping.unwrap_or(NEWTON_DAMPING);
        if !(damping.is_finite() && damping > 0.0) {
            return Err(Error::invalid("damping", "must be positive and finite"));
        }
        let n_iter = options.n_iter.unwrap_or(NEWTON_STEPS);
        // One multiplier for both: the inverse squares of theirs add up to its own.
        let parts = |multiplier: f64| -> Result<(Question<Moments>, Gradients)> {
            let steps = multiplier * (n_iter as f64 / (1.0 - share)).sqrt();
            let gradients = Gradients::with_multiplier(problem, n_iter, steps)?;
            let moments = (problem.statement).moments(multiplier / share.sqrt())?;
            Ok((moments, gradients))
        };
        parts(1.0)?; // not too wide, and a number of steps that plans take
        let events = |multiplier: f64| {
            let (moments, gradients) = parts(multiplier)?;
            let mut events = companions.to_vec();
            events.extend_from_slice(moments.events());
            events.extend(
                (gradients.question.events().iter()).map(|&(event, _)| (event, n_iter as u64)),
            );
            Ok::<_, Error>(events)
        };
        let multiplier = calibrate_events(events, problem.epsilon, delta, (1e-3, 1e7))
            .map_err(|_| Error::invalid("epsilon", "is too small for noisy-newton"))?;
        let (moments, gradients) = parts(multiplier)?;
        let normaliser = 1.0 / problem.n_samples() as f64;
        let scale = problem.smoothness() * normaliser;
        let columns = problem.statement.n_columns() as f64;
        let damping = damping * scale * largest_eigenvalue(moments.noise_scale(), columns);
        Ok(Self {
            moments,
            gradients,
            damping,
            ridge,
            scale,
            normaliser,
        })
    }

    pub fn planned(&self) -> Vec<Planned> {
        vec![self.moments.once(), self.gradients.planned()]
    }

    pub fn describe(&self) -> String {
        format!(
            "noisy-newton with ridge {}, {} steps damped by {:.3e}",
            self.ridge, self.gradients.n_iter, self.damping
        )
    }

    /// The mean of the last half of the iterates in scaled units, for records of `columns` columns, the intercept's
    /// after `p` features: as many as planned for, or fewer. `progress(session, t)` is called after every step.
    pub fn run(
        &self,
        session: &mut Session<'_>,
        (p, columns): (usize, usize),
        progress: &dyn Fn(&mut Session<'_>, usize) -> Result<()>,
    ) -> Result<Vec<f64>> {
        let n_iter = self.gradients.n_iter;
        progress(session, 0)?;
        let moments = session.ask(&self.moments, ())?;
        let inverse = self.inverse(moments, columns);
        let mut theta = DVector::<f64>::zeros(columns);
        let mut mean = theta.clone();
        // theta of before, then the next theta.
        let mut moved = theta.clone();
        let momentum = if n_iter == 1 { 0.0 } else { NEWTON_MOMENTUM };
        let first_of_mean = n_iter / 2;
        for t in 0..n_iter {
            let gradient = session.ask(&self.gradients.question, theta.as_slice())?;
            let mut gradient = DVector::from_vec(gradient);
            gradient *= self.normaliser;
            for j in 0..p {
                gradient[j] += self.ridge * theta[j];
            }
            // theta + momentum (theta - before) - (1 - momentum) step
            moved.axpy(momentum, &theta, -momentum);
            moved.gemv(momentum - 1.0, &inverse, &gradient, 1.0);
            moved += &theta;
            std::mem::swap(&mut theta, &mut moved);
            if t >= first_of_mean {
                let weight = 1.0 / (t - first_of_mean + 1) as f64;
                mean.axpy(weight, &theta, 1.0 - weight);
            }
            progress(session, t + 1)?;
        }
        Ok(mean.as_slice().to_vec())
    }

    /// (H + lambda I)^-1 by the eigenvectors of the noisy moments.
    fn inverse(&self, moments: Vec<f64>, columns: usize) -> DMatrix<f64> {
        let eigen = SymmetricEigen::new(DMatrix::from_vec(columns, columns, moments));
        let inverse =
            |value: f64| 1.0 / ((self.scale * value).max(0.0) + self.ridge + self.damping);
        let scaled = &eigen.eigenvectors * DMatrix::from_diagonal(&eigen.eigenvalues.map(inverse));
        scaled * eigen.eigenvectors.transpose()
    }
}

/// Of a symmetric matrix of independent normal entries of standard deviation sigma (sqrt(2) sigma on the diagonal), for
/// many columns (Wigner 1958).
pub(super) fn largest_eigenvalue(sigma: f64, columns: f64) -> f64 {
    2.0 * sigma * columns.sqrt()
}

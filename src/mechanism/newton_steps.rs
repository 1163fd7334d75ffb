//! Noisy Newton steps: what noisy-newton, its last line and the refit of a selection share
//! ([`crate::theory_of_privacy::noisy_gradients`], [`crate::theory_of_privacy::select_refit`]).

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use super::noisy_gradient::Gradients;
use crate::accounting::calibrate::calibrate_events;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::plan::Problem;
use crate::plan::defaults::{
    CLAMPED_CURVATURE, CLASSIFIER_SHRINKAGE, NEWTON_DAMPING, NEWTON_MOMENTUM, NEWTON_SHARE,
    NEWTON_STEPS, REGRESSOR_SHRINKAGE, SHRINKAGE_DIRECTIONS,
};
use crate::privacy::{Planned, Question, Session, Target};
use crate::question::Moments;

/// What users may set; None: the public rules.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NewtonOptions {
    pub n_iter: Option<usize>,
    pub share: Option<f64>,
    pub damping: Option<f64>,
    pub ridge: Option<f64>,
}

/// One release of second moments and T of gradients, and the constants of the steps.
#[derive(Debug, Clone)]
pub(super) struct NewtonSteps {
    moments: Question<Moments>,
    pub gradients: Gradients,
    /// lambda, in units of the Hessian of the mean loss.
    pub damping: f64,
    pub ridge: f64,
    /// Bound on the curvature of the loss over n.
    scale: f64,
    normaliser: f64,
    /// R: rows are no longer, or count less.
    largest_row: f64,
}

/// What steps release.
#[derive(Debug)]
pub(super) struct Steps {
    /// The mean of the last half of the iterates, in scaled units.
    pub theta: Vec<f64>,
    /// About the variance of scores that is noise.
    pub noise: f64,
}

/// Where steps start, and which coefficients the ridge draws to it.
#[derive(Debug, Clone)]
pub(super) struct Start {
    pub theta: Vec<f64>,
    /// So many of the first coefficients.
    pub drawn: usize,
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
        Self::with_multiplier(problem, options, 1.0)?; // not too wide, and a number of steps that plans take
        let events = |multiplier: f64| {
            let mut events = companions.to_vec();
            events.extend(Self::with_multiplier(problem, options, multiplier)?.events());
            Ok::<_, Error>(events)
        };
        let multiplier = calibrate_events(events, problem.epsilon, delta, (1e-3, 1e7))
            .map_err(|_| Error::invalid("epsilon", "is too small for noisy-newton"))?;
        Self::with_multiplier(problem, options, multiplier)
    }

    /// With one multiplier for both: the inverse squares of theirs add up to its own.
    pub fn with_multiplier(
        problem: &Problem,
        options: NewtonOptions,
        multiplier: f64,
    ) -> Result<Self> {
        let ridge = options.ridge.unwrap_or(0.0);
        if !(ridge.is_finite() && ridge >= 0.0) {
            return Err(Error::invalid("ridge", "must be non-negative and finite"));
        }
        let share = options.share.unwrap_or(NEWTON_SHARE);
        if !(share > 0.0 && share < 1.0) {
            return Err(Error::invalid("share", "must lie strictly between 0 and 1"));
        }
        if (options.damping).is_some_and(|damping| !(damping.is_finite() && damping > 0.0)) {
            return Err(Error::invalid("damping", "must be positive and finite"));
        }
        let n_iter = options.n_iter.unwrap_or(NEWTON_STEPS);
        let steps = multiplier * (n_iter as f64 / (1.0 - share)).sqrt();
        let gradients = Gradients::with_multiplier(problem, n_iter, steps)?;
        let moments = (problem.statement).moments(multiplier / share.sqrt())?;
        let normaliser = 1.0 / problem.n_samples() as f64;
        let curvature = curvature(problem);
        let columns = problem.statement.n_columns() as f64;
        let hidden = curvature * normaliser * largest_eigenvalue(moments.noise_scale(), columns);
        let damping = match options.damping {
            Some(damping) => damping * hidden,
            None => (NEWTON_DAMPING * hidden).max(shrinkage(problem, &gradients, curvature)),
        };
        Ok(Self {
            moments,
            gradients,
            damping,
            ridge,
            scale: curvature * normaliser,
            normaliser,
            largest_row: problem.gradient_bound(),
        })
    }

    pub fn planned(&self) -> Vec<Planned> {
        vec![self.moments.once(), self.gradients.planned()]
    }

    pub fn events(&self) -> Vec<(Event, u64)> {
        let n_iter = self.gradients.n_iter as u64;
        let gradients = self.gradients.question.events().iter();
        let gradients = gradients.map(|&(event, count)| (event, count * n_iter));
        self.moments
            .events()
            .iter()
            .copied()
            .chain(gradients)
            .collect()
    }

    pub fn describe(&self) -> String {
        format!(
            "noisy-newton with ridge {}, {} steps damped by {:.3e}",
            self.ridge, self.gradients.n_iter, self.damping
        )
    }

    /// From `start`, for records with one column a coefficient, the intercept's last: as many as planned for, or fewer.
    /// `progress(session, t)` is called after every step.
    pub fn run(
        &self,
        session: &mut Session<'_>,
        start: &Start,
        progress: &dyn Fn(&mut Session<'_>, usize) -> Result<()>,
    ) -> Result<Steps> {
        let n_iter = self.gradients.n_iter;
        progress(session, 0)?;
        let moments = session.ask(&self.moments, ())?;
        let (inverse, noise) = self.inverse(moments, start.theta.len());
        let mut theta = DVector::from_column_slice(&start.theta);
        let mut mean = theta.clone();
        // theta of before, then the next theta.
        let mut moved = theta.clone();
        let momentum = if n_iter == 1 { 0.0 } else { NEWTON_MOMENTUM };
        let first_of_mean = n_iter / 2;
        for t in 0..n_iter {
            let gradient = session.ask(&self.gradients.question, theta.as_slice())?;
            let mut gradient = DVector::from_vec(gradient);
            gradient *= self.normaliser;
            for j in 0..start.drawn {
                gradient[j] += self.ridge * (theta[j] - start.theta[j]);
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
        Ok(Steps {
            theta: mean.as_slice().to_vec(),
            noise,
        })
    }

    /// (H + lambda I)^-1 by the eigenvectors of the noisy moments, and about the variance that noise on the gradients
    /// leaves in scores.
    ///
    /// T steps act as a ridge lambda/T against noise N on their mean: an eigenvector whose mean square score is m has the
    /// variance m (N/(scale m + lambda/T))^2. Noise on the moments adds eigenvalues; those of rows add up to no more than
    /// R^2.
    fn inverse(&self, moments: Vec<f64>, columns: usize) -> (DMatrix<f64>, f64) {
        let eigen = SymmetricEigen::new(DMatrix::from_vec(columns, columns, moments));
        let inverse =
            |value: f64| 1.0 / ((self.scale * value).max(0.0) + self.ridge + self.damping);
        let n_iter = self.gradients.n_iter as f64;
        let (ridge, variance) = (
            self.ridge + (self.damping + self.ridge) / n_iter,
            self.gradients.noise_scale.powi(2) / n_iter,
        );
        let positive = || eigen.eigenvalues.iter().map(|value| value.max(0.0));
        let squares = |value: f64| value * self.normaliser;
        let score = |value: f64| squares(value) * variance / (self.scale * value + ridge).powi(2);
        let total: f64 = positive().map(squares).sum();
        let share = (self.largest_row.powi(2) / total.max(f64::MIN_POSITIVE)).min(1.0);
        let noise = share * positive().map(score).sum::<f64>();
        let scaled = &eigen.eigenvectors * DMatrix::from_diagonal(&eigen.eigenvalues.map(inverse));
        (scaled * eigen.eigenvectors.transpose(), noise)
    }
}

impl Start {
    /// At zero, with `p` features and an intercept in the other columns, if there is one, that nothing draws.
    pub fn zero(p: usize, columns: usize) -> Self {
        Self {
            theta: vec![0.0; columns],
            drawn: p,
        }
    }
}

/// The curvature of the loss that steps count on: its bound, or less where residuals are clamped below the spread of the
/// targets, so that many records have none. Steps with momentum m converge where the true one is up to 2 (1 + m)/(1 - m)
/// times as large.
fn curvature(problem: &Problem) -> f64 {
    let clamped = problem.spread.map_or(1.0, |spread| {
        (CLAMPED_CURVATURE * problem.lipschitz() / spread).min(1.0)
    });
    problem.smoothness() * clamped
}

/// T times the ridge that T steps act as: a ridge where noise stands against the model that is expected.
///
/// With N the standard deviation of the noise on the mean of T gradients, R the norm of a row and eigenvalues of the
/// Hessian that fall as R^2/j, R^2/lambda directions stand out of lambda. Each has noise N^2 and, if the signal V is
/// spread evenly over them, V lambda/R^2 of signal: both are alike where lambda = N R/sqrt(V). Where there are fewer
/// directions than that it is N^2 p/V, up to a constant.
fn shrinkage(problem: &Problem, gradients: &Gradients, curvature: f64) -> f64 {
    let (n_iter, columns) = (
        gradients.n_iter as f64,
        problem.statement.n_columns() as f64,
    );
    let (noise, norm) = (
        gradients.noise_scale / n_iter.sqrt() / problem.lipschitz(),
        problem.gradient_bound(),
    );
    let factor = match problem.schema().target() {
        Target::Classes => CLASSIFIER_SHRINKAGE,
        Target::Interval { .. } => REGRESSOR_SHRINKAGE,
    };
    let few = (SHRINKAGE_DIRECTIONS * columns * noise / norm).min(1.0);
    n_iter * factor * curvature * norm * noise * few
}

/// Of a symmetric matrix of independent normal entries of standard deviation sigma (sqrt(2) sigma on the diagonal), for
/// many columns (Wigner 1958).
pub(super) fn largest_eigenvalue(sigma: f64, columns: f64) -> f64 {
    2.0 * sigma * columns.sqrt()
}

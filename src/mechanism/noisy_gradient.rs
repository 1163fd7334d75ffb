//! What mechanisms share that spend T noisy gradients.

use crate::accounting::calibrate::calibrate;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::plan::Problem;
use crate::privacy::{Planned, Question, Session};
use crate::question::Gradient;

/// Most iterations that a plan takes.
const MOST: usize = 1 << 20;

/// T calibrated releases of the gradient.
#[derive(Debug, Clone)]
pub(super) struct Gradients {
    pub question: Question<Gradient>,
    pub n_iter: usize,
    /// Standard deviation of the noise on an entry of the gradient of the mean loss, in scaled units.
    pub noise_scale: f64,
}

impl Gradients {
    /// Calibrates T releases to the budget of `problem` by the exact Gaussian curve: T adaptive Gaussian mechanisms of
    /// multiplier m cost what one of multiplier m/sqrt(T) costs (Dong, Roth & Su 2022, corollary 2).
    pub fn calibrated(problem: &Problem, n_iter: usize) -> Result<Self> {
        let delta = problem.validate()?;
        check_steps(n_iter)?;
        let multiplier = calibrate(
            |multiplier| Event::gaussian(1.0, multiplier),
            n_iter as u64,
            problem.epsilon,
            delta,
            (1e-3, 1e9),
        )?;
        Self::with_multiplier(problem, n_iter, multiplier)
    }

    /// T releases with noise of this many times the sensitivity.
    pub fn with_multiplier(problem: &Problem, n_iter: usize, multiplier: f64) -> Result<Self> {
        check_steps(n_iter)?;
        let question = (problem.statement).gradient(&problem.model()?, multiplier)?;
        let noise_scale = question.noise_scale() / problem.n_samples() as f64;
        Ok(Self {
            question,
            n_iter,
            noise_scale,
        })
    }

    /// One of them, at coefficients of scores ([`Session::of_scores`]).
    pub fn ask(&self, session: &mut Session<'_>, theta: &[f64]) -> Result<Vec<f64>> {
        let at = session.of_scores(theta);
        session.ask(&self.question, &at)
    }

    /// All of them.
    pub fn planned(&self) -> Planned {
        self.question.times(self.n_iter as u64)
    }
}

fn check_steps(n_iter: usize) -> Result<()> {
    if n_iter == 0 || n_iter > MOST {
        return Err(Error::invalid(
            "n_iter",
            format!("must be between 1 and {MOST}"),
        ));
    }
    Ok(())
}

/// Standard deviation of the noise on an entry of the mean gradient if one release had the whole budget: with T
/// releases it is sqrt(T) times as large.
pub(super) fn noise_of_one(problem: &Problem) -> Result<f64> {
    Ok(Gradients::calibrated(problem, 1)?.noise_scale)
}

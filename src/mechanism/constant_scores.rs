//! The scores of the model of a constant, before anything is learnt of features: how common classes are, and how large counts.
//!
//! Noise on a count is noise on one number, where in the gradients of all coefficients the intercept is a small part of long rows. Without it
//! features that are not centred would be selected for what the offsets of unbalanced classes explain, and steps would have to find
//! the intercept of a rare outcome first.

use std::sync::Arc;

use super::class_scores::ClassScores;
use crate::accounting::event::Event;
use crate::error::{Error, Result, fraction};
use crate::plan::Problem;
use crate::plan::defaults::COUNT_START;
use crate::privacy::{Planned, Question, Session, Statement, Target};
use crate::question::{Gradient, Projection};

/// Of the intercept's column, as large as there are: rows of it alone are hardly longer.
const VALUE: f64 = 1.0;
/// Norm of what is beside it, which is nothing.
const BESIDE: f64 = 1e-3;

/// One noisy gradient of the intercepts alone, at zero: n/K less the number of records of every class, or of counts the sum of what
/// rates are above them.
///
/// **Sensitivity**: that of a gradient whose rows are (0, 1) (`question/sensitivity.rs`); a score of 0 for all takes one record to one
/// row, so that neighbours stay neighbours ([`crate::theory_of_privacy::noisy_gradients`]).
#[derive(Debug)]
pub(super) struct ConstantScores {
    /// About a score that is 0 for all, and a constant.
    alone: Arc<Statement>,
    question: Question<Gradient>,
    n_samples: f64,
    /// The size of a derivative of one score at zero, half of it for each class.
    slope: f64,
}

impl ConstantScores {
    /// For `share` of rho of the zCDP budget.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `start` for a share outside (0, 1), or scores that are none of log odds or rates;
    /// naming `fit_intercept` without an intercept.
    pub fn plan(problem: &Problem, share: f64, rho: f64) -> Result<Self> {
        let share = fraction("start", share)?;
        if !Self::tells(problem.schema().target(), problem.loss.name()) {
            let problem = "is for the logistic loss, three or more classes, and counts";
            return Err(Error::invalid("start", problem));
        }
        let alone = problem.statement.projected(VALUE, BESIDE)?;
        let multiplier = 1.0 / (2.0 * share * rho).sqrt();
        let question = alone.gradient(&problem.model()?, multiplier)?;
        let n_samples = problem.n_samples() as f64;
        Ok(Self {
            alone,
            question,
            n_samples,
            slope: problem.lipschitz().min(0.5),
        })
    }

    /// Whether scores of this target and loss are log odds, or logarithms of rates.
    pub fn tells(target: Target, loss: &str) -> bool {
        match target {
            Target::Classes => matches!(loss, "logistic" | "clipped-logistic"),
            Target::Multiclass { .. } | Target::Counts { .. } => true,
            Target::Interval { .. } => false,
        }
    }

    pub fn planned(&self) -> Planned {
        self.question.once()
    }

    pub fn events(&self) -> &[(Event, u64)] {
        self.question.events()
    }

    /// One score a class, or that of the second of two, or of counts. No share, and no rate, is taken for less than the noise on it.
    pub fn release(&self, session: &mut Session<'_>) -> Result<Vec<f64>> {
        let schema = self.alone.schema();
        let (outputs, value) = (schema.target().outputs(), schema.intercept_value());
        let zero = Projection::new(vec![0.0; session.statement().n_columns()], 1.0)?;
        let mut alone = session.projected(&zero, &self.alone)?;
        let zero = vec![0.0; 2 * outputs];
        let zero = alone.of_scores(&zero).into_owned();
        let gradient = alone.ask(&self.question, &zero)?;
        let noise = self.question.noise_scale() / value / self.n_samples;
        let of_constant = gradient.iter().skip(1).step_by(2);
        let mut of_constant: Vec<f64> = of_constant.map(|g| g / value / self.n_samples).collect();
        clean(&mut of_constant, noise);
        let of_constant = of_constant.into_iter();
        if let Target::Counts { .. } = schema.target() {
            let rate = session.rate();
            let score = |slope: f64| {
                let share = ((rate - slope) / rate).max((noise / rate).min(1.0));
                // Steps find a rate that is near by themselves.
                match share < COUNT_START {
                    true => rate * share.ln(),
                    false => 0.0,
                }
            };
            return Ok(of_constant.map(score).collect());
        }
        if outputs == 1 {
            // (1/2 - share of the second class) times twice the slope.
            let units = 2.0 * self.slope;
            let least = (noise / units).min(0.5);
            let share = |g: f64| (0.5 - g / units).clamp(least, 1.0 - least);
            return Ok(of_constant.map(share).map(log_odds).collect());
        }
        let even = 1.0 / outputs as f64;
        let least = noise.min(0.5 * even);
        let mut offsets: Vec<f64> = of_constant.map(|g| (even - g).max(least).ln()).collect();
        ClassScores(outputs).project(&mut offsets);
        Ok(offsets)
    }
}

fn log_odds(share: f64) -> f64 {
    (share / (1.0 - share)).ln()
}

/// What is expected of a number, or of one a class, beside noise of a standard deviation: less, and nothing where they may be all noise
/// (James & Stein 1961).
fn clean(numbers: &mut [f64], noise: f64) {
    let scores = ClassScores(numbers.len());
    scores.project(numbers);
    let squares: f64 = numbers.iter().map(|number| number * number).sum();
    let expected = numbers.len() as f64 * (noise * scores.noise()).powi(2);
    let kept = match squares > expected {
        true => 1.0 - expected / squares,
        false => 0.0,
    };
    numbers.iter_mut().for_each(|number| *number *= kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned<const K: usize>(mut numbers: [f64; K], noise: f64) -> [f64; K] {
        clean(&mut numbers, noise);
        numbers
    }

    /// What may be all noise is nothing, far beyond it numbers are themselves, and between they are less.
    #[test]
    fn noise_is_nothing() {
        for number in [0.9, -0.9, 0.0] {
            assert_eq!(cleaned([number], 1.0), [0.0]);
        }
        assert!((cleaned([-100.0], 1.0)[0] + 100.0).abs() < 0.011);
        assert!((cleaned([2.0], 1.0)[0] - 1.5).abs() < 1e-15);
        assert_eq!(cleaned([0.3], 0.0), [0.3]);
    }

    /// Classes are as far from even shares together as noise lets them be: a small one goes with the others, where each by itself would
    /// be even. What all have in common is nothing.
    #[test]
    fn classes_are_cleaned_together() {
        let [a, b, c] = cleaned([2.9, -0.1, -1.3], 1.0);
        // 2.4, -.6 and -1.8 are left without the mean, of 9.36 squared; noise has 2 of it.
        let kept = 1.0 - 2.0 / 9.36;
        for (found, expected) in [(a, 2.4), (b, -0.6), (c, -1.8)] {
            assert!((found / (expected * kept) - 1.0).abs() < 1e-12, "{found}");
        }
        assert_eq!(cleaned([0.5, -0.4, 0.2], 1.0), [0.0; 3]);
    }
}

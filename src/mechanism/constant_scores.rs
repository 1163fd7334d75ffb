//! The scores of the model of a constant, before anything is learnt of features: how common classes are, and how large
//! counts.
//!
//! Noise on a count is noise on one number, where in the gradients of all coefficients the intercept is a small part of
//! long rows. Without it features that are not centred would be selected for what the offsets of unbalanced classes
//! explain, and steps would have to find the intercept of a rare outcome first.

use std::sync::Arc;

use super::class_shares::{scores_of_shares, without_noise};
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

/// One noisy gradient of the intercepts alone, at zero: n/K less the number of records of every class, or of counts the
/// sum of what rates are above them.
///
/// **Sensitivity**: that of a gradient whose rows are (0, 1) (`question/sensitivity.rs`); a score of 0 for all takes
/// one record to one row, so that neighbours stay neighbours ([`crate::theory_of_privacy::noisy_gradients`]).
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
    /// [`Error::InvalidArgument`] naming `start` for a share outside (0, 1), or scores that are none of log odds or
    /// rates; naming `fit_intercept` without an intercept.
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

    /// One score a class, or that of the second of two, or of counts. No share, and no rate, is taken for less than the
    /// noise on it.
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
        if let Target::Counts { .. } = schema.target() {
            without_noise(&mut of_constant, noise);
            let rate = session.rate();
            let score = |slope: f64| {
                let share = ((rate - slope) / rate).max((noise / rate).min(1.0));
                // Steps find a rate that is near by themselves.
                match share < COUNT_START {
                    true => rate * share.ln(),
                    false => 0.0,
                }
            };
            return Ok(of_constant.into_iter().map(score).collect());
        }
        let units = match outputs {
            // (1/2 - share of the second class) times twice the slope.
            1 => 2.0 * self.slope,
            _ => 1.0,
        };
        of_constant.iter_mut().for_each(|below| *below /= units);
        Ok(scores_of_shares(of_constant, noise / units))
    }
}

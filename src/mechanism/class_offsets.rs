//! How common the classes are, before features are selected: without it, every feature that is not centred would be
//! chosen for what the offsets of unbalanced classes explain.

use std::sync::Arc;

use super::class_scores::ClassScores;
use crate::accounting::event::Event;
use crate::error::Result;
use crate::plan::Problem;
use crate::privacy::{Planned, Question, Session, Statement};
use crate::question::Gradient;

/// One noisy gradient of the intercepts alone, at zero: n/K less the number of records of every class.
#[derive(Debug)]
pub(super) struct ClassOffsets {
    /// About no more than one feature: a row of one is as long as two ones.
    alone: Arc<Statement>,
    question: Question<Gradient>,
    n_samples: f64,
}

impl ClassOffsets {
    /// For rho of the zCDP budget; None without an intercept.
    pub fn plan(problem: &Problem, rho: f64) -> Result<Option<Self>> {
        if !problem.schema().has_intercept() {
            return Ok(None);
        }
        let alone = problem.statement.restricted(1)?;
        let question = alone.gradient(&problem.model()?, 1.0 / (2.0 * rho).sqrt())?;
        let n_samples = problem.n_samples() as f64;
        Ok(Some(Self {
            alone,
            question,
            n_samples,
        }))
    }

    pub fn planned(&self) -> Planned {
        self.question.once()
    }

    pub fn events(&self) -> &[(Event, u64)] {
        self.question.events()
    }

    /// The logarithms of the classes' shares, less their mean: the scores of the model of a constant. A share is taken for
    /// no less than the noise on it.
    pub fn release(&self, session: &mut Session<'_>) -> Result<Vec<f64>> {
        let classes = self.alone.schema().target().outputs();
        let value = self.alone.schema().intercept_value();
        let mut alone = session.restricted(&[], &self.alone)?;
        let gradient = alone.ask(&self.question, &vec![0.0; classes])?;
        let least =
            (self.question.noise_scale() / value / self.n_samples).min(0.5 / classes as f64);
        let share = |g: &f64| 1.0 / classes as f64 - g / value / self.n_samples;
        let mut offsets: Vec<f64> = (gradient.iter())
            .map(|g| share(g).max(least).ln())
            .collect();
        ClassScores(classes).project(&mut offsets);
        Ok(offsets)
    }
}

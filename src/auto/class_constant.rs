//! What is left of a model of classes where records are too few for one.

use super::constant::{at_intercepts, check_intercept};
use crate::accounting::calibrate::calibrate;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::mechanism::{Mechanism, scores_of_shares};
use crate::plan::defaults::CLASSIFIER_MARGIN;
use crate::plan::{Domain, Fitted, Plan, Problem, Summary};
use crate::privacy::{Planned, Program, Question, Session, Target};
use crate::question::ClassCounts;

/// Pure epsilons that the calibration considers.
const BRACKET: (f64, f64) = (1e-12, 1000.0);

/// The constant model of classes: the logarithms of their shares, and no coefficients.
///
/// With the whole budget in pure noise for one number a class, shares are found at a fraction of the records that a
/// model takes. They are drawn to even ones by as much as they may be noise, so that what is uncertain is said to be.
///
/// **Neighbours**: replace-one or add-remove. **Sensitivity**: that of the numbers of records of the classes
/// ([`crate::question::ClassCounts`]). **Privacy**: exact integer Laplace noise.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClassConstant;

#[derive(Debug)]
struct Release {
    counts: Question<ClassCounts>,
    n_samples: f64,
}

impl Mechanism for ClassConstant {
    fn margin_bound(&self, _: &Domain, _: usize, _: bool, _: Target) -> Result<f64> {
        // No share is less than the noise of one record: e^-40 is none.
        Ok(40.0)
    }

    fn plan(&self, problem: Problem, _: &Domain) -> Result<Plan> {
        let delta = problem.validate()?;
        check_intercept(&problem)?;
        let laplace = |epsilon: f64| Event::laplace(1.0, 1.0 / epsilon);
        let pure = calibrate(laplace, 1, problem.epsilon, delta, BRACKET)
            .map_err(|_: Error| Error::invalid("epsilon", "is too small for shares of classes"))?;
        let counts = problem.statement.class_counts(pure)?;
        let n_samples = problem.n_samples() as f64;
        let summary = Summary {
            mechanism: "a constant, the shares of the classes".into(),
            n_iter: 1,
            // On a share.
            noise_scale: counts.noise_scale() / n_samples,
            // What the scores of a model of the usual size would have explained.
            predicted_excess_risk: 0.5 * problem.smoothness() * CLASSIFIER_MARGIN.powi(2),
            ..Summary::default()
        };
        Plan::seal(problem, Release { counts, n_samples }, summary)
    }
}

impl Release {
    /// How far shares are below even ones, with one score that of the second of two, and the noise on that.
    fn below(&self, numbers: &[f64], outputs: usize, weighted: bool) -> (Vec<f64>, f64) {
        let noise = self.counts.noise_scale();
        let sum: f64 = numbers.iter().sum();
        let mean = sum / numbers.len() as f64;
        // All weights together are as private as each.
        let total = match weighted {
            true => sum.clamp(noise.min(self.n_samples), self.n_samples),
            false => self.n_samples,
        };
        match numbers {
            [first, second] if outputs == 1 => {
                let below = 0.5 * (first - second) / total;
                (vec![below], noise / 2f64.sqrt() / total)
            }
            _ => {
                let below = numbers.iter().map(|number| (mean - number) / total);
                (below.collect(), noise / total)
            }
        }
    }
}

impl Program<Fitted> for Release {
    fn questions(&self) -> Vec<Planned> {
        vec![self.counts.once()]
    }

    fn run(&self, session: &mut Session<'_>) -> Result<Fitted> {
        let unit = self.counts.unit();
        let numbers = session.ask(&self.counts, ())?;
        let numbers: Vec<f64> = numbers.iter().map(|&number| number as f64 * unit).collect();
        let schema = session.statement().schema();
        let (outputs, weighted) = (schema.target().outputs(), schema.max_weight().is_some());
        let (below, noise) = self.below(&numbers, outputs, weighted);
        let scores = scores_of_shares(below, noise);
        let scaled = at_intercepts(&scores, schema);
        session.progress(1, 1)?;
        Ok(scaled.into())
    }
}

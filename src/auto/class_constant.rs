//! What is left of a model of classes where records are too few for one.

use super::constant::{at_intercepts, check_intercept};
use crate::accounting::calibrate::calibrate;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::mechanism::{Mechanism, NoisyNewton, scores_of_shares};
use crate::plan::defaults::CLASSIFIER_MARGIN;
use crate::plan::{Domain, Fitted, Plan, Problem, Summary};
use crate::privacy::{Planned, Program, Question, Session, Target};
use crate::question::ClassCounts;

/// Pure epsilons that the calibration considers.
const BRACKET: (f64, f64) = (1e-12, 1000.0);

/// Whether shares of classes say what the best constant of a loss is: log odds, or for a hinge the score of the larger
/// class.
pub(super) fn has_constant(target: Target, loss: &str) -> bool {
    NoisyNewton::starts(target, loss) || (target == Target::Classes && loss == "hinge")
}

/// The constant model of classes: the logarithms of their shares, for a hinge the score that is best for these shares,
/// and no coefficients.
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
    /// Below its kink, of a hinge.
    width: Option<f64>,
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
        let width = match (problem.loss.name(), problem.loss.parameter()) {
            ("hinge", Some((_, width))) => Some(width),
            _ => None,
        };
        let release = Release {
            counts,
            n_samples,
            width,
        };
        Plan::seal(problem, release, summary)
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

/// The score with the least smoothed hinge loss for classes of these log odds, and 0 where they are even.
///
/// With a share of t for the larger class the slopes at a score z are -t min((1 - z)/width, 1) and (1 - t) min((1 +
/// z)/width, 1): the second is at its end at the minimiser unless the width is more than 2 t.
fn hinge_of_log_odds(log_odds: f64, width: f64) -> f64 {
    let odds = log_odds.abs().exp();
    let twice = 2.0 * odds / (1.0 + odds);
    let score = match twice < width {
        true => twice - 1.0,
        false => 1.0 - width / odds,
    };
    match log_odds == 0.0 {
        true => 0.0,
        false => score.copysign(log_odds),
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
        let mut scores = scores_of_shares(below, noise);
        if let Some(width) = self.width {
            (scores.iter_mut()).for_each(|score| *score = hinge_of_log_odds(*score, width));
        }
        let scaled = at_intercepts(&scores, schema);
        session.progress(1, 1)?;
        Ok(scaled.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Loss, SmoothedHinge};

    /// No other score has a lower mean loss, for kinks of any width, and it is on the side of the larger class.
    #[test]
    fn scores_of_a_hinge_are_its_minimisers() {
        for width in [0.05, 0.5, 1.0, 1.3, 1.9, 3.0] {
            let hinge = SmoothedHinge::new(width).unwrap();
            for log_odds in [-4.0, -0.7, -0.01, 0.01, 0.3, 2.0, 40.0f64] {
                let share = 1.0 / (1.0 + (-log_odds).exp());
                let mean =
                    |z: f64| share * hinge.value(z, 1.0) + (1.0 - share) * hinge.value(z, -1.0);
                let found = hinge_of_log_odds(log_odds, width);
                assert!(found * log_odds > 0.0 && found.abs() <= 1.0, "{found}");
                for k in -300..=300 {
                    let other = f64::from(k) / 200.0;
                    assert!(
                        mean(found) <= mean(other) + 1e-12,
                        "{width} {log_odds} {found}"
                    );
                }
            }
            assert_eq!(hinge_of_log_odds(0.0, width), 0.0);
        }
    }
}

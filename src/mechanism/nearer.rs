//! Features that are clipped nearer, where a model of them predicts better.

use std::sync::Arc;

use super::line::Line;
use super::newton_steps::Steps;
use super::regularisation::Regularisation;
use crate::accounting::calibrate::rho_from_epsilon;
use crate::accounting::event::Event;
use crate::error::Result;
use crate::loss::Growth;
use crate::plan::Problem;
use crate::plan::defaults::{
    NEARER_CLAMP, NEARER_DOUBT, NEARER_LEAST_NOISE, NEARER_NOISE, NEARER_OPEN, NEARER_SHARES,
    NEARER_SURE, noise_allows,
};
use crate::privacy::{Planned, Question, Session, Statement};
use crate::question::{Gradient, Projection};

/// The value of the intercept, and what scores of the middle are multiplied by, so that the norm of a record is that of
/// the difference between both models: no more than 1.001 of its reach.
const SMALL: f64 = 1.0 / 64.0;
const NORM: f64 = 1.001;

/// A model of features that are clipped nearer.
pub(super) struct Better {
    /// Coefficients and intercept.
    pub theta: Vec<f64>,
    /// Whether it is better beyond doubt: no linear model holds.
    pub surely: bool,
}

/// A second line, through scores of features that are clipped as near as where noise is large, and a choice between the
/// two models.
///
/// Least squares whose noise is small clip features far out, if at all: tails that say all count. Where features say
/// less in their tails, as incomes do of what grows with their logarithm, that is a worse model: R^2 would fall as
/// epsilon grows. Which of two models has the smaller loss the gradient at the middle between them tells
/// ([`crate::theory_of_privacy::noisy_gradients`]): with the difference between them as a record's only feature that is
/// not small, it is one entry of it. Residuals and differences are clamped.
///
/// **Neighbours, sensitivity**: those of a line, and of a gradient of records with two features
/// ([`Statement::projected_scores`]). **Privacy**: the Gaussian mechanisms of a line and one more; both models are
/// released by then.
#[derive(Debug)]
pub(super) struct Nearer {
    line: Line,
    statement: Arc<Statement>,
    question: Question<Gradient>,
    /// Difference between both models whose image is 1.
    reach: f64,
}

impl Nearer {
    /// For a problem whose line spends `share` of the zCDP budget; None where no clips are open, or noise is too large.
    ///
    /// # Errors
    /// As [`Line::plan`] and [`Statement::gradient`].
    pub fn plan(problem: &Problem, share: f64) -> Result<Option<Self>> {
        let squared = problem.loss.growth() == Growth::SquaredResidual;
        let Some(spread) = problem.spread.filter(|_| problem.opens && squared) else {
            return Ok(None);
        };
        let [of_line, of_choice] = NEARER_SHARES.map(|of| of * share);
        let rho = of_choice * rho_from_epsilon(problem.epsilon, problem.validate()?)?;
        let clamp = clamp(noise_allows(
            problem.n_samples(),
            problem.records_per_person(),
            rho,
        ));
        let Some(reach) = clamp.map(|clamp| clamp * spread) else {
            return Ok(None);
        };
        let statement = problem.statement.projected_scores(2, SMALL, NORM)?;
        let question = statement.gradient(&problem.clamped(reach)?, 1.0 / (2.0 * rho).sqrt())?;
        Ok(Some(Self {
            line: Line::plan(problem, of_line, false)?,
            statement,
            question,
            reach,
        }))
    }

    pub fn planned(&self) -> Vec<Planned> {
        let mut planned = self.line.planned();
        planned.push(self.question.once());
        planned
    }

    pub fn events(&self) -> Vec<(Event, u64)> {
        let mut events = self.line.events();
        events.extend_from_slice(self.question.events());
        events
    }

    /// After steps whose line gave `open`: the model of features that are clipped nearer, where that is better. The
    /// other arguments are those of [`Line::run`].
    pub fn run(
        &self,
        session: &mut Session<'_>,
        steps: &Steps,
        open: &[f64],
        constant: f64,
        beside: &Regularisation,
    ) -> Result<Option<Better>> {
        let near = session.units().and_then(|units| units.near);
        let (theta, _) = self.line.run(session, steps, constant, beside, near)?;
        let gain = self.gain(session, open, &theta, near)?;
        let sure = gain / self.question.noise_scale();
        // What was planned is asked for, whether or not any image is beyond.
        Ok(near.filter(|_| sure > NEARER_SURE).map(|_| Better {
            theta,
            surely: sure > NEARER_DOUBT,
        }))
    }

    /// How much less the sum of the losses is of the nearer model than of the open one, in units of the reach, with
    /// noise.
    fn gain(
        &self,
        session: &mut Session<'_>,
        open: &[f64],
        nearer: &[f64],
        near: Option<f64>,
    ) -> Result<f64> {
        // The difference, and the middle; the nearer model counts so many times.
        let scores = |counts: f64| -> Vec<f64> {
            let sum = |of_open: f64, of_near: f64| {
                let both = open.iter().zip(nearer);
                both.map(move |(open, near)| of_open * open + counts * of_near * near)
            };
            let half = 0.5 * SMALL;
            sum(-1.0, 1.0).chain(sum(half, half)).collect()
        };
        // Beyond, it adds nothing.
        let (within, beyond) = (scores(1.0), scores(0.0));
        let mut projection = Projection::new(within, self.reach)?;
        if let Some(near) = near {
            projection = projection.with_beyond(near, beyond)?;
        }
        let mut projected = session.projected(&projection, &self.statement)?;
        let gradient = projected.ask(&self.question, &[0.0, self.reach / SMALL, 0.0])?;
        Ok(-gradient[0])
    }
}

/// The clamp of the choice in standard deviations of the targets, with so many records per unit of noise; None: noise
/// is too large.
fn clamp(allowed: f64) -> Option<f64> {
    // 2 clamp^2/(n mu) on the mean, and the unit is a half.
    let noise = 4.0 * NEARER_CLAMP.powi(2) / allowed;
    let open = (NEARER_LEAST_NOISE / noise).sqrt().max(1.0);
    (noise <= NEARER_NOISE).then(|| (NEARER_CLAMP * open).min(NEARER_OPEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise on the choice is at most what it is asked for with, and no less than the least while clamps open.
    #[test]
    fn clamps_open_as_noise_falls() {
        let noise = |allowed: f64| clamp(allowed).map(|clamp| 4.0 * clamp.powi(2) / allowed);
        assert_eq!(clamp(16.0 / NEARER_NOISE * 0.99), None);
        assert!(noise(16.0 / NEARER_NOISE).unwrap() <= NEARER_NOISE * (1.0 + 1e-12));
        assert_eq!(clamp(16.0 / NEARER_LEAST_NOISE), Some(NEARER_CLAMP));
        let far = noise(100.0 / NEARER_LEAST_NOISE).unwrap();
        assert!((far / NEARER_LEAST_NOISE - 1.0).abs() < 1e-12);
        assert_eq!(clamp(1e9), Some(NEARER_OPEN));
    }
}

//! What is left of a regression where records are too few for one.

use crate::accounting::calibrate::calibrate;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::mechanism::Mechanism;
use crate::plan::defaults::REGRESSOR_MARGIN;
use crate::plan::{Domain, Fitted, Plan, Problem, Summary};
use crate::privacy::{Planned, Program, Question, Schema, Session, Target};
use crate::question::{TargetQuantile, TargetValue};

/// Bounded ranges that the calibration considers.
const BRACKET: (f64, f64) = (1e-12, 1000.0);

/// The constant model: a quantile of the targets, of the level of the pinball loss and the median for other losses, and
/// no coefficients.
///
/// With the whole budget for one choice it lies among the targets at a fraction of the records that a model takes,
/// whose noise in units of targets that were not found would be many times as large as they are. The median is off the
/// mean where targets are skewed, by no more than one standard deviation (Hotelling & Solomons 1932). Weights of
/// records are left out.
///
/// **Neighbours**: replace-one or add-remove. **Sensitivity**: that of a quantile of one value a record
/// ([`crate::question::TargetQuantile`]). **Privacy**: one choice of bounded range by the exponential mechanism, exact.
#[derive(Debug, Clone, Copy)]
pub(super) struct Constant;

#[derive(Debug)]
struct Release {
    quantile: Question<TargetQuantile>,
}

impl Mechanism for Constant {
    fn margin_bound(&self, _: &Domain, _: usize, _: bool, _: Target) -> Result<f64> {
        // Scaled targets fill [-1, 1].
        Ok(1.0)
    }

    fn plan(&self, problem: Problem, _: &Domain) -> Result<Plan> {
        let delta = problem.validate()?;
        check_intercept(&problem)?;
        let level = problem.level().unwrap_or(0.5);
        let epsilon0 = range_of_one_choice(&problem, delta)?;
        let release = Release {
            quantile: problem.statement.target_quantile(epsilon0, level)?,
        };
        let mechanism = format!("a constant, the {level} quantile of the targets");
        let summary = summary_of_one_choice(&problem, epsilon0, mechanism);
        Plan::seal(problem, release, summary)
    }
}

impl Program<Fitted> for Release {
    fn questions(&self) -> Vec<Planned> {
        vec![self.quantile.once()]
    }

    fn run(&self, session: &mut Session<'_>) -> Result<Fitted> {
        let constant = session.ask(&self.quantile, TargetValue::Itself)?;
        session.progress(1, 1)?;
        Ok(at_intercepts(&[constant], session.statement().schema()).into())
    }
}

/// The bounded range of the one choice that a constant of reals or of counts is.
pub(super) fn range_of_one_choice(problem: &Problem, delta: f64) -> Result<f64> {
    calibrate(Event::exponential, 1, problem.epsilon, delta, BRACKET)
        .map_err(|_: Error| Error::invalid("epsilon", "is too small for a choice"))
}

/// What is public of it.
pub(super) fn summary_of_one_choice(
    problem: &Problem,
    epsilon0: f64,
    mechanism: String,
) -> Summary {
    Summary {
        mechanism,
        n_iter: 1,
        // The temperature of the choice, in shares of the records: in units of the slope of the pinball loss.
        noise_scale: 2.0 * problem.records_per_person() as f64
            / (epsilon0 * problem.n_samples() as f64),
        // What the scores of a model of the usual size would have explained.
        predicted_excess_risk: 0.5 * problem.smoothness() * REGRESSOR_MARGIN.powi(2),
        ..Summary::default()
    }
}

/// A constant has no other place than the intercept.
pub(super) fn check_intercept(problem: &Problem) -> Result<()> {
    match problem.schema().has_intercept() {
        true => Ok(()),
        false => Err(Error::invalid(
            "fit_intercept",
            "must be True for a constant",
        )),
    }
}

/// The model of these scores, one an output, and no coefficients.
pub(super) fn at_intercepts(scores: &[f64], schema: &Schema) -> Vec<f64> {
    let columns = schema.n_columns();
    let mut scaled = vec![0.0; scores.len() * columns];
    for (scaled, score) in scaled.chunks_mut(columns).zip(scores) {
        scaled[schema.n_features()] = score / schema.intercept_value();
    }
    scaled
}

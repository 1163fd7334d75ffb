//! What is left of a model of counts where records are too few for one.

use super::constant::{at_intercepts, check_intercept, range_of_one_choice, summary_of_one_choice};
use crate::error::{Error, Result};
use crate::mechanism::Mechanism;
use crate::plan::defaults::{COUNT_CONSTANT_CLIP, one_count};
use crate::plan::{Domain, Fitted, Plan, Problem};
use crate::privacy::{Planned, Program, Question, Session, Target};
use crate::question::MeanCount;

/// The constant model of counts: the logarithm of about their mean, and no coefficients.
///
/// The whole budget is one choice. A quantile would be off the mean of skewed laws; a scale first, and noise on a mean
/// that is clipped there, would be two releases, the first of which is missed where bounds are far too wide.
///
/// **Neighbours**: replace-one or add-remove. **Sensitivity**: that of sums of one bounded number a record
/// ([`crate::question::MeanCount`]). **Privacy**: one choice of bounded range by the exponential mechanism, exact.
#[derive(Debug, Clone, Copy)]
pub(super) struct CountConstant;

#[derive(Debug)]
struct Release {
    mean: Question<MeanCount>,
    /// The largest count, in units of rates.
    units: f64,
}

impl Mechanism for CountConstant {
    fn margin_bound(&self, _: &Domain, _: usize, _: bool, _: Target) -> Result<f64> {
        // No rate is less than 2^-64 of the largest count.
        Ok(45.0)
    }

    fn plan(&self, problem: Problem, _: &Domain) -> Result<Plan> {
        let delta = problem.validate()?;
        check_intercept(&problem)?;
        let target = problem.schema().target();
        let Target::Counts { high, unit, .. } = target else {
            return Err(Error::invalid("counts", "have a mean, not other targets"));
        };
        let epsilon0 = range_of_one_choice(&problem, delta)?;
        let statement = &problem.statement;
        let mean = statement.mean_count(epsilon0, COUNT_CONSTANT_CLIP, one_count(high))?;
        let release = Release {
            mean,
            units: high / unit,
        };
        let mechanism = "a constant, about the mean of the counts".into();
        let summary = summary_of_one_choice(&problem, epsilon0, mechanism);
        Plan::seal(problem, release, summary)
    }
}

impl Program<Fitted> for Release {
    fn questions(&self) -> Vec<Planned> {
        vec![self.mean.once()]
    }

    fn run(&self, session: &mut Session<'_>) -> Result<Fitted> {
        let rate = session.ask(&self.mean, ())?;
        let score = (rate * self.units).ln();
        session.progress(1, 1)?;
        Ok(at_intercepts(&[score], session.statement().schema()).into())
    }
}

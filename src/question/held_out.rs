//! One of several released models, chosen by held-out loss.

use std::sync::Arc;

use super::Question;
use super::space::WorkingCopy;
use super::statement::Statement;
use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::exact::selection::InverseTemperature;
use crate::schema::{Bounds, Schema};

/// Most that one record adds to a score; even, so that half of it is an integer.
pub(crate) const LEVELS: i64 = 1 << 16;
/// A released linear model in the user's units.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LinearModel {
    /// One coefficient per feature; of K classes those of class 0, then of class 1, and so on.
    pub coefficients: Vec<f64>,
    /// What is added to each score: one entry a score.
    pub intercepts: Vec<f64>,
    /// What features are clipped to first, where they are; predictions are then clipped to the bounds of the targets.
    pub feature_ranges: Option<Bounds>,
}

/// The choice of one of several released models: the exponential mechanism over their losses on records that none of
/// them was fitted on (held-out validation, as in Chaudhuri, Monteleoni & Sarwate 2011, section 6, there with a generic
/// epsilon).
///
/// **Score** of a model, minimised: the sum over the records of an integer in [0, 2^16], 2^16 times
/// - classification: 1 if the record is misclassified, 0 if not (score 0 counts as the negative class, as in
///   prediction); of three or more classes the one with the largest score is predicted, the first of equal ones;
/// - regression: min((z - y)^2, 1), y in [-1, 1] by its public bounds: a residual beyond half their width counts as 1;
/// - counts: (sqrt(m) - sqrt(y))^2, y in [0, 1] and the predicted m by their public bounds: roots of counts vary alike
///   whatever their mean (Bartlett 1936).
///
/// Where records have weights, an integer is the part that the weight leaves of it, rounded: no more.
///
/// **Sensitivity.** At models that are public, what a record adds depends on that record and on the model alone:
/// margins are integer products, exact whatever the order or storage, of features that the model clips or not. With m
/// records a person, replacing a person's records moves every score by at most m 2^16 either way, so the privacy loss
/// eta (q'_k - q_k) - ln(Z/Z') has range at most 2 eta m 2^16 over k. Adding a person moves all scores up, by m 2^16 at
/// most: range eta m 2^16. Set equal to epsilon0, that is [`InverseTemperature`] for a sensitivity of m 2^16, or half
/// of it.
///
/// The models may come from other records of the same people: this is one adaptive step in a composition, and its event
/// is added to theirs.
#[derive(Debug, Clone)]
pub struct HeldOut {
    pub(crate) temperature: InverseTemperature,
}

impl Statement {
    /// A choice of bounded range `epsilon0` among released models.
    ///
    /// # Errors
    /// An epsilon0 that the exact sampler does not take, too many records per person, or a schema without an intercept.
    pub fn held_out(self: &Arc<Self>, epsilon0: f64) -> Result<Question<HeldOut>> {
        if !self.schema().has_intercept() {
            let problem = "must be read with an intercept to compare models";
            return Err(Error::invalid("data", problem));
        }
        let one = match self.adjacency() {
            Adjacency::ReplaceOne => LEVELS,
            Adjacency::AddRemove => LEVELS / 2,
        };
        let sensitivity = (one as u64)
            .checked_mul(self.records_per_person())
            .filter(|&bound| bound < 1 << 62)
            .ok_or_else(|| Error::invalid("records_per_person", "is too large"))?;
        let choice = HeldOut {
            temperature: InverseTemperature::new(epsilon0, sensitivity)?,
        };
        let events = vec![(Event::exponential(epsilon0)?, 1)];
        // Models that clip features score a copy.
        let question = Question::new(self, choice, events).on_a_copy(WorkingCopy::Alike);
        Ok(question.of_outputs(self.schema().target().outputs()))
    }
}

impl LinearModel {
    /// Coefficients in scaled units, the intercept last, for records of `schema`; so for each score in turn.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a model of another shape than the records, or too large for floats.
    pub(crate) fn scaled(&self, schema: &Schema) -> Result<Vec<f64>> {
        self.check(schema)?;
        let mut theta = Vec::new();
        for (own, &intercept) in self
            .coefficients
            .chunks(schema.n_features())
            .zip(&self.intercepts)
        {
            theta.extend(schema.to_scaled_units(own, intercept)?);
        }
        let size: f64 = theta.iter().map(|theta| theta.abs()).sum();
        if !size.is_finite() {
            return Err(Error::invalid("coefficients", "must be finite"));
        }
        Ok(theta)
    }

    /// Refuses models that do not fit records of `schema`.
    fn check(&self, schema: &Schema) -> Result<()> {
        let (n_features, outputs) = (schema.n_features(), schema.target().outputs());
        let finite = (self.coefficients.iter().chain(&self.intercepts)).all(|c| c.is_finite());
        let fits =
            self.coefficients.len() == n_features * outputs && self.intercepts.len() == outputs;
        if !fits || !finite {
            return Err(Error::invalid(
                "coefficients",
                "must be one per feature and finite, with an intercept, for each score",
            ));
        }
        let in_order = |ranges: &Bounds| {
            ranges.lower.len() == n_features
                && ranges.upper.len() == n_features
                && (ranges.lower.iter().zip(&ranges.upper))
                    .all(|(low, high)| low.is_finite() && high.is_finite() && low <= high)
        };
        if !self.feature_ranges.as_ref().is_none_or(in_order) {
            return Err(Error::invalid(
                "feature_ranges",
                "must be one pair of finite values per feature, the lower one first",
            ));
        }
        Ok(())
    }
}

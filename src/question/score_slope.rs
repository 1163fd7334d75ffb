//! The noisy derivative of the summed loss along a factor for all scores.

use std::sync::Arc;

use super::Question;
use super::gaussian_sum::GaussianSum;
use super::gradient::Gradient;
use super::model::RoomModel;
use super::sensitivity::Contribution;
use super::statement::Statement;
use crate::error::{Error, Result};

/// How a summed loss changes with one number that all scores are multiplied by: sum_i sum_k d_ik x_ik, where record i
/// has one feature x_ik a score k ([`Statement::projected_scores`]), and noise.
///
/// It is the sum of the diagonal of a gradient ([`Gradient`]), of K (K + 1) entries. **Sensitivity**: that of the
/// gradient, |sum_k d_k x_k| <= |d|_2 |x|_2 (Cauchy-Schwarz), on one number; the same sum of a noisy gradient would
/// have K times the variance ([`crate::theory_of_privacy::softmax_model`]).
#[derive(Debug, Clone)]
pub struct ScoreSlope {
    /// Whose diagonal it is, with the noise of one number.
    pub(crate) gradient: Gradient,
}

impl Statement {
    /// Derivatives with noise of standard deviation `multiplier` times the sensitivity.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `outputs` for records that have not one feature a score. A sensitivity beyond
    /// 2^62, or noise that the exact sampler does not take.
    pub fn score_slope(
        self: &Arc<Self>,
        model: &RoomModel,
        multiplier: f64,
    ) -> Result<Question<ScoreSlope>> {
        if self.schema().n_features() != model.outputs() {
            return Err(Error::invalid(
                "outputs",
                "must be as many as features: a slope of scores is of records with one feature a score",
            ));
        }
        let exact = Contribution::of(self, model).euclidean(self)?;
        let sum = GaussianSum::new((exact as f64).next_up(), 1.0, multiplier)?;
        let events = vec![(sum.event()?, 1)];
        let (model, outputs) = (model.clone(), model.outputs());
        let gradient = Gradient { model, sum };
        Ok(Question::new(self, ScoreSlope { gradient }, events).of_outputs(outputs))
    }
}

impl Question<ScoreSlope> {
    /// Standard deviation of the noise, in units of the derivative of the summed loss in scaled units.
    pub fn noise_scale(&self) -> f64 {
        let Gradient { sum, .. } = &self.answer.gradient;
        sum.sigma() * self.answer.gradient.unit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::{Adjacency, Event};
    use crate::loss::Logistic;
    use crate::schema::{Bounds, Geometry, Schema, Target};

    /// The noise of a gradient on one number, of records with one feature a score alone.
    #[test]
    fn slopes_cost_what_gradients_cost() {
        let target = Target::Multiclass { classes: 4 };
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let schema = Schema::new(9, bounds, Geometry::Centred, target, true, None).unwrap();
        let root = Statement::new(schema, 1000, Adjacency::ReplaceOne, 1).unwrap();
        let model = RoomModel::for_target(&Logistic.into(), None, target).unwrap();
        let sensitivity = |events: &[(Event, u64)]| match events {
            [(Event::Gaussian { sensitivity, .. }, 1)] => *sensitivity,
            _ => panic!("{events:?}"),
        };
        for (scores, fits) in [(1, false), (3, false), (4, true), (5, false)] {
            let about = root.projected_scores(scores, 0.01, 0.1).unwrap();
            let slope = about.score_slope(&model, 2.0);
            assert_eq!(slope.is_ok(), fits);
            if let Ok(slope) = slope {
                let gradient = about.gradient(&model, 2.0).unwrap();
                let [one, all] = [slope.events(), gradient.events()].map(sensitivity);
                assert_eq!(one, all);
                // 2 sqrt(2) (.1, .01).
                let exact = 2.0 * (2.0 * (0.1f64.powi(2) + 0.01f64.powi(2))).sqrt();
                assert!((slope.noise_scale() / (2.0 * exact) - 1.0).abs() < 1e-3);
            }
        }
        assert!(root.score_slope(&model, 2.0).is_err());
    }
}

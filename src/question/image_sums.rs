//! Sums of the sizes of images of features.

use std::sync::Arc;

use super::Question;
use super::gaussian_sum::GaussianSum;
use super::statement::Statement;
use crate::error::{Error, Result};
use crate::numeric::directed::mul_up;
use crate::numeric::kernel::MAX_FEATURE;

/// Noisy sums of the sizes of all features after a public map that is named when asking, rows shortened to a public
/// norm.
///
/// **Sensitivity**, r the norm in lattice units: no entry of a contribution is negative, and none is longer than r, so
/// sqrt(2) r for a replaced record and r for one added or removed, m times that for m of them.
#[derive(Debug, Clone)]
pub struct ImageSums {
    pub(crate) sum: GaussianSum,
    /// Of the images, in scaled units.
    pub(crate) row_norm: f64,
}

impl Statement {
    /// Sums of images that are shortened to `row_norm`, in scaled units, with noise of standard deviation `multiplier`
    /// times the sensitivity.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `row_norm` for one outside (1e-3, sqrt(p)], and noise that the exact sampler
    /// does not take.
    pub fn image_sums(
        self: &Arc<Self>,
        multiplier: f64,
        row_norm: f64,
    ) -> Result<Question<ImageSums>> {
        let entries = self.schema().n_features() as f64;
        if !(row_norm > 1e-3 && row_norm <= entries.sqrt()) {
            return Err(Error::invalid(
                "row_norm",
                "of images must lie above 1e-3, and be no more than sqrt(p)",
            ));
        }
        let contribution = (row_norm * f64::from(MAX_FEATURE)).next_up();
        let exact = mul_up(self.changed_non_negative(), contribution);
        let sum = GaussianSum::new(exact, entries, multiplier)?;
        let events = vec![(sum.event()?, 1)];
        Ok(Question::new(self, ImageSums { sum, row_norm }, events))
    }
}

impl Question<ImageSums> {
    /// Standard deviation of the noise on a sum, in the units of the answer.
    pub fn noise_scale(&self) -> f64 {
        self.answer.sum.sigma()
    }

    /// One unit of the answer in scaled units of the images.
    pub fn unit(&self) -> f64 {
        self.answer.sum.unit() / f64::from(MAX_FEATURE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::{Adjacency, Event};
    use crate::schema::{Bounds, Geometry, Schema, Target};

    fn statement(adjacency: Adjacency, person: usize) -> Arc<Statement> {
        let bounds = Bounds {
            lower: vec![0.0],
            upper: vec![1.0],
        };
        let (geometry, target) = (Geometry::Centred, Target::Classes);
        let schema = Schema::new(4, bounds, geometry, target, true, None).unwrap();
        Statement::new(schema, 100, adjacency, person).unwrap()
    }

    /// sqrt(2) r of a replaced record, r of one that is added, as often as a person has records.
    #[test]
    fn the_sensitivity_is_that_of_a_row_without_negative_entries() {
        let replace = Adjacency::ReplaceOne;
        for (adjacency, person, squared) in [
            (replace, 1, 2.0),
            (Adjacency::AddRemove, 1, 1.0),
            (replace, 3, 18.0),
        ] {
            for norm in [0.15, 1.0, 2.0] {
                let question = statement(adjacency, person).image_sums(7.0, norm).unwrap();
                let [(Event::Gaussian { sensitivity, sigma }, 1)] = question.events()[..] else {
                    panic!("{:?}", question.events());
                };
                let exact = f64::sqrt(squared) * norm * f64::from(MAX_FEATURE);
                assert!(sensitivity >= exact && sensitivity < exact * (1.0 + 1e-12));
                assert!(sigma >= 7.0 * sensitivity && question.noise_scale() == sigma);
                assert_eq!(question.unit(), 1.0 / f64::from(MAX_FEATURE));
            }
        }
    }

    #[test]
    fn norms_are_those_that_rows_can_have() {
        let about = statement(Adjacency::ReplaceOne, 1);
        for norm in [0.0, -1.0, 1e-4, 2.1, f64::NAN, f64::INFINITY] {
            let error = about.image_sums(1.0, norm).unwrap_err();
            assert!(
                error.to_string().starts_with("row_norm of images"),
                "{error}"
            );
        }
    }
}

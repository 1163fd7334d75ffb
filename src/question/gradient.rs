//! Noisy gradients of the summed loss at public coefficients.

use std::sync::Arc;

use super::Question;
use super::gaussian_sum::GaussianSum;
use super::model::RoomModel;
use super::sensitivity::Contribution;
use super::statement::Statement;
use crate::error::Result;
use crate::numeric::kernel::MAX_FEATURE;

/// A noisy gradient (Bassily, Smith & Thakurta 2014; Talwar, Thakurta & Zhang 2015, Algorithm 3).
///
/// At theta, public, margins are integer combinations of integer records: record i alone decides z_i and d_i, on any
/// thread and in any storage. What leaves is sum_i d_i x_i plus noise. **Sensitivity**: `Contribution::euclidean`, with
/// the norm to which contributions are scaled down in place of that of the rows where the schema has one.
#[derive(Debug, Clone)]
pub struct Gradient {
    pub(crate) model: RoomModel,
    pub(crate) sum: GaussianSum,
}

impl Statement {
    /// Gradients with noise of standard deviation `multiplier` times the sensitivity on every entry.
    ///
    /// # Errors
    /// A sensitivity beyond 2^62, or noise that the exact sampler does not take.
    pub fn gradient(
        self: &Arc<Self>,
        model: &RoomModel,
        multiplier: f64,
    ) -> Result<Question<Gradient>> {
        let exact = Contribution::of(self, model).euclidean(self)?;
        let entries = (self.n_columns() * model.outputs()) as f64;
        let sum = GaussianSum::new((exact as f64).next_up(), entries, multiplier)?;
        let events = vec![(sum.event()?, 1)];
        let model = model.clone();
        Ok(Question::new(self, Gradient { model, sum }, events))
    }
}

impl Question<Gradient> {
    /// Standard deviation of the noise on an entry of the gradient of the summed loss, in scaled units.
    pub fn noise_scale(&self) -> f64 {
        self.answer.sum.sigma() * self.answer.unit()
    }
}

impl Gradient {
    /// One unit of the release, in units of the gradient of the summed loss in scaled features.
    pub(crate) fn unit(&self) -> f64 {
        self.sum.unit() / (self.model.lattice().scale() * f64::from(MAX_FEATURE))
    }
}

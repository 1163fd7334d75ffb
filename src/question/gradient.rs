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
/// the norm to which contributions are scaled down in place of that of the rows where the schema has one. Weights of
/// records multiply d_i by a share, at most 1.
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
        let (model, outputs) = (model.clone(), model.outputs());
        Ok(Question::new(self, Gradient { model, sum }, events).of_outputs(outputs))
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

/// theta on a public lattice of at least 2^-16 of its largest entry, as fine as exact margins allow, one direction an
/// output, and the unit of a margin.
///
/// No overflow: an entry is at most 2^29, which kernels multiply by in two parts, and the sum of their sizes at most
/// 2^46, so |margin| <= 2^60; sparse columns add at most three such terms.
pub(crate) fn lattice_directions(theta: &[f64], columns: usize) -> (Vec<Vec<(u32, i64)>>, f64) {
    let largest = theta.iter().fold(0.0f64, |m, t| m.max(t.abs()));
    let bits = 29.min(45 - (usize::BITS - columns.leading_zeros()) as i32);
    // |theta_j| <= 2^exponent, so entries are at most 2^bits.
    let exponent = largest.max(1e-290).log2().floor() as i32 + 1;
    let scale = 2f64.powi(bits - exponent);
    let direction = |theta: &[f64]| {
        let entries = theta.iter().map(|t| (t * scale).round() as i64);
        (0..)
            .zip(entries)
            .filter(|&(_, entry)| entry != 0)
            .collect()
    };
    let directions = theta.chunks(columns).map(direction).collect();
    (directions, 1.0 / (scale * f64::from(MAX_FEATURE)))
}

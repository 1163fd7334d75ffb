//! Sums of the sizes of features.

use std::sync::Arc;

use super::Question;
use super::gaussian_sum::GaussianSum;
use super::statement::Statement;
use crate::error::{Error, Result};
use crate::numeric::directed::mul_up;

/// Noisy sums sum_i |x_ij|, one a feature.
///
/// **Sensitivity**, r the bound on a row's norm in lattice units: no entry of |x_i| is negative, so sqrt(2) r for a
/// replaced record and r for one added or removed, m times that for m of them.
#[derive(Debug, Clone)]
pub struct AbsoluteSums {
    pub(crate) sum: GaussianSum,
}

impl Statement {
    /// Sums with noise of standard deviation `multiplier` times the sensitivity.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `row_norm` for a schema without one, or noise that the exact sampler does not
    /// take.
    pub fn absolute_sums(self: &Arc<Self>, multiplier: f64) -> Result<Question<AbsoluteSums>> {
        let row = self.schema().lattice_row_norm().ok_or_else(|| {
            Error::invalid("row_norm", "must be given for private weights of columns")
        })?;
        let exact = mul_up(self.changed_non_negative(), (row as f64).next_up());
        let entries = self.schema().n_features() as f64;
        let sum = GaussianSum::new(exact, entries, multiplier)?;
        let events = vec![(sum.event()?, 1)];
        Ok(Question::new(self, AbsoluteSums { sum }, events))
    }
}

impl Question<AbsoluteSums> {
    /// Standard deviation of the noise, in the units of the answer.
    pub fn noise_scale(&self) -> f64 {
        self.answer.sum.sigma()
    }
}

//! Second moments of the records.

use std::sync::Arc;

use super::Question;
use super::gaussian_sum::GaussianSum;
use super::statement::Statement;
use crate::error::{Error, Result};
use crate::numeric::directed::{add_up, mul_up, sqrt_up};
use crate::numeric::kernel::MAX_FEATURE;

/// Noisy second moments sum_i x_i x_i' of the records, the intercept's column included (Dwork, Talwar, Thakurta & Zhang
/// 2014).
///
/// Rows are in integers and no longer than r in lattice units, those that count less in gradients
/// ([`crate::schema::Schema::with_gradient_norm`]) by shortening them, intercept included: r^2 = R^2 + c^2. Those of
/// records with weights are multiplied by the roots of their shares, at most 1: the sum is sum_i u_i x_i x_i'.
///
/// **Sensitivity.** |x x'|_F = |x|^2 <= r^2, and the inner product of two such matrices is <a, b>^2 >= 0: sqrt(2) r^2
/// for a replaced record, r^2 for one added or removed, m times that for m of them. The entries on and above the
/// diagonal are released, the diagonal divided by sqrt(2): that vector has 1/sqrt(2) of the Frobenius norm, so noise of
/// standard deviation sigma off the diagonal and sqrt(2) sigma on it has the multiplier sqrt(2) sigma/|.|_F.
#[derive(Debug, Clone)]
pub struct Moments {
    pub(crate) sum: GaussianSum,
}

/// Most columns: the matrix has their square.
pub const MOST_MOMENT_COLUMNS: usize = 2048;

impl Statement {
    /// Second moments with noise of standard deviation `multiplier` times the sensitivity.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `X` for more than 2047 features, and noise that the exact sampler does not
    /// take.
    pub fn moments(self: &Arc<Self>, multiplier: f64) -> Result<Question<Moments>> {
        let columns = self.n_columns();
        if columns > MOST_MOMENT_COLUMNS {
            return Err(Error::invalid(
                "X",
                format!(
                    "has too many features for a matrix of second moments: at most {}",
                    MOST_MOMENT_COLUMNS - 1
                ),
            ));
        }
        let schema = self.schema();
        let norm = (schema.lattice_gradient_norm()).or(schema.lattice_row_norm());
        let unit = f64::from(MAX_FEATURE);
        let features = norm.map_or(unit * unit * schema.n_varying() as f64, |norm| {
            mul_up(norm as f64, norm as f64)
        });
        let row = add_up(features, f64::from(schema.lattice_intercept()).powi(2));
        let exact = mul_up(mul_up(self.changed_non_negative(), sqrt_up(0.5)), row);
        // Flooring moves every entry of the matrix, the diagonal twice over: more than the vector that leaves.
        let entries = (columns * columns) as f64;
        let sum = GaussianSum::new(exact, entries, multiplier)?;
        sum.noise(Moments::on_diagonal())?;
        let events = vec![(sum.event()?, 1)];
        Ok(Question::new(self, Moments { sum }, events))
    }
}

impl Question<Moments> {
    /// Standard deviation of the noise on an entry off the diagonal, in scaled units; sqrt(2) times that on the
    /// diagonal.
    pub fn noise_scale(&self) -> f64 {
        self.answer.sum.sigma() * self.answer.unit()
    }
}

impl Moments {
    /// What the noise on the diagonal is multiplied by.
    pub(crate) fn on_diagonal() -> f64 {
        sqrt_up(2.0)
    }

    /// One unit of the release, in scaled units.
    pub(crate) fn unit(&self) -> f64 {
        self.sum.unit() / f64::from(MAX_FEATURE).powi(2)
    }
}

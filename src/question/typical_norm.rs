//! A quantile of the Euclidean norms of rows.

use std::sync::Arc;

use super::Question;
use super::statement::Statement;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::selection::InverseTemperature;

/// A quantile of the Euclidean norms of rows, by the exponential mechanism on a geometric grid (Smith 2011) below the
/// largest norm that a public map allows.
///
/// Scores are those of `quantile_scores`, k = round(q n) is public. **Sensitivity**: a record moves #{i: |x_i| <= t} by
/// at most 1, m of them by m. One bounded-range event.
#[derive(Debug, Clone)]
pub struct TypicalNorm {
    pub(crate) temperature: InverseTemperature,
    pub(crate) rank: i64,
}

impl Statement {
    /// One choice of bounded range `epsilon0`, of the `level` quantile.
    ///
    /// # Errors
    /// A level outside (0, 1), and an epsilon0 that the exact sampler does not take.
    pub fn typical_norm(
        self: &Arc<Self>,
        epsilon0: f64,
        level: f64,
    ) -> Result<Question<TypicalNorm>> {
        if !(level > 0.0 && level < 1.0) {
            let problem = "needs a quantile between zero and one";
            return Err(Error::invalid("scale", problem));
        }
        let norm = TypicalNorm {
            temperature: InverseTemperature::new(epsilon0, self.records_per_person())?,
            rank: (level * self.n_samples() as f64).round() as i64,
        };
        let events = vec![(Event::exponential(epsilon0)?, 1)];
        Ok(Question::new(self, norm, events))
    }
}

//! A quantile of the Euclidean norms of rows that are not zero.

use std::sync::Arc;

use super::Question;
use super::quantile::Quantile;
use super::statement::Statement;
use crate::accounting::event::Event;
use crate::error::Result;

/// A quantile of the Euclidean norms of the rows that are not zero, by the exponential mechanism on a geometric grid
/// (Smith 2011) below the largest norm that a public map allows.
///
/// **Sensitivity**: that of a quantile of one value a record, of those that are counted (`question/quantile.rs`). One
/// bounded-range event.
#[derive(Debug, Clone)]
pub struct TypicalNorm(pub(crate) Quantile);

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
        let norm = TypicalNorm(self.quantile(epsilon0, level, 1)?);
        let events = vec![(Event::exponential(epsilon0)?, 1)];
        Ok(Question::new(self, norm, events))
    }
}

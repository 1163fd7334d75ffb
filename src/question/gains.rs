//! The feature that adds most to those that were chosen already.

use std::sync::Arc;

use super::Question;
use super::statement::Statement;
use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::exact::selection::InverseTemperature;
use crate::numeric::kernel::MAX_FEATURE;

/// A feature by how much it adds to a public set A: the exponential mechanism over the gains of F(A) = sum_i max over a
/// in A of x_ia (and 0), which is monotone and submodular: coverage where values are 0 or 1, facility location where
/// they are in between (Gupta, Ligett, McSherry, Roth & Talwar 2010; Mitrovic, Bun, Krause & Karbasi 2017).
///
/// **Score** of j, minimised: minus sum_i max(x_ij - b_i, 0) in lattice units, b_i the largest of 0 and of x_ia over A.
///
/// **Sensitivity.** At a public A what a record adds to a score is an integer between -S and 0, S the largest lattice
/// value, and depends on that record alone. With m records a person, replacing a person's records moves every score by
/// at most m S either way: the privacy loss has range at most 2 eta m S over j. Adding a person moves all scores down,
/// by m S at most: range eta m S. Set equal to epsilon0, that is [`InverseTemperature`] for m S, or half of it.
///
/// A choice without those that were made before is one of a subset of the candidates, with the same bound.
#[derive(Debug, Clone)]
pub struct Gains {
    pub(crate) temperature: InverseTemperature,
}

impl Statement {
    /// Choices of bounded range `epsilon0`.
    ///
    /// # Errors
    /// An epsilon0 that the exact sampler does not take, or too many records per person.
    pub fn gains(self: &Arc<Self>, epsilon0: f64) -> Result<Question<Gains>> {
        let most = MAX_FEATURE.unsigned_abs() as u64;
        let one = match self.adjacency() {
            Adjacency::ReplaceOne => most,
            Adjacency::AddRemove => most.div_ceil(2),
        };
        let sensitivity = one
            .checked_mul(self.records_per_person())
            .filter(|&bound| bound < 1 << 62)
            .ok_or_else(|| Error::invalid("records_per_person", "is too large"))?;
        let choice = Gains {
            temperature: InverseTemperature::new(epsilon0, sensitivity)?,
        };
        Ok(Question::new(
            self,
            choice,
            vec![(Event::exponential(epsilon0)?, 1)],
        ))
    }
}

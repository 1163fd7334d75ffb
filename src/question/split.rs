//! A split of the records into two parts, drawn without looking at them.

use std::sync::Arc;

use super::Question;
use super::statement::Statement;
use crate::accounting::event::Adjacency;
use crate::error::{Error, Result};

/// A split into training and held-out records; it costs nothing. What is released of it: under replace-one the
/// positions that are held out, which are drawn without looking at the records and are the same for neighbours; under
/// add-remove nothing, as the positions of a split tell how many records there are, and which coin is whose.
///
/// **The split is one for both neighbours.** Replace-one: it is a random set of positions of a public size; a person's
/// records stand at the same positions in both data sets. Add-remove: a split by position would shift every later
/// record, so each record gets an independent coin; give the records that both data sets share the same coins. Either
/// way, given the split, the parts of neighbours are neighbours or equal, and bounds that hold for every split hold for
/// the mixture, since the split has the same law on both sides. A part may be empty under add-remove: sums over it are
/// 0.
#[derive(Debug, Clone)]
pub struct Split {
    pub(crate) law: SplitLaw,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum SplitLaw {
    /// So many positions.
    Positions(usize),
    /// A coin with this probability, in units of 2^-53.
    Coins(u64),
}

impl Statement {
    /// A split that holds out `n_held_out` records (under add-remove: each with probability `share`).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `held_out` for a side that would be empty.
    pub fn split(self: &Arc<Self>, n_held_out: usize, share: f64) -> Result<Question<Split>> {
        if !(share > 0.0 && share < 1.0) || n_held_out == 0 || n_held_out >= self.n_samples() {
            return Err(Error::invalid(
                "held_out",
                "must leave records on both sides",
            ));
        }
        let law = match self.adjacency() {
            Adjacency::ReplaceOne => SplitLaw::Positions(n_held_out),
            Adjacency::AddRemove => SplitLaw::Coins((share * 2f64.powi(53)) as u64),
        };
        let question = Question::new(self, Split { law }, Vec::new());
        Ok(match law {
            SplitLaw::Positions(_) => question,
            SplitLaw::Coins(_) => question.never_kept(),
        })
    }
}

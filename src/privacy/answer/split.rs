//! A split of the records into two parts, drawn without looking at them.

use std::sync::Arc;

use crate::accounting::event::Adjacency;
use crate::error::{Error, Result};
use crate::privacy::question::{Answer, Question, Room};
use crate::privacy::records::Records;
use crate::privacy::statement::Statement;

/// A split into training and held-out records. Its positions stay in the room; it costs nothing.
///
/// **The split is one for both neighbours.** Replace-one: it is a random set of positions of a public size; a person's
/// records stand at the same positions in both data sets. Add-remove: a split by position would shift every later
/// record, so each record gets an independent coin; give the records that both data sets share the same coins. Either
/// way, given the split, the parts of neighbours are neighbours or equal, and bounds that hold for every split hold for
/// the mixture, since the split has the same law on both sides. A part may be empty under add-remove: sums over it are 0.
#[derive(Debug, Clone)]
pub struct Split {
    law: Law,
}

#[derive(Debug, Clone, Copy)]
enum Law {
    /// So many positions.
    Positions(usize),
    /// A coin with this probability, in units of 2^-53.
    Coins(u64),
}

/// Which records.
#[derive(Debug, Clone, Copy)]
pub enum Part<'q> {
    /// All of them.
    All,
    /// The larger side of a split.
    Training(&'q Question<Split>),
    /// The other side.
    HeldOut(&'q Question<Split>),
}

/// Positions of the two sides, ascending.
pub struct Sides {
    pub training: Vec<u32>,
    pub held_out: Vec<u32>,
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
            Adjacency::ReplaceOne => Law::Positions(n_held_out),
            Adjacency::AddRemove => Law::Coins((share * 2f64.powi(53)) as u64),
        };
        Ok(Question::new(self, Split { law }, Vec::new()))
    }
}

impl Answer for Split {
    type At<'a> = ();
    type Released = ();
    type State = Sides;

    fn state(&self, _: &dyn Records) -> Result<Sides> {
        Ok(Sides {
            training: Vec::new(),
            held_out: Vec::new(),
        })
    }

    fn draw(&self, (): (), room: Room<'_, '_, Sides>) -> Result<()> {
        let n = room.records.n_records();
        let mut held = vec![false; n];
        match self.law {
            Law::Positions(count) => {
                // Floyd's sample without replacement (Bentley & Floyd 1987).
                for last in n - count.min(n)..n {
                    let drawn = room.source.below(last as u128 + 1) as usize;
                    let place = if held[drawn] { last } else { drawn };
                    held[place] = true;
                }
            }
            Law::Coins(threshold) => held
                .iter_mut()
                .for_each(|held| *held = room.source.below(1 << 53) < u128::from(threshold)),
        }
        for (i, held) in (0u32..).zip(held) {
            let side = match held {
                true => &mut room.state.held_out,
                false => &mut room.state.training,
            };
            side.push(i);
        }
        Ok(())
    }
}

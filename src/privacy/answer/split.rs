use super::{Answer, Room};
use crate::error::{Error, Result};
use crate::question::{Question, Split, SplitLaw};

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
#[derive(Default)]
pub struct Sides {
    pub training: Vec<u32>,
    pub held_out: Vec<u32>,
}

impl Answer for Split {
    type At<'a> = ();
    /// Positions that are held out, ascending; none under add-remove, where they stay in the room.
    type Released = Vec<u32>;
    type State = Sides;

    fn draw(&self, (): (), room: Room<'_, '_, Sides>) -> Result<Vec<u32>> {
        let mut held = vec![false; room.records.n_records()];
        match self.law {
            SplitLaw::Positions(count) => {
                let n = held.len();
                // Floyd's sample without replacement (Bentley & Floyd 1987).
                for last in n - count.min(n)..n {
                    let drawn = room.source.below(last as u128 + 1) as usize;
                    let place = if held[drawn] { last } else { drawn };
                    held[place] = true;
                }
            }
            SplitLaw::Coins(threshold) => held
                .iter_mut()
                .for_each(|held| *held = room.source.below(1 << 53) < u128::from(threshold)),
        }
        *room.state = Sides::of(&held);
        Ok(match self.law {
            SplitLaw::Positions(_) => room.state.held_out.clone(),
            SplitLaw::Coins(_) => Vec::new(),
        })
    }

    fn replay(&self, (): (), held_out: &Vec<u32>, room: Room<'_, '_, Sides>) -> Result<()> {
        let mut held = vec![false; room.records.n_records()];
        for &i in held_out {
            // Fewer records than there were: a mistake of the user's.
            let outside = || Error::checkpoint("is of other records: delete it to start anew");
            *(held.get_mut(i as usize)).ok_or_else(outside)? = true;
        }
        *room.state = Sides::of(&held);
        Ok(())
    }
}

impl Sides {
    fn of(held: &[bool]) -> Self {
        let mut sides = Self::default();
        for (i, &held) in (0u32..).zip(held) {
            let side = match held {
                true => &mut sides.held_out,
                false => &mut sides.training,
            };
            side.push(i);
        }
        sides
    }
}

use super::{Answer, Room};
use crate::error::Result;
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
    type Released = ();
    type State = Sides;

    fn draw(&self, (): (), room: Room<'_, '_, Sides>) -> Result<()> {
        let n = room.records.n_records();
        let mut held = vec![false; n];
        match self.law {
            SplitLaw::Positions(count) => {
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
        *room.state = Sides::default();
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

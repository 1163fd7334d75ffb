use super::{Answer, Room};
use crate::error::{Error, Result};
use crate::exact::selection::ExponentialMechanism;
use crate::privacy::records::{Pass, States};
use crate::question::Gains;
use crate::schema::Schema;

impl Answer for Gains {
    /// The features chosen already, fewer than there are.
    type At<'a> = &'a [u32];
    /// One of the others.
    type Released = u32;
    type State = States;

    fn check(&self, chosen: &&[u32], schema: &Schema) -> Result<()> {
        let p = schema.n_features();
        let mut different = chosen.to_vec();
        different.sort_unstable();
        different.dedup();
        let known = different.iter().all(|&j| (j as usize) < p);
        if !known || different.len() < chosen.len() || chosen.len() >= p {
            let problem = "must be different features, fewer than there are";
            return Err(Error::invalid("chosen", problem));
        }
        Ok(())
    }

    fn draw(&self, chosen: &[u32], room: Room<'_, '_, States>) -> Result<u32> {
        let pass = Pass::Gains { chosen };
        let gains = room.records.fold(&pass, room.state, room.watch)?.0;
        let left: Vec<u32> = (0u32..)
            .take(gains.len())
            .filter(|j| !chosen.contains(j))
            .collect();
        let scores: Vec<i64> = left.iter().map(|&j| -gains[j as usize]).collect();
        let choice = ExponentialMechanism::new(&scores, &self.temperature, Vec::new())?;
        Ok(left[choice.draw(room.source)])
    }
}

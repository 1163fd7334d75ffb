use super::{Answer, Room};
use crate::error::Result;
use crate::exact::selection::Valley;
use crate::privacy::records::{Pass, States};
use crate::question::MeanCount;

impl Answer for MeanCount {
    type At<'a> = ();
    /// The rate, in units of the largest count: positive.
    type Released = f64;
    type State = States;

    fn draw(&self, (): (), room: Room<'_, '_, States>) -> Result<f64> {
        let pass = Pass::Mean(&self.candidates);
        let sums = room.records.fold(&pass, room.state, room.watch)?.0;
        let scores = self.candidates.scores(&sums);
        // Of sums that rise with the rate and others that fall the largest is least where they cross.
        let least = (0..scores.len()).min_by_key(|&k| scores[k]).unwrap_or(0);
        let valley = Valley::new(scores.len(), least, |k| scores[k], &self.temperature);
        Ok(self.candidates.rate(valley.draw(room.source)))
    }
}

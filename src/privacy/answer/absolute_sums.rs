use super::{Answer, Room};
use crate::error::Result;
use crate::privacy::records::{Pass, States};
use crate::question::AbsoluteSums;

impl Answer for AbsoluteSums {
    type At<'a> = ();
    /// One noisy sum a feature, all in one unit.
    type Released = Vec<i64>;
    type State = States;

    fn draw(&self, (): (), room: Room<'_, '_, States>) -> Result<Vec<i64>> {
        let sums = room
            .records
            .fold(&Pass::Absolute, room.state, room.watch)?
            .0;
        self.sum.add(&self.sum.floored(sums), 1.0, room.source)
    }
}

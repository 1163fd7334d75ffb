use super::{Answer, Room};
use crate::error::Result;
use crate::exact::noise::discrete_laplace::DiscreteLaplace;
use crate::exact::noise::integer_law;
use crate::privacy::records::{Pass, States};
use crate::question::ClassCounts;

impl Answer for ClassCounts {
    type At<'a> = ();
    /// One noisy number a class, of two classes that of -1 first.
    type Released = Vec<i64>;
    type State = States;

    fn draw(&self, (): (), room: Room<'_, '_, States>) -> Result<Vec<i64>> {
        let numbers = (room.records).fold(&Pass::Classes, room.state, room.watch)?;
        let noise = DiscreteLaplace::new(self.scale)?;
        integer_law::add(&noise, room.source, &numbers.0)
    }
}

use super::{Answer, Room};
use crate::error::Result;
use crate::privacy::records::{Pass, States};
use crate::privacy::thresholds::FloatThresholds;
use crate::question::{Bins, TargetHistogram, TargetValue, Window};

impl Answer for TargetHistogram {
    type At<'a> = Window;
    /// One noisy number a bin, all in one unit.
    type Released = Vec<i64>;
    type State = States;

    fn draw(&self, window: Window, room: Room<'_, '_, States>) -> Result<Vec<i64>> {
        let ends = Bins::Fine
            .ends()
            .into_iter()
            .map(|(_, high)| window.at(high));
        let thresholds = FloatThresholds::Listed(ends.collect());
        let pass = Pass::Targets {
            value: TargetValue::Itself,
            thresholds: &thresholds,
        };
        let counts = room.records.fold(&pass, room.state, room.watch)?.0;
        let parts = self.bins.parts().into_iter();
        let numbers = parts.map(|part| counts[part].iter().sum()).collect();
        self.sum.add(&self.sum.floored(numbers), 1.0, room.source)
    }
}

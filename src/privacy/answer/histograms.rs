use super::ranges::{FEATURES, grid};
use super::{Answer, Room};
use crate::error::Result;
use crate::privacy::records::{Pass, States};
use crate::question::Histograms;
use crate::question::histograms::{STRIDE, thresholds_up_to};

impl Answer for Histograms {
    type At<'a> = ();
    /// One noisy number a bin, feature by feature, all in one unit.
    type Released = Vec<i64>;
    type State = States;

    fn draw(&self, (): (), room: Room<'_, '_, States>) -> Result<Vec<i64>> {
        let at = grid(STRIDE);
        let bins = thresholds_up_to();
        let mut numbers = Vec::with_capacity(self.features.len() * bins.len());
        for features in self.features.chunks(FEATURES) {
            let pass = Pass::Ranges {
                features: Some(features),
                at,
            };
            let counts = room.records.fold(&pass, room.state, room.watch)?.0;
            for counts in counts.chunks_exact(at.len()) {
                let mut start = 0;
                for &end in &bins {
                    numbers.push(counts[start..end].iter().sum());
                    start = end;
                }
            }
        }
        self.sum.add(&self.sum.floored(numbers), 1.0, room.source)
    }
}

use super::ranges::{FEATURES, grid};
use super::{Answer, Room};
use crate::error::Result;
use crate::privacy::records::{Pass, States};
use crate::question::Histograms;
use crate::question::histograms::STRIDE;

impl Answer for Histograms {
    type At<'a> = ();
    /// One noisy number a bin, feature by feature, all in one unit.
    type Released = Vec<i64>;
    type State = States;

    fn draw(&self, (): (), room: Room<'_, '_, States>) -> Result<Vec<i64>> {
        let bins = self.bins.thresholds();
        let mut numbers = Vec::new();
        let mut add = |counts: &[i64]| {
            numbers.extend((bins.iter()).map(|bin| counts[bin.clone()].iter().sum::<i64>()));
        };
        let at = grid(STRIDE);
        for features in self.features.chunks(FEATURES) {
            let pass = Pass::Ranges {
                features: Some(features),
                at,
            };
            let counts = room.records.fold(&pass, room.state, room.watch)?.0;
            counts.chunks_exact(at.len()).for_each(&mut add);
        }
        self.sum.add(&self.sum.floored(numbers), 1.0, room.source)
    }
}

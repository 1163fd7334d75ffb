use super::{Answer, Room};
use crate::error::Result;
use crate::privacy::records::{Pass, States};
use crate::question::{FeatureMap, TypicalNorm};
use crate::schema::Schema;

/// Candidates are the largest norm times 2^(-k/PER_OCTAVE) for k from 0 to PER_OCTAVE * OCTAVES.
const PER_OCTAVE: usize = 4;
const OCTAVES: usize = 7;

impl Answer for TypicalNorm {
    /// The public map whose images have the norms.
    type At<'a> = &'a FeatureMap;
    /// The norm, positive, in scaled units.
    type Released = f64;
    type State = States;

    fn check(&self, map: &&FeatureMap, schema: &Schema) -> Result<()> {
        map.check(schema)
    }

    fn draw(&self, map: &FeatureMap, room: Room<'_, '_, States>) -> Result<f64> {
        let largest = map.largest_norm(room.records.statement().schema());
        let candidates: Vec<f64> = (0..=PER_OCTAVE * OCTAVES)
            .rev()
            .map(|k| largest * 2f64.powf(-(k as f64) / PER_OCTAVE as f64))
            .collect();
        let pass = Pass::Norms {
            map,
            candidates: &candidates,
        };
        let counts = room.records.fold(&pass, room.state, room.watch)?.0;
        Ok(candidates[self.0.choose(counts, room.source)?])
    }
}

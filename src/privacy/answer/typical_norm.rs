use super::quantile::geometric;
use super::{Answer, Room};
use crate::error::Result;
use crate::privacy::records::{Pass, States};
use crate::question::{FeatureMap, TypicalNorm};
use crate::schema::Schema;

/// Candidates are the largest norm times 2^(-k/PER_OCTAVE) for k from 0 to PER_OCTAVE * OCTAVES.
const PER_OCTAVE: usize = 4;
const OCTAVES: usize = 7;
/// Rows no longer than this share of the largest norm are zero: each entry of such a row is half a unit of the lattice
/// at most, by rounding.
const ZERO: f64 = 1.0 / 8192.0;

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
        let norms = geometric(largest, PER_OCTAVE, OCTAVES);
        let candidates: Vec<f64> = [largest * ZERO].into_iter().chain(norms).collect();
        let pass = Pass::Norms {
            map,
            candidates: &candidates,
        };
        let mut counts = room.records.fold(&pass, room.state, room.watch)?.0;
        // A row of zeros has no length that could be typical.
        counts.remove(0);
        Ok(candidates[1 + self.0.choose(counts, room.source)])
    }
}

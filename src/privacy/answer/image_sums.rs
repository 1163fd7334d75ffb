use super::{Answer, Room};
use crate::error::Result;
use crate::privacy::records::{Pass, States};
use crate::question::{FeatureMap, ImageSums};
use crate::schema::Schema;

impl Answer for ImageSums {
    /// The public map of the images.
    type At<'a> = &'a FeatureMap;
    /// One noisy sum a feature, all in one unit.
    type Released = Vec<i64>;
    type State = States;

    fn check(&self, map: &&FeatureMap, schema: &Schema) -> Result<()> {
        map.check(schema)
    }

    fn draw(&self, map: &FeatureMap, room: Room<'_, '_, States>) -> Result<Vec<i64>> {
        let pass = Pass::Images {
            map,
            row_norm: self.row_norm,
        };
        let sums = room.records.fold(&pass, room.state, room.watch)?.0;
        self.sum.add(&self.sum.floored(sums), 1.0, room.source)
    }
}

use super::{Answer, Room};
use crate::error::Result;
use crate::privacy::records::{Pass, States};
use crate::question::Moments;

impl Answer for Moments {
    type At<'a> = ();
    /// The symmetric matrix in scaled units, row by row.
    type Released = Vec<f64>;
    type State = States;

    fn takes_fewer_features(&self) -> bool {
        true
    }

    fn draw(&self, (): (), room: Room<'_, '_, States>) -> Result<Vec<f64>> {
        let d = room.records.n_columns();
        let sums = room.records.fold(&Pass::Moments, room.state, room.watch)?.0;
        let sums = self.sum.floored(sums);
        let (mut diagonal, mut above) = (Vec::with_capacity(d), Vec::with_capacity(sums.len()));
        let mut row = sums.as_slice();
        for j in 0..d {
            let (own, rest) = row.split_at(d - j);
            diagonal.push(own[0]);
            above.extend_from_slice(&own[1..]);
            row = rest;
        }
        let above = self.sum.add(&above, 1.0, room.source)?;
        let diagonal = self.sum.add(&diagonal, Self::on_diagonal(), room.source)?;
        // Post-processing from here on.
        let mut matrix = vec![0.0; d * d];
        let mut above = above.into_iter();
        for (j, &entry) in diagonal.iter().enumerate() {
            matrix[j * d + j] = entry as f64 * self.unit();
            for (k, entry) in (j + 1..d).zip(above.by_ref()) {
                let entry = entry as f64 * self.unit();
                (matrix[j * d + k], matrix[k * d + j]) = (entry, entry);
            }
        }
        Ok(matrix)
    }
}

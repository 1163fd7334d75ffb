use super::{Answer, Room};
use crate::error::Result;
use crate::privacy::records::States;
use crate::question::{Gradient, ScoreSlope};
use crate::schema::Schema;

impl Answer for ScoreSlope {
    /// Coefficients in scaled units, public: for each output the features, then the intercept.
    type At<'a> = &'a [f64];
    /// The sum over the outputs of the derivatives along the coefficient of each for the feature of the same number.
    type Released = f64;
    type State = States;

    fn check(&self, theta: &&[f64], schema: &Schema) -> Result<()> {
        self.gradient.check(theta, schema)
    }

    fn draw(&self, theta: &[f64], room: Room<'_, '_, States>) -> Result<f64> {
        let Gradient { sum, .. } = &self.gradient;
        let columns = room.records.n_columns();
        let gradient = self
            .gradient
            .sums(theta, room.records, (room.state, room.watch))?;
        // One entry an output. Of softmax models they are, partial sums too, at most 2^31 records times |d|_1 2^14,
        // with |d|_1 <= 2^15.
        let along = gradient.iter().step_by(columns + 1).sum();
        let noisy = sum.add(&sum.floored(vec![along]), 1.0, room.source)?;
        Ok(noisy[0] as f64 * self.gradient.unit())
    }
}

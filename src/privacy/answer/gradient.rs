use super::{Answer, Room};
use crate::error::{Error, Result};
use crate::privacy::records::{Move, Pass, Records, States, Watch};
use crate::question::{Gradient, lattice_directions};
use crate::schema::Schema;

impl Answer for Gradient {
    /// Coefficients in scaled units, public: for each output the features, then the intercept.
    type At<'a> = &'a [f64];
    /// The gradient of sum_i l(<theta, x_i>; y_i), in the same order.
    type Released = Vec<f64>;
    type State = States;

    fn takes_fewer_features(&self) -> bool {
        true
    }

    fn check(&self, theta: &&[f64], schema: &Schema) -> Result<()> {
        if theta.len() != schema.n_columns() * self.model.outputs()
            || !theta.iter().all(|t| t.is_finite())
        {
            return Err(Error::invalid(
                "theta",
                "must have one finite entry per column, the intercept included",
            ));
        }
        Ok(())
    }

    fn draw(&self, theta: &[f64], room: Room<'_, '_, States>) -> Result<Vec<f64>> {
        let sums = self.sums(theta, room.records, (room.state, room.watch))?;
        let noisy = self.sum.add(&self.sum.floored(sums), 1.0, room.source)?;
        let unit = self.unit();
        Ok(noisy.iter().map(|&entry| entry as f64 * unit).collect())
    }
}

impl Gradient {
    /// The integer sums at theta, without noise.
    pub(super) fn sums(
        &self,
        theta: &[f64],
        records: &dyn Records,
        (states, watch): (&mut States, Watch<'_>),
    ) -> Result<Vec<i64>> {
        let columns = records.n_columns();
        let (directions, unit) = match self.model.differences(theta, columns) {
            Some(differences) => lattice_directions(&differences, columns),
            None => lattice_directions(theta, columns),
        };
        let moves: Vec<Move<'_>> = (directions.iter().enumerate())
            .map(|(output, direction)| Move {
                output,
                direction,
                weight: 1,
            })
            .collect();
        let pass = Pass::Gradient {
            model: &self.model,
            moves: &moves,
            fresh: true,
            unit,
        };
        Ok(records.fold(&pass, states, watch)?.0)
    }
}

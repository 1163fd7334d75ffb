use super::{Answer, Room};
use crate::error::{Error, Result};
use crate::numeric::kernel::MAX_FEATURE;
use crate::privacy::records::{Move, Pass, Records, States};
use crate::question::Gradient;

impl Answer for Gradient {
    /// Coefficients in scaled units, public: for each output the features, then the intercept.
    type At<'a> = &'a [f64];
    /// The gradient of sum_i l(<theta, x_i>; y_i), in the same order.
    type Released = Vec<f64>;
    type State = States;

    fn check(&self, theta: &&[f64], columns: usize) -> Result<()> {
        if theta.len() != columns * self.model.outputs() || !theta.iter().all(|t| t.is_finite()) {
            return Err(Error::invalid(
                "theta",
                "must have one finite entry per column, the intercept included",
            ));
        }
        Ok(())
    }

    fn state(&self, _: &dyn Records) -> Result<States> {
        Ok(States::default())
    }

    fn draw(&self, theta: &[f64], room: Room<'_, '_, States>) -> Result<Vec<f64>> {
        let (directions, unit) = lattice_directions(theta, room.records.n_columns());
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
        let sums = room.records.fold(&pass, room.state, room.watch)?.0;
        let noisy = self.sum.add(&self.sum.floored(sums), 1.0, room.source)?;
        let unit = self.unit();
        Ok(noisy.iter().map(|&entry| entry as f64 * unit).collect())
    }
}

/// theta on a public lattice of at least 2^-16 of its largest entry, as fine as exact margins allow, one direction an
/// output, and the unit of a margin.
///
/// No overflow: an entry is at most 2^30 and the sum of their sizes at most 2^46, so |margin| <= 2^60; sparse columns
/// add at most three such terms.
fn lattice_directions(theta: &[f64], columns: usize) -> (Vec<Vec<(u32, i64)>>, f64) {
    let largest = theta.iter().fold(0.0f64, |m, t| m.max(t.abs()));
    let bits = 30.min(45 - (usize::BITS - columns.leading_zeros()) as i32);
    // |theta_j| <= 2^exponent, so entries are at most 2^bits.
    let exponent = largest.max(1e-290).log2().floor() as i32 + 1;
    let scale = 2f64.powi(bits - exponent);
    let direction = |theta: &[f64]| {
        let entries = theta.iter().map(|t| (t * scale).round() as i64);
        (0..)
            .zip(entries)
            .filter(|&(_, entry)| entry != 0)
            .collect()
    };
    let directions = theta.chunks(columns).map(direction).collect();
    (directions, 1.0 / (scale * f64::from(MAX_FEATURE)))
}

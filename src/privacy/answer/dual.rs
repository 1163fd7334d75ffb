use super::{Answer, Room};
use crate::error::{Error, Result};
use crate::exact::selection::LARGEST_SCORE;
use crate::numeric::linear::norm2;
use crate::privacy::minimiser::Start;
use crate::question::{DualPath, DualPoint, DualVertex};
use crate::schema::Schema;

impl DualPath {
    fn check(&self, s: &[f64], columns: usize) -> Result<()> {
        // A NaN or an infinite entry has no norm below the bound.
        if s.len() != columns || s.iter().any(|s| !s.is_finite()) {
            return Err(Error::invalid(
                "s",
                "must have one finite entry per column, the intercept included",
            ));
        }
        if norm2(s) > self.reach {
            return Err(Error::invalid(
                "s",
                "is longer than the plan's public bound",
            ));
        }
        Ok(())
    }

    fn minimise<'s>(&self, s: &[f64], room: &'s mut Room<'_, '_, Start>) -> Result<&'s [f64]> {
        let reach = self.reach;
        (self.minimiser).minimise(room.records, s, reach, room.state, room.watch)?;
        Ok(&room.state.theta)
    }

    /// Where a minimisation starts decides its last bits and its time, no more: only a seeded release, which is to be
    /// repeated bit for bit, takes all of them again.
    fn retrace(&self, s: &[f64], mut room: Room<'_, '_, Start>) -> Result<()> {
        if room.source.is_secure() {
            return Ok(());
        }
        self.minimise(s, &mut room).map(drop)
    }
}

impl Answer for DualPoint {
    /// s in scaled units, 0 for the intercept.
    type At<'a> = &'a [f64];
    /// theta(s) in scaled units, the intercept last.
    type Released = Vec<f64>;
    type State = Start;

    fn check(&self, s: &&[f64], schema: &Schema) -> Result<()> {
        self.path.check(s, schema.n_columns())
    }

    fn draw(&self, s: &[f64], mut room: Room<'_, '_, Start>) -> Result<Vec<f64>> {
        self.path.minimise(s, &mut room)?;
        self.noise.release(&room.state.theta, room.source)
    }

    fn replay(&self, s: &[f64], _: &Vec<f64>, room: Room<'_, '_, Start>) -> Result<()> {
        self.path.retrace(s, room)
    }
}

impl Answer for DualVertex {
    /// s in scaled units, 0 for the intercept.
    type At<'a> = &'a [f64];
    /// The vertex, one entry a feature.
    type Released = Vec<f64>;
    type State = Start;

    fn check(&self, s: &&[f64], schema: &Schema) -> Result<()> {
        self.path.check(s, schema.n_columns())
    }

    fn draw(&self, s: &[f64], mut room: Room<'_, '_, Start>) -> Result<Vec<f64>> {
        let p = room.records.statement().schema().n_features();
        let theta = self.path.minimise(s, &mut room)?;
        // Half a unit of rounding an entry, on either side; the clamp does not expand.
        let score = |t: &f64| {
            let units = (t / self.lattice).round() as i64;
            units.clamp(-LARGEST_SCORE, LARGEST_SCORE)
        };
        let scores: Vec<i64> = theta[..p].iter().map(score).collect();
        let mut vertex = vec![0.0; p];
        (self.selection).draw(&scores, room.source, &mut vertex)?;
        Ok(vertex)
    }

    fn replay(&self, s: &[f64], _: &Vec<f64>, room: Room<'_, '_, Start>) -> Result<()> {
        self.path.retrace(s, room)
    }
}

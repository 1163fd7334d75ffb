use super::entropic_minimum::Objective;
use super::{Answer, Room};
use crate::error::Result;
use crate::exact::selection::{ExponentialMechanism, InverseTemperature};
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::records::Watch;
use crate::question::{Softmax, SoftmaxDraws};

impl Softmax {
    /// The integer scores of these records: 2^bits (s - min s)/lambda, rounded.
    pub(in crate::privacy) fn scores(
        &self,
        data: &BoundedData,
        watch: Watch<'_>,
    ) -> Result<Vec<i64>> {
        let scores = Objective::new(data, self).minimise(self, watch)?;
        let least = scores.iter().fold(f64::INFINITY, |a, &b| a.min(b));
        let scale = 2f64.powi(self.bits() as i32);
        let lattice = |s: &f64| ((s - least) / self.regularisation() * scale).round() as i64;
        Ok(scores.iter().map(lattice).collect())
    }
}

impl Answer for SoftmaxDraws {
    type At<'a> = ();
    /// How often each vertex was drawn.
    type Released = Vec<u64>;
    type State = ();

    fn draw(&self, (): (), room: Room<'_, '_, ()>) -> Result<Vec<u64>> {
        let data = room.records.whole()?;
        let scores = self.softmax.scores(data, room.watch)?;
        // eta is epsilon0/(2 sensitivity): 2^-bits, exactly.
        let temperature = InverseTemperature::new(2f64.powi(1 - self.softmax.bits() as i32), 1)?;
        let mechanism = ExponentialMechanism::new(&scores, &temperature, Vec::new())?;
        let mechanism = mechanism.for_many_draws();
        let mut counts = vec![0; scores.len()];
        for _ in 0..self.count {
            room.source.renew_after_fork()?;
            counts[mechanism.draw(room.source)] += 1;
            (room.watch)()?;
        }
        Ok(counts)
    }
}

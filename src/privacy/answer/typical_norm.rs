//! A quantile of the Euclidean norms of rows.

use std::sync::Arc;

use super::quantile::{accumulate, quantile_scores};
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::selection::{ExponentialMechanism, InverseTemperature};
use crate::privacy::feature_map::FeatureMap;
use crate::privacy::question::{Answer, Question, Room};
use crate::privacy::records::{Pass, Records, States};
use crate::privacy::statement::Statement;

/// Candidates are the largest norm times 2^(-k/PER_OCTAVE) for k from 0 to PER_OCTAVE * OCTAVES.
const PER_OCTAVE: usize = 4;
const OCTAVES: usize = 7;

/// A quantile of the Euclidean norms of rows, by the exponential mechanism on a geometric grid (Smith 2011) below the
/// largest norm that a public map allows.
///
/// Scores are those of `quantile_scores`, k = round(q n) is public. **Sensitivity**: a record moves #{i: |x_i| <= t} by
/// at most 1, m of them by m. One bounded-range event.
#[derive(Debug, Clone)]
pub struct TypicalNorm {
    temperature: InverseTemperature,
    rank: i64,
}

impl Statement {
    /// One choice of bounded range `epsilon0`, of the `level` quantile.
    ///
    /// # Errors
    /// A level outside (0, 1), and an epsilon0 that the exact sampler does not take.
    pub fn typical_norm(
        self: &Arc<Self>,
        epsilon0: f64,
        level: f64,
    ) -> Result<Question<TypicalNorm>> {
        if !(level > 0.0 && level < 1.0) {
            let problem = "needs a quantile between zero and one";
            return Err(Error::invalid("scale", problem));
        }
        let norm = TypicalNorm {
            temperature: InverseTemperature::new(epsilon0, self.records_per_person())?,
            rank: (level * self.n_samples() as f64).round() as i64,
        };
        let events = vec![(Event::exponential(epsilon0)?, 1)];
        Ok(Question::new(self, norm, events))
    }
}

impl Answer for TypicalNorm {
    /// The public map whose images have the norms.
    type At<'a> = &'a FeatureMap;
    /// The norm, positive, in scaled units.
    type Released = f64;
    type State = States;

    fn check(&self, map: &&FeatureMap, columns: usize) -> Result<()> {
        if map.n_features() > columns {
            return Err(Error::invalid(
                "map",
                "must have the features of the records",
            ));
        }
        Ok(())
    }

    fn state(&self, _: &dyn Records) -> Result<States> {
        Ok(States::default())
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
        let mut counts = room.records.fold(&pass, room.state, room.watch)?.0;
        accumulate(&mut counts);
        let mut scores = Vec::with_capacity(counts.len());
        quantile_scores(&counts, self.rank, &mut scores);
        let mechanism = ExponentialMechanism::new(&scores, &self.temperature, Vec::new())?;
        Ok(candidates[mechanism.draw(room.source)])
    }
}

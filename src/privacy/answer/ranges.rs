use super::quantile::{accumulate, quantile_scores};
use super::{Answer, Room};
use crate::error::Result;
use crate::exact::selection::ExponentialMechanism;
use crate::numeric::kernel::MAX_FEATURE;
use crate::privacy::counts::Thresholds;
use crate::privacy::records::{Pass, States};
use crate::question::{Ranges, RangesOf};

/// Candidates of all features together: beyond, the grid of thresholds gets coarser.
const MOST_CANDIDATES: usize = 1 << 26;

/// Features that are counted at once.
const FEATURES: usize = 64;

impl RangesOf {
    /// Some features at a time: counts of all of them at once would fill memory.
    fn counted_together(&self) -> Vec<Option<&[u32]>> {
        match self {
            RangesOf::Each(features) => features.chunks(FEATURES).map(Some).collect(),
            RangesOf::Together(_) => vec![None],
        }
    }
}

impl Answer for Ranges {
    type At<'a> = ();
    /// (low, high) of each range, low <= high, in scaled units.
    type Released = Vec<(f64, f64)>;
    type State = States;

    fn draw(&self, (): (), room: Room<'_, '_, States>) -> Result<Vec<(f64, f64)>> {
        let limit = i64::from(MAX_FEATURE);
        let stride = (2 * limit as usize * self.of.len())
            .div_ceil(MOST_CANDIDATES)
            .max(1) as i64;
        let at = Thresholds { limit, stride };
        let (mut scores, mut storage) = (Vec::new(), Vec::new());
        let mut ranges = Vec::with_capacity(self.of.len());
        for features in self.of.counted_together() {
            let pass = Pass::Ranges { features, at };
            let mut counts = room.records.fold(&pass, room.state, room.watch)?.0;
            for counts in counts.chunks_mut(at.len()) {
                accumulate(counts);
                let mut choose = |rank: i64| -> Result<f64> {
                    quantile_scores(counts, rank, &mut scores);
                    let storage_before = std::mem::take(&mut storage);
                    let mechanism =
                        ExponentialMechanism::new(&scores, &self.temperature, storage_before)?;
                    let choice = mechanism.draw(room.source);
                    storage = mechanism.into_storage();
                    Ok(at.at(choice) as f64 / f64::from(MAX_FEATURE))
                };
                let (a, b) = (choose(self.ranks.0)?, choose(self.ranks.1)?);
                ranges.push((a.min(b), a.max(b)));
            }
        }
        Ok(ranges)
    }
}

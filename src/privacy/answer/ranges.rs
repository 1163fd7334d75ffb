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

/// Bits of a lattice value.
const LATTICE_BITS: u32 = 15;

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
        let at = grid(self.bits, self.of.len());
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
                    let most = i64::from(MAX_FEATURE);
                    Ok(at.at(choice).clamp(-most, most) as f64 / f64::from(MAX_FEATURE))
                };
                let (a, b) = (choose(self.ranks.0)?, choose(self.ranks.1)?);
                ranges.push((a.min(b), a.max(b)));
            }
        }
        Ok(ranges)
    }
}

/// At most 2^bits + 1 thresholds a range, a power of two apart, the first and last at the ends of the lattice or the one
/// step beyond that makes them even: no value is above all of them.
fn grid(bits: u32, ranges: usize) -> Thresholds {
    let most = i64::from(MAX_FEATURE);
    let spare = (2 * most as usize * ranges).div_ceil(MOST_CANDIDATES);
    let stride = (1 << (LATTICE_BITS - bits)).max(spare.next_power_of_two() as i64);
    Thresholds {
        limit: (most + stride - 1) / stride * stride,
        stride,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_reach_both_ends() {
        for (bits, ranges) in [(5, 1), (9, 3), (15, 1), (15, 3000), (15, 1 << 16)] {
            let at = grid(bits, ranges);
            let most = i64::from(MAX_FEATURE);
            assert_eq!(at.limit, most + i64::from(at.stride > 1), "{at:?}");
            assert_eq!(at.at(at.len() - 1), at.limit);
            assert!(at.len() <= (1 << bits) + 1 && at.len() * ranges <= MOST_CANDIDATES + ranges);
        }
    }
}

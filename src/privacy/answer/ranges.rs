use rayon::prelude::*;

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
const FEATURES: usize = 8;

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
        let most = i64::from(MAX_FEATURE);
        let released = |choice: usize| at.at(choice).clamp(-most, most) as f64 / most as f64;
        let (mut scores, mut storages) = (Vec::new(), Vec::new());
        let mut ranges = Vec::with_capacity(self.of.len());
        for features in self.of.counted_together() {
            let pass = Pass::Ranges { features, at };
            let mut counts = room.records.fold(&pass, room.state, room.watch)?.0;
            scores.resize(2 * counts.len(), 0);
            storages.resize_with(counts.len() / at.len(), <[Vec<u8>; 2]>::default);
            // All threads prepare what is drawn, in order, by this one.
            let prepared = (scores.par_chunks_mut(2 * at.len()))
                .zip(counts.par_chunks_mut(at.len()))
                .zip(storages)
                .map(|((scores, counts), [one, other])| {
                    accumulate(counts);
                    let (lower, upper) = scores.split_at_mut(at.len());
                    quantile_scores(counts, self.ranks.0, lower);
                    quantile_scores(counts, self.ranks.1, upper);
                    let eta = &self.temperature;
                    let lower = ExponentialMechanism::new(lower, eta, one)?;
                    Ok([lower, ExponentialMechanism::new(upper, eta, other)?])
                })
                .collect::<Result<Vec<_>>>()?;
            for ends in &prepared {
                let [a, b] = ends.each_ref().map(|end| released(end.draw(room.source)));
                ranges.push((a.min(b), a.max(b)));
            }
            let used = prepared.into_iter();
            storages = used
                .map(|ends| ends.map(ExponentialMechanism::into_storage))
                .collect();
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

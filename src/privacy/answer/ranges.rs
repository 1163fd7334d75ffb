use super::quantile::accumulate;
use super::{Answer, Room};
use crate::error::Result;
use crate::numeric::kernel::MAX_FEATURE;
use crate::privacy::counts::Thresholds;
use crate::privacy::records::{Pass, States};
use crate::question::{Ranges, RangesOf};

/// Features that are counted at once.
pub(super) const FEATURES: usize = 8;

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
        let at = grid(self.stride);
        let mut ranges = Vec::with_capacity(self.of.len());
        for features in self.of.counted_together() {
            let pass = Pass::Ranges { features, at };
            let mut counts = room.records.fold(&pass, room.state, room.watch)?.0;
            // One after the other: those of a feature stay in the second-level cache for both of its choices.
            for up_to in counts.chunks_mut(at.len()) {
                accumulate(up_to);
                let [lower, upper] = &self.quantiles;
                let [a, b] = [lower, upper]
                    .map(|quantile| value_at(at, quantile.among(up_to).draw(room.source)));
                ranges.push((a.min(b), a.max(b)));
            }
        }
        Ok(ranges)
    }
}

/// The middle of the lattice values that are counted at a threshold, in scaled units.
fn value_at(at: Thresholds, choice: usize) -> f64 {
    let most = i64::from(MAX_FEATURE);
    let last = at.at(choice);
    let ends = [last - at.stride + 1, last].map(|x| x.clamp(-most, most));
    (ends[0] + ends[1]) as f64 / (2 * most) as f64
}

/// Thresholds so far apart, the first and last at the ends of the lattice or the one step beyond that makes them even:
/// no value is above all of them.
pub(super) fn grid(stride: i64) -> Thresholds {
    let most = i64::from(MAX_FEATURE);
    Thresholds {
        limit: (most + stride - 1) / stride * stride,
        stride,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::Bins;
    use crate::question::histograms::STRIDE;
    use crate::question::ranges::{MOST_CANDIDATES, stride};

    /// What is released for a value is within the resolution of it, on coarse grids too, and on either side alike.
    #[test]
    fn thresholds_stand_for_the_values_counted_there() {
        let most = i64::from(MAX_FEATURE);
        for bits in [5, 9, 15] {
            let at = grid(stride(bits, 1));
            let resolution = 0.5 * at.stride as f64 / most as f64;
            let released =
                |x: i64| value_at(at, ((x + at.limit + at.stride - 1) / at.stride) as usize);
            for x in [-most, -9000, -5, 1, 17, 5000, 9001, most] {
                assert!((released(x) - x as f64 / most as f64).abs() < resolution);
                if x % at.stride != 0 {
                    assert!((released(x) + released(-x)).abs() < 2.0 / most as f64);
                }
            }
            for choice in [0, at.len() - 1] {
                assert!(value_at(at, choice).abs() <= 1.0);
            }
        }
    }

    /// All values of the lattice are in a bin of each kind, and the thresholds of bins are those of the grid.
    #[test]
    fn bins_of_histograms_are_made_of_thresholds() {
        let (at, both) = (grid(STRIDE), Bins::FineAndWide);
        let bins = both.thresholds();
        assert!(bins.starts_with(&Bins::Fine.thresholds()));
        let kinds = bins.iter().filter(|bin| bin.start == 0).count();
        assert_eq!(kinds, 2);
        for pair in bins.windows(2) {
            let next = if pair[1].start == 0 {
                at.len()
            } else {
                pair[1].start
            };
            assert!(pair[0].end == next && !pair[0].is_empty());
        }
        assert_eq!(bins.last().unwrap().end, at.len());
        let most = f64::from(MAX_FEATURE);
        for (bin, (low, high)) in bins.iter().zip(both.ends()) {
            assert_eq!(at.at(bin.end - 1) as f64 / most, high);
            match bin.start {
                0 => assert!(low < -1.0),
                start => assert_eq!(at.at(start - 1) as f64 / most, low),
            }
        }
    }

    #[test]
    fn grids_reach_both_ends() {
        for (bits, ranges) in [(5, 1), (9, 3), (15, 1), (15, 3000), (15, 1 << 16)] {
            let at = grid(stride(bits, ranges));
            let most = i64::from(MAX_FEATURE);
            assert_eq!(at.limit, most + i64::from(at.stride > 1), "{at:?}");
            assert_eq!(at.at(at.len() - 1), at.limit);
            assert!(at.len() <= (1 << bits) + 1 && at.len() * ranges <= MOST_CANDIDATES + ranges);
        }
    }
}

//! Uniform points below a histogram of integer heights, exactly (Walker's alias method in integers).

use num_bigint::BigUint;

use super::source::Source;
use crate::numeric::enclosure::{Interval, PROBABILITY_BITS};

/// The tail cell weighs as much as TAIL strips of its height: see [`super::strips`].
const TAIL: u64 = 64;

/// A histogram over strips of equal width and one tail cell, the last, whose areas sum to 2^64 units.
///
/// A unit is one strip wide and 1/scale high. The 2^64 units are dealt out to 2^a columns of 2^(64-a) units: column
/// c holds the lowest units of cell c up to `threshold`, then units of the cell `alias`. So one word chooses a
/// column by its leading bits and a unit in it by the others, every unit of the histogram by exactly one word.
pub(super) struct Histogram {
    columns: Vec<Column>,
    /// Heights below which all of a strip lies under the density.
    inside: Vec<u64>,
    shift: u32,
    scale: u64,
    tail_height: u64,
}

struct Column {
    threshold: u64,
    /// Height of the alias's unit less the coin that stands for it (modulo 2^64).
    lift: u64,
    alias: u32,
}

/// A unit of the histogram: the real height, times the scale, lies in [height, height + 1).
pub(super) struct Unit {
    pub cell: usize,
    pub height: u64,
    pub inside: bool,
}

impl Histogram {
    /// `bounds` enclose the density, at most one, at the near (`hi`) and the far end (`lo`) of every strip, and
    /// `tail` bounds it at the beginning of the tail, in units of 2^-63; strips and tail are a power of two.
    ///
    /// No overflow: a bound is at most 2^63 and their weighted sum at most (n + 64) 2^63, scale < 2^64. A height is
    /// at most bound * scale / 2^63 + 1, so the areas sum to 2^64 - 1024 + n + 64 <= 2^64 at most, as n < 960. What is
    /// missing is given to the last strip: heights above the density are always right.
    pub fn new(bounds: &[Interval], tail: u64) -> Self {
        let n = bounds.len();
        assert!(n < 960 && (n + 1).is_power_of_two() && bounds[0].hi == 1 << PROBABILITY_BITS);
        let sum: u128 = bounds.iter().map(|bound| u128::from(bound.hi)).sum();
        let sum = sum + u128::from(TAIL) * u128::from(tail);
        let scale = (((1u128 << 64) - 1024) << PROBABILITY_BITS) / sum;
        let times_scale = |bound: u64| ((u128::from(bound) * scale) >> PROBABILITY_BITS) as u64;
        let tail_height = times_scale(tail) + 1;

        let mut areas: Vec<u64> = bounds
            .iter()
            .map(|bound| times_scale(bound.hi) + 1)
            .collect();
        areas.push(TAIL * tail_height);
        let total: u128 = areas.iter().map(|&area| u128::from(area)).sum();
        areas[n - 1] += ((1u128 << 64) - total) as u64;
        let mut inside: Vec<u64> = bounds.iter().map(|bound| times_scale(bound.lo)).collect();
        inside.push(0);
        Self {
            columns: deal(areas),
            inside,
            shift: 64 - (n + 1).trailing_zeros(),
            scale: scale as u64,
            tail_height,
        }
    }

    /// How many strips there are; the number of the tail cell.
    pub fn strips(&self) -> usize {
        self.columns.len() - 1
    }

    /// The unit that a word stands for.
    #[inline(always)]
    pub fn unit(&self, word: u64) -> Unit {
        let number = (word >> self.shift) as usize;
        let coin = word & ((1 << self.shift) - 1);
        let column = &self.columns[number];
        let own = coin < column.threshold;
        let cell = if own { number } else { column.alias as usize };
        let height = if own {
            coin
        } else {
            coin.wrapping_add(column.lift)
        };
        Unit {
            cell,
            height,
            inside: height < self.inside[cell],
        }
    }

    /// A uniform height of the tail.
    pub fn tail_height(&self, source: &mut Source) -> u64 {
        source.below(self.tail_height.into()) as u64
    }

    /// Whether a real uniform on [height, height + 1) lies below scale * f, exactly: `fast` encloses f in units of
    /// 2^-63, `refine(source, bits)` in units of 2^-bits, narrower and narrower.
    ///
    /// The digits drawn so far say that the real lies between h and h + 1 units of 2^-b. If h + 1 is at most
    /// 2^b scale f, it is below; if h is at least that, it is not; otherwise more digits and a narrower enclosure
    /// are taken. Both shrink with every digit.
    ///
    /// **Rounds:** fewer than 2 are expected. After b digits the real is one of 2^b equally likely values in its unit,
    /// and those undecided are next to an enclosure of fewer than 2^10 units of 2^-(b + 64), scaled by less than 2^64,
    /// or, on the reals, of the fall of the density over one unit of t's digits, which shrink alike: a share below
    /// 2^-50 at b = 64, and smaller by 2^-64 in each further round.
    pub fn below(
        &self,
        height: u64,
        fast: Interval,
        source: &mut Source,
        mut refine: impl FnMut(&mut Source, u64) -> (BigUint, BigUint),
    ) -> bool {
        let scale = u128::from(self.scale);
        if (u128::from(height) + 1) << PROBABILITY_BITS <= u128::from(fast.lo) * scale {
            return true;
        }
        if u128::from(height) << PROBABILITY_BITS >= u128::from(fast.hi) * scale {
            return false;
        }
        let mut digits = BigUint::from(height);
        let mut bits = 0;
        loop {
            digits = (digits << 64u32) + source.bits();
            bits += 64;
            let (lo, hi) = refine(source, bits + 64);
            if (&digits + 1u8) << 64u32 <= lo * self.scale {
                return true;
            }
            if &digits << 64u32 >= hi * self.scale {
                return false;
            }
        }
    }
}

/// Deals areas that sum to 2^64 out to as many columns of equal area: Vose's order, each small cell filled up with
/// the topmost units of a large one.
fn deal(mut left: Vec<u64>) -> Vec<Column> {
    let capacity = 1u64 << (64 - left.len().trailing_zeros());
    // A column that stays as it is holds nothing but its own cell.
    let mut columns: Vec<Column> = (0..left.len())
        .map(|cell| Column {
            threshold: capacity,
            lift: 0,
            alias: cell as u32,
        })
        .collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..left.len()).partition(|&cell| left[cell] < capacity);
    while let (Some(cell), Some(&donor)) = (small.pop(), large.last()) {
        left[donor] -= capacity - left[cell];
        columns[cell] = Column {
            threshold: left[cell],
            lift: left[donor].wrapping_sub(left[cell]),
            alias: donor as u32,
        };
        if left[donor] < capacity {
            large.pop();
            small.push(donor);
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The words that stand for the units of each cell must tile [0, area) without gap or overlap.
    fn tiles(columns: &[Column]) -> Vec<Vec<(u64, u64)>> {
        let capacity = 1u64 << (64 - columns.len().trailing_zeros());
        let mut tiles = vec![Vec::new(); columns.len()];
        for (cell, column) in columns.iter().enumerate() {
            tiles[cell].push((0, column.threshold));
            let from = column.threshold.wrapping_add(column.lift);
            tiles[column.alias as usize].push((from, from + (capacity - column.threshold)));
        }
        for list in &mut tiles {
            list.retain(|&(from, to)| from < to);
            list.sort_unstable();
        }
        tiles
    }

    fn check(areas: &[u64]) {
        let tiles = tiles(&deal(areas.to_vec()));
        for (list, &area) in tiles.iter().zip(areas) {
            let mut end = 0;
            for &(from, to) in list {
                assert_eq!(from, end);
                end = to;
            }
            assert_eq!(end, area);
        }
    }

    proptest! {
        #[test]
        fn every_unit_belongs_to_one_word(weights in proptest::collection::vec(0u64..1 << 40, 32), powers in proptest::collection::vec(0u32..40, 32)) {
            let weights: Vec<u128> = weights.iter().zip(powers).map(|(&weight, power)| u128::from(weight >> power) + 1).collect();
            let sum: u128 = weights.iter().sum();
            let mut areas: Vec<u64> = weights.iter().map(|weight| ((weight << 64) / sum) as u64).collect();
            let total: u128 = areas.iter().map(|&area| u128::from(area)).sum();
            areas[5] += ((1u128 << 64) - total) as u64;
            check(&areas);
        }
    }

    #[test]
    fn extreme_areas() {
        check(&[0, u64::MAX - 5, 6, 0]);
        check(&[1 << 62; 4]);
        check(&[u64::MAX, 1]);
    }

    /// Small numbers, all words counted: the leading 12 bits of a word decide here.
    #[test]
    fn all_words_enumerated() {
        let areas: Vec<u64> = [1000u64, 700, 1, 2395]
            .iter()
            .map(|&area| area << 52)
            .collect();
        let histogram = Histogram {
            columns: deal(areas),
            inside: [400u64, 0, 1, 2395].map(|height| height << 52).to_vec(),
            shift: 62,
            scale: 1,
            tail_height: 1,
        };
        let (mut counts, mut inside) = ([0; 4], [0; 4]);
        for word in 0..1u64 << 12 {
            let unit = histogram.unit(word << 52);
            counts[unit.cell] += 1;
            inside[unit.cell] += u32::from(unit.inside);
        }
        assert_eq!(counts, [1000, 700, 1, 2395]);
        // The unit that the density cuts through is not inside.
        assert_eq!(inside, [400, 0, 1, 2395]);
    }

    #[test]
    fn refinement_is_exact() {
        // A useless fast enclosure: the law of the answer must stay that of a uniform height below 2.5.
        let at = |lo, hi| Interval { lo, hi };
        let half = 1 << 62;
        let histogram = Histogram::new(&[at(half, 2 * half)], half);
        let mut source = Source::seeded(2);
        let f = BigUint::from(5u8) << 200u32; // 2.5 / scale in units of 2^-bits, enclosed
        let hits = (0..20_000u64).filter(|trial| {
            histogram.below(trial % 4, at(0, 2 * half), &mut source, |_, bits| {
                let value = (&f << (bits - 1)) / (BigUint::from(histogram.scale) << 200u32);
                (value.clone(), value + 1u8)
            })
        });
        let z = (hits.count() as f64 - 12_500.0) / (5_000f64 * 0.25).sqrt();
        assert!(z.abs() < 4.9, "{z}"); // two-sided 1e-6
    }
}

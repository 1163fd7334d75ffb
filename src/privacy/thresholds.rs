//! Numbers of values between thresholds that are floats.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::column_sums::added;
use crate::numeric::pieces::fold_pieces;
use crate::numeric::search::first_index;

/// Fewest and most cells that thresholds are looked up in, where they are not evenly spaced.
const CELLS: (usize, usize) = (1 << 10, 1 << 16);

/// Ascending thresholds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FloatThresholds {
    /// All multiples of 2^-bits from -1 to 1; at most 30 bits.
    Even(u32),
    /// At least one.
    Listed(Vec<f64>),
}

impl FloatThresholds {
    /// How many there are, at least one.
    pub fn len(&self) -> usize {
        match self {
            Self::Even(bits) => (2 << bits) + 1,
            Self::Listed(thresholds) => thresholds.len(),
        }
    }

    /// The threshold of an index.
    #[inline(always)]
    pub fn at(&self, index: usize) -> f64 {
        match self {
            Self::Even(bits) => {
                let half = f64::from(1u32 << bits);
                // Exact: a power of two.
                (index as f64 - half) * half.recip()
            }
            Self::Listed(thresholds) => thresholds[index],
        }
    }
}

/// Thresholds with cells of equal width between the first and the last: hardly more than one lies in a cell, so that
/// few values are searched for.
struct Cells<'a> {
    thresholds: &'a FloatThresholds,
    /// The place of the first threshold that does not lie below a cell; None where each cell starts at its own.
    first: Option<Vec<u32>>,
    /// How many there are.
    cells: usize,
    /// Where the first cell starts.
    start: f64,
    /// Cells a unit.
    per_unit: f64,
}

impl<'a> Cells<'a> {
    fn new(thresholds: &'a FloatThresholds) -> Self {
        let last = thresholds.len() - 1;
        let (start, end) = (thresholds.at(0), thresholds.at(last));
        let (cells, first) = match thresholds {
            FloatThresholds::Even(_) => (last, None),
            FloatThresholds::Listed(thresholds) => {
                let cells = (2 * thresholds.len()).clamp(CELLS.0, CELLS.1);
                let width = (end - start) / cells as f64;
                let mut place = 0;
                let first = |cell: usize| {
                    while thresholds[place] < start + width * cell as f64 {
                        place += 1;
                    }
                    place as u32
                };
                (cells, Some((0..cells).map(first).collect()))
            }
        };
        Self {
            thresholds,
            first,
            cells,
            start,
            per_unit: cells as f64 / (end - start),
        }
    }

    /// The first threshold that is not below a value; as many as there are, where all are.
    fn place(&self, value: f64) -> usize {
        let (thresholds, len) = (self.thresholds, self.thresholds.len());
        let cell = ((value - self.start) * self.per_unit) as u32 as usize;
        let cell = cell.min(self.cells - 1);
        let first = (self.first.as_ref()).map_or(cell, |first| first[cell] as usize);
        let place = first + usize::from(thresholds.at(first) < value);
        // There may be more in the cell, and rounding may have led to the one beside.
        let above = place == 0 || thresholds.at(place - 1) < value;
        if above && (place == len || value <= thresholds.at(place)) {
            return place;
        }
        // What is no number belongs to the first.
        first_index(0..len, |k| {
            thresholds.at(k).partial_cmp(&value) != Some(Ordering::Less)
        })
    }
}

/// How many of these values, of `of`, belong to each threshold, the last of which no value exceeds but by rounding:
/// what does belongs to it.
pub(super) fn all_counts_at(
    thresholds: &FloatThresholds,
    values: &[f64],
    of: impl Fn(f64) -> f64 + Sync,
) -> Vec<i64> {
    let mut counts = counts_at(thresholds, values, of);
    let beyond = counts.pop().unwrap_or_default();
    if let Some(last) = counts.last_mut() {
        *last += beyond;
    }
    counts
}

/// How many of these values, of `of`, belong to each threshold: a value to the first one that is not below it, and
/// those beyond the last to a place of their own.
fn counts_at(
    thresholds: &FloatThresholds,
    values: &[f64],
    of: impl Fn(f64) -> f64 + Sync,
) -> Vec<i64> {
    let cells = Cells::new(thresholds);
    // A run of records a thread: there may be more thresholds than records of a smaller piece.
    let run = values.len().div_ceil(rayon::current_num_threads()).max(1);
    let zeros = || vec![0i64; thresholds.len() + 1];
    let add = |mut counts: Vec<i64>, (_, values): (usize, &[f64])| {
        for &value in values {
            counts[cells.place(of(value))] += 1;
        }
        counts
    };
    let runs = values.chunks(run).collect();
    fold_pieces(runs, values.len(), zeros, add, |counts| counts, added)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Among thresholds as a search through all of them says: even ones, others, a single one, and values on them.
        #[test]
        fn values_belong_to_the_first_threshold_that_is_no_smaller(
            mut uneven in prop::collection::vec(-1.0..1.0f64, 1..40),
            bits in 0u32..9,
            values in prop::collection::vec(-1.2..1.2f64, 1..20),
        ) {
            uneven.sort_by(f64::total_cmp);
            let half = 1i32 << bits;
            let even: Vec<f64> = (-half..=half).map(|k| f64::from(k) / f64::from(half)).collect();
            let powers: Vec<f64> = (0..41).rev().map(|k| 2.0 * 2f64.powf(f64::from(-k) / 2.0)).collect();
            let listed = [uneven, even.clone(), powers].map(FloatThresholds::Listed);
            for at in listed.into_iter().chain([FloatThresholds::Even(bits)]) {
                let thresholds: Vec<f64> = (0..at.len()).map(|k| at.at(k)).collect();
                if at == FloatThresholds::Even(bits) {
                    prop_assert_eq!(&thresholds, &even);
                }
                let above = thresholds.iter().map(|t| t + 1e-13);
                let all: Vec<f64> = values.iter().copied().chain(thresholds.iter().copied()).chain(above).collect();
                let mut expected = vec![0; thresholds.len() + 1];
                for &value in &all {
                    expected[thresholds.partition_point(|&threshold| threshold < value)] += 1;
                }
                prop_assert_eq!(counts_at(&at, &all, |value| value), &expected[..]);
                expected.fill(0);
                (expected[0], expected[thresholds.len()]) = (2, 1);
                let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
                prop_assert_eq!(counts_at(&at, &odd, |value| value), expected);
            }
        }
    }
}

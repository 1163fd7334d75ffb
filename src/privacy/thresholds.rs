//! Numbers of values between thresholds that are floats.

use rayon::prelude::*;

/// Fewest and most cells that thresholds are looked up in, where they are not evenly spaced.
const CELLS: (usize, usize) = (1 << 10, 1 << 16);

/// Ascending thresholds, with cells of equal width between the first and the last: hardly more than one lies in a cell, so
/// that few values are searched for.
struct Cells {
    /// Between one below all values and one above.
    thresholds: Vec<f64>,
    /// The place of the first threshold that does not lie below a cell; None where each cell starts at its own, and a table would
    /// only take room in a near cache.
    first: Option<Vec<u32>>,
    /// How many there are.
    cells: usize,
    /// Where the first cell starts.
    start: f64,
    /// Cells a unit.
    per_unit: f64,
}

impl Cells {
    /// Of at least one threshold.
    fn new(thresholds: &[f64]) -> Self {
        let (start, end) = (thresholds[0], thresholds[thresholds.len() - 1]);
        let own = thresholds.len() - 1;
        let width = |cells: usize| (end - start) / cells as f64;
        let starts = |cells: usize| (0..cells).map(move |cell| start + width(cells) * cell as f64);
        let even = own > 0 && starts(own).zip(thresholds).all(|(start, &t)| start == t);
        let cells = match even {
            true => own,
            false => (2 * thresholds.len()).clamp(CELLS.0, CELLS.1),
        };
        let ends = [f64::NEG_INFINITY, f64::INFINITY].map(|end| [end]);
        let thresholds = [&ends[0], thresholds, &ends[1]].concat();
        let mut place = 1;
        let first = |start: f64| {
            while thresholds[place] < start {
                place += 1;
            }
            place as u32
        };
        Self {
            first: (!even).then(|| starts(cells).map(first).collect()),
            thresholds,
            cells,
            start,
            per_unit: 1.0 / width(cells),
        }
    }

    /// The first threshold that is not below a value; as many as there are, where all are.
    fn place(&self, value: f64) -> usize {
        let cell = ((value - self.start) * self.per_unit) as u32 as usize;
        let cell = cell.min(self.cells - 1);
        let first = (self.first.as_ref()).map_or(cell + 1, |first| first[cell] as usize);
        let place = first + usize::from(self.thresholds[first] < value);
        // There may be more in the cell, and rounding may have led to the one beside.
        let place = match self.thresholds[place - 1] < value && value <= self.thresholds[place] {
            true => place,
            false => (self.thresholds).partition_point(|&threshold| threshold < value),
        };
        // What is no number would belong to the first.
        place.saturating_sub(1)
    }
}

/// How many of these values, of `of`, belong to each threshold: a value to the first one that is not below it, and those beyond
/// the last to a place of their own.
pub(super) fn counts_at(
    thresholds: &[f64],
    values: &[f64],
    of: impl Fn(f64) -> f64 + Sync,
) -> Vec<i64> {
    let cells = Cells::new(thresholds);
    // A run of records a thread: there may be more thresholds than records of a smaller piece.
    let run = values.len().div_ceil(rayon::current_num_threads());
    let counts = values.par_chunks(run.max(1)).map(|values| {
        let mut counts = vec![0i64; thresholds.len() + 1];
        for &value in values {
            counts[cells.place(of(value))] += 1;
        }
        counts
    });
    counts.reduce(
        || vec![0; thresholds.len() + 1],
        |mut counts, more| {
            (counts.iter_mut().zip(more)).for_each(|(count, more)| *count += more);
            counts
        },
    )
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
            for thresholds in [uneven, even, powers] {
                let above = thresholds.iter().map(|t| t + 1e-13);
                let all: Vec<f64> = values.iter().copied().chain(thresholds.iter().copied()).chain(above).collect();
                let mut expected = vec![0; thresholds.len() + 1];
                for &value in &all {
                    expected[thresholds.partition_point(|&threshold| threshold < value)] += 1;
                }
                prop_assert_eq!(counts_at(&thresholds, &all, |value| value), &expected[..]);
                expected.fill(0);
                (expected[0], expected[thresholds.len()]) = (2, 1);
                let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
                prop_assert_eq!(counts_at(&thresholds, &odd, |value| value), expected);
            }
        }
    }
}

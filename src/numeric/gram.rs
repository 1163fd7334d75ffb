//! Products of columns with one another, tile by tile: what is loaded of a column is multiplied by several others.

use super::kernel::{LANES, lane_products};

/// Rows of a tile.
pub(crate) const ROWS: usize = 4;

/// Columns of a tile: with four rows of eight lanes, sixteen vectors of sums.
const COLUMNS: usize = 4;

/// Columns of `size` numbers, so many apart.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    /// One column after the other.
    pub entries: &'a [f64],
    /// From one column to the next.
    pub stride: usize,
    /// Numbers of each column that count.
    pub size: usize,
}

impl<'a> Block<'a> {
    fn several<const N: usize>(self, first: usize) -> [&'a [f64]; N] {
        std::array::from_fn(|k| &self.entries[(first + k) * self.stride..][..self.size])
    }
}

/// Adds <a_j, b_k> to entry k <= first + j of row j of at most [`ROWS`] rows of a square, the first of which is row
/// `first`: the bits of [`dot`](super::linear::dot), on every machine.
///
/// # Panics
/// Where there are more rows, or fewer columns than a row needs.
pub(crate) fn add_lower_products(
    a: Block<'_>,
    b: Block<'_>,
    first: usize,
    p: usize,
    rows: &mut [f64],
) {
    match rows.len().div_ceil(p) {
        1 => add_tiles::<1>(a, b, first, p, rows),
        2 => add_tiles::<2>(a, b, first, p, rows),
        3 => add_tiles::<3>(a, b, first, p, rows),
        ROWS => add_tiles::<ROWS>(a, b, first, p, rows),
        _ => unreachable!("at most {ROWS} rows"),
    }
}

/// The same of so many rows: tiles as far as all of them reach, then what each has beyond.
fn add_tiles<const R: usize>(a: Block<'_>, b: Block<'_>, first: usize, p: usize, rows: &mut [f64]) {
    let all: [&[f64]; R] = a.several(0);
    let mut add = |k: usize, columns: usize, row: usize, sums: &[f64]| {
        let entries = &mut rows[row * p + k..][..columns];
        (entries.iter_mut().zip(sums)).for_each(|(entry, sum)| *entry += sum);
    };
    let whole = (first + 1) / COLUMNS * COLUMNS;
    for k in (0..whole).step_by(COLUMNS) {
        let tile = products(all, b.several::<COLUMNS>(k));
        (tile.iter().enumerate()).for_each(|(row, sums)| add(k, COLUMNS, row, sums));
    }
    for k in whole..=first {
        let tile = products(all, b.several::<1>(k));
        (tile.iter().enumerate()).for_each(|(row, sums)| add(k, 1, row, sums));
    }
    for (row, own) in all.iter().enumerate() {
        for k in first + 1..=first + row {
            let [sums] = products([own], b.several::<1>(k));
            add(k, 1, row, &sums);
        }
    }
}

/// <a_i, b_k>, each in the order of [`dot`](super::linear::dot).
fn products<const A: usize, const B: usize>(a: [&[f64]; A], b: [&[f64]; B]) -> [[f64; B]; A] {
    let (a, b) = (
        a.map(|a| a.as_chunks::<LANES>()),
        b.map(|b| b.as_chunks::<LANES>()),
    );
    let lanes = lane_products(a.map(|a| a.0), b.map(|b| b.0));
    std::array::from_fn(|i| {
        std::array::from_fn(|k| {
            let tail: f64 = a[i].1.iter().zip(b[k].1).map(|(a, b)| a * b).sum();
            lanes[i][k].iter().sum::<f64>() + tail
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::kernel::tests::at_every_width;
    use crate::numeric::linear::dot;
    use proptest::prelude::*;

    proptest! {
        /// Bit for bit the inner products, below the diagonal and on it, at every width of vectors.
        #[test]
        fn tiles_are_inner_products(p in 1usize..12, size in 0usize..40, spare in 0usize..3, seed in any::<u32>()) {
            let stride = size + spare;
            let entry = |k: usize| (f64::from(seed) + k as f64 * 1.7).sin();
            let (a, b): (Vec<f64>, Vec<f64>) =
                (0..p * stride).map(|k| (entry(k), entry(k + 1000))).unzip();
            let block = |entries| Block { entries, stride, size };
            let all = || {
                let mut out = vec![0.5; p * p];
                for (k, rows) in out.chunks_mut(ROWS * p).enumerate() {
                    let own = block(&a[k * ROWS * stride..]);
                    add_lower_products(own, block(&b), k * ROWS, p, rows);
                }
                out
            };
            for out in at_every_width(all) {
                for (j, k) in (0..p).flat_map(|j| (0..p).map(move |k| (j, k))) {
                    let product = dot(&a[j * stride..][..size], &b[k * stride..][..size]);
                    let expected = if k <= j { 0.5 + product } else { 0.5 };
                    prop_assert_eq!(out[j * p + k].to_bits(), expected.to_bits());
                }
            }
        }
    }
}

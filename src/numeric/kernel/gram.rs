//! Products of integer columns with one another: what is loaded of a column is multiplied by several others.

use super::inner_products::dot_portable;
#[cfg(target_arch = "x86_64")]
use super::width::{Width, adds_products, width};
use crate::numeric::strips::Line;

/// Lines that are multiplied before sums widen: a column has whole runs of them.
pub const RUN: usize = 4;

/// Rows and columns of a tile of products: of the widest vectors, their sums and what is loaded fill all registers.
const TILE: (usize, usize) = (4, 2);

/// Columns that all rows meet one after the other: so many stay in a second-level cache.
const PANEL: usize = 128;

/// Adds <column j, column l> for every j <= l to sums, row by row, for columns of so many lines that are stored one
/// after the other.
///
/// Accumulators: products are below 2^28, so that sums of four pairs fit 32 bits; sums of fewer than 2^31 products stay
/// below 2^59.
///
/// # Panics
/// Unless columns are whole runs, and d of them have d (d + 1) / 2 sums.
pub fn add_gram(columns: &[Line], lines: usize, sums: &mut [i64]) {
    let d = columns.len().checked_div(lines).unwrap_or(0);
    assert!(lines.is_multiple_of(RUN) && columns.len() == d * lines);
    assert!(sums.len() == d * (d + 1) / 2);
    let (runs, columns) = (lines / RUN, columns.as_chunks().0);
    // The last column again in the place of those that there are not.
    let column = |j: usize| &columns[j.min(d - 1) * runs..][..runs];
    for first in (0..d).step_by(PANEL) {
        let end = d.min(first + PANEL);
        for j in (0..end).step_by(TILE.0) {
            let rows = std::array::from_fn(|k| column(j + k));
            for l in (first.max(j)..end).step_by(TILE.1) {
                let tile = products(rows, std::array::from_fn(|k| column(l + k)));
                for (l, products) in (l..end).zip(tile) {
                    for (j, product) in (j..=l).zip(products) {
                        let sum = &mut sums[j * d - j * (j + 1) / 2 + l];
                        *sum = sum.wrapping_add(product);
                    }
                }
            }
        }
    }
}

/// Lines of a column, run by run.
type Column<'a> = &'a [[Line; RUN]];

/// The products of every row with each column.
fn products(rows: [Column<'_>; TILE.0], columns: [Column<'_>; TILE.1]) -> [[i64; TILE.0]; TILE.1] {
    #[cfg(target_arch = "x86_64")]
    match width() {
        Width::Portable => {}
        // SAFETY: the feature was detected.
        Width::Avx2 => return columns.map(|column| unsafe { x86::dots_avx2(rows, column) }),
        Width::Avx512 if adds_products() => {
            // SAFETY: the features were detected.
            return unsafe { x86::products_avx512::<true>(rows, columns) };
        }
        // SAFETY: the features were detected.
        Width::Avx512 => return unsafe { x86::products_avx512::<false>(rows, columns) },
    }
    columns.map(|column| {
        rows.map(|row| {
            let lines = row.as_flattened().iter().zip(column.as_flattened());
            lines.fold(0, |sum: i64, (row, column)| {
                sum.wrapping_add(dot_portable(row, column))
            })
        })
    })
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Column, RUN, TILE};
    use crate::numeric::kernel::lanes::{Lanes, add_products_of_pairs, load};
    use crate::numeric::strips::Line;

    /// All of the same length.
    #[target_feature(enable = "avx512bw")]
    pub(super) fn products_avx512<const ONE: bool>(
        [a, b, c, d]: [Column<'_>; TILE.0],
        [x, y]: [Column<'_>; TILE.1],
    ) -> [[i64; TILE.0]; TILE.1] {
        let runs = a.len();
        let (rows, columns) = (
            [a, &b[..runs], &c[..runs], &d[..runs]],
            [&x[..runs], &y[..runs]],
        );
        let mut lanes = [[Lanes::zero(); TILE.0]; TILE.1];
        for run in 0..runs {
            let mut sums = [[Lanes::start(); TILE.0]; TILE.1];
            for at in 0..RUN {
                for (sums, column) in sums.iter_mut().zip(columns) {
                    let column = load::<false>(&column[run][at]);
                    for (sum, row) in sums.iter_mut().zip(rows) {
                        let row = load::<false>(&row[run][at]);
                        *sum = add_products_of_pairs::<ONE>(*sum, row, column);
                    }
                }
            }
            for (lanes, sum) in (lanes.as_flattened_mut().iter_mut()).zip(sums.as_flattened()) {
                lanes.add(*sum);
            }
        }
        let mut products = [[0; TILE.0]; TILE.1];
        for (product, lanes) in (products.as_flattened_mut().iter_mut()).zip(lanes.as_flattened()) {
            let [even, odd] = lanes.even_and_odd(runs);
            *product = _mm512_reduce_add_epi64(_mm512_add_epi64(even, odd));
        }
        products
    }

    /// Those of four rows with one column.
    #[target_feature(enable = "avx2")]
    pub(super) fn dots_avx2(rows: [Column<'_>; TILE.0], column: Column<'_>) -> [i64; TILE.0] {
        let halves = |line: &Line| {
            let (halves, _) = line.as_chunks::<16>();
            // SAFETY: half a line is exactly 256 bits.
            [0, 1].map(|half: usize| unsafe { _mm256_loadu_si256(halves[half].as_ptr().cast()) })
        };
        rows.map(|row| {
            let mut total = _mm256_setzero_si256();
            // Two lines are four vectors.
            let lines = row.as_flattened().chunks(RUN / 2);
            for (row, column) in lines.zip(column.as_flattened().chunks(RUN / 2)) {
                let mut sum = _mm256_setzero_si256();
                for (row, column) in row.iter().zip(column) {
                    for (row, column) in halves(row).into_iter().zip(halves(column)) {
                        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(row, column));
                    }
                }
                let low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(sum));
                let high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(sum));
                total = _mm256_add_epi64(total, _mm256_add_epi64(low, high));
            }
            let mut lanes = [0i64; 4];
            // SAFETY: four i64 are exactly 256 bits.
            unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), total) };
            lanes
                .iter()
                .fold(0, |sum: i64, &lane| sum.wrapping_add(lane))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::kernel::MAX_FEATURE;
    use crate::numeric::kernel::tests::{at_every_width, entries, reference};
    use crate::numeric::strips::LINE;

    fn check(columns: &[Vec<Line>]) {
        let lines = columns.first().map_or(RUN, Vec::len);
        let pairs = (0..columns.len()).flat_map(|j| (j..columns.len()).map(move |l| (j, l)));
        let of = |j: usize| columns[j].as_flattened();
        let expected: Vec<i128> = pairs.map(|(j, l)| 7 + reference(of(j), of(l))).collect();
        let products = || {
            let mut sums = vec![7i64; expected.len()];
            add_gram(&columns.concat(), lines, &mut sums);
            sums.into_iter().map(i128::from).collect::<Vec<_>>()
        };
        for products in at_every_width(products) {
            assert_eq!(products, expected);
        }
    }

    proptest! {
        /// About whole tiles and panels, and runs of lines, at the ends of what entries may be.
        #[test]
        fn products_match_a_wide_reference(runs in 1usize..4, d in prop_oneof![0usize..12, 126usize..133], seed in any::<u32>()) {
            let entry = entries(seed, MAX_FEATURE);
            let line = |j: usize, at: usize| std::array::from_fn(|k| entry(LINE * at + k, j));
            let columns: Vec<Vec<Line>> =
                (0..d).map(|j| (0..RUN * runs).map(|at| line(j, at)).collect()).collect();
            check(&columns);
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        for lines in [RUN, 3128] {
            let sign = [1, 1, -1, -1, 1, -1, 1];
            let columns = sign.map(|sign| vec![[sign * MAX_FEATURE; LINE]; lines]);
            check(&columns);
        }
    }
}

//! Inner products of integer columns that are stored one after the other.

use super::width::{Width, width};

/// out_j = <column j, d> for columns stored one after the other. `columns` must hold out.len() * d.len() entries.
pub fn inner_products(columns: &[i16], d: &[i16], out: &mut [i64]) {
    debug_assert_eq!(columns.len(), out.len() * d.len());
    let n = d.len();
    for (out, block) in out.chunks_mut(4).zip(columns.chunks(4 * n)) {
        // The last column again in the place of those that there are not.
        let last = out.len() - 1;
        let dots = dot4(std::array::from_fn(|k| &block[k.min(last) * n..][..n]), d);
        out.copy_from_slice(&dots[..out.len()]);
    }
}

/// Inner products of four columns with d. All five slices must have one length.
///
/// Accumulators: products are at most 16383 2^14, sums of four pairs at most 2^31 - 2^17 (i32); the i64 total of
/// n < 2^31 products is below 2^59.
pub fn dot4(columns: [&[i16]; 4], d: &[i16]) -> [i64; 4] {
    debug_assert!(columns.iter().all(|column| column.len() == d.len()));
    match width() {
        Width::Portable => columns.map(|column| dot_portable(column, d)),
        // SAFETY: the features were detected.
        #[cfg(target_arch = "x86_64")]
        Width::Avx2 => unsafe { x86::dot4_avx2(columns, d) },
        // SAFETY: the features were detected.
        #[cfg(target_arch = "x86_64")]
        Width::Avx512 => unsafe { x86::dot4_avx512(columns, d) },
    }
}

/// Inner product of one column with d, in plain Rust. Nothing wraps, for the reasons given above: checks would keep the
/// loop from wide instructions.
pub fn dot_portable(column: &[i16], d: &[i16]) -> i64 {
    let products = (column.iter().zip(d)).map(|(&x, &d)| i32::from(x).wrapping_mul(i32::from(d)));
    products.fold(0i64, |sum, product| sum.wrapping_add(i64::from(product)))
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::dot_portable;
    use crate::numeric::kernel::lanes::{Lanes, RUN};
    use crate::numeric::kernel::memory::x86::prefetch;

    /// Entries between a load and the prefetch beside it: 2 KiB.
    const ENTRIES_AHEAD: usize = 1024;

    #[target_feature(enable = "avx512bw")]
    pub(super) fn dot4_avx512(columns: [&[i16]; 4], d: &[i16]) -> [i64; 4] {
        const LANES: usize = 32;
        let mut lanes = [Lanes::zero(); 4];
        let whole = d.len() / (LANES * RUN) * (LANES * RUN);
        let mut start = 0;
        while start < whole {
            let mut sums = [Lanes::start(); 4];
            for step in 0..RUN {
                let at = start + step * LANES;
                // SAFETY: at + LANES <= whole <= d.len(), and the columns are as long as d (sliced below by
                // the caller).
                let derivative = unsafe { _mm512_loadu_si512(d[at..at + LANES].as_ptr().cast()) };
                for (sum, column) in sums.iter_mut().zip(columns) {
                    // SAFETY: the slice index checks the same bounds on the column.
                    let x = unsafe { _mm512_loadu_si512(column[at..at + LANES].as_ptr().cast()) };
                    prefetch(column.as_ptr().wrapping_add(at + ENTRIES_AHEAD));
                    *sum = _mm512_add_epi32(*sum, _mm512_madd_epi16(x, derivative));
                }
            }
            for (lanes, sum) in lanes.iter_mut().zip(sums) {
                lanes.add(sum);
            }
            start += LANES * RUN;
        }
        let mut dots = [0; 4];
        for (k, dot) in dots.iter_mut().enumerate() {
            let (even, odd) = lanes[k].even_and_odd(whole / (LANES * RUN));
            *dot = _mm512_reduce_add_epi64(_mm512_add_epi64(even, odd))
                + dot_portable(&columns[k][whole..], &d[whole..]);
        }
        dots
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn dot4_avx2(columns: [&[i16]; 4], d: &[i16]) -> [i64; 4] {
        const LANES: usize = 16;
        let mut totals = [_mm256_setzero_si256(); 4];
        let whole = d.len() / (LANES * RUN) * (LANES * RUN);
        let mut start = 0;
        while start < whole {
            let mut sums = [_mm256_setzero_si256(); 4];
            for step in 0..RUN {
                let at = start + step * LANES;
                // SAFETY: the slice index checks the bounds of the load.
                let derivative = unsafe { _mm256_loadu_si256(d[at..at + LANES].as_ptr().cast()) };
                for (sum, column) in sums.iter_mut().zip(columns) {
                    // SAFETY: the slice index checks the bounds of the load.
                    let x = unsafe { _mm256_loadu_si256(column[at..at + LANES].as_ptr().cast()) };
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(x, derivative));
                }
            }
            for (total, sum) in totals.iter_mut().zip(sums) {
                let low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(sum));
                let high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(sum));
                *total = _mm256_add_epi64(*total, _mm256_add_epi64(low, high));
            }
            start += LANES * RUN;
        }
        std::array::from_fn(|k| {
            let mut lanes = [0i64; 4];
            // SAFETY: four i64 are exactly 256 bits.
            unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), totals[k]) };
            lanes.iter().sum::<i64>() + dot_portable(&columns[k][whole..], &d[whole..])
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::kernel::tests::{EXTREMES, RECORDS, at_every_width, entries, reference};
    use crate::numeric::kernel::{MAX_DERIVATIVE, MAX_FEATURE};

    fn check_dot(columns: &[Vec<i16>], d: &[i16]) {
        let slices: [&[i16]; 4] = std::array::from_fn(|k| columns[k].as_slice());
        let expected: Vec<i128> = columns.iter().map(|column| reference(column, d)).collect();
        let as_wide = |dots: [i64; 4]| dots.map(i128::from).to_vec();
        for dots in at_every_width(|| dot4(slices, d)) {
            assert_eq!(as_wide(dots), expected);
        }
    }

    proptest! {
        #[test]
        fn dot_products_match_a_wide_reference(
            rows in proptest::collection::vec(
                (-MAX_FEATURE..=MAX_FEATURE, -MAX_FEATURE..=MAX_FEATURE, -MAX_FEATURE..=MAX_FEATURE,
                 -MAX_FEATURE..=MAX_FEATURE, -MAX_DERIVATIVE..=MAX_DERIVATIVE), 0..400)
        ) {
            let column = |get: fn(&(i16, i16, i16, i16, i16)) -> i16| rows.iter().map(get).collect::<Vec<_>>();
            let columns = [column(|r| r.0), column(|r| r.1), column(|r| r.2), column(|r| r.3)];
            check_dot(&columns, &column(|r| r.4));
        }

        #[test]
        fn columns_one_after_the_other_have_their_inner_products(n in 1usize..300, p in 0usize..10, seed in any::<u32>()) {
            let (entry, slope) = (entries(seed, MAX_FEATURE), entries(!seed, MAX_DERIVATIVE));
            let columns: Vec<i16> = (0..n * p).map(|k| entry(k % n, k / n)).collect();
            let d: Vec<i16> = (0..n).map(|i| slope(i, 0)).collect();
            let products = || {
                let mut out = vec![7i64; p];
                inner_products(&columns, &d, &mut out);
                out
            };
            for out in at_every_width(products) {
                for (out, column) in out.iter().zip(columns.chunks_exact(n)) {
                    prop_assert_eq!(i128::from(*out), reference(column, &d));
                }
            }
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        for n in RECORDS {
            for (x, d) in EXTREMES {
                check_dot(&vec![vec![x; n]; 4], &vec![d; n]);
            }
        }
    }
}

//! Sums of products of floats, lane by lane: the same bits at every width.

use super::width::{Width, width};

/// Lanes of sums of products of floats.
pub(in crate::numeric) const LANES: usize = 8;

/// Inner products of each a with each b, lane by lane: lane l adds up a_l b_l, a_(8 + l) b_(8 + l), ... in this order.
///
/// # Panics
/// Where one is longer or shorter than another.
pub(in crate::numeric) fn lane_products<const A: usize, const B: usize>(
    a: [&[[f64; LANES]]; A],
    b: [&[[f64; LANES]]; B],
) -> [[[f64; LANES]; B]; A] {
    let len = a.first().map_or(0, |a| a.len());
    assert!(a.iter().all(|a| a.len() == len) && b.iter().all(|b| b.len() == len));
    match width() {
        Width::Portable => a.map(|a| {
            b.map(|b| {
                let mut sums = [0.0; LANES];
                for (a, b) in a.iter().zip(b) {
                    for lane in 0..LANES {
                        sums[lane] += a[lane] * b[lane];
                    }
                }
                sums
            })
        }),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the feature was detected.
        Width::Avx2 => unsafe { x86::lane_products_avx2(a, b) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the features were detected.
        Width::Avx512 => unsafe { x86::lane_products_avx512(a, b) },
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::LANES;

    /// All of the same length. Vectors are loaded in loops, not by maps of arrays: those are compiled for other
    /// instructions and then call, entry by entry, what is compiled for these.
    #[target_feature(enable = "avx512f")]
    pub(super) fn lane_products_avx512<const A: usize, const B: usize>(
        a: [&[[f64; LANES]]; A],
        b: [&[[f64; LANES]]; B],
    ) -> [[[f64; LANES]; B]; A] {
        let mut sums = [[_mm512_setzero_pd(); B]; A];
        let len = a[0].len();
        let (a, b) = (a.map(|a| &a[..len]), b.map(|b| &b[..len]));
        for at in 0..len {
            let mut here = [_mm512_setzero_pd(); A];
            for (here, a) in here.iter_mut().zip(a) {
                // SAFETY: eight f64 are exactly 512 bits.
                *here = unsafe { _mm512_loadu_pd(a[at].as_ptr()) };
            }
            for (k, b) in b.iter().enumerate() {
                // SAFETY: as before.
                let b = unsafe { _mm512_loadu_pd(b[at].as_ptr()) };
                for (sums, a) in sums.iter_mut().zip(here) {
                    sums[k] = _mm512_add_pd(sums[k], _mm512_mul_pd(a, b));
                }
            }
        }
        let mut lanes = [[[0.0; LANES]; B]; A];
        for (lanes, sum) in lanes.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
            // SAFETY: as before.
            unsafe { _mm512_storeu_pd(lanes.as_mut_ptr(), *sum) };
        }
        lanes
    }

    /// All of the same length: the first four lanes, then the others.
    #[target_feature(enable = "avx2")]
    pub(super) fn lane_products_avx2<const A: usize, const B: usize>(
        a: [&[[f64; LANES]]; A],
        b: [&[[f64; LANES]]; B],
    ) -> [[[f64; LANES]; B]; A] {
        let mut lanes = [[[0.0; LANES]; B]; A];
        let len = a[0].len();
        let (a, b) = (a.map(|a| &a[..len]), b.map(|b| &b[..len]));
        for half in 0..2 {
            let half_of = |x: &[f64; LANES]| x.as_chunks::<4>().0[half].as_ptr();
            let mut sums = [[_mm256_setzero_pd(); B]; A];
            for at in 0..len {
                let mut here = [_mm256_setzero_pd(); A];
                for (here, a) in here.iter_mut().zip(a) {
                    // SAFETY: half of eight f64 are exactly 256 bits.
                    *here = unsafe { _mm256_loadu_pd(half_of(&a[at])) };
                }
                for (k, b) in b.iter().enumerate() {
                    // SAFETY: as before.
                    let b = unsafe { _mm256_loadu_pd(half_of(&b[at])) };
                    for (sums, a) in sums.iter_mut().zip(here) {
                        sums[k] = _mm256_add_pd(sums[k], _mm256_mul_pd(a, b));
                    }
                }
            }
            for (lanes, sums) in lanes.iter_mut().zip(sums) {
                for (lanes, sum) in lanes.iter_mut().zip(sums) {
                    let half = &mut lanes.as_chunks_mut::<4>().0[half];
                    // SAFETY: as before.
                    unsafe { _mm256_storeu_pd(half.as_mut_ptr(), sum) };
                }
            }
        }
        lanes
    }
}

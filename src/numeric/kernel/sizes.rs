//! Sums of sizes of columns and of squares of records.

#[cfg(target_arch = "x86_64")]
use super::width::{Width, width};
#[cfg(target_arch = "x86_64")]
use super::{half_lines, inner_products::x86, lanes::no_lanes};
use crate::numeric::strips::{LINE, Strips};

/// sums_j += the sizes of all entries of column j, of at most 2^18 strips.
///
/// # Panics
/// Unless there is a sum for each column.
pub fn add_sizes(strips: Strips<'_>, sums: &mut [i64]) {
    #[inline(always)]
    fn body(strips: Strips<'_>, sums: &mut [i64]) {
        let (p, lines) = (sums.len(), strips.lines());
        for (j, sum) in sums.iter_mut().enumerate() {
            // Less than 2^18 2^14 in each.
            let mut lanes = [0u32; LINE];
            for run in lines.chunks(4 * p) {
                // Four sizes below 2^14 fit 16 bits.
                let mut four = [0u16; LINE];
                for line in run[j..].iter().step_by(p) {
                    for (size, x) in four.iter_mut().zip(line) {
                        *size = size.wrapping_add(x.unsigned_abs());
                    }
                }
                for (lane, size) in lanes.iter_mut().zip(four) {
                    *lane = lane.wrapping_add(u32::from(size));
                }
            }
            let all = lanes.iter().map(|&lane| i64::from(lane));
            *sum = all.fold(*sum, i64::wrapping_add);
        }
    }
    assert!(sums.len() == strips.columns() && strips.len() <= 1 << 18);
    if !sums.is_empty() {
        #[cfg(target_arch = "x86_64")]
        if width() == Width::Avx512 {
            let (ones, p) = (vec![[1; LINE]; strips.len()], sums.len());
            // SAFETY: the features were detected.
            unsafe {
                let mut lanes = no_lanes(p.div_ceil(4));
                x86::add_strips_avx512::<true>(&ones, strips.lines(), p, &mut lanes);
                x86::add_lanes(&lanes, strips.len(), sums);
            }
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if width() == Width::Avx2 {
            let (ones, p) = (vec![[1; LINE]; strips.len()], sums.len());
            // SAFETY: the feature was detected.
            unsafe {
                let mut lanes = half_lines::no_lanes(p.div_ceil(2));
                half_lines::add_strips::<true>(&[&ones], strips.lines(), p, &mut [&mut lanes]);
                half_lines::add_lanes(&lanes, strips.len(), sums);
            }
            return;
        }
        body(strips, sums);
    }
}

/// sums_i += the sum of x_ij^2 over all columns j, for the records from the first of the strips on; nothing is checked,
/// for the caller's proof that it fits.
///
/// # Panics
/// Where there are more sums than records.
pub fn add_squares(strips: Strips<'_>, sums: &mut [i64]) {
    #[inline(always)]
    fn body(strips: Strips<'_>, sums: &mut [i64]) {
        for (sums, strip) in sums.chunks_mut(LINE).zip(strips.iter()) {
            let mut all = [0i64; LINE];
            for four in strip.chunks(4) {
                // Four squares below 2^28.
                let mut squares = [0i32; LINE];
                for line in four {
                    for (square, &x) in squares.iter_mut().zip(line) {
                        let x = i32::from(x);
                        *square = square.wrapping_add(x.wrapping_mul(x));
                    }
                }
                for (sum, square) in all.iter_mut().zip(squares) {
                    *sum = sum.wrapping_add(i64::from(square));
                }
            }
            for (sum, more) in sums.iter_mut().zip(all) {
                *sum = sum.wrapping_add(more);
            }
        }
    }
    if strips.columns() > 0 {
        assert!(sums.len().div_ceil(LINE) <= strips.len());
        #[cfg(target_arch = "x86_64")]
        if width() == Width::Avx512 {
            // SAFETY: the features were detected.
            return unsafe { wide::add_squares_avx512(strips, sums) };
        }
        #[cfg(target_arch = "x86_64")]
        if width() == Width::Avx2 {
            // SAFETY: the feature was detected.
            return unsafe { halves::add_squares(strips, sums) };
        }
        body(strips, sums);
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use crate::numeric::kernel::lanes::{Lanes, load};
    use crate::numeric::kernel::margins::x86::{add_to_eight, in_order};
    use crate::numeric::kernel::memory::x86::Ahead;
    use crate::numeric::strips::{LINE, Strips};

    /// Squares of two columns at once, in lanes of 32 bits: those of eight add up to less than 2^31 - 2^17.
    #[target_feature(enable = "avx512bw")]
    pub(super) fn add_squares_avx512(strips: Strips<'_>, sums: &mut [i64]) {
        let ahead = Ahead::in_one_go();
        for (sums, strip) in sums.chunks_mut(LINE).zip(strips.iter()) {
            let mut lanes = [Lanes::zero(); 2];
            for eight in strip.chunks(8) {
                let mut squares = [Lanes::start(); 2];
                for pair in eight.chunks(2) {
                    ahead.of(&raw const pair[0]);
                    let a = load::<false>(&pair[0]);
                    let mut b = _mm512_setzero_si512();
                    if let Some(line) = pair.get(1) {
                        ahead.of(&raw const *line);
                        b = load::<false>(line);
                    }
                    let halves = [_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b)];
                    for (squares, half) in squares.iter_mut().zip(halves) {
                        *squares = _mm512_add_epi32(*squares, _mm512_madd_epi16(half, half));
                    }
                }
                for (lanes, squares) in lanes.iter_mut().zip(squares) {
                    lanes.add(squares);
                }
            }
            let times = strip.len().div_ceil(8);
            let all = in_order([lanes[0].even_and_odd(times), lanes[1].even_and_odd(times)]);
            for (k, squares) in all.into_iter().enumerate() {
                add_to_eight(sums, k, squares);
            }
        }
    }
}

/// The same in vectors of 256 bits, of which two hold a line.
#[cfg(target_arch = "x86_64")]
mod halves {
    use std::arch::x86_64::*;

    use crate::numeric::kernel::half_lines::{HALF, Lanes, add_to_half, load};
    use crate::numeric::kernel::weights::Plane;
    use crate::numeric::strips::{LINE, Strips};

    /// sums += squares of two columns at once, in lanes of 32 bits: those of eight add up to less than 2^31 - 2^17.
    #[target_feature(enable = "avx2")]
    pub(super) fn add_squares(strips: Strips<'_>, sums: &mut [i64]) {
        let whole = Plane { plane: 0, shift: 0 };
        for (sums, strip) in sums.chunks_mut(LINE).zip(strips.iter()) {
            let mut all = [0; LINE];
            let (halves, _) = all.as_chunks_mut::<HALF>();
            for (half, squares_of_half) in halves.iter_mut().enumerate() {
                let mut lanes = [Lanes::zero(); 2];
                for eight in strip.chunks(8) {
                    let mut squares = [Lanes::start(); 2];
                    for pair in eight.chunks(2) {
                        let a = load::<false>(&pair[0], half);
                        let b = load::<false>(pair.get(1).unwrap_or(&[0; LINE]), half);
                        let pairs = [_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)];
                        for (squares, pairs) in squares.iter_mut().zip(pairs) {
                            *squares = _mm256_add_epi32(*squares, _mm256_madd_epi16(pairs, pairs));
                        }
                    }
                    for (lanes, squares) in lanes.iter_mut().zip(squares) {
                        lanes.add([squares]);
                    }
                }
                let times = strip.len().div_ceil(8);
                let lanes = lanes.map(|lanes| lanes.even_and_odd::<1>(times));
                add_to_half(squares_of_half, lanes, whole);
            }
            for (sum, more) in sums.iter_mut().zip(all) {
                *sum = sum.wrapping_add(more);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::kernel::MAX_FEATURE;
    use crate::numeric::kernel::tests::{at_every_width, entries, in_strips};

    proptest! {
        #[test]
        fn sizes_and_squares_match_a_wide_reference(n in 1usize..300, p in prop_oneof![0usize..11, 255usize..259], seed in any::<u32>()) {
            let entry = entries(seed, MAX_FEATURE);
            let lines = in_strips(n, p, &entry);
            let strips = Strips::new(&lines, p);
            let read = || {
                let (mut sizes, mut squares) = (vec![3i64; p], vec![1i64 << 59; n]);
                add_sizes(strips, &mut sizes);
                add_squares(strips, &mut squares);
                (sizes, squares)
            };
            let size = |j: usize| 3 + (0..n).map(|i| i64::from(entry(i, j)).abs()).sum::<i64>();
            let square = |i: usize| (1 << 59) + (0..p).map(|j| i64::from(entry(i, j)).pow(2)).sum::<i64>();
            for (sizes, squares) in at_every_width(read) {
                prop_assert_eq!(sizes, (0..p).map(size).collect::<Vec<_>>());
                prop_assert_eq!(squares, (0..n).map(square).collect::<Vec<_>>());
            }
        }
    }

    /// Entries as large as they get: sums of 32 bits reach their ends.
    #[test]
    fn extreme_squares_do_not_overflow() {
        for x in [MAX_FEATURE, -MAX_FEATURE] {
            let lines = vec![[x; LINE]; 3 * 40];
            let read = || {
                let mut squares = vec![0; 70];
                add_squares(Strips::new(&lines, 40), &mut squares);
                squares
            };
            for squares in at_every_width(read) {
                assert_eq!(squares, [40 * i64::from(x).pow(2); 70]);
            }
        }
    }
}

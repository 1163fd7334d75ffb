//! Inner products of strips in wide vectors.

use std::arch::x86_64::*;

use crate::numeric::kernel::gram::RUN;
use crate::numeric::kernel::lanes::{Lanes, load};
use crate::numeric::kernel::memory::x86::Ahead;
use crate::numeric::strips::Line;

/// Columns whose sums are taken side by side: memory is read in its own order up to so many, and 256 make passes over 1000 columns
/// half as fast.
const PANEL: usize = 1024;

/// Adds the inner products of all `p` columns, or of the `SIZES` of their entries, with each of `P` planes of d to lanes, strip
/// by strip, so that lines are read in the order of memory.
///
/// Products of a line, pair by pair, are 16 sums below 2^29. Those of four columns become one vector, in which each
/// column has four sums of four: at most 2^31 - 2^17.
#[target_feature(enable = "avx512bw")]
pub(in crate::numeric::kernel) fn add_strips_avx512<const P: usize, const SIZES: bool>(
    planes: [&[Line]; P],
    lines: &[Line],
    p: usize,
    lanes: &mut [[Lanes; P]],
) {
    let (strips, ahead) = (planes[0].len(), Ahead::here());
    for (first, lanes) in (0..p).step_by(PANEL).zip(lanes.chunks_mut(PANEL / 4)) {
        let width = PANEL.min(p - first);
        for strip in 0..strips {
            let mut d = [_mm512_setzero_si512(); P];
            for (d, plane) in d.iter_mut().zip(planes) {
                *d = load::<false>(&plane[strip]);
            }
            let strip = &lines[strip * p + first..][..width];
            let next = strip.as_ptr();
            add_strip::<P, SIZES>(&d, strip, lanes, |four| {
                // Sums of sizes are the first that read their lines.
                if SIZES && ahead.second {
                    (0..4).for_each(|line| ahead.of(next.wrapping_add(4 * four + line)));
                }
            });
        }
    }
}

/// The same of one strip; before the k-th four of its lines `fetch(k)` asks memory for others.
#[inline]
#[target_feature(enable = "avx512bw")]
pub(in crate::numeric::kernel) fn add_strip<const P: usize, const SIZES: bool>(
    d: &[__m512i; P],
    strip: &[Line],
    lanes: &mut [[Lanes; P]],
    fetch: impl Fn(usize),
) {
    let (fours, rest) = strip.as_chunks::<4>();
    for ((k, four), lanes) in fours.iter().enumerate().zip(&mut *lanes) {
        fetch(k);
        let four = four.each_ref().map(|line| load::<SIZES>(line));
        add_four(four, d, lanes);
    }
    if let ([_, ..], Some(lanes)) = (rest, lanes.last_mut()) {
        let mut four = [_mm512_setzero_si512(); 4];
        for (x, line) in four.iter_mut().zip(rest) {
            *x = load::<SIZES>(line);
        }
        add_four(four, d, lanes);
    }
}

/// sums += the inner products of all columns with a plane of d, two strips at a time.
#[target_feature(enable = "avx2")]
pub(in crate::numeric::kernel) fn add_strips_avx2(d: &[Line], lines: &[Line], sums: &mut [i64]) {
    let p = sums.len();
    let load = |line: &Line| {
        let halves = line.as_chunks::<16>().0;
        // SAFETY: half a line is exactly 256 bits.
        [0, 1].map(|half: usize| unsafe { _mm256_loadu_si256(halves[half].as_ptr().cast()) })
    };
    for (first, sums) in (0..).step_by(PANEL).zip(sums.chunks_mut(PANEL)) {
        let mut totals = vec![_mm256_setzero_si256(); sums.len()];
        for (run, d) in d.chunks(RUN / 2).enumerate() {
            for (j, total) in totals.iter_mut().enumerate() {
                let mut sum = _mm256_setzero_si256();
                for (k, d) in d.iter().enumerate() {
                    let line = &lines[(run * (RUN / 2) + k) * p + first + j];
                    for (x, d) in load(line).into_iter().zip(load(d)) {
                        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(x, d));
                    }
                }
                let low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(sum));
                let high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(sum));
                *total = _mm256_add_epi64(*total, _mm256_add_epi64(low, high));
            }
        }
        for (sum, total) in sums.iter_mut().zip(totals) {
            let mut lanes = [0i64; 4];
            // SAFETY: four i64 are exactly 256 bits.
            unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), total) };
            *sum = lanes.iter().fold(*sum, |sum, &lane| sum.wrapping_add(lane));
        }
    }
}

/// Adds the products of a line of each of four columns to lanes: the sums of columns 0 and 2 to even ones, of 1 and 3 to
/// odd ones.
#[inline]
#[target_feature(enable = "avx512bw")]
fn add_four<const P: usize>(x: [__m512i; 4], d: &[__m512i; P], lanes: &mut [Lanes; P]) {
    for (lanes, &d) in lanes.iter_mut().zip(d) {
        let [a, b, c, e] = [
            _mm512_madd_epi16(x[0], d),
            _mm512_madd_epi16(x[1], d),
            _mm512_madd_epi16(x[2], d),
            _mm512_madd_epi16(x[3], d),
        ];
        let ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let ce = _mm512_add_epi32(_mm512_unpacklo_epi32(c, e), _mm512_unpackhi_epi32(c, e));
        let (low, high) = (_mm512_unpacklo_epi64(ab, ce), _mm512_unpackhi_epi64(ab, ce));
        lanes.add(_mm512_add_epi32(
            _mm512_add_epi32(low, Lanes::start()),
            high,
        ));
    }
}

/// Adds what so many strips left in lanes to the sums of as many columns, four by four.
#[target_feature(enable = "avx512f")]
pub(in crate::numeric::kernel) fn add_lanes<'l>(
    lanes: impl Iterator<Item = &'l Lanes>,
    strips: usize,
    sums: &mut [i64],
) {
    for (lanes, sums) in lanes.zip(sums.chunks_mut(4)) {
        add_sums_of_four(sums, lanes.even_and_odd(strips));
    }
}

/// Adds the sums of even lanes, of columns 0 and 2 in turn, and of odd ones, of 1 and 3, to those of up to four columns.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_sums_of_four(sums: &mut [i64], (even, odd): (__m512i, __m512i)) {
    let halved = |x: __m512i| {
        let quarters = (_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64::<1>(x));
        let half = _mm256_add_epi64(quarters.0, quarters.1);
        let eighths = (
            _mm256_castsi256_si128(half),
            _mm256_extracti128_si256::<1>(half),
        );
        _mm_add_epi64(eighths.0, eighths.1)
    };
    let first_two = halved(_mm512_unpacklo_epi64(even, odd));
    let last_two = halved(_mm512_unpackhi_epi64(even, odd));
    let mut more = [0i64; 4];
    let all = _mm256_set_m128i(last_two, first_two);
    // SAFETY: four i64 are exactly 256 bits.
    unsafe { _mm256_storeu_si256(more.as_mut_ptr().cast(), all) };
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum = sum.wrapping_add(more);
    }
}

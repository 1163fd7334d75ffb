//! Inner products of strips in wide vectors.

use std::arch::x86_64::*;

use crate::numeric::kernel::lanes::{Lanes, add_products_of_pairs, even_plus_odd, load};
use crate::numeric::kernel::memory::Fetched;
use crate::numeric::kernel::memory::x86::Ahead;
use crate::numeric::strips::Line;

/// Columns whose sums are taken side by side: memory is read in its own order up to so many, and 256 make passes over
/// 1000 columns half as fast.
const PANEL: usize = 1024;

/// Adds the inner products of all `p` columns, or of the `SIZES` of their entries, with a plane of d to lanes, strip by
/// strip, so that lines are read in the order of memory.
///
/// Products of a line, pair by pair, are 16 sums below 2^29. Those of four columns become one vector, in which each
/// column has four sums of four: at most 2^31 - 2^17.
#[target_feature(enable = "avx512bw")]
pub(in crate::numeric::kernel) fn add_strips_avx512<const SIZES: bool>(
    d: &[Line],
    lines: &[Line],
    p: usize,
    lanes: &mut [Lanes],
) {
    let ahead = Ahead::in_one_go();
    for (first, lanes) in (0..p).step_by(PANEL).zip(lanes.chunks_mut(PANEL / 4)) {
        let width = PANEL.min(p - first);
        for (d, strip) in d.iter().zip(lines.chunks_exact(p)) {
            let strip = &strip[first..][..width];
            let next = strip.as_ptr();
            add_strip::<SIZES>(load::<false>(d), strip, lanes, |four| {
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
pub(in crate::numeric::kernel) fn add_strip<const SIZES: bool>(
    d: __m512i,
    strip: &[Line],
    lanes: &mut [Lanes],
    fetch: impl Fn(usize),
) {
    let (fours, rest) = strip.as_chunks::<4>();
    for ((k, [a, b, c, e]), lanes) in fours.iter().enumerate().zip(&mut *lanes) {
        fetch(k);
        let four = [
            load::<SIZES>(a),
            load::<SIZES>(b),
            load::<SIZES>(c),
            load::<SIZES>(e),
        ];
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

/// The same of two strips, one behind the other; before the k-th four of their columns `fetch(k)` asks memory for
/// others. With the one instruction for it where `ONE`.
///
/// Products of two lines, pair by pair, are 16 sums below 2^30, and of two of them 32 bits hold the sum: at most 2^31 -
/// 2^17. Four columns leave two vectors of two sums each, in the time that one strip takes to leave one of four.
#[inline]
#[target_feature(enable = "avx512bw")]
pub(in crate::numeric::kernel) fn add_two_strips<const ONE: bool>(
    d: [__m512i; 2],
    [first, second]: [&[Line]; 2],
    lanes: &mut [Lanes],
    fetch: impl Fn(usize),
) {
    let (fours, rest) = first.as_chunks::<4>();
    let (later, rest_of_later) = second.as_chunks::<4>();
    for (k, ((four, later), lanes)) in fours.iter().zip(later).zip(&mut *lanes).enumerate() {
        fetch(k);
        add_four_of_two::<ONE>([load_four(four), load_four(later)], d, lanes);
    }
    if let ([_, ..], Some(lanes)) = (rest, lanes.last_mut()) {
        let mut fours = [[_mm512_setzero_si512(); 4]; 2];
        for (four, rest) in fours.iter_mut().zip([rest, rest_of_later]) {
            for (x, line) in four.iter_mut().zip(rest) {
                *x = load::<false>(line);
            }
        }
        add_four_of_two::<ONE>(fours, d, lanes);
    }
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn load_four([a, b, c, e]: &[Line; 4]) -> [__m512i; 4] {
    [
        load::<false>(a),
        load::<false>(b),
        load::<false>(c),
        load::<false>(e),
    ]
}

/// Adds the inner products of all columns with each of several planes of d to their sums. The strips stay in a near
/// cache: column after column goes through all of them, so that its sums stay in registers, and what is loaded is
/// multiplied by every plane. Products of `run` lines add up in 32 bits. With the one instruction for it where `ONE`.
#[target_feature(enable = "avx512bw")]
pub(in crate::numeric::kernel) fn add_runs_avx512<const ONE: bool, const P: usize>(
    planes: [&[Line]; P],
    lines: &[Line],
    mut sums: [&mut [i64]; P],
    (run, fetched): (usize, Fetched),
) {
    let (p, strips) = (sums[0].len(), planes[0].len());
    let (ahead, end) = (Ahead::with_pauses(), lines[..strips * p].as_ptr_range().end);
    let both = fetched == Fetched::ByBoth && ahead.second;
    for first in (0..p).step_by(4) {
        // The last column again in the place of those that there are not.
        let columns = [0, 1, 2, 3].map(|k| (first + k).min(p - 1));
        let next = end.wrapping_add(first / 4 * strips);
        let products = products_of_runs::<ONE, P>(planes, (lines, p, run), columns, |strip| {
            if both {
                ahead.of(next.wrapping_add(strip));
            }
        });
        let last = p.min(first + 4);
        for (sums, [a, b, c, e]) in sums.iter_mut().zip(products) {
            add_sums_of_four(&mut sums[first..last], a, b, c, e);
        }
    }
}

/// Those of four columns, plane by plane, in lanes that add up to them; before the k-th of their strips is read
/// `fetch(k)` asks memory for others.
///
/// Products of a line, pair by pair, are below 2^29, or 2^28 those of limbs: of four lines, or eight, they fit 32 bits.
#[inline]
#[target_feature(enable = "avx512bw")]
fn products_of_runs<const ONE: bool, const P: usize>(
    planes: [&[Line]; P],
    (lines, p, run): (&[Line], usize, usize),
    columns: [usize; 4],
    fetch: impl Fn(usize),
) -> [[__m512i; 4]; P] {
    let strips = planes[0].len();
    // As every run starts at [`Lanes::start`].
    let starts = _mm512_set1_epi64((strips.div_ceil(run) as i64) << 31);
    let mut all = [[_mm512_sub_epi64(_mm512_setzero_si512(), starts); 4]; P];
    for (first, lines) in (0..).step_by(run).zip(lines[..strips * p].chunks(run * p)) {
        let mut sums = [[Lanes::start(); 4]; P];
        for (at, strip) in (first..).zip(lines.chunks_exact(p)) {
            fetch(at);
            let x = columns.map(|column| load::<false>(&strip[column]));
            for (sums, plane) in sums.iter_mut().zip(planes) {
                let d = load::<false>(&plane[at]);
                for (sum, x) in sums.iter_mut().zip(x) {
                    *sum = add_products_of_pairs::<ONE>(*sum, x, d);
                }
            }
        }
        for (all, sums) in all.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
            *all = _mm512_add_epi64(*all, even_plus_odd(*sums));
        }
    }
    all
}

/// Adds the products of a line of each of four columns to lanes: the sums of columns 0 and 2 to even ones, of 1 and 3
/// to odd ones.
#[inline]
#[target_feature(enable = "avx512bw")]
fn add_four(x: [__m512i; 4], d: __m512i, lanes: &mut Lanes) {
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

/// The same of two lines of each column, which count as two additions.
#[inline]
#[target_feature(enable = "avx512bw")]
fn add_four_of_two<const ONE: bool>(
    [first, second]: [[__m512i; 4]; 2],
    d: [__m512i; 2],
    lanes: &mut Lanes,
) {
    let mut sums = [_mm512_setzero_si512(); 4];
    for (sum, (first, second)) in sums.iter_mut().zip(first.into_iter().zip(second)) {
        *sum = add_products_of_pairs::<ONE>(_mm512_madd_epi16(first, d[0]), second, d[1]);
    }
    let [a, b, c, e] = sums;
    let ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let ce = _mm512_add_epi32(_mm512_unpacklo_epi32(c, e), _mm512_unpackhi_epi32(c, e));
    for half in [_mm512_unpacklo_epi64(ab, ce), _mm512_unpackhi_epi64(ab, ce)] {
        lanes.add(_mm512_add_epi32(half, Lanes::start()));
    }
}

/// Adds what so many strips left in lanes to the sums of as many columns, four by four.
#[target_feature(enable = "avx512f")]
pub(in crate::numeric::kernel) fn add_lanes(lanes: &[Lanes], strips: usize, sums: &mut [i64]) {
    let none = _mm512_setzero_si512();
    for (lanes, sums) in lanes.iter().zip(sums.chunks_mut(4)) {
        // Of columns 0 and 2 in turn, and of 1 and 3.
        let [even, odd] = lanes.even_and_odd(strips);
        let (first, second) = (
            _mm512_unpacklo_epi64(even, none),
            _mm512_unpacklo_epi64(odd, none),
        );
        let (third, fourth) = (
            _mm512_unpackhi_epi64(even, none),
            _mm512_unpackhi_epi64(odd, none),
        );
        add_sums_of_four(sums, first, second, third, fourth);
    }
}

/// Adds all lanes of each vector to the sum of one of up to four columns.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_sums_of_four(sums: &mut [i64], a: __m512i, b: __m512i, c: __m512i, e: __m512i) {
    let both = |a, b| _mm512_add_epi64(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
    let (ab, ce) = (both(a, b), both(c, e));
    let quarters = _mm512_add_epi64(
        _mm512_shuffle_i64x2::<0x44>(ab, ce),
        _mm512_shuffle_i64x2::<0xee>(ab, ce),
    );
    // Two lanes of a and b, two of c and e.
    let halves = (
        _mm512_castsi512_si256(quarters),
        _mm512_extracti64x4_epi64::<1>(quarters),
    );
    let all = _mm256_add_epi64(
        _mm256_permute2x128_si256::<0x20>(halves.0, halves.1),
        _mm256_permute2x128_si256::<0x31>(halves.0, halves.1),
    );
    let mut more = [0i64; 4];
    // SAFETY: four i64 are exactly 256 bits.
    unsafe { _mm256_storeu_si256(more.as_mut_ptr().cast(), all) };
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum = sum.wrapping_add(more);
    }
}

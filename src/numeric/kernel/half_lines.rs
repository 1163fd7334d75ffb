//! Margins and sums of slopes in vectors of 256 bits, of which two hold a line: for machines that have no wider ones.

use std::arch::x86_64::*;

use super::margins::x86::ask;
use super::memory::x86::Ahead;
use super::weights::{Batch, LOW_BITS, Plane};
use crate::numeric::strips::{LINE, Line, Strips};

/// Records of half a line.
pub(super) const HALF: usize = LINE / 2;

/// Sums of i32 in lanes of 64 bits. All start at 2^31, so that none is negative and a lane is `odd 2^32 + even` as it
/// stands: lanes add up, modulo 2^64, while the odd ones are summed apart.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    total: __m256i,
    odd: __m256i,
}

impl Lanes {
    /// Where 32-bit sums start.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn start() -> __m256i {
        _mm256_set1_epi32(i32::MIN)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn zero() -> Self {
        Self {
            total: _mm256_setzero_si256(),
            odd: _mm256_setzero_si256(),
        }
    }

    /// Adds the 32-bit sums of each part, which started at [`Lanes::start`], the high one first.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn add<const PARTS: usize>(&mut self, sums: [__m256i; PARTS]) {
        let odd = sums.map(|sums| _mm256_srli_epi64::<32>(sums));
        self.total = _mm256_add_epi64(self.total, all_parts(sums));
        self.odd = _mm256_add_epi64(self.odd, all_parts(odd));
    }

    /// The sums of even and of odd lanes, after so many additions of so many parts.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn even_and_odd<const PARTS: usize>(self, additions: usize) -> [__m256i; 2] {
        let starts = all_parts([_mm256_set1_epi64x((additions as i64) << 31); PARTS]);
        let even = _mm256_sub_epi64(self.total, _mm256_slli_epi64::<32>(self.odd));
        [even, self.odd].map(|sums| _mm256_sub_epi64(sums, starts))
    }
}

/// high 2^15 + low, or the only part.
#[inline]
#[target_feature(enable = "avx2")]
fn all_parts<const PARTS: usize>(parts: [__m256i; PARTS]) -> __m256i {
    let mut all = parts[0];
    for low in &parts[1..] {
        all = _mm256_add_epi64(_mm256_slli_epi64::<{ LOW_BITS as i32 }>(all), *low);
    }
    all
}

/// So many lanes that hold nothing.
#[target_feature(enable = "avx2")]
pub(super) fn no_lanes(len: usize) -> Vec<Lanes> {
    vec![Lanes::zero(); len]
}

/// Half of a line, or the `SIZES` of its entries.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load<const SIZES: bool>(line: &Line, half: usize) -> __m256i {
    let (halves, _) = line.as_chunks::<HALF>();
    // SAFETY: half a line is exactly 256 bits.
    let entries = unsafe { _mm256_loadu_si256(halves[half].as_ptr().cast()) };
    if SIZES {
        _mm256_abs_epi16(entries)
    } else {
        entries
    }
}

/// Margins of every plane += the sum of weight * column, strip by strip; the last may end before its strip does.
/// Lines are asked for as `ASK` says.
#[target_feature(enable = "avx2")]
pub(super) fn add<const ASK: u8>(
    margins: &mut [&mut [i64]],
    strips: Strips<'_>,
    batches: &[Batch],
) {
    let ahead = Ahead::with_pauses();
    for (k, strip) in strips.iter().enumerate() {
        for batch in batches {
            for (place, plane) in batch.planes.iter().enumerate() {
                let margins = &mut margins[plane.plane][k * LINE..];
                match margins.first_chunk_mut::<LINE>() {
                    Some(line) => add_plane::<ASK>(line, strip, (batch, place), ahead),
                    None => {
                        let mut last = [0; LINE];
                        last[..margins.len()].copy_from_slice(margins);
                        add_plane::<ASK>(&mut last, strip, (batch, place), ahead);
                        margins.copy_from_slice(&last[..margins.len()]);
                    }
                }
            }
        }
    }
}

/// The same of one strip and the plane at this place of a batch.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add_plane<const ASK: u8>(
    margins: &mut [i64; LINE],
    strip: &[Line],
    (batch, place): (&Batch, usize),
    ahead: Ahead,
) {
    // Whoever reads the lines of a batch first asks for others.
    match (batch.low, place) {
        (false, 0) => add_sums::<ASK, 1>(margins, strip, (batch, place), ahead),
        (true, 0) => add_sums::<ASK, 2>(margins, strip, (batch, place), ahead),
        (false, _) => add_sums::<{ ask::NOTHING }, 1>(margins, strip, (batch, place), ahead),
        (true, _) => add_sums::<{ ask::NOTHING }, 2>(margins, strip, (batch, place), ahead),
    }
}

/// The same, of weights of so many parts.
///
/// Two columns are multiplied at once, in lanes of 32 bits. Sums of four pairs by high parts, or by low ones, are at
/// most 2^31 - 2^17.
#[inline]
#[target_feature(enable = "avx2")]
fn add_sums<const ASK: u8, const PARTS: usize>(
    margins: &mut [i64; LINE],
    strip: &[Line],
    (batch, place): (&Batch, usize),
    ahead: Ahead,
) {
    let (weights, _) = batch.weights.as_chunks::<PARTS>();
    let (eights, planes) = (batch.columns.len(), batch.planes.len());
    assert!(weights.len() == 4 * planes * eights);
    // Of the first and of the second four of every eight records, half by half.
    let mut lanes = [[Lanes::zero(); 2]; 2];
    for (columns, weights) in batch.columns.iter().zip(weights.chunks_exact(4 * planes)) {
        let weights = [0, 1, 2, 3].map(|pair| &weights[pair * planes + place]);
        let lines = columns.map(|column| &strip[column]);
        ask_beyond::<ASK>(&lines, ahead);
        let [first, second] = &mut lanes;
        add_eight(first, lines, 0, weights);
        add_eight(second, lines, 1, weights);
    }
    for (lanes, margins) in lanes.into_iter().zip(margins.as_chunks_mut().0) {
        let fours = lanes.map(|lanes| lanes.even_and_odd::<PARTS>(eights));
        add_to_half(margins, fours, batch.planes[place]);
    }
}

/// Asks memory for lines beyond these.
#[inline(always)]
fn ask_beyond<const ASK: u8>(lines: &[&Line; 8], ahead: Ahead) {
    for &lines in lines.as_chunks().0 {
        if ASK != ask::NOTHING {
            how_far::<ASK>(ahead).of_both(lines);
        }
        if ASK == ask::THRICE {
            Ahead::again(lines);
        }
        if ASK == ask::TWICE || ASK == ask::THRICE {
            Ahead::soon(lines);
        }
    }
}

/// How far ahead, which compilers know where lines are asked for again.
#[inline(always)]
pub(super) fn how_far<const ASK: u8>(ahead: Ahead) -> Ahead {
    match ASK {
        ask::TWICE | ask::THRICE => Ahead::SECOND,
        _ => ahead,
    }
}

/// Adds halves of the lines of eight columns, times their weights, pair by pair, to lanes of the first and of the
/// second four of every eight records.
#[inline]
#[target_feature(enable = "avx2")]
fn add_eight<const PARTS: usize>(
    lanes: &mut [Lanes; 2],
    lines: [&Line; 8],
    half: usize,
    weights: [&[i32; PARTS]; 4],
) {
    let mut sums = [[Lanes::start(); PARTS]; 2];
    let [a, b, c, d, e, f, g, h] = lines;
    // A compiler leaves a loop over pairs as one over sums in memory.
    add_pair(&mut sums, [a, b], half, weights[0]);
    add_pair(&mut sums, [c, d], half, weights[1]);
    add_pair(&mut sums, [e, f], half, weights[2]);
    add_pair(&mut sums, [g, h], half, weights[3]);
    for (lanes, sums) in lanes.iter_mut().zip(sums) {
        lanes.add(sums);
    }
}

/// Adds half a line of each of two columns, times its weights, to the sums of each part of both fours.
#[inline]
#[target_feature(enable = "avx2")]
fn add_pair<const PARTS: usize>(
    sums: &mut [[__m256i; PARTS]; 2],
    lines: [&Line; 2],
    half: usize,
    weights: &[i32; PARTS],
) {
    let [a, b] = lines.map(|line| load::<false>(line, half));
    let fours = [_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)];
    for (part, &weight) in weights.iter().enumerate() {
        let weight = _mm256_set1_epi32(weight);
        for (sums, four) in sums.iter_mut().zip(fours) {
            sums[part] = _mm256_add_epi32(sums[part], _mm256_madd_epi16(four, weight));
        }
    }
}

/// margins += 2^shift times the sums of even and odd lanes, of the first and of the second four of every eight records.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add_to_half(margins: &mut [i64; HALF], fours: [[__m256i; 2]; 2], plane: Plane) {
    let shift = _mm_cvtsi32_si128(plane.shift as i32);
    let (margins, _) = margins.as_chunks_mut::<4>();
    for (four, [even, odd]) in fours.into_iter().enumerate() {
        let (low, high) = (
            _mm256_unpacklo_epi64(even, odd),
            _mm256_unpackhi_epi64(even, odd),
        );
        let ordered = [
            _mm256_permute2x128_si256::<0x20>(low, high),
            _mm256_permute2x128_si256::<0x31>(low, high),
        ];
        for (eight, sums) in ordered.into_iter().enumerate() {
            add_to(
                &mut margins[2 * eight + four],
                _mm256_sll_epi64(sums, shift),
            );
        }
    }
}

/// margins += sums, of four records.
#[inline]
#[target_feature(enable = "avx2")]
fn add_to(margins: &mut [i64; 4], sums: __m256i) {
    // SAFETY: four i64 are exactly 256 bits.
    let before = unsafe { _mm256_loadu_si256(margins.as_ptr().cast()) };
    // SAFETY: as for the load.
    unsafe { _mm256_storeu_si256(margins.as_mut_ptr().cast(), _mm256_add_epi64(before, sums)) };
}

/// Adds the inner products of all `p` columns, or of the `SIZES` of their entries, with planes of d to the lanes of
/// each, two columns in one, strip by strip.
#[target_feature(enable = "avx2")]
pub(super) fn add_strips<const SIZES: bool>(
    planes: &[&[Line]],
    lines: &[Line],
    p: usize,
    lanes: &mut [&mut [Lanes]],
) {
    for (k, strip) in lines.chunks_exact(p).enumerate().take(planes[0].len()) {
        for (d, lanes) in planes.iter().zip(&mut *lanes) {
            add_strip::<SIZES>(&d[k], strip, lanes, |_| {});
        }
    }
}

/// The same of one strip; before the k-th four of its lines `fetch(k)` asks memory for others.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add_strip<const SIZES: bool>(
    d: &Line,
    strip: &[Line],
    lanes: &mut [Lanes],
    fetch: impl Fn(usize),
) {
    let d = [load::<false>(d, 0), load::<false>(d, 1)];
    let (fours, rest) = strip.as_chunks::<4>();
    let (twos, _) = lanes.as_chunks_mut::<2>();
    for (k, ([a, b, c, e], [ab, ce])) in fours.iter().zip(twos).enumerate() {
        fetch(k);
        add_two::<SIZES>([a, b], d, ab);
        add_two::<SIZES>([c, e], d, ce);
    }
    let lanes = &mut lanes[2 * fours.len()..];
    for (two, lanes) in rest.chunks(2).zip(lanes) {
        // Nothing in the place of a column that there is not.
        add_two::<SIZES>([&two[0], two.get(1).unwrap_or(&[0; LINE])], d, lanes);
    }
}

/// Adds the products of a line of each of two columns to lanes: the sums of the first to even ones, of the second to
/// odd ones.
///
/// Products of a line, pair by pair, are 16 sums below 2^29; of four of them 32 bits hold the sum: at most 2^31 - 2^17.
#[inline]
#[target_feature(enable = "avx2")]
fn add_two<const SIZES: bool>(lines: [&Line; 2], d: [__m256i; 2], lanes: &mut Lanes) {
    let [a, b] = lines.map(|line| {
        _mm256_add_epi32(
            _mm256_madd_epi16(load::<SIZES>(line, 0), d[0]),
            _mm256_madd_epi16(load::<SIZES>(line, 1), d[1]),
        )
    });
    let sums = _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    lanes.add([_mm256_add_epi32(sums, Lanes::start())]);
}

/// Adds what so many strips left in lanes to the sums of as many columns, two by two.
#[target_feature(enable = "avx2")]
pub(super) fn add_lanes(lanes: &[Lanes], strips: usize, sums: &mut [i64]) {
    for (lanes, sums) in lanes.iter().zip(sums.chunks_mut(2)) {
        for (sum, own) in sums.iter_mut().zip(lanes.even_and_odd::<1>(strips)) {
            let mut four = [0; 4];
            add_to(&mut four, own);
            *sum = four.into_iter().fold(*sum, i64::wrapping_add);
        }
    }
}

//! Integer kernels over plain slices, with run-time dispatch to wider instructions.
//!
//! **The crate's `unsafe`**, but for the map of a file in [`mapped`](super::mapped). Audit: every `unsafe` block is a
//! call of a `target_feature` function where `width` has detected its features, an unaligned vector load or store whose
//! bounds are those of the chunk it touches, a prefetch (which touches nothing), or the advice on pages in
//! [`on_large_pages`]. Integer arithmetic is exact and floats are never contracted or reassociated, so every path
//! returns the same bits.
//!
//! Magnitudes: features |x| <= [`MAX_FEATURE`] = 16383 = 2^14 - 1, derivatives |d| <= [`MAX_DERIVATIVE`] =
//! 2^14.

use rayon::prelude::*;

/// Largest magnitude of a stored feature: two of them differ by at most 32766, so that a sparse entry stored
/// relative to the value of an unstored zero fits an i16 and -32768 never occurs.
pub const MAX_FEATURE: i16 = 16_383;

/// Largest magnitude of a quantised derivative.
pub const MAX_DERIVATIVE: i16 = 1 << 14;

/// The instructions that kernels are compiled for, each a superset of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Width {
    /// What every machine has.
    Portable,
    /// `avx2`.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// `avx2` and `avx512f`, `avx512bw`, `avx512dq`, `avx512vl`.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The widest instructions that this machine has.
fn detected() -> Width {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        let wider = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        return if wider { Width::Avx512 } else { Width::Avx2 };
    }
    Width::Portable
}

/// The instructions to use: the widest that were detected. A test may ask for narrower ones, never for wider.
pub(super) fn width() -> Width {
    #[cfg(test)]
    return detected().min(tests::LIMIT.get());
    #[cfg(not(test))]
    detected()
}

/// The same vector, after it has asked the operating system for large pages: fewer page faults on first touch, and entries
/// far apart stay within reach of the translation buffers. It should be new, its memory not touched yet.
pub fn on_large_pages<T>(mut vector: Vec<T>) -> Vec<T> {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 2 << 20;
        let bytes = std::mem::size_of::<T>() * vector.capacity();
        let start = vector.as_mut_ptr().cast::<u8>();
        let skip = start.align_offset(PAGE);
        if let Some(whole) = bytes.checked_sub(skip).map(|rest| rest / PAGE * PAGE)
            && whole > 0
        {
            // SAFETY: the range lies inside what the vector has reserved, and the advice changes no contents.
            // Refusal is harmless.
            unsafe { libc::madvise(start.add(skip).cast(), whole, libc::MADV_HUGEPAGE) };
        }
    }
    vector
}

/// out_j = <column j, d> for columns stored one after the other, by all threads. `columns` must hold
/// out.len() * d.len() entries.
pub fn gradient_pass(columns: &[i16], d: &[i16], out: &mut [i64]) {
    debug_assert_eq!(columns.len(), out.len() * d.len());
    out.par_chunks_mut(4)
        .zip(columns.par_chunks(4 * d.len()))
        .for_each(|(out, block)| inner_products(block, d, out));
}

/// The same by one thread.
pub fn inner_products(columns: &[i16], d: &[i16], out: &mut [i64]) {
    debug_assert_eq!(columns.len(), out.len() * d.len());
    let n = d.len();
    for (out, block) in out.chunks_mut(4).zip(columns.chunks(4 * n)) {
        if let [a, b, c, e] = out {
            let (left, right) = block.split_at(2 * n);
            let ((x0, x1), (x2, x3)) = (left.split_at(n), right.split_at(n));
            [*a, *b, *c, *e] = dot4([x0, x1, x2, x3], d);
        } else {
            for (out, column) in out.iter_mut().zip(block.chunks_exact(n)) {
                *out = dot_portable(column, d);
            }
        }
    }
}

/// Records that columns and planes of d are cut into: whole runs of the widest kernel, few enough that four pieces of
/// columns stay in the nearest cache while all planes pass by.
const PIECE: usize = 3072;

/// The inner products of columns that are stored one after the other with each of several planes of d, by one thread:
/// those of the first plane, then those of the next. The columns are read once.
pub fn inner_products_of_planes(columns: &[i16], planes: &[Vec<i16>]) -> Vec<i64> {
    let n = planes.first().map_or(0, Vec::len);
    let count = columns.len().checked_div(n).unwrap_or(0);
    let mut out = vec![0i64; planes.len() * count];
    for start in (0..n).step_by(PIECE) {
        let piece = start..n.min(start + PIECE);
        for first in (0..count).step_by(4) {
            let column = |j: usize| &columns[j * n..][piece.clone()];
            for (plane, out) in planes.iter().zip(out.chunks_mut(count)) {
                let (d, out) = (&plane[piece.clone()], &mut out[first..count.min(first + 4)]);
                if let [a, b, c, e] = out {
                    let dots = dot4(std::array::from_fn(|k| column(first + k)), d);
                    // Below 2^59 in all, as a sum of fewer than 2^31 products.
                    *a = a.wrapping_add(dots[0]);
                    *b = b.wrapping_add(dots[1]);
                    *c = c.wrapping_add(dots[2]);
                    *e = e.wrapping_add(dots[3]);
                } else {
                    for (k, out) in out.iter_mut().enumerate() {
                        *out = out.wrapping_add(dot_portable(column(first + k), d));
                    }
                }
            }
        }
    }
    out
}

/// Records that the widest kernel of inner products takes at a time: pieces of whole runs leave no rest.
pub const WHOLE: usize = 128;

/// sums_j += what column j holds from entry `start` on times d, columns of `n` entries stored one after the other, by one
/// thread. Sums stay below 2^59 as those of whole columns do.
pub fn add_inner_products(
    (columns, n): (&[i16], usize),
    start: usize,
    d: &[i16],
    sums: &mut [i64],
) {
    let column = |j: usize| &columns[j * n + start..][..d.len()];
    for (first, sums) in (0..).step_by(4).zip(sums.chunks_mut(4)) {
        if let [a, b, c, e] = sums {
            let dots = dot4(std::array::from_fn(|k| column(first + k)), d);
            *a = a.wrapping_add(dots[0]);
            *b = b.wrapping_add(dots[1]);
            *c = c.wrapping_add(dots[2]);
            *e = e.wrapping_add(dots[3]);
        } else {
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = sum.wrapping_add(dot_portable(column(first + k), d));
            }
        }
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

/// The sum of the sizes of a column's entries, of which there are fewer than 2^31.
pub fn sum_of_sizes(column: &[i16]) -> i64 {
    /// So many sizes below 2^14 fit a u32.
    const PIECE: usize = 1 << 16;
    #[inline(always)]
    fn body(column: &[i16]) -> i64 {
        column.chunks(PIECE).fold(0i64, |sum, piece| {
            let sizes = piece.iter().map(|&x| u32::from(x.unsigned_abs()));
            sum.wrapping_add(i64::from(sizes.fold(0u32, u32::wrapping_add)))
        })
    }
    dispatch!([], body, (column: &[i16]) -> i64)
}

/// sums_i += x_i^2; nothing is checked, for the caller's proof that it fits.
pub fn add_squares(sums: &mut [i64], column: &[i16]) {
    #[inline(always)]
    fn body(sums: &mut [i64], column: &[i16]) {
        for (sum, &x) in sums.iter_mut().zip(column) {
            let x = i32::from(x);
            *sum = sum.wrapping_add(i64::from(x.wrapping_mul(x)));
        }
    }
    dispatch!([], body, (sums: &mut [i64], column: &[i16]) -> ())
}

/// margins += weight * column. The caller proves that margins cannot overflow and that weight * x fits an i64: nothing
/// is checked here, so that wide instructions are used.
pub fn add_scaled(margins: &mut [i64], column: &[i16], weight: i64) {
    debug_assert_eq!(margins.len(), column.len());
    match i32::try_from(weight) {
        // |weight| <= 2^17 keeps weight * x below 2^31.
        Ok(small) if small.unsigned_abs() <= 1 << 17 => {
            #[cfg(target_arch = "x86_64")]
            if width() >= Width::Avx2 {
                // SAFETY: the feature was detected.
                return unsafe { x86::add_scaled_avx2(margins, column, small) };
            }
            add_scaled_small(margins, column, small);
        }
        _ => {
            for (margin, &x) in margins.iter_mut().zip(column) {
                *margin = margin.wrapping_add(weight.wrapping_mul(i64::from(x)));
            }
        }
    }
}

/// margins += the sum over `terms` (j, weight) of weight times what column j holds from entry `start` on, columns of `n`
/// entries stored one after the other. The caller proves that margins cannot overflow, as for [`add_scaled`].
pub fn add_products(
    margins: &mut [i64],
    (columns, n): (&[i16], usize),
    start: usize,
    terms: &[(usize, i64)],
) {
    let len = margins.len();
    let column = |j: usize| &columns[j * n + start..][..len];
    #[cfg(target_arch = "x86_64")]
    if width() >= Width::Avx512 && terms.len() > 2 {
        for terms in terms.chunks(MANY) {
            add_many(margins, column, terms);
        }
        return;
    }
    for terms in terms.chunks(4) {
        let fit = terms
            .iter()
            .all(|&(_, weight)| i32::try_from(weight).is_ok());
        if let ([first, _, ..], true) = (terms, fit) {
            // Fewer than four: a column with the weight 0 changes nothing.
            let term = |k: usize| *terms.get(k).unwrap_or(&(first.0, 0));
            let weights = std::array::from_fn(|k| term(k).1 as i32);
            add_four(margins, std::array::from_fn(|k| column(term(k).0)), weights);
        } else {
            for &(j, weight) in terms {
                add_scaled(margins, column(j), weight);
            }
        }
    }
}

/// Columns that the widest kernel of margins takes at a time, eight by eight.
#[cfg(target_arch = "x86_64")]
const MANY: usize = 32;

/// Weights of pairs of columns as two 16-bit integers in one of 32 bits each, as the kernel multiplies them:
/// weight = high 2^16 + low, |high| <= 2^14, -2^15 <= low < 2^15; or weight = high alone.
#[cfg(target_arch = "x86_64")]
#[derive(Default)]
struct Pairs {
    high: [i32; MANY / 2],
    low: Option<[i32; MANY / 2]>,
}

#[cfg(target_arch = "x86_64")]
impl Pairs {
    /// At most [`MANY`] weights of at most 2^30 each.
    fn new(weights: &[i64]) -> Self {
        let largest = weights.iter().map(|weight| weight.unsigned_abs()).max();
        let packed = |of: &dyn Fn(i64) -> i64| {
            let mut packed = [0i32; MANY / 2];
            for (packed, pair) in packed.iter_mut().zip(weights.chunks(2)) {
                let [first, second] = [0, 1].map(|k| pair.get(k).map_or(0, |&weight| of(weight)));
                *packed = ((second as u32) << 16 | u32::from(first as u16)) as i32;
            }
            packed
        };
        if largest <= Some(1 << 14) {
            return Self {
                high: packed(&|weight| weight),
                low: None,
            };
        }
        let low = |weight| balanced(weight, 16);
        Self {
            high: packed(&|weight| (weight - low(weight)) >> 16),
            low: Some(packed(&low)),
        }
    }
}

/// The residue of a weight modulo 2^bits that lies in [-2^(bits - 1), 2^(bits - 1)).
#[cfg(target_arch = "x86_64")]
fn balanced(weight: i64, bits: u32) -> i64 {
    weight << (64 - bits) >> (64 - bits)
}

/// margins += the sum of weight * column over at most [`MANY`] columns of the same length, for AVX-512.
#[cfg(target_arch = "x86_64")]
fn add_many<'a>(margins: &mut [i64], column: impl Fn(usize) -> &'a [i16], terms: &[(usize, i64)]) {
    let mut columns = [column(terms[0].0); MANY];
    let mut weights = [0i64; MANY];
    for ((slot, weight), term) in columns.iter_mut().zip(&mut weights).zip(terms) {
        (*slot, *weight) = (column(term.0), term.1);
    }
    // Eight by eight: a column with the weight 0 changes nothing.
    let count = terms.len().next_multiple_of(8);
    let (columns, weights) = (&columns[..count], &mut weights[..count]);
    // Weights beyond 2^30 part by part, from the lowest 30 bits on.
    let mut shift = 0;
    loop {
        let beyond = weights.iter().any(|weight| weight.unsigned_abs() > 1 << 30);
        let mut part = [0i64; MANY];
        for (part, weight) in part.iter_mut().zip(weights.iter_mut()) {
            *part = if beyond {
                balanced(*weight, 30)
            } else {
                *weight
            };
            *weight = weight.wrapping_sub(*part) >> 30;
        }
        let pairs = Pairs::new(&part[..count]);
        // SAFETY: who calls this has detected AVX-512.
        unsafe {
            match &pairs.low {
                None => x86::add_many_avx512::<false>(margins, columns, &pairs, shift),
                Some(_) => x86::add_many_avx512::<true>(margins, columns, &pairs, shift),
            }
        }
        let whole = margins.len() / 32 * 32;
        for (column, weight) in columns.iter().zip(part) {
            for (margin, &x) in margins[whole..].iter_mut().zip(&column[whole..]) {
                *margin = margin.wrapping_add((weight * i64::from(x)) << shift);
            }
        }
        if !beyond {
            return;
        }
        shift += 30;
    }
}

/// margins += the sum of weight * column over four columns of the same length.
fn add_four(margins: &mut [i64], columns: [&[i16]; 4], weights: [i32; 4]) {
    debug_assert!(columns.iter().all(|column| column.len() == margins.len()));
    match width() {
        Width::Portable => add_four_portable(margins, columns, weights),
        // SAFETY: the feature was detected.
        #[cfg(target_arch = "x86_64")]
        Width::Avx2 | Width::Avx512 => unsafe { x86::add_four_avx2(margins, columns, weights) },
    }
}

/// Products are below 2^31 2^14; that sums fit is the caller's proof.
fn add_four_portable(margins: &mut [i64], columns: [&[i16]; 4], weights: [i32; 4]) {
    for (column, weight) in columns.into_iter().zip(weights) {
        for (margin, &x) in margins.iter_mut().zip(column) {
            *margin = margin.wrapping_add(i64::from(weight).wrapping_mul(i64::from(x)));
        }
    }
}

#[inline(always)]
fn add_scaled_small(margins: &mut [i64], column: &[i16], weight: i32) {
    for (margin, &x) in margins.iter_mut().zip(column) {
        *margin = margin.wrapping_add(i64::from(weight.wrapping_mul(i32::from(x))));
    }
}

/// Compiles a generic body again with AVX-512 and with AVX2 and calls the widest copy that the machine has.
macro_rules! dispatch {
    ([$($generics:tt)*], $body:ident, ($($name:ident: $type:ty),*) -> $result:ty) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            fn widest<$($generics)*>($($name: $type),*) -> $result {
                $body($($name),*)
            }
            #[target_feature(enable = "avx2")]
            fn wide<$($generics)*>($($name: $type),*) -> $result {
                $body($($name),*)
            }
            use $crate::numeric::kernel::{Width, width};
            match width() {
                Width::Portable => {}
                // SAFETY: the features were detected.
                Width::Avx2 => return unsafe { wide($($name),*) },
                // SAFETY: the features were detected.
                Width::Avx512 => return unsafe { widest($($name),*) },
            }
        }
        $body($($name),*)
    }};
}

pub(super) use dispatch;

/// out_i = map(a_i, b_i), compiled for wide vectors too; `map` should be `#[inline(always)]` and free of
/// branches.
///
/// # Panics
/// When the lengths differ.
pub fn map_pairs<F: Fn(f64, f64) -> f64>(a: &[f64], b: &[f64], out: &mut [f64], map: F) {
    #[inline(always)]
    fn body<F: Fn(f64, f64) -> f64>(a: &[f64], b: &[f64], out: &mut [f64], map: F) {
        let (a, b) = (&a[..out.len()], &b[..out.len()]);
        for k in 0..out.len() {
            out[k] = map(a[k], b[k]);
        }
    }
    dispatch!([F: Fn(f64, f64) -> f64], body, (a: &[f64], b: &[f64], out: &mut [f64], map: F) -> ())
}

/// Does `work`, compiled for wide vectors too; it should be `#[inline(always)]`.
pub fn for_wide_vectors<F: FnOnce()>(work: F) {
    #[inline(always)]
    fn body<F: FnOnce()>(work: F) {
        work();
    }
    dispatch!([F: FnOnce()], body, (work: F) -> ())
}

/// out_i = round(clamp(x_i * scale, -bound, bound)), ties to even; NaN gives 0. `bound` is at most 2^14.
pub fn round_clamped(x: &[f64], scale: f64, bound: f64, out: &mut [i16]) {
    #[inline(always)]
    fn body(x: &[f64], scale: f64, bound: f64, out: &mut [i16]) {
        for (out, &x) in out.iter_mut().zip(x) {
            let x = if x.is_nan() { 0.0 } else { x };
            *out = quantise(x, scale, 0.0, -bound, bound);
        }
    }
    dispatch!([], body, (x: &[f64], scale: f64, bound: f64, out: &mut [i16]) -> ())
}

/// Affine maps of features onto the integer lattice, one array per constant:
/// x -> round(clamp(x * scale + offset, low, high)), with -16383 <= low <= high <= 16383.
#[derive(Debug, Clone, Copy)]
pub struct LatticeMaps<'a> {
    /// Lattice units per unit of x.
    pub scale: &'a [f64],
    /// Lattice value of x = 0 before clipping.
    pub offset: &'a [f64],
    /// Lattice value of the lower bound.
    pub low: &'a [f64],
    /// Lattice value of the upper bound.
    pub high: &'a [f64],
}

/// One value, ties to even. A value that is not finite gives some lattice point: the caller checks
/// finiteness.
#[inline(always)]
pub fn quantise(x: f64, scale: f64, offset: f64, low: f64, high: f64) -> i16 {
    const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52: adding it rounds to an integer, ties to even
    let clipped = (x * scale + offset).max(low).min(high);
    // The low 16 bits of the shifted float are the integer in two's complement.
    ((clipped + SHIFT).to_bits() as u16) as i16
}

/// A contiguous column under the map number `j`; false when an entry is not finite.
pub fn quantise_column<T: Copy + Into<f64>>(
    column: &[T],
    maps: LatticeMaps,
    j: usize,
    out: &mut [i16],
) -> bool {
    #[inline(always)]
    fn body<T: Copy + Into<f64>>(
        column: &[T],
        maps: LatticeMaps,
        j: usize,
        out: &mut [i16],
    ) -> bool {
        let (scale, offset, low, high) = (maps.scale[j], maps.offset[j], maps.low[j], maps.high[j]);
        let mut finite = true;
        for (out, &x) in out.iter_mut().zip(column) {
            let x: f64 = x.into();
            finite &= x.is_finite();
            *out = quantise(x, scale, offset, low, high);
        }
        finite
    }
    dispatch!([T: Copy + Into<f64>], body, (column: &[T], maps: LatticeMaps, j: usize, out: &mut [i16]) -> bool)
}

/// A contiguous piece of a row, entry k under the map number `first + k`; false when an entry is not finite.
pub fn quantise_row<T: Copy + Into<f64>>(
    row: &[T],
    maps: LatticeMaps,
    first: usize,
    out: &mut [i16],
) -> bool {
    #[inline(always)]
    fn body<T: Copy + Into<f64>>(
        row: &[T],
        maps: LatticeMaps,
        first: usize,
        out: &mut [i16],
    ) -> bool {
        let [scale, offset, low, high] = [maps.scale, maps.offset, maps.low, maps.high]
            .map(|constants| &constants[first..][..out.len()]);
        let row = &row[..out.len()];
        let mut finite = true;
        for k in 0..out.len() {
            let x: f64 = row[k].into();
            finite &= x.is_finite();
            out[k] = quantise(x, scale[k], offset[k], low[k], high[k]);
        }
        finite
    }
    dispatch!([T: Copy + Into<f64>], body,
        (row: &[T], maps: LatticeMaps, first: usize, out: &mut [i16]) -> bool)
}

/// Turns a tile of rows into pieces of columns: out[k][start + row] = tile[row * stride + k].
///
/// # Panics
/// When the tile or a column is too short.
pub fn transpose(tile: &[i16], stride: usize, out: &mut [&mut [i16]], start: usize) {
    let rows = tile.len() / stride;
    assert!(out.len() <= stride);
    for (eight, out) in out.chunks_mut(8).enumerate() {
        let first = eight * 8;
        let mut row = 0;
        #[cfg(target_arch = "x86_64")]
        if out.len() == 8 {
            while row + 8 <= rows {
                let lines = std::array::from_fn(|k| &tile[(row + k) * stride + first..][..8]);
                let columns = x86::transpose8(lines);
                for (out, column) in out.iter_mut().zip(columns) {
                    out[start + row..][..8].copy_from_slice(&column);
                }
                row += 8;
            }
        }
        for row in row..rows {
            for (k, out) in out.iter_mut().enumerate() {
                out[start + row] = tile[row * stride + first + k];
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// Eight rows of eight entries as columns. SSE2 is part of every x86-64 machine.
    #[inline(always)]
    pub(super) fn transpose8(rows: [&[i16]; 8]) -> [[i16; 8]; 8] {
        // SAFETY: SSE2 is there; the slice index checks that each load has its 128 bits.
        let r = rows.map(|row| unsafe { _mm_loadu_si128(row[..8].as_ptr().cast()) });
        // SAFETY: SSE2 is there.
        let columns = unsafe {
            let (a0, a1) = (
                _mm_unpacklo_epi16(r[0], r[1]),
                _mm_unpackhi_epi16(r[0], r[1]),
            );
            let (a2, a3) = (
                _mm_unpacklo_epi16(r[2], r[3]),
                _mm_unpackhi_epi16(r[2], r[3]),
            );
            let (a4, a5) = (
                _mm_unpacklo_epi16(r[4], r[5]),
                _mm_unpackhi_epi16(r[4], r[5]),
            );
            let (a6, a7) = (
                _mm_unpacklo_epi16(r[6], r[7]),
                _mm_unpackhi_epi16(r[6], r[7]),
            );
            let (b0, b1) = (_mm_unpacklo_epi32(a0, a2), _mm_unpackhi_epi32(a0, a2));
            let (b2, b3) = (_mm_unpacklo_epi32(a1, a3), _mm_unpackhi_epi32(a1, a3));
            let (b4, b5) = (_mm_unpacklo_epi32(a4, a6), _mm_unpackhi_epi32(a4, a6));
            let (b6, b7) = (_mm_unpacklo_epi32(a5, a7), _mm_unpackhi_epi32(a5, a7));
            [
                _mm_unpacklo_epi64(b0, b4),
                _mm_unpackhi_epi64(b0, b4),
                _mm_unpacklo_epi64(b1, b5),
                _mm_unpackhi_epi64(b1, b5),
                _mm_unpacklo_epi64(b2, b6),
                _mm_unpackhi_epi64(b2, b6),
                _mm_unpacklo_epi64(b3, b7),
                _mm_unpackhi_epi64(b3, b7),
            ]
        };
        columns.map(|column| {
            let mut entries = [0i16; 8];
            // SAFETY: eight i16 are exactly 128 bits.
            unsafe { _mm_storeu_si128(entries.as_mut_ptr().cast(), column) };
            entries
        })
    }

    /// Vectors summed in i32 before widening: four pair sums stay below 2^31.
    const RUN: usize = 4;

    /// Sums of i32 in lanes of 64 bits. An even one starts at 2^31, so that it is never negative and the lane is
    /// `odd 2^32 + even` as it stands: lanes add up, modulo 2^64, while the odd ones are summed apart.
    #[derive(Clone, Copy)]
    struct Lanes {
        total: __m512i,
        odd: __m512i,
    }

    impl Lanes {
        /// Where 32-bit sums start.
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn start() -> __m512i {
            _mm512_set1_epi64(1 << 31)
        }

        #[inline]
        #[target_feature(enable = "avx512f")]
        fn zero() -> Self {
            Self {
                total: _mm512_setzero_si512(),
                odd: _mm512_setzero_si512(),
            }
        }

        /// Adds 32-bit sums that started at [`Lanes::start`].
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn add(&mut self, sums: __m512i) {
            self.total = _mm512_add_epi64(self.total, sums);
            self.odd = _mm512_add_epi64(self.odd, _mm512_srai_epi64::<32>(sums));
        }

        /// The sums of even and of odd lanes, after so many additions.
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn even_and_odd(self, additions: usize) -> (__m512i, __m512i) {
            let starts = _mm512_set1_epi64((additions as i64) << 31);
            let even = _mm512_sub_epi64(self.total, _mm512_slli_epi64::<32>(self.odd));
            (_mm512_sub_epi64(even, starts), self.odd)
        }
    }

    /// Entries between a load and the prefetch beside it: 2 KiB.
    const AHEAD: usize = 1024;

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
                    #[allow(unused_unsafe)] // a safe function in newer compilers
                    // SAFETY: a prefetch reads nothing, wherever its address points.
                    unsafe {
                        _mm_prefetch::<_MM_HINT_T0>(column.as_ptr().wrapping_add(at + AHEAD).cast())
                    };
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
                + super::dot_portable(&columns[k][whole..], &d[whole..]);
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
            lanes.iter().sum::<i64>() + super::dot_portable(&columns[k][whole..], &d[whole..])
        })
    }

    /// margins += 2^shift times the sum of weight * column, 32 records at a time and without those that are left over.
    /// There is a multiple of eight columns, at most as many as `weights` has; `TWO` says whether it has low parts.
    ///
    /// Two columns are multiplied at once, in lanes of 32 bits: eight high parts, or four low ones, add up to at most
    /// 2^31 - 2^17. What comes next in memory, where the next piece of the same columns is as long, is fetched ahead.
    #[target_feature(enable = "avx512bw")]
    pub(super) fn add_many_avx512<const TWO: bool>(
        margins: &mut [i64],
        columns: &[&[i16]],
        weights: &super::Pairs,
        shift: u32,
    ) {
        const LANES: usize = 32;
        let (len, groups) = (margins.len(), columns.len() / 8);
        let shift = _mm_cvtsi32_si128(shift as i32);
        let low_weights = weights.low.unwrap_or_default();
        for (block, margins) in margins.chunks_exact_mut(LANES).enumerate() {
            let at = block * LANES;
            let load = |k: usize| {
                let column: &[i16] = columns[k];
                #[allow(unused_unsafe)] // a safe function in newer compilers
                // SAFETY: a prefetch reads nothing, wherever its address points.
                unsafe {
                    _mm_prefetch::<_MM_HINT_T1>(column.as_ptr().wrapping_add(at + len).cast());
                }
                // SAFETY: the slice index checks the bounds of the load.
                unsafe { _mm512_loadu_si512(column[at..at + LANES].as_ptr().cast()) }
            };
            // Of the first and of the second four of every eight records.
            let (mut high, mut low) = ([Lanes::zero(); 2], [Lanes::zero(); 2]);
            for group in 0..groups {
                let (mut high_sums, mut low_sums) = ([Lanes::start(); 2], [Lanes::start(); 2]);
                for pair in 0..4 {
                    let k = group * 4 + pair;
                    let (a, b) = (load(2 * k), load(2 * k + 1));
                    let halves = [_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b)];
                    let weight = _mm512_set1_epi32(weights.high[k]);
                    for (sum, half) in high_sums.iter_mut().zip(halves) {
                        *sum = _mm512_add_epi32(*sum, _mm512_madd_epi16(half, weight));
                    }
                    if TWO {
                        let weight = _mm512_set1_epi32(low_weights[k]);
                        for ((sum, half), lanes) in low_sums.iter_mut().zip(halves).zip(&mut low) {
                            *sum = _mm512_add_epi32(*sum, _mm512_madd_epi16(half, weight));
                            if pair % 2 == 1 {
                                lanes.add(*sum);
                                *sum = Lanes::start();
                            }
                        }
                    }
                }
                for (lanes, sum) in high.iter_mut().zip(high_sums) {
                    lanes.add(sum);
                }
            }
            // Records 0, 1, 8, 9, ... and 2, 3, 10, 11, ... of each half's own order.
            let mut quarters = [_mm512_setzero_si512(); 4];
            for half in 0..2 {
                let (mut even, mut odd) = high[half].even_and_odd(groups);
                if TWO {
                    let (low_even, low_odd) = low[half].even_and_odd(2 * groups);
                    even = _mm512_add_epi64(_mm512_slli_epi64::<16>(even), low_even);
                    odd = _mm512_add_epi64(_mm512_slli_epi64::<16>(odd), low_odd);
                }
                quarters[2 * half] = _mm512_unpacklo_epi64(even, odd);
                quarters[2 * half + 1] = _mm512_unpackhi_epi64(even, odd);
            }
            let [a, b, c, d] = quarters;
            let (ab, cd) = (
                _mm512_shuffle_i64x2::<0x44>(a, b),
                _mm512_shuffle_i64x2::<0x44>(c, d),
            );
            let (later_ab, later_cd) = (
                _mm512_shuffle_i64x2::<0xee>(a, b),
                _mm512_shuffle_i64x2::<0xee>(c, d),
            );
            let sums = [
                _mm512_shuffle_i64x2::<0x88>(ab, cd),
                _mm512_shuffle_i64x2::<0xdd>(ab, cd),
                _mm512_shuffle_i64x2::<0x88>(later_ab, later_cd),
                _mm512_shuffle_i64x2::<0xdd>(later_ab, later_cd),
            ];
            for (sum, margins) in sums.into_iter().zip(margins.chunks_exact_mut(8)) {
                // SAFETY: the chunk has eight i64, which are exactly 512 bits.
                let before = unsafe { _mm512_loadu_si512(margins.as_ptr().cast()) };
                let after = _mm512_add_epi64(before, _mm512_sll_epi64(sum, shift));
                // SAFETY: as for the load.
                unsafe { _mm512_storeu_si512(margins.as_mut_ptr().cast(), after) };
            }
        }
    }

    /// Four records at a time: the low halves of lanes hold all of a weight and of a feature.
    #[target_feature(enable = "avx2")]
    pub(super) fn add_four_avx2(margins: &mut [i64], columns: [&[i16]; 4], weights: [i32; 4]) {
        const LANES: usize = 4;
        let factors = weights.map(|weight| _mm256_set1_epi64x(i64::from(weight)));
        let whole = margins.len() / LANES * LANES;
        let (whole_margins, rest) = margins.split_at_mut(whole);
        for (four, margins) in whole_margins.chunks_exact_mut(LANES).enumerate() {
            let at = four * LANES;
            // SAFETY: the chunk has four i64, which are exactly 256 bits.
            let mut sum = unsafe { _mm256_loadu_si256(margins.as_ptr().cast()) };
            for (column, factor) in columns.iter().zip(factors) {
                // SAFETY: the slice index checks that the load has its 64 bits.
                let x = unsafe { _mm_loadl_epi64(column[at..at + LANES].as_ptr().cast()) };
                let product = _mm256_mul_epi32(_mm256_cvtepi16_epi64(x), factor);
                sum = _mm256_add_epi64(sum, product);
            }
            // SAFETY: as for the load.
            unsafe { _mm256_storeu_si256(margins.as_mut_ptr().cast(), sum) };
        }
        super::add_four_portable(rest, columns.map(|column| &column[whole..]), weights);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn add_scaled_avx2(margins: &mut [i64], column: &[i16], weight: i32) {
        super::add_scaled_small(margins, column, weight);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    const WIDTHS: &[Width] = &[
        Width::Portable,
        #[cfg(target_arch = "x86_64")]
        Width::Avx2,
        #[cfg(target_arch = "x86_64")]
        Width::Avx512,
    ];

    thread_local! {
        /// The widest instructions that kernels called by this thread may use.
        pub(super) static LIMIT: Cell<Width> = Cell::new(WIDTHS[WIDTHS.len() - 1]);
    }

    /// Results of `work` with every copy of the kernels that this machine can run, the portable one first.
    pub(crate) fn at_every_width<R>(mut work: impl FnMut() -> R) -> Vec<R> {
        let widest = LIMIT.get();
        let results = WIDTHS
            .iter()
            .filter(|width| **width <= detected())
            .map(|&width| {
                LIMIT.set(width);
                assert_eq!(super::width(), width);
                work()
            });
        let results = results.collect();
        LIMIT.set(widest);
        results
    }

    /// Processor seconds of all threads of this process, where the system tells; else of a clock on the wall.
    pub(crate) fn processor_seconds() -> f64 {
        #[cfg(target_os = "linux")]
        {
            let mut now = libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            // SAFETY: `now` is a place for what is written.
            unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) };
            now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
        }
        #[cfg(not(target_os = "linux"))]
        {
            static START: std::sync::LazyLock<std::time::Instant> =
                std::sync::LazyLock::new(std::time::Instant::now);
            START.elapsed().as_secs_f64()
        }
    }

    /// The sum of all entries modulo 2^16, read as fast as the machine allows: what passes over records are measured by.
    pub(crate) fn plain_read(entries: &[i16]) -> i16 {
        #[cfg(target_arch = "x86_64")]
        if width() == Width::Avx512 {
            // SAFETY: the features were detected.
            return unsafe { read_avx512(entries) };
        }
        entries.iter().fold(0, |a, b| a.wrapping_add(*b))
    }

    /// At four places in turn, a cache line at each, what comes next fetched ahead.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512bw")]
    fn read_avx512(entries: &[i16]) -> i16 {
        use std::arch::x86_64::*;
        const LINE: usize = 32;
        let part = entries.len() / 4 / LINE * LINE;
        let mut sums = [_mm512_setzero_si512(); 4];
        for start in (0..part).step_by(LINE) {
            for (k, sum) in sums.iter_mut().enumerate() {
                let line = entries[k * part + start..][..LINE].as_ptr();
                #[allow(unused_unsafe)] // a safe function in newer compilers
                // SAFETY: a prefetch reads nothing, wherever its address points.
                unsafe {
                    _mm_prefetch::<_MM_HINT_T0>(line.wrapping_add(1024).cast());
                }
                // SAFETY: the slice index checks the bounds of the load.
                *sum = _mm512_add_epi16(*sum, unsafe { _mm512_loadu_si512(line.cast()) });
            }
        }
        let mut lanes = [[0i16; LINE]; 4];
        for (lanes, sum) in lanes.iter_mut().zip(sums) {
            // SAFETY: 32 i16 are exactly 512 bits.
            unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), sum) };
        }
        let rest = entries[4 * part..].iter();
        (lanes.as_flattened().iter().chain(rest)).fold(0, |a, b| a.wrapping_add(*b))
    }

    /// Weights of one size, so that every kernel for small ones is reached, or of several; at the ends of what it takes.
    fn weights() -> impl Strategy<Value = Vec<i64>> {
        let up_to = |most: i64| {
            let one = prop_oneof![8 => -most..=most, 1 => Just(most), 1 => Just(-most)];
            proptest::collection::vec(one, 0..75)
        };
        prop_oneof![
            up_to(1 << 14),
            up_to((1 << 30) - (1 << 15)),
            up_to(1 << 30),
            up_to((1 << 31) - 1),
            up_to(1 << 44),
            proptest::collection::vec(
                prop_oneof![-9i64..9, -(1i64 << 30)..=1 << 30, -(1i64 << 44)..=1 << 44],
                0..75
            ),
        ]
    }

    fn reference(column: &[i16], d: &[i16]) -> i128 {
        column
            .iter()
            .zip(d)
            .map(|(&x, &d)| i128::from(x) * i128::from(d))
            .sum()
    }

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
        fn sizes_and_squares_match_a_wide_reference(
            column in proptest::collection::vec(-MAX_FEATURE..=MAX_FEATURE, 0..100), times in 1usize..900) {
            let long = column.repeat(times);
            let sizes: i64 = long.iter().map(|&x| i64::from(x).abs()).sum();
            for sum in at_every_width(|| sum_of_sizes(&long)) {
                prop_assert_eq!(sum, sizes);
            }
            let squares = || {
                let mut sums = vec![1 << 59; column.len()];
                add_squares(&mut sums, &column);
                sums
            };
            for sums in at_every_width(squares) {
                prop_assert!(sums.iter().zip(&column).all(|(&sum, &x)| sum == (1 << 59) + i64::from(x).pow(2)));
            }
        }

        #[test]
        fn scaled_columns_match_a_wide_reference(
            column in proptest::collection::vec(-MAX_FEATURE..=MAX_FEATURE, 0..100),
            weight in prop_oneof![-(1i64 << 17)..=1 << 17, -(1i64 << 47)..=1 << 47],
        ) {
            let moved = || {
                let mut margins = vec![5i64; column.len()];
                add_scaled(&mut margins, &column, weight);
                margins
            };
            for margins in at_every_width(moved) {
                for (margin, &x) in margins.iter().zip(&column) {
                    prop_assert_eq!(i128::from(*margin), 5 + i128::from(weight) * i128::from(x));
                }
            }
        }

        #[test]
        fn sums_of_scaled_columns_match_a_wide_reference(
            n in 1usize..200,
            weights in weights(),
            start in 0usize..40,
            seed in any::<u32>(),
        ) {
            let (start, p) = (start.min(n), weights.len().max(1));
            let entry = |k: usize| (seed as usize).wrapping_add(k * 7919).wrapping_mul(104_729) % 32_767;
            let columns: Vec<i16> = (0..n * p).map(|k| (entry(k) as i32 - 16_383) as i16).collect();
            // The last column first, so that columns are told apart.
            let terms: Vec<(usize, i64)> = (0..weights.len()).rev().zip(weights.iter().copied()).collect();
            let moved = || {
                let mut margins = vec![-3i64; n - start];
                add_products(&mut margins, (&columns, n), start, &terms);
                margins
            };
            for margins in at_every_width(moved) {
                for (i, &margin) in margins.iter().enumerate() {
                    let products = terms.iter().map(|&(j, w)| i128::from(w) * i128::from(columns[j * n + start + i]));
                    prop_assert_eq!(i128::from(margin), products.sum::<i128>() - 3);
                }
            }
        }

        #[test]
        fn quantisation_is_rounding_of_the_clipped_map(x in -1e6..1e6f64, scale in -1e3..1e3f64, offset in -1e5..1e5f64) {
            let (low, high) = (-100.0, f64::from(MAX_FEATURE));
            let expected = (x * scale + offset).clamp(low, high).round_ties_even() as i16;
            prop_assert_eq!(quantise(x, scale, offset, low, high), expected);
            let maps = LatticeMaps { scale: &[scale; 22], offset: &[offset; 22], low: &[low; 22], high: &[high; 22] };
            let read = || {
                let (mut column, mut row) = ([0i16; 21], [0i16; 21]);
                assert!(quantise_column(&[x; 21], maps, 3, &mut column));
                assert!(quantise_row(&[x; 21], maps, 1, &mut row));
                [column, row]
            };
            for out in at_every_width(read) {
                prop_assert_eq!(out, [[expected; 21]; 2]);
            }
        }
    }

    /// Planes longer than a piece, and numbers of columns that are no multiple of four.
    #[test]
    fn products_of_planes_are_those_of_each() {
        for (n, p, outputs) in [
            (1, 1, 1),
            (PIECE, 4, 2),
            (2 * PIECE + 35, 7, 3),
            (50, 3, 5),
            (9, 0, 2),
        ] {
            let entry = |k: usize, bound: i16| {
                (k * 7919 % (2 * bound as usize + 1)) as i32 - i32::from(bound)
            };
            let columns: Vec<i16> = (0..n * p).map(|k| entry(k, MAX_FEATURE) as i16).collect();
            let plane = |k: usize| {
                (0..n)
                    .map(|i| entry(i + 31 * k, MAX_DERIVATIVE) as i16)
                    .collect()
            };
            let planes: Vec<Vec<i16>> = (0..outputs).map(plane).collect();
            for products in at_every_width(|| inner_products_of_planes(&columns, &planes)) {
                assert_eq!(products.len(), outputs * p);
                for (k, plane) in planes.iter().enumerate() {
                    for j in 0..p {
                        let expected = reference(&columns[j * n..(j + 1) * n], plane);
                        assert_eq!(i128::from(products[k * p + j]), expected);
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_pass_is_all_inner_products(n in 1usize..300, p in 0usize..10, seed in any::<u64>()) {
            let entries = |salt: u64, count: usize, bound: i16| -> Vec<i16> {
                let step = |k: usize| (seed ^ salt).wrapping_add(k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                (0..count).map(|k| (step(k) as i64 % (2 * i64::from(bound) + 1) - i64::from(bound)) as i16).collect()
            };
            let (columns, d) = (entries(1, n * p, MAX_FEATURE), entries(2, n, MAX_DERIVATIVE));
            let mut out = vec![0i64; p];
            gradient_pass(&columns, &d, &mut out);
            for (out, column) in out.iter().zip(columns.chunks_exact(n)) {
                prop_assert_eq!(i128::from(*out), reference(column, &d));
            }
        }

        #[test]
        fn transposition_moves_every_entry(rows in 0usize..40, width in 1usize..40, spare in 0usize..9, start in 0usize..5) {
            let stride = width + spare;
            let tile: Vec<i16> = (0..rows * stride).map(|k| k as i16).collect();
            let mut columns = vec![vec![-1i16; start + rows + 2]; width];
            let mut slices: Vec<&mut [i16]> = columns.iter_mut().map(Vec::as_mut_slice).collect();
            transpose(&tile, stride, &mut slices, start);
            for (k, column) in columns.iter().enumerate() {
                let moved: Vec<i16> = (0..rows).map(|row| tile[row * stride + k]).collect();
                prop_assert_eq!(&column[start..start + rows], &moved[..]);
                prop_assert!(column[..start].iter().chain(&column[start + rows..]).all(|&entry| entry == -1));
            }
        }

        #[test]
        fn derivatives_are_rounded_and_clamped(x in -1e3..1e3f64, scale in 0.0..1e3f64, place in 0usize..21) {
            let mut input = [f64::NAN; 21];
            input[place] = x;
            let mut expected = [0i16; 21];
            expected[place] = (x * scale).clamp(-8192.0, 8192.0).round_ties_even() as i16;
            let round = || {
                let mut out = [7i16; 21];
                round_clamped(&input, scale, 8192.0, &mut out);
                out
            };
            for out in at_every_width(round) {
                prop_assert_eq!(out, expected);
            }
        }
    }

    #[test]
    fn large_pages_hold_what_they_held() {
        for len in [0, 1, 1 << 20, (3 << 20) + 7] {
            let mut entries = on_large_pages(vec![0i16; len]);
            assert!(entries.len() == len && entries.iter().all(|&entry| entry == 0));
            entries.fill(7);
            assert!(on_large_pages(entries).iter().all(|&entry| entry == 7));
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        for n in [127, 128, 129, 100_003] {
            for (x, d) in [
                (MAX_FEATURE, MAX_DERIVATIVE),
                (-MAX_FEATURE, MAX_DERIVATIVE),
                (MAX_FEATURE, -MAX_DERIVATIVE),
            ] {
                check_dot(&vec![vec![x; n]; 4], &vec![d; n]);
            }
        }
    }

    /// Features and weights as large as they get, all of one sign: sums of 32 bits reach their ends.
    #[test]
    fn extreme_margins_do_not_overflow() {
        let n = 70;
        for x in [MAX_FEATURE, -MAX_FEATURE] {
            let columns = vec![x; n * 40];
            for weight in [1i64 << 14, 1 << 15, (1 << 30) - (1 << 15), 1 << 30, 1 << 40] {
                for weight in [weight, -weight, -weight - 1, weight - 1] {
                    let terms: Vec<(usize, i64)> = (0..40).map(|j| (j, weight)).collect();
                    let moved = || {
                        let mut margins = vec![3i64; n];
                        add_products(&mut margins, (&columns, n), 0, &terms);
                        margins
                    };
                    for margins in at_every_width(moved) {
                        assert!(
                            margins == vec![3 + 40 * weight * i64::from(x); n],
                            "{weight}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn non_finite_entries_are_noticed() {
        let mut out = [0i16; 3];
        let maps = LatticeMaps {
            scale: &[1.0; 3],
            offset: &[0.0; 3],
            low: &[-1.0; 3],
            high: &[1.0; 3],
        };
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            at_every_width(|| {
                assert!(!quantise_column(&[0.0, bad, 0.0], maps, 0, &mut out));
                assert!(!quantise_row(&[0.0f32, 1.0, bad as f32], maps, 0, &mut out));
            });
        }
    }
}

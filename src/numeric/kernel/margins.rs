//! Weighted sums of columns of strips, added to margins.

#[cfg(target_arch = "x86_64")]
use super::half_lines;
use super::memory::Fetched;
#[cfg(target_arch = "x86_64")]
use super::memory::x86::Ahead;
use super::weights::{LOW_BITS, Weights, parts};
use super::width::{Width, width};
use crate::numeric::strips::{LINE, Line, Strips};
#[cfg(target_arch = "x86_64")]
use x86::ask;

/// Lines between one that margins are made of and the one that is fetched from memory meanwhile, on most machines: so
/// many that it is there when margins come to it, and that some are on their way while slopes and sums are taken.
pub const AHEAD: usize = 160;

/// Margins of each plane += the sum of weight * column, for the records from the first of the strips on. The caller
/// proves that margins cannot overflow, nor any weight * x: nothing is checked here, so that wide instructions are
/// used.
///
/// # Panics
/// Where there are other planes than those of the weights, or of other lengths than the first, more margins than
/// records, or weights of columns that there are not.
pub fn add_products(
    margins: &mut [&mut [i64]],
    strips: Strips<'_>,
    weights: &Weights,
    fetched: Fetched,
) {
    assert!(margins.len() == weights.planes.len());
    if weights.terms() == 0 {
        return;
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = fetched;
    let records = margins[0].len();
    assert!(margins.iter().all(|plane| plane.len() == records));
    assert!(weights.columns <= strips.columns());
    assert!(records.div_ceil(LINE) <= strips.len());
    match width() {
        #[cfg(target_arch = "x86_64")]
        Width::Avx512 => {
            let (strips, batches) = (strips.of_records(0..records), &weights.batches);
            let ahead = Ahead::with_pauses();
            // SAFETY: the features were detected.
            unsafe {
                match fetched {
                    Fetched::ByBoth if ahead.second => {
                        x86::add::<{ ask::SHARED }>(margins, strips, batches);
                    }
                    _ if ahead.second && !weights.are_few() => {
                        x86::add::<{ ask::THRICE }>(margins, strips, batches)
                    }
                    _ => x86::add::<{ ask::ONCE }>(margins, strips, batches),
                }
            };
        }
        #[cfg(target_arch = "x86_64")]
        Width::Avx2 => {
            let (strips, batches) = (strips.of_records(0..records), &weights.batches);
            // SAFETY: the feature was detected.
            unsafe {
                if Ahead::with_pauses().second && !weights.are_few() {
                    half_lines::add::<{ ask::THRICE }>(margins, strips, batches);
                } else {
                    half_lines::add::<{ ask::ONCE }>(margins, strips, batches);
                }
            };
        }
        Width::Portable => {
            for (margins, terms) in margins.iter_mut().zip(&weights.planes) {
                add_to_plane(margins, strips, (terms, weights.small));
            }
        }
    }
}

/// The same of one plane.
fn add_to_plane(margins: &mut [i64], strips: Strips<'_>, terms: (&[(usize, i64)], bool)) {
    let (whole, rest) = margins.as_chunks_mut::<LINE>();
    add_to_strips(whole, strips, terms);
    if !rest.is_empty() {
        let mut last = [0; LINE];
        last[..rest.len()].copy_from_slice(rest);
        let strips = strips.from_record(whole.len() * LINE);
        add_to_strips(std::slice::from_mut(&mut last), strips, terms);
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

/// The same of whole strips.
fn add_to_strips(
    margins: &mut [[i64; LINE]],
    strips: Strips<'_>,
    (terms, small): (&[(usize, i64)], bool),
) {
    for (margins, strip) in margins.iter_mut().zip(strips.iter()) {
        if small {
            terms
                .chunks(8)
                .for_each(|eight| add_eight(margins, strip, eight));
            continue;
        }
        for &(j, weight) in terms {
            for (margin, &x) in margins.iter_mut().zip(&strip[j]) {
                *margin = margin.wrapping_add(weight.wrapping_mul(i64::from(x)));
            }
        }
    }
}

/// The same of one strip and up to eight columns with small weights: sums by high parts, or by low ones, are at most
/// 2^31 - 2^17. Products of 16-bit integers that add up to 32 bits are one instruction for several records where
/// compilers know one.
fn add_eight(margins: &mut [i64; LINE], strip: &[Line], eight: &[(usize, i64)]) {
    let (mut by_high, mut by_low) = ([0i32; LINE], [0i32; LINE]);
    for &(j, weight) in eight {
        let [high, low] = parts(weight).map(i32::from);
        let sums = by_high.iter_mut().zip(&mut by_low);
        for ((by_high, by_low), &x) in sums.zip(&strip[j]) {
            *by_high = by_high.wrapping_add(high.wrapping_mul(i32::from(x)));
            *by_low = by_low.wrapping_add(low.wrapping_mul(i32::from(x)));
        }
    }
    let sums = by_high.into_iter().zip(by_low);
    for (margin, (high, low)) in margins.iter_mut().zip(sums) {
        let sum = (i64::from(high) << LOW_BITS).wrapping_add(i64::from(low));
        *margin = margin.wrapping_add(sum);
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use std::arch::x86_64::*;

    use crate::numeric::kernel::lanes::{Lanes, LanesOfParts, add_products_by_pair, load};
    use crate::numeric::kernel::memory::x86::Ahead;
    use crate::numeric::kernel::weights::Batch;
    use crate::numeric::kernel::width::adds_products;
    use crate::numeric::strips::{LINE, Line, Strips};

    /// How margins ask memory for lines, known to compilers: a branch at every pair of columns takes a fifth more time.
    pub(in crate::numeric::kernel) mod ask {
        /// For none.
        pub const NOTHING: u8 = 4;
        /// For those beyond each line that is read.
        pub const ONCE: u8 = 0;
        /// The nearest cache too, soon before they are read.
        pub const TWICE: u8 = 1;
        /// And once more between the two: where no sums ask as well.
        pub const THRICE: u8 = 2;
        /// For three of every four, and the nearest cache soon before; sums of slopes ask for the others.
        pub const SHARED: u8 = 3;
    }

    /// Margins of every plane += the sum of weight * column, strip by strip; the last may end before its strip does.
    /// Lines are asked for as `ASK` says.
    #[target_feature(enable = "avx512bw")]
    pub(super) fn add<const ASK: u8>(
        margins: &mut [&mut [i64]],
        strips: Strips<'_>,
        batches: &[Batch],
    ) {
        match adds_products() {
            true => add_products_avx512::<true, ASK>(margins, strips, batches),
            false => add_products_avx512::<false, ASK>(margins, strips, batches),
        }
    }

    /// The same with the one instruction for products that add up where `ONE`.
    #[target_feature(enable = "avx512bw")]
    fn add_products_avx512<const ONE: bool, const ASK: u8>(
        margins: &mut [&mut [i64]],
        strips: Strips<'_>,
        batches: &[Batch],
    ) {
        let ahead = Ahead::with_pauses();
        for (k, strip) in strips.iter().enumerate() {
            // Sums have asked for the first quarter of as many lines: where a piece begins, the next ones are further
            // away than where it ends.
            let left = (strips.lines().len() - k * strip.len()) / 4;
            let next = strip.as_ptr().wrapping_add(left);
            for batch in batches {
                let add = |plane: usize, sums: [__m512i; 4]| {
                    add_to_line(&mut margins[plane][k * LINE..], sums);
                };
                match (batch.planes.len(), batch.low) {
                    (1, _) => add_sums_of_one::<ONE, ASK>(strip, batch, (ahead, next), add),
                    (_, false) => add_sums::<ONE, ASK, 2, 1>(strip, batch, (ahead, next), add),
                    (_, true) => add_sums::<ONE, ASK, 2, 2>(strip, batch, (ahead, next), add),
                }
            }
        }
    }

    /// The same of a single plane and one strip.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    pub(in crate::numeric::kernel) fn add_to_strip_avx512<const ONE: bool, const ASK: u8>(
        margins: &mut [i64; LINE],
        strip: &[Line],
        batches: &[Batch],
        ahead: Ahead,
    ) {
        let eights = margins.as_chunks_mut().0;
        let next = strip.as_ptr();
        for batch in batches {
            let add = |_: usize, sums: [__m512i; 4]| {
                for (margins, sums) in eights.iter_mut().zip(sums) {
                    add_to(margins, sums);
                }
            };
            add_sums_of_one::<ONE, ASK>(strip, batch, (ahead, next), add);
        }
    }

    /// [`add_sums`] of a batch of a single plane.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn add_sums_of_one<const ONE: bool, const ASK: u8>(
        strip: &[Line],
        batch: &Batch,
        fetched: (Ahead, *const Line),
        add: impl FnMut(usize, [__m512i; 4]),
    ) {
        match batch.low {
            false => add_sums::<ONE, ASK, 1, 1>(strip, batch, fetched, add),
            true => add_sums::<ONE, ASK, 1, 2>(strip, batch, fetched, add),
        }
    }

    /// The first line of these margins, or as many as there are of it, += sums.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn add_to_line(margins: &mut [i64], sums: [__m512i; 4]) {
        match margins.first_chunk_mut::<LINE>() {
            Some(line) => {
                for (margins, sums) in line.as_chunks_mut().0.iter_mut().zip(sums) {
                    add_to(margins, sums);
                }
            }
            None => {
                for (k, sums) in sums.into_iter().enumerate() {
                    add_to_eight(margins, k, sums);
                }
            }
        }
    }

    /// The k-th eight of these margins, or as many as there are of it, += sums.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in crate::numeric::kernel) fn add_to_eight(margins: &mut [i64], k: usize, sums: __m512i) {
        if let Some(margins) = margins.as_chunks_mut().0.get_mut(k) {
            add_to(margins, sums);
        } else if let Some(rest) = margins.get_mut(8 * k..) {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            add_to(&mut last, sums);
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }

    /// margins += sums, of eight records.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn add_to(margins: &mut [i64; 8], sums: __m512i) {
        // SAFETY: eight i64 are exactly 512 bits.
        let before = unsafe { _mm512_loadu_si512(margins.as_ptr().cast()) };
        // SAFETY: as for the load.
        unsafe {
            _mm512_storeu_si512(margins.as_mut_ptr().cast(), _mm512_add_epi64(before, sums));
        }
    }

    /// Calls `add(plane, sums)` with the sums of weight * column of every eight records of a strip, of each of `P`
    /// planes, whose weights have `PARTS` parts. Memory is asked as `ASK` says for the lines beyond those that are
    /// read, or, where sums fetch some, for three quarters as many beyond the next one of these.
    ///
    /// Two columns are multiplied at once, in lanes of 32 bits. Sums of four pairs by high parts, or by low ones, are
    /// at most 2^31 - 2^17.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn add_sums<const ONE: bool, const ASK: u8, const P: usize, const PARTS: usize>(
        strip: &[Line],
        batch: &Batch,
        (ahead, next): (Ahead, *const Line),
        mut add: impl FnMut(usize, [__m512i; 4]),
    ) {
        let groups = batch.columns.len();
        let (weights, _) = batch.weights.as_chunks::<PARTS>();
        let (weights, _) = weights.as_chunks::<P>();
        let (weights, _) = weights.as_chunks::<4>();
        assert!(batch.planes.len() == P && weights.len() == groups);
        // Of the first and of the second four of every eight records.
        let mut lanes = [[LanesOfParts::<PARTS>::zero(); 2]; P];
        for (k, (columns, weights)) in batch.columns.iter().zip(weights).enumerate() {
            let mut sums = [[[Lanes::start(); 2]; PARTS]; P];
            let lines = |pair: usize| [&strip[columns[2 * pair]], &strip[columns[2 * pair + 1]]];
            if ASK == ask::SHARED {
                let next = next.wrapping_add(k.wrapping_mul(6));
                (0..6).for_each(|line| ahead.of(next.wrapping_add(line)));
                (0..4).for_each(|pair| Ahead::soon(lines(pair)));
                // A compiler leaves a loop over pairs as one over sums in memory.
                add_pair::<ONE, P, PARTS>(&mut sums, lines(0), &weights[0]);
                add_pair::<ONE, P, PARTS>(&mut sums, lines(1), &weights[1]);
                add_pair::<ONE, P, PARTS>(&mut sums, lines(2), &weights[2]);
                add_pair::<ONE, P, PARTS>(&mut sums, lines(3), &weights[3]);
            } else {
                for (pair, weights) in weights.iter().enumerate() {
                    ahead.of_both(lines(pair));
                    if ASK == ask::THRICE {
                        Ahead::again(lines(pair));
                    }
                    if ASK != ask::ONCE {
                        Ahead::soon(lines(pair));
                    }
                    add_pair::<ONE, P, PARTS>(&mut sums, lines(pair), weights);
                }
            }
            for (sums, lanes) in sums.iter().zip(&mut lanes) {
                for (half, lanes) in lanes.iter_mut().enumerate() {
                    lanes.add(std::array::from_fn(|part| sums[part][half]));
                }
            }
        }
        for (lanes, plane) in lanes.iter().zip(&batch.planes) {
            let halves = [lanes[0].even_and_odd(groups), lanes[1].even_and_odd(groups)];
            let mut sums = in_order(halves);
            if plane.shift > 0 {
                let shift = _mm_cvtsi32_si128(plane.shift as i32);
                for sums in &mut sums {
                    *sums = _mm512_sll_epi64(*sums, shift);
                }
            }
            add(plane.plane, sums);
        }
    }

    /// Adds a line of each of two columns, times its weights, to the sums of each part of each plane.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn add_pair<const ONE: bool, const P: usize, const PARTS: usize>(
        sums: &mut [[[__m512i; 2]; PARTS]; P],
        [a, b]: [&Line; 2],
        weights: &[[i32; PARTS]; P],
    ) {
        let (a, b) = (load::<false>(a), load::<false>(b));
        let halves = [_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b)];
        // Compilers leave some of these in a loop over memory where they are written as one.
        let (plane, part) = (P - 1, PARTS - 1);
        add_halves::<ONE>(&mut sums[0][0], halves, &weights[0][0]);
        if part > 0 {
            add_halves::<ONE>(&mut sums[0][part], halves, &weights[0][part]);
        }
        if plane > 0 {
            add_halves::<ONE>(&mut sums[plane][0], halves, &weights[plane][0]);
        }
        if plane > 0 && part > 0 {
            add_halves::<ONE>(&mut sums[plane][part], halves, &weights[plane][part]);
        }
    }

    /// Adds both halves of two lines, times a pair of weights.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn add_halves<const ONE: bool>(sums: &mut [__m512i; 2], halves: [__m512i; 2], weight: &i32) {
        let [first, second] = halves;
        sums[0] = add_products_by_pair::<ONE>(sums[0], first, weight);
        sums[1] = add_products_by_pair::<ONE>(sums[1], second, weight);
    }

    /// The sums of eight records after eight, of those of even and odd lanes of the first and of the second four of
    /// every eight.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in crate::numeric::kernel) fn in_order(halves: [[__m512i; 2]; 2]) -> [__m512i; 4] {
        // Of records 0, 1, 8, 9, ... and 2, 3, 10, 11, ... of each half's own order.
        let [[even, odd], [later_even, later_odd]] = halves;
        let (a, b) = (
            _mm512_unpacklo_epi64(even, odd),
            _mm512_unpackhi_epi64(even, odd),
        );
        let (c, d) = (
            _mm512_unpacklo_epi64(later_even, later_odd),
            _mm512_unpackhi_epi64(later_even, later_odd),
        );
        let (ab, cd) = (
            _mm512_shuffle_i64x2::<0x44>(a, b),
            _mm512_shuffle_i64x2::<0x44>(c, d),
        );
        let (later_ab, later_cd) = (
            _mm512_shuffle_i64x2::<0xee>(a, b),
            _mm512_shuffle_i64x2::<0xee>(c, d),
        );
        [
            _mm512_shuffle_i64x2::<0x88>(ab, cd),
            _mm512_shuffle_i64x2::<0xdd>(ab, cd),
            _mm512_shuffle_i64x2::<0x88>(later_ab, later_cd),
            _mm512_shuffle_i64x2::<0xdd>(later_ab, later_cd),
        ]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::kernel::MAX_FEATURE;
    use crate::numeric::kernel::tests::{at_every_width, entries, in_strips};

    /// Weights of one size, so that every kernel for small ones is reached, or of several; at the ends of what it
    /// takes.
    fn weights() -> impl Strategy<Value = Vec<i64>> {
        let up_to = |most: i64| {
            let one = prop_oneof![8 => -most..=most, 1 => Just(most), 1 => Just(-most)];
            proptest::collection::vec(one, 0..75)
        };
        prop_oneof![
            up_to(1 << 14),
            up_to(1 << 27),
            up_to(1 << 29),
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

    proptest! {
        #[test]
        fn sums_of_scaled_columns_match_a_wide_reference(
            n in 1usize..200,
            weights in weights(),
            strip in 0usize..3,
            spare in 0usize..3,
            seed in any::<u32>(),
        ) {
            let (start, p) = ((strip * LINE).min(n / LINE * LINE), weights.len() + spare);
            let entry = entries(seed, MAX_FEATURE);
            let lines = in_strips(n, p, &entry);
            // The last column first, so that columns are told apart.
            let terms: Vec<(usize, i64)> = (0..weights.len()).rev().zip(weights.iter().copied()).collect();
            let prepared = Weights::new(vec![terms.clone()], p);
            let moved = || {
                let mut margins = vec![-3i64; n - start];
                add_products(&mut [&mut margins], Strips::new(&lines, p).from_record(start), &prepared, Fetched::ByMargins);
                margins
            };
            for margins in at_every_width(moved) {
                for (i, &margin) in (start..).zip(&margins) {
                    let products = terms.iter().map(|&(j, w)| i128::from(w) * i128::from(entry(i, j)));
                    prop_assert_eq!(i128::from(margin), products.sum::<i128>() - 3);
                }
            }
        }
    }

    proptest! {
        /// Planes of other columns and weights of other sizes, beyond those that are taken together; some have columns
        /// that others do not have, few or many, or none.
        #[test]
        fn several_planes_are_made_as_each_by_itself(
            n in 1usize..70,
            planes in proptest::collection::vec((weights(), 0usize..4), 0..8),
            seed in any::<u32>(),
        ) {
            let p = planes.iter().map(|(weights, _)| weights.len()).max().unwrap_or(0);
            let entry = entries(seed, MAX_FEATURE);
            let lines = in_strips(n, p, &entry);
            // The last column first; without every second of them, or of the first twenty every fifth.
            let terms = |(weights, without): &(Vec<i64>, usize)| -> Vec<(usize, i64)> {
                let terms = (0..weights.len()).rev().zip(weights.iter().copied());
                terms
                    .filter(|&(j, _)| match without {
                        0 => j % 2 == 0,
                        1 => j >= 20 || j % 5 > 0,
                        _ => true,
                    })
                    .collect()
            };
            let terms: Vec<_> = planes.iter().map(terms).collect();
            let prepared = Weights::new(terms.clone(), p);
            let moved = || {
                let mut margins = vec![vec![5i64; n]; terms.len()];
                let mut planes: Vec<&mut [i64]> = margins.iter_mut().map(Vec::as_mut_slice).collect();
                add_products(&mut planes, Strips::new(&lines, p), &prepared, Fetched::ByBoth);
                margins
            };
            for planes in at_every_width(moved) {
                for (margins, terms) in planes.iter().zip(&terms) {
                    for (i, &margin) in margins.iter().enumerate() {
                        let products = terms.iter().map(|&(j, w)| i128::from(w) * i128::from(entry(i, j)));
                        prop_assert_eq!(i128::from(margin), products.sum::<i128>() + 5);
                    }
                }
            }
        }
    }

    /// Features and weights as large as they get, all of one sign: sums of 32 bits reach their ends.
    #[test]
    fn extreme_margins_do_not_overflow() {
        let n = 70usize;
        for x in [MAX_FEATURE, -MAX_FEATURE] {
            let lines = vec![[x; LINE]; n.div_ceil(LINE) * 40];
            let ends = [
                1i64 << 14,
                1 << 15,
                1 << 27,
                1 << 29,
                (1 << 30) - (1 << 15),
                1 << 30,
            ];
            // Of low parts as large as they get.
            let low = [(1 << 26) + (1 << 13), (1 << 28) + (1 << 14)];
            for weight in ends.into_iter().chain(low).chain([1 << 40]) {
                for weight in [weight, -weight, -weight - 1, weight - 1] {
                    let terms: Vec<(usize, i64)> = (0..40).map(|j| (j, weight)).collect();
                    let moved = || {
                        let mut margins = vec![3i64; n];
                        add_products(
                            &mut [&mut margins],
                            Strips::new(&lines, 40),
                            &Weights::new(vec![terms.clone()], 40),
                            Fetched::ByBoth,
                        );
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
}

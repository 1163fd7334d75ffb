//! Margins, slopes and their inner products with all columns, strip by strip: a strip is read once.

use super::InnerProducts;
#[cfg(target_arch = "x86_64")]
use super::margins::x86::ask;
use super::margins::{AHEAD, add_products};
#[cfg(target_arch = "x86_64")]
use super::memory::x86::Ahead;
use super::memory::{Fetched, prefetch};
use super::weights::Weights;
#[cfg(target_arch = "x86_64")]
use super::width::{Width, width};
use crate::numeric::strips::{LINE, Line, Strips};

/// Records that are read at once, at most: sums of so many slopes fit 32 bits.
const MOST: usize = 1 << 16;

/// Strips whose slopes are made at once, at most.
const TOGETHER: usize = 16;

/// Strips of more columns are wide. Up to so many it matters by a twentieth at most which lines sums ask for.
#[cfg(target_arch = "x86_64")]
const WIDE: usize = 128;

impl InnerProducts {
    /// Adds those with slopes that are made strip by strip of margins, a constant and the sum of weight * column, added
    /// to those that are `kept` and go on, or else to 0: `slopes_of(start, margins, slopes)` sets the slopes of some
    /// records from `start` on. The sum of all slopes.
    ///
    /// That margins fit is for the caller to prove, as for [`add_products`].
    ///
    /// # Panics
    /// Where there are several planes, columns that the strips have not, none, or fewer records in the strips or among
    /// those that are kept.
    pub fn add_in_one_read(
        &mut self,
        strips: Strips<'_>,
        records: usize,
        (weights, constant): (&Weights, i64),
        mut kept: Option<&mut [i64]>,
        mut slopes_of: impl FnMut(usize, &[i64], &mut [i16]),
    ) -> i64 {
        assert!(self.planes == 1 && self.columns > 0 && strips.columns() == self.columns);
        assert!(weights.planes.len() == 1 && weights.columns <= self.columns && records <= MOST);
        let strips = strips.of_records(0..records);
        let mut slopes_of = |first: usize, margins: &mut [[i64; LINE]], slopes: &mut [Line]| {
            let start = first * LINE;
            let m = (LINE * margins.len()).min(records - start);
            let margins = &mut margins.as_flattened_mut()[..m];
            if let Some(kept) = &mut kept {
                prefetch(&kept[start + m..], m);
                for (margin, kept) in margins.iter_mut().zip(&mut kept[start..][..m]) {
                    *kept = kept.wrapping_add(*margin);
                    *margin = *kept;
                }
            }
            let (slopes, beyond) = slopes.as_flattened_mut().split_at_mut(m);
            slopes_of(start, margins, slopes);
            beyond.fill(0);
        };
        #[cfg(target_arch = "x86_64")]
        if width() == Width::Avx512 {
            self.strips += strips.len();
            let (at, columns) = ((&weights.batches[..], constant), self.columns);
            let lanes = self.lanes();
            let ahead = Ahead::with_pauses();
            // SAFETY: the features were detected.
            return unsafe {
                if weights.are_few() {
                    let how = (Ahead::in_one_go(), 4);
                    x86::read::<{ ask::ONCE }>(strips, at, lanes, how, slopes_of)
                } else if ahead.second {
                    x86::read::<{ ask::TWICE }>(strips, at, lanes, (ahead, 2), slopes_of)
                } else {
                    let how = (ahead, if columns > AHEAD { 2 } else { 0 });
                    x86::read::<{ ask::ONCE }>(strips, at, lanes, how, slopes_of)
                }
            };
        }
        #[cfg(target_arch = "x86_64")]
        if width() == Width::Avx2 {
            self.strips += strips.len();
            let (at, ahead) = ((&weights.batches[..], constant), Ahead::with_pauses());
            let several = together(self.columns).next_multiple_of(2);
            let lanes = self.half_lanes();
            // SAFETY: the feature was detected.
            return unsafe {
                if weights.are_few() {
                    let ahead = Ahead::in_one_go();
                    // Lines of margins of several strips would come between what the machine sees that is read.
                    let several = if ahead == Ahead::NONE { 1 } else { several };
                    let how = (ahead, several);
                    halves::read::<{ ask::ONCE }, 4>(strips, at, lanes, how, slopes_of)
                } else if ahead.second {
                    let how = (ahead, several);
                    halves::read::<{ ask::TWICE }, 2>(strips, at, lanes, how, slopes_of)
                } else {
                    let how = (ahead, several);
                    halves::read::<{ ask::ONCE }, 0>(strips, at, lanes, how, slopes_of)
                }
            };
        }
        let several = together(self.columns);
        let (mut margins, mut slopes) = ([[0; LINE]; TOGETHER], [[0; LINE]; TOGETHER]);
        let mut total = 0;
        for (k, lines) in strips.lines().chunks(several * self.columns).enumerate() {
            let strips = Strips::new(lines, self.columns);
            let margins = &mut margins[..strips.len()];
            let slopes = &mut slopes[..strips.len()];
            margins.fill([constant; LINE]);
            let margins_of_strips = &mut [margins.as_flattened_mut()];
            add_products(margins_of_strips, strips, weights, Fetched::ByMargins);
            slopes_of(k * several, margins, slopes);
            let slopes = slopes.as_flattened();
            self.add(strips, &[slopes], 0..slopes.len(), Fetched::ByMargins);
            total += slopes.iter().map(|&slope| i64::from(slope)).sum::<i64>();
        }
        total
    }
}

/// Strips of so many columns whose slopes are made at once, where the nearest cache holds them.
fn together(columns: usize) -> usize {
    (AHEAD / columns).clamp(1, TOGETHER)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{TOGETHER, WIDE, together};
    use crate::numeric::kernel::inner_products::x86::{add_strip, add_two_strips};
    use crate::numeric::kernel::lanes::{Lanes, load};
    use crate::numeric::kernel::margins::x86::add_to_strip_avx512;
    use crate::numeric::kernel::memory::x86::Ahead;
    use crate::numeric::kernel::weights::Batch;
    use crate::numeric::kernel::width::adds_products;
    use crate::numeric::strips::{LINE, Line, Strips};

    /// Of every four lines sums ask memory for so many others: all of those that margins leave to them, or some beyond
    /// those that margins fetch, who ask as `ASK` says.
    #[target_feature(enable = "avx512bw")]
    pub(super) fn read<const ASK: u8>(
        strips: Strips<'_>,
        at: (&[Batch], i64),
        lanes: &mut [Lanes],
        (ahead, fetched): (Ahead, usize),
        slopes_of: impl FnMut(usize, &mut [[i64; LINE]], &mut [Line]),
    ) -> i64 {
        match (adds_products(), fetched) {
            (true, 0) => read_avx512::<true, ASK, 0>(strips, at, lanes, ahead, slopes_of),
            (true, 2) => read_avx512::<true, ASK, 2>(strips, at, lanes, ahead, slopes_of),
            (true, _) => read_avx512::<true, ASK, 4>(strips, at, lanes, ahead, slopes_of),
            (false, 0) => read_avx512::<false, ASK, 0>(strips, at, lanes, ahead, slopes_of),
            (false, 2) => read_avx512::<false, ASK, 2>(strips, at, lanes, ahead, slopes_of),
            (false, _) => read_avx512::<false, ASK, 4>(strips, at, lanes, ahead, slopes_of),
        }
    }

    /// At most 2^11 strips: two slopes of each are in one lane of 32 bits. With the one instruction for products that
    /// add up where `ONE`.
    ///
    /// Strips are added up two by two, which takes a third of the work less; but where sums are the first to read their
    /// lines they read them in the order of memory.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn read_avx512<const ONE: bool, const ASK: u8, const FETCHED: usize>(
        strips: Strips<'_>,
        (weights, constant): (&[Batch], i64),
        lanes: &mut [Lanes],
        ahead: Ahead,
        mut slopes_of: impl FnMut(usize, &mut [[i64; LINE]], &mut [Line]),
    ) -> i64 {
        let columns = strips.columns();
        let several = match FETCHED {
            // Lines of margins of several strips would come between what the machine sees that is read.
            4 if ahead == Ahead::NONE => 1,
            4 => together(columns),
            _ => together(columns).next_multiple_of(2),
        };
        let apart = if ahead.second && columns > WIDE {
            4
        } else {
            FETCHED
        };
        let (mut margins, mut slopes) = ([[0; LINE]; TOGETHER], [[0; LINE]; TOGETHER]);
        let (ones, mut total) = (_mm512_set1_epi16(1), _mm512_setzero_si512());
        for (k, lines) in strips.lines().chunks(several * columns).enumerate() {
            let strips = Strips::new(lines, columns);
            let margins = &mut margins[..strips.len()];
            let slopes = &mut slopes[..strips.len()];
            for (margins, strip) in margins.iter_mut().zip(strips.iter()) {
                *margins = [constant; LINE];
                add_to_strip_avx512::<ONE, ASK>(margins, strip, weights, ahead);
            }
            slopes_of(k * several, margins, slopes);
            for slopes in &*slopes {
                total = _mm512_add_epi32(total, _mm512_madd_epi16(load::<false>(slopes), ones));
            }
            let (twos, rest) = match FETCHED {
                4 => (&[][..], &*slopes),
                _ => slopes.as_chunks::<2>(),
            };
            let (in_twos, lines) = lines.split_at(2 * twos.len() * columns);
            for ([d, e], lines) in twos.iter().zip(in_twos.chunks_exact(2 * columns)) {
                let d = [load::<false>(d), load::<false>(e)];
                let strips @ [first, second] = [&lines[..columns], &lines[columns..]];
                let next = [first, second].map(|strip| strip.as_ptr().wrapping_add(lines.len()));
                add_two_strips::<ONE>(d, strips, lanes, |four| {
                    for next in next {
                        fetch::<FETCHED>(ahead, next.wrapping_add(apart * four));
                    }
                });
            }
            for (d, strip) in rest.iter().zip(lines.chunks_exact(columns)) {
                let beyond = if FETCHED < 4 { columns } else { 0 };
                let next = strip.as_ptr().wrapping_add(beyond);
                add_strip::<false>(load::<false>(d), strip, lanes, |four| {
                    fetch::<FETCHED>(ahead, next.wrapping_add(apart * four));
                });
            }
        }
        i64::from(_mm512_reduce_add_epi32(total))
    }

    /// Asks memory for so many lines.
    #[inline(always)]
    fn fetch<const LINES: usize>(ahead: Ahead, next: *const Line) {
        for line in 0..LINES {
            ahead.of(next.wrapping_add(line));
        }
    }
}

/// The same in vectors of 256 bits, of which two hold a line.
#[cfg(target_arch = "x86_64")]
mod halves {
    use std::arch::x86_64::*;

    use super::{TOGETHER, WIDE};
    use crate::numeric::kernel::half_lines::{Lanes, add_plane, add_strip, how_far, load};
    use crate::numeric::kernel::memory::x86::Ahead;
    use crate::numeric::kernel::weights::Batch;
    use crate::numeric::strips::{LINE, Line, Strips};

    /// Margins, slopes and their inner products, strip by strip, of at most 2^11 strips: four slopes of each are in one
    /// lane of 32 bits. Of every four lines sums ask memory for `FETCHED` others: all of those that margins leave to
    /// them, or some beyond those that margins fetch, who ask as `ASK` says.
    #[target_feature(enable = "avx2")]
    pub(super) fn read<const ASK: u8, const FETCHED: usize>(
        strips: Strips<'_>,
        (batches, constant): (&[Batch], i64),
        lanes: &mut [Lanes],
        (ahead, several): (Ahead, usize),
        mut slopes_of: impl FnMut(usize, &mut [[i64; LINE]], &mut [Line]),
    ) -> i64 {
        let columns = strips.columns();
        let (mut margins, mut slopes) = ([[0; LINE]; TOGETHER], [[0; LINE]; TOGETHER]);
        let (ones, mut total) = (_mm256_set1_epi16(1), _mm256_setzero_si256());
        for (k, lines) in strips.lines().chunks(several * columns).enumerate() {
            let strips = Strips::new(lines, columns);
            let margins = &mut margins[..strips.len()];
            let slopes = &mut slopes[..strips.len()];
            for (margins, strip) in margins.iter_mut().zip(strips.iter()) {
                *margins = [constant; LINE];
                for batch in batches {
                    add_plane::<ASK>(margins, strip, (batch, 0), ahead);
                }
            }
            slopes_of(k * several, margins, slopes);
            for (slopes, strip) in slopes.iter().zip(strips.iter()) {
                let beyond = if FETCHED < 4 { columns } else { 0 };
                let apart = if columns > WIDE { 4 } else { FETCHED };
                let next = strip.as_ptr().wrapping_add(beyond);
                for half in [load::<false>(slopes, 0), load::<false>(slopes, 1)] {
                    total = _mm256_add_epi32(total, _mm256_madd_epi16(half, ones));
                }
                add_strip::<false>(slopes, strip, lanes, |four| {
                    for line in 0..FETCHED {
                        how_far::<ASK>(ahead).of(next.wrapping_add(apart * four + line));
                    }
                });
            }
        }
        let mut eight = [0i32; 8];
        // SAFETY: eight i32 are exactly 256 bits.
        unsafe { _mm256_storeu_si256(eight.as_mut_ptr().cast(), total) };
        eight.into_iter().map(i64::from).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::kernel::tests::{at_every_width, entries, in_strips};
    use crate::numeric::kernel::{MAX_DERIVATIVE, MAX_FEATURE};

    proptest! {
        /// Twice the same records: margins, new ones or those that go on, their slopes, and products of those, of small
        /// weights and of large ones, of all columns or of some, which may come with the rest of their strips.
        #[test]
        fn one_read_is_margins_slopes_and_products(
            n in 1usize..1400,
            p in prop_oneof![1usize..40, 90usize..170, 190usize..210],
            largest in prop_oneof![Just(1i64 << 14), Just(1 << 30), Just(1 << 40)],
            few in any::<bool>(),
            whole in any::<bool>(),
            kept in any::<bool>(),
            constant in -9i64..9,
            seed in any::<u32>(),
        ) {
            let entry = entries(seed, MAX_FEATURE);
            let lines = in_strips(n, p, &entry);
            let weight = |j: usize| i64::from(entry(j, n)) * largest / i64::from(MAX_FEATURE);
            let moved = if few { p.div_ceil(5) } else { p };
            let some = Weights::new(vec![(0..moved).map(|j| (j, weight(j))).collect()], p);
            let whole = some.of_whole_strips().filter(|_| whole);
            let weights = whole.as_ref().unwrap_or(&some);
            let step = |i: usize| constant + (0..moved).map(|j| weight(j) * i64::from(entry(i, j))).sum::<i64>();
            let margin = |i: usize, time: i64| if kept { i as i64 + (time + 1) * step(i) } else { step(i) };
            let slope = |i: usize, margin: i64| match i % 5 {
                0 => MAX_DERIVATIVE,
                k => (margin % 16_000) as i16 + k as i16,
            };
            let slopes = [0, 1].map(|time| (0..n).map(|i| slope(i, margin(i, time)).into()).collect::<Vec<i64>>());
            let product = |j: usize| (0..n).map(|i| (slopes[0][i] + slopes[1][i]) * i64::from(entry(i, j))).sum::<i64>();
            let read = || {
                let mut sums = InnerProducts::zeros(p, 1);
                let mut margins: Vec<i64> = (0..n as i64).collect();
                let totals = [0; 2].map(|_| {
                    let (strips, at) = (Strips::new(&lines, p), (weights, constant));
                    sums.add_in_one_read(strips, n, at, kept.then_some(&mut margins), |start, margins, slopes| {
                        assert!(margins.len() == slopes.len());
                        for (i, (slope_of, &margin)) in slopes.iter_mut().zip(margins).enumerate() {
                            *slope_of = slope(start + i, margin);
                        }
                    })
                });
                let mut out = vec![0; p];
                sums.of_plane(0, &mut out);
                (out, totals, margins)
            };
            for (products, totals, margins) in at_every_width(read) {
                prop_assert_eq!(products, (0..p).map(product).collect::<Vec<_>>());
                prop_assert_eq!(totals, slopes.each_ref().map(|slopes| slopes.iter().sum::<i64>()));
                let last = |i: usize| if kept { margin(i, 1) } else { i as i64 };
                prop_assert_eq!(margins, (0..n).map(last).collect::<Vec<_>>());
            }
        }
    }

    /// As many records as may be, of slopes as large as they get.
    #[test]
    fn extremes_do_not_overflow() {
        for (slope, p) in [
            (MAX_DERIVATIVE, 1),
            (-MAX_DERIVATIVE, 1),
            (-MAX_DERIVATIVE, 5),
        ] {
            let lines = vec![[MAX_FEATURE; LINE]; MOST / LINE * p];
            let weights = Weights::new(vec![(0..p).map(|j| (j, 1)).collect()], p);
            let read = || {
                let mut sums = InnerProducts::zeros(p, 1);
                let (strips, at) = (Strips::new(&lines, p), (&weights, 0));
                let total = sums.add_in_one_read(strips, MOST, at, None, |_, _, slopes| {
                    slopes.fill(slope);
                });
                let mut out = vec![0; p];
                sums.of_plane(0, &mut out);
                (out, total)
            };
            let all = i64::from(slope) * MOST as i64;
            for read in at_every_width(read) {
                assert_eq!(read, (vec![all * i64::from(MAX_FEATURE); p], all));
            }
        }
    }
}

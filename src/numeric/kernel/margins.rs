//! Weighted sums of columns of strips, added to margins.

use super::weights::Weights;
#[cfg(target_arch = "x86_64")]
use super::width::Width;
use super::width::width;
use crate::numeric::strips::{LINE, Strips};

/// Lines between one that margins are made of and the one that is fetched from memory meanwhile, on most machines: so many that it
/// is there when margins come to it, and that some are on their way while slopes and sums are taken.
pub const AHEAD: usize = 160;

/// margins += the sum of weight * column, for the records from the first of the strips on. The caller proves that margins
/// cannot overflow, nor any weight * x: nothing is checked here, so that wide instructions are used.
///
/// # Panics
/// Where there are more margins than records, or weights of columns that there are not.
pub fn add_products(margins: &mut [i64], strips: Strips<'_>, weights: &Weights) {
    if weights.is_empty() {
        return;
    }
    assert!(weights.columns <= strips.columns());
    assert!(margins.len().div_ceil(LINE) <= strips.len());
    let (whole, rest) = margins.as_chunks_mut::<LINE>();
    add_to_strips(whole, strips, weights);
    if !rest.is_empty() {
        let mut last = [0; LINE];
        last[..rest.len()].copy_from_slice(rest);
        let strips = strips.from_record(whole.len() * LINE);
        add_to_strips(std::slice::from_mut(&mut last), strips, weights);
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

/// The same of whole strips.
fn add_to_strips(margins: &mut [[i64; LINE]], strips: Strips<'_>, weights: &Weights) {
    match width() {
        #[cfg(target_arch = "x86_64")]
        Width::Avx512 => {
            for part in &weights.parts {
                // SAFETY: the features were detected.
                unsafe { x86::add_products_avx512(margins, strips, part) };
            }
        }
        #[cfg(target_arch = "x86_64")]
        Width::Avx2
            if weights
                .terms
                .iter()
                .all(|&(_, weight)| i32::try_from(weight).is_ok()) =>
        {
            // SAFETY: the feature was detected.
            unsafe { x86::add_products_avx2(margins, strips, &weights.terms) }
        }
        _ => {
            for (margins, strip) in margins.iter_mut().zip(strips.iter()) {
                for &(j, weight) in &weights.terms {
                    for (margin, &x) in margins.iter_mut().zip(&strip[j]) {
                        *margin = margin.wrapping_add(weight.wrapping_mul(i64::from(x)));
                    }
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use std::arch::x86_64::*;

    use crate::numeric::kernel::lanes::{Lanes, load};
    use crate::numeric::kernel::memory::x86::Ahead;
    use crate::numeric::kernel::weights::Part;
    use crate::numeric::strips::{LINE, Line, Strips};

    /// margins += 2^shift times the sum of weight * column, strip by strip.
    #[target_feature(enable = "avx512bw")]
    pub(super) fn add_products_avx512(
        margins: &mut [[i64; LINE]],
        strips: Strips<'_>,
        part: &Part,
    ) {
        let ahead = Ahead::here();
        let strips = margins.iter_mut().zip(strips.iter());
        if part.low.is_empty() {
            strips.for_each(|(margins, strip)| add_parts::<false>(margins, strip, part, ahead));
        } else {
            strips.for_each(|(margins, strip)| add_parts::<true>(margins, strip, part, ahead));
        }
    }

    /// The same of one strip.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    pub(in crate::numeric::kernel) fn add_to_strip_avx512(
        margins: &mut [i64; LINE],
        strip: &[Line],
        part: &Part,
        ahead: Ahead,
    ) {
        if part.low.is_empty() {
            add_parts::<false>(margins, strip, part, ahead);
        } else {
            add_parts::<true>(margins, strip, part, ahead);
        }
    }

    /// `TWO` says whether weights have low parts.
    ///
    /// Two columns are multiplied at once, in lanes of 32 bits: eight high parts, or four low ones, add up to at most
    /// 2^31 - 2^17.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn add_parts<const TWO: bool>(
        margins: &mut [i64; LINE],
        strip: &[Line],
        part: &Part,
        ahead: Ahead,
    ) {
        let shift = _mm_cvtsi32_si128(part.shift as i32);
        let (columns, _) = part.columns.as_chunks::<8>();
        let (high_weights, _) = part.high.as_chunks::<4>();
        let (low_weights, _) = part.low.as_chunks::<4>();
        let groups = columns.len();
        assert!(high_weights.len() == groups && (!TWO || low_weights.len() == groups));
        // Of the first and of the second four of every eight records.
        let (mut high, mut low) = ([Lanes::zero(); 2], [Lanes::zero(); 2]);
        for group in 0..groups {
            let (columns, weights) = (&columns[group], &high_weights[group]);
            let (mut high_sums, mut low_sums) = ([Lanes::start(); 2], [Lanes::start(); 2]);
            for pair in 0..4 {
                let [a, b] = [columns[2 * pair], columns[2 * pair + 1]];
                ahead.of(&raw const strip[a]);
                ahead.of(&raw const strip[b]);
                let (a, b) = (load::<false>(&strip[a]), load::<false>(&strip[b]));
                let halves = [_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b)];
                let weight = _mm512_set1_epi32(weights[pair]);
                for (sum, half) in high_sums.iter_mut().zip(halves) {
                    *sum = _mm512_add_epi32(*sum, _mm512_madd_epi16(half, weight));
                }
                if TWO {
                    let weight = _mm512_set1_epi32(low_weights[group][pair]);
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

    /// margins += the sum of weight * column, strip by strip, of weights that fit 32 bits: the low halves of lanes hold all
    /// of a weight and of a feature.
    #[target_feature(enable = "avx2")]
    pub(super) fn add_products_avx2(
        margins: &mut [[i64; LINE]],
        strips: Strips<'_>,
        terms: &[(usize, i64)],
    ) {
        for (margins, strip) in margins.iter_mut().zip(strips.iter()) {
            let (fours, _) = margins.as_chunks_mut::<4>();
            // SAFETY: four i64 are exactly 256 bits.
            let load = |four: usize| unsafe { _mm256_loadu_si256(fours[four].as_ptr().cast()) };
            let mut sums: [__m256i; LINE / 4] = std::array::from_fn(load);
            for &(j, weight) in terms {
                let factor = _mm256_set1_epi64x(weight);
                let (parts, _) = strip[j].as_chunks::<4>();
                for (sum, part) in sums.iter_mut().zip(parts) {
                    // SAFETY: four i16 are exactly 64 bits.
                    let x = unsafe { _mm_loadl_epi64(part.as_ptr().cast()) };
                    let product = _mm256_mul_epi32(_mm256_cvtepi16_epi64(x), factor);
                    *sum = _mm256_add_epi64(*sum, product);
                }
            }
            for (four, sum) in fours.iter_mut().zip(sums) {
                // SAFETY: as for the load.
                unsafe { _mm256_storeu_si256(four.as_mut_ptr().cast(), sum) };
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
            let prepared = Weights::new(terms.clone());
            let moved = || {
                let mut margins = vec![-3i64; n - start];
                add_products(&mut margins, Strips::new(&lines, p).from_record(start), &prepared);
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

    /// Features and weights as large as they get, all of one sign: sums of 32 bits reach their ends.
    #[test]
    fn extreme_margins_do_not_overflow() {
        let n = 70usize;
        for x in [MAX_FEATURE, -MAX_FEATURE] {
            let lines = vec![[x; LINE]; n.div_ceil(LINE) * 40];
            for weight in [1i64 << 14, 1 << 15, (1 << 30) - (1 << 15), 1 << 30, 1 << 40] {
                for weight in [weight, -weight, -weight - 1, weight - 1] {
                    let terms: Vec<(usize, i64)> = (0..40).map(|j| (j, weight)).collect();
                    let moved = || {
                        let mut margins = vec![3i64; n];
                        add_products(
                            &mut margins,
                            Strips::new(&lines, 40),
                            &Weights::new(terms.clone()),
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

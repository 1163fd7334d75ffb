//! Sums of 32 bits that widen to 64 as they add up, in the widest vectors.

use std::arch::asm;
use std::arch::x86_64::*;

use super::weights::LOW_BITS;
use crate::numeric::strips::Line;

/// Sums of high parts and of low ones, in the place of [`Lanes`] of each: even lanes of both are told apart from odd
/// ones at the end, so that one register does for the totals of two.
#[derive(Clone, Copy)]
pub(super) struct LanesOfParts<const PARTS: usize> {
    total: __m512i,
    odd: [__m512i; PARTS],
}

impl<const PARTS: usize> LanesOfParts<PARTS> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn zero() -> Self {
        Self {
            total: _mm512_setzero_si512(),
            odd: [_mm512_setzero_si512(); PARTS],
        }
    }

    /// Adds the 32-bit sums of each part, which started at [`Lanes::start`], the high one first.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn add(&mut self, sums: [__m512i; PARTS]) {
        for (odd, sums) in self.odd.iter_mut().zip(sums) {
            *odd = _mm512_add_epi64(*odd, _mm512_srai_epi64::<32>(sums));
        }
        self.total = _mm512_add_epi64(self.total, all_parts(sums));
    }

    /// The sums of even and of odd lanes, after so many additions.
    ///
    /// A lane of the total is `odd 2^32 + even`, modulo 2^64, of both parts together.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn even_and_odd(self, additions: usize) -> [__m512i; 2] {
        let starts = all_parts([_mm512_set1_epi64((additions as i64) << 31); PARTS]);
        let odd = all_parts(self.odd);
        let even = _mm512_sub_epi64(self.total, _mm512_slli_epi64::<32>(odd));
        [_mm512_sub_epi64(even, starts), odd]
    }
}

/// high 2^15 + low, or the only part.
#[inline]
#[target_feature(enable = "avx512f")]
fn all_parts<const PARTS: usize>(parts: [__m512i; PARTS]) -> __m512i {
    let mut all = parts[0];
    for low in &parts[1..] {
        all = _mm512_add_epi64(_mm512_slli_epi64::<LOW_BITS>(all), *low);
    }
    all
}

/// Sums of i32 in lanes of 64 bits. An even one starts at 2^31, so that it is never negative and the lane is
/// `odd 2^32 + even` as it stands: lanes add up, modulo 2^64, while the odd ones are summed apart.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    total: __m512i,
    odd: __m512i,
}

impl Lanes {
    /// Where 32-bit sums start.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn start() -> __m512i {
        _mm512_set1_epi64(1 << 31)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn zero() -> Self {
        Self {
            total: _mm512_setzero_si512(),
            odd: _mm512_setzero_si512(),
        }
    }

    /// Adds 32-bit sums that started at [`Lanes::start`].
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn add(&mut self, sums: __m512i) {
        self.total = _mm512_add_epi64(self.total, sums);
        self.odd = _mm512_add_epi64(self.odd, _mm512_srai_epi64::<32>(sums));
    }

    /// The sums of even and of odd lanes, after so many additions.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn even_and_odd(self, additions: usize) -> [__m512i; 2] {
        let starts = _mm512_set1_epi64((additions as i64) << 31);
        let even = _mm512_sub_epi64(self.total, _mm512_slli_epi64::<32>(self.odd));
        [_mm512_sub_epi64(even, starts), self.odd]
    }
}

/// The sums of even and odd lanes of 32-bit sums that started at [`Lanes::start`], which count too.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn even_plus_odd(sums: __m512i) -> __m512i {
    let even = _mm512_and_si512(sums, _mm512_set1_epi64(0xffff_ffff));
    _mm512_add_epi64(even, _mm512_srai_epi64::<32>(sums))
}

/// sums + products of 16-bit integers, pair by pair; by the one instruction for it where `ONE`, which this machine must
/// have then. Compilers take that one apart where they know no processor.
#[inline]
#[target_feature(enable = "avx512bw")]
pub(super) fn add_products_of_pairs<const ONE: bool>(
    sums: __m512i,
    a: __m512i,
    b: __m512i,
) -> __m512i {
    if ONE {
        let mut sums = sums;
        // SAFETY: the caller has seen that the machine has the instruction, which reads and writes registers alone.
        unsafe {
            asm!(
                "vpdpwssd {sums}, {a}, {b}",
                sums = inout(zmm_reg) sums,
                a = in(zmm_reg) a,
                b = in(zmm_reg) b,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        sums
    } else {
        _mm512_add_epi32(sums, _mm512_madd_epi16(a, b))
    }
}

/// The same with one pair for all lanes, which takes no register where there is the one instruction.
#[inline]
#[target_feature(enable = "avx512bw")]
pub(super) fn add_products_by_pair<const ONE: bool>(
    sums: __m512i,
    a: __m512i,
    pair: &i32,
) -> __m512i {
    if ONE {
        let mut sums = sums;
        // SAFETY: the caller has seen that the machine has the instruction, which reads the pair and registers, and
        // writes registers alone.
        unsafe {
            asm!(
                "vpdpwssd {sums}, {a}, dword ptr [{pair}]{{1to16}}",
                sums = inout(zmm_reg) sums,
                a = in(zmm_reg) a,
                pair = in(reg) pair,
                options(pure, readonly, nostack, preserves_flags)
            );
        }
        sums
    } else {
        _mm512_add_epi32(sums, _mm512_madd_epi16(a, _mm512_set1_epi32(*pair)))
    }
}

/// So many lanes that hold nothing.
#[target_feature(enable = "avx512f")]
pub(super) fn no_lanes(len: usize) -> Vec<Lanes> {
    vec![Lanes::zero(); len]
}

/// A line, or the `SIZES` of its entries.
#[inline]
#[target_feature(enable = "avx512bw")]
pub(super) fn load<const SIZES: bool>(line: &Line) -> __m512i {
    // SAFETY: a line is exactly 512 bits.
    let entries = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
    if SIZES {
        _mm512_abs_epi16(entries)
    } else {
        entries
    }
}

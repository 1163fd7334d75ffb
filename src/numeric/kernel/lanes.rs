//! Sums of 32 bits that widen to 64 as they add up, in the widest vectors.

use std::arch::asm;
use std::arch::x86_64::*;

use crate::numeric::strips::Line;

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

//! Rows of records as lines of columns.

use crate::numeric::strips::{LINE, Line};

/// Turns a tile of rows of a strip into lines: entry `row` of line k is entry `row * stride + k` of the tile.
///
/// # Panics
/// Where the tile has more rows than a line, or more lines than the stride.
pub fn transpose(tile: &[i16], stride: usize, lines: &mut [Line]) {
    let rows = tile.len() / stride;
    assert!(lines.len() <= stride && rows <= LINE);
    for (eight, lines) in lines.chunks_mut(8).enumerate() {
        let first = eight * 8;
        // Rows that are moved eight at a time, where there are such instructions.
        let whole = match lines.len() {
            8 if cfg!(target_arch = "x86_64") => rows / 8 * 8,
            _ => 0,
        };
        #[cfg(target_arch = "x86_64")]
        for row in (0..whole).step_by(8) {
            let pieces = std::array::from_fn(|k| &tile[(row + k) * stride + first..][..8]);
            let columns = x86::transpose8(pieces);
            for (line, column) in lines.iter_mut().zip(columns) {
                line[row..][..8].copy_from_slice(&column);
            }
        }
        for row in whole..rows {
            for (k, line) in lines.iter_mut().enumerate() {
                line[row] = tile[row * stride + first + k];
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
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn transposition_moves_every_entry(rows in 0usize..=LINE, width in 1usize..40, spare in 0usize..9) {
            let stride = width + spare;
            let tile: Vec<i16> = (0..rows * stride).map(|k| k as i16).collect();
            let mut lines = vec![[-1i16; LINE]; width];
            transpose(&tile, stride, &mut lines);
            for (k, line) in lines.iter().enumerate() {
                let moved: Vec<i16> = (0..rows).map(|row| tile[row * stride + k]).collect();
                prop_assert_eq!(&line[..rows], &moved[..]);
                prop_assert!(line[rows..].iter().all(|&entry| entry == -1));
            }
        }
    }
}

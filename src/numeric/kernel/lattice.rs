//! Floats to integers in wide instructions, and affine maps of features onto the integer lattice.

use super::width::dispatch;

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
    nearest(clip(x * scale + offset, low, high))
}

/// x rounded towards zero, for x in (-32769, 32768); some integer for others. As `as i16`, in wide instructions.
#[inline(always)]
pub fn truncate(x: f64) -> i16 {
    nearest(x.trunc())
}

/// 1.5 * 2^52: adding it rounds to an integer, ties to even, and leaves that in the low bits in two's complement.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// The nearest integer to x, ties to even, where it fits; else some integer.
#[inline(always)]
fn nearest(x: f64) -> i16 {
    ((x + SHIFT).to_bits() as u16) as i16
}

/// The nearest integer to x, ties to even, for |x| <= 2^52; some integer for others. In wide instructions, as `as i64`
/// is not.
#[inline(always)]
pub fn integer(x: f64) -> i64 {
    const ONES: f64 = 4_503_599_627_370_496.0; // 2^52: adding it rounds to an integer
    // The low 52 bits of the shifted float, and at 2^52 the next one, are the size.
    let size = ((x.abs() + ONES).to_bits().wrapping_sub(ONES.to_bits())) as i64;
    if x < 0.0 { size.wrapping_neg() } else { size }
}

/// The nearest number in [low, high]; low for NaN. One instruction a side, where `f64::max` needs another two for NaN.
#[inline(always)]
pub fn clip(x: f64, low: f64, high: f64) -> f64 {
    let x = if x > low { x } else { low };
    if x < high { x } else { high }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::kernel::tests::at_every_width;
    use crate::numeric::kernel::{MAX_FEATURE, for_wide_vectors};

    proptest! {
        /// As the language's own casts, within what is stated.
        #[test]
        fn casts_are_those_of_the_language(
            x in prop::collection::vec(prop_oneof![-32_768.9..32_768.0f64, -3.0..3.0f64, Just(-0.0), Just(32_767.999)], 21),
            large in prop_oneof![-4.5e15..4.5e15f64, -9.0..9.0f64, Just(2f64.powi(52)), Just(-2f64.powi(52))],
        ) {
            let cast = || {
                let mut out = [0i16; 21];
                for_wide_vectors(
                    #[inline(always)]
                    || {
                        for (out, &x) in out.iter_mut().zip(&x) {
                            *out = truncate(x);
                        }
                    },
                );
                out
            };
            for out in at_every_width(cast) {
                for (&out, &x) in out.iter().zip(&x) {
                    prop_assert_eq!(out, x as i16);
                }
            }
            prop_assert_eq!(integer(large), large.round_ties_even() as i64);
            prop_assert_eq!(clip(large, -1.0, 2.0), large.clamp(-1.0, 2.0));
            prop_assert_eq!(clip(f64::NAN, -1.0, 2.0), -1.0);
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

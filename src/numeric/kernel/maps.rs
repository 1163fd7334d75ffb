//! Functions of floats in one loop, compiled for wide vectors, and their rounding to integers.

use super::MAX_DERIVATIVE;
use super::lattice::quantise;
use super::width::dispatch;

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

/// out_i = round(scale map(margins_i * unit, b_i)), ties to even and at most 2^14 in size, 0 for NaN; as [`map_pairs`].
///
/// # Panics
/// When there are fewer margins or entries of b than of `out`.
pub fn map_margins<F: Fn(f64, f64) -> f64>(
    (margins, unit): (&[i64], f64),
    b: &[f64],
    scale: f64,
    out: &mut [i16],
    map: F,
) {
    #[inline(always)]
    fn body<F: Fn(f64, f64) -> f64>(
        margins: &[i64],
        unit: f64,
        b: &[f64],
        scale: f64,
        out: &mut [i16],
        map: F,
    ) {
        let (margins, b) = (&margins[..out.len()], &b[..out.len()]);
        for k in 0..out.len() {
            out[k] = rounded(
                map(margins[k] as f64 * unit, b[k]),
                scale,
                MAX_DERIVATIVE.into(),
            );
        }
    }
    dispatch!(
        [F: Fn(f64, f64) -> f64],
        body,
        (margins: &[i64], unit: f64, b: &[f64], scale: f64, out: &mut [i16], map: F) -> ()
    )
}

/// out_i = round(clamp(x_i * scale, -bound, bound)), ties to even; NaN gives 0. `bound` is at most 2^14.
pub fn round_clamped(x: &[f64], scale: f64, bound: f64, out: &mut [i16]) {
    #[inline(always)]
    fn body(x: &[f64], scale: f64, bound: f64, out: &mut [i16]) {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = rounded(x, scale, bound);
        }
    }
    dispatch!([], body, (x: &[f64], scale: f64, bound: f64, out: &mut [i16]) -> ())
}

/// round(clamp(x * scale, -bound, bound)), ties to even; NaN gives 0.
#[inline(always)]
fn rounded(x: f64, scale: f64, bound: f64) -> i16 {
    let integer = quantise(x, scale, 0.0, -bound, bound);
    if x.is_nan() { 0 } else { integer }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::kernel::tests::at_every_width;

    proptest! {
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
}

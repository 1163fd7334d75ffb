/// exp(x) for |x| <= 708 by range reduction and a Taylor polynomial of degree 13: relative error below 2^-47 < 1e-14,
/// branch-free (so that a loop over records vectorises) and without fused operations (so that every machine
/// gets the same bits).
///
/// **Error**, u = 2^-53. k is the integer nearest to a float within 2^-42 of x log2(e): |k| <= 1022, and r = x - k ln 2
/// has |r| <= 0.347. k LN2_HIGH is exact, as LN2_HIGH has 32 bits and k ten; the two differences err by 0.35 u each, k
/// LN2_LOW and the rest of ln 2 by less than 1e-6 u: exp(r) by a relative u. The series ends 0.347^14/14! < 2^-57
/// early. Its terms are added in four levels, so that few operations wait for others (Estrin's scheme): r^2, r^4 and
/// r^8 err by u, 3 u and 7 u, and every level multiplies once and adds once: terms err by at most 2 + 3 + 5 + 9 = 19 u,
/// and by one u of rounded coefficients; sum |r|^j/j! <= exp(|r|) is at most twice exp(r). The factor 2^k and the
/// product with it are exact, above the subnormal numbers. In all (1 + 1 + 40) u (1 + 1e-14) < 64 u.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    const LOG2_E: f64 = std::f64::consts::LOG2_E;
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52: adding it rounds to an integer
    let shifted = x * LOG2_E + SHIFT;
    let k = shifted - SHIFT;
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    let r2 = r * r;
    let r4 = r2 * r2;
    let r8 = r4 * r4;
    let four = |c: [f64; 4]| (c[0] + c[1] * r) + (c[2] + c[3] * r) * r2;
    let first = four([1.0, 1.0, 0.5, 1.0 / 6.0]);
    let second = four([1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5_040.0]);
    let third = four([
        1.0 / 40_320.0,
        1.0 / 362_880.0,
        1.0 / 3_628_800.0,
        1.0 / 39_916_800.0,
    ]);
    let last = 1.0 / 479_001_600.0 + 1.0 / 6_227_020_800.0 * r;
    let sum = (first + second * r4) + (third + last * r4) * r8;
    // The low bits of `shifted` hold k; moved into the exponent field they are the factor 2^k.
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023).wrapping_shl(52));
    sum * power
}

/// The same with a relative error below 2^-26, for what is rounded to 14 bits next: half the work.
///
/// **Error.** The series ends 0.347^8/8! exp(max(r, 0)) early, less than 2^-27 of exp(r), and the rest is rounding: of
/// r, below 2^-42 in all as |k ln 2| < 2^10, and below 2^-48 of what follows.
#[inline(always)]
pub(super) fn quick_exp(x: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52: adding it rounds to an integer
    let shifted = x * std::f64::consts::LOG2_E + SHIFT;
    let r = x - (shifted - SHIFT) * std::f64::consts::LN_2;
    let r2 = r * r;
    let four = |c: [f64; 4]| (c[0] + c[1] * r) + (c[2] + c[3] * r) * r2;
    let first = four([1.0, 1.0, 0.5, 1.0 / 6.0]);
    let second = four([1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5_040.0]);
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023).wrapping_shl(52));
    (first + second * (r2 * r2)) * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exponential_matches_the_standard_library(x in -700.0..700.0f64) {
            // The standard library's is within an ulp.
            prop_assert!((exp(x) / x.exp() - 1.0).abs() < 2f64.powi(-47) + 2f64.powi(-51));
        }

        #[test]
        fn the_quick_exponential_errs_by_no_more_than_it_says(x in -700.0..700.0f64) {
            prop_assert!((quick_exp(x) / x.exp() - 1.0).abs() < 2f64.powi(-26));
        }
    }
}

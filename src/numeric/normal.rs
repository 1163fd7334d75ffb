//! The standard normal law where differences of tails matter: Mills' ratio m(x) = Q(x)/phi(x) and its
//! decrements.
//!
//! With m(x) = integral over s > 0 of exp(-x s - s^2/2) ds, everything here is a sum or an integral of
//! positive terms, so no relative accuracy is lost. Stated errors are multiples of u = 2^-53 and were checked
//! against mpmath in tests/test_accounting.py through the curves that use them.

use super::quadrature::gauss_legendre_at_once;
use super::search::bisect;
use std::f64::consts::FRAC_1_SQRT_2;

/// sqrt(pi / 2) = m(0).
const SQRT_HALF_PI: f64 = 1.253_314_137_315_500_3;
/// 1 / sqrt(2 pi) = phi(0).
const INV_SQRT_2PI: f64 = 0.398_942_280_401_432_7;
/// From here on the continued fraction serves; below it erfc does, far from underflow.
const FRACTION_FROM: f64 = 4.0;
/// Depth of the continued fraction; at x = 4 two successive convergents agree within 1e-17 (test below).
const DEPTH: u32 = 48;

/// The density phi(x); relative error at most (2 + x^2) u.
///
/// ```
/// assert!((dpsparse::numeric::normal::density(0.0) - 0.3989422804014327).abs() < 1e-16);
/// ```
pub fn density(x: f64) -> f64 {
    INV_SQRT_2PI * (-0.5 * x * x).exp()
}

/// The x that a normal value exceeds with probability `tail`, in [0.001, 0.5]: about, which proves nothing.
///
/// ```
/// use dpsparse::numeric::normal::upper_quantile;
/// assert!((upper_quantile(0.025) - 1.959964).abs() < 1e-6);
/// ```
pub fn upper_quantile(tail: f64) -> f64 {
    let below = |x: f64| Ok::<_, std::convert::Infallible>(cdf(-x) >= tail);
    let Ok(x) = bisect(below, 3.2, 0.0, 1e-9);
    x
}

/// The distribution function Phi(x) = erfc(-x/sqrt 2)/2; relative error at most (4 + 2 x^2) u down to the
/// underflow at x = -37.
///
/// ```
/// use dpsparse::numeric::normal::cdf;
/// assert_eq!(cdf(0.0), 0.5);
/// assert!((cdf(-10.0) / 7.61985302416052606e-24 - 1.0).abs() < 1e-13);
/// ```
pub fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// ln(2 Phi(x)) for x >= 0, without cancellation at 0: log1p(erf(x/sqrt 2)); relative error at most 8 u.
///
/// ```
/// use dpsparse::numeric::normal::log_twice_cdf;
/// assert!((log_twice_cdf(1e-12) / 7.97884560802e-13 - 1.0).abs() < 1e-11);
/// assert!((log_twice_cdf(40.0) - 2f64.ln()).abs() < 1e-15);
/// ```
pub fn log_twice_cdf(x: f64) -> f64 {
    libm::erf(x * FRAC_1_SQRT_2).ln_1p()
}

/// t(x) with m(x) = 1/(x + t(x)) for x >= 4: Laplace's continued fraction 1/(x + 2/(x + 3/(x + ...)))
/// (DLMF 7.9). All terms are positive: successive convergents enclose the value and rounding stays below 4 u.
fn tail(x: f64) -> f64 {
    let [t] = tails([x]);
    t
}

/// [`tail`] of several numbers; their chains of quotients keep the divider busy together.
fn tails<const N: usize>(x: [f64; N]) -> [f64; N] {
    let mut t = [0.0; N];
    for k in (1..=DEPTH).rev() {
        for (t, x) in t.iter_mut().zip(x) {
            *t = f64::from(k) / (x + *t);
        }
    }
    t
}

/// Mills' ratio m(x) = Q(x)/phi(x), Q = 1 - Phi; infinite below about -37.7.
///
/// Relative error at most 8 u for x >= 4 and (8 + 3 x^2) u below (the argument of erfc and the exponent are
/// rounded).
///
/// ```
/// use dpsparse::numeric::normal::mills_ratio;
/// assert!((mills_ratio(0.0) - 1.2533141373155003).abs() < 1e-15);
/// assert!((mills_ratio(1e8) * 1e8 - 1.0).abs() < 1e-15);
/// ```
pub fn mills_ratio(x: f64) -> f64 {
    if x >= FRACTION_FROM {
        1.0 / (x + tail(x))
    } else {
        SQRT_HALF_PI * (0.5 * x * x).exp() * libm::erfc(x * FRAC_1_SQRT_2)
    }
}

/// -m'(x) = 1 - x m(x), the rate at which Mills' ratio falls, for x >= -1.
///
/// For x >= 4 it equals t m (from 1 - x/(x+t) = t/(x+t)): no cancellation. Below, x m(x) <= 0.95, so the
/// subtraction loses at most a factor of 20 of an error of (10 + 3 x^2) u: relative error at most 1200 u <
/// 2^-42.
///
/// ```
/// use dpsparse::numeric::normal::mills_fall;
/// assert_eq!(mills_fall(0.0), 1.0);
/// assert!((mills_fall(1e4) * 1e8 - 1.0).abs() < 1e-7);
/// ```
pub fn mills_fall(x: f64) -> f64 {
    let [fall] = mills_falls([x]);
    fall
}

/// [`mills_fall`] of several numbers.
fn mills_falls<const N: usize>(x: [f64; N]) -> [f64; N] {
    let far = |&x: &f64| x >= FRACTION_FROM;
    let t = if x.iter().any(far) { tails(x) } else { x };
    std::array::from_fn(|i| {
        let (x, t) = (x[i], t[i]);
        if far(&x) {
            t / (x + t)
        } else {
            1.0 - x * mills_ratio(x)
        }
    })
}

/// m(a) - m(a + length) for a >= -length/2, length > 0, to a relative error of 2^-40.
///
/// Up to length 1 it integrates the positive -m' by the ten-point rule. Its error term has
/// -m^(21)(x) = integral of s^21 exp(-x s - s^2/2) <= exp(1/8 + 5) 21!! ~ 2e12 for x >= -1/2, decreasing in x
/// as fast as the integrand itself (both are Laplace transforms of positive functions; for large x the ratio
/// to -m' is 21!/x^20), so the relative error stays below 1e-17. Beyond length 1 the difference itself loses
/// at most the factor m(a)/(m(a) - m(a+1)) <= a + 3, and a > 40 makes phi(a) underflow in every use.
///
/// ```
/// use dpsparse::numeric::normal::mills_difference;
/// assert!((mills_difference(0.0, 1e-9) / 1e-9 - 1.0).abs() < 1e-8);
/// ```
pub fn mills_difference(a: f64, length: f64) -> f64 {
    if length <= 1.0 {
        gauss_legendre_at_once(mills_falls, a, length)
    } else {
        mills_ratio(a) - mills_ratio(a + length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn convergents_enclose_tightly() {
        let convergent = |x: f64, depth: u32| {
            let mut t = 0.0;
            for k in (1..=depth).rev() {
                t = f64::from(k) / (x + t);
            }
            t
        };
        for x in [4.0, 4.5, 6.0, 10.0, 40.0] {
            let (even, odd) = (convergent(x, DEPTH), convergent(x, DEPTH + 1));
            assert!(
                (even / odd - 1.0).abs() < 1e-14,
                "{x}: {}",
                even / odd - 1.0
            );
        }
    }

    #[test]
    fn both_formulas_agree_where_they_meet() {
        let below = SQRT_HALF_PI * 8f64.exp() * libm::erfc(4.0 * FRAC_1_SQRT_2);
        assert!((mills_ratio(4.0) / below - 1.0).abs() < 1e-14);
        assert!((mills_fall(4.0) / (1.0 - 4.0 * below) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn differences_agree_across_the_switch() {
        for a in [-0.5, -0.2, 0.0, 1.0, 3.7, 5.0, 20.0] {
            let direct = mills_ratio(a) - mills_ratio(a + 1.0);
            let integrated = mills_difference(a, 1.0);
            assert!((direct / integrated - 1.0).abs() < 1e-12, "{a}");
        }
    }
}

//! The exact privacy curve of the Gaussian mechanism (Balle & Wang 2018, theorem 8).
//!
//! With M = sensitivity/sigma, delta(epsilon) = Phi(M/2 - epsilon/M) - e^epsilon Phi(-M/2 - epsilon/M). Put a
//! = epsilon/M - M/2 and b = a + M; then b^2 - a^2 = 2 epsilon, so e^epsilon phi(b) = phi(a) and delta =
//! phi(a) (m(a) - m(b)) with Mills' ratio m: no cancellation.

use crate::numeric::directed::{sqrt_up, up};
use crate::numeric::normal::{cdf, density, mills_difference, mills_ratio};
use crate::numeric::search::boundary;

/// u = 2^-53.
const UNIT: f64 = f64::EPSILON / 2.0;

/// delta(epsilon) of the Gaussian mechanism with M = `ratio` = sensitivity/sigma, rounded up.
///
/// For M > 1 and a <= 0 it is Q(a) - phi(a) m(b) (Q(a) >= 1/2, m(b) <= m(1) e^0: a loss of at most a factor
/// of 3). Slack: `numeric::normal` gives the factors within 2^-40 and (4 + 2 a^2) u; the rounding of a, at
/// most 3 u b, moves delta relatively by at most 3 u b (b + 1.26), because d ln delta/da = -M m(b)/(m(a) -
/// m(b)) and -m'/m >= 1/(b + 1.26) up to b. All are below 2^-39 + 8 u (1 + b)^2 <= 4e-12 for b <= 40. Below
/// 1e-300 a few smallest floats are added for underflow.
///
/// ```
/// use dpsparse::accounting::event::gaussian;
/// assert!((gaussian::delta(0.0, 1.0) - 0.38292492254802624).abs() < 1e-11);
/// ```
pub fn delta(epsilon: f64, ratio: f64) -> f64 {
    if ratio == 0.0 {
        return 0.0;
    }
    let (shift, half) = (epsilon / ratio, 0.5 * ratio);
    let (a, b) = (shift - half, shift + half);
    if a - 4.0 * UNIT * b > 39.0 {
        return f64::from_bits(1); // delta <= phi(39) m(39) < 5e-324
    }
    let raw = if ratio <= 1.0 || a > 0.0 {
        density(a) * mills_difference(a, ratio)
    } else {
        cdf(-a) - density(a) * mills_ratio(b)
    };
    let slack = 2f64.powi(-39) + 8.0 * UNIT * (1.0 + b) * (1.0 + b);
    let bound = up(raw.max(0.0) + 2e-323, slack);
    if bound < 1.0 { bound } else { 1.0 }
}

/// The least epsilon with delta(epsilon) <= `target` for M = `ratio`, from the private side.
///
/// ```
/// use dpsparse::accounting::event::gaussian;
/// let epsilon = gaussian::epsilon(1e-6, 1.0);
/// assert!(gaussian::delta(epsilon, 1.0) <= 1e-6);
/// assert!(gaussian::delta(epsilon * (1.0 - 1e-9), 1.0) > 1e-6);
/// ```
pub fn epsilon(target: f64, ratio: f64) -> f64 {
    if delta(0.0, ratio) <= target {
        return 0.0;
    }
    // delta(epsilon) <= Q(a) <= exp(-a^2/2)/2: private at a = sqrt(2 ln(1/target)); doubled only for the
    // slack's sake.
    let mut high = 0.5 * ratio * ratio + ratio * sqrt_up(-2.0 * target.ln());
    while high.is_finite() && delta(high, ratio) > target {
        high *= 2.0;
    }
    if !high.is_finite() {
        return f64::INFINITY;
    }
    let (near, value) = newton(target, ratio, high);
    if value > target * (1.0 - 2.0 * AIM) {
        return near;
    }
    boundary(|x| log_excess(delta(x, ratio), target), 0.0, near, 1e-15)
}

/// Share of delta by which Newton's method keeps off the edge, above what rounding adds to delta.
const AIM: f64 = 4e-12;

/// The last private point on Newton's way to delta(epsilon) = target (1 - AIM) from `high`, which is private, and delta
/// there.
///
/// ln delta is concave in epsilon, as delta is the correlation of the normal density of the loss with (1 - e^-u)+, both
/// log-concave; so a tangent lies above it, and every step from the private side ends there. The slope of delta is
/// -e^epsilon Phi(-b) = -phi(a) m(b).
fn newton(target: f64, ratio: f64, high: f64) -> (f64, f64) {
    let aim = (target * (1.0 - AIM)).ln();
    let (mut epsilon, mut value) = (high, delta(high, ratio));
    for _ in 0..NEWTON_STEPS {
        let (a, b) = (epsilon / ratio - 0.5 * ratio, epsilon / ratio + 0.5 * ratio);
        let step = (aim - value.ln()) * value / (density(a) * mills_ratio(b));
        let next = epsilon - step;
        if !(step > f64::EPSILON * epsilon && next > 0.0) {
            break;
        }
        let there = delta(next, ratio);
        if there > target {
            break;
        }
        (epsilon, value) = (next, there);
    }
    (epsilon, value)
}

/// Most steps of Newton's method; its error squares, so that a few suffice.
const NEWTON_STEPS: usize = 20;

/// ln(value/target) with its sign decided by the exact comparison: <= 0 if and only if value <= target.
pub(crate) fn log_excess(value: f64, target: f64) -> f64 {
    let logarithm = (value / target).ln();
    if value <= target {
        logarithm.min(0.0)
    } else {
        logarithm.max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        // mpmath, 50 digits.
        for (epsilon, ratio, truth) in [
            (1.0, 1.0, 0.126_936_737_506_643_95),
            (0.0, 1e-6, 3.989_422_804_014_16e-7),
        ] {
            let value = delta(epsilon, ratio);
            assert!(
                value >= truth && value < truth * (1.0 + 1e-9),
                "{value} {truth}"
            );
        }
        assert_eq!(delta(1e9, 1.0), f64::from_bits(1));
        assert_eq!(delta(1.0, f64::INFINITY), 1.0);
        assert_eq!(epsilon(1e-6, f64::INFINITY), f64::INFINITY);
        assert_eq!(delta(1.0, 1e-200), f64::from_bits(1));
    }

    proptest! {
        #[test]
        fn decreasing_in_epsilon_increasing_in_ratio(e in 0.0f64..20.0, m in 0.01f64..8.0) {
            prop_assert!(delta(e + 0.1, m) <= delta(e, m));
            prop_assert!(delta(e, m * 1.01) >= delta(e, m));
        }

        #[test]
        fn epsilon_inverts_delta(d in 1e-12f64..0.3, m in 1e-4f64..30.0) {
            let e = epsilon(d, m);
            prop_assert!(delta(e, m) <= d);
            if e > 1e-6 * m {
                prop_assert!(delta(e * (1.0 - 1e-8), m) > d);
            }
        }
    }
}

//! Renyi composition and its conversion to (epsilon, delta).
//!
//! Adaptive composition adds Renyi divergences of one order (Mironov 2017, proposition 1). For every order a > 1,
//! R(a) implies delta <= exp((a-1)(R(a) - epsilon) + a ln(1 - 1/a))/(a-1) (Canonne, Kamath & Steinke 2020, proposition
//! 12; [`crate::theory_of_privacy::noise_and_accounting`]). Proof: with Y = P/Q under P, delta = E (1 - e^epsilon/Y)+,
//! and (1 - 1/x)+ <= x^(a-1) (a-1)^(a-1)/a^a for x > 0 (its greatest ratio stands at x = a/(a-1)); now E Y^(a-1) =
//! exp((a-1) R(a)). Any order is valid, so the search over orders can only lose tightness.
//!
//! It goes downhill, because there is one valley: (a-1) R(a) is convex, and so is a ln(1 - 1/a) - ln(a-1), whose second
//! derivative is 1/(a(a-1)). So ln delta is convex in a, and epsilon, which is a convex function over a-1, falls and
//! then rises.

use crate::numeric::search::minimum;

/// u = 2^-53.
const UNIT: f64 = f64::EPSILON / 2.0;
/// Range of ln(a-1) that is searched: from almost the divergence of order 1 to almost pure DP.
const LOG_ORDERS: (f64, f64) = (-14.0, 30.0);
/// Relative width of a-1 at which the search stops: about 1e-13 of the value.
const WIDTH: f64 = 3e-7;

/// ln(1 - 1/a), within 2 u (1 + its size): below order 2 from the quotient (a-1)/a, whose numerator is exact and keeps
/// its digits where 1 - 1/a would lose them.
fn log_share(order: f64, excess: f64) -> f64 {
    if order < 2.0 {
        (excess / order).ln()
    } else {
        (-1.0 / order).ln_1p()
    }
}

/// The least delta over all orders for the composed curve `renyi`, rounded up.
pub(super) fn delta(renyi: impl Fn(f64) -> f64, epsilon: f64) -> f64 {
    let log_delta = |log_excess: f64| {
        let order = 1.0 + log_excess.exp();
        let excess = order - 1.0;
        let divergence = renyi(order);
        let correction = order * log_share(order, excess);
        let log = excess.ln();
        let value = excess * (divergence - epsilon) + correction - log;
        value
            + 4.0
                * UNIT
                * (excess * (divergence + epsilon) + 4.0 - correction + log.abs() + value.abs())
    };
    // Of R(a) = rho a, but for logarithms: (a-1)(rho a - epsilon) is least there.
    let rho = 0.5 * renyi(2.0);
    let guess = (0.5 * (epsilon / rho - 1.0)).ln();
    let log = minimum(log_delta, guess.max(LOG_ORDERS.0), LOG_ORDERS, WIDTH);
    if log >= 0.0 {
        return 1.0;
    }
    // exp errs by at most one unit; below the normal floats by one smallest float.
    crate::numeric::directed::up(log.exp(), 4.0 * UNIT).min(1.0)
}

/// The least epsilon over all orders, rounded up: R(a) + ln(1 - 1/a) - (ln delta + ln a)/(a-1), not below 0.
pub(super) fn epsilon(renyi: impl Fn(f64) -> f64, delta: f64) -> f64 {
    let log_delta = delta.ln();
    let at = |log_excess: f64| {
        let order = 1.0 + log_excess.exp();
        let excess = order - 1.0;
        let divergence = renyi(order);
        let correction = log_share(order, excess);
        let tail = (log_delta + order.ln()) / excess;
        let value = divergence + correction - tail;
        value + 8.0 * UNIT * (divergence - correction + (log_delta.abs() + order.ln()) / excess)
    };
    // Of R(a) = rho a, but for logarithms: rho a - ln(delta)/(a-1) is least there.
    let guess = 0.5 * (log_delta / (-0.5 * renyi(2.0))).ln();
    minimum(at, guess.max(LOG_ORDERS.0), LOG_ORDERS, WIDTH).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_zcdp() {
        for (target, rho) in [
            (0.1, 3.21e-4),
            (0.5, 6.64e-3),
            (1.0, 0.0244),
            (2.0, 0.0882),
            (5.0, 0.463),
        ] {
            let e = epsilon(|a| a * rho, 1e-6);
            assert!((e / target - 1.0).abs() < 5e-3, "{target} {e}");
            let d = delta(|a| a * rho, e);
            assert!((d / 1e-6 - 1.0).abs() < 1e-9, "{d}");
        }
        assert_eq!(delta(|_| f64::INFINITY, 1.0), 1.0);
        assert_eq!(epsilon(|_| f64::INFINITY, 0.5), f64::INFINITY);
    }
}

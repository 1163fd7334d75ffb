//! The exact Renyi curve of eps0-bounded-range mechanisms, such as the exponential mechanism
//! ([`crate::theory_of_privacy::selection`]).
//!
//! Let the loss ln(P/Q) lie in [t - eps0, t], 0 <= t <= eps0. X = P/Q then lies in [e^(t-eps0), e^t] and has
//! mean 1 under Q, and x^a is convex, so E_Q X^a is at most the chord at 1: p e^(a t) + (1-p) e^(a (t-eps0)),
//! p = (e^-t - e^-eps0)/(1 - e^-eps0) from p e^t + (1-p) e^(t-eps0) = 1. The two-point law attains it, so the
//! bound is exact (Dong, Durfee & Rogers 2020; Cesar & Rogers 2021). With y = e^t, A = 1 - e^(-a eps0) and B
//! = e^-eps0 - e^(-a eps0),
//!   (1 - e^-eps0) E_Q (P/Q)^a = y^(a-1) A - y^a B,
//! greatest at y = (a-1) A/(a B), where it is y^(a-1) A/a. Write s(x) = ln(sinh(x/2)/(x/2)), so that ln((1 -
//! e^-x)/x) = s(x) - x/2; collecting terms,
//!   R(a) = [s(a eps0) - s((a-1) eps0)] + [s(a eps0) - s(eps0)]/(a-1):
//! two increases of the convex even function s, both positive, each computed without cancellation. (s(x) ~
//! x^2/24 gives a eps0^2/8.)

use crate::numeric::directed::up;
use crate::numeric::quadrature::gauss_legendre;

/// Relative slack of the float evaluation; see [`increase`] and [`renyi`].
const SLACK: f64 = 9.1e-13; // 2^-40

/// B_2k/(2k)!, k = 1..9: s'(u) = coth(u/2)/2 - 1/u = sum of B_2k u^(2k-1)/(2k)! for |u| < 2 pi.
const SERIES: [f64; 9] = [
    1.0 / 12.0,
    -1.0 / 720.0,
    1.0 / 30_240.0,
    -1.0 / 1_209_600.0,
    1.0 / 47_900_160.0,
    -691.0 / 1_307_674_368_000.0,
    1.0 / 74_724_249_600.0,
    -3617.0 / 10_670_622_842_880_000.0,
    43_867.0 / 5_109_094_217_170_944_000.0,
];

/// s'(u) for u >= 0. The series alternates with ratio below 1/39, so nine terms leave 2.2e-16 at u = 1; above,
/// the subtraction loses at most a factor of 13 (s'(1) = 0.082). Relative error at most 64 u.
fn slope(u: f64) -> f64 {
    if u <= 1.0 {
        let square = u * u;
        u * SERIES.iter().rev().fold(0.0, |sum, c| sum * square + c)
    } else {
        0.5 + 1.0 / u.exp_m1() - 1.0 / u
    }
}

/// s(start + length) - s(start) for start, length >= 0.
///
/// Up to length 1: the ten-point rule on the positive s'. Its poles stand at distance 2 pi from the real
/// line, so the rule converges as (4 * 2 pi)^-20 = 1e-28. Beyond: s(x) = x/2 - ln x + ln(1 - e^-x), in
/// difference form from start >= 1; each loses at most a factor of 30 against a few u. Relative error below
/// 4000 u < 2^-41.
fn increase(start: f64, length: f64) -> f64 {
    if length <= 1.0 {
        return gauss_legendre(slope, start, length);
    }
    let end = start + length;
    if start < 1.0 {
        0.5 * end - end.ln() + (-(-end).exp()).ln_1p() - gauss_legendre(slope, 0.0, start)
    } else {
        0.5 * length - (length / start).ln_1p() + (-(-end).exp()).ln_1p()
            - (-(-start).exp()).ln_1p()
    }
}

/// R(order) of an `epsilon0`-bounded-range mechanism, rounded up; `order` >= 1 and finite. At order 1 the second
/// increase over a-1 is its limit, eps0 s'(eps0): R(1) = s(eps0) + eps0 s'(eps0).
///
/// The least of the exact formula with its slack, a eps0^2/8 (Cesar & Rogers 2021, from Hoeffding's lemma)
/// and eps0. The products a eps0 and (a-1) eps0 carry a relative error of u, which moves s by at most 2u
/// relatively: inside the slack.
///
/// ```
/// use dpsparse::accounting::event::bounded_range;
/// assert!((bounded_range::renyi(1e-3, 2.0) / (2.0 * 1e-6 / 8.0) - 1.0).abs() < 1e-6);
/// assert!(bounded_range::renyi(1.0, 1e6) <= 1.0);
/// ```
pub fn renyi(epsilon0: f64, order: f64) -> f64 {
    let excess = order - 1.0;
    let rise = if excess == 0.0 {
        epsilon0 * slope(epsilon0)
    } else {
        increase(epsilon0, excess * epsilon0) / excess
    };
    let exact = increase(excess * epsilon0, epsilon0) + rise;
    let quadratic = up(order * epsilon0 * epsilon0 / 8.0, 2f64.powi(-50));
    // f64::min ignores a NaN on the left; large products overflow to infinity.
    up(exact, SLACK).min(quadratic).min(epsilon0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// ln( p e^(a t) + (1-p) e^(a (t-eps0)) )/(a-1) at one t, plainly.
    fn at(t: f64, epsilon0: f64, order: f64) -> f64 {
        let p = ((-t).exp() - (-epsilon0).exp()) / -(-epsilon0).exp_m1();
        (order * t + (p + (1.0 - p) * (-order * epsilon0).exp()).ln()) / (order - 1.0)
    }

    /// Every term of the series counts: values by mpmath, and the closed form beyond.
    #[test]
    fn the_series_meets_the_closed_form() {
        for (u, exact) in [
            (1.0, 0.081_976_706_869_326_42),
            (0.9375, 0.077_004_024_332_252_18),
        ] {
            assert!((slope(u) / exact - 1.0).abs() < 4e-15, "{u}");
        }
        assert!((slope(1.0_f64.next_up()) / slope(1.0) - 1.0).abs() < 1e-14);
    }

    proptest! {
        #[test]
        fn no_t_exceeds_it_and_one_meets_it(epsilon0 in 0.05f64..20.0, excess in 0.05f64..200.0) {
            let order = 1.0 + excess;
            let bound = renyi(epsilon0, order);
            let best = (1..4000)
                .map(|i| at(epsilon0 * f64::from(i) / 4000.0, epsilon0, order))
                .fold(0.0, f64::max);
            prop_assert!(bound >= best * (1.0 - 1e-9));
            prop_assert!(bound <= best * 1.01 + 1e-3 * epsilon0);
        }

        #[test]
        fn increasing_in_both(epsilon0 in 1e-6f64..30.0, excess in 1e-6f64..1e6) {
            let order = 1.0 + excess;
            let here = renyi(epsilon0, order);
            prop_assert!(renyi(epsilon0 * 1.001, order) > here);
            prop_assert!(renyi(epsilon0, 1.0 + 1.1 * excess) >= here * (1.0 - 1e-12));
            prop_assert!(here <= up(order * epsilon0 * epsilon0 / 8.0, 1e-15));
        }
    }

    #[test]
    fn branches_of_the_increase_agree() {
        for (start, length) in [
            (0.3, 1.0),
            (0.999, 1.0),
            (1.0, 1.0),
            (5.0, 1.0),
            (40.0, 1.0),
            (1e5, 1.0),
        ] {
            let longer = increase(start, length + 1e-9);
            let ratio = (longer - 1e-9 * slope(start + length)) / increase(start, length);
            assert!((ratio - 1.0).abs() < 1e-12, "{start} {length} {ratio}");
        }
    }
}

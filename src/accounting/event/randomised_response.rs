//! Pure epsilon-DP: every epsilon-DP mechanism is dominated by binary randomised response with
//! probability e^epsilon/(1 + e^epsilon) (Kairouz, Oh & Viswanath 2015), so its exact curves serve them all.

use crate::numeric::directed::{mul_up, up};

/// u = 2^-53.
const UNIT: f64 = f64::EPSILON / 2.0;

/// R(order) of randomised response, rounded up; `order` >= 1 and finite. At order 1 it is the limit epsilon
/// tanh(epsilon/2), which is [`rho`].
///
/// R(a) = ln( cosh((a - 1/2) eps)/cosh(eps/2) )/(a-1) (Mironov 2017, with the powers summed). cosh x - cosh y
/// = 2 sinh((x+y)/2) sinh((x-y)/2) turns the quotient into 1 + 2 sinh(a eps/2) sinh((a-1) eps/2)/cosh(eps/2):
/// positive terms only, a relative error of at most (16 + a eps) u. For (a-1) eps > 2 it is eps +
/// [ln(1 + e^-(2a-1)eps) - ln(1 + e^-eps)]/(a-1), where the bracket is at least -ln 2 and so takes at most
/// 0.35 eps. Never more than eps.
///
/// ```
/// use dpsparse::accounting::event::randomised_response;
/// assert!(randomised_response::renyi(1.0, 1e9) <= 1.0);
/// assert!((randomised_response::renyi(1e-3, 2.0) / 1e-6 - 1.0).abs() < 1e-6);
/// ```
pub fn renyi(epsilon: f64, order: f64) -> f64 {
    let excess = order - 1.0;
    if excess == 0.0 {
        return rho(epsilon).min(epsilon);
    }
    let raw = if order * epsilon <= 4.0 || excess * epsilon <= 2.0 {
        let x = 0.5 * order * epsilon;
        let y = 0.5 * epsilon;
        // sinh(x)/cosh(y) <= e^(x-y) here, with x - y <= 1 or x <= 2: no overflow for moderate epsilon.
        let quotient = if y < 300.0 {
            x.sinh() / y.cosh()
        } else {
            (x - y).exp()
        };
        (2.0 * quotient * (0.5 * excess * epsilon).sinh()).ln_1p() / excess
    } else {
        let far = (-(2.0 * order - 1.0) * epsilon).exp().ln_1p();
        epsilon + (far - (-epsilon).exp().ln_1p()) / excess
    };
    up(raw, 2f64.powi(-42) + 64.0 * UNIT * epsilon.min(1e6)).min(epsilon)
}

/// The zCDP parameter of epsilon-DP: epsilon tanh(epsilon/2) <= epsilon^2/2, rounded up.
///
/// Proof: with the curve above, R(a) = epsilon times the mean of tanh over [epsilon/2, (a - 1/2) epsilon],
/// since tanh is the derivative of ln cosh and the interval has length (a-1) epsilon. tanh is concave on
/// [0, inf), so the mean is at most tanh at the middle, tanh(a epsilon/2), which is at most a tanh(epsilon/2) by
/// concavity and tanh 0 = 0. Equality as a -> 1. (Bun & Steinke 2016, proposition 1.4, has epsilon^2/2.)
///
/// ```
/// use dpsparse::accounting::event::randomised_response;
/// assert!(randomised_response::rho(1.0) <= 0.5);
/// ```
pub fn rho(epsilon: f64) -> f64 {
    up(epsilon * (0.5 * epsilon).tanh(), 2f64.powi(-50)).min(mul_up(mul_up(epsilon, epsilon), 0.5))
}

/// delta at `epsilon` of an `epsilon0`-DP mechanism: (e^eps0 - e^eps)/(1 + e^eps0) below eps0, 0 from there
/// on, rounded up.
///
/// ```
/// use dpsparse::accounting::event::randomised_response;
/// assert_eq!(randomised_response::delta(1.0, 1.0), 0.0);
/// assert!((randomised_response::delta(0.0, 1.0) - 0.5f64.tanh()).abs() < 1e-12);
/// ```
pub fn delta(epsilon: f64, epsilon0: f64) -> f64 {
    if epsilon >= epsilon0 {
        return 0.0;
    }
    if !epsilon0.is_finite() {
        return 1.0;
    }
    // epsilon0 - epsilon rounds by at most half a unit of epsilon0; numerator and denominator are positive.
    let gap = (epsilon0 - epsilon) + UNIT * epsilon0;
    up(-(-gap).exp_m1() / (1.0 + (-epsilon0).exp()), 2f64.powi(-48)).min(1.0)
}

/// The least epsilon >= 0 at which an `epsilon0`-DP mechanism is (epsilon, delta)-DP:
/// eps0 + ln(1 - delta (1 + e^-eps0)), rounded up.
///
/// ```
/// use dpsparse::accounting::event::randomised_response;
/// let epsilon = randomised_response::epsilon(0.1, 1.0);
/// assert!(epsilon < 1.0 && randomised_response::delta(epsilon, 1.0) <= 0.1 * (1.0 + 1e-12));
/// ```
pub fn epsilon(delta: f64, epsilon0: f64) -> f64 {
    if self::delta(0.0, epsilon0) <= delta {
        return 0.0;
    }
    let share = delta * (1.0 + (-epsilon0).exp());
    if share >= 1.0 - 4.0 * UNIT {
        return epsilon0; // delta within a few units of 1: no digits left
    }
    let saving = (-share).ln_1p(); // <= 0, within 8 u (1 + 1/(1 - share)) of the truth
    let slack = 8.0 * UNIT * (epsilon0 + saving.abs() + 1.0 / (1.0 - share));
    (epsilon0 + saving + slack).max(0.0).min(epsilon0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn renyi_meets_its_definition(epsilon in 0.05f64..30.0, excess in 0.05f64..20.0) {
            let order = 1.0 + excess;
            let p = 1.0 / (1.0 + (-epsilon).exp());
            let q = 1.0 - p;
            let log_sum = order * p.ln() - excess * (p.ln() - epsilon)
                + ((1.0 - 2.0 * order) * epsilon).exp().ln_1p();
            let truth = log_sum / excess;
            prop_assume!(q > 1e-12);
            prop_assert!((renyi(epsilon, order) / truth - 1.0).abs() < 1e-9, "{} {}", renyi(epsilon, order), truth);
        }

        #[test]
        fn rho_dominates(log_epsilon in -14.0f64..3.0, log_excess in -14.0f64..12.0) {
            let (epsilon, order) = (log_epsilon.exp(), 1.0 + log_excess.exp());
            prop_assert!(renyi(epsilon, order) <= rho(epsilon) * order * (1.0 + 1e-11));
        }

        #[test]
        fn epsilon_inverts_delta(d in 1e-9f64..0.99, epsilon0 in 1e-3f64..30.0) {
            let e = epsilon(d, epsilon0);
            prop_assert!(delta(e, epsilon0) <= d * (1.0 + 1e-12) + 1e-14);
        }
    }

    #[test]
    fn epsilon_is_its_closed_form() {
        for epsilon0 in [1e-3f64, 0.1, 1.0, 5.0, 40.0] {
            for share in [1e-9, 0.01, 0.4, 0.9] {
                let target = share * delta(0.0, epsilon0);
                let truth = epsilon0 + (-target * (1.0 + (-epsilon0).exp())).ln_1p();
                let stated = epsilon(target, epsilon0);
                let room = 1e-13 * (1.0 + epsilon0);
                assert!(
                    stated <= epsilon0 && (stated - truth).abs() < room,
                    "{stated} {truth}"
                );
                assert!(delta(stated, epsilon0) <= target * (1.0 + 1e-12));
            }
            assert_eq!(epsilon(delta(0.0, epsilon0), epsilon0), 0.0);
            assert_eq!(epsilon(0.0, epsilon0), epsilon0);
        }
    }

    /// Where one form loses its digits the other one serves.
    #[test]
    fn renyi_keeps_its_digits_at_small_and_large_epsilons() {
        for epsilon in [1e-9f64, 1e-6, 1e-3, 0.1, 1.0] {
            let truth = (4.0 * (0.5 * epsilon).sinh().powi(2)).ln_1p();
            assert!(
                (renyi(epsilon, 2.0) / truth - 1.0).abs() < 1e-11,
                "{epsilon}"
            );
        }
        for (epsilon, order) in [(700.0, 1.001), (700.0, 1.5), (50.0, 3.0), (1e6, 1.0 + 1e-6)] {
            assert!(
                (renyi(epsilon, order) / epsilon - 1.0).abs() < 1e-9,
                "{epsilon} {order}"
            );
        }
        assert!((renyi(1e-3, 1.0 + 1e-9) / rho(1e-3) - 1.0).abs() < 1e-6);
    }
}

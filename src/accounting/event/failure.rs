//! Failure probabilities: what a release that is private but for a small chance costs.
//!
//! [`Event::Failure`](super::Event::Failure) of probability d stands for: between neighbours the laws of the release
//! are P = (1-d) P0 + d P1 and Q = (1-d) Q0 + d Q1, where P0 and Q0 keep the other events of the release and nothing is
//! said of P1 and Q1. So a composition of failures d_1, d_2, ... with releases of curve delta(epsilon) has a curve of
//! at most 1 - prod(1-d_i) + prod(1-d_i) delta(epsilon) <= delta(epsilon) + sum d_i, however adaptively it is made:
//! reveal at every step whether the failure happened (the release without that knowledge is post-processing), and
//! condition on none having happened. That is what the accountant adds. Renyi curves know nothing of it: they are those
//! of P0 and Q0, and the failure is carried apart from them.
//!
//! **An (epsilon, d)-DP release is the events "epsilon-DP" and "failure of probability d".** Its laws can be written as
//! above with P0 and Q0 within e^epsilon of each other (Kairouz, Oh & Viswanath 2015, theorem 3.3: it is a
//! post-processing of the pair that reveals the data set with probability d and else answers by randomised response).
//!
//! **A coupling.** Let a release differ from an ideal epsilon-DP one with probability at most eta on every data set:
//! the two stand on one probability space and are unequal with at most that probability. For every set S of outputs and
//! neighbours D, D',
//!   P(S | D) <= P_ideal(S | D) + eta <= e^epsilon P_ideal(S | D') + eta <= e^epsilon (P(S | D') + eta) + eta:
//! it is (epsilon, (1 + e^epsilon) eta)-DP, so by the above its events are "epsilon-DP" and "failure of probability
//! (1 + e^epsilon) eta". The epsilon is that of the ideal release as a whole, all its parts that the coupling spans.

use crate::numeric::directed::{add_up, mul_up, up};

/// (1 + e^epsilon) eta, rounded up: the failure that stands for a coupling with an epsilon-DP release that breaks with
/// probability at most eta.
///
/// ```
/// use dpsparse::accounting::event::failure;
/// assert_eq!(failure::of_coupling(0.25, 0.0), 0.5);
/// ```
pub fn of_coupling(eta: f64, epsilon: f64) -> f64 {
    // exp errs by less than one unit of 2^-53; at 0 it is exact.
    let factor = if epsilon == 0.0 {
        1.0
    } else {
        up(epsilon.exp(), 2.0 * f64::EPSILON)
    };
    mul_up(eta, add_up(1.0, factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_privacy_of_a_broken_release() {
        // Randomised response at ln 3 that tells the truth with probability eta more: P = (3/4 + eta, 1/4 - eta).
        let (epsilon, eta) = (3f64.ln(), 1e-3);
        let needed = (0.75 + eta) - 3.0 * (0.25 - eta);
        let stated = of_coupling(eta, epsilon);
        assert!((stated - 4e-3).abs() < 1e-15 && stated >= needed * (1.0 - 1e-12));
        assert!((needed - stated).abs() < 1e-15, "it is attained");
        assert_eq!(of_coupling(1e-30, 1e9), f64::INFINITY);
    }
}

//! The curves of objective perturbation ([`crate::theory_of_privacy::objective_perturbation`]).
//!
//! The density of the minimiser theta is that of b = -grad J(theta) times the Jacobian determinant. Between
//! neighbours the determinants differ by at most the factor 1 + kappa, kappa = beta R2^2/(n ridge): kl = ln(1 + kappa).
//! The shift v of b depends on b through theta, but for a generalised linear loss it is v = l'(z) x
//! (minus l'(z') x' under replace-one): |<b, v>| <= L |<b, x>| (+ L |<b, x'>|), and <b, x> is Gaussian for
//! the fixed row x. With M = L R2/s,
//!   add-remove:   loss <= kl + M^2/2 + M |g|           (Redberg, Koskela & Wang 2023)
//!   replace-one:  loss <= kl + 2 M^2 + M (|g1| + |g2|), g, g1, g2 standard normal, g1 and g2 of any correlation.
//! Everything below is E (1 - e^(epsilon - loss))+ or E e^((a-1) loss) of these bounds.

use super::{Adjacency, gaussian};
use crate::numeric::directed::{add_up, div_up, mul_up, up};
use crate::numeric::normal::log_twice_cdf;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

/// u = 2^-53.
const UNIT: f64 = f64::EPSILON / 2.0;
/// 2 sqrt 3, rounded up.
const TWO_SQRT_3: f64 = 3.464_101_615_137_755;

/// One objective perturbation: M = L R2/s and kl = ln(1 + kappa), both rounded up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Objective {
    shift: f64,
    curvature_log: f64,
    adjacency: Adjacency,
}

impl Objective {
    pub(crate) fn new(
        lipschitz_norm: f64,
        sigma: f64,
        curvature_log: f64,
        adjacency: Adjacency,
    ) -> Self {
        Self {
            shift: div_up(lipschitz_norm, sigma),
            curvature_log,
            adjacency,
        }
    }

    /// M under add-remove, 2 M under replace-one: the ratio of the Gaussian tail that dominates the loss.
    fn ratio(&self) -> f64 {
        match self.adjacency {
            Adjacency::AddRemove => self.shift,
            Adjacency::ReplaceOne => 2.0 * self.shift,
        }
    }

    /// The constant part of the loss, kl + ratio^2/2, rounded up.
    fn offset(&self) -> f64 {
        let ratio = self.ratio();
        add_up(self.curvature_log, mul_up(mul_up(ratio, ratio), 0.5))
    }

    /// epsilon at `deviations` standard deviations M above the constant part of the loss, rounded up, not
    /// below 0.
    pub(crate) fn epsilon_at(&self, deviations: f64) -> f64 {
        let step = self.shift * deviations;
        up((self.offset() + step).max(0.0), 4.0 * UNIT) + 4.0 * UNIT * (self.offset() + step.abs())
    }

    /// delta(epsilon), rounded up.
    ///
    /// H_M(t) is the Gaussian curve: E (1 - e^(t - M^2/2 - M g))+. add-remove, epsilon above kl + M^2/2: only
    /// g > 0 counts, and |g| takes each such value twice: 2 H_M(epsilon - kl). Below it, with e = epsilon -
    /// kl - M^2/2 <= 0, the positive part is idle: 1 - e^e E e^(-M|g|) = 1 - e^e (1 - 2 H_M(M^2/2)).
    /// replace-one: |g1| + |g2| = max(|g1 + g2|, |g1 - g2|), where the sum and the difference have variances
    /// v and 4 - v, so P(|g1| + |g2| > t) <= T(v) + T(4 - v), T(v) = 2 Q(t/sqrt v). ln T' = const - t^2/(2v) - (3/2)
    /// ln v rises while v <= t^2/3, so for t >= 2 sqrt 3 T is convex on [0, 4] with T(0) = 0, hence
    /// superadditive: at most T(4) = P(2|g| > t). So the tail of the loss beyond epsilon is that of kl + 2
    /// M^2 + 2 M |g|, and delta <= 2 H_{2M}(epsilon - kl). Below 2 sqrt 3 nothing is claimed: 1.
    pub(crate) fn delta(&self, epsilon: f64) -> f64 {
        let ratio = self.ratio();
        if !ratio.is_finite() {
            return 1.0;
        }
        let offset = self.offset();
        // Distances rounded down: both curves decrease in epsilon.
        let above = (epsilon - offset) - 2.0 * UNIT * (epsilon + offset);
        let beyond = (epsilon - self.curvature_log) - 2.0 * UNIT * (epsilon + self.curvature_log);
        match self.adjacency {
            Adjacency::AddRemove if above > 0.0 => (2.0 * gaussian::delta(beyond, ratio)).min(1.0),
            Adjacency::AddRemove => {
                let centre = 2.0 * gaussian::delta(0.5 * ratio * ratio, ratio);
                up(-above.exp_m1() + above.exp() * centre.min(1.0), 8.0 * UNIT).min(1.0)
            }
            Adjacency::ReplaceOne if above >= up(TWO_SQRT_3 * self.shift, 2.0 * UNIT) => {
                (2.0 * gaussian::delta(beyond, ratio)).min(1.0)
            }
            Adjacency::ReplaceOne => 1.0,
        }
    }

    /// R(order), rounded up; `order` >= 1 and finite. At order 1 the last term is its limit, r sqrt(2/pi).
    ///
    /// E e^((a-1)(kl + r^2/2 + r |g|)) = e^((a-1)(kl + a r^2/2)) 2 Phi((a-1) r), r = M (Redberg, Koskela &
    /// Wang 2023). Under replace-one Cauchy and Schwarz give E e^(c (|g1| + |g2|)) <= E e^(2 c |g|) whatever
    /// the correlation: the same with r = 2 M.
    pub(crate) fn renyi(&self, order: f64) -> f64 {
        let excess = order - 1.0;
        let ratio = self.ratio();
        let mean = if excess == 0.0 {
            ratio * FRAC_2_SQRT_PI * FRAC_1_SQRT_2
        } else {
            log_twice_cdf(excess * ratio) / excess
        };
        let raw = self.curvature_log + order * ratio * ratio / 2.0 + mean;
        up(raw, 32.0 * UNIT)
    }

    pub(crate) fn adjacency(&self) -> Adjacency {
        self.adjacency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replace_one_claims_nothing_below_two_sqrt_three() {
        let o = Objective::new(0.5, 1.0, 0.1, Adjacency::ReplaceOne);
        assert_eq!(o.delta(0.1 + 0.5 + 0.5 * 3.46), 1.0);
        assert_eq!(o.delta(o.epsilon_at(TWO_SQRT_3) * (1.0 - 1e-14)), 1.0);
        let first = o.delta(o.epsilon_at(TWO_SQRT_3) * (1.0 + 1e-14));
        assert!((0.01..0.09).contains(&first), "{first}");
    }

    #[test]
    fn add_remove_is_continuous_and_decreasing() {
        let o = Objective::new(0.5, 1.0, 0.1, Adjacency::AddRemove);
        let edge = 0.1 + 0.125;
        assert!((o.delta(edge * (1.0 - 1e-9)) / o.delta(edge * (1.0 + 1e-9)) - 1.0).abs() < 1e-7);
        let mut last = 1.0;
        for i in 0..200 {
            let delta = o.delta(0.02 * f64::from(i));
            assert!(delta <= last);
            last = delta;
        }
    }

    #[test]
    fn tail_of_the_sum_is_dominated_for_every_correlation() {
        // 1 - F(t/sqrt v) F(t/sqrt(4-v)) <= 1 - F(t/2), F(x) = P(|g| <= x), by 200 values of v and t.
        let inside = |x: f64| libm::erf(x * std::f64::consts::FRAC_1_SQRT_2);
        for i in 0..200 {
            let t = TWO_SQRT_3 + 0.02 * f64::from(i);
            for j in 1..200 {
                let v = f64::from(j) * 0.02;
                let joint = 1.0 - inside(t / v.sqrt()) * inside(t / (4.0 - v).sqrt());
                assert!(joint <= 1.0 - inside(t / 2.0) + 1e-15);
            }
        }
    }

    /// E f(|g|) by the trapezoidal rule.
    fn mean(f: impl Fn(f64) -> f64) -> f64 {
        let step = 1e-3;
        let at = |i: i32| {
            let g = step * f64::from(i);
            let weight = if i == 0 { 0.5 } else { 1.0 };
            weight * f(g) * 2.0 * crate::numeric::normal::density(g)
        };
        step * (0..=40_000).map(at).sum::<f64>()
    }

    /// Of the loss kl + r^2/2 + r |g|.
    #[test]
    fn add_remove_is_the_curve_of_its_loss() {
        for (shift, kl) in [(0.5, 0.1), (0.2, 0.0), (1.5, 0.3)] {
            let o = Objective::new(shift, 1.0, kl, Adjacency::AddRemove);
            let loss = |g: f64| kl + 0.5 * shift * shift + shift * g;
            for epsilon in [0.0, 0.05, 0.3, 1.0, 3.0] {
                let truth = mean(|g| -(epsilon - loss(g)).min(0.0).exp_m1());
                let stated = o.delta(epsilon);
                assert!(
                    (stated - truth).abs() < 3e-6,
                    "{shift} {epsilon} {stated} {truth}"
                );
            }
        }
    }

    #[test]
    fn renyi_is_the_moment_of_its_loss() {
        for (adjacency, times) in [(Adjacency::AddRemove, 1.0), (Adjacency::ReplaceOne, 2.0)] {
            let (shift, kl) = (0.4, 0.2);
            let o = Objective::new(shift, 1.0, kl, adjacency);
            let r = times * shift;
            let loss = |g: f64| kl + 0.5 * r * r + r * g;
            for order in [1.1, 1.5, 2.0, 5.0] {
                let truth = mean(|g| ((order - 1.0) * loss(g)).exp()).ln() / (order - 1.0);
                assert!(
                    (o.renyi(order) / truth - 1.0).abs() < 1e-5,
                    "{order} {truth}"
                );
            }
            assert!((o.renyi(1.0) / mean(loss) - 1.0).abs() < 1e-5);
        }
    }
}

//! Basic composition of objective perturbations: epsilons add and deltas add (Dwork & Roth 2014, theorem B.1,
//! valid adaptively).
//!
//! How the budget is split is free, so only tightness depends on it. The perturbations share a common number
//! tau of standard deviations: epsilon_i(tau) = constant part + M_i tau, whose sum is known without any
//! inversion.

use crate::accounting::event::gaussian::log_excess;
use crate::accounting::event::objective::Objective;
use crate::numeric::directed::{add_up, mul_up};
use crate::numeric::search::{bisect, boundary, minimum};
use std::cell::Cell;

/// Objective perturbations with their counts.
pub(super) struct Split(Vec<(Objective, f64)>);

/// Most standard deviations considered: P(2 |g| > 80) underflows.
const MOST: f64 = 80.0;
/// Deviations at which the search for the split in company stops: about 1e-12 of the value.
const WIDTH: f64 = 3e-7;
/// The same around what a guide has found, for the rest itself.
const NEAR: f64 = 1e-2;
/// Fewest deviations that it starts with: below 2 sqrt 3 replace-one claims nothing, and there is no slope to follow.
const LEAST: f64 = 4.0;

impl Split {
    pub(super) fn new(parts: Vec<(Objective, f64)>) -> Self {
        Self(parts)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn renyi(&self, order: f64) -> f64 {
        self.0.iter().fold(0.0, |sum, (part, count)| {
            add_up(sum, mul_up(*count, part.renyi(order)))
        })
    }

    fn epsilon_at(&self, tau: f64) -> f64 {
        self.0.iter().fold(0.0, |sum, (part, count)| {
            add_up(sum, mul_up(*count, part.epsilon_at(tau)))
        })
    }

    fn delta_at(&self, tau: f64) -> f64 {
        let sum = self.0.iter().fold(0.0, |sum, (part, count)| {
            add_up(sum, mul_up(*count, part.delta(part.epsilon_at(tau))))
        });
        sum.min(1.0)
    }

    /// delta of the perturbations alone.
    pub(super) fn delta(&self, epsilon: f64) -> f64 {
        if let [(part, count)] = self.0.as_slice() {
            // Equal shares; the share is rounded down by taking the float below unless the division is by
            // one.
            let share = if *count == 1.0 {
                epsilon
            } else {
                (epsilon / count).next_down().max(0.0)
            };
            return mul_up(*count, part.delta(share)).min(1.0);
        }
        match self.deviations(epsilon) {
            Some(tau) => self.delta_at(tau),
            None => 1.0,
        }
    }

    /// The most standard deviations tau in [-80, 80] with epsilon_split(tau) <= epsilon.
    fn deviations(&self, epsilon: f64) -> Option<f64> {
        let fits = |tau: f64| Ok::<_, std::convert::Infallible>(self.epsilon_at(tau) <= epsilon);
        let Ok(lowest) = fits(-MOST);
        let Ok(highest) = fits(MOST);
        match (lowest, highest) {
            (false, _) => None,
            (true, true) => Some(MOST),
            (true, false) => {
                let Ok(tau) = bisect(fits, MOST, -MOST, 1e-14);
                Some(tau)
            }
        }
    }

    /// The least epsilon of the perturbations alone, from the private side.
    pub(super) fn epsilon(&self, target: f64) -> f64 {
        if self.delta(0.0) <= target {
            return 0.0;
        }
        let mut high = self.epsilon_at(MOST.min(4.0 + 2.0 * (-2.0 * target.ln()).sqrt()));
        while high.is_finite() && self.delta(high) > target {
            high *= 2.0;
        }
        if !high.is_finite() {
            return f64::INFINITY;
        }
        boundary(|x| log_excess(self.delta(x), target), 0.0, high, 1e-15)
    }

    /// delta in company: the least delta_split(tau) + rest(epsilon - epsilon_split(tau)), or `known` if that
    /// is less.
    ///
    /// The sum is convex in tau, as privacy curves are in epsilon and epsilon_split is linear. The search is left out
    /// where `known` is below what any tau >= 0 leaves to the rest. It follows `guide`, a bound of the rest that is
    /// cheap, and asks the rest near the tau that is found.
    pub(super) fn delta_with(
        &self,
        epsilon: f64,
        known: f64,
        rest: impl Fn(f64) -> f64,
        guide: impl Fn(f64) -> f64,
    ) -> f64 {
        let Some(highest) = self.deviations(epsilon) else {
            return known;
        };
        let most_left = epsilon - self.epsilon_at(highest.min(0.0));
        if most_left < 0.0 || known <= rest(most_left) {
            return known;
        }
        let at = |tau: f64, rest: &dyn Fn(f64) -> f64| {
            let left = epsilon - self.epsilon_at(tau) - f64::EPSILON * epsilon;
            if left < 0.0 {
                return f64::INFINITY;
            }
            add_up(self.delta_at(tau), rest(left))
        };
        let span = (highest.min(0.0), highest);
        let tau = best(|tau| at(tau, &guide).ln(), usual(known), span);
        known.min(minimum(|tau| at(tau, &rest), tau, span, NEAR))
    }

    /// epsilon in company: the least epsilon_split(tau) + rest(target - delta_split(tau)), or `known` if that
    /// is less.
    ///
    /// The sum is convex in tau: the rest's epsilon is convex and falls in delta, what is left of delta is concave. The
    /// search is left out where `known` is below the sum of both parts with the whole delta each. For `guide` see
    /// [`Split::delta_with`].
    pub(super) fn epsilon_with(
        &self,
        target: f64,
        known: f64,
        rest: impl Fn(f64) -> f64,
        guide: impl Fn(f64) -> f64,
    ) -> f64 {
        let single = self.epsilon(target);
        if known <= single || known <= single + rest(target) {
            return known;
        }
        let at = |tau: f64, rest: &dyn Fn(f64) -> f64| {
            let left = target - self.delta_at(tau) - f64::EPSILON * target;
            if left <= 0.0 {
                return f64::INFINITY;
            }
            add_up(self.epsilon_at(tau), rest(left))
        };
        let highest = MOST.min(1.0 + 2.0 * (-2.0 * target.ln()).sqrt());
        let span = (0.0, highest);
        let tau = best(|tau| at(tau, &guide), usual(target), span);
        known.min(minimum(|tau| at(tau, &rest), tau, span, NEAR))
    }
}

/// Where the least value is met on the way to the minimum.
fn best(at: impl Fn(f64) -> f64, guess: f64, span: (f64, f64)) -> f64 {
    let least = Cell::new((f64::INFINITY, guess.clamp(span.0, span.1)));
    let watched = |tau: f64| {
        let value = at(tau);
        if value < least.get().0 {
            least.set((value, tau));
        }
        value
    };
    minimum(watched, guess, span, WIDTH);
    least.get().1
}

/// About the deviations that leave a Gaussian tail of `delta`.
fn usual(delta: f64) -> f64 {
    (-2.0 * delta.ln()).max(0.0).sqrt().max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;

    /// k equal perturbations at k epsilon: k times the delta of one at epsilon, however they are listed.
    #[test]
    fn deltas_of_equal_perturbations_add_up() {
        for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemove] {
            let one = Objective::new(1.0, 5.0, 0.1, adjacency);
            for (k, epsilon) in [(2u8, 1.4), (3, 2.0), (7, 2.5)] {
                let times = f64::from(k);
                let alone = one.delta(epsilon);
                assert!(alone > 1e-60 && times * alone < 0.1, "{alone}");
                let counted = Split::new(vec![(one, times)]).delta(times * epsilon);
                let listed = Split::new(vec![(one, 1.0); usize::from(k)]).delta(times * epsilon);
                let both = Split::new(vec![(one, times - 1.0), (one, 1.0)]).delta(times * epsilon);
                for together in [counted, listed, both] {
                    let ratio = together / (times * alone);
                    assert!((1.0 - 1e-12..1.0 + 1e-6).contains(&ratio), "{k} {ratio}");
                }
            }
        }
    }

    /// In company the split is the best of a fine grid, where the others have only what the perturbations leave.
    #[test]
    fn company_has_what_is_left() {
        let split = Split::new(vec![(
            Objective::new(1.0, 5.0, 0.1, Adjacency::ReplaceOne),
            2.0,
        )]);
        // The others: a Laplace-like curve, delta = exp(1 - epsilon).
        let taus = || (0..40_000).map(|i| f64::from(i) * 5e-4);
        for target in [1e-2, 1e-6, 1e-10] {
            let rest = |delta: f64| 1.0 - delta.ln();
            let best = taus()
                .map(|tau| (tau, target - split.delta_at(tau)))
                .filter(|(_, left)| *left > 0.0)
                .map(|(tau, left)| split.epsilon_at(tau) + rest(left))
                .fold(f64::INFINITY, f64::min);
            let found = split.epsilon_with(target, f64::INFINITY, rest, rest);
            let ratio = found / best;
            assert!(
                (1.0 - 1e-5..1.0 + 1e-9).contains(&ratio),
                "{target} {ratio}"
            );
        }
        for epsilon in [8.0, 12.0, 25.0] {
            let rest = |epsilon: f64| (1.0 - epsilon).exp().min(1.0);
            let best = taus()
                .map(|tau| (tau, epsilon - split.epsilon_at(tau)))
                .filter(|(_, left)| *left >= 0.0)
                .map(|(tau, left)| split.delta_at(tau) + rest(left))
                .fold(1.0, f64::min);
            let found = split.delta_with(epsilon, 1.0, rest, rest);
            let ratio = found / best;
            assert!(
                (1.0 - 1e-5..1.0 + 1e-9).contains(&ratio),
                "{epsilon} {ratio}"
            );
        }
    }
}

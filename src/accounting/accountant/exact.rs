//! Choices, pure events and Gaussian noise together, without loss but for what grids take
//! ([`crate::theory_of_privacy::noise_and_accounting`]).
//!
//! Write delta for a function of x = e^epsilon, and M h for what a step makes of the curve h of all that follows it.
//!
//! - *Worst laws.* A step between P and Q with r = P/Q makes E_Q r h(x/r) of h. h is convex, and so is r h(x/r) in r:
//!   what spreads r under Q about its mean raises it. So a pure event makes at most R h, the mean over its two extreme
//!   losses (Kairouz, Oh & Viswanath 2015), a Gaussian one at most G h, that over the normal loss of its ratio; and a
//!   choice, whose loss lies in [t - eps0, t] for a t that the past and the neighbours decide, at most S h = sup over t
//!   of the mean M_t h over the losses t and t - eps0 (Dong, Durfee & Rogers 2020).
//! - *Means come first.* R, G and M_t are means over shifts of the loss, so they commute. A supremum of means is at
//!   most the mean of suprema: S A h = sup over t of A M_t h <= A S h for every such mean A.
//! - *Any order, any grouping.* Sort the choices into groups, those of a group of one range; group g of n_g choices
//!   has alone the curve f_g = S^n_g (1 - x)+ ([`choices`]), which is that of some law of the loss, and A_g is the
//!   mean over it. Then whatever comes when, even in an order that the past decides, the whole has at most the curve
//!   U = R ... R G A_1 ... A_k (1 - x)+ of independent losses. *Proof*, by induction over the number of events: next
//!   comes a pure or Gaussian event, whose mean stands in U already; or a choice of group g, after which there is at
//!   most U with n_g - 1 for n_g: that is A f', A the other means and f' = S^(n_g - 1) (1 - x)+, and S A f' <= A S
//!   f' = A f_g = U.
//!
//! Grouping costs little: two groups of 100 choices for 200 cost 0.2 % of epsilon, and save half of the time. A mean is
//! over a law on a grid ([`law`](super::law)).

use super::choices;
use super::law::Law;
use crate::accounting::event::gaussian::{self, log_excess};
use crate::accounting::memory::Memory;
use crate::numeric::search::boundary;
use std::convert::Infallible;
use std::sync::{Arc, LazyLock};

/// Grid steps in a standard deviation of the loss, where laws are multiplied, times the root of their number: the grid
/// adds to each law about what a variance of a step squared over 6 does, to all 0.03 % of epsilon.
const FINE: f64 = 16.0;
/// Logarithm of the share of delta that cut tails may take.
const MARGIN: f64 = 9.0;
/// Depths of curves are multiples of it, so that neighbouring questions share them.
const DEPTHS: f64 = 15.0;
/// Deltas below e^-550 are left to other bounds.
const DEEPEST: f64 = 550.0;
/// Choices in a group, at most: the time of a curve grows as the power 1.5 of their number.
const TOGETHER: u32 = 100;
/// Events of a kind and parameter, at most, for a time of milliseconds; beyond, other bounds serve.
const MOST: u64 = 4096;
/// Kinds and parameters, at most.
const KINDS: usize = 8;
/// Least range or epsilon, below which rounding would show, and widest deviation.
const LEAST: f64 = 1e-6;
const WIDEST: f64 = 30.0;
/// Curves that are remembered, at most: some 20 kB each.
const REMEMBERED: usize = 64;

/// Events of one kind and parameter.
#[derive(Debug, Clone, Copy)]
pub(super) enum Group {
    /// Choices of this range.
    Choices(f64, u32),
    /// Events of this pure epsilon.
    Pure(f64, u32),
}

impl Group {
    /// None for more events than are handled.
    pub(super) fn choices(epsilon0: f64, count: u64) -> Option<Self> {
        (count <= MOST).then_some(Group::Choices(epsilon0, count as u32))
    }

    /// None for more events than are handled.
    pub(super) fn pure(epsilon: f64, count: u64) -> Option<Self> {
        (count <= MOST).then_some(Group::Pure(epsilon, count as u32))
    }

    fn epsilon(self) -> f64 {
        match self {
            Group::Choices(epsilon, _) | Group::Pure(epsilon, _) => epsilon,
        }
    }

    /// Its part of a key.
    fn words(self) -> [u64; 3] {
        match self {
            Group::Choices(epsilon, count) => [0, epsilon.to_bits(), u64::from(count)],
            Group::Pure(epsilon, count) => [1, epsilon.to_bits(), u64::from(count)],
        }
    }

    /// About the variance of the loss.
    fn variance(self) -> f64 {
        match self {
            Group::Choices(epsilon0, count) => 0.25 * epsilon0 * epsilon0 * f64::from(count),
            Group::Pure(epsilon, count) => {
                epsilon * (0.5 * epsilon).tanh() * 2.0 * f64::from(count)
            }
        }
    }

    /// Laws and how often each stands in the sum.
    fn laws(self, depth: f64) -> Vec<(Arc<Law>, u32)> {
        match self {
            Group::Choices(epsilon0, count) => {
                let groups = count.div_ceil(TOGETHER);
                let [law, longer] = laws_of_choices(epsilon0, count / groups, depth);
                let long = count % groups;
                let mut laws = vec![(law, groups - long)];
                if long > 0 {
                    laws.push((longer, long));
                }
                laws
            }
            Group::Pure(epsilon, count) => vec![(Arc::new(Law::of_responses(epsilon, count)), 1)],
        }
    }
}

/// The laws of `count` choices and of one more.
fn laws_of_choices(epsilon0: f64, count: u32, depth: f64) -> [Arc<Law>; 2] {
    static MEMORY: LazyLock<Memory<[Arc<Law>; 2]>> = LazyLock::new(|| Memory::of(REMEMBERED));
    let key = [epsilon0.to_bits(), u64::from(count), depth.to_bits()];
    let compute = || {
        let curves = choices::curves(epsilon0, count, parts(epsilon0, count), depth);
        Ok::<_, Infallible>(curves.map(|curve| Arc::new(Law::of_curve(&curve))))
    };
    let Ok(laws) = MEMORY.answer(Box::new(key), compute);
    laws
}

/// Grid steps of a range: what chords cost is less than 0.2 % of epsilon.
fn parts(epsilon0: f64, count: u32) -> u32 {
    let least = if count <= 32 { 32 } else { 18 };
    least.max(epsilon0.ceil() as u32)
}

/// Choices, pure events and Gaussian noise.
pub(super) struct Exact {
    groups: Vec<Group>,
    /// Of the Gaussian noise, 0 for none.
    ratio: f64,
    /// About the standard deviation of the loss, without the noise and with it.
    spread: f64,
    deviation: f64,
}

impl Exact {
    /// None for more kinds than are handled, or nothing but noise.
    pub(super) fn new(groups: Vec<Group>, ratio: f64) -> Option<Self> {
        let variance: f64 = groups.iter().map(|group| group.variance()).sum();
        let deviation = (variance + ratio * ratio).sqrt();
        let handled = (1..=KINDS).contains(&groups.len())
            && groups.iter().all(|group| group.epsilon() >= LEAST)
            && deviation <= WIDEST;
        handled.then_some(Self {
            groups,
            ratio,
            spread: variance.sqrt(),
            deviation,
        })
    }

    /// The law of all but the noise.
    fn law(&self, depth: f64) -> Arc<Law> {
        static MEMORY: LazyLock<Memory<Arc<Law>>> = LazyLock::new(|| Memory::of(REMEMBERED));
        let words = self.groups.iter().flat_map(|group| group.words());
        let key = [depth.to_bits()].into_iter().chain(words).collect();
        let Ok(law) = MEMORY.answer(key, || Ok::<_, Infallible>(self.new_law(depth)));
        law
    }

    fn new_law(&self, depth: f64) -> Arc<Law> {
        let laws = self.groups.iter().flat_map(|group| group.laws(depth));
        let laws: Vec<_> = laws.collect();
        if let [(law, 1)] = laws.as_slice() {
            return law.clone();
        }
        let number: u32 = laws.iter().map(|(_, count)| count).sum();
        let step = self.spread / FINE / f64::from(number).sqrt();
        let sum = laws.iter().fold(Law::zero(step), |sum, (law, count)| {
            sum.times(&law.on(step).power(*count))
        });
        Arc::new(sum)
    }

    /// delta at `epsilon`, rounded up; 1 where it is too small for grids.
    pub(super) fn delta(&self, epsilon: f64) -> f64 {
        // About the answer: the tails that it needs.
        let guess = gaussian::delta(epsilon, self.deviation);
        depth(guess).map_or(1.0, |depth| self.law(depth).delta(epsilon, self.ratio))
    }

    /// The least epsilon <= `high` at `target`; infinite where `high` does not meet it.
    pub(super) fn epsilon(&self, target: f64, high: f64) -> f64 {
        let Some(depth) = depth(target) else {
            return f64::INFINITY;
        };
        let law = self.law(depth);
        let excess = |epsilon: f64| log_excess(law.delta(epsilon, self.ratio), target);
        if excess(0.0) <= 0.0 {
            0.0
        } else if high.is_finite() && excess(high) <= 0.0 {
            boundary(excess, 0.0, high, 1e-14)
        } else {
            f64::INFINITY
        }
    }
}

/// How far tails go for such a delta.
fn depth(delta: f64) -> Option<f64> {
    let log = -delta.ln();
    (log <= DEEPEST).then(|| (log / DEPTHS).ceil().max(1.0) * DEPTHS + MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (1 - e^epsilon)+.
    fn nothing(epsilon: f64) -> f64 {
        -epsilon.min(0.0).exp_m1()
    }

    type Curve<'a> = &'a dyn Fn(f64) -> f64;

    /// A choice before `rest`, over a grid of t.
    fn choice(epsilon0: f64, rest: Curve, epsilon: f64) -> f64 {
        let at = |i: u32| {
            let t = epsilon0 * f64::from(i) / 160.0;
            let p = (t - epsilon0).exp_m1() / (-epsilon0).exp_m1();
            p * rest(epsilon - t) + (1.0 - p) * rest(epsilon - t + epsilon0)
        };
        (0..=160).map(at).fold(0.0, f64::max)
    }

    /// A pure event before `rest`.
    fn pure(epsilon0: f64, rest: Curve, epsilon: f64) -> f64 {
        let p = 1.0 / (1.0 + (-epsilon0).exp());
        p * rest(epsilon - epsilon0) + (1.0 - p) * rest(epsilon + epsilon0)
    }

    /// Gaussian noise before `rest`, by the trapezoidal rule.
    fn noise(ratio: f64, rest: Curve, epsilon: f64) -> f64 {
        let at = |i: i32| {
            let z = f64::from(i) * 0.05;
            0.05 * crate::numeric::normal::density(z)
                * rest(epsilon - 0.5 * ratio * ratio - ratio * z)
        };
        (-160..=160).map(at).sum()
    }

    #[test]
    fn no_order_of_a_mixture_costs_more() {
        let (a, b, e, ratio) = (0.5, 1.1, 0.3, 0.4);
        let all = vec![Group::Choices(a, 1), Group::Choices(b, 1)];
        let two = Exact::new(all, 0.0).unwrap();
        let beside = Exact::new(vec![Group::Choices(a, 1), Group::Pure(e, 1)], 0.0).unwrap();
        let noisy = Exact::new(vec![Group::Choices(a, 2)], ratio).unwrap();
        for epsilon in [0.0, 0.2, 0.5, 0.9, 1.3] {
            let one = |x: f64| choice(a, &nothing, x);
            let other = |x: f64| choice(b, &nothing, x);
            let orders = [choice(b, &one, epsilon), choice(a, &other, epsilon)];
            let most = orders[0].max(orders[1]);
            let stated = two.delta(epsilon);
            assert!(
                stated >= most * (1.0 - 1e-12),
                "{epsilon} {stated} {orders:?}"
            );
            assert!(
                stated <= 1.25 * most + 2e-3,
                "{epsilon} {stated} {orders:?}"
            );

            let response = |x: f64| pure(e, &nothing, x);
            let orders = [pure(e, &one, epsilon), choice(a, &response, epsilon)];
            let stated = beside.delta(epsilon);
            assert!(
                orders[0] >= orders[1] && stated >= orders[0] * (1.0 - 1e-12),
                "{orders:?}"
            );
            assert!(
                stated <= orders[0] * 1.01 + 1e-5,
                "{epsilon} {stated} {orders:?}"
            );

            let after = |x: f64| gaussian_of(x, ratio);
            let then = |x: f64| choice(a, &after, x);
            let between = |x: f64| noise(ratio, &one, x);
            let both = |x: f64| choice(a, &one, x);
            let orders = [
                choice(a, &then, epsilon),
                choice(a, &between, epsilon),
                noise(ratio, &both, epsilon),
            ];
            let stated = noisy.delta(epsilon);
            for order in orders {
                assert!(
                    stated >= order * (1.0 - 1e-4),
                    "{epsilon} {stated} {orders:?}"
                );
            }
            assert!(
                stated <= orders[2] * 1.01 + 1e-5,
                "{epsilon} {stated} {orders:?}"
            );
        }
    }

    /// The Gaussian curve at either sign.
    fn gaussian_of(epsilon: f64, ratio: f64) -> f64 {
        if epsilon >= 0.0 {
            gaussian::delta(epsilon, ratio)
        } else {
            1.0 - epsilon.exp() * (1.0 - gaussian::delta(-epsilon, ratio))
        }
    }

    #[test]
    fn groups_of_choices_cost_little_more_than_one() {
        for (epsilon0, count) in [(0.05, 200), (0.02, 500), (0.2, 200)] {
            let parts = parts(epsilon0, count);
            let [curve, _] = choices::curves(epsilon0, count, parts, 30.0);
            let whole = Law::of_curve(&curve);
            let exact = Exact::new(vec![Group::Choices(epsilon0, count)], 0.0).unwrap();
            let epsilon = exact.epsilon(1e-6, 100.0);
            let grouped = exact.epsilon(whole.delta(epsilon, 0.0), 100.0);
            assert!(
                grouped >= epsilon && grouped <= 1.005 * epsilon,
                "{grouped} {epsilon}"
            );
        }
    }

    #[test]
    fn the_order_of_groups_is_of_no_account() {
        let groups = [
            Group::Choices(0.1, 30),
            Group::Pure(0.2, 3),
            Group::Choices(0.4, 2),
            Group::Pure(0.05, 40),
        ];
        let epsilon = |groups: Vec<Group>| Exact::new(groups, 0.3).unwrap().epsilon(1e-6, 50.0);
        let forth = epsilon(groups.to_vec());
        let back = epsilon(groups.iter().rev().copied().collect());
        assert!((forth / back - 1.0).abs() < 1e-10, "{forth} {back}");
    }

    #[test]
    fn what_is_too_much_is_left_to_other_bounds() {
        assert!(Group::choices(0.1, MOST + 1).is_none() && Group::pure(0.1, MOST + 1).is_none());
        assert!(Group::choices(0.1, MOST).is_some() && Group::pure(0.1, MOST).is_some());
        assert!(Exact::new(vec![], 1.0).is_none());
        assert!(Exact::new(vec![Group::Pure(1e-9, 1)], 1.0).is_none());
        assert!(Exact::new(vec![Group::Pure(0.1, 1)], 100.0).is_none());
        let choices = Exact::new(vec![Group::Choices(0.1, 50)], 0.0).unwrap();
        assert_eq!(choices.delta(1e3), 1.0);
        assert_eq!(choices.epsilon(1e-300, 10.0), f64::INFINITY);
        assert_eq!(choices.epsilon(1e-6, 0.5), f64::INFINITY);
        assert_eq!(choices.epsilon(0.99, 5.0), 0.0);
    }
}

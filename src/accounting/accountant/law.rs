//! Laws of privacy losses on even grids, and the products that stand for the composition of independent parts.

use super::curve::Curve;
use crate::accounting::event::gaussian;
use crate::numeric::directed::{add_up, up};
use crate::numeric::kernel::for_wide_vectors;
use crate::numeric::normal::cdf;

/// u = 2^-53.
const UNIT: f64 = f64::EPSILON / 2.0;

/// A law of the loss ln(P/Q) under P: `masses` at `start`, `start` + `step`, ... and the rest, `lost`, at infinity.
#[derive(Debug, Clone)]
pub(super) struct Law {
    start: f64,
    step: f64,
    masses: Vec<f64>,
    lost: f64,
    /// What rounding has taken from deltas relatively, at most.
    slack: f64,
}

impl Law {
    /// The law whose delta is that of `curve` at its points, chords in x = e^epsilon between them, constant beyond
    /// them, and the chord to delta = 1 at x = 0 below: where the slope changes from -q to -q', it has the mass e^loss
    /// (q - q').
    ///
    /// Rounding: a mass errs by at most 8 u e^loss (q + q'). A point at loss l > epsilon adds e^l (q + q') (1 -
    /// e^(epsilon - l)) = (q + q') (e^l - e^epsilon) of that to delta(epsilon), at most twice what the chords between
    /// epsilon and l make of it, as slopes fall: 16 u delta for each point.
    pub(super) fn of_curve(curve: &Curve) -> Self {
        let values = &curve.values;
        let n = values.len();
        let growth = curve.width.exp_m1();
        // q e^loss of the chord that ends at the point.
        let mut before = (1.0 - values[0]).max(0.0);
        let masses = (0..n).map(|i| {
            let next = values.get(i + 1).copied().unwrap_or(values[i]);
            let after = ((values[i] - next) / growth).max(0.0);
            let mass = (before - after).max(0.0);
            before = after * (1.0 + growth);
            mass
        });
        Self {
            masses: masses.collect(),
            start: curve.first as f64 * curve.width,
            step: curve.width,
            lost: values[n - 1],
            slack: 32.0 * UNIT * n as f64,
        }
    }

    /// The law of `count` events of pure `epsilon` each, which are randomised responses at worst: a loss of +-epsilon
    /// each, the positive one with probability e^epsilon/(1 + e^epsilon). Each quotient of neighbouring masses errs by
    /// a few u; those below the floats are lost.
    pub(super) fn of_responses(epsilon: f64, count: u32) -> Self {
        let n = f64::from(count);
        // From all negative to all positive, in units of the largest.
        let quotient = |k: f64| epsilon.exp() * (n - k + 1.0) / k;
        let mode = (0..=count)
            .rev()
            .find(|&k| k == 0 || quotient(f64::from(k)) >= 1.0)
            .unwrap_or(0);
        let mut masses = vec![1.0; count as usize + 1];
        for k in mode + 1..=count {
            masses[k as usize] = masses[k as usize - 1] * quotient(f64::from(k));
        }
        for k in (0..mode).rev() {
            masses[k as usize] = masses[k as usize + 1] / quotient(f64::from(k + 1));
        }
        let sum: f64 = masses.iter().sum();
        for mass in &mut masses {
            *mass /= sum;
        }
        Self {
            masses,
            start: -n * epsilon,
            step: 2.0 * epsilon,
            lost: 1e-290,
            slack: 16.0 * UNIT * (n + 4.0),
        }
    }

    /// No loss at all.
    pub(super) fn zero(step: f64) -> Self {
        Self {
            start: 0.0,
            step,
            masses: vec![1.0],
            lost: 0.0,
            slack: 0.0,
        }
    }

    fn range(&self) -> f64 {
        self.step * (self.masses.len() - 1) as f64
    }

    /// A law above this one on a grid of another step: a mass between two points goes to both so that P and Q keep
    /// theirs.
    ///
    /// That spreads P/Q under Q about its mean, and delta, like every divergence, is the mean of a convex function of
    /// it. Positions err by a few u of the range, for which deltas are taken that much earlier ([`Law::delta`]).
    pub(super) fn on(&self, step: f64) -> Self {
        if step == self.step {
            return self.clone();
        }
        let points = (self.range() / step).ceil() as usize + 2;
        let mut masses = vec![0.0; points];
        let whole = -(-step).exp_m1();
        for (i, mass) in self.masses.iter().enumerate() {
            let place = i as f64 * self.step;
            let below = (place / step).floor();
            let share = (-(below * step - place).exp_m1() / whole).clamp(0.0, 1.0);
            masses[below as usize] += mass * (1.0 - share);
            masses[below as usize + 1] += mass * share;
        }
        let slack = self.slack + 8.0 * UNIT * (self.masses.len() + 4) as f64;
        Self {
            start: self.start,
            step,
            masses,
            lost: self.lost,
            slack,
        }
    }

    /// The law of the sum of two independent losses on grids of one step.
    pub(super) fn times(&self, other: &Self) -> Self {
        debug_assert_eq!(self.step, other.step);
        let mut masses = vec![0.0; self.masses.len() + other.masses.len() - 1];
        for_wide_vectors(
            #[inline(always)]
            || {
                for (i, mass) in self.masses.iter().enumerate() {
                    for (sum, theirs) in masses[i..].iter_mut().zip(&other.masses) {
                        *sum += mass * theirs;
                    }
                }
            },
        );
        let terms = self.masses.len().min(other.masses.len());
        Self {
            start: self.start + other.start,
            step: self.step,
            masses,
            lost: add_up(self.lost, other.lost),
            slack: self.slack + other.slack + 2.0 * UNIT * (terms + 4) as f64,
        }
    }

    /// The law of the sum of `count` >= 1 such losses, by squares.
    pub(super) fn power(&self, count: u32) -> Self {
        match count {
            0 | 1 => self.clone(),
            _ => {
                let root = self.power(count / 2);
                let square = root.times(&root);
                if count.is_multiple_of(2) {
                    square
                } else {
                    square.times(self)
                }
            }
        }
    }

    /// delta at `epsilon` of the sum of the loss and that of Gaussian noise of `ratio` (0 for none), rounded up.
    pub(super) fn delta(&self, epsilon: f64, ratio: f64) -> f64 {
        let size = epsilon + self.start.abs() + self.range();
        let epsilon = epsilon - 32.0 * UNIT * size;
        let terms = self.masses.iter().enumerate().map(|(i, mass)| {
            let left = epsilon - (self.start + i as f64 * self.step);
            if *mass > 0.0 {
                mass * shifted(left, ratio)
            } else {
                0.0
            }
        });
        let sum: f64 = terms.sum();
        let slack = self.slack + 4.0 * UNIT * (self.masses.len() + 8) as f64;
        add_up(up(sum, slack), self.lost).min(1.0)
    }
}

/// Largest epsilon and b for which e^epsilon and Phi(-b) are taken for numbers of full precision: well before one is
/// infinite and the other next to the smallest floats.
const PRECISE: (f64, f64) = (600.0, 37.0);

/// delta of Gaussian noise at an epsilon of either sign, rounded up: Phi(-a) - e^epsilon Phi(-b), a = epsilon/ratio -
/// ratio/2, b = a + ratio. The terms have relative errors of (4 + 2 a^2) u and (8 + 2 b^2) u, of which the rounding of
/// a and b makes at most 4 u (1 + |a| + |b|)^2 more; the second is at most the first.
///
/// Beyond [`PRECISE`] it is [`gaussian::delta`], which forms neither term, at ten times the time. Below 0 the second
/// term needs no precision where b is large: it is next to nothing beside the first, which is then 1/2 at least.
fn shifted(epsilon: f64, ratio: f64) -> f64 {
    if ratio == 0.0 {
        return -epsilon.min(0.0).exp_m1();
    }
    let (shift, half) = (epsilon / ratio, 0.5 * ratio);
    let (a, b) = (shift - half, shift + half);
    if epsilon > 0.0 && (epsilon > PRECISE.0 || b > PRECISE.1) {
        return gaussian::delta(epsilon, ratio);
    }
    let (near, far) = (cdf(-a), epsilon.exp() * cdf(-b));
    let size = 1.0 + a.abs() + b.abs();
    (near - far).max(0.0) + (32.0 + 8.0 * size * size) * UNIT * near + f64::MIN_POSITIVE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::accountant::choices;
    use crate::accounting::event::randomised_response;

    fn close(ours: f64, truth: f64) {
        assert!(
            ours >= truth && ours <= truth * (1.0 + 1e-9) + 1e-13,
            "{ours} {truth}"
        );
    }

    #[test]
    fn a_curve_is_that_of_its_law() {
        for (epsilon0, count) in [(0.01, 3), (0.3, 7), (2.0, 5), (0.1, 60)] {
            let [curve, _] = choices::curves(epsilon0, count, 24, 200.0);
            let law = Law::of_curve(&curve);
            let total: f64 = law.masses.iter().sum::<f64>() + law.lost;
            assert!((total - 1.0).abs() < 1e-7, "{total}");
            for (i, value) in (curve.first..).zip(&curve.values).step_by(3) {
                close(
                    law.delta(i as f64 * curve.width, 0.0),
                    *value * (1.0 - 1e-10),
                );
            }
        }
    }

    /// What is lost besides makes noise tell no less, also where e^epsilon is no number any more: one event more never
    /// lowers delta.
    #[test]
    fn noise_alone_is_never_above_noise_and_more() {
        let laws =
            [(1e-3, 1), (1e-3, 4), (0.5, 2)].map(|(epsilon, n)| Law::of_responses(epsilon, n));
        for ratio in [1e-3, 0.1, 1.0, 3.7, 17.0, 26.3137, 29.0, 29.9, 30.0] {
            for epsilon in (0..=2000).map(|k| 0.5 * f64::from(k)) {
                let alone = gaussian::delta(epsilon, ratio) * (1.0 - 1e-11);
                for law in &laws {
                    let both = law.delta(epsilon, ratio);
                    assert!(
                        both >= alone && both.is_finite(),
                        "{ratio} {epsilon}: {both} {alone}"
                    );
                }
            }
        }
    }

    /// Both forms of the curve of noise are one, where each takes over from the other.
    #[test]
    fn both_forms_of_a_curve_meet() {
        for ratio in [0.3, 1.0, 8.0, 17.0, 29.0] {
            let at = PRECISE.0.min((PRECISE.1 - 0.5 * ratio) * ratio);
            let [below, above] =
                [1.0 - 1e-9, 1.0 + 1e-9].map(|times| (at * times, shifted(at * times, ratio)));
            assert!(
                below.1 >= gaussian::delta(below.0, ratio) * (1.0 - 1e-11),
                "{ratio}"
            );
            assert!(
                (below.1 / above.1 - 1.0).abs() < 1e-5,
                "{ratio}: {below:?} {above:?}"
            );
        }
    }

    #[test]
    fn responses_are_counted() {
        for epsilon in [1e-3, 0.3, 2.0, 20.0] {
            close(
                Law::of_responses(epsilon, 1).delta(0.4 * epsilon, 0.0),
                randomised_response::delta(0.4 * epsilon, epsilon) * (1.0 - 1e-11),
            );
            // All ways in which ten may fall.
            let p = 1.0 / (1.0 + (-epsilon).exp());
            for share in [0.0, 0.15, 0.5, 0.9] {
                let at = share * 10.0 * epsilon;
                let delta = |ways: u32| {
                    let truths = ways.count_ones() as i32;
                    let loss = f64::from(2 * truths - 10) * epsilon;
                    p.powi(truths) * (1.0 - p).powi(10 - truths) * -(at - loss).min(0.0).exp_m1()
                };
                let truth: f64 = (0..1 << 10).map(delta).sum();
                close(
                    Law::of_responses(epsilon, 10).delta(at, 0.0),
                    truth * (1.0 - 1e-10),
                );
            }
        }
    }

    #[test]
    fn another_grid_lies_above_and_near() {
        for (law, at) in [
            (Law::of_responses(0.1, 20), 0.7),
            (Law::of_responses(1.0, 1), 0.5),
            (Law::of_curve(&choices::curves(0.2, 30, 16, 60.0)[0]), 1.0),
        ] {
            for step in [0.001, 0.0123, 0.07] {
                for ratio in [0.0, 0.4] {
                    let (ours, other) = (law.delta(at, ratio), law.on(step).delta(at, ratio));
                    assert!(other >= ours * (1.0 - 1e-12), "{step} {ours} {other}");
                    assert!(
                        other <= ours * (1.0 + 40.0 * step * step / 0.1),
                        "{step} {ours} {other}"
                    );
                }
            }
        }
    }

    #[test]
    fn sums_are_those_of_independent_losses() {
        let one = Law::of_responses(0.25, 1);
        for count in [1, 2, 3, 7, 12] {
            let (power, whole) = (one.power(count), Law::of_responses(0.25, count));
            for epsilon in [0.0, 0.1, 0.6] {
                let (ours, truth) = (power.delta(epsilon, 0.5), whole.delta(epsilon, 0.5));
                assert!(
                    (ours / truth - 1.0).abs() < 1e-11 || truth < 1e-200,
                    "{ours} {truth}"
                );
            }
        }
        let lost = Law { lost: 0.125, ..one };
        assert!((lost.power(3).lost - 0.375).abs() < 1e-15);
        close(lost.delta(9.0, 0.0), 0.125);
    }

    #[test]
    fn noise_beside_no_loss_is_its_curve() {
        for epsilon in [-2.0, -0.1, 0.0, 0.3, 4.0] {
            for ratio in [0.5, 1.0, 3.0] {
                let truth = if epsilon >= 0.0 {
                    gaussian::delta(epsilon, ratio)
                } else {
                    let mirrored: f64 = gaussian::delta(-epsilon, ratio);
                    1.0 + epsilon.exp() * (mirrored - 1.0)
                };
                let ours = Law {
                    start: -epsilon,
                    ..Law::zero(1.0)
                }
                .delta(0.0, ratio);
                assert!(
                    (ours / truth - 1.0).abs() < 1e-9,
                    "{epsilon} {ratio} {ours} {truth}"
                );
            }
        }
    }

    /// Thousands too: from the largest mass on, nothing overflows.
    #[test]
    fn many_responses_have_the_mean_and_variance_of_their_sum() {
        for (epsilon, count) in [(1e-3f64, 4096), (0.3, 4096), (3.0, 4096), (0.7, 1)] {
            let law = Law::of_responses(epsilon, count);
            let n = f64::from(count);
            let loss = |i: usize| law.start + i as f64 * law.step;
            let mean = |of: &dyn Fn(f64) -> f64| -> f64 {
                (law.masses.iter().enumerate())
                    .map(|(i, mass)| mass * of(loss(i)))
                    .sum()
            };
            let middle = n * epsilon * (0.5 * epsilon).tanh();
            let variance = n * (epsilon / (0.5 * epsilon).cosh()).powi(2);
            assert!((mean(&|_| 1.0) - 1.0).abs() < 1e-12);
            assert!((mean(&|loss| loss) - middle).abs() < 1e-9 * n * epsilon);
            let spread = mean(&|loss| (loss - middle).powi(2));
            assert!(
                (spread / variance - 1.0).abs() < 1e-8,
                "{spread} {variance}"
            );
        }
    }
}

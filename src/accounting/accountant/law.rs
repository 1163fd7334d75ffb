//! Laws of privacy losses on even grids, and the products that stand for the composition of independent parts.

use super::choices::Curve;
use crate::accounting::event::gaussian;
use crate::numeric::directed::{add_up, up};

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
    /// The law whose delta is that of `curve` at its points, chords in x = e^epsilon between them, constant beyond them, and
    /// the chord to delta = 1 at x = 0 below: where the slope changes from -q to -q', it has the mass e^loss (q - q').
    ///
    /// Rounding: a mass errs by at most 8 u e^loss (q + q'). A point at loss l > epsilon adds e^l (q + q') (1 - e^(epsilon -
    /// l)) = (q + q') (e^l - e^epsilon) of that to delta(epsilon), at most twice what the chords between epsilon and l make of
    /// it, as slopes fall: 16 u delta for each point.
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

    /// The law of `count` events of pure `epsilon` each, which are randomised responses at worst: a loss of +-epsilon each,
    /// the positive one with probability e^epsilon/(1 + e^epsilon). Each quotient of neighbouring masses errs by a few u;
    /// those below the floats are lost.
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

    /// A law above this one on a grid of another step: a mass between two points goes to both so that P and Q keep theirs.
    ///
    /// That spreads P/Q under Q about its mean, and delta, like every divergence, is the mean of a convex function of it.
    /// Positions err by a few u of the range, for which deltas are taken that much earlier ([`Law::delta`]).
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
        for (i, mass) in self.masses.iter().enumerate() {
            for (sum, theirs) in masses[i..].iter_mut().zip(&other.masses) {
                *sum += mass * theirs;
            }
        }
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
                if count % 2 == 0 {
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

/// The Gaussian curve at an epsilon of either sign: delta(-e) = 1 - e^-e + e^-e delta(e), as noise does not tell P from Q.
fn shifted(epsilon: f64, ratio: f64) -> f64 {
    if epsilon >= 0.0 {
        return gaussian::delta(epsilon, ratio);
    }
    -epsilon.exp_m1() + epsilon.exp() * gaussian::delta(-epsilon, ratio)
}

//! Upper bounds of delta on an even grid of losses, and what bounds them beyond its ends.

/// u = 2^-53.
const UNIT: f64 = f64::EPSILON / 2.0;
/// Deltas are not stated below: nothing underflows on the way.
pub(super) const FLOOR: f64 = 1e-280;

/// Upper bounds of delta at the losses first * width, (first + 1) * width, ...
pub(super) struct Curve {
    pub(super) first: i64,
    pub(super) width: f64,
    pub(super) values: Vec<f64>,
}

impl Curve {
    /// The bounds from `from` to `to`. Beyond the last value it stays, since delta falls; below the first one delta
    /// lies under the chord from there to delta = 1 at x = 0; in both places under the tails.
    pub(super) fn between(&self, from: i64, to: i64, tails: Tails) -> Vec<f64> {
        let (least, last) = (self.values[0], self.values[self.values.len() - 1]);
        let loss = |i: i64| i as f64 * self.width;
        let end = self.first + self.values.len() as i64;
        let mut bounds = Vec::with_capacity((to - from + 1) as usize);
        for i in from..self.first {
            let share = loss(i - self.first).exp() * (1.0 - 8.0 * UNIT);
            let chord = 1.0 - (1.0 - least).max(0.0) * share + 2.0 * UNIT;
            bounds.push(chord.min(tails.delta(loss(i))));
        }
        let own = (from.max(self.first) - self.first)..((to + 1).min(end) - self.first);
        bounds.extend_from_slice(&self.values[own.start as usize..own.end as usize]);
        bounds.extend((end..=to).map(|i| last.min(tails.delta(loss(i)))));
        bounds
    }

    /// Puts as many values at either end under the tails.
    pub(super) fn lower_ends(&mut self, tails: Tails, ends: usize) {
        let n = self.values.len();
        let low = 0..ends.min(n);
        let high = n.saturating_sub(ends)..n;
        for i in low.chain(high) {
            let epsilon = (self.first + i as i64) as f64 * self.width;
            self.values[i] = self.values[i].min(tails.delta(epsilon));
        }
    }
}

/// Where a curve is cut, delta is below its tails: n choices are (n eps0^2/8)-zCDP, so that the loss exceeds rho + s
/// with a probability of at most e^(-s^2/(4 rho)) between neighbours either way. Cuts without them would be walls, at
/// which deltas pile up choice after choice.
#[derive(Clone, Copy)]
pub(super) struct Tails {
    /// rho, rounded up.
    pub(super) sum: f64,
}

impl Tails {
    /// delta(epsilon) <= P(loss > epsilon); for epsilon < 0, delta(epsilon) = 1 - e^epsilon + e^epsilon
    /// delta'(-epsilon) with the delta' of the neighbours exchanged.
    pub(super) fn delta(self, epsilon: f64) -> f64 {
        let beyond = (1.0 - 8.0 * UNIT) * epsilon.abs() - self.sum;
        if beyond <= 0.0 || self.sum == 0.0 {
            return 1.0;
        }
        let tail = (-beyond * (beyond / (4.0 * self.sum)) * (1.0 - 16.0 * UNIT)).exp();
        let tail = tail * (1.0 + 8.0 * UNIT) + FLOOR;
        if epsilon > 0.0 {
            tail
        } else {
            1.0 - epsilon.exp() * (1.0 - 8.0 * UNIT) * (1.0 - tail) + 2.0 * UNIT
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A curve stays above delta = (1 - e^(epsilon - 1))+ of a loss of 1 beyond both of its ends.
    #[test]
    fn a_curve_goes_on_above_what_it_bounds() {
        let delta = |epsilon: f64| -(epsilon - 1.0).min(0.0).exp_m1();
        let width = 0.25;
        let values = (-3..=2).map(|i| delta(f64::from(i) * width)).collect();
        let curve = Curve {
            first: -3,
            width,
            values,
        };
        let bounds = curve.between(-9, 7, Tails { sum: 0.0 });
        assert_eq!(bounds.len(), 17);
        for (i, bound) in (-9..).zip(bounds) {
            let truth = delta(f64::from(i) * width);
            assert!(
                bound >= truth && bound <= truth + 1e-15 || i > 2,
                "{i} {bound} {truth}"
            );
        }
        assert_eq!(curve.between(-1, 1, Tails { sum: 0.0 }), curve.values[2..5]);
    }

    /// Gaussian losses of the same zCDP have tails as heavy as any.
    #[test]
    fn tails_lie_above_gaussian_ones() {
        use crate::accounting::event::gaussian;
        for rho in [1e-4, 0.1, 2.0f64] {
            let (tails, ratio) = (Tails { sum: rho }, (2.0 * rho).sqrt());
            for epsilon in [0.1, 1.0, 3.0, 9.0] {
                let truth = gaussian::delta(epsilon, ratio);
                assert!(tails.delta(epsilon) >= truth, "{rho} {epsilon}");
                let mirrored = 1.0 + (-epsilon).exp() * (truth - 1.0);
                assert!(
                    tails.delta(-epsilon) >= mirrored * (1.0 - 1e-15),
                    "{rho} {epsilon}"
                );
            }
        }
        assert!(Tails { sum: 0.01 }.delta(3.0) < 1e-90);
    }
}

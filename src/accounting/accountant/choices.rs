//! The exact curve of choices of one range ([`crate::theory_of_privacy::noise_and_accounting`]): n steps of
//!
//!   delta_n(x) = sup over t in [0, eps0] of P(t) delta_(n-1)(x e^-t) + (1 - P(t)) delta_(n-1)(x e^(eps0 - t)),
//!   P(t) = (1 - e^(t - eps0))/N, N = 1 - e^-eps0, delta_0(x) = (1 - x)+, x = e^epsilon,
//!
//! on losses that are multiples of eps0/m. Every delta_n is convex in x, so between two of them it lies below its
//! chord. With the chords for it the supremum has a closed form: let t = j eps0/m - s, where x e^-(t + s) is the point
//! c of the grid, whose chord is f_c - d_c z at z = e^s - 1, 0 <= z <= e^(eps0/m) - 1, and that of x e^(eps0 - t) is
//! f_(c+m) - d_(c+m) z. With E = e^(j eps0/m - eps0),
//!
//!   N (P f + (1 - P) f) = (1 - E) f_c + (E - e^-eps0) f_(c+m) - a z + E b z/(1 + z),
//!   a = d_c - e^-eps0 d_(c+m),   b = f_c + d_c - f_(c+m) - d_(c+m),
//!
//! and the last two terms are at most (sqrt(E b) - sqrt a)^2 where E b > a, which is their value at 1 + z = sqrt(E
//! b/a), and at most 0 elsewhere, as a and b are not negative. No term of the sum is, so nothing cancels. (Of a convex
//! curve no chord that is extended lies above it: the bound is not only above the supremum over the chords, it is
//! that.)
//!
//! Chords add to a step, on the average, what a variance of (eps0/m)^2/6 of the loss would, beside its own of eps0^2/4:
//! about 1/(3 m^2) of epsilon.

use std::ops::Range;

use super::curve::{Curve, FLOOR, Tails};
use crate::numeric::directed::div_up;
use crate::numeric::kernel::for_wide_vectors;

/// u = 2^-53.
const UNIT: f64 = f64::EPSILON / 2.0;
/// Logarithm of what is cut off at low losses, against 1 - x.
const LOW: f64 = 14.0;

/// The curves of `count` choices of range `epsilon0` and of one more, at steps of `epsilon0`/`parts`, from above.
/// Losses that are exceeded with a probability of about e^-`depth` share the last value.
pub(super) fn curves(epsilon0: f64, count: u32, parts: u32, depth: f64) -> [Curve; 2] {
    let step = Step::new(epsilon0, parts);
    let after = |curve: &Curve, n: u32| {
        let mut next = step.taken(curve, step.tails(n - 1), step.window(n, depth));
        next.lower_ends(step.tails(n), step.parts);
        next
    };
    let none = Curve {
        first: 0,
        width: step.width,
        values: vec![FLOOR],
    };
    let curve = (1..=count).fold(none, |curve, n| after(&curve, n));
    let next = after(&curve, count + 1);
    [curve, next]
}

/// One more choice, on a grid.
struct Step {
    parts: usize,
    /// epsilon0/parts, rounded up: the range of the step is parts times it.
    width: f64,
    /// e^-epsilon0.
    fall: f64,
    /// 1/N = 1/(1 - e^-epsilon0).
    per_range: f64,
    /// e^width - 1.
    growth: f64,
    /// Of j = 1, ..., parts.
    weights: Vec<Weights>,
    /// What rounding may leave of the supremum, in units of the largest value that it is taken of.
    slack: f64,
}

/// Of t = j widths.
struct Weights {
    /// E = e^(j width - epsilon0), and its square root.
    share: f64,
    root: f64,
    /// P = (1 - E)/N, and 1 - P.
    first: f64,
    second: f64,
}

impl Weights {
    #[inline(always)]
    fn mean(&self, near: f64, far: f64) -> f64 {
        self.first * near + self.second * far
    }
}

impl Step {
    fn new(epsilon0: f64, parts: u32) -> Self {
        let width = div_up(epsilon0, f64::from(parts));
        let epsilon0 = f64::from(parts) * width;
        let (fall, range) = ((-epsilon0).exp(), -(-epsilon0).exp_m1());
        let weights = (1..=parts).map(|j| {
            let (up, down) = (f64::from(j) * width, f64::from(parts - j) * width);
            Weights {
                share: (-down).exp(),
                root: (-0.5 * down).exp(),
                first: -(-down).exp_m1() / range,
                second: fall * up.exp_m1() / range,
            }
        });
        Self {
            parts: parts as usize,
            width,
            fall,
            per_range: 1.0 / range,
            growth: width.exp_m1(),
            weights: weights.collect(),
            slack: 256.0 * f64::from(parts) * UNIT / range,
        }
    }

    fn tails(&self, n: u32) -> Tails {
        let epsilon0 = self.parts as f64 * self.width;
        Tails {
            sum: f64::from(n) * epsilon0 * epsilon0 / 8.0 * (1.0 + 8.0 * UNIT),
        }
    }

    /// The points that are kept after n choices: up to where the tail is e^-depth, n eps0^2/8 + eps0 sqrt(n depth/2),
    /// with a power of two above eps0 in its place in the first term, so that a last digit of eps0 does not move the
    /// window. What is kept matters for tightness only.
    fn window(&self, n: u32, depth: f64) -> (i64, i64) {
        let (n, parts) = (f64::from(n), self.parts as f64);
        let power = (parts * self.width).log2().ceil().exp2();
        let reach = |depth: f64| {
            let points = parts * (n * power / 8.0 + (0.5 * n * depth).sqrt());
            points.ceil().min(n * parts) as i64
        };
        (-reach(LOW), reach(depth))
    }

    /// The curve after one more choice, at the points from `first` to `last`.
    ///
    /// The supremum over t is met at an end, where it is f itself, inside a cell whose slope changes from up to down,
    /// or between two cells where it does. A cell rises at its lower end if E b > a and falls at its upper end if E b <
    /// a (1 + growth)^2: so there is a maximum inside for one or two j. Between two cells there is none unless the
    /// chords are not convex, by rounding or at a cut: then every j is tried.
    ///
    /// Rounding: a and b err by at most 16 u (1 + growth)/growth f_c, and so do the slopes whose signs are asked. A
    /// sign that is taken wrongly hides a rise of at most growth times that, in each of at most m cells: `slack`, with
    /// the largest f_c.
    fn taken(&self, known: &Curve, tails: Tails, (first, last): (i64, i64)) -> Curve {
        let parts = self.parts;
        let f = known.between(first - parts as i64, last + parts as i64, tails);
        let mut values = f[parts..f.len() - parts].to_vec();
        for_wide_vectors(
            #[inline(always)]
            || self.raise_all(&f, &mut values),
        );
        Curve {
            first,
            width: self.width,
            values,
        }
    }

    /// The supremum from what it is at the ends of t. Neighbouring cells bend at the same j as a rule: runs of them are
    /// taken together.
    #[inline(always)]
    fn raise_all(&self, f: &[f64], values: &mut [f64]) {
        let parts = self.parts;
        let cells = self.cells(f);
        let mut before = Cell::default();
        let (mut j, mut start) = (0, 0);
        for (c, (&a, &b)) in cells.a.iter().zip(&cells.b).enumerate() {
            let cell = Cell { a, b };
            if !self.convex(before, cell) {
                for (i, weights) in (c + 1..).zip(&self.weights) {
                    raise(
                        values,
                        i.wrapping_sub(parts),
                        weights.mean(f[c], f[c + parts]),
                    );
                }
            }
            before = cell;
            let old = j;
            if cell.bends() {
                let rises = |j: usize| self.weights[j].share * b > a;
                while j > 0 && rises(j - 1) {
                    j -= 1;
                }
                while j < parts && !rises(j) {
                    j += 1;
                }
                if j == old {
                    continue;
                }
            }
            self.raise_run(f, &cells, start..c, old, values);
            start = if cell.bends() { c } else { c + 1 };
        }
        self.raise_run(f, &cells, start..cells.a.len(), j, values);
        for (value, most) in values.iter_mut().zip(f) {
            *value = ((*value + self.slack * most) * (1.0 + 16.0 * UNIT)).min(1.0);
        }
    }

    /// The maxima inside cells that all bend at j, or at the next one.
    #[inline(always)]
    fn raise_run(&self, f: &[f64], cells: &Cells, run: Range<usize>, j: usize, values: &mut [f64]) {
        let parts = self.parts;
        for (j, weights) in (j..).zip(self.weights[j..].iter().take(2)) {
            // Cell c raises value c + 1 + j - parts, if there is one of that number.
            let back = parts - 1 - j;
            let run = run.start.max(back)..run.end.min(values.len() + back);
            if run.is_empty() {
                continue;
            }
            let (near, far) = (&f[run.clone()], &f[run.start + parts..run.end + parts]);
            let (a, b) = (&cells.root_a[run.clone()], &cells.root_b[run.clone()]);
            let values = &mut values[run.start - back..run.end - back];
            for (c, value) in values.iter_mut().enumerate() {
                let (gain, most) = (weights.root * b[c] - a[c], self.growth * a[c]);
                let gain = if gain < most { gain } else { most };
                let raised = weights.mean(near[c], far[c]) + gain * gain;
                *value = if raised > *value { raised } else { *value };
            }
        }
    }

    #[inline(always)]
    fn cells(&self, f: &[f64]) -> Cells {
        let n = f.len() - 1 - self.parts;
        let per_growth = self.per_range / self.growth;
        let chords: Vec<f64> = (f.iter().zip(&f[1..]))
            .map(|(lower, upper)| (lower - upper) * per_growth)
            .collect();
        let (far, beyond) = (&f[self.parts..][..n], &chords[self.parts..][..n]);
        let (near, chords) = (&f[..n], &chords[..n]);
        let zeros = || vec![0.0; n];
        let (mut a, mut b, mut root_a, mut root_b) = (zeros(), zeros(), zeros(), zeros());
        for c in 0..n {
            a[c] = chords[c] - self.fall * beyond[c];
            b[c] = (near[c] - far[c]) * self.per_range + (chords[c] - beyond[c]);
        }
        for c in 0..n {
            (root_a[c], root_b[c]) = (a[c].sqrt(), b[c].sqrt());
        }
        Cells {
            a,
            b,
            root_a,
            root_b,
        }
    }

    /// Whether no t between two neighbouring cells is better than both of its sides: E b <= a above and E b_before >=
    /// a_before (1 + growth) below are then true of no E.
    #[inline(always)]
    fn convex(&self, before: Cell, cell: Cell) -> bool {
        before.bends()
            && cell.bends()
            && before.a * (1.0 + self.growth) * cell.b > cell.a * before.b
    }
}

/// a/N and b/N of all cells, and their roots.
struct Cells {
    a: Vec<f64>,
    b: Vec<f64>,
    root_a: Vec<f64>,
    root_b: Vec<f64>,
}

/// a/N and b/N of a cell.
#[derive(Clone, Copy, Default)]
struct Cell {
    a: f64,
    b: f64,
}

impl Cell {
    /// Whether its slope in t may go from up to down; where not both of a and b are positive it goes from down to up,
    /// or does not change its sign.
    #[inline(always)]
    fn bends(self) -> bool {
        self.a > 0.0 && self.b > 0.0
    }
}

/// Raises one of `values`, if there is one of that number.
#[inline(always)]
fn raise(values: &mut [f64], i: usize, value: f64) {
    if let Some(known) = values.get_mut(i) {
        *known = if value > *known { value } else { *known };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// P(t) of the law with losses t and t - epsilon0.
    fn first(t: f64, epsilon0: f64) -> f64 {
        (t - epsilon0).exp_m1() / (-epsilon0).exp_m1()
    }

    /// sup over t, on so many points, of a step before `rest`.
    fn sup(rest: &dyn Fn(f64) -> f64, epsilon: f64, epsilon0: f64, points: u32) -> f64 {
        let at = |i: u32| {
            let t = epsilon0 * f64::from(i) / f64::from(points);
            let p = first(t, epsilon0);
            p * rest(epsilon - t) + (1.0 - p) * rest(epsilon - t + epsilon0)
        };
        (0..=points).map(at).fold(0.0, f64::max)
    }

    /// One choice: the supremum is met at t = (epsilon + epsilon0)/2.
    fn one(epsilon: f64, epsilon0: f64) -> f64 {
        if epsilon <= -epsilon0 {
            return -epsilon.exp_m1();
        }
        let root = (0.5 * (epsilon.min(epsilon0) - epsilon0)).exp_m1();
        root * root / -(-epsilon0).exp_m1()
    }

    fn points(curve: &Curve) -> impl Iterator<Item = (f64, f64)> + '_ {
        let losses = (curve.first..).map(|i| i as f64 * curve.width);
        losses.zip(curve.values.iter().copied())
    }

    #[test]
    fn one_choice_is_its_closed_form() {
        for epsilon0 in [1e-4, 0.1, 1.0, 5.0, 20.0] {
            let [curve, _] = curves(epsilon0, 1, 40, 500.0);
            for (epsilon, value) in points(&curve) {
                let truth = one(epsilon, epsilon0);
                assert!(value >= truth * (1.0 - 1e-12), "{epsilon0} {epsilon}");
                assert!(value <= truth * (1.0 + 1e-9) + 1e-9, "{epsilon0} {epsilon}");
            }
        }
    }

    #[test]
    fn two_and_three_adaptive_choices_are_their_nested_suprema() {
        for epsilon0 in [0.1, 1.0, 4.0] {
            let two = |epsilon: f64| sup(&|e| one(e, epsilon0), epsilon, epsilon0, 400);
            let [second, third] = curves(epsilon0, 2, 60, 500.0);
            // As much of epsilon0 as chords may cost of epsilon.
            let near = 0.01 * epsilon0;
            for (epsilon, value) in points(&second).step_by(7) {
                assert!(
                    value >= two(epsilon) * (1.0 - 1e-12),
                    "{epsilon0} {epsilon}"
                );
                assert!(value <= two(epsilon - near), "{epsilon0} {epsilon}");
            }
            for (epsilon, value) in points(&third).step_by(37) {
                let three = |epsilon: f64| sup(&two, epsilon, epsilon0, 200);
                assert!(
                    value >= three(epsilon) * (1.0 - 1e-12),
                    "{epsilon0} {epsilon}"
                );
                assert!(value <= three(epsilon - near), "{epsilon0} {epsilon}");
            }
        }
    }

    /// The best of one t for all choices is a lower bound, and nearly met (Dong, Durfee & Rogers 2020).
    #[test]
    fn many_choices_are_never_below_choices_that_are_fixed_beforehand() {
        for (epsilon0, count, parts) in [(0.2, 20u32, 32), (0.05, 100, 20), (1.0, 60, 20)] {
            let [curve, _] = curves(epsilon0, count, parts, 40.0);
            let fixed = |epsilon: f64, t: f64| {
                let p = first(t, epsilon0);
                let (mut mass, mut sum) = (p.powi(count as i32), 0.0);
                for fallen in 0..=count {
                    let loss = f64::from(count) * t - f64::from(fallen) * epsilon0;
                    sum += mass * -(epsilon - loss).min(0.0).exp_m1();
                    mass *= (1.0 - p) / p * f64::from(count - fallen) / f64::from(fallen + 1);
                }
                sum
            };
            let best = |epsilon: f64| {
                let ts = (1..200).map(|i| epsilon0 * f64::from(i) / 200.0);
                ts.map(|t| fixed(epsilon, t)).fold(0.0, f64::max)
            };
            let near = 0.03 * epsilon0 * f64::from(count).sqrt();
            for (epsilon, value) in points(&curve).step_by(23) {
                let truth = best(epsilon);
                assert!(
                    value >= truth * (1.0 - 1e-10),
                    "{epsilon0} {epsilon} {value} {truth}"
                );
                if epsilon >= 0.0 && truth > 1e-12 {
                    assert!(
                        value <= best(epsilon - near),
                        "{epsilon0} {epsilon} {value}"
                    );
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        /// A step is the supremum over the chords of what it was given: none of a dense grid of t is above it, and the
        /// best of them is near.
        #[test]
        fn a_step_is_the_supremum_over_chords(
            epsilon0 in 0.01f64..8.0,
            count in 0u32..12,
            parts in 9u32..24,
        ) {
            let [known, next] = curves(epsilon0, count, parts, 300.0);
            let step = Step::new(epsilon0, parts);
            let margin = parts as i64;
            let (from, to) = (next.first - margin, next.first + next.values.len() as i64 + margin);
            let values = known.between(from, to, step.tails(count));
            let chord = |epsilon: f64| {
                let place = (epsilon / step.width).floor();
                let z = (epsilon - place * step.width).exp_m1() / step.growth;
                let i = (place as i64 - from) as usize;
                values[i] + z * (values[i + 1] - values[i])
            };
            // At the end too, where few cells are left to raise a value.
            let end = next.values.len() - (2 * parts as usize).min(next.values.len());
            let tried = points(&next).enumerate().filter(|&(i, _)| i % 11 == 0 || i >= end);
            for (_, (epsilon, value)) in tried {
                let dense = sup(&chord, epsilon, epsilon0 * (1.0 - 1e-13), 40 * parts);
                prop_assert!(value >= dense * (1.0 - 1e-10), "{} {} {}", epsilon, value, dense);
                prop_assert!(value <= dense * (1.0 + 2e-3) + 1e-10, "{} {} {}", epsilon, value, dense);
            }
        }

        /// Where a grid is cut, its last values are raised by what lies beyond it too.
        #[test]
        fn steps_on_a_cut_grid_are_suprema_to_its_ends(
            epsilon0 in 0.01f64..8.0,
            count in 1u32..12,
            parts in 9u32..24,
            share in 0.0f64..1.0,
        ) {
            let [known, _] = curves(epsilon0, count, parts, 300.0);
            let step = Step::new(epsilon0, parts);
            let (margin, tails) = (parts as i64, step.tails(count));
            let last = (share * f64::from(count * parts)) as i64;
            let from = -2 * margin;
            let taken = step.taken(&known, tails, (from + margin, last));
            let values = known.between(from, last + margin, tails);
            let chord = |epsilon: f64| {
                let place = (epsilon / step.width).floor();
                let z = (epsilon - place * step.width).exp_m1() / step.growth;
                let i = (place as i64 - from) as usize;
                values[i] + z * (values[i + 1] - values[i])
            };
            for (epsilon, value) in points(&taken) {
                let dense = sup(&chord, epsilon, epsilon0 * (1.0 - 1e-13), 8 * parts);
                prop_assert!(value >= dense * (1.0 - 1e-10), "{} {} {}", epsilon, value, dense);
            }
        }

        #[test]
        fn more_choices_of_a_larger_range_have_larger_deltas(
            epsilon0 in 0.01f64..3.0,
            count in 1u32..40,
            epsilon in 0.0f64..3.0,
        ) {
            // So deep that all losses are kept: what is cut off shares a value, which may fall as the window widens.
            let delta = |epsilon0: f64, count: u32| {
                let [one, more] = curves(epsilon0, count, 20, 100.0).map(|curve| {
                    crate::accounting::accountant::law::Law::of_curve(&curve)
                });
                (one.delta(epsilon, 0.0), more.delta(epsilon, 0.0))
            };
            let (one, more) = delta(epsilon0, count);
            prop_assert!(more >= one * (1.0 - 1e-9), "{} {}", more, one);
            prop_assert!(delta(1.05 * epsilon0, count).0 >= one * (1.0 - 1e-9));
        }
    }

    /// n eps0^2/8, and what a curve keeps reaches as far as a delta of e^-depth.
    #[test]
    fn tails_are_those_of_their_zcdp_parameter() {
        for (epsilon0, count, parts) in [(0.1f64, 7, 32), (1.0, 100, 18), (3.0, 1, 20)] {
            let step = Step::new(epsilon0, parts);
            let rho = f64::from(count) * epsilon0 * epsilon0 / 8.0;
            let excess = step.tails(count).sum / rho - 1.0;
            assert!((0.0..1e-14).contains(&excess), "{excess}");
            let (from, to) = step.window(count, 40.0);
            let loss = |points: i64| points as f64 * step.width;
            let most = f64::from(count) * epsilon0;
            // In the place of eps0 stands a power of two that is less than twice as large.
            let reach = |depth: f64, times: f64| {
                (times * rho + epsilon0 * (0.5 * f64::from(count) * depth).sqrt()).min(most)
            };
            let edge = step.width;
            assert!(loss(to) >= reach(40.0, 1.0) - edge && loss(to) <= reach(40.0, 2.0) + edge);
            assert!(-loss(from) >= reach(LOW, 1.0) - edge && -loss(from) <= reach(LOW, 2.0) + edge);
        }
    }
}

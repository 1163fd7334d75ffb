//! Newton's steps on the non-zeros.
//!
//! Where Omega is smooth, at the non-zeros of the groups that are not zero, its Hessian is w_g (I - u u')/|theta_g|,
//! u = theta_g/|theta_g|: once the zeros are found, Newton's steps take over from the passes.

use std::ops::Range;

use super::{GroupDescent, square};
use crate::norm::Norm;
use crate::numeric::vectors::dot;
use crate::solver::{Design, cholesky};

/// Non-zeros up to which memory is no concern.
const FREE_SUPPORT: usize = 64;
/// Share of what its slope promises that a step must bring.
const SHARE: f64 = 0.1;
const MOST_HALVINGS: usize = 6;
/// Steps in a row, and share of the best of them below which they end.
const MOST_STEPS: usize = 10;
const SMALL_GAIN: f64 = 1e-3;
/// Share of its terms below which a gain cannot be told from rounding.
const HIDDEN: f64 = 1e-13;

/// The system on the non-zeros.
#[derive(Debug, Default)]
pub(super) struct Newton {
    /// Their features, group after group, the number of the group and the place in it beside them.
    columns: Vec<usize>,
    places: Vec<(usize, usize)>,
    /// Whether the penalty has a kink where it is 0 and the others are not.
    kinks: Vec<bool>,
    /// Every group that has some, and which of the features are its.
    groups: Vec<(usize, Range<usize>)>,
    /// The features and curvatures that `gram` is of.
    known: Vec<usize>,
    known_of: Vec<f64>,
    /// Centred Gram matrix plus the ridge, a full square.
    gram: Vec<f64>,
    images: Vec<f64>,
    hessian: Vec<f64>,
    /// The gradient of the smooth part.
    smooth: Vec<f64>,
    /// Less the whole gradient, before the system is solved.
    direction: Vec<f64>,
    change: Vec<f64>,
}

impl GroupDescent {
    /// A few steps, until one brings little: the change of model plus penalty, and whether rounding hides what the last
    /// one brought.
    pub(super) fn newton_steps<D: Design + ?Sized>(
        &mut self,
        design: &D,
        theta: &mut [f64],
    ) -> (f64, bool) {
        let mut newton = std::mem::take(&mut self.newton);
        let (mut total, mut first, mut hidden) = (0.0, 0.0f64, false);
        for _ in 0..MOST_STEPS {
            let change;
            (change, hidden) = self.newton_step(&mut newton, design, theta);
            total += change;
            first = first.min(change);
            if hidden || change.is_nan() || change >= SMALL_GAIN * first {
                break;
            }
        }
        self.newton = newton;
        (total, hidden)
    }

    /// One step; 0 where the budget, rounding or the line search does not allow it.
    fn newton_step<D: Design + ?Sized>(
        &mut self,
        newton: &mut Newton,
        design: &D,
        theta: &mut [f64],
    ) -> (f64, bool) {
        self.find_non_zeros(newton, theta);
        if !self.pay(newton, design) {
            return (0.0, false);
        }
        self.set_gram(newton, design);
        self.set_system(newton, design, theta);
        match newton.solve() {
            Some(promised) => self.backtrack(newton, promised, design, theta),
            None => (0.0, false),
        }
    }

    fn find_non_zeros(&self, newton: &mut Newton, theta: &[f64]) {
        newton.columns.clear();
        newton.places.clear();
        newton.groups.clear();
        newton.kinks.clear();
        let all = self.norm.l1() > 0.0 || self.norm.is_positive();
        for &g in &self.working {
            let start = newton.columns.len();
            for (a, &j) in self.groups[g].0.iter().enumerate() {
                if theta[j] != 0.0 {
                    newton.columns.push(j);
                    newton.places.push((g, a));
                }
            }
            let members = start..newton.columns.len();
            let one = members.len() == 1 && self.groups[g].1 > 0.0;
            newton.kinks.resize(members.end, all || one);
            if !members.is_empty() {
                newton.groups.push((g, members));
            }
        }
    }

    /// Takes the multiplications of a step from the budget; whether it and the memory allow one.
    fn pay<D: Design + ?Sized>(&mut self, newton: &Newton, design: &D) -> bool {
        let (n, size) = (design.n_rows(), newton.columns.len());
        let fresh = match newton.is_known(&self.curvatures) {
            true => 0.0,
            false => 0.5 * n as f64,
        };
        let cost =
            (size * size) as f64 * (fresh + size as f64 / 6.0 + 8.0) + 4.0 * (n * size) as f64;
        let most = FREE_SUPPORT * n.max(FREE_SUPPORT) + design.most_scratch();
        if size == 0 || size * size.max(n) > most || cost > self.budget {
            return false;
        }
        self.budget -= cost;
        true
    }

    fn set_gram<D: Design + ?Sized>(&self, newton: &mut Newton, design: &D) {
        if newton.is_known(&self.curvatures) {
            return;
        }
        let size = newton.columns.len();
        newton.known.clone_from(&newton.columns);
        newton.known_of.clone_from(&self.curvatures);
        self.centred_columns(design, &newton.columns, &mut newton.images);
        newton.gram.clear();
        newton.gram.resize(size * size, 0.0);
        square(&newton.images, design.n_rows(), &mut newton.gram);
        for a in 0..size {
            newton.gram[a * size + a] += self.ridge;
        }
    }

    /// The gradient of the smooth part, and with the penalty's the right-hand side and the Hessian.
    fn set_system<D: Design + ?Sized>(&self, newton: &mut Newton, design: &D, theta: &[f64]) {
        let size = newton.columns.len();
        newton.smooth.resize(size, 0.0);
        design.dot_columns(&newton.columns, &self.residual, &mut newton.smooth);
        newton.direction.clear();
        newton.hessian.clone_from(&newton.gram);
        for (g, members) in &newton.groups {
            let weight = self.alpha * self.groups[*g].1;
            let length = newton.columns[members.clone()]
                .iter()
                .map(|&j| theta[j] * theta[j])
                .sum::<f64>()
                .sqrt();
            for a in members.clone() {
                let (here, mean) = (theta[newton.columns[a]], self.mean(newton.places[a]));
                newton.smooth[a] += self.offset * self.total * mean + self.ridge * here;
                let slope = weight * here / length + (self.alpha * self.norm.l1()).copysign(here);
                newton.direction.push(-(newton.smooth[a] + slope));
                for b in members.start..=a {
                    let other = theta[newton.columns[b]];
                    let same = if a == b { 1.0 } else { 0.0 };
                    newton.hessian[a * size + b] +=
                        weight / length * (same - (here / length) * (other / length));
                }
            }
        }
    }

    /// Halves the step until it brings its share of what is promised, and takes it. Where entries that stop turn it
    /// into another one that does not, the step to where the first of them stops is still Newton's.
    fn backtrack<D: Design + ?Sized>(
        &mut self,
        newton: &mut Newton,
        promised: f64,
        design: &D,
        theta: &mut [f64],
    ) -> (f64, bool) {
        for first in [Some(1.0), newton.first_kink(theta)].into_iter().flatten() {
            let mut length = first;
            for _ in 0..MOST_HALVINGS {
                newton.set_change(length, theta);
                let (change, hidden) = self.change_of_objective(newton, promised, theta);
                if change <= SHARE * 0.5 * length * promised {
                    self.take(newton, design, theta);
                    return (change, hidden);
                }
                length *= 0.5;
            }
        }
        (0.0, false)
    }

    /// What the change brings, and whether rounding hides it.
    fn change_of_objective(&self, newton: &Newton, promised: f64, theta: &[f64]) -> (f64, bool) {
        let (mut change, mut size_of_terms, mut stopped) = (0.0, 0.0, false);
        let size = newton.columns.len();
        for (a, row) in newton.gram.chunks_exact(size).enumerate() {
            let step = newton.change[a];
            change += step * (newton.smooth[a] + 0.5 * dot(row, &newton.change));
            size_of_terms += (step * newton.smooth[a]).abs();
            stopped |= step == -theta[newton.columns[a]];
        }
        change += self.alpha * self.penalty_change(newton, theta);
        match !stopped && -promised <= HIDDEN * size_of_terms {
            // Rounding hides the gain, in which terms of first order cancel; the gradient does not rely on it.
            true => (0.5 * promised, true),
            false => (change, false),
        }
    }

    /// Omega after the change, less Omega before.
    fn penalty_change(&self, newton: &Newton, theta: &[f64]) -> f64 {
        let mut change = 0.0;
        for (g, members) in &newton.groups {
            let (mut before, mut after, mut moved, mut l1) = (0.0, 0.0, 0.0, 0.0);
            for a in members.clone() {
                let (here, step) = (theta[newton.columns[a]], newton.change[a]);
                before += here * here;
                after += (here + step) * (here + step);
                l1 += (here + step).abs() - here.abs();
                moved += step * (2.0 * here + step);
            }
            let (before, after) = (f64::sqrt(before), f64::sqrt(after));
            // (after^2 - before^2)/(after + before): small changes do not cancel.
            change += self.groups[*g].1 * moved / (after + before);
            change += self.norm.l1() * l1;
        }
        change
    }

    fn take<D: Design + ?Sized>(&mut self, newton: &Newton, design: &D, theta: &mut [f64]) {
        for (a, (&j, step)) in newton.columns.iter().zip(&newton.change).enumerate() {
            theta[j] = if *step == -theta[j] {
                0.0
            } else {
                theta[j] + step
            };
            self.offset -= step * self.mean(newton.places[a]);
        }
        design.add_scaled_columns(
            &newton.columns,
            &newton.change,
            &self.curvatures,
            &mut self.residual,
        );
    }

    fn mean(&self, (g, a): (usize, usize)) -> f64 {
        self.parts[g].as_ref().map_or(0.0, |part| part.means[a])
    }
}

impl Newton {
    /// Whether `gram` is that of the present columns at these curvatures.
    fn is_known(&self, curvatures: &[f64]) -> bool {
        self.known == self.columns && self.known_of == curvatures
    }

    /// Turns the right-hand side into the direction; what that promises, its slope, where rounding leaves it negative.
    fn solve(&mut self) -> Option<f64> {
        let steepest = self.direction.clone();
        if !cholesky::solve(&mut self.hessian, &mut self.direction) {
            return None;
        }
        let promised = -dot(&steepest, &self.direction);
        (promised < 0.0).then_some(promised)
    }

    /// The length at which the first entry is at a kink, if one is before the end of the direction.
    fn first_kink(&self, theta: &[f64]) -> Option<f64> {
        let entries = self.columns.iter().zip(&self.direction).zip(&self.kinks);
        let ends = entries.filter(|(_, kink)| **kink);
        // Beyond it by rounding: it stops there.
        let lengths = ends.map(|((&j, d), _)| -theta[j] / d * (1.0 + 4.0 * f64::EPSILON));
        lengths
            .filter(|length| (0.0..1.0).contains(length))
            .reduce(f64::min)
    }

    /// The direction times a length. Entries that would change their sign stop at 0, where the penalty has a kink.
    fn set_change(&mut self, length: f64, theta: &[f64]) {
        self.change.clear();
        let entries = self.columns.iter().zip(&self.direction).zip(&self.kinks);
        for ((&j, d), kink) in entries {
            let stops = *kink && (theta[j] + length * d) * theta[j] <= 0.0;
            self.change.push(if stops { -theta[j] } else { length * d });
        }
    }
}

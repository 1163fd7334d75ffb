//! Certificates of suboptimality by Fenchel duality, as in [`crate::solver`] with K slopes a record.
//!
//! The conjugate of ln sum_k exp z_k - z_y at a is the negative entropy sum_k q_k ln q_k of q = a + e_y where q is a
//! probability vector, infinite elsewhere. For every A of such rows with sum_i w_i a_ik = 0 for every class (needed
//! with free intercepts only) and V = X'(w A),
//!
//! ```text
//! risk + alpha Omega(Theta) >= sum_i w_i H(a_i + e_yi) + min_T <V, T> + alpha Omega(T) + (ridge/2)|T|^2
//! ```
//!
//! with H the entropy. Without a ridge the minimum is 0 where the dual norm of V is at most alpha, and minus infinity
//! elsewhere: A is scaled by alpha over that norm, towards 0, which lies in every domain (q = e_y). Over the ball the
//! bound is that of any penalty t less t times the radius.

use super::norm::{ball_level, dual, ridge_minimum, value};
use super::point::correlate;
use super::{ClassNorm, ClassProblem};
use crate::error::{Error, Result};

/// How far the rows of a given dual point may be from probability vectors.
const CLOSE: f64 = 1e-9;

/// A dual point A, K planes of n entries, with the sizes of V = X'(w A).
#[derive(Debug, Clone, Copy)]
pub(super) struct Dual<'d> {
    pub slopes: &'d [f64],
    pub sizes: &'d [f64],
}

/// A lower bound on a minimum, with the dual point that gives it.
#[derive(Debug, Clone)]
pub(super) struct LowerBound {
    pub value: f64,
    pub slopes: Vec<f64>,
}

impl LowerBound {
    /// That of A = 0.
    pub fn zero(problem: &ClassProblem<'_>) -> Self {
        Self {
            value: 0.0,
            slopes: vec![0.0; problem.targets().len() * problem.n_classes()],
        }
    }

    /// Takes `value`, the bound that scale*A gives, where it is better.
    pub fn raise(&mut self, value: f64, scale: f64, slopes: &[f64]) {
        if value > self.value {
            self.value = value;
            (self.slopes.iter_mut().zip(slopes)).for_each(|(kept, a)| *kept = scale * a);
        }
    }

    /// Takes the bound on the penalised objective that the multiples of `dual` give.
    pub fn observe(&mut self, problem: &ClassProblem<'_>, dual: Dual<'_>, alpha: f64) {
        let (value, scale) = penalty_dual(problem, dual, alpha);
        self.raise(value, scale, dual.slopes);
    }
}

/// Lower bound on the minimum of the penalised objective, and the multiple of the dual point that gives it.
pub(super) fn penalty_dual(problem: &ClassProblem<'_>, point: Dual<'_>, alpha: f64) -> (f64, f64) {
    let largest = dual(point.sizes);
    let scale = (alpha / largest).min(1.0);
    let scaled = dual_value(problem, point, scale, alpha);
    if problem.ridge() > 0.0 && largest > alpha {
        let whole = dual_value(problem, point, 1.0, alpha);
        if whole > scaled {
            return (whole, 1.0);
        }
    }
    (scaled, scale)
}

/// The bound of scale*A.
fn dual_value(problem: &ClassProblem<'_>, dual: Dual<'_>, scale: f64, alpha: f64) -> f64 {
    let minimum = match problem.ridge() {
        0.0 => 0.0,
        ridge => ridge_minimum(dual.sizes, scale, alpha, ridge),
    };
    entropy(problem, dual.slopes, scale) + minimum
}

/// The best bound over a ball, and the penalty t that gives it.
pub(super) fn ball_dual(
    problem: &ClassProblem<'_>,
    dual: Dual<'_>,
    radius: f64,
    scratch: &mut Vec<f64>,
) -> (f64, f64) {
    let level = ball_level(dual.sizes, radius, problem.ridge(), scratch);
    (
        dual_value(problem, dual, 1.0, level) - level * radius,
        level,
    )
}

/// sum_i w_i H(scale a_i + e_yi).
fn entropy(problem: &ClassProblem<'_>, slopes: &[f64], scale: f64) -> f64 {
    let mut sum = 0.0;
    for (k, plane) in slopes.chunks_exact(problem.targets().len()).enumerate() {
        let records = plane.iter().zip(problem.targets()).zip(problem.weights());
        for ((a, y), w) in records {
            let x = scale * a;
            // q ln q with q = 1 + x or q = x; q = 0 adds nothing.
            let term = if *y == k as f64 {
                if x > -1.0 { (1.0 + x) * x.ln_1p() } else { 0.0 }
            } else if x > 0.0 {
                x * x.ln()
            } else {
                0.0
            };
            sum -= w * term;
        }
    }
    sum
}

/// Makes sum_i w_i a_ik = 0 for every class by mixing all q_i = a_i + e_yi with one and the same r: q = (q + t r)/(1 +
/// t).
///
/// With e_k the sums to be rid of and s_k > 0 the shares of the classes, r = s - e/t brings them to 0 and adds up to 1,
/// as the e_k do to 0. It is a probability vector from t = max_k e_k/s_k on. At the best intercepts e and t are 0 up to
/// rounding; what rounding leaves enters a bound as |b* - b| times a few epsilon.
pub(super) fn balance(problem: &ClassProblem<'_>, slopes: &mut [f64]) {
    let (targets, weights) = (problem.targets(), problem.weights());
    let n = targets.len();
    let sum = |plane: &[f64]| plane.iter().zip(weights).map(|(a, w)| a * w).sum::<f64>();
    let excess: Vec<f64> = slopes.chunks_exact(n).map(sum).collect();
    let ratios = excess.iter().zip(problem.shares()).map(|(e, s)| e / s);
    let t = ratios.fold(0.0, f64::max);
    if t == 0.0 {
        return;
    }
    let mixed = excess
        .iter()
        .zip(problem.shares())
        .map(|(e, s)| (t * s - e).max(0.0));
    for ((k, plane), r) in slopes.chunks_exact_mut(n).enumerate().zip(mixed) {
        for (a, y) in plane.iter_mut().zip(targets) {
            let own = if *y == k as f64 { t } else { 0.0 };
            *a = (*a + r - own) / (1.0 + t);
        }
    }
}

/// The dual point of a start.
#[derive(Debug)]
pub(super) struct GivenDual {
    slopes: Vec<f64>,
    sizes: Vec<f64>,
}

impl GivenDual {
    /// None where there is none, or where its rows are not those of a dual point, as with other labels.
    ///
    /// # Errors
    /// A point that does not hold K finite numbers per record.
    pub fn new(
        dual: Option<&[f64]>,
        problem: &ClassProblem<'_>,
        norm: ClassNorm,
    ) -> Result<Option<Self>> {
        let Some(dual) = dual else {
            return Ok(None);
        };
        let (n, k) = (problem.targets().len(), problem.n_classes());
        if dual.len() != n * k || !dual.iter().all(|a| a.is_finite()) {
            return Err(Error::InvalidData(
                "the dual point of the start must hold one finite number per class and row of X"
                    .into(),
            ));
        }
        let mut slopes = dual.to_vec();
        for (i, y) in problem.targets().iter().enumerate() {
            let own = *y as usize;
            let others = (0..k)
                .filter(|class| *class != own)
                .map(|class| class * n + i);
            let sum: f64 = others.clone().map(|at| slopes[at]).sum();
            let least = others.clone().map(|at| slopes[at]).fold(0.0, f64::min);
            let whole = sum.max(1.0);
            if least < 0.0 || (sum + slopes[own * n + i]).abs() > CLOSE || whole > 1.0 + CLOSE {
                return Ok(None);
            }
            others.for_each(|at| slopes[at] /= whole);
            slopes[own * n + i] = -(sum / whole);
        }
        if problem.fit_intercept() {
            balance(problem, &mut slopes);
        }
        let mut correlations = vec![0.0; problem.design().n_columns() * k];
        correlate(problem, &slopes, &mut correlations);
        let mut sizes = Vec::new();
        norm.sizes(&correlations, k, &mut sizes);
        Ok(value(&sizes).is_finite().then_some(Self { slopes, sizes }))
    }

    pub fn point(&self) -> Dual<'_> {
        Dual {
            slopes: &self.slopes,
            sizes: &self.sizes,
        }
    }
}

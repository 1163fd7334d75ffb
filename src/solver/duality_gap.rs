//! Certificates of suboptimality by Fenchel duality.
//!
//! For every a with sum_i w_i a_i = 0 (needed with a free intercept only) and v = X'(w a), the inequality
//! l(z) >= a z - l*(a) gives, whatever theta and b are,
//!
//! ```text
//! risk + alpha Omega(theta) >= -sum_i w_i l*(a_i; y_i) + min_t <v, t> + alpha Omega(t) + (ridge/2)|t|^2  =: D_alpha(a)
//! ```
//!
//! (Rockafellar 1970, theorem 31.1). Without a ridge the minimum is 0 where -v lies in alpha K, that is where the dual
//! norm of -v is at most alpha, and minus infinity elsewhere; so a is scaled by alpha over that dual norm (El Ghaoui,
//! Viallon & Rabbani 2012). 0 is in the domain of every conjugate and domains are convex, so the scaled point is
//! feasible. With a ridge the minimiser is a prox; for the l1 norm the minimum is -sum_j (|v_j| - alpha)_+^2 / (2
//! ridge). Over the ball, any t >= 0 gives risk >= risk + t(Omega(theta) - radius), hence
//!
//! ```text
//! min over the ball >= D_t(a) - t radius      for every t >= 0.
//! ```
//!
//! At a fixed a the best t is where Omega of the minimiser is the radius: for the l1 norm the level of a projection
//! onto an l1 ball. At ridge 0 it is the dual norm, and the gap at a = l' is Frank and Wolfe's (Jaggi 2013).

use super::point::Point;
use super::regulariser::Omega;
use super::{Design, Problem, Solution};
use crate::error::Result;

/// A dual point a with v = X'(w a), where sum_i w_i a_i = 0 if there is an intercept.
#[derive(Debug, Clone, Copy)]
pub(super) struct DualPoint<'d> {
    pub slopes: &'d [f64],
    pub correlations: &'d [f64],
}

/// A lower bound on a minimum, with the dual point that gives it.
#[derive(Debug, Clone)]
pub(super) struct LowerBound {
    pub value: f64,
    pub slopes: Vec<f64>,
}

impl LowerBound {
    /// That of a = 0 for n records: catalogued losses are non-negative.
    pub fn zero(n: usize) -> Self {
        Self {
            value: 0.0,
            slopes: vec![0.0; n],
        }
    }

    /// Takes `value`, the bound that scale*a gives, where it is better.
    fn raise(&mut self, value: f64, scale: f64, slopes: &[f64]) {
        if value > self.value {
            self.value = value;
            for (kept, a) in self.slopes.iter_mut().zip(slopes) {
                *kept = scale * a;
            }
        }
    }

    /// Takes the bound on the penalised objective that the multiples of `dual` give.
    pub fn observe<D: Design + ?Sized>(
        &mut self,
        problem: &Problem<'_, D>,
        omega: &mut Omega<'_>,
        dual: DualPoint<'_>,
        alpha: f64,
    ) -> Result<()> {
        let (value, scale) = penalty_dual(problem, omega, dual, alpha)?;
        self.raise(value, scale, dual.slopes);
        Ok(())
    }
}

/// D_alpha(scale * a).
fn dual_value<D: Design + ?Sized>(
    problem: &Problem<'_, D>,
    omega: &mut Omega<'_>,
    dual: DualPoint<'_>,
    scale: f64,
    alpha: f64,
) -> Result<f64> {
    let loss = problem.loss();
    let mut value = 0.0;
    for ((a, y), w) in (dual.slopes.iter())
        .zip(problem.targets())
        .zip(problem.weights())
    {
        value -= w * loss.conjugate(scale * a, *y);
    }
    if problem.ridge() > 0.0 {
        value += omega.ridge_minimum(dual.correlations, scale, alpha, problem.ridge())?;
    }
    Ok(value)
}

/// Lower bound on the minimum of the penalised objective from a dual point, and the multiple of the point that gives
/// it.
pub(super) fn penalty_dual<D: Design + ?Sized>(
    problem: &Problem<'_, D>,
    omega: &mut Omega<'_>,
    dual: DualPoint<'_>,
    alpha: f64,
) -> Result<(f64, f64)> {
    let largest = omega.dual(dual.correlations)?;
    let mut scale = (alpha / largest).min(1.0);
    let mut scaled = dual_value(problem, omega, dual, scale, alpha)?;
    // Balancing over a kernel may leave the domain of the conjugate by a little; 0 is inside.
    let mut shrink = 1e-12;
    while scaled == f64::NEG_INFINITY && shrink < 1.0 {
        scale *= 1.0 - shrink;
        scaled = dual_value(problem, omega, dual, scale, alpha)?;
        shrink *= 8.0;
    }
    if problem.ridge() > 0.0 && largest > alpha {
        let whole = dual_value(problem, omega, dual, 1.0, alpha)?;
        if whole > scaled {
            return Ok((whole, 1.0));
        }
    }
    Ok((scaled, scale))
}

/// Best known point and best lower bound over {|theta|_1 <= radius}, from all points shown to it.
#[derive(Debug)]
pub(super) struct BallBound {
    radius: f64,
    target: f64,
    dual: LowerBound,
    multiplier: f64,
    best: Solution,
}

impl BallBound {
    /// Knows nothing yet; converged once the gap is at most `target`.
    pub fn new(radius: f64, target: f64, n_records: usize) -> Self {
        Self {
            radius,
            target,
            dual: LowerBound::zero(n_records),
            multiplier: 0.0,
            best: Solution {
                coefficients: Vec::new(),
                intercept: 0.0,
                objective: f64::INFINITY,
                duality_gap: f64::INFINITY,
                dual: Vec::new(),
                n_iter: 0,
                converged: false,
            },
        }
    }

    pub fn radius(&self) -> f64 {
        self.radius
    }

    pub fn target(&self) -> f64 {
        self.target
    }

    pub fn converged(&self) -> bool {
        self.best.converged
    }

    /// Best t of the latest point: an estimate of the penalty that attains the radius.
    pub fn multiplier(&self) -> f64 {
        self.multiplier
    }

    /// Upper bound on the suboptimality of the best point so far.
    pub fn gap(&self) -> f64 {
        self.best.objective - self.dual.value
    }

    /// Takes a lower bound on the minimum of risk + alpha Omega(theta).
    pub fn observe_penalty_dual(&mut self, bound: &LowerBound, alpha: f64) {
        let value = bound.value - alpha * self.radius;
        self.dual.raise(value, 1.0, &bound.slopes);
    }

    /// Takes the lower bound of a dual point.
    pub fn observe_dual<D: Design + ?Sized>(
        &mut self,
        problem: &Problem<'_, D>,
        omega: &mut Omega<'_>,
        dual: DualPoint<'_>,
    ) -> Result<()> {
        let level = omega.ball_level(dual.correlations, self.radius, problem.ridge())?;
        self.multiplier = level;
        let value = dual_value(problem, omega, dual, 1.0, level)?;
        (self.dual).raise(value - level * self.radius, 1.0, dual.slopes);
        Ok(())
    }

    /// Takes the lower bound of `point`, and the point itself where it lies in the ball and is the best so
    /// far.
    pub fn observe<D: Design + ?Sized>(
        &mut self,
        problem: &Problem<'_, D>,
        omega: &mut Omega<'_>,
        point: &Point,
    ) -> Result<()> {
        self.observe_dual(problem, omega, point.dual())?;
        if point.norm <= self.radius && point.risk < self.best.objective {
            self.best.coefficients.clone_from(&point.theta);
            self.best.intercept = point.intercept;
            self.best.objective = point.risk;
        }
        self.best.duality_gap = self.gap().max(0.0) + point.rounding;
        self.best.converged = self.gap() <= self.target.max(point.rounding);
        Ok(())
    }

    pub fn into_solution(self, n_iter: usize) -> Solution {
        Solution {
            n_iter,
            dual: self.dual.slopes,
            ..self.best
        }
    }
}

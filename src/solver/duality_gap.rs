//! Certificates of suboptimality by Fenchel duality.
//!
//! For every a with sum_i w_i a_i = 0 (needed with a free intercept only) and v = X'(w a), the inequality
//! l(z) >= a z - l*(a) gives, whatever theta and b are,
//!
//! ```text
//! risk + alpha|theta|_1 >= -sum_i w_i l*(a_i; y_i) + <v, theta> + alpha|theta|_1 + (ridge/2)|theta|^2
//!                       >= -sum_i w_i l*(a_i; y_i) - sum_j (|v_j| - alpha)_+^2 / (2 ridge)          =: D_alpha(a)
//! ```
//!
//! (Rockafellar 1970, theorem 31.1; the second line minimises over each theta_j). Without a ridge the last
//! sum is 0 where
//! |v|_inf <= alpha and infinite elsewhere, so a is scaled by alpha/|v|_inf (El Ghaoui, Viallon & Rabbani 2012); 0 is in
//! the domain of every conjugate and domains are convex, so the scaled point is feasible. Over the ball, any
//! t >= 0 gives risk >= risk + t(|theta|_1 - radius), hence
//!
//! ```text
//! min over the ball >= D_t(a) - t radius      for every t >= 0,
//! ```
//!
//! and at a fixed a the best t solves sum_j (|v_j| - t)_+ = ridge*radius: the level of a projection onto an
//! l1 ball. At ridge 0 it is
//! |v|_inf and the gap at a = l' is Frank and Wolfe's, <v, theta> + radius |v|_inf (Jaggi 2013).

use super::point::Point;
use super::{Design, Problem, Solution};
use crate::prox::l1_ball_threshold;

/// D_alpha(scale * a) with the a of `point`.
fn dual_value<D: Design + ?Sized>(
    problem: &Problem<'_, D>,
    point: &Point,
    scale: f64,
    alpha: f64,
) -> f64 {
    let loss = problem.loss();
    let mut value = 0.0;
    for ((a, y), w) in (point.slopes.iter())
        .zip(problem.targets())
        .zip(problem.weights())
    {
        value -= w * loss.conjugate(scale * a, *y);
    }
    if problem.ridge() > 0.0 {
        let excess: f64 = (point.correlations.iter())
            .map(|v| (scale * v.abs() - alpha).max(0.0).powi(2))
            .sum();
        value -= excess / (2.0 * problem.ridge());
    }
    value
}

/// Lower bound on the minimum of the penalised objective, from the slopes of `point`.
pub(super) fn penalty_dual<D: Design + ?Sized>(
    problem: &Problem<'_, D>,
    point: &Point,
    alpha: f64,
) -> f64 {
    let largest = point
        .correlations
        .iter()
        .fold(0.0f64, |m, v| m.max(v.abs()));
    let scaled = dual_value(problem, point, (alpha / largest).min(1.0), alpha);
    if problem.ridge() > 0.0 && largest > alpha {
        scaled.max(dual_value(problem, point, 1.0, alpha))
    } else {
        scaled
    }
}

/// Best known point and best lower bound over {|theta|_1 <= radius}, from all points shown to it.
#[derive(Debug)]
pub(super) struct BallBound {
    radius: f64,
    target: f64,
    dual: f64,
    multiplier: f64,
    best: Solution,
    scratch: Vec<f64>,
}

impl BallBound {
    /// Knows nothing yet; converged once the gap is at most `target`.
    pub fn new(radius: f64, target: f64) -> Self {
        Self {
            radius,
            target,
            // Catalogued losses are non-negative.
            dual: 0.0,
            multiplier: 0.0,
            best: Solution {
                coefficients: Vec::new(),
                intercept: 0.0,
                objective: f64::INFINITY,
                duality_gap: f64::INFINITY,
                n_iter: 0,
                converged: false,
            },
            scratch: Vec::new(),
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
        self.best.objective - self.dual
    }

    /// Takes a lower bound `dual` on the minimum of risk + alpha |theta|_1.
    pub fn observe_penalty_dual(&mut self, dual: f64, alpha: f64) {
        self.dual = self.dual.max(dual - alpha * self.radius);
    }

    /// Takes the lower bound of `point`, and the point itself where it lies in the ball and is the best so
    /// far.
    pub fn observe<D: Design + ?Sized>(&mut self, problem: &Problem<'_, D>, point: &Point) {
        let budget = problem.ridge() * self.radius;
        let level = l1_ball_threshold(&point.correlations, budget, &mut self.scratch);
        self.multiplier = level;
        self.dual = (self.dual).max(dual_value(problem, point, 1.0, level) - level * self.radius);
        if point.l1_norm() <= self.radius && point.risk < self.best.objective {
            self.best.coefficients.clone_from(&point.theta);
            self.best.intercept = point.intercept;
            self.best.objective = point.risk;
        }
        self.best.duality_gap = self.gap().max(0.0) + point.rounding;
        self.best.converged = self.gap() <= self.target.max(point.rounding);
    }

    pub fn into_solution(self, n_iter: usize) -> Solution {
        Solution {
            n_iter,
            ..self.best
        }
    }
}

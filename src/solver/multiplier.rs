//! The constrained form by its multiplier: the penalised minimiser of penalty alpha has a norm that does not
//! increase with alpha, and where the norm is the radius it is the constrained minimiser.

use super::Design;
use super::duality_gap::BallBound;
use super::proximal_newton::ProximalNewton;
use crate::error::Result;

/// A solver of the penalised problem that keeps the best point of a ball and the best bound on its minimum.
pub(super) trait BallSolver {
    fn radius(&self) -> f64;

    /// The gap that is small enough.
    fn target(&self) -> f64;

    fn converged(&self) -> bool;

    /// Whether there are no iterations left.
    fn is_over(&self) -> bool;

    /// Best t of the latest point: an estimate of the penalty that attains the radius.
    fn multiplier(&self) -> f64;

    /// Omega at the present point.
    fn norm(&self) -> f64;

    /// The present point.
    fn parameters(&self) -> &[f64];

    /// The point with coefficients 0.
    fn origin(&self) -> Vec<f64>;

    /// Takes note of the present point.
    fn show(&mut self) -> Result<()>;

    /// Takes note of s*point + (1 - s)*other, shrunk into the ball where rounding left it outside.
    fn show_mixture(&mut self, other: &[f64], s: f64) -> Result<()>;

    /// Moves to the minimiser of risk + alpha Omega up to `target`, and takes note of all on the way.
    fn minimise(&mut self, alpha: f64, target: f64) -> Result<()>;
}

/// [`BallSolver`] for one score a record.
pub(super) struct ScalarBall<'b, 'r, 'a, D: ?Sized> {
    pub newton: &'b mut ProximalNewton<'r, 'a, D>,
    pub bound: &'b mut BallBound,
}

impl<D: Design + ?Sized> BallSolver for ScalarBall<'_, '_, '_, D> {
    fn radius(&self) -> f64 {
        self.bound.radius()
    }

    fn target(&self) -> f64 {
        self.bound.target()
    }

    fn converged(&self) -> bool {
        self.bound.converged()
    }

    fn is_over(&self) -> bool {
        self.newton.run.is_over()
    }

    fn multiplier(&self) -> f64 {
        self.bound.multiplier()
    }

    fn norm(&self) -> f64 {
        self.newton.point().norm
    }

    fn parameters(&self) -> &[f64] {
        &self.newton.point().theta
    }

    fn origin(&self) -> Vec<f64> {
        vec![0.0; self.newton.point().theta.len()]
    }

    fn show(&mut self) -> Result<()> {
        self.newton.show(self.bound)
    }

    fn show_mixture(&mut self, other: &[f64], s: f64) -> Result<()> {
        self.newton.show_mixture(other, s, self.bound)
    }

    fn minimise(&mut self, alpha: f64, target: f64) -> Result<()> {
        self.newton.minimise(alpha, target, Some(self.bound))?;
        Ok(())
    }
}

/// One end of the bracket: a penalty and the norm of its minimiser.
#[derive(Debug, Clone, Copy)]
struct End {
    alpha: f64,
    norm: f64,
}

/// Narrows a bracket of the penalty until `solver` has converged or iterations run out.
///
/// The inner end is in the ball, the outer end outside. Between two solutions their mixture of norm `radius`
/// is a candidate: it is optimal up to the bracket's width times the radius, also where the norm jumps
/// (losses with linear parts have several minimisers for one penalty). Where the ball holds the unconstrained
/// minimum there is no outer end: a penalty of target/(2 radius) then costs at most half the target.
///
/// The next penalty is that of the secant (norms are piecewise linear in the penalty for piecewise quadratic
/// losses), or the midpoint where two steps did not halve the bracket.
pub(super) fn search<S: BallSolver>(solver: &mut S, alpha_at_zero: f64) -> Result<()> {
    let radius = solver.radius();
    let mut inner = End {
        alpha: alpha_at_zero,
        norm: 0.0,
    };
    let mut inner_parameters = solver.origin();
    let mut outer: Option<End> = None;
    let least = 0.5 * solver.target() / radius;
    let warm = solver.norm() > 0.0;
    solver.show()?;
    let mut alpha = if warm {
        solver.multiplier().min(alpha_at_zero)
    } else {
        0.25 * alpha_at_zero
    };
    let (mut secants, mut last_width) = (0, alpha_at_zero);
    while !solver.converged() && !solver.is_over() {
        solver.minimise(alpha, 0.1 * solver.target())?;
        let reached = End {
            alpha,
            norm: solver.norm(),
        };
        if solver.converged() {
            break;
        }
        let slope_end = inner;
        if reached.norm > radius {
            let s = (radius - inner.norm) / (reached.norm - inner.norm);
            solver.show_mixture(&inner_parameters, s)?;
            outer = Some(reached);
        } else {
            inner_parameters.copy_from_slice(solver.parameters());
            inner = reached;
        }
        alpha = match outer {
            None if inner.alpha <= least => break,
            None => {
                let slope = (slope_end.norm - inner.norm) / (slope_end.alpha - inner.alpha);
                let secant = inner.alpha + (radius * 1.01 - inner.norm) / slope;
                let (low, high) = (0.1 * inner.alpha, 0.6 * inner.alpha);
                if secant.is_nan() {
                    high
                } else {
                    secant.clamp(low, high)
                }
                .max(least)
            }
            Some(outer) => {
                let width = inner.alpha - outer.alpha;
                secants += 1;
                let slow = secants >= 2 && width > 0.5 * last_width;
                if secants >= 2 {
                    (secants, last_width) = (0, width);
                }
                let share = (radius - inner.norm) / (outer.norm - inner.norm);
                inner.alpha - width * if slow { 0.5 } else { share.clamp(0.001, 0.999) }
            }
        };
        if outer.is_some_and(|outer| alpha <= outer.alpha || alpha >= inner.alpha) {
            break;
        }
    }
    Ok(())
}

//! The constrained form by its multiplier: the penalised minimiser of penalty alpha has a norm that does not
//! increase with alpha, and where the norm is the radius it is the constrained minimiser.

use super::Design;
use super::duality_gap::BallBound;
use super::proximal_newton::ProximalNewton;
use crate::error::Result;

/// One end of the bracket: a penalty and the norm of its minimiser.
#[derive(Debug, Clone, Copy)]
struct End {
    alpha: f64,
    norm: f64,
}

/// Narrows a bracket of the penalty until `bound` has converged or iterations run out.
///
/// The inner end is in the ball, the outer end outside. Between two solutions their mixture of norm `radius`
/// is a candidate: it is optimal up to the bracket's width times the radius, also where the norm jumps
/// (losses with linear parts have several minimisers for one penalty). Where the ball holds the unconstrained
/// minimum there is no outer end: a penalty of target/(2 radius) then costs at most half the target.
///
/// The next penalty is that of the secant (norms are piecewise linear in the penalty for piecewise quadratic
/// losses), or the midpoint where two steps did not halve the bracket.
pub(super) fn search<D: Design + ?Sized>(
    newton: &mut ProximalNewton<'_, '_, D>,
    bound: &mut BallBound,
    alpha_at_zero: f64,
) -> Result<()> {
    let radius = bound.radius();
    let mut inner = End {
        alpha: alpha_at_zero,
        norm: 0.0,
    };
    let mut inner_theta = vec![0.0; newton.point().theta.len()];
    let mut outer: Option<End> = None;
    let least = 0.5 * bound.target() / radius;
    let warm = newton.point().norm > 0.0;
    newton.show(bound)?;
    let mut alpha = if warm {
        bound.multiplier().min(alpha_at_zero)
    } else {
        0.25 * alpha_at_zero
    };
    let (mut secants, mut last_width) = (0, alpha_at_zero);
    while !bound.converged() && !newton.run.is_over() {
        newton.minimise(alpha, 0.1 * bound.target(), Some(bound))?;
        let reached = End {
            alpha,
            norm: newton.point().norm,
        };
        if bound.converged() {
            break;
        }
        let slope_end = inner;
        if reached.norm > radius {
            let s = (radius - inner.norm) / (reached.norm - inner.norm);
            newton.show_mixture(&inner_theta, s, bound)?;
            outer = Some(reached);
        } else {
            inner_theta.copy_from_slice(&newton.point().theta);
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

//! Exact, non-private minimisation of the empirical risk with an l1 penalty or over an l1 ball, with a certificate.
//!
//! With weights w normalised to sum 1 and z = X theta + b the two problems are
//!
//! ```text
//! penalised     min  sum_i w_i l(z_i; y_i) + (ridge/2)|theta|_2^2 + alpha |theta|_1
//! constrained   min  sum_i w_i l(z_i; y_i) + (ridge/2)|theta|_2^2     over |theta|_1 <= radius
//! ```
//!
//! where the intercept b is neither penalised nor constrained. Reading order:
//!
//! - [`Design`]: what is asked of a matrix; [`DenseDesign`] and [`CscDesign`] implement it.
//! - `point`: theta with all that is derived from it; the intercept is exact at every point.
//! - `duality_gap`: the certificates. Nothing else decides when to stop.
//! - `coordinate_descent`: the quadratic model on the working set, with `support_step` for nearly dependent columns;
//!   `proximal_newton`: the loop around it.
//! - `multiplier`: the constrained form by a root search for the penalty that attains the radius.

mod coordinate_descent;
mod design;
mod duality_gap;
mod multiplier;
mod point;
mod problem;
mod proximal_newton;
mod support_step;

pub use design::{CscDesign, DenseDesign, Design};
pub use problem::Problem;

use crate::error::{Error, Result};
use duality_gap::BallBound;
use proximal_newton::ProximalNewton;

/// Called after every pass with the number of passes so far and the latest duality gap (infinite before the first one is
/// known); an error stops the run and is returned. [`Error::Interrupted`] is the one to use for Ctrl-C.
pub type Progress<'c> = dyn FnMut(usize, f64) -> Result<()> + 'c;

/// How the l1 norm enters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Regularisation {
    /// alpha |theta|_1 is added; alpha >= 0, and alpha = 0 needs a positive ridge.
    Penalty(f64),
    /// |theta|_1 <= radius, radius > 0.
    Ball(f64),
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stopping {
    /// Stop once the duality gap is at most `tol` times the objective at theta = 0 with its best intercept.
    pub tol: f64,
    /// Most passes over the coordinates of a working set.
    pub max_iter: usize,
}

/// What [`minimise`] returns.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// theta.
    pub coefficients: Vec<f64>,
    /// b, 0 without an intercept.
    pub intercept: f64,
    /// Objective at (theta, b).
    pub objective: f64,
    /// Upper bound on objective - minimum, the rounding errors of its own evaluation included.
    pub duality_gap: f64,
    /// Passes over the coordinates of a working set.
    pub n_iter: usize,
    /// Whether the gap reached the tolerance (or the limit of double precision).
    pub converged: bool,
}

/// Minimises the regularised empirical risk, from `start` = (theta, b) where given.
///
/// Running out of iterations is no error: `converged` says so.
///
/// # Errors
/// Negative or infinite options, alpha = 0 without a ridge (no dual certificate exists), a start of the wrong length or
/// with entries that are not finite, and whatever `progress` returns.
///
/// ```
/// use dpsparse::loss::Squared;
/// use dpsparse::solver::{DenseDesign, Problem, Regularisation, Stopping, minimise};
/// // One feature, (1/2)(theta - 3)^2 + |theta|: theta = 2.
/// let x = DenseDesign::from_columns(1, vec![1.0]).unwrap();
/// let problem = Problem::new(&x, &[3.0], None, &Squared, 0.0, false).unwrap();
/// let stopping = Stopping { tol: 1e-9, max_iter: 100 };
/// let solution =
///     minimise(&problem, Regularisation::Penalty(1.0), stopping, None, &mut |_, _| Ok(())).unwrap();
/// assert_eq!(solution.coefficients, [2.0]);
/// assert!(solution.converged && solution.duality_gap < 1e-9 * 4.5);
/// ```
pub fn minimise<D: Design + ?Sized>(
    problem: &Problem<'_, D>,
    regularisation: Regularisation,
    stopping: Stopping,
    start: Option<(&[f64], f64)>,
    progress: &mut Progress<'_>,
) -> Result<Solution> {
    let Stopping { tol, max_iter } = stopping;
    if !(tol.is_finite() && tol >= 0.0) {
        return Err(Error::invalid("tol", "must be non-negative and finite"));
    }
    if max_iter == 0 {
        return Err(Error::invalid("max_iter", "must be at least 1"));
    }
    match regularisation {
        Regularisation::Penalty(alpha) if !(alpha.is_finite() && alpha >= 0.0) => {
            return Err(Error::invalid("alpha", "must be non-negative and finite"));
        }
        Regularisation::Penalty(0.0) if problem.ridge() == 0.0 => {
            return Err(Error::invalid(
                "alpha",
                "must be positive, or come with a positive ridge: without either there is no certificate of optimality",
            ));
        }
        Regularisation::Ball(radius) if !(radius.is_finite() && radius > 0.0) => {
            return Err(Error::invalid("radius", "must be positive and finite"));
        }
        _ => {}
    }
    let mut newton = ProximalNewton::new(problem, max_iter, progress);
    let at_zero = newton.point().risk;
    let target = tol * at_zero;
    match regularisation {
        Regularisation::Penalty(alpha) => {
            newton.start_at(start)?;
            let outcome = newton.minimise(alpha, target, None)?;
            let point = newton.point();
            Ok(Solution {
                coefficients: point.theta.clone(),
                intercept: point.intercept,
                objective: point.risk + alpha * point.l1_norm(),
                duality_gap: outcome.gap.max(0.0) + point.rounding,
                n_iter: newton.n_iter(),
                converged: outcome.converged,
            })
        }
        Regularisation::Ball(radius) => {
            let mut bound = BallBound::new(radius, target);
            bound.observe(problem, newton.point());
            let alpha_at_zero = bound.multiplier();
            newton.start_at(start)?;
            multiplier::search(&mut newton, &mut bound, alpha_at_zero)?;
            Ok(bound.into_solution(newton.n_iter()))
        }
    }
}

//! Exact fits of the logistic model of K classes, one softmax, with the certificate of [`super`].
//!
//! With weights w normalised to sum 1, z_i = Theta' x_i + b, a column of Theta and an entry of b a class, the problems
//! are
//!
//! ```text
//! penalised     min  sum_i w_i (ln sum_k exp z_ik - z_iy) + (ridge/2)|Theta|_F^2 + alpha Omega(Theta)
//! constrained   min  the first two terms     over Omega(Theta) <= radius
//! ```
//!
//! with the free, unpenalised intercepts b and a [`ClassNorm`] Omega. Adding a constant to all classes' coefficients of
//! a feature changes no probability: Omega and the ridge decide it. Coefficients lie feature by feature, scores and
//! slopes class by class. Reading order:
//!
//! - `problem`: the validated data. `design`: what a matrix must offer besides [`Design`](super::Design).
//! - `norm`: the norms, and the minimum over the coefficients of one feature.
//! - `point`: Theta and b with all that is derived from them. `duality_gap`: the certificates, which alone decide when
//!   to stop.
//! - `newton`: the loop over quadratic models; `block_descent` minimises one, a feature at a time.
//! - `ball`: the constrained form.

mod ball;
mod block_descent;
mod design;
mod duality_gap;
mod newton;
mod norm;
mod point;
mod problem;
#[cfg(test)]
mod tests;

pub use design::ClassDesign;
pub use norm::ClassNorm;
pub use problem::ClassProblem;

use super::multiplier;
use super::run::Run;
use super::{Form, Progress, Stopping, check_options};
use crate::error::{Error, Result};
use ball::Ball;
use newton::ClassNewton;

/// A start, for instance an earlier [`ClassSolution`]. Any one is sound: bounds are computed anew from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassStart<'s> {
    /// Theta, feature by feature.
    pub coefficients: &'s [f64],
    /// b.
    pub intercepts: &'s [f64],
    /// [`ClassSolution::dual`] of an earlier fit to the same records.
    pub dual: Option<&'s [f64]>,
}

/// What [`minimise_classes`] returns.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassSolution {
    /// Theta, the K coefficients of a feature after those of another.
    pub coefficients: Vec<f64>,
    /// b, one a class; they add up to 0, and are 0 without intercepts.
    pub intercepts: Vec<f64>,
    /// Objective there.
    pub objective: f64,
    /// Upper bound on objective - minimum, the rounding errors of its own evaluation included.
    pub duality_gap: f64,
    /// The dual point behind the gap, n numbers a class, for [`ClassStart`]; [`classes_path`] keeps none.
    pub dual: Vec<f64>,
    /// Passes over the features of a working set.
    pub n_iter: usize,
    /// Whether the gap reached the tolerance (or the limit of double precision).
    pub converged: bool,
}

/// Minimises the regularised risk of the softmax model, from `start` where given.
///
/// Running out of iterations is no error: `converged` says so.
///
/// # Errors
/// Negative or infinite options, alpha = 0 without a ridge, a start of the wrong lengths or with entries that are not
/// finite, numbers that leave the range of double precision, and whatever `progress` returns.
///
/// ```
/// use dpsparse::solver::{ClassNorm, ClassProblem, DenseDesign, Form, Stopping, minimise_classes};
/// // Three classes along one feature.
/// let x = DenseDesign::from_columns(6, vec![-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])?;
/// let problem = ClassProblem::new(&x, &[0.0, 0.0, 1.0, 1.0, 2.0, 2.0], 3, None, 0.0, true)?;
/// let stopping = Stopping { tol: 1e-9, max_iter: 1000 };
/// let fit = minimise_classes(
///     &problem, ClassNorm::L21, Form::Penalty(0.05), stopping, None, &mut |_, _| Ok(()),
/// )?;
/// let [low, _, high] = fit.coefficients[..] else { unreachable!() };
/// assert!(fit.converged && low < 0.0 && high > 0.0);
/// # Ok::<(), dpsparse::Error>(())
/// ```
pub fn minimise_classes(
    problem: &ClassProblem<'_>,
    norm: ClassNorm,
    form: Form,
    stopping: Stopping,
    start: Option<ClassStart<'_>>,
    progress: &mut Progress<'_>,
) -> Result<ClassSolution> {
    check_options(problem.ridge(), form, stopping)?;
    let mut newton = ClassNewton::new(problem, norm, Run::new(stopping.max_iter, progress))?;
    let target = stopping.tol * newton.point().risk;
    match form {
        Form::Penalty(alpha) => {
            newton.start_at(start)?;
            finite(newton.penalised(alpha, target)?)
        }
        Form::Ball(radius) => {
            let mut ball = Ball::new(&mut newton, radius, target);
            let alpha_at_zero = ball.at_zero();
            ball.start_at(start)?;
            multiplier::search(&mut ball, alpha_at_zero)?;
            finite(ball.into_solution())
        }
    }
}

/// The least penalty at which Theta = 0 is a minimiser.
///
/// # Errors
/// Numbers that leave the range of double precision.
pub fn classes_alpha_max(problem: &ClassProblem<'_>, norm: ClassNorm) -> Result<f64> {
    let progress: &mut Progress<'_> = &mut |_, _| Ok(());
    let newton = ClassNewton::new(problem, norm, Run::new(1, progress))?;
    Ok(newton.dual_norm())
}

/// Solves the penalised problem for every alpha in turn, each from the last solution: falling alphas are the fast
/// order. `max_iter` and the count of passes are those of one alpha; [`ClassSolution::dual`] stays empty.
///
/// # Errors
/// As [`minimise_classes`].
pub fn classes_path(
    problem: &ClassProblem<'_>,
    norm: ClassNorm,
    alphas: &[f64],
    stopping: Stopping,
    progress: &mut Progress<'_>,
) -> Result<Vec<ClassSolution>> {
    for &alpha in alphas {
        check_options(problem.ridge(), Form::Penalty(alpha), stopping)?;
    }
    let mut newton = ClassNewton::new(problem, norm, Run::new(stopping.max_iter, progress))?;
    let target = stopping.tol * newton.point().risk;
    let solve = |&alpha: &f64| {
        newton.run.start_over();
        let solution = newton.penalised(alpha, target)?;
        // n numbers a class and alpha may be more memory than X.
        finite(ClassSolution {
            dual: Vec::new(),
            ..solution
        })
    };
    alphas.iter().map(solve).collect()
}

/// Refuses what has overflowed on the way: nothing else of it is right.
fn finite(solution: ClassSolution) -> Result<ClassSolution> {
    let mut numbers = [solution.objective, solution.duality_gap]
        .into_iter()
        .chain(solution.coefficients.iter().copied())
        .chain(solution.intercepts.iter().copied());
    if numbers.all(f64::is_finite) {
        return Ok(solution);
    }
    Err(Error::InvalidData(
        "X must be scaled: the fit left the range of double precision".into(),
    ))
}

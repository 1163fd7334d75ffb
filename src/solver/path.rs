//! A sequence of penalties, each fit started from the last.

use super::dual_frank_wolfe::DualFrankWolfe;
use super::point::Point;
use super::regulariser::Omega;
use super::run::Run;
use super::{
    Design, Form, Method, Problem, Progress, Regulariser, Solution, Stopping, check_options,
    finite, prepare,
};
use crate::error::{Error, Result};

/// The least penalty at which theta = 0 is a minimiser: the dual norm of the gradient of the risk at 0, the best
/// intercept included.
///
/// # Errors
/// A norm on another number of features, a seminorm (large penalties leave its kernel free), or an oracle that fails.
///
/// ```
/// use dpsparse::loss::Squared;
/// use dpsparse::solver::{DenseDesign, Problem, Regulariser, alpha_max};
/// let x = DenseDesign::from_columns(2, vec![1.0, 1.0, 0.0, 2.0])?;
/// let problem = Problem::new(&x, &[3.0, 1.0], None, &Squared, 0.0, false)?;
/// assert_eq!(alpha_max(&problem, Regulariser::L1)?, 2.0);
/// # Ok::<(), dpsparse::Error>(())
/// ```
pub fn alpha_max<D: Design + ?Sized>(
    problem: &Problem<'_, D>,
    regulariser: Regulariser<'_>,
) -> Result<f64> {
    let mut omega = Omega::new(regulariser, problem)?;
    if !omega.kernel.is_empty() {
        return Err(Error::invalid(
            "alphas",
            "must be given: no penalty makes all coefficients of a seminorm zero",
        ));
    }
    let zero = Point::zero(problem, &mut omega)?;
    omega.dual(&zero.correlations)
}

/// Solves the penalised problem for every alpha in turn, each from the last solution: falling alphas are the fast
/// order. `max_iter` and the count of passes are those of one alpha; [`Solution::dual`] stays empty.
///
/// # Errors
/// As [`super::minimise`].
///
/// ```
/// use dpsparse::loss::Squared;
/// use dpsparse::solver::{DenseDesign, Method, Problem, Regulariser, Stopping, path};
/// let x = DenseDesign::from_columns(1, vec![1.0])?;
/// let problem = Problem::new(&x, &[3.0], None, &Squared, 0.0, false)?;
/// let stopping = Stopping { tol: 1e-9, max_iter: 100 };
/// let solutions =
///     path(&problem, Regulariser::L1, &[3.0, 2.0, 1.0], Method::Auto, stopping, &mut |_, _| Ok(()))?;
/// assert_eq!(solutions[2].coefficients, [2.0]);
/// # Ok::<(), dpsparse::Error>(())
/// ```
pub fn path<D: Design + ?Sized>(
    problem: &Problem<'_, D>,
    regulariser: Regulariser<'_>,
    alphas: &[f64],
    method: Method,
    stopping: Stopping,
    progress: &mut Progress<'_>,
) -> Result<Vec<Solution>> {
    for &alpha in alphas {
        check_options(problem.ridge(), Form::Penalty(alpha), stopping)?;
    }
    let run = Run::new(stopping.max_iter, progress);
    if method == Method::DualFrankWolfe {
        let mut dual = DualFrankWolfe::new(problem, regulariser, run)?;
        let target = stopping.tol * dual.point().risk;
        let solve = |&alpha| {
            dual.run.start_over();
            without_dual(dual.penalised(alpha, target)?)
        };
        return alphas.iter().map(solve).collect();
    }
    let mut newton = prepare(problem, regulariser, method, run)?;
    let target = stopping.tol * newton.point().risk;
    let solve = |&alpha| {
        newton.run.start_over();
        without_dual(newton.penalised(alpha, target)?)
    };
    alphas.iter().map(solve).collect()
}

/// One number per record and alpha may be more memory than X.
fn without_dual(solution: Solution) -> Result<Solution> {
    finite(Solution {
        dual: Vec::new(),
        ..solution
    })
}

use super::exact::{Matrix, form_of};
use super::threads;
use crate::error::{Error, Result};
use crate::solver::{
    ClassNorm, ClassProblem, ClassSolution, ClassStart, Progress, Stopping, classes_alpha_max,
    classes_path, minimise_classes,
};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

/// What the Python estimator reads: coefficients, feature by feature, intercepts, objective, duality gap, passes,
/// whether it converged, the dual point.
type Fitted<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    f64,
    f64,
    usize,
    bool,
    Bound<'py, PyArray1<f64>>,
);

/// Coefficients, feature by feature, intercepts and, where one is known, the dual point.
type Given<'py> = (
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    Option<PyReadonlyArray1<'py, f64>>,
);

/// What a fit and a path have in common; a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Request<'py> {
    x: Matrix<'py>,
    /// 0, 1, ..., `n_classes` - 1.
    y: PyReadonlyArray1<'py, f64>,
    n_classes: usize,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    /// "l1" or "l21".
    norm: String,
    ridge: f64,
    fit_intercept: bool,
    tol: f64,
    /// None is what suits the method.
    max_iter: Option<usize>,
    progress: Option<Py<PyAny>>,
}

/// Enough for all but hopeless problems: passes are cheap where features are few, and many where they are much alike.
const MOST_PASSES: usize = 100_000;

impl Request<'_> {
    /// Runs `solve` without the interpreter; Ctrl-C and lines of progress are looked after from time to time.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        solve: impl FnOnce(&ClassProblem<'_>, ClassNorm, Stopping, &mut Progress<'_>) -> Result<T>
        + Send,
    ) -> PyResult<T> {
        let norm = match self.norm.as_str() {
            "l1" => ClassNorm::L1,
            "l21" => ClassNorm::L21,
            _ => {
                return Err(Error::invalid("norm", "must be \"l1\" or \"l21\"").into());
            }
        };
        let design = self.x.design()?;
        let y = self.y.as_array().to_vec();
        let weights = self.sample_weight.as_ref().map(|w| w.as_array().to_vec());
        let stopping = Stopping {
            tol: self.tol,
            max_iter: self.max_iter.unwrap_or(MOST_PASSES),
        };
        let (n_classes, ridge, fit_intercept) = (self.n_classes, self.ridge, self.fit_intercept);
        let progress = self.progress.as_ref();
        let solved = threads::watched(py, |watch| {
            let weights = weights.as_deref();
            let problem =
                ClassProblem::new(&*design, &y, n_classes, weights, ridge, fit_intercept)?;
            let mut report = |step: usize, gap: f64| watch.look(false, progress, (step, gap));
            solve(&problem, norm, stopping, &mut report)
        })?;
        Ok(solved?)
    }
}

fn fitted(py: Python<'_>, solution: ClassSolution) -> Fitted<'_> {
    (
        solution.coefficients.into_pyarray(py),
        solution.intercepts.into_pyarray(py),
        solution.objective,
        solution.duality_gap,
        solution.n_iter,
        solution.converged,
        solution.dual.into_pyarray(py),
    )
}

/// Fits the softmax model exactly; `_core.pyi` describes the arguments.
#[pyfunction]
#[pyo3(signature = (request, *, alpha, radius, start))]
fn fit_classes<'py>(
    py: Python<'py>,
    request: Request<'py>,
    alpha: Option<f64>,
    radius: Option<f64>,
    start: Option<Given<'py>>,
) -> PyResult<Fitted<'py>> {
    let form = form_of(alpha, radius)?;
    let owned = |array: PyReadonlyArray1<'py, f64>| array.as_array().to_vec();
    let start = start.map(|(theta, b, dual)| (owned(theta), owned(b), dual.map(owned)));
    let solution = request.run(py, |problem, norm, stopping, report| {
        let start = start
            .as_ref()
            .map(|(coefficients, intercepts, dual)| ClassStart {
                coefficients,
                intercepts,
                dual: dual.as_deref(),
            });
        minimise_classes(problem, norm, form, stopping, start, report)
    })?;
    Ok(fitted(py, solution))
}

/// Fits a sequence of penalties, each from the last; without `alphas` there are `n_alphas`, from the least that makes
/// Theta 0 down to `ratio` times it. Returns the alphas and one fit each.
#[pyfunction]
#[pyo3(signature = (request, *, alphas, n_alphas, ratio))]
fn path_classes<'py>(
    py: Python<'py>,
    request: Request<'py>,
    alphas: Option<Vec<f64>>,
    n_alphas: usize,
    ratio: f64,
) -> PyResult<(Vec<f64>, Vec<Fitted<'py>>)> {
    let (alphas, solutions) = request.run(py, |problem, norm, stopping, report| {
        let alphas = match alphas {
            Some(alphas) => alphas,
            None => falling(classes_alpha_max(problem, norm)?, n_alphas, ratio),
        };
        let solutions = classes_path(problem, norm, &alphas, stopping, report)?;
        Ok((alphas, solutions))
    })?;
    let fits = solutions.into_iter().map(|solution| fitted(py, solution));
    Ok((alphas, fits.collect()))
}

/// `number` penalties, equally spaced in logarithm, from `largest` down to `ratio` times it.
pub(super) fn falling(largest: f64, number: usize, ratio: f64) -> Vec<f64> {
    let last = number.saturating_sub(1).max(1) as f64;
    (0..number)
        .map(|k| largest * ratio.powf(k as f64 / last))
        .collect()
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(fit_classes, module)?)?;
    module.add_function(wrap_pyfunction!(path_classes, module)?)
}

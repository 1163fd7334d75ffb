use super::exact_classes::falling;
use super::norm::CoreNorm;
use super::threads;
use crate::error::{Error, Result};
use crate::loss::{self, Catalogued};
use crate::solver::{
    ClassDesign, CscDesign, DenseDesign, Design, Form, Method, Problem, Progress, Regulariser,
    Solution, Start, Stopping, alpha_max, minimise, path, poisson,
};
use numpy::ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

/// X as Python hands it over.
#[derive(FromPyObject)]
pub(super) enum Matrix<'py> {
    Dense(PyReadonlyArray2<'py, f64>),
    /// n_rows, indptr, indices, data of compressed columns.
    Sparse(
        usize,
        PyReadonlyArray1<'py, i64>,
        PyReadonlyArray1<'py, i64>,
        PyReadonlyArray1<'py, f64>,
    ),
}

/// The caller has made sure that entries are finite. Fortran order is borrowed, anything else copied once.
fn dense(x: ArrayView2<'_, f64>) -> Result<DenseDesign<'_>> {
    let n_rows = x.nrows();
    if let Some(columns) = x.reversed_axes().to_slice() {
        DenseDesign::from_finite_columns(n_rows, columns)
    } else if let Some(rows) = x.as_slice() {
        DenseDesign::from_rows(n_rows, rows)
    } else {
        DenseDesign::from_finite_columns(n_rows, x.t().iter().copied().collect::<Vec<_>>())
    }
}

fn indices(values: &PyReadonlyArray1<'_, i64>) -> Result<Vec<usize>> {
    let to_index =
        |&i| usize::try_from(i).map_err(|_| Error::InvalidData("X holds a negative index".into()));
    values.as_array().iter().map(to_index).collect()
}

impl Matrix<'_> {
    pub fn design(&self) -> Result<Box<dyn ClassDesign + '_>> {
        Ok(match self {
            Matrix::Dense(x) => Box::new(dense(x.as_array())?),
            Matrix::Sparse(n_rows, starts, rows, values) => Box::new(CscDesign::new(
                *n_rows,
                indices(starts)?,
                indices(rows)?,
                values.as_array().to_vec(),
            )?),
        })
    }
}

/// What the Python estimators read: coefficients, intercept, objective, duality gap, passes, whether it
/// converged, the dual point.
type Fitted<'py> = (
    Bound<'py, PyArray1<f64>>,
    f64,
    f64,
    f64,
    usize,
    bool,
    Bound<'py, PyArray1<f64>>,
);

/// Coefficients, intercept and, where one is known, the dual point.
type Given<'py> = (
    PyReadonlyArray1<'py, f64>,
    f64,
    Option<PyReadonlyArray1<'py, f64>>,
);

/// What a fit and a path have in common; a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Request<'py> {
    x: Matrix<'py>,
    y: PyReadonlyArray1<'py, f64>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    loss: (String, Vec<f64>),
    /// "classification", "regression" or "counts".
    task: String,
    /// None is the l1 norm.
    norm: Option<CoreNorm>,
    solver: String,
    ridge: f64,
    fit_intercept: bool,
    tol: f64,
    /// None is what suits the method.
    max_iter: Option<usize>,
    progress: Option<Py<PyAny>>,
}

/// What a request asks to solve, apart from the strength of the norm.
struct Task<'t> {
    problem: Problem<'t, dyn Design + 't>,
    regulariser: Regulariser<'t>,
    method: Method,
    stopping: Stopping,
}

impl Request<'_> {
    /// The loss, where it fits the kind of targets.
    fn loss(&self) -> Result<Catalogued> {
        let loss = loss::by_name(&self.loss.0, &self.loss.1)?;
        let problem = match (loss.task(), self.task.as_str()) {
            (loss::Task::Classification, "regression") => "is for two classes, not for regression",
            (loss::Task::Counts, _) => "is for counts: use SparsePoissonRegressor",
            _ => return Ok(loss),
        };
        Err(Error::invalid(
            "loss",
            format!("{:?} {problem}", loss.name()),
        ))
    }

    /// Runs `solve` without the interpreter; Ctrl-C and lines of progress are looked after from time to time.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        solve: impl FnOnce(&Task<'_>, &mut Progress<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let method = match self.solver.as_str() {
            "coordinate-descent" => Method::CoordinateDescent,
            "proximal-gradient" => Method::ProximalGradient,
            "dual-frank-wolfe" => Method::DualFrankWolfe,
            _ => Method::Auto,
        };
        let design = self.x.design()?;
        let y = self.y.as_array().to_vec();
        let weights = self.sample_weight.as_ref().map(|w| w.as_array().to_vec());
        let (loss, y) = match self.task.as_str() {
            "counts" => {
                let (loss, y) = poisson(&y, weights.as_deref(), self.fit_intercept)?;
                (loss.into(), y)
            }
            _ => (self.loss()?, y),
        };
        let (tol, max_iter) = (self.tol, self.max_iter);
        let (ridge, fit_intercept) = (self.ridge, self.fit_intercept);
        let norm = self.norm.as_ref().map(CoreNorm::builder);
        let progress = self.progress.as_ref();

        let solved = threads::watched(py, |watch| {
            let norm = norm.map(|build| build()).transpose()?;
            let (loss, weights) = (&*loss, weights.as_deref());
            let design: &dyn Design = design.as_ref();
            let regulariser = norm
                .as_ref()
                .map_or(Regulariser::L1, |norm| Regulariser::Norm(norm.as_ref()));
            let max_iter = max_iter.unwrap_or_else(|| method.default_max_iter(regulariser));
            let task = Task {
                problem: Problem::new(design, &y, weights, loss, ridge, fit_intercept)?,
                regulariser,
                method,
                stopping: Stopping { tol, max_iter },
            };
            let mut report = |step: usize, gap: f64| watch.look(false, progress, (step, gap));
            solve(&task, &mut report)
        })?;
        Ok(solved?)
    }
}

/// The penalised form, or that with a ball.
pub(super) fn form_of(alpha: Option<f64>, radius: Option<f64>) -> Result<Form> {
    match (alpha, radius) {
        (Some(alpha), None) => Ok(Form::Penalty(alpha)),
        (None, Some(radius)) => Ok(Form::Ball(radius)),
        _ => Err(Error::invalid("alpha", "or radius must be given, not both")),
    }
}

fn fitted(py: Python<'_>, solution: Solution) -> Fitted<'_> {
    (
        solution.coefficients.into_pyarray(py),
        solution.intercept,
        solution.objective,
        solution.duality_gap,
        solution.n_iter,
        solution.converged,
        solution.dual.into_pyarray(py),
    )
}

/// Fits a linear model exactly; `_core.pyi` describes the arguments.
#[pyfunction]
#[pyo3(signature = (request, *, alpha, radius, start))]
fn fit_exact<'py>(
    py: Python<'py>,
    request: Request<'py>,
    alpha: Option<f64>,
    radius: Option<f64>,
    start: Option<Given<'py>>,
) -> PyResult<Fitted<'py>> {
    let form = form_of(alpha, radius)?;
    let owned = |array: PyReadonlyArray1<'py, f64>| array.as_array().to_vec();
    let start = start.map(|(theta, b, dual)| (owned(theta), b, dual.map(owned)));
    let solution = request.run(py, |task, report| {
        let start = start.as_ref().map(|(coefficients, intercept, dual)| Start {
            coefficients,
            intercept: *intercept,
            dual: dual.as_deref(),
        });
        let Task {
            problem,
            regulariser,
            method,
            stopping,
        } = task;
        minimise(
            problem,
            *regulariser,
            form,
            *method,
            *stopping,
            start,
            report,
        )
    })?;
    Ok(fitted(py, solution))
}

/// Fits a sequence of penalties, each from the last; without `alphas` there are `n_alphas`, from the least that makes
/// theta 0 down to `ratio` times it. Returns the alphas and one fit each.
#[pyfunction]
#[pyo3(signature = (request, *, alphas, n_alphas, ratio))]
fn path_exact<'py>(
    py: Python<'py>,
    request: Request<'py>,
    alphas: Option<Vec<f64>>,
    n_alphas: usize,
    ratio: f64,
) -> PyResult<(Vec<f64>, Vec<Fitted<'py>>)> {
    let (alphas, solutions) = request.run(py, |task, report| {
        let alphas = match alphas {
            Some(alphas) => alphas,
            None => {
                let largest = alpha_max(&task.problem, task.regulariser)?;
                falling(largest, n_alphas, ratio)
            }
        };
        let Task {
            problem,
            regulariser,
            method,
            stopping,
        } = task;
        let solutions = path(problem, *regulariser, &alphas, *method, *stopping, report)?;
        Ok((alphas, solutions))
    })?;
    let fits = solutions.into_iter().map(|solution| fitted(py, solution));
    Ok((alphas, fits.collect()))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(fit_exact, module)?)?;
    module.add_function(wrap_pyfunction!(path_exact, module)?)
}

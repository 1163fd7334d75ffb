use crate::error::{Error, Result};
use crate::loss::{self, Task};
use crate::solver::{
    CscDesign, DenseDesign, Design, Form, Method, Problem, Regulariser, Solution, Stopping,
    minimise,
};
use numpy::ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::threads::Watch;

/// X as Python hands it over.
#[derive(FromPyObject)]
enum Matrix<'py> {
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
    if let Some(columns) = x.t().to_slice() {
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
    fn design(&self) -> Result<Box<dyn Design + '_>> {
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
/// converged.
type Fitted<'py> = (Bound<'py, PyArray1<f64>>, f64, f64, f64, usize, bool);

/// Fits a linear model exactly; `_core.pyi` describes the arguments.
#[pyfunction]
#[pyo3(signature = (x, y, sample_weight, *, loss, classification, alpha, radius, ridge, fit_intercept, tol, max_iter, start, progress))]
#[allow(clippy::too_many_arguments)]
fn fit_exact<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    y: PyReadonlyArray1<'py, f64>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    loss: (String, Option<f64>),
    classification: bool,
    alpha: Option<f64>,
    radius: Option<f64>,
    ridge: f64,
    fit_intercept: bool,
    tol: f64,
    max_iter: usize,
    start: Option<(PyReadonlyArray1<'py, f64>, f64)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Fitted<'py>> {
    let form = match (alpha, radius) {
        (Some(alpha), None) => Form::Penalty(alpha),
        (None, Some(radius)) => Form::Ball(radius),
        _ => return Err(Error::invalid("alpha", "or radius must be given, not both").into()),
    };
    let loss = loss::by_name(&loss.0, loss.1)?;
    if loss.task() == Task::Classification && !classification {
        let problem = format!("{:?} is for two classes, not for regression", loss.name());
        return Err(Error::invalid("loss", problem).into());
    }
    let design = x.design()?;
    let y = y.as_array().to_vec();
    let weights = sample_weight.map(|w| w.as_array().to_vec());
    let start = start.map(|(theta, intercept)| (theta.as_array().to_vec(), intercept));
    let stopping = Stopping { tol, max_iter };

    let mut watch = Watch::new();
    let mut report =
        |iteration: usize, gap: f64| watch.look(false, progress.as_ref(), (iteration, gap));
    let solved: Result<Solution> = py.detach(|| {
        let problem = Problem::new(
            design.as_ref(),
            &y,
            weights.as_deref(),
            loss.as_ref(),
            ridge,
            fit_intercept,
        )?;
        let start = start.as_ref().map(|(theta, b)| (theta.as_slice(), *b));
        minimise(
            &problem,
            Regulariser::L1,
            form,
            Method::Auto,
            stopping,
            start,
            &mut report,
        )
    });
    let solution = watch.finish(solved)??;
    Ok((
        solution.coefficients.into_pyarray(py),
        solution.intercept,
        solution.objective,
        solution.duality_gap,
        solution.n_iter,
        solution.converged,
    ))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(fit_exact, module)?)
}

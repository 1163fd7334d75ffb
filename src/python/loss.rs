//! The catalogue of losses, for names and for checks.

use crate::error::{Error, Result};
use crate::loss;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

/// Names of the catalogued losses.
#[pyfunction]
fn loss_names() -> Vec<&'static str> {
    loss::CATALOGUE.iter().map(|entry| entry.name).collect()
}

type Column<'py> = Bound<'py, PyArray1<f64>>;

/// Value, derivative, conjugate at the derivative (one per pair), Lipschitz constant, smoothness.
#[pyfunction]
fn evaluate_loss<'py>(
    py: Python<'py>,
    loss: (String, Vec<f64>),
    z: PyReadonlyArray1<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
) -> Result<(Column<'py>, Column<'py>, Column<'py>, Option<f64>, f64)> {
    let loss = loss::by_name(&loss.0, &loss.1)?;
    let (z, y) = (z.as_array(), y.as_array());
    if z.len() != y.len() {
        return Err(Error::invalid("y", "must be as long as z"));
    }
    let over = |f: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
        z.iter().zip(&y).map(|(&z, &y)| f(z, y)).collect()
    };
    let conjugate = over(&|z, y| loss.conjugate(loss.derivative(z, y), y));
    Ok((
        over(&|z, y| loss.value(z, y)).into_pyarray(py),
        over(&|z, y| loss.derivative(z, y)).into_pyarray(py),
        conjugate.into_pyarray(py),
        match loss.growth() {
            loss::Growth::Bounded { linf, .. } => Some(linf),
            loss::Growth::SquaredResidual => None,
        },
        loss.smoothness(),
    ))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(loss_names, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate_loss, module)?)
}

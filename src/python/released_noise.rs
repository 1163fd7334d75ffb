//! What turns the noise of a release into that of its coefficients, for Python.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use super::private::PyPlan;
use crate::privacy::Geometry;

/// Factors from scaled units to the user's, one per coefficient and one for the intercept; None where the map moves
/// features too, so that an intercept mixes the noise of all coefficients.
#[pyfunction]
fn unit_factors<'py>(
    py: Python<'py>,
    plan: PyRef<'py, PyPlan>,
) -> Option<(Bound<'py, PyArray1<f64>>, f64)> {
    let schema = plan.plan.problem.schema();
    if schema.geometry() != Geometry::Uncentred {
        return None;
    }
    let (ones, upper) = schema.to_user_units(&vec![1.0; schema.n_columns()]);
    let (_, lower) = schema.to_user_units(&vec![0.0; schema.n_columns()]);
    Some((ones.into_pyarray(py), upper - lower))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(unit_factors, module)?)
}

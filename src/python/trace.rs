//! What noisy Newton steps released on their way, for Python.

use ndarray::Array2;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::plan::Trace;

/// Arrays and numbers by name; None: the mechanism takes other steps.
pub(super) type PyTrace<'py> = Option<Bound<'py, PyDict>>;

pub(super) fn trace_to_python<'py>(py: Python<'py>, trace: &Trace) -> PyResult<Bound<'py, PyDict>> {
    let d = trace.theta.len();
    let table = |values: &[f64], columns: usize| {
        let rows = values.len() / columns;
        Array2::from_shape_fn((rows, columns), |(i, j)| values[i * columns + j]).into_pyarray(py)
    };
    let released = PyDict::new(py);
    released.set_item("moments", table(&trace.moments, d))?;
    released.set_item("moment_noise", trace.moment_noise)?;
    released.set_item("least_eigenvalue", trace.least_eigenvalue)?;
    released.set_item("points", table(&trace.points, d))?;
    released.set_item("gradients", table(&trace.gradients, d))?;
    released.set_item("gradient_noise", trace.gradient_noise)?;
    released.set_item("n_samples", trace.n_samples)?;
    released.set_item("clamp", trace.clamp)?;
    released.set_item("weighs", trace.weighs)?;
    released.set_item("intercept", trace.intercept)?;
    released.set_item("clipped_at", trace.clipped_at)?;
    released.set_item("bends", trace.bends)?;
    released.set_item("theta", trace.theta.clone().into_pyarray(py))?;
    let images: Vec<f64> = trace.images.iter().flatten().copied().collect();
    released.set_item("images", table(&images, trace.images[0].len()))?;
    if let Some(line) = &trace.line {
        released.set_item("line_reach", line.reach)?;
        released.set_item("line_points", table(&line.points, 2))?;
        released.set_item("line_gradients", table(&line.gradients, 2))?;
        released.set_item("line_noise", line.constant_noise)?;
        released.set_item("line_clamp", line.clamp)?;
        released.set_item("line_probes", line.probes)?;
    }
    Ok(released)
}

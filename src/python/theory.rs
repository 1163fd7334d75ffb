//! The formulas of [`crate::theory`] for Python.

use pyo3::prelude::*;

use crate::error::{self, Result};
use crate::theory::{self, Landscape};

fn positive<const N: usize>(arguments: [(&str, f64); N]) -> Result<()> {
    (arguments.into_iter()).try_for_each(|(name, value)| error::positive(name, value).map(drop))
}

fn non_negative<const N: usize>(arguments: [(&str, f64); N]) -> Result<()> {
    (arguments.into_iter()).try_for_each(|(name, value)| error::non_negative(name, value).map(drop))
}

#[pyfunction]
fn theory_suggested_alpha(
    lipschitz: f64,
    row_norm: f64,
    n_samples: f64,
    width: f64,
) -> PyResult<f64> {
    positive([
        ("lipschitz", lipschitz),
        ("row_norm", row_norm),
        ("n_samples", n_samples),
        ("width", width),
    ])?;
    Ok(theory::suggested_alpha(
        lipschitz, row_norm, n_samples, width,
    ))
}

#[pyfunction]
fn theory_iterations(curvature: f64, n_samples: f64, epsilon: f64, scale: f64) -> PyResult<f64> {
    positive([
        ("curvature", curvature),
        ("n_samples", n_samples),
        ("epsilon", epsilon),
        ("scale", scale),
    ])?;
    Ok(theory::printed_iterations(
        curvature, n_samples, epsilon, scale,
    ))
}

#[pyfunction]
fn theory_selection_excess(
    curvature: f64,
    n_iter: f64,
    log_candidates: f64,
    sensitivity: f64,
    rho: f64,
) -> PyResult<f64> {
    positive([
        ("curvature", curvature),
        ("n_iter", n_iter),
        ("sensitivity", sensitivity),
        ("rho", rho),
    ])?;
    non_negative([("log_candidates", log_candidates)])?;
    let error = theory::selection_error(log_candidates, sensitivity, n_iter, rho);
    Ok(theory::frank_wolfe_excess(curvature, n_iter, error))
}

#[pyfunction]
fn theory_gradient_excess(curvature: f64, n_iter: f64, width: f64, noise: f64) -> PyResult<f64> {
    positive([("curvature", curvature), ("n_iter", n_iter)])?;
    non_negative([("width", width), ("noise", noise)])?;
    let error = theory::noisy_vertex_error(width, noise);
    Ok(theory::frank_wolfe_excess(curvature, n_iter, error))
}

#[pyfunction]
fn theory_ridge_excess(
    n_columns: f64,
    trace: f64,
    floor: f64,
    distance: f64,
    ridge: f64,
    tilt: f64,
    output: f64,
) -> PyResult<f64> {
    positive([("n_columns", n_columns), ("ridge", ridge)])?;
    non_negative([
        ("trace", trace),
        ("floor", floor),
        ("distance", distance),
        ("tilt", tilt),
        ("output", output),
    ])?;
    let landscape = Landscape {
        columns: n_columns,
        trace,
        floor,
        distance,
    };
    Ok(landscape.ridge_excess(ridge, tilt, output))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(theory_suggested_alpha, module)?)?;
    module.add_function(wrap_pyfunction!(theory_iterations, module)?)?;
    module.add_function(wrap_pyfunction!(theory_selection_excess, module)?)?;
    module.add_function(wrap_pyfunction!(theory_gradient_excess, module)?)?;
    module.add_function(wrap_pyfunction!(theory_ridge_excess, module)?)
}

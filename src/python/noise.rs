//! Exact integer noise for Python.

use pyo3::prelude::*;

use numpy::{IntoPyArray, PyArray1};

use super::selection::source;
use super::threads;
use crate::error::{Error, Result};
use crate::exact::noise::bernoulli_exp::BernoulliExp;
use crate::exact::noise::discrete_gaussian::DiscreteGaussian;
use crate::exact::noise::discrete_laplace::DiscreteLaplace;
use crate::exact::noise::integer_law::{IntegerLaw, fill_watched};
use crate::exact::noise::rounded_gaussian::RoundedGaussian;

/// Entries that share a family of streams: a fixed number, which the values of a seed depend on.
const BATCH: usize = 1 << 22;

fn draws<'py>(
    py: Python<'py>,
    law: Result<impl IntegerLaw + Send>,
    size: usize,
    seed: Option<u64>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (law, mut source) = (law?, source(seed)?);
    let out = threads::run(py, None, |report| -> Result<Vec<i64>> {
        let mut out = Vec::new();
        out.try_reserve_exact(size)
            .map_err(|_| Error::invalid("size", "is more than memory holds"))?;
        while out.len() < size {
            // Memory is touched batch by batch: the first touch of all of it may take seconds, which hear no Ctrl-C.
            let before = out.len();
            out.resize(size.min(before + BATCH), 0);
            fill_watched(&law, &mut source, &mut out[before..], &mut |done| {
                report(before + done, size)
            })?;
        }
        Ok(out)
    })??;
    Ok(out.into_pyarray(py))
}

#[pyfunction]
#[pyo3(signature = (gamma, size, seed = None))]
fn bernoulli_exp(
    py: Python<'_>,
    gamma: f64,
    size: usize,
    seed: Option<u64>,
) -> PyResult<Bound<'_, PyArray1<i64>>> {
    draws(py, BernoulliExp::new(gamma), size, seed)
}

#[pyfunction]
#[pyo3(signature = (scale, size, seed = None))]
fn discrete_laplace(
    py: Python<'_>,
    scale: f64,
    size: usize,
    seed: Option<u64>,
) -> PyResult<Bound<'_, PyArray1<i64>>> {
    draws(py, DiscreteLaplace::new(scale), size, seed)
}

#[pyfunction]
#[pyo3(signature = (sigma, size, seed = None))]
fn discrete_gaussian(
    py: Python<'_>,
    sigma: f64,
    size: usize,
    seed: Option<u64>,
) -> PyResult<Bound<'_, PyArray1<i64>>> {
    draws(py, DiscreteGaussian::new(sigma), size, seed)
}

#[pyfunction]
#[pyo3(signature = (sigma, size, seed = None))]
fn rounded_gaussian(
    py: Python<'_>,
    sigma: f64,
    size: usize,
    seed: Option<u64>,
) -> PyResult<Bound<'_, PyArray1<i64>>> {
    draws(py, RoundedGaussian::new(sigma), size, seed)
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(bernoulli_exp, module)?)?;
    module.add_function(wrap_pyfunction!(discrete_laplace, module)?)?;
    module.add_function(wrap_pyfunction!(discrete_gaussian, module)?)?;
    module.add_function(wrap_pyfunction!(rounded_gaussian, module)?)
}

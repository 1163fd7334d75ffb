//! `exponential_mechanism` for Python.

use pyo3::prelude::*;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};

use super::records::plain;
use super::threads;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::exact::selection::{ExponentialMechanism, InverseTemperature, draw_in_constant_time};

/// Draws between two looks for Ctrl-C.
const BATCH: usize = 1 << 12;

pub(super) fn source(seed: Option<u64>) -> Result<Source> {
    seed.map_or_else(Source::secure, |seed| Ok(Source::seeded(seed)))
}

#[pyfunction]
#[pyo3(signature = (scores, sensitivity, epsilon, size = 1, seed = None, constant_time = false))]
fn exponential_mechanism<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray1<'py, i64>,
    sensitivity: u64,
    epsilon: f64,
    size: usize,
    seed: Option<u64>,
    constant_time: bool,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let scores = plain(&scores)?;
    let scores = scores
        .as_slice()
        .map_err(|_| Error::invalid("scores", "must be a contiguous int64 array"))?;
    let draws = threads::run(py, None, |report| -> Result<Vec<i64>> {
        let temperature = InverseTemperature::new(epsilon, sensitivity)?;
        let mut source = source(seed)?;
        let mut draws = Vec::new();
        draws
            .try_reserve_exact(size)
            .map_err(|_| Error::invalid("size", "is more than memory holds"))?;
        if constant_time {
            for drawn in 0..size {
                draws.push(draw_in_constant_time(scores, &temperature, &mut source)? as i64);
                report(drawn + 1, size)?;
            }
            return Ok(draws);
        }
        let mut mechanism = ExponentialMechanism::new(scores, &temperature, Vec::new())?;
        if size > 1 {
            mechanism = mechanism.for_many_draws();
        }
        while draws.len() < size {
            let batch = BATCH.min(size - draws.len());
            draws.extend((0..batch).map(|_| mechanism.draw(&mut source) as i64));
            report(draws.len(), size)?;
        }
        Ok(draws)
    })??;
    Ok(draws.into_pyarray(py))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(exponential_mechanism, module)?)
}

//! The Python module `dpsparse._core`: the only files of the crate that name pyo3.

mod error;
mod exact;

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::register(module)?;
    exact::register(module)
}

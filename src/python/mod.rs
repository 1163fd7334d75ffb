//! The Python module `dpsparse._core`: the only files that name pyo3.

pub(crate) mod accounting;
mod certificate;
pub(crate) mod error;
mod exact;
mod exact_classes;
mod greedy;
mod ledger;
mod loss;
mod noise;
mod norm;
mod online;
mod private;
mod records;
mod released_noise;
mod scaler;
mod search;
mod selection;
mod set_function;
mod shards;
mod statement;
mod stopped;
mod submodular;
mod theory;
mod threads;
mod trace;

use pyo3::prelude::*;

/// Compiled part of dpsparse; import it through the package.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    threads::register();
    error::register(module)?;
    accounting::register(module)?;
    greedy::register(module)?;
    submodular::register(module)?;
    ledger::register(module)?;
    loss::register(module)?;
    exact::register(module)?;
    exact_classes::register(module)?;
    selection::register(module)?;
    set_function::register(module)?;
    norm::register(module)?;
    noise::register(module)?;
    theory::register(module)?;
    private::register(module)?;
    released_noise::register(module)?;
    scaler::register(module)?;
    search::register(module)?;
    shards::register(module)?;
    online::register(module)
}

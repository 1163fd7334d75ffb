//! What an error says of the budget, where a fit had begun to spend.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use super::ledger::OfRelease;
use crate::error::Result;

/// Notes behind errors that end a fit, Ctrl-C included, once its events are committed.
const SPENT: &str = "dpsparse: the fit was stopped after its budget was committed: what its plan costs counts as spent";
const WRITTEN: &str = "dpsparse: the fit was stopped as its entry in the ledger was written, which may stand: if it does, what its plan costs is spent";
const KEPT: &str = "dpsparse: the answers so far are in the checkpoint: the same fit with it goes on and costs nothing more";

/// The result of a release, its error with a note of what was spent.
///
/// # Errors
/// That of the release, or what stopped it.
pub(super) fn told<R>(
    py: Python<'_>,
    result: PyResult<Result<R>>,
    ledger: &OfRelease,
    kept: bool,
) -> PyResult<R> {
    let committed = ledger.committed;
    // What stops a release from outside does so at a question or later.
    let (error, began): (PyErr, bool) = match result {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => (error.into(), committed),
        Err(error) => (error, committed || kept),
    };
    let stopped = !error.is_instance_of::<PyException>(py);
    let note = match began {
        true if kept => Some(KEPT),
        true => Some(SPENT),
        // Ctrl-C, not the ledger's own word.
        false => (ledger.committing && stopped).then_some(WRITTEN),
    };
    if let Some(note) = note {
        // An exception of the user's own may take none.
        let _ = error.value(py).call_method1("add_note", (note,));
    }
    Err(error)
}

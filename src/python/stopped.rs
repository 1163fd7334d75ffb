//! What an error says of the budget, where a fit had begun to spend.

use pyo3::prelude::*;

use crate::error::Result;

/// Notes behind errors that end a fit, Ctrl-C included, once its events are committed.
const SPENT: &str = "dpsparse: the fit was stopped after its budget was committed: what its plan costs counts as spent";
const KEPT: &str = "dpsparse: the answers so far are in the checkpoint: the same fit with it goes on and costs nothing more";

/// The result of a release, its error with a note of what was spent.
///
/// # Errors
/// That of the release, or what stopped it.
pub(super) fn told<R>(
    py: Python<'_>,
    result: PyResult<Result<R>>,
    committed: bool,
    kept: bool,
) -> PyResult<R> {
    // What stops a release from outside does so at a question or later.
    let (error, began) = match result {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => (error.into(), committed),
        Err(error) => (error, committed || kept),
    };
    let note = began.then_some(if kept { KEPT } else { SPENT });
    if let Some(note) = note {
        // An exception of the user's own may take none.
        let _ = error.value(py).call_method1("add_note", (note,));
    }
    Err(error)
}

//! Parallel work after a fork: the threads of rayon's global pool do not survive it.

use std::process::id;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The process that loaded the module: the global pool belongs to it.
static HOME: OnceLock<u32> = OnceLock::new();

/// The pool of a forked process, with its process number.
static FORKED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

fn forked_pool() -> PyResult<Arc<ThreadPool>> {
    let mut kept = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((process, pool)) = kept.as_ref()
        && *process == id()
    {
        return Ok(Arc::clone(pool));
    }
    let pool = ThreadPoolBuilder::new()
        .build()
        .map_err(|error| PyOSError::new_err(format!("no threads after a fork: {error}")))?;
    let pool = Arc::new(pool);
    // The pool of a process further up has no threads here: it is left alone, not shut down.
    std::mem::forget(kept.replace((id(), Arc::clone(&pool))));
    Ok(pool)
}

/// Runs parallel `work` with the interpreter free for others, on threads that exist in this process. In a forked child,
/// work that waits for the lost threads of its parent would hang for ever.
pub(super) fn detached<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    if HOME.get() == Some(&id()) {
        return Ok(py.detach(work));
    }
    let pool = forked_pool()?;
    Ok(py.detach(|| pool.install(work)))
}

pub(super) fn register() {
    HOME.get_or_init(id);
}

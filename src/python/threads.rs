//! Long work beside a live interpreter: threads that exist after a fork, progress, and Ctrl-C.

use std::process::id;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

/// How often work looks for Ctrl-C and reports progress.
const INTERVAL: Duration = Duration::from_millis(50);

/// The process that loaded the module: rayon's global pool belongs to it. Its threads follow
/// RAYON_NUM_THREADS.
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

/// The interpreter's side of long work: every 50 ms it hears of Ctrl-C and of progress.
pub(super) struct Watch {
    last: Instant,
    raised: Option<PyErr>,
}

impl Watch {
    pub(super) fn new() -> Self {
        Self {
            last: Instant::now(),
            raised: None,
        }
    }

    /// When 50 ms have passed since the last look, or `at_once`: honours Ctrl-C, then calls `callback`.
    /// Whatever that raises is kept, and the error returned here stops the work.
    pub(super) fn look(
        &mut self,
        at_once: bool,
        callback: Option<&Py<PyAny>>,
        arguments: impl for<'py> PyCallArgs<'py>,
    ) -> Result<()> {
        if self.last.elapsed() < INTERVAL && !at_once {
            return Ok(());
        }
        self.last = Instant::now();
        let called = Python::attach(|py| {
            py.check_signals()?;
            callback.map_or(Ok(()), |callback| callback.call1(py, arguments).map(drop))
        });
        called.map_err(|error| {
            self.raised = Some(error);
            Error::Interrupted
        })
    }

    /// The result of the work, or what was raised during it.
    pub(super) fn finish<R>(self, result: R) -> PyResult<R> {
        self.raised.map_or(Ok(result), Err)
    }
}

/// Notes `done` of `total` steps (public numbers); an error stops the work.
pub(super) type Report<'r> = dyn FnMut(usize, usize) -> Result<()> + 'r;

/// Runs parallel `work` with the interpreter free for others, on threads that exist in this process: in a
/// forked child, work that waited for the lost threads of its parent would hang for ever.
///
/// Whenever the work reports, and 50 ms have passed or it is done, Ctrl-C is honoured and
/// `callback(done, total)` is called; whatever that raises stops the work. In a forked child the work runs on
/// the pool's own thread, which sees no signals: there Ctrl-C takes effect when the work is done.
pub(super) fn run<R: Send>(
    py: Python<'_>,
    callback: Option<&Py<PyAny>>,
    work: impl FnOnce(&mut Report<'_>) -> R + Send,
) -> PyResult<R> {
    let mut watch = Watch::new();
    let mut report = |done: usize, total: usize| watch.look(done == total, callback, (done, total));
    let result = if HOME.get() == Some(&id()) {
        py.detach(|| work(&mut report))
    } else {
        let pool = forked_pool()?;
        py.detach(|| pool.install(|| work(&mut report)))
    };
    watch.finish(result)
}

/// Remembers the process that loaded the module.
pub(super) fn register() {
    HOME.get_or_init(id);
}

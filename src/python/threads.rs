//! Long work beside a live interpreter: our own pool of threads, progress, Ctrl-C, and safety after fork.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::error::DpsparseError;
use crate::error::{Error, Result};

/// How often the calling thread looks for Ctrl-C and reports progress.
const INTERVAL: Duration = Duration::from_millis(50);

/// The pool, and the process that started it: threads do not survive a fork, and waiting for them would hang.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

fn pool() -> PyResult<Arc<ThreadPool>> {
    let mut slot = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    match slot.as_ref() {
        Some((owner, pool)) if *owner == process => Ok(Arc::clone(pool)),
        _ => {
            // The number of threads follows RAYON_NUM_THREADS.
            let pool = ThreadPoolBuilder::new().build().map_err(|error| {
                DpsparseError::new_err(format!("threads could not be started: {error}"))
            })?;
            let pool = Arc::new(pool);
            // A pool from before a fork is forgotten, not dropped: its threads are gone.
            std::mem::forget(slot.replace((process, Arc::clone(&pool))));
            Ok(pool)
        }
    }
}

/// What the work tells the calling thread, and the wish to stop that comes back.
#[derive(Default)]
pub(super) struct Progress {
    done: AtomicUsize,
    total: AtomicUsize,
    cancelled: AtomicBool,
}

impl Progress {
    /// Notes `done` of `total` steps (public numbers).
    ///
    /// # Errors
    /// [`Error::Interrupted`] once the calling thread has asked to stop.
    pub(super) fn report(&self, done: usize, total: usize) -> Result<()> {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
        if self.cancelled.load(Ordering::Relaxed) {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    }
}

/// Runs `work` on the pool with the interpreter free, while the calling thread (the only one that may see signals) looks for
/// Ctrl-C and calls `callback(done, total)`. Whatever that raises stops the work.
pub(super) fn run<R: Send>(
    py: Python<'_>,
    callback: Option<&Py<PyAny>>,
    work: impl FnOnce(&Progress) -> R + Send,
) -> PyResult<R> {
    let pool = pool()?;
    let process = std::process::id();
    let progress = Progress::default();
    let mut raised = None;
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel(1);
            let progress = &progress;
            scope.spawn(move || {
                // The receiver outlives this thread: a failed send cannot happen.
                let _ = sender.send(pool.install(|| work(progress)));
            });
            let mut seen = 0;
            loop {
                let outcome = receiver.recv_timeout(INTERVAL);
                let (done, total) = (
                    progress.done.load(Ordering::Relaxed),
                    progress.total.load(Ordering::Relaxed),
                );
                let news = done != seen;
                seen = done;
                if raised.is_none() {
                    raised = Python::attach(|py| {
                        py.check_signals()?;
                        match callback {
                            Some(callback) if news => callback.call1(py, (done, total)).map(drop),
                            _ => Ok(()),
                        }
                    })
                    .err();
                    progress
                        .cancelled
                        .store(raised.is_some(), Ordering::Relaxed);
                }
                match outcome {
                    Ok(result) => return Some(result),
                    // The work panicked: leaving the scope carries the panic on.
                    Err(RecvTimeoutError::Disconnected) => return None,
                    // A callback forked: the working thread stayed in the parent.
                    Err(RecvTimeoutError::Timeout) if std::process::id() != process => {
                        std::process::abort()
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })
    });
    match (raised, result) {
        (Some(error), _) => Err(error),
        (None, Some(result)) => Ok(result),
        (None, None) => Err(DpsparseError::new_err("the work ended without a result")),
    }
}

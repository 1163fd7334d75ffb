//! The one door to long or parallel work: threads that exist after a fork, progress, and Ctrl-C.
//!
//! Every entry from Python leaves the interpreter through [`watched`], [`run`] or [`free`]: no other file calls
//! `detach` or names rayon, and `tests/test_fork.py` reads the files for it. Behind the door parallel code always finds
//! threads of its own process:
//!
//! - In the process that loaded the module they are rayon's global pool.
//! - In a forked child that pool has lost its threads, and work that waited for them would hang for ever. There the
//!   calling thread works alone, as a pool of one. No result depends on the number of threads.
//!
//! Work always stays on the calling thread, which in a script is the one that hears Ctrl-C. A child that is forked from
//! inside the work, by a progress callback or a set function in Python, cannot go on with it: there it ends with an
//! error.

use std::cell::Cell;
use std::process::id;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use super::error::DpsparseError;
use crate::error::{Error, Result, UserError};
use crate::exact::noise;

/// How often work looks for Ctrl-C and reports progress.
const INTERVAL: Duration = Duration::from_millis(50);

/// The process that loaded the module: rayon's global pool belongs to it. Its threads follow
/// RAYON_NUM_THREADS.
static HOME: OnceLock<u32> = OnceLock::new();

thread_local! {
    /// Whether this thread is a pool of one.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Makes sure that parallel work on this thread finds threads of this process.
fn settle() -> PyResult<()> {
    if HOME.get() == Some(&id()) || ALONE.get() {
        return Ok(());
    }
    let builder = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    // Refused where the thread belongs to a pool already: to one that a fork has broken.
    let pool = builder.build().map_err(|_| forked())?;
    // The thread stays in its pool, which needs no handle.
    std::mem::forget(pool);
    ALONE.set(true);
    Ok(())
}

fn forked() -> PyErr {
    DpsparseError::new_err(
        "the process was forked from inside the work of dpsparse: the child cannot go on with it, as its threads \
         stayed in the parent; fork before the work, or leave the child by os._exit",
    )
}

/// Runs `call`, which may reach the user's own code, and fails in a process that was forked in it.
pub(super) fn unless_forked<R>(call: impl FnOnce() -> Result<R>) -> Result<R> {
    let process = id();
    let result = call();
    if id() == process {
        result
    } else {
        Err(Error::User(UserError::new(forked())))
    }
}

/// The interpreter's side of long work: every 50 ms it hears of Ctrl-C and of progress.
pub(super) struct Watch {
    last: Instant,
    raised: Option<PyErr>,
}

impl Watch {
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
        let process = id();
        let called = Python::attach(|py| {
            py.check_signals()?;
            callback.map_or(Ok(()), |callback| callback.call1(py, arguments).map(drop))
        });
        let called = called.and_then(|()| {
            if id() == process {
                Ok(())
            } else {
                Err(forked())
            }
        });
        called.map_err(|error| {
            self.raised = Some(error);
            Error::Interrupted
        })
    }
}

/// Runs `work` with the interpreter free for others, on threads that exist in this process. Whatever its looks at the
/// watch raise is raised here, in place of the result.
///
/// # Errors
/// What was raised, and [`DpsparseError`] on a thread of a pool that a fork has broken.
pub(super) fn watched<R: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut Watch) -> R + Send,
) -> PyResult<R> {
    settle()?;
    let mut watch = Watch {
        last: Instant::now(),
        raised: None,
    };
    let result = py.detach(|| work(&mut watch));
    watch.raised.map_or(Ok(result), Err)
}

/// Notes `done` of `total` steps (public numbers); an error stops the work.
pub(super) type Report<'r> = dyn FnMut(usize, usize) -> Result<()> + 'r;

/// [`watched`] work that reports steps: whenever it does, and 50 ms have passed or it is done since this report, Ctrl-C
/// is honoured and `callback(done, total)` is called; whatever that raises stops the work. Passes that follow the last
/// step report it again, as many times as records need: at once it is told of the first time alone.
///
/// # Errors
/// As [`watched`].
pub(super) fn run<R: Send>(
    py: Python<'_>,
    callback: Option<&Py<PyAny>>,
    work: impl FnOnce(&mut Report<'_>) -> R + Send,
) -> PyResult<R> {
    watched(py, |watch| {
        let mut ended = None;
        work(&mut |done, total| {
            let ends = (done == total).then_some(total);
            let at_once = ends.is_some() && ends != ended;
            ended = ends;
            watch.look(at_once, callback, (done, total))
        })
    })
}

/// [`watched`] work that is short enough to report nothing.
///
/// # Errors
/// As [`watched`].
pub(super) fn free<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    watched(py, |_| work())
}

/// Remembers the process that loaded the module, and makes the tables that processes share: a child forked while
/// another thread makes one would wait for it for ever.
pub(super) fn register() {
    HOME.get_or_init(id);
    noise::prepare();
}

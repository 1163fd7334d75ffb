//! Records on several machines, for Python: the curator's side asks a session of Python's, a worker's side answers
//! bytes with bytes.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::records::{Array, Records, to_vec, weights_of};
use super::threads;
use crate::error::{Error, Result, UserError};
use crate::privacy;
use crate::privacy::{Script, Shard, ShardSource, TakeRecords, Workers};

/// Workers that a session of Python's reaches.
pub(super) struct PyWorkers {
    n_shards: usize,
    session: Py<PyAny>,
}

fn user(error: PyErr) -> Error {
    Error::User(UserError::new(error))
}

impl PyWorkers {
    /// A session has a number `n_shards`, and methods `ask(script)`, which returns replies, and `close()`.
    pub(super) fn new(session: &Py<PyAny>) -> Result<Arc<Self>> {
        Python::attach(|py| {
            let n_shards = session.getattr(py, "n_shards").map_err(user)?;
            Ok(Arc::new(Self {
                n_shards: n_shards.extract(py).map_err(user)?,
                session: session.clone_ref(py),
            }))
        })
    }
}

impl Workers for PyWorkers {
    fn n_shards(&self) -> usize {
        self.n_shards
    }

    fn ask(&self, script: Script) -> Result<Vec<Vec<u8>>> {
        let ask = |py: Python<'_>| {
            let replies = (self.session).call_method1(py, "ask", (PyScript(script),))?;
            let replies: Vec<PyBackedBytes> = replies.extract(py)?;
            Ok(replies.iter().map(|reply| reply.to_vec()).collect())
        };
        Python::attach(ask).map_err(user)
    }
}

impl Drop for PyWorkers {
    fn drop(&mut self) {
        Python::attach(|py| {
            if let Err(error) = self.session.call_method0(py, "close") {
                error.write_unraisable(py, Some(self.session.bind(py)));
            }
        });
    }
}

/// What shards are asked next, and what a lost one goes through before.
#[pyclass(name = "Script", module = "dpsparse._core", frozen)]
struct PyScript(Script);

#[pymethods]
impl PyScript {
    /// Whether shards read their raw records for it, each by `whole`.
    #[getter]
    fn reads_records(&self) -> bool {
        self.0.reads_records()
    }

    /// The newest request, the same for every shard.
    fn newest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.newest()?))
    }

    /// Everything that one shard needs to answer, wherever it is.
    fn whole<'py>(&self, py: Python<'py>, shard: usize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.whole(shard)?))
    }
}

/// The clipped integer records of one shard, on the worker that holds it.
#[pyclass(name = "Shard", module = "dpsparse._core", frozen)]
struct PyShard(Mutex<Shard>);

/// A callable of Python's that returns features, targets and weights or None.
struct PySource(Py<PyAny>);

/// What it returns.
type Raw<'py> = (
    Records<'py>,
    PyReadonlyArray1<'py, f64>,
    Option<PyReadonlyArray1<'py, f64>>,
);

impl ShardSource for PySource {
    fn read(&self, take: TakeRecords<'_>) -> Result<()> {
        Python::attach(|py| {
            let raw = self.0.call0(py).map_err(user)?;
            let (x, y, weights): Raw<'_> = raw.extract(py).map_err(user)?;
            let (x, y) = (x.plain().map_err(user)?, to_vec(&y).map_err(user)?);
            let weights = weights_of(weights).map_err(user)?;
            let weights = weights.as_deref();
            match x {
                Records::Dense(Array::Double(x)) => take(x.as_array().into(), &y, weights),
                Records::Dense(Array::Single(x)) => take(x.as_array().into(), &y, weights),
                _ => Err(Error::InvalidData("blocks must be dense".into())),
            }
        })
    }
}

#[pymethods]
impl PyShard {
    #[new]
    fn new(number: u32) -> Self {
        Self(Mutex::new(Shard::new(number)))
    }

    /// The answer to a request, which the curator alone may see; None where the whole script is needed. `source`
    /// returns the raw features, targets and weights of the shard, for requests that read them.
    #[pyo3(signature = (request, source=None))]
    fn answer<'py>(
        &self,
        py: Python<'py>,
        request: PyBackedBytes,
        source: Option<Py<PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let source = source.map(PySource);
        let answer = threads::run(py, None, |_| {
            let mut shard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let source = source.as_ref().map(|source| source as &dyn ShardSource);
            shard.answer(&request, source)
        })??;
        Ok(answer.map(|answer| PyBytes::new(py, &answer)))
    }
}

fn plain(replies: &[PyBackedBytes]) -> Vec<Vec<u8>> {
    replies.iter().map(|reply| reply.to_vec()).collect()
}

/// One reply for those of several shards.
#[pyfunction]
fn merged_replies<'py>(
    py: Python<'py>,
    replies: Vec<PyBackedBytes>,
) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(
        py,
        &privacy::merged_replies(&plain(&replies))?,
    ))
}

/// A reply in two halves for two aggregators, each of them uniform alone, that add up to it.
#[pyfunction]
fn split_reply<'py>(
    py: Python<'py>,
    reply: PyBackedBytes,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let (one, other) = privacy::split_reply(&reply)?;
    Ok((PyBytes::new(py, &one), PyBytes::new(py, &other)))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyScript>()?;
    module.add_class::<PyShard>()?;
    module.add_function(wrap_pyfunction!(merged_replies, module)?)?;
    module.add_function(wrap_pyfunction!(split_reply, module)?)
}

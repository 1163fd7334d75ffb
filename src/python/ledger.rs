//! Ledgers for Python: what keeps a total, and the bridge to ledgers that are Python's objects.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::certificate::PyCertificate;
use crate::certificate::ledger::{Entry, Total};
use crate::error::{Error, Result, UserError};
use crate::privacy::{Ledger, MemoryLedger, Receipt};

/// A Python object with methods `admits(certificate, records_per_person)` and `commit(...)`, which returns a number,
/// and which is given the mark `release` of one that may go on after a stop.
struct Kept(Py<PyAny>);

impl Kept {
    fn call(&self, method: &str, entry: &Entry) -> Result<u64> {
        Python::attach(|py| {
            let certificate = PyCertificate(entry.certificate.clone());
            let arguments = (certificate, entry.records_per_person);
            let mark = PyDict::new(py);
            if let Some(release) = &entry.release {
                mark.set_item("release", release)?;
            }
            let answer = (self.0.bind(py)).call_method(method, arguments, Some(&mark))?;
            if answer.is_none() {
                return Ok(0);
            }
            answer.extract()
        })
        .map_err(|raised: PyErr| Error::User(UserError::new(raised)))
    }
}

impl Ledger for Kept {
    fn admits(&mut self, entry: &Entry) -> Result<()> {
        self.call("admits", entry).map(drop)
    }

    fn commit(&mut self, entry: &Entry) -> Result<Receipt> {
        let number = self.call("commit", entry)?;
        Ok(Receipt { number })
    }
}

/// The ledger of one release.
pub(super) struct OfRelease {
    ledger: Box<dyn Ledger + Send>,
    /// Whether it began to commit something.
    pub committing: bool,
    /// Whether something was committed.
    pub committed: bool,
}

/// The ledger that was handed over, or one that forgets.
pub(super) fn ledger_of(ledger: Option<Py<PyAny>>) -> OfRelease {
    OfRelease {
        ledger: match ledger {
            Some(ledger) => Box::new(Kept(ledger)),
            None => Box::new(MemoryLedger::default()),
        },
        committing: false,
        committed: false,
    }
}

impl Ledger for OfRelease {
    fn admits(&mut self, entry: &Entry) -> Result<()> {
        self.ledger.admits(entry)
    }

    fn commit(&mut self, entry: &Entry) -> Result<Receipt> {
        self.committing = true;
        let receipt = self.ledger.commit(entry)?;
        self.committed = true;
        Ok(receipt)
    }
}

/// A total guarantee for releases that are chosen one after the other, and what they have used of it.
#[pyclass(name = "Total", module = "dpsparse._core")]
#[derive(Clone)]
pub(super) struct PyTotal(Total);

#[pymethods]
impl PyTotal {
    #[new]
    #[pyo3(signature = (epsilon, delta, *, adjacency=None, records_per_person=1))]
    fn new(
        epsilon: f64,
        delta: f64,
        adjacency: Option<&str>,
        records_per_person: u64,
    ) -> PyResult<Self> {
        let adjacency = adjacency.map(str::parse).transpose()?;
        Ok(Self(Total::new(
            (epsilon, delta),
            adjacency,
            records_per_person,
        )?))
    }

    /// Count a release in, or raise and change nothing.
    fn add(&mut self, certificate: &PyCertificate, records_per_person: u64) -> PyResult<()> {
        Ok(self.0.add(&Entry {
            certificate: certificate.0.clone(),
            records_per_person,
            release: None,
        })?)
    }

    /// The largest epsilon for which a next release at `delta` would pass.
    fn remaining(&self, delta: f64) -> PyResult<f64> {
        Ok(self.0.filter().remaining(delta)?)
    }

    /// The neighbour relation, or None before the first release where none was named.
    #[getter]
    fn adjacency(&self) -> Option<&'static str> {
        self.0.adjacency().map(|adjacency| adjacency.name())
    }

    /// Another of the same contents.
    fn copy(&self) -> Self {
        self.clone()
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyTotal>()
}

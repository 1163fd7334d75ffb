//! Online learning over the simplex for Python.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::certificate::PyCertificate;
use super::ledger::ledger_of;
use super::records::to_vec;
use crate::mechanism::{OnlineFtrl, OnlineSimplex};

/// A stream of private vertices of the simplex.
#[pyclass(name = "OnlineSimplex", module = "dpsparse._core")]
struct PyOnlineSimplex(OnlineSimplex);

#[pymethods]
impl PyOnlineSimplex {
    #[new]
    #[pyo3(signature = (epsilon, delta, *, horizon, n_features, bound, adjacency, seed, ledger=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        epsilon: f64,
        delta: f64,
        horizon: u64,
        n_features: usize,
        bound: f64,
        adjacency: &str,
        seed: Option<u64>,
        ledger: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let ftrl = OnlineFtrl {
            epsilon,
            delta,
            horizon,
            n_features,
            bound,
            adjacency: adjacency.parse()?,
        };
        Ok(Self(ftrl.start(seed, &mut ledger_of(ledger))?))
    }

    /// Take the costs of one round and draw the vertex of the next.
    fn update(&mut self, costs: PyReadonlyArray1<'_, f64>) -> PyResult<()> {
        Ok(self.0.update(&to_vec(&costs)?)?)
    }

    /// Index of the current vertex.
    #[getter]
    fn vertex(&self) -> usize {
        self.0.vertex()
    }

    /// Updates so far.
    #[getter]
    fn round(&self) -> u64 {
        self.0.round()
    }

    /// Updates that the budget holds.
    #[getter]
    fn horizon(&self) -> u64 {
        self.0.plan().horizon()
    }

    /// Number of features.
    #[getter]
    fn n_features(&self) -> usize {
        self.0.plan().n_features()
    }

    /// lambda of the entropic regularisation.
    #[getter]
    fn regularisation(&self) -> f64 {
        self.0.plan().regularisation()
    }

    /// Certificate of all rounds of the horizon.
    #[getter]
    fn certificate(&self) -> PyCertificate {
        PyCertificate(self.0.certificate())
    }

    /// Bound on the expected regret over the horizon.
    fn regret_bound(&self) -> f64 {
        self.0.regret_bound()
    }

    /// JSON of the whole state: private data, not a release.
    fn to_secret_json(&self) -> String {
        self.0.to_secret_json()
    }

    /// Go on from a saved state.
    #[classmethod]
    fn from_secret_json(_class: &Bound<'_, PyType>, text: &str) -> PyResult<Self> {
        Ok(Self(OnlineSimplex::from_secret_json(text)?))
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyOnlineSimplex>()
}

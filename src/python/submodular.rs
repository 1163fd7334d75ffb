//! Private submodular minimisation for Python.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::certificate::{PyCertificate, events_to_python};
use super::ledger::ledger_of;
use super::selection::source;
use super::threads;
use crate::mechanism::{Goal, SubmodularMinimisation, SubmodularMinimisationPlan};
use crate::plan::PrivacyClaim;
use crate::privacy::RunningSums;

/// What a private submodular minimisation will release and cost, before any data; made by the method `plan` of
/// `PrivateSubmodularMinimizer` and of `PrivateMinimumNormPoint`.
///
/// Examples
/// --------
/// >>> from dpsparse.combinatorial import PrivateSubmodularMinimizer
/// >>> plan = PrivateSubmodularMinimizer(1.0, 1e-6, n_iter=30, norm=1.5).plan(2000, 8)
/// >>> plan.n_iter, [count for event, count in plan.events]
/// (30, [30, 1])
#[pyclass(name = "SubmodularPlan", module = "dpsparse", frozen, dict)]
struct PySubmodularPlan(SubmodularMinimisationPlan);

#[pymethods]
impl PySubmodularPlan {
    /// Number of people that the plan is for (the public one under add-remove).
    #[getter]
    fn n_samples(&self) -> usize {
        self.0.sums.n_people()
    }

    /// Steps.
    #[getter]
    fn n_iter(&self) -> usize {
        self.0.n_iter
    }

    /// Length of a step, for subgradients of the mean over people; None for a minimum-norm point, whose steps are
    /// shares.
    #[getter]
    fn step(&self) -> Option<f64> {
        self.0.step
    }

    /// epsilon that the release will carry.
    #[getter]
    fn epsilon(&self) -> f64 {
        self.0.sums.claim().0
    }

    /// delta that the release will carry.
    #[getter]
    fn delta(&self) -> f64 {
        self.0.sums.claim().1
    }

    /// Standard deviations of the noise on an entry of the summed greedy vertices, and on one of the last sum where a
    /// set is looked for.
    #[getter]
    fn noise_scales(&self) -> Vec<f64> {
        let last = self.0.n_iter as u64; // there is none for a point
        [0, last]
            .iter()
            .filter_map(|&round| self.0.sums.noise_scale(round))
            .collect()
    }

    /// The release in words.
    #[getter]
    fn mechanism(&self) -> &str {
        self.0.sums.mechanism()
    }

    /// Pairs of event and count.
    #[getter]
    fn events(&self, py: Python<'_>) -> PyResult<Vec<(Py<PyAny>, u64)>> {
        events_to_python(py, self.0.sums.events().iter().copied())
    }

    /// Nothing changes a plan.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    fn __repr__(&self) -> String {
        format!(
            "SubmodularPlan({}; epsilon={}, delta={:.3e})",
            self.mechanism(),
            self.epsilon(),
            self.delta(),
        )
    }
}

/// Plans a minimisation.
#[pyfunction]
#[pyo3(signature = (*, n_samples, n_features, norm, n_iter, epsilon, delta, adjacency, minimum_norm_point))]
#[allow(clippy::too_many_arguments)]
fn plan_submodular(
    n_samples: usize,
    n_features: usize,
    norm: f64,
    n_iter: Option<usize>,
    epsilon: f64,
    delta: Option<f64>,
    adjacency: &str,
    minimum_norm_point: bool,
) -> PyResult<PySubmodularPlan> {
    let minimisation = SubmodularMinimisation {
        claim: PrivacyClaim {
            n_samples,
            epsilon,
            delta,
            adjacency: adjacency.parse()?,
            records_per_person: 1,
        },
        n_features,
        norm,
        n_iter,
        goal: match minimum_norm_point {
            true => Goal::MinimumNormPoint,
            false => Goal::Minimiser,
        },
    };
    Ok(PySubmodularPlan(minimisation.plan()?))
}

/// Noisy sums of vectors, one a person and round.
#[pyclass(name = "RunningSums", module = "dpsparse._core")]
struct PyRunningSums(RunningSums);

#[pymethods]
impl PyRunningSums {
    /// Commit all rounds.
    #[new]
    #[pyo3(signature = (plan, *, seed, ledger=None))]
    fn new(
        plan: PyRef<'_, PySubmodularPlan>,
        seed: Option<u64>,
        ledger: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let plan = plan.0.sums.clone();
        Ok(Self(RunningSums::new(
            plan,
            source(seed)?,
            &mut ledger_of(ledger),
        )?))
    }

    /// The noisy sum of the rows.
    fn sum<'py>(
        &mut self,
        py: Python<'py>,
        vectors: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let vectors = vectors.as_array();
        let sums = threads::free(py, || self.0.sum(vectors))??;
        Ok(sums.into_pyarray(py))
    }

    /// Certificate of all rounds.
    #[getter]
    fn certificate(&self) -> PyCertificate {
        PyCertificate(self.0.certificate())
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PySubmodularPlan>()?;
    module.add_class::<PyRunningSums>()?;
    module.add_function(wrap_pyfunction!(plan_submodular, module)?)
}

//! Private coverage and facility location for Python.

use pyo3::prelude::*;

use super::certificate::{PyCertificate, events_to_python};
use super::ledger::ledger_of;
use super::records::Records;
use super::selection::source;
use super::threads;
use crate::error::Error;
use crate::mechanism::{GreedySelection, GreedySelectionPlan};
use crate::numeric::allocate::filled;
use crate::plan::PrivacyClaim;
use crate::privacy::release;

/// What a private greedy choice will release and cost, before any data; made by the method `plan` of its estimators.
///
/// Examples
/// --------
/// >>> from dpsparse.combinatorial import PrivateCoverage
/// >>> plan = PrivateCoverage(n_selected=5, epsilon=1.0).plan(10_000, 40)
/// >>> plan.n_selected, [count for event, count in plan.events]
/// (5, [5])
#[pyclass(name = "GreedyPlan", module = "dpsparse", frozen, dict)]
struct PyGreedyPlan {
    plan: GreedySelectionPlan,
    n_selected: usize,
}

#[pymethods]
impl PyGreedyPlan {
    /// Number of records that the plan is for (the public one under add-remove).
    #[getter]
    fn n_samples(&self) -> usize {
        self.plan.sealed().statement().n_samples()
    }

    /// How many elements will be chosen.
    #[getter]
    fn n_selected(&self) -> usize {
        self.n_selected
    }

    /// epsilon that the release will carry.
    #[getter]
    fn epsilon(&self) -> f64 {
        self.plan.sealed().claim().epsilon
    }

    /// delta that the release will carry.
    #[getter]
    fn delta(&self) -> f64 {
        self.plan.sealed().claim().delta
    }

    /// By how much a choice may fall short of the best gain, as a sum over people, with probability 1 - beta for all
    /// choices together: (2/epsilon0) ln(p k/beta) where a person's value is at most 1 and one record is replaced.
    #[pyo3(signature = (beta = None))]
    #[pyo3(text_signature = "($self, beta=0.05)")]
    fn shortfall(&self, beta: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        let beta = beta.map_or(Ok(0.05), |beta| super::error::number("beta", beta))?;
        if !(beta > 0.0 && beta < 1.0) {
            let problem = "must lie strictly between 0 and 1";
            return Err(Error::invalid("beta", problem).into());
        }
        let statement = self.plan.sealed().statement();
        let candidates = (statement.schema().n_features() * self.n_selected) as f64;
        let changed = statement.changed_contributions() as f64;
        Ok(changed / self.plan.epsilon0() * (candidates / beta).ln())
    }

    /// The release in words.
    #[getter]
    fn mechanism(&self) -> &str {
        &self.plan.sealed().claim().mechanism
    }

    /// Pairs of event and count.
    #[getter]
    fn events(&self, py: Python<'_>) -> PyResult<Vec<(Py<PyAny>, u64)>> {
        events_to_python(py, self.plan.sealed().events().iter().copied())
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
            "GreedyPlan({}; epsilon={}, delta={:.3e})",
            self.mechanism(),
            self.epsilon(),
            self.delta(),
        )
    }
}

/// Plans greedy choices.
#[pyfunction]
#[pyo3(signature = (
    *, n_samples, n_features, n_selected, epsilon, delta, adjacency, records_per_person, assumptions
))]
#[allow(clippy::too_many_arguments)]
fn plan_greedy(
    n_samples: usize,
    n_features: usize,
    n_selected: usize,
    epsilon: f64,
    delta: Option<f64>,
    adjacency: &str,
    records_per_person: usize,
    assumptions: Vec<String>,
) -> PyResult<PyGreedyPlan> {
    let greedy = GreedySelection {
        claim: PrivacyClaim {
            n_samples,
            epsilon,
            delta,
            adjacency: adjacency.parse()?,
            records_per_person,
        },
        n_features,
        n_selected,
        assumptions,
    };
    Ok(PyGreedyPlan {
        plan: greedy.plan()?,
        n_selected,
    })
}

/// The chosen elements, in the order of their choice, and the certificate.
#[pyfunction]
#[pyo3(signature = (plan, x, *, seed, ledger=None))]
fn fit_greedy(
    py: Python<'_>,
    plan: PyRef<'_, PyGreedyPlan>,
    x: Records<'_>,
    seed: Option<u64>,
    ledger: Option<Py<PyAny>>,
) -> PyResult<(Vec<usize>, PyCertificate)> {
    let plan = &plan.plan;
    let x = x.plain()?;
    // Records here come with targets; none is read. Their number may be private: no error tells it.
    let y = filled(x.n_records(), 1.0).map_err(|_| Error::TooLarge { bytes: None })?;
    let x = x.views()?;
    let released = threads::run(py, None, |report| {
        let (curator, mut ledger) = (x.curator(&y, None), ledger_of(ledger));
        release(plan.sealed(), &curator, &mut ledger, source(seed)?, report)
    })??;
    Ok((released.value, PyCertificate(released.certificate)))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyGreedyPlan>()?;
    module.add_function(wrap_pyfunction!(plan_greedy, module)?)?;
    module.add_function(wrap_pyfunction!(fit_greedy, module)?)
}

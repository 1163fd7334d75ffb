//! Private ranges of features for Python.

use ndarray::Array2;
use numpy::{IntoPyArray, PyArray2};
use pyo3::prelude::*;

use super::certificate::{PyCertificate, events_to_python};
use super::ledger::ledger_of;
use super::records::Records;
use super::selection::source;
use super::threads;
use crate::error::Error;
use crate::mechanism::{FeatureScaler, FeatureScalerPlan};
use crate::numeric::allocate::filled;
use crate::plan::PrivacyClaim;
use crate::privacy::Bounds;
use crate::privacy::release;

/// What the fit of a scaler will release and cost, before any data; made by `PrivateScaler.plan`.
///
/// Examples
/// --------
/// >>> from dpsparse import PrivateScaler
/// >>> plan = PrivateScaler(epsilon=0.5, bounds=(0, 1000)).plan(10_000, 4)
/// >>> plan.level, plan.reliable, [count for event, count in plan.events]
/// (0.1, True, [8])
#[pyclass(name = "ScalerPlan", module = "dpsparse", frozen, dict)]
struct PyScalerPlan(FeatureScalerPlan);

#[pymethods]
impl PyScalerPlan {
    /// Number of records that the plan is for (the public one under add-remove).
    #[getter]
    fn n_samples(&self) -> usize {
        self.0.sealed().statement().n_samples()
    }

    /// epsilon that the release will carry.
    #[getter]
    fn epsilon(&self) -> f64 {
        self.0.sealed().claim().epsilon
    }

    /// delta that the release will carry.
    #[getter]
    fn delta(&self) -> f64 {
        self.0.sealed().claim().delta
    }

    /// Quantile at the lower end of a range; the upper end has 1 - level.
    #[getter]
    fn level(&self) -> f64 {
        self.0.level()
    }

    /// Whether the budget finds so low a quantile reliably.
    #[getter]
    fn reliable(&self) -> bool {
        self.0.is_reliable()
    }

    /// The release in words.
    #[getter]
    fn mechanism(&self) -> &str {
        &self.0.sealed().claim().mechanism
    }

    /// Pairs of event and count.
    #[getter]
    fn events(&self, py: Python<'_>) -> PyResult<Vec<(Py<PyAny>, u64)>> {
        events_to_python(py, self.0.sealed().events().iter().copied())
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
            "ScalerPlan({}; epsilon={}, delta={:.3e}; {})",
            self.mechanism(),
            self.epsilon(),
            self.delta(),
            if self.reliable() {
                "reliable"
            } else {
                "the budget is too small to find them reliably"
            }
        )
    }
}

/// Plans the release of ranges.
#[pyfunction]
#[pyo3(signature = (
    *, n_samples, n_features, lower, upper, epsilon, delta, level, adjacency, records_per_person, assumptions
))]
#[allow(clippy::too_many_arguments)]
fn plan_scaler(
    n_samples: usize,
    n_features: usize,
    lower: Vec<f64>,
    upper: Vec<f64>,
    epsilon: f64,
    delta: Option<f64>,
    level: Option<f64>,
    adjacency: &str,
    records_per_person: usize,
    assumptions: Vec<String>,
) -> PyResult<PyScalerPlan> {
    let scaler = FeatureScaler {
        claim: PrivacyClaim {
            n_samples,
            epsilon,
            delta,
            adjacency: adjacency.parse()?,
            records_per_person,
        },
        n_features,
        bounds: Bounds { lower, upper },
        level,
        assumptions,
    };
    Ok(PyScalerPlan(scaler.plan()?))
}

/// Ranges, one row (low, high) per feature, and certificate.
#[pyfunction]
#[pyo3(signature = (plan, x, *, seed, ledger=None))]
fn fit_scaler<'py>(
    py: Python<'py>,
    plan: PyRef<'py, PyScalerPlan>,
    x: Records<'py>,
    seed: Option<u64>,
    ledger: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyArray2<f64>>, PyCertificate)> {
    let plan = &plan.0;
    let x = x.plain()?;
    // Records here come with targets; none is read. Their number may be private: no error tells it.
    let y = filled(x.n_records(), 1.0).map_err(|_| Error::TooLarge { bytes: None })?;
    let x = x.views()?;
    let released = threads::run(py, None, |report| {
        let (curator, mut ledger) = (x.curator(&y, None), ledger_of(ledger));
        release(plan.sealed(), &curator, &mut ledger, source(seed)?, report)
    })??;
    let ranges = released.value;
    let side = |(j, k): (usize, usize)| if k == 0 { ranges[j].0 } else { ranges[j].1 };
    let ranges = Array2::from_shape_fn((ranges.len(), 2), side);
    Ok((ranges.into_pyarray(py), PyCertificate(released.certificate)))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyScalerPlan>()?;
    module.add_function(wrap_pyfunction!(plan_scaler, module)?)?;
    module.add_function(wrap_pyfunction!(fit_scaler, module)?)
}

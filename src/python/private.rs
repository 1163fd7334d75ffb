//! Plans and private fits for Python.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;

use super::certificate::{PyCertificate, events_to_python};
use super::ledger::ledger_of;
use super::records::{Records, to_vec, weights_of};
use super::search::PySearchFacts;
use super::selection::source;
use super::statement::Statement;
use super::stopped::told;
use super::threads;
use super::trace::{PyTrace, trace_to_python};

use crate::auto::Choice;
use crate::error::Error;
use crate::mechanism::SimplexSampling;
use crate::plan::{FeatureRanges, Plan};
use crate::privacy::Bounds;
use crate::release::run_resumably;

/// What a fit will do and cost, before any data; made by the method `plan` of a private estimator.
///
/// Examples
/// --------
/// >>> from dpsparse import PrivateSparseClassifier
/// >>> model = PrivateSparseClassifier(bounds=(-1, 1), classes=("no", "yes"), mechanism="frank-wolfe", n_iter=20)
/// >>> plan = model.plan(10_000, 5)
/// >>> plan.n_iter, plan.epsilon, plan.delta, plan.certified
/// (20, 1.0, 1e-08, True)
/// >>> [count for event, count in plan.events]
/// [20]
///
/// What other budgets would buy, before one is chosen:
///
/// >>> curve = plan.curve(epsilons=(0.5, 1.0, 2.0))
/// >>> bool(curve.noise_scale[0] > curve.noise_scale[1] > curve.noise_scale[2])
/// True
#[pyclass(name = "Plan", module = "dpsparse", frozen, dict)]
pub(super) struct PyPlan {
    pub(super) plan: Arc<Plan>,
}

#[pymethods]
impl PyPlan {
    /// Iterations.
    #[getter]
    fn n_iter(&self) -> usize {
        self.plan.summary.n_iter
    }

    /// Number of records that the plan is for (the public one under add-remove).
    #[getter]
    fn n_samples(&self) -> usize {
        self.plan.problem.n_samples()
    }

    /// epsilon that the release will carry.
    #[getter]
    fn epsilon(&self) -> f64 {
        self.plan.epsilon()
    }

    /// delta that the release will carry.
    #[getter]
    fn delta(&self) -> f64 {
        self.plan.delta()
    }

    /// Whether the guarantee is proved.
    #[getter]
    fn certified(&self) -> bool {
        self.plan.certified()
    }

    /// The mechanism in words.
    #[getter]
    fn mechanism(&self) -> &str {
        self.plan.mechanism()
    }

    /// Pairs of event and count.
    #[getter]
    fn events(&self, py: Python<'_>) -> PyResult<Vec<(Py<PyAny>, u64)>> {
        events_to_python(py, self.plan.events().iter().copied())
    }

    /// Scale of the noise of each kind of answer, in units of the mean loss.
    #[getter]
    fn noise_scales(&self) -> Vec<f64> {
        vec![self.plan.summary.noise_scale]
    }

    /// Predicted excess of the mean training loss over the best model of the set.
    #[getter]
    fn predicted_excess_risk(&self) -> f64 {
        self.plan.summary.predicted_excess_risk
    }

    /// Bytes of memory that the records of a dense table take at most while the fit holds them, by public facts alone.
    ///
    /// For n records and p (encoded) columns 2 bytes an entry, in strips of 32 records, and 32 bytes a record, for the
    /// records and for each set that is made of them (their image under private scales, selected columns, a score),
    /// and 16 bytes a record for targets. Weights, several classes and `refresh="lagging"` add some more. Columns that
    /// are packed (Booleans, categories) take less: it is a bound for them too. On top come the table that is handed
    /// over, its copy as a schema encodes it (8 bytes an entry, or 1 where all of them are whole numbers), and what
    /// does not grow with n.
    #[getter]
    fn memory(&self) -> PyResult<u128> {
        Ok(self.plan.memory()?)
    }

    /// Further public numbers that the plan fixed, by name.
    #[getter]
    fn parameters(&self) -> BTreeMap<&'static str, f64> {
        self.plan.summary.parameters.iter().copied().collect()
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
            "Plan({}; epsilon={}, delta={:.3e}; noise scale {:.3e}, predicted excess risk {:.3e}, both in units of the mean loss)",
            self.plan.mechanism(),
            self.epsilon(),
            self.delta(),
            self.plan.summary.noise_scale,
            self.plan.summary.predicted_excess_risk
        )
    }
}

/// Plans a fit by the mechanism of a name, its options as a JSON object; `scale` says whether private scales come
/// first, None leaves it to "auto". `within` makes it a fit of a search.
#[pyfunction]
#[pyo3(signature = (statement, mechanism, options, scale=None, within=None))]
fn plan_private(
    py: Python<'_>,
    statement: Statement,
    mechanism: &str,
    options: &str,
    scale: Option<bool>,
    within: Option<PyRef<'_, PySearchFacts>>,
) -> PyResult<PyPlan> {
    let choice = statement.mechanism(py, mechanism, options, scale)?;
    let within = within.as_ref().map(|within| &within.0);
    let (problem, domain) = statement.build(py, &choice, within)?;
    let plan = threads::free(py, || choice.mechanism.plan(problem, &domain))??;
    Ok(PyPlan {
        plan: Arc::new(plan),
    })
}

/// Released ranges, an array of shape (n_features, 2), and whether features are clipped to them.
pub(super) type Ranges<'py> = Option<(Bound<'py, PyArray2<f64>>, bool)>;

pub(super) fn ranges_to_python(
    py: Python<'_>,
    ranges: Option<FeatureRanges<Bounds>>,
) -> Ranges<'_> {
    ranges.map(|FeatureRanges { of, clips }| {
        let pairs = Array2::from_shape_fn((of.lower.len(), 2), |(j, side)| {
            [of.lower[j], of.upper[j]][side]
        });
        (pairs.into_pyarray(py), clips)
    })
}

/// Coefficients, class by class where there are three or more, intercepts, iterations, certificate, ranges, and what
/// steps released on their way.
type Fitted<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    usize,
    PyCertificate,
    Ranges<'py>,
    PyTrace<'py>,
);

#[pyfunction]
#[pyo3(signature = (plan, x, y, *, sample_weight=None, seed, progress, ledger=None, checkpoint=None))]
#[allow(clippy::too_many_arguments)]
fn fit_private<'py>(
    py: Python<'py>,
    plan: PyRef<'py, PyPlan>,
    x: Records<'py>,
    y: PyReadonlyArray1<'py, f64>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    seed: Option<u64>,
    progress: Option<Py<PyAny>>,
    ledger: Option<Py<PyAny>>,
    checkpoint: Option<PathBuf>,
) -> PyResult<Fitted<'py>> {
    let plan = Arc::clone(&plan.plan);
    let (x, y, weights) = (x.plain()?, to_vec(&y)?, weights_of(sample_weight)?);
    let x = x.views()?;
    let mut ledger = ledger_of(ledger);
    let release = threads::run(py, progress.as_ref(), |report| {
        let curator = x.curator(&y, weights.as_deref());
        let checkpoint = checkpoint.as_deref();
        let source = source(seed)?;
        run_resumably(&plan, &curator, &mut ledger, source, report, checkpoint)
    });
    let release = told(py, release, &ledger, checkpoint.is_some())?;
    Ok((
        release.coefficients.into_pyarray(py),
        release.intercepts.into_pyarray(py),
        release.n_iter,
        PyCertificate(release.certificate),
        ranges_to_python(py, release.feature_ranges),
        (release.trace)
            .map(|trace| trace_to_python(py, &trace))
            .transpose()?,
    ))
}

/// The point that a plan adds noise to and the bound on its L2 sensitivity, in scaled units: for a curator's own checks
/// and for tests, never for release. None: the mechanism has no such point.
#[pyfunction]
#[pyo3(signature = (plan, x, y, *, sample_weight=None, seed))]
fn non_private_release<'py>(
    py: Python<'py>,
    plan: PyRef<'py, PyPlan>,
    x: Records<'py>,
    y: PyReadonlyArray1<'py, f64>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    seed: u64,
) -> PyResult<Option<(Bound<'py, PyArray1<f64>>, f64)>> {
    let plan = Arc::clone(&plan.plan);
    let (x, y, weights) = (x.plain()?, to_vec(&y)?, weights_of(sample_weight)?);
    let x = x.views()?;
    let point = threads::run(py, None, |_| match &plan.summary.point {
        Some(point) => {
            let curator = x.curator(&y, weights.as_deref());
            curator.non_private_point(point, &mut source(Some(seed))?)
        }
        None => Ok(None),
    })??;
    Ok(point.map(|(theta, bound)| (theta.into_pyarray(py), bound)))
}

/// T of Kumar & Deisenroth 2019, Theorem 4.
#[pyfunction]
fn theorem_4_iterations(
    n_samples: usize,
    epsilon: f64,
    lipschitz: f64,
    diameter: f64,
    width: f64,
) -> usize {
    crate::mechanism::theorem_4_iterations(n_samples, epsilon, lipschitz, diameter, width)
}

/// The integer gradient at given public coefficients: for a curator's own checks and for tests, never for
/// release.
#[pyfunction]
#[pyo3(signature = (statement, mechanism, options, x, y, theta, unit, *, sample_weight=None))]
#[allow(clippy::too_many_arguments)]
fn non_private_gradient<'py>(
    py: Python<'py>,
    statement: Statement,
    mechanism: &str,
    options: &str,
    x: Records<'py>,
    y: PyReadonlyArray1<'py, f64>,
    theta: Vec<i64>,
    unit: f64,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, u64, f64)> {
    let choice = statement.mechanism(py, mechanism, options, Some(false))?;
    let (problem, _) = statement.build(py, &choice, None)?;
    let model = problem.model()?;
    let (x, y, weights) = (x.plain()?, to_vec(&y)?, weights_of(sample_weight)?);
    let x = x.views()?;
    let gradient = threads::run(py, None, |_| {
        let statement = &problem.statement;
        let curator = x.curator(&y, weights.as_deref());
        curator.non_private_integer_gradient(statement, &model, &theta, unit)
    })??;
    let lattice = model.lattice();
    Ok((
        gradient.into_pyarray(py),
        lattice.bound().linf,
        lattice.scale(),
    ))
}

/// The integer scores q of softmax sampling, P(a) proportional to exp(-q_a 2^-bits), and bits: for a curator's own
/// checks and for tests, never for release.
#[pyfunction]
fn non_private_simplex_scores<'py>(
    py: Python<'py>,
    statement: Statement,
    options: &str,
    x: Records<'py>,
    y: PyReadonlyArray1<'py, f64>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, u32)> {
    let mechanism: SimplexSampling = serde_json::from_str(options)
        .map_err(|_| Error::invalid("options", "must be those of simplex-sampling"))?;
    let choice = Choice {
        mechanism: Box::new(mechanism),
        row_norm: statement.row_norm,
        reason: None,
    };
    let (problem, _) = statement.build(py, &choice, None)?;
    let (_, softmax) = threads::free(py, || mechanism.plan_with_softmax(problem))??;
    let (x, y) = (x.plain()?, to_vec(&y)?);
    let x = x.views()?;
    let scores = threads::run(py, None, |_| {
        x.curator(&y, None).non_private_softmax_scores(&softmax)
    })??;
    Ok((scores.into_pyarray(py), softmax.bits()))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyCertificate>()?;
    module.add_class::<PyPlan>()?;
    module.add_function(wrap_pyfunction!(theorem_4_iterations, module)?)?;
    module.add_function(wrap_pyfunction!(plan_private, module)?)?;
    module.add_function(wrap_pyfunction!(fit_private, module)?)?;
    module.add_function(wrap_pyfunction!(non_private_release, module)?)?;
    module.add_function(wrap_pyfunction!(non_private_gradient, module)?)?;
    module.add_function(wrap_pyfunction!(non_private_simplex_scores, module)?)
}

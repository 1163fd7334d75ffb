//! Plans and private fits for Python.

use std::sync::Arc;
use std::time::{Duration, Instant};

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::accounting::event_to_python;
use super::error::UserLossError;
use super::records::Records;
use super::selection::source;
use crate::error::{Error, Result};
use crate::loss::{Loss, Tabulated, TargetGrid, by_name};
use crate::mechanism::{Calibration, FrankWolfe, Plan, Problem};
use crate::polytope::{GroupBall, L1Ball, LinfBall, Polytope, Simplex, VertexList};
use crate::privacy::event::Event;
use crate::privacy::{Bounds, Geometry, Schema, Target, non_private_integer_gradient};
use crate::release::{Certificate, run};

/// How often a fit looks for Ctrl-C and reports progress.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

fn events_to_python(py: Python<'_>, events: impl Iterator<Item = (Event, u64)>) -> PyResult<Vec<(Py<PyAny>, u64)>> {
    events.map(|(event, count)| Ok((event_to_python(py, &event)?, count))).collect()
}

#[pyclass(name = "Certificate", module = "dpsparse", frozen, eq)]
#[derive(Clone, PartialEq)]
struct PyCertificate(Certificate);

#[pymethods]
impl PyCertificate {
    fn epsilon(&self, delta: f64) -> PyResult<f64> {
        Ok(self.0.epsilon(delta)?)
    }

    fn delta(&self, epsilon: f64) -> PyResult<f64> {
        Ok(self.0.delta(epsilon)?)
    }

    fn verify(&self) -> bool {
        self.0.verify()
    }

    #[getter]
    fn claim(&self) -> (f64, f64) {
        self.0.claim()
    }

    #[getter]
    fn mechanism(&self) -> &str {
        self.0.mechanism()
    }

    #[getter]
    fn events(&self, py: Python<'_>) -> PyResult<Vec<(Py<PyAny>, u64)>> {
        events_to_python(py, self.0.events().iter().map(|spent| (spent.event, spent.count)))
    }

    #[getter]
    fn assumptions(&self) -> Vec<String> {
        self.0.assumptions().to_vec()
    }

    #[getter]
    fn adjacency(&self) -> &'static str {
        self.0.adjacency().name()
    }

    #[getter]
    fn unit(&self) -> &str {
        self.0.unit()
    }

    #[getter]
    fn bounds<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>) {
        let Bounds { lower, upper } = self.0.bounds().clone();
        (lower.into_pyarray(py), upper.into_pyarray(py))
    }

    #[getter]
    fn secure(&self) -> bool {
        self.0.secure()
    }

    #[getter]
    fn certified(&self) -> bool {
        self.0.certified()
    }

    fn to_json(&self) -> String {
        self.0.to_json()
    }

    #[classmethod]
    fn from_json(_class: &Bound<'_, PyType>, text: &str) -> PyResult<Self> {
        Ok(Self(Certificate::from_json(text)?))
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String,))> {
        let from_json = slf.get_type().getattr("from_json")?;
        Ok((from_json.unbind(), (slf.get().0.to_json(),)))
    }
}

/// What a fit will do and cost, before any data.
#[pyclass(name = "Plan", module = "dpsparse", frozen)]
struct PyPlan {
    plan: Arc<dyn Plan>,
    assumptions: Vec<String>,
}

#[pymethods]
impl PyPlan {
    #[getter]
    fn n_iter(&self) -> usize {
        self.plan.n_iter()
    }

    #[getter]
    fn epsilon(&self) -> f64 {
        self.plan.problem().epsilon
    }

    #[getter]
    fn delta(&self) -> f64 {
        self.plan.delta()
    }

    #[getter]
    fn certified(&self) -> bool {
        self.plan.certified()
    }

    #[getter]
    fn mechanism(&self) -> String {
        self.plan.describe()
    }

    #[getter]
    fn events(&self, py: Python<'_>) -> PyResult<Vec<(Py<PyAny>, u64)>> {
        events_to_python(py, self.plan.events().into_iter())
    }

    #[getter]
    fn noise_scales(&self) -> Vec<f64> {
        vec![self.plan.noise_scale()]
    }

    #[getter]
    fn predicted_excess_risk(&self) -> f64 {
        self.plan.predicted_excess_risk()
    }

    fn __repr__(&self) -> String {
        format!(
            "Plan({}; epsilon={}, delta={:.3e}; noise scale {:.3e}, predicted excess risk {:.3e}, both in units of the mean loss)",
            self.plan.describe(),
            self.epsilon(),
            self.delta(),
            self.plan.noise_scale(),
            self.plan.predicted_excess_risk()
        )
    }
}

/// The loss as Python names it.
#[derive(FromPyObject)]
enum LossSpec {
    /// Catalogue name and shape parameter.
    Named(String, Option<f64>),
    /// A user's derivative and its Lipschitz constant.
    User(Py<PyAny>, f64),
}

impl LossSpec {
    fn build(&self, py: Python<'_>, target: Target, margin_bound: f64) -> PyResult<Arc<dyn Loss>> {
        match self {
            LossSpec::Named(name, parameter) => Ok(Arc::from(by_name(name, *parameter)?)),
            LossSpec::User(derivative, lipschitz) => {
                let grid = match target {
                    Target::Classes => TargetGrid::Classes,
                    Target::Interval { .. } => TargetGrid::Interval,
                };
                let (z, y): (Vec<f64>, Vec<f64>) = Tabulated::points(grid, margin_bound)?.unzip();
                let values = tabulate(derivative.bind(py), z.into_pyarray(py), y.into_pyarray(py))?;
                Ok(Arc::new(Tabulated::from_values(&values, grid, margin_bound, *lipschitz)?))
            }
        }
    }
}

/// Calls the user's derivative once, on the public grid.
fn tabulate<'py>(
    derivative: &Bound<'py, PyAny>,
    z: Bound<'py, PyArray1<f64>>,
    y: Bound<'py, PyArray1<f64>>,
) -> PyResult<Vec<f64>> {
    let py = derivative.py();
    let failed = |cause: PyErr, what: &str| {
        let error = UserLossError::new_err(format!(
            "the user's loss {what} on the public grid; it must map two float64 arrays (z, y) of one shape to the array \
             of derivatives dl/dz (numpy.vectorize turns a scalar function into one)"
        ));
        error.set_cause(py, Some(cause));
        error
    };
    let values = derivative.call1((z, y)).map_err(|cause| failed(cause, "raised"))?;
    let as_floats = || -> PyResult<Vec<f64>> {
        let array = py.import("numpy")?.call_method1("asarray", (values, "float64"))?;
        Ok(array.extract::<PyReadonlyArray1<'_, f64>>()?.as_array().to_vec())
    };
    as_floats().map_err(|cause| failed(cause, "returned something other than a float array"))
}

/// A constraint set as Python names it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct NormSpec {
    name: String,
    groups: Option<Vec<Vec<usize>>>,
    vertices: Option<Vec<Vec<f64>>>,
}

impl NormSpec {
    fn build(&self, n_features: usize, intercept: bool, radius: Option<f64>, default: f64) -> Result<Arc<dyn Polytope>> {
        if radius.is_some_and(|radius| !(radius.is_finite() && radius > 0.0)) {
            return Err(Error::invalid("radius", "must be positive and finite"));
        }
        let size = radius.unwrap_or(default);
        let n_columns = n_features + usize::from(intercept);
        Ok(match (self.name.as_str(), &self.groups, &self.vertices) {
            ("l1", ..) => Arc::new(L1Ball::new(n_columns, size)),
            ("linf", ..) => Arc::new(LinfBall::new(n_columns, size)),
            ("simplex", ..) => Arc::new(Simplex::new(n_features, intercept, size)),
            ("groups", Some(groups), _) => Arc::new(GroupBall::new(groups, n_features, intercept, size)?),
            ("vertices", _, Some(vertices)) => {
                if radius.is_some() {
                    return Err(Error::invalid("radius", "is not used with explicit vertices: scale the vertices"));
                }
                Arc::new(VertexList::new(vertices, n_features, intercept)?)
            }
            _ => {
                let known = "\"l1\", \"linf\", \"simplex\", DisjointGroups(...) or Vertices(...)";
                return Err(Error::invalid("norm", format!("must be {known} for this mechanism")));
            }
        })
    }

    /// Mechanisms that use the Euclidean norm of a row scale features without centring (MECHANISMS M3).
    fn geometry(&self, intercept: bool, row_norm: Option<f64>) -> Result<Geometry> {
        match (self.name.as_str(), row_norm) {
            ("linf", _) | ("groups", Some(_)) => Ok(Geometry::Uncentred),
            (_, Some(_)) => Err(Error::invalid("row_norm", "is not used by frank-wolfe over this norm; leave it at None")),
            _ if intercept => Ok(Geometry::Centred),
            _ => Ok(Geometry::Uncentred),
        }
    }
}

/// Public facts of a fit, as one dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Statement {
    n_samples: usize,
    n_features: usize,
    lower: Vec<f64>,
    upper: Vec<f64>,
    row_norm: Option<f64>,
    y_bounds: Option<(f64, f64)>,
    fit_intercept: bool,
    loss: LossSpec,
    residual_bound: Option<f64>,
    epsilon: f64,
    delta: Option<f64>,
    adjacency: String,
    records_per_person: usize,
    norm: NormSpec,
    radius: Option<f64>,
    assumptions: Vec<String>,
}

impl Statement {
    fn build(&self, py: Python<'_>) -> PyResult<(Problem, Arc<dyn Polytope>)> {
        let target = self.y_bounds.map_or(Target::Classes, |(low, high)| Target::Interval { low, high });
        let schema = Schema::new(
            self.n_features,
            Bounds { lower: self.lower.clone(), upper: self.upper.clone() },
            self.norm.geometry(self.fit_intercept, self.row_norm)?,
            target,
            self.fit_intercept,
            self.row_norm,
        )?;
        let default = Problem::default_radius(target);
        let polytope = self.norm.build(self.n_features, self.fit_intercept, self.radius, default)?;
        let problem = Problem {
            schema,
            n_samples: self.n_samples,
            loss: self.loss.build(py, target, polytope.margin_bound())?,
            residual_bound: self.residual_bound,
            epsilon: self.epsilon,
            delta: self.delta,
            adjacency: self.adjacency.parse()?,
            records_per_person: self.records_per_person,
        };
        Ok((problem, polytope))
    }
}

#[pyfunction]
#[pyo3(signature = (statement, *, n_iter, calibration, allow_uncertified))]
fn plan_frank_wolfe(
    py: Python<'_>,
    statement: Statement,
    n_iter: Option<usize>,
    calibration: &str,
    allow_uncertified: bool,
) -> PyResult<PyPlan> {
    let calibration = match calibration {
        "tight" => Calibration::Tight,
        "paper" => Calibration::Paper,
        _ => return Err(Error::invalid("calibration", "must be \"tight\" or \"paper\"").into()),
    };
    let (problem, polytope) = statement.build(py)?;
    let mechanism = FrankWolfe { n_iter, calibration, allow_uncertified };
    let plan = py.detach(|| mechanism.plan(problem, polytope))?;
    Ok(PyPlan { plan: Arc::new(plan), assumptions: statement.assumptions })
}

/// Coefficients, intercept, iterations and certificate.
type Fitted<'py> = (Bound<'py, PyArray1<f64>>, f64, usize, PyCertificate);

#[pyfunction]
#[pyo3(signature = (plan, x, y, *, seed, progress))]
fn fit_private<'py>(
    py: Python<'py>,
    plan: PyRef<'py, PyPlan>,
    x: Records<'py>,
    y: PyReadonlyArray1<'py, f64>,
    seed: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Fitted<'py>> {
    let inner = Arc::clone(&plan.plan);
    let data = x.ingest(py, &y, &inner.problem().schema)?;
    let mut source = source(seed)?;
    let mut raised = None;
    let release = py.detach(|| {
        let mut last = Instant::now();
        let mut report = |done: usize, total: usize| {
            if last.elapsed() < SIGNAL_INTERVAL && done < total {
                return Ok(());
            }
            last = Instant::now();
            let called = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (done, total)).map(drop))
            });
            called.map_err(|error| {
                raised = Some(error);
                Error::Interrupted
            })
        };
        run(inner.as_ref(), &data, &mut source, &mut report)
    });
    if let Some(error) = raised {
        return Err(error);
    }
    let mut release = release?;
    for assumption in &plan.assumptions {
        release.certificate.assume(assumption.as_str());
    }
    Ok((release.coefficients.into_pyarray(py), release.intercept, release.n_iter, PyCertificate(release.certificate)))
}

/// The integer gradient at given public coefficients: for a curator's own checks and for tests, never for release.
#[pyfunction]
#[pyo3(signature = (statement, x, y, theta, unit))]
fn non_private_gradient<'py>(
    py: Python<'py>,
    statement: Statement,
    x: Records<'py>,
    y: PyReadonlyArray1<'py, f64>,
    theta: Vec<i64>,
    unit: f64,
) -> PyResult<(Bound<'py, PyArray1<i64>>, u64, f64)> {
    let (problem, _) = statement.build(py)?;
    let data = x.ingest(py, &y, &problem.schema)?;
    let lattice = problem.derivative_lattice()?;
    let gradient = non_private_integer_gradient(&data, problem.loss.as_ref(), &lattice, &theta, unit)?;
    Ok((gradient.into_pyarray(py), lattice.bound(), lattice.scale()))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyCertificate>()?;
    module.add_class::<PyPlan>()?;
    module.add_function(wrap_pyfunction!(plan_frank_wolfe, module)?)?;
    module.add_function(wrap_pyfunction!(fit_private, module)?)?;
    module.add_function(wrap_pyfunction!(non_private_gradient, module)?)
}

//! The public statement of a fit as Python makes it: loss, constraint set, bounds, privacy.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use super::error::UserLossError;
use super::norm::CoreNorm;
use super::threads;

use crate::auto::{Asked, Choice};
use crate::error::{Error, Result};
use crate::fit::PublicFacts;
use crate::loss::{Admitted, Catalogued, Tabulated, TargetGrid, by_name};
use crate::mechanism;
use crate::plan::{Domain, Problem};
use crate::privacy::{Bounds, Target};
use crate::search::SearchFacts;

/// The loss as Python names it.
#[derive(FromPyObject)]
enum LossSpec {
    /// Catalogue name and shape parameters.
    Named(String, Vec<f64>),
    /// A user's derivative and its Lipschitz constant.
    User(Py<PyAny>, f64),
}

impl LossSpec {
    /// The catalogued loss; None: a user's own.
    fn catalogued(&self) -> Result<Option<Catalogued>> {
        match self {
            LossSpec::Named(name, parameters) => by_name(name, parameters).map(Some),
            LossSpec::User(..) => Ok(None),
        }
    }

    fn build(&self, py: Python<'_>, target: Target, margin_bound: f64) -> PyResult<Admitted> {
        match self {
            LossSpec::Named(name, parameters) => Ok(by_name(name, parameters)?.into()),
            LossSpec::User(derivative, lipschitz) => {
                let grid = match target {
                    Target::Classes | Target::Multiclass { .. } => TargetGrid::Classes,
                    Target::Interval { .. } | Target::Counts { .. } => TargetGrid::Interval,
                };
                let (z, y): (Vec<f64>, Vec<f64>) = Tabulated::points(grid, margin_bound)?.unzip();
                let values = tabulate(derivative.bind(py), z.into_pyarray(py), y.into_pyarray(py))?;
                Ok(Tabulated::from_values(&values, grid, margin_bound, *lipschitz)?.into())
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
        if !cause.is_instance_of::<PyException>(py) {
            return cause; // Ctrl-C and the like
        }
        let error = UserLossError::new_err(format!(
            "the user's loss {what} on the public grid; it must map two float64 arrays (z, y) of one shape to the array \
             of derivatives dl/dz (numpy.vectorize turns a scalar function into one)"
        ));
        error.set_cause(py, Some(cause));
        error
    };
    let values = derivative
        .call1((z, y))
        .map_err(|cause| failed(cause, "raised"))?;
    let as_floats = || -> PyResult<Vec<f64>> {
        let array = py
            .import("numpy")?
            .call_method1("asarray", (values, "float64"))?;
        Ok(array
            .extract::<PyReadonlyArray1<'_, f64>>()?
            .as_array()
            .to_vec())
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
    /// A set function or a group lasso.
    function: Option<CoreNorm>,
}

impl NormSpec {
    fn domain(&self) -> Result<Domain> {
        if let Some(function) = &self.function {
            return Ok(function.domain());
        }
        match (self.name.as_str(), &self.groups, &self.vertices) {
            ("l1", ..) => Ok(Domain::L1),
            ("linf", ..) => Ok(Domain::Linf),
            ("simplex", ..) => Ok(Domain::Simplex),
            ("groups", Some(groups), _) => Ok(Domain::Groups(groups.clone())),
            ("vertices", _, Some(vertices)) => Ok(Domain::Vertices(vertices.clone())),
            _ => Err(Error::invalid(
                "norm",
                "must be \"l1\", \"linf\", \"simplex\", DisjointGroups(...), Vertices(...), a set function or GroupLasso(...)",
            )),
        }
    }
}

/// Public facts of a fit, as one dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Statement {
    n_samples: usize,
    n_features: usize,
    lower: Vec<f64>,
    upper: Vec<f64>,
    pub(super) row_norm: Option<f64>,
    y_bounds: Option<(f64, f64)>,
    counts: bool,
    /// K, where y holds classes.
    n_classes: Option<u32>,
    fit_intercept: bool,
    loss: LossSpec,
    residual_bound: Option<f64>,
    epsilon: f64,
    delta: Option<f64>,
    adjacency: String,
    records_per_person: usize,
    /// The largest weight, where records have weights.
    max_weight: Option<f64>,
    norm: NormSpec,
    pub(super) assumptions: Vec<String>,
}

impl Statement {
    fn target(&self) -> Target {
        match (self.y_bounds, self.n_classes) {
            (Some((low, high)), _) if self.counts => Target::counts(low, high, self.fit_intercept),
            (Some((low, high)), _) => Target::Interval { low, high },
            (None, Some(classes)) if classes > 2 => Target::Multiclass { classes },
            (None, _) => Target::Classes,
        }
    }

    /// The mechanism of a name with its options, after private scales or not: None leaves the choice to "auto", and is
    /// no for every other mechanism. Constant features are left out of everything.
    pub(super) fn mechanism(
        &self,
        py: Python<'_>,
        name: &str,
        options: &str,
        scale: Option<bool>,
    ) -> PyResult<Choice> {
        Ok(threads::free(py, || -> Result<_> {
            let mut facts = self.facts()?;
            let named = match name {
                "auto" => {
                    facts.asked = serde_json::from_str(options).map_err(|error| {
                        Error::invalid("mechanism", format!("has unusable options: {error}"))
                    })?;
                    None
                }
                name => Some(mechanism::by_name(name, options)?),
            };
            let loss = self.loss.catalogued()?;
            facts.choice(named, scale, loss.as_deref())
        })??)
    }

    /// The statement as the core takes it, for a mechanism that was chosen and the row norm that it uses; within a
    /// search, about a part of its records. A user's loss is tabulated here, before any record is read.
    pub(super) fn build(
        &self,
        py: Python<'_>,
        choice: &Choice,
        within: Option<&SearchFacts>,
    ) -> PyResult<(Problem, Domain)> {
        let facts = self.facts()?;
        let (schema, reach) = threads::free(py, || facts.schema(choice))??;
        let loss = self.loss.build(py, facts.target, reach)?;
        let problem = facts.problem(schema, loss, choice, within)?;
        Ok((problem, facts.domain))
    }

    fn facts(&self) -> Result<PublicFacts> {
        Ok(PublicFacts {
            n_samples: self.n_samples,
            n_features: self.n_features,
            bounds: Bounds {
                lower: self.lower.clone(),
                upper: self.upper.clone(),
            },
            row_norm: self.row_norm,
            target: self.target(),
            intercept: self.fit_intercept,
            residual_bound: self.residual_bound,
            epsilon: self.epsilon,
            delta: self.delta,
            adjacency: self.adjacency.parse()?,
            records_per_person: self.records_per_person,
            max_weight: self.max_weight,
            domain: self.norm.domain()?,
            asked: Asked::default(),
            assumptions: self.assumptions.clone(),
        })
    }
}

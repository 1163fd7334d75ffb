//! The public statement of a fit as Python makes it: loss, constraint set, bounds, privacy.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use super::error::UserLossError;
use crate::error::{Error, Result};
use crate::loss::{Loss, Tabulated, TargetGrid, by_name};
use crate::mechanism::Problem;
use crate::polytope::{GroupBall, L1Ball, LinfBall, Polytope, Simplex, VertexList};
use crate::privacy::{Bounds, Geometry, Schema, Target};

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
                Ok(Arc::new(Tabulated::from_values(
                    &values,
                    grid,
                    margin_bound,
                    *lipschitz,
                )?))
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
}

impl NormSpec {
    fn build(
        &self,
        n_features: usize,
        intercept: bool,
        radius: Option<f64>,
        default: f64,
    ) -> Result<Arc<dyn Polytope>> {
        if radius.is_some_and(|radius| !(1e-100..=1e100).contains(&radius)) {
            // The range keeps every float between a radius and a coefficient finite.
            return Err(Error::invalid(
                "radius",
                "must be positive, between 1e-100 and 1e100",
            ));
        }
        let size = radius.unwrap_or(default);
        let n_columns = n_features + usize::from(intercept);
        Ok(match (self.name.as_str(), &self.groups, &self.vertices) {
            ("l1", ..) => Arc::new(L1Ball::new(n_columns, size)),
            ("linf", ..) => Arc::new(LinfBall::new(n_columns, size)),
            ("simplex", ..) => Arc::new(Simplex::new(n_features, intercept, size)),
            ("groups", Some(groups), _) => {
                Arc::new(GroupBall::new(groups, n_features, intercept, size)?)
            }
            ("vertices", _, Some(vertices)) => {
                if radius.is_some() {
                    return Err(Error::invalid(
                        "radius",
                        "is not used with explicit vertices: scale the vertices",
                    ));
                }
                Arc::new(VertexList::new(vertices, n_features, intercept)?)
            }
            _ => {
                let known = "\"l1\", \"linf\", \"simplex\", DisjointGroups(...) or Vertices(...)";
                return Err(Error::invalid(
                    "norm",
                    format!("must be {known} for this mechanism"),
                ));
            }
        })
    }

    /// Mechanisms that use the Euclidean norm of a row scale features without centring (MECHANISMS M3).
    fn geometry(&self, intercept: bool, row_norm: Option<f64>) -> Result<Geometry> {
        match (self.name.as_str(), row_norm) {
            ("linf", _) | ("groups", Some(_)) => Ok(Geometry::Uncentred),
            (_, Some(_)) => Err(Error::invalid(
                "row_norm",
                "is not used by frank-wolfe over this norm; leave it at None",
            )),
            _ if intercept => Ok(Geometry::Centred),
            _ => Ok(Geometry::Uncentred),
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
    pub(super) assumptions: Vec<String>,
}

impl Statement {
    /// The statement as the core takes it. A user's loss is tabulated here, before any record is read.
    pub(super) fn build(&self, py: Python<'_>) -> PyResult<(Problem, Arc<dyn Polytope>)> {
        let target = self
            .y_bounds
            .map_or(Target::Classes, |(low, high)| Target::Interval {
                low,
                high,
            });
        let schema = Schema::new(
            self.n_features,
            Bounds {
                lower: self.lower.clone(),
                upper: self.upper.clone(),
            },
            self.norm.geometry(self.fit_intercept, self.row_norm)?,
            target,
            self.fit_intercept,
            self.row_norm,
        )?;
        let default = Problem::default_radius(target);
        let polytope =
            self.norm
                .build(self.n_features, self.fit_intercept, self.radius, default)?;
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

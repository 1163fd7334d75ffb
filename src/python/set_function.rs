//! Set functions for Python: `dpsparse.set_functions` checks the types of arguments, the crate their values.

use std::sync::Arc;

use numpy::ndarray::{ArrayView1, ArrayView2};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::error::InvalidArgumentError;
use super::records::one_per_feature;
use super::threads;
use crate::error::{Error, Result, UserError};
use crate::lovasz;
use crate::plan::Domain;
use crate::polytope::{NormOrder, Simulation, base, norm_ball, symmetric};
use crate::prox::{Scratch, prox};
use crate::set_function::{
    Cardinality, ConcaveCardinality, ContiguousRange, GraphCut, GroupCover, LogDet, Modular,
    Oracle, PartitionRank, SetFunction, Tree, check_monotone, check_set, scaled, sum,
};

/// A set function of the crate; the classes of `dpsparse.set_functions` hold one each.
#[pyclass(module = "dpsparse._core", frozen)]
pub(super) struct CoreSetFunction(Arc<dyn SetFunction>);

impl CoreSetFunction {
    /// The function itself.
    pub(super) fn function(&self) -> Arc<dyn SetFunction> {
        self.0.clone()
    }
}

/// Features of each group.
type Groups = Vec<Vec<usize>>;

/// Builds without the interpreter; a Python callable inside attaches itself.
fn build<F: SetFunction + 'static>(
    py: Python<'_>,
    make: impl FnOnce() -> Result<F> + Send,
) -> PyResult<CoreSetFunction> {
    let f = threads::free(py, || -> Result<Arc<dyn SetFunction>> {
        Ok(Arc::new(make()?))
    })??;
    Ok(CoreSetFunction(f))
}

/// The rows of an array of two columns; Python has made sure that they hold no negative number.
fn pairs(edges: ArrayView2<'_, i64>) -> Result<Vec<(usize, usize)>> {
    let end = |j: i64| {
        usize::try_from(j).map_err(|_| Error::invalid("edges", "must hold non-negative integers"))
    };
    let pair = |row: ArrayView1<'_, i64>| match row.as_slice() {
        Some(&[i, j]) => Ok((end(i)?, end(j)?)),
        _ => Err(Error::invalid("edges", "must join two features")),
    };
    edges.rows().into_iter().map(pair).collect()
}

#[pymethods]
impl CoreSetFunction {
    /// A family by its name, and its arguments in the order of its constructor.
    #[new]
    #[pyo3(signature = (family, *arguments))]
    fn new(py: Python<'_>, family: &str, arguments: &Bound<'_, PyTuple>) -> PyResult<Self> {
        match family {
            "cardinality" => {
                let (p,) = arguments.extract()?;
                build(py, || Cardinality::new(p))
            }
            "concave_cardinality" => {
                let (values,) = arguments.extract()?;
                build(py, || ConcaveCardinality::new(values))
            }
            "modular" => {
                let (weights,) = arguments.extract()?;
                build(py, || Modular::new(weights))
            }
            "group_cover" => {
                let (groups, weights, p): (Groups, _, _) = arguments.extract()?;
                build(py, || GroupCover::new(&groups, weights, p))
            }
            "tree" => {
                let (groups, weights, p): (Groups, _, _) = arguments.extract()?;
                build(py, || Tree::new(&groups, weights, p))
            }
            "graph_cut" => {
                let (edges, weights, p): (PyReadonlyArray2<'_, i64>, _, _) = arguments.extract()?;
                let edges = pairs(edges.as_array())?;
                build(py, || GraphCut::new(&edges, weights, p))
            }
            "contiguous_range" => {
                let (p,) = arguments.extract()?;
                build(py, || ContiguousRange::new(p))
            }
            "partition_rank" => {
                let (groups, capacities, p): (Groups, Vec<usize>, _) = arguments.extract()?;
                build(py, || PartitionRank::new(&groups, &capacities, p))
            }
            "log_det" => {
                let (kernel, noise): (PyReadonlyArray2<'_, f64>, _) = arguments.extract()?;
                let kernel = kernel.as_array();
                build(py, || LogDet::new(kernel, noise))
            }
            "oracle" => {
                let (callable, p, monotone): (Py<PyAny>, _, _) = arguments.extract()?;
                let call = move |set: &[usize]| {
                    threads::unless_forked(|| {
                        Python::attach(|py| call_user(callable.bind(py), set))
                            .map_err(|raised| Error::User(UserError::new(raised)))
                    })
                };
                build(py, || Oracle::new(p, call, monotone))
            }
            _ => Err(Error::invalid("family", "is unknown").into()),
        }
    }

    fn plus(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        let (f, g) = (self.0.clone(), other.0.clone());
        Ok(Self(threads::free(py, || sum(f, g))??))
    }

    fn times(&self, factor: f64) -> PyResult<Self> {
        Ok(Self(scaled(factor, self.0.clone())?))
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.0.name()
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    /// Whether Frank-Wolfe can select among the vertices of its ball.
    #[getter]
    fn has_vertices(&self) -> bool {
        Domain::knows_vertices(&*self.function())
    }

    #[getter]
    fn is_monotone(&self) -> bool {
        self.0.is_monotone()
    }

    fn value(&self, py: Python<'_>, indices: Vec<usize>) -> PyResult<f64> {
        let f = self.0.as_ref();
        Ok(threads::free(py, || {
            check_set(&indices, f.n_features(), "A")?;
            f.value(&indices)
        })??)
    }

    fn gains<'py>(
        &self,
        py: Python<'py>,
        order: Vec<usize>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let f = self.0.as_ref();
        let gains = threads::free(py, || -> Result<Vec<f64>> {
            check_set(&order, f.n_features(), "order")?;
            let mut gains = vec![0.0; order.len()];
            f.gains(&order, &mut gains)?;
            Ok(gains)
        })??;
        Ok(gains.into_pyarray(py))
    }

    fn lovasz(&self, py: Python<'_>, w: PyReadonlyArray1<'_, f64>) -> PyResult<f64> {
        let (f, w) = (self.0.as_ref(), self.vector("w", &w)?);
        Ok(threads::free(py, || lovasz::extension(f, &w))??)
    }

    fn base_vertex<'py>(
        &self,
        py: Python<'py>,
        w: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (f, w) = (self.0.as_ref(), self.vector("w", &w)?);
        let mut s = vec![0.0; w.len()];
        threads::free(py, || lovasz::base_vertex(f, &w, &mut s))??;
        Ok(s.into_pyarray(py))
    }

    fn support_vertex<'py>(
        &self,
        py: Python<'py>,
        theta: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (f, theta) = (self.monotone()?, self.vector("theta", &theta)?);
        let mut s = vec![0.0; theta.len()];
        threads::free(py, || lovasz::support_vertex(f, &theta, &mut s))??;
        Ok(s.into_pyarray(py))
    }

    fn norm(&self, py: Python<'_>, theta: PyReadonlyArray1<'_, f64>) -> PyResult<f64> {
        let (f, theta) = (self.monotone()?, self.vector("theta", &theta)?);
        Ok(threads::free(py, || lovasz::norm(f, &theta))??)
    }

    fn dual_norm(&self, py: Python<'_>, s: PyReadonlyArray1<'_, f64>) -> PyResult<f64> {
        let (f, s) = (self.monotone()?, self.vector("s", &s)?);
        Ok(threads::free(py, || symmetric::dual_norm(f, &s))??)
    }

    fn contains(&self, py: Python<'_>, s: PyReadonlyArray1<'_, f64>, tol: f64) -> PyResult<bool> {
        let (f, s) = (self.monotone()?, self.vector("s", &s)?);
        Ok(threads::free(py, || symmetric::contains(f, &s, tol))??)
    }

    fn prox<'py>(
        &self,
        py: Python<'py>,
        v: PyReadonlyArray1<'py, f64>,
        step: f64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (f, v) = (self.0.as_ref(), self.vector("v", &v)?);
        let mut x = vec![0.0; v.len()];
        threads::free(py, || prox(f, &v, step, &mut x, &mut Scratch::default()))??;
        Ok(x.into_pyarray(py))
    }

    fn norm_ball_vertex<'py>(
        &self,
        py: Python<'py>,
        g: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (f, g) = (self.monotone()?, self.vector("g", &g)?);
        let mut x = vec![0.0; g.len()];
        threads::free(py, || norm_ball::vertex(f, &g, &mut x))??;
        Ok(x.into_pyarray(py))
    }

    /// Width, standard error, whether it is exact; of |P|(F) where F is monotone, else of B(F).
    fn gaussian_width(
        &self,
        py: Python<'_>,
        n_samples: usize,
        seed: u64,
    ) -> PyResult<(f64, f64, bool)> {
        let f = self.0.as_ref();
        let simulation = Simulation { n_samples, seed };
        let estimate = threads::run(py, None, |report| match f.is_monotone() {
            true => symmetric::gaussian_width_watched(f, simulation, report),
            false => base::gaussian_width_watched(f, simulation, report),
        })??;
        Ok((estimate.value, estimate.stderr, estimate.exact))
    }

    /// Radius, and whether some point attains it; `ord` is 1, 2 or infinity.
    fn radius(&self, py: Python<'_>, ord: f64) -> PyResult<(f64, bool)> {
        let ord = match ord {
            1.0 => NormOrder::One,
            2.0 => NormOrder::Two,
            f64::INFINITY => NormOrder::Inf,
            _ => return Err(Error::invalid("ord", "must be 1, 2 or inf").into()),
        };
        let f = self.monotone()?;
        let radius = threads::free(py, || symmetric::radius(f, ord))??;
        Ok((radius.value, radius.exact))
    }
}

impl CoreSetFunction {
    /// The function, where it is monotone.
    fn monotone(&self) -> Result<&dyn SetFunction> {
        check_monotone(self.0.as_ref(), "the set function")?;
        Ok(self.0.as_ref())
    }

    /// One finite number per feature; `argument` is its public name.
    fn vector(&self, argument: &str, vector: &PyReadonlyArray1<'_, f64>) -> PyResult<Vec<f64>> {
        one_per_feature(argument, vector, self.0.n_features())
    }
}

/// Calls a user's set function with a list; what it raises is raised as it is.
fn call_user(callable: &Bound<'_, PyAny>, set: &[usize]) -> PyResult<f64> {
    let py = callable.py();
    let value = callable.call1((PyList::new(py, set)?,))?;
    value.extract().map_err(|cause: PyErr| {
        let error = InvalidArgumentError::new_err(format!(
            "callable must return a number; F({set:?}) is of type {}",
            value
                .get_type()
                .name()
                .map_or_else(|_| "unknown".into(), |name| name.to_string())
        ));
        error.set_cause(py, Some(cause));
        error
    })
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<CoreSetFunction>()
}

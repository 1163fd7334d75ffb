//! Norms for Python: `dpsparse.norms` checks the types of arguments, the crate their values.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::records::one_per_feature;
use super::set_function::CoreSetFunction;
use super::threads;
use crate::error::{Error, Result, non_negative};
use crate::norm::{GroupLasso, Norm, SetFunctionNorm};
use crate::plan::Domain;
use crate::prox::Scratch;

/// A group lasso of the crate.
#[pyclass(module = "dpsparse._core", frozen)]
pub(super) struct CoreGroupLasso(Arc<GroupLasso>);

/// What estimators take for a norm that has no name.
#[derive(FromPyObject)]
pub(super) enum CoreNorm {
    Function(Py<CoreSetFunction>),
    GroupLasso(Py<CoreGroupLasso>),
}

impl CoreNorm {
    /// As private mechanisms take it.
    pub fn domain(&self) -> Domain {
        match self {
            Self::Function(function) => Domain::SetFunction(function.get().function()),
            Self::GroupLasso(norm) => Domain::GroupLasso(norm.get().0.clone()),
        }
    }

    /// As exact fits take it: built without the interpreter, which a user's oracle attaches itself.
    pub fn builder(&self) -> impl FnOnce() -> Result<Arc<dyn Norm>> + Send + use<> {
        let domain = self.domain();
        move || match domain {
            Domain::GroupLasso(norm) => Ok(norm as Arc<dyn Norm>),
            Domain::SetFunction(function) => Ok(Arc::new(SetFunctionNorm::new(function)?)),
            _ => Err(Error::invalid("norm", "is unknown")),
        }
    }
}

#[pymethods]
impl CoreGroupLasso {
    /// Every feature in a group; weights of None are 1 each; `positive` adds theta >= 0.
    #[new]
    fn new(
        py: Python<'_>,
        groups: Vec<Vec<usize>>,
        weights: Option<Vec<f64>>,
        l1: f64,
        positive: bool,
    ) -> PyResult<Self> {
        let norm = threads::free(py, || GroupLasso::new(&groups, weights.as_deref(), l1))??;
        let norm = if positive { norm.on_positive() } else { norm };
        Ok(Self(Arc::new(norm)))
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    #[getter]
    fn overlaps(&self) -> bool {
        self.0.overlaps()
    }

    fn norm(&self, py: Python<'_>, theta: PyReadonlyArray1<'_, f64>) -> PyResult<f64> {
        let theta = self.vector("theta", &theta)?;
        Ok(threads::free(py, || self.0.value(&theta))??)
    }

    fn dual_norm(&self, py: Python<'_>, s: PyReadonlyArray1<'_, f64>) -> PyResult<f64> {
        let s = self.vector("s", &s)?;
        Ok(threads::free(py, || self.0.dual(&s))??)
    }

    fn prox<'py>(
        &self,
        py: Python<'py>,
        v: PyReadonlyArray1<'py, f64>,
        step: f64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let step = non_negative("step", step)?;
        let v = self.vector("v", &v)?;
        let mut x = vec![0.0; v.len()];
        threads::free(py, || {
            (self.0).prox(&v, step, &mut x, &mut Scratch::default())
        })??;
        Ok(x.into_pyarray(py))
    }

    fn norm_ball_vertex<'py>(
        &self,
        py: Python<'py>,
        g: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let g = self.vector("g", &g)?;
        let mut x = vec![0.0; g.len()];
        threads::free(py, || self.0.ball_vertex(&g, &mut x))??;
        Ok(x.into_pyarray(py))
    }
}

impl CoreGroupLasso {
    /// One finite number per feature; `argument` is its public name.
    fn vector(&self, argument: &str, vector: &PyReadonlyArray1<'_, f64>) -> PyResult<Vec<f64>> {
        one_per_feature(argument, vector, self.0.n_features())
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<CoreGroupLasso>()
}

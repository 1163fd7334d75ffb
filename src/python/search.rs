//! Hyper-parameter search for Python: sealed, released and certified like a fit.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::certificate::{PyCertificate, events_to_python};
use super::ledger::ledger_of;
use super::private::{PyPlan, Ranges, ranges_to_python};
use super::records::{Records, to_vec, weights_of};
use super::selection::source;
use super::stopped::told;
use super::threads;
use crate::accounting::accountant::Accountant;
use crate::error::{Error, Result};
use crate::privacy::{Bounds, Target, release_resumably};
use crate::question::LinearModel;
use crate::search::{Search, SearchFacts};

/// Coefficients, class by class where there are three or more, intercepts, and the ranges of the features where they
/// are clipped.
type Model<'py> = (Vec<f64>, Vec<f64>, Option<PyReadonlyArray2<'py, f64>>);

fn linear_models(models: Vec<Model<'_>>) -> PyResult<Vec<LinearModel>> {
    let model = |(coefficients, intercepts, ranges): Model<'_>| {
        Ok(LinearModel {
            coefficients,
            intercepts,
            feature_ranges: ranges.map(|ranges| bounds_of(&ranges)).transpose()?,
        })
    };
    models.into_iter().map(model).collect()
}

fn bounds_of(ranges: &PyReadonlyArray2<'_, f64>) -> Result<Bounds> {
    let ranges = ranges.as_array();
    if ranges.ncols() != 2 {
        return Err(Error::invalid("feature_ranges", "must have two columns"));
    }
    Ok(Bounds {
        lower: ranges.column(0).to_vec(),
        upper: ranges.column(1).to_vec(),
    })
}

/// The public facts of a search.
#[pyclass(name = "SearchFacts", module = "dpsparse._core", frozen)]
pub(super) struct PySearchFacts(pub(super) SearchFacts);

#[pymethods]
impl PySearchFacts {
    #[new]
    #[pyo3(signature = (
        *, n_samples, n_features, n_held_out, share, lower, upper, y_bounds, n_classes=None, counts=false,
        adjacency, records_per_person, max_weight=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        n_samples: usize,
        n_features: usize,
        n_held_out: usize,
        share: f64,
        lower: Vec<f64>,
        upper: Vec<f64>,
        y_bounds: Option<(f64, f64)>,
        n_classes: Option<u32>,
        counts: bool,
        adjacency: &str,
        records_per_person: usize,
        max_weight: Option<f64>,
    ) -> PyResult<Self> {
        let target = match (y_bounds, n_classes) {
            (Some((low, high)), _) if counts => Target::counts(low, high, true),
            (Some((low, high)), _) => Target::Interval { low, high },
            (None, Some(classes)) if classes > 2 => Target::Multiclass { classes },
            (None, _) => Target::Classes,
        };
        let facts = SearchFacts::new(
            n_features,
            Bounds { lower, upper },
            target,
            (n_samples, n_held_out, share),
            adjacency.parse()?,
            records_per_person,
            max_weight,
        )?;
        Ok(Self(facts))
    }

    /// The integer scores by which models, (coefficients, intercepts, feature ranges or None) in the user's units, are
    /// compared on these records, 2^16 for a loss of 1: for a curator's own checks and for tests, never for release.
    #[pyo3(signature = (x, y, models, *, sample_weight=None))]
    fn non_private_scores<'py>(
        &self,
        py: Python<'py>,
        x: Records<'py>,
        y: PyReadonlyArray1<'py, f64>,
        models: Vec<Model<'py>>,
        sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let models = linear_models(models)?;
        let (x, y, weights) = (x.plain()?, to_vec(&y)?, weights_of(sample_weight)?);
        let x = x.views()?;
        let scores = threads::run(py, None, |_| {
            self.0
                .non_private_scores(&x.curator(&y, weights.as_deref()), &models)
        })??;
        Ok(scores.into_pyarray(py))
    }
}

/// Fits, a choice and refits, with what they cost together.
#[pyclass(name = "Search", module = "dpsparse._core", frozen)]
struct PySearch(Search);

/// Index of the winner, its coefficients, intercepts, iterations and ranges, and the certificate of the whole.
type Found<'py> = (
    usize,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    usize,
    Ranges<'py>,
    PyCertificate,
);

#[pymethods]
impl PySearch {
    #[new]
    fn new(
        facts: PyRef<'_, PySearchFacts>,
        fits: Vec<PyRef<'_, PyPlan>>,
        refits: Vec<PyRef<'_, PyPlan>>,
        selection_epsilon: f64,
    ) -> PyResult<Self> {
        let plans = |plans: Vec<PyRef<'_, PyPlan>>| -> Vec<_> {
            plans.iter().map(|plan| Arc::clone(&plan.plan)).collect()
        };
        let (fits, refits) = (plans(fits), plans(refits));
        Ok(Self(Search::new(
            &facts.0,
            fits,
            refits,
            selection_epsilon,
        )?))
    }

    /// Pairs of event and count: everything that the search spends.
    #[getter]
    fn events(&self, py: Python<'_>) -> PyResult<Vec<(Py<PyAny>, u64)>> {
        events_to_python(py, self.0.events()?.into_iter())
    }

    /// The search in words.
    #[getter]
    fn mechanism(&self) -> String {
        self.0.describe()
    }

    /// The least epsilon proved at `delta`, and the least delta proved at `epsilon`.
    fn cost(&self, py: Python<'_>, epsilon: f64, delta: f64) -> PyResult<(f64, f64)> {
        Ok(threads::run(py, None, |_| -> Result<_> {
            let mut accountant = Accountant::new();
            for (event, count) in self.0.events()? {
                accountant.add(event, count)?;
            }
            Ok((accountant.epsilon(delta)?, accountant.delta(epsilon)?))
        })??)
    }

    /// Seals the search for a claim and runs it.
    #[pyo3(signature = (x, y, *, sample_weight=None, epsilon, delta, assumptions, seed, progress, ledger=None, checkpoint=None))]
    #[allow(clippy::too_many_arguments)]
    fn release<'py>(
        &self,
        py: Python<'py>,
        x: Records<'py>,
        y: PyReadonlyArray1<'py, f64>,
        sample_weight: Option<PyReadonlyArray1<'py, f64>>,
        epsilon: f64,
        delta: f64,
        assumptions: Vec<String>,
        seed: Option<u64>,
        progress: Option<Py<PyAny>>,
        ledger: Option<Py<PyAny>>,
        checkpoint: Option<PathBuf>,
    ) -> PyResult<Found<'py>> {
        let (x, y, weights) = (x.plain()?, to_vec(&y)?, weights_of(sample_weight)?);
        let x = x.views()?;
        let mut ledger = ledger_of(ledger);
        let released = threads::run(py, progress.as_ref(), |report| {
            let sealed = self.0.clone().seal(epsilon, delta, assumptions)?;
            let curator = x.curator(&y, weights.as_deref());
            let checkpoint = checkpoint.as_deref();
            let source = source(seed)?;
            release_resumably(&sealed, &curator, &mut ledger, source, report, checkpoint)
        });
        let released = told(py, released, &ledger, checkpoint.is_some())?;
        let found = released.value;
        Ok((
            found.best,
            found.model.coefficients.into_pyarray(py),
            found.model.intercepts.into_pyarray(py),
            found.n_iter,
            ranges_to_python(py, found.feature_ranges),
            PyCertificate(released.certificate),
        ))
    }
}

/// Raises what ingestion under a plan's public facts would raise for records like these.
#[pyfunction]
#[pyo3(signature = (plan, x, y, *, sample_weight=None))]
fn check_storage(
    plan: PyRef<'_, PyPlan>,
    x: Records<'_>,
    y: PyReadonlyArray1<'_, f64>,
    sample_weight: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<()> {
    let (x, y, weights) = (x.plain()?, to_vec(&y)?, weights_of(sample_weight)?);
    x.views()?
        .curator(&y, weights.as_deref())
        .check_storage(&plan.plan.problem.statement)?;
    Ok(())
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PySearchFacts>()?;
    module.add_class::<PySearch>()?;
    module.add_function(wrap_pyfunction!(check_storage, module)?)
}

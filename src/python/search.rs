//! Hyper-parameter search for Python: a choice on held-out records, and the certificate of the whole.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::accounting::event_from_python;
use super::certificate::PyCertificate;
use super::private::PyPlan;
use super::records::{Records, to_vec};
use super::selection::source;
use super::threads;
use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::privacy::answer::{HeldOutPlan, LinearModel, non_private_scores};
use crate::privacy::{BoundedData, Bounds, Geometry, Schema, Target};

/// Coefficients, intercept and the ranges of the features where they are clipped, as `fit_private` returns them.
type Model<'py> = (Vec<f64>, f64, Option<PyReadonlyArray2<'py, f64>>);

fn linear_models(models: Vec<Model<'_>>) -> PyResult<Vec<LinearModel>> {
    let model = |(coefficients, intercept, ranges): Model<'_>| {
        Ok(LinearModel {
            coefficients,
            intercept,
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

/// Records on which released models are compared. Holds records: it never leaves a fit.
#[pyclass(name = "HeldOut", module = "dpsparse._core", frozen)]
struct PyHeldOut(Option<BoundedData>);

#[pymethods]
impl PyHeldOut {
    /// Reads and bounds the records; no records at all are allowed, since their number may be private.
    #[new]
    #[pyo3(signature = (x, y, *, lower, upper, y_bounds))]
    fn new(
        py: Python<'_>,
        x: Records<'_>,
        y: PyReadonlyArray1<'_, f64>,
        lower: Vec<f64>,
        upper: Vec<f64>,
        y_bounds: Option<(f64, f64)>,
    ) -> PyResult<Self> {
        let y = to_vec(&y)?;
        if y.is_empty() {
            return Ok(Self(None));
        }
        let target = y_bounds.map_or(Target::Classes, |(low, high)| Target::Interval {
            low,
            high,
        });
        let x = x.plain()?;
        let bounds = Bounds { lower, upper };
        let schema = Schema::new(
            x.n_features(),
            bounds,
            Geometry::Centred,
            target,
            true,
            None,
        )?;
        let x = x.views()?;
        Ok(Self(Some(threads::run(py, None, |_| {
            x.ingest(&y, &schema)
        })??)))
    }

    /// The index of a model, (coefficients, intercept, feature ranges or None) in the user's units, by the exponential
    /// mechanism.
    #[pyo3(signature = (models, *, epsilon, adjacency, records_per_person, seed))]
    fn choose(
        &self,
        py: Python<'_>,
        models: Vec<Model<'_>>,
        epsilon: f64,
        adjacency: &str,
        records_per_person: usize,
        seed: Option<u64>,
    ) -> PyResult<usize> {
        let models = linear_models(models)?;
        let plan = HeldOutPlan::new(epsilon, adjacency.parse()?, records_per_person)?;
        Ok(threads::run(py, None, |_| -> Result<usize> {
            plan.choose(self.0.as_ref(), &models, &mut source(seed)?)
        })??)
    }

    /// The integer scores behind `choose`, 2^16 for a loss of 1: for a curator's own checks and for tests, never for
    /// release.
    fn non_private_scores<'py>(
        &self,
        py: Python<'py>,
        models: Vec<Model<'py>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let models = linear_models(models)?;
        let scores = threads::run(py, None, |_| non_private_scores(self.0.as_ref(), &models))??;
        Ok(scores.into_pyarray(py))
    }
}

/// Raises what ingestion under a plan's public facts would raise for records like these.
#[pyfunction]
fn check_storage(
    plan: PyRef<'_, PyPlan>,
    x: Records<'_>,
    y: PyReadonlyArray1<'_, f64>,
) -> PyResult<()> {
    let (x, y) = (x.plain()?, to_vec(&y)?);
    x.views()?.ingest(&y, &plan.plan.problem().schema)?;
    Ok(())
}

/// The certificate of a release made from those of `parts` and from answers that spent `events`.
#[pyfunction]
#[pyo3(signature = (parts, events, *, mechanism, claim, n_samples, assumptions))]
fn compose_certificates(
    parts: Vec<PyRef<'_, PyCertificate>>,
    events: Vec<(Bound<'_, PyAny>, u64)>,
    mechanism: String,
    claim: (f64, f64),
    n_samples: usize,
    assumptions: Vec<String>,
) -> PyResult<PyCertificate> {
    let parts: Vec<Certificate> = parts.iter().map(|part| part.0.clone()).collect();
    let events = (events.iter())
        .map(|(event, count)| Ok((event_from_python(event)?, *count)))
        .collect::<PyResult<Vec<_>>>()?;
    let mut composed = Certificate::composed(&parts, &events, mechanism, claim, n_samples)?;
    assumptions
        .into_iter()
        .for_each(|text| composed.assume(text));
    Ok(PyCertificate(composed))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyHeldOut>()?;
    module.add_function(wrap_pyfunction!(check_storage, module)?)?;
    module.add_function(wrap_pyfunction!(compose_certificates, module)?)
}

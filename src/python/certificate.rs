//! Certificates for Python.

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::accounting::{PyAccountant, event_to_python};
use super::error::number;
use crate::accounting::event::Event;
use crate::certificate::Certificate;
use crate::privacy::Bounds;

pub(super) fn events_to_python(
    py: Python<'_>,
    events: impl Iterator<Item = (Event, u64)>,
) -> PyResult<Vec<(Py<PyAny>, u64)>> {
    events
        .map(|(event, count)| Ok((event_to_python(py, &event)?, count)))
        .collect()
}

/// The facts from which anyone can recompute the privacy of a release, and the assumptions that they rest on.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from dpsparse import Certificate, PrivateSparseClassifier
/// >>> X = np.random.default_rng(0).uniform(-1, 1, (1000, 3))
/// >>> model = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1)).fit(X, X[:, 0] > 0)
/// >>> certificate = model.certificate_
/// >>> certificate.claim, certificate.verify(), certificate.epsilon(1e-6) <= 1.0
/// ((1.0, 1e-06), True, True)
/// >>> Certificate.from_json(certificate.to_json()) == certificate
/// True
#[pyclass(name = "Certificate", module = "dpsparse", frozen, eq)]
#[derive(Clone, PartialEq)]
pub(super) struct PyCertificate(pub(super) Certificate);

#[pymethods]
impl PyCertificate {
    /// The least epsilon proved at this delta, of a run with secure randomness; infinite for a release that is not
    /// certified, or a certificate that was changed.
    fn epsilon(&self, delta: &Bound<'_, PyAny>) -> PyResult<f64> {
        Ok(self.0.epsilon(number("delta", delta)?)?)
    }

    /// The least delta proved at this epsilon, of a run with secure randomness; 1 for a release that is not certified,
    /// or a certificate that was changed.
    fn delta(&self, epsilon: &Bound<'_, PyAny>) -> PyResult<f64> {
        Ok(self.0.delta(number("epsilon", epsilon)?)?)
    }

    /// Recompute the claim from the events: True when they cost at most the claimed (epsilon, delta), the mechanism is
    /// proved, all randomness came from the operating system, and the contents are those that were written. Where it is
    /// False, the text begins with NO GUARANTEE and says why.
    fn verify(&self) -> bool {
        self.0.verify()
    }

    /// The (epsilon, delta) that was asked for.
    #[getter]
    fn claim(&self) -> (f64, f64) {
        self.0.claim()
    }

    /// Version of the package that made the release.
    #[getter]
    fn version(&self) -> &str {
        self.0.version()
    }

    /// Number of records (under add-remove: the public normaliser; of a stream: its horizon).
    #[getter]
    fn n_samples(&self) -> usize {
        self.0.n_samples()
    }

    /// Number of features.
    #[getter]
    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    /// The public bound on the Euclidean norm of a scaled row, or None.
    #[getter]
    fn row_norm(&self) -> Option<f64> {
        self.0.row_norm()
    }

    /// The public bounds of y as (low, high); None for classes, and where there is no y.
    #[getter]
    fn y_bounds(&self) -> Option<(f64, f64)> {
        self.0.y_bounds()
    }

    /// The mechanism in words.
    #[getter]
    fn mechanism(&self) -> &str {
        self.0.mechanism()
    }

    /// Pairs of event and count.
    #[getter]
    fn events(&self, py: Python<'_>) -> PyResult<Vec<(Py<PyAny>, u64)>> {
        events_to_python(
            py,
            self.0
                .events()
                .iter()
                .map(|spent| (spent.event, spent.count)),
        )
    }

    /// What the guarantee assumes.
    #[getter]
    fn assumptions(&self) -> Vec<String> {
        self.0.assumptions().to_vec()
    }

    /// Neighbouring relation: "replace-one" or "add-remove".
    #[getter]
    fn adjacency(&self) -> &'static str {
        self.0.adjacency().name()
    }

    /// What is protected as one unit.
    #[getter]
    fn unit(&self) -> &str {
        self.0.unit()
    }

    /// Public bounds of the features: lower and upper, one entry or one per feature.
    #[getter]
    fn bounds<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>) {
        let Bounds { lower, upper } = self.0.bounds().clone();
        (lower.into_pyarray(py), upper.into_pyarray(py))
    }

    /// Whether all randomness came from the operating system; without it there is no guarantee.
    #[getter]
    fn secure(&self) -> bool {
        self.0.secure()
    }

    /// Whether the guarantee is proved.
    #[getter]
    fn certified(&self) -> bool {
        self.0.certified()
    }

    /// JSON text that `from_json` reads back to an equal certificate.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// Read a certificate back; raises InvalidArgumentError for anything else.
    #[classmethod]
    fn from_json(_class: &Bound<'_, PyType>, text: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(Certificate::from_json(&super::error::text(
            "text", text,
        )?)?))
    }

    /// An accountant that holds what this release and another, or several, cost together.
    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyAccountant> {
        PyAccountant::of_release(self.0.clone())?.__add__(other)
    }

    /// As `sum` starts: 0 and a certificate.
    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyAccountant> {
        match other.extract::<u64>() {
            Ok(0) => PyAccountant::of_release(self.0.clone()),
            _ => Err(PyTypeError::new_err(
                "certificates and accountants add up, and nothing else does",
            )),
        }
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String,))> {
        let from_json = slf.get_type().getattr("from_json")?;
        Ok((from_json.unbind(), (slf.get().0.to_json(),)))
    }
}

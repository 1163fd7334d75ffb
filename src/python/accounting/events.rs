//! A class for each kind of event.

use std::hash::{Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use super::super::error::{invalid_type, number, text};
use crate::accounting::event::{Adjacency, Event};

/// One frozen class an event kind, its arguments being its fields, in order.
macro_rules! event_class {
    ($(#[$doc:meta])* $class:ident => $variant:ident { $($field:ident),+ }) => {
        $(#[$doc])*
        #[pyclass(frozen, eq, hash, module = "dpsparse._core")]
        #[derive(Clone, PartialEq)]
        pub(crate) struct $class {
            $(
                #[pyo3(get)]
                $field: f64,
            )+
        }

        impl $class {
            fn event(&self) -> Event {
                Event::$variant { $($field: self.$field),+ }
            }
        }

        impl Hash for $class {
            fn hash<H: Hasher>(&self, state: &mut H) {
                stringify!($class).hash(state);
                $(self.$field.to_bits().hash(state);)+
            }
        }

        #[pymethods]
        impl $class {
            #[new]
            fn new($($field: &Bound<'_, PyAny>),+) -> PyResult<Self> {
                $(let $field = number(stringify!($field), $field)?;)+
                Event::$variant { $($field),+ }.checked()?;
                Ok(Self { $($field),+ })
            }

            /// Upper bound on the Renyi divergence of this order between neighbours; infinite below order 1.
            fn renyi(&self, order: &Bound<'_, PyAny>) -> PyResult<f64> {
                Ok(self.event().renyi(number("order", order)?))
            }

            /// One plain sentence.
            fn describe(&self) -> String {
                self.event().describe()
            }

            fn __repr__(&self) -> String {
                let fields = [$(format!(concat!(stringify!($field), "={:?}"), self.$field)),+];
                format!("{}({})", stringify!($class), fields.join(", "))
            }

            fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
                PyTuple::new(py, [$(self.$field),+])
            }

            fn __reduce__<'py>(
                slf: &Bound<'py, Self>,
            ) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
                Ok((slf.get_type(), slf.get().__getnewargs__(slf.py())?))
            }
        }
    };
}

event_class! {
    /// Gaussian noise, continuous or rounded: the exact curve of Balle and Wang (2018).
    ///
    /// Parameters
    /// ----------
    /// sensitivity : float
    ///     L2 sensitivity of the answer.
    /// sigma : float
    ///     Standard deviation of the noise, in the units of the answer.
    ///
    /// Examples
    /// --------
    /// >>> from dpsparse.privacy import Accountant, GaussianEvent
    /// >>> round(Accountant().add(GaussianEvent(1.0, 10.0), 100).epsilon(1e-6), 2)
    /// 4.89
    GaussianEvent => Gaussian { sensitivity, sigma }
}

event_class! {
    /// Discrete Gaussian noise: zero-concentrated privacy only.
    ///
    /// Parameters
    /// ----------
    /// sensitivity : float
    ///     L2 sensitivity of the integer answer.
    /// sigma : float
    ///     Parameter of the law exp(-k^2/(2 sigma^2)).
    ///
    /// Examples
    /// --------
    /// >>> from dpsparse.privacy import DiscreteGaussianEvent
    /// >>> round(DiscreteGaussianEvent(2.0, 10.0).renyi(5.0), 6)
    /// 0.1
    DiscreteGaussianEvent => DiscreteGaussian { sensitivity, sigma }
}

event_class! {
    /// A choice by the exponential mechanism, or any choice of bounded range.
    ///
    /// Parameters
    /// ----------
    /// epsilon0 : float
    ///     Range of the privacy loss.
    ///
    /// Examples
    /// --------
    /// >>> from dpsparse.privacy import Accountant, ExponentialEvent
    /// >>> Accountant().add(ExponentialEvent(0.5)).epsilon(0.0)
    /// 0.5
    ExponentialEvent => Exponential { epsilon0 }
}

event_class! {
    /// A release that is epsilon-differentially private, of any kind.
    ///
    /// Parameters
    /// ----------
    /// epsilon : float
    ///     Its pure epsilon.
    ///
    /// Examples
    /// --------
    /// >>> from dpsparse.privacy import Accountant, PureEvent
    /// >>> round(Accountant().add(PureEvent(0.25), 4).epsilon(0.0), 6)
    /// 1.0
    PureEvent => Pure { epsilon }
}

event_class! {
    /// Laplace noise, discrete or continuous, accounted as (sensitivity/scale)-differential privacy.
    ///
    /// Parameters
    /// ----------
    /// sensitivity : float
    ///     L1 sensitivity of the answer.
    /// scale : float
    ///     Scale of the law exp(-abs(k)/scale).
    ///
    /// Examples
    /// --------
    /// >>> from dpsparse.privacy import Accountant, LaplaceEvent
    /// >>> round(Accountant().add(LaplaceEvent(1.0, 10.0)).epsilon(0.0), 6)
    /// 0.1
    LaplaceEvent => Laplace { sensitivity, scale }
}

event_class! {
    /// A release of rho-zero-concentrated differential privacy.
    ///
    /// Parameters
    /// ----------
    /// rho : float
    ///     Its parameter: the Renyi divergence of order a is at most rho a.
    ///
    /// Examples
    /// --------
    /// >>> from dpsparse.privacy import Accountant, ZeroConcentratedEvent
    /// >>> Accountant().add(ZeroConcentratedEvent(0.125), 4).rho()
    /// 0.5
    ZeroConcentratedEvent => ZeroConcentrated { rho }
}

event_class! {
    /// A failure: with at most this probability the release may be anything.
    ///
    /// What the release is otherwise, other events say; the accountant adds the probability to every delta. Renyi
    /// curves are those of the release without the failure.
    ///
    /// Parameters
    /// ----------
    /// delta : float
    ///     The probability, strictly between 0 and 1.
    ///
    /// Examples
    /// --------
    /// >>> from dpsparse.privacy import Accountant, FailureEvent, PureEvent
    /// >>> accountant = Accountant().add(PureEvent(0.5)).add(FailureEvent(1e-9))
    /// >>> accountant.delta(0.5) >= 1e-9
    /// True
    FailureEvent => Failure { delta }
}

/// Objective perturbation with Gaussian noise in the objective.
///
/// Parameters
/// ----------
/// lipschitz_norm : float
///     Largest norm of one record's gradient, L R2.
/// sigma : float
///     Standard deviation of the perturbation b.
/// curvature_log : float
///     ln(1 + kappa) with kappa = beta R2^2/(n ridge).
/// adjacency : {"replace-one", "add-remove"}
///     Neighbour relation.
///
/// Examples
/// --------
/// >>> from dpsparse.privacy import Accountant, ObjectivePerturbationEvent
/// >>> event = ObjectivePerturbationEvent(lipschitz_norm=1.0, sigma=5.0, curvature_log=0.01)
/// >>> 0.0 < Accountant().add(event).epsilon(1e-6) < 3.0
/// True
#[pyclass(frozen, eq, hash, module = "dpsparse._core")]
#[derive(Clone, PartialEq)]
pub(crate) struct ObjectivePerturbationEvent {
    #[pyo3(get)]
    lipschitz_norm: f64,
    #[pyo3(get)]
    sigma: f64,
    #[pyo3(get)]
    curvature_log: f64,
    adjacency: Adjacency,
}

impl ObjectivePerturbationEvent {
    fn event(&self) -> Event {
        Event::ObjectivePerturbation {
            lipschitz_norm: self.lipschitz_norm,
            sigma: self.sigma,
            curvature_log: self.curvature_log,
            adjacency: self.adjacency,
        }
    }
}

impl Hash for ObjectivePerturbationEvent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for field in [self.lipschitz_norm, self.sigma, self.curvature_log] {
            field.to_bits().hash(state);
        }
        self.adjacency.hash(state);
    }
}

#[pymethods]
impl ObjectivePerturbationEvent {
    #[new]
    #[pyo3(signature = (lipschitz_norm, sigma, curvature_log, adjacency = None))]
    #[pyo3(text_signature = "(lipschitz_norm, sigma, curvature_log, adjacency='replace-one')")]
    fn new(
        lipschitz_norm: &Bound<'_, PyAny>,
        sigma: &Bound<'_, PyAny>,
        curvature_log: &Bound<'_, PyAny>,
        adjacency: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let lipschitz_norm = number("lipschitz_norm", lipschitz_norm)?;
        let sigma = number("sigma", sigma)?;
        let curvature_log = number("curvature_log", curvature_log)?;
        let adjacency = match adjacency {
            Some(adjacency) => text("adjacency", adjacency)?.parse()?,
            None => Adjacency::ReplaceOne,
        };
        Event::objective_perturbation(lipschitz_norm, sigma, curvature_log, adjacency)?;
        Ok(Self {
            lipschitz_norm,
            sigma,
            curvature_log: curvature_log + 0.0,
            adjacency,
        })
    }

    /// Neighbour relation.
    #[getter]
    fn adjacency(&self) -> &'static str {
        self.adjacency.name()
    }

    /// Upper bound on the Renyi divergence of this order between neighbours; infinite below order 1.
    fn renyi(&self, order: &Bound<'_, PyAny>) -> PyResult<f64> {
        Ok(self.event().renyi(number("order", order)?))
    }

    /// One plain sentence.
    fn describe(&self) -> String {
        self.event().describe()
    }

    fn __repr__(&self) -> String {
        format!(
            "ObjectivePerturbationEvent(lipschitz_norm={:?}, sigma={:?}, curvature_log={:?}, adjacency='{}')",
            self.lipschitz_norm, self.sigma, self.curvature_log, self.adjacency
        )
    }

    fn __getnewargs__(&self) -> (f64, f64, f64, &'static str) {
        (
            self.lipschitz_norm,
            self.sigma,
            self.curvature_log,
            self.adjacency.name(),
        )
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> (Bound<'py, PyType>, (f64, f64, f64, &'static str)) {
        (slf.get_type(), slf.get().__getnewargs__())
    }
}

/// The Python object for an event.
pub(crate) fn event_to_python(py: Python<'_>, event: &Event) -> PyResult<Py<PyAny>> {
    Ok(match *event {
        Event::Gaussian { sensitivity, sigma } => {
            Py::new(py, GaussianEvent { sensitivity, sigma })?.into_any()
        }
        Event::DiscreteGaussian { sensitivity, sigma } => {
            Py::new(py, DiscreteGaussianEvent { sensitivity, sigma })?.into_any()
        }
        Event::Exponential { epsilon0 } => Py::new(py, ExponentialEvent { epsilon0 })?.into_any(),
        Event::Pure { epsilon } => Py::new(py, PureEvent { epsilon })?.into_any(),
        Event::Laplace { sensitivity, scale } => {
            Py::new(py, LaplaceEvent { sensitivity, scale })?.into_any()
        }
        Event::ZeroConcentrated { rho } => Py::new(py, ZeroConcentratedEvent { rho })?.into_any(),
        Event::Failure { delta } => Py::new(py, FailureEvent { delta })?.into_any(),
        Event::ObjectivePerturbation {
            lipschitz_norm,
            sigma,
            curvature_log,
            adjacency,
        } => Py::new(
            py,
            ObjectivePerturbationEvent {
                lipschitz_norm,
                sigma,
                curvature_log,
                adjacency,
            },
        )?
        .into_any(),
    })
}

/// The event behind an object of any of the event classes.
pub(crate) fn event_from_python(object: &Bound<'_, PyAny>) -> PyResult<Event> {
    macro_rules! first_of {
        ($($class:ident),+) => {
            $(if let Ok(event) = object.cast::<$class>() {
                return Ok(event.get().event());
            })+
        };
    }
    first_of!(
        GaussianEvent,
        DiscreteGaussianEvent,
        ExponentialEvent,
        PureEvent,
        LaplaceEvent,
        ZeroConcentratedEvent,
        FailureEvent,
        ObjectivePerturbationEvent
    );
    let kind = object.get_type().name()?;
    let problem = format!(
        "event must be an object of one of the event classes of dpsparse.privacy, such as GaussianEvent(sensitivity=1.0, \
         sigma=4.0); got {kind}"
    );
    Err(invalid_type(object.py(), &problem))
}

//! Events, the accountant and calibration for `dpsparse.privacy`.

use super::certificate::PyCertificate;
use super::error::{InvalidArgumentError, invalid_type, number, text};
use crate::accounting::accountant::Accountant;
use crate::accounting::calibrate as rust;
use crate::accounting::event::{Adjacency, Event};
use crate::certificate::Certificate;
use crate::certificate::ledger::{Entry, Total};
use crate::certificate::owner::Owner;
use crate::error::Error;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use std::hash::{Hash, Hasher};

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

/// A count given as a Python integer; anything but 1 to 2^64 - 1 is out of its domain.
fn count_from_python(name: &str, count: &Bound<'_, PyAny>) -> PyResult<u64> {
    count.extract::<u64>().map_err(|error| {
        let problem = format!("{name} must be an integer from 1 to 2**64 - 1");
        if error.is_instance_of::<PyTypeError>(count.py()) {
            invalid_type(count.py(), &problem)
        } else {
            InvalidArgumentError::new_err(problem)
        }
    })
}

/// How many records a person may have, one where it is not said.
fn persons_from_python(records_per_person: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    records_per_person.map_or(Ok(1), |count| {
        count_from_python("records_per_person", count)
    })
}

/// The certificate that an argument is.
fn certificate_from_python<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a PyCertificate> {
    match object.cast::<PyCertificate>() {
        Ok(certificate) => Ok(certificate.get()),
        Err(_) => Err(invalid_type(
            object.py(),
            "certificate must be a Certificate, as fits have it",
        )),
    }
}

/// Adds privacy events up and converts them to (epsilon, delta); every answer is rounded up.
///
/// The answers hold for adaptively chosen queries whose noise parameters were fixed beforehand. With a budget it also
/// refuses what would break a total that holds however releases are chosen after earlier ones: a ledger in memory,
/// which fits take as `ledger=`; `dpsparse.privacy.Ledger` is one on disk, with the same methods.
///
/// A budget is one: copies of it, and of estimators that hold it, as scikit-learn makes them, spend of the same one. In
/// a process that was forked it is refused, and one that is read back from a pickle can be looked at, but spends
/// nothing before :meth:`resume`.
///
/// Parameters
/// ----------
/// epsilon, delta : float, optional
///     The budget; both or neither. `delta` may be 0, for releases of pure epsilon.
///
/// Examples
/// --------
/// >>> from dpsparse.privacy import Accountant, ExponentialEvent, PureEvent
/// >>> round(Accountant().add(ExponentialEvent(0.1), 100).epsilon(1e-6), 2)
/// 2.25
/// >>> from dpsparse import BudgetExceededError
/// >>> with Accountant(1.0, 1e-6) as budget:
/// ...     try:
/// ...         budget.add(PureEvent(0.75)).add(PureEvent(0.5))
/// ...     except BudgetExceededError:
/// ...         print(budget.remaining(0.0))
/// 0.25
#[pyclass(name = "Accountant", module = "dpsparse._core")]
#[derive(Clone)]
pub(crate) struct PyAccountant {
    accountant: Accountant,
    budget: Option<Total>,
    added: Vec<Added>,
    owner: Owner,
    /// Whether it was read back, so that others may go on with the same budget.
    read_back: bool,
}

/// What was added, in order.
#[derive(Clone)]
enum Added {
    Event(Event, u64),
    Release(Box<Entry>),
}

impl Added {
    fn release(
        certificate: &PyCertificate,
        records_per_person: u64,
        release: Option<String>,
    ) -> Self {
        Self::Release(Box::new(Entry {
            certificate: certificate.0.clone(),
            records_per_person,
            release,
        }))
    }

    /// The neighbour relation that it is for, where it says so.
    fn adjacency(&self) -> Option<Adjacency> {
        match self {
            Self::Event(Event::ObjectivePerturbation { adjacency, .. }, _) => Some(*adjacency),
            Self::Event(..) => None,
            Self::Release(entry) => Some(entry.adjacency()),
        }
    }
}

impl PyAccountant {
    fn empty() -> Self {
        Self {
            accountant: Accountant::new(),
            budget: None,
            added: Vec::new(),
            owner: Owner::default(),
            read_back: false,
        }
    }

    /// Refuses to spend of a budget that others may spend of, too.
    fn spends_alone(&self) -> crate::error::Result<()> {
        if self.budget.is_none() {
            return Ok(());
        }
        if self.read_back {
            return Err(Error::UnsoundMechanism(
                "this budget was read back from what was saved of it, and other copies of that would not see what is spent \
                 here: call resume() where no other one goes on, or take dpsparse.privacy.Ledger, a file that processes share"
                    .into(),
            ));
        }
        self.owner.check(
            "this budget",
            "take dpsparse.privacy.Ledger, a file that processes share",
        )
    }

    /// What one release cost.
    pub(super) fn of_release(certificate: Certificate) -> PyResult<Self> {
        let mut one = Self::empty();
        one.take(Added::release(&PyCertificate(certificate), 1, None))?;
        Ok(one)
    }

    /// Adds all of it to what there is, or nothing.
    fn spend(&mut self, added: Added) -> crate::error::Result<()> {
        self.spends_alone()?;
        self.take(added)
    }

    /// The same, whoever else has the budget.
    fn take(&mut self, added: Added) -> crate::error::Result<()> {
        self.beside(&added)?;
        let mut next = (self.accountant.clone(), self.budget.clone());
        match &added {
            Added::Event(event, count) => {
                next.0.add(*event, *count)?;
                if let Some(budget) = &mut next.1 {
                    budget.add_events(&[(*event, *count)])?;
                }
            }
            Added::Release(entry) => {
                for (event, count) in entry.events() {
                    next.0.add(event, count)?;
                }
                // A total looks at the certificate itself.
                match &mut next.1 {
                    Some(budget) => budget.add(entry)?,
                    None => entry.certificate.countable()?,
                }
            }
        }
        (self.accountant, self.budget) = next;
        self.added.push(added);
        Ok(())
    }

    /// Costs add up where they are for the same neighbours; those for several records of a person bound those for one.
    fn beside(&self, added: &Added) -> crate::error::Result<()> {
        let earlier = self.added.iter().find_map(Added::adjacency);
        if added
            .adjacency()
            .is_none_or(|ours| earlier.unwrap_or(ours) == ours)
        {
            return Ok(());
        }
        Err(match added {
            Added::Event(..) => Error::invalid(
                "event",
                "has another adjacency than an earlier event or release; one budget holds one adjacency",
            ),
            Added::Release(_) => Error::invalid(
                "certificate",
                "is for another neighbour relation than an earlier one; keep one accountant for each",
            ),
        })
    }

    fn releases(&self) -> impl Iterator<Item = &Entry> {
        self.added.iter().filter_map(|added| match added {
            Added::Release(entry) => Some(entry.as_ref()),
            Added::Event(..) => None,
        })
    }

    fn total(&self) -> crate::error::Result<&Total> {
        self.budget.as_ref().ok_or_else(|| {
            Error::invalid(
                "epsilon",
                "and delta must be given to an accountant with a budget",
            )
        })
    }
}

#[pymethods]
impl PyAccountant {
    #[new]
    #[pyo3(signature = (epsilon = None, delta = None))]
    fn new(epsilon: Option<&Bound<'_, PyAny>>, delta: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let epsilon = epsilon
            .map(|epsilon| number("epsilon", epsilon))
            .transpose()?;
        let delta = delta.map(|delta| number("delta", delta)).transpose()?;
        let budget = match (epsilon, delta) {
            (Some(epsilon), Some(delta)) => Some(Total::new((epsilon, delta), None, 1)?),
            (None, None) => None,
            _ => {
                return Err(InvalidArgumentError::new_err(
                    "epsilon and delta must be given together, or neither",
                ));
            }
        };
        Ok(Self {
            budget,
            ..Self::empty()
        })
    }

    /// Add `count` runs of an event, or the release of a certificate (once), and return the accountant itself.
    ///
    /// Raises
    /// ------
    /// BudgetExceededError
    ///     If a budget would not be kept; nothing is added then.
    /// InvalidArgumentError
    ///     If a certificate was changed after it was written, or contradicts itself: its events are not what was spent.
    /// UnsoundMechanismError
    ///     If no guarantee is proved for a release, or others may spend of the same budget.
    #[pyo3(signature = (event, count = None))]
    #[pyo3(text_signature = "($self, event, count=1)")]
    fn add<'py>(
        mut slf: PyRefMut<'py, Self>,
        event: &Bound<'py, PyAny>,
        count: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<PyRefMut<'py, Self>> {
        let count = count.map_or(Ok(1), |count| count_from_python("count", count))?;
        if let Ok(certificate) = event.cast::<PyCertificate>() {
            if count != 1 {
                return Err(InvalidArgumentError::new_err(
                    "count must be 1 for a certificate, which is of one release",
                ));
            }
            slf.spend(Added::release(certificate.get(), 1, None))?;
        } else {
            slf.spend(Added::Event(event_from_python(event)?, count))?;
        }
        Ok(slf)
    }

    /// The least epsilon proved at `delta`, which may be 0; infinite where nothing is proved.
    fn epsilon(&self, delta: &Bound<'_, PyAny>) -> PyResult<f64> {
        Ok(self.accountant.epsilon(number("delta", delta)?)?)
    }

    /// The least delta proved at `epsilon`.
    fn delta(&self, epsilon: &Bound<'_, PyAny>) -> PyResult<f64> {
        Ok(self.accountant.delta(number("epsilon", epsilon)?)?)
    }

    /// The summed zero-concentrated parameter, or None where an event has none; failures are carried apart.
    fn rho(&self) -> Option<f64> {
        self.accountant.rho()
    }

    /// The largest epsilon for which a next release at `delta` would pass the budget (None: its delta): a pure one at
    /// 0, else one of Gaussian noise; 0 where none would.
    #[pyo3(signature = (delta = None))]
    fn remaining(&self, delta: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        let delta = delta.map(|delta| number("delta", delta)).transpose()?;
        let filter = self.total()?.filter();
        Ok(filter.remaining(delta.unwrap_or(filter.total().1))?)
    }

    /// The epsilon of all that was added, at `delta` (None: that of the budget), had it been chosen in advance.
    #[pyo3(signature = (delta = None))]
    fn spent(&self, delta: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        let delta = match delta {
            Some(delta) => number("delta", delta)?,
            None => self.total()?.filter().total().1,
        };
        Ok(self.accountant.epsilon(delta)?)
    }

    /// Whether all releases that were added drew their randomness from the operating system; what seeded ones cost is
    /// counted, but does not bound what they tell.
    #[getter]
    fn secure(&self) -> bool {
        self.releases().all(|entry| entry.certificate.secure())
    }

    /// Go on with a budget that was read back from a pickle, and return it: no other copy of it may go on.
    fn resume(mut slf: PyRefMut<'_, Self>) -> PyRefMut<'_, Self> {
        slf.read_back = false;
        slf
    }

    /// The certificates that were added, in order.
    fn entries(&self) -> Vec<PyCertificate> {
        let releases = self.releases();
        releases
            .map(|entry| PyCertificate(entry.certificate.clone()))
            .collect()
    }

    /// Raise where a release would be refused now; it adds nothing.
    #[pyo3(signature = (certificate, records_per_person = None))]
    #[pyo3(text_signature = "($self, certificate, records_per_person=1)")]
    fn admits(
        &self,
        certificate: &Bound<'_, PyAny>,
        records_per_person: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let certificate = certificate_from_python(certificate)?;
        let records_per_person = persons_from_python(records_per_person)?;
        Ok((self.clone()).spend(Added::release(certificate, records_per_person, None))?)
    }

    /// Add a release before it is made, as fits do; returns its number among the entries. One with a mark `release` may
    /// go on after a stop: it is added once.
    #[pyo3(signature = (certificate, records_per_person = None, release = None))]
    #[pyo3(text_signature = "($self, certificate, records_per_person=1, release=None)")]
    fn commit(
        &mut self,
        certificate: &Bound<'_, PyAny>,
        records_per_person: Option<&Bound<'_, PyAny>>,
        release: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let certificate = certificate_from_python(certificate)?;
        let records_per_person = persons_from_python(records_per_person)?;
        let release = release
            .map(|release| text("release", release))
            .transpose()?;
        self.spends_alone()?;
        let added = Added::release(certificate, records_per_person, release);
        let held = |held: &Entry| matches!(&added, Added::Release(entry) if entry.is_held_as(held));
        if let Some(number) = self.releases().position(held) {
            return Ok(number);
        }
        self.take(added)?;
        Ok(self.releases().count() - 1)
    }

    /// The events with their counts, as (event, count) pairs in the order of their first addition.
    #[getter]
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let pairs = self
            .accountant
            .events()
            .iter()
            .map(|(event, count)| Ok((event_to_python(py, event)?, *count)))
            .collect::<PyResult<Vec<_>>>()?;
        PyTuple::new(py, pairs)
    }

    /// An accountant without a budget that holds what this one and a certificate, or another accountant, cost together.
    pub(super) fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let more = if let Ok(certificate) = other.cast::<PyCertificate>() {
            vec![Added::release(certificate.get(), 1, None)]
        } else if let Ok(accountant) = other.cast::<Self>() {
            accountant.borrow().added.clone()
        } else {
            return Err(invalid_type(
                other.py(),
                "certificates and accountants add up, and nothing else does",
            ));
        };
        let mut sum = Self {
            accountant: self.accountant.clone(),
            added: self.added.clone(),
            ..Self::empty()
        };
        for added in more {
            sum.take(added)?;
        }
        Ok(sum)
    }

    /// A budget is one, whoever holds it: a copy with room of its own would spend it twice.
    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        if slf.borrow().budget.is_some() {
            return Ok(slf.clone());
        }
        let copy = slf.borrow().clone();
        Bound::new(slf.py(), copy)
    }

    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        Self::__copy__(slf)
    }

    /// Estimators are cloned to be fitted: what they spend belongs to this one, with a budget or without.
    fn __sklearn_clone__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {}

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let this = slf.borrow();
        let budget = match &this.budget {
            Some(budget) => {
                let (epsilon, delta) = budget.filter().total();
                PyTuple::new(py, [epsilon, delta])?
            }
            None => PyTuple::empty(py),
        };
        let added = this.added.iter().map(|added| {
            Ok(match added {
                Added::Event(event, count) => (event_to_python(py, event)?, *count, None),
                Added::Release(entry) => {
                    let certificate = Py::new(py, PyCertificate(entry.certificate.clone()))?;
                    let (persons, mark) = (entry.records_per_person, entry.release.clone());
                    (certificate.into_any(), persons, mark)
                }
            })
        });
        let added = added.collect::<PyResult<Vec<_>>>()?;
        PyTuple::new(
            py,
            [
                slf.get_type().into_any(),
                budget.into_any(),
                added.into_pyobject(py)?.into_any(),
            ],
        )
    }

    fn __setstate__(
        &mut self,
        added: Vec<(Bound<'_, PyAny>, u64, Option<String>)>,
    ) -> PyResult<()> {
        self.read_back = true;
        for (added, number, mark) in added {
            self.take(match added.cast::<PyCertificate>() {
                Ok(certificate) => Added::release(certificate.get(), number, mark),
                Err(_) => Added::Event(event_from_python(&added)?, number),
            })?;
        }
        Ok(())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let budget = self.budget.as_ref().map_or(String::new(), |budget| {
            let (epsilon, delta) = budget.filter().total();
            format!("{epsilon:?}, {delta:?}")
        });
        let additions = self
            .accountant
            .events()
            .iter()
            .map(|(event, count)| {
                let event = event_to_python(py, event)?.bind(py).repr()?.to_string();
                Ok(if *count == 1 {
                    format!(".add({event})")
                } else {
                    format!(".add({event}, {count})")
                })
            })
            .collect::<PyResult<String>>()?;
        Ok(format!("Accountant({budget}){additions}"))
    }
}

/// The least noisy parameter whose `count` events meet (epsilon, delta), from the private side.
///
/// Parameters
/// ----------
/// make_event : callable
///     Takes the parameter, a float, and returns an event; its noise must be monotone in the parameter.
/// count : int
///     How often the event happens.
/// epsilon, delta : float
///     The budget; delta may be 0 for events that are purely private.
/// bracket : tuple of float
///     Ends of the search, lower first; at least one must be private.
///
/// Returns
/// -------
/// float
///     The parameter; the less noisy end where the whole bracket is private.
///
/// Examples
/// --------
/// >>> from dpsparse.privacy import GaussianEvent, calibrate
/// >>> round(calibrate(lambda sigma: GaussianEvent(1.0, sigma), 1, 1.0, 1e-6, bracket=(0.1, 100.0)), 3)
/// 4.225
#[pyfunction]
#[pyo3(signature = (make_event, count, epsilon, delta, *, bracket))]
fn calibrate(
    make_event: &Bound<'_, PyAny>,
    count: &Bound<'_, PyAny>,
    epsilon: &Bound<'_, PyAny>,
    delta: &Bound<'_, PyAny>,
    bracket: &Bound<'_, PyAny>,
) -> PyResult<f64> {
    if !make_event.is_callable() {
        let problem = "make_event must be a function that takes a parameter and returns an event";
        return Err(invalid_type(make_event.py(), problem));
    }
    let Ok(bracket) = bracket.extract::<(f64, f64)>() else {
        let problem = "bracket must be a pair (lower, upper) of numbers";
        return Err(invalid_type(bracket.py(), problem));
    };
    let make = |parameter: f64| event_from_python(&make_event.call1((parameter,))?);
    let count = count_from_python("count", count)?;
    let (epsilon, delta) = (number("epsilon", epsilon)?, number("delta", delta)?);
    rust::calibrate(make, count, epsilon, delta, bracket)
}

/// The largest rho whose tight conversion meets (epsilon, delta), rounded down.
///
/// Parameters
/// ----------
/// epsilon, delta : float
///     The budget.
///
/// Returns
/// -------
/// float
///     The zero-concentrated parameter.
///
/// Examples
/// --------
/// >>> from dpsparse.privacy import epsilon_from_rho, rho_from_epsilon
/// >>> rho = rho_from_epsilon(1.0, 1e-6)
/// >>> round(rho, 4), epsilon_from_rho(rho, 1e-6) <= 1.0
/// (0.0244, True)
#[pyfunction]
fn rho_from_epsilon(epsilon: &Bound<'_, PyAny>, delta: &Bound<'_, PyAny>) -> PyResult<f64> {
    let (epsilon, delta) = (number("epsilon", epsilon)?, number("delta", delta)?);
    Ok(rust::rho_from_epsilon(epsilon, delta)?)
}

/// The least epsilon at `delta` that rho-zero-concentrated privacy implies, rounded up.
///
/// Parameters
/// ----------
/// rho : float
///     The zero-concentrated parameter.
/// delta : float
///     The probability left out.
///
/// Returns
/// -------
/// float
///     epsilon by the tight conversion of Canonne, Kamath and Steinke (2020).
///
/// Examples
/// --------
/// >>> from dpsparse.privacy import epsilon_from_rho
/// >>> round(epsilon_from_rho(0.01, 1e-6), 2)
/// 0.62
#[pyfunction]
fn epsilon_from_rho(rho: &Bound<'_, PyAny>, delta: &Bound<'_, PyAny>) -> PyResult<f64> {
    let (rho, delta) = (number("rho", rho)?, number("delta", delta)?);
    Ok(rust::epsilon_from_rho(rho, delta)?)
}

/// The least sigma of Gaussian noise for (epsilon, delta) by the exact curve, rounded up.
///
/// Parameters
/// ----------
/// sensitivity : float
///     L2 sensitivity of the answer.
/// epsilon, delta : float
///     The budget.
///
/// Returns
/// -------
/// float
///     The standard deviation, in the units of the sensitivity.
///
/// Examples
/// --------
/// >>> from dpsparse.privacy import gaussian_sigma
/// >>> round(gaussian_sigma(1.0, 1.0, 1e-6), 3)
/// 4.225
#[pyfunction]
fn gaussian_sigma(
    sensitivity: &Bound<'_, PyAny>,
    epsilon: &Bound<'_, PyAny>,
    delta: &Bound<'_, PyAny>,
) -> PyResult<f64> {
    let sensitivity = number("sensitivity", sensitivity)?;
    let (epsilon, delta) = (number("epsilon", epsilon)?, number("delta", delta)?);
    Ok(rust::gaussian_sigma(sensitivity, epsilon, delta)?)
}

/// Adds the classes and functions to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<GaussianEvent>()?;
    module.add_class::<DiscreteGaussianEvent>()?;
    module.add_class::<ExponentialEvent>()?;
    module.add_class::<PureEvent>()?;
    module.add_class::<LaplaceEvent>()?;
    module.add_class::<ZeroConcentratedEvent>()?;
    module.add_class::<FailureEvent>()?;
    module.add_class::<ObjectivePerturbationEvent>()?;
    module.add_class::<PyAccountant>()?;
    module.add_function(wrap_pyfunction!(calibrate, module)?)?;
    module.add_function(wrap_pyfunction!(rho_from_epsilon, module)?)?;
    module.add_function(wrap_pyfunction!(epsilon_from_rho, module)?)?;
    module.add_function(wrap_pyfunction!(gaussian_sigma, module)?)
}

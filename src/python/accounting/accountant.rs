//! The accountant, a budget where it has one.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::super::certificate::PyCertificate;
use super::super::error::{InvalidArgumentError, invalid_type, number, text};
use super::count_from_python;
use super::events::{event_from_python, event_to_python};
use crate::accounting::accountant::Accountant;
use crate::accounting::event::{Adjacency, Event};
use crate::certificate::Certificate;
use crate::certificate::ledger::{Entry, Total};
use crate::certificate::owner::Owner;
use crate::error::Error;

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
    pub(crate) fn of_release(certificate: Certificate) -> PyResult<Self> {
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
    pub(crate) fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
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

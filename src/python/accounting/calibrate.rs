//! Noise for a budget, and conversions of budgets.

use pyo3::prelude::*;

use super::super::error::{invalid_type, number};
use super::count_from_python;
use super::events::event_from_python;
use crate::accounting::calibrate as rust;

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
pub(super) fn calibrate(
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
pub(super) fn rho_from_epsilon(
    epsilon: &Bound<'_, PyAny>,
    delta: &Bound<'_, PyAny>,
) -> PyResult<f64> {
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
pub(super) fn epsilon_from_rho(rho: &Bound<'_, PyAny>, delta: &Bound<'_, PyAny>) -> PyResult<f64> {
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
pub(super) fn gaussian_sigma(
    sensitivity: &Bound<'_, PyAny>,
    epsilon: &Bound<'_, PyAny>,
    delta: &Bound<'_, PyAny>,
) -> PyResult<f64> {
    let sensitivity = number("sensitivity", sensitivity)?;
    let (epsilon, delta) = (number("epsilon", epsilon)?, number("delta", delta)?);
    Ok(rust::gaussian_sigma(sensitivity, epsilon, delta)?)
}

//! Events, the accountant and calibration for `dpsparse.privacy`.

mod accountant;
mod calibrate;
mod events;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::error::{InvalidArgumentError, invalid_type};

pub(crate) use accountant::PyAccountant;
pub(crate) use events::event_to_python;

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

/// Adds the classes and functions to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<events::GaussianEvent>()?;
    module.add_class::<events::DiscreteGaussianEvent>()?;
    module.add_class::<events::ExponentialEvent>()?;
    module.add_class::<events::PureEvent>()?;
    module.add_class::<events::LaplaceEvent>()?;
    module.add_class::<events::ZeroConcentratedEvent>()?;
    module.add_class::<events::FailureEvent>()?;
    module.add_class::<events::ObjectivePerturbationEvent>()?;
    module.add_class::<PyAccountant>()?;
    module.add_function(wrap_pyfunction!(calibrate::calibrate, module)?)?;
    module.add_function(wrap_pyfunction!(calibrate::rho_from_epsilon, module)?)?;
    module.add_function(wrap_pyfunction!(calibrate::epsilon_from_rho, module)?)?;
    module.add_function(wrap_pyfunction!(calibrate::gaussian_sigma, module)?)
}

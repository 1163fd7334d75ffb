use crate::Error;
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;

create_exception!(dpsparse._core, DpsparseError, PyValueError);
create_exception!(dpsparse._core, InvalidArgumentError, DpsparseError);
create_exception!(dpsparse._core, InvalidDataError, DpsparseError);

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::InvalidArgument { .. } => InvalidArgumentError::new_err(text),
            Error::InvalidData(_) => InvalidDataError::new_err(text),
            Error::Interrupted => PyKeyboardInterrupt::new_err(text),
            _ => DpsparseError::new_err(text),
        }
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("DpsparseError", py.get_type::<DpsparseError>())?;
    module.add(
        "InvalidArgumentError",
        py.get_type::<InvalidArgumentError>(),
    )?;
    module.add("InvalidDataError", py.get_type::<InvalidDataError>())
}

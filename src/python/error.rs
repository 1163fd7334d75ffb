//! The crate's errors as Python exceptions, all under `dpsparse.DpsparseError`.

use crate::error::Error;
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;

create_exception!(
    dpsparse,
    DpsparseError,
    PyValueError,
    "Base of every error that dpsparse raises on purpose."
);
create_exception!(
    dpsparse,
    InvalidArgumentError,
    DpsparseError,
    "An argument is out of its domain; the message starts with its name."
);
create_exception!(
    dpsparse,
    InvalidDataError,
    DpsparseError,
    "The records are unusable: shape, non-finite entries or labels. No message holds a value."
);
create_exception!(
    dpsparse,
    UnsoundMechanismError,
    DpsparseError,
    "No privacy guarantee is proved for this combination; the message says what would be sound."
);
create_exception!(
    dpsparse,
    BudgetExceededError,
    DpsparseError,
    "More privacy was asked for than the plan or the budget holds."
);
create_exception!(
    dpsparse,
    UserLossError,
    DpsparseError,
    "A user's own loss raised or is unusable."
);
create_exception!(
    dpsparse,
    NotSubmodularError,
    DpsparseError,
    "A user's set function is not submodular; the message shows sets that prove it."
);
create_exception!(
    dpsparse,
    TooLargeError,
    DpsparseError,
    "More memory is needed than the machine gives; the message says how much."
);
create_exception!(
    dpsparse,
    RandomnessError,
    DpsparseError,
    "The operating system gave no randomness."
);

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::InvalidArgument { .. } => InvalidArgumentError::new_err(message),
            Error::InvalidData(_) => InvalidDataError::new_err(message),
            Error::UnsoundMechanism(_) => UnsoundMechanismError::new_err(message),
            Error::BudgetExceeded(_) => BudgetExceededError::new_err(message),
            Error::UserLoss(_) => UserLossError::new_err(message),
            Error::NotSubmodular { .. } => NotSubmodularError::new_err(message),
            // An exception of the user's own code goes on as if nothing stood in between.
            Error::User(user) => Python::attach(|py| match user.downcast_ref::<PyErr>() {
                Some(raised) => raised.clone_ref(py),
                None => DpsparseError::new_err(message),
            }),
            Error::TooLarge { .. } => TooLargeError::new_err(message),
            Error::Randomness(_) => RandomnessError::new_err(message),
            Error::Interrupted => PyKeyboardInterrupt::new_err(message),
        }
    }
}

/// Adds the exceptions to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("DpsparseError", py.get_type::<DpsparseError>())?;
    module.add(
        "InvalidArgumentError",
        py.get_type::<InvalidArgumentError>(),
    )?;
    module.add("InvalidDataError", py.get_type::<InvalidDataError>())?;
    module.add(
        "UnsoundMechanismError",
        py.get_type::<UnsoundMechanismError>(),
    )?;
    module.add("BudgetExceededError", py.get_type::<BudgetExceededError>())?;
    module.add("UserLossError", py.get_type::<UserLossError>())?;
    module.add("NotSubmodularError", py.get_type::<NotSubmodularError>())?;
    module.add("TooLargeError", py.get_type::<TooLargeError>())?;
    module.add("RandomnessError", py.get_type::<RandomnessError>())
}

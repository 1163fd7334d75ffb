//! The crate's errors as Python exceptions, all under `dpsparse.DpsparseError`.

use crate::error::Error;
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOverflowError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    dpsparse,
    DpsparseError,
    PyValueError,
    "Base of every error that dpsparse raises on purpose.

    Examples
    --------
    >>> from dpsparse import DpsparseError, PrivateSparseClassifier
    >>> try:
    ...     PrivateSparseClassifier(epsilon=-1.0, bounds=(-1, 1)).plan(1000, 5)
    ... except DpsparseError as error:
    ...     print(type(error).__name__)
    InvalidArgumentError
    "
);
create_exception!(
    dpsparse,
    InvalidArgumentError,
    DpsparseError,
    "An argument is out of its domain; the message starts with its name.

    Examples
    --------
    >>> from dpsparse import InvalidArgumentError
    >>> from dpsparse.privacy import gaussian_sigma
    >>> try:
    ...     gaussian_sigma(1.0, -1.0, 1e-6)
    ... except InvalidArgumentError as error:
    ...     print(str(error).split()[0])
    epsilon
    "
);
create_exception!(
    dpsparse,
    InvalidDataError,
    DpsparseError,
    "The records are unusable: shape, non-finite entries or labels. No message holds a value.

    Examples
    --------
    >>> from dpsparse import InvalidDataError, PrivateSparseClassifier
    >>> try:
    ...     PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1)).fit([[float('nan')], [0.0]], [0, 1])
    ... except InvalidDataError:
    ...     print('refused')
    refused
    "
);
create_exception!(
    dpsparse,
    UnsoundMechanismError,
    DpsparseError,
    "No privacy guarantee is proved for this combination; the message says what would be sound.

    Examples
    --------
    >>> from dpsparse import PrivateSparseClassifier, UnsoundMechanismError
    >>> model = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1, 2), mechanism='objective-perturbation')
    >>> try:
    ...     model.plan(1000, 5)
    ... except UnsoundMechanismError as error:
    ...     print('noisy-newton' in str(error))
    True
    "
);
create_exception!(
    dpsparse,
    BudgetExceededError,
    DpsparseError,
    "More privacy was asked for than the plan or the budget holds.

    Examples
    --------
    >>> from dpsparse import BudgetExceededError, PrivateOnlineSimplex
    >>> leader = PrivateOnlineSimplex(1.0, 1e-6, horizon=1, n_features=2, bound=1.0)
    >>> leader.update([0.5, 0.1])
    >>> try:
    ...     leader.update([0.2, 0.3])
    ... except BudgetExceededError:
    ...     print('the horizon is used up')
    the horizon is used up
    "
);
create_exception!(
    dpsparse,
    UserLossError,
    DpsparseError,
    "A user's own loss raised or is unusable.

    Examples
    --------
    >>> from dpsparse import PrivateSparseClassifier, UserLossError
    >>> model = PrivateSparseClassifier(loss=lambda z, y: 1 / 0, bounds=(-1, 1), classes=(0, 1))
    >>> try:
    ...     model.plan(1000, 5)
    ... except UserLossError:
    ...     print('refused before any records are read')
    refused before any records are read
    "
);
create_exception!(
    dpsparse,
    NotSubmodularError,
    DpsparseError,
    "A user's set function is not submodular; the message shows sets that prove it.

    Examples
    --------
    >>> from dpsparse import NotSubmodularError
    >>> from dpsparse.set_functions import FromOracle
    >>> try:
    ...     FromOracle(lambda A: len(A) ** 2, 3)
    ... except NotSubmodularError as error:
    ...     print('F(A+i) + F(A+j)' in str(error))
    True
    "
);
create_exception!(
    dpsparse,
    TooLargeError,
    DpsparseError,
    "More memory is needed than the machine gives; the message says how much.

    Examples
    --------
    >>> from dpsparse import PrivateSparseClassifier, TooLargeError
    >>> try:
    ...     PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1), mechanism='frank-wolfe').plan(1000, 4 * 10**9)
    ... except TooLargeError as error:
    ...     print('bytes' in str(error))
    True
    "
);
create_exception!(
    dpsparse,
    StorageError,
    DpsparseError,
    "Blocks of records could not be kept in files: no such directory, no permission or no room.

    Examples
    --------
    >>> from dpsparse import DpsparseError, StorageError
    >>> issubclass(StorageError, DpsparseError)
    True
    "
);
create_exception!(
    dpsparse,
    CheckpointError,
    DpsparseError,
    "A checkpoint cannot serve: damaged, in use, of another fit, or not to be written. Nothing is spent where a fit starts.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import CheckpointError, PrivateSparseClassifier
    >>> model = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1))
    >>> try:
    ...     model.fit(np.zeros((100, 2)), np.arange(100) % 2, checkpoint='no such folder/fit.checkpoint')
    ... except CheckpointError:
    ...     print('refused')
    refused
    "
);
create_exception!(
    dpsparse,
    WorkersError,
    DpsparseError,
    "Records on other machines could not be asked: workers are lost for good, or answered something else than sums.

    Examples
    --------
    >>> from dpsparse import DpsparseError, WorkersError
    >>> issubclass(WorkersError, DpsparseError)
    True
    "
);
create_exception!(
    dpsparse,
    RandomnessError,
    DpsparseError,
    "The operating system gave no randomness.

    Examples
    --------
    >>> from dpsparse import DpsparseError, RandomnessError
    >>> issubclass(RandomnessError, DpsparseError)
    True
    "
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
            Error::Storage => StorageError::new_err(message),
            Error::Checkpoint(_) => CheckpointError::new_err(message),
            Error::Workers(_) => WorkersError::new_err(message),
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
    module.add("StorageError", py.get_type::<StorageError>())?;
    module.add("CheckpointError", py.get_type::<CheckpointError>())?;
    module.add("WorkersError", py.get_type::<WorkersError>())?;
    module.add("RandomnessError", py.get_type::<RandomnessError>())
}

/// `dpsparse.InvalidTypeError`, which Python adds to the exceptions of this module: for arguments of another kind, a
/// `TypeError` too.
pub(crate) fn invalid_type(py: Python<'_>, message: &str) -> PyErr {
    let made = || {
        let class = py.import("dpsparse.errors")?.getattr("InvalidTypeError")?;
        class.call1((message,))
    };
    made().map_or_else(|error| error, PyErr::from_value)
}

/// A number, whatever Python has for one; the error names the argument.
pub(crate) fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let kind = value.get_type();
    let refused = || invalid_type(value.py(), &format!("{name} must be a number; got {kind}"));
    // Spans of time, which numpy counts among its integers: one of nanoseconds would be their number.
    if kind.name()? == "timedelta64" {
        return Err(refused());
    }
    value.extract::<f64>().map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            return InvalidArgumentError::new_err(format!("{name} must be finite"));
        }
        refused()
    })
}

/// Text; the error names the argument.
pub(crate) fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    value
        .extract::<String>()
        .map_err(|_| invalid_type(value.py(), &format!("{name} must be text")))
}

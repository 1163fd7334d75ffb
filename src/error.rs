//! The crate's one error type. No message contains a value taken from a record ([`crate::theory_of_privacy::leaks`]).

use std::sync::Arc;

/// Result of a fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can go wrong, in the classes that users tell apart.
///
/// ```
/// use dpsparse::Error;
/// let error = Error::invalid("epsilon", "must be positive and finite");
/// assert_eq!(error.to_string(), "epsilon must be positive and finite");
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is out of its domain; `argument` is its public name.
    #[error("{argument} {problem}")]
    InvalidArgument {
        /// Name of the argument as the user wrote it.
        argument: String,
        /// What is wrong with it and what to do, without data values.
        problem: String,
    },
    /// The records themselves are unusable (shape, non-finite entries, labels).
    #[error("{0}")]
    InvalidData(String),
    /// A combination for which no privacy guarantee is proved; the text says what would be sound.
    #[error("{0}")]
    UnsoundMechanism(String),
    /// More privacy was asked for than the plan or the budget holds.
    #[error("{0}")]
    BudgetExceeded(String),
    /// A user's own loss raised or is unusable.
    #[error("{0}")]
    UserLoss(String),
    /// A caller's set function has rising gains; set functions are public, so the text shows the values.
    #[error(
        "the set function is not submodular: with A = {set:?}, i = {i}, j = {j}, F(A+i) + F(A+j) = {} + {} is less than \
         F(A+i+j) + F(A) = {} + {}", values[0], values[1], values[2], values[3]
    )]
    NotSubmodular {
        /// A.
        set: Vec<usize>,
        /// A feature outside A.
        i: usize,
        /// Another.
        j: usize,
        /// F(A+i), F(A+j), F(A+i+j), F(A).
        values: [f64; 4],
    },
    /// What a caller's own set function returned instead of a value.
    #[error(transparent)]
    User(#[from] UserError),
    /// More memory is needed than there is.
    #[error("needs {}of memory, which this machine does not give", size_text(.bytes))]
    TooLarge {
        /// How much; None where that follows from records, whose number and storage may be private.
        bytes: Option<u128>,
    },
    /// Integers of records could not be kept in files. The text does not say how much, which follows from records.
    #[error(
        "the directory for blocks of records does not exist, cannot be written to, or has no room for them"
    )]
    Storage,
    /// A checkpoint that cannot serve; the text says why and what to do.
    #[error("checkpoint {0}")]
    Checkpoint(String),
    /// Records that are on other machines could not be asked: workers are lost for good, or answered something else
    /// than the sums that they were asked for. The text holds no data.
    #[error("the workers that hold the records {0}")]
    Workers(&'static str),
    /// The operating system gave no randomness.
    #[error("the operating system gave no randomness: {0}")]
    Randomness(String),
    /// The caller's progress callback asked to stop (for instance Ctrl-C).
    #[error("interrupted")]
    Interrupted,
}

/// What precedes "of memory".
fn size_text(bytes: &Option<u128>) -> String {
    bytes.map_or_else(|| "an amount ".into(), |bytes| format!("{bytes} bytes "))
}

impl Error {
    /// An [`Error::Checkpoint`].
    pub(crate) fn checkpoint(problem: impl Into<String>) -> Self {
        Error::Checkpoint(problem.into())
    }

    /// An [`Error::InvalidArgument`].
    pub fn invalid(argument: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::InvalidArgument {
            argument: argument.into(),
            problem: problem.into(),
        }
    }
}

/// The argument of a name, where it is positive and finite.
pub(crate) fn positive(argument: &str, value: f64) -> Result<f64> {
    match value > 0.0 && value.is_finite() {
        true => Ok(value),
        false => Err(Error::invalid(argument, "must be positive and finite")),
    }
}

/// The argument of a name, where it is non-negative and finite.
pub(crate) fn non_negative(argument: &str, value: f64) -> Result<f64> {
    match value >= 0.0 && value.is_finite() {
        true => Ok(value),
        false => Err(Error::invalid(argument, "must be non-negative and finite")),
    }
}

/// The argument of a name, where it lies strictly between 0 and 1.
pub(crate) fn fraction(argument: &str, value: f64) -> Result<f64> {
    match value > 0.0 && value < 1.0 {
        true => Ok(value),
        false => {
            let problem = "must lie strictly between 0 and 1";
            Err(Error::invalid(argument, problem))
        }
    }
}

/// An error of a caller's own code, carried as it is. Two are equal where they are the same object.
///
/// ```
/// use dpsparse::error::{Error, UserError};
/// let error = Error::from(UserError::new(std::fmt::Error));
/// let Error::User(inner) = &error else { panic!() };
/// assert!(inner.downcast_ref::<std::fmt::Error>().is_some());
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct UserError(Arc<dyn std::error::Error + Send + Sync>);

impl UserError {
    /// Wraps an error.
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(error))
    }

    /// The error itself, where it is of this type.
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

impl PartialEq for UserError {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

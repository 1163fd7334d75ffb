//! The crate's one error type. No message contains a value taken from a record (MECHANISMS M13).

/// Result of a fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can go wrong, in the classes that users tell apart.
///
/// ```
/// use dpsparse::Error;
/// let error = Error::invalid("epsilon", "must be positive and finite");
/// assert_eq!(error.to_string(), "epsilon must be positive and finite");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
    /// The operating system gave no randomness.
    #[error("the operating system gave no randomness: {0}")]
    Randomness(String),
    /// The caller's progress callback asked to stop (for instance Ctrl-C).
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// An [`Error::InvalidArgument`].
    pub fn invalid(argument: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::InvalidArgument {
            argument: argument.into(),
            problem: problem.into(),
        }
    }
}

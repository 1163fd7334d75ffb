//! Which process a budget or a stream belongs to.

use crate::error::{Error, Result};

/// The process that made something which counts what was spent. A process that is forked off has a copy of it, which
/// would count by itself: both would spend the same budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner(u32);

impl Default for Owner {
    /// This process.
    fn default() -> Self {
        Self(std::process::id())
    }
}

impl Owner {
    /// A process that this one is not.
    #[cfg(test)]
    pub fn another() -> Self {
        Self(std::process::id() ^ 1)
    }

    /// Whether this is the owner.
    pub fn is_here(self) -> bool {
        self == Self::default()
    }

    /// Refuses another process than the owner; `what` is what would be spent twice, `instead` what to do.
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`].
    pub fn check(self, what: &str, instead: &str) -> Result<()> {
        if self.is_here() {
            return Ok(());
        }
        Err(Error::UnsoundMechanism(format!(
            "{what} belongs to the process that this one was forked from, and what is spent here would not be counted \
             there: {instead}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the process itself; a fork has another number.
    #[test]
    fn another_process_is_refused() {
        assert!(Owner::default().check("a budget", "use a file").is_ok());
        let error = Owner::another()
            .check("a budget", "use a file")
            .unwrap_err();
        assert!(matches!(error, Error::UnsoundMechanism(_)));
        let text = error.to_string();
        assert!(text.contains("a budget belongs") && text.ends_with("there: use a file"));
    }
}

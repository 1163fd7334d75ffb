//! Memory for records. How much they take follows from their number and from what they store, which may be private: the
//! error does not say.

use crate::error::{Error, Result};
use crate::numeric::allocate;

fn silent(error: Error) -> Error {
    match error {
        Error::TooLarge { .. } => Error::TooLarge { bytes: None },
        other => other,
    }
}

/// As [`allocate::room`].
pub(super) fn room(count: usize, size: usize) -> Result<()> {
    allocate::room(count, size).map_err(silent)
}

/// As [`allocate::filled`].
pub(super) fn filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>> {
    allocate::filled(len, value).map_err(silent)
}

/// As [`allocate::reserved`].
pub(super) fn reserved<T>(len: usize) -> Result<Vec<T>> {
    allocate::reserved(len).map_err(silent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_records_are_not_told() {
        let refused = [
            room(1 << 60, 8).unwrap_err(),
            filled(1 << 50, 0u64).unwrap_err(),
            reserved::<u64>(1 << 50).unwrap_err(),
        ];
        for error in refused {
            assert_eq!(error, Error::TooLarge { bytes: None });
            assert!(!error.to_string().contains(char::is_numeric));
        }
    }
}

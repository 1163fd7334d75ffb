//! Memory for records, asked for before anything is spent. How much they take follows from their number and from what
//! they store, which may be private: the error does not say.

use crate::error::{Error, Result};
use crate::numeric::allocate;

/// Refuses so many bytes where the machine does not have them.
///
/// # Errors
/// [`Error::TooLarge`], which does not tell how many.
pub(super) fn room(bytes: u128) -> Result<()> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    allocate::room(bytes, 1).map_err(|_| Error::TooLarge { bytes: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_records_are_not_told() {
        assert_eq!(room(1000), Ok(()));
        for bytes in [1 << 60, 1 << 100] {
            let error = room(bytes).unwrap_err();
            assert_eq!(error, Error::TooLarge { bytes: None });
            assert!(!error.to_string().contains(char::is_numeric));
        }
    }
}

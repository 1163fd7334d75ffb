//! Memory for records, asked for before anything is spent. How much they take follows from their number and from what
//! they store, which may be private: the error does not say.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::numeric::allocate;
use crate::question::{AnyQuestion, Statement, Stored, most_beside};

/// Bytes of a number for each record that is handed over, beside the one that the caller has: a target, and a weight
/// where there are some.
const HANDED_OVER: u128 = 16;

/// Refuses so many bytes where the machine does not have them.
///
/// # Errors
/// [`Error::TooLarge`], which does not tell how many.
pub(super) fn room(bytes: u128) -> Result<()> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    allocate::room(bytes, 1).map_err(|_| Error::TooLarge { bytes: None })
}

/// Bytes that the records of a dense table take at most while questions about them are answered, with their targets as
/// they are handed over, by public facts alone: for n records and p columns at most
///
/// sum over sets of (2 * 32 * ceil(n / 32) * p + 32 n), plus 16 n
///
/// Sets are the records as they were read, and what is made of them for the question that needs most: images under
/// private scales, with as many columns; selected columns; scores, which are one column. An entry takes 2 bytes, in
/// strips of 32 records; the 32 bytes are a target, a margin, a norm and a weight, or what else there is one of a
/// record; with weights there are 16 more, and 16 more once. Several scores a record take 10 bytes each beyond the
/// first, 30 where they are released in floats, and slopes that may lag behind 128 bytes.
///
/// Columns that are packed take less than others ([`super::packed`]), so it is a bound for them too. What does not grow
/// with the number of records is not in it: sums, and second moments, of p^2 numbers.
///
/// # Errors
/// None for a dense table.
pub(super) fn of_table(statement: &Arc<Statement>, questions: &[&AnyQuestion]) -> Result<u128> {
    let stored = Stored {
        records: statement.n_samples(),
        entries: None,
        in_files: false,
    };
    let numbers = 1 + u128::from(statement.schema().max_weight().is_some());
    let handed = HANDED_OVER * numbers * stored.records as u128;
    Ok(handed + statement.bytes(stored) + most_beside(statement, questions, stored)?)
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

//! Dense columns, in memory or in files.

use std::ops::Deref;
use std::path::Path;

use crate::error::{Error, Result};
use crate::numeric::mapped::Mapped;

/// Entries of dense records, columns one after the other.
pub(in crate::privacy) enum Columns {
    Memory(Vec<i16>),
    File(Mapped),
}

impl Columns {
    /// The same in a nameless file of a directory.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub(in crate::privacy) fn in_file(self, directory: &Path) -> Result<Self> {
        match self {
            // A file of nothing cannot be mapped.
            Columns::Memory(entries) if !entries.is_empty() => {
                let mapped = Mapped::write(&entries, directory);
                mapped.map(Columns::File).map_err(|_| Error::Storage)
            }
            columns => Ok(columns),
        }
    }
}

impl From<Vec<i16>> for Columns {
    fn from(entries: Vec<i16>) -> Self {
        Columns::Memory(entries)
    }
}

impl Deref for Columns {
    type Target = [i16];

    fn deref(&self) -> &[i16] {
        match self {
            Columns::Memory(entries) => entries,
            Columns::File(entries) => entries,
        }
    }
}

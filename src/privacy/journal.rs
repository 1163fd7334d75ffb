//! A file of lines that survives its process: a line is on the disk before [`Journal::append`] returns.
//!
//! The first line says how many bytes follow and what their SHA-256 is:
//!
//! ```text
//! dpsparse-checkpoint-1 00000000000000000123 9f86d081884c7d65...
//! ```
//!
//! A line is added behind them and reaches the disk; then the first line is rewritten in place and reaches the disk. So
//! a process that ends in between leaves a tail that the first line does not count: nobody was told of it, and it is
//! dropped. Anything else that is not as the first line says is damage: a file that is shorter, or of other bytes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::certificate::owner::Owner;
use crate::error::{Error, Result};

/// Name and version of the format.
const FORMAT: &str = "dpsparse-checkpoint-1";
/// Bytes of the first line: the format, a number of 20 digits, and 64 of a hash, each with what ends it.
const HEAD: usize = FORMAT.len() + 1 + 20 + 1 + 64 + 1;

/// An open file, locked against other processes and other fits of this one.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    /// Bytes behind the first line.
    length: u64,
    hash: Sha256,
    /// A line may be there in part: nothing more is written.
    broken: bool,
    /// Who opened it: a lock is shared with children that are forked.
    owner: Owner,
}

/// The hash of bytes, in hexadecimal digits.
pub(super) fn hexadecimal(hash: Sha256) -> String {
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn unusable(_: std::io::Error) -> Error {
    Error::checkpoint(
        "cannot be read or written: its directory must exist, allow both, and have room",
    )
}

/// A pipe would be read for ever, and a device until there is no memory left.
fn no_file() -> Error {
    Error::checkpoint("names a pipe or a device, and no file")
}

fn damaged() -> Error {
    Error::checkpoint(
        "is damaged, cut off or no checkpoint of this version; delete it to start anew",
    )
}

impl Journal {
    /// Opens a file, with its lines, of which there is at least one; makes one of the single line `first` where there
    /// is none. A file appears under its name with its first line, or not at all.
    ///
    /// # Errors
    /// [`Error::Checkpoint`] for a file that is in use, damaged, or cannot be read or written.
    pub fn open(path: &Path, first: &str) -> Result<(Self, Vec<String>)> {
        match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) if file.metadata().is_ok_and(|found| !found.is_file()) => Err(no_file()),
            Ok(file) => Self::read(file),
            Err(error) if error.kind() == ErrorKind::NotFound => Self::create(path, first),
            Err(error) => Err(unusable(error)),
        }
    }

    fn create(path: &Path, first: &str) -> Result<(Self, Vec<String>)> {
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let named = tempfile::NamedTempFile::new_in(directory).map_err(unusable)?;
        let mut journal = Self::locked(named.reopen().map_err(unusable)?)?;
        journal.append(first)?;
        named
            .persist_noclobber(path)
            .map_err(|failed| match failed.error.kind() {
                ErrorKind::AlreadyExists => in_use(),
                _ => unusable(failed.error),
            })?;
        #[cfg(unix)]
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(unusable)?;
        Ok((journal, vec![first.into()]))
    }

    fn locked(file: File) -> Result<Self> {
        file.try_lock().map_err(|refused| match refused {
            TryLockError::WouldBlock => in_use(),
            TryLockError::Error(error) => unusable(error),
        })?;
        Ok(Self {
            file,
            length: 0,
            hash: Sha256::new(),
            broken: false,
            owner: Owner::default(),
        })
    }

    fn read(file: File) -> Result<(Self, Vec<String>)> {
        let mut journal = Self::locked(file)?;
        let mut bytes = Vec::new();
        journal.file.read_to_end(&mut bytes).map_err(unusable)?;
        let (head, body) = bytes.split_at_checked(HEAD).ok_or_else(damaged)?;
        let words: Vec<&str> = std::str::from_utf8(head)
            .map_err(|_| damaged())?
            .split([' ', '\n'])
            .collect();
        let [FORMAT, length, hash, ""] = words[..] else {
            return Err(damaged());
        };
        let length: usize = length.parse().map_err(|_| damaged())?;
        let body = body.get(..length).ok_or_else(damaged)?;
        journal.hash.update(body);
        if hexadecimal(journal.hash.clone()) != hash {
            return Err(damaged());
        }
        let text = std::str::from_utf8(body).map_err(|_| damaged())?;
        let lines: Vec<String> = text.lines().map(Into::into).collect();
        if lines.is_empty() {
            return Err(damaged());
        }
        journal.length = length as u64;
        // What was never counted.
        journal
            .file
            .set_len(HEAD as u64 + journal.length)
            .map_err(unusable)?;
        Ok((journal, lines))
    }

    /// Adds a line, which holds no end of one. Where that fails nothing more can be added.
    ///
    /// # Errors
    /// [`Error::Checkpoint`]; a process that was forked from the one that opened it.
    pub fn append(&mut self, line: &str) -> Result<()> {
        if self.broken || !self.owner.is_here() {
            return Err(Error::checkpoint(
                "was given up, or belongs to the process that this one was forked from",
            ));
        }
        self.broken = true;
        self.write(line).map_err(unusable)?;
        self.broken = false;
        Ok(())
    }

    fn write(&mut self, line: &str) -> std::io::Result<()> {
        let line = format!("{line}\n");
        self.file.seek(SeekFrom::Start(HEAD as u64 + self.length))?;
        self.file.write_all(line.as_bytes())?;
        self.file.sync_data()?;
        self.hash.update(line.as_bytes());
        self.length += line.len() as u64;
        let hash = hexadecimal(self.hash.clone());
        let head = format!("{FORMAT} {:020} {hash}\n", self.length);
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(head.as_bytes())?;
        self.file.sync_data()
    }
}

fn in_use() -> Error {
    Error::checkpoint("is in use by another fit")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &Path) -> Result<Vec<String>> {
        Journal::open(path, "first").map(|opened| opened.1)
    }

    #[test]
    fn lines_come_back_and_are_added_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fit.checkpoint");
        assert_eq!(lines(&path).unwrap(), ["first"]);
        for (k, line) in ["second", "", "the fourth, with é"].iter().enumerate() {
            let (mut journal, before) = Journal::open(&path, "of no use now").unwrap();
            assert_eq!(before.len(), k + 1);
            journal.append(line).unwrap();
        }
        assert_eq!(
            lines(&path).unwrap(),
            ["first", "second", "", "the fourth, with é"]
        );
        // Nothing else is left in the folder.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn every_cut_and_every_other_byte_is_damage() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fit.checkpoint");
        let (mut journal, _) = Journal::open(&path, "first").unwrap();
        journal.append("second").unwrap();
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        for end in 0..whole.len() {
            std::fs::write(&path, &whole[..end]).unwrap();
            assert!(matches!(lines(&path), Err(Error::Checkpoint(_))), "{end}");
        }
        for k in 0..whole.len() {
            let mut other = whole.clone();
            other[k] ^= 4;
            std::fs::write(&path, &other).unwrap();
            assert!(matches!(lines(&path), Err(Error::Checkpoint(_))), "{k}");
        }
    }

    /// A line that was written, but not counted, when its process ended: nobody was told of it.
    #[test]
    fn a_tail_that_is_not_counted_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fit.checkpoint");
        drop(Journal::open(&path, "first").unwrap());
        let whole = std::fs::read(&path).unwrap();
        for tail in ["s", "second\n", "second\nthird"] {
            std::fs::write(&path, [&whole, tail.as_bytes()].concat()).unwrap();
            let (mut journal, before) = Journal::open(&path, "").unwrap();
            assert_eq!(before, ["first"]);
            assert_eq!(std::fs::read(&path).unwrap(), whole);
            journal.append("another").unwrap();
            drop(journal);
            assert_eq!(lines(&path).unwrap(), ["first", "another"]);
        }
    }

    #[test]
    fn a_file_has_one_user() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fit.checkpoint");
        let (mut journal, _) = Journal::open(&path, "first").unwrap();
        assert!(matches!(lines(&path), Err(Error::Checkpoint(_))));
        journal.owner = Owner::another(); // as a forked child finds it
        assert!(matches!(
            journal.append("second"),
            Err(Error::Checkpoint(_))
        ));
        drop(journal);
        assert_eq!(lines(&path).unwrap(), ["first"]);
        let nowhere = folder.path().join("no such folder").join("file");
        assert!(matches!(lines(&nowhere), Err(Error::Checkpoint(_))));
    }

    /// A name without a directory is one of the working directory.
    #[test]
    fn a_bare_name_is_a_file_of_the_working_directory() {
        let place = tempfile::NamedTempFile::new_in(".").unwrap();
        let path = Path::new(place.path().file_name().unwrap()).to_path_buf();
        drop(place);
        let made = lines(&path);
        let again = lines(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(made.unwrap(), ["first"]);
        assert_eq!(again.unwrap(), ["first"]);
    }

    /// A device, or a pipe, is not read, and is not said to be damaged: it would be deleted.
    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_not_read() {
        let said = lines(Path::new("/dev/null")).unwrap_err().to_string();
        assert!(said.contains("a pipe or a device"), "{said}");
    }

    /// A folder is no checkpoint, and in use by nobody; a file that has appeared meanwhile is another fit's.
    #[test]
    fn names_that_are_taken_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let said = lines(folder.path()).unwrap_err().to_string();
        assert!(said.contains("cannot be read"), "{said}");
        let path = folder.path().join("fit.checkpoint");
        std::fs::write(&path, "another's").unwrap();
        let said = Journal::create(&path, "first").unwrap_err().to_string();
        assert!(said.contains("in use"), "{said}");
        assert_eq!(std::fs::read(&path).unwrap(), b"another's");
    }
}

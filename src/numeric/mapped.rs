//! Integers in a nameless file that is mapped into memory: the system keeps the pages that are in use.

use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::ops::Deref;
use std::path::Path;

/// Integers in a file that nothing else can open, read as a slice.
pub struct Mapped(memmap2::Mmap);

impl Mapped {
    /// Writes `values`, at least one, to a nameless file of a directory.
    ///
    /// # Errors
    /// What the file system says: no such directory, no space, no permission.
    pub fn write(values: &[i16], directory: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(directory)?;
        let mut out = BufWriter::with_capacity(1 << 20, &file);
        out.write_all(bytemuck::cast_slice(values))?;
        out.flush()?;
        drop(out);
        Self::map(&file)
    }

    fn map(file: &File) -> Result<Self> {
        // SAFETY: the file has no name and its handle is closed here, so no one can write to it or shorten it.
        let map = unsafe { memmap2::Mmap::map(file) }?;
        Ok(Self(map))
    }
}

impl Deref for Mapped {
    type Target = [i16];

    fn deref(&self) -> &[i16] {
        // Maps begin on a page, and an even number of bytes was written.
        bytemuck::cast_slice(&self.0)
    }
}

/// Whether a directory has room for so many bytes: they are set aside in a file and given back. Of a file system that
/// sets nothing aside nobody knows.
///
/// # Errors
/// What the file system says.
#[cfg(target_os = "linux")]
pub fn room(directory: &Path, bytes: u64) -> Result<()> {
    if bytes > 0 {
        let file = tempfile::tempfile_in(directory)?;
        set_aside(rustix::fs::fallocate(
            &file,
            rustix::fs::FallocateFlags::empty(),
            0,
            bytes,
        ))?;
    }
    Ok(())
}

/// What it says of a file system to set bytes aside there, where it can.
#[cfg(target_os = "linux")]
fn set_aside(said: rustix::io::Result<()>) -> Result<()> {
    use rustix::io::Errno;
    match said {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        said => Ok(said?),
    }
}

/// Whether a directory has room for a file; how much is not asked of this system.
///
/// # Errors
/// What the file system says.
#[cfg(not(target_os = "linux"))]
pub fn room(directory: &Path, _: u64) -> Result<()> {
    tempfile::tempfile_in(directory).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file system that sets nothing aside may have room; a full one has none.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_cannot_be_set_aside_may_be_there() {
        use rustix::io::Errno;
        assert!(set_aside(Ok(())).is_ok());
        for errno in [Errno::OPNOTSUPP, Errno::NOSYS] {
            assert!(set_aside(Err(errno)).is_ok());
        }
        for errno in [
            Errno::NOSPC,
            Errno::DQUOT,
            Errno::FBIG,
            Errno::ROFS,
            Errno::IO,
        ] {
            assert!(set_aside(Err(errno)).is_err());
        }
    }

    #[test]
    fn files_hold_what_was_written_and_have_no_name() {
        let directory = tempfile::tempdir().unwrap();
        let values: Vec<i16> = (0..70_001).map(|k| (k % 65_537) as i16).collect();
        let mapped = Mapped::write(&values, directory.path()).unwrap();
        assert_eq!(*mapped, values[..]);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn missing_directories_and_space_are_told() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing");
        assert!(Mapped::write(&[1], &missing).is_err());
        assert!(room(&missing, 1).is_err());
        assert!(room(directory.path(), 1 << 20).is_ok());
        if cfg!(target_os = "linux") {
            assert!(room(directory.path(), 1 << 60).is_err());
        }
    }
}

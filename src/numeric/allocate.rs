//! Memory asked for before it is taken: sizes that users choose end in a typed error, not in an abort.
//!
//! Linux promises more memory than it has and ends the process that touches it, so a request is held against what the
//! kernel says is available too.

use crate::error::{Error, Result};

/// Smaller requests are not held against what is available: asking costs a system call.
const SMALL: u128 = 1 << 26;

/// Refuses `count` items of `size` bytes where the machine does not have them, before anything is taken.
///
/// ```
/// use dpsparse::numeric::allocate::room;
/// assert!(room(1000, 8).is_ok());
/// let error = room(1 << 60, 8).unwrap_err();
/// assert_eq!(error.to_string(), "needs 9223372036854775808 bytes of memory, which this machine does not give");
/// ```
///
/// # Errors
/// [`Error::TooLarge`].
pub fn room(count: usize, size: usize) -> Result<()> {
    let bytes = count as u128 * size as u128;
    if bytes <= SMALL {
        return Ok(());
    }
    // Reserved, dropped and never touched: what a limit on the process forbids.
    let allowed = |bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
    let there = available().is_none_or(|available| bytes <= available);
    if there && usize::try_from(bytes).is_ok_and(allowed) {
        return Ok(());
    }
    Err(Error::TooLarge { bytes: Some(bytes) })
}

/// `len` copies of `value`, zeros without touching their pages.
///
/// # Errors
/// [`Error::TooLarge`].
pub fn filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>> {
    room(len, size_of::<T>())?;
    Ok(vec![value; len])
}

/// An empty vector with room for `len` items.
///
/// # Errors
/// [`Error::TooLarge`].
pub fn reserved<T>(len: usize) -> Result<Vec<T>> {
    room(len, size_of::<T>())?;
    let mut vector = Vec::new();
    let refused = |_| Error::TooLarge {
        bytes: Some(len as u128 * size_of::<T>() as u128),
    };
    vector.try_reserve_exact(len).map_err(refused)?;
    Ok(vector)
}

/// Bytes that can be had without harm to other processes: memory that is available, and free swap. None where the
/// system does not say.
fn available() -> Option<u128> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kibibytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u128>().ok()
    };
    let memory = kibibytes("MemAvailable:")?;
    Some(1024 * (memory + kibibytes("SwapFree:").unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_refused() {
        assert_eq!(filled(3, 7u8).unwrap(), [7, 7, 7]);
        assert!(reserved::<u64>(5).unwrap().capacity() >= 5);
        for len in [1 << 46, usize::MAX / 8, usize::MAX] {
            let bytes = Some(8 * len as u128);
            assert_eq!(filled(len, 0u64), Err(Error::TooLarge { bytes }));
            assert_eq!(reserved::<u64>(len), Err(Error::TooLarge { bytes }));
        }
    }

    /// More than there is, but no more than the system would promise.
    #[cfg(target_os = "linux")]
    #[test]
    fn promises_of_the_system_are_not_trusted() {
        let there = available().unwrap();
        assert!(there > 0);
        let len = usize::try_from(there + (1 << 30)).unwrap();
        assert!(matches!(filled(len, 1u8), Err(Error::TooLarge { .. })));
    }
}

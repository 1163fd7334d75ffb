//! Large pages, and what memory is asked for ahead of its use.

use super::width::dispatch;
use crate::numeric::strips::{LINE, Line};

/// The same vector, after it has asked the operating system for large pages: fewer page faults on first touch, and
/// entries far apart stay within reach of the translation buffers. It should be new, its memory not touched yet.
pub fn on_large_pages<T>(mut vector: Vec<T>) -> Vec<T> {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 2 << 20;
        let bytes = std::mem::size_of::<T>() * vector.capacity();
        let start = vector.as_mut_ptr().cast::<u8>();
        let skip = start.align_offset(PAGE);
        if let Some(whole) = bytes.checked_sub(skip).map(|rest| rest / PAGE * PAGE)
            && whole > 0
        {
            // SAFETY: the range lies inside what the vector has reserved, and the advice changes no contents.
            // Refusal is harmless.
            unsafe { libc::madvise(start.add(skip).cast(), whole, libc::MADV_HUGEPAGE) };
        }
    }
    vector
}

/// Reads lines one after the other, so that who takes them in another order finds them in a near cache: memory is read
/// fastest in its own order, and by nothing else meanwhile.
pub fn fetch(lines: &[Line]) {
    #[inline(always)]
    fn body(lines: &[Line]) -> Line {
        let mut sums = [0i16; LINE];
        for line in lines {
            for (sum, &x) in sums.iter_mut().zip(line) {
                *sum = sum.wrapping_add(x);
            }
        }
        sums
    }
    fn read(lines: &[Line]) -> Line {
        dispatch!([], body, (lines: &[Line]) -> Line)
    }
    std::hint::black_box(read(lines));
}

/// Asks memory for the first of these entries, which are read next: at most so many, and so few at a time that the
/// machine does not see by itself that they are read one after the other.
pub fn prefetch<T>(entries: &[T], most: usize) {
    let entries = &entries[..entries.len().min(most).min(4 * LINE)];
    for line in entries.chunks(size_of::<Line>() / size_of::<T>()) {
        #[cfg(target_arch = "x86_64")]
        x86::prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }, _>(line.as_ptr());
        #[cfg(not(target_arch = "x86_64"))]
        let _ = line;
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use std::arch::x86_64::*;
    use std::sync::OnceLock;

    use crate::numeric::strips::Line;

    /// Which lines memory is asked for while others are read: how far ahead, and into which cache.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(in crate::numeric::kernel) struct Ahead {
        pub lines: usize,
        /// Into the second-level cache instead of the nearest one.
        pub second: bool,
    }

    impl Ahead {
        const NEAREST: Self = Self {
            lines: crate::numeric::kernel::margins::AHEAD,
            second: false,
        };
        const SECOND: Self = Self {
            lines: 250,
            second: true,
        };

        /// What the cores of this machine are fastest with, asked for once: those of Intel have few lines on their way
        /// to the nearest cache at a time, and many to the second (`benches/ROOFLINE.md`).
        pub fn here() -> Self {
            static HERE: OnceLock<Ahead> = OnceLock::new();
            *HERE.get_or_init(|| match vendor() == *b"GenuineIntel" {
                true => Self::SECOND,
                false => Self::NEAREST,
            })
        }

        /// Asks memory for the line so far beyond this one, wherever it is.
        #[inline(always)]
        pub fn of(self, line: *const Line) {
            let line = line.wrapping_add(self.lines);
            if self.second {
                prefetch::<_MM_HINT_T1, _>(line);
            } else {
                prefetch::<_MM_HINT_T0, _>(line);
            }
        }
    }

    fn vendor() -> [u8; 12] {
        #[allow(unused_unsafe)] // a safe function in newer compilers
        // SAFETY: every processor of this architecture has the leaf.
        let leaf = unsafe { __cpuid(0) };
        let mut name = [0; 12];
        for (part, word) in name.chunks_mut(4).zip([leaf.ebx, leaf.edx, leaf.ecx]) {
            part.copy_from_slice(&word.to_le_bytes());
        }
        name
    }

    /// Asks memory for the cache line of an address, wherever it points.
    #[inline(always)]
    pub(super) fn prefetch<const HINT: i32, T>(address: *const T) {
        #[allow(unused_unsafe)] // a safe function in newer compilers
        // SAFETY: a prefetch reads nothing.
        unsafe {
            _mm_prefetch::<HINT>(address.cast());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_pages_hold_what_they_held() {
        for len in [0, 1, 1 << 20, (3 << 20) + 7] {
            let mut entries = on_large_pages(vec![0i16; len]);
            assert!(entries.len() == len && entries.iter().all(|&entry| entry == 0));
            entries.fill(7);
            assert!(on_large_pages(entries).iter().all(|&entry| entry == 7));
        }
    }
}

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

/// Who asks memory for the lines of a piece of records, of which margins are made, then slopes, then their sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetched {
    /// Margins, line by line a little before they read them.
    ByMargins,
    /// Margins ask for three of four lines, and sums of several planes for the others while they read the piece before,
    /// on machines that have room for lines in the second-level cache: memory has work all the time.
    ByBoth,
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
        lines: usize,
        /// Into the second-level cache instead of the nearest one. What memory is asked for while all that it takes is
        /// on its way does not come, so that margins ask again, shortly before they read; and sums that ask for half of
        /// a wide strip ask for two of every four lines, so that it does not come all at once while the rest waits.
        pub second: bool,
        /// Strips of more columns are read whole, where sums of all follow margins of a few.
        pub whole: usize,
    }

    /// Lines between one that margins are made of and those that they ask for again.
    const AGAIN: usize = 120;
    /// The same of the nearest cache.
    const SOON: usize = 32;

    impl Ahead {
        /// No others: the machine fetches by itself what is read line after line.
        pub const NONE: Self = Self {
            lines: 0,
            second: false,
            whole: usize::MAX,
        };
        pub(super) const NEAREST: Self = Self {
            lines: crate::numeric::kernel::margins::AHEAD,
            ..Self::NONE
        };
        pub const SECOND: Self = Self {
            lines: 250,
            second: true,
            ..Self::NONE
        };
        /// Where sums of 250 columns take a third more time by themselves than behind margins of all; on cores of Intel
        /// they do not.
        pub(super) const SECOND_OF_AMD: Self = Self {
            whole: 192,
            ..Self::SECOND
        };

        /// What the cores of this machine are fastest with where others' work comes between the lines of some strips
        /// and those of the next ones (`benches/ROOFLINE.md`).
        pub fn with_pauses() -> Self {
            Self::here().0
        }

        /// The same where one line is read after the other.
        pub fn in_one_go() -> Self {
            Self::here().1
        }

        /// Both, asked for once.
        fn here() -> (Self, Self) {
            static HERE: OnceLock<(Ahead, Ahead)> = OnceLock::new();
            *HERE.get_or_init(|| Self::of_processor(&vendor(), family()))
        }

        /// Cores of Intel, and of AMD before their fifth generation (family 26), have few lines on their way to the
        /// nearest cache at a time, and more to the second; the latter's own guess brings more yet.
        pub(super) fn of_processor(vendor: &[u8; 12], family: u32) -> (Self, Self) {
            match (vendor, family) {
                (b"GenuineIntel", _) => (Self::SECOND, Self::SECOND),
                (b"AuthenticAMD", ..26) => (Self::SECOND_OF_AMD, Self::NONE),
                _ => (Self::NEAREST, Self::NEAREST),
            }
        }

        /// Asks memory for the lines so far beyond both of these.
        #[inline(always)]
        pub fn of_both(self, [a, b]: [&Line; 2]) {
            self.of(a);
            self.of(b);
        }

        /// Asks again for the lines a little beyond both of these.
        #[inline(always)]
        pub fn again([a, b]: [&Line; 2]) {
            for line in [a, b].map(std::ptr::from_ref) {
                prefetch::<_MM_HINT_T1, _>(line.wrapping_add(AGAIN));
            }
        }

        /// Asks the nearest cache for the lines that follow soon on both of these.
        #[inline(always)]
        pub fn soon([a, b]: [&Line; 2]) {
            for line in [a, b].map(std::ptr::from_ref) {
                prefetch::<_MM_HINT_T0, _>(line.wrapping_add(SOON));
            }
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

    /// As vendors count their generations.
    fn family() -> u32 {
        #[allow(unused_unsafe)] // a safe function in newer compilers
        // SAFETY: every processor that can run this has the leaf.
        let signature = unsafe { __cpuid(1) }.eax;
        let base = signature >> 8 & 15;
        // Families beyond 15 are told by another field.
        match base {
            15 => base + (signature >> 20 & 255),
            _ => base,
        }
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

    /// As measured on machines of these kinds.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn processors_are_asked_for_lines_where_they_take_most() {
        use x86::Ahead;
        for (vendor, family, ahead) in [
            (b"GenuineIntel", 6, (Ahead::SECOND, Ahead::SECOND)),
            (b"AuthenticAMD", 25, (Ahead::SECOND_OF_AMD, Ahead::NONE)),
            (b"AuthenticAMD", 26, (Ahead::NEAREST, Ahead::NEAREST)),
            (b"HygonGenuine", 24, (Ahead::NEAREST, Ahead::NEAREST)),
        ] {
            assert_eq!(Ahead::of_processor(vendor, family), ahead, "{family}");
        }
    }
}

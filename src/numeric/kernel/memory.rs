//! Large pages, and what memory is asked for ahead of its use.

use super::width::dispatch;
use crate::numeric::strips::{LINE, Line};

/// The same vector, after it has asked the operating system for large pages: fewer page faults on first touch, and entries
/// far apart stay within reach of the translation buffers. It should be new, its memory not touched yet.
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

/// Asks memory for the first of these entries, which are read next: at most so many, and so few at a time that the machine does not
/// see by itself that they are read one after the other.
pub fn prefetch<T>(entries: &[T], most: usize) {
    let entries = &entries[..entries.len().min(most).min(4 * LINE)];
    for line in entries.chunks(size_of::<Line>() / size_of::<T>()) {
        #[cfg(target_arch = "x86_64")]
        x86::prefetch(line.as_ptr());
        #[cfg(not(target_arch = "x86_64"))]
        let _ = line;
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use std::arch::x86_64::*;

    /// Asks memory for the cache line of an address, wherever it points.
    #[inline(always)]
    pub(in crate::numeric::kernel) fn prefetch<T>(address: *const T) {
        #[allow(unused_unsafe)] // a safe function in newer compilers
        // SAFETY: a prefetch reads nothing.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(address.cast());
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

//! What tests of kernels share.

use std::cell::Cell;

use super::width::{Width, detected, width};
use super::{MAX_DERIVATIVE, MAX_FEATURE};
use crate::numeric::strips::{LINE, Line};

const WIDTHS: &[Width] = &[
    Width::Portable,
    #[cfg(target_arch = "x86_64")]
    Width::Avx2,
    #[cfg(target_arch = "x86_64")]
    Width::Avx512,
];

thread_local! {
    /// The widest instructions that kernels called by this thread may use.
    pub(super) static LIMIT: Cell<Width> = Cell::new(WIDTHS[WIDTHS.len() - 1]);
    /// Whether they may add products by one instruction.
    pub(super) static ADDS_PRODUCTS: Cell<bool> = const { Cell::new(true) };
}

/// Results of `work` with every copy of the kernels that this machine can run, the portable one first.
pub(crate) fn at_every_width<R>(mut work: impl FnMut() -> R) -> Vec<R> {
    let widest = LIMIT.get();
    let results = WIDTHS
        .iter()
        .filter(|limit| **limit <= detected())
        .map(|&limit| {
            LIMIT.set(limit);
            assert_eq!(width(), limit);
            work()
        });
    let mut results: Vec<R> = results.collect();
    LIMIT.set(widest);
    #[cfg(target_arch = "x86_64")]
    if super::width::adds_products() {
        ADDS_PRODUCTS.set(false);
        results.push(work());
        ADDS_PRODUCTS.set(true);
    }
    results
}

/// Processor seconds of all threads of this process, where the system tells; else of a clock on the wall.
pub(crate) fn processor_seconds() -> f64 {
    #[cfg(target_os = "linux")]
    {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `now` is a place for what is written.
        unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) };
        now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
    }
    #[cfg(not(target_os = "linux"))]
    {
        static START: std::sync::LazyLock<std::time::Instant> =
            std::sync::LazyLock::new(std::time::Instant::now);
        START.elapsed().as_secs_f64()
    }
}

/// Entries of records and columns in [-bound, bound], at its ends often.
pub(super) fn entries(seed: u32, bound: i16) -> impl Fn(usize, usize) -> i16 {
    move |i, j| {
        let mixed = (u64::from(seed) ^ ((i as u64) << 32 | j as u64))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            >> 33;
        let x = mixed as i64 % (3 * i64::from(bound) + 1) - i64::from(bound) * 3 / 2;
        x.clamp(-i64::from(bound), bound.into()) as i16
    }
}

/// The strips of `n` records.
pub(super) fn in_strips(n: usize, p: usize, entry: impl Fn(usize, usize) -> i16) -> Vec<Line> {
    let mut lines = vec![[0; LINE]; n.div_ceil(LINE) * p];
    for (i, j) in (0..n).flat_map(|i| (0..p).map(move |j| (i, j))) {
        lines[i / LINE * p + j][i % LINE] = entry(i, j);
    }
    lines
}

/// The inner product of a column with d.
pub(super) fn reference(column: &[i16], d: &[i16]) -> i128 {
    column
        .iter()
        .zip(d)
        .map(|(&x, &d)| i128::from(x) * i128::from(d))
        .sum()
}

/// Features and derivatives as large as they get.
pub(super) const EXTREMES: [(i16, i16); 3] = [
    (MAX_FEATURE, MAX_DERIVATIVE),
    (-MAX_FEATURE, MAX_DERIVATIVE),
    (MAX_FEATURE, -MAX_DERIVATIVE),
];

/// Numbers of records about whole runs of them, and many.
pub(super) const RECORDS: [usize; 4] = [127, 128, 129, 100_003];

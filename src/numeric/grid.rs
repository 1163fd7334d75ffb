//! Floats rounded to a grid, so coarse that their sums are exact.

/// Multiples of 2^k, at most 2^51 of which are summed: those sums, and their differences, are exact.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    /// 1.5 * 2^52 multiples: adding it rounds to one.
    shift: f64,
}

impl Grid {
    /// The finest one whose sums up to 2 `largest`, or so, are exact.
    pub(crate) fn up_to(largest: f64) -> Self {
        let exponent = largest.max(1e-200).log2().ceil() as i32 - 50;
        Self {
            shift: 1.5 * 2f64.powi(52 + exponent),
        }
    }

    /// The nearest multiple to a number in [0, 2^51 multiples].
    #[inline(always)]
    pub(crate) fn round(self, x: f64) -> f64 {
        (x + self.shift) - self.shift
    }
}

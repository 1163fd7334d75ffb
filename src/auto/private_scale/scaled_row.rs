//! How long scaled rows are in units of the largest entry that can be stored.

use crate::numeric::normal::upper_quantile;
use crate::plan::defaults::{COUNTED_NORM, QUARTER, RANGE_DEVIATION, RANGE_LIMIT, SCALED_ROW};

/// What rows of p features are scaled to: [`SCALED_ROW`], or less where features are so few that a typical row is a
/// tenth of what one of them may be mapped to. Entries up to [`RANGE_LIMIT`] are stored then, as of more features.
///
/// A typical row is taken for one of normal features of deviation [`RANGE_DEVIATION`], the quantile [`QUARTER`] of
/// chi (Wilson & Hilferty 1931), and counts as [`COUNTED_NORM`] has it. With .15 whatever p is, a single feature ended
/// at two deviations: of Student's law with three degrees of freedom it had the R^2 .75 at every epsilon where .92 is
/// possible, two features .87.
pub(super) fn scaled_row(p: usize) -> f64 {
    let cube = 2.0 / (9.0 * p.max(1) as f64);
    let square = (1.0 - cube - cube.sqrt() * upper_quantile(QUARTER)).powi(3);
    let typical = COUNTED_NORM * RANGE_DEVIATION * (p as f64 * square).sqrt();
    SCALED_ROW.min(typical / RANGE_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The quantiles of chi-square laws in tables, by less than a thirtieth; many features have the largest norm.
    #[test]
    fn few_features_have_short_rows() {
        for (p, quantile) in [
            (1, 0.1015),
            (2, 0.5754),
            (4, 1.923),
            (10, 6.737),
            (14, 10.165),
        ] {
            let row = 0.85 * 0.5 * f64::sqrt(quantile) / 10.0;
            assert!((scaled_row(p) / row - 1.0).abs() < 0.03, "{p}");
        }
        assert_eq!([17, 1000].map(scaled_row), [SCALED_ROW; 2]);
    }
}

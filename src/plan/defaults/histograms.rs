//! Private histograms of features.

/// How likely it is that a feature which is not negative is within [`HISTOGRAM_NEAR`] deviations of zero. Of 0, .5, .75
/// and .9 the last three are alike, and 0 loses .004 of R^2 at epsilon 0.1.
pub const HISTOGRAM_NEAR_SHARE: f64 = 0.75;

/// Deviations from zero of the middle of such a feature. 4 and 6 are alike.
pub const HISTOGRAM_NEAR: f64 = 6.0;

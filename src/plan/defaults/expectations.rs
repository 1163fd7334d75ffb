//! What the public rules expect of scores, effects and slopes before any record is read.

/// Variance of the scores of a classifier that the public rules expect.
pub const CLASSIFIER_SIGNAL: f64 = 1.0;

/// The same of a regressor, in squared standard deviations of the targets, and of the logarithms of rates.
pub const REGRESSOR_SIGNAL: f64 = 0.3;

/// What half the range of a feature usually adds to a score, before anything is known of it: in log odds, standard
/// deviations of the targets, or logarithms of rates. Where records say nothing of a coefficient, noise on it is kept
/// to about that.
pub const USUAL_EFFECT: f64 = 3.0;

/// Standard deviation of counts about their rates, in units of the mean count.
pub const COUNT_SLOPE: f64 = 1.3;

/// Standard deviation of the derivatives of the logistic loss at scores of [`CLASSIFIER_SIGNAL`]: of p(1 - p) the mean
/// is 1/4 over the root of 1 + pi/8 of their variance, as of a probit.
pub(crate) fn classifier_slope() -> f64 {
    0.5 * (1.0 + std::f64::consts::PI / 8.0 * CLASSIFIER_SIGNAL).powf(-0.25)
}

/// Standard deviation of residuals, in units of that of the targets: what [`REGRESSOR_SIGNAL`] leaves.
pub(crate) fn regressor_slope() -> f64 {
    (1.0 - REGRESSOR_SIGNAL).sqrt()
}

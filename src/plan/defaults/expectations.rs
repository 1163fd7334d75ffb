//! What the public rules expect of scores, effects and slopes before any record is read.

/// Variance of the scores of a classifier that the public rules expect.
pub const CLASSIFIER_SIGNAL: f64 = 1.0;

/// The same of a regressor, in squared standard deviations of the targets.
pub const REGRESSOR_SIGNAL: f64 = 0.3;

/// Variance of the logarithms of rates that the public rules expect.
pub const COUNT_SIGNAL: f64 = 0.25;

/// What half the range of a feature usually adds to a score, before anything is known of it: in log odds, standard
/// deviations of the targets, or logarithms of rates. Where records say nothing of a coefficient, noise on it is kept
/// to about that.
pub const USUAL_EFFECT: f64 = 3.0;

/// Standard deviation of the derivatives of the logistic loss, about.
pub const CLASSIFIER_SLOPE: f64 = 0.4;

/// Standard deviation of residuals, in units of that of the targets.
pub const REGRESSOR_SLOPE: f64 = 0.7;

/// Standard deviation of counts about their rates, in units of the mean count.
pub const COUNT_SLOPE: f64 = 1.3;

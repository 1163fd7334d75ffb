//! Private scales of targets: their middle, spread and tail, and where residuals are clamped.

use super::budget::noise_allows;

/// Largest share of the zCDP budget that the middle and the spread of the targets spend where they could not be had at
/// all with less; where they could not be had well without, [`MOST_SHARE`](super::MOST_SHARE). Where records are so few
/// that it takes that much, no model is worth more: with .9 and not .4 for both, 1200 to 1600 records of fifteen tables
/// had a mean R^2 of -.05 and not -.2 with medians.
pub const TARGET_SHARE: f64 = 0.9;

/// Share of the targets beyond their tail: no more, or it is not asked for, and no less than a fifth of it. Wider
/// clamps add noise, and narrower ones bias lines through skewed targets.
pub const TARGET_TAIL: f64 = 0.02;

/// Noise on a bin of a histogram of targets, in units of n: fine, which may take [`MOST_SHARE`](super::MOST_SHARE) of
/// the zCDP budget, and sure, which may take [`TARGET_SHARE`]. Of .055, .07, .09 and .11 for the first, with the second
/// half as much again, .09 and .11 are alike on 1500 to 5000 records of 68 regressions at epsilon 0.1, .07 loses .004
/// and .055 .007 of R^2.
pub const TARGET_NOISE: [f64; 2] = [0.09, 0.14];

/// Histograms of targets, each of a smaller window where those before it are sure; together they have the noise of one.
/// 1, 4 and 6 are alike on 1500 to 5500 records of 68 regressions at epsilon 0.1. 5000 targets whose bounds are 60 000
/// deviations apart have a mean R^2 of .66, .68 and .70 with 4, 5 and 6, and .70 with bounds 20 apart.
pub const TARGET_WINDOWS: u64 = 6;

/// Half of a window, in deviations that are expected of the targets, with their middle unknown. 4 is alike.
pub const WINDOW_REACH: f64 = 6.0;

/// How much likelier, in nats, a threshold at the quantile of the targets must be than one in an empty tail, and should
/// be: with the first a tail is rarely missed; with the second a median is found among 2^18 thresholds, so that bounds
/// 10^4 times as far apart as the targets cost no more than that.
pub const TARGET_NATS: [f64; 2] = [5.0, 20.8];

/// The same with [`MOST_SHARE`](super::MOST_SHARE) below which targets have histograms instead, as they have below some
/// 5600 records at epsilon 0.1, whose median would take more of the budget than
/// [`SIDE_SHARE`](super::SIDE_SHARE). With 12 in place of 30, 2500 and 4000 records of each of 54 and 41 regressions
/// have a mean R^2 of .070 and .144 at 0.1, and .101 and .174 with 30. With 60 the 68 regressions as they are have .332
/// in place of .334 at epsilon 0.5: laws are narrow where many targets are one value, and quantiles see their tails.
pub const HISTOGRAM_NATS: f64 = 30.0;

/// The same with [`MOST_SHARE`](super::MOST_SHARE) below which no model is worth its noise and `auto` releases a
/// constant, as it does below some 1150 records at epsilon 0.1 and 105 at 1. Models of 700, 900 and 1100 records of
/// each of 73 regressions have a mean R^2 of -.12, -.08 and -.05 at 0.1, constants one of -.06, -.05 and -.05.
pub const MODEL_NATS: f64 = 6.5;

/// The same for distances from the median, which have few thresholds: the level is as low as these allow. All 41 of
/// them together are e^-9 as likely as the quantile: of one in a tail each, with 9, a fit of 400 had a spread far too
/// large, and R^2 of -30 to -700.
pub const DISTANCE_NATS: f64 = 12.7;

/// Least clamp of the residuals of a fit, in standard deviations of the targets.
pub const TARGET_CLAMP: f64 = 0.33;

/// n mu a column from which on that clamp and the clips of features open, in proportion: least squares without privacy
/// knows of neither. Where features say less in their tails, as on seven of 48 regressions (california and diamonds
/// among them), a clip that never opens is better by .003 to .015 of R^2; but where tails say all, as on nycflights, it
/// loses .07 at epsilon 4, and a third of the variance beside a feature of Student's law with two degrees of freedom.
/// On these two 100 is better than 300 and 2000 from epsilon 1 to 4, by .02 to .07.
pub const CLAMPS_OPEN: f64 = 100.0;

/// How far predictions may lie from the middle, in standard deviations of the targets.
pub const TARGET_REACH: f64 = 3.0;

/// How many times as far out regressions clamp residuals and clip features as where noise is large, under a zCDP
/// budget.
pub(crate) fn clamps_open(n: usize, person: usize, columns: usize, rho: f64) -> f64 {
    (noise_allows(n, person, rho) / columns as f64 / CLAMPS_OPEN).max(1.0)
}

//! Private ranges of features.

/// Largest shares of the zCDP budget that private ranges of the features spend: the first, in regressions, which clip
/// there, and as much again by the share of the features that have one; elsewhere up to the second where they could not
/// be had without. With .06 for the first, ranges of two of 68 regressions are no longer sound at epsilon 0.5, and
/// these lose .07; with .1 one of loan_rate is, too soon, and it loses .03. With .4 for the second three of 43 tables
/// of two classes lose .01 of log loss at 0.1.
pub const RANGE_SHARE: [f64; 2] = [0.07, 0.25];

/// Highest quantile at the lower end of a private range; the lowest is [`LEAST_LEVEL`](super::LEAST_LEVEL).
pub const RANGE_LEVEL: f64 = 0.25;

/// Lowest quantile at the lower end of a private range beyond which regressions are clipped. Least squares without
/// privacy, clipped at the .01 and .99 quantiles in fits and predictions alike, has the R^2 .928 on diamonds and .662
/// on california (.920 and .640 without), at .05 and .95 .907 and .650.
pub const CLIPPED_LEVEL: f64 = 0.01;

/// What such a range at a higher level q is widened by on each side, in units of its width: this times q -
/// [`CLIPPED_LEVEL`]. So little is cut off, whatever quantiles the budget allows. 10 and 20 are alike on california,
/// diamonds and garbage.
pub const CLIPPED_MARGIN: f64 = 10.0;

/// Standard deviation to which ranges are mapped: that of an indicator of half of the records.
pub const RANGE_DEVIATION: f64 = 0.5;

/// The same of such ranges in regressions, somewhat more: a number is a whole attribute, of which an indicator is one
/// level. On 121 tables 0.6 brings .002 to .003 of R^2 at epsilon 0.5 beside 0.5; 0.7 to 1 bring as much on tables of
/// few features, but take .006 and more at 0.1 where most columns are indicators (star_math). Classes are alike.
pub const CLIPPED_DEVIATION: f64 = 0.6;

/// Of a classifier's features, more with bounds [0, 1] or [-1, 1] than these are taken for indicators, which need no
/// ranges.
pub const MOST_UNIT_RANGES: usize = 16;

/// Where they need not be indicators they have ranges beside the others, if the level of these grows by no more than
/// this: numbers that fill little of such bounds would be lost in their unit. Of two features, a rate of mean .01 in
/// [0, 1] and an age, R^2 is .53 with and .10 without at epsilon 1. With any level two of 68 regressions, of indicators
/// and skewed counts, lose .02 at epsilon 4.
pub const MORE_LEVEL: f64 = 1.3;

/// Largest scaled value where a private range is [-1, 1]: narrower ranges are widened until the public bounds fit, or
/// features are clipped there. Clipping features of which most values are equal made fits on garbage useless, most of
/// whose features have one value in 98 % of the records.
pub const RANGE_LIMIT: f64 = 10.0;

/// How many times as wide a range may become for that. Of normal features in bounds of w standard deviations, four
/// classes at epsilon 1 and n = 20 000, widened ranges have log losses of 1.007 (w = 200), 1.016 (500), 1.185 (1000)
/// and 1.346 (3000), clips 1.007.
pub const RANGE_WIDENED: f64 = 20.0;

/// How many times as near as the public bounds values are that fit where an end of the range is a bound, as of amounts
/// that are mostly 0: so a quantile says little of the others. With 1 (the bounds fit), 3 and 10, log losses on amounts
/// of which 80 % are 0, in bounds 1000 times their mean, are .645, .592 and .590 (.590 exact, epsilon 1, n = 20 000),
/// and on ones of which 90 % are, log-normal in bounds that are their .98 quantile, .648, .653 and .662 (.646).
pub const RANGE_ROOM: f64 = 3.0;

/// Half of the least width of a private range, in units of half the width of the public bounds, where features must
/// stay in a box.
pub const RANGE_LEAST: f64 = 0.02;

/// What a private range is widened by on each side, in units of its width, where features must stay in a box.
pub const RANGE_MARGIN: f64 = 0.25;

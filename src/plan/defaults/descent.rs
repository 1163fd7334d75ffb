//! Descents of first order: noisy proximal gradient, mirror and stochastic.

/// Longest step of noisy proximal gradient descent in units of 1/(beta R2^2), for classifiers: the Hessian of real
/// records is far below the bound beta R2^2. 8 beats 2 on cod_rna (.94 against .88 at epsilon 1) and changes nothing on
/// a9a and dna_splice.
pub const CLASSIFIER_STEP: f64 = 8.0;

/// The same for regressors: steps below 2 (1 + momentum)/(beta R2^2) converge whatever the records are (Polyak 1964).
/// On california 7 works and 14 diverges.
pub const REGRESSOR_STEP: f64 = 3.8;

/// The same after private scales, where long rows count less but are not shorter: 3.8 loses up to 7 points on garbage
/// at epsilon 4.
pub const SCALED_STEP: f64 = 1.0;

/// Momentum of noisy proximal gradient descent. At epsilon 1 none, 0.9 and 0.95 give .72, .93 and .94 on cod_rna; on
/// a9a and dna_splice they agree within .003.
pub const DESCENT_MOMENTUM: f64 = 0.95;

/// Longest noisy descent for classes in units of V/(N^2 p): with 300 steps of any length coefficients of 5 became 50 to
/// 120 on 3000 records at epsilon 1. 1 leaves 9 to 13 there and .3 leaves 5 to 9; on 22 tables at epsilon 0.1 log
/// losses are .536 and .545.
pub const LONGEST_DESCENT: f64 = 0.5;

/// Fewest and most steps of a noisy descent that the public rule takes: 100 suffice on a9a and dna_splice, and 300 are
/// better on cod_rna. Privacy depends on the total length, hardly on their number.
pub const DESCENT_STEPS: (usize, usize) = (100, 300);

/// The same of mirror descent, whose steps are short where balls are wide: at epsilon 1, 300, 1000 and 3000 of them
/// give .78, .83 and .84 on a9a; 10 000 give no more. A total length beyond what so many steps allow is cut off.
pub const MIRROR_STEPS: (usize, usize) = (100, 3000);

/// Steps of a noisy descent, and their momentum, where so few are long enough: with half the memory they are on their
/// way for half as long, and nothing else tells them from twice as many.
pub const SHORT_DESCENT: (usize, f64) = (50, 0.9);

/// Penalty of such a descent where `auto` chose it for its norm, in units of the dual norm of the noise on the mean
/// gradient. Of 0, 0.25, 0.5 and 1 for l-infinity, pairs and stretches on eight tables: 0.25 loses up to .02 of R^2 and
/// accuracy to 0 (.2 at epsilon 0.1 for ties among 155 columns), 1 up to .1; with a group of four among six 0.25 has
/// .74 at 0.1, 0 .71 and 1 .64.
pub const NOISE_PENALTY: f64 = 0.25;

/// Passes of stochastic gradient descent.
pub const SGD_PASSES: usize = 5;

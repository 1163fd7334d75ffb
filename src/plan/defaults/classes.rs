//! Noisy Newton steps of classes.

use super::budget::noise_allows;

/// n mu below which `auto` releases the shares of the classes and no coefficients: the first times the root of the
/// number of features, and no more than the second, which is some 1100 records at epsilon 0.1 and 100 at 1. Of 1000
/// records of each of 43 tables of two classes at epsilon 0.1 mean log losses are .547, .539 and .531 and accuracies
/// .724, .722 and .727 with 25, 28 and half as much again as 7 and 25, with which 1500 records have accuracies of .738
/// in place of .748. Cut to so few records, 43 tables of two classes have at epsilon 0.1 and n = 500 (n mu 14), 700
/// (19), 1000 (25) and 1400 (34) log losses of .565, .564, .543 and .529, and shares .539, .538, .537 and .529;
/// accuracies of .710, .714, .731 and .746, and shares .721, .720, .721 and .729. With fewer than eight features models
/// are as good from n mu = 18 on. 98 targets of three to eight classes at 700 and 1400 have log losses of 1.245 and
/// 1.207, and shares 1.197 and 1.204. At epsilon 1 and 4 it is the same in n mu. Squared, Huber's and absolute losses
/// of twelve tables of two classes at epsilon 0.1 and n = 500 are .434, .400 and .090 with accuracies of .697, .686 and
/// .685, and of the score that shares say .396, .368 and .059 with .698; of ten at 800 .424, .384 and .089 (.685, .689
/// and .681), and .401, .379 and .062 (.681).
pub const CLASS_CONSTANT: [f64; 2] = [7.0, 28.0];

/// Most steps of classes, of stride 1. One bound on the curvature of the loss serves all steps, and where classes are
/// sure it overstates the true one tenfold and more, so that slopes are still on their way after 40: the training log
/// loss of 84 tables is off scikit-learn's by more than .01 on 11 after 40 steps at epsilon 1000, and on 3 after as
/// many as these constants give. More steps cost time and no privacy.
pub const MOST_CLASS_STEPS: f64 = 1000.0;

/// How many times as many steps of classes as let moments' noise allow the shrinkage that gradients' noise asks for:
/// with 1, 3 and 10 log losses of held-out records on 84 tables exceed scikit-learn's by .0413, .0395 and .0373 at
/// epsilon 1, .0142, .0127 and .0120 at 4 (40 steps: .0421 and .0141).
pub const CLASS_STEPS: f64 = 10.0;

/// Steps of classes that are taken in strides of 1, and the longest stride of further ones, with as much more momentum:
/// held-out log losses of 43 tables are those of as many steps of stride 1 within .0002 on average at epsilon 1, 4 and
/// 1000, in a tenth to a fifth of the time. The first is of two classes, which take no fewer, where time allows: with
/// 40 at least, of which 80 in strides of 1, log losses of these tables are .0014, .0008, .0007 and .0002 more at
/// epsilon 0.1, 0.5, 1 and 4 and accuracies .0009, .0005, .0005 and .0002 less; with 240 or 640 they are alike. On
/// three tables of three or more classes 160 are no better than 40, and so they are on regressions.
pub const FEW_CLASS_STEPS: [f64; 2] = [160.0, 80.0];

/// See [`FEW_CLASS_STEPS`].
pub const CLASS_STRIDE: f64 = 10.0;

/// Slope of the scores of a softmax fit that was clamped at the length that slopes have at first, without noise: one
/// less this over K. For two classes a fourth less, as on the open sets (.7 to .8); on anes_party and happiness (three)
/// log losses want .8 to .85, on gss_occupation (eleven) .97.
pub const CLASS_SLOPE: f64 = 0.5;

/// Curvature of a clamped softmax fit in units of that at equal probabilities: what shrinks differences by their noise
/// counts on it. On anes_party it is about .6 and on happiness, at epsilon 0.1, 1 would leave half of the noise.
pub const CLASS_CURVATURE: f64 = 0.6;

/// Whether classes of so many features have too few records for a model under a zCDP budget.
pub(crate) fn hides_classes(n: usize, person: usize, features: usize, rho: f64) -> bool {
    let [of_root, most] = CLASS_CONSTANT;
    noise_allows(n, person, rho) < (of_root * (features as f64).sqrt()).min(most)
}

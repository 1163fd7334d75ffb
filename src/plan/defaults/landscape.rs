//! The objective that mechanisms with Euclidean noise are planned for: where its minimum lies and how flat it is.

/// Least |theta*|_2 in scaled units of the model that mechanisms with Euclidean noise are planned for
/// ([`crate::theory::Landscape`]), for classifiers; half of sqrt(columns)/R2 where that is more, the size at which
/// margins are about 1/2 for rows spread over all columns. Objective perturbation on a9a at epsilon 0.1: .818 with 2.9
/// and .815 with 2; noisy proximal gradient wants 2 to 4 there.
pub const CLASSIFIER_DISTANCE: f64 = 2.9;

/// The same for regressors: noisy proximal gradient wants 2 to 4 on diamonds and california and 1 to 2 on garbage at
/// epsilon 1 and 4, 0.5 on all three at 0.1.
pub const REGRESSOR_DISTANCE: f64 = 1.5;

/// Typical margin of a classifier. On news20groups objective perturbation wants 2 to 5 times the ridge that 1 gives;
/// cod_rna and phoneme do not mind.
pub const CLASSIFIER_MARGIN: f64 = 0.5;

/// Typical size of a regressor's predictions around the intercept in scaled units, where targets fill [-1, 1]. After
/// private scales 0.2 gives .90 on diamonds at epsilon 0.1, and 1 gives .80.
pub const REGRESSOR_MARGIN: f64 = 0.2;

/// Standard deviation of targets in the scaled units of these two, where it is released: models are as large as targets
/// are spread, whatever is mapped to 1. A fifth in place of 1/3.6 takes .02 off the R^2 of l-infinity penalties at
/// epsilon 0.1, and adds .005 at 4.
pub const REGRESSOR_SPREAD: f64 = 1.0 / 3.6;

/// Curvature in the flat directions, where noise on gradients does its harm, in units of beta R2^2/columns, for
/// classifiers. 0.03 lets the noise decide on a9a and dna_splice, and lets noisy proximal gradient and objective
/// perturbation go far on cod_rna, which has 8 features and little noise.
pub const CLASSIFIER_FLATNESS: f64 = 0.03;

/// The same for regressors: the least of 0.001, 0.03 and 0.3 was the best on diamonds, california and garbage.
pub const REGRESSOR_FLATNESS: f64 = 0.001;

/// Least ridge of the public rules under replace-one, in units of beta R2^2: keeps the proved number of steps of the
/// minimiser below 1e7.
pub const LEAST_RIDGE: f64 = 1e-5;

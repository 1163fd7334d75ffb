//! Frank-Wolfe: how far it goes, in which ball, and how late its slopes are.

/// Curvature constant of Frank-Wolfe for classifiers, per unit of smoothness and squared reach: Gamma = 0.088
/// beta reach^2, 0.022 radius^2 for the logistic loss ([`crate::theory_of_privacy::frank_wolfe`]). The worst case (beta
/// reach^2 times 4) overstates it fortyfold on real data. Accuracy at half to three times the iterations that it gives
/// was measured on the synthetic problem of benches/accuracy_floors.py (best at once), a9a and adult (best at once to
/// twice, within .003), cod_rna and dna_splice (flat), epsilon 0.5, 1 and 4.
pub const CLASSIFIER_CURVATURE: f64 = 0.088;

/// The same for regressors, which want about twice the iterations: tuned on diamonds, california and garbage,
/// epsilon 1 and 4.
pub const REGRESSOR_CURVATURE: f64 = 0.3;

/// Radius of a classifier's ball in scaled units.
pub const CLASSIFIER_RADIUS: f64 = 10.0;

/// Radius of a regressor's ball in scaled units, where targets fill [-1, 1]: the best of 2, 4 and 8 overall
/// on diamonds, california and garbage at epsilon 1 and 4.
pub const REGRESSOR_RADIUS: f64 = 4.0;

/// Clamp of the residual of the squared loss in scaled units (2, not radius + 1;
/// [`crate::theory_of_privacy::frank_wolfe`]).
pub const RESIDUAL_BOUND: f64 = 2.0;

/// Largest number of iterations that the public rule considers.
pub const MAX_ITER: usize = 2_000;

/// How far the slope of a record may lag behind in Frank-Wolfe, in units of its bound L: its score moves by this L/beta
/// before it is taken anew. On imdb (89 527 columns) accuracies at epsilon 0.5 to 4 are within noise of those of exact
/// slopes (benches/sparse_frank_wolfe.py).
pub const LAG: f64 = 1.0 / 128.0;

/// Columns from which on slopes lag behind, where nothing else is said: below, a step over all columns is fast.
pub const LAGGING_COLUMNS: usize = 1 << 16;

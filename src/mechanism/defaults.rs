//! Public default constants: where each comes from.

/// Curvature constant of Frank-Wolfe, per unit of smoothness and squared reach: Gamma = 0.088 beta reach^2, which is
/// 0.022 radius^2 for the logistic loss. The worst case (beta reach^2 times 4) overstates it fortyfold on real data
/// (MECHANISMS M3); tuned on the open sets only.
pub const CURVATURE: f64 = 0.088;

/// Radius of a classifier's ball in scaled units (API).
pub const CLASSIFIER_RADIUS: f64 = 10.0;

/// Radius of a regressor's ball in scaled units, where targets fill [-1, 1].
pub const REGRESSOR_RADIUS: f64 = 2.0;

/// Clamp of the residual of the squared loss in scaled units (MECHANISMS M3: 2, not radius + 1).
pub const RESIDUAL_BOUND: f64 = 2.0;

/// Largest number of iterations that the public rule considers.
pub const MAX_ITER: usize = 2_000;

//! Frank-Wolfe on the dual.

/// Ridge of Frank-Wolfe on the dual, in units of the public rule of output perturbation, whose noise is less: of ridges
/// 0.003, 0.006, 0.01 and 0.02, those within a factor of 1.4 of this one have the best test accuracy of either variant
/// on a9a (l1, alpha 0.001, epsilon 0.5, 1 and 4, five seeds).
pub const DUAL_RIDGE_FACTOR: f64 = 2.0;

/// Fewest and most steps on the dual that the public rule takes: below the fewest the norm is hardly seen.
pub const DUAL_STEPS: (usize, usize) = (10, 300);

/// Share of the zCDP that the release of theta(s_T) takes after a selection: better than a half by the penalised
/// objective on a9a at epsilon 1 (l1 and groups, six seeds), level with it at epsilon 4.
pub const DUAL_RELEASE_SHARE: f64 = 0.75;

/// Draws of a normal vector that the width of K is simulated with where no formula is known.
pub const DUAL_WIDTH_SAMPLES: usize = 64;

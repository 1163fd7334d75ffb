//! Submodular minimisation by noisy subgradients.

/// Share of the zCDP budget of a submodular minimisation for the values of the last point's level sets, of which the
/// least is released: one sum of all gains, where each subgradient is one of many. No data set was looked at.
pub const LEVEL_SHARE: f64 = 0.2;

/// Fewest and most subgradients of a submodular minimisation. Noise takes no more from many steps than from few, so
/// that the most is what time allows. No data set was looked at.
pub const SUBGRADIENT_STEPS: (f64, f64) = (20.0, 200.0);

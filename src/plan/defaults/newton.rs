//! Noisy Newton steps: what second moments cost, how many steps, and how they shrink what noise hides.

/// Share of the zCDP budget that noisy Newton steps, of a fit and of the line through its scores, spend on second
/// moments: 0.035 brings .001 of R^2 at epsilon 0.1 on 121 tables, and takes the intervals from most fits of 20 000
/// records at 0.5; none at all takes .02 of R^2.
pub const NEWTON_SHARE: f64 = 0.07;

/// Noisy Newton steps: 20, 30 and 60 are within .003 on the same sets, but for garbage at epsilon 0.1 (.61, .71, .72).
pub const NEWTON_STEPS: usize = 40;

/// Entries of the records that more than [`NEWTON_STEPS`] may read together: about half a second of one core.
pub const MOST_ENTRIES: f64 = 4e9;

/// Most columns that noisy Newton steps take second moments of, where nothing else is said.
pub const NEWTON_COLUMNS: usize = 512;

/// Momentum m of noisy Newton steps, which are shortened to 1 - m: the scores of 0.5 are those of 0 within .003, and
/// steps converge where the true curvature is up to 2 (1 + m)/(1 - m) = 6 times the released one, as it may be where
/// long rows count less than they are long.
pub const NEWTON_MOMENTUM: f64 = 0.5;

/// Share of noisy Newton steps that are on their way: the iterates after them are averaged. Where the curvature is
/// known the mean of the last half has twice the variance that all gradients allow, of the last three quarters 1.35
/// times, and momentum 0.5 has forgotten the start after ten steps but for 3 %.
pub const NEWTON_EARLY: f64 = 0.25;

/// The same without second moments, where steps are short and all iterates are drawn to the start.
pub const DESCENT_EARLY: f64 = 0.5;

/// Shrinkage of noisy Newton steps ([`SHRINKAGE_DIRECTIONS`]): lambda in units of beta R N/L, where N is the standard
/// deviation of the noise on the mean gradient and L the bound on slopes.
pub const SHRINKAGE: f64 = 2.7;

/// Below so many times p N/(L R) shrinkage is less: there are fewer directions than noise could hide.
pub const SHRINKAGE_DIRECTIONS: f64 = 10.0;

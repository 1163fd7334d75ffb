//! Noisy Newton steps: what second moments cost, how many steps, and how they shrink what noise hides.

/// Share of the zCDP budget that noisy Newton steps spend on second moments: the first of regressions with squared
/// residuals, which have intervals, of three or more classes, the spread of whose scores they tell, and of a line
/// through scores; the second of others. Of such regressions the second brings .001 of R^2 at epsilon 0.1 on 121
/// tables, and takes the intervals from most fits of 20 000 records at 0.5; none at all takes .02 of R^2. Of 43 tables
/// of two classes the first has .0005, .0003, .0004 and .0001 more log loss at 0.1, 0.5, 1 and 4, 0.02 is alike, and
/// 0.12 has .0009 and .0006 more than the first at 0.1 and 0.5.
pub const NEWTON_SHARE: [f64; 2] = [0.07, 0.035];

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

/// Least curvature of a pinball loss that steps count on, in units of that in the middle of the targets, where they
/// begin: at the level .99 it is a fifteenth, and steps as long as that would have it never come back.
pub const LEAST_DENSITY: f64 = 0.6;

/// Share of noisy Newton steps that are on their way: the iterates after them are averaged. Where the curvature is
/// known the mean of the last half has twice the variance that all gradients allow, of the last three quarters 1.35
/// times, and momentum 0.5 has forgotten the start after ten steps but for 3 %.
pub const NEWTON_EARLY: f64 = 0.25;

/// The same without second moments, where steps are short and all iterates are drawn to the start.
pub const DESCENT_EARLY: f64 = 0.5;

/// Shrinkage of noisy Newton steps ([`SHRINKAGE_DIRECTIONS`]): lambda in units of beta R N/L, where N is the standard
/// deviation of the noise on the mean gradient and L the bound on slopes. Beside [`COUNTED_NORM`](super::COUNTED_NORM)
/// 2.7 loses .006 of R^2 on 68 regressions at epsilon 0.1 and brings .0007, .0001 and .0004 at 0.5, 1 and 4; 3.8 brings
/// .002 at 0.1 and loses .0010, .0003 and .0003. Of 43 tables of two classes 2.7 and 3.2 are alike.
pub const SHRINKAGE: f64 = 3.3;

/// Below so many times p N/(L R) shrinkage is less: there are fewer directions than noise could hide.
pub const SHRINKAGE_DIRECTIONS: f64 = 10.0;

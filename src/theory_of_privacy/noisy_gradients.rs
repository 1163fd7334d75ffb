//! Gradients with Gaussian noise (TTZ Algorithm 3; Bassily, Smith & Thakurta 2014; Wang, Ye & Xu 2017).
//!
//! # Statement
//!
//! At public theta_t the integer gradient g of [`records`](super::records) leaves with exactly rounded Gaussian noise
//! of standard deviation sigma on every entry. It moves by at most D2 = 2 Dmax R2_int in L2 between neighbours (Dmax
//! R2_int under add-remove), the intercept's column included in R2_int. T such releases, chosen adaptively, cost what
//! one with the ratio sqrt(T) D2/sigma costs, by the exact Gaussian curve
//! ([`noise_and_accounting`](super::noise_and_accounting)). What is done with a released gradient is free: a step of
//! Frank-Wolfe over the ball of any norm, a proximal step, a Newton step.
//!
//! ```
//! use dpsparse::accounting::{accountant::Accountant, event::{Event, gaussian}};
//! let composed = Accountant::new().add(Event::gaussian(1.0, 40.0)?, 100)?.epsilon(1e-6)?;
//! let single = gaussian::epsilon(1e-6, 10.0 / 40.0);
//! assert!((composed / single - 1.0).abs() < 1e-9);
//! # Ok::<(), dpsparse::Error>(())
//! ```
//!
//! **Coarser units.** Where g is released in units of 2^s, entries are floored to multiples of it. Flooring moves the
//! difference of two entries by less than 1 unit: D2/2^s + sqrt(p) units.
//!
//! **Long rows** may be left as they are and counted less: record i enters w_i times, w_i |(x_i, c)|_2 <= |(R, c)|_2
//! for a public R. w_i is a function of record i, so the bound stands with R in place of the largest norm, and a
//! regression keeps its slope, which shortening x alone would bias.
//!
//! # A penalty after private scales
//!
//! Images are x'_j = (a_j x_j + b_j)/r and y' = (y - m)/h, with constants that are released. A model of the images
//! predicts m + h <theta', x'>, so theta_j = h a_j theta'_j/r, and squared losses (and Huber's, with its threshold in
//! the same units) are h^2 times those of the images, quantile losses h times; scores of counts are logarithms
//! (theta_j = a_j theta'_j/r), and their losses are as many times those of the images as the units of rates are apart.
//! So the penalty alpha sum w_j |theta_j| of the mean loss is alpha sum w_j |theta'_j| h |a_j|/(r h^2) of that of the
//! images (h for h^2 with quantiles): weights of a prox, and post-processing.
//!
//! # A ball, or a penalty, of noisy Newton steps
//!
//! {sum_k Omega(theta_k) <= radius}, over the features of all scores k, or alpha times that sum; the intercept is
//! free. In the metric of a released matrix H a point is moved to the minimiser of sum_k (x_k - theta_k)' H (x_k -
//! theta_k)/2 over the ball, or with the penalty: with H = L L', less what the intercept takes up, a least-squares
//! problem with p records for every score (one for all, where they share the ball of a weighted l1 norm). Everything
//! in it is public or released: post-processing. Steps are moved one by one, by the matrix that they are divided by:
//! theta = move(theta - H^-1 g) says that -g is normal to the ball at theta, or a subgradient of the penalty. After
//! private scales Omega is that of u_j theta_j, u_j = h |a_j|/r, as above (|a_j|/r of counts), and alpha over h^2 (h
//! of quantiles and counts), so that both are in units of the public bounds; a ridge is that of u_j theta_j too, over
//! the same, and part of H.
//!
//! Coefficients that are not worth their noise are zero at the end. T steps leave x = (H + rI)^-1 b with r = lambda/T
//! (below) and noise of variance N^2 on every entry of b = H minimiser. Of a model on a set S of coefficients, x_S =
//! (H + rI)_SS^-1 b_S, the expected risk x'Hx/2 - E b'x is x_S' H_SS x_S/2 - b_S' x_S + N^2 tr (H + rI)_SS^-1 but for
//! noise of mean 0 (Mallows 1973; the trace is the covariance of b and x). Sets are those that penalties with Omega
//! leave.
//!
//! # How far noisy Newton steps go
//!
//! T damped steps act as a ridge lambda = damping/T on coefficients from which T noisy gradients, together of standard
//! deviation N an entry, are subtracted. Along an eigenvector of the Hessian of eigenvalue h that is a variance of h
//! N^2/(h + lambda)^2 in scores. If eigenvalues fall as R^2/j, R^2/lambda directions are above lambda; if the signal V
//! is spread evenly over them, each has V lambda/R^2 of it. Noise and signal are alike where lambda = N R/sqrt(V); with
//! fewer directions than that, p of them, where lambda = N^2 p/V. A mean gradient over n records, as they were drawn,
//! has the standard deviation s R/sqrt(p n) an entry, s that of a derivative: s^2 R^2/(n V) more, but no more than
//! noise asks for (half the harmonic mean of both), or no epsilon would give the fit of the stated loss. Without second
//! moments H is 0, and steps of length (1 - m)/lambda, m their momentum, converge where lambda >= beta R^2 (1 - m)/(2
//! (1 + m)). Only accuracy depends on it.
//!
//! T is public and costs no privacy, as steps share one budget (Dong, Roth & Su 2022, corollary 2). One bound beta on
//! the curvature of the loss serves all of them. Where the true mean curvature along an eigenvector is c beta, T steps
//! leave (1 - c)^T of the way to the minimiser, and where classes are sure c is small: classes take as many steps,
//! within what time allows, as bring damping/T down to the ridge above with a damping of ten times the least. So they
//! go on for as long as noise leaves something to find. Steps a times as long go as far in T/a of them; with a momentum
//! m of 2 (1 + m)/(1 - m) = 6 a they converge for curvatures as steep as those of m = 1/2 and a = 1. The first ones are
//! short: at a score of 0 the bound is the curvature.
//!
//! **Steps that are too long.** What steps are divided by may be less than the curvature: moments are sums of w^2 x x',
//! gradients of records that count w times have the curvature w x x', and that of counts is their rate. Between two
//! points apart by s gradients differ by about H s, and s'H s beside s' divisor s is the ratio of both along s; noise
//! of standard deviation N an entry adds N sqrt(2) |s| to it. Steps go along the noise on the gradient before, too, so
//! that noise alone shows a ratio of 1/((1 - m) a), less than a half of the 2 (1 + m)/((1 - m) a) that they converge
//! for. A ratio of two thirds of this or more, less four standard deviations, shortens all further steps to a half of
//! it, and means start anew: steps that diverge show it long before the last one. What is expected of a line (below)
//! takes its Hessian from the clearest of these pairs, where that says more than moments do: the update of Broyden,
//! Fletcher, Goldfarb and Shanno, H - H s s'H/(s'H s) + y y'/(y's) with the change y of gradients, changes gradients
//! along s as they did, and has no negative eigenvalue.
//!
//! **Where classes and counts start.** The intercept's column is a fifth of a typical row, so that gradients have five
//! times the noise of a count along it; and from even odds steps on a loss that is flat where outcomes are rare take
//! long, or go too far. A gradient of the intercepts alone at zero is (1/2 - p) n, or (1/K - p_k) n for each of K
//! classes: its sensitivity is that of a row with the constant in it. Steps start at the log odds of these p, none
//! taken for less than its noise, and 1/2 - p for (1/2 - p) (1 - N^2/(1/2 - p)^2), or 0, beside noise N; K classes are
//! drawn to even shares together, by 1 - (K - 1) N^2/sum_k (1/K - p_k)^2. Of counts a it is the sum of rate - a,
//! clamped, at the rate where scores start: less than half of that rate is started from.
//!
//! **Flat directions.** Where a level has hardly any records, or none, a direction has next to no curvature h, and its
//! coefficient is N/(h + lambda/T) of noise, which no score of a record shows: the signal of the rule above is one of
//! scores. A log odds ratio of 100 is published nevertheless, and meets the next record of that level. Before anything
//! is known a coefficient has some standard deviation s; of a mean gradient h theta + N the expected coefficient is
//! h/(h^2 + k^2) of it, k = N/s, which is what the ridge k^2/h leaves. lambda/T is no less than k^2/(h + k) along any
//! eigenvector: noise leaves s at most, steep directions stay as they are, and with N it vanishes. h is what was
//! released, less the largest eigenvalue that noise alone has. It also keeps noisy steps within the part of a logistic
//! loss that is curved: noise N sqrt(T) a step leaves iterates, along a direction where the mean loss is h theta^2/2 up
//! to theta = 1 and linear beyond, with a law like exp(-2 lambda loss/(N^2 T)), which is within that part where
//! lambda/T is beyond N^2/h.
//!
//! # A line through released scores
//!
//! theta, once released, is public. The map x -> clamp(<theta, x>/r, -1, 1) takes one record to one number: records
//! that differ in one row have images that differ in one row, so a second mechanism may work on the images under the
//! same neighbours, with sensitivities for one feature and an intercept. Its noise does not grow with p, and its clamp
//! may be wide. The slope b and the constant a that it releases make b theta and theta_p + a of theta: post-processing.
//! An image (s, c), c the intercept's, with |s| > R counts w = |(R, c)|/|(s, c)| times: a slope d adds at most |d| |(R,
//! c)| to a gradient, and noise is less by a third where R and c are two standard deviations of scores and r four.
//! Where targets are linear in s the line is the same, w being a function of s alone.
//!
//! **Log odds.** Records tell of a line through log odds by p (1 - p), so it is about their mean score with these
//! weights: of an outcome of one in a hundred all scores lie to one side of 0, beyond the reach r. Scores are taken for
//! normal, with the mean and the deviation that moments tell. A fit whose derivatives are clamped at c has scores z
//! with q = 1/(1 + e^-z) where p min(1 - q, c) = (1 - p) min(q, c), if it is saturated: the line starts at the least
//! squares of these log odds, times what gradients ask of scores, such that the mean of p stays. With x the
//! coefficients of scores around their mean, g the mean gradient of the fit, of noise N on every entry, moved by H to
//! where steps end, and H the bound by moments, scores are best, to first order, 1 - (x'g - x'N)/x'Hx times as large.
//! Steps that act as a ridge lambda/T have followed the noise, to -(H + lambda/T)^-1 N: the expected product x'N is
//! minus the variance of N times the sum of 1/(h_i + lambda/T), and no more is known of it. It tells of steps that
//! ended early as well as of noise in scores; a factor beyond two either way is not believed. Scores that are far from
//! 0 curve less than H counts on: a factor above 1 is so much further above it as normal scores around 0 of their
//! deviation curve less along themselves. Without moments, or where a norm or a ridge holds them, scores are drawn to a
//! constant by the noise that they are expected to have. The reach r is the square root of a constant over the noise on
//! the mean gradient of the line, from 1 to 4: noise on the slope grows with it, and what a clip does to the slope
//! falls. As mean p_i (1 - p_i) <= p (1 - p), the Hessian that its steps are divided by is 4 p (1 - p) times the bound,
//! and the ridge that draws them to the start is as many times larger.
//!
//! **Three or more classes.** After the steps what features add to scores around their means is multiplied by what the
//! same sum over the classes asks for, no further than to twice, and no less than by 1 - E/Q (James & Stein 1961),
//! where Q is the sum of its squares and E what noise adds to it: without any signal the model of a constant is left. A
//! norm or a ridge leaves 1 - E/Q alone. Then K scores of a record, less their means and over a public reach, are its
//! only features, and one number, the sum of the diagonal of their gradient, tells how the loss changes with a factor
//! for all of them ([`softmax_model`](super::softmax_model)). Records with longer scores than half their root mean
//! square s count less, so that the curvature along the factor is at most s^2/4, by 1/2 for that of a softmax loss:
//! steps that are divided by it converge, and a ridge draws them to 1 as far as noise asks. A mean score m becomes m
//! sqrt((1 + pi d^2 b^2/8)/(1 + pi d^2/8)) with the factor b, d^2 the variance of the difference between two scores: of
//! normal scores shares stay about as they were (MacKay 1992).
//!
//! # Features that are clipped nearer
//!
//! Where noise is small, least squares clip features far out, if at all. Beside theta with its line, which is linear
//! that far, stands the model of theta with a line of its own through scores of features that are clipped as near as
//! where noise is large: x -> <theta, clamp(x, -a, a)> is a public map of one record, too. Both are released. With f
//! and g their predictions, m = (f + g)/2 and z = g - f, squares have (g - y)^2/2 - (f - y)^2/2 = (m - y) z: the loss
//! of one less that of the other is the sum of the slopes at m times z. So z/r is a feature, m/64 r another one and the
//! intercept's value 1/64, and the entry of z in a gradient at m, over r, is that difference, with the sensitivity of a
//! gradient of rows no longer than 1.001, beyond which records count less. Slopes are clamped at r, and z/r at 1. The
//! nearer clips are taken where they are better by one and a half standard deviations of the noise.
//!
//! # How large residuals are
//!
//! A residual r has the slope clamp(r, -c, c). With the constant of a line off by t >= c all slopes are c, but for
//! records with r < c - t: c less the mean slope is the mean of (c - t - r)_+, up to 2c. Two gradients, at t = c and
//! -c, tell the mean of
//! |r| (up to 2c), and two further out that of what lies beyond, both over the mean weight of records, about the root of
//! the mean square weight that second moments tell: the same question as the steps', asked of the same
//! images, so that no other sensitivity is needed. Intervals rest on it; they are post-processing of these and of the
//! steps' own answers.
//!
//! # The vertex that Frank-Wolfe needs
//!
//! Over {Omega <= radius} the step is argmin <g, x> over *that* ball, a dual-norm problem: a set A that attains max
//! |g|(A)/F(A), and x = -radius sign(g)/F(A) on it. It is not the greedy vertex of |P|(F), which belongs to the dual
//! problem ([`polyhedra`](super::polyhedra)).
//!
//! # Mirror descent
//!
//! Talwar, Thakurta & Zhang 2014 take steps in the geometry of the ball: grad psi(theta) <- grad psi(theta) - eta g_t,
//! then the Bregman projection. All of it is done with released gradients. **Excess**, for a convex mean loss, psi that
//! is 1-strongly convex in a norm N, and gradients with independent noise xi_t of E N*(xi_t)^2 <= T s^2 (s that of one
//! release with the whole budget): the mean of T iterates has E excess <= V/(eta T) + eta T s^2/2, V the largest psi -
//! psi(start) on the ball, once eta is at most 1/(beta B^2), B a bound on N*(x), which pays for the gradient itself
//! (Lan 2012, Theorem 1, with constants for eta <= 1/(2 beta B^2)). The best length eta T = sqrt(2 V)/s gives sqrt(2 V)
//! s for every T that is long enough. For the l1 ball of radius r, q = 1 + 1/ln p: V = r^2 ln(p)/2 and s^2 = sigma^2
//! E|xi|_q'^2 <= e^2 (1 + ln p) sigma^2, as p^(2/q') < e^2 and E|xi_1|^q' <= q'^(q'/2); the Gaussian width of the ball
//! is about r sqrt(2 ln p). Projections on balls of norms: [`Potential`](crate::norm::Potential).
//!
//! # TTZ's printed variance
//!
//! Algorithm 3 takes sigma^2 = 32 L2 T ln^2(n/delta)/(n eps)^2. The factor must be L2^2: multiplying all losses by k
//! multiplies the sensitivity of the gradient by k and this sigma by sqrt(k) only, so that the privacy of one and the
//! same problem would depend on its units, without a bound as k grows. (Its step is 1/(T + 2) throughout: after T such
//! steps more than a third of theta_1 is still there. The rate of Theorem 2.2 is that of 2/(t + 2).) Theorem 2.6 holds
//! with the exact calibration used here; the noise moves the best score and the chosen one by sigma times the Gaussian
//! width of the ball each.
//!
//! # Code
//!
//! [`polytope::norm_ball`](crate::polytope::norm_ball), [`norm::Potential`](crate::norm::Potential),
//! [`prox`](crate::prox), [`mechanism`](crate::mechanism),
//! [`theory::noisy_vertex_error`](crate::theory::noisy_vertex_error).

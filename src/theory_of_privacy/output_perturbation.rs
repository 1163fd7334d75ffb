//! Noise on a minimiser, or on an iterate (Chaudhuri, Monteleoni & Sarwate 2011; JT Theorem 1; KD Theorem 1).
//!
//! # Lemma: strong convexity bounds the move of a minimiser
//!
//! F and F' are mu-strongly convex, F - F' is differentiable with gradients of norm at most G. Then their minimisers
//! satisfy |theta - theta'|_2 <= G/mu (Chaudhuri, Monteleoni & Sarwate 2011, Lemma 7).
//!
//! **Proof.** 0 is in the subdifferential of F' at theta', so g = grad (F - F')(theta') is in that of F at theta',
//! while 0 is in that of F at theta. Strong monotonicity: <g - 0, theta' - theta> >= mu |theta' - theta|^2. Cauchy &
//! Schwarz. Only the gradient of the difference at theta' is used; F may be infinite outside a closed convex set, such
//! as theta >= 0.
//!
//! # Mode "ridge"
//!
//! theta_hat minimises (1/n) sum l + alpha Omega + (ridge/2)|theta|^2. Neighbours differ by G = 2 L R2/n (L R2/n under
//! add-remove), the penalty is common to both:
//!
//! ```text
//! D2 = 2 L R2/(n ridge) + 2 e,
//! ```
//!
//! where what is released is within e of the minimiser **whatever the records are**: by a gap, e = sqrt(2 gap/ridge),
//! as F(theta) - F(theta_hat) >= (ridge/2)|theta - theta_hat|^2; by a residual r, an element of the subdifferential,
//! e = |r|/ridge. The tolerance is public, lies above the float error of its own evaluation, and is reached within a
//! number of iterations that public constants prove: a solver that may raise or fall back, depending on the records,
//! would need another proof.
//!
//! **Squared loss** (z - y)^2/2, |y| <= B: <theta, subgradient> = 0 at the minimiser and <theta, subgradient of
//! Omega> = Omega(theta) >= 0 give ridge |theta_hat|^2 <= mean of z (y - z) <= B^2/4, so |theta_hat| <= B/(2
//! sqrt(ridge)) and L = R2 B/(2 sqrt(ridge)) + B at theta'.
//!
//! # Mode "early-stopping"
//!
//! T steps theta <- prox(theta - eta grad f(theta)), f the smooth part, from a public point, with beta_total = beta
//! R2^2 + ridge, mu = ridge and eta <= 2/(beta_total + mu); the prox is that of eta alpha Omega.
//!
//! ```text
//! D2 = eta (2 L R2/n + 2 e_grad + 2 e_prox/eta) sum_(t < T) (1 - eta mu)^t:   2 L R2 eta T/n for mu = 0 and no error.
//! ```
//!
//! **Proof.** For x, y and g = grad f(x) - grad f(y): <g, x - y> >= (beta_total mu |x - y|^2 + |g|^2)/(beta_total + mu)
//! (Nesterov 2004, Theorem 2.1.12). Expanding |x - y - eta g|^2, the factor of |g|^2 is eta (eta - 2/(beta_total + mu))
//! <= 0, and |g| >= mu |x - y|: the square is at most (1 - eta mu)^2 |x - y|^2. A prox of a convex function does not
//! expand. So from one step to the next the distance of two neighbours' iterates is multiplied by at most 1 - eta mu,
//! and what is added is eta times the change of the gradient at one point, 2 L R2/n, and the float errors of both
//! sides, e_grad of a gradient and e_prox of a prox. QED. A clamped derivative is that of a convex loss of the same
//! beta (Huber's for the squared one).
//!
//! No ridge is needed: this makes good what KD Theorem 1 promises for a norm alone. n is a true count: replace-one
//! only.
//!
//! **Cousins.** k passes of stochastic gradient descent over a permutation drawn without the data (Wu et al. 2017): the
//! changed record is used at k steps, each adds 2 eta L R2 and no other step expands for eta <= 2/beta: 2 k eta L R2;
//! with strong convexity and steps min(1/beta_total, 1/(mu t)) 2 L R2/(mu n). Full gradient descent (Zhang et al. 2017)
//! is the mode above without a prox. Float errors of both sides are added, eta times those of a gradient at every step:
//! also where slopes, as those of counts, are small differences of larger numbers, whose roundings no clamp shortens.
//!
//! # Several scores
//!
//! For the softmax model of K classes ([`softmax_model`](super::softmax_model)) theta is a K x p matrix, |.|_2 its
//! Euclidean (Frobenius) norm, and both modes hold as they stand, with L = sqrt(2) and beta = 1/2: the lemma and the
//! proofs above speak of convex functions on a Euclidean space, whatever its dimension; a record's gradient is s x', of
//! norm |s|_2
//! |x|_2 <= sqrt(2) R2; its second derivative (diag(P) - PP') (x) xx' is at most R2^2/2. The penalty is the sum of Omega
//! over the rows: convex, with a prox that is that of each row, whose errors add up in square as the rows do. Noise is
//! of K p entries.
//!
//! ```text
//! D2 = 2 sqrt(2) R2/(n ridge) + 2 e,    e = (|residual| + float error)/ridge as for one score.
//! ```
//!
//! What is new is the float error of a gradient of K scores. With exact sums over the records it is R2 times the error
//! of one record's slopes, at most
//!
//! ```text
//! (1/2) R2 (sqrt(p) (sqrt(K) 2^-57 + |theta| 2^-62) + 2^-50 |theta|)    scores of a rounded theta, added in floats
//! + sqrt(2) (2^-41 + K 2^-50)                                          exponentials, their sum, a quotient
//! + sqrt(K) 2^-41                                                      slopes as integers,
//! ```
//!
//! and 2^-48 sqrt(2) more where sums become floats; |theta| <= 7 sqrt(2) R2/ridge at every point that counts. The proof
//! stands beside the code, in `question/class_slopes.rs`. Of one score the second part of the first line is bounded by
//! |z l''(z)|, whatever theta; here scores of two classes may be long and alike, and slopes turn fast there, so it rises
//! with |theta|. It stays small: with R2^2/ridge <= 1e4 and a million records e is below a thousandth of D2.
//!
//! Slopes with a clamp are refused for K >= 3: shortened to a length, they are no gradient of a convex function, and
//! neither the lemma nor Theorem 2.1.12 holds. **Two classes** as K = 2: the rows are the halves of the scalar model's
//! theta with opposite signs. Twice the ridge gives the same minimiser, D2 is smaller by sqrt(2), and the difference of
//! the rows has the scalar model's noise.
//!
//! # KD Theorem 1 is not private as printed
//!
//! It adds Gaussian noise of sigma = L R2 sqrt(ln(1/delta) + eps)/(lambda eps) to the minimiser of the mean loss +
//! (lambda/n) Omega_inf, with no ridge.
//!
//! 1. *A norm alone makes nothing strongly convex*, and without strong convexity the minimiser has no sensitivity of
//!    order 1/n. **Counterexample**: logistic loss, Omega = |.|_1, lambda/n = 0.01, n - 1 records (1, 1) and one record
//!    (1, 0.5), all y = 1. At theta = (ln 99, 0) every margin is ln 99 and every slope -0.01: the partial derivative of
//!    the mean loss is -0.01 in the first coordinate, where it balances the penalty, and -0.01 (n - 0.5)/n in the
//!    second, which does not move from zero. The minimiser is (ln 99, 0), and (0, ln 99) if (1, 0.5) is replaced by
//!    (0.5, 1): a jump of sqrt(2) ln 99 = 6.5 for every n.
//! 2. *The scale is 4 times below* that of JT Theorem 1, 4 L R2 sqrt(ln(1/delta) + eps)/(lambda eps), which is for a
//!    ridge of lambda/n: sensitivity 2 L R2/lambda, so sensitivity/sigma is eps/(2 sqrt(ln(1/delta) + eps)) there and 4
//!    times that here. Even with such a ridge it is not (eps, delta)-DP:
//!
//! ```
//! use dpsparse::accounting::event::gaussian;
//! let jain_thakurta = 1.0 / (2.0 * (1e6f64.ln() + 1.0).sqrt()); // sensitivity/sigma at epsilon 1, delta 1e-6
//! assert!(gaussian::epsilon(1e-6, jain_thakurta) < 1.0);
//! assert!(gaussian::epsilon(1e-6, 4.0 * jain_thakurta) > 2.3);
//!
//! // The counterexample: slopes at (ln 99, 0), n = 100.
//! use dpsparse::loss::{Logistic, Loss};
//! let slope = Logistic.derivative(99f64.ln(), 1.0);
//! let gradient = [slope, slope * 99.5 / 100.0];
//! assert!((gradient[0] + 0.01).abs() < 1e-12 && gradient[1].abs() < 0.01 - 1e-5);
//! ```
//!
//! What remains of the theorem is a suggestion for the penalty ([`polyhedra`](super::polyhedra)) and the risk bound.
//!
//! # Noise
//!
//! The point is rounded to multiples of h, which moves each neighbour by at most sqrt(p)/2 units in L2 and p/2 in L1:
//!
//! ```text
//! Gaussian: L2 sensitivity D2/h + sqrt(p) units;   Laplace: L1 sensitivity sqrt(p) D2/h + p units.
//! ```
//!
//! **Spherical Gamma noise**, density proportional to exp(-|b|_2 eps/D2): the loss is at most (eps/D2) | |b| - |b + v|
//! | <= eps for |v| <= D2. |b| ~ Gamma(p, D2/eps), the direction is uniform. In floats it is only near its law
//! ([`SphericalGamma`](crate::exact::noise::spherical_gamma::SphericalGamma)): the distance is covered by lattice
//! noise, and the probability 1e-30 of a larger one is accounted for as a delta
//! ([`objective_perturbation`](super::objective_perturbation)).
//!
//! A prox of tau Omega with a public tau afterwards is free, and makes the release sparse again. Where theta >= 0 is
//! part of the problem, it is part of the prox too, whatever tau is: noise leaves it, and the projection, which is free
//! as well, goes back. A subgradient v of the constraint at theta has <v, theta> = 0, so that bounds on |theta_hat|
//! hold as they stand.
//!
//! # Code
//!
//! [`mechanism`](crate::mechanism), [`privacy`](crate::privacy), [`norm`](crate::norm), [`prox`](crate::prox).
//!
//! Held by: `privacy/tests/neighbours.rs` and `classes.rs` (neighbours, enumerated), `privacy/fine_gradient.rs` (float
//! errors), `privacy/minimiser.rs` (distances), `tests/test_multiclass.py` (minimisers of 40 digits).

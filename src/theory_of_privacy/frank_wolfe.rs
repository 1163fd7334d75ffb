//! Private Frank-Wolfe over a polytope (TTZ Algorithm 2).
//!
//! # Statement
//!
//! theta_0 is any public point of C = conv(S) and, with mu_t = 2/(t + 2), t = 0, 1, ...,
//!
//! ```text
//! theta_(t+1) = (1 - mu_t) theta_t + mu_t s_t,   s_t in S chosen by the exponential mechanism on <s, grad>.
//! ```
//!
//! Unnormalised: u_(t+1) = u_t + (t + 1) s_t and theta_t = 2 u_t/(t (t + 1)), since 2 (u_t + (t + 1) s_t)/((t + 1)(t +
//! 2)) = t/(t + 2) theta_t + 2/(t + 2) s_t. So margins stay integers.
//!
//! Sensitivities of a score <s, grad> of the mean loss under replace-one (half of it under add-remove):
//!
//! | C | candidates | D |
//! |---|---|---|
//! | l1 ball | +-radius e_j | 2 L Rinf radius/n |
//! | simplex | radius e_j | 2 L Rinf radius/n |
//! | explicit vertices | each vertex v | 2 L H/n, H a public bound on the size of <v, x> |
//! | ball of disjoint groups | signed groups | 2 L radius min(G Rinf, sqrt(G) R2)/n, G the largest size of a group |
//! | l-infinity ball | p independent signs | no joint D: rho below |
//!
//! **Proof.** grad changes by (l'(z) x - l'(z') x')/n; each product with s is at most L |<s, x>|/n, and |<s, x>| <=
//! |s|_1 |x|_inf for the first rows of the table; for a signed group it is radius |x_g|_1 <= radius min(G Rinf, sqrt(G)
//! R2). The value of the l1 ball would under-state that of groups by the factor G.
//!
//! **Signed groups** are not enumerated: with eta on the score, the signs of a chosen group are independent given the
//! group, whose weight is the sum over all signs, prod over j in g of 2 cosh(eta radius g_j).
//!
//! **l-infinity ball.** A linear score splits over coordinates, so the exponential mechanism over all 2^p vertices is p
//! independent choices of a sign with scores +-radius g_j. With d the change of the gradient each has range 2 eta
//! radius |d_j|, so it is (2 eta radius |d_j|)^2/8-zCDP ([`selection`](super::selection)). zCDP adds over independent
//! choices:
//!
//! ```text
//! rho = (eta^2/2) radius^2 |d|_2^2 <= (eta^2/2) radius^2 (2 L R2/n)^2.
//! ```
//!
//! **Privacy** of T steps: T adaptive choices of one range, composed by the
//! [`Accountant`](crate::accounting::accountant::Accountant). The whole transcript s_0, ..., s_(T-1) is covered, so
//! theta_T and everything else made of it is post-processing.
//!
//! # TTZ's printed scale is not private
//!
//! Algorithm 2 adds Laplace noise of scale b = L1 |C|_1 sqrt(8 T ln(1/delta))/(n eps) to every score and takes the
//! least. Theorem 2.4 rests on the exponential mechanism and on strong composition, which between neighbours that
//! *replace* a record has sensitivity 2 L1 |C|_1/n, not L1 |C|_1/n, and whose term of order T eps0^2 is left out of the
//! scale.
//!
//! **Counterexample.** p = 1, C = [-1, 1], linear losses d theta with d = -1 or 1, n odd; all records but one cancel,
//! and that one is replaced by its negative. The gradient is 1/n or -1/n at every theta, the two scores differ by 2/n
//! one way or the other, and the T choices are independent. With x = 2/(n b) the favoured sign loses with probability
//! e^-x (1 + x/2)/2 (a difference of two Laplace variables), so its log odds are x + O(x^2) for small x: every choice
//! is randomised response with parameter x = eps/sqrt(2 T ln(1/delta)) to leading order, whose loss has mean x^2/2 and
//! variance x^2. As T grows the transcript tends (central limit theorem) to a Gaussian mechanism with
//!
//! ```text
//! sensitivity/sigma = sqrt(T) x = eps/sqrt(2 ln(1/delta)).
//! ```
//!
//! At eps = 10 and delta = 1e-6 that costs 10.35 (10.18 at T = 200 by the exact binomial law); below eps = 8 this
//! example costs less than eps, so that nothing is refuted there, and nothing is proved either.
//!
//! ```
//! use dpsparse::accounting::event::gaussian;
//! let cost = |epsilon: f64| gaussian::epsilon(1e-6, epsilon/(2.0 * 1e6f64.ln()).sqrt());
//! assert!(cost(10.0) > 10.35 && cost(20.0) > 24.6);
//! assert!(cost(1.0) < 1.0);
//! ```
//!
//! Therefore eps0 of a choice comes from the accountant, never from the closed form. Against the route of the paper
//! done properly (eps0-DP steps, advanced composition) bounded range and the tight conversion leave 2.0 to 2.7 times
//! more eps0 a step. The printed scale exists for reproduction (`calibration="paper"`) and is never certified.
//!
//! # Accuracy and the number of steps
//!
//! TTZ Theorems 2.5 and A.2 (Jaggi 2013, Theorem 1) with the constants above: T minimises
//!
//! ```text
//! 2 Gamma/(T + 2) + ln|S| 2 D sqrt(T/(8 rho)),
//! ```
//!
//! Gamma the curvature (TTZ Definition 2.1; [`theory`](crate::theory) has both terms). The worst case Gamma = radius^2
//! of the logistic loss overstates fortyfold on real data, where it asks for T = 500 and 35 to 80 is best.
//!
//! # Scaling
//!
//! y of a regression is mapped to [-1, 1] by its public bounds; the residual is clamped to a public bound, 2 and not
//! radius + 1 by default.
//!
//! # Sparse steps
//!
//! Margins may be refreshed lazily (Raff, Khanna & Lu 2023) under one condition: *whether and when row i is refreshed
//! is a function of row i and the public transcript alone*. A trigger computed from other records, such as a number of
//! touched rows, a largest margin or elapsed time, lets one record change the contributions of all others: the
//! sensitivity has no bound then.
//!
//! # Code
//!
//! [`mechanism`](crate::mechanism), [`polytope`](crate::polytope), sensitivities in [`privacy`](crate::privacy).

//! Norms of set functions, their polyhedra and widths (Bach 2010, 2013; KD section 2).
//!
//! # Setting
//!
//! F is submodular and non-decreasing, F of the empty set is 0 and F({j}) > 0. f is its Lovasz extension,
//!
//! ```text
//! |P|(F) = {s: |s|(A) <= F(A) for all A},
//! Omega(theta) = f(|theta|) = max over s in |P|(F) of <s, theta>   (KD Eq. 5).
//! ```
//!
//! # Statements
//!
//! **Greedy vertex** (Edmonds 1970; Bach 2013, section 3). Sort |theta| descending, A_k the first k indices: s_(j_k) =
//! sign(theta_(j_k)) (F(A_k) - F(A_(k-1))) attains the maximum. Features with theta_j = 0 may get 0, as F is
//! non-decreasing: s stays in |P|(F).
//!
//! **Dual norm.** Omega*(s) = max over A of |s|(A)/F(A): closed for many families, else Dinkelbach's method, each round
//! of which minimises F - |s|/t.
//!
//! **Two polytopes.** The greedy vertex is one of |P|(F), the ball of the *dual* norm, over which the dual problem runs
//! ([`dual`](super::dual)). The ball of Omega is its polar; its vertices are of the form sign/F(A) on a set A, and a
//! linear function over it is minimised by the dual norm ([`noisy_gradients`](super::noisy_gradients)).
//!
//! **Gaussian width.** G = E max over s in |P|(F) of <b, s> = E f(|b|), b standard normal, as Omega is the support
//! function: p sqrt(2/pi) for F = |A|, E max |b_j| <= sqrt(2 ln(2 p)) for min(|A|, 1), sums of means of half-normal
//! order statistics for concave functions of the cardinality, E max over a group for each group of a cover (the
//! expectation is linear, whether groups overlap or not); else simulated, with a standard error.
//!
//! ```
//! use dpsparse::lovasz::{norm, support_vertex};
//! use dpsparse::polytope::{Simulation, symmetric::{dual_norm, gaussian_width}};
//! use dpsparse::set_function::Cardinality;
//! let f = Cardinality::new(3)?; // Omega is the l1 norm, |P|(F) the cube
//! let (theta, mut s) = ([0.5, -2.0, 0.0], [0.0; 3]);
//! support_vertex(&f, &theta, &mut s)?;
//! assert_eq!(s, [1.0, -1.0, 0.0]);
//! assert_eq!(norm(&f, &theta)?, 2.5);
//! assert_eq!(dual_norm(&f, &s)?, 1.0);
//! let width = gaussian_width(&f, Simulation { n_samples: 2, seed: 0 })?;
//! assert!((width.value - 3.0 * (2.0 / std::f64::consts::PI).sqrt()).abs() < 1e-12);
//! # Ok::<(), dpsparse::Error>(())
//! ```
//!
//! **Suggested penalty.** KD Theorem 1 balances its two terms at lambda = L R2 sqrt(n)/G, that is alpha = L R2/(sqrt(n)
//! G) ([`suggested_alpha`](crate::theory::suggested_alpha)). It is free of data and offered as a suggestion; the
//! privacy that the theorem takes for granted does not hold ([`output_perturbation`](super::output_perturbation)).
//!
//! **Group lasso.** Omega(theta) = sum_g w_g |theta_g|_2 + l1 |theta|_1 over disjoint groups has the dual ball of all s
//! with
//! |S(s_g, l1)|_2 <= w_g, S the soft threshold: a sum of Euclidean balls and a cube, no |P|(F). Proof: the prox of t Omega at s
//! is 0 exactly there. Its prox is S, then a shrinkage of each group ([`GroupLasso`](crate::norm::GroupLasso), with a
//! bound on its float error): with u = S(v_g, l1) and x the shrunk u, v_g - u is a subgradient of l1 |.|_1 at u and at
//! x too, whose signs are those of u or 0, and u - x one of w_g |.|_2 at x. No prox expands, which together with its
//! float error is all that [`output_perturbation`](super::output_perturbation) asks of it. Where groups overlap the
//! latent norm's ball is the hull of the groups' balls.
//!
//! # Code
//!
//! [`set_function`](crate::set_function), [`lovasz`](crate::lovasz),
//! [`polytope::symmetric`](crate::polytope::symmetric), [`polytope::base`](crate::polytope::base),
//! [`SetFunctionNorm`](crate::norm::SetFunctionNorm).

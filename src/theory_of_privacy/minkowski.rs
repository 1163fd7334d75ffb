//! Selection over |P|(F) as a sum of simple polytopes, without enumeration.
//!
//! # Why
//!
//! KD Algorithm 2 adds noise to the score of every vertex of K = alpha |P|(F). There are up to 2^p p! of them, and a
//! joint exponential mechanism over them pays for the largest change of any score.
//!
//! # Statement
//!
//! Let K = sum_g w_g S_g (Minkowski). A vertex of K is a sum of vertices of the summands and a linear score splits over
//! them, so the exponential mechanism on the product of their vertex sets is an **independent choice per summand**: v_g
//! with probability proportional to exp(eta w_g <v_g, u>). Let u move by d between neighbours, |d|_2 <= r.
//!
//! ```text
//! cover, F = sum_g w_g 1{A meets g}; crosses S_g = conv{e_j, -e_j: j in g}:
//!     rho = (eta^2/2) sum_g w_g^2 max_(j in g) d_j^2 <= (eta^2/2) r^2 max_j sum_(g at j) w_g^2
//! F = c min(|A|, k); signed k-subsets, conv of sum_(j in S) +-e_j over S of size k:
//!     rho <= (eta^2 c^2/2) min(|d|_2^2, (sum of the k largest |d_j|)^2)
//! cut, F = sum_e w_e 1{e = ij is cut}; segments from -(e_i - e_j) to e_i - e_j:
//!     rho = (eta^2/2) sum_e w_e^2 (d_i - d_j)^2 <= eta^2 r^2 max_j sum_(e at j) w_e^2
//! ```
//!
//! **Proof that K is the sum.** The support function of a sum is the sum of the support functions. For a cover
//! Omega(theta) = sum_g w_g max_(j in g) |theta_j|; for min(|A|, k) it is the sum of the k largest |theta_j|; for a cut
//! f(theta) = sum_e w_e |theta_i - theta_j|: those of the shapes above, and a closed convex set is known by its
//! support function.
//!
//! **Proof of rho.** Independent releases add their Renyi divergences: P and Q are products, so E (P/Q)^a is one. The
//! joint vertex is post-processing. So rho is the sum over the summands.
//!
//! - *Cross*: the scores +-w_g u_j move by at most w_g max |d_j| either way. Range 2 eta w_g max |d_j|, and range^2/8 =
//!   (eta^2/2) w_g^2 max d_j^2 ([`selection`](super::selection)). For every d: max_(j in g) d_j^2 <= sum_(j in g)
//!   d_j^2; exchanging the sums gives (eta^2/2) sum_j d_j^2 sum_(g at j) w_g^2.
//! - *Segment*: the scores +-w_e (u_i - u_j) have range 2 eta w_e |d_i - d_j|; and (d_i - d_j)^2 <= 2 d_i^2 + 2 d_j^2.
//!   A cross over the two ends would cost w_e^2 max(d_i^2, d_j^2): up to 4 times less at a fixed d (d_i = -d_j), 2
//!   times less in the bound for every d. The formula of covers is therefore wrong for cuts.
//! - *Signed subset*: the range is twice eta c times the sum of the k largest |d_j|, which gives the second term of the
//!   minimum. The first is a bound on variances, next.
//!
//! **Signed subsets by variance.** P_u(v), proportional to exp(<v, u>) over signed k-subsets v (eta c is part of u
//! here), is an exponential family with log-partition A. Along u' + t d, d = u - u', D_a(P_u | P_u') = (A(a) - a A(1) -
//! (1 - a) A(0))/(a - 1): the remainder of linear interpolation, at most (a/2) sup A'' = (a/2) sup Var <v, d>. Let S be
//! the support of v, q_j = P(j in S), m_j the mean of the sign at j given j in S. Signs are independent given S, so
//!
//! ```text
//! Var <v, d> = sum_j d_j^2 q_j (1 - m_j^2) + Var( sum_j d_j m_j 1{j in S} ).
//! ```
//!
//! S has product weights at a fixed size: memberships are negatively correlated (Borcea, Branden & Liggett 2009), and
//! the rows of their covariance sum to 0 since the size is fixed. It is a graph Laplacian, x' C x = sum over pairs of
//! c_ij (x_i - x_j)^2 <= 2 sum_j C_jj x_j^2, C_jj = q_j (1 - q_j). Hence
//!
//! ```text
//! Var <v, d> <= sum_j d_j^2 q_j (1 + m_j^2 (1 - 2 q_j)) <= |d|_2^2:
//! ```
//!
//! q (1 + m^2 (1 - 2q)) is at most 2q (1 - q) <= 1/2 for q <= 1/2 and at most q <= 1 beyond.
//!
//! **Concave functions of the cardinality**, F(A) = h(|A|): h(i) = sum_k c_k min(k, i) with c_k = 2 h(k) - h(k-1) -
//! h(k+1) >= 0 and h(p + 1) = h(p), as both sides vanish at 0, have the same second differences at k < p, and the same
//! last difference c_p = h(p) - h(p - 1).
//!
//! For F = |A| the sum is p crosses of one feature: rho <= (eta^2/2) r^2. One joint mechanism over the 2^p sign vectors
//! would have range 2 eta |d|_1 <= 2 eta sqrt(p) r and cost p times as much.
//!
//! ```
//! use dpsparse::exact::selection::{MinkowskiSelection, Shape, Summand};
//! // Overlapping groups {0, 1} and {1, 2}: feature 1 lies in both.
//! let cross = |features| Summand { weight: 1.0, shape: Shape::Cross(features) };
//! let selection = MinkowskiSelection::new(vec![cross(vec![0, 1]), cross(vec![1, 2])], 3, 10.0, 0.01)?;
//! assert!(selection.rho() <= 0.01 && selection.rho() > 0.0099);
//! # Ok::<(), dpsparse::Error>(())
//! ```
//!
//! # Scores from a real vector
//!
//! u is rounded to multiples of h before it enters. Rounding is not non-expansive: an entry of the difference may grow
//! by one unit, so |d|_2 <= D2/h + sqrt(p) in units of h.
//!
//! # Other set functions
//!
//! Where no such sum is known, gradients are released ([`noisy_gradients`](super::noisy_gradients)) or iterates
//! ([`dual`](super::dual)), and the greedy vertex at what was released costs nothing.
//!
//! # Code
//!
//! [`MinkowskiSelection`](crate::exact::selection::MinkowskiSelection), its decompositions in
//! [`mechanism`](crate::mechanism).

//! Frank-Wolfe on the dual problem (KD Algorithms 1 and 2).
//!
//! # Setting
//!
//! Lhat(theta) = (1/n) sum_i l + (ridge/2)|theta|_2^2 and K = alpha |P|(F) (or alpha B(F) for a seminorm). Since Omega
//! is the support function of |P|(F) (KD Eq. 5),
//!
//! ```text
//! min over theta of Lhat(theta) + alpha Omega(theta) = max over s in K of -Lhat*(-s),
//! theta(s) = argmin Lhat(theta) + <s, theta>,
//! ```
//!
//! and theta(s) is the gradient of s -> -Lhat*(-s). Frank-Wolfe: s_(t+1) = s_t + 2/(t + 2) (v_t - s_t) with v_t a
//! vertex of K of large <v_t, theta(s_t)>.
//!
//! # Statement
//!
//! For ridge > 0 and at any public s
//!
//! ```text
//! |theta(s; D) - theta(s; D')|_2 <= 2 L R2/(n ridge),
//! ```
//!
//! plus 2 e where a solver stops within a proved distance e of theta(s). (Add-remove: the first term halved.)
//!
//! **Proof.** Lhat + <s, .> is ridge-strongly convex for either data set, and the two differ by (l(<x, .>; y) - l(<x',
//! .>; y'))/n, whose gradient is at most 2 L R2/n. This is the lemma of
//! [`output_perturbation`](super::output_perturbation), at the same s.
//!
//! # KD Eq. (13) reads the data again
//!
//! Theorem 3 takes Algorithm 2 to be private because s_priv is, and Eq. (13) turns s_priv into theta(s_priv) by a
//! minimisation **over the data**: this is not post-processing, and theta(s) at a fixed s is not private at all. It is
//! paid for in one of two ways.
//!
//! 1. *Selection.* v_t by [`minkowski`](super::minkowski) at theta(s_t) rounded to a lattice h, |d|_2 <= D2/h + sqrt(p)
//!    units; after T steps one release of theta(s_T) with Gaussian noise.
//! 2. *Noisy iterates.* Each theta(s_t) is released with Gaussian noise and v_t is the greedy vertex at the release.
//!    The mean of the releases with weights t + 1 is the primal point that belongs to s_T (Bach 2015, *Duality between
//!    subgradient and conditional gradient methods*) and costs nothing more.
//!
//! # KD's noise has nothing to do with the sensitivity
//!
//! Algorithm 2's scale is L Gamma_K sqrt(8 T ln(1/delta))/(n eps), L a Lipschitz constant of the dual function in s.
//! That bounds |theta(s)|, the gradient in s, and not the change of theta(s) between neighbours, which is 2 L R2/(n
//! ridge) for the loss's own L and grows without bound as the ridge falls to 0. It inherits TTZ's closed form besides
//! ([`frank_wolfe`](super::frank_wolfe)).
//!
//! # Squared loss
//!
//! l = (z - y)^2/2, |y| <= B: its Lipschitz constant is that of where minimisers can be. 0 = <theta, gradient> at
//! theta = theta(s) reads mean of z (z - y) + ridge |theta|^2 + <s, theta> = 0, and z (y - z) <= B^2/4, so
//!
//! ```text
//! ridge |theta|^2 <= |s| |theta| + B^2/4,   |theta(s)| <= (|s| + sqrt(|s|^2 + ridge B^2))/(2 ridge),
//! L = R2 |theta(s)| + B.
//! ```
//!
//! The proof of the sensitivity needs l' at one of the two minimisers only, where |z - y| <= L. The derivative is
//! clamped there, which changes no minimiser; under add-remove, where there may be more records than n_public, it may,
//! and the statement is that for the clamped (still convex) loss.
//!
//! # Code
//!
//! [`mechanism`](crate::mechanism), [`MinkowskiSelection`](crate::exact::selection::MinkowskiSelection),
//! [`theory::printed_iterations`](crate::theory::printed_iterations) for KD Theorem 4.

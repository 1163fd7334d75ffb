//! Selection, then a fit in few dimensions.
//!
//! # Why
//!
//! The noise of [`frank_wolfe`](super::frank_wolfe) grows with the number of steps, that of
//! [`noisy_gradients`](super::noisy_gradients), [`output_perturbation`](super::output_perturbation) and
//! [`objective_perturbation`](super::objective_perturbation) with p. A part of the budget buys k coordinates or groups,
//! the rest a fit on them alone, in k dimensions.
//!
//! # Statement
//!
//! **Peeling.** k draws of the exponential mechanism without replacement, scores recomputed at the present public
//! coefficients in between, cost rho = k eps0^2/8: given the earlier draws each is an exponential mechanism over what
//! is left, of the same sensitivity, and what is left is public.
//!
//! **Groups.** The score |g_G|_1 moves by at most D = 2 Dmax times a public bound on a row's L1 norm inside G: Xmax for
//! the indicators of one categorical column, Xmax |G| in general ([`records`](super::records)), since | |g_G|_1 -
//! |g'_G|_1 | <= |g_G - g'_G|_1. The support that Frank-Wolfe visits is public, too, and may be used instead: that is
//! post-processing.
//!
//! **Refit.** The selected columns of records that satisfy the bounds satisfy them. So the refit is any mechanism
//! planned for k columns with the bounds of all, and the whole an adaptive composition with parameters that were fixed
//! before.
//!
//! ```
//! use dpsparse::accounting::{accountant::Accountant, event::Event};
//! let mut accountant = Accountant::new();
//! accountant.add(Event::exponential(0.1)?, 10)?.add(Event::gaussian(1.0, 10.0)?, 1)?;
//! assert!((accountant.rho().unwrap() - (10.0 * 0.1 * 0.1 / 8.0 + 0.005)).abs() < 1e-12);
//! # Ok::<(), dpsparse::Error>(())
//! ```
//!
//! **Second moments** for Newton steps: sum_i x_i x_i' moves by at most sqrt(2) R2^2 in the Frobenius norm (R2^2 under
//! add-remove; [`conventions`](super::conventions)). A symmetric S is released by its upper triangle with noise sigma
//! off the diagonal and sqrt(2) sigma on it. In the coordinates S_ij (i < j), S_ii/sqrt(2) the noise is sigma
//! throughout and
//!
//! ```text
//! sum_(i < j) S_ij^2 + sum_i S_ii^2/2 = |S|_F^2/2,
//! ```
//!
//! so that the ratio sigma/sensitivity is sqrt(2) sigma/|S - S'|_F (Dwork, Talwar, Thakurta & Zhang 2014, with half the
//! variance).
//!
//! # Code
//!
//! [`mechanism`](crate::mechanism), the answers of [`privacy`](crate::privacy).

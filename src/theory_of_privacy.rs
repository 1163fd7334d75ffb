//! The mathematics that every guarantee of this crate rests on: statements, constants and proofs, without code.
//!
//! One page a subject. Each gives the setting, the statement with its constants, its proof or the theorem that proves
//! it, where a constant or a claim of a paper does not hold as printed, and the code that uses it.
//!
//! | page | subject |
//! |---|---|
//! | [`conventions`] | neighbours, notation, what is public |
//! | [`records`] | records become bounded integers, so that sensitivities are exact |
//! | [`selection`] | the exponential mechanism, drawn exactly |
//! | [`frank_wolfe`] | private Frank-Wolfe over a polytope |
//! | [`noisy_gradients`] | gradients with Gaussian noise |
//! | [`minkowski`] | selection over a sum of polytopes, without enumeration |
//! | [`dual`] | Frank-Wolfe on the dual problem |
//! | [`output_perturbation`] | noise on a minimiser, or on an iterate |
//! | [`objective_perturbation`] | a random linear term in the objective |
//! | [`softmax`] | draws from an entropic minimiser; follow the regularised leader |
//! | [`softmax_model`] | three or more classes: one model, one gradient, one budget |
//! | [`counts_and_quantiles`] | losses of counts and of quantiles |
//! | [`select_refit`] | selection, then a fit in few dimensions |
//! | [`polyhedra`] | norms of set functions, their polyhedra and widths |
//! | [`noise_and_accounting`] | lattice noise, composition, conversion |
//! | [`leaks`] | what must not leak around a mechanism |
//!
//! Three papers are cited by initials:
//! - **TTZ**: Talwar, Thakurta & Zhang, *Nearly-optimal private LASSO*, NIPS 2015;
//! - **JT**: Jain & Thakurta, *(Near) dimension independent risk bounds for differentially private learning*, ICML
//!   2014;
//! - **KD**: Kumar & Deisenroth, *Differentially private empirical risk minimization with sparsity-inducing
//!   norms*, 2019.
//!
//! What these papers predict about accuracy stands in [`theory`](crate::theory).

pub mod conventions;
pub mod counts_and_quantiles;
pub mod dual;
pub mod frank_wolfe;
pub mod leaks;
pub mod minkowski;
pub mod noise_and_accounting;
pub mod noisy_gradients;
pub mod objective_perturbation;
pub mod output_perturbation;
pub mod polyhedra;
pub mod records;
pub mod select_refit;
pub mod selection;
pub mod softmax;
pub mod softmax_model;

//! Neighbours, notation, and what is public.
//!
//! # Data and problem
//!
//! There are n records (x_i, y_i), x_i in R^p. A loss is a convex scalar function l(z; y) of z = <x, theta> with
//!
//! ```text
//! L = sup |l'|,   beta = sup l'',   |x_i|_2 <= R2,   |x_i|_inf <= Rinf.
//! ```
//!
//! An intercept is a column of one public value c: R2 becomes sqrt(R2^2 + c^2), the column is a candidate wherever
//! features are chosen, and a ridge that a proof needs covers it too. Problems are penalised or constrained:
//!
//! ```text
//! minimise (1/n) sum_i l(<x_i, theta>; y_i) + alpha Omega(theta) + (ridge/2) |theta|_2^2
//! minimise (1/n) sum_i l(<x_i, theta>; y_i) subject to Omega(theta) <= radius
//! ```
//!
//! alpha is lambda/n of the papers.
//!
//! **Public** are n (under replace-one), p, bounds, classes, names of features, hyper-parameters, numbers of
//! iterations, and the domain: values are finite and labels are known.
//!
//! # Neighbours
//!
//! **Replace-one** ([`Adjacency::ReplaceOne`](crate::accounting::event::Adjacency::ReplaceOne)) is the papers' relation
//! (TTZ Definition 1.3, JT Definition 1, KD Definition 1) and the default: one record is replaced by another, n is
//! public.
//!
//! **Add-remove** ([`Adjacency::AddRemove`](crate::accounting::event::Adjacency::AddRemove)): one record is added or
//! removed. The number of records is private then, so that a public normaliser n_public stands for n and delta is
//! stated, never derived from the data. Quantiles alone have their rank among the true number of values, which moves
//! with #{x <= t}, in one direction: no range is missed because n_public is off.
//!
//! What add-remove changes. Under replace-one an answer that is a sum over records changes by a difference of two
//! contributions, under add-remove by one contribution. So the *per-record terms* are halved: those of
//! [`frank_wolfe`](super::frank_wolfe), [`noisy_gradients`](super::noisy_gradients), [`minkowski`](super::minkowski),
//! [`dual`](super::dual), of the ridge mode of [`output_perturbation`](super::output_perturbation), of follow the
//! regularised leader ([`softmax`](super::softmax)) and the scale of the pure noise of
//! [`objective_perturbation`](super::objective_perturbation). Nothing else is: not the slack of a solver, of rounding
//! or of floats, and not ln(1 + kappa). Second moments go from sqrt(2) R2^2 to R2^2, since
//!
//! ```text
//! |a a' - b b'|_F^2 = |a|^4 + |b|^4 - 2 <a, b>^2 <= 2 R2^4   (orthogonal rows of full length attain it),
//! |a a'|_F = |a|^2 <= R2^2.
//! ```
//!
//! Early stopping, permuted descents and softmax sampling divide by, sum over, or go through the true n: they are
//! refused under add-remove. Where float errors grow with the true number N of records a public bound N <= 16 n_public
//! is an assumption of the certificate. It and every other threshold that raises is checked before anything is spent.
//!
//! One budget holds one relation: the [`Accountant`](crate::accounting::accountant::Accountant) refuses an event of
//! another one.
//!
//! # Several records a person
//!
//! Neighbours that differ in m records are joined by a chain of m single changes: by the triangle inequality every
//! sensitivity is multiplied by m. Objective perturbation is no sensitivity bound and is refused for m > 1.
//!
//! # Maps between answers
//!
//! A map of single records that is fixed beforehand, or depends on released answers alone, keeps neighbours: the images
//! of data sets that differ in m records differ in m images. So features may be scaled by released ranges, targets
//! moved by a released median and divided by a released spread, and features replaced by a released score; later
//! questions are about the images, with sensitivities of their own. By adaptive composition the events of all answers
//! add up.
//!
//! # What a private answer can be
//!
//! - a choice by the exponential mechanism on integer scores ([`selection`](super::selection));
//! - an integer vector plus lattice noise ([`noise_and_accounting`](super::noise_and_accounting));
//! - the minimiser of a perturbed objective ([`objective_perturbation`](super::objective_perturbation));
//! - a draw from an entropic minimiser ([`softmax`](super::softmax)).
//!
//! The rest is post-processing: a function of released values and public facts costs nothing.

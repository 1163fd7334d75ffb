//! Counts and quantiles: losses with bounded slopes beside the logistic one.
//!
//! **Counts.** Scores are logarithms of rates. With a the count, in a public unit or a released one, and c > 0 public,
//!
//! ```text
//! l'(z; a) = clamp(e^z - a, -c, c)
//! ```
//!
//! is the derivative of half the Poisson deviance, clamped ([`Poisson`](crate::loss::Poisson)).
//!
//! *Statement.* l is convex and differentiable, |l'| <= L = c, l'' <= beta = A + c for all a <= A, and for targets y =
//! a/A in [0, 1] both hold whatever z is.
//!
//! *Proof.* e^z - a increases in z, and so does its clamp: l is convex. Where it is not clamped, l'' = e^z <= a + c <=
//! A
//! + c; elsewhere l'' = 0; l' is continuous, so it is Lipschitz with the larger of both. QED.
//!
//! Everything that asks for a convex loss with bounded slopes, or one that is smooth besides, takes it with these
//! constants: [`frank_wolfe`](super::frank_wolfe), [`noisy_gradients`](super::noisy_gradients),
//! [`output_perturbation`](super::output_perturbation), [`objective_perturbation`](super::objective_perturbation),
//! [`dual`](super::dual). Floats err by more than for the other losses, since l' is a difference of numbers up to A + c
//! and |z| e^z may exceed it: the loss states by how much ([`Rounding`](crate::loss::Rounding)), and the error of a
//! gradient counts it.
//!
//! *Units.* With a unit s of rates the count is y/s and the rate s e^z: s moves the intercept alone. So s is free to be
//! chosen by public facts, or by released quantiles of counts, and the released model is mapped back by adding ln s to
//! its intercept. Without an intercept s = 1.
//!
//! *Where scores start.* Ages, weeks or years of schooling lie several of their standard deviations above 0. In units
//! of the mean their slopes would be small beside any clamp that leaves other counts alone; in units s of their spread
//! they are of order one, but rates are r = (median)/s there, and so is the curvature e^z. So coefficients are those of
//! scores u with z = ln r + u/r: the slope per unit of u is r l'(z)/r = l'(z), whose curvature is e^z/r, about 1,
//! whatever r is; for r = 1 they are logarithms of rates, and for large r the rate is s (r + u), as that of reals. A
//! release is asked about the z of given u: r is released before, and affine maps of coefficients are post-processing,
//! so that nothing above changes. Where the median is below the spread, r = 1.
//!
//! *What a clamp costs.* Counts have a long upper tail, which the clamp cuts: at theta* the mean of clamped slopes is
//! 0, not that of slopes, and rates come out too small, by about 0.2/c in logarithms with c in units of the mean count
//! (on two tables), and less where laws are far from 0, which are hardly skewed. That bias is public knowledge on
//! average and data's own in detail: a last line through the released scores, two coefficients with a wider clamp,
//! undoes it where noise allows. c grows with n mu/p, so that it vanishes.
//!
//! **Quantiles.** The pinball loss at level t, averaged over a uniform law of width h
//! ([`Pinball`](crate::loss::Pinball)), has the derivative
//!
//! ```text
//! l'(z; y) = clamp((z - y)/h + 1/2 - t, -t, 1 - t)
//! ```
//!
//! *Statement.* l is convex, |l'| <= L = max(t, 1 - t), l'' <= beta = 1/h. Its minimiser is a quantile of y + U, with U
//! uniform over [-h/2, h/2]: an error of order h^2 where the law of y has a smooth density (Fernandes, Guerre & Horta
//! 2021).
//!
//! *Proof.* l' is a line of slope 1/h, clamped. E l'(z; y) = P(y + U <= z) - t. QED.
//!
//! ```
//! use dpsparse::loss::{Growth, Loss, Pinball, Poisson};
//! let counts = Poisson::new(20.0, 1.5)?;
//! assert_eq!((counts.growth(), counts.smoothness()), (Growth::scalar(1.5), 21.5));
//! let ninth_decile = Pinball::new(0.9, 0.25)?;
//! assert_eq!((ninth_decile.growth(), ninth_decile.smoothness()), (Growth::scalar(0.9), 4.0));
//! # Ok::<(), dpsparse::Error>(())
//! ```

//! Lattice noise, composition, and conversion to (epsilon, delta).
//!
//! # Gaussian noise
//!
//! **Rounded.** An integer vector k plus entries of round(N(0, sigma^2)) equals round(k + N(0, sigma^2)), as rounding
//! (x -> floor(x + 1/2)) commutes with adding integers. So it is a function of the output of the Gaussian mechanism,
//! and by post-processing the exact curve holds (Balle & Wang 2018, Theorem 8): with M = D/sigma
//!
//! ```text
//! delta(eps) = Phi(M/2 - eps/M) - e^eps Phi(-M/2 - eps/M).
//! ```
//!
//! The premise is that the law is that of a real normal variable, rounded: it is drawn exactly
//! ([`RoundedGaussian`](crate::exact::noise::rounded_gaussian::RoundedGaussian); after Karney 2016), digits on demand.
//! A float normal variable that is rounded has another law.
//!
//! **Discrete.** P(k) proportional to exp(-k^2/(2 sigma^2)) on the integers is (D^2/(2 sigma^2))-zCDP (Canonne, Kamath
//! & Steinke 2020, Theorem 4) but does **not** satisfy the continuous curve. For sigma = 1/2 and D = 1 its total
//! variation, delta(0) = P(0) (a unimodal law and its shift by 1), is 0.787 and the curve says 0.683. It is accounted
//! by its Renyi divergence.
//!
//! **The classical formula** sigma = D sqrt(2 ln(1.25/delta))/eps is proved below eps = 1 only (Dwork & Roth 2014,
//! Theorem A.1), and false for large eps: at eps = 10 and delta = 1e-6 it leaves delta = 1.9e-6.
//!
//! ```
//! use dpsparse::accounting::event::gaussian;
//! let discrete = 1.0 / (-10..=10).map(|k| (-2.0 * f64::from(k * k)).exp()).sum::<f64>();
//! assert!(discrete > 0.786 && gaussian::delta(0.0, 2.0) < 0.683);
//!
//! let classical = (2.0 * 1.25e6f64.ln()).sqrt() / 10.0; // sigma for D = 1
//! assert!(gaussian::delta(10.0, 1.0 / classical) > 1.9e-6);
//! ```
//!
//! # Composition
//!
//! All of it is adaptive in the queries, for events whose *parameters* were fixed beforehand. Parameters that are
//! chosen adaptively within one budget need a privacy filter: zCDP, or Renyi divergence at one fixed order.
//!
//! - **Renyi divergences of one order add up** (Mironov 2017, Proposition 1). Curves: a D^2/(2 sigma^2) for Gaussian
//!   noise, the exact ones of [`selection`](super::selection) and of randomised response for pure eps, those of
//!   [`objective_perturbation`](super::objective_perturbation), a rho for zCDP.
//! - **Gaussian events alone** have the Gaussian curve at M = sqrt(sum of the squared ratios) (Dong, Roth & Su 2022,
//!   Corollary 2).
//! - **Gaussian and pure events**: delta(eps) = delta_Gaussian(eps - sum of the pure ones). *Proof.* The loss is L_G +
//!   L_P, the sums over the steps of either kind along one transcript, L_P at most the sum. So E (1 - e^(eps - loss))+
//!   under P is at most that with L_G and eps - sum. L_G is the loss between P and the law whose Gaussian steps are
//!   those of Q and whose other steps are those of P, given the transcript. For this pair the other steps are
//!   post-processing, the same on both sides: it is an adaptive composition of Gaussian mechanisms.
//!
//! # Conversion
//!
//! For every order a > 1, R(a) implies
//!
//! ```text
//! delta <= exp((a - 1)(R(a) - eps) + a ln(1 - 1/a))/(a - 1)    (Canonne, Kamath & Steinke 2020, Proposition 12).
//! ```
//!
//! **Proof.** delta = E_P (1 - e^eps/Y)+ with Y = P/Q, and (1 - 1/x)+ <= x^(a-1) (a-1)^(a-1)/a^a for x > 0 (the
//! quotient of the two is greatest at x = a/(a - 1)). With x = Y e^-eps and E_P Y^(a-1) = e^((a-1) R(a)) this is the
//! bound. Any order is valid, so the search over orders can lose tightness only.
//!
//! At delta = 1e-6 a budget of eps = 0.1, 0.5, 1, 2, 5 is a rho of
//!
//! ```
//! use dpsparse::accounting::calibrate::rho_from_epsilon;
//! for (epsilon, rho) in [(0.1, 3.21e-4), (0.5, 6.64e-3), (1.0, 0.0244), (2.0, 0.0882), (5.0, 0.463)] {
//!     assert!((rho_from_epsilon(epsilon, 1e-6)? / rho - 1.0).abs() < 0.002);
//! }
//! # Ok::<(), dpsparse::Error>(())
//! ```
//!
//! # Rounding
//!
//! Every bound is rounded against ourselves ([`numeric::directed`](crate::numeric::directed)): sensitivities, curves
//! and deltas up, noise up, budgets down. Noise is found by a search of the accountant
//! ([`calibrate`](crate::accounting::calibrate)) and answered from the private side.
//!
//! # Code
//!
//! [`Event`](crate::accounting::event::Event), [`Accountant`](crate::accounting::accountant::Accountant),
//! [`exact::noise`](crate::exact::noise).

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
//! - **Choices, pure events and Gaussian noise**: the curve of independent losses, below. Where other events are among
//!   them it is not known, and Renyi divergences serve.
//!
//! # Choices, pure events and noise in any order
//!
//! Let h(x), x = e^eps, be the largest delta of all that is still to come. A release by P or Q, r = P/Q, before it
//! makes E_Q r h(x/r) of it: given the outcome, h is asked at x/r. h is a supremum of convex functions, and r h(x/r) is
//! convex in r with it. So of all laws of r with mean 1 under Q the most spread one is the worst:
//!
//! - a *pure* release has r in [e^-eps0, e^eps0]: no law is worse than that on both ends, randomised response (Kairouz,
//!   Oh & Viswanath 2015). It makes a mean over two shifts of h, P(loss = eps0) = e^eps0/(1 + e^eps0);
//! - *Gaussian* noise makes the mean over its normal loss, at the largest ratio D/sigma: smaller ones are less spread;
//! - a *choice* has r in [e^(t - eps0), e^t] for some t in [0, eps0] that the neighbours and all earlier outcomes
//!   decide. At each t the law on both ends is the worst, and t is the adversary's (Dong, Durfee & Rogers 2020):
//!
//! ```text
//! S h(x) = sup over t in [0, eps0] of P(t) h(x e^-t) + (1 - P(t)) h(x e^(eps0 - t)),   P(t) = (1 - e^(t - eps0))/(1 - e^-eps0).
//! ```
//!
//! The range of ln(P/Q) is that of ln(Q/P), so neighbours may be exchanged, and all of it holds for either adjacency. n
//! choices of one range, adaptive ones, have the curve S^n (1 - x)+, which is attained: it is the optimum.
//!
//! **Any order.** Let A be a mean over shifts, such as those of noise and of pure events, or over any law of the loss.
//! Means commute with each other, and
//!
//! ```text
//! S A h = sup over t of A (mean at t of h) <= A (sup over t of the mean at t of h) = A S h:
//! ```
//!
//! it costs most if the noise comes first and choices may heed it. For several ranges let f_g be the curve S_g^n_g (1 -
//! x)+ of the choices of range g alone, A_g the mean over the law of the loss with that curve, and U the curve of
//! independent losses: all means, one for each pure and Gaussian event and one A_g for each range, of (1 - x)+. Then
//! **no order of the events, adaptive or not, costs more than U**. *Proof* by induction. If a pure or Gaussian event
//! comes next, what follows it costs at most U without its mean, and its mean makes that U. If a choice of range g
//! does, what follows costs at most A applied to S_g^(n_g - 1) (1 - x)+, A the other means; so with it at most S_g A
//! S_g^(n_g - 1) (1 - x)+ <= A S_g^n_g (1 - x)+ = A f_g = U. The groups need not differ in their ranges: choices of one
//! range may be put in several. For 200 choices two groups cost 0.2 % of epsilon and half of the time.
//!
//! **On grids.** Curves are convex in x and lie below their chords; the supremum over t of chords has a closed form, so
//! a grid is an upper bound with nothing left out between its points. Laws move to other grids by spreads that keep P
//! and Q, upwards again. What grids and groups take of epsilon is below 0.5 % up to 200 choices and 0.7 % for
//! thousands.
//!
//! Against Renyi divergences, at delta = 1e-5 and an epsilon of about 1:
//!
//! ```
//! use dpsparse::accounting::{accountant::Accountant, event::Event};
//! // A zCDP event, here next to nothing, leaves Renyi divergences alone.
//! let saved = |choices: u64, ratio: f64| {
//!     let mut accountant = Accountant::new();
//!     accountant.add(Event::exponential(0.48 / (choices as f64).sqrt())?, choices)?;
//!     if ratio > 0.0 {
//!         accountant.add(Event::gaussian(ratio, 1.0)?, 1)?;
//!     }
//!     let exact = accountant.epsilon(1e-5)?;
//!     let renyi = accountant.add(Event::zero_concentrated(1e-13)?, 1)?.epsilon(1e-5)?;
//!     Ok::<_, dpsparse::Error>(1.0 - exact / renyi)
//! };
//! assert!(saved(10, 0.0)? > 0.035);
//! assert!(saved(50, 0.0)? > 0.07 && saved(200, 0.0)? > 0.075);
//! assert!(saved(50, 0.2)? > 0.07 && saved(10, 0.2)? > 0.05);
//! # Ok::<(), dpsparse::Error>(())
//! ```
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

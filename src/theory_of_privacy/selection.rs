//! The exponential mechanism over integer scores, drawn exactly.
//!
//! # Statement
//!
//! Scores q_k are integers (minimised) that move by at most D, an integer, between neighbours. Candidate k is drawn
//! with probability proportional to exp(-eta q_k), eta rational, 2 eta D <= eps0. This choice is
//! **eps0-bounded-range**, hence eps0-DP and (eps0^2/8)-zCDP, and its Renyi divergence of order a > 1 is at most
//!
//! ```text
//! R(a) = ln( p e^(a t) + (1 - p) e^(a (t - eps0)) )/(a - 1),   p = (e^-t - e^-eps0)/(1 - e^-eps0),
//! at   e^t = (a - 1)(1 - e^(-a eps0))/(a (e^-eps0 - e^(-a eps0))),
//! ```
//!
//! the largest over t in [0, eps0] in closed form (a grid of t would give less).
//!
//! **Proof of the range.** ln P(k)/P'(k) = eta (q'_k - q_k) + ln(Z'/Z), and eta (q'_k - q_k) lies in [-eta D, eta D]:
//! an interval of length 2 eta D = eps0. If all scores move the same way (a sum of non-negative terms under
//! add-remove), it is half as long. The loss is of both signs or 0, since P and P' both sum to 1; so its size is at
//! most eps0.
//!
//! **Proof of zCDP** (Cesar & Rogers 2021). Let X = ln P/P' and K(s) = ln E' e^(s X), E' the mean under P'. K(0) =
//! K(1) = 0 and (a - 1) R(a) = K(a). K''(s) is the variance of X under the law proportional to P' e^(s X), at most
//! eps0^2/4 as X has range eps0. The remainder of linear interpolation at 0 and 1 gives K(a) <= (a (a - 1)/2) eps0^2/4:
//! R(a) <= a eps0^2/8.
//!
//! **Proof of the exact curve** (Dong, Durfee & Rogers 2020):
//! [`bounded_range`](crate::accounting::event::bounded_range), with its evaluation. It is 7 % better than eps0^2/8 at
//! T = 10 choices, 1 to 2 % at T = 50. Curves of one order add up over adaptive choices, since every choice has range
//! eps0 given the earlier ones.
//!
//! ```
//! use dpsparse::accounting::{accountant::Accountant, event::Event};
//! let choice = Event::exponential(0.5)?;
//! assert_eq!(choice.rho(), Some(0.5 * 0.5 / 8.0));
//! assert_eq!(choice.pure_epsilon(), Some(0.5));
//! assert!(choice.renyi(8.0) < 8.0 * 0.5 * 0.5 / 8.0);
//! // Ten choices: less than their sum, and less than any ten 0.5-DP releases cost.
//! let epsilon = |event| Accountant::new().add(event, 10)?.epsilon(1e-6);
//! assert!(epsilon(choice)? < 5.0 && epsilon(choice)? < epsilon(Event::pure(0.5)?)?);
//! # Ok::<(), dpsparse::Error>(())
//! ```
//!
//! # What is not allowed
//!
//! - Gumbel or Laplace noise in floats on float scores: neither the scores nor the noise have the laws of the proof.
//! - Permute-and-flip (McKenna & Sheldon 2020) is eps0-DP but not eps0-bounded-range: of two candidates with equal
//!   scores, and then 2 D apart, the losses are eps0 and -ln(2 - e^-eps0). It must not be accounted by eps0^2/8.
//!
//! # Sampling
//!
//! No normaliser is formed and no weight computed. With scores counted from the least, candidate k belongs to class c,
//! an integer with exp(-eta q_k) in (2^-(c+1), 2^-c]; all beyond a last class share it. A class is drawn with
//! probability proportional to (its number of candidates) 2^-c, in integers, then a uniform member of it, which is
//! accepted with probability exp(-eta q_k) 2^c. Uniform bits are drawn only until an interval enclosure of that number
//! decides. After a rejection **the class is drawn anew**.
//!
//! *Exact*: a round proposes and accepts k with probability proportional to 2^-c exp(-eta q_k) 2^c = exp(-eta q_k). Had
//! only the member been redrawn, class c would keep its proposal probability, whatever its members' weights.
//!
//! *Rounds*: acceptance is above 1/2 outside of the last class, and below 2^32 candidates of weight 2^-64 are proposed
//! with probability at most 2^-32, as a best candidate has weight 1. So 2 (1 + 2^-31) rounds are expected at most,
//! whatever the data are. Every sampling loop of the crate has such a bound beside it: without one the running time
//! could tell apart what the law does not.
//!
//! Weights that are products, as of cosh for groups, get the class of the whole product: a factor that is capped before
//! it is combined leaves the law exact, but the expected number of rounds grows as 2 to the power of what was cut off,
//! which the data decide. Their classes come from enclosures and may overlap; acceptance is then above 1/4.
//!
//! **Few changes between draws**: scores are counted from a number below them all, not from the least one, so that a
//! change moves one candidate between classes and no other. The classes are a common factor apart from those above,
//! which no law sees. What is 64 classes or more behind the best is proposed by a share 2^-64 of *each* candidate, and
//! refused where it falls on one that is near: so it needs no list of its own. Proof and bound on rounds:
//! [`IncrementalSelection`](crate::exact::selection::IncrementalSelection).
//!
//! **Scores that are bounded and not known**: many candidates whose scores are within ln 2/eta of one number are
//! proposed together, with the weight that the best of them could have; the score is looked at where one is proposed,
//! and decides whether it is kept. Proof and bound on rounds:
//! [`LazySelection`](crate::exact::selection::LazySelection).
//!
//! **By inversion**: with cumulated weights C_k and U uniform on [0, 1), the least k with C_k > U S has the probability
//! w_k/S. All weights are enclosed and all sums compared, so that a choice does the same work for all scores
//! ([`draw_in_constant_time`](crate::exact::selection::draw_in_constant_time)); U gets more bits where 64 leave a
//! comparison open.
//!
//! # Code
//!
//! [`ExponentialMechanism`](crate::exact::selection::ExponentialMechanism) on
//! [`InverseTemperature`](crate::exact::selection::InverseTemperature), `exact::selection::valley` where scores fall
//! and rise again, so that classes are found by bisection and the same words make the same choice, groups in
//! [`cosh_groups`](crate::exact::selection::cosh_groups), the event
//! [`Event::Exponential`](crate::accounting::event::Event::Exponential).

//! A random linear term in the objective (Chaudhuri, Monteleoni & Sarwate 2011; Kifer, Smith & Thakurta 2012; JT
//! Theorem 2; Redberg, Koskela & Wang 2023).
//!
//! # Setting
//!
//! ```text
//! theta(b) = argmin J(theta) + <b, theta>/n,   J = (1/n) sum l + alpha Omega + (ridge/2)|theta|^2,
//! kappa = beta R2^2/(n ridge),   kl = ln(1 + kappa),   M = L R2/s for b ~ N(0, s^2 I).
//! ```
//!
//! ridge > 0; l is catalogued: convex, l' Lipschitz and bounded by L; Omega is a catalogued norm. A person owns one
//! record.
//!
//! # The privacy loss
//!
//! **Smooth Omega.** b = -n grad J(theta) =: b_D(theta) is a bijection of R^p, Lipschitz with a Lipschitz inverse (J is
//! smooth and strongly convex), so theta(b) has the density f(b_D(theta)) |det grad b_D(theta)|, f that of b. Between
//! neighbours D and D' the loss ln of the quotient of densities at theta has two parts.
//!
//! *Determinants.* Let H be ridge I plus the Hessian of what D and D' share, A = H + c x x' and A' = H + c' x' x'', 0
//! <= c, c' <= beta/n (one of them 0 under add-remove). det A/det A' = (1 + c x' H^-1 x)/(1 + c' x' H^-1 x') with the
//! respective x, between 1/(1 + kappa) and 1 + kappa, as H >= ridge I. So this part is within kl for **both** relations
//! and every kappa; no condition such as kappa <= eps/2 is needed. (l'' exists at almost every z, hence at almost every
//! theta for a row x other than 0; a zero row contributes nothing.)
//!
//! *Shift.* b_D'(theta) = b + v with b = b_D(theta) and v = l'(z) x - l'(z') x' under replace-one, +-l'(z) x under
//! add-remove. v depends on b through theta: <b, v> is **not** a Gaussian variable. But |<b, v>| <= L |<b, x>| + L |<b,
//! x'>|, and x and x' are fixed rows, so under D (where b is the drawn noise) <b, x> is N(0, s^2 |x|^2). With ln
//! f(b)/f(b + v) = (2 <b, v> + |v|^2)/(2 s^2), |v| <= 2 L R2 or L R2:
//!
//! ```text
//! add-remove:    loss <= kl + M^2/2 + M |g|                     (Redberg, Koskela & Wang 2023)
//! replace-one:   loss <= kl + 2 M^2 + M (|g1| + |g2|)
//! ```
//!
//! with standard normal g, g1, g2, the latter of any correlation.
//!
//! **Any Omega** (after Kifer, Smith & Thakurta 2012). A norm is Lipschitz, so convolution with a smooth kernel of
//! width t gives a smooth convex Omega_t with sup |Omega_t - Omega| -> 0 as t -> 0. At every b strong convexity gives
//! (ridge/2) |theta_t(b) - theta(b)|^2 <= 2 alpha sup |Omega_t - Omega|: theta_t -> theta for every b, so the laws
//! converge weakly. The bounds hold for every t and survive: for closed C and its open eta-neighbourhood C_eta,
//! P(C_eta) <= lim inf P_t(C_eta) <= e^eps lim sup P'_t(closure of C_eta) + delta <= e^eps P'(closure of C_eta) +
//! delta, and eta -> 0; inner regularity extends it to every event. Renyi divergences are lower semicontinuous under
//! weak convergence.
//!
//! **theta >= 0.** A closed convex cone C of coefficients is another such limit: J_t takes Omega_t + dist(theta,
//! C)^2/(2t) for Omega, a convex function with Lipschitz gradients, to which the argument for smooth Omega applies
//! (second derivatives are those at almost every theta). Let theta* minimise the limit for some b, J0 be J with b and
//! without C, e = alpha sup |Omega_t - Omega|, theta' the projection of theta_t on C and d = |theta_t - theta'|. Minima
//! of J_t are at most J0(theta*) + e, so all theta_t lie in one bounded set, on which J0 has a Lipschitz constant M,
//! and
//!
//! ```text
//! J0(theta*) + 2 e >= J0(theta_t) + d^2/(2t) >= J0(theta') - M d + d^2/(2t)
//!                  >= J0(theta*) + (ridge/2) |theta' - theta*|^2 - M d + d^2/(2t),
//! ```
//!
//! the last since theta* minimises J0 over C. As M d - d^2/(2t) <= M^2 t/2, both |theta' - theta*| and d go to 0 with
//! t: theta_t -> theta* for every b again.
//!
//! # Curves
//!
//! H_M(t) = Phi(M/2 - t/M) - e^t Phi(-M/2 - t/M) = E (1 - e^(t - M^2/2 - M g))+ is the Gaussian curve. delta(eps) is at
//! most E (1 - e^(eps - Z))+ for any Z that dominates the loss, which is the integral of e^(eps - z) P(Z > z) over z >
//! eps: only the tail beyond eps counts.
//!
//! **Add-remove.** For eps > kl + M^2/2 only g > 0 counts and |g| takes each such value twice: delta = 2 H_M(eps - kl).
//! Otherwise with e = eps - kl - M^2/2 <= 0 the positive part is idle: delta = 1 - e^e E e^(-M |g|) = 1 - e^e + 2 e^e
//! H_M(M^2/2).
//!
//! **Replace-one.** With tau = (eps - kl - 2 M^2)/M: delta = 2 H_2M(eps - kl) for tau >= 2 sqrt(3), otherwise 1
//! (nothing is claimed).
//!
//! *Proof.* |g1| + |g2| = max(|g1 + g2|, |g1 - g2|), of variances v and 4 - v. So P(|g1| + |g2| > t) <= T(v) + T(4 - v)
//! with T(v) = 2 Q(t/sqrt(v)), Q the upper tail. ln T'(v) = constant - t^2/(2v) - (3/2) ln v rises while v <= t^2/3:
//! for t >= 2 sqrt(3) T is convex on [0, 4] with T(0) = 0, hence superadditive, and the sum is at most T(4) = P(2 |g| >
//! t). So beyond eps the tail of kl + 2 M^2 + M (|g1| + |g2|) is at most that of kl + (2M)^2/2 + 2M |g|, the dominating
//! variable of add-remove with 2M for M. QED
//!
//! **Renyi.** E e^(c |g|) = 2 e^(c^2/2) Phi(c) and, by Cauchy & Schwarz, E e^(c (|g1| + |g2|)) <= E e^(2 c |g|). With
//! c = (a - 1) M under replace-one
//!
//! ```text
//! R(a) <= kl + 2 a M^2 + ln(2 Phi(2 (a - 1) M))/(a - 1),
//! ```
//!
//! and the same with M/2 for M under add-remove. It does not vanish with a - 1, so that there is no zCDP parameter.
//!
//! ```
//! use dpsparse::accounting::{accountant::Accountant, event::{Adjacency, Event, gaussian}};
//! let (lipschitz_norm, s, kl) = (1.0, 10.0, 0.1);
//! let event = Event::objective_perturbation(lipschitz_norm, s, kl, Adjacency::ReplaceOne)?;
//! let delta = |epsilon: f64| Accountant::new().add(event, 1)?.delta(epsilon);
//! assert!((delta(1.0)? / (2.0 * gaussian::delta(1.0 - kl, 2.0 * lipschitz_norm / s)) - 1.0).abs() < 1e-9);
//! assert!(delta(0.46)? < 0.02); // composed alone it is exact: the bound of the tail would say nothing here
//! assert_eq!(event.rho(), None);
//! # Ok::<(), dpsparse::Error>(())
//! ```
//!
//! **Pure.** b of density proportional to exp(-|b| eps'/(2 L R2)), |b| ~ Gamma(p, 2 L R2/eps'): the shift costs eps',
//! the determinants kl: eps = eps' + kl. (Chaudhuri, Monteleoni & Sarwate 2011, Theorem 9, subtract ln(1 + 2 kappa +
//! kappa^2), twice as much.) Under add-remove L R2 stands for 2 L R2.
//!
//! # Floats
//!
//! *b must act as a continuous variable.* On a lattice, or as a raw float, the perturbed minimisers of neighbours have
//! disjoint supports. The b' that is used is coupled to a continuous b: |b' - b| <= e_b but with probability delta_b.
//!
//! *A failure probability is an event.* A mechanism that differs from an eps-DP one with probability delta_b satisfies
//! P'(S) <= P(S) + delta_b <= e^eps Q(S) + delta_b <= e^eps (Q'(S) + delta_b) + delta_b: it is (eps, delta_b (1 +
//! e^eps))-DP and never pure. Spherical Gamma noise in floats has delta_b = 1e-30.
//!
//! *What the solver leaves open.* The computed point is within
//!
//! ```text
//! e = (error of the solver) + e_b/(n ridge) + sqrt(p) h/2
//! ```
//!
//! of theta(b): by a gap the first part is sqrt(2 gap/ridge); |theta(b) - theta(b')| <= |b - b'|/(n ridge) by the lemma
//! of [`output_perturbation`](super::output_perturbation); rounding to the lattice h is the last. Given theta(b), the
//! private release whose loss is bounded above, the computed points of neighbours differ by at most 2 e: lattice noise
//! for the sensitivity 2 e is one further, adaptive event. The pure variant stays as pure as its Gamma noise is only if
//! this noise is Laplace or Gamma too.
//!
//! # Squared loss
//!
//! b makes |theta| unbounded, and with it l': there is no L. Refused; Huber's loss has one.
//!
//! # KD Proposition 2
//!
//! The dual of the perturbed problem is max over s in K of -Lhat*(-(s + b/n)) (KD Eq. 24): the dual problem over the
//! **translated** polytope K + b/n, and theta(b) is recovered from its solution. It is *not* the solution of the
//! unperturbed dual plus b/n, as the text after Eq. (24) has it. In one dimension Lhat = theta^2/2, K = [-1, 1], b/n =
//! 1/2: the dual function -u^2/2 is greatest over K at 0, over K + 1/2 = [-1/2, 3/2] at 0 too, and theta(b) = 0 (a soft
//! threshold), while 0 + 1/2 would give theta = -1/2.
//!
//! ```
//! use dpsparse::prox::soft_threshold;
//! let (penalty, tilt) = (1.0, 0.5);
//! // argmin theta^2/2 + tilt theta + penalty |theta|
//! assert_eq!(soft_threshold(-tilt, penalty), 0.0);
//! // argmin theta^2/2 + s theta at s = (unperturbed dual solution 0) + tilt
//! assert_ne!(soft_threshold(-tilt, penalty), -(0.0 + tilt));
//! ```
//!
//! # Code
//!
//! [`Event::ObjectivePerturbation`](crate::accounting::event::Event::ObjectivePerturbation) and its curves,
//! [`SphericalGamma`](crate::exact::noise::spherical_gamma::SphericalGamma), [`mechanism`](crate::mechanism),
//! [`theory::Landscape`](crate::theory::Landscape).

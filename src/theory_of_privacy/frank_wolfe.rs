//! Private Frank-Wolfe over a polytope (TTZ Algorithm 2).
//!
//! # Statement
//!
//! theta_0 is any public point of C = conv(S) and, with mu_t = 2/(t + 2), t = 0, 1, ...,
//!
//! ```text
//! theta_(t+1) = (1 - mu_t) theta_t + mu_t s_t,   s_t in S chosen by the exponential mechanism on <s, grad>.
//! ```
//!
//! Unnormalised: u_(t+1) = u_t + (t + 1) s_t and theta_t = 2 u_t/(t (t + 1)), since 2 (u_t + (t + 1) s_t)/((t + 1)(t +
//! 2)) = t/(t + 2) theta_t + 2/(t + 2) s_t. So margins stay integers.
//!
//! Sensitivities of a score <s, grad> of the mean loss under replace-one (half of it under add-remove):
//!
//! | C | candidates | D |
//! |---|---|---|
//! | l1 ball | +-radius e_j | 2 L Rinf radius/n |
//! | simplex | radius e_j | 2 L Rinf radius/n |
//! | explicit vertices | each vertex v | 2 L H/n, H a public bound on the size of <v, x> |
//! | ball of disjoint groups | signed groups | 2 L radius min(G Rinf, sqrt(G) R2)/n, G the largest size of a group |
//! | l-infinity ball | p independent signs | no joint D: rho below |
//!
//! **Proof.** grad changes by (l'(z) x - l'(z') x')/n; each product with s is at most L |<s, x>|/n, and |<s, x>| <=
//! |s|_1 |x|_inf for the first rows of the table; for a signed group it is radius |x_g|_1 <= radius min(G Rinf, sqrt(G)
//! R2). The value of the l1 ball would under-state that of groups by the factor G.
//!
//! **Signed groups** are not enumerated: with eta on the score, the signs of a chosen group are independent given the
//! group, whose weight is the sum over all signs, prod over j in g of 2 cosh(eta radius g_j).
//!
//! **l-infinity ball.** A linear score splits over coordinates, so the exponential mechanism over all 2^p vertices is p
//! independent choices of a sign with scores +-radius g_j. With d the change of the gradient each has range 2 eta
//! radius |d_j|, so it is (2 eta radius |d_j|)^2/8-zCDP ([`selection`](super::selection)). zCDP adds over independent
//! choices:
//!
//! ```text
//! rho = (eta^2/2) radius^2 |d|_2^2 <= (eta^2/2) radius^2 (2 L R2/n)^2.
//! ```
//!
//! **Privacy** of T steps: T adaptive choices of one range, composed by the
//! [`Accountant`](crate::accounting::accountant::Accountant). The whole transcript s_0, ..., s_(T-1) is covered, so
//! theta_T and everything else made of it is post-processing.
//!
//! # TTZ's printed scale is not private
//!
//! Algorithm 2 adds Laplace noise of scale b = L1 |C|_1 sqrt(8 T ln(1/delta))/(n eps) to every score and takes the
//! least. Theorem 2.4 rests on the exponential mechanism and on strong composition, which between neighbours that
//! *replace* a record has sensitivity 2 L1 |C|_1/n, not L1 |C|_1/n, and whose term of order T eps0^2 is left out of the
//! scale.
//!
//! **Counterexample.** p = 1, C = [-1, 1], linear losses d theta with d = -1 or 1, n odd; all records but one cancel,
//! and that one is replaced by its negative. The gradient is 1/n or -1/n at every theta, the two scores differ by 2/n
//! one way or the other, and the T choices are independent. With x = 2/(n b) the favoured sign loses with probability
//! e^-x (1 + x/2)/2 (a difference of two Laplace variables), so its log odds are x + O(x^2) for small x: every choice
//! is randomised response with parameter x = eps/sqrt(2 T ln(1/delta)) to leading order, whose loss has mean x^2/2 and
//! variance x^2. As T grows the transcript tends (central limit theorem) to a Gaussian mechanism with
//!
//! ```text
//! sensitivity/sigma = sqrt(T) x = eps/sqrt(2 ln(1/delta)).
//! ```
//!
//! At eps = 10 and delta = 1e-6 that costs 10.35 (10.18 at T = 200 by the exact binomial law); below eps = 8 this
//! example costs less than eps, so that nothing is refuted there, and nothing is proved either.
//!
//! ```
//! use dpsparse::accounting::event::gaussian;
//! let cost = |epsilon: f64| gaussian::epsilon(1e-6, epsilon/(2.0 * 1e6f64.ln()).sqrt());
//! assert!(cost(10.0) > 10.35 && cost(20.0) > 24.6);
//! assert!(cost(1.0) < 1.0);
//! ```
//!
//! Therefore eps0 of a choice comes from the accountant, never from the closed form. Against the route of the paper
//! done properly (eps0-DP steps, advanced composition) bounded range and the tight conversion leave 2.0 to 2.7 times
//! more eps0 a step. The printed scale exists for reproduction (`calibration="paper"`) and is never certified.
//!
//! # Accuracy and the number of steps
//!
//! TTZ Theorems 2.5 and A.2 (Jaggi 2013, Theorem 1) with the constants above: T minimises
//!
//! ```text
//! 2 Gamma/(T + 2) + ln|S| 2 D sqrt(T/(8 rho)),
//! ```
//!
//! Gamma the curvature (TTZ Definition 2.1; [`theory`](crate::theory) has both terms). The worst case Gamma = radius^2
//! of the logistic loss overstates fortyfold on real data, where it asks for T = 500 and 35 to 80 is best.
//!
//! # Scaling
//!
//! y of a regression is mapped to [-1, 1] by its public bounds; the residual is clamped to a public bound, 2 and not
//! radius + 1 by default.
//!
//! # Sparse steps
//!
//! A step of plain Frank-Wolfe reads all records and all p columns. Raff, Khanna & Lu (2023) make one whose cost
//! follows what it touches; here, so does a step whose slopes may lag behind, and its choice stays exact.
//!
//! The score of record i at step t is z_i(t) = 2 <x_i, u_t>/(t (t + 1)). The new vertex moves <x_i, u> of the records
//! that hold its column alone, but the factor 2/(t (t + 1)) moves all scores, and with them all slopes. Let tau > 0 be
//! public.
//!
//! **Rule.** The slope d_i(t) is l'(z_i(r); y_i), rounded and clamped, where r = r_i(t) <= t is the step in which it
//! was last taken: r_i(0) = 0, and r_i(t) = t if |z_i(t) - z_i(r_i(t - 1))| >= tau, else r_i(t) = r_i(t - 1).
//!
//! **Privacy.** *r_i(t), and with it d_i(t), is a function of record i and of the public transcript s_0, ..., s_(t-1)
//! alone.* By induction: z_i(t) is one, since u_t is public; and r_i(t) is made of z_i(t), tau, and z_i at r_i(t - 1).
//! |d_i(t)| keeps the clamp of every slope. So the score <s, sum_i d_i(t) x_i> is a sum of one bounded term a record,
//! which no other record moves: replacing, adding or removing a record moves it by as much as with exact slopes, the
//! table above holds as it stands, and so does the cost of a choice given the transcript. Under add-remove it matters
//! that the rule does not name i: positions of later records shift.
//!
//! *What would break it*: a rule that looks at several records at once, such as a number of touched rows, a largest
//! score or elapsed time. One record could then change whether all others are taken anew, and a score by the sum of all
//! these changes: the sensitivity has no bound below that of n records. A schedule of steps for all records together
//! would be sound if it were public; the rule by records spares those whose scores have not moved.
//!
//! **Accuracy.** |z_i(t) - z_i(r)| < tau, so that a slope is off by less than beta tau, and a score of a vertex of norm
//! radius by less than radius beta tau max_j sum_i |x_ij|/n, in every step: errors do not add up. A step that takes a
//! vertex within c of the best by its scores takes one within c and twice that bound by the exact ones, which is an
//! additive error of the linear step as the noise is one (Jaggi 2013). tau = L/(128 beta) keeps slopes within 1/128 of
//! their bound; of a column with few entries a score is off by 1/128 of what these few can add at most.
//!
//! **Cost.** A step moves the margins of the records that hold the column of the last vertex, applies the rule to
//! these, and to others when their own factor 2/(t (t + 1)) has come: with u_t as it is, z_i(t) shrinks towards 0, and
//! is tau away from z_i(r) once the factor is (|z_i(r)| - tau)/|<x_i, u>|; a queue of these numbers finds who is due. A
//! slope that changes adds its change times x_ij to the integer sums of its columns: the same bits as a sum over all
//! records. Each changed column moves its candidates between the classes of the selection, from which a draw costs
//! O(64) ([`IncrementalSelection`](crate::exact::selection::IncrementalSelection)). So a step costs the stored entries
//! of the records that change, whatever p is. Columns whose zeros are not stored as zeros (centred features between
//! bounds that are not symmetric) and the intercept move all margins: while 2 radius/(t + 2) exceeds tau all slopes are
//! then taken anew, and the step goes through all records.
//!
//! *Rare columns.* Such a step moves the sums of all columns, and so may one whose vertex is in many records; p of them
//! would be the larger part of its work. With b_j the integer of a zero in column j, |sum_i d_i x_ij - b_j sum_i d_i|
//! <= L sum_i |x_ij - b_j|, whatever the slopes are, L their bound in integers. Columns where eta times that is ln 2 at
//! most are *rare*: for the choice their scores are as good as b_j sum_i d_i, which is one number for all columns of
//! one b_j. A candidate of such a group is proposed by the bound; its sum is then taken over its few entries, and it is
//! kept with the probability that makes the law exact ([`LazySelection`](crate::exact::selection::LazySelection)). So
//! no sum of a rare column is kept, and a step costs the stored entries of the other columns at most, n and the number
//! of different b_j (public: one where zeros stay zeros, or where all bounds are alike), whatever p is.
//!
//! *Privacy*: scores, slopes and the rule are those above; the choice has the law of the exponential mechanism on all
//! scores, so that sensitivity and cost stay. Which columns are rare tells of records, and decides about work alone:
//! every candidate has its own weight in either way. A column that were taken for rare beyond its bound would have the
//! wrong weight, by an amount that records decide.
//!
//! What a step touches depends on records; so does its time, which is outside of the guarantee.
//!
//! # Code
//!
//! [`mechanism`](crate::mechanism), [`polytope`](crate::polytope), sensitivities in [`privacy`](crate::privacy).

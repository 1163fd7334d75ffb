//! Softmax models: K scores a record, one gradient, one budget (Boehning 1992 for the curvature).
//!
//! # Statement
//!
//! Coefficients are a K x p matrix Theta, scores z = Theta x, probabilities P = softmax(z), y one of K public classes.
//! A record's slopes s = P - e_y keep |s|_inf <= 1, |s|_1 <= 2 and |s|_2 <= sqrt 2. As integers d they are clamped in
//! all three norms, whatever the model says, and record i alone decides them ([`records`](super::records)). Its
//! gradient is the K x p matrix d x'. Between neighbours, with Xmax a bound on an entry and R2 on the Euclidean norm of
//! a row (half as much under add-remove):
//!
//! | what | moves by at most | because |
//! |---|---|---|
//! | one entry | 2 D_inf Xmax | an entry is d_k x_j |
//! | the entries of the features of a group G, all classes, with any signs | 2 D_1 \|x_G\|_1 | \|sum t_kj d_k x_j\| <= sum_j \|x_j\| sum_k \|d_k\| |
//! | everything, in L2 | 2 D_2 R2 | \|d x'\|_F = \|d\|_2 \|x\|_2 |
//!
//! | the sum of the entries of class k and feature k, where there is one feature a class | 2 D_2 R2 | \|sum_k d_k x_k\| <= \|d\|_2 \|x\|_2 (Cauchy and Schwarz) |
//!
//! So a selection over the l1 ball of all K p entries costs what it does for one score, one over groups of a feature's
//! coefficients in all classes twice as much, and a noisy gradient sqrt 2 times as much: not K times. One certificate
//! covers all classes. Splitting K classes into pairs would spend K budgets.
//!
//! ```
//! use dpsparse::loss::{Growth, Model, Softmax};
//! let root = 2f64.sqrt();
//! let Growth::Bounded { linf, l1, l2 } = Softmax::new(10)?.growth() else { unreachable!() };
//! assert!(linf < 1.0 + 1e-12 && l1 < 2.0 + 1e-12 && l2 >= root && l2 < root * (1.0 + 1e-12));
//! # Ok::<(), dpsparse::Error>(())
//! ```
//!
//! **The bounds.** P >= 0 adds up to 1, so s_y = -(1 - P_y) lies in [-1, 0] and the others are non-negative with the
//! sum 1 - P_y: |s|_1 = 2 (1 - P_y), and |s|_2^2 <= (1 - P_y)^2 + (1 - P_y)^2. At Theta = 0 it is 1 - 1/K, and most
//! records stay below: clamping |s|_2 at sqrt(1 - 1/K) leaves sqrt((1 - 1/K)/2) of the noise. A record that is
//! shortened keeps the sum 0 and the signs of its slopes, so the other two norms fall in proportion.
//!
//! **Noise in common is free to take away.** Slopes of a record add up to 0 over the classes, also as integers, and so
//! do sums of them: subtracting from every column of a released gradient its mean over the classes is post-processing,
//! loses nothing, and takes 1/K of the noise.
//!
//! **The last class is minus the others.** The integer slope of a record's own class is minus the sum of the others,
//! which are rounded and held to all three bounds together with it (`privacy/balanced_slopes.rs` has the proof). So K -
//! 1 planes of slopes are summed, and of scores differences to the last one, of as many planes of margins.
//!
//! **One release of second moments serves all classes.** The second derivative diag(P) - PP' is at most (I - 11'/K)/2,
//! so all Hessians are at most (I - 11'/K)/2 (x) X'X/n: on gradients that add up to 0, the inverse of X'X/2n is applied
//! to each class. Privacy does not rest on it.
//!
//! # What is refused
//!
//! Output perturbation and full descents take softmax models ([`output_perturbation`](super::output_perturbation)).
//! Permuted descents and dual methods rest on float errors that are proved for one score a record; a clamp leaves
//! slopes that no convex function has, so minimisers and descents refuse it. **Objective perturbation** also needs
//! ln(1 + kappa) for the change of a determinant: a record's Hessian has rank K - 1, which makes it a sum of K - 1
//! such terms, with a Jacobian that is proved here for rank 1 only. These raise
//! [`Error::UnsoundMechanism`](crate::Error::UnsoundMechanism) before any record is read; none falls back on one model
//! a class.
//!
//! **A factor for all scores.** A record whose only features are its K public scores x_k has the derivative sum_k d_k
//! x_k along one factor for all of them: the diagonal of its gradient, added up in integers before there is noise. It
//! moves by no more than the gradient, and its noise is on one number. Added up afterwards K entries would have K times
//! that variance. As |d|_1 <= 2 and |x_k| <= 1, sums over 2^31 records fit 64 bits.
//!
//! Held by: `loss/softmax.rs` and `privacy/balanced_slopes.rs` (bounds, as properties), `privacy/tests/classes.rs`
//! (neighbours, enumerated), `mechanism/class_tests.rs` (two classes have the scalar model's law).

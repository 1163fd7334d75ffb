//! Differentially private empirical risk minimisation with sparsity-inducing norms.
//!
//! Data flows one way: records -> bounded integers -> answer (noise inside) -> mechanism -> release. Map of
//! the crate:
//!
//! | module | what stands there |
//! |---|---|
//! | [`loss`] | scalar losses l(z; y), catalogued by name |
//! | [`set_function`], [`lovasz`], [`minimise`] | submodular functions, their extension and greedy vertices, their minima |
//! | [`polytope`] | constraint sets by their vertices |
//! | [`privacy`] | the trusted room: records, sensitivities, noise, selection, accounting |
//! | [`plan`], [`mechanism`], [`auto`] | what a fit is asked for, and mechanisms built from the room's answers; they plan before data |
//! | [`search`] | hyper-parameter search that is paid for |
//! | [`fit`] | a private fit in one expression: [`fit::PrivateFit`] |
//! | [`release`](mod@release) | run a plan: coefficients and their [`Certificate`] |
//! | [`prox`], [`solver`] | exact, non-private fits with a certified duality gap |
//! | [`numeric`] | integer kernels, enclosures, directed rounding |
//! | [`theory_of_privacy`] | statements, constants and proofs that the guarantees rest on |
//!
//! **Overflow checks.** Bounds on integers are proved, and builds of this package check them as they run, the Python
//! package's too. Cargo ignores the profiles of a dependency: a crate that uses this one asks for the same in its own
//! `Cargo.toml`.
//!
//! ```toml
//! [profile.release.package.dpsparse]
//! overflow-checks = true
//! ```
//!
//! A private sparse classifier, from plan to certificate:
//!
//! ```
//! use dpsparse::loss::Logistic;
//! use dpsparse::mechanism::FrankWolfe;
//! use dpsparse::plan::Problem;
//! use dpsparse::polytope::SignedCoordinates;
//! use dpsparse::accounting::event::Adjacency;
//! use dpsparse::exact::noise::source::Source;
//! use dpsparse::privacy::{Bounds, Curator, Geometry, MemoryLedger, Schema, Statement, Target};
//!
//! // Public facts, and the plan that follows from them alone.
//! let bounds = Bounds { lower: vec![-1.0], upper: vec![1.0] };
//! let schema = Schema::new(3, bounds, Geometry::Centred, Target::Classes, true, None)?;
//! let problem = Problem {
//!     statement: Statement::new(schema, 4000, Adjacency::ReplaceOne, 1)?,
//!     loss: Logistic.into(),
//!     residual_bound: None,
//!     spread: None,
//!     opens: false,
//!     epsilon: 1.0,
//!     delta: Some(1e-6),
//!     reason: None,
//!     assumptions: Vec::new(),
//! };
//! let plan = FrankWolfe::default().plan(problem, SignedCoordinates::l1_ball(4, 10.0).into())?;
//! assert!(plan.summary.n_iter > 1);
//!
//! // The records: the second feature decides the class.
//! let x = ndarray::Array2::from_shape_fn((4000, 3), |(i, j)| ((i * (j + 3) * 7919) % 201) as f64 / 100.0 - 1.0);
//! let y: Vec<f64> = x.column(1).iter().map(|&value| if value > 0.0 { 1.0 } else { -1.0 }).collect();
//! let curator = Curator::from_dense(x.view(), &y);
//!
//! // The plan's events are committed before anything is drawn.
//! let mut ledger = MemoryLedger::default();
//! let release = dpsparse::release::run(&plan, &curator, &mut ledger, Source::secure()?, &mut |_, _| Ok(()))?;
//! assert!(release.coefficients[1] > 1.0);
//! assert!(release.certificate.verify() && release.certificate.epsilon(1e-6)? <= 1.0);
//! # Ok::<(), dpsparse::Error>(())
//! ```

pub mod accounting;
pub mod auto;
pub mod certificate;
pub mod error;
pub mod exact;
pub mod fit;
pub mod loss;
pub mod lovasz;
pub mod mechanism;
pub mod minimise;
pub mod norm;
pub mod numeric;
pub mod plan;
pub mod polytope;
pub mod privacy;
pub mod prox;
#[cfg(feature = "python")]
mod python;
pub mod question;
pub mod release;
pub mod schema;
pub mod search;
#[cfg(test)]
mod search_tests;
pub mod set_function;
pub mod solver;
pub mod theory;
pub mod theory_of_privacy;

pub use ndarray;

pub use certificate::Certificate;
pub use error::{Error, Result};
pub use fit::PrivateFit;
pub use release::Release;

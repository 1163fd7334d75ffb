//! Selection: the exact exponential mechanism over integer scores ([`crate::theory_of_privacy::selection`]).
//!
//! P(k) is proportional to exp(-eta q_k), exactly: `eta` is the rational epsilon0 / (2 sensitivity), weights
//! are only ever compared with uniform bits through enclosures, and no normaliser is formed.
//!
//! Reading order: [`InverseTemperature`] (eta and integer bounds on eta d / ln 2), `dyadic_classes` (a class
//! and a member of it, drawn exactly), [`exponential`] (one candidate), `valley` (one where scores
//! fall and rise again), `levels` and [`incremental`] (one after the other,
//! while few scores change), [`lazy`] (most of whose scores are bounded and looked at only where they are proposed),
//! [`sign`] (one sign), [`cosh_groups`]
//! (one group), `signed_subset` (k features with their signs), [`minkowski`] (one vertex of a sum of simple polytopes).

mod constant_time;
pub mod cosh_groups;
mod dyadic_classes;
pub mod exponential;
pub mod incremental;
mod inverse_temperature;
pub mod lazy;
mod levels;
pub mod minkowski;
pub mod sign;
mod signed_subset;
mod valley;

pub use constant_time::draw_in_constant_time;
pub use exponential::ExponentialMechanism;
pub use incremental::IncrementalSelection;
pub use inverse_temperature::InverseTemperature;
pub use lazy::{Drawn, LazySelection};
pub use minkowski::{LARGEST_SCORE, MinkowskiSelection, Shape, Summand};
pub(crate) use valley::Valley;

//! Public facts of a private fit: everything that a mechanism may plan with, before any record is read.

pub mod defaults;
mod domain;
#[allow(clippy::module_inception)]
mod plan;
mod privacy_claim;
mod problem;
mod trace;

pub use domain::Domain;
pub use plan::{FeatureRanges, Fitted, Plan, Summary};
pub use privacy_claim::PrivacyClaim;
pub use problem::Problem;
pub(crate) use trace::frame;
pub use trace::{LineTrace, Trace};

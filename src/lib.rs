#![doc = "Differentially private empirical risk minimisation with sparsity-inducing norms."]

pub mod error;
pub mod loss;
pub mod mechanism;
pub mod numeric;
pub mod polytope;
pub mod privacy;
#[cfg(feature = "python")]
mod python;
pub mod release;

pub use error::{Error, Result};
pub use release::{Certificate, Release};

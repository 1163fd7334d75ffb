#![doc = "Differentially private empirical risk minimisation with sparsity-inducing norms."]

pub mod error;
pub mod loss;
pub mod numeric;
pub mod privacy;
#[cfg(feature = "python")]
mod python;

pub use error::{Error, Result};
pub use release::{Certificate, Release};

#![doc = "Differentially private empirical risk minimisation with sparsity-inducing norms."]

pub mod error;
pub mod loss;
pub mod prox;
pub mod solver;

#[cfg(feature = "python")]
mod python;

pub use error::{Error, Result};

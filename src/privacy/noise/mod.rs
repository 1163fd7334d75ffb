//! Exact discrete randomness, all from one [`source::Source`].

pub mod bernoulli;
pub mod discrete_laplace;
pub mod source;

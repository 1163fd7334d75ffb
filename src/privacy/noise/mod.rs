//! Exact discrete randomness, all from one [`source::Source`].

pub mod bernoulli;
pub mod source;

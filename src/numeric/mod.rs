//! Floating point with stated errors, and the few special functions that the accounting needs.

pub mod directed;
pub mod normal;
pub mod quadrature;
pub mod search;

//! Arithmetic that the rest stands on: enclosures, directed rounding, integer kernels.

pub mod enclosure;
pub mod kernel;

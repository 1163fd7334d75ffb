//! What is fuzzed: a function of bytes each, which panics where something does not hold.

pub mod certificate;
pub mod checkpoint;
mod choices;
pub mod records;
pub mod set_functions;

//! What releases cost: events, their composition, and the noise that a budget buys. Nothing here reads a record.
#![forbid(unsafe_code)]

pub mod accountant;
pub mod calibrate;
pub mod dominating;
pub mod event;
mod guided;
mod memory;

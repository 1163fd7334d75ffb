//! The trusted room.
#![forbid(unsafe_code)]

pub mod accountant;
pub mod answer;
mod bounded_data;
pub mod calibrate;
mod curator;
mod derivative_lattice;
pub mod event;
mod ledger;
pub mod noise;
mod schema;
pub mod selection;
pub mod sensitivity;

pub use bounded_data::{BoundedData, Compressed, Orientation};
pub use curator::non_private_integer_gradient;
pub use derivative_lattice::DerivativeLattice;
pub use schema::{Bounds, Geometry, Schema, Target};

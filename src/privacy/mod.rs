//! The trusted room.
#![forbid(unsafe_code)]

mod bounded_data;
pub mod noise;
mod schema;
pub mod selection;

pub use bounded_data::{BoundedData, Compressed, Orientation};
pub use schema::{Bounds, Geometry, Schema, Target};

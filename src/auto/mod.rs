//! The mechanism of the name "auto", and private scales that come before a mechanism.

mod choice;
mod class_constant;
mod constant;
mod count_constant;
mod facts;
pub(crate) mod private_scale;
#[cfg(test)]
mod tests;

pub use choice::{Choice, auto};
pub use facts::{Asked, Facts};
pub use private_scale::PrivateScale;

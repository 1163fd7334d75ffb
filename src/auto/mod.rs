//! The mechanism of the name "auto", and private scales that come before a mechanism.

mod choice;
mod constant;
pub(crate) mod private_scale;
#[cfg(test)]
mod tests;

pub use choice::{Asked, Choice, Facts, auto};
pub use private_scale::PrivateScale;

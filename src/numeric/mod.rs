//! Arithmetic that the rest stands on: memory, enclosures, directed rounding, strips of columns, integer kernels, sums
//! of float columns, eigenvectors.

pub mod allocate;
pub(crate) mod blocked;
pub mod directed;
pub(crate) mod eigen;
pub mod enclosure;
pub(crate) mod gram;
pub(crate) mod grid;
pub mod kernel;
pub mod linear;
pub mod mapped;
pub mod normal;
pub(crate) mod pieces;
pub mod quadrature;
pub mod search;
pub mod strips;
pub mod vectors;

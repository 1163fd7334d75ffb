//! Integer kernels over strips of columns and over plain slices, with run-time dispatch to wider instructions.
//!
//! **The crate's `unsafe`**, but for the map of a file in [`mapped`](super::mapped). Audit: every `unsafe` block is a
//! call of a `target_feature` function where `width` has detected its features, a vector load or store, for which no
//! alignment is needed, within the line or the chunk it touches, a prefetch (which touches nothing), or the advice on
//! pages in [`on_large_pages`]. Integer arithmetic is exact and floats are never contracted or reassociated, so every
//! path returns the same bits.
//!
//! Magnitudes: features |x| <= [`MAX_FEATURE`] = 16383 = 2^14 - 1, derivatives |d| <= [`MAX_DERIVATIVE`] =
//! 2^14.

mod floats;
mod gram;
#[cfg(target_arch = "x86_64")]
mod half_lines;
mod inner_products;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod lattice;
mod maps;
mod margins;
mod memory;
mod one_read;
mod sizes;
#[cfg(test)]
pub(crate) mod tests;
mod transpose;
mod weights;
pub(super) mod width;

pub(super) use floats::{LANES, lane_products};
pub use gram::{RUN, add_gram};
pub use inner_products::{InnerProducts, dot_portable};
pub use lattice::{LatticeMaps, clip, integer, quantise, quantise_column, quantise_row, truncate};
pub use maps::{map_margins, map_pairs, round_clamped};
pub use margins::{AHEAD, add_products};
pub use memory::{Fetched, fetch, on_large_pages, prefetch};
pub use sizes::{add_sizes, add_squares};
pub use transpose::transpose;
pub use weights::Weights;
pub(super) use width::dispatch;
pub use width::for_wide_vectors;

/// Largest magnitude of a stored feature: two of them differ by at most 32766, so that a sparse entry stored
/// relative to the value of an unstored zero fits an i16 and -32768 never occurs.
pub const MAX_FEATURE: i16 = 16_383;

/// Largest magnitude of a quantised derivative.
pub const MAX_DERIVATIVE: i16 = 1 << 14;

/// Largest magnitude of a limb of a finer one.
pub const MAX_LIMB: i16 = 1 << 13;

//! Exact randomness: integer noise and choices whose laws hold to the last bit, and nothing that reads a record.
//!
//! | folder | what stands there |
//! |---|---|
//! | [`noise`] | the generator, and integer laws |
//! | [`selection`] | the exponential mechanism over integer scores, signs, groups and subsets |
#![forbid(unsafe_code)]

pub mod noise;
pub mod selection;

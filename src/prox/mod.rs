//! Proximal operators and projections, one closed form a file.

mod l1_ball;
mod soft_threshold;

pub use l1_ball::{l1_ball_threshold, project_l1_ball};
pub use soft_threshold::soft_threshold;

/// Memory that proxes reuse from call to call; its contents mean nothing between calls.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    /// Indices by falling size.
    pub(crate) order: Vec<usize>,
}

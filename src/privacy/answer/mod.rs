//! The only exits of the room: each answer spends from a budget, then draws.

mod chosen_vertex;
mod entropic_minimum;
mod running_softmax;
mod softmax_sample;

pub use chosen_vertex::{SelectionNoise, SelectionPlan, VertexSelector};
pub use running_softmax::{RunningPlan, RunningSoftmax};
pub use softmax_sample::{SmoothLoss, SoftmaxPlan, SoftmaxSampler, stability};

//! The only exits of the room: each answer spends from a budget, then draws.

mod chosen_vertex;
mod column_weights;
mod dual_iterates;
mod early_stopped;
mod entropic_minimum;
mod feature_ranges;
mod held_out_choice;
mod lattice;
mod noisy_gradient;
mod noisy_minimiser;
mod permuted_descent;
mod quantile;
mod running_softmax;
mod second_moments;
mod softmax_sample;
mod typical_norm;

pub use chosen_vertex::{SelectionNoise, SelectionPlan, VertexSelector};
pub use column_weights::ColumnWeightsPlan;
pub use dual_iterates::{DualIterates, DualPlan};
pub use early_stopped::{DescentFacts, DescentPlan};
pub use feature_ranges::{RangePlan, RangesOf};
pub use held_out_choice::{HeldOutPlan, LinearModel, non_private_scores};
pub use lattice::OutputNoise;
pub use noisy_gradient::{GradientPlan, NoisyGradient};
pub use noisy_minimiser::{MinimiserFacts, MinimiserPlan, Perturbation, TiltNoise};
pub use permuted_descent::{PermutedFacts, PermutedPlan};
pub use running_softmax::{RunningPlan, RunningSoftmax};
pub use second_moments::MomentsPlan;
pub use softmax_sample::{SmoothLoss, SoftmaxPlan, SoftmaxSampler, stability};
pub use typical_norm::NormPlan;

//! The only exits of the room: each answer spends from a budget, then draws.

mod chosen_vertex;
mod early_stopped;
mod lattice;
mod noisy_gradient;
mod noisy_minimiser;
mod permuted_descent;

pub use chosen_vertex::{SelectionNoise, SelectionPlan, VertexSelector};
pub use early_stopped::{DescentFacts, DescentPlan};
pub use lattice::OutputNoise;
pub use noisy_gradient::{GradientPlan, NoisyGradient};
pub use noisy_minimiser::{MinimiserFacts, MinimiserPlan, Perturbation, TiltNoise};
pub use permuted_descent::{PermutedFacts, PermutedPlan};

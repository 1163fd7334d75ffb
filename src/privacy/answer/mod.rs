//! The only exits of the room: each answer spends from a budget, then draws.

mod chosen_vertex;

pub use chosen_vertex::{SelectionNoise, SelectionPlan, VertexSelector};

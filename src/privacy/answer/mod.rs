//! Answers: what may leave, and how it is drawn. Three shapes.
//!
//! | shape | kinds | proof |
//! |---|---|---|
//! | **sum**: integers of bounded contributions, integer noise | [`Gradient`], [`Moments`], [`AbsoluteSums`] | a bound on one contribution |
//! | **choose**: integer scores, exact exponential mechanism | [`Vertex`], [`Ranges`], [`TypicalNorm`], [`HeldOut`], [`DualVertex`], [`SoftmaxDraws`] | a bound on the move of a score |
//! | **point**: a stable algorithm, noise on a lattice | [`Point`], [`DualPoint`] | a bound on the move of the point |

mod absolute_sums;
mod descent;
mod dual;
mod entropic_minimum;
mod gaussian_sum;
mod gradient;
mod held_out;
mod lattice;
mod moments;
mod permuted;
mod point;
mod quantile;
mod ranges;
mod softmax;
mod split;
mod strongly_convex;
mod typical_norm;
mod vertex;

pub use absolute_sums::AbsoluteSums;
pub use descent::{Descent, DescentOptions};
pub use dual::{DualPath, DualPoint, DualVertex};
pub use gradient::Gradient;
pub use held_out::{HeldOut, LinearModel};
pub use lattice::PointNoise;
pub use moments::{MOST_MOMENT_COLUMNS, Moments};
pub use permuted::{Permuted, PermutedOptions};
pub use point::{Point, TiltNoise};
pub use ranges::{Ranges, RangesOf};
pub use softmax::{SmoothLoss, Softmax, SoftmaxDraws, stability};
pub use split::{Part, Split};
pub use strongly_convex::StronglyConvex;
pub use typical_norm::TypicalNorm;
pub use vertex::{SelectionNoise, Vertex, VertexAt};

pub(in crate::privacy) use held_out::held_out_loss;
pub(in crate::privacy) use split::Sides;

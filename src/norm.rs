//! What a solver asks of a regulariser Omega: its value, its dual, a subgradient, its prox.

use crate::error::Result;
use crate::prox::Scratch;

/// A norm, or a seminorm such as total variation. K is its dual ball {s: <s, theta> <= Omega(theta) for all theta}.
pub trait Norm: std::fmt::Debug + Send + Sync {
    /// p.
    fn n_features(&self) -> usize;

    /// Omega(theta).
    ///
    /// # Errors
    /// Only where a user's oracle fails; so everywhere below.
    fn value(&self, theta: &[f64]) -> Result<f64>;

    /// A vertex s of K with <s, theta> = Omega(theta).
    fn vertex(&self, theta: &[f64], s: &mut [f64]) -> Result<()>;

    /// The least t >= 0 with s in tK: the dual norm. Infinite where no t does (a seminorm, and s is not orthogonal to its
    /// kernel).
    fn dual(&self, s: &[f64]) -> Result<f64>;

    /// out = argmin_x |x - v|^2/2 + step*Omega(x); returns a bound on the excess of that objective at `out` over its
    /// minimum, 0 for closed forms. Entries that Omega ties together come out exactly equal, and entries that it sets to
    /// zero are exactly zero.
    fn prox(&self, v: &[f64], step: f64, out: &mut [f64], scratch: &mut Scratch) -> Result<f64>;
}

//! Submodular set functions F on the subsets of V = {0, ..., p-1}, with F(empty set) = 0.
//!
//! A new family is one file that implements [`SetFunction`] and one line of registration below: values, the gains along
//! an order (all that the greedy oracle, the Lovasz extension and the min-norm-point algorithm need), monotonicity.
//! What makes special algorithms possible is declared by [`SetFunction::structure`]; `minimise`, `polytope` and `prox`
//! look at it and at nothing else, and fall back to algorithms for any submodular function where it is
//! [`Structure::General`].
//!
//! A user's set function sits outside the trusted room: privacy never depends on it being right. In the room stand
//! those of this crate alone ([`crate::norm::ReviewedNorm`]).

mod cardinality;
mod combine;
mod concave_cardinality;
mod contiguous_range;
mod graph;
mod graph_cut;
mod group_cover;
mod groups;
mod laminar;
mod log_det;
mod modular;
mod norm_check;
mod oracle;
mod partition_rank;
mod restricted;
mod tree;

#[cfg(test)]
pub(crate) mod contract;

pub use cardinality::Cardinality;
pub use combine::{scaled, sum};
pub use concave_cardinality::ConcaveCardinality;
pub use contiguous_range::ContiguousRange;
pub(crate) use contiguous_range::contiguous_cover;
pub use graph::Graph;
pub use graph_cut::GraphCut;
pub use group_cover::GroupCover;
pub use groups::Groups;
pub use log_det::LogDet;
pub use modular::Modular;
pub use norm_check::{check_monotone, check_norm};
pub use oracle::Oracle;
pub use partition_rank::PartitionRank;
pub use restricted::restricted;
pub use tree::Tree;

use crate::error::{Error, Result};
use crate::numeric::allocate::room;

/// A normalised submodular set function.
///
/// ```
/// use dpsparse::set_function::{Cardinality, SetFunction};
/// let f = Cardinality::new(3)?;
/// let mut gains = [0.0; 2];
/// f.gains(&[2, 0], &mut gains)?;
/// assert_eq!(gains, [1.0, 1.0]);
/// assert_eq!(f.value(&[2, 0])?, 2.0);
/// # Ok::<(), dpsparse::Error>(())
/// ```
pub trait SetFunction: std::fmt::Debug + Send + Sync {
    /// Name of the family.
    fn name(&self) -> &'static str;

    /// p.
    fn n_features(&self) -> usize;

    /// F(A) for distinct indices below p, in any order.
    ///
    /// # Errors
    /// Only where a user's oracle fails.
    fn value(&self, set: &[usize]) -> Result<f64> {
        let mut gains = vec![0.0; set.len()];
        self.gains(set, &mut gains)?;
        // From +0: the empty sum of floats is -0.
        Ok(gains.iter().fold(0.0, |sum, gain| sum + gain))
    }

    /// gains_k = F({order_0, ..., order_k}) - F({order_0, ..., order_{k-1}}) for distinct indices below p; the order
    /// may leave features out at its end. `gains` is as long as `order`.
    ///
    /// # Errors
    /// Only where a user's oracle fails.
    fn gains(&self, order: &[usize], gains: &mut [f64]) -> Result<()>;

    /// Whether F(A) <= F(B) for all A in B. Then Omega(theta) = f(|theta|) is defined, and it is a norm where every
    /// F({j}) > 0; otherwise Omega(theta) = f(theta), a seminorm where F(A) = F(V \ A).
    fn is_monotone(&self) -> bool;

    /// What special algorithms may rely on.
    fn structure(&self) -> Structure<'_> {
        Structure::General
    }

    /// Whether it is one of this crate's, made of nothing else: it says the same every time and keeps nothing of what
    /// it is asked. No other can say so, as the token has no name elsewhere.
    #[doc(hidden)]
    fn is_own(&self, _: sealed::Token) -> bool {
        false
    }
}

/// What has no name outside this folder, mechanisms included.
mod sealed {
    /// Asks a set function whether it is one of this crate's.
    #[derive(Debug, Clone, Copy)]
    pub struct Token;
}

/// Whether F is one of this crate's, made of nothing else.
pub(crate) fn is_own(f: &dyn SetFunction) -> bool {
    f.is_own(sealed::Token)
}

/// Most multiples of multiples: a function that says that it is one of itself has no end of them.
const MOST_MULTIPLES: usize = 1000;

/// The factor of F and the structure that it multiplies.
///
/// # Errors
/// [`Error::InvalidArgument`] for a multiple of a multiple without end, as a user's own function may call itself.
pub(crate) fn unscaled(f: &dyn SetFunction) -> Result<(f64, Structure<'_>)> {
    let (mut factor, mut structure) = (1.0, f.structure());
    for _ in 0..MOST_MULTIPLES {
        let Structure::Scaled(scale, inner) = structure else {
            return Ok((factor, structure));
        };
        (factor, structure) = (factor * scale, inner.structure());
    }
    Err(Error::invalid(
        "function",
        format!("must not be a multiple of a multiple more than {MOST_MULTIPLES} times"),
    ))
}

/// Facts about a set function that special algorithms rely on. `f` of them is described exactly, so they are
/// interchangeable with the function itself.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Structure<'a> {
    /// F(A) = sum_{j in A} w_j, w_j >= 0: Omega is the weighted l1 norm.
    Modular(&'a [f64]),
    /// F(A) = sum_b h_b(|A & b|) over disjoint blocks b of features, h_b concave with h_b(0) = 0: sorted l1 inside, sum
    /// over blocks. Features outside all blocks do not count.
    Blocks(&'a [Block]),
    /// F(A) = sum_g w_g [A meets g], any two groups disjoint or nested.
    Laminar(&'a Groups),
    /// F(A) = sum_g w_g [A meets g].
    Cover(&'a Groups),
    /// F(A) = sum of the weights of the edges with exactly one end in A.
    Cut(&'a Graph),
    /// F(A) = p - 1 + max A - min A + 1 for A not empty.
    ContiguousRange,
    /// A positive multiple of another set function.
    Scaled(f64, &'a dyn SetFunction),
    /// Nothing special.
    General,
}

/// One block of [`Structure::Blocks`].
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The features of the block, distinct.
    pub members: Vec<usize>,
    /// h(k+1) - h(k) for k = 0, ..., not increasing, not negative; as long as `members`.
    pub gains: Vec<f64>,
}

/// Refuses indices that are out of range or repeated.
///
/// # Errors
/// [`Error::InvalidArgument`] naming `what`.
pub fn check_set(set: &[usize], n_features: usize, what: &str) -> Result<()> {
    let mut seen = vec![false; n_features];
    for &j in set {
        match seen.get_mut(j) {
            None => {
                return Err(Error::invalid(
                    what,
                    format!("must hold indices below {n_features}; got {j}"),
                ));
            }
            Some(true) => {
                return Err(Error::invalid(
                    what,
                    format!("must not repeat an index: {j} comes twice"),
                ));
            }
            Some(seen) => *seen = true,
        }
    }
    Ok(())
}

/// Bytes per feature that a set function and the vectors it is asked about take, at least: weights, indices, an order,
/// its gains, a vector and its vertex.
const BYTES_PER_FEATURE: usize = 48;

/// Refuses p = 0, and more features than memory holds.
fn check_n_features(n_features: usize) -> Result<()> {
    if n_features == 0 {
        return Err(Error::invalid("n_features", "must be at least 1"));
    }
    room(n_features, BYTES_PER_FEATURE)
}

/// Refuses weights that are negative, NaN or infinite, and a wrong number of them.
fn check_weights(weights: &[f64], expected: usize, of_what: &str) -> Result<()> {
    if weights.len() != expected {
        return Err(Error::invalid(
            "weights",
            format!(
                "must hold one weight per {of_what}: expected {expected}, got {}",
                weights.len()
            ),
        ));
    }
    if let Some(k) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
        return Err(Error::invalid(
            "weights",
            format!(
                "must be non-negative and finite; entry {k} is {}",
                weights[k]
            ),
        ));
    }
    Ok(())
}

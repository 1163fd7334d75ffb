//! Minimising F(A) - s(A) over all subsets A, for real s.
//!
//! One file an algorithm, chosen by [`Structure`]: sorting, a bottom-up pass, the largest sum of a subarray, a minimum
//! cut; for any other submodular function the minimum-norm point of Fujishige and Wolfe, whose gap is returned. The
//! dual norm, the gauge and the decomposition algorithm for proxes stand on it.

mod contiguous_range;
mod cut;
mod forest;
pub mod max_flow;
pub mod min_norm_point;
mod separable;

pub(crate) use contiguous_range::minimise as contiguous_range;
pub use forest::Forest;
pub(crate) use forest::bottom_up;

use crate::error::{Error, Result};
use crate::set_function::{SetFunction, Structure};

/// A minimiser with its certificate.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// The set A, ascending.
    pub set: Vec<usize>,
    /// F(A) - s(A); never positive, because the empty set has 0.
    pub value: f64,
    /// `value` exceeds the minimum by at most this. 0 for the combinatorial algorithms, which are exact up to the
    /// rounding of their sums.
    pub gap: f64,
}

/// argmin over A of F(A) - s(A) (Bach 2013, chapter 10).
///
/// ```
/// use dpsparse::set_function::Cardinality;
/// let f = Cardinality::new(3)?;
/// let minimum = dpsparse::minimise::minimise(&f, &[2.0, 0.5, 3.0])?;
/// assert_eq!((minimum.set, minimum.value), (vec![0, 2], -3.0));
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] where s does not have one finite entry per feature; else only where a user's oracle
/// fails.
pub fn minimise(f: &dyn SetFunction, s: &[f64]) -> Result<Minimum> {
    if s.len() != f.n_features() {
        return Err(Error::invalid(
            "s",
            format!("must have {} entries", f.n_features()),
        ));
    }
    if !s.iter().all(|s| s.is_finite()) {
        return Err(Error::invalid("s", "must be finite"));
    }
    let exact = |(mut set, value): (Vec<usize>, f64)| {
        set.sort_unstable();
        Ok(Minimum {
            set,
            value,
            gap: 0.0,
        })
    };
    match f.structure() {
        Structure::Modular(weights) => exact(separable::modular(weights, s)),
        Structure::Blocks(blocks) => exact(separable::blocks(blocks, s)),
        Structure::Laminar(groups) => exact(forest::minimise(groups, s)),
        Structure::Cover(groups) => exact(cut::cover(groups, s)),
        Structure::Cut(graph) => exact(cut::graph(graph, s)),
        Structure::ContiguousRange => exact(contiguous_range(s)),
        Structure::Scaled(scale, f) => {
            let scaled: Vec<f64> = s.iter().map(|s| s / scale).collect();
            let minimum = minimise(f, &scaled)?;
            Ok(Minimum {
                value: scale * minimum.value,
                gap: scale * minimum.gap,
                ..minimum
            })
        }
        Structure::General => min_norm_point::minimise(f, s),
    }
}

#[cfg(test)]
pub(crate) mod tests;

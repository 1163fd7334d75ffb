//! Proximal operators and projections, one algorithm a file; [`prox`] chooses by the set function's [`Structure`].
//!
//! | structure | algorithm | cost |
//! |---|---|---|
//! | modular | soft threshold | O(p) |
//! | blocks | sorted l1; l-infinity by projection onto the l1 ball | O(p log p); O(p) |
//! | laminar | groups one after another, children first | O(sum of group sizes) |
//! | cut on a chain | taut string, dynamic programming where that is slow | O(p) |
//! | cover, other cuts | decomposition by minimum cuts | near O(size log p) where cuts are local |
//! | covers, cuts, ranges under [`proved_prox`] | the same in integers | a cut of every piece |
//! | contiguous range | Dinkelbach's method, then two nests of groups | O(p log p) |
//! | general | minimum-norm point, with a certified gap | p greedy vertices and more |

mod contiguous_range;
mod decomposition;
mod isotonic;
mod l1_ball;
mod lattice;
mod min_norm_point;
mod nested_groups;
mod soft_threshold;
mod sorted_l1;
mod total_variation;
mod weighted_l1;

pub use l1_ball::{l1_ball_threshold, project_l1_ball};
pub use soft_threshold::soft_threshold;

use crate::error::{Error, Result, non_negative};
use crate::set_function::{SetFunction, Structure, contiguous_cover, unscaled};

/// Memory that proxes reuse from call to call; its contents mean nothing between calls.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    /// Indices by falling size.
    order: Vec<usize>,
    /// Groups, children before parents.
    group_order: Vec<u32>,
    /// |v|.
    sizes: Vec<f64>,
    values: Vec<f64>,
    /// The entries of one group.
    members: Vec<f64>,
    /// Pools of isotonic regression: sum and number.
    pools: Vec<(f64, usize)>,
    knots: Vec<total_variation::Knot>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    pieces: decomposition::Pieces,
    exact: lattice::Exact,
}

/// out = argmin_x |x - v|^2/2 + step*Omega(x), where Omega(x) = f(|x|) for a monotone F and f(x) otherwise.
///
/// Returns a bound on the excess of that objective at `out` over its minimum: certified by duality for
/// [`Structure::General`], 0 for the other algorithms, which are exact up to the rounding of their sums. Entries that
/// Omega ties together come out exactly equal, those it sets to zero are exactly zero.
///
/// ```
/// use dpsparse::prox::{Scratch, prox};
/// use dpsparse::set_function::Cardinality;
/// let mut x = [0.0; 3];
/// let excess = prox(&Cardinality::new(3)?, &[3.0, -0.5, -2.0], 1.0, &mut x, &mut Scratch::default())?;
/// assert_eq!((x, excess), ([2.0, 0.0, -1.0], 0.0));
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] for a step that is negative or not finite, v or out that do not have one finite entry per
/// feature; else only where a user's oracle fails.
pub fn prox(
    f: &dyn SetFunction,
    v: &[f64],
    step: f64,
    out: &mut [f64],
    scratch: &mut Scratch,
) -> Result<f64> {
    check(f, v, step, out)?;
    if step == 0.0 {
        out.copy_from_slice(v);
        return Ok(0.0);
    }
    // Omega is homogeneous: sums and squares of what is scaled leave the range of floats nowhere.
    let largest = v.iter().fold(step, |largest, v| largest.max(v.abs()));
    if largest <= LARGE {
        return dispatch(f, v, step, out, scratch);
    }
    let scaled: Vec<f64> = v.iter().map(|v| v / UNIT).collect();
    let excess = dispatch(f, &scaled, step / UNIT, out, scratch)?;
    out.iter_mut().for_each(|x| *x *= UNIT);
    Ok(excess * UNIT * UNIT)
}

/// 2^480: the squares of entries that are no larger add up to floats.
const LARGE: f64 = f64::from_bits((1023 + 480) << 52);

/// 2^600, of which the largest floats are no more than 2^424.
const UNIT: f64 = f64::from_bits((1023 + 600) << 52);

fn check(f: &dyn SetFunction, v: &[f64], step: f64, out: &[f64]) -> Result<()> {
    non_negative("step", step)?;
    unscaled(f)?;
    if v.len() != f.n_features() || out.len() != f.n_features() {
        return Err(Error::invalid(
            "v",
            format!("must have {} entries", f.n_features()),
        ));
    }
    if !v.iter().all(|v| v.is_finite()) {
        return Err(Error::invalid("v", "must be finite"));
    }
    Ok(())
}

fn dispatch(
    f: &dyn SetFunction,
    v: &[f64],
    step: f64,
    out: &mut [f64],
    scratch: &mut Scratch,
) -> Result<f64> {
    match f.structure() {
        Structure::Modular(weights) => weighted_l1::weighted_l1(v, weights, step, out),
        Structure::Blocks(blocks) => sorted_l1::sorted_l1(v, blocks, step, out, scratch),
        Structure::Laminar(groups) => {
            nested_groups::nested_groups(v, groups, step, out, scratch);
        }
        Structure::Cut(graph) if graph.is_chain() => {
            total_variation::total_variation(v, graph, step, out, scratch);
        }
        Structure::Cut(graph) => decomposition::graph(v, graph, step, out, &mut scratch.pieces),
        Structure::Cover(groups) => {
            decomposition::cover(v, groups, step, out, &mut scratch.pieces);
        }
        Structure::ContiguousRange => contiguous_range::range(v, step, out),
        Structure::Scaled(scale, f) => return dispatch(f, v, step * scale, out, scratch),
        Structure::General => {
            return min_norm_point::min_norm_point(f, v, step, f.is_monotone(), out, scratch);
        }
    }
    Ok(0.0)
}

/// [`prox`] by an algorithm with a proved float error, [`proved_error`] per unit of |v|_2: in integers where minimum
/// cuts decide. Nothing is proved for [`Structure::General`].
///
/// # Errors
/// As [`prox`].
pub fn proved_prox(
    f: &dyn SetFunction,
    v: &[f64],
    step: f64,
    out: &mut [f64],
    scratch: &mut Scratch,
) -> Result<f64> {
    check(f, v, step, out)?;
    proved(f, v, step, out, scratch)
}

fn proved(
    f: &dyn SetFunction,
    v: &[f64],
    step: f64,
    out: &mut [f64],
    scratch: &mut Scratch,
) -> Result<f64> {
    match f.structure() {
        Structure::Cover(groups) => lattice::cover(v, groups, step, out, &mut scratch.exact),
        Structure::ContiguousRange => {
            let groups = contiguous_cover(f.n_features())?;
            lattice::cover(v, &groups, step, out, &mut scratch.exact);
        }
        Structure::Cut(graph) if !graph.is_chain() => {
            lattice::graph(v, graph, step, out, &mut scratch.exact);
        }
        Structure::Scaled(scale, f) => return proved(f, v, step * scale, out, scratch),
        _ => return dispatch(f, v, step, out, scratch),
    }
    Ok(0.0)
}

/// Bound on the Euclidean float error of [`proved_prox`] per unit of |v|_2; None where none is proved.
///
/// Every operation errs by u = 2^-53 of its result. A soft threshold: 2 u in each entry. Pools and thresholds are sums
/// of k <= p terms over their number, an error of u sum |v_i| <= u sqrt(k) |v| in each of k entries: u k |v| in all, k
/// at most the largest group, times the depth for nested groups, whose proxes follow one another. On a chain the sums
/// are running ones of size at most 2 |v|_1 (bounds are capped there): 2 p u sqrt(p) |v| in each entry. Each with a
/// factor for the few operations per term. Covers and other cuts: see `lattice`.
pub fn proved_error(f: &dyn SetFunction) -> Option<f64> {
    let features = f.n_features();
    let p = features as f64;
    Some(match f.structure() {
        Structure::Scaled(_, inner) => return proved_error(inner),
        Structure::Modular(_) => 2f64.powi(-50),
        Structure::Blocks(_) => (p + 16.0) * 2f64.powi(-50),
        Structure::Laminar(groups) => {
            let depth = (0..groups.n_features()).map(|j| groups.of_feature(j).len());
            let largest = (0..groups.len()).map(|g| groups.members(g).len());
            let largest = largest.max().unwrap_or(1) as f64;
            (largest + 16.0) * 2f64.powi(-50) * depth.max().unwrap_or(1).max(1) as f64
        }
        Structure::Cut(graph) if graph.is_chain() => (p + 16.0) * p * 2f64.powi(-49),
        Structure::Cut(graph) => lattice::error(features, graph.edges().len()),
        Structure::Cover(groups) => lattice::error(features, groups.len()),
        Structure::ContiguousRange => lattice::error(features, 2 * features),
        Structure::General => return None,
    })
}

#[cfg(test)]
mod tests;

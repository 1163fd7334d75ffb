//! The largest norm of a point of a polytope of a set function.

use crate::error::Result;
use crate::minimise::Forest;
use crate::set_function::{Groups, SetFunction, Structure};

/// Up to this p a maximum over all vertices is found by dynamic programming over subsets.
const SMALL: usize = 16;

/// Which norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NormOrder {
    /// Sum of absolute values.
    One,
    /// Euclidean.
    Two,
    /// Largest absolute value.
    Inf,
}

/// A radius, or a proved upper bound on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Radius {
    /// No point has a larger norm.
    pub value: f64,
    /// Whether some point has this norm (up to rounding).
    pub exact: bool,
}

fn exact(value: f64) -> Radius {
    Radius {
        value: value + 0.0,
        exact: true,
    }
}

/// max |s|_ord over |P|(F).
pub(super) fn symmetric(f: &dyn SetFunction, ord: NormOrder) -> Result<Radius> {
    Ok(match ord {
        NormOrder::One => exact(total(f)?),
        NormOrder::Inf => exact(singletons(f)?.into_iter().fold(0.0, f64::max)),
        NormOrder::Two => match f.structure() {
            Structure::Modular(weights) => exact(sum_of_squares(weights).sqrt()),
            // Every vertex that uses all features carries the same numbers.
            Structure::Blocks(blocks) => exact(
                blocks
                    .iter()
                    .map(|block| sum_of_squares(&block.gains))
                    .sum::<f64>()
                    .sqrt(),
            ),
            Structure::Laminar(groups) => exact(nested(groups).sqrt()),
            Structure::Scaled(scale, f) => {
                let radius = symmetric(f, ord)?;
                Radius {
                    value: scale * radius.value,
                    ..radius
                }
            }
            _ if f.n_features() <= SMALL => exact(over_orders(f, |gain| gain * gain)?.sqrt()),
            _ => {
                // |s_j| <= F({j}), and |s|_2^2 <= |s|_inf |s|_1.
                let singletons = singletons(f)?;
                let largest = singletons.iter().copied().fold(0.0, f64::max);
                Radius {
                    value: sum_of_squares(&singletons).min(largest * total(f)?).sqrt(),
                    exact: false,
                }
            }
        },
    })
}

/// max |s|_ord over B(F). For ord 1 that is max_A 2F(A) - F(V), for a cut twice the maximum cut: hard.
pub(super) fn base(f: &dyn SetFunction, ord: NormOrder) -> Result<Radius> {
    if let Structure::Scaled(scale, f) = f.structure() {
        let radius = base(f, ord)?;
        return Ok(Radius {
            value: scale * radius.value,
            ..radius
        });
    }
    if ord != NormOrder::Inf && f.n_features() <= SMALL {
        return Ok(exact(match ord {
            NormOrder::Two => over_orders(f, |gain| gain * gain)?.sqrt(),
            _ => over_orders(f, f64::abs)?,
        }));
    }
    // s_j is between F(V) - F(V \ j) and F({j}); both ends are attained.
    let reach = reach(f)?;
    Ok(match ord {
        NormOrder::Inf => exact(reach.into_iter().fold(0.0, f64::max)),
        NormOrder::Two => Radius {
            value: sum_of_squares(&reach).sqrt(),
            exact: false,
        },
        NormOrder::One => Radius {
            value: reach.into_iter().sum(),
            exact: false,
        },
    })
}

fn total(f: &dyn SetFunction) -> Result<f64> {
    let all: Vec<usize> = (0..f.n_features()).collect();
    f.value(&all)
}

/// F({j}) of every feature, without p general evaluations where the structure tells them.
pub(crate) fn singletons(f: &dyn SetFunction) -> Result<Vec<f64>> {
    let p = f.n_features();
    let of_groups = |groups: &Groups| {
        let weight = |&g: &u32| groups.weights()[g as usize];
        let of = |j| groups.of_feature(j).iter().map(weight).sum();
        (0..p).map(of).collect()
    };
    Ok(match f.structure() {
        Structure::Modular(weights) => weights.to_vec(),
        Structure::Blocks(blocks) => {
            let mut values = vec![0.0; p];
            for block in blocks {
                block
                    .members
                    .iter()
                    .for_each(|&j| values[j] = block.gains[0]);
            }
            values
        }
        Structure::Laminar(groups) | Structure::Cover(groups) => of_groups(groups),
        Structure::Cut(graph) => {
            let weight = |&(_, edge): &(u32, u32)| graph.weights()[edge as usize];
            let degree = |j| graph.incident(j).iter().map(weight).sum();
            (0..p).map(degree).collect()
        }
        Structure::ContiguousRange => vec![p as f64; p],
        Structure::Scaled(scale, f) => singletons(f)?.into_iter().map(|x| scale * x).collect(),
        Structure::General => (0..p).map(|j| f.value(&[j])).collect::<Result<_>>()?,
    })
}

/// max |s_j| over B(F).
fn reach(f: &dyn SetFunction) -> Result<Vec<f64>> {
    if let Structure::Cut(_) = f.structure() {
        // F(V \ j) = F({j}).
        return singletons(f);
    }
    let total = total(f)?;
    (0..f.n_features())
        .map(|j| {
            let rest: Vec<usize> = (0..f.n_features()).filter(|&k| k != j).collect();
            Ok(f.value(&[j])?.abs().max((total - f.value(&rest)?).abs()))
        })
        .collect()
}

fn sum_of_squares(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}

/// max over orders of the sum of `size` of the gains: over subsets, O(2^p p). A maximum of a convex function of s over
/// the polytope is at a vertex, and vertices are gains along orders.
fn over_orders(f: &dyn SetFunction, size: impl Fn(f64) -> f64) -> Result<f64> {
    let p = f.n_features();
    let mut values = vec![0.0; 1 << p];
    let mut best = vec![0.0f64; 1 << p];
    let mut set = Vec::with_capacity(p);
    for bits in 1..1usize << p {
        set.clear();
        set.extend((0..p).filter(|j| bits >> j & 1 == 1));
        values[bits] = f.value(&set)?;
        best[bits] = set
            .iter()
            .map(|j| {
                let before = bits & !(1 << j);
                best[before] + size(values[bits] - values[before])
            })
            .fold(f64::NEG_INFINITY, f64::max);
    }
    Ok(best[best.len() - 1])
}

/// max |s|_2^2 over |P|(F) for nested groups, O(sum of group sizes).
///
/// A vertex gives every group's weight to the group's first feature in some order. A feature that is first in a group
/// is first in the groups of its own inside it, so feature j carries the weights of a path from its least group
/// upwards. For the subtree of g let j be the one whose path reaches g: path_j is the weight so far, aside_j the best
/// of the subtrees that the path leaves to the side.
fn nested(groups: &Groups) -> f64 {
    let forest = Forest::new(groups);
    let p = groups.n_features();
    let (mut path, mut aside) = (vec![0.0; p], vec![0.0; p]);
    // Best of the largest group so far that holds a feature, and of all such groups inside the next one.
    let mut below = vec![0.0; p];
    let mut children = vec![0.0; groups.len()];
    let mut total = 0.0;
    for &g in forest.order() {
        let g = g as usize;
        let mut best = 0.0f64;
        for &j in groups.members(g) {
            let j = j as usize;
            aside[j] += children[g] - below[j];
            path[j] += groups.weights()[g];
            best = best.max(path[j] * path[j] + aside[j]);
        }
        for &j in groups.members(g) {
            below[j as usize] = best;
        }
        match forest.parent(g) {
            Some(parent) => children[parent] += best,
            None => total += best,
        }
    }
    total
}

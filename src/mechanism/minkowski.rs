//! The dual ball of a norm as a sum of simple polytopes ([`crate::theory_of_privacy::minkowski`]).

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::exact::selection::{Shape, Summand};
use crate::set_function::{Groups, SetFunction, Structure, contiguous_cover};

/// Falls of the gains of a concave function below this share of the first gain are rounding.
const ROUNDING: f64 = 1e-12;

/// `scale` times K, K = |P|(F) for a cover F and B(F) for a cut, as a Minkowski sum: one cross for every group, one
/// segment for every edge of positive weight.
///
/// A block of m features is h(k) = sum_{i <= m} c_i min(k, i), c_i the fall of its gains after i: a cross for i = 1,
/// single features for i = m, signed i-subsets between. Falls below 1e-12 of the first gain are rounding, and left out.
pub(super) fn summands(f: &dyn SetFunction, scale: f64) -> Result<Vec<Summand>> {
    let mut found = Vec::new();
    let mut add = |weight: f64, shape: Shape| {
        if weight > 0.0 {
            found.push(Summand {
                weight: weight * scale,
                shape,
            });
        }
    };
    match f.structure() {
        Structure::Scaled(factor, inner) => return summands(inner, factor * scale),
        Structure::Modular(weights) => {
            for (j, &weight) in weights.iter().enumerate() {
                add(weight, Shape::Cross(vec![j as u32]));
            }
        }
        Structure::Laminar(groups) | Structure::Cover(groups) => cover(groups, &mut add),
        Structure::Blocks(blocks) => {
            for block in blocks {
                let members: Arc<[u32]> = block.members.iter().map(|&j| j as u32).collect();
                let m = members.len();
                for (i, &gain) in (1..).zip(&block.gains) {
                    let fall = gain - block.gains.get(i).copied().unwrap_or(0.0);
                    if fall <= ROUNDING * block.gains[0] {
                        continue;
                    }
                    if i == m {
                        (members.iter()).for_each(|&j| add(fall, Shape::Cross(vec![j])));
                    } else if i == 1 {
                        add(fall, Shape::Cross(members.to_vec()));
                    } else {
                        add(fall, Shape::Subsets(members.clone(), i));
                    }
                }
            }
        }
        Structure::Cut(graph) => {
            for (&(i, j), &weight) in graph.edges().iter().zip(graph.weights()) {
                add(weight, Shape::Segment(i, j));
            }
        }
        Structure::ContiguousRange => {
            cover(&contiguous_cover(f.n_features())?, &mut add);
        }
        Structure::General => return Err(unknown()),
    }
    Ok(found)
}

fn cover(groups: &Groups, add: &mut impl FnMut(f64, Shape)) {
    for g in 0..groups.len() {
        add(
            groups.weights()[g],
            Shape::Cross(groups.members(g).to_vec()),
        );
    }
}

fn unknown() -> Error {
    Error::invalid(
        "variant",
        "\"selection\" takes concave functions of the cardinality (l1, linf, sorted l1), covers (groups, trees), contiguous \
         ranges and cuts, whose dual ball is a sum of polytopes that can be sampled from; use variant=\"noisy-iterates\", which \
         takes every norm",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::norm::{Norm, SetFunctionNorm};
    use crate::set_function::{
        Cardinality, ConcaveCardinality, ContiguousRange, GraphCut, GroupCover, LogDet,
        PartitionRank, scaled,
    };
    use std::sync::Arc;

    /// The support function of the sum.
    fn support(summands: &[Summand], theta: &[f64]) -> f64 {
        let one = |summand: &Summand| match &summand.shape {
            Shape::Cross(members) => members
                .iter()
                .map(|&j| theta[j as usize].abs())
                .fold(0.0, f64::max),
            Shape::Segment(i, j) => (theta[*i as usize] - theta[*j as usize]).abs(),
            Shape::Subsets(members, size) => {
                let mut sizes: Vec<f64> =
                    members.iter().map(|&j| theta[j as usize].abs()).collect();
                sizes.sort_by(|a, b| b.total_cmp(a));
                sizes[..*size].iter().sum()
            }
        };
        summands.iter().map(|s| s.weight * one(s)).sum()
    }

    #[test]
    fn the_sum_supports_the_norm() {
        let theta = [0.3, -2.0, 0.0, 1.25, -0.5];
        let groups = [vec![0, 1, 2], vec![1, 2, 3], vec![4], vec![0, 4]];
        let weights = Some(vec![1.0, 0.5, 2.0, 0.0]);
        let functions: Vec<Arc<dyn SetFunction>> = vec![
            Arc::new(Cardinality::new(5).unwrap()),
            Arc::new(ConcaveCardinality::new(vec![1.0; 5]).unwrap()),
            Arc::new(ConcaveCardinality::new(vec![3.0, 3.5, 4.0, 4.5, 5.0]).unwrap()),
            Arc::new(ConcaveCardinality::new(vec![1.0, 2.0, 3.0, 3.0, 3.0]).unwrap()),
            Arc::new(
                ConcaveCardinality::new((1..6).map(|k| f64::from(k).sqrt()).collect()).unwrap(),
            ),
            Arc::new(PartitionRank::new(&[vec![4, 0, 1], vec![2, 3]], &[2, 1], 5).unwrap()),
            Arc::new(GroupCover::new(&groups, weights, 5).unwrap()),
            Arc::new(ContiguousRange::new(5).unwrap()),
            Arc::new(ContiguousRange::new(1).unwrap()),
            scaled(2.5, Arc::new(Cardinality::new(5).unwrap())).unwrap(),
        ];
        for f in functions {
            let theta = &theta[..f.n_features()];
            let ours = support(&summands(f.as_ref(), 0.7).unwrap(), theta);
            let name = f.name();
            let norm = 0.7 * SetFunctionNorm::new(f).unwrap().value(theta).unwrap();
            assert!((ours - norm).abs() < 1e-12, "{name}: {ours} {norm}");
        }
        let cut = GraphCut::new(&[(0, 1), (1, 4), (2, 3)], Some(vec![1.0, 2.0, 0.5]), 5).unwrap();
        let ours = support(&summands(&cut, 0.7).unwrap(), &theta);
        let variation = SetFunctionNorm::new(Arc::new(cut))
            .unwrap()
            .value(&theta)
            .unwrap();
        assert!((ours - 0.7 * variation).abs() < 1e-12);
    }

    #[test]
    fn other_functions_are_refused() {
        let log_det = LogDet::new(ndarray::Array2::eye(3).view(), 0.5).unwrap();
        let error = summands(&log_det, 1.0).unwrap_err().to_string();
        assert!(error.contains("noisy-iterates"), "{error}");
    }
}

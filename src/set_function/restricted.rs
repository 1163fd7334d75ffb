use std::collections::BTreeMap;
use std::sync::Arc;

use super::sealed::Token;
use super::{Block, GroupCover, Groups, Modular, SetFunction, Structure, Tree, scaled, unscaled};
use crate::error::Result;

/// A -> F(A) for sets A of some of the features, which are numbered anew in the order given: f(|theta|) for vectors
/// that are 0 elsewhere.
///
/// None where F is not monotone, since its seminorm does not vanish with the other coefficients, or where the
/// restriction would lose the structure that algorithms need, as that of a contiguous range does, or be 0 because no
/// group meets the features.
///
/// ```
/// use std::sync::Arc;
/// use dpsparse::set_function::{GroupCover, SetFunction, restricted};
/// let f = Arc::new(GroupCover::new(&[vec![0, 2], vec![1]], Some(vec![2.0, 3.0]), 3)?);
/// let g = restricted(f, &[2, 1])?.unwrap();
/// assert_eq!((g.value(&[0])?, g.value(&[0, 1])?), (2.0, 5.0));
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// No features, or those of a user's own function that is a multiple of a multiple without end.
pub fn restricted(
    f: Arc<dyn SetFunction>,
    features: &[u32],
) -> Result<Option<Arc<dyn SetFunction>>> {
    if !f.is_monotone() {
        return Ok(None);
    }
    let (factor, structure) = unscaled(f.as_ref())?;
    let p = features.len();
    if let Structure::Laminar(groups) | Structure::Cover(groups) = structure
        && kept_groups(groups, features).next().is_none()
    {
        return Ok(None);
    }
    let inner: Arc<dyn SetFunction> = match structure {
        Structure::Modular(weights) => {
            let weights = features.iter().map(|&j| weights[j as usize]);
            Arc::new(Modular::new(weights.collect())?)
        }
        Structure::Laminar(groups) => {
            // Groups that differ outside only become one, with the weights of all.
            let mut sums = BTreeMap::<Vec<usize>, f64>::new();
            for (group, weight) in kept_groups(groups, features) {
                *sums.entry(group).or_insert(0.0) += weight;
            }
            let (groups, weights): (Vec<_>, Vec<_>) = sums.into_iter().unzip();
            Arc::new(Tree::new(&groups, Some(weights), p)?)
        }
        Structure::Cover(groups) => {
            let (groups, weights): (Vec<_>, Vec<_>) = kept_groups(groups, features).unzip();
            Arc::new(GroupCover::new(&groups, Some(weights), p)?)
        }
        Structure::Blocks(blocks) => {
            let places = places(f.n_features(), features);
            let kept = |block: &Block| {
                let members: Vec<usize> = block.members.iter().filter_map(|&j| places[j]).collect();
                let gains = block.gains[..members.len()].iter();
                Block {
                    gains: gains.map(|gain| factor * gain).collect(),
                    members,
                }
            };
            let blocks = blocks.iter().map(kept);
            let blocks = blocks.filter(|block| !block.members.is_empty()).collect();
            return Ok(Some(Arc::new(Restricted::new(
                f.clone(),
                features,
                Some(blocks),
            ))));
        }
        Structure::General => {
            return Ok(Some(Arc::new(Restricted::new(f.clone(), features, None))));
        }
        Structure::ContiguousRange | Structure::Cut(_) | Structure::Scaled(..) => return Ok(None),
    };
    Ok(Some(if factor == 1.0 {
        inner
    } else {
        scaled(factor, inner)?
    }))
}

/// The new number of every feature that is kept.
fn places(n_features: usize, features: &[u32]) -> Vec<Option<usize>> {
    let mut places = vec![None; n_features];
    for (k, &j) in features.iter().enumerate() {
        places[j as usize] = Some(k);
    }
    places
}

/// The groups that meet the features, their other members left out, with their weights.
fn kept_groups(groups: &Groups, features: &[u32]) -> impl Iterator<Item = (Vec<usize>, f64)> {
    let places = places(groups.n_features(), features);
    (0..groups.len()).filter_map(move |g| {
        let members = groups.members(g).iter();
        let mut kept: Vec<usize> = members.filter_map(|&j| places[j as usize]).collect();
        kept.sort_unstable();
        (!kept.is_empty()).then(|| (kept, groups.weights()[g]))
    })
}

#[derive(Debug)]
struct Restricted {
    f: Arc<dyn SetFunction>,
    features: Vec<usize>,
    blocks: Option<Vec<Block>>,
}

impl Restricted {
    fn new(f: Arc<dyn SetFunction>, features: &[u32], blocks: Option<Vec<Block>>) -> Self {
        Self {
            f,
            features: features.iter().map(|&j| j as usize).collect(),
            blocks,
        }
    }

    fn outer(&self, set: &[usize]) -> Vec<usize> {
        set.iter().map(|&k| self.features[k]).collect()
    }
}

impl SetFunction for Restricted {
    fn name(&self) -> &'static str {
        self.f.name()
    }

    fn n_features(&self) -> usize {
        self.features.len()
    }

    fn value(&self, set: &[usize]) -> Result<f64> {
        self.f.value(&self.outer(set))
    }

    fn gains(&self, order: &[usize], gains: &mut [f64]) -> Result<()> {
        self.f.gains(&self.outer(order), gains)
    }

    fn is_monotone(&self) -> bool {
        true
    }

    fn structure(&self) -> Structure<'_> {
        (self.blocks.as_deref()).map_or(Structure::General, Structure::Blocks)
    }

    fn is_own(&self, token: Token) -> bool {
        self.f.is_own(token)
    }
}

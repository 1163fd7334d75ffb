use super::sealed::Token;
use super::{Block, Groups, SetFunction, Structure};
use crate::error::{Error, Result};

/// F(A) = sum_g min(c_g, |A & g|) over disjoint groups: the rank function of a partition matroid.
///
/// A feature in no group has F({j}) = 0. A capacity above the size of its group counts as the size.
///
/// ```
/// use dpsparse::set_function::{PartitionRank, SetFunction};
/// let f = PartitionRank::new(&[vec![0, 1, 2], vec![3]], &[2, 1], 4)?;
/// assert_eq!(f.value(&[0, 1, 2, 3])?, 3.0);
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PartitionRank {
    groups: Groups,
    blocks: Vec<Block>,
}

impl PartitionRank {
    /// Disjoint groups of features below `n_features`, each with its capacity.
    ///
    /// # Errors
    /// Those of [`Groups::new`]; groups that share a feature; capacities that are zero or not one per group. The text
    /// names the feature and its two groups, or the capacity.
    pub fn new(groups: &[Vec<usize>], capacities: &[usize], n_features: usize) -> Result<Self> {
        let groups = Groups::new(groups, None, n_features)?;
        if let Some(j) = (0..n_features).find(|&j| groups.of_feature(j).len() > 1) {
            let of = groups.of_feature(j);
            return Err(Error::invalid(
                "groups",
                format!(
                    "must be disjoint: groups {} and {} share feature {j}",
                    of[0], of[1]
                ),
            ));
        }
        if capacities.len() != groups.len() {
            return Err(Error::invalid(
                "capacities",
                format!(
                    "must hold one capacity per group: expected {}, got {}",
                    groups.len(),
                    capacities.len()
                ),
            ));
        }
        if let Some(g) = capacities.iter().position(|&capacity| capacity == 0) {
            return Err(Error::invalid(
                "capacities",
                format!("must be positive integers; entry {g} is 0"),
            ));
        }
        let block = |(g, &capacity): (usize, &usize)| {
            let members: Vec<usize> = groups.members(g).iter().map(|&j| j as usize).collect();
            let gains = (0..members.len()).map(|k| f64::from(k < capacity));
            Block {
                gains: gains.collect(),
                members,
            }
        };
        let blocks = capacities.iter().enumerate().map(block).collect();
        Ok(Self { groups, blocks })
    }
}

impl SetFunction for PartitionRank {
    fn name(&self) -> &'static str {
        "partition rank"
    }

    fn n_features(&self) -> usize {
        self.groups.n_features()
    }

    fn gains(&self, order: &[usize], gains: &mut [f64]) -> Result<()> {
        let mut taken = vec![0; self.blocks.len()];
        for (gain, &j) in gains.iter_mut().zip(order) {
            *gain = 0.0;
            for &g in self.groups.of_feature(j) {
                let g = g as usize;
                *gain = self.blocks[g].gains[taken[g]];
                taken[g] += 1;
            }
        }
        Ok(())
    }

    fn is_monotone(&self) -> bool {
        true
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Blocks(&self.blocks)
    }

    fn is_own(&self, _: Token) -> bool {
        true
    }
}

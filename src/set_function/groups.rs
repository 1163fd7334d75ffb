use super::{check_n_features, check_weights};
use crate::error::{Error, Result};

/// Weighted groups of features, with the groups of every feature.
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    n_features: usize,
    weights: Vec<f64>,
    /// Members of all groups, one group after another, sorted inside.
    members: Lists,
    /// Groups of every feature, ascending.
    of_feature: Lists,
}

/// Lists of indices, one after another.
#[derive(Debug, Clone, PartialEq)]
struct Lists {
    starts: Vec<usize>,
    entries: Vec<u32>,
}

impl Lists {
    fn get(&self, k: usize) -> &[u32] {
        &self.entries[self.starts[k]..self.starts[k + 1]]
    }

    /// For every index below `n` the numbers of the lists that hold it.
    fn inverse(&self, n: usize) -> Self {
        let mut starts = vec![0; n + 1];
        for &j in &self.entries {
            starts[j as usize + 1] += 1;
        }
        for j in 0..n {
            starts[j + 1] += starts[j];
        }
        let mut next = starts.clone();
        let mut entries = vec![0; self.entries.len()];
        for k in 0..self.starts.len() - 1 {
            for &j in self.get(k) {
                let slot = &mut next[j as usize];
                entries[*slot] = k as u32;
                *slot += 1;
            }
        }
        Self { starts, entries }
    }
}

impl Groups {
    /// Groups of features below `n_features`; no weights means 1 each.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no features, no groups, an empty group, an index out of range or repeated in its
    /// group, weights that are negative, not finite or not one per group. The text names the group.
    pub fn new(
        groups: &[Vec<usize>],
        weights: Option<Vec<f64>>,
        n_features: usize,
    ) -> Result<Self> {
        check_n_features(n_features)?;
        let invalid = |problem: String| Err(Error::invalid("groups", problem));
        if groups.is_empty() {
            return invalid("must hold at least one group".into());
        }
        if n_features >= u32::MAX as usize || groups.len() >= u32::MAX as usize {
            return invalid("and features must be fewer than 2^32 - 1".into());
        }
        let weights = weights.unwrap_or_else(|| vec![1.0; groups.len()]);
        check_weights(&weights, groups.len(), "group")?;
        let mut members = Lists {
            starts: vec![0],
            entries: Vec::new(),
        };
        for (g, group) in groups.iter().enumerate() {
            if group.is_empty() {
                return invalid(format!("must not be empty: group {g} is"));
            }
            if let Some(j) = group.iter().find(|&&j| j >= n_features) {
                return invalid(format!(
                    "must hold indices below {n_features}: group {g} has {j}"
                ));
            }
            let start = members.entries.len();
            members.entries.extend(group.iter().map(|&j| j as u32));
            let sorted = &mut members.entries[start..];
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return invalid(format!(
                    "must not repeat a feature: group {g} has {} twice",
                    pair[0]
                ));
            }
            members.starts.push(members.entries.len());
        }
        let of_feature = members.inverse(n_features);
        Ok(Self {
            n_features,
            weights,
            members,
            of_feature,
        })
    }

    /// p.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Never: there is at least one group.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// w_g.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The features of group g, ascending.
    pub fn members(&self, g: usize) -> &[u32] {
        self.members.get(g)
    }

    /// The groups of feature j, ascending.
    pub fn of_feature(&self, j: usize) -> &[u32] {
        self.of_feature.get(j)
    }
}

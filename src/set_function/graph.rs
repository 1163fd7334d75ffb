use super::{check_n_features, check_weights};
use crate::error::{Error, Result};

/// An undirected graph on the features with weighted edges.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    n_features: usize,
    edges: Vec<(u32, u32)>,
    weights: Vec<f64>,
    /// Start of every feature's list in `incident`.
    starts: Vec<usize>,
    /// (neighbour, edge) of every feature.
    incident: Vec<(u32, u32)>,
    is_chain: bool,
}

impl Graph {
    /// Edges between features below `n_features`; no weights means 1 each. Parallel edges add up.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no features, an index out of range, an edge from a feature to itself, weights
    /// that are negative, not finite or not one per edge. The text names the edge.
    pub fn new(
        edges: &[(usize, usize)],
        weights: Option<Vec<f64>>,
        n_features: usize,
    ) -> Result<Self> {
        check_n_features(n_features)?;
        let invalid = |problem: String| Err(Error::invalid("edges", problem));
        if n_features >= u32::MAX as usize || edges.len() >= u32::MAX as usize {
            return invalid("and features must be fewer than 2^32 - 1".into());
        }
        for (e, &(i, j)) in edges.iter().enumerate() {
            if i.max(j) >= n_features {
                return invalid(format!(
                    "must join features below {n_features}: edge {e} is ({i}, {j})"
                ));
            }
            if i == j {
                return invalid(format!(
                    "must join two features: edge {e} joins {i} to itself"
                ));
            }
        }
        let weights = weights.unwrap_or_else(|| vec![1.0; edges.len()]);
        check_weights(&weights, edges.len(), "edge")?;
        let mut starts = vec![0; n_features + 1];
        for &(i, j) in edges {
            starts[i + 1] += 1;
            starts[j + 1] += 1;
        }
        for j in 0..n_features {
            starts[j + 1] += starts[j];
        }
        let mut next = starts.clone();
        let mut incident = vec![(0, 0); 2 * edges.len()];
        for (e, &(i, j)) in edges.iter().enumerate() {
            for (from, to) in [(i, j), (j, i)] {
                incident[next[from]] = (to as u32, e as u32);
                next[from] += 1;
            }
        }
        Ok(Self {
            n_features,
            edges: edges.iter().map(|&(i, j)| (i as u32, j as u32)).collect(),
            weights,
            starts,
            incident,
            is_chain: edges.iter().all(|&(i, j)| i.abs_diff(j) == 1),
        })
    }

    /// p.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// The edges as they were given.
    pub fn edges(&self) -> &[(u32, u32)] {
        &self.edges
    }

    /// One weight per edge.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// (neighbour, edge) for every edge at feature j.
    pub fn incident(&self, j: usize) -> &[(u32, u32)] {
        &self.incident[self.starts[j]..self.starts[j + 1]]
    }

    /// Whether every edge joins j and j + 1: total variation on a chain (or on several).
    pub fn is_chain(&self) -> bool {
        self.is_chain
    }
}

use super::sealed::Token;
use super::{Graph, SetFunction, Structure};
use crate::error::Result;

/// F(A) = sum of the weights of the edges with exactly one end in A: f(theta) = sum_{ij} w_ij |theta_i - theta_j|,
/// total variation on the graph.
///
/// F is not monotone and F(V) = 0, so Omega(theta) = f(theta), a seminorm.
///
/// ```
/// use dpsparse::set_function::{GraphCut, SetFunction};
/// let f = GraphCut::new(&[(0, 1), (1, 2)], None, 3)?;
/// assert_eq!(f.value(&[1])?, 2.0);
/// assert_eq!(dpsparse::lovasz::extension(&f, &[0.0, 3.0, 5.0])?, 5.0);
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GraphCut(Graph);

impl GraphCut {
    /// Edges between features below `n_features`; no weights means 1 each.
    ///
    /// # Errors
    /// Those of [`Graph::new`].
    pub fn new(
        edges: &[(usize, usize)],
        weights: Option<Vec<f64>>,
        n_features: usize,
    ) -> Result<Self> {
        Ok(Self(Graph::new(edges, weights, n_features)?))
    }
}

impl SetFunction for GraphCut {
    fn name(&self) -> &'static str {
        "graph cut"
    }

    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    fn gains(&self, order: &[usize], gains: &mut [f64]) -> Result<()> {
        let mut inside = vec![false; self.0.n_features()];
        for (gain, &j) in gains.iter_mut().zip(order) {
            *gain = 0.0;
            for &(neighbour, edge) in self.0.incident(j) {
                let weight = self.0.weights()[edge as usize];
                *gain += if inside[neighbour as usize] {
                    -weight
                } else {
                    weight
                };
            }
            inside[j] = true;
        }
        Ok(())
    }

    /// Never, not even where all weights are zero: the regulariser of a cut is f(theta).
    fn is_monotone(&self) -> bool {
        false
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Cut(&self.0)
    }

    fn is_own(&self, _: Token) -> bool {
        true
    }
}

//! Potentials of mirror descent and the Bregman projections on balls that go with them.

use super::Norm;
use crate::error::Result;
use crate::prox::Scratch;

/// Relative distance from the radius at which a projection stops.
const TOLERANCE: f64 = 1e-9;

/// Most trial thresholds of a projection.
const MOST_TRIALS: usize = 100;

/// Blocks that a potential takes the Euclidean norm of.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Blocks {
    /// Every entry alone.
    Coordinates,
    /// Disjoint groups.
    Groups(Vec<Vec<usize>>),
    /// All entries together: half the squared Euclidean norm.
    Whole,
}

/// psi(x) = N(x)^2/(2 (q - 1)) with N(x) = (sum over blocks of |x_block|_2^q)^(1/q), 1 < q <= 2, which is 1-strongly
/// convex in N (Juditsky & Nemirovski 2008; for one entry a block Ball, Carlen & Lieb 1994).
///
/// **Bregman projection.** Over the ball {Omega <= R} of a norm Omega that is a sum of norms over the blocks, or any
/// norm where there is one block, the minimiser of psi(x) - <z, x> is grad psi*(w) with w = prox of step lambda Omega
/// at z, for the least lambda >= 0 that brings it into the ball. Proof: at the minimiser grad psi(x) = z - lambda u
/// with u a subgradient of Omega at x and lambda (Omega(x) - R) = 0. Within a block grad psi(x) is a positive
/// multiple of x, and so u is a subgradient of Omega at w = grad psi(x) too, because a norm has the same ones along a
/// ray; so w = z - lambda u is the prox. With one block the multiple is the same for all entries and the same holds
/// for any Omega. **theta >= 0**, where it is part of Omega, adds an element v of its normal cone at x to u; x and w
/// have zeros at the same entries, so that v is one at w too, and w is the prox again, of lambda = 0 too.
///
/// ```
/// use std::sync::Arc;
/// use dpsparse::norm::{Blocks, Norm, Potential, SetFunctionNorm};
/// use dpsparse::set_function::Cardinality;
/// let l1 = SetFunctionNorm::new(Arc::new(Cardinality::new(3)?))?;
/// let potential = Potential::new(Blocks::Coordinates, 3);
/// let mut dual = [5.0, -1.0, 0.2];
/// let mut point = [0.0; 3];
/// potential.project(&l1, 2.0, &mut dual, &mut point)?;
/// assert!((l1.value(&point)? - 2.0).abs() < 1e-8);
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Potential {
    blocks: Blocks,
    q: f64,
}

impl Potential {
    /// q = 1 + 1/ln m for m blocks, and 2 for fewer than three: then N is between the sum of the blocks' norms and a
    /// constant fraction of it, and psi of the order of ln m on its ball.
    pub fn new(blocks: Blocks, n_features: usize) -> Self {
        let count = match &blocks {
            Blocks::Coordinates => n_features,
            Blocks::Groups(groups) => groups.len(),
            Blocks::Whole => 1,
        };
        let q = match count {
            0..3 => 2.0,
            more => 1.0 + 1.0 / (more as f64).ln().max(1.0),
        };
        Self { blocks, q }
    }

    /// q.
    pub fn exponent(&self) -> f64 {
        self.q
    }

    /// The exponent of the dual of N, 1/q + 1/q' = 1.
    pub fn dual_exponent(&self) -> f64 {
        self.q / (self.q - 1.0)
    }

    /// Sizes of the blocks, over `n_features` entries.
    pub fn sizes(&self, n_features: usize) -> Vec<usize> {
        match &self.blocks {
            Blocks::Coordinates => vec![1; n_features],
            Blocks::Groups(groups) => groups.iter().map(Vec::len).collect(),
            Blocks::Whole => vec![n_features],
        }
    }

    /// The groups, where blocks are groups.
    pub fn groups(&self) -> &[Vec<usize>] {
        match &self.blocks {
            Blocks::Groups(groups) => groups,
            Blocks::Coordinates | Blocks::Whole => &[],
        }
    }

    /// The largest psi on {Omega <= 1} where every point with Omega(x) <= 1 has |x_block|_2 <= `reach` Omega(x_block)
    /// and Omega is the sum of them.
    pub fn range(&self, reach: f64) -> f64 {
        reach * reach / (2.0 * (self.q - 1.0))
    }

    /// x = grad psi*(w).
    pub fn from_dual(&self, w: &[f64], x: &mut [f64]) {
        let exponent = self.dual_exponent();
        let norms = self.block_norms(w);
        let largest = norms.iter().fold(0.0_f64, |a, &b| a.max(b));
        if largest == 0.0 {
            x.fill(0.0);
            return;
        }
        let sum: f64 = norms
            .iter()
            .map(|norm| (norm / largest).powf(exponent))
            .sum();
        let total = largest * sum.powf(1.0 / exponent);
        // (q - 1) total (|w_block|/total)^(q' - 1) per unit of length.
        let factors = norms.iter().map(|&norm| match norm {
            0.0 => 0.0,
            norm => (self.q - 1.0) * (norm / total).powf(exponent - 2.0),
        });
        match &self.blocks {
            Blocks::Coordinates => {
                for ((x, w), factor) in x.iter_mut().zip(w).zip(factors) {
                    *x = factor * w;
                }
            }
            Blocks::Groups(groups) => {
                x.fill(0.0);
                for (group, factor) in groups.iter().zip(factors) {
                    for &j in group {
                        x[j] = factor * w[j];
                    }
                }
            }
            Blocks::Whole => x.copy_from_slice(w),
        }
    }

    /// The Bregman projection on {Omega <= radius} of the point whose image under grad psi is `dual`; `dual` becomes
    /// the image of the projection, w above.
    ///
    /// # Errors
    /// Only where a user's oracle fails.
    pub fn project(
        &self,
        norm: &dyn Norm,
        radius: f64,
        dual: &mut [f64],
        point: &mut [f64],
    ) -> Result<()> {
        let mut scratch = Scratch::default();
        if norm.is_positive() {
            let given = dual.to_vec();
            norm.prox(&given, 0.0, dual, &mut scratch)?;
        }
        self.from_dual(dual, point);
        let start = norm.value(point)?;
        if start <= radius {
            return Ok(());
        }
        let given = dual.to_vec();
        // Omega - radius at the two ends, by regula falsi with the Illinois rule: the prox at the dual norm is 0.
        let (mut low, mut high) = ((0.0, start - radius), (norm.dual(&given)?, -radius));
        let mut last_side = 0;
        for _ in 0..MOST_TRIALS {
            let middle = (low.0 * high.1 - high.0 * low.1) / (high.1 - low.1);
            let inside = middle > low.0 && middle < high.0;
            let threshold = if inside {
                middle
            } else {
                0.5 * (low.0 + high.0)
            };
            norm.prox(&given, threshold, dual, &mut scratch)?;
            self.from_dual(dual, point);
            let excess = norm.value(point)? - radius;
            if excess.abs() <= TOLERANCE * radius {
                break;
            }
            if excess > 0.0 {
                low = (threshold, excess);
                if last_side == 1 {
                    high.1 *= 0.5;
                }
                last_side = 1;
            } else {
                high = (threshold, excess);
                if last_side == -1 {
                    low.1 *= 0.5;
                }
                last_side = -1;
            }
        }
        Ok(())
    }

    fn block_norms(&self, w: &[f64]) -> Vec<f64> {
        match &self.blocks {
            Blocks::Coordinates => w.iter().map(|w| w.abs()).collect(),
            Blocks::Groups(groups) => {
                let norm = |group: &Vec<usize>| {
                    let squares: f64 = group.iter().map(|&j| w[j] * w[j]).sum();
                    squares.sqrt()
                };
                groups.iter().map(norm).collect()
            }
            Blocks::Whole => vec![w.iter().map(|w| w * w).sum::<f64>().sqrt()],
        }
    }
}

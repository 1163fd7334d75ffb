//! Public bounds of features.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Public bounds of the features: one pair for all of them, or one per feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Lower bounds, one or p of them.
    pub lower: Vec<f64>,
    /// Upper bounds, one or p of them.
    pub upper: Vec<f64>,
}

impl Bounds {
    /// Whether both sides hold one value or `n_features`.
    pub fn fits(&self, n_features: usize) -> bool {
        [&self.lower, &self.upper]
            .iter()
            .all(|side| side.len() == 1 || side.len() == n_features)
    }

    /// How many pairs are stated: one, or one per feature.
    pub fn n_pairs(&self) -> usize {
        self.lower.len().max(self.upper.len())
    }

    /// (lower, upper) of feature `j`.
    pub fn of(&self, j: usize) -> (f64, f64) {
        let side = |values: &[f64]| values[if values.len() == 1 { 0 } else { j }];
        (side(&self.lower), side(&self.upper))
    }

    /// 1 for a feature that varies and whose lower bound is zero, -1 for one whose upper bound is, else 0: sizes of
    /// such features are these features up to their sign.
    pub(crate) fn sign(&self, j: usize) -> f64 {
        match self.of(j) {
            (low, high) if low >= high => 0.0,
            (0.0, _) => 1.0,
            (_, 0.0) => -1.0,
            _ => 0.0,
        }
    }

    /// Whether feature `j` is declared to be an indicator or to be scaled already: bounds [0, 1] or [-1, 1].
    pub fn is_unit(&self, j: usize) -> bool {
        matches!(self.of(j), (0.0 | -1.0, 1.0))
    }

    /// Whether that is so of every feature. The bounds must fit `n_features`.
    pub fn all_unit(&self, n_features: usize) -> bool {
        (0..self.stated(n_features)).all(|j| self.is_unit(j))
    }

    /// Whether that is so of some feature. The bounds must fit `n_features`.
    pub fn any_unit(&self, n_features: usize) -> bool {
        (0..self.stated(n_features)).any(|j| self.is_unit(j))
    }

    /// How many features to look at: one, where the same is said of all.
    fn stated(&self, n_features: usize) -> usize {
        n_features.min(self.lower.len().max(self.upper.len()))
    }

    /// Whether all features have the same bounds. The bounds must fit `n_features`.
    pub fn all_equal(&self, n_features: usize) -> bool {
        (1..self.stated(n_features)).all(|j| self.of(j) == self.of(0))
    }

    pub(super) fn check(&self, n_features: usize) -> Result<()> {
        for side in [&self.lower, &self.upper] {
            if side.len() != 1 && side.len() != n_features {
                return Err(Error::invalid(
                    "bounds",
                    format!(
                        "must hold one value or one per feature ({n_features}) on each side, got {}",
                        side.len()
                    ),
                ));
            }
            if side.iter().any(|bound| !bound.is_finite()) {
                return Err(Error::invalid("bounds", "must be finite"));
            }
        }
        Ok(())
    }
}

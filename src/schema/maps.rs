//! The map of every feature onto the integer lattice, by its bounds.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::numeric::allocate::reserved;
use crate::numeric::kernel::MAX_FEATURE;

/// How features are scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Geometry {
    /// x -> (2x - lo - hi)/(hi - lo): every feature fills [-1, 1] (mechanisms that use the maximum norm of a
    /// row).
    Centred,
    /// x -> x / max(|lo|, |hi|): zero stays zero (mechanisms that use the Euclidean norm of a row, or no
    /// intercept).
    Uncentred,
}

/// The map of every feature onto the lattice; shared by all copies of a schema.
#[derive(Debug, PartialEq)]
pub(super) struct Maps {
    pub scale: Vec<f64>,
    pub offset: Vec<f64>,
    pub low: Vec<f64>,
    pub high: Vec<f64>,
    pub n_varying: usize,
}

impl Maps {
    pub fn with_capacity(n_features: usize) -> Result<Self> {
        Ok(Self {
            scale: reserved(n_features)?,
            offset: reserved(n_features)?,
            low: reserved(n_features)?,
            high: reserved(n_features)?,
            n_varying: 0,
        })
    }

    /// Appends the map of a feature with the bounds (lo, hi).
    pub fn push(&mut self, (lo, hi): (f64, f64), geometry: Geometry) -> Result<()> {
        if lo > hi {
            return Err(Error::invalid(
                "bounds",
                "must have every lower bound at or below its upper bound",
            ));
        }
        self.n_varying += usize::from(lo < hi);
        let unit = f64::from(MAX_FEATURE);
        let (scale, offset, low, high) = if lo == hi {
            (0.0, 0.0, 0.0, 0.0)
        } else {
            match geometry {
                Geometry::Centred => {
                    let half = hi / 2.0 - lo / 2.0;
                    let middle = hi / 2.0 + lo / 2.0;
                    (unit / half, -(middle / half) * unit, -unit, unit)
                }
                Geometry::Uncentred => {
                    let scale = unit / lo.abs().max(hi.abs());
                    (scale, 0.0, (lo * scale).max(-unit), (hi * scale).min(unit))
                }
            }
        };
        if !(scale.is_finite() && offset.is_finite()) {
            return Err(Error::invalid(
                "bounds",
                "must not be closer together than floats can scale",
            ));
        }
        self.scale.push(scale);
        self.offset.push(offset);
        self.low.push(low);
        self.high.push(high);
        Ok(())
    }

    /// The one map that was appended, for so many features.
    pub fn repeat(&mut self, n_features: usize) {
        for values in [
            &mut self.scale,
            &mut self.offset,
            &mut self.low,
            &mut self.high,
        ] {
            values.resize(n_features, values[0]);
        }
        self.n_varying *= n_features;
    }

    /// Those of some of the features.
    pub fn restricted(&self, features: &[u32]) -> Self {
        let pick = |values: &[f64]| features.iter().map(|&j| values[j as usize]).collect();
        let varies = |&&j: &&u32| self.scale[j as usize] != 0.0;
        Self {
            scale: pick(&self.scale),
            offset: pick(&self.offset),
            low: pick(&self.low),
            high: pick(&self.high),
            n_varying: features.iter().filter(varies).count(),
        }
    }
}

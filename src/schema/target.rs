//! What y holds, as public facts say.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What y holds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Target {
    /// Two classes, -1 and +1.
    Classes,
    /// Three or more classes of one softmax model, 0, ..., `classes` - 1. (Two are the same model as
    /// [`Target::Classes`], with a score each.)
    Multiclass {
        /// K.
        classes: u32,
    },
    /// Reals, clipped to public bounds and mapped to [-1, 1] (offset = the middle).
    Interval {
        /// Public lower bound of y.
        low: f64,
        /// Public upper bound of y.
        high: f64,
    },
    /// Counts, or other reals that are not negative, clipped to public bounds and divided by the upper one: scores are
    /// logarithms of rates, in a public unit.
    Counts {
        /// Public lower bound of y, at least 0.
        low: f64,
        /// Public upper bound of y.
        high: f64,
        /// The rate of score 0.
        unit: f64,
    },
}

/// Most classes of one model.
pub const MOST_CLASSES: u32 = 1 << 10;

/// Units of a count in its upper bound where nothing is known: rates are below 1/8 of it as a rule, and scores of order
/// one.
const COUNT_UNITS: f64 = 8.0;

impl Target {
    /// Counts within public bounds. The unit of rates is an eighth of the upper bound where an intercept makes up for
    /// it; without an intercept it is 1, so that rates are e^<x, theta> in the user's units.
    pub fn counts(low: f64, high: f64, intercept: bool) -> Self {
        let unit = if intercept { high / COUNT_UNITS } else { 1.0 };
        Self::Counts { low, high, unit }
    }

    /// How many units of rates the largest target is; None: targets are no counts.
    pub fn units(self) -> Option<f64> {
        match self {
            Self::Counts { high, unit, .. } => Some(high / unit),
            Self::Classes | Self::Multiclass { .. } | Self::Interval { .. } => None,
        }
    }

    /// What to add to scores to turn rates in `unit` into those of the user; 0 for other targets.
    pub(super) fn log_unit(self) -> f64 {
        match self {
            Self::Counts { unit, .. } => unit.ln(),
            Self::Classes | Self::Multiclass { .. } | Self::Interval { .. } => 0.0,
        }
    }

    /// Whether y holds classes, of whatever number.
    pub fn is_classes(&self) -> bool {
        matches!(self, Target::Classes | Target::Multiclass { .. })
    }

    /// How many classes there are; 0 of other targets.
    pub fn classes(&self) -> usize {
        match self {
            Target::Classes => 2,
            Target::Multiclass { classes } => *classes as usize,
            Target::Interval { .. } | Target::Counts { .. } => 0,
        }
    }

    /// How many scores a record has: K of a softmax model, otherwise one.
    pub fn outputs(&self) -> usize {
        match self {
            Target::Multiclass { classes } => *classes as usize,
            Target::Classes | Target::Interval { .. } | Target::Counts { .. } => 1,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        match *self {
            Target::Interval { low, high } if !positive(high - low) => Err(Error::invalid(
                "y_bounds",
                "must be two finite values, the lower one first and smaller, and no farther apart than floats reach",
            )),
            Target::Counts { low, high, unit }
                if !(0.0 <= low
                    && low < high
                    && [high, unit, high / unit].into_iter().all(positive)) =>
            {
                Err(Error::invalid(
                    "y_bounds",
                    "of counts must be two finite values, the lower one first, smaller and not negative",
                ))
            }
            Target::Multiclass { classes } if !(2..=MOST_CLASSES).contains(&classes) => {
                let problem = format!("must be at least two and at most {MOST_CLASSES}");
                Err(Error::invalid("classes", problem))
            }
            Target::Classes
            | Target::Interval { .. }
            | Target::Counts { .. }
            | Target::Multiclass { .. } => Ok(()),
        }
    }
}

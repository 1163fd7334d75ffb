//! Public facts about the records and the map onto the integer lattice that they imply
//! ([`crate::theory_of_privacy::records`], [`crate::theory_of_privacy::frank_wolfe`]).

mod bounds;
mod maps;
mod target;
#[cfg(test)]
mod tests;
mod units;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, positive};
use crate::numeric::allocate::room;
use crate::numeric::kernel::{LatticeMaps, MAX_FEATURE, quantise};

pub use bounds::Bounds;
pub use maps::Geometry;
use maps::Maps;
pub use target::{MOST_CLASSES, Target};

/// Everything public that decides how records become bounded integers.
///
/// A feature value becomes an integer in [-16383, 16383]; 16383 units are 1 in scaled units. The intercept,
/// where there is one, is a further feature that has one public value in every record: 16383, unless
/// [`Schema::with_intercept_value`] says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SchemaData", into = "SchemaData")]
pub struct Schema {
    n_features: usize,
    bounds: Arc<Bounds>,
    geometry: Geometry,
    target: Target,
    /// Lattice value of the intercept's column; 0 without an intercept.
    intercept: i16,
    row_norm: Option<f64>,
    /// Bound on the Euclidean norm of what a record adds to a gradient, in place of a bound on its features.
    gradient_norm: Option<f64>,
    /// The largest weight of a record; None: records have no weights.
    max_weight: Option<f64>,
    maps: Arc<Maps>,
}

/// A schema as data: what the maps follow from.
#[derive(Serialize, Deserialize)]
struct SchemaData {
    n_features: usize,
    bounds: Bounds,
    geometry: Geometry,
    target: Target,
    intercept: i16,
    row_norm: Option<f64>,
    gradient_norm: Option<f64>,
    max_weight: Option<f64>,
}

impl From<Schema> for SchemaData {
    fn from(schema: Schema) -> Self {
        Self {
            n_features: schema.n_features,
            bounds: (*schema.bounds).clone(),
            geometry: schema.geometry,
            target: schema.target,
            intercept: schema.intercept,
            row_norm: schema.row_norm,
            gradient_norm: schema.gradient_norm,
            max_weight: schema.max_weight,
        }
    }
}

impl TryFrom<SchemaData> for Schema {
    type Error = Error;

    fn try_from(data: SchemaData) -> Result<Self> {
        let intercept = data.intercept != 0;
        let (n, row_norm) = (data.n_features, data.row_norm);
        let mut schema = Schema::new(
            n,
            data.bounds,
            data.geometry,
            data.target,
            intercept,
            row_norm,
        )?;
        // As the functions that leave such facts check them: sensitivities rest on each.
        if !(0..=MAX_FEATURE).contains(&data.intercept) {
            return Err(Error::invalid(
                "fit_intercept",
                "must be a value of a feature that is not negative",
            ));
        }
        schema.intercept = data.intercept;
        if row_norm.is_some() && data.gradient_norm.is_some() {
            return Err(Error::invalid(
                "row_norm",
                "must bound rows or what they add to gradients, not both",
            ));
        }
        if let Some(norm) = data.gradient_norm {
            schema = schema.with_gradient_norm(norm)?;
        }
        match data.max_weight {
            Some(largest) => schema.with_max_weight(largest),
            None => Ok(schema),
        }
    }
}

/// Bytes per feature that a plan and a fit take, at least, however the records are stored: bounds and maps (48), a
/// scaled and a user's coefficient, an integer iterate and a gradient (32), two candidates of a selection and their
/// scores (48). Sizes that fail in the middle of a fit are refused before it by this.
const BYTES_PER_FEATURE: usize = 128;

/// Of these, for each further score: coefficients, iterates, gradients, candidates.
const BYTES_PER_COEFFICIENT: usize = 80;

/// Largest coefficient in the user's units for one of 1 in scaled units: what is fitted in these is of the size of a
/// radius, 10 as a rule, and stays finite.
const LARGEST_UNIT: f64 = 1e304;

impl Schema {
    /// Checks the bounds and derives the map of every feature. `row_norm` is a public bound on the Euclidean
    /// norm of a scaled row without the intercept; longer rows are scaled down to it. A feature with lo == hi
    /// is constant: its scaled value and its coefficient are 0.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `bounds`, `y_bounds`, `row_norm` or `X`; [`Error::TooLarge`].
    pub fn new(
        n_features: usize,
        bounds: Bounds,
        geometry: Geometry,
        target: Target,
        intercept: bool,
        row_norm: Option<f64>,
    ) -> Result<Self> {
        if n_features == 0 || u32::try_from(n_features).is_err() {
            return Err(Error::invalid(
                "X",
                "must have at least one feature and fewer than 2^32",
            ));
        }
        bounds.check(n_features)?;
        target.check()?;
        positive("row_norm", row_norm.unwrap_or(1.0))?;
        let others = (target.outputs() - 1) * BYTES_PER_COEFFICIENT;
        room(n_features, BYTES_PER_FEATURE + others)?;
        let mut maps = Maps::with_capacity(n_features)?;
        let alike = bounds.lower.len() == 1 && bounds.upper.len() == 1;
        for j in 0..if alike { 1 } else { n_features } {
            maps.push(bounds.of(j), geometry)?;
        }
        if alike {
            maps.repeat(n_features);
        }
        let schema = Self {
            n_features,
            bounds: Arc::new(bounds),
            geometry,
            target,
            intercept: if intercept { MAX_FEATURE } else { 0 },
            row_norm,
            gradient_norm: None,
            max_weight: None,
            maps: Arc::new(maps),
        };
        schema.check_units()?;
        Ok(schema)
    }

    /// Refuses bounds at which a coefficient of usual size in scaled units would be infinite in the user's.
    fn check_units(&self) -> Result<()> {
        let of_targets = match self.target {
            Target::Interval { low, high } => self.target_scale(low, high).0.max(1.0),
            Target::Counts { .. } | Target::Classes | Target::Multiclass { .. } => 1.0,
        };
        let (scales, offsets) = (self.maps.scale.iter(), self.maps.offset.iter());
        let unit = f64::from(MAX_FEATURE);
        let small = |unit: f64| unit.abs() <= LARGEST_UNIT;
        if small(of_targets) && (scales.chain(offsets)).all(|map| small(map / unit * of_targets)) {
            return Ok(());
        }
        let problem = "must not be so close together, or y_bounds so far apart, that coefficients leave the range of floats";
        Err(Error::invalid("bounds", problem))
    }

    /// Number of features, without the intercept.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Number of features whose lower bound is below the upper one; the others are 0 in every record, public, and so
    /// count in no norm.
    pub fn n_varying(&self) -> usize {
        self.maps.n_varying
    }

    /// The features that vary, ascending.
    pub fn varying(&self) -> Vec<u32> {
        let varies = |&j: &u32| self.maps.scale[j as usize] != 0.0;
        (0..self.n_features as u32).filter(varies).collect()
    }

    /// Number of columns of the bounded records: the features and the intercept.
    pub fn n_columns(&self) -> usize {
        self.n_features + usize::from(self.has_intercept())
    }

    /// Whether a constant column follows the features ([`Schema::intercept_value`]).
    pub fn has_intercept(&self) -> bool {
        self.intercept != 0
    }

    /// The same facts with another value in the column of the intercept, in scaled units: where rows are short a column
    /// of ones would be most of their Euclidean norm, which noise is proportional to.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `fit_intercept` for a schema without an intercept, or a value outside
    /// (0, 1] or too small for the lattice.
    pub fn with_intercept_value(self, value: f64) -> Result<Self> {
        let lattice = (value * f64::from(MAX_FEATURE)).round();
        if !(self.has_intercept() && lattice >= 1.0 && lattice <= f64::from(MAX_FEATURE)) {
            return Err(Error::invalid(
                "fit_intercept",
                "must be true for an intercept column, of a value above 0 and at most 1",
            ));
        }
        Ok(Self {
            intercept: lattice as i16,
            ..self
        })
    }

    /// The same facts with long rows left as they are, for mechanisms that release noisy gradients: there a record of
    /// norm |x| counts min(1, norm/|x|) times instead, the intercept's column included in both. Shortening x would bias
    /// a regression, whose targets stay as they are.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `row_norm` where it is not positive and finite.
    pub fn with_gradient_norm(self, norm: f64) -> Result<Self> {
        Ok(Self {
            row_norm: None,
            gradient_norm: Some(positive("row_norm", norm)?),
            ..self
        })
    }

    /// The same facts about records with weights of at most `largest`, which count w/largest times; larger ones are
    /// clipped.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `max_weight` where it is not positive and finite.
    pub fn with_max_weight(self, largest: f64) -> Result<Self> {
        Ok(Self {
            max_weight: Some(positive("max_weight", largest)?),
            ..self
        })
    }

    /// The largest weight of a record; None: records have no weights.
    pub fn max_weight(&self) -> Option<f64> {
        self.max_weight
    }

    /// The same facts with the weights of other ones: what is made of records keeps their weights.
    pub(crate) fn weighted_as(self, other: &Self) -> Self {
        Self {
            max_weight: other.max_weight,
            ..self
        }
    }

    /// The norm to which contributions of long rows to a gradient are scaled down, where one was given.
    pub fn gradient_norm(&self) -> Option<f64> {
        self.gradient_norm
    }

    /// The value in the column of the intercept in scaled units; 0 without an intercept.
    pub fn intercept_value(&self) -> f64 {
        f64::from(self.intercept) / f64::from(MAX_FEATURE)
    }

    /// The same in lattice units.
    pub(crate) fn lattice_intercept(&self) -> i16 {
        self.intercept
    }

    /// The public bounds as given.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// How features are scaled.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// What y holds.
    pub fn target(&self) -> Target {
        self.target
    }

    /// Whether both have the same classes, both reals, or both counts.
    pub(crate) fn same_kind_of_target(&self, other: &Self) -> bool {
        match (self.target, other.target) {
            (Target::Interval { .. }, Target::Interval { .. })
            | (Target::Counts { .. }, Target::Counts { .. }) => true,
            (one, other) => one == other,
        }
    }

    /// The public bound on the Euclidean norm of a scaled row without the intercept, where one was given.
    pub fn row_norm(&self) -> Option<f64> {
        self.row_norm
    }

    /// The same bound in lattice units, rounded down: what rows are shortened to. No more than any row can have.
    pub(crate) fn lattice_row_norm(&self) -> Option<u64> {
        self.row_norm.map(|norm| self.lattice_norm(norm))
    }

    /// The same of the norm of contributions to gradients.
    pub(crate) fn lattice_gradient_norm(&self) -> Option<u64> {
        self.gradient_norm.map(|norm| self.lattice_norm(norm))
    }

    /// min(floor(16383 norm), ceil(16383 sqrt(k))): k features vary, each at most 16383 in size, and the others are 0.
    fn lattice_norm(&self, norm: f64) -> u64 {
        let unit = MAX_FEATURE as u64;
        // Below 2^28 2^32; a float beyond the integers becomes the largest of them.
        let largest = unit * unit * self.n_varying().max(1) as u64;
        let root = largest.isqrt();
        let root = root + u64::from(root * root < largest);
        ((norm * f64::from(MAX_FEATURE)).floor() as u64).min(root)
    }

    /// The facts of some of the features alone, without a row norm.
    pub(crate) fn restricted(&self, features: &[u32]) -> Self {
        Self {
            row_norm: None,
            gradient_norm: None,
            ..self.with_features(features)
        }
    }

    /// The facts of some of the features alone, with the same bound on the norm of a row: parts of rows are no longer
    /// than the rows.
    pub(crate) fn with_features(&self, features: &[u32]) -> Self {
        let side = |values: &[f64]| match values {
            [_] => values.to_vec(),
            _ => features.iter().map(|&j| values[j as usize]).collect(),
        };
        Self {
            n_features: features.len(),
            bounds: Arc::new(Bounds {
                lower: side(&self.bounds.lower),
                upper: side(&self.bounds.upper),
            }),
            maps: Arc::new(self.maps.restricted(features)),
            ..self.clone()
        }
    }

    /// The maps of all features.
    pub(crate) fn maps(&self) -> LatticeMaps<'_> {
        LatticeMaps {
            scale: &self.maps.scale,
            offset: &self.maps.offset,
            low: &self.maps.low,
            high: &self.maps.high,
        }
    }

    /// The integer of one value of feature `j`.
    pub(crate) fn lattice_value(&self, x: f64, j: usize) -> i16 {
        quantise(
            x,
            self.maps.scale[j],
            self.maps.offset[j],
            self.maps.low[j],
            self.maps.high[j],
        )
    }
}

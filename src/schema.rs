//! Public facts about the records and the map onto the integer lattice that they imply
//! ([`crate::theory_of_privacy::records`], [`crate::theory_of_privacy::frank_wolfe`]).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, positive};
use crate::numeric::allocate::{reserved, room};
use crate::numeric::kernel::{LatticeMaps, MAX_FEATURE, quantise};

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
    fn log_unit(self) -> f64 {
        match self {
            Self::Counts { unit, .. } => unit.ln(),
            Self::Classes | Self::Multiclass { .. } | Self::Interval { .. } => 0.0,
        }
    }
}

/// Most classes of one model.
pub const MOST_CLASSES: u32 = 1 << 10;

impl Target {
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

    fn check(&self) -> Result<()> {
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

    fn check(&self, n_features: usize) -> Result<()> {
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
        let schema = Schema::new(
            n,
            data.bounds,
            data.geometry,
            data.target,
            intercept,
            row_norm,
        )?;
        Ok(Self {
            intercept: data.intercept,
            gradient_norm: data.gradient_norm,
            max_weight: data.max_weight,
            ..schema
        })
    }
}

/// The map of every feature onto the lattice; shared by all copies of a schema.
#[derive(Debug, PartialEq)]
struct Maps {
    scale: Vec<f64>,
    offset: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    n_varying: usize,
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

impl Maps {
    fn with_capacity(n_features: usize) -> Result<Self> {
        Ok(Self {
            scale: reserved(n_features)?,
            offset: reserved(n_features)?,
            low: reserved(n_features)?,
            high: reserved(n_features)?,
            n_varying: 0,
        })
    }

    /// Appends the map of a feature with the bounds (lo, hi).
    fn push(&mut self, (lo, hi): (f64, f64), geometry: Geometry) -> Result<()> {
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
    fn repeat(&mut self, n_features: usize) {
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
    fn restricted(&self, features: &[u32]) -> Self {
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

    /// Scaled target in [-1, 1] (classes are what they are), of counts in [0, 1].
    pub(crate) fn scale_target(&self, y: f64) -> f64 {
        match self.target {
            Target::Classes | Target::Multiclass { .. } => y,
            Target::Interval { low, high } => {
                let (half, middle) = self.target_scale(low, high);
                ((y.clamp(low, high) - middle) / half).clamp(-1.0, 1.0)
            }
            Target::Counts { low, high, .. } => (y.clamp(low, high) / high).clamp(0.0, 1.0),
        }
    }

    /// Half width and middle of the targets; without an intercept zero stays zero.
    fn target_scale(&self, low: f64, high: f64) -> (f64, f64) {
        if self.has_intercept() {
            (high / 2.0 - low / 2.0, high / 2.0 + low / 2.0)
        } else {
            (low.abs().max(high.abs()), 0.0)
        }
    }

    /// Coefficients and intercept in the user's units from those in scaled units (features first, then the
    /// intercept). What lies beyond the range of floats, as of large radii and bounds that are close together, is its
    /// end: noise that was paid for is handed over whatever it is.
    pub fn to_user_units(&self, scaled: &[f64]) -> (Vec<f64>, f64) {
        let unit = f64::from(MAX_FEATURE);
        let mut intercept = if self.has_intercept() {
            scaled[self.n_features] * self.intercept_value()
        } else {
            0.0
        };
        let mut coefficients = Vec::with_capacity(self.n_features);
        for (j, &theta) in scaled[..self.n_features].iter().enumerate() {
            coefficients.push(theta * (self.maps.scale[j] / unit));
            intercept += theta * (self.maps.offset[j] / unit);
        }
        if let Target::Interval { low, high } = self.target {
            let (half, middle) = self.target_scale(low, high);
            coefficients
                .iter_mut()
                .for_each(|coefficient| *coefficient *= half);
            intercept = intercept * half + middle;
        }
        coefficients.iter_mut().for_each(|own| *own = finite(*own));
        (coefficients, finite(intercept + self.target.log_unit()))
    }

    /// Lowest and highest value of feature `j` in any record, in scaled units.
    pub(crate) fn scaled_bounds(&self, j: usize) -> (f64, f64) {
        let unit = f64::from(MAX_FEATURE);
        (self.maps.low[j] / unit, self.maps.high[j] / unit)
    }

    /// Ranges of values of the features in the user's units from those in scaled units, each with its lower end first.
    /// Ends at or beyond the public bounds become the bounds themselves, and a constant feature keeps its bounds.
    pub fn ranges_to_user_units(&self, scaled: &[(f64, f64)]) -> Bounds {
        let unit = f64::from(MAX_FEATURE);
        // Rounding keeps the order: every step is monotone.
        let end = |j: usize, value: f64| {
            let ((low, high), (lower, upper)) = (self.scaled_bounds(j), self.bounds.of(j));
            match value {
                value if value <= low => lower,
                value if value >= high => upper,
                value => {
                    ((value * unit - self.maps.offset[j]) / self.maps.scale[j]).clamp(lower, upper)
                }
            }
        };
        let range = |(j, &(low, high)): (usize, &(f64, f64))| match self.maps.scale[j] {
            0.0 => self.bounds.of(j),
            _ => (end(j, low), end(j, high)),
        };
        let (lower, upper) = scaled.iter().enumerate().map(range).unzip();
        Bounds { lower, upper }
    }

    /// The inverse of [`Schema::to_user_units`] on features that are not constant; there is an intercept.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another number of coefficients than features, or a schema without an intercept.
    pub(crate) fn to_scaled_units(&self, coefficients: &[f64], intercept: f64) -> Result<Vec<f64>> {
        if coefficients.len() != self.n_features || !self.has_intercept() {
            return Err(Error::invalid(
                "coefficients",
                "must be one per feature, with an intercept",
            ));
        }
        let (half, middle) = match self.target {
            Target::Classes | Target::Multiclass { .. } => (1.0, 0.0),
            Target::Interval { low, high } => self.target_scale(low, high),
            Target::Counts { unit, .. } => (1.0, unit.ln()),
        };
        let unit = f64::from(MAX_FEATURE);
        let mut last = (intercept - middle) / half;
        let mut theta = Vec::with_capacity(self.n_columns());
        for (j, &coefficient) in coefficients.iter().enumerate() {
            let scaled = match self.maps.scale[j] {
                0.0 => 0.0,
                scale => coefficient / half * (unit / scale),
            };
            last -= scaled * (self.maps.offset[j] / unit);
            theta.push(scaled);
        }
        theta.push(last / self.intercept_value());
        Ok(theta)
    }
}

/// The number, or the end of the range of floats that it lies beyond; 0 for the difference of two beyond it.
fn finite(value: f64) -> f64 {
    match value.is_nan() {
        true => 0.0,
        false => value.clamp(-f64::MAX, f64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes add up to sums where bounds begin or end at zero.
    #[test]
    fn signs_are_those_of_the_bounds() {
        let bounds = Bounds {
            lower: vec![0.0, -3.0, -1.0, 0.0, 2.0],
            upper: vec![1.0, 0.0, 1.0, 0.0, 5.0],
        };
        let signs = (0..5).map(|j| bounds.sign(j));
        assert!(signs.eq([1.0, -1.0, 0.0, 0.0, 0.0]));
    }

    /// What would abort, or be ended by the system, is refused: 512 GB of maps and models.
    #[test]
    fn more_features_than_memory_holds_are_refused() {
        let bounds = Bounds {
            lower: vec![0.0],
            upper: vec![1.0],
        };
        let p = 4_000_000_000;
        let refused = Schema::new(p, bounds, Geometry::Centred, Target::Classes, true, None);
        let bytes = Some(512_000_000_000);
        assert_eq!(refused.unwrap_err(), Error::TooLarge { bytes });
    }

    /// Values of any size become what the bounds allow, in either geometry; so do targets.
    #[test]
    fn bounds_that_make_coefficients_infinite_are_refused() {
        let of = |low: f64, high: f64, width: f64, geometry| {
            let bounds = Bounds {
                lower: vec![low],
                upper: vec![high],
            };
            let target = Target::Interval {
                low: -width,
                high: width,
            };
            Schema::new(1, bounds, geometry, target, true, None)
        };
        for geometry in [Geometry::Centred, Geometry::Uncentred] {
            for (low, high, width) in [
                (0.0, 1e-124, 1e265),
                (-1e-306, 1e-306, 1.0),
                (0.0, 1.0, 8e307),
            ] {
                let error = of(low, high, width, geometry).unwrap_err();
                assert!(error.to_string().starts_with("bounds must"), "{error}");
            }
            for (low, high, width) in [(0.0, 1e-90, 1e200), (-1e250, 1e250, 1e-250)] {
                let schema = of(low, high, width, geometry).unwrap();
                let (coefficients, intercept) = schema.to_user_units(&[10.0, 10.0]);
                assert!(coefficients[0].is_finite() && intercept.is_finite());
            }
        }
    }

    #[test]
    fn features_and_targets_are_clipped() {
        let bounds = Bounds {
            lower: vec![-4.0, 0.0, 1.0],
            upper: vec![2.0, 8.0, 3.0],
        };
        let target = Target::Interval {
            low: -1.0,
            high: 5.0,
        };
        let ends = [
            (Geometry::Centred, [(-1.0, 1.0); 3]),
            (
                Geometry::Uncentred,
                [(-1.0, 0.5), (0.0, 1.0), (1.0 / 3.0, 1.0)],
            ),
        ];
        for (geometry, ends) in ends {
            for intercept in [true, false] {
                let schema = Schema::new(3, bounds.clone(), geometry, target, intercept, None);
                let schema = schema.unwrap();
                for (j, (low, high)) in ends.into_iter().enumerate() {
                    let unit = f64::from(MAX_FEATURE);
                    let value = |x: f64| f64::from(schema.lattice_value(x, j));
                    for far in [1.0, 1e4, 1e300, f64::INFINITY] {
                        assert!(
                            (value(9.0 * far) - high * unit).abs() <= 0.5,
                            "{geometry:?} {j}"
                        );
                        assert!(
                            (value(-9.0 * far) - low * unit).abs() <= 0.5,
                            "{geometry:?} {j}"
                        );
                    }
                }
                let least = if intercept { -1.0 } else { -0.2 };
                for far in [5.0, 6.0, 1e300, f64::INFINITY] {
                    assert_eq!(schema.scale_target(far), 1.0);
                    assert_eq!(schema.scale_target(-far), least);
                }
                let counts = Target::counts(0.5, 4.0, intercept);
                let schema = Schema::new(3, bounds.clone(), geometry, counts, intercept, None);
                let schema = schema.unwrap();
                for far in [5.0, 1e300, f64::INFINITY] {
                    assert_eq!(schema.scale_target(far), 1.0);
                    assert_eq!(schema.scale_target(-far), 0.125);
                }
            }
        }
    }

    /// e^score in the user's units is the rate that units of the schema say; coefficients go back and forth.
    #[test]
    fn rates_are_in_the_unit_of_counts() {
        let bounds = Bounds {
            lower: vec![-1.0, 0.0],
            upper: vec![1.0, 4.0],
        };
        for intercept in [true, false] {
            let target = Target::counts(0.0, 40.0, intercept);
            let units = target.units().unwrap();
            assert_eq!(units, if intercept { 8.0 } else { 40.0 });
            let geometry = if intercept {
                Geometry::Centred
            } else {
                Geometry::Uncentred
            };
            let schema = Schema::new(2, bounds.clone(), geometry, target, intercept, None).unwrap();
            let theta = [0.3, -0.2, 0.7];
            let (coefficients, constant) = schema.to_user_units(&theta[..schema.n_columns()]);
            let x = [0.5, 3.0];
            let unit = f64::from(MAX_FEATURE);
            let scaled = |j: usize| f64::from(schema.lattice_value(x[j], j)) / unit;
            let last = if intercept { 0.7 } else { 0.0 };
            let score = 0.3 * scaled(0) - 0.2 * scaled(1) + last;
            // Counts are 40 times the targets, rates e^score/units of them.
            let rate = 40.0 * score.exp() / units;
            let ours = (coefficients[0] * x[0] + coefficients[1] * x[1] + constant).exp();
            assert!((ours / rate - 1.0).abs() < 1e-3, "{ours} {rate}");
            if intercept {
                let back = schema.to_scaled_units(&coefficients, constant).unwrap();
                let apart = back.iter().zip(&theta).map(|(a, b)| (a - b).abs());
                assert!(apart.fold(0.0, f64::max) < 1e-12);
            }
        }
        let refused = |low: f64, high: f64| {
            let target = Target::counts(low, high, true);
            Schema::new(2, bounds.clone(), Geometry::Centred, target, true, None).is_err()
        };
        assert!(refused(-1.0, 2.0) && refused(2.0, 2.0) && refused(0.0, f64::INFINITY));
    }

    #[test]
    fn constant_features_are_known() {
        let bounds = Bounds {
            lower: vec![0.0, 2.0, -1.0],
            upper: vec![1.0, 2.0, 5.0],
        };
        let target = Target::Classes;
        let schema = Schema::new(3, bounds, Geometry::Uncentred, target, true, Some(9.0)).unwrap();
        assert_eq!((schema.n_varying(), schema.varying()), (2, vec![0, 2]));
        let some = schema.with_features(&[1, 2]);
        assert_eq!(
            (some.n_features(), some.n_varying(), some.row_norm()),
            (2, 1, Some(9.0))
        );
        assert_eq!(some.lattice_value(5.0, 1), MAX_FEATURE);
        assert_eq!(schema.restricted(&[1, 2]).row_norm(), None);
    }
}

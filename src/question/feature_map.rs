//! A public affine map of every feature, and of the target.

use crate::error::{Error, Result};
use crate::numeric::kernel::{MAX_FEATURE, clip, for_wide_vectors, quantise};
use crate::numeric::strips::Line;
use crate::schema::Schema;

/// x_j -> clamp(factor_j x_j + shift_j, -limit, limit)/norm, in scaled units; and y -> clamp((y - middle)/half, -1, 1)
/// where targets are mapped. Counts, which are divided by `half` alone, stay in [0, 1].
///
/// The map is public: fixed beforehand, or released. Then the image of a record depends on the record alone, in every
/// storage: neighbouring records stay neighbouring.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "MapData")]
pub struct FeatureMap {
    factor: Vec<f64>,
    shift: Vec<f64>,
    limit: f64,
    /// A smaller limit that may be better.
    near: Option<f64>,
    norm: f64,
    /// (middle, half).
    target: Option<(f64, f64)>,
    /// Distance from the middle that few targets exceed.
    tail: Option<f64>,
    /// Of counts, the rate of score 0, in units of their images.
    rate: f64,
}

/// A map as data, field for field: read data are what was written, or no map.
#[derive(serde::Deserialize)]
struct MapData {
    factor: Vec<f64>,
    shift: Vec<f64>,
    limit: f64,
    near: Option<f64>,
    norm: f64,
    target: Option<(f64, f64)>,
    tail: Option<f64>,
    rate: f64,
}

impl TryFrom<MapData> for FeatureMap {
    type Error = Error;

    fn try_from(data: MapData) -> Result<Self> {
        let map = Self {
            factor: data.factor,
            shift: data.shift,
            limit: data.limit,
            near: data.near,
            norm: data.norm,
            target: data.target,
            tail: data.tail,
            rate: data.rate,
        };
        map.check_constants()?;
        Ok(map)
    }
}

/// What one unit of what is fitted to images is in units of the records themselves ([`FeatureMap::undo`]), with
/// features mapped to [-1, 1] by their bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Units {
    /// Of each feature's coefficient, not negative.
    pub coefficients: Vec<f64>,
    /// Of targets; of rates, where targets are counts.
    pub target: f64,
    /// What images are divided by: without clipping they lie between its inverse and minus that.
    pub norm: f64,
    /// Of each feature that its bounds declare to be an indicator, or scaled already, the largest size of an image; 0
    /// of others.
    pub indicators: Vec<f64>,
    /// A size of images that features may be better clipped at, where the map has one and images are larger.
    pub near: Option<f64>,
}

impl FeatureMap {
    /// The map with these constants and norm 1; one factor and one shift a feature.
    ///
    /// # Panics
    /// If there are other numbers of factors and shifts, or the limit is negative or NaN.
    pub fn new(factor: Vec<f64>, shift: Vec<f64>, limit: f64) -> Self {
        assert_eq!(factor.len(), shift.len());
        assert!(limit >= 0.0);
        Self {
            factor,
            shift,
            limit,
            near: None,
            norm: 1.0,
            target: None,
            tail: None,
            rate: 1.0,
        }
    }

    /// Number of features that it maps.
    pub fn n_features(&self) -> usize {
        self.factor.len()
    }

    /// Refuses records of `schema` that it is not a map of.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `map` for other than as many features, or constants that no map has.
    pub(crate) fn check(&self, schema: &Schema) -> Result<()> {
        self.check_constants()?;
        if self.n_features() != schema.n_features() {
            let problem = "must have the features of the records";
            return Err(Error::invalid("map", problem));
        }
        Ok(())
    }

    /// Refuses constants that no function here leaves: images would be longer than is stated of them.
    fn check_constants(&self) -> Result<()> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let sound = self.factor.len() == self.shift.len()
            && self.limit >= 0.0
            && (self.near).is_none_or(|near| near > 0.0 && near < self.limit)
            && positive(self.norm)
            && (self.target).is_none_or(|(middle, half)| middle.is_finite() && positive(half))
            && positive(self.rate);
        if sound {
            return Ok(());
        }
        let problem = "must have a shift for each factor, a limit that is not negative, and a positive finite norm";
        Err(Error::invalid("map", problem))
    }

    /// Whether zero stays zero in every feature.
    pub(crate) fn is_linear(&self) -> bool {
        self.shift.iter().all(|&shift| shift == 0.0)
    }

    /// x_j -> factor_j x_j.
    pub fn linear(factor: Vec<f64>) -> Self {
        let shift = vec![0.0; factor.len()];
        Self::new(factor, shift, f64::INFINITY)
    }

    /// Whether feature `j` has these constants.
    pub(crate) fn has(&self, j: usize, constants: (f64, f64)) -> bool {
        (self.factor[j], self.shift[j]) == constants
    }

    /// The same map, its images of each feature moved by so much towards zero.
    ///
    /// # Panics
    /// If there are other numbers of features.
    pub fn around(mut self, means: &[f64]) -> Self {
        assert_eq!(self.n_features(), means.len());
        for (shift, mean) in self.shift.iter_mut().zip(means) {
            *shift -= mean;
        }
        self
    }

    /// The same map, with a smaller limit that may be better ([`Units::near`]): it clips as before.
    ///
    /// # Panics
    /// If that is not positive and below the limit.
    pub fn with_near(self, near: f64) -> Self {
        assert!(near > 0.0 && near < self.limit);
        Self {
            near: Some(near),
            ..self
        }
    }

    /// The map that clips at the smaller limit, if there is one.
    pub(crate) fn nearer(self) -> Self {
        Self {
            limit: self.near.unwrap_or(self.limit),
            near: None,
            ..self
        }
    }

    /// The same map with its image divided by `norm`.
    ///
    /// # Panics
    /// If that is not positive and finite.
    pub fn divided_by(self, norm: f64) -> Self {
        assert!(norm.is_finite() && norm > 0.0);
        Self { norm, ..self }
    }

    /// The same map, which moves the targets `middle` to 0 and `middle` + `half` to 1, and clips beyond.
    ///
    /// # Panics
    /// If either is not finite, or `half` not positive.
    pub fn with_target(self, middle: f64, half: f64) -> Self {
        assert!(middle.is_finite() && half.is_finite() && half > 0.0);
        Self {
            target: Some((middle, half)),
            ..self
        }
    }

    /// The same map, with a distance from the middle of the targets that few of them exceed, if one was released: it
    /// clips nothing.
    pub fn with_tail(self, tail: Option<f64>) -> Self {
        Self { tail, ..self }
    }

    /// The same map of counts, with scores s of the images that stand for rates of `rate` e^(s/`rate`) units of theirs:
    /// the slope of a count's loss has the curvature 1 at score 0, whatever the rate is there.
    ///
    /// # Panics
    /// If the rate is not positive and finite.
    pub fn with_rate(self, rate: f64) -> Self {
        assert!(rate.is_finite() && rate > 0.0);
        Self { rate, ..self }
    }

    /// Of counts, the rate of score 0, in units of their images.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// About how far images of targets are from 0, if targets are from it no further than `end`: no further by their
    /// ends, and few by the tail.
    pub(crate) fn usual_target(&self, end: f64) -> f64 {
        let ends = [-end, end].map(|y| self.target_value(y).abs());
        let usual = ends[0].max(ends[1]);
        match (self.target, self.tail) {
            (Some((_, half)), Some(tail)) => usual.min(tail / half),
            _ => usual,
        }
    }

    /// Whether targets are mapped.
    pub(crate) fn moves_targets(&self) -> bool {
        self.target.is_some()
    }

    /// The image of a scaled target.
    pub(crate) fn target_value(&self, y: f64) -> f64 {
        match self.target {
            Some((middle, half)) => ((y - middle) / half).clamp(-1.0, 1.0),
            None => y,
        }
    }

    /// A bound on the norm of the image of any record of `schema`, positive.
    pub(crate) fn largest_norm(&self, schema: &Schema) -> f64 {
        let by_entries = self.largest_square().sqrt() * self.norm;
        let largest = match schema.row_norm() {
            Some(norm) if self.is_linear() => {
                let factor = self.factor.iter().fold(0.0f64, |m, f| m.max(f.abs()));
                by_entries.min(norm * factor)
            }
            _ => by_entries,
        };
        // Any bounds those of zeros, which are divided by it: by a tiny one they would be NaN.
        let largest = if largest > 0.0 { largest } else { self.norm };
        largest / self.norm
    }

    /// The largest size of an image of feature `j` of records of schema `from`.
    pub(crate) fn largest_entry(&self, j: usize, from: &Schema) -> f64 {
        let (low, high) = from.scaled_bounds(j);
        let image = |x: f64| (self.factor[j] * x + self.shift[j]).abs().min(self.limit);
        image(low).max(image(high)) / self.norm
    }

    /// A bound on the sum of squares of the image of any record, but for rounding.
    pub(crate) fn largest_square(&self) -> f64 {
        let entry = |(factor, shift): (&f64, &f64)| (factor.abs() + shift.abs()).min(self.limit);
        let entries = self.factor.iter().zip(&self.shift).map(entry);
        entries.map(|entry| (entry / self.norm).powi(2)).sum()
    }

    /// The map of feature `j` alone.
    pub(crate) fn of(&self, j: usize) -> EntryMap {
        let unit = f64::from(MAX_FEATURE) / self.norm;
        EntryMap {
            factor: self.factor[j] / self.norm,
            shift: self.shift[j] * unit,
            limit: self.limit * unit,
        }
    }

    /// The maps of all features.
    pub(crate) fn of_each(&self) -> Vec<EntryMap> {
        (0..self.n_features()).map(|j| self.of(j)).collect()
    }

    /// For each feature the values within its bounds, in scaled units of the records' schema `from`, that the map does
    /// not clip: what lies outside has the image of the nearer end. There are some. None where the map clips nothing:
    /// it has no limit, and no image of a feature in its bounds is beyond what is stored.
    ///
    /// With features clipped to these ranges first, coefficients that are [undone](FeatureMap::undo) score a record as
    /// the ones for its image do.
    pub fn ranges(&self, from: &Schema) -> Option<Vec<(f64, f64)>> {
        // Images end at -1 and 1 too.
        let limit = self.limit.min(self.norm);
        let stored = |j| self.largest_entry(j, from) <= 1.0;
        if self.limit.is_infinite() && (0..self.n_features()).all(stored) {
            return None;
        }
        let range = |(j, (&factor, &shift)): (usize, (&f64, &f64))| {
            let (low, high) = from.scaled_bounds(j);
            if factor == 0.0 || low == high {
                return (low, high);
            }
            let (one, other) = ((-limit - shift) / factor, (limit - shift) / factor);
            let (least, most) = (one.min(other), one.max(other));
            debug_assert!(
                self.limit.is_infinite() || (least <= high && low <= most),
                "ranges are released within the bounds"
            );
            (low.clamp(least, most), high.clamp(least, most))
        };
        let constants = self.factor.iter().zip(&self.shift);
        Some(constants.enumerate().map(range).collect())
    }

    /// The units of its images, of schema `to`, of records of schema `from`.
    pub(crate) fn units(&self, from: &Schema, to: &Schema) -> Units {
        let half = self.target.map_or(1.0, |(_, half)| half);
        // Scores of counts are logarithms, which no unit of rates multiplies.
        let (target, of_scores) = match (from.target().units(), to.target().units()) {
            (Some(own), Some(image)) => (half * own / (image * self.rate), 1.0 / self.rate),
            _ => (half, half),
        };
        let own = |(j, factor): (usize, &f64)| {
            let (low, high) = from.scaled_bounds(j);
            match low < high {
                true => of_scores * factor.abs() / self.norm * ((high - low) / 2.0),
                // Its images are zeros, and its unit anything that a penalty may divide by.
                false => 1.0,
            }
        };
        let bounds = from.bounds();
        let indicator = |j: usize| match bounds.is_unit(j) {
            true => self.largest_entry(j, from),
            false => 0.0,
        };
        Units {
            coefficients: self.factor.iter().enumerate().map(own).collect(),
            target,
            norm: self.norm,
            indicators: (0..self.n_features()).map(indicator).collect(),
            near: (self.near.map(|near| near / self.norm)).filter(|&near| near < 1.0),
        }
    }

    /// Turns coefficients for the images, of schema `from`, into those for the records themselves, of schema `to`.
    ///
    /// Clipping aside ([`FeatureMap::ranges`]), sum theta_j (factor_j x_j + shift_j)/norm + theta_p c is linear in x;
    /// the constant part joins the intercept. Scores of counts are logarithms of rates, in units that either schema
    /// states: what targets are divided by joins the intercept too. Without an intercept shifts must be 0, and targets
    /// may not move.
    pub fn undo(&self, theta: &mut [f64], from: &Schema, to: &Schema) {
        let (middle, half) = match (self.target, from.target().units(), to.target().units()) {
            // e^z/units of a target, times half where targets were divided by it.
            (Some((_, half)), Some(image), Some(own)) => {
                ((half * own / image * self.rate).ln(), 1.0 / self.rate)
            }
            (target, ..) => target.unwrap_or((0.0, 1.0)),
        };
        theta.iter_mut().for_each(|theta| *theta *= half);
        let (features, intercept) = theta.split_at_mut(self.factor.len());
        let mut constant = middle;
        for (j, theta) in features.iter_mut().enumerate() {
            let shift = match to.scaled_bounds(j) {
                // No range can clip a constant feature: its coefficient in the user's units is 0.
                (0.0, 0.0) => self.shift[j].clamp(-self.limit, self.limit),
                _ => self.shift[j],
            };
            constant += *theta * shift / self.norm;
            *theta *= self.factor[j] / self.norm;
        }
        if let [intercept] = intercept {
            let constant = constant + *intercept * from.intercept_value();
            *intercept = constant / to.intercept_value();
        }
    }
}

/// The map of one feature in lattice units; free of branches and divisions, so that whole columns are mapped by wide
/// instructions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryMap {
    factor: f64,
    shift: f64,
    limit: f64,
}

impl EntryMap {
    /// Whether all images are 0.
    pub(crate) fn is_zero(self) -> bool {
        self.factor == 0.0 && self.shift == 0.0
    }

    /// The image of a value, not rounded.
    #[inline(always)]
    pub(crate) fn value(self, x: f64) -> f64 {
        clip(x * self.factor + self.shift, -self.limit, self.limit)
    }

    /// The nearest integer to the image in [-16383, 16383], ties to even.
    #[inline(always)]
    pub(crate) fn lattice_value(self, x: f64) -> i16 {
        // Whatever the constants are: kernels count on it.
        let limit = self.limit.min(f64::from(MAX_FEATURE)).max(0.0);
        quantise(x, self.factor, self.shift, -limit, limit)
    }

    /// The images of a line of a column.
    pub(crate) fn map_line(self, line: &Line, image: &mut Line) {
        for_wide_vectors(
            #[inline(always)]
            || {
                for (image, &x) in image.iter_mut().zip(line) {
                    *image = self.lattice_value(x.into());
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Bounds, Geometry, Target};
    use proptest::prelude::*;

    /// Features that do not vary have images of 0, divided by whatever norm is found typical of them, and units.
    #[test]
    fn images_of_features_that_do_not_vary_are_zeros() {
        let bounds = Bounds {
            lower: vec![2.0, -1.0],
            upper: vec![2.0, -1.0],
        };
        let schema =
            Schema::new(2, bounds, Geometry::Centred, Target::Classes, true, None).unwrap();
        let map = FeatureMap::linear(vec![0.0; 2]);
        let norm = map.largest_norm(&schema);
        for map in [map.clone(), map.divided_by(norm / 1e3)] {
            for (j, unit) in map.units(&schema, &schema).coefficients.iter().enumerate() {
                assert_eq!(map.of(j).lattice_value(0.0), 0);
                assert!(*unit > 0.0 && unit.is_finite());
            }
        }
    }

    /// A norm that is negative would turn the limit round, and images would be twice as long as any is stored.
    #[test]
    fn norms_of_images_are_positive() {
        let map = || FeatureMap::new(vec![1.0], vec![0.0], 2.0);
        assert_eq!(map().divided_by(0.5).of(0).lattice_value(9e4), MAX_FEATURE);
        for norm in [-1.0, 0.0, f64::NAN, f64::INFINITY] {
            assert!(
                std::panic::catch_unwind(|| map().divided_by(norm)).is_err(),
                "{norm}"
            );
        }
    }

    /// Images stay in what is stored of features, also of constants that no map should have.
    #[test]
    fn no_constants_lead_out_of_the_lattice() {
        let numbers = [-2.0, -0.5, 0.0, 0.5, 3.0, 1e300, f64::INFINITY, f64::NAN];
        for (limit, norm) in (numbers.iter()).flat_map(|&a| numbers.map(|b| (a, b))) {
            for (factor, x) in
                (numbers.iter()).flat_map(|&a| [-16383.0, 0.0, 16383.0].map(|x| (a, x)))
            {
                let map = FeatureMap {
                    limit,
                    norm,
                    ..FeatureMap::new(vec![factor], vec![0.1], 1.0)
                };
                let image = map.of(0).lattice_value(x);
                assert!(
                    image.unsigned_abs() <= MAX_FEATURE.unsigned_abs(),
                    "{map:?} {x} {image}"
                );
            }
        }
    }

    /// Maps that are read, or that were made otherwise, are those that functions here leave.
    #[test]
    fn constants_of_no_map_are_refused() {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let schema =
            Schema::new(1, bounds, Geometry::Centred, Target::Classes, true, None).unwrap();
        let map = FeatureMap::new(vec![2.0], vec![0.25], 1.5).with_near(0.75);
        let map = map.divided_by(1.25).with_target(0.125, 0.5).with_rate(3.0);
        assert!(map.check(&schema).is_ok());
        let text = serde_json::to_string(&map).unwrap();
        assert_eq!(serde_json::from_str::<FeatureMap>(&text).unwrap(), map);
        for (from, to) in [
            ("\"limit\":1.5", "\"limit\":-2.0"),
            ("\"norm\":1.25", "\"norm\":-1.0"),
            ("\"norm\":1.25", "\"norm\":0.0"),
            ("\"near\":0.75", "\"near\":2.0"),
            ("\"near\":0.75", "\"near\":-1.0"),
            ("[0.125,0.5]", "[0.125,-0.5]"),
            ("\"rate\":3.0", "\"rate\":0.0"),
            ("\"shift\":[0.25]", "\"shift\":[]"),
        ] {
            assert!(text.contains(from), "{text}");
            let read = serde_json::from_str::<FeatureMap>(&text.replace(from, to));
            assert!(read.is_err(), "{to}");
        }
        for norm in [-1.0, f64::NAN, f64::INFINITY] {
            let other = FeatureMap {
                norm,
                ..map.clone()
            };
            assert!(other.check(&schema).is_err());
        }
    }

    proptest! {
        /// Rates of counts that were divided by something are, undone, so many times the rates of their images.
        #[test]
        fn counts_move_and_come_back(
            half in 0.01..5.0f64,
            units in prop::array::uniform2(1.0..50.0f64),
            theta in prop::collection::vec(-2.0..2.0f64, 2),
            x in -1.0..1.0f64,
            shift in -0.5..0.5f64,
        ) {
            let bounds = Bounds { lower: vec![-1.0], upper: vec![1.0] };
            let schema = |units: f64| {
                let target = Target::Counts { low: 0.0, high: 1.0, unit: 1.0 / units };
                Schema::new(1, bounds.clone(), Geometry::Uncentred, target, true, None).unwrap()
            };
            let (to, from) = (schema(units[0]), schema(units[1]));
            let map = FeatureMap::new(vec![0.5], vec![shift], f64::INFINITY).with_target(0.0, half);
            prop_assert!((0.0..=1.0).contains(&map.target_value(1.0)));
            let rate = (theta[0] * (0.5 * x + shift) + theta[1]).exp() / units[1];
            let mut undone = theta.clone();
            map.undo(&mut undone, &from, &to);
            let own = (undone[0] * x + undone[1]).exp() / units[0];
            prop_assert!((own / (half * rate) - 1.0).abs() < 1e-10);
        }

        /// A unit of a coefficient is what undoing moves by, times half the width of what features lie in.
        #[test]
        fn units_are_those_of_what_is_undone(
            factor in prop::collection::vec(-3.0..3.0f64, 3),
            half in 0.01..5.0f64,
            norm in 0.1..4.0f64,
        ) {
            let bounds = Bounds { lower: vec![-1.0, 0.0, -4.0], upper: vec![1.0, 5.0, 1.0] };
            let widths = [1.0, 0.5, 0.625];
            let target = Target::Interval { low: -1.0, high: 1.0 };
            let schema = Schema::new(3, bounds, Geometry::Uncentred, target, true, None).unwrap();
            let map = FeatureMap::new(factor, vec![0.2; 3], 2.0).divided_by(norm).with_target(0.3, half);
            let units = map.units(&schema, &schema);
            prop_assert_eq!(units.target, half);
            for j in 0..3 {
                let mut theta = vec![0.0; 4];
                theta[j] = 1.0;
                map.undo(&mut theta, &schema, &schema);
                let found = units.coefficients[j];
                prop_assert!((theta[j].abs() * widths[j] - found).abs() <= 1e-3 * found);
            }
        }

        /// Images of targets are within [-1, 1], and coefficients that are undone predict what those for the images do.
        #[test]
        fn targets_move_and_come_back(
            middle in -1.0..1.0f64,
            half in 0.01..5.0f64,
            y in -1.0..=1.0f64,
            theta in prop::collection::vec(-2.0..2.0f64, 2),
            x in -1.0..1.0f64,
        ) {
            let bounds = Bounds { lower: vec![-1.0], upper: vec![1.0] };
            let target = Target::Interval { low: -1.0, high: 1.0 };
            let schema = Schema::new(1, bounds, Geometry::Uncentred, target, true, None).unwrap();
            let map = FeatureMap::linear(vec![0.5]).with_target(middle, half);
            let image = map.target_value(y);
            prop_assert!((-1.0..=1.0).contains(&image));
            prop_assert!(image.abs() == 1.0 || (middle + half * image - y).abs() < 1e-12);
            let mut undone = theta.clone();
            map.undo(&mut undone, &schema, &schema);
            let predicted = middle + half * (theta[0] * 0.5 * x + theta[1]);
            prop_assert!((undone[0] * x + undone[1] - predicted).abs() < 1e-12);
        }
    }
}

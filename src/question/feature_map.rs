//! A public affine map of every feature.

use crate::numeric::kernel::MAX_FEATURE;
use crate::schema::Schema;

/// x_j -> clamp(factor_j x_j + shift_j, -limit, limit)/norm, in scaled units.
///
/// The map is public: fixed beforehand, or released. Then the image of a record depends on the record alone, in every
/// storage: neighbouring records stay neighbouring.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureMap {
    factor: Vec<f64>,
    shift: Vec<f64>,
    limit: f64,
    norm: f64,
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
            norm: 1.0,
        }
    }

    /// Number of features that it maps.
    pub fn n_features(&self) -> usize {
        self.factor.len()
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

    /// The same map with its image divided by `norm`.
    pub fn divided_by(self, norm: f64) -> Self {
        Self { norm, ..self }
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
        largest.max(f64::MIN_POSITIVE) / self.norm
    }

    /// A bound on the sum of squares of the image of any record, but for rounding.
    pub(crate) fn largest_square(&self) -> f64 {
        let entry = |(factor, shift): (&f64, &f64)| (factor.abs() + shift.abs()).min(self.limit);
        let entries = self.factor.iter().zip(&self.shift).map(entry);
        entries.map(|entry| (entry / self.norm).powi(2)).sum()
    }

    /// The image of a scaled value of feature `j`.
    #[inline(always)]
    pub(crate) fn value(&self, x: f64, j: usize) -> f64 {
        (x * self.factor[j] + self.shift[j]).clamp(-self.limit, self.limit) / self.norm
    }

    /// The same in lattice units.
    pub(crate) fn lattice_value(&self, x: i64, j: usize) -> i16 {
        let unit = f64::from(MAX_FEATURE);
        // Rounded to the nearest integer in [-16383, 16383].
        (self.value(x as f64 / unit, j) * unit)
            .round()
            .clamp(-unit, unit) as i16
    }

    /// For each feature the values within its bounds, in scaled units of the records' schema `from`, that the map does
    /// not clip: what lies outside has the image of the nearer end. There are some. None where the map clips nothing.
    ///
    /// With features clipped to these ranges first, coefficients that are [undone](FeatureMap::undo) score a record as
    /// the ones for its image do.
    pub fn ranges(&self, from: &Schema) -> Option<Vec<(f64, f64)>> {
        if self.limit.is_infinite() {
            return None;
        }
        // Images end at -1 and 1 too.
        let limit = self.limit.min(self.norm);
        let range = |(j, (&factor, &shift)): (usize, (&f64, &f64))| {
            let (low, high) = from.scaled_bounds(j);
            if factor == 0.0 || low == high {
                return (low, high);
            }
            let (one, other) = ((-limit - shift) / factor, (limit - shift) / factor);
            let (least, most) = (one.min(other), one.max(other));
            debug_assert!(
                least <= high && low <= most,
                "ranges are released within the bounds"
            );
            (low.clamp(least, most), high.clamp(least, most))
        };
        let constants = self.factor.iter().zip(&self.shift);
        Some(constants.enumerate().map(range).collect())
    }

    /// Turns coefficients for the images, of schema `from`, into those for the records themselves, of schema `to`.
    ///
    /// Clipping aside ([`FeatureMap::ranges`]), sum theta_j (factor_j x_j + shift_j)/norm + theta_p c is linear in x;
    /// the constant part joins the intercept. Without an intercept shifts must be 0.
    pub fn undo(&self, theta: &mut [f64], from: &Schema, to: &Schema) {
        let (features, intercept) = theta.split_at_mut(self.factor.len());
        let mut constant = 0.0;
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

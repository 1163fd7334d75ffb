//! Targets, coefficients and ranges, from the user's units to those of the lattice and back.

use super::{Bounds, Schema, Target};
use crate::error::{Error, Result};
use crate::numeric::kernel::MAX_FEATURE;

impl Schema {
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
    pub(super) fn target_scale(&self, low: f64, high: f64) -> (f64, f64) {
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

use super::exponential::exp;
use super::reviewed::{LossData, Reviewed};
use super::{Growth, Loss, Rounding, Task};
use crate::error::{Error, Result, positive};

/// Half the Poisson deviance with a logarithmic link, e^z - a z + a ln a - a at a count a, with its derivative e^z - a
/// clamped at `bound` in size: linear in z beyond. L = bound, beta = largest + bound.
///
/// A target y in [0, 1] is the count a = largest * y, in a unit that makes rates e^z of order one: another unit moves
/// the intercept alone. Convex, since a clamped derivative still increases with z. It is at least 0, with 0 at e^z = a.
/// beta: l'' = e^z where |e^z - a| <= bound and 0 elsewhere, so l'' <= a + bound.
///
/// ```
/// use dpsparse::loss::{Loss, Poisson};
/// let loss = Poisson::new(8.0, 1.5)?;
/// assert_eq!(loss.derivative(0.0, 0.25), 1.0 - 2.0);
/// assert_eq!(loss.derivative(9.0, 0.25), 1.5); // whatever the rate
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Data")]
pub struct Poisson {
    largest: f64,
    bound: f64,
}

/// Beyond it exp is not computed. Reached by no slope within its clamp.
const MOST: f64 = 700.0;

/// The loss as data, which is checked as it is read.
#[derive(serde::Deserialize)]
struct Data {
    largest: f64,
    bound: f64,
}

impl TryFrom<Data> for Poisson {
    type Error = Error;

    fn try_from(data: Data) -> Result<Self> {
        Self::new(data.largest, data.bound)
    }
}

impl Poisson {
    /// Counts up to `largest` where targets are 1, and derivatives of size at most `bound`.
    ///
    /// # Errors
    /// Either is not positive and finite, or larger than 2^100.
    pub fn new(largest: f64, bound: f64) -> Result<Self> {
        for (name, value) in [("y_bounds", largest), ("residual_bound", bound)] {
            if positive(name, value)? > 2f64.powi(100) {
                return Err(Error::invalid(name, "must be at most 2^100"));
            }
        }
        Ok(Self { largest, bound })
    }

    /// a, at least 0.
    #[inline(always)]
    fn count(&self, y: f64) -> f64 {
        (self.largest * y).max(0.0)
    }

    /// a (ln a - 1).
    fn constant(count: f64) -> f64 {
        if count > 0.0 {
            count * (count.ln() - 1.0)
        } else {
            0.0
        }
    }
}

impl Reviewed for Poisson {
    fn as_data(&self) -> LossData {
        LossData::Poisson(*self)
    }
}

impl Loss for Poisson {
    fn name(&self) -> &'static str {
        "poisson"
    }

    fn parameter(&self) -> Option<(&'static str, f64)> {
        Some(("bound", self.bound))
    }

    fn task(&self) -> Task {
        Task::Counts
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        let count = self.count(y);
        // The loss is linear below the first and above the second.
        let least = (count - self.bound).max(0.0).ln().max(-MOST);
        let most = (count + self.bound).ln();
        let inside = z.clamp(least, most);
        let value = inside.exp() - count * inside + Self::constant(count);
        let below = self.bound.min(count) * (least - z).max(0.0);
        value.max(0.0) + self.bound * (z - most).max(0.0) + below
    }

    #[inline(always)]
    fn derivative(&self, z: f64, y: f64) -> f64 {
        let slope = exp(z.clamp(-MOST, MOST)) - self.count(y);
        slope.max(-self.bound).min(self.bound)
    }

    fn curvature(&self, z: f64, y: f64) -> f64 {
        let rate = exp(z.clamp(-MOST, MOST));
        if (rate - self.count(y)).abs() < self.bound {
            rate
        } else {
            0.0
        }
    }

    fn growth(&self) -> Growth {
        Growth::scalar(self.bound)
    }

    fn smoothness(&self) -> f64 {
        self.largest + self.bound
    }

    /// |z l''| is at most |z| e^z, where e^z <= beta: at most max(1/e, beta ln beta). exp errs by 1e-14 relative, and
    /// l' is the difference of two numbers up to beta.
    fn rounding(&self) -> Option<Rounding> {
        let beta = self.smoothness();
        Some(Rounding {
            relative: (beta * beta.ln()).max(0.5),
            magnitude: 2.0 * beta,
        })
    }

    fn conjugate(&self, a: f64, y: f64) -> f64 {
        let count = self.count(y);
        if a.abs() > self.bound || a < -count {
            return f64::INFINITY;
        }
        Self::constant(a + count) - Self::constant(count)
    }
}

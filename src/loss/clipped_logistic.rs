use super::reviewed::{LossData, Reviewed};
use super::{Growth, Logistic, Loss, Task};
use crate::error::{Error, Result, fraction};

/// The logistic loss with its derivative clamped at `bound` in size: logistic for y z >= ln((1 - bound)/bound), linear
/// below. L = bound, beta = 1/4.
///
/// Convex, since the derivative still increases with z. Noise is proportional to L, and records far on the wrong side,
/// which are the only ones that the clamp changes, are often outliers.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Data")]
pub struct ClippedLogistic {
    bound: f64,
}

/// The loss as data, which is checked as it is read.
#[derive(serde::Deserialize)]
struct Data {
    bound: f64,
}

impl TryFrom<Data> for ClippedLogistic {
    type Error = Error;

    fn try_from(data: Data) -> Result<Self> {
        Self::new(data.bound)
    }
}

impl ClippedLogistic {
    /// Derivatives of size at most `bound`.
    ///
    /// # Errors
    /// `bound` outside (0, 1).
    pub fn new(bound: f64) -> Result<Self> {
        fraction("bound", bound).map(|bound| Self { bound })
    }

    /// The margin y z below which the loss is linear.
    fn kink(&self) -> f64 {
        ((1.0 - self.bound) / self.bound).ln()
    }
}

impl Reviewed for ClippedLogistic {
    fn as_data(&self) -> LossData {
        LossData::ClippedLogistic(*self)
    }
}

impl Loss for ClippedLogistic {
    fn name(&self) -> &'static str {
        "clipped-logistic"
    }

    fn parameter(&self) -> Option<(&'static str, f64)> {
        Some(("bound", self.bound))
    }

    fn task(&self) -> Task {
        Task::Classification
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        let (margin, kink) = (y * z, self.kink());
        Logistic.value(margin.max(kink), 1.0) + self.bound * (kink - margin).max(0.0)
    }

    #[inline(always)]
    fn derivative(&self, z: f64, y: f64) -> f64 {
        Logistic.derivative(z, y).clamp(-self.bound, self.bound)
    }

    #[inline(always)]
    fn quick_derivative(&self, z: f64, y: f64) -> f64 {
        Logistic
            .quick_derivative(z, y)
            .clamp(-self.bound, self.bound)
    }

    fn curvature(&self, z: f64, y: f64) -> f64 {
        let slope = Logistic.derivative(z, y).abs();
        if slope < self.bound {
            slope * (1.0 - slope)
        } else {
            0.0
        }
    }

    fn growth(&self) -> Growth {
        Growth::scalar(self.bound)
    }

    fn smoothness(&self) -> f64 {
        0.25
    }

    fn conjugate(&self, a: f64, y: f64) -> f64 {
        if -y * a > self.bound {
            return f64::INFINITY;
        }
        Logistic.conjugate(a, y)
    }
}

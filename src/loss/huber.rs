use super::reviewed::{LossData, Reviewed};
use super::{Growth, Loss, Task};
use crate::error::{Error, Result, positive};

/// Huber's loss: r^2/2 for |r| <= threshold and threshold |r| - threshold^2/2 beyond, r = z - y: L =
/// threshold, beta = 1.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Data")]
pub struct Huber {
    threshold: f64,
}

/// The loss as data, which is checked as it is read.
#[derive(serde::Deserialize)]
struct Data {
    threshold: f64,
}

impl TryFrom<Data> for Huber {
    type Error = Error;

    fn try_from(data: Data) -> Result<Self> {
        Self::new(data.threshold)
    }
}

impl Huber {
    /// Quadratic up to `threshold`, linear beyond it.
    ///
    /// # Errors
    /// `threshold` not positive and finite.
    pub fn new(threshold: f64) -> Result<Self> {
        Ok(Self {
            threshold: positive("threshold", threshold)?,
        })
    }
}

impl Reviewed for Huber {
    fn as_data(&self) -> LossData {
        LossData::Huber(*self)
    }
}

impl Loss for Huber {
    fn name(&self) -> &'static str {
        "huber"
    }

    fn parameter(&self) -> Option<(&'static str, f64)> {
        Some(("threshold", self.threshold))
    }

    fn task(&self) -> Task {
        Task::Regression
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        let r = (z - y).abs();
        let inside = r.min(self.threshold);
        inside * (r - 0.5 * inside)
    }

    #[inline(always)]
    fn derivative(&self, z: f64, y: f64) -> f64 {
        (z - y).clamp(-self.threshold, self.threshold)
    }

    fn curvature(&self, z: f64, y: f64) -> f64 {
        if (z - y).abs() < self.threshold {
            1.0
        } else {
            0.0
        }
    }

    fn growth(&self) -> Growth {
        Growth::scalar(self.threshold)
    }

    fn smoothness(&self) -> f64 {
        1.0
    }

    fn conjugate(&self, a: f64, y: f64) -> f64 {
        if a.abs() <= self.threshold {
            a * y + 0.5 * a * a
        } else {
            f64::INFINITY
        }
    }
}

use super::reviewed::{LossData, Reviewed};
use super::{Growth, Loss, Task};
use crate::error::{Error, Result, fraction, positive};

/// Pinball loss of quantile regression (Koenker & Bassett 1978), max(-level r, (1 - level) r) of r = z - y, smoothed by
/// the uniform kernel over `width` (Fernandes, Guerre & Horta 2021): its derivative rises from -level to 1 - level over
/// [-width/2, width/2]. L = max(level, 1 - level), beta = 1/width.
///
/// The mean derivative is the distribution function of y, averaged over width, less the level: the error of the
/// quantile is of second order in the width.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Data")]
pub struct Pinball {
    level: f64,
    width: f64,
}

/// The loss as data, which is checked as it is read.
#[derive(serde::Deserialize)]
struct Data {
    level: f64,
    width: f64,
}

impl TryFrom<Data> for Pinball {
    type Error = Error;

    fn try_from(data: Data) -> Result<Self> {
        Self::new(data.level, data.width)
    }
}

impl Pinball {
    /// The quantile at `level`, smoothed over `width`.
    ///
    /// # Errors
    /// `level` outside (0, 1), `width` not positive and finite.
    pub fn new(level: f64, width: f64) -> Result<Self> {
        Ok(Self {
            level: fraction("level", level)?,
            width: positive("width", width)?,
        })
    }
}

impl Reviewed for Pinball {
    fn as_data(&self) -> LossData {
        LossData::Pinball(*self)
    }
}

impl Loss for Pinball {
    fn name(&self) -> &'static str {
        "pinball"
    }

    fn parameter(&self) -> Option<(&'static str, f64)> {
        Some(("level", self.level))
    }

    fn task(&self) -> Task {
        Task::Regression
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        let (r, half) = (z - y, 0.5 * self.width);
        if r.abs() >= half {
            return (-self.level * r).max((1.0 - self.level) * r);
        }
        0.5 * r * r / self.width + (0.5 - self.level) * r + 0.125 * self.width
    }

    #[inline(always)]
    fn derivative(&self, z: f64, y: f64) -> f64 {
        let ramp = (z - y) / self.width + (0.5 - self.level);
        ramp.max(-self.level).min(1.0 - self.level)
    }

    fn curvature(&self, z: f64, y: f64) -> f64 {
        if (z - y).abs() < 0.5 * self.width {
            1.0 / self.width
        } else {
            0.0
        }
    }

    fn growth(&self) -> Growth {
        Growth::scalar(self.level.max(1.0 - self.level))
    }

    fn smoothness(&self) -> f64 {
        1.0 / self.width
    }

    fn conjugate(&self, a: f64, y: f64) -> f64 {
        if a < -self.level || a > 1.0 - self.level {
            return f64::INFINITY;
        }
        let ramp = a + self.level - 0.5;
        a * y + 0.5 * self.width * (ramp * ramp - 0.25)
    }
}

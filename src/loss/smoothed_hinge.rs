use super::reviewed::{LossData, Reviewed};
use super::{Growth, Loss, Task};
use crate::error::{Error, Result, positive};

/// Hinge loss max(0, 1 - y z), smoothed quadratically over `width` below the kink: L = 1, beta = 1/width.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Data")]
pub struct SmoothedHinge {
    width: f64,
}

/// The loss as data, which is checked as it is read.
#[derive(serde::Deserialize)]
struct Data {
    width: f64,
}

impl TryFrom<Data> for SmoothedHinge {
    type Error = Error;

    fn try_from(data: Data) -> Result<Self> {
        Self::new(data.width)
    }
}

impl SmoothedHinge {
    /// The hinge with the kink at margin 1 replaced by a parabola over margins in [1 - width, 1].
    ///
    /// # Errors
    /// `width` not positive and finite.
    pub fn new(width: f64) -> Result<Self> {
        Ok(Self {
            width: positive("width", width)?,
        })
    }
}

impl Reviewed for SmoothedHinge {
    fn as_data(&self) -> LossData {
        LossData::SmoothedHinge(*self)
    }
}

impl Loss for SmoothedHinge {
    fn name(&self) -> &'static str {
        "hinge"
    }

    fn parameter(&self) -> Option<(&'static str, f64)> {
        Some(("width", self.width))
    }

    fn task(&self) -> Task {
        Task::Classification
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        let slack = 1.0 - y * z;
        let inside = slack.clamp(0.0, self.width);
        inside * inside / (2.0 * self.width) + (slack - inside).max(0.0)
    }

    #[inline(always)]
    fn derivative(&self, z: f64, y: f64) -> f64 {
        -y * ((1.0 - y * z) / self.width).clamp(0.0, 1.0)
    }

    fn curvature(&self, z: f64, y: f64) -> f64 {
        let slack = 1.0 - y * z;
        if slack > 0.0 && slack < self.width {
            1.0 / self.width
        } else {
            0.0
        }
    }

    fn growth(&self) -> Growth {
        Growth::scalar(1.0)
    }

    fn smoothness(&self) -> f64 {
        1.0 / self.width
    }

    fn conjugate(&self, a: f64, y: f64) -> f64 {
        let b = -y * a;
        if (0.0..=1.0).contains(&b) {
            -b + 0.5 * self.width * b * b
        } else {
            f64::INFINITY
        }
    }
}

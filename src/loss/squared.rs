use super::reviewed::{LossData, Reviewed};
use super::{Growth, Loss, Task};

/// Squared loss, always (1/2)(z - y)^2: unbounded derivative, beta = 1. Private fits clamp the residual
/// ([`crate::theory_of_privacy::frank_wolfe`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Squared;

impl Reviewed for Squared {
    fn as_data(&self) -> LossData {
        LossData::Squared(*self)
    }
}

impl Loss for Squared {
    fn name(&self) -> &'static str {
        "squared"
    }

    fn task(&self) -> Task {
        Task::Regression
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        0.5 * (z - y) * (z - y)
    }

    #[inline(always)]
    fn derivative(&self, z: f64, y: f64) -> f64 {
        z - y
    }

    fn curvature(&self, _z: f64, _y: f64) -> f64 {
        1.0
    }

    fn growth(&self) -> Growth {
        Growth::SquaredResidual
    }

    fn smoothness(&self) -> f64 {
        1.0
    }

    fn conjugate(&self, a: f64, y: f64) -> f64 {
        a * y + 0.5 * a * a
    }
}

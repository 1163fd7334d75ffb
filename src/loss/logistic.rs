use super::exponential::{exp, quick_exp};
use super::reviewed::{LossData, Reviewed};
use super::{Growth, Loss, Task};

/// Logistic loss ln(1 + exp(-y z)), y in {-1, +1}: L = 1, beta = 1/4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Logistic;

impl Reviewed for Logistic {
    fn as_data(&self) -> LossData {
        LossData::Logistic(*self)
    }
}

impl Loss for Logistic {
    fn name(&self) -> &'static str {
        "logistic"
    }

    fn task(&self) -> Task {
        Task::Classification
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        let m = y * z;
        (-m).max(0.0) + (-m.abs()).exp().ln_1p()
    }

    #[inline(always)]
    fn derivative(&self, z: f64, y: f64) -> f64 {
        -y / (1.0 + exp((y * z).clamp(-700.0, 700.0)))
    }

    #[inline(always)]
    fn quick_derivative(&self, z: f64, y: f64) -> f64 {
        -y / (1.0 + quick_exp((y * z).clamp(-700.0, 700.0)))
    }

    fn curvature(&self, z: f64, y: f64) -> f64 {
        let s = self.derivative(z, y).abs();
        s * (1.0 - s)
    }

    fn growth(&self) -> Growth {
        Growth::scalar(1.0)
    }

    fn smoothness(&self) -> f64 {
        0.25
    }

    fn conjugate(&self, a: f64, y: f64) -> f64 {
        let b = -y * a;
        if !(0.0..=1.0).contains(&b) {
            return f64::INFINITY;
        }
        let entropy = |p: f64| if p > 0.0 { p * p.ln() } else { 0.0 };
        entropy(b) + entropy(1.0 - b)
    }
}

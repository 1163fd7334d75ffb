use super::reviewed::Reviewed;
use super::{Growth, Loss, Task};

/// Logistic loss ln(1 + exp(-y z)), y in {-1, +1}: L = 1, beta = 1/4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Logistic;

/// exp(x) for |x| <= 708 by range reduction and a degree-13 Taylor polynomial: relative error below 1e-14,
/// branch-free (so that a loop over records vectorises) and without fused operations (so that every machine
/// gets the same bits).
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    const LOG2_E: f64 = std::f64::consts::LOG2_E;
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52: adding it rounds to an integer
    let shifted = x * LOG2_E + SHIFT;
    let k = shifted - SHIFT;
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    let mut sum = 1.0 / 6_227_020_800.0;
    for inverse_factorial in [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        sum = sum * r + inverse_factorial;
    }
    // The low bits of `shifted` hold k; moved into the exponent field they are the factor 2^k.
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023).wrapping_shl(52));
    sum * power
}

impl Reviewed for Logistic {}

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exponential_matches_the_standard_library(x in -700.0..700.0f64) {
            prop_assert!((exp(x) / x.exp() - 1.0).abs() < 1e-13);
        }
    }
}

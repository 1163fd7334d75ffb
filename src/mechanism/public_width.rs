//! Sizes of a norm's ball that the public rules for T use: from the norm alone, the same at every call.

use crate::error::Result;
use crate::norm::Norm;

/// Normal vectors that the mean is taken over.
const SAMPLES: usize = 16;

/// About E dual(b) for a standard normal b: the noise in the best linear score over the unit ball.
pub(super) fn dual_width(norm: &dyn Norm) -> Result<f64> {
    mean(norm.n_features(), |b| norm.dual(b))
}

/// About E Omega(b): the same over the dual ball.
pub(super) fn width(norm: &dyn Norm) -> Result<f64> {
    mean(norm.n_features(), |b| norm.value(b))
}

fn mean(p: usize, of: impl Fn(&[f64]) -> Result<f64>) -> Result<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut uniform = move || {
        // SplitMix64 (Steele, Lea & Flood 2014)
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + f64::MIN_POSITIVE
    };
    let mut b = vec![0.0; p];
    let mut sum = 0.0;
    for _ in 0..SAMPLES {
        for b in &mut b {
            // Box & Muller (1958)
            let radius = (-2.0 * uniform().ln()).sqrt();
            *b = radius * (std::f64::consts::TAU * uniform()).cos();
        }
        sum += of(&b)?;
    }
    Ok(sum / SAMPLES as f64)
}

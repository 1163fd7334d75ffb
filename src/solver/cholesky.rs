//! Symmetric positive definite systems, in place.

use super::design::dot;

/// Relative jitter of the scaled matrix, so that its Cholesky factor exists for dependent columns.
const JITTER: f64 = 1e-12;

/// Solves G x = rhs by Cholesky's factorisation of G scaled to unit diagonal. `gram` holds the lower triangle, row by row in
/// a square, and is overwritten; `rhs` becomes x. False where rounding makes G indefinite.
pub(super) fn solve(gram: &mut [f64], rhs: &mut [f64]) -> bool {
    let scale = factor(gram, rhs.len());
    if let Some(scale) = &scale {
        substitute(gram, scale, rhs);
    }
    scale.is_some()
}

/// The factor, in place of `gram`, and the scale that [`substitute`] needs with it.
pub(super) fn factor(gram: &mut [f64], size: usize) -> Option<Vec<f64>> {
    let scale: Vec<f64> = (0..size)
        .map(|a| gram[a * size + a].max(f64::MIN_POSITIVE).sqrt().recip())
        .collect();
    for a in 0..size {
        let (above, row) = gram.split_at_mut(a * size);
        for b in 0..a {
            row[b] *= scale[a] * scale[b];
        }
        row[a] = 1.0 + JITTER;
        for b in 0..a {
            let other = &above[b * size..b * size + b + 1];
            row[b] = (row[b] - dot(&row[..b], &other[..b])) / other[b];
        }
        let pivot = row[a] - dot(&row[..a], &row[..a]);
        if pivot.is_nan() || pivot <= 0.0 {
            return None;
        }
        row[a] = pivot.sqrt();
    }
    Some(scale)
}

/// rhs becomes G^-1 rhs.
pub(super) fn substitute(factor: &[f64], scale: &[f64], rhs: &mut [f64]) {
    let size = rhs.len();
    for a in 0..size {
        let row = &factor[a * size..a * size + a + 1];
        rhs[a] = (rhs[a] * scale[a] - dot(&row[..a], &rhs[..a])) / row[a];
    }
    for a in (0..size).rev() {
        let row = &factor[a * size..a * size + a + 1];
        rhs[a] /= row[a];
        let value = rhs[a];
        for (x, l) in rhs[..a].iter_mut().zip(row) {
            *x -= l * value;
        }
    }
    for (x, scale) in rhs.iter_mut().zip(scale) {
        *x *= scale;
    }
}

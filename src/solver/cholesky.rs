//! Symmetric positive definite systems, in place.

use super::design::dot;

/// Relative jitter of the scaled matrix, so that its Cholesky factor exists for dependent columns.
const JITTER: f64 = 1e-12;

/// Solves G x = rhs by Cholesky's factorisation of G scaled to unit diagonal. `gram` holds the lower triangle, row by row in
/// a square, and is overwritten; `rhs` becomes x. False where rounding makes G indefinite.
pub(super) fn solve(gram: &mut [f64], rhs: &mut [f64]) -> bool {
    let size = rhs.len();
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
            return false;
        }
        row[a] = pivot.sqrt();
    }
    for a in 0..size {
        let row = &gram[a * size..a * size + a + 1];
        rhs[a] = (rhs[a] * scale[a] - dot(&row[..a], &rhs[..a])) / row[a];
    }
    for a in (0..size).rev() {
        let row = &gram[a * size..a * size + a + 1];
        rhs[a] /= row[a];
        let value = rhs[a];
        for (x, l) in rhs[..a].iter_mut().zip(row) {
            *x -= l * value;
        }
    }
    for (x, scale) in rhs.iter_mut().zip(&scale) {
        *x *= scale;
    }
    true
}

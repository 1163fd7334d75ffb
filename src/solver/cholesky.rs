//! Symmetric positive definite systems, in place.

use crate::numeric::vectors::{dot, dot4};

/// Relative jitter of the scaled matrix, so that its Cholesky factor exists for dependent columns.
const JITTER: f64 = 1e-12;

/// Solves G x = rhs by Cholesky's factorisation of G scaled to unit diagonal. `gram` holds the lower triangle, row by
/// row in a square, and is overwritten; `rhs` becomes x. False where rounding makes G indefinite.
pub(super) fn solve(gram: &mut [f64], rhs: &mut [f64]) -> bool {
    let mut scale = Vec::new();
    if !factorise(gram, rhs.len(), &mut scale) {
        return false;
    }
    substitute(gram, &scale, rhs);
    true
}

/// The factor of G scaled by `scale` on both sides, in the place of G.
pub(super) fn factorise(gram: &mut [f64], size: usize, scale: &mut Vec<f64>) -> bool {
    scale.clear();
    scale.extend((0..size).map(|a| gram[a * size + a].max(f64::MIN_POSITIVE).sqrt().recip()));
    for first in (0..size).step_by(4) {
        let count = (size - first).min(4);
        let (above, rows) = gram.split_at_mut(first * size);
        for (k, row) in rows.chunks_exact_mut(size).take(count).enumerate() {
            for b in 0..first + k {
                row[b] *= scale[first + k] * scale[b];
            }
            row[first + k] = 1.0 + JITTER;
        }
        // What four rows have to the left of their common block: every row above is read once for them.
        let mut left = 0;
        if count == 4 {
            let (upper, lower) = rows.split_at_mut(2 * size);
            let ((r0, r1), (r2, r3)) = (upper.split_at_mut(size), lower.split_at_mut(size));
            for (b, other) in above.chunks_exact(size).enumerate() {
                let sums = dot4([&r0[..b], &r1[..b], &r2[..b], &r3[..b]], &other[..b]);
                let pivot = other[b].recip();
                r0[b] = (r0[b] - sums[0]) * pivot;
                r1[b] = (r1[b] - sums[1]) * pivot;
                r2[b] = (r2[b] - sums[2]) * pivot;
                r3[b] = (r3[b] - sums[3]) * pivot;
            }
            left = first;
        }
        for a in first..first + count {
            let (above, row) = gram.split_at_mut(a * size);
            for b in left..a {
                let other = &above[b * size..b * size + b + 1];
                row[b] = (row[b] - dot(&row[..b], &other[..b])) / other[b];
            }
            let pivot = row[a] - dot(&row[..a], &row[..a]);
            if pivot.is_nan() || pivot <= 0.0 {
                return false;
            }
            row[a] = pivot.sqrt();
        }
    }
    true
}

/// rhs = G^-1 rhs by what [`factorise`] left.
pub(super) fn substitute(gram: &[f64], scale: &[f64], rhs: &mut [f64]) {
    let size = rhs.len();
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
    for (x, scale) in rhs.iter_mut().zip(scale) {
        *x *= scale;
    }
}

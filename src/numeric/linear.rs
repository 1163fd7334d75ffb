//! Small dense linear algebra in floats.

/// <a, b> with eight partial sums, which the compiler keeps in vector registers.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail: f64 = (a_chunks.remainder().iter().zip(b_chunks.remainder()))
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for k in 0..8 {
            sums[k] += a[k] * b[k];
        }
    }
    sums.iter().sum::<f64>() + tail
}

/// |v|_2.
pub fn norm2(v: &[f64]) -> f64 {
    dot(v, v).sqrt()
}

/// Relative jitter of the scaled matrix, so that its Cholesky factor exists for dependent columns.
const JITTER: f64 = 1e-12;

/// Cholesky's factorisation of a matrix G scaled to unit diagonal.
///
/// ```
/// use dpsparse::numeric::linear::Cholesky;
/// let mut x = [5.0, 4.0];
/// Cholesky::new(vec![4.0, 0.0, 1.0, 2.0], 2).unwrap().solve(&mut x);
/// assert!((x[0] - 6.0 / 7.0).abs() < 1e-9 && (x[1] - 11.0 / 7.0).abs() < 1e-9);
/// ```
#[derive(Debug, Clone)]
pub struct Cholesky {
    factor: Vec<f64>,
    scale: Vec<f64>,
}

impl Cholesky {
    /// Factorises G, whose lower triangle stands in `gram`, row by row in a square. None where rounding makes it
    /// indefinite.
    pub fn new(mut gram: Vec<f64>, size: usize) -> Option<Self> {
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
        Some(Self {
            factor: gram,
            scale,
        })
    }

    /// Solves G x = rhs; `rhs` becomes x.
    pub fn solve(&self, rhs: &mut [f64]) {
        let size = rhs.len();
        let row = |a: usize| &self.factor[a * size..a * size + a + 1];
        for a in 0..size {
            rhs[a] = (rhs[a] * self.scale[a] - dot(&row(a)[..a], &rhs[..a])) / row(a)[a];
        }
        for a in (0..size).rev() {
            rhs[a] /= row(a)[a];
            let value = rhs[a];
            for (x, l) in rhs[..a].iter_mut().zip(row(a)) {
                *x -= l * value;
            }
        }
        for (x, scale) in rhs.iter_mut().zip(&self.scale) {
            *x *= scale;
        }
    }
}

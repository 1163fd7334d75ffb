use crate::numeric::kernel::for_wide_vectors;
use crate::numeric::vectors::weighted_square;
use crate::solver::{CscDesign, DenseDesign, Design};

/// Records that are worked on together.
const BLOCK: usize = 256;

/// A matrix whose columns can move the scores of K classes that depend on each other.
pub trait ClassDesign: Design + std::fmt::Debug {
    /// residual_ik += h_i P_ik x_ij (steps_k - sum_l P_il steps_l): what the step of the coefficients of feature j in
    /// all classes does to the slopes of a softmax model of probabilities P, weighted by h. `probabilities` and
    /// `residual` are K planes of n entries.
    fn add_coupled(
        &self,
        j: usize,
        steps: &[f64],
        probabilities: &[f64],
        h: &[f64],
        residual: &mut [f64],
    );

    /// sum_i h_i x_ij^2, at the speed of an inner product.
    fn weighted_square(&self, j: usize, h: &[f64]) -> f64;

    /// A copy whose columns have the `weights`-mean 0, weights of sum 1, and the means; None where it would take far
    /// more memory. A free intercept takes up what is subtracted, so that the problem is the same and its features no
    /// longer vie with the intercept.
    fn centred(&self, weights: &[f64]) -> Option<(DenseDesign<'static>, Vec<f64>)>;
}

impl ClassDesign for DenseDesign<'_> {
    fn add_coupled(
        &self,
        j: usize,
        steps: &[f64],
        probabilities: &[f64],
        h: &[f64],
        residual: &mut [f64],
    ) {
        add_coupled(self.column(j), steps, probabilities, h, residual);
    }

    fn weighted_square(&self, j: usize, h: &[f64]) -> f64 {
        weighted_square(self.column(j), h)
    }

    fn centred(&self, weights: &[f64]) -> Option<(DenseDesign<'static>, Vec<f64>)> {
        let n = self.n_rows();
        let means: Vec<f64> = (0..self.n_columns())
            .map(|j| self.dot(j, weights))
            .collect();
        let mut data = Vec::with_capacity(n * means.len());
        for (j, mean) in means.iter().enumerate() {
            data.extend(self.column(j).iter().map(|x| x - mean));
        }
        let design = DenseDesign::from_finite_columns(n, data).ok()?;
        Some((design, means))
    }
}

/// [`ClassDesign::add_coupled`] for one column of all records.
pub(super) fn add_coupled(
    column: &[f64],
    steps: &[f64],
    probabilities: &[f64],
    h: &[f64],
    residual: &mut [f64],
) {
    let n = column.len();
    for_wide_vectors(
        #[inline(always)]
        || {
            for first in (0..n).step_by(BLOCK) {
                let len = BLOCK.min(n - first);
                let plane = |k: usize| k * n + first..k * n + first + len;
                let (x, h) = (&column[first..first + len], &h[first..first + len]);
                let (mut mean, mut scale) = ([0.0; BLOCK], [0.0; BLOCK]);
                for (k, step) in steps.iter().enumerate().filter(|(_, s)| **s != 0.0) {
                    for (mean, p) in mean.iter_mut().zip(&probabilities[plane(k)]) {
                        *mean += step * p;
                    }
                }
                for (scale, (x, h)) in scale.iter_mut().zip(x.iter().zip(h)) {
                    *scale = x * h;
                }
                for (k, step) in steps.iter().enumerate() {
                    let (p, out) = (&probabilities[plane(k)], &mut residual[plane(k)]);
                    for i in 0..len {
                        out[i] += scale[i] * p[i] * (step - mean[i]);
                    }
                }
            }
        },
    );
}

impl ClassDesign for CscDesign {
    fn add_coupled(
        &self,
        j: usize,
        steps: &[f64],
        probabilities: &[f64],
        h: &[f64],
        residual: &mut [f64],
    ) {
        let n = self.n_rows();
        for (i, x) in self.column(j) {
            let p = probabilities[i..].iter().step_by(n);
            let mean: f64 = steps.iter().zip(p.clone()).map(|(s, p)| s * p).sum();
            let scale = x * h[i];
            let out = residual[i..].iter_mut().step_by(n);
            for ((out, p), step) in out.zip(p).zip(steps) {
                *out += scale * p * (step - mean);
            }
        }
    }

    fn weighted_square(&self, j: usize, h: &[f64]) -> f64 {
        self.squared_norm(j, h)
    }

    fn centred(&self, _weights: &[f64]) -> Option<(DenseDesign<'static>, Vec<f64>)> {
        None
    }
}

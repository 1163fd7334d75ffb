//! Newton's step of the quadratic model on the present support with the present signs: where coordinate
//! descent crawls because columns are nearly dependent, this one linear system replaces thousands of passes.

use super::Design;
use super::design::dot;

/// Relative jitter of the scaled Gram matrix, so that its Cholesky factor exists for dependent columns.
const JITTER: f64 = 1e-12;

/// The system of one step, scaled to unit diagonal; the vectors are allocated once a run.
#[derive(Debug, Default)]
pub(super) struct SupportStep {
    /// Lower triangle, row by row in a square.
    gram: Vec<f64>,
    scale: Vec<f64>,
    /// The gradient; after [`SupportStep::solve`] the direction.
    pub direction: Vec<f64>,
    column: Vec<f64>,
    breakpoints: Vec<(f64, f64)>,
}

impl SupportStep {
    /// Builds the Gram matrix sum_i h_i (x_ia - m_a)(x_ib - m_b) + ridge*[a = b] of the columns `support`.
    pub fn build<D: Design + ?Sized>(
        &mut self,
        design: &D,
        support: impl ExactSizeIterator<Item = (usize, f64)> + Clone,
        h: &[f64],
        ridge: f64,
    ) {
        let size = support.len();
        self.gram.clear();
        self.gram.resize(size * size, 0.0);
        self.column.resize(h.len(), 0.0);
        self.scale.clear();
        for (a, (column, mean)) in support.clone().enumerate() {
            for (out, h) in self.column.iter_mut().zip(h) {
                *out = -mean * h;
            }
            design.add_scaled(column, 1.0, h, &mut self.column);
            // The entries of h*(x_a - m_a) sum to 0, so the other column needs no centring.
            for (b, (other, _)) in support.clone().take(a + 1).enumerate() {
                self.gram[a * size + b] = design.dot(other, &self.column);
            }
            self.gram[a * size + a] += ridge;
            self.scale.push(self.gram[a * size + a].sqrt().recip());
        }
        for a in 0..size {
            for b in 0..a {
                self.gram[a * size + b] *= self.scale[a] * self.scale[b];
            }
            self.gram[a * size + a] = 1.0 + JITTER;
        }
    }

    /// direction = -G^-1 gradient by Cholesky's factorisation; false where rounding makes G indefinite.
    pub fn solve(&mut self) -> bool {
        let size = self.scale.len();
        for a in 0..size {
            let (above, row) = self.gram.split_at_mut(a * size);
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
        let x = &mut self.direction;
        for a in 0..size {
            let row = &self.gram[a * size..a * size + a + 1];
            x[a] = (-x[a] * self.scale[a] - dot(&row[..a], &x[..a])) / row[a];
        }
        for a in (0..size).rev() {
            let row = &self.gram[a * size..a * size + a + 1];
            x[a] /= row[a];
            let value = x[a];
            for (x, l) in x[..a].iter_mut().zip(row) {
                *x -= l * value;
            }
        }
        for (x, scale) in x.iter_mut().zip(&self.scale) {
            *x *= scale;
        }
        true
    }

    /// Minimises phi(t) = slope*t + curvature*t^2/2 + alpha*sum_j (|theta_j + t D_j| - |theta_j| - t D_j sign
    /// theta_j) over t >= 0 for the direction D; returns t, phi(t) and whether no coordinate changed its
    /// sign.
    ///
    /// phi' grows by 2 alpha |D_j| where coordinate j changes its sign, and is linear in between.
    pub fn line_search(
        &mut self,
        theta: impl Iterator<Item = f64>,
        slope: f64,
        curvature: f64,
        alpha: f64,
    ) -> (f64, f64, bool) {
        let mut t = -slope / curvature;
        self.breakpoints.clear();
        for (theta, step) in theta.zip(&self.direction) {
            let at = -theta / step;
            if at > 0.0 && at < t {
                self.breakpoints.push((at, 2.0 * alpha * step.abs()));
            }
        }
        (self.breakpoints).sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (mut jumps, mut paid) = (0.0, 0.0);
        for &(at, jump) in &self.breakpoints {
            if t <= at {
                break;
            }
            jumps += jump;
            paid += jump * at;
            t = (-(slope + jumps) / curvature).max(at);
        }
        let change = slope * t + 0.5 * curvature * t * t + jumps * t - paid;
        (t, change, self.breakpoints.is_empty())
    }
}

//! Newton's step of the quadratic model on the present support with the present signs: where coordinate
//! descent crawls because columns are nearly dependent, this one linear system replaces thousands of passes.

use super::{Design, cholesky};

/// The system of one step; the vectors are allocated once a run.
#[derive(Debug, Default)]
pub(super) struct SupportStep {
    /// Lower triangle, row by row in a square.
    pub gram: Vec<f64>,
    /// The gradient; after [`SupportStep::solve`] the direction.
    pub direction: Vec<f64>,
    column: Vec<f64>,
    columns: Vec<usize>,
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
        self.columns.clear();
        (self.columns).extend(support.clone().map(|(column, _)| column));
        for (a, (column, mean)) in support.enumerate() {
            for (out, h) in self.column.iter_mut().zip(h) {
                *out = -mean * h;
            }
            design.add_scaled(column, 1.0, h, &mut self.column);
            // The entries of h*(x_a - m_a) sum to 0, so the other column needs no centring.
            let row = &mut self.gram[a * size..=a * size + a];
            design.dot_columns(&self.columns[..=a], &self.column, row);
            self.gram[a * size + a] += ridge;
        }
    }

    /// direction = -G^-1 gradient; false where rounding makes G indefinite.
    pub fn solve(&mut self) -> bool {
        self.direction.iter_mut().for_each(|g| *g = -*g);
        cholesky::solve(&mut self.gram, &mut self.direction)
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

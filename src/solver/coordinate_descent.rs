//! Coordinate descent on a quadratic model of the risk plus the l1 penalty, over a working set of coordinates.
//!
//! At a point with weighted slopes d the model of the change of the risk under a change u of z is
//! sum_i d_i u_i + h_i u_i^2/2. Its derivative r = d + h*u is all that the passes keep. The intercept is eliminated: an
//! update t of theta_j comes with -t m_j of the intercept, m_j the h-weighted mean of column j, which is the joint
//! minimum over the two because sum_i r_i = 0 throughout. In effect columns are centred, sparse ones included: the dense
//! part of r is h times the scalar `offset`. One update is exact (Friedman, Hastie & Tibshirani 2010, section 2):
//!
//! ```text
//! theta_j <- soft_threshold(c_j theta_j - g_j, alpha) / c_j
//! g_j = <x_j, r> + ridge theta_j,     c_j = sum_i h_i (x_ij - m_j)^2 + ridge
//! ```

use super::Design;
use crate::prox::soft_threshold;

/// Relative curvature below which a centred column is constant up to rounding.
const CONSTANT: f64 = 1e-20;

/// The model and its working set; the vectors are allocated once a run.
#[derive(Debug)]
pub(super) struct QuadraticModel {
    /// Coordinates in the working set.
    pub working: Vec<usize>,
    /// h.
    pub curvatures: Vec<f64>,
    total: f64,
    means: Vec<f64>,
    steps: Vec<f64>,
    residual: Vec<f64>,
    offset: f64,
    ridge: f64,
    alpha: f64,
}

impl QuadraticModel {
    pub fn new(n_rows: usize, ridge: f64) -> Self {
        Self {
            working: Vec::new(),
            curvatures: vec![0.0; n_rows],
            total: 0.0,
            means: Vec::new(),
            steps: Vec::new(),
            residual: vec![0.0; n_rows],
            offset: 0.0,
            ridge,
            alpha: 0.0,
        }
    }

    /// Starts from r = `slopes`, with the present `curvatures` and `working`.
    pub fn reset<D: Design + ?Sized>(
        &mut self,
        design: &D,
        slopes: &[f64],
        alpha: f64,
        centred: bool,
    ) {
        self.alpha = alpha;
        self.offset = 0.0;
        self.residual.copy_from_slice(slopes);
        self.total = self.curvatures.iter().sum();
        self.means.clear();
        self.steps.clear();
        for &j in &self.working {
            let (mean, square) = if centred {
                design.centred_moments(j, &self.curvatures, self.total)
            } else {
                (0.0, design.squared_norm(j, &self.curvatures))
            };
            let constant = square <= CONSTANT * self.total * mean * mean;
            self.means.push(mean);
            self.steps
                .push(if constant { 0.0 } else { square } + self.ridge);
        }
    }

    /// One pass over the working set: the exact change of model plus penalty, never positive.
    pub fn pass<D: Design + ?Sized>(&mut self, design: &D, theta: &mut [f64]) -> f64 {
        let mut change = 0.0;
        for (k, &j) in self.working.iter().enumerate() {
            let (mean, curvature, old) = (self.means[k], self.steps[k], theta[j]);
            if curvature == 0.0 {
                // The column is constant (or 0): the intercept does its work unpenalised.
                change -= self.alpha * old.abs();
                theta[j] = 0.0;
                continue;
            }
            let gradient =
                design.dot(j, &self.residual) + self.offset * self.total * mean + self.ridge * old;
            let new = soft_threshold(curvature * old - gradient, self.alpha) / curvature;
            let step = new - old;
            if step == 0.0 {
                continue;
            }
            change += gradient * step
                + 0.5 * curvature * step * step
                + self.alpha * (new.abs() - old.abs());
            theta[j] = new;
            design.add_scaled(j, step, &self.curvatures, &mut self.residual);
            self.offset -= step * mean;
        }
        change
    }
}

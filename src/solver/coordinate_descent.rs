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
use super::support_step::SupportStep;
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
    /// Positions in `working` of the non-zeros with curvature.
    support: Vec<usize>,
    support_step: SupportStep,
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
            support: Vec::new(),
            support_step: SupportStep::default(),
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

    /// g_j for the k-th coordinate of the working set, whose value is `theta`.
    #[inline]
    fn gradient<D: Design + ?Sized>(&self, design: &D, k: usize, theta: f64) -> f64 {
        design.dot(self.working[k], &self.residual)
            + self.offset * self.total * self.means[k]
            + self.ridge * theta
    }

    /// Multiplications of one [`QuadraticModel::pass`] and of one [`QuadraticModel::support_step`], roughly.
    pub fn costs<D: Design + ?Sized>(&self, design: &D, theta: &[f64]) -> (f64, f64) {
        let per_column = design.n_stored() as f64 / design.n_columns() as f64;
        let support = self.working.iter().filter(|&&j| theta[j] != 0.0).count() as f64;
        let gram = support * (design.n_rows() as f64 + 0.5 * support * per_column);
        (
            2.0 * per_column * self.working.len() as f64,
            gram + support.powi(3) / 6.0,
        )
    }

    /// Newton's step on the support with a line search past changes of sign: the change of model plus penalty, never positive.
    pub fn support_step<D: Design + ?Sized>(&mut self, design: &D, theta: &mut [f64]) -> f64 {
        let (working, steps) = (&self.working, &self.steps);
        self.support.clear();
        (self.support)
            .extend((0..working.len()).filter(|&k| theta[working[k]] != 0.0 && steps[k] > 0.0));
        let columns = self.support.iter().map(|&k| (working[k], self.means[k]));
        (self.support_step).build(design, columns, &self.curvatures, self.ridge);

        let mut gradients = std::mem::take(&mut self.support_step.direction);
        gradients.clear();
        gradients.extend(self.support.iter().map(|&k| {
            let old = theta[self.working[k]];
            self.gradient(design, k, old) + self.alpha.copysign(old)
        }));
        self.support_step.direction = gradients;
        let Some(slope) = self.support_step.solve() else {
            return 0.0;
        };
        let values = self.support.iter().map(|&k| theta[self.working[k]]);
        let (t, change) = self.support_step.line_search(values, slope, self.alpha);
        if change.is_nan() || change >= 0.0 {
            return 0.0;
        }
        for (&k, direction) in self.support.iter().zip(&self.support_step.direction) {
            let j = self.working[k];
            let step = t * direction;
            theta[j] += step;
            design.add_scaled(j, step, &self.curvatures, &mut self.residual);
            self.offset -= step * self.means[k];
        }
        change
    }
}

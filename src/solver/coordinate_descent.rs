//! Coordinate descent on a quadratic model of the risk plus the l1 penalty, over a working set of
//! coordinates.
//!
//! At a point with weighted slopes d the model of the change of the risk under a change u of z is
//! sum_i d_i u_i + h_i u_i^2/2. Its derivative r = d + h*u is all that the passes keep. The intercept is
//! eliminated: an update t of theta_j comes with -t m_j of the intercept, m_j the h-weighted mean of column
//! j, which is the joint minimum over the two because sum_i r_i = 0 throughout. In effect columns are
//! centred, sparse ones included: the dense part of r is h times the scalar `offset`. One update is exact
//! (Friedman, Hastie & Tibshirani 2010, section 2):
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
/// Size up to which a Cholesky factorisation costs next to nothing.
const FREE_FACTORISATION: f64 = 64.0;

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
    gradients: Vec<f64>,
    image: Vec<f64>,
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
            gradients: Vec::new(),
            image: vec![0.0; n_rows],
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

    /// Cost of one [`QuadraticModel::pass`] in dot products with a column.
    pub fn pass_cost(&self) -> f64 {
        2.0 * self.working.len() as f64
    }

    /// Cost of one [`QuadraticModel::support_step`] in dot products with a column, roughly.
    ///
    /// Small factorisations count as free. So small dense problems take the same path whether rows are
    /// weighted or repeated, and end in the same point far below the tolerance.
    pub fn support_step_cost<D: Design + ?Sized>(&self, design: &D, theta: &[f64]) -> f64 {
        let per_column = design.n_stored().max(1) as f64 / design.n_columns() as f64;
        let size = self.working.iter().filter(|&&j| theta[j] != 0.0).count() as f64;
        let gram = size * (design.n_rows() as f64 / per_column + 0.5 * size);
        if size <= FREE_FACTORISATION {
            gram
        } else {
            gram + size.powi(3) / (6.0 * per_column)
        }
    }

    /// Newton's step on the support with a line search past changes of sign: the change of model plus
    /// penalty, never positive, and whether no coordinate changed its sign.
    pub fn support_step<D: Design + ?Sized>(
        &mut self,
        design: &D,
        theta: &mut [f64],
    ) -> (f64, bool) {
        let (working, steps) = (&self.working, &self.steps);
        self.support.clear();
        (self.support)
            .extend((0..working.len()).filter(|&k| theta[working[k]] != 0.0 && steps[k] > 0.0));
        let columns = self.support.iter().map(|&k| (working[k], self.means[k]));
        (self.support_step).build(design, columns, &self.curvatures, self.ridge);

        self.gradients.clear();
        for &k in &self.support {
            let old = theta[self.working[k]];
            let gradient = self.gradient(design, k, old) + self.alpha.copysign(old);
            self.gradients.push(gradient);
        }
        self.support_step.direction.clone_from(&self.gradients);
        if !self.support_step.solve() {
            return (0.0, true);
        }
        // h*u for the change u of the centred scores along the direction; slope and curvature do not rely on
        // the solve.
        self.image.fill(0.0);
        let (mut slope, mut curvature, mut shift) = (0.0, 0.0, 0.0);
        for ((&k, direction), gradient) in (self.support.iter())
            .zip(&self.support_step.direction)
            .zip(&self.gradients)
        {
            design.add_scaled(
                self.working[k],
                *direction,
                &self.curvatures,
                &mut self.image,
            );
            shift += direction * self.means[k];
            slope += direction * gradient;
            curvature += self.ridge * direction * direction;
        }
        for (image, h) in self.image.iter_mut().zip(&self.curvatures) {
            if *h > 0.0 {
                *image -= shift * h;
                curvature += *image * *image / h;
            }
        }
        let values = self.support.iter().map(|&k| theta[self.working[k]]);
        let (t, change, complete) =
            (self.support_step).line_search(values, slope, curvature, self.alpha);
        if !(t.is_finite() && change < 0.0) {
            return (0.0, true);
        }
        for (&k, direction) in self.support.iter().zip(&self.support_step.direction) {
            let value = &mut theta[self.working[k]];
            // The same expression as in the line search: a coordinate whose kink stopped it becomes exactly
            // 0.
            *value = if -*value / direction == t {
                0.0
            } else {
                *value + t * direction
            };
        }
        for (residual, image) in self.residual.iter_mut().zip(&self.image) {
            *residual += t * image;
        }
        (change, complete)
    }
}

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

use super::point::Point;
use super::run::Run;
use super::support_step::SupportStep;
use super::{Design, Problem};
use crate::error::Result;
use crate::prox::soft_threshold;

/// Relative curvature below which a centred column is constant up to rounding.
const CONSTANT: f64 = 1e-20;
/// Size up to which a Cholesky factorisation costs next to nothing.
const FREE_FACTORISATION: f64 = 64.0;
/// Violators that enter the working set at a time; as many as there are non-zeros where those are more.
const FEWEST_NEW: usize = 64;
/// Rounds of passes and steps on the support that one model is worth.
const MOST_ROUNDS: usize = 5;

/// The model and its working set; the vectors are allocated once a run.
#[derive(Debug)]
pub(super) struct CoordinateDescent {
    /// Coordinates in the working set.
    working: Vec<usize>,
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
    /// Dot products that steps on the support may still spend.
    support_budget: f64,
}

impl CoordinateDescent {
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
            support_budget: 0.0,
        }
    }

    /// The non-zeros, and of the coordinates that violate optimality at 0, |v_j| > alpha, the worst.
    pub fn choose_working_set(&mut self, point: &Point, alpha: f64) {
        let (theta, correlations) = (&point.theta, &point.correlations);
        let working = &mut self.working;
        working.clear();
        working.extend((0..theta.len()).filter(|&j| theta[j] != 0.0));
        let kept = working.len();
        working
            .extend((0..theta.len()).filter(|&j| theta[j] == 0.0 && correlations[j].abs() > alpha));
        let most = FEWEST_NEW.max(kept);
        let violators = &mut working[kept..];
        if violators.len() > most {
            let size = |j: usize| correlations[j].abs();
            violators.select_nth_unstable_by(most, |&i, &j| size(j).total_cmp(&size(i)));
            working.truncate(kept + most);
        }
        working[kept..].sort_unstable();
    }

    /// Starts from r = `slopes`, with the present `curvatures` and `working`.
    pub fn reset<D: Design + ?Sized>(
        &mut self,
        problem: &Problem<'_, D>,
        slopes: &[f64],
        alpha: f64,
    ) {
        let (design, centred) = (problem.design(), problem.fit_intercept());
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

    /// Passes over the working set until they bring little; returns the change of model plus penalty.
    ///
    /// Passes may cost as much as the full gradient that follows them, and at least twenty are allowed. Where
    /// those do not suffice, steps on the support follow, which may cost as much as the passes so far. Where
    /// such a step ends at a change of sign, that coordinate leaves the support and the smaller system is
    /// next.
    pub fn minimise<D: Design + ?Sized>(
        &mut self,
        design: &D,
        theta: &mut [f64],
        run: &mut Run<'_>,
    ) -> Result<f64> {
        let most = (design.n_columns() / self.working.len().max(1)).max(20);
        let pass_cost = self.pass_cost();
        let (mut total, mut largest) = (0.0, 0.0f64);
        for _ in 0..MOST_ROUNDS {
            for _ in 0..most {
                let decrease = -self.pass(design, theta);
                self.support_budget += pass_cost;
                run.count()?;
                total -= decrease;
                largest = largest.max(decrease);
                if decrease <= run.accuracy * largest.min(run.gap) || run.is_over() {
                    return Ok(total);
                }
            }
            let mut complete = false;
            while !complete {
                let cost = self.support_step_cost(design, theta);
                if cost > self.support_budget {
                    return Ok(total);
                }
                self.support_budget -= cost;
                let change;
                (change, complete) = self.support_step(design, theta);
                total += change;
            }
        }
        Ok(total)
    }

    /// One pass over the working set: the exact change of model plus penalty, never positive.
    fn pass<D: Design + ?Sized>(&mut self, design: &D, theta: &mut [f64]) -> f64 {
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

    /// Cost of one `pass` in dot products with a column.
    fn pass_cost(&self) -> f64 {
        2.0 * self.working.len() as f64
    }

    /// Cost of one `support_step` in dot products with a column, roughly.
    ///
    /// Small factorisations count as free. So small dense problems take the same path whether rows are
    /// weighted or repeated, and end in the same point far below the tolerance.
    fn support_step_cost<D: Design + ?Sized>(&self, design: &D, theta: &[f64]) -> f64 {
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
    fn support_step<D: Design + ?Sized>(&mut self, design: &D, theta: &mut [f64]) -> (f64, bool) {
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

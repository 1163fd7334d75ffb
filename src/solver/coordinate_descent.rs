//! Coordinate descent on a quadratic model of the risk plus a weighted l1 penalty, over a working set of
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
//! theta_j <- soft_threshold(c_j theta_j - g_j, alpha w_j) / c_j
//! g_j = <x_j, r> + ridge theta_j,     c_j = sum_i h_i (x_ij - m_j)^2 + ridge
//! ```

use super::covariance::Covariance;
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
/// Share of the decrease that Newton's step promises which stopping at 0 must keep.
const CLAMPED_SHARE: f64 = 0.1;
/// Coordinates that may stop at 0 before the system is factorised anew.
const MOST_FIXED: usize = 64;
/// Most passes in a row that read no records.
const MOST_CHEAP_PASSES: usize = 100;
/// Share of the accuracy asked for up to which passes are worth it that read no records.
const CHEAP_ACCURACY: f64 = 0.1;
/// Where the pairs of the kth of four columns start.
const FIRST_PAIR: [usize; 4] = [0, 0, 1, 3];
/// Rounds of passes and steps on the support that one model is worth.
const MOST_ROUNDS: usize = 5;

/// The model and its working set; the vectors are allocated once a run.
#[derive(Debug)]
pub(super) struct CoordinateDescent {
    /// Coordinates in the working set.
    working: Vec<usize>,
    /// h.
    pub curvatures: Vec<f64>,
    /// h where it is the same for all records.
    uniform: Option<f64>,
    total: f64,
    /// Mean and sum of squares of the columns seen since `curvatures` were `moments_of`; a NaN for others.
    moments: Vec<(f64, f64)>,
    moments_of: Vec<f64>,
    means: Vec<f64>,
    steps: Vec<f64>,
    /// Inner products of the columns of `working`, four after four, as far as a pass has needed them.
    pairs: Vec<[f64; 6]>,
    residual: Vec<f64>,
    offset: f64,
    ridge: f64,
    /// w, one entry a feature.
    weights: Vec<f64>,
    /// alpha w_j, by position in `working`.
    levels: Vec<f64>,
    /// Positions in `working` of the non-zeros with curvature.
    support: Vec<usize>,
    gradients: Vec<f64>,
    image: Vec<f64>,
    columns: Vec<usize>,
    clamped: Vec<f64>,
    moved: Vec<f64>,
    support_step: SupportStep,
    covariance: Covariance,
    /// Inner products that steps on the support may still spend.
    support_budget: f64,
}

impl CoordinateDescent {
    pub fn new(n_rows: usize, ridge: f64, weights: Vec<f64>) -> Self {
        Self {
            working: Vec::new(),
            curvatures: vec![0.0; n_rows],
            uniform: None,
            total: 0.0,
            moments: Vec::new(),
            moments_of: Vec::new(),
            means: Vec::new(),
            steps: Vec::new(),
            pairs: Vec::new(),
            residual: vec![0.0; n_rows],
            offset: 0.0,
            ridge,
            weights,
            levels: Vec::new(),
            support: Vec::new(),
            gradients: Vec::new(),
            image: vec![0.0; n_rows],
            columns: Vec::new(),
            clamped: Vec::new(),
            moved: Vec::new(),
            support_step: SupportStep::default(),
            covariance: Covariance::default(),
            support_budget: 0.0,
        }
    }

    /// The non-zeros, and of the coordinates that violate optimality at 0, |v_j| > alpha w_j, the worst.
    pub fn choose_working_set(&mut self, point: &Point, alpha: f64) {
        let theta = &point.theta;
        let size = |j: usize| point.correlations[j].abs() / self.weights[j];
        let working = &mut self.working;
        working.clear();
        working.extend((0..theta.len()).filter(|&j| theta[j] != 0.0));
        let kept = working.len();
        working.extend((0..theta.len()).filter(|&j| theta[j] == 0.0 && size(j) > alpha));
        let most = FEWEST_NEW.max(kept);
        let violators = &mut working[kept..];
        if violators.len() > most {
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
        self.offset = 0.0;
        self.residual.copy_from_slice(slopes);
        self.total = self.curvatures.iter().sum();
        if self.moments_of != self.curvatures {
            self.moments_of.clone_from(&self.curvatures);
            self.moments.clear();
            self.moments.resize(design.n_columns(), (0.0, f64::NAN));
            self.support_step.forget();
        }
        let first = self.curvatures[0];
        self.uniform = (self.curvatures.iter().all(|h| *h == first)).then_some(first);
        self.covariance.forget();
        self.pairs.clear();
        self.means.clear();
        self.steps.clear();
        self.levels.clear();
        for &j in &self.working {
            if self.moments[j].1.is_nan() {
                self.moments[j] = if centred {
                    design.centred_moments(j, &self.curvatures, self.total)
                } else {
                    (0.0, design.squared_norm(j, &self.curvatures))
                };
            }
            let (mean, square) = self.moments[j];
            let constant = square <= CONSTANT * self.total * mean * mean;
            self.means.push(mean);
            self.levels.push(alpha * self.weights[j]);
            self.steps
                .push(if constant { 0.0 } else { square } + self.ridge);
        }
    }

    /// Passes over the working set until they bring little; returns the change of model plus penalty.
    ///
    /// Passes may cost as much as the full gradient that follows them, and at least twenty are allowed. Where
    /// those do not suffice, steps on the support follow, which may cost as much as the passes so far.
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
            let mut passes = 0;
            if self.covariance.is_known() {
                (self.covariance).start(design, &self.working, &self.residual);
            }
            while passes < most || (self.covariance.is_known() && passes < MOST_CHEAP_PASSES) {
                if (self.covariance).is_due(design, &self.working, passes) {
                    (self.covariance).build(design, &self.working, &self.curvatures);
                    (self.covariance).start(design, &self.working, &self.residual);
                }
                let cheap = self.covariance.is_known();
                let decrease = if cheap {
                    -self.cheap_pass(theta)
                } else {
                    -self.pass(design, theta)
                };
                self.support_budget += pass_cost;
                passes += 1;
                run.count()?;
                total -= decrease;
                largest = largest.max(decrease);
                let worth = if cheap { CHEAP_ACCURACY } else { 1.0 };
                let accuracy = run.accuracy * worth;
                if decrease <= accuracy * largest.min(run.gap) || run.ends_model(-total) {
                    self.update_residual(design);
                    return Ok(total);
                }
            }
            self.update_residual(design);
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

    /// As [`Self::pass`], by the inner products of the working set alone: the residual waits for
    /// [`Self::update_residual`].
    fn cheap_pass(&mut self, theta: &mut [f64]) -> f64 {
        let mut change = 0.0;
        for k in 0..self.working.len() {
            let step = self.update(k, self.covariance.gradients[k], theta, &mut change);
            if step != 0.0 {
                self.covariance.add(k, step);
            }
        }
        change
    }

    /// Tells the residual what cheap passes have moved.
    fn update_residual<D: Design + ?Sized>(&mut self, design: &D) {
        if !self.covariance.is_known() {
            return;
        }
        let moved = &mut self.covariance.moved;
        match self.uniform {
            Some(h) => {
                moved.iter_mut().for_each(|step| *step *= h);
                design.add_columns(&self.working, moved, &mut self.residual);
            }
            None => design.add_scaled_columns(
                &self.working,
                moved,
                &self.curvatures,
                &mut self.residual,
            ),
        }
        moved.fill(0.0);
    }

    /// One pass over the working set: the exact change of model plus penalty, never positive.
    ///
    /// Dense columns come in fours: their gradients are taken together at the start, and what the updates before bring
    /// to each is known from the inner products of the four. These are the updates of one column after another, but the
    /// residual is read and written once for all four.
    fn pass<D: Design + ?Sized>(&mut self, design: &D, theta: &mut [f64]) -> f64 {
        let mut change = 0.0;
        let mut first = 0;
        while first + 4 <= self.working.len() {
            let columns = [0, 1, 2, 3].map(|k| self.working[first + k]);
            let mut gradients = [0.0; 4];
            if first / 4 == self.pairs.len() {
                match design.pair_products(columns, &self.curvatures) {
                    Some(pairs) => self.pairs.push(pairs),
                    None => break,
                }
            }
            design.dot_columns(&columns, &self.residual, &mut gradients);
            let pairs = self.pairs[first / 4];
            let mut scales = [0.0; 4];
            for k in 0..4 {
                for (pair, scale) in pairs[FIRST_PAIR[k]..].iter().zip(&scales[..k]) {
                    gradients[k] += pair * scale;
                }
                scales[k] = self.update(first + k, gradients[k], theta, &mut change);
            }
            self.add_to_residual(design, &columns, &scales);
            first += 4;
        }
        for k in first..self.working.len() {
            let j = self.working[k];
            if self.steps[k] == 0.0 && theta[j] == 0.0 {
                continue;
            }
            let gradient = design.dot(j, &self.residual);
            let step = self.update(k, gradient, theta, &mut change);
            self.add_to_residual(design, &[j], &[step]);
        }
        change
    }

    /// Minimises over the coordinate at position k, where <x_j, r> = `gradient`; returns the step that the residual has
    /// yet to be told, and adds to the change of model plus penalty.
    fn update(&mut self, k: usize, gradient: f64, theta: &mut [f64], change: &mut f64) -> f64 {
        let (mean, curvature, level) = (self.means[k], self.steps[k], self.levels[k]);
        let value = &mut theta[self.working[k]];
        let old = *value;
        if curvature == 0.0 {
            // The column is constant (or 0): the intercept does its work unpenalised.
            *change -= level * old.abs();
            *value = 0.0;
            return 0.0;
        }
        let gradient = gradient + self.offset * self.total * mean + self.ridge * old;
        let new = soft_threshold(curvature * old - gradient, level) / curvature;
        let step = new - old;
        if step != 0.0 {
            *change +=
                gradient * step + 0.5 * curvature * step * step + level * (new.abs() - old.abs());
            *value = new;
            self.offset -= step * mean;
        }
        step
    }

    /// r += h*(sum_k steps_k x_k).
    fn add_to_residual<D: Design + ?Sized>(
        &mut self,
        design: &D,
        columns: &[usize],
        steps: &[f64],
    ) {
        if steps.iter().all(|step| *step == 0.0) {
            return;
        }
        match self.uniform {
            Some(h) => {
                let mut scales = [0.0; 4];
                for (scale, step) in scales.iter_mut().zip(steps) {
                    *scale = step * h;
                }
                design.add_columns(columns, &scales[..columns.len()], &mut self.residual);
            }
            None => {
                design.add_scaled_columns(columns, steps, &self.curvatures, &mut self.residual);
            }
        }
    }

    /// Cost of one `pass` in inner products of a Gram matrix, which are faster than those of a pass.
    fn pass_cost(&self) -> f64 {
        3.0 * self.working.len() as f64
    }

    /// Cost of one `support_step` in inner products of a Gram matrix, roughly.
    ///
    /// Infinite where the step would need more memory than [`Design::most_scratch`]. Small factorisations count as
    /// free. So small dense problems take the same path whether rows are weighted or repeated, and end in the same
    /// point far below the tolerance.
    fn support_step_cost<D: Design + ?Sized>(&self, design: &D, theta: &[f64]) -> f64 {
        let per_column = design.n_stored().max(1) as f64 / design.n_columns() as f64;
        let support = self.working.iter().copied().filter(|&j| theta[j] != 0.0);
        let size = support.clone().count() as f64;
        if size * size > FREE_FACTORISATION.powi(2) + design.most_scratch() as f64 {
            return f64::INFINITY;
        }
        let unknown = match self.covariance.is_known() {
            true => 0.0,
            false => self.support_step.n_unknown(support) as f64,
        };
        let gram = unknown * (design.n_rows() as f64 / per_column + size - 0.5 * unknown)
            // The gradient and the image; no step is free, so that they end.
            + 4.0 * size.max(1.0);
        if size <= FREE_FACTORISATION {
            gram
        } else {
            gram + size.powi(3) / (6.0 * per_column)
        }
    }

    /// Newton's step on the support, and after every stop at 0 the step on what is left: the change of model
    /// plus penalty, never positive, and whether the last step went all the way. One factor serves them all.
    fn support_step<D: Design + ?Sized>(&mut self, design: &D, theta: &mut [f64]) -> (f64, bool) {
        let (working, steps) = (&self.working, &self.steps);
        self.support.clear();
        (self.support)
            .extend((0..working.len()).filter(|&k| theta[working[k]] != 0.0 && steps[k] > 0.0));
        if self.covariance.is_known() {
            let (support, means, covariance) = (&self.support, &self.means, &self.covariance);
            let product = |a: usize, b: usize| {
                let (a, b) = (support[a], support[b]);
                covariance.product(a, b) - self.total * means[a] * means[b]
            };
            (self.support_step).take(support.len(), product, self.ridge);
        } else {
            let columns = self.support.iter().map(|&k| (working[k], self.means[k]));
            (self.support_step).build(design, columns, &self.curvatures, self.ridge);
        }

        self.update_gradients(design, theta);
        if !self.support_step.solve(&self.gradients) {
            return (0.0, true);
        }
        self.moved.clear();
        self.moved.resize(self.support.len(), 0.0);
        let mut total = 0.0;
        while self.support_step.n_fixed() <= MOST_FIXED && self.support_step.aim(&self.moved) {
            let (change, t) = self.choose_step(design, theta);
            if !(t.is_finite() && change < 0.0) {
                return (total, true);
            }
            total += change;
            if !self.move_along(theta, t) {
                return (total, t >= 1.0 - 1e-6);
            }
            self.support_budget -= 4.0 * self.support.len() as f64;
            self.update_gradients(design, theta);
        }
        (total, false)
    }

    /// The gradient of model plus penalty on the support; 0 where theta is.
    fn update_gradients<D: Design + ?Sized>(&mut self, design: &D, theta: &[f64]) {
        self.columns.clear();
        (self.columns).extend(self.support.iter().map(|&k| self.working[k]));
        self.gradients.resize(self.support.len(), 0.0);
        design.dot_columns(&self.columns, &self.residual, &mut self.gradients);
        for (gradient, &k) in self.gradients.iter_mut().zip(&self.support) {
            let value = theta[self.working[k]];
            *gradient += self.offset * self.total * self.means[k]
                + self.ridge * value
                + self.levels[k].copysign(value);
            if value == 0.0 {
                *gradient = 0.0;
            }
        }
    }

    /// How far to go along the direction of the step, and the change of model plus penalty.
    ///
    /// Coordinates that would change their sign stop at 0, all at once: the direction is changed for that. Where it
    /// brings too little, a line search past the changes of sign.
    fn choose_step<D: Design + ?Sized>(&mut self, design: &D, theta: &[f64]) -> (f64, f64) {
        self.clamped.clear();
        let mut newton_slope = 0.0;
        for ((&k, direction), gradient) in (self.support.iter())
            .zip(&self.support_step.direction)
            .zip(&self.gradients)
        {
            let old = theta[self.working[k]];
            let stops = (old + direction) * old < 0.0;
            self.clamped.push(if stops { -old } else { *direction });
            newton_slope += direction * gradient;
        }
        if self.clamped != self.support_step.direction {
            std::mem::swap(&mut self.clamped, &mut self.support_step.direction);
            let (slope, curvature) = self.move_image(design);
            let change = slope + 0.5 * curvature;
            if change <= CLAMPED_SHARE * 0.5 * newton_slope {
                return (change, 1.0);
            }
            std::mem::swap(&mut self.clamped, &mut self.support_step.direction);
        }
        let (slope, curvature) = self.move_image(design);
        let kinks = (self.support.iter()).map(|&k| (theta[self.working[k]], self.levels[k]));
        let (t, change) = (self.support_step).line_search(kinks, slope, curvature);
        (change, t)
    }

    /// image = h*u for the change u of the centred scores along the direction of the step; its slope and
    /// curvature, which do not rely on the solve.
    fn move_image<D: Design + ?Sized>(&mut self, design: &D) -> (f64, f64) {
        self.image.fill(0.0);
        let (mut slope, mut curvature, mut shift) = (0.0, 0.0, 0.0);
        self.columns.clear();
        for ((&k, direction), gradient) in (self.support.iter())
            .zip(&self.support_step.direction)
            .zip(&self.gradients)
        {
            self.columns.push(self.working[k]);
            shift += direction * self.means[k];
            slope += direction * gradient;
            curvature += self.ridge * direction * direction;
        }
        design.add_columns(&self.columns, &self.support_step.direction, &mut self.image);
        for (image, h) in self.image.iter_mut().zip(&self.curvatures) {
            let change = *image - shift;
            *image = h * change;
            curvature += *image * change;
        }
        (slope, curvature)
    }

    /// Moves theta by t times the direction of the step whose image is at hand. Whether entries have stopped at 0 and
    /// none has passed it, so that the same factor serves the next step.
    fn move_along(&mut self, theta: &mut [f64], t: f64) -> bool {
        let (mut stopped, mut passed) = (false, false);
        for (at, &k) in self.support.iter().enumerate() {
            let direction = self.support_step.direction[at];
            let value = &mut theta[self.working[k]];
            let old = *value;
            if old == 0.0 {
                continue;
            }
            // The same expression as in the line search: a coordinate whose kink stopped it becomes exactly
            // 0.
            *value = if -old / direction == t {
                0.0
            } else {
                old + t * direction
            };
            self.moved[at] += *value - old;
            passed |= *value * old < 0.0;
            if *value == 0.0 {
                stopped = true;
                self.support_step.fix(at);
            }
        }
        for (residual, image) in self.residual.iter_mut().zip(&self.image) {
            *residual += t * image;
        }
        stopped && !passed
    }
}

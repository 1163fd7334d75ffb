//! Accelerated proximal gradient steps on a quadratic model of the risk plus any norm, over a working set, with
//! Newton's steps on the ties and zeros that the prox finds.
//!
//! At a point with weighted slopes d the model of the change of the risk under a change u of z is sum_i d_i u_i + h_i
//! (u_i - m)^2/2, m the h-weighted mean of u: the intercept moves along (0 without one), and sum_i d_i = 0. The steps
//! are those of Beck & Teboulle (2009), restarted where the objective rises (O'Donoghue & Candes 2015). They find the
//! ties and zeros of the minimiser after finitely many steps; from there the Newton steps of [`ClusterStep`] take over
//! (Bareilles, Iutzeler & Malick 2023).

use super::cluster_step::ClusterStep;
use super::line_search::{Line, LineSearch};
use super::point::Point;
use super::regulariser::Omega;
use super::run::Run;
use super::{Design, Problem};
use crate::error::Result;
use crate::numeric::vectors::dot;

/// New features that enter the working set at a time; as many as there are non-zeros where those are more.
const FEWEST_NEW: usize = 256;
/// Growth of the constant L where a step shows it to be too small.
const GROWTH: f64 = 1.1;
/// Least and most gradient steps between two Newton steps.
const FEWEST_BETWEEN: usize = 2;
const MOST_BETWEEN: usize = 30;
/// Share of the gain that a Newton step promises; below it follows a line search.
const SHARE: f64 = 0.1;
/// Share of the penalty below which a gain cannot be told from rounding.
const HIDDEN: f64 = 1e-13;

/// A point of the model; vectors indexed by feature are as long as theta, whatever the working set is.
#[derive(Debug, Default)]
struct Iterate {
    theta: Vec<f64>,
    /// The change of the centred z since the start.
    image: Vec<f64>,
}

/// The model and its working set; the vectors are allocated once a run.
#[derive(Debug)]
pub(super) struct AcceleratedGradient {
    working: Vec<usize>,
    /// h.
    pub curvatures: Vec<f64>,
    slopes: Vec<f64>,
    /// Sum of h where there is an intercept, otherwise infinite, which makes means 0.
    total: f64,
    ridge: f64,
    alpha: f64,
    /// L, the largest curvature of the model met so far.
    lipschitz: f64,
    present: Iterate,
    extrapolated: Iterate,
    next: Iterate,
    /// d + h*image.
    residual: Vec<f64>,
    /// By position in the working set.
    gradient: Vec<f64>,
    differences: Vec<f64>,
    forward: Vec<f64>,
    cluster_step: ClusterStep,
    line_search: LineSearch,
    /// Multiplications that Newton steps may still spend.
    budget: f64,
    between: usize,
}

impl AcceleratedGradient {
    pub fn new<D: Design + ?Sized>(problem: &Problem<'_, D>) -> Self {
        let (n, p) = (problem.design().n_rows(), problem.design().n_columns());
        let iterate = || Iterate {
            theta: vec![0.0; p],
            image: vec![0.0; n],
        };
        Self {
            working: Vec::new(),
            curvatures: vec![0.0; n],
            slopes: vec![0.0; n],
            total: f64::INFINITY,
            ridge: problem.ridge(),
            alpha: 0.0,
            lipschitz: 0.0,
            present: iterate(),
            extrapolated: iterate(),
            next: iterate(),
            residual: vec![0.0; n],
            gradient: Vec::new(),
            differences: Vec::new(),
            forward: vec![0.0; p],
            cluster_step: ClusterStep::default(),
            line_search: LineSearch::default(),
            budget: 0.0,
            between: FEWEST_BETWEEN,
        }
    }

    /// The non-zeros and what a proximal gradient step on all features makes non-zero, at first the largest of those;
    /// everything where Omega has a kernel.
    pub fn choose_working_set<D: Design + ?Sized>(
        &mut self,
        problem: &Problem<'_, D>,
        omega: &mut Omega<'_>,
        point: &Point,
        alpha: f64,
    ) -> Result<()> {
        let theta = &point.theta;
        self.working.clear();
        if !omega.kernel.is_empty() {
            self.working.extend(0..theta.len());
            return Ok(());
        }
        // At theta = 0 the support of the prox is the same for every step.
        let step = if self.lipschitz > 0.0 {
            1.0 / self.lipschitz
        } else {
            1.0
        };
        for ((v, t), g) in (self.forward.iter_mut())
            .zip(theta)
            .zip(&point.correlations)
        {
            *v = t - step * (g + problem.ridge() * t);
        }
        let image = &mut self.next.theta;
        omega.prox(&self.forward, step * alpha, image)?;
        let kept = theta.iter().filter(|&&t| t != 0.0).count();
        let most = FEWEST_NEW.max(kept);
        let mut sizes: Vec<f64> = (image.iter().zip(theta))
            .filter(|(x, t)| **t == 0.0 && **x != 0.0)
            .map(|(x, _)| x.abs())
            .collect();
        // Ties enter together.
        let least = if sizes.len() > most {
            *sizes.select_nth_unstable_by(most, |a, b| b.total_cmp(a)).1
        } else {
            0.0
        };
        self.working.extend(
            (0..theta.len())
                .filter(|&j| theta[j] != 0.0 || (image[j] != 0.0 && image[j].abs() >= least)),
        );
        self.forward.fill(0.0);
        Ok(())
    }

    /// Builds the model at a point with weighted slopes `slopes`.
    pub fn reset<D: Design + ?Sized>(
        &mut self,
        problem: &Problem<'_, D>,
        slopes: &[f64],
        alpha: f64,
    ) {
        self.alpha = alpha;
        self.slopes.copy_from_slice(slopes);
        self.total = if problem.fit_intercept() {
            self.curvatures.iter().sum()
        } else {
            f64::INFINITY
        };
    }

    /// Moves theta until steps bring little; returns the change of model plus penalty.
    pub fn minimise<D: Design + ?Sized>(
        &mut self,
        design: &D,
        omega: &mut Omega<'_>,
        theta: &mut [f64],
        run: &mut Run<'_>,
    ) -> Result<f64> {
        let started = run.n_iter();
        self.present.theta.copy_from_slice(theta);
        self.present.image.fill(0.0);
        let mut value = self.value(omega, Which::Present)?;
        // Summed by itself: gains of Newton steps may be far below the rounding of `value`.
        let mut total = 0.0;
        let mut largest = 0.0f64;
        let mut momentum = 1.0f64;
        let mut since_newton = 0;
        self.restart();
        loop {
            if !self.proximal_step(design, omega)? {
                // L has grown.
                momentum = 1.0;
                self.restart();
                continue;
            }
            let next = self.value(omega, Which::Next)?;
            run.count()?;
            self.budget += 2.0 * design.n_rows() as f64 * self.working.len() as f64;
            let mut decrease = value - next;
            let stalled = decrease.is_nan() || decrease <= 0.0;
            if stalled && momentum > 1.0 && !run.is_over() {
                momentum = 1.0;
                self.restart();
                continue;
            }
            if stalled {
                // Rounding hides what a gradient step brings, but perhaps not what Newton's does.
                decrease = 0.0;
            } else {
                value = next;
                let larger = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
                self.advance((momentum - 1.0) / larger);
                momentum = larger;
            }
            since_newton += 1;
            if since_newton >= self.between || stalled {
                since_newton = 0;
                // Where nothing was gained so far nothing else is left, whatever it costs.
                let saved = self.budget;
                if stalled && total == 0.0 {
                    self.budget = f64::INFINITY;
                }
                let gain = self.newton_steps(design, omega, value)?;
                self.budget = self.budget.min(saved);
                if gain > 0.0 {
                    self.between = (self.between / 2).max(FEWEST_BETWEEN);
                    value -= gain;
                    decrease += gain;
                    momentum = 1.0;
                    self.restart();
                } else {
                    self.between = (self.between * 2).min(MOST_BETWEEN);
                }
            }
            total -= decrease;
            largest = largest.max(decrease);
            if decrease <= run.accuracy * largest.min(run.gap) || run.ends_model(-total) {
                break;
            }
            // A model that starts anew has lost its momentum: exact ones go on.
            if run.doubts && run.ends_passes(run.n_iter() - started, -total) {
                break;
            }
        }
        theta.copy_from_slice(&self.present.theta);
        Ok(total)
    }

    /// Extrapolates from the present iterate, without momentum.
    fn restart(&mut self) {
        (self.extrapolated.theta).copy_from_slice(&self.present.theta);
        (self.extrapolated.image).copy_from_slice(&self.present.image);
    }

    /// The next iterate becomes the present one, and the extrapolated one goes `share` of the last step beyond it.
    fn advance(&mut self, share: f64) {
        std::mem::swap(&mut self.present, &mut self.next);
        let (new, old) = (&self.present, &self.next);
        for (out, (a, b)) in
            (self.extrapolated.theta.iter_mut()).zip(new.theta.iter().zip(&old.theta))
        {
            *out = a + share * (a - b);
        }
        for (out, (a, b)) in
            (self.extrapolated.image.iter_mut()).zip(new.image.iter().zip(&old.image))
        {
            *out = a + share * (a - b);
        }
    }

    /// gradient = that of the smooth part of the model at an iterate, on the working set.
    fn update_gradient<D: Design + ?Sized>(&mut self, design: &D, which: Which) {
        let at = match which {
            Which::Present => &self.present,
            _ => &self.extrapolated,
        };
        for (((r, d), h), u) in (self.residual.iter_mut())
            .zip(&self.slopes)
            .zip(&self.curvatures)
            .zip(&at.image)
        {
            *r = d + h * u;
        }
        self.gradient.resize(self.working.len(), 0.0);
        design.dot_columns(&self.working, &self.residual, &mut self.gradient);
        for (g, &j) in self.gradient.iter_mut().zip(&self.working) {
            *g += self.ridge * at.theta[j];
        }
    }

    /// next = prox of the gradient step from the extrapolated iterate; false where that showed L to be too small.
    fn proximal_step<D: Design + ?Sized>(
        &mut self,
        design: &D,
        omega: &mut Omega<'_>,
    ) -> Result<bool> {
        self.update_gradient(design, Which::Extrapolated);
        if self.lipschitz == 0.0 {
            self.lipschitz = self.curvature_along_gradient(design);
        }
        let from = &self.extrapolated;
        for (&j, g) in self.working.iter().zip(&self.gradient) {
            self.forward[j] = from.theta[j] - g / self.lipschitz;
        }
        let step = self.alpha / self.lipschitz;
        let outcome = omega.prox(&self.forward, step, &mut self.next.theta);
        self.working.iter().for_each(|&j| self.forward[j] = 0.0);
        outcome?;
        self.differences.clear();
        for &j in &self.working {
            let difference = self.next.theta[j] - self.extrapolated.theta[j];
            self.differences.push(difference);
        }
        let square: f64 = self.differences.iter().map(|d| d * d).sum();
        let curvature = self.finish_next(design, Which::Extrapolated) + self.ridge * square;
        if curvature > self.lipschitz * square * (1.0 + 1e-9) {
            self.lipschitz = GROWTH * curvature / square;
            return Ok(false);
        }
        Ok(true)
    }

    /// A lower bound on L that is close to it where few directions dominate.
    fn curvature_along_gradient<D: Design + ?Sized>(&mut self, design: &D) -> f64 {
        let image = &mut self.next.image;
        image.fill(0.0);
        design.add_columns(&self.working, &self.gradient, image);
        centre(image, &self.curvatures, self.total);
        let square: f64 = self.gradient.iter().map(|g| g * g).sum();
        let curvature: f64 = (image.iter().zip(&self.curvatures))
            .map(|(u, h)| u * u * h)
            .sum();
        let lipschitz = curvature / square + self.ridge;
        if lipschitz.is_finite() && lipschitz > 0.0 {
            lipschitz
        } else {
            1.0
        }
    }

    /// Model plus penalty at an iterate, up to a constant.
    fn value(&self, omega: &Omega<'_>, which: Which) -> Result<f64> {
        let at = match which {
            Which::Next => &self.next,
            _ => &self.present,
        };
        let smooth: f64 = (at.image.iter().zip(&self.slopes))
            .zip(&self.curvatures)
            .map(|((u, d), h)| u * (d + 0.5 * h * u))
            .sum();
        let square: f64 = self
            .working
            .iter()
            .map(|&j| at.theta[j] * at.theta[j])
            .sum();
        Ok(smooth + 0.5 * self.ridge * square + self.alpha * omega.value(&at.theta)?)
    }

    /// Newton's steps until none ends at a kink: by how much model plus penalty, now `value`, fall.
    fn newton_steps<D: Design + ?Sized>(
        &mut self,
        design: &D,
        omega: &Omega<'_>,
        value: f64,
    ) -> Result<f64> {
        let mut total = 0.0;
        loop {
            let (gain, stopped) = self.newton_step(design, omega, value - total)?;
            total += gain.max(0.0);
            // What stopped at a kink has left the system: the smaller one is next.
            if !stopped || gain <= 0.0 {
                return Ok(total);
            }
        }
    }

    /// Newton's step on the present ties and zeros: by how much model plus penalty, now `value`, fall (0 where the
    /// budget or the step does not allow it), and whether an entry stopped it at 0.
    fn newton_step<D: Design + ?Sized>(
        &mut self,
        design: &D,
        omega: &Omega<'_>,
        value: f64,
    ) -> Result<(f64, bool)> {
        if omega.group_lasso().is_some() {
            return Ok((0.0, false)); // not linear on any cone
        }
        (self.cluster_step).find_clusters(&self.present.theta, &self.working);
        let cost = self.cluster_step.cost(design);
        if cost > self.budget || cost == 0.0 || cost == f64::INFINITY {
            return Ok((0.0, false));
        }
        self.budget -= cost;
        self.update_gradient(design, Which::Present);
        omega.vertex(&self.present.theta, &mut self.forward)?;
        for (g, &j) in self.gradient.iter_mut().zip(&self.working) {
            *g += self.alpha * self.forward[j];
        }
        let centre = (self.curvatures.as_slice(), self.total);
        let slope = (self.cluster_step).direction(
            design,
            &self.working,
            &self.gradient,
            centre,
            self.ridge,
        );
        let penalty_slope: f64 = (self.cluster_step.direction.iter().zip(&self.working))
            .map(|(d, &j)| self.alpha * self.forward[j] * d)
            .sum();
        self.working.iter().for_each(|&j| self.forward[j] = 0.0);
        let Some(slope) = slope else {
            return Ok((0.0, false));
        };
        // Entries that would change their sign stop at 0; if that is no good, a line search.
        self.differences.clear();
        for (d, &j) in self.cluster_step.direction.iter().zip(&self.working) {
            let from = self.present.theta[j];
            let stopped = (from + d) * from < 0.0;
            self.differences.push(if stopped { -from } else { *d });
            self.next.theta[j] = if stopped { 0.0 } else { from + d };
        }
        self.finish_next(design, Which::Present);
        let mut gain = value - self.value(omega, Which::Next)?;
        let mut stopped = false;
        if -slope <= HIDDEN * self.alpha.abs() * omega.value(&self.present.theta)? {
            // Rounding hides the gain; the gradient does not rely on it.
            gain = -0.5 * slope;
        } else if gain < SHARE * -0.5 * slope {
            (gain, stopped) = self.search_along(design, omega, (slope, penalty_slope), value)?;
        }
        if gain > 0.0 {
            std::mem::swap(&mut self.present, &mut self.next);
        }
        Ok((gain, stopped))
    }

    /// next = the best point between the present one and the end of the cluster step, whose slope and the
    /// penalty's part of it are given; the gain there, and whether an
    /// entry stopped there at 0.
    fn search_along<D: Design + ?Sized>(
        &mut self,
        design: &D,
        omega: &Omega<'_>,
        (slope, penalty_slope): (f64, f64),
        value: f64,
    ) -> Result<(f64, bool)> {
        self.differences.clone_from(&self.cluster_step.direction);
        let line = Line {
            working: &self.working,
            from: &self.present.theta,
            direction: &self.differences,
            // At t = 0 the penalty's part of the slope is linear; a Newton step has curvature = -slope.
            slope: slope - penalty_slope,
            curvature: -slope,
            alpha: self.alpha,
        };
        let stopped = (self.line_search).minimise(&line, omega)?;
        let reached = self.line_search.reached();
        for (d, &j) in self.differences.iter_mut().zip(&self.working) {
            *d = reached[j] - self.present.theta[j];
            self.next.theta[j] = reached[j];
        }
        self.finish_next(design, Which::Present);
        Ok((value - self.value(omega, Which::Next)?, stopped))
    }

    /// next.image = that of `which` plus the centred X `differences`; returns the model's curvature along the
    /// differences.
    fn finish_next<D: Design + ?Sized>(&mut self, design: &D, which: Which) -> f64 {
        let from = match which {
            Which::Present => &self.present,
            _ => &self.extrapolated,
        };
        let image = &mut self.next.image;
        image.fill(0.0);
        design.add_columns(&self.working, &self.differences, image);
        centre(image, &self.curvatures, self.total);
        let mut curvature = 0.0;
        for ((u, h), from) in image.iter_mut().zip(&self.curvatures).zip(&from.image) {
            curvature += *u * *u * h;
            *u += from;
        }
        curvature
    }
}

/// Which iterate a method reads.
#[derive(Clone, Copy)]
enum Which {
    Present,
    Extrapolated,
    Next,
}

/// Subtracts the h-weighted mean; an infinite `total` makes it 0.
pub(super) fn centre(image: &mut [f64], h: &[f64], total: f64) {
    if total.is_finite() {
        let mean = dot(image, h) / total;
        image.iter_mut().for_each(|u| *u -= mean);
    }
}

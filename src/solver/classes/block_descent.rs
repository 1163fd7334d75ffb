//! Block coordinate descent on the quadratic model of the softmax risk plus penalty, a feature at a time.
//!
//! At a point with slopes S = P - Y the model of the change of the risk under a change U of the scores is
//!
//! ```text
//! sum_i w_i (<s_i, u_i> + <u_i, (diag(p_i) - p_i p_i') u_i>/2)
//! ```
//!
//! Its derivative R, K planes of n entries, is what passes keep. All coefficients of a feature move together: their
//! model has the Hessian H_j = sum_i w_i x_ij^2 (diag(p_i) - p_i p_i'), and its minimum with the penalty is approached
//! in K dimensions, at no cost in records. Adding a constant to them changes no score that matters, so they are shifted
//! to where the penalty is least: descent alone would creep along that direction. The intercepts are the coefficients
//! of a column of ones without a penalty.
//!
//! A column far from centred that moved alone would undo what the intercepts have reached, and they what it has. Sparse
//! columns cannot be centred in memory. So a step s of the coefficients of feature j takes m_j s, m_j its mean, from
//! the intercepts, as if the column were centred. What the steps of a pass take from them, c, is not written into R,
//! which would cost all records at every step, but kept beside it: with G_j = sum_i w_i x_ij (diag(p_i) - p_i p_i') and
//! H_0 the Hessian of the intercepts
//!
//! ```text
//! slope of the step     <x_j, R> + G_j c - m_j T,      T = sum_i r_i + H_0 c, which moves by G_j s - m_j H_0 s
//! its Hessian           H_j - 2 m_j G_j + m_j^2 H_0
//! ```

use super::ClassProblem;
use super::design::add_coupled;
use super::norm::{Block, ClassNorm};
use super::point::Point;
use crate::error::Result;
use crate::numeric::vectors::dot;
use crate::solver::run::Run;
use rayon::prelude::*;

/// Violators that enter the working set at a time; as many as there are non-zeros where those are more.
const FEWEST_NEW: usize = 32;
/// Passes that a model is worth at least, and those of a model that is to be as accurate as can be.
const FEWEST_PASSES: usize = 20;
const PRECISE_PASSES: usize = 1000;
/// Least accuracy of a model.
pub(super) const LEAST_ACCURACY: f64 = 1e-12;
/// Share of the curvature of equal probabilities that every step counts on: probabilities of 0 and 1 have none.
const LEAST_CURVATURE: f64 = 1e-8;

/// The model and its working set.
#[derive(Debug)]
pub(super) struct BlockDescent {
    norm: ClassNorm,
    /// Features in the working set.
    working: Vec<usize>,
    /// H of every one, a square each.
    hessians: Vec<f64>,
    /// Least curvature of every one.
    least: Vec<f64>,
    /// What columns need that vie with the intercepts; None: there are no such.
    lean: Option<Lean>,
    /// H of the intercepts.
    of_intercepts: Vec<f64>,
    ones: Vec<f64>,
    /// P and R.
    probabilities: Vec<f64>,
    residual: Vec<f64>,
    alpha: f64,
    gradient: Vec<f64>,
    step: Vec<f64>,
    scratch: Vec<f64>,
}

/// How the features of the working set lean on the intercepts.
#[derive(Debug)]
struct Lean {
    /// m of every one.
    means: Vec<f64>,
    /// G of every one, a square each.
    firsts: Vec<f64>,
    /// c.
    taken: Vec<f64>,
    /// T.
    totals: Vec<f64>,
}

impl Lean {
    fn new(n_classes: usize) -> Self {
        Self {
            means: Vec::new(),
            firsts: Vec::new(),
            taken: vec![0.0; n_classes],
            totals: vec![0.0; n_classes],
        }
    }

    /// The slope of a step that leans, from that of the feature alone.
    fn tilt(&self, position: usize, slope: &mut [f64]) {
        let (k, mean) = (slope.len(), self.means[position]);
        let first = self.firsts[position * k * k..][..k * k].chunks_exact(k);
        for ((slope, row), total) in slope.iter_mut().zip(first).zip(&self.totals) {
            *slope += dot(row, &self.taken) - mean * total;
        }
    }

    /// Takes note of a step.
    fn take(&mut self, position: usize, step: &[f64], of_intercepts: &[f64]) {
        let (k, mean) = (step.len(), self.means[position]);
        let first = self.firsts[position * k * k..][..k * k].chunks_exact(k);
        let rows = first.zip(of_intercepts.chunks_exact(k));
        for (total, (first, own)) in self.totals.iter_mut().zip(rows) {
            *total += dot(first, step) - mean * dot(own, step);
        }
        for (taken, step) in self.taken.iter_mut().zip(step) {
            *taken -= mean * step;
        }
    }
}

impl BlockDescent {
    pub fn new(problem: &ClassProblem<'_>, norm: ClassNorm) -> Self {
        let (n, k) = (problem.targets().len(), problem.n_classes());
        Self {
            norm,
            working: Vec::new(),
            hessians: Vec::new(),
            least: Vec::new(),
            lean: problem.vies().then(|| Lean::new(k)),
            of_intercepts: vec![0.0; k * k],
            ones: vec![1.0; n],
            probabilities: vec![0.0; n * k],
            residual: vec![0.0; n * k],
            alpha: 0.0,
            gradient: vec![0.0; k],
            step: vec![0.0; k],
            scratch: vec![0.0; 2 * k],
        }
    }

    /// The features with coefficients, and of those that violate optimality at 0 the worst.
    pub fn choose_working_set(&mut self, point: &Point, alpha: f64) {
        let k = self.gradient.len();
        let used = |j: usize| {
            point.coefficients()[j * k..j * k + k]
                .iter()
                .any(|t| *t != 0.0)
        };
        let size = |j: usize| {
            self.norm
                .dual_of_feature(&point.correlations[j * k..j * k + k])
        };
        let n_features = point.correlations.len() / k;
        let working = &mut self.working;
        working.clear();
        working.extend((0..n_features).filter(|&j| used(j)));
        let kept = working.len();
        working.extend((0..n_features).filter(|&j| !used(j) && size(j) > alpha));
        let most = FEWEST_NEW.max(kept);
        let violators = &mut working[kept..];
        if violators.len() > most {
            violators.select_nth_unstable_by(most, |&i, &j| size(j).total_cmp(&size(i)));
            working.truncate(kept + most);
        }
        working[kept..].sort_unstable();
    }

    /// The model at `point` for the present working set.
    pub fn reset(&mut self, problem: &ClassProblem<'_>, point: &Point, alpha: f64) {
        self.alpha = alpha;
        let (n, k) = (problem.targets().len(), problem.n_classes());
        let (design, weights) = (problem.design(), problem.weights());
        for (class, slopes) in point.slopes.chunks_exact(n).enumerate() {
            let plane = class * n..class * n + n;
            let p = self.probabilities[plane.clone()].iter_mut();
            let r = self.residual[plane].iter_mut();
            let records = slopes.iter().zip(problem.targets()).zip(weights);
            for ((p, r), ((s, y), w)) in p.zip(r).zip(records) {
                *p = s + f64::from(u8::from(*y == class as f64));
                *r = w * s;
            }
        }
        self.hessians.clear();
        self.hessians.resize(self.working.len() * k * k, 0.0);
        if let Some(lean) = &mut self.lean {
            let means = self.working.par_iter().with_min_len(16);
            (means.map(|&j| design.dot(j, weights))).collect_into_vec(&mut lean.means);
            lean.firsts.clear();
            lean.firsts.resize(self.working.len() * k * k, 0.0);
        }
        let mut h = vec![0.0; n];
        for a in 0..k {
            for b in 0..=a {
                let (p, q) = (
                    &self.probabilities[a * n..][..n],
                    &self.probabilities[b * n..][..n],
                );
                let same = f64::from(u8::from(a == b));
                for (h, ((p, q), w)) in h.iter_mut().zip(p.iter().zip(q).zip(weights)) {
                    *h = w * p * (same - q);
                }
                let squares = self.hessians.par_chunks_mut(k * k).zip(&self.working);
                squares.with_min_len(4).for_each(|(square, &j)| {
                    let sum = design.weighted_square(j, &h);
                    (square[a * k + b], square[b * k + a]) = (sum, sum);
                });
                if let Some(lean) = &mut self.lean {
                    let squares = lean.firsts.par_chunks_mut(k * k).zip(&self.working);
                    squares.with_min_len(4).for_each(|(square, &j)| {
                        let sum = design.dot(j, &h);
                        (square[a * k + b], square[b * k + a]) = (sum, sum);
                    });
                }
                let sum = h.iter().sum();
                (self.of_intercepts[a * k + b], self.of_intercepts[b * k + a]) = (sum, sum);
            }
        }
        let squares = self.working.par_iter().with_min_len(16);
        let least = squares.map(|&j| LEAST_CURVATURE / k as f64 * design.squared_norm(j, weights));
        least.collect_into_vec(&mut self.least);
        if let Some(lean) = &self.lean {
            let squares = self.hessians.chunks_exact_mut(k * k);
            let of_features = squares.zip(lean.firsts.chunks_exact(k * k));
            for ((square, first), mean) in of_features.zip(&lean.means) {
                let all = square.iter_mut().zip(first).zip(&self.of_intercepts);
                for ((h, g), own) in all {
                    *h += mean * (mean * own - 2.0 * g);
                }
            }
        }
    }

    /// Passes over the working set until they bring little; returns by how much model plus penalty have fallen at
    /// least.
    pub fn minimise(
        &mut self,
        problem: &ClassProblem<'_>,
        parameters: &mut [f64],
        run: &mut Run<'_>,
    ) -> Result<f64> {
        let n_features = problem.design().n_columns();
        let most = if run.accuracy <= LEAST_ACCURACY {
            PRECISE_PASSES
        } else {
            (n_features / self.working.len().max(1)).max(FEWEST_PASSES)
        };
        let (mut total, mut largest) = (0.0, 0.0f64);
        for _ in 0..most {
            let decrease = self.pass(problem, parameters);
            run.count()?;
            total += decrease;
            largest = largest.max(decrease);
            if decrease <= run.accuracy * largest.min(run.gap) || run.ends_model(total) {
                break;
            }
        }
        Ok(total)
    }

    /// One pass over the working set and the intercepts; returns what [`Block::update`] does.
    fn pass(&mut self, problem: &ClassProblem<'_>, parameters: &mut [f64]) -> f64 {
        let (design, k) = (problem.design(), problem.n_classes());
        let (n, weights) = (problem.targets().len(), problem.weights());
        let (coefficients, intercepts) = parameters.split_at_mut(design.n_columns() * k);
        let mut sum = 0.0;
        if let Some(lean) = &mut self.lean {
            lean.taken.fill(0.0);
            for (total, plane) in lean.totals.iter_mut().zip(self.residual.chunks_exact(n)) {
                *total = dot(plane, &self.ones);
            }
        }
        for position in 0..self.working.len() {
            let j = self.working[position];
            for (slope, plane) in self.gradient.iter_mut().zip(self.residual.chunks_exact(n)) {
                *slope = design.dot(j, plane);
            }
            if let Some(lean) = &self.lean {
                lean.tilt(position, &mut self.gradient);
            }
            let block = Block {
                hessian: &self.hessians[position * k * k..][..k * k],
                least: self.least[position],
                alpha: self.alpha,
                ridge: problem.ridge(),
            };
            let theta = &mut coefficients[j * k..][..k];
            sum += block.update(
                self.norm,
                &self.gradient,
                theta,
                &mut self.step,
                &mut self.scratch,
            );
            if self.step.iter().any(|step| *step != 0.0) {
                design.add_coupled(
                    j,
                    &self.step,
                    &self.probabilities,
                    weights,
                    &mut self.residual,
                );
                if let Some(lean) = &mut self.lean {
                    lean.take(position, &self.step, &self.of_intercepts);
                }
            }
        }
        if problem.fit_intercept() {
            sum += self.update_intercepts(problem, intercepts);
        }
        sum
    }

    /// The block of the intercepts, which take what columns leaned on them, too; returns what [`Block::update`] does.
    fn update_intercepts(&mut self, problem: &ClassProblem<'_>, intercepts: &mut [f64]) -> f64 {
        let (n, k) = (problem.targets().len(), problem.n_classes());
        for (slope, plane) in self.gradient.iter_mut().zip(self.residual.chunks_exact(n)) {
            *slope = dot(plane, &self.ones);
        }
        if let Some(lean) = &self.lean {
            let rows = self.of_intercepts.chunks_exact(k);
            for (slope, row) in self.gradient.iter_mut().zip(rows) {
                *slope += dot(row, &lean.taken);
            }
            (intercepts.iter_mut().zip(&lean.taken)).for_each(|(b, taken)| *b += taken);
        }
        let block = Block {
            hessian: &self.of_intercepts,
            least: LEAST_CURVATURE / k as f64,
            alpha: 0.0,
            ridge: 0.0,
        };
        // Without penalties the two norms differ in nothing but the steps.
        let l1 = ClassNorm::L1;
        let change = block.update(
            l1,
            &self.gradient,
            intercepts,
            &mut self.step,
            &mut self.scratch,
        );
        if let Some(lean) = &self.lean {
            (self.step.iter_mut().zip(&lean.taken)).for_each(|(step, taken)| *step += taken);
        }
        add_coupled(
            &self.ones,
            &self.step,
            &self.probabilities,
            problem.weights(),
            &mut self.residual,
        );
        change
    }
}

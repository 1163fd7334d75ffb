use super::duality_gap::{Dual, balance};
use super::{ClassNorm, ClassProblem, ClassStart};
use crate::error::{Error, Result};
use crate::loss::Model;
use rayon::prelude::*;

/// Records whose losses are added up together: the sums do not depend on the number of threads.
const BLOCK: usize = 1024;
/// Bound on the rounding errors of a loss or a slope, in units of epsilon times its size.
const ROUNDING: f64 = 8.0;

/// Theta and b with what is derived from them. Scores, slopes and the dual point hold K planes of n entries.
#[derive(Debug, Clone)]
pub(super) struct Point {
    /// Theta, feature by feature, and b at the end, for the centred X.
    pub parameters: Vec<f64>,
    /// Z = X Theta + b.
    scores: Vec<f64>,
    /// sum_i w_i l(z_i; y_i) + (ridge/2)|Theta|^2.
    pub risk: f64,
    /// Omega(Theta).
    pub norm: f64,
    /// Bound on the rounding error of `risk` and of the dual values made from `dual`.
    pub rounding: f64,
    /// P - Y.
    pub slopes: Vec<f64>,
    /// The dual point A: the slopes, balanced such that sum_i w_i a_ik = 0 for every class where there are intercepts.
    dual: Vec<f64>,
    /// X' (w A), feature by feature.
    pub correlations: Vec<f64>,
    /// Of the correlations.
    sizes: Vec<f64>,
}

impl Point {
    /// Theta = 0 with the best intercepts, ln of the classes' shares.
    pub fn zero(problem: &ClassProblem<'_>, norm: ClassNorm) -> Result<Self> {
        let (n, k) = (problem.targets().len(), problem.n_classes());
        let p = problem.design().n_columns();
        let mut parameters = vec![0.0; p * k];
        let best = |share: &f64| {
            if problem.fit_intercept() {
                share.ln()
            } else {
                0.0
            }
        };
        parameters.extend(problem.shares().iter().map(best));
        let mut point = Self {
            parameters,
            scores: vec![0.0; n * k],
            risk: 0.0,
            norm: 0.0,
            rounding: 0.0,
            slopes: vec![0.0; n * k],
            dual: vec![0.0; n * k],
            correlations: vec![0.0; p * k],
            sizes: Vec::new(),
        };
        point.update_primal(problem, norm);
        point.update_dual(problem, norm);
        if !point.is_finite() {
            return Err(Error::InvalidData(
                "X must be scaled down: already at theta = 0 the gradient is beyond the range of double precision"
                    .into(),
            ));
        }
        Ok(point)
    }

    /// Theta.
    pub fn coefficients(&self) -> &[f64] {
        &self.parameters[..self.correlations.len()]
    }

    /// The dual point.
    pub fn dual(&self) -> Dual<'_> {
        Dual {
            slopes: &self.dual,
            sizes: &self.sizes,
        }
    }

    fn is_finite(&self) -> bool {
        let mut numbers = [self.risk, self.rounding]
            .into_iter()
            .chain(self.correlations.iter().copied());
        numbers.all(f64::is_finite)
    }

    /// To a start.
    pub fn move_to(
        &mut self,
        start: ClassStart<'_>,
        problem: &ClassProblem<'_>,
        norm: ClassNorm,
    ) -> Result<()> {
        let numbers = start.coefficients.iter().chain(start.intercepts);
        if start.coefficients.len() != self.correlations.len()
            || start.intercepts.len() != problem.n_classes()
            || !numbers.clone().all(|t| t.is_finite())
        {
            return Err(Error::InvalidData(
                "the start must hold one finite coefficient per class and column of X, and one intercept per class"
                    .into(),
            ));
        }
        self.parameters.clear();
        self.parameters.extend(numbers);
        if problem.fit_intercept() {
            let offsets = problem.offsets(start.coefficients);
            let intercepts = &mut self.parameters[start.coefficients.len()..];
            (intercepts.iter_mut().zip(offsets)).for_each(|(b, offset)| *b += offset);
        } else {
            self.parameters[start.coefficients.len()..].fill(0.0);
        }
        self.update_primal(problem, norm);
        self.update_dual(problem, norm);
        if !self.is_finite() {
            return Err(Error::InvalidData(
                "the start is so large that the objective there is beyond the range of double precision".into(),
            ));
        }
        Ok(())
    }

    /// Recomputes scores, risk and norm from the parameters.
    pub fn update_primal(&mut self, problem: &ClassProblem<'_>, norm: ClassNorm) {
        let (design, k) = (problem.design(), problem.n_classes());
        let n = problem.targets().len();
        let (coefficients, intercepts) = self.parameters.split_at(self.correlations.len());
        let rows = coefficients.chunks_exact(k).enumerate();
        let support: Vec<usize> = rows
            .filter(|(_, row)| row.iter().any(|t| *t != 0.0))
            .map(|(j, _)| j)
            .collect();
        (self.scores.par_chunks_mut(n).zip(intercepts).enumerate()).for_each(
            |(class, (scores, b))| {
                scores.fill(*b);
                let scales: Vec<f64> = support
                    .iter()
                    .map(|j| coefficients[j * k + class])
                    .collect();
                design.add_columns(&support, &scales, scores);
            },
        );
        let square: f64 = coefficients.iter().map(|t| t * t).sum();
        self.risk = self.loss(problem) + 0.5 * problem.ridge() * square;
        self.norm = coefficients
            .chunks_exact(k)
            .map(|row| norm.of_feature(row))
            .sum();
    }

    /// sum_i w_i l(z_i; y_i).
    fn loss(&self, problem: &ClassProblem<'_>) -> f64 {
        let n = problem.targets().len();
        let records = problem
            .targets()
            .par_chunks(BLOCK)
            .zip(problem.weights().par_chunks(BLOCK));
        let sums: Vec<f64> = (records.enumerate())
            .map(|(block, (targets, weights))| {
                let mut z = vec![0.0; problem.n_classes()];
                let mut sum = 0.0;
                for (i, (y, w)) in targets.iter().zip(weights).enumerate() {
                    let scores = self.scores[block * BLOCK + i..].iter().step_by(n);
                    (z.iter_mut().zip(scores)).for_each(|(z, score)| *z = *score);
                    sum += w * loss(&z, *y as usize);
                }
                sum
            })
            .collect();
        sums.iter().sum()
    }

    /// Recomputes slopes, dual point and correlations from the scores.
    pub fn update_dual(&mut self, problem: &ClassProblem<'_>, norm: ClassNorm) {
        let (n, k) = (problem.targets().len(), problem.n_classes());
        let (softmax, weights) = (problem.softmax(), problem.weights());
        softmax.slopes(&self.scores, problem.targets(), &mut self.slopes);
        self.dual.copy_from_slice(&self.slopes);
        if problem.fit_intercept() {
            balance(problem, &mut self.dual);
        }
        let offsets = problem.offsets(self.coefficients());
        let mut scale = 0.0;
        let planes = self.dual.chunks_exact(n).zip(self.scores.chunks_exact(n));
        for ((slopes, scores), offset) in planes.zip(&offsets) {
            for ((a, z), w) in slopes.iter().zip(scores).zip(weights) {
                scale += w * a.abs() * (z.abs() + offset.abs());
            }
        }
        self.rounding = ROUNDING * f64::EPSILON * (self.risk + scale);
        correlate(problem, &self.dual, &mut self.correlations);
        norm.sizes(&self.correlations, k, &mut self.sizes);
    }
}

/// ln sum_k exp z_k - z_y, precise where it is small too.
fn loss(z: &[f64], y: usize) -> f64 {
    let top = (0..z.len()).fold(0, |top, k| if z[k] > z[top] { k } else { top });
    let others = (0..z.len()).filter(|k| *k != top);
    let sum: f64 = others.map(|k| (z[k] - z[top]).exp()).sum();
    sum.ln_1p() + (z[top] - z[y])
}

/// out = X' (w A), feature by feature.
pub(super) fn correlate(problem: &ClassProblem<'_>, slopes: &[f64], out: &mut [f64]) {
    let (design, n) = (problem.design(), problem.targets().len());
    let weighted: Vec<f64> = (slopes.chunks_exact(n))
        .flat_map(|plane| plane.iter().zip(problem.weights()).map(|(a, w)| a * w))
        .collect();
    (out.par_chunks_mut(problem.n_classes())
        .with_min_len(16)
        .enumerate())
    .for_each(|(j, out)| {
        for (out, plane) in out.iter_mut().zip(weighted.chunks_exact(n)) {
            *out = design.dot(j, plane);
        }
    });
}

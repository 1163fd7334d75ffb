//! The minimiser of a strongly convex private objective, to a distance that public constants prove (MECHANISMS M7, M8).

use super::fine_gradient::FineGradient;
use crate::error::Result;
use crate::norm::Norm;
use crate::numeric::linear::{Cholesky, norm2};
use crate::prox::Scratch;

/// F(theta) = (1/n) sum_i l(<x_i, theta>; y_i) + <tilt, theta> + (ridge/2)|theta|_2^2 + alpha Omega(theta without intercept),
/// in scaled units, the intercept last and under the ridge too.
pub(in crate::privacy) struct Objective<'a> {
    /// Bound on |l'|.
    pub lipschitz: f64,
    /// beta >= l''.
    pub smoothness: f64,
    /// R2, the Euclidean bound of a row, the intercept included.
    pub rows: f64,
    /// Positive.
    pub ridge: f64,
    /// Omega with its factor; None or 0: no penalty.
    pub penalty: Option<(&'a dyn Norm, f64)>,
    /// A bound on |tilt|_2.
    pub tilt_bound: f64,
    /// Records per record of the normaliser: 1 under replace-one, private under add-remove.
    pub load: f64,
    /// A public bound on it.
    pub most_load: f64,
}

/// Under add-remove the number of records is private, and more of them than the public normaliser make F steeper. The float
/// error is proved for up to so many times the normaliser; that there are no more is a public fact of the domain, as finite
/// values are, and is checked before anything is spent.
pub(in crate::privacy) const MOST_LOAD: f64 = 16.0;

/// Columns up to which Newton's method is used: a Hessian costs n p^2/2.
const NEWTON_COLUMNS: usize = 400;
/// Steps of the fast methods before the proved one takes over.
const NEWTON_STEPS: usize = 100;
/// A factorised Hessian serves as long as a step makes the slope this many times smaller.
const FACTOR_SERVES: f64 = 0.2;
const ACCELERATED_STEPS: usize = 20_000;

impl Objective<'_> {
    /// Smoothness of F without the penalty, for some load.
    fn total_smoothness(&self, load: f64) -> f64 {
        (self.smoothness * self.rows * self.rows * load + self.ridge) * (1.0 + 1e-12)
    }

    /// |theta*|_2 is at most this: 0 is in the subdifferential of F at theta*, whose penalty part has a non-negative inner
    /// product with theta*, so ridge |theta*| <= L R2 load + |tilt|.
    fn size_bound(&self, load: f64) -> f64 {
        (self.lipschitz * self.rows * load + self.tilt_bound) / self.ridge
    }

    /// Bound on the float error of a residual: the gradient's own, twice, and the roundings of tilt, ridge and prox terms,
    /// whose sizes are at most |tilt| and (beta R2^2 load + ridge) 2 |theta*|. Public: at the largest load.
    fn float_error(&self, columns: usize) -> f64 {
        let load = self.most_load;
        let gradient =
            FineGradient::error_bound(self.lipschitz, self.smoothness, self.rows, columns) * load;
        let terms = self.tilt_bound + 4.0 * self.total_smoothness(load) * self.size_bound(load);
        2.0 * gradient + 2f64.powi(-49) * terms
    }

    /// e: [`minimise`] ends within this distance of the minimiser, whatever the records are.
    pub fn distance(&self, columns: usize) -> f64 {
        5.0 * self.float_error(columns) / self.ridge * (1.0 + 1e-12)
    }
}

/// A point within [`Objective::distance`] of the minimiser of F. Omega is a catalogued one, whose prox does not fail.
///
/// Newton's method (no penalty, few columns) or accelerated proximal gradient steps run until the residual, an element of
/// the subdifferential, is at most 4 times the float error: |theta - theta*| <= (|residual| + error)/ridge by strong
/// convexity. If they have not got there in their allowance, proximal gradient steps follow, T of them: each contracts the
/// distance to theta* by 1 - ridge/smoothness up to error/smoothness, so after T >= kappa ln(2 size ridge/error) of them it
/// is at most 2 error/ridge. Both ways end within the stated distance, from any start; only the running time tells them apart.
pub(in crate::privacy) fn minimise(
    objective: &Objective<'_>,
    gradient: &mut FineGradient<'_>,
    tilt: &[f64],
    start: &mut Start,
) -> Result<()> {
    let columns = tilt.len();
    let mut search = Search {
        tolerance: 4.0 * objective.float_error(columns),
        objective,
        gradient,
        tilt,
        scratch: Scratch::default(),
    };
    let done = if objective.penalty.is_none() && columns <= NEWTON_COLUMNS {
        search.newton(start)
    } else {
        search.accelerate(&mut start.theta)?
    };
    if !done {
        search.contract(&mut start.theta)?;
    }
    Ok(())
}

/// Where a minimisation starts, and where it ends. Neither theta nor the Hessian of an earlier minimisation has to be near:
/// they save time.
pub(in crate::privacy) struct Start {
    pub theta: Vec<f64>,
    factor: Option<Cholesky>,
}

impl Start {
    pub fn new(columns: usize) -> Self {
        Self {
            theta: vec![0.0; columns],
            factor: None,
        }
    }
}

struct Search<'a, 'b> {
    objective: &'a Objective<'a>,
    gradient: &'a mut FineGradient<'b>,
    tilt: &'a [f64],
    tolerance: f64,
    scratch: Scratch,
}

impl Search<'_, '_> {
    /// Gradient of the smooth part of F.
    fn slope(&mut self, theta: &[f64], out: &mut [f64]) {
        self.gradient.set_scores(theta);
        self.gradient.evaluate(out);
        for ((out, theta), tilt) in out.iter_mut().zip(theta).zip(self.tilt) {
            *out += self.objective.ridge * theta + tilt;
        }
    }

    /// out = prox of step*alpha*Omega at theta - step*slope; the intercept only moves.
    fn step(&mut self, theta: &[f64], slope: &[f64], out: &mut [f64]) -> Result<f64> {
        let step = 1.0 / self.objective.total_smoothness(self.objective.load);
        for ((out, theta), slope) in out.iter_mut().zip(theta).zip(slope) {
            *out = theta - step * slope;
        }
        if let Some((norm, alpha)) = self.objective.penalty {
            let p = norm.n_features();
            let moved = out[..p].to_vec();
            norm.prox(&moved, step * alpha, &mut out[..p], &mut self.scratch)?;
        }
        Ok(step)
    }

    fn accepts(&self, theta: &[f64], residual: f64) -> bool {
        residual <= self.tolerance
            && norm2(theta) <= 2.0 * self.objective.size_bound(self.objective.load)
    }

    /// Damped Newton steps; whether they got there.
    fn newton(&mut self, start: &mut Start) -> bool {
        let Start { theta, factor } = start;
        let columns = theta.len();
        let mut slope = vec![0.0; columns];
        let (mut trial, mut trial_slope) = (vec![0.0; columns], vec![0.0; columns]);
        let mut direction = vec![0.0; columns];
        self.slope(theta, &mut slope);
        for _ in 0..NEWTON_STEPS {
            if self.accepts(theta, norm2(&slope)) {
                return true;
            }
            let fresh = factor.is_none();
            if fresh {
                let mut hessian = vec![0.0; columns * columns];
                self.gradient.hessian(self.objective.ridge, &mut hessian);
                *factor = Cholesky::new(hessian, columns);
            }
            let Some(solver) = &*factor else {
                return false;
            };
            direction.copy_from_slice(&slope);
            solver.solve(&mut direction);
            // The size of the slope decides: it falls to 0 at the minimiser and nowhere else.
            let mut length = 1.0;
            let found = loop {
                for ((trial, theta), direction) in trial.iter_mut().zip(&*theta).zip(&direction) {
                    *trial = theta - length * direction;
                }
                self.slope(&trial, &mut trial_slope);
                if norm2(&trial_slope) < norm2(&slope) * (1.0 - 0.1 * length) {
                    break true;
                }
                length *= 0.5;
                if length < 1e-6 || !fresh {
                    break false;
                }
            };
            if !(found && norm2(&trial_slope) < FACTOR_SERVES * norm2(&slope)) {
                *factor = None;
            }
            if found {
                std::mem::swap(theta, &mut trial);
                std::mem::swap(&mut slope, &mut trial_slope);
            } else {
                // Back to the scores of theta, which the Hessian is taken at.
                self.slope(theta, &mut slope);
                if fresh {
                    return self.accepts(theta, norm2(&slope));
                }
            }
        }
        self.accepts(theta, norm2(&slope))
    }

    /// Nesterov's method for strongly convex objectives; whether it got there.
    fn accelerate(&mut self, theta: &mut Vec<f64>) -> Result<bool> {
        let columns = theta.len();
        let root =
            (self.objective.ridge / self.objective.total_smoothness(self.objective.load)).sqrt();
        let momentum = (1.0 - root) / (1.0 + root);
        let mut ahead = theta.clone();
        let (mut slope, mut next_slope) = (vec![0.0; columns], vec![0.0; columns]);
        let mut next = vec![0.0; columns];
        for t in 1..=ACCELERATED_STEPS {
            self.slope(&ahead, &mut slope);
            let step = self.step(&ahead, &slope, &mut next)?;
            if t % 20 == 0 {
                self.slope(&next, &mut next_slope);
                let residual: f64 = (ahead.iter().zip(&next))
                    .zip(slope.iter().zip(&next_slope))
                    .map(|((ahead, next), (slope, next_slope))| {
                        let r = (ahead - next) / step - slope + next_slope;
                        r * r
                    })
                    .sum();
                if self.accepts(&next, residual.sqrt()) {
                    std::mem::swap(theta, &mut next);
                    return Ok(true);
                }
            }
            for ((ahead, theta), next) in ahead.iter_mut().zip(&*theta).zip(&next) {
                *ahead = next + momentum * (next - theta);
            }
            std::mem::swap(theta, &mut next);
        }
        Ok(false)
    }

    /// The proved number of plain proximal gradient steps, from 0 where theta is farther than theta* can be.
    fn contract(&mut self, theta: &mut Vec<f64>) -> Result<()> {
        let objective = self.objective;
        let (smoothness, size) = (
            objective.total_smoothness(objective.load),
            objective.size_bound(objective.load),
        );
        if norm2(theta).is_nan() || norm2(theta) > size {
            theta.fill(0.0);
        }
        let condition = smoothness / objective.ridge;
        let start = 2.0 * size * objective.ridge;
        let steps = (condition * (start * 4.0 / self.tolerance).ln().max(1.0)).ceil() as u64;
        let mut slope = vec![0.0; theta.len()];
        let mut next = vec![0.0; theta.len()];
        for _ in 0..steps {
            self.slope(theta, &mut slope);
            self.step(theta, &slope, &mut next)?;
            std::mem::swap(theta, &mut next);
        }
        Ok(())
    }
}

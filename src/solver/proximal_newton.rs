use super::coordinate_descent::QuadraticModel;
use super::duality_gap::{BallBound, penalty_dual};
use super::point::Point;
use super::{Design, Problem, Progress};
use crate::error::{Error, Result};

/// Least and first share of the smoothness constant that every record's curvature keeps in the model.
const LEAST_DAMPING: f64 = 1e-8;
const FIRST_DAMPING: f64 = 1e-3;
/// Violators that enter the working set at a time; as many as there are non-zeros where those are more.
const FEWEST_NEW: usize = 64;
/// Rounds of passes and steps on the support that one model is worth.
const MOST_ROUNDS: usize = 5;
/// First and least [`ProximalNewton::accuracy`].
const FIRST_ACCURACY: f64 = 1e-3;
const LEAST_ACCURACY: f64 = 1e-12;

/// How a minimisation ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    pub gap: f64,
    pub converged: bool,
}

/// Proximal Newton method (Lee, Sun & Saunders 2014) with a trust region in the form of damping, on a working
/// set.
///
/// The model takes h_i = w_i max(l''_i, damping * beta). A step is kept where it brings a twentieth of the
/// decrease that the model promised; otherwise the damping grows. At damping 1 the model majorises the risk
/// (l'' <= beta), so that a step cannot fail: the method converges for every smooth convex loss, the
/// piecewise quadratic ones included, and for the squared loss, whose model is exact, it is plain coordinate
/// descent.
pub(super) struct ProximalNewton<'r, 'a, D: ?Sized> {
    problem: &'r Problem<'a, D>,
    progress: &'r mut Progress<'r>,
    point: Point,
    trial: Point,
    model: QuadraticModel,
    damping: f64,
    n_iter: usize,
    max_iter: usize,
    /// Dot products that steps on the support may still spend.
    support_budget: f64,
    /// A model is left once a pass brings this share of the first ones, or of the gap.
    accuracy: f64,
}

impl<'r, 'a, D: Design + ?Sized> ProximalNewton<'r, 'a, D> {
    /// At theta = 0.
    pub fn new(
        problem: &'r Problem<'a, D>,
        max_iter: usize,
        progress: &'r mut Progress<'r>,
    ) -> Self {
        let point = Point::zero(problem);
        Self {
            problem,
            progress,
            trial: point.clone(),
            point,
            model: QuadraticModel::new(problem.design().n_rows(), problem.ridge()),
            damping: FIRST_DAMPING,
            n_iter: 0,
            max_iter,
            support_budget: 0.0,
            accuracy: FIRST_ACCURACY,
        }
    }

    pub fn problem(&self) -> &'r Problem<'a, D> {
        self.problem
    }

    pub fn point(&self) -> &Point {
        &self.point
    }

    pub fn n_iter(&self) -> usize {
        self.n_iter
    }

    pub fn out_of_iterations(&self) -> bool {
        self.n_iter >= self.max_iter
    }

    /// Moves to `start` where given.
    pub fn start_at(&mut self, start: Option<(&[f64], f64)>) -> Result<()> {
        let Some((theta, intercept)) = start else {
            return Ok(());
        };
        if theta.len() != self.point.theta.len()
            || !theta.iter().chain([&intercept]).all(|t| t.is_finite())
        {
            return Err(Error::InvalidData(
                "the start must hold one finite coefficient per column of X".into(),
            ));
        }
        self.point.theta.copy_from_slice(theta);
        self.point.intercept = intercept;
        self.point.update_risk(self.problem);
        self.point.update_dual(self.problem);
        Ok(())
    }

    /// The point s*theta + (1 - s)*other, shrunk into the ball of `radius` where rounding left it outside.
    pub fn mix(&mut self, other: &[f64], s: f64, radius: f64) -> &Point {
        let trial = &mut self.trial;
        for ((out, theta), other) in trial.theta.iter_mut().zip(&self.point.theta).zip(other) {
            *out = s * theta + (1.0 - s) * other;
        }
        while trial.l1_norm() > radius {
            let shrink = radius / trial.l1_norm() * (1.0 - f64::EPSILON);
            trial.theta.iter_mut().for_each(|t| *t *= shrink);
        }
        trial.intercept = self.point.intercept;
        trial.update_risk(self.problem);
        trial.update_dual(self.problem);
        trial
    }

    /// Minimises risk + alpha |theta|_1 until the gap is at most `target`. `ball` sees every point and may
    /// end it too.
    pub fn minimise(
        &mut self,
        alpha: f64,
        target: f64,
        mut ball: Option<&mut BallBound>,
    ) -> Result<Outcome> {
        let mut dual = f64::NEG_INFINITY;
        let mut last_gap = f64::INFINITY;
        self.accuracy = FIRST_ACCURACY;
        loop {
            let objective = self.point.risk + alpha * self.point.l1_norm();
            dual = dual.max(penalty_dual(self.problem, &self.point, alpha));
            let gap = objective - dual;
            let mut outcome = Outcome {
                gap,
                converged: gap <= target.max(self.point.rounding),
            };
            let mut reported = gap;
            if let Some(ball) = ball.as_deref_mut() {
                ball.observe_penalty_dual(dual, alpha);
                ball.observe(self.problem, &self.point);
                reported = ball.gap();
                outcome.converged |= ball.converged();
            }
            (self.progress)(self.n_iter, reported)?;
            if outcome.converged || self.out_of_iterations() {
                return Ok(outcome);
            }
            // Passes that bring little while the gap stays are slow, not done.
            if gap > 0.5 * last_gap {
                self.accuracy = (0.1 * self.accuracy).max(LEAST_ACCURACY);
            }
            last_gap = gap;
            self.choose_working_set(alpha);
            if !self.step(alpha, gap, reported)? {
                return Ok(outcome);
            }
        }
    }

    /// The non-zeros, and of the coordinates that violate optimality at 0, |v_j| > alpha, the worst.
    fn choose_working_set(&mut self, alpha: f64) {
        let (theta, correlations) = (&self.point.theta, &self.point.correlations);
        let working = &mut self.model.working;
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

    /// One Newton step; false where rounding leaves nothing to gain.
    fn step(&mut self, alpha: f64, gap: f64, reported: f64) -> Result<bool> {
        let problem = self.problem;
        let old_objective = self.point.risk + alpha * self.point.l1_norm();
        loop {
            self.set_curvatures();
            self.model.reset(
                problem.design(),
                &self.point.weighted_slopes,
                alpha,
                problem.fit_intercept(),
            );
            self.trial.theta.clone_from(&self.point.theta);
            let promised = self.minimise_model(gap, reported)?;
            if promised >= 0.0 {
                return Ok(false);
            }
            self.trial.intercept = self.point.intercept;
            self.trial.update_risk(problem);
            let change = self.trial.risk + alpha * self.trial.l1_norm() - old_objective;
            if -promised <= 16.0 * self.point.rounding {
                // Rounding hides such a change of the objective, but not its effect on the gap, which is of
                // first order.
                self.trial.update_dual(problem);
                let kept =
                    self.own_gap(&self.trial, alpha) < 0.9 * self.own_gap(&self.point, alpha);
                if kept {
                    std::mem::swap(&mut self.point, &mut self.trial);
                }
                return Ok(kept);
            }
            let kept = change <= 0.05 * promised;
            if change > 0.5 * promised {
                if !kept && self.damping >= 1.0 {
                    return Ok(false);
                }
                self.damping = (self.damping * 10.0).min(1.0);
            } else if change < 0.8 * promised {
                self.damping = (self.damping / 10.0).max(LEAST_DAMPING);
            }
            if kept {
                self.trial.update_dual(problem);
                std::mem::swap(&mut self.point, &mut self.trial);
                return Ok(true);
            }
            if self.out_of_iterations() {
                return Ok(false);
            }
        }
    }

    /// The gap between a point and the dual point made from it.
    fn own_gap(&self, point: &Point, alpha: f64) -> f64 {
        point.risk + alpha * point.l1_norm() - penalty_dual(self.problem, point, alpha)
    }

    fn set_curvatures(&mut self) {
        let problem = self.problem;
        let loss = problem.loss();
        let least = self.damping * loss.smoothness();
        for (i, h) in self.model.curvatures.iter_mut().enumerate() {
            let curvature = loss.curvature(self.point.z[i], problem.targets()[i]);
            *h = problem.weights()[i] * curvature.max(least);
        }
    }

    /// Passes over the working set until they bring little; returns the change of model plus penalty.
    ///
    /// Passes may cost as much as the full gradient that follows them, and at least twenty are allowed. Where
    /// those do not suffice, steps on the support follow, which may cost as much as the passes so far. Where
    /// such a step ends at a change of sign, that coordinate leaves the support and the smaller system is
    /// next.
    fn minimise_model(&mut self, gap: f64, reported: f64) -> Result<f64> {
        let design = self.problem.design();
        let most = (design.n_columns() / self.model.working.len().max(1)).max(20);
        let pass_cost = self.model.pass_cost();
        let (mut total, mut largest) = (0.0, 0.0f64);
        for _ in 0..MOST_ROUNDS {
            for _ in 0..most {
                let decrease = -self.model.pass(design, &mut self.trial.theta);
                self.n_iter += 1;
                self.support_budget += pass_cost;
                (self.progress)(self.n_iter, reported)?;
                total -= decrease;
                largest = largest.max(decrease);
                if decrease <= self.accuracy * largest.min(gap) || self.out_of_iterations() {
                    return Ok(total);
                }
            }
            let mut complete = false;
            while !complete {
                let cost = self.model.support_step_cost(design, &self.trial.theta);
                if cost > self.support_budget {
                    return Ok(total);
                }
                self.support_budget -= cost;
                let change;
                (change, complete) = self.model.support_step(design, &mut self.trial.theta);
                total += change;
            }
        }
        Ok(total)
    }
}

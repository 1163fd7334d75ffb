use super::duality_gap::{BallBound, LowerBound, penalty_dual};
use super::model::Model;
use super::point::Point;
use super::regulariser::Omega;
use super::run::Run;
use super::start::{GivenDual, Start};
use super::{Design, Problem, Solution};
use crate::error::Result;

/// Least and first share of the smoothness constant that every record's curvature keeps in the model.
const LEAST_DAMPING: f64 = 1e-8;
const FIRST_DAMPING: f64 = 1e-3;
/// Least accuracy of the models; each has its first one.
const LEAST_ACCURACY: f64 = 1e-12;
/// Share of its promise by which a faithful model may err.
const FAITHFUL: f64 = 0.1;

/// How a minimisation ended.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub gap: f64,
    pub dual: LowerBound,
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
    pub problem: &'r Problem<'a, D>,
    pub omega: Omega<'r>,
    pub run: Run<'r>,
    /// Of the start.
    given: Option<GivenDual>,
    point: Point,
    trial: Point,
    model: Model,
    damping: f64,
    /// Whether the last step brought what its model promised.
    faithful: bool,
}

impl<'r, 'a, D: Design + ?Sized> ProximalNewton<'r, 'a, D> {
    /// At theta = 0.
    pub fn new(
        problem: &'r Problem<'a, D>,
        mut omega: Omega<'r>,
        model: Model,
        run: Run<'r>,
    ) -> Result<Self> {
        let point = Point::zero(problem, &mut omega)?;
        Ok(Self {
            problem,
            omega,
            run,
            given: None,
            trial: point.clone(),
            point,
            model,
            damping: FIRST_DAMPING,
            faithful: true,
        })
    }

    pub fn point(&self) -> &Point {
        &self.point
    }

    /// The minimiser of risk + alpha Omega, from the present point, up to `target`.
    pub fn penalised(&mut self, alpha: f64, target: f64) -> Result<Solution> {
        let outcome = self.minimise(alpha, target, None)?;
        Ok(Solution {
            coefficients: self.point.theta.clone(),
            intercept: self.point.intercept,
            objective: self.point.risk + alpha * self.point.norm,
            duality_gap: outcome.gap.max(0.0) + self.point.rounding,
            dual: outcome.dual.slopes,
            n_iter: self.run.n_iter(),
            converged: outcome.converged,
        })
    }

    /// Shows the present point to `bound`.
    pub fn show(&mut self, bound: &mut BallBound) -> Result<()> {
        bound.observe(self.problem, &mut self.omega, &self.point)
    }

    /// Moves to `start` where given.
    pub fn start_at(&mut self, start: Option<Start<'_>>) -> Result<()> {
        let Some(start) = start else {
            return Ok(());
        };
        self.given = GivenDual::new(start.dual, self.problem, &self.omega)?;
        (self.point).move_to(start, self.problem, &mut self.omega)
    }

    /// Shows the dual point of the start to `bound`.
    pub fn show_given(&mut self, bound: &mut BallBound) -> Result<()> {
        match &self.given {
            Some(given) => bound.observe_dual(self.problem, &mut self.omega, given.point()),
            None => Ok(()),
        }
    }

    /// Shows the point s*theta + (1 - s)*other to `bound`, shrunk into its ball where rounding left it outside.
    pub fn show_mixture(&mut self, other: &[f64], s: f64, bound: &mut BallBound) -> Result<()> {
        let trial = &mut self.trial;
        for ((out, theta), other) in trial.theta.iter_mut().zip(&self.point.theta).zip(other) {
            *out = s * theta + (1.0 - s) * other;
        }
        loop {
            let norm = self.omega.value(&trial.theta)?;
            if norm <= bound.radius() {
                break;
            }
            let shrink = bound.radius() / norm * (1.0 - f64::EPSILON);
            trial.theta.iter_mut().for_each(|t| *t *= shrink);
        }
        trial.intercept = self.point.intercept;
        trial.update_primal(self.problem, &self.omega)?;
        trial.update_dual(self.problem, &mut self.omega);
        bound.observe(self.problem, &mut self.omega, trial)
    }

    /// Minimises risk + alpha Omega(theta) until the gap is at most `target`. `ball` sees every point and may
    /// end it too.
    pub fn minimise(
        &mut self,
        alpha: f64,
        target: f64,
        mut ball: Option<&mut BallBound>,
    ) -> Result<Outcome> {
        let mut dual = LowerBound::zero(self.problem.targets().len());
        if let Some(given) = &self.given {
            dual.observe(self.problem, &mut self.omega, given.point(), alpha)?;
        }
        let mut last_gap = f64::INFINITY;
        self.run.accuracy = self.model.first_accuracy();
        self.faithful = true;
        loop {
            let objective = self.point.risk + alpha * self.point.norm;
            dual.observe(self.problem, &mut self.omega, self.point.dual(), alpha)?;
            let gap = objective - dual.value;
            let mut converged = gap <= target.max(self.point.rounding);
            (self.run.gap, self.run.reported) = (gap, gap);
            if let Some(ball) = ball.as_deref_mut() {
                ball.observe_penalty_dual(&dual, alpha);
                ball.observe(self.problem, &mut self.omega, &self.point)?;
                self.run.reported = ball.gap();
                converged |= ball.converged();
            }
            self.run.report()?;
            let outcome = |dual| Outcome {
                gap,
                dual,
                converged,
            };
            if converged || self.run.is_over() {
                return Ok(outcome(dual));
            }
            // Passes that bring little while the gap stays are slow, not done.
            if !self.faithful {
                // What the model promised was not what came: digits of its minimiser are worth nothing yet.
                self.run.accuracy = self.model.first_accuracy();
            } else if gap > 0.5 * last_gap {
                self.run.accuracy = (0.1 * self.run.accuracy).max(LEAST_ACCURACY);
            }
            last_gap = gap;
            (self.model).choose_working_set(self.problem, &mut self.omega, &self.point, alpha)?;
            if !self.step(alpha)? {
                // A rough model may have nothing left where a precise one has.
                if self.run.accuracy <= LEAST_ACCURACY {
                    return Ok(outcome(dual));
                }
                self.run.accuracy = LEAST_ACCURACY;
                self.faithful = true;
            }
        }
    }

    /// One Newton step; false where rounding leaves nothing to gain.
    fn step(&mut self, alpha: f64) -> Result<bool> {
        let problem = self.problem;
        let old_objective = self.point.risk + alpha * self.point.norm;
        loop {
            self.set_curvatures();
            (self.model).reset(problem, &self.point.weighted_slopes, alpha);
            self.trial.theta.clone_from(&self.point.theta);
            let theta = &mut self.trial.theta;
            let promised = (self.model).minimise(problem, &mut self.omega, theta, &mut self.run)?;
            if promised >= 0.0 {
                return Ok(false);
            }
            self.trial.intercept = self.point.intercept;
            self.trial.update_primal(problem, &self.omega)?;
            let change = self.trial.risk + alpha * self.trial.norm - old_objective;
            let hidden = 16.0 * self.point.rounding;
            if -promised <= hidden {
                // Rounding hides such a change of the objective, but not its effect on the gap, which is of
                // first order.
                self.trial.update_dual(problem, &mut self.omega);
                let new = own_gap(problem, &mut self.omega, &self.trial, alpha)?;
                let old = own_gap(problem, &mut self.omega, &self.point, alpha)?;
                if new < 0.9 * old {
                    std::mem::swap(&mut self.point, &mut self.trial);
                    return Ok(true);
                }
                return Ok(false);
            }
            let kept = change <= 0.05 * promised;
            self.faithful = (change - promised).abs() <= hidden - FAITHFUL * promised;
            self.run.judge_model(self.faithful);
            if change > 0.5 * promised {
                if !kept && self.damping >= 1.0 {
                    return Ok(false);
                }
                self.damping = (self.damping * 10.0).min(1.0);
            } else if change < 0.8 * promised {
                self.damping = (self.damping / 10.0).max(LEAST_DAMPING);
            }
            if kept {
                self.trial.update_dual(problem, &mut self.omega);
                std::mem::swap(&mut self.point, &mut self.trial);
                return Ok(true);
            }
            if self.run.is_over() {
                return Ok(false);
            }
        }
    }

    fn set_curvatures(&mut self) {
        let problem = self.problem;
        let loss = problem.loss();
        let least = self.damping * loss.smoothness();
        for (i, h) in self.model.curvatures().iter_mut().enumerate() {
            let curvature = loss.curvature(self.point.z[i], problem.targets()[i]);
            *h = problem.weights()[i] * curvature.max(least);
        }
    }
}

/// The gap between a point and the dual point made from it.
fn own_gap<D: Design + ?Sized>(
    problem: &Problem<'_, D>,
    omega: &mut Omega<'_>,
    point: &Point,
    alpha: f64,
) -> Result<f64> {
    let (bound, _) = penalty_dual(problem, omega, point.dual(), alpha)?;
    Ok(point.risk + alpha * point.norm - bound)
}

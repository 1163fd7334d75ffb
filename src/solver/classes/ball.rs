use super::duality_gap::{Dual, LowerBound, ball_dual};
use super::newton::{ClassNewton, Watcher, solution};
use super::point::Point;
use super::{ClassProblem, ClassSolution, ClassStart};
use crate::error::Result;
use crate::solver::multiplier::BallSolver;

/// The constrained problem: the loop over penalties with the best known point and bound of the ball.
pub(super) struct Ball<'b, 'r, 'a> {
    newton: &'b mut ClassNewton<'r, 'a>,
    /// The point with coefficients 0.
    origin: Vec<f64>,
    best: Best,
}

/// Best known point and best lower bound over {Omega <= radius}, from all points shown to it.
struct Best {
    radius: f64,
    target: f64,
    bound: LowerBound,
    multiplier: f64,
    parameters: Vec<f64>,
    objective: f64,
    rounding: f64,
    converged: bool,
    levels: Vec<f64>,
}

impl<'b, 'r, 'a> Ball<'b, 'r, 'a> {
    /// From a solver at coefficients 0, which is all that is known yet; converged once the gap is at most `target`.
    pub fn new(newton: &'b mut ClassNewton<'r, 'a>, radius: f64, target: f64) -> Self {
        let mut best = Best {
            radius,
            target,
            bound: LowerBound::zero(newton.problem),
            multiplier: 0.0,
            parameters: newton.point().parameters.clone(),
            objective: newton.point().risk,
            rounding: 0.0,
            converged: false,
            levels: Vec::new(),
        };
        best.observe(newton.problem, newton.point());
        Self {
            origin: newton.point().parameters.clone(),
            newton,
            best,
        }
    }

    /// The penalty that the point with coefficients 0 suggests, before there is another one: none larger is needed.
    pub fn at_zero(&self) -> f64 {
        self.newton.dual_norm()
    }

    /// Moves to `start` where given.
    pub fn start_at(&mut self, start: Option<ClassStart<'_>>) -> Result<()> {
        self.newton.start_at(start)?;
        if let Some(given) = &self.newton.given {
            self.best.observe_dual(self.newton.problem, given.point());
        }
        Ok(())
    }

    pub fn into_solution(self) -> ClassSolution {
        let best = self.best;
        let gap = best.gap().max(0.0) + best.rounding;
        let found = solution(self.newton.problem, &best.parameters, best.bound.slopes);
        ClassSolution {
            objective: best.objective,
            duality_gap: gap,
            n_iter: self.newton.run.n_iter(),
            converged: best.converged,
            ..found
        }
    }
}

impl Best {
    /// Upper bound on the suboptimality of the best point so far.
    fn gap(&self) -> f64 {
        self.objective - self.bound.value
    }

    fn observe_dual(&mut self, problem: &ClassProblem<'_>, dual: Dual<'_>) {
        let (value, level) = ball_dual(problem, dual, self.radius, &mut self.levels);
        self.multiplier = level;
        self.bound.raise(value, 1.0, dual.slopes);
    }

    /// Takes the lower bound of `point`, and the point itself where it lies in the ball and is the best so far.
    fn observe(&mut self, problem: &ClassProblem<'_>, point: &Point) {
        self.observe_dual(problem, point.dual());
        if point.norm <= self.radius && point.risk < self.objective {
            self.parameters.clone_from(&point.parameters);
            self.objective = point.risk;
        }
        self.rounding = point.rounding;
        self.converged = self.gap() <= self.target.max(self.rounding);
    }
}

impl Watcher for Best {
    fn see(
        &mut self,
        problem: &ClassProblem<'_>,
        point: &Point,
        bound: &LowerBound,
        alpha: f64,
    ) -> Option<(f64, bool)> {
        let value = bound.value - alpha * self.radius;
        self.bound.raise(value, 1.0, &bound.slopes);
        self.observe(problem, point);
        Some((self.gap(), self.converged))
    }
}

impl BallSolver for Ball<'_, '_, '_> {
    fn radius(&self) -> f64 {
        self.best.radius
    }

    fn target(&self) -> f64 {
        self.best.target
    }

    fn converged(&self) -> bool {
        self.best.converged
    }

    fn is_over(&self) -> bool {
        self.newton.run.is_over()
    }

    fn multiplier(&self) -> f64 {
        self.best.multiplier
    }

    fn norm(&self) -> f64 {
        self.newton.point().norm
    }

    fn parameters(&self) -> &[f64] {
        &self.newton.point().parameters
    }

    fn origin(&self) -> Vec<f64> {
        self.origin.clone()
    }

    fn show(&mut self) -> Result<()> {
        self.best.observe(self.newton.problem, self.newton.point());
        Ok(())
    }

    fn show_mixture(&mut self, other: &[f64], s: f64) -> Result<()> {
        let problem = self.newton.problem;
        let mixture = self.newton.mixture(other, s, self.best.radius);
        self.best.observe(problem, mixture);
        Ok(())
    }

    fn minimise(&mut self, alpha: f64, target: f64) -> Result<()> {
        self.newton.minimise(alpha, target, &mut self.best)?;
        Ok(())
    }
}

use super::block_descent::{BlockDescent, LEAST_ACCURACY};
use super::duality_gap::{GivenDual, LowerBound, penalty_dual};
use super::norm::{ClassNorm, dual};
use super::point::Point;
use super::{ClassProblem, ClassSolution, ClassStart};
use crate::error::Result;
use crate::solver::run::Run;

/// First accuracy of the models.
const FIRST_ACCURACY: f64 = 1e-2;
/// Share of what a model promises that a step must bring, for its length.
const SUFFICIENT: f64 = 0.05;
/// The same of a faithful model.
const FAITHFUL: f64 = 0.5;
/// Halvings of a step after which none is worth it.
const MOST_HALVINGS: usize = 40;

/// Proximal Newton method with a line search (Lee, Sun & Saunders 2014) on a working set of features.
pub(super) struct ClassNewton<'r, 'a> {
    pub problem: &'r ClassProblem<'a>,
    pub norm: ClassNorm,
    pub run: Run<'r>,
    /// Of the start.
    pub given: Option<GivenDual>,
    point: Point,
    trial: Point,
    model: BlockDescent,
    /// Whether the last step brought what its model promised, at full length.
    faithful: bool,
}

impl<'r, 'a> ClassNewton<'r, 'a> {
    /// At Theta = 0.
    pub fn new(problem: &'r ClassProblem<'a>, norm: ClassNorm, run: Run<'r>) -> Result<Self> {
        let point = Point::zero(problem, norm)?;
        Ok(Self {
            problem,
            norm,
            run,
            given: None,
            trial: point.clone(),
            point,
            model: BlockDescent::new(problem, norm),
            faithful: true,
        })
    }

    pub fn point(&self) -> &Point {
        &self.point
    }

    /// Of the correlations at the present point.
    pub fn dual_norm(&self) -> f64 {
        dual(self.point.dual().sizes)
    }

    /// Moves to `start` where given.
    pub fn start_at(&mut self, start: Option<ClassStart<'_>>) -> Result<()> {
        let Some(start) = start else {
            return Ok(());
        };
        self.given = GivenDual::new(start.dual, self.problem, self.norm)?;
        self.point.move_to(start, self.problem, self.norm)
    }

    /// s*point + (1 - s)*other, shrunk until its norm is at most `radius`.
    pub fn mixture(&mut self, other: &[f64], s: f64, radius: f64) -> &Point {
        let trial = &mut self.trial;
        let both = self.point.parameters.iter().zip(other);
        for (out, (own, other)) in trial.parameters.iter_mut().zip(both) {
            *out = s * own + (1.0 - s) * other;
        }
        let n_coefficients = trial.coefficients().len();
        loop {
            let norm: f64 = (trial.coefficients().chunks_exact(self.problem.n_classes()))
                .map(|row| self.norm.of_feature(row))
                .sum();
            if norm <= radius {
                break;
            }
            let shrink = radius / norm * (1.0 - f64::EPSILON);
            trial.parameters[..n_coefficients]
                .iter_mut()
                .for_each(|t| *t *= shrink);
        }
        trial.update_primal(self.problem, self.norm);
        trial.update_dual(self.problem, self.norm);
        trial
    }

    /// The minimiser of risk + alpha Omega, from the present point, up to `target`.
    pub fn penalised(&mut self, alpha: f64, target: f64) -> Result<ClassSolution> {
        let (bound, converged) = self.minimise(alpha, target, &mut Penalised)?;
        let objective = self.point.risk + alpha * self.point.norm;
        let gap = (objective - bound.value).max(0.0) + self.point.rounding;
        let mut solution = solution(self.problem, &self.point.parameters, bound.slopes);
        (solution.objective, solution.duality_gap) = (objective, gap);
        (solution.n_iter, solution.converged) = (self.run.n_iter(), converged);
        Ok(solution)
    }

    /// Minimises risk + alpha Omega until the gap is at most `target`, or `watcher`, which sees every point, has
    /// enough.
    pub fn minimise(
        &mut self,
        alpha: f64,
        target: f64,
        watcher: &mut dyn Watcher,
    ) -> Result<(LowerBound, bool)> {
        let mut bound = LowerBound::zero(self.problem);
        if let Some(given) = &self.given {
            bound.observe(self.problem, given.point(), alpha);
        }
        let mut last_gap = f64::INFINITY;
        self.run.accuracy = FIRST_ACCURACY;
        self.faithful = true;
        loop {
            let objective = self.point.risk + alpha * self.point.norm;
            bound.observe(self.problem, self.point.dual(), alpha);
            let gap = objective - bound.value;
            (self.run.gap, self.run.reported) = (gap, gap);
            let mut converged = gap <= target.max(self.point.rounding);
            if let Some((gap, enough)) = watcher.see(self.problem, &self.point, &bound, alpha) {
                self.run.reported = gap;
                converged |= enough;
            }
            self.run.report()?;
            if converged || self.run.is_over() {
                return Ok((bound, converged));
            }
            if !self.faithful {
                // Digits of the minimiser of such a model are worth nothing yet.
                self.run.accuracy = FIRST_ACCURACY;
            } else if gap > 0.5 * last_gap {
                // Passes that bring little while the gap stays are slow, not done.
                self.run.accuracy = (0.1 * self.run.accuracy).max(LEAST_ACCURACY);
            }
            last_gap = gap;
            self.model.choose_working_set(&self.point, alpha);
            if !self.step(alpha)? {
                // A rough model may have nothing left where a precise one has.
                if self.run.accuracy <= LEAST_ACCURACY {
                    return Ok((bound, false));
                }
                self.run.accuracy = LEAST_ACCURACY;
                self.faithful = true;
            }
        }
    }

    /// One Newton step; false where rounding leaves nothing to gain.
    fn step(&mut self, alpha: f64) -> Result<bool> {
        let (problem, norm) = (self.problem, self.norm);
        let old = self.point.risk + alpha * self.point.norm;
        self.model.reset(problem, &self.point, alpha);
        self.trial.parameters.clone_from(&self.point.parameters);
        let mut promised =
            self.model
                .minimise(problem, &mut self.trial.parameters, &mut self.run)?;
        if promised <= 0.0 {
            return Ok(false);
        }
        for halvings in 0..MOST_HALVINGS {
            self.trial.update_primal(problem, norm);
            let decrease = old - (self.trial.risk + alpha * self.trial.norm);
            if promised <= 16.0 * self.point.rounding {
                // Rounding hides such a change of the objective, but not its effect on the gap, which is of first
                // order.
                self.trial.update_dual(problem, norm);
                let own_gap = |point: &Point| {
                    let (bound, _) = penalty_dual(problem, point.dual(), alpha);
                    point.risk + alpha * point.norm - bound
                };
                let better = own_gap(&self.trial) < 0.9 * own_gap(&self.point);
                if better {
                    std::mem::swap(&mut self.point, &mut self.trial);
                }
                return Ok(better);
            }
            if decrease >= SUFFICIENT * promised {
                self.faithful = halvings == 0 && decrease >= FAITHFUL * promised;
                self.trial.update_dual(problem, norm);
                std::mem::swap(&mut self.point, &mut self.trial);
                return Ok(true);
            }
            promised *= 0.5;
            let both = self.trial.parameters.iter_mut().zip(&self.point.parameters);
            both.for_each(|(new, old)| *new = 0.5 * (*new + old));
        }
        Ok(false)
    }
}

/// What is told of every point of a run.
pub(super) trait Watcher {
    /// Takes note of a point and of the bound on the penalised minimum; returns the gap to report and whether it is
    /// small enough, where it has one of its own.
    fn see(
        &mut self,
        problem: &ClassProblem<'_>,
        point: &Point,
        bound: &LowerBound,
        alpha: f64,
    ) -> Option<(f64, bool)>;
}

/// Nothing but the penalised problem is asked for.
struct Penalised;

impl Watcher for Penalised {
    fn see(
        &mut self,
        _: &ClassProblem<'_>,
        _: &Point,
        _: &LowerBound,
        _: f64,
    ) -> Option<(f64, bool)> {
        None
    }
}

/// The coefficients and the intercepts for the X that was given, of sum 0.
pub(super) fn solution(
    problem: &ClassProblem<'_>,
    parameters: &[f64],
    dual: Vec<f64>,
) -> ClassSolution {
    let (coefficients, intercepts) = parameters.split_at(parameters.len() - problem.n_classes());
    let offsets = problem.offsets(coefficients);
    let mut intercepts: Vec<f64> = intercepts.iter().zip(offsets).map(|(b, o)| b - o).collect();
    let mean = intercepts.iter().sum::<f64>() / intercepts.len() as f64;
    intercepts.iter_mut().for_each(|b| *b -= mean);
    ClassSolution {
        coefficients: coefficients.to_vec(),
        intercepts,
        objective: f64::INFINITY,
        duality_gap: f64::INFINITY,
        dual,
        n_iter: 0,
        converged: false,
    }
}

//! Frank and Wolfe's method on the dual (Kumar & Deisenroth 2019, algorithm 1), with pairwise steps.
//!
//! With K the dual ball of Omega, a polytope, and a positive ridge,
//!
//! ```text
//! min_theta risk(theta) + alpha Omega(theta) = max over s in alpha K of g(s),    g(s) = min_theta risk(theta) + <s,
//! theta>
//! ```
//!
//! g is concave with gradient theta(s), the minimiser, which is 1/ridge-Lipschitz: |theta(s) - theta(s')| <= |s -
//! s'|/ridge. The linear oracle is the greedy vertex v of K at theta(s), and <alpha v - s, theta(s)> = risk + alpha
//! Omega - g bounds the suboptimality of theta(s), the primal point of equation (13). The certificate of `duality_gap`
//! at the slopes of theta(s) takes the best s for them and is never above that bound; it alone decides when to stop.
//!
//! s is a convex combination of vertices. A pairwise step moves weight from the worst of them to v (Lacoste-Julien &
//! Jaggi 2015), which converges linearly over a polytope. A corrective step is Newton's for all weights, up to where
//! the first of them becomes 0, as in Wolfe's method for the point of least norm.

use super::duality_gap::LowerBound;
use super::point::Point;
use super::regulariser::Omega;
use super::run::Run;
use super::start::{GivenDual, Start};
use super::tilted_risk::{HIDDEN, TiltedRisk};
use super::{Design, Problem, Regulariser, Solution, cholesky};
use crate::error::{Error, Result};
use crate::numeric::vectors::dot;

/// Share of the slope that a step must gain; Newton's gains half.
const GAIN: f64 = 0.1;
const MOST_HALVINGS: usize = 40;
/// The certificate, which may need a prox, is computed where the bound above has halved, or after so many steps.
const CERTIFICATE_EVERY: usize = 10;

/// A vertex of K, its weight, and H^-1 times it for the Hessian of a version.
#[derive(Debug)]
struct Atom {
    vertex: Vec<f64>,
    weight: f64,
    image: Vec<f64>,
    version: usize,
}

pub(super) struct DualFrankWolfe<'r, 'a, D: ?Sized> {
    problem: &'r Problem<'a, D>,
    omega: Omega<'r>,
    pub run: Run<'r>,
    tilted: TiltedRisk,
    /// Of the start.
    given: Option<GivenDual>,
    /// Weights are positive and sum to 1.
    atoms: Vec<Atom>,
    /// alpha times the combination of the atoms.
    s: Vec<f64>,
    /// theta(s).
    point: Point,
    /// g(s).
    value: f64,
    trial: Point,
    trial_s: Vec<f64>,
}

impl<'r, 'a, D: Design + ?Sized> DualFrankWolfe<'r, 'a, D> {
    /// At theta = 0.
    pub fn new(
        problem: &'r Problem<'a, D>,
        regulariser: Regulariser<'r>,
        run: Run<'r>,
    ) -> Result<Self> {
        if problem.ridge() == 0.0 {
            return Err(Error::invalid(
                "ridge",
                "must be positive for solver \"dual-frank-wolfe\": without it the dual has no gradient",
            ));
        }
        let mut omega = Omega::new(regulariser, problem)?;
        if omega.group_lasso().is_some() {
            return Err(Error::invalid(
                "solver",
                "\"dual-frank-wolfe\" combines vertices of the dual ball, a polytope; that of a group lasso is none: use \
                 \"auto\"",
            ));
        }
        let point = Point::zero(problem, &mut omega)?;
        let p = point.theta.len();
        Ok(Self {
            problem,
            omega,
            run,
            tilted: TiltedRisk::new(&point),
            given: None,
            atoms: Vec::new(),
            s: vec![0.0; p],
            value: f64::NEG_INFINITY,
            trial: point.clone(),
            trial_s: vec![0.0; p],
            point,
        })
    }

    pub fn point(&self) -> &Point {
        &self.point
    }

    /// Moves to `start` where given.
    pub fn start_at(&mut self, start: Option<Start<'_>>) -> Result<()> {
        let Some(start) = start else {
            return Ok(());
        };
        self.given = GivenDual::new(start.dual, self.problem, &self.omega)?;
        (self.point).move_to(start, self.problem, &mut self.omega)
    }

    /// The minimiser of risk + alpha Omega up to `target`. The atoms of an earlier penalty are kept.
    pub fn penalised(&mut self, alpha: f64, target: f64) -> Result<Solution> {
        let mut best = Solution {
            coefficients: Vec::new(),
            intercept: 0.0,
            objective: f64::INFINITY,
            duality_gap: f64::INFINITY,
            dual: Vec::new(),
            n_iter: 0,
            converged: false,
        };
        // A start may be the solution.
        let mut dual = LowerBound::zero(self.problem.targets().len());
        if let Some(given) = &self.given {
            dual.observe(self.problem, &mut self.omega, given.point(), alpha)?;
        }
        dual.observe(self.problem, &mut self.omega, self.point.dual(), alpha)?;
        observe(&mut best, &self.point, alpha, dual.value, target);
        if best.converged && self.atoms.is_empty() {
            best.dual = dual.slopes;
            return Ok(best);
        }
        if !best.converged {
            self.begin(alpha)?;
        }
        let mut vertex = vec![0.0; self.s.len()];
        let (mut checked_bound, mut unchecked) = (f64::INFINITY, 0);
        let mut stuck = false;
        while !best.converged {
            self.omega.vertex(&self.point.theta, &mut vertex)?;
            self.point.norm = dot(&vertex, &self.point.theta);
            let bound = alpha * self.point.norm - dot(&self.s, &self.point.theta);
            let over = stuck || self.run.is_over();
            unchecked += 1;
            if bound <= 0.5 * checked_bound || unchecked == CERTIFICATE_EVERY || over {
                (checked_bound, unchecked) = (bound, 0);
                dual.observe(self.problem, &mut self.omega, self.point.dual(), alpha)?;
                observe(&mut best, &self.point, alpha, dual.value, target);
                self.run.reported = best.duality_gap;
                if over {
                    break;
                }
            }
            self.run.report()?;
            if best.converged {
                break;
            }
            stuck = !self.pass(alpha, &vertex)?;
            self.run.count()?;
        }
        self.sharpen(&mut best, alpha, dual.value, target)?;
        best.dual = dual.slopes;
        best.n_iter = self.run.n_iter();
        Ok(best)
    }

    /// theta(s) for the present weights, or for the vertex of the present theta where there are none.
    fn begin(&mut self, alpha: f64) -> Result<()> {
        if self.atoms.is_empty() {
            let mut vertex = vec![0.0; self.s.len()];
            self.omega.vertex(&self.point.theta, &mut vertex)?;
            self.atoms.push(Atom::new(vertex, 1.0));
        }
        combine(&self.atoms, alpha, None, &mut self.s);
        let (problem, omega) = (self.problem, &mut self.omega);
        self.value = (self.tilted).minimise(problem, omega, &self.s, &mut self.point);
        Ok(())
    }

    /// A pairwise step towards `vertex`, then corrective ones; false where nothing is left to gain.
    fn pass(&mut self, alpha: f64, vertex: &[f64]) -> Result<bool> {
        let mut moved = self.pairwise_step(alpha, vertex)?;
        while self.tilted.hessian.is_factorised() && self.atoms.len() > 1 {
            let before = self.atoms.len();
            if !self.corrective_step(alpha)? {
                break;
            }
            moved = true;
            if self.atoms.len() == before {
                break;
            }
        }
        Ok(moved)
    }

    /// From the atom that is least along theta to `vertex`.
    fn pairwise_step(&mut self, alpha: f64, vertex: &[f64]) -> Result<bool> {
        let theta = &self.point.theta;
        let along = |atom: &Atom| dot(&atom.vertex, theta);
        let away = (0..self.atoms.len())
            .min_by(|&j, &k| along(&self.atoms[j]).total_cmp(&along(&self.atoms[k])))
            .unwrap_or(0);
        let direction: Vec<f64> = (vertex.iter().zip(&self.atoms[away].vertex))
            .map(|(v, a)| alpha * (v - a))
            .collect();
        let slope = dot(&direction, theta);
        let mut image = direction.clone();
        self.tilted.hessian.solve(self.problem, &mut image);
        let newton = slope / dot(&direction, &image);
        let longest = self.atoms[away].weight;
        let known = (self.atoms.iter()).position(|atom| atom.vertex == vertex);
        let towards = known.unwrap_or(self.atoms.len());
        if known.is_none() {
            self.atoms.push(Atom::new(vertex.to_vec(), 0.0));
        }
        let mut change = vec![0.0; self.atoms.len()];
        change[towards] += 1.0;
        change[away] -= 1.0;
        // Not `min`, which would take a NaN for the longest step.
        let step = if newton < longest { newton } else { longest };
        self.ascend(alpha, &change, step)
    }

    /// Newton's step for the weights.
    fn corrective_step(&mut self, alpha: f64) -> Result<bool> {
        let hessian = &mut self.tilted.hessian;
        for atom in self.atoms.iter_mut() {
            if atom.version != hessian.version {
                atom.image.clone_from(&atom.vertex);
                hessian.solve(self.problem, &mut atom.image);
                atom.version = hessian.version;
            }
        }
        // Differences from the heaviest atom span the directions in which the weights keep their sum.
        let heaviest = (0..self.atoms.len())
            .max_by(|&j, &k| self.atoms[j].weight.total_cmp(&self.atoms[k].weight))
            .unwrap_or(0);
        let others: Vec<usize> = (0..self.atoms.len()).filter(|&k| k != heaviest).collect();
        let from = |k: usize, of: fn(&Atom) -> &[f64]| -> Vec<f64> {
            (of(&self.atoms[k]).iter().zip(of(&self.atoms[heaviest])))
                .map(|(v, a)| alpha * (v - a))
                .collect()
        };
        let size = others.len();
        let edges: Vec<Vec<f64>> = others.iter().map(|&k| from(k, |a| &a.vertex)).collect();
        let mut gram = vec![0.0; size * size];
        for (a, &k) in others.iter().enumerate() {
            let image = from(k, |a| &a.image);
            for b in 0..=a {
                gram[a * size + b] = dot(&image, &edges[b]);
            }
        }
        let mut steps: Vec<f64> = (edges.iter())
            .map(|edge| dot(edge, &self.point.theta))
            .collect();
        if !cholesky::solve(&mut gram, &mut steps) {
            return Ok(false);
        }
        let mut change = vec![0.0; self.atoms.len()];
        for (&k, step) in others.iter().zip(&steps) {
            change[k] = *step;
            change[heaviest] -= step;
        }
        self.ascend(alpha, &change, 1.0)
    }

    /// Moves the weights by t*change for the first t = longest, longest/2, ... that gains enough, where longest is cut
    /// such that weights stay positive or become 0; atoms of weight 0 are dropped. False where no t does: nothing has
    /// changed then.
    fn ascend(&mut self, alpha: f64, change: &[f64], longest: f64) -> Result<bool> {
        let slope: f64 = (self.atoms.iter().zip(change))
            .map(|(atom, c)| alpha * c * dot(&atom.vertex, &self.point.theta))
            .sum();
        let mut t = longest;
        let mut first_empty = None;
        for (k, (atom, c)) in self.atoms.iter().zip(change).enumerate() {
            if *c < 0.0 && atom.weight <= -t * c {
                t = atom.weight / -c;
                first_empty = Some(k);
            }
        }
        let mut moved = false;
        if slope > 0.0 && t > 0.0 {
            for _ in 0..MOST_HALVINGS {
                let weights = moved_weights(&self.atoms, change, t, first_empty);
                if let Some(gains) = self.try_weights(alpha, &weights, t * slope)? {
                    if gains {
                        for (atom, weight) in self.atoms.iter_mut().zip(weights) {
                            atom.weight = weight;
                        }
                        moved = true;
                    }
                    break;
                }
                t *= 0.5;
                first_empty = None;
            }
        }
        self.atoms.retain(|atom| atom.weight > 0.0);
        Ok(moved)
    }

    /// Moves to these weights where that gains enough of what the slope promises. None: a shorter step may do; false:
    /// none will, as rounding hides what is left.
    fn try_weights(&mut self, alpha: f64, weights: &[f64], promised: f64) -> Result<Option<bool>> {
        combine(&self.atoms, alpha, Some(weights), &mut self.trial_s);
        self.trial.clone_from(&self.point);
        let (problem, omega) = (self.problem, &mut self.omega);
        let value = (self.tilted).minimise(problem, omega, &self.trial_s, &mut self.trial);
        if promised <= HIDDEN * self.point.rounding {
            let bound = |point: &Point, s: &[f64]| -> Result<f64> {
                Ok(alpha * self.omega.value(&point.theta)? - dot(s, &point.theta))
            };
            let (old, new) = (
                bound(&self.point, &self.s)?,
                bound(&self.trial, &self.trial_s)?,
            );
            if new > 0.9 * old {
                return Ok(Some(false));
            }
        } else if value - self.value < GAIN * promised {
            return Ok(None);
        }
        std::mem::swap(&mut self.point, &mut self.trial);
        std::mem::swap(&mut self.s, &mut self.trial_s);
        self.value = value;
        Ok(Some(true))
    }

    /// theta(s) has no exact zeros and ties, but the minimiser in the certificate has, a prox of -X'(w a) that tends to
    /// the same solution: takes it where it is as good, or good enough.
    fn sharpen(&mut self, best: &mut Solution, alpha: f64, dual: f64, target: f64) -> Result<()> {
        let ridge = self.problem.ridge();
        let negated: Vec<f64> = self.point.correlations.iter().map(|v| -v).collect();
        self.omega.prox(&negated, alpha, &mut self.trial.theta)?;
        self.trial.theta.iter_mut().for_each(|t| *t /= ridge);
        self.trial.intercept = self.point.intercept;
        self.trial.update_primal(self.problem, &self.omega)?;
        self.trial.update_dual(self.problem, &mut self.omega);
        let mut sharp = Solution {
            objective: f64::INFINITY,
            ..best.clone()
        };
        observe(&mut sharp, &self.trial, alpha, dual, target);
        if sharp.objective <= best.objective || (sharp.converged && best.converged) {
            *best = sharp;
        }
        Ok(())
    }
}

impl Atom {
    fn new(vertex: Vec<f64>, weight: f64) -> Self {
        Self {
            vertex,
            weight,
            image: Vec::new(),
            version: 0,
        }
    }
}

/// Takes `point` where it is the best so far, and the bound `dual`.
fn observe(best: &mut Solution, point: &Point, alpha: f64, dual: f64, target: f64) {
    let objective = point.risk + alpha * point.norm;
    if objective < best.objective {
        best.coefficients.clone_from(&point.theta);
        best.intercept = point.intercept;
        best.objective = objective;
    }
    let gap = best.objective - dual;
    best.duality_gap = gap.max(0.0) + point.rounding;
    best.converged = gap <= target.max(point.rounding);
}

/// The weights plus t*change, none negative and of sum 1.
fn moved_weights(atoms: &[Atom], change: &[f64], t: f64, empty: Option<usize>) -> Vec<f64> {
    let mut weights: Vec<f64> = (atoms.iter().zip(change))
        .map(|(atom, c)| (atom.weight + t * c).max(0.0))
        .collect();
    if let Some(k) = empty {
        weights[k] = 0.0;
    }
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= sum);
    weights
}

/// s = alpha times the combination of the atoms, by `weights` or their own.
fn combine(atoms: &[Atom], alpha: f64, weights: Option<&[f64]>, s: &mut [f64]) {
    s.fill(0.0);
    for (k, atom) in atoms.iter().enumerate() {
        let weight = alpha * weights.map_or(atom.weight, |weights| weights[k]);
        for (s, v) in s.iter_mut().zip(&atom.vertex) {
            *s += weight * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::DenseDesign;
    use super::super::test_norms::{Blocks, Difference};
    use super::*;
    use crate::loss;
    use crate::norm::Norm;

    fn data(n: usize, p: usize) -> (DenseDesign<'static>, Vec<f64>) {
        let wave = |k: usize| 2.0 * (k as f64 * 0.618_033_988_749_894_9).fract() - 1.0;
        let entries: Vec<f64> = (0..n * p)
            .map(|k| wave(k + 1) + 0.5 * wave(k % n + 7))
            .collect();
        let y = (0..n)
            .map(|i| {
                if entries[i] - entries[n + i] > 0.1 {
                    1.0
                } else {
                    -1.0
                }
            })
            .collect();
        (DenseDesign::from_columns(n, entries).unwrap(), y)
    }

    /// Pass by pass, with and without corrective steps: weights stay a convex combination, s is what they say and lies
    /// in alpha K, the value never falls, and in the end the bound vanishes.
    #[test]
    fn steps_keep_a_convex_combination_and_never_lose() {
        let linf = |lambda: &[f64]| Blocks {
            n_features: lambda.len(),
            lambda: lambda.to_vec(),
        };
        let sorted = linf(&[1.0, 0.8, 0.8, 0.5]);
        let largest = linf(&[1.0, 0.0, 0.0, 0.0]);
        for (norm, p) in [
            (&sorted as &dyn Norm, 4),
            (&largest as &dyn Norm, 4),
            (&Difference as &dyn Norm, 3),
        ] {
            let (x, y) = data(30, p);
            for entry in loss::CATALOGUE {
                let loss = loss::by_name(entry.name, &[]).unwrap();
                let problem = Problem::new(&x, &y, None, &*loss, 0.1, true).unwrap();
                for corrective in [false, true] {
                    let mut ignore = |_, _| Ok(());
                    let run = Run::new(1000, &mut ignore);
                    let mut dual =
                        DualFrankWolfe::new(&problem, Regulariser::Norm(norm), run).unwrap();
                    let alpha = 0.05;
                    dual.begin(alpha).unwrap();
                    let mut vertex = vec![0.0; p];
                    let mut bound = f64::INFINITY;
                    for _ in 0..1000 {
                        dual.omega.vertex(&dual.point.theta, &mut vertex).unwrap();
                        bound = alpha * dot(&vertex, &dual.point.theta)
                            - dot(&dual.s, &dual.point.theta);
                        let before = dual.value;
                        let moved = if corrective {
                            dual.pass(alpha, &vertex)
                        } else {
                            dual.pairwise_step(alpha, &vertex)
                        };
                        assert!(dual.value >= before - dual.point.rounding);
                        assert!(dual.atoms.iter().all(|atom| atom.weight > 0.0));
                        let sum: f64 = dual.atoms.iter().map(|atom| atom.weight).sum();
                        assert!((sum - 1.0).abs() < 1e-12);
                        let mut s = vec![0.0; p];
                        combine(&dual.atoms, alpha, None, &mut s);
                        assert!(s.iter().zip(&dual.s).all(|(a, b)| (a - b).abs() < 1e-15));
                        assert!(norm.dual(&s).unwrap() <= alpha * (1.0 + 1e-12) || p == 3);
                        if !moved.unwrap() {
                            break;
                        }
                    }
                    // Pairwise steps end where rounding hides their gain, which is of second order in the bound.
                    let least = if corrective { 1e-9 } else { 1e-7 };
                    assert!((-1e-14..least).contains(&bound), "{bound} {corrective}");
                }
            }
        }
    }
}

//! Exact, non-private minimisation of the empirical risk with a norm as penalty or as constraint, with a certificate.
//!
//! With weights w normalised to sum 1 and z = X theta + b the two problems are
//!
//! ```text
//! penalised     min  sum_i w_i l(z_i; y_i) + (ridge/2)|theta|_2^2 + alpha Omega(theta)
//! constrained   min  sum_i w_i l(z_i; y_i) + (ridge/2)|theta|_2^2     over Omega(theta) <= radius
//! ```
//!
//! where the intercept b is neither penalised nor constrained and Omega is any [`crate::norm::Norm`], a seminorm in the
//! penalised form only. Reading order:
//!
//! - [`Design`]: what is asked of a matrix; [`DenseDesign`] and [`CscDesign`] implement it.
//! - [`Regulariser`]: Omega as the solver uses it; `kernel`: the directions that a seminorm leaves free.
//! - `point`: theta with all that is derived from it; the intercept is exact at every point.
//! - `duality_gap`: the certificates. Nothing else decides when to stop.
//! - `proximal_newton`: the loop over quadratic models; `model`: the two ways to minimise one.
//! - `coordinate_descent`, with `covariance` for sparse columns and `support_step` for nearly dependent ones: the l1
//!   norm.
//! - `group_descent`: the group lasso, and l1 norms with weights of 0 or theta >= 0, which are of its kind.
//! - `accelerated_gradient`, with `cluster_step` and `line_search`: any norm.
//! - `multiplier`: the constrained form by a root search for the penalty that attains the radius.
//! - `dual_frank_wolfe`, with `tilted_risk`: a positive ridge; the dual problem over the polytope of the norm.
//! - `path`: sequences of penalties.
//! - `classes`: the same for the logistic model of three or more classes, with loops of its own.

mod accelerated_gradient;
mod cholesky;
mod classes;
mod cluster_step;
mod coordinate_descent;
mod counts;
mod covariance;
mod design;
mod dual_frank_wolfe;
mod duality_gap;
mod group_descent;
mod kernel;
mod line_search;
mod model;
mod multiplier;
mod path;
mod point;
mod problem;
mod proximal_newton;
mod regulariser;
mod run;
mod start;
mod support_step;
#[cfg(test)]
mod test_norms;
mod tilted_risk;

pub use classes::{
    ClassDesign, ClassNorm, ClassProblem, ClassSolution, ClassStart, classes_alpha_max,
    classes_path, minimise_classes,
};
pub use counts::poisson;
pub use design::{CscDesign, DenseDesign, Design};
pub(crate) use kernel::Kernel;
pub use path::{alpha_max, path};
pub use problem::Problem;
pub use regulariser::Regulariser;
pub use start::Start;

use crate::error::{Error, Result, non_negative, positive};
use crate::norm::GroupLasso;
use accelerated_gradient::AcceleratedGradient;
use coordinate_descent::CoordinateDescent;
use dual_frank_wolfe::DualFrankWolfe;
use duality_gap::BallBound;
use group_descent::GroupDescent;
use model::Model;
use multiplier::ScalarBall;
use proximal_newton::ProximalNewton;
use regulariser::Omega;
use run::Run;

/// Called after every pass with the number of passes so far and the latest duality gap (infinite before the first one
/// is known); an error stops the run and is returned. [`Error::Interrupted`] is the one to use for Ctrl-C.
pub type Progress<'c> = dyn FnMut(usize, f64) -> Result<()> + 'c;

/// How the norm enters.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Form {
    /// alpha Omega(theta) is added; alpha >= 0, and alpha = 0 needs a positive ridge.
    Penalty(f64),
    /// Omega(theta) <= radius, radius > 0; for norms only, not for seminorms.
    Ball(f64),
}

/// Which algorithm minimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Method {
    /// Coordinate descent for l1 norms, weighted ones too, and group lassos; accelerated proximal gradients for others.
    #[default]
    Auto,
    /// For l1 norms only, weighted ones too, and, group by group, for group lassos of groups of up to 128 features.
    CoordinateDescent,
    /// For every norm.
    ProximalGradient,
    /// For every norm: Frank and Wolfe's method on the dual, which asks for greedy vertices instead of proxes (Kumar &
    /// Deisenroth 2019, algorithm 1). Penalised form and a positive ridge only.
    DualFrankWolfe,
}

impl Method {
    /// Passes that are enough for all but hopeless problems: [`Stopping::max_iter`] where a caller names none.
    ///
    /// A pass of coordinate descent goes to the best value of every coordinate, whatever its scale, a step of proximal
    /// gradients goes one length for all: those are as cheap and bring less.
    pub fn default_max_iter(self, regulariser: Regulariser<'_>) -> usize {
        let by_coordinates = match regulariser {
            Regulariser::L1 => true,
            Regulariser::Norm(norm) => norm.weights().is_some() || in_blocks(norm.group_lasso()),
        };
        match self {
            Self::Auto if by_coordinates => 10_000,
            Self::CoordinateDescent | Self::DualFrankWolfe => 10_000,
            Self::Auto | Self::ProximalGradient => 100_000,
        }
    }
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stopping {
    /// Stop once the duality gap is at most `tol` times the objective at theta = 0 with its best intercept.
    pub tol: f64,
    /// Most passes: over the coordinates of a working set for coordinate descent, gradient steps on one (the line
    /// searches and Newton steps between them included) for proximal gradients, greedy vertices for the dual method.
    pub max_iter: usize,
}

/// What [`minimise`] returns.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// theta.
    pub coefficients: Vec<f64>,
    /// b, 0 without an intercept.
    pub intercept: f64,
    /// Objective at (theta, b).
    pub objective: f64,
    /// Upper bound on objective - minimum, the rounding errors of its own evaluation included.
    pub duality_gap: f64,
    /// The dual point behind the gap, one number per record, for [`Start`]; [`path`] keeps none.
    pub dual: Vec<f64>,
    /// Passes, as in [`Stopping::max_iter`].
    pub n_iter: usize,
    /// Whether the gap reached the tolerance (or the limit of double precision).
    pub converged: bool,
}

/// Minimises the regularised empirical risk, from `start` where given.
///
/// Running out of iterations is no error: `converged` says so.
///
/// # Errors
/// Negative or infinite options, alpha = 0 without a ridge (no dual certificate exists), a norm on another number of
/// features, a ball of a seminorm, coordinate descent for another norm than an l1 norm, the dual method for a ball or
/// without a ridge, a start of the wrong length or with entries that are not finite, numbers that leave the range of
/// double precision, and whatever `progress` or an oracle returns.
///
/// ```
/// use dpsparse::loss::Squared;
/// use dpsparse::solver::{DenseDesign, Form, Method, Problem, Regulariser, Stopping, minimise};
/// // One feature, (1/2)(theta - 3)^2 + |theta|: theta = 2.
/// let x = DenseDesign::from_columns(1, vec![1.0])?;
/// let problem = Problem::new(&x, &[3.0], None, &Squared, 0.0, false)?;
/// let stopping = Stopping { tol: 1e-9, max_iter: 100 };
/// let solution = minimise(
///     &problem, Regulariser::L1, Form::Penalty(1.0), Method::Auto, stopping, None, &mut |_, _| Ok(()),
/// )?;
/// assert_eq!(solution.coefficients, [2.0]);
/// assert!(solution.converged && solution.duality_gap < 1e-9 * 4.5);
/// # Ok::<(), dpsparse::Error>(())
/// ```
pub fn minimise<D: Design + ?Sized>(
    problem: &Problem<'_, D>,
    regulariser: Regulariser<'_>,
    form: Form,
    method: Method,
    stopping: Stopping,
    start: Option<Start<'_>>,
    progress: &mut Progress<'_>,
) -> Result<Solution> {
    check_options(problem.ridge(), form, stopping)?;
    let run = Run::new(stopping.max_iter, progress);
    if method == Method::DualFrankWolfe {
        let Form::Penalty(alpha) = form else {
            return Err(Error::invalid(
                "radius",
                "is not for solver \"dual-frank-wolfe\", which needs alpha",
            ));
        };
        let mut dual = DualFrankWolfe::new(problem, regulariser, run)?;
        let target = stopping.tol * dual.point().risk;
        dual.start_at(start)?;
        return finite(dual.penalised(alpha, target)?);
    }
    let mut newton = prepare(problem, regulariser, method, run)?;
    if matches!(form, Form::Ball(_)) && !newton.omega.kernel.is_empty() {
        return Err(Error::invalid(
            "radius",
            "needs a norm: the ball of a seminorm is not bounded; use alpha",
        ));
    }
    let target = stopping.tol * newton.point().risk;
    match form {
        Form::Penalty(alpha) => {
            newton.start_at(start)?;
            finite(newton.penalised(alpha, target)?)
        }
        Form::Ball(radius) => {
            let mut bound = BallBound::new(radius, target, problem.targets().len());
            newton.show(&mut bound)?;
            let alpha_at_zero = bound.multiplier();
            newton.start_at(start)?;
            newton.show_given(&mut bound)?;
            let mut ball = ScalarBall {
                newton: &mut newton,
                bound: &mut bound,
            };
            multiplier::search(&mut ball, alpha_at_zero)?;
            finite(bound.into_solution(newton.run.n_iter()))
        }
    }
}

/// Refuses what has overflowed on the way, as the squares of columns of size 1e160 do: nothing else of it is right.
fn finite(solution: Solution) -> Result<Solution> {
    let mut numbers = [solution.intercept, solution.objective, solution.duality_gap]
        .into_iter()
        .chain(solution.coefficients.iter().copied());
    if numbers.all(f64::is_finite) {
        return Ok(solution);
    }
    Err(Error::InvalidData(
        "X and y must be scaled: the fit left the range of double precision".into(),
    ))
}

/// At theta = 0.
fn prepare<'r, 'a, D: Design + ?Sized>(
    problem: &'r Problem<'a, D>,
    regulariser: Regulariser<'r>,
    method: Method,
    run: Run<'r>,
) -> Result<ProximalNewton<'r, 'a, D>> {
    let mut omega = Omega::new(regulariser, problem)?;
    if problem.ridge() == 0.0 {
        omega.kernel.prepare(problem);
    }
    let weights = omega.weights().map(<[f64]>::to_vec);
    let lasso = (omega.group_lasso()).filter(|lasso| in_blocks(Some(lasso)));
    let model = match (method, weights, lasso) {
        // The dual method has its own loop.
        (Method::ProximalGradient | Method::DualFrankWolfe, ..) | (Method::Auto, None, None) => {
            Model::Gradient(Box::new(AcceleratedGradient::new(problem)))
        }
        (Method::Auto | Method::CoordinateDescent, None, Some(lasso)) => {
            Model::Groups(Box::new(GroupDescent::new(problem, lasso)))
        }
        (Method::Auto | Method::CoordinateDescent, Some(weights), _) => {
            let n_rows = problem.design().n_rows();
            let model = CoordinateDescent::new(n_rows, problem.ridge(), weights);
            Model::Coordinates(Box::new(model))
        }
        (Method::CoordinateDescent, None, None) => {
            return Err(Error::invalid(
                "solver",
                "\"coordinate-descent\" is for l1 norms, weighted ones included, and for group lassos of groups of up to 128 \
                 features",
            ));
        }
    };
    ProximalNewton::new(problem, omega, model, run)
}

/// Whether there is block descent for a norm: a group lasso whose groups are not too large.
fn in_blocks(lasso: Option<&GroupLasso>) -> bool {
    lasso.is_some_and(|lasso| lasso.largest_group() <= group_descent::MOST_FEATURES)
}

fn check_options(ridge: f64, form: Form, stopping: Stopping) -> Result<()> {
    let Stopping { tol, max_iter } = stopping;
    non_negative("tol", tol)?;
    if max_iter == 0 {
        return Err(Error::invalid("max_iter", "must be at least 1"));
    }
    match form {
        Form::Penalty(0.0) if ridge == 0.0 => Err(Error::invalid(
            "alpha",
            "must be positive, or come with a positive ridge: without either there is no certificate of optimality",
        )),
        Form::Penalty(alpha) => non_negative("alpha", alpha).map(drop),
        Form::Ball(radius) => positive("radius", radius).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::test_norms::Blocks;
    use super::*;
    use crate::loss::{self, Task};
    use proptest::prelude::*;

    /// The third column nearly the first, the second far from centred and, where `hard`, of another scale: condition
    /// number 1e9, where gradients alone get nowhere.
    fn instance(
        seed: u64,
        n: usize,
        p: usize,
        task: Task,
        hard: bool,
    ) -> (DenseDesign<'static>, Vec<f64>) {
        let mut state = seed.wrapping_mul(2).wrapping_add(1);
        let mut draw = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        let mut columns: Vec<Vec<f64>> = (0..p).map(|_| (0..n).map(|_| draw()).collect()).collect();
        let scores: Vec<f64> = (0..n)
            .map(|i| columns[0][i] - columns[1][i] + 0.5 * draw())
            .collect();
        let apart = if hard { 1e-4 } else { 0.1 };
        columns[2] = columns[0].iter().map(|x| x + apart * draw()).collect();
        let (scale, shift) = if hard { (100.0, 300.0) } else { (3.0, 9.0) };
        columns[1].iter_mut().for_each(|x| *x = scale * *x + shift);
        let mut targets: Vec<f64> = match task {
            Task::Regression => scores,
            Task::Classification => scores.iter().map(|z| 1f64.copysign(*z)).collect(),
            Task::Counts => {
                // Of the largest one: what the smoothness of their loss is stated for.
                let counts = scores.iter().map(|z| (2.0 * z).exp().floor());
                let largest = counts.clone().fold(1.0, f64::max);
                counts.map(|count| count / largest).collect()
            }
        };
        (targets[0], targets[1]) = (1.0, if task == Task::Counts { 0.0 } else { -1.0 });
        (
            DenseDesign::from_columns(n, columns.concat()).unwrap(),
            targets,
        )
    }

    /// l-infinity, l-infinity of groups, sorted l1.
    fn norms() -> [Blocks; 3] {
        let of = |lambda: &[f64]| Blocks {
            n_features: 6,
            lambda: lambda.to_vec(),
        };
        [
            of(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
            of(&[1.0, 0.0, 0.0]),
            of(&[2.0, 1.5, 1.2, 1.0, 0.7, 0.5]),
        ]
    }

    /// Groups, with l1 and weights, with theta >= 0, and a seminorm.
    fn lassos() -> [GroupLasso; 4] {
        let of = |weights: [f64; 3], l1| {
            let groups = [vec![0, 3], vec![1, 2, 4], vec![5]];
            GroupLasso::new(&groups, Some(&weights), l1).unwrap()
        };
        [
            of([1.0; 3], 0.0),
            of([1.0, 0.0, 2.0], 0.3),
            of([0.5, 1.0, 2.0], 0.1).on_positive(),
            of([1.0, 0.0, 1.0], 0.0),
        ]
    }

    fn objective(
        problem: &Problem<'_, DenseDesign<'_>>,
        regulariser: Regulariser<'_>,
        form: Form,
        theta: &[f64],
        intercept: f64,
    ) -> f64 {
        let mut z = vec![0.0; problem.design().n_rows()];
        problem.design().multiply(theta, &mut z);
        let risk: f64 = (z.iter().zip(problem.targets()).zip(problem.weights()))
            .map(|((z, y), w)| w * problem.loss().value(z + intercept, *y))
            .sum();
        let square: f64 = theta.iter().map(|t| t * t).sum();
        let norm = |theta: &[f64]| match regulariser {
            Regulariser::L1 => theta.iter().map(|t| t.abs()).sum(),
            Regulariser::Norm(norm) => norm.value(theta).unwrap(),
        };
        let penalty = match form {
            Form::Penalty(alpha) => alpha * norm(theta),
            Form::Ball(_) => 0.0,
        };
        risk + 0.5 * problem.ridge() * square + penalty
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// Whatever point the solver stops at, no other point is better by more than the gap: neither the precise
        /// solution nor random ones around it.
        #[test]
        fn gap_bounds_the_suboptimality(
            seed in 0..1000u64,
            which in 0..loss::CATALOGUE.len(),
            which_norm in 0..9usize,
            ball in any::<bool>(),
            hard in any::<bool>(),
            size in prop_oneof![Just(0.003), Just(0.05), Just(1.0), Just(4.0)],
            ridge in prop_oneof![Just(0.0), Just(0.1)],
            fit_intercept in any::<bool>(),
            max_iter in 1..40usize,
            moves in prop::collection::vec(-0.1..0.1f64, 7),
        ) {
            let loss = loss::by_name(loss::CATALOGUE[which].name, &[]).unwrap();
            let (x, y) = instance(seed, 30, 6, loss.task(), hard);
            let problem = Problem::new(&x, &y, None, &*loss, ridge, fit_intercept).unwrap();
            let (norms, lassos) = (norms(), lassos());
            let (regulariser, method) = match which_norm {
                0 => (Regulariser::L1, Method::CoordinateDescent),
                1 => (Regulariser::L1, Method::ProximalGradient),
                k @ 2..5 => (Regulariser::Norm(&norms[k - 2]), Method::Auto),
                k => (Regulariser::Norm(&lassos[k - 5]), Method::Auto),
            };
            let (positive, ball) = (which_norm == 7, ball && which_norm != 8);
            let form = if ball { Form::Ball(size) } else { Form::Penalty(size) };
            let run = |tol, max_iter| {
                minimise(&problem, regulariser, form, method, Stopping { tol, max_iter }, None, &mut |_, _| Ok(())).unwrap()
            };
            let (rough, precise) = (run(0.0, max_iter), run(1e-9, 10_000));
            prop_assert!(rough.n_iter <= max_iter);
            let coordinates = which_norm == 0;
            prop_assert!(run(1e-6, 10_000).converged || (hard && !coordinates));
            let value = objective(&problem, regulariser, form, &rough.coefficients, rough.intercept);
            prop_assert!((value - rough.objective).abs() <= 1e-12 * (1.0 + value));
            let mut others = vec![(precise.coefficients.clone(), precise.intercept)];
            let theta: Vec<f64> = precise.coefficients.iter().zip(&moves).map(|(t, m)| t + m).collect();
            let b = if fit_intercept { precise.intercept + moves[6] } else { 0.0 };
            others.push((theta, b));
            for (mut theta, b) in others {
                if positive {
                    prop_assert!(rough.coefficients.iter().all(|t| *t >= 0.0));
                    theta.iter_mut().for_each(|t| *t = t.max(0.0));
                }
                if ball {
                    let norm = objective(&problem, regulariser, Form::Penalty(1.0), &theta, b)
                        - objective(&problem, regulariser, Form::Ball(1.0), &theta, b);
                    theta.iter_mut().for_each(|t| *t *= (size / norm * (1.0 - 1e-12)).min(1.0));
                }
                let other = objective(&problem, regulariser, form, &theta, b);
                prop_assert!(value - other <= rough.duality_gap + 1e-12 * (1.0 + other));
                prop_assert!(precise.objective - other <= precise.duality_gap + 1e-12 * (1.0 + other));
            }
        }
    }

    /// Where models of losses with linear parts are next to flat, passes towards their minimisers did not end, or
    /// brought nothing that Newton's steps would: seeds that random cases found.
    #[test]
    fn models_that_are_next_to_flat_end() {
        let lassos = lassos();
        let penalty = |which: usize, size| (Regulariser::Norm(&lassos[which]), Form::Penalty(size));
        let ball = |which: usize, size| (Regulariser::Norm(&lassos[which]), Form::Ball(size));
        for (seed, loss, (norm, form), method) in [
            (67, "absolute", ball(1, 1.0), Method::Auto),
            (220, "pinball", ball(0, 4.0), Method::Auto),
            (342, "pinball", ball(1, 1.0), Method::Auto),
            (445, "absolute", ball(2, 4.0), Method::Auto),
            (464, "pinball", penalty(3, 0.003), Method::Auto),
            (
                886,
                "pinball",
                (Regulariser::L1, Form::Penalty(0.05)),
                Method::ProximalGradient,
            ),
        ] {
            let loss = loss::by_name(loss, &[]).unwrap();
            let (x, y) = instance(seed, 30, 6, loss.task(), false);
            let problem = Problem::new(&x, &y, None, &*loss, 0.0, false).unwrap();
            let stopping = Stopping {
                tol: 1e-6,
                max_iter: 10_000,
            };
            let found = minimise(&problem, norm, form, method, stopping, None, &mut |_, _| {
                Ok(())
            })
            .unwrap();
            assert!(found.converged, "{seed} {}", found.duality_gap);
        }
    }

    /// Dual points of a seminorm are orthogonal to what is free up to rounding: what was left of 1e-11 stood beside
    /// large coefficients, and the gap was too small by it.
    #[test]
    fn gaps_of_seminorms_are_no_smaller_than_they_must_be() {
        let (x, y) = instance(734, 30, 6, Task::Regression, true);
        let problem = Problem::new(&x, &y, None, &loss::Squared, 0.0, true).unwrap();
        let lassos = lassos();
        let run = |tol, max_iter| {
            let (norm, form) = (Regulariser::Norm(&lassos[3]), Form::Penalty(0.05));
            let stopping = Stopping { tol, max_iter };
            minimise(
                &problem,
                norm,
                form,
                Method::Auto,
                stopping,
                None,
                &mut |_, _| Ok(()),
            )
            .unwrap()
        };
        let (rough, precise) = (run(0.0, 1), run(1e-9, 10_000));
        assert!(rough.objective - precise.objective <= rough.duality_gap + 1e-12);
    }

    #[test]
    fn progress_may_stop_a_run() {
        let (x, y) = instance(1, 30, 6, Task::Regression, true);
        let problem = Problem::new(&x, &y, None, &loss::Squared, 0.0, true).unwrap();
        let stopping = Stopping {
            tol: 1e-9,
            max_iter: 100,
        };
        let mut stop = |iteration, _| {
            if iteration < 3 {
                Ok(())
            } else {
                Err(Error::Interrupted)
            }
        };
        let outcome = minimise(
            &problem,
            Regulariser::L1,
            Form::Penalty(0.01),
            Method::Auto,
            stopping,
            None,
            &mut stop,
        );
        assert_eq!(outcome, Err(Error::Interrupted));
    }

    /// Whatever dual point comes with a start, the gap is one; that of a solution certifies it at once.
    #[test]
    fn any_start_is_sound_and_a_solution_is_kept() {
        let stopping = Stopping {
            tol: 1e-6,
            max_iter: 10_000,
        };
        for entry in loss::CATALOGUE {
            let loss = loss::by_name(entry.name, &[]).unwrap();
            let (x, y) = instance(3, 30, 6, loss.task(), false);
            for (norm, form, ridge) in [
                (Regulariser::L1, Form::Penalty(0.05), 0.0),
                (Regulariser::L1, Form::Ball(0.5), 0.1),
                (Regulariser::Norm(&norms()[2]), Form::Penalty(0.05), 0.1),
                (Regulariser::Norm(&norms()[0]), Form::Ball(0.2), 0.0),
            ] {
                let problem = Problem::new(&x, &y, None, &*loss, ridge, true).unwrap();
                let run = |start| {
                    let auto = Method::Auto;
                    minimise(&problem, norm, form, auto, stopping, start, &mut |_, _| {
                        Ok(())
                    })
                    .unwrap()
                };
                let first = run(None);
                assert!(first.converged);
                let at = |dual| Start {
                    coefficients: &first.coefficients,
                    intercept: first.intercept,
                    dual: Some(dual),
                };
                let again = run(Some(at(&first.dual)));
                assert_eq!(
                    (again.n_iter, &again.coefficients),
                    (0, &first.coefficients)
                );
                assert!(again.duality_gap <= first.duality_gap + 1e-13 * first.objective);
                let wild: Vec<f64> = (0..30).map(|i| (i % 7) as f64 - 3.0).collect();
                for dual in [&wild[..], &y, &[0.0; 30]] {
                    let other = run(Some(at(dual)));
                    assert!(other.objective - first.objective <= other.duality_gap + 1e-12);
                }
            }
        }
    }

    #[test]
    fn limits_suit_the_method() {
        let general = norms();
        let general = Regulariser::Norm(&general[0]);
        assert_eq!(Method::Auto.default_max_iter(Regulariser::L1), 10_000);
        assert_eq!(Method::Auto.default_max_iter(general), 100_000);
        let gradients = Method::ProximalGradient;
        assert_eq!(gradients.default_max_iter(Regulariser::L1), 100_000);
        assert_eq!(Method::DualFrankWolfe.default_max_iter(general), 10_000);
    }

    #[test]
    fn bad_options_are_refused() {
        let (x, y) = instance(1, 30, 6, Task::Regression, true);
        let problem = Problem::new(&x, &y, None, &loss::Squared, 0.0, true).unwrap();
        let run = |form, tol, max_iter, start: Option<(&[f64], &[f64])>| {
            let start = start.map(|(coefficients, dual)| Start {
                coefficients,
                intercept: 0.0,
                dual: Some(dual),
            });
            minimise(
                &problem,
                Regulariser::L1,
                form,
                Method::Auto,
                Stopping { tol, max_iter },
                start,
                &mut |_, _| Ok(()),
            )
            .is_err()
        };
        assert!(run(Form::Penalty(-1.0), 1e-6, 10, None));
        assert!(run(Form::Penalty(0.0), 1e-6, 10, None));
        assert!(run(Form::Ball(0.0), 1e-6, 10, None));
        assert!(run(Form::Ball(1.0), f64::NAN, 10, None));
        assert!(run(Form::Ball(1.0), 1e-6, 0, None));
        let (theta, dual) = ([0.0; 6], [0.0; 30]);
        assert!(!run(Form::Ball(1.0), 1e-6, 1000, Some((&theta, &dual))));
        assert!(run(Form::Ball(1.0), 1e-6, 10, Some((&theta[1..], &dual))));
        assert!(run(Form::Ball(1.0), 1e-6, 10, Some((&theta, &dual[1..]))));
        assert!(run(
            Form::Ball(1.0),
            1e-6,
            10,
            Some((&theta, &[f64::NAN; 30]))
        ));
        assert!(run(Form::Ball(1.0), 1e-6, 10, Some((&[1e200; 6], &dual))));
        assert!(Problem::new(&x, &y[1..], None, &loss::Squared, 0.0, true).is_err());
        assert!(Problem::new(&x, &y, Some(&vec![0.0; 30]), &loss::Squared, 0.0, true).is_err());
        assert!(Problem::new(&x, &y, None, &loss::Logistic, 0.0, true).is_err());
        assert!(Problem::new(&x, &[1.0; 30], None, &loss::Logistic, 0.0, true).is_err());
        assert!(Problem::new(&x, &y, None, &loss::Squared, -1.0, true).is_err());
    }
}

//! How many noisy Newton steps, how long, with how much momentum
//! ([`crate::theory_of_privacy::noisy_gradients`]).

use super::class_scores::ClassScores;
use super::newton_steps::NewtonOptions;
use crate::numeric::normal::upper_quantile;
use crate::plan::Problem;
use crate::plan::defaults::{
    CLAMPED_CURVATURE, CLASS_STEPS, CLASS_STRIDE, CLASSIFIER_SIGNAL, COUNT_SLOPE, DESCENT_EARLY,
    DESCENT_MOMENTUM, DESCENT_STEPS, FEW_CLASS_STEPS, LEAST_DENSITY, MOST_CLASS_STEPS,
    MOST_ENTRIES, NEWTON_DAMPING, NEWTON_EARLY, NEWTON_MOMENTUM, NEWTON_STEPS, REGRESSOR_SIGNAL,
    SHORT_DESCENT, SHRINKAGE, SHRINKAGE_DIRECTIONS, USUAL_EFFECT, classifier_slope,
    regressor_slope,
};
use crate::privacy::{Question, Target};
use crate::question::Moments;

/// Of the logistic loss.
const SCALAR_CURVATURE: f64 = 0.25;

/// The public constants of steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub n_iter: usize,
    /// How many times as long steps become as the bound on the curvature alone lets them be: so many steps of stride 1
    /// is one.
    pub stride: f64,
    pub momentum: f64,
    /// lambda, in units of the Hessian of the mean loss.
    pub damping: f64,
    /// Bound on the curvature of the loss that steps count on.
    pub curvature: f64,
    /// Iterates from this one on are averaged.
    pub first_of_mean: usize,
    /// Largest curvature that is but noise of the moments.
    pub hidden: f64,
    /// What a feature usually adds to a score, before anything is known of it; infinite: nothing is expected.
    pub effect: f64,
}

impl Pace {
    /// With `noise` the standard deviation of the noise on an entry of the mean gradient if there were one step.
    pub fn new(
        problem: &Problem,
        options: &NewtonOptions,
        noise: f64,
        moments: Option<&Question<Moments>>,
    ) -> Self {
        let curvature = curvature(problem);
        let shrinkage = shrinkage(problem, noise, curvature);
        // lambda a step: the mean of the later iterates is that after so many steps.
        let share = |early: f64| 0.5 * (1.0 + early) * shrinkage;
        // lambda without which steps would be too long, and its unit; the number of steps, unless it was set.
        let (momentum, stride, least, unit, n_iter, early) = match moments {
            Some(moments) => {
                let columns = problem.statement.n_columns() as f64;
                let hidden = largest_eigenvalue(moments.noise_scale(), columns);
                let unit = curvature * hidden / problem.n_samples() as f64;
                let least = NEWTON_DAMPING * unit;
                let enough = least / share(NEWTON_EARLY);
                let (n_iter, stride) = newton_steps(problem, options, enough);
                let momentum = momentum_of(stride);
                (momentum, stride, least, unit, n_iter, NEWTON_EARLY)
            }
            None => {
                // No eigenvalue exceeds beta R^2 if no row exceeds R, and steps of half the length that makes them
                // diverge allow for rows that count less but are longer.
                let unit = curvature * problem.gradient_bound().powi(2);
                let least = |momentum: f64| (1.0 - momentum) / (1.0 + momentum) * unit;
                let steps = |momentum: f64| (least(momentum) / shrinkage).ceil() as usize;
                let (few, short) = SHORT_DESCENT;
                let (momentum, n_iter) = if steps(short) <= few {
                    (short, few)
                } else {
                    let steps = steps(DESCENT_MOMENTUM);
                    let n_iter = steps.clamp(DESCENT_STEPS.0, DESCENT_STEPS.1);
                    (DESCENT_MOMENTUM, n_iter)
                };
                let least = least(momentum);
                (momentum, 1.0, least, unit, n_iter, DESCENT_EARLY)
            }
        };
        let n_iter = options.n_iter.unwrap_or(n_iter);
        // Without moments no direction is known to be flat, and who sets a damping means that one.
        let effect = match (options.damping, moments) {
            (None, Some(_)) => usual_effect(problem),
            _ => f64::INFINITY,
        };
        Self {
            n_iter,
            stride,
            momentum,
            damping: match options.damping {
                Some(damping) => damping * unit,
                None => least.max(n_iter as f64 * stride * share(early)),
            },
            curvature,
            first_of_mean: (early * n_iter as f64) as usize,
            hidden: unit,
            effect,
        }
    }
}

/// [`USUAL_EFFECT`] in units of scores.
fn usual_effect(problem: &Problem) -> f64 {
    match (problem.schema().target(), problem.spread) {
        (Target::Interval { .. }, Some(spread)) => USUAL_EFFECT * spread,
        (Target::Interval { .. }, None) => f64::INFINITY,
        (Target::Classes | Target::Multiclass { .. } | Target::Counts { .. }, _) => USUAL_EFFECT,
    }
}

/// How many Newton steps, and their stride, where so many of stride 1 are `enough` for the least lambda to be the ridge
/// that noise asks for.
///
/// Of classes they go further: where they are sure the bound on the curvature is many times the curvature, and a
/// direction whose share of the bound is c takes some 1/c steps. They go as far as noise leaves something to find, in
/// longer strides once they are many, and time allows.
fn newton_steps(problem: &Problem, options: &NewtonOptions, enough: f64) -> (usize, f64) {
    let set = options.damping.is_some() || options.n_iter.is_some();
    if !problem.schema().target().is_classes() || set {
        return (NEWTON_STEPS, 1.0);
    }
    let fewest = NEWTON_STEPS as f64;
    let [of_two, usual] = FEW_CLASS_STEPS;
    let (least, few) = match problem.outputs() {
        ..=2 => (of_two, of_two),
        _ => (fewest, usual),
    };
    let of_one = (CLASS_STEPS * enough).clamp(least, MOST_CLASS_STEPS);
    let entries = problem.n_samples() * problem.statement.n_columns() * problem.outputs();
    let n_iter = (of_one / CLASS_STRIDE).max(of_one.min(few));
    let n_iter = n_iter
        .min(MOST_ENTRIES / entries as f64)
        .max(fewest)
        .floor();
    // The momentum of a stride is to be forgotten well before the last step.
    let longest = CLASS_STRIDE * n_iter / usual;
    (n_iter as usize, (of_one / n_iter).min(longest).max(1.0))
}

/// The momentum m with which steps of a stride a converge for as large a curvature as those of stride 1: up to
/// 2 (1 + m)/(1 - m)/a times the released one.
fn momentum_of(stride: f64) -> f64 {
    let ratio = stride * (1.0 + NEWTON_MOMENTUM) / (1.0 - NEWTON_MOMENTUM);
    (ratio - 1.0) / (ratio + 1.0)
}

/// The curvature of the loss that steps count on: its bound, or less where residuals are clamped below the spread of
/// the targets, so that many records have none, or where only those in a kink have any. Steps with momentum m converge
/// where the true one is up to 2 (1 + m)/(1 - m) times as large.
pub(super) fn curvature(problem: &Problem) -> f64 {
    if problem.schema().target().units().is_some() {
        // The mean rate is about one unit; records beyond the clamp have none.
        return (CLAMPED_CURVATURE * problem.lipschitz()).min(1.0);
    }
    if let (Some(level), Some(spread)) = (problem.level(), problem.spread) {
        let density = |level: f64| density(level, regressor_slope() * spread);
        let least = LEAST_DENSITY * density(0.5);
        return density(level).max(least).min(problem.smoothness());
    }
    if problem.loss.name() == "hinge" {
        // The share of margins in the kink, over its width.
        return problem.smoothness().min(CLAMPED_CURVATURE);
    }
    let clamped = problem.spread.map_or(1.0, |spread| {
        (CLAMPED_CURVATURE * problem.lipschitz() / spread).min(1.0)
    });
    let smoothness = (ClassScores(problem.outputs()).curvature()).unwrap_or(problem.smoothness());
    smoothness * clamped
}

/// The density of a normal law of this standard deviation at its quantile: the mean curvature of the pinball loss.
fn density(level: f64, deviation: f64) -> f64 {
    let quantile = upper_quantile(level.min(1.0 - level));
    (-0.5 * quantile * quantile).exp() / (std::f64::consts::TAU.sqrt() * deviation)
}

/// The ridge that the steps act as, where noise stands against the model that is expected.
///
/// With N the standard deviation of the noise on the mean of T gradients, R the norm of a row and eigenvalues of the
/// Hessian that fall as R^2/j, R^2/lambda directions stand out of lambda. Each has noise N^2 and, if the signal V is
/// spread evenly over them, V lambda/R^2 of signal: both are alike where lambda = N R/sqrt(V). Where there are fewer
/// directions than that it is N^2 p/V, up to a constant. What a gradient has of noise because records are few, in all p
/// directions, adds to it in the same way, but no more than as much again, so that both vanish with the noise.
fn shrinkage(problem: &Problem, noise: f64, curvature: f64) -> f64 {
    let columns = problem.statement.n_columns() as f64;
    let (slope, norm) = (problem.lipschitz(), problem.gradient_bound());
    let scores = ClassScores(problem.outputs());
    let noise = match problem.schema().target() {
        // Slopes of counts are in units of the mean rate, whatever their clamp.
        Target::Counts { .. } => noise,
        Target::Classes => noise / slope,
        Target::Multiclass { .. } => noise * scores.noise() * scores.slope() / slope,
        // In units of the curvature: of a clamp below the spread 0.75 of its size in spreads, of a wide one no more
        // than 1.
        Target::Interval { .. } => match problem.spread {
            Some(spread) => noise * (CLAMPED_CURVATURE / (spread * curvature)),
            None => noise / slope,
        },
    };
    // One score that is a difference of classes, as of two, has the curvature of the scalar loss.
    let curvature = match scores.0 {
        1 => curvature,
        _ => SCALAR_CURVATURE,
    };
    let few = scores.shrinkage_of_few() * SHRINKAGE_DIRECTIONS * columns * noise / norm;
    let few = few.min(1.0);
    // Records as they were drawn: N^2 p = s^2 R^2/n, s the standard deviation of a derivative.
    let (spread, signal) = match problem.schema().target() {
        Target::Classes | Target::Multiclass { .. } => (classifier_slope(), CLASSIFIER_SIGNAL),
        Target::Interval { .. } => match (problem.spread, problem.level()) {
            // Per unit of its curvature, which is not one.
            (Some(spread), Some(level)) => (
                (level * (1.0 - level)).sqrt(),
                curvature * REGRESSOR_SIGNAL * spread.powi(2),
            ),
            (Some(spread), None) => (
                regressor_slope() * spread,
                REGRESSOR_SIGNAL * spread.powi(2),
            ),
            // Where nothing is known of the targets nothing is of their residuals.
            (None, _) => (0.0, 1.0),
        },
        Target::Counts { .. } => (COUNT_SLOPE, REGRESSOR_SIGNAL),
    };
    let sampling =
        (spread.min(slope / scores.slope()) * norm).powi(2) / (problem.n_samples() as f64 * signal);
    let private = SHRINKAGE * scores.shrinkage() * curvature * norm * noise * few;
    let sampling = scores.shrinkage_of_sampling() * sampling;
    // No more than as much again: what noise leaves no trace of is the fit of the stated loss, however few records are.
    private + private * sampling / (private + sampling)
}

/// Of a symmetric matrix of independent normal entries of standard deviation sigma (sqrt(2) sigma on the diagonal), for
/// many columns (Wigner 1958).
fn largest_eigenvalue(sigma: f64, columns: f64) -> f64 {
    2.0 * sigma * columns.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;
    use crate::loss::{Logistic, Squared};
    use crate::privacy::{Bounds, Geometry, Schema, Statement};

    fn problem(n: usize, target: Target) -> Problem {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let schema = Schema::new(9, bounds, Geometry::Uncentred, target, true, None).unwrap();
        let regression = !target.is_classes();
        Problem {
            statement: Statement::new(schema, n, Adjacency::ReplaceOne, 1).unwrap(),
            loss: if regression {
                Squared.into()
            } else {
                Logistic.into()
            },
            residual_bound: regression.then_some(0.5),
            spread: regression.then_some(0.5),
            opens: false,
            epsilon: 1.0,
            delta: Some(1e-7),
            reason: None,
            assumptions: Vec::new(),
        }
    }

    const REALS: Target = Target::Interval {
        low: -1.0,
        high: 1.0,
    };

    /// As far as ten times as many as are enough go, at least those of reals, in strides once they are more than 80, or
    /// 160 of two classes, and no more than time allows.
    #[test]
    fn classes_take_steps_as_long_as_noise_leaves_something_to_find() {
        let all = NewtonOptions::default();
        let steps_of = |target, enough| newton_steps(&problem(10_000, target), &all, enough);
        let three = Target::Multiclass { classes: 3 };
        assert_eq!(
            [0.1, 4.0, 7.0, 30.0, 1e9].map(|enough| steps_of(three, enough)),
            [(40, 1.0), (40, 1.0), (70, 1.0), (80, 3.75), (100, 10.0)]
        );
        for two in [Target::Classes, Target::Multiclass { classes: 2 }] {
            assert_eq!(
                [0.1, 16.0, 30.0, 1e9].map(|enough| steps_of(two, enough)),
                [(160, 1.0), (160, 1.0), (160, 1.875), (160, 6.25)]
            );
        }
        assert_eq!(newton_steps(&problem(10_000, REALS), &all, 1e9), (40, 1.0));
        let damped = NewtonOptions {
            damping: Some(1.0),
            ..all
        };
        let classes = problem(10_000, Target::Classes);
        assert_eq!(newton_steps(&classes, &damped, 1e9), (40, 1.0));
        // 4 10^9 entries, of ten columns a record.
        let many = |n| newton_steps(&problem(n, Target::Classes), &all, 1e9);
        let (some, more) = (5_000_000, 100_000_000);
        assert_eq!([some, more].map(many), [(80, 10.0), (40, 5.0)]);
        assert_eq!(newton_steps(&problem(some / 2, three), &all, 1e9).0, 53);
    }

    /// Steps of any stride stand as steep a curvature, six times the released one.
    #[test]
    fn momentum_keeps_long_strides_stable() {
        assert_eq!(momentum_of(1.0), NEWTON_MOMENTUM);
        for stride in [1.0, 2.5, 10.0] {
            let m = momentum_of(stride);
            let largest = |curvature: f64| {
                let (mut before, mut now, mut largest) = (1.0f64, 1.0, 0.0f64);
                for t in 0..400 {
                    let next = now + m * (now - before) - (1.0 - m) * stride * curvature * now;
                    (before, now) = (now, next);
                    largest = if t < 350 { 0.0 } else { largest.max(now.abs()) };
                }
                largest
            };
            assert!(largest(5.9) < 1e-3 && largest(6.1) > 10.0, "{stride}");
            assert!(largest(0.1) < 1e-3);
        }
    }

    /// Where no residual reaches the clamp, noise is what it is, whatever the clamp; below, both are in proportion to
    /// it.
    #[test]
    fn wide_clamps_leave_noise_its_ridge() {
        let at = |clamp: f64, noise: f64| {
            let problem = Problem {
                residual_bound: Some(clamp),
                ..problem(2_000_000_000, REALS)
            };
            shrinkage(&problem, noise, curvature(&problem))
        };
        assert!((at(5.0, 1e-3) / at(1.0, 1e-3) - 1.0).abs() < 1e-4);
        let (one, tenth) = (at(0.5, 1e-3), at(0.05, 1e-4));
        assert!((tenth / (0.1 * one) - 1.0).abs() < 1e-4);
    }

    /// Few records add to the shrinkage, at most as much again as noise asks for.
    #[test]
    fn few_records_are_shrunk_at_most_twice_as_much() {
        for target in [REALS, Target::Classes] {
            let at = |n: usize, noise: f64| shrinkage(&problem(n, target), noise, 0.25);
            for noise in [1e-1, 1e-3, 1e-5] {
                let noise_alone = at(2_000_000_000, noise);
                assert!(at(30, noise) > 1.05 * noise_alone, "{target:?} {noise}");
                assert!(at(30, noise) <= 2.0 * noise_alone, "{target:?} {noise}");
            }
        }
    }
}

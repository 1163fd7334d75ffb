//! The minimiser of a strongly convex private objective, to a distance that public constants prove
//! ([`crate::theory_of_privacy::output_perturbation`], [`crate::theory_of_privacy::objective_perturbation`]).

use super::fine_gradient::FineGradient;
use super::records::Watch;
use crate::error::Result;
use crate::numeric::linear::{Cholesky, norm2};
use crate::prox::Scratch;
use crate::question::Objective;

/// Coefficients up to which a Hessian is written down: one of p of them costs n p^2/2, and as much memory as p^2
/// floats.
const WRITTEN_COLUMNS: usize = 400;
/// Steps of the fast methods before the proved one takes over.
const NEWTON_STEPS: usize = 100;
/// A factorised Hessian serves as long as a step makes the slope this many times smaller.
const FACTOR_SERVES: f64 = 0.2;
/// Directions without a factorised Hessian leave so much of the slope.
const DIRECTION_LEAVES: f64 = 0.02;
/// Newton steps are halved down to this part of them.
const LEAST_LENGTH: f64 = 1e-6;
const ACCELERATED_STEPS: usize = 20_000;

/// A point within [`Objective::distance`] of the minimiser of F. Omega is a catalogued one, whose prox does not fail.
///
/// Newton's method (no penalty) or accelerated proximal gradient steps run until the residual, an element
/// of the subdifferential, is at most 4 times the float error: |theta - theta*| <= (|residual| + error)/ridge by strong
/// convexity. If they have not got there in their allowance, proximal gradient steps follow, T of them: each contracts
/// the distance to theta* by 1 - ridge/smoothness up to error/smoothness, so after T >= kappa ln(2 size ridge/error) of
/// them it is at most 2 error/ridge. Both ways end within the stated distance, from any start; only the running time
/// tells them apart.
pub(in crate::privacy) fn minimise(
    objective: &Objective<'_>,
    gradient: &mut FineGradient<'_>,
    tilt: &[f64],
    start: &mut Start,
    watch: Watch<'_>,
) -> Result<()> {
    let entries = tilt.len();
    let first = start.theta.is_empty();
    start.theta.resize(entries, 0.0);
    let mut search = Search {
        tolerance: tolerance(objective, entries),
        objective,
        gradient,
        tilt,
        scratch: Scratch::default(),
        watch,
    };
    // Minimisations after the first one start near their end, where one factorised Hessian serves many of them.
    let done = objective.penalty.is_none()
        && match search.written(first) {
            true => search.newton(start)?,
            false => search.inexact_newton(&mut start.theta)?,
        };
    let done = done || search.accelerate(&mut start.theta)?;
    if !done {
        search.contract(&mut start.theta)?;
    }
    Ok(())
}

/// The largest residual that is taken, of so many entries of theta: scores have as many columns each.
fn tolerance(objective: &Objective<'_>, entries: usize) -> f64 {
    let columns = entries / objective.model.outputs();
    4.0 * objective.float_error(columns)
}

/// Where a minimisation starts, and where it ends. Neither theta nor the Hessian of an earlier minimisation has to be
/// near: they save time. The first one starts at 0.
#[derive(Default)]
pub struct Start {
    pub theta: Vec<f64>,
    factor: Option<Cholesky>,
}

struct Search<'a, 'b> {
    objective: &'a Objective<'a>,
    gradient: &'a mut FineGradient<'b>,
    tilt: &'a [f64],
    tolerance: f64,
    scratch: Scratch,
    watch: Watch<'a>,
}

impl Search<'_, '_> {
    /// Gradient of the smooth part of F.
    fn slope(&mut self, theta: &[f64], out: &mut [f64]) -> Result<()> {
        self.gradient.evaluate(theta, out, self.watch)?;
        for ((out, theta), tilt) in out.iter_mut().zip(theta).zip(self.tilt) {
            *out += self.objective.ridge * theta + tilt;
        }
        Ok(())
    }

    /// Whether Newton's method writes Hessians down: of several scores, as long as that is cheap, always.
    fn written(&self, first: bool) -> bool {
        let several = self.objective.model.outputs() > 1;
        (several || !first) && self.tilt.len() <= WRITTEN_COLUMNS
    }

    /// Columns of one score.
    fn columns(&self) -> usize {
        self.tilt.len() / self.objective.model.outputs()
    }

    /// out = prox of step*alpha*Omega at theta - step*slope, score by score; the intercept only moves.
    fn step(&mut self, theta: &[f64], slope: &[f64], out: &mut [f64]) -> Result<f64> {
        let step = 1.0 / self.objective.total_smoothness(self.objective.load);
        for ((out, theta), slope) in out.iter_mut().zip(theta).zip(slope) {
            *out = theta - step * slope;
        }
        if let Some((norm, alpha)) = self.objective.penalty {
            let p = norm.n_features();
            for out in out.chunks_mut(self.columns()) {
                let moved = out[..p].to_vec();
                norm.proved_prox(&moved, step * alpha, &mut out[..p], &mut self.scratch)?;
            }
        }
        Ok(step)
    }

    fn accepts(&self, theta: &[f64], residual: f64) -> bool {
        residual <= self.tolerance
            && norm2(theta) <= 2.0 * self.objective.size_bound(self.objective.load)
    }

    /// In floats a direction may be anything; one longer than any step needs to be is none.
    fn may_be_a_step(&self, direction: &[f64]) -> bool {
        let longest = 8.0 * self.objective.size_bound(self.objective.load);
        norm2(direction) <= longest
    }

    /// Halves a step, down to `least` of it, until it makes a slope of this size smaller, which falls to 0 at the
    /// minimiser and nowhere else; whether it did, with where it leads and the slope there.
    fn descend(
        &mut self,
        theta: &[f64],
        size: f64,
        direction: &[f64],
        least: f64,
        (trial, trial_slope): (&mut [f64], &mut [f64]),
    ) -> Result<bool> {
        let mut length = 1.0;
        while length >= least {
            for ((trial, theta), direction) in trial.iter_mut().zip(theta).zip(direction) {
                *trial = theta - length * direction;
            }
            self.slope(trial, trial_slope)?;
            if norm2(trial_slope) < size * (1.0 - 0.1 * length) {
                return Ok(true);
            }
            length *= 0.5;
        }
        Ok(false)
    }

    /// Damped Newton steps; whether they got there.
    fn newton(&mut self, start: &mut Start) -> Result<bool> {
        let Start { theta, factor } = start;
        let entries = theta.len();
        let mut slope = vec![0.0; entries];
        let (mut trial, mut trial_slope) = (vec![0.0; entries], vec![0.0; entries]);
        let mut direction = vec![0.0; entries];
        self.slope(theta, &mut slope)?;
        for _ in 0..NEWTON_STEPS {
            if self.accepts(theta, norm2(&slope)) {
                return Ok(true);
            }
            let fresh = factor.is_none();
            if fresh {
                let mut hessian = vec![0.0; entries * entries];
                self.gradient.hessian(self.objective.ridge, &mut hessian);
                *factor = Cholesky::new(hessian, entries);
            }
            let Some(solver) = &*factor else {
                return Ok(false);
            };
            direction.copy_from_slice(&slope);
            solver.solve(&mut direction);
            if !self.may_be_a_step(&direction) {
                return Ok(false);
            }
            let least = if fresh { LEAST_LENGTH } else { 1.0 };
            let size = norm2(&slope);
            let found = self.descend(
                theta,
                size,
                &direction,
                least,
                (&mut trial, &mut trial_slope),
            )?;
            if !(found && norm2(&trial_slope) < FACTOR_SERVES * norm2(&slope)) {
                *factor = None;
            }
            if found {
                std::mem::swap(theta, &mut trial);
                std::mem::swap(&mut slope, &mut trial_slope);
            } else {
                // Back to the scores of theta, which the Hessian is taken at.
                self.slope(theta, &mut slope)?;
                if fresh {
                    return Ok(self.accepts(theta, norm2(&slope)));
                }
            }
        }
        Ok(self.accepts(theta, norm2(&slope)))
    }

    /// The same with directions that are found without writing a Hessian down.
    fn inexact_newton(&mut self, theta: &mut Vec<f64>) -> Result<bool> {
        let mut slope = vec![0.0; theta.len()];
        let (mut trial, mut trial_slope) = (slope.clone(), slope.clone());
        self.slope(theta, &mut slope)?;
        for _ in 0..NEWTON_STEPS {
            if self.accepts(theta, norm2(&slope)) {
                return Ok(true);
            }
            let ridge = self.objective.ridge;
            let Some(mut hessian) = self.gradient.curvature(ridge) else {
                return Ok(false);
            };
            let direction = hessian.direction(&slope, DIRECTION_LEAVES, self.watch)?;
            let size = norm2(&slope);
            let trials = (&mut trial[..], &mut trial_slope[..]);
            if !(self.may_be_a_step(&direction)
                && self.descend(theta, size, &direction, LEAST_LENGTH, trials)?)
            {
                return Ok(false);
            }
            std::mem::swap(theta, &mut trial);
            std::mem::swap(&mut slope, &mut trial_slope);
        }
        Ok(self.accepts(theta, norm2(&slope)))
    }

    /// Nesterov's method for strongly convex objectives; whether it got there.
    fn accelerate(&mut self, theta: &mut Vec<f64>) -> Result<bool> {
        let entries = theta.len();
        let root =
            (self.objective.ridge / self.objective.total_smoothness(self.objective.load)).sqrt();
        let momentum = (1.0 - root) / (1.0 + root);
        let mut ahead = theta.clone();
        let (mut slope, mut next_slope) = (vec![0.0; entries], vec![0.0; entries]);
        let mut next = vec![0.0; entries];
        for t in 1..=ACCELERATED_STEPS {
            self.slope(&ahead, &mut slope)?;
            let step = self.step(&ahead, &slope, &mut next)?;
            if t % 20 == 0 {
                self.slope(&next, &mut next_slope)?;
                let residual: f64 = (ahead.iter().zip(&next))
                    .zip(slope.iter().zip(&next_slope))
                    .map(|((ahead, next), (slope, next_slope))| {
                        let r = (ahead - next) / step - slope + next_slope;
                        r * r
                    })
                    .sum();
                if self.accepts(&next, residual.sqrt()) && self.accepts(&ahead, 0.0) {
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
        if norm2(theta).is_nan() || norm2(theta) > objective.size_bound(objective.load) {
            theta.fill(0.0);
        }
        let steps = objective.steps(self.columns()) as u64;
        let mut slope = vec![0.0; theta.len()];
        let mut next = vec![0.0; theta.len()];
        for _ in 0..steps {
            self.slope(theta, &mut slope)?;
            self.step(theta, &slope, &mut next)?;
            std::mem::swap(theta, &mut next);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;
    use crate::loss::{Admitted, Huber, Logistic, Squared};
    use crate::norm::SetFunctionNorm;
    use crate::norm::{GroupLasso, ReviewedNorm};
    use crate::numeric::linear::dot;
    use crate::privacy::blocks::Blocks;
    use crate::privacy::bounded_data::BoundedData;
    use crate::privacy::records::Records;
    use crate::question::{RoomModel, Statement};
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use crate::set_function::{
        Cardinality, ConcaveCardinality, ContiguousRange, GraphCut, GroupCover, SetFunction,
    };
    use ndarray::Array2;
    use std::sync::Arc;

    const P: usize = 4;
    const N: usize = 40;

    fn data() -> Blocks {
        data_of(Target::Classes)
    }

    /// Two classes as signs, or three by number.
    fn data_of(target: Target) -> Blocks {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let schema = Schema::new(P, bounds, Geometry::Uncentred, target, true, None).unwrap();
        let x = Array2::from_shape_fn((N, P), |(i, j)| {
            ((i * 37 + j * 61) % 101) as f64 / 50.0 - 1.0
        });
        let y: Vec<f64> = x
            .rows()
            .into_iter()
            .map(|x| match (target, x[0] + 0.3 * x[1] > 0.1) {
                (Target::Multiclass { classes: 3 }, true) if x[2] > 0.2 => 2.0,
                (_, true) => 1.0,
                (Target::Multiclass { .. }, false) => 0.0,
                (_, false) => -1.0,
            })
            .collect();
        let data = BoundedData::from_dense(x.view(), &y, schema.clone()).unwrap();
        let statement = Statement::new(schema, N, Adjacency::ReplaceOne, 1).unwrap();
        Blocks::new(Arc::new(data), &statement).unwrap()
    }

    /// The minimiser by plain proximal gradient steps in floats, far beyond the accuracy claimed.
    fn reference(
        objective: &Objective<'_>,
        data: &BoundedData,
        loss: &Admitted,
        tilt: &[f64],
    ) -> Vec<f64> {
        let step = 1.0 / objective.total_smoothness(1.0);
        let mut theta = vec![0.0; P + 1];
        let mut row = vec![0.0; P + 1];
        let mut scratch = Scratch::default();
        for _ in 0..(60.0 / (step * objective.ridge)) as usize {
            let mut slope: Vec<f64> = theta
                .iter()
                .zip(tilt)
                .map(|(t, b)| objective.ridge * t + b)
                .collect();
            for i in 0..N {
                data.fill_row(i, &mut row);
                let d = loss.derivative(dot(&row, &theta), data.targets[i]);
                let bound = objective.model.bound().linf;
                let d = d.clamp(-bound, bound) / N as f64;
                slope.iter_mut().zip(&row).for_each(|(s, x)| *s += d * x);
            }
            theta
                .iter_mut()
                .zip(&slope)
                .for_each(|(t, s)| *t -= step * s);
            if let Some((norm, alpha)) = objective.penalty {
                let moved = theta[..P].to_vec();
                norm.prox(&moved, step * alpha, &mut theta[..P], &mut scratch)
                    .unwrap();
            }
        }
        theta
    }

    /// Both ways, and the proved one alone, end within the stated distance, with and without penalty and tilt.
    #[test]
    fn the_distance_is_kept() {
        let data = data();
        let triangle = [(0, 1), (1, 2), (0, 2), (2, 3)];
        let functions: [Arc<dyn SetFunction>; 6] = [
            Arc::new(Cardinality::new(P).unwrap()),
            Arc::new(ConcaveCardinality::new(vec![1.0, 1.5, 1.8, 1.8]).unwrap()),
            Arc::new(GraphCut::new(&[(0, 1), (1, 2), (2, 3)], None, P).unwrap()),
            Arc::new(GraphCut::new(&triangle, None, P).unwrap()),
            Arc::new(GroupCover::new(&[vec![0, 1, 2], vec![2, 3]], None, P).unwrap()),
            Arc::new(ContiguousRange::new(P).unwrap()),
        ];
        let reviewed = |f| {
            let norm = ReviewedNorm::new(Arc::new(SetFunctionNorm::new(f).unwrap()));
            Some(norm.unwrap())
        };
        let lasso = |weights: &[f64], l1| {
            let groups = [vec![0, 2], vec![1, 3]];
            ReviewedNorm::new(Arc::new(
                GroupLasso::new(&groups, Some(weights), l1).unwrap(),
            ))
        };
        let norms: Vec<Option<ReviewedNorm>> = (std::iter::once(None))
            .chain(functions.map(reviewed))
            .chain([lasso(&[1.0, 0.5], 0.0), lasso(&[0.0, 1.0], 0.5)])
            .collect();
        assert!(norms[1..].iter().all(Option::is_some));
        let losses: [(Admitted, Option<f64>); 3] = [
            (Logistic.into(), None),
            (Huber::new(0.2).unwrap().into(), None),
            (Squared.into(), Some(0.05)),
        ];
        for (loss, clamp) in &losses {
            let model = RoomModel::new(loss, *clamp).unwrap();
            for norm in &norms {
                for (ridge, tilt) in [(0.05, 0.0), (0.3, 0.02)] {
                    let tilt = vec![tilt; P + 1];
                    let objective = Objective {
                        model: &model,
                        smoothness: loss.smoothness(),
                        rows: (P as f64 + 1.0).sqrt(),
                        ridge,
                        penalty: norm.as_ref().map(|norm| (norm, 0.03)),
                        prox_error: norm.as_ref().map_or(0.0, |norm| norm.prox_error()),
                        tilt_bound: norm2(&tilt),
                        load: 1.0,
                        most_load: 1.0,
                    };
                    let exact = reference(&objective, data.whole().unwrap(), loss, &tilt);
                    let mut gradient = FineGradient::new(&data, &model);
                    let mut start = Start::default();
                    minimise(&objective, &mut gradient, &tilt, &mut start, &mut || Ok(())).unwrap();
                    let fast = start.theta;
                    let mut proved = vec![f64::NAN; P + 1];
                    let tolerance = 4.0 * objective.float_error(P + 1);
                    let mut search = Search {
                        objective: &objective,
                        gradient: &mut gradient,
                        tilt: &tilt,
                        tolerance,
                        scratch: Scratch::default(),
                        watch: &mut || Ok(()),
                    };
                    search.contract(&mut proved).unwrap();
                    if norm.is_none() && loss.name() == "logistic" {
                        // Newton's method gets there, with Hessians and without, though nothing proves it.
                        let start = &mut Start {
                            theta: vec![0.0; P + 1],
                            factor: None,
                        };
                        assert!(search.newton(start).unwrap());
                        assert!(search.inexact_newton(&mut vec![0.0; P + 1]).unwrap());
                    }
                    for theta in [&fast, &proved] {
                        let distance: Vec<f64> =
                            theta.iter().zip(&exact).map(|(a, b)| a - b).collect();
                        let (distance, bound) = (norm2(&distance), objective.distance(P + 1));
                        assert!(distance <= bound, "{distance} {bound}");
                        assert!(bound < 1e-7 && norm2(theta) <= objective.size_bound(1.0));
                    }
                    if norm.is_none() {
                        let mut slope = vec![0.0; P + 1];
                        search.slope(&fast, &mut slope).unwrap();
                        assert!(norm2(&slope) <= tolerance);
                    }
                }
            }
        }
    }

    /// The minimiser for a softmax model, by plain steps in floats.
    fn reference_of_classes(
        objective: &Objective<'_>,
        data: &BoundedData,
        tilt: &[f64],
    ) -> Vec<f64> {
        let step = 1.0 / objective.total_smoothness(1.0);
        let (columns, classes) = (P + 1, objective.model.outputs());
        let mut theta = vec![0.0; classes * columns];
        let (mut row, mut slopes) = (vec![0.0; columns], vec![0.0; classes]);
        let mut scratch = Scratch::default();
        for _ in 0..(60.0 / (step * objective.ridge)) as usize {
            let pairs = theta.iter().zip(tilt);
            let mut slope: Vec<f64> = pairs.map(|(t, b)| objective.ridge * t + b).collect();
            for i in 0..N {
                data.fill_row(i, &mut row);
                let scores: Vec<f64> = theta.chunks(columns).map(|t| dot(&row, t)).collect();
                (objective.model).unclamped(&scores, &data.targets[i..=i], &mut slopes);
                for (slope, d) in slope.chunks_mut(columns).zip(&slopes) {
                    slope
                        .iter_mut()
                        .zip(&row)
                        .for_each(|(s, x)| *s += d * x / N as f64);
                }
            }
            theta
                .iter_mut()
                .zip(&slope)
                .for_each(|(t, s)| *t -= step * s);
            if let Some((norm, alpha)) = objective.penalty {
                for theta in theta.chunks_mut(columns) {
                    let moved = theta[..P].to_vec();
                    (norm.prox(&moved, step * alpha, &mut theta[..P], &mut scratch)).unwrap();
                }
            }
        }
        theta
    }

    fn of_classes<'a>(
        model: &'a RoomModel,
        norm: Option<&'a ReviewedNorm>,
        ridge: f64,
        tilt: &[f64],
    ) -> Objective<'a> {
        Objective {
            model,
            smoothness: model.convex().unwrap(),
            rows: (P as f64 + 1.0).sqrt(),
            ridge,
            penalty: norm.map(|norm| (norm, 0.03)),
            prox_error: norm.map_or(0.0, |norm| norm.prox_error()),
            tilt_bound: norm2(tilt),
            load: 1.0,
            most_load: 1.0,
        }
    }

    /// Of three classes too, both ways.
    #[test]
    fn the_distance_is_kept_for_classes() {
        let target = Target::Multiclass { classes: 3 };
        let data = data_of(target);
        let model = RoomModel::for_target(&Logistic.into(), None, target).unwrap();
        let cut = GraphCut::new(&[(0, 1), (1, 2), (2, 3)], None, P).unwrap();
        let norm = SetFunctionNorm::new(Arc::new(cut)).unwrap();
        let norm = ReviewedNorm::new(Arc::new(norm)).unwrap();
        for norm in [None, Some(&norm)] {
            for (ridge, tilt) in [(0.05, 0.0), (0.3, 0.02)] {
                let tilt = vec![tilt; 3 * (P + 1)];
                let objective = of_classes(&model, norm, ridge, &tilt);
                let exact = reference_of_classes(&objective, data.whole().unwrap(), &tilt);
                let mut gradient = FineGradient::new(&data, &model);
                let mut start = Start::default();
                minimise(&objective, &mut gradient, &tilt, &mut start, &mut || Ok(())).unwrap();
                let mut proved = vec![f64::NAN; 3 * (P + 1)];
                let mut search = Search {
                    objective: &objective,
                    gradient: &mut gradient,
                    tilt: &tilt,
                    tolerance: 4.0 * objective.float_error(P + 1),
                    scratch: Scratch::default(),
                    watch: &mut || Ok(()),
                };
                search.contract(&mut proved).unwrap();
                for theta in [&start.theta, &proved] {
                    let distance: Vec<f64> = theta.iter().zip(&exact).map(|(a, b)| a - b).collect();
                    let (distance, bound) = (norm2(&distance), objective.distance(P + 1));
                    assert!(distance <= bound, "{distance} {bound}");
                    assert!(bound < 1e-7 && norm2(theta) <= objective.size_bound(1.0));
                }
                if norm.is_none() {
                    // Newton's method has the Hessian: it gets there without the steps that are proved.
                    let mut start = Start::default();
                    assert!(
                        search
                            .newton({
                                start.theta.resize(3 * (P + 1), 0.0);
                                &mut start
                            })
                            .unwrap()
                    );
                }
            }
        }
    }

    /// Two classes are the scalar model with half the ridge, each with half the coefficients.
    #[test]
    fn two_classes_have_the_minimiser_of_the_scalar_model() {
        let two = Target::Multiclass { classes: 2 };
        let found = [(Target::Classes, 0.1), (two, 0.2)].map(|(target, ridge)| {
            let data = data_of(target);
            let model = RoomModel::for_target(&Logistic.into(), None, target).unwrap();
            let tilt = vec![0.0; model.outputs() * (P + 1)];
            let objective = of_classes(&model, None, ridge, &tilt);
            let mut gradient = FineGradient::new(&data, &model);
            let mut start = Start::default();
            minimise(&objective, &mut gradient, &tilt, &mut start, &mut || Ok(())).unwrap();
            start.theta
        });
        let [one, two] = &found;
        assert!(norm2(one) > 0.5);
        for j in 0..=P {
            assert!((two[j] + two[P + 1 + j]).abs() < 1e-9);
            assert!((two[P + 1 + j] - two[j] - one[j]).abs() < 1e-9);
        }
    }

    /// The distance is stated for a residual of four times the float error of one score's columns, and no more is
    /// taken.
    #[test]
    fn a_residual_beyond_the_tolerance_is_not_accepted() {
        let target = Target::Multiclass { classes: 3 };
        let data = data_of(target);
        let model = RoomModel::for_target(&Logistic.into(), None, target).unwrap();
        let tilt = vec![0.02; 3 * (P + 1)];
        let objective = of_classes(&model, None, 0.3, &tilt);
        let tolerance = tolerance(&objective, tilt.len());
        for columns in [P + 1, 1_000] {
            let float_error = objective.float_error(columns);
            assert_eq!(super::tolerance(&objective, 3 * columns), 4.0 * float_error);
            assert!(objective.float_error(3 * 1_000) > float_error);
        }
        let residual = |theta: &[f64]| {
            let mut gradient = FineGradient::new(&data, &model);
            let mut search = Search {
                objective: &objective,
                gradient: &mut gradient,
                tilt: &tilt,
                tolerance,
                scratch: Scratch::default(),
                watch: &mut || Ok(()),
            };
            let mut slope = vec![0.0; tilt.len()];
            search.slope(theta, &mut slope).unwrap();
            let size = norm2(&slope);
            assert_eq!(search.accepts(theta, size), size <= tolerance);
            size
        };
        let minimised = |theta: Vec<f64>| {
            let mut gradient = FineGradient::new(&data, &model);
            let mut start = Start {
                theta,
                factor: None,
            };
            minimise(&objective, &mut gradient, &tilt, &mut start, &mut || Ok(())).unwrap();
            start.theta
        };
        let mut near = minimised(vec![]);
        assert!(residual(&near) <= tolerance);
        let mut moved = tolerance;
        while residual(&near) <= 1.1 * tolerance {
            near[0] += 0.01 * moved;
            moved *= 1.01;
        }
        assert!(residual(&near) <= 1.3 * tolerance);
        assert!(residual(&minimised(near)) <= tolerance);
    }

    /// The proved steps end there from any start: from one beyond all that the minimiser can be they do not go on.
    #[test]
    fn proved_steps_end_near_the_minimiser_from_any_start() {
        let (data, loss) = (data(), Admitted::from(Logistic));
        let model = RoomModel::new(&loss, None).unwrap();
        let tilt = vec![0.02; P + 1];
        let objective = of_classes(&model, None, 0.3, &tilt);
        let exact = reference(&objective, data.whole().unwrap(), &loss, &tilt);
        let mut gradient = FineGradient::new(&data, &model);
        let mut search = Search {
            objective: &objective,
            gradient: &mut gradient,
            tilt: &tilt,
            tolerance: tolerance(&objective, P + 1),
            scratch: Scratch::default(),
            watch: &mut || Ok(()),
        };
        for start in [0.0, 1.0, -1e9, 1e200, f64::NEG_INFINITY, f64::NAN] {
            let mut theta = vec![0.0; P + 1];
            theta[1] = start;
            search.contract(&mut theta).unwrap();
            let distance: Vec<f64> = theta.iter().zip(&exact).map(|(a, b)| a - b).collect();
            assert!(norm2(&distance) <= objective.distance(P + 1), "{start}");
        }
    }
}

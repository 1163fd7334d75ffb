//! Where softmax sampling samples: scores s with s = grad G(softmax(-s/lambda)) up to a proved residual
//! ([`crate::theory_of_privacy::softmax`]).
//!
//! theta = softmax(-s/lambda) minimises G(theta) + lambda sum theta ln theta over the simplex, G the summed loss, if
//! and only if grad G(theta) - s is a constant vector (KKT). Half its range is the residual here.

use crate::error::Result;
use crate::numeric::blocked::blocked_sum;
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::records::Watch;
use crate::question::{SmoothLoss, Softmax};

/// Factor of one step of the continuation in lambda.
const CONTINUATION: f64 = 3.0;
/// Newton steps at one lambda, products with the Hessian in one of them, and halvings of its step, before the fallback.
const NEWTON: (usize, usize, usize) = (30, 100, 12);

/// G of one set of records; x_ia = factors_a times a lattice integer.
pub(super) struct Objective<'a> {
    data: &'a BoundedData,
    loss: SmoothLoss,
    factors: &'a [f64],
}

/// One point: theta, the second derivatives of the losses, and r = grad G(theta) - s.
struct Point {
    theta: Vec<f64>,
    curvatures: Vec<f64>,
    residual: Vec<f64>,
}

impl Point {
    /// Half the range of r: what KKT leaves.
    fn kkt(&self) -> f64 {
        let (low, high) = self
            .residual
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &r| {
                (low.min(r), high.max(r))
            });
        (high - low) / 2.0
    }

    /// Norm of r in the metric diag(theta) - theta theta', which constants do not move.
    fn merit(&self) -> f64 {
        let mean = blocked_sum(self.theta.iter().zip(&self.residual).map(|(t, r)| t * r));
        blocked_sum(
            self.theta
                .iter()
                .zip(&self.residual)
                .map(|(t, r)| t * (r - mean) * (r - mean)),
        )
        .sqrt()
    }
}

/// softmax(-s/lambda) in floats. With t_a = (s_a - min s)/lambda, which carries 2u relatively, the largest error is
/// sum theta_a (2 t_a u + 2u) twice (numerator, sum) plus the additions and the division; sum theta_a t_a is at most
/// the entropy, hence ln p. So |error|_1 <= (4 ln p + 6 + D) u up to second order, D of `additions_over_columns`.
fn softmax(scores: &[f64], regularisation: f64) -> Vec<f64> {
    let least = scores.iter().fold(f64::INFINITY, |a, &b| a.min(b));
    let mut theta: Vec<f64> = scores
        .iter()
        .map(|s| libm::exp(-((s - least) / regularisation)))
        .collect();
    let total = blocked_sum(theta.iter().copied());
    theta.iter_mut().for_each(|t| *t /= total);
    theta
}

impl<'a> Objective<'a> {
    pub(super) fn new(data: &'a BoundedData, plan: &'a Softmax) -> Self {
        Self {
            data,
            loss: plan.loss(),
            factors: plan.factors(),
        }
    }

    /// X (w factors): margins.
    fn margins(&self, weights: impl Iterator<Item = f64>) -> Vec<f64> {
        let weights: Vec<f64> = weights.zip(self.factors).map(|(w, f)| w * f).collect();
        let mut margins = vec![0.0; self.data.n_records()];
        self.data.float_margins(&weights, &mut margins);
        margins
    }

    /// factors (X' d).
    fn gradient(&self, d: &[f64]) -> Vec<f64> {
        let mut gradient = vec![0.0; self.factors.len()];
        self.data.float_gradient(d, &mut gradient);
        gradient
            .iter_mut()
            .zip(self.factors)
            .for_each(|(g, f)| *g *= f);
        gradient
    }

    fn point(&self, scores: &[f64], regularisation: f64, watch: Watch<'_>) -> Result<Point> {
        watch()?;
        let theta = softmax(scores, regularisation);
        let margins = self.margins(theta.iter().copied());
        let pairs = margins.iter().zip(&self.data.targets);
        let derivatives: Vec<f64> = pairs
            .clone()
            .map(|(&z, &y)| self.loss.derivative(z, y))
            .collect();
        let curvatures = pairs.map(|(&z, &y)| self.loss.curvature(z, y)).collect();
        let mut residual = self.gradient(&derivatives);
        residual.iter_mut().zip(scores).for_each(|(g, s)| *g -= s);
        Ok(Point {
            theta,
            curvatures,
            residual,
        })
    }

    /// Scores whose computed residual is at most `plan.tolerance()`: by Newton's method if it succeeds, by the damped
    /// fixed point otherwise.
    pub(super) fn minimise(&self, plan: &Softmax, watch: Watch<'_>) -> Result<Vec<f64>> {
        match self.newton_path(plan, watch)? {
            Some(scores) => Ok(scores),
            None => self.damped(plan, watch),
        }
    }

    /// Newton's method along falling lambda: fast, without a proof that it succeeds. What it returns is checked.
    fn newton_path(&self, plan: &Softmax, watch: Watch<'_>) -> Result<Option<Vec<f64>>> {
        let target = plan.regularisation();
        let mut at = target.max(target * plan.condition() / 8.0);
        let mut scores = vec![0.0; self.factors.len()];
        loop {
            let last = at == target;
            let tolerance = if last { plan.tolerance() } else { 0.1 * at };
            match self.newton(scores, at, tolerance, watch)? {
                Some(better) if last => return Ok(Some(better)),
                Some(better) => scores = better,
                None => return Ok(None),
            }
            let next = target.max(at / CONTINUATION);
            scores.iter_mut().for_each(|s| *s *= next / at); // the same theta
            at = next;
        }
    }

    /// Newton steps at one lambda until the residual is at most `tolerance`; None where they do not get there.
    ///
    /// The step D solves D + H C D/lambda = r, H the Hessian of G, C = diag(theta) - theta theta'. With w =
    /// sqrt(theta), P the projection orthogonal to w and t = P w D it is the symmetric
    /// (1 + P w H w P/lambda) t = P w r, by conjugate gradients, and D = r - H w t/lambda.
    fn newton(
        &self,
        mut scores: Vec<f64>,
        regularisation: f64,
        tolerance: f64,
        watch: Watch<'_>,
    ) -> Result<Option<Vec<f64>>> {
        let (steps, products, halvings) = NEWTON;
        let mut point = self.point(&scores, regularisation, watch)?;
        for _ in 0..steps {
            if point.kkt() <= tolerance {
                return Ok(Some(scores));
            }
            let direction = self.newton_direction(&point, regularisation, products, watch)?;
            let (merit, kkt) = (point.merit(), point.kkt());
            let (mut length, mut found) = (1.0, None);
            for _ in 0..halvings {
                let moved = scores.iter().zip(&direction);
                let moved: Vec<f64> = moved.map(|(s, d)| s + length * d).collect();
                let there = self.point(&moved, regularisation, watch)?;
                // Either measure may be at the floor of floats while the other still falls.
                let enough = 1.0 - 0.1 * length;
                if there.merit() <= enough * merit || there.kkt() <= enough * kkt {
                    found = Some((moved, there));
                    break;
                }
                length *= 0.5;
            }
            let Some(better) = found else {
                return Ok(None);
            };
            (scores, point) = better;
        }
        Ok((point.kkt() <= tolerance).then_some(scores))
    }

    fn newton_direction(
        &self,
        point: &Point,
        regularisation: f64,
        products: usize,
        watch: Watch<'_>,
    ) -> Result<Vec<f64>> {
        let inner =
            |a: &[f64], b: &[f64]| -> f64 { blocked_sum(a.iter().zip(b).map(|(a, b)| a * b)) };
        let add = |a: &mut [f64], factor: f64, b: &[f64]| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += factor * b);
        };
        let root: Vec<f64> = point.theta.iter().map(|t| t.sqrt()).collect();
        let project = |v: &mut [f64]| {
            let along = inner(&root, v);
            add(v, -along, &root);
        };
        let mut left: Vec<f64> = root
            .iter()
            .zip(&point.residual)
            .map(|(w, r)| w * r)
            .collect();
        project(&mut left);
        let mut conjugate = left.clone();
        let mut image = vec![0.0; left.len()]; // H w t
        let (mut square, enough) = (inner(&left, &left), 1e-4 * inner(&left, &left));
        for _ in 0..products {
            if square <= enough {
                break;
            }
            watch()?;
            let mut margins = self.margins(conjugate.iter().zip(&root).map(|(c, w)| c * w));
            margins
                .iter_mut()
                .zip(&point.curvatures)
                .for_each(|(z, h)| *z *= h);
            let product = self.gradient(&margins);
            let mut curved: Vec<f64> = product.iter().zip(&root).map(|(h, w)| h * w).collect();
            project(&mut curved);
            let step = square
                / (inner(&conjugate, &conjugate) + inner(&conjugate, &curved) / regularisation);
            add(&mut image, step, &product);
            add(&mut left, -step, &conjugate);
            add(&mut left, -step / regularisation, &curved);
            let next = inner(&left, &left);
            let ratio = next / square;
            conjugate
                .iter_mut()
                .zip(&left)
                .for_each(|(c, l)| *c = l + ratio * *c);
            square = next;
        }
        let mut direction = point.residual.clone();
        add(&mut direction, -1.0 / regularisation, &image);
        let mean = inner(&point.theta, &direction);
        direction.iter_mut().for_each(|d| *d -= mean);
        Ok(direction)
    }

    /// The proved fallback: s <- s + (grad G(softmax(-s/lambda)) - s)/(1 + c) from s = 0, until the residual is met, at
    /// most `plan.fallback_iterations()` times. It is the Bregman proximal gradient method with the entropy:
    /// G is c lambda-smooth relative to it (Pinsker), so the divergence to the minimiser falls by rho = c/(1 + c).
    ///
    /// **Proof.** Let e bound the error of a computed gradient in every coordinate, the rounding of the update
    /// included ((1 + c) times it), D_k the divergence KL(theta*, theta_k). The three-point identity of the step, G
    /// convex and relatively smooth, give f(theta+) - f* <= c lambda D_k - (1 + c) lambda
    /// D_k+1 + e |theta* - theta+|_1, and f(theta+) - f* >= (lambda/2) |theta+ - theta*|_1^2, so (1 + c)
    /// D_k+1 <= c D_k + e^2/(2 lambda^2): D_k <= rho^k ln p + e^2/(2 lambda^2), |theta_k - theta*|_1 <= rho^(k/2)
    /// sqrt(2 ln p) + e/lambda. The gradient is c lambda-Lipschitz from l1 to l-infinity: |grad
    /// G(theta_k) - s*| <= B_k = c lambda rho^(k/2) sqrt(2 ln p) + c e, s* = grad G(theta*).
    /// Then |s_k+1 - s*| <= rho |s_k - s*| + (1 - rho)(B_k + e) sums to |s_k - s*| <= rho^k n L R + 2 c lambda
    /// sqrt(2 ln p) rho^((k-1)/2) + (1 + c) e, and the computed residual after k steps is at most
    ///   rho^k n L R + 3 c lambda sqrt(2 ln p) rho^((k-1)/2) + 2 (1 + c) e.
    /// `Softmax` makes the last term at most half the tolerance and takes k so that the others are the other half.
    fn damped(&self, plan: &Softmax, watch: Watch<'_>) -> Result<Vec<f64>> {
        let mut scores = vec![0.0; self.factors.len()];
        let step = 1.0 / (1.0 + plan.condition());
        for _ in 0..plan.fallback_iterations() {
            let point = self.point(&scores, plan.regularisation(), watch)?;
            if point.kkt() <= plan.tolerance() {
                break;
            }
            scores
                .iter_mut()
                .zip(&point.residual)
                .for_each(|(s, r)| *s += step * r);
        }
        Ok(scores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;
    use crate::loss::{Admitted, Logistic, Squared};
    use crate::privacy::{Bounds, Geometry, Schema, Statement, Target};
    use nalgebra::{DMatrix, DVector};
    use ndarray::Array2;
    use proptest::prelude::*;

    fn problem(
        (n, p): (usize, usize),
        seed: u64,
        regularisation: f64,
        squared: bool,
        size: f64,
    ) -> (BoundedData, Softmax) {
        let value = |i: usize, j: usize| {
            let word = (seed + 1)
                .wrapping_mul((i * 7919 + j * 104_729 + 13) as u64)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((word >> 20) % 2001) as f64 / 1000.0 - 1.0
        };
        let x = Array2::from_shape_fn((n, p), |(i, j)| size * value(i, j));
        let bounds = Bounds {
            lower: vec![-size],
            upper: vec![size],
        };
        let (target, loss) = if squared {
            let target = Target::Interval {
                low: -1.0,
                high: 1.0,
            };
            (target, Admitted::from(Squared))
        } else {
            (Target::Classes, Logistic.into())
        };
        let y: Vec<f64> = (0..n).map(|i| value(i, p + 3).signum()).collect();
        let schema = Schema::new(p, bounds, Geometry::Uncentred, target, false, None).unwrap();
        let data = BoundedData::from_dense(x.view(), &y, schema.clone()).unwrap();
        let statement = Statement::new(schema, n, Adjacency::ReplaceOne, 1).unwrap();
        (data, statement.softmax(&loss, regularisation).unwrap())
    }

    fn check(n: usize, p: usize, seed: u64, regularisation: f64, squared: bool, size: f64) {
        let (data, plan) = problem((n, p), seed, regularisation, squared, size);
        let objective = Objective::new(&data, &plan);
        let mut quiet = || Ok(());
        let slow = objective.damped(&plan, &mut quiet).unwrap();
        let there = objective.point(&slow, regularisation, &mut quiet).unwrap();
        assert!(there.kkt() <= plan.tolerance(), "{} {p} {n}", there.kkt());
        check_scores(&data, &plan);
        if let Some(fast) = objective.newton_path(&plan, &mut quiet).unwrap() {
            let there = objective.point(&fast, regularisation, &mut quiet).unwrap();
            assert!(there.kkt() <= plan.tolerance());
            // Both are the minimiser: lambda symKL <= residual differences times |delta|_1.
            let (a, b) = (
                softmax(&fast, regularisation),
                softmax(&slow, regularisation),
            );
            let l1: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).sum();
            assert!(l1 <= 2.1 * plan.tolerance() / regularisation, "{l1}");
        }
    }

    /// The integers that are drawn by: their law has a residual of at most what the plan states, and the least is 0.
    fn check_scores(data: &BoundedData, plan: &Softmax) {
        let integers = plan.scores(data, &mut || Ok(())).unwrap();
        assert_eq!(integers.iter().min(), Some(&0));
        let regularisation = plan.regularisation();
        let unit = regularisation * 2f64.powi(-(plan.bits() as i32));
        let scores: Vec<f64> = integers.iter().map(|&q| unit * q as f64).collect();
        let objective = Objective::new(data, plan);
        let there = objective
            .point(&scores, regularisation, &mut || Ok(()))
            .unwrap();
        assert!(
            there.kkt() <= plan.residual(),
            "{} {}",
            there.kkt(),
            plan.residual()
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn both_solvers_meet_the_tolerance(n in 2usize..120, p in 1usize..8, seed in 0u64..1000,
            log_lambda in -1.0f64..6.0, squared in any::<bool>(), size in prop_oneof![Just(1.0), Just(0.3), Just(4.0)]) {
            check(n, p, seed, log_lambda.exp(), squared, size);
        }
    }

    #[test]
    fn newton_does_the_work_on_ordinary_problems() {
        for seed in 0..5 {
            check(3000, 30, seed, 40.0, seed % 2 == 0, 1.0);
        }
    }

    #[test]
    fn softmax_is_its_definition_at_any_scores() {
        let (scores, regularisation) = ([-1000.0, -999.0, -998.5, 700.0], 0.5f64);
        let weights = scores.map(|s: f64| (-(s + 1000.0) / regularisation).exp());
        let total: f64 = weights.iter().sum();
        let theta = softmax(&scores, regularisation);
        assert_eq!(theta.len(), scores.len());
        for (theta, weight) in theta.iter().zip(weights) {
            assert!((theta - weight / total).abs() <= 1e-15, "{theta}");
        }
    }

    /// Half the range, and the standard deviation under theta: what is constant is in neither.
    #[test]
    fn residuals_are_measured_but_for_constants() {
        for constant in [0.0, 2f64.powi(40)] {
            let point = Point {
                theta: vec![0.6, 0.3, 0.1],
                curvatures: Vec::new(),
                residual: [3.0, -1.0, 6.0].map(|r: f64| r + constant).to_vec(),
            };
            assert_eq!(point.kkt(), 3.5);
            assert!((point.merit() - 4.89f64.sqrt()).abs() < 1e-6);
        }
    }

    /// Against the solution of (1 + H C/lambda) D = r by elimination: conjugate gradients end with a residual of a
    /// hundredth, which an inverse of norm 1 at most takes no further; and after as many products as the space has
    /// dimensions they are at the end.
    #[test]
    fn directions_solve_their_equation() {
        for (seed, squared, size) in [
            (1, false, 1.0),
            (2, true, 1.0),
            (3, false, 0.01),
            (4, true, 4.0),
        ] {
            let p = 6;
            let regularisation = 0.5 * size * size;
            let (data, plan) = problem((60, p), seed, regularisation, squared, size);
            let objective = Objective::new(&data, &plan);
            let score = |a: usize| ((a * 5 + 2) % 7) as f64 * 0.4 * regularisation;
            let scores: Vec<f64> = (0..p).map(score).collect();
            let mut quiet = || Ok(());
            let point = objective
                .point(&scores, regularisation, &mut quiet)
                .unwrap();
            let theta = DVector::from_vec(point.theta.clone());
            let columns: Vec<DVector<f64>> = (0..p)
                .map(|a| {
                    let unit = (0..p).map(|b| f64::from(u8::from(a == b)));
                    let margins = objective.margins(unit);
                    let curved = margins.iter().zip(&point.curvatures).map(|(z, h)| z * h);
                    DVector::from_vec(objective.gradient(&curved.collect::<Vec<_>>()))
                })
                .collect();
            let hessian = DMatrix::from_columns(&columns);
            let covariance = DMatrix::from_diagonal(&theta) - &theta * theta.transpose();
            let equation = DMatrix::identity(p, p) + hessian * &covariance / regularisation;
            let residual = DVector::from_vec(point.residual.clone());
            let solution = equation.lu().solve(&residual).unwrap();
            let size = |v: &DVector<f64>| v.dot(&(&covariance * v)).sqrt();
            // The residual is steered by the curvature: the direction is another one.
            assert!(size(&(&residual - &solution)) > 0.1 * size(&residual));
            let direction = objective.newton_direction(&point, regularisation, p - 1, &mut quiet);
            let direction = DVector::from_vec(direction.unwrap());
            let error = size(&(direction.clone() - solution)) / size(&residual);
            assert!(error <= 0.0101, "{error}");
            // Of directions that differ by a constant that which moves no mean.
            assert!(theta.dot(&direction).abs() <= 1e-9 * size(&residual));
        }
    }

    /// Every problem of a few sizes, with either loss.
    fn problems(regularisation: f64) -> impl Iterator<Item = (BoundedData, Softmax)> {
        let sizes = [(60, 5), (500, 20), (3000, 30)];
        sizes.into_iter().flat_map(move |size| {
            (0..6).map(move |k| problem(size, k / 2, regularisation, k % 2 == 0, 1.0))
        })
    }

    /// Newton's method at one lambda from scores that spread by so many of it, and how often it looked at the records.
    fn from_afar(data: &BoundedData, plan: &Softmax, spread: f64) -> (bool, usize) {
        let (objective, regularisation) = (Objective::new(data, plan), plan.regularisation());
        let score = |a: usize| spread * regularisation * (((a * 7919) % 101) as f64 / 50.0 - 1.0);
        let scores = (0..plan.factors().len()).map(score).collect();
        let mut looks = 0;
        let mut watch = || {
            looks += 1;
            Ok(())
        };
        let found = objective.newton(scores, regularisation, plan.tolerance(), &mut watch);
        let found = found.unwrap();
        // What did not get there is not returned.
        if let Some(found) = &found {
            let there = objective.point(found, regularisation, &mut || Ok(()));
            assert!(there.unwrap().kkt() <= plan.tolerance());
        }
        (found.is_some(), looks)
    }

    /// The path ends at the minimiser however small lambda is, after few looks at the records.
    #[test]
    fn newton_gets_there_along_the_path() {
        // Of all the problems together, a fifth more than they take.
        for (regularisation, most) in [(1e-3, 1400), (0.1, 1100), (1.0, 900), (40.0, 375)] {
            let mut looks = 0;
            for (data, plan) in problems(regularisation) {
                let objective = Objective::new(&data, &plan);
                let mut watch = || {
                    looks += 1;
                    Ok(())
                };
                let found = objective.newton_path(&plan, &mut watch).unwrap().unwrap();
                let there = objective.point(&found, regularisation, &mut || Ok(()));
                assert!(there.unwrap().kkt() <= plan.tolerance());
            }
            assert!(looks <= most, "{regularisation}: {looks}");
        }
    }

    /// Newton's steps are shortened until either measure falls: from afar they get there too, where lambda is not
    /// small.
    #[test]
    fn newton_gets_there_from_afar() {
        let mut all = 0;
        for (data, plan) in problems(40.0) {
            for spread in [0.0, 3.0, 30.0] {
                let (found, looks) = from_afar(&data, &plan, spread);
                assert!(found, "{spread}");
                all += looks;
            }
        }
        assert!(all <= 900, "{all}");
        // Where one of the two measures stalls.
        for (size, seed, squared) in [
            ((500, 20), 1, true),
            ((500, 20), 2, true),
            ((3000, 30), 1, false),
        ] {
            let (data, plan) = problem(size, seed, 2.0, squared, 1.0);
            for spread in [0.0, 1.0, 3.0, 10.0, 30.0, 100.0] {
                let (found, _) = from_afar(&data, &plan, spread);
                assert!(found, "{size:?} {seed} {spread}");
            }
        }
    }

    /// From afar at a small lambda Newton's method ends at the minimiser, or says that it did not get there.
    #[test]
    fn newton_says_where_it_does_not_get_there() {
        let mut counts = [0, 0];
        for (data, plan) in problems(1.0) {
            for spread in [0.0, 3.0, 30.0] {
                counts[usize::from(from_afar(&data, &plan, spread).0)] += 1;
            }
        }
        assert!(counts.iter().all(|&count| count > 5), "{counts:?}");
    }
}

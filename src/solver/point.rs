use super::duality_gap::DualPoint;
use super::regulariser::Omega;
use super::start::Start;
use super::{Design, Problem};
use crate::error::{Error, Result};
use crate::loss::Task;

/// theta with what is derived from it. The intercept is the best one for theta, so sum_i w_i l'_i = 0.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub theta: Vec<f64>,
    pub intercept: f64,
    /// X theta + b.
    pub z: Vec<f64>,
    /// sum_i w_i l(z_i; y_i) + (ridge/2)|theta|^2.
    pub risk: f64,
    /// Omega(theta).
    pub norm: f64,
    /// Bound on the rounding error of `risk` and of the dual values made from `slopes`.
    pub rounding: f64,
    /// The dual point a_i = l'(z_i; y_i), balanced such that sum_i w_i a_i = 0 where there is an intercept.
    pub slopes: Vec<f64>,
    /// w_i a_i; for a seminorm w_i l'(z_i; y_i).
    pub weighted_slopes: Vec<f64>,
    /// X' (w a) for the dual point a.
    pub correlations: Vec<f64>,
}

impl Point {
    /// theta = 0, with everything derived from it.
    pub fn zero<D: Design + ?Sized>(
        problem: &Problem<'_, D>,
        omega: &mut Omega<'_>,
    ) -> Result<Self> {
        let (n, p) = (problem.design().n_rows(), problem.design().n_columns());
        let mut point = Self {
            theta: vec![0.0; p],
            intercept: 0.0,
            z: vec![0.0; n],
            risk: 0.0,
            norm: 0.0,
            rounding: 0.0,
            slopes: vec![0.0; n],
            weighted_slopes: vec![0.0; n],
            correlations: vec![0.0; p],
        };
        point.update_primal(problem, omega)?;
        point.update_dual(problem, omega);
        if !point.is_finite() {
            return Err(Error::InvalidData(
                "X and y must be scaled down: already at theta = 0 the objective or its gradient is beyond the range \
                 of double precision"
                    .into(),
            ));
        }
        Ok(point)
    }

    /// The dual point.
    pub fn dual(&self) -> DualPoint<'_> {
        DualPoint {
            slopes: &self.slopes,
            correlations: &self.correlations,
        }
    }

    /// Whether nothing here has overflowed.
    fn is_finite(&self) -> bool {
        [self.risk, self.rounding]
            .iter()
            .chain(&self.correlations)
            .all(|x| x.is_finite())
    }

    /// To a start.
    pub fn move_to<D: Design + ?Sized>(
        &mut self,
        start: Start<'_>,
        problem: &Problem<'_, D>,
        omega: &mut Omega<'_>,
    ) -> Result<()> {
        let Start {
            coefficients: theta,
            intercept,
            ..
        } = start;
        if theta.len() != self.theta.len()
            || !theta.iter().chain([&intercept]).all(|t| t.is_finite())
        {
            return Err(Error::InvalidData(
                "the start must hold one finite coefficient per column of X".into(),
            ));
        }
        self.theta.copy_from_slice(theta);
        if omega.is_positive() {
            self.theta.iter_mut().for_each(|t| *t = t.max(0.0));
        }
        self.intercept = intercept;
        self.update_primal(problem, omega)?;
        self.update_dual(problem, omega);
        if !self.is_finite() {
            return Err(Error::InvalidData(
                "the start is so large that the objective there is beyond the range of double precision".into(),
            ));
        }
        Ok(())
    }

    /// Recomputes z, the intercept, the risk and the norm from `theta` (`intercept` is only a guess).
    pub fn update_primal<D: Design + ?Sized>(
        &mut self,
        problem: &Problem<'_, D>,
        omega: &Omega<'_>,
    ) -> Result<()> {
        self.norm = omega.value(&self.theta)?;
        self.update_risk(problem);
        Ok(())
    }

    /// As [`Point::update_primal`] without the norm.
    pub fn update_risk<D: Design + ?Sized>(&mut self, problem: &Problem<'_, D>) {
        problem.design().multiply(&self.theta, &mut self.z);
        self.intercept = if problem.fit_intercept() {
            best_intercept(problem, &self.z, self.intercept)
        } else {
            0.0
        };
        let loss = problem.loss();
        self.risk = 0.0;
        for ((z, y), w) in (self.z.iter_mut())
            .zip(problem.targets())
            .zip(problem.weights())
        {
            *z += self.intercept;
            self.risk += w * loss.value(*z, *y);
        }
        let square: f64 = self.theta.iter().map(|t| t * t).sum();
        self.risk += 0.5 * problem.ridge() * square;
    }

    /// Recomputes slopes and correlations from z.
    pub fn update_dual<D: Design + ?Sized>(
        &mut self,
        problem: &Problem<'_, D>,
        omega: &mut Omega<'_>,
    ) {
        let weights = problem.weights();
        (problem.loss()).derivatives(&self.z, problem.targets(), &mut self.slopes);
        let seminorm = omega.kernel.balances();
        if problem.fit_intercept() && !seminorm {
            balance(&mut self.slopes, weights);
        }
        let mut slope_scale = 0.0;
        for (i, (d, w)) in self.weighted_slopes.iter_mut().zip(weights).enumerate() {
            *d = w * self.slopes[i];
            let (z, y) = (self.z[i].abs(), problem.targets()[i].abs());
            slope_scale += d.abs() * (z + y);
            if problem.loss().task() == Task::Counts {
                // Of what a deviance is the difference of.
                slope_scale += w * y * (1.0 + z);
            }
        }
        self.rounding = 4.0 * f64::EPSILON * (self.risk + slope_scale);
        if seminorm {
            // The models need the slopes themselves, the dual point needs them orthogonal to the kernel.
            omega.kernel.balance(problem, &self.z, &mut self.slopes);
            let balanced: Vec<f64> = (self.slopes.iter().zip(weights))
                .map(|(a, w)| a * w)
                .collect();
            (problem.design()).transpose_multiply(&balanced, &mut self.correlations);
        } else {
            (problem.design()).transpose_multiply(&self.weighted_slopes, &mut self.correlations);
        }
    }
}

/// Shrinks the heavier of the positive and the negative slopes such that sum_i w_i a_i = 0.
///
/// A free intercept b makes the dual function minus infinity unless that sum vanishes. Shrinking towards 0
/// keeps every a_i in the domain of the conjugate, an interval that contains 0 (0 is the slope where the loss
/// is least); shifting would not. At the best intercept the factor is 1 up to rounding. What is left, at most
/// a few epsilon times sum w|a|, enters a bound as |b* - b| times that: no more than the rounding error of
/// evaluating the risk at b*.
pub(super) fn balance(slopes: &mut [f64], weights: &[f64]) {
    let (mut positive, mut negative) = (0.0, 0.0);
    for (a, w) in slopes.iter().zip(weights) {
        if *a > 0.0 {
            positive += w * a;
        } else {
            negative -= w * a;
        }
    }
    let lighter = f64::min(positive, negative);
    let factor = |side: f64| if side > 0.0 { lighter / side } else { 0.0 };
    let (positive_factor, negative_factor) = (factor(positive), factor(negative));
    for a in slopes {
        *a *= if *a > 0.0 {
            positive_factor
        } else {
            negative_factor
        };
    }
}

/// argmin_b sum_i w_i l(s_i + b; y_i) by Newton's method inside a bracket of the root of the derivative.
///
/// Newton's step is taken where it stays in the bracket and is no longer than a bound that grows fourfold
/// each time (the curvature may vanish); after 30 steps bisection alternates with it, so the bracket closes
/// for any convex loss.
fn best_intercept<D: Design + ?Sized>(problem: &Problem<'_, D>, scores: &[f64], guess: f64) -> f64 {
    let loss = problem.loss();
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut b = guess;
    let mut longest = 1.0 + guess.abs();
    for step in 0..400 {
        let (mut slope, mut size, mut curvature) = (0.0, 0.0, 0.0);
        for ((s, y), w) in scores.iter().zip(problem.targets()).zip(problem.weights()) {
            let derivative = w * loss.derivative(s + b, *y);
            slope += derivative;
            size += derivative.abs();
            curvature += w * loss.curvature(s + b, *y);
        }
        if slope.abs() <= 2.0 * f64::EPSILON * size {
            break;
        }
        if slope > 0.0 {
            high = b;
        } else {
            low = b;
        }
        let newton = if curvature > 0.0 {
            (-slope / curvature).clamp(-longest, longest)
        } else {
            -longest.copysign(slope)
        };
        longest *= 4.0;
        let closed = low.is_finite() && high.is_finite();
        let mut next = b + newton;
        if closed && (next <= low || next >= high || (step > 30 && step % 2 == 0)) {
            next = 0.5 * (low + high);
        }
        if next == b || next <= low || next >= high {
            break;
        }
        b = next;
    }
    b
}

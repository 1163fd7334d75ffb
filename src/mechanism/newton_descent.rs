//! The moves of noisy Newton steps: all but questions.

use nalgebra::DVector;

use super::divisor::{Divisor, Inverse};
use super::evidence::Secant;
use super::hidden_noise::{Found, hide_noise};
use super::nearest_sparse::{Curvature, LAST_GAP, Nearest};
use super::newton_steps::{NewtonSteps, Start};
use super::regularisation::Regularisation;
use super::ridge::Ridge;
use super::sparsity::Sparsity;
use super::steepness::Steepness;
use crate::error::Result;

/// Duality gap of a step that ends in a ball, in units of the squared distance from 0: far below its noise.
const STEP_GAP: f64 = 1e-9;

/// Steps on their way.
///
/// With a ball or a penalty each of them ends in it, or in its prox, and so does a last one, from their mean by the
/// mean of their gradients, which decides which coefficients are zero; those that are not worth their noise, as far as
/// moments tell, are too, and with a penalty of 0 they alone. Where a ball moves none of those that the mean is over,
/// they are as without.
#[derive(Debug)]
pub(super) struct Descent<'a> {
    steps: &'a NewtonSteps,
    start: &'a Start,
    divisor: Divisor<'a>,
    inverse: Inverse,
    sparsity: Option<&'a Sparsity>,
    ends: Option<Nearest>,
    /// Whether these moved any step that the mean is over, or nothing but noise is looked for.
    moves: bool,
    theta: DVector<f64>,
    /// theta of before.
    before: DVector<f64>,
    /// The gradient there.
    gradient_before: Option<DVector<f64>>,
    steepness: Steepness,
    /// Iterates that the mean is over.
    in_mean: usize,
    reached: Reached,
}

/// What steps leave.
#[derive(Debug)]
pub(super) struct Reached {
    /// The mean of the last ones.
    pub mean: DVector<f64>,
    /// The mean of the points that gradients are of, but for the first ones, and of these.
    pub at: DVector<f64>,
    pub mean_gradient: DVector<f64>,
    /// How many gradients that is the mean of.
    pub gradients: usize,
    /// The change of gradients that noise hides least.
    pub secant: Option<Secant>,
}

impl<'a> Descent<'a> {
    pub fn new(
        steps: &'a NewtonSteps,
        start: &'a Start,
        divisor: Divisor<'a>,
        beside: &'a Regularisation,
    ) -> Result<Self> {
        let sparsity = beside.sparsity.as_ref();
        let theta = DVector::from_column_slice(&start.theta);
        let zero = 0.0 * &theta;
        let mut descent = Self {
            inverse: divisor.inverse()?,
            steps,
            start,
            divisor,
            sparsity,
            ends: None,
            moves: false,
            before: theta.clone(),
            gradient_before: None,
            steepness: Steepness::new(steps.stable()),
            in_mean: 0,
            reached: Reached {
                mean: theta.clone(),
                at: zero.clone(),
                mean_gradient: zero,
                gradients: 0,
                secant: None,
            },
            theta,
        };
        let held = sparsity.filter(|sparsity| !sparsity.is_free());
        descent.moves = sparsity.is_some() && held.is_none();
        let ends = held.map(|sparsity| {
            let (outputs, columns) = (steps.outputs(), descent.divisor.columns);
            let curvature = descent.divisor.curvature();
            Nearest::new(sparsity.clone(), outputs, columns, &curvature)
        });
        descent.ends = ends.transpose()?;
        Ok(descent)
    }

    /// Where the next gradient is asked for.
    pub fn theta(&self) -> &[f64] {
        self.theta.as_slice()
    }

    /// Step t, by the gradient of the mean loss there; whether those before turned out to be too long.
    pub fn step(&mut self, t: usize, mut gradient: DVector<f64>) -> Result<bool> {
        let mut too_long = false;
        let released = gradient.clone();
        self.add_ridges(&self.theta, &mut gradient);
        if let Some(before) = &self.gradient_before {
            let noise = self.steps.gradients.noise_scale;
            let moved = &self.theta - &self.before;
            let square = self.divisor.square(&moved);
            let secant = Secant::new(moved, &gradient - before, noise);
            if (self.steepness).shortens(&secant, square) {
                // What was reached in steps that were too long is no part of any mean.
                too_long = true;
                self.reached.gradients = 0;
                self.in_mean = 0;
            }
            self.reached.secant = Some(secant.clearer(self.reached.secant.take()));
        }
        if t >= self.steps.first_of_evidence() {
            self.reached.gradients += 1;
            let weight = 1.0 / self.reached.gradients as f64;
            (self.reached.at).axpy(weight, &self.theta, 1.0 - weight);
            (self.reached.mean_gradient).axpy(weight, &released, 1.0 - weight);
        }
        // theta + momentum (theta - before) - (1 - momentum) stride step
        let momentum = self.steps.momentum();
        let next = &mut self.before;
        next.axpy(momentum, &self.theta, -momentum);
        // So many times as long as the divisor says.
        let length = (1.0 - momentum) * self.steps.stride(t) * self.steepness.length();
        self.inverse.take(length, &gradient, next);
        self.gradient_before = Some(gradient);
        *next += &self.theta;
        std::mem::swap(&mut self.theta, &mut self.before);
        let later = t >= self.steps.first_of_mean;
        if let (Some(ends), Some(sparsity)) = (&mut self.ends, self.sparsity) {
            ends.set_form(sparsity.form_of_loss(length));
            self.moves |= ends.move_to(self.theta.as_mut_slice(), STEP_GAP)? && later;
        }
        if later {
            self.in_mean += 1;
            let weight = 1.0 / self.in_mean as f64;
            (self.reached.mean).axpy(weight, &self.theta, 1.0 - weight);
        }
        Ok(too_long)
    }

    /// After the last one.
    pub fn end(mut self) -> Result<Reached> {
        let Some(sparsity) = self.sparsity.filter(|_| self.moves) else {
            return Ok(self.reached);
        };
        if let Some(mut ends) = self.ends.take() {
            let mut gradient = self.reached.mean_gradient.clone();
            self.add_ridges(&self.reached.at, &mut gradient);
            self.reached.mean.copy_from(&self.reached.at);
            (self.inverse).take(1.0, &gradient, &mut self.reached.mean);
            ends.set_form(sparsity.form);
            ends.move_to(self.reached.mean.as_mut_slice(), LAST_GAP)?;
        }
        // T steps act as a ridge lambda/T on coefficients from which noisy gradients are subtracted.
        let ridge = self.steps.damping.least / self.steps.damping.n_iter;
        self.divisor.of_step = false;
        if let Curvature::Matrix(hessian) = self.divisor.curvature() {
            let by = Found {
                hessian,
                ridge,
                noise: self.steps.noise_of(self.reached.gradients),
            };
            let theta = self.reached.mean.as_mut_slice();
            hide_noise(theta, self.divisor.columns, by, sparsity)?;
        }
        Ok(self.reached)
    }

    /// Adds the gradients of the ridges at `theta`: one draws to the start, the other to zero.
    fn add_ridges(&self, theta: &DVector<f64>, gradient: &mut DVector<f64>) {
        let to_zero = |j: usize| self.divisor.ridge.map_or(0.0, |ridge: &Ridge| ridge.of(j));
        for at in 0..theta.len() {
            let j = at % self.divisor.columns;
            if j < self.start.drawn {
                gradient[at] += self.steps.ridge * (theta[at] - self.start.theta[at]);
            }
            gradient[at] += to_zero(j) * theta[at];
        }
    }
}

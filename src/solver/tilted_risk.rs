//! theta(s) = argmin risk(theta) + <s, theta> for a positive ridge: Newton's method with a line search.

use super::point::Point;
use super::regulariser::Omega;
use super::support_step::SupportStep;
use super::{Design, Problem, cholesky};
use crate::numeric::vectors::dot;

/// Most features for which the Hessian is factorised; beyond, conjugate gradients.
const MOST_FACTORISED: usize = 1000;
/// Relative residual and most steps of the conjugate gradients.
const RESIDUAL: f64 = 1e-4;
const MOST_PRODUCTS: usize = 200;
/// Newton steps of one minimisation, and halvings of one step.
const MOST_STEPS: usize = 200;
const MOST_HALVINGS: usize = 40;
/// The Hessian is kept while a step divides the squared gradient by at least the inverse of this.
const CONTRACTION: f64 = 1e-2;
/// Multiples of the rounding error below which a change of the value tells nothing.
pub(super) const HIDDEN: f64 = 16.0;

/// The Hessian of the risk with the best intercept, at some earlier point: sum_i h_i (x_i - m)(x_i - m)' + ridge I.
#[derive(Debug, Default)]
pub(super) struct Hessian {
    /// Counts the points it has been computed at; 0 before the first.
    pub version: usize,
    h: Vec<f64>,
    fresh: Vec<f64>,
    means: Vec<f64>,
    system: SupportStep,
    /// Of the factor; none where it is not factorised.
    scale: Option<Vec<f64>>,
    /// Its diagonal, where it is not factorised.
    diagonal: Vec<f64>,
    image: Vec<f64>,
}

impl Hessian {
    pub fn is_factorised(&self) -> bool {
        self.scale.is_some()
    }

    /// To `point`; nothing happens where the curvatures are the same, as with the squared loss.
    fn move_to<D: Design + ?Sized>(&mut self, problem: &Problem<'_, D>, point: &Point) {
        let (design, ridge) = (problem.design(), problem.ridge());
        self.fresh.clear();
        self.fresh.extend(
            (point.z.iter().zip(problem.targets()).zip(problem.weights()))
                .map(|((&z, &y), w)| w * problem.loss().curvature(z, y)),
        );
        if self.version > 0 && self.fresh == self.h {
            return;
        }
        std::mem::swap(&mut self.h, &mut self.fresh);
        self.version += 1;
        let p = design.n_columns();
        self.means.clear();
        self.means.resize(p, 0.0);
        let total: f64 = self.h.iter().sum();
        if problem.fit_intercept() && total > 0.0 {
            design.transpose_multiply(&self.h, &mut self.means);
            self.means.iter_mut().for_each(|m| *m /= total);
        }
        self.scale = None;
        if p <= MOST_FACTORISED {
            let columns = self.means.iter().copied().enumerate();
            self.system.forget();
            self.system.build(design, columns, &self.h, ridge);
            let mut scale = Vec::new();
            let factorised = cholesky::factorise(&mut self.system.gram, p, &mut scale);
            self.scale = factorised.then_some(scale);
        }
        if self.scale.is_none() {
            self.diagonal.clear();
            (self.diagonal).extend((0..p).map(|j| design.squared_norm(j, &self.h) + ridge));
        }
    }

    /// v becomes H^-1 v.
    pub fn solve<D: Design + ?Sized>(&mut self, problem: &Problem<'_, D>, v: &mut [f64]) {
        match &self.scale {
            Some(scale) => cholesky::substitute(&self.system.gram, scale, v),
            None => self.conjugate_gradients(problem, v),
        }
    }

    /// With the diagonal as preconditioner.
    fn conjugate_gradients<D: Design + ?Sized>(&mut self, problem: &Problem<'_, D>, v: &mut [f64]) {
        let p = v.len();
        let mut residual = v.to_vec();
        v.fill(0.0);
        let mut direction = vec![0.0; p];
        let mut product = vec![0.0; p];
        let mut last = 0.0;
        let target = RESIDUAL * RESIDUAL * dot(&residual, &residual);
        for _ in 0..MOST_PRODUCTS {
            let scaled = |r: &[f64], k: usize, d: &[f64]| r[k] / d[k];
            let now: f64 = (0..p)
                .map(|k| residual[k] * scaled(&residual, k, &self.diagonal))
                .sum();
            if dot(&residual, &residual) <= target || now <= 0.0 {
                break;
            }
            let kept = if last > 0.0 { now / last } else { 0.0 };
            for (k, d) in direction.iter_mut().enumerate() {
                *d = kept * *d + scaled(&residual, k, &self.diagonal);
            }
            last = now;
            self.product(problem, &direction, &mut product);
            let step = now / dot(&direction, &product);
            for k in 0..p {
                v[k] += step * direction[k];
                residual[k] -= step * product[k];
            }
        }
    }

    /// out = H v.
    fn product<D: Design + ?Sized>(
        &mut self,
        problem: &Problem<'_, D>,
        v: &[f64],
        out: &mut [f64],
    ) {
        self.image.resize(self.h.len(), 0.0);
        problem.design().multiply(v, &mut self.image);
        let mean = dot(&self.means, v);
        for (image, h) in self.image.iter_mut().zip(&self.h) {
            *image = h * (*image - mean);
        }
        // The entries of `image` sum to 0 where there are means, so X needs no centring.
        problem.design().transpose_multiply(&self.image, out);
        for (out, v) in out.iter_mut().zip(v) {
            *out += problem.ridge() * v;
        }
    }
}

/// The minimisation, with its memory.
#[derive(Debug)]
pub(super) struct TiltedRisk {
    pub hessian: Hessian,
    trial: Point,
    gradient: Vec<f64>,
    direction: Vec<f64>,
}

impl TiltedRisk {
    /// `point` is any point of the problem.
    pub fn new(point: &Point) -> Self {
        Self {
            hessian: Hessian::default(),
            trial: point.clone(),
            gradient: Vec::new(),
            direction: Vec::new(),
        }
    }

    /// Moves `point` to theta(s), as far as rounding lets it, and returns risk + <s, theta> there. The norm of `point`
    /// is not kept up to date.
    pub fn minimise<D: Design + ?Sized>(
        &mut self,
        problem: &Problem<'_, D>,
        omega: &mut Omega<'_>,
        s: &[f64],
        point: &mut Point,
    ) -> f64 {
        let mut last = 0.0;
        'steps: for _ in 0..MOST_STEPS {
            let size = set_gradient(problem, s, point, &mut self.gradient);
            if size == 0.0 {
                break;
            }
            if self.hessian.version == 0 || (last > 0.0 && size > CONTRACTION * last) {
                self.hessian.move_to(problem, point);
            }
            last = size;
            self.direction.clear();
            self.direction.extend(self.gradient.iter().map(|g| -g));
            self.hessian.solve(problem, &mut self.direction);
            let slope = dot(&self.gradient, &self.direction);
            if slope.is_nan() || slope >= 0.0 {
                break;
            }
            let value = point.risk + dot(s, &point.theta);
            let mut t = 1.0;
            for _ in 0..MOST_HALVINGS {
                let trial = &mut self.trial;
                for (k, out) in trial.theta.iter_mut().enumerate() {
                    *out = point.theta[k] + t * self.direction[k];
                }
                trial.intercept = point.intercept;
                trial.update_risk(problem);
                let hidden = -slope <= HIDDEN * point.rounding;
                let change = trial.risk + dot(s, &trial.theta) - value;
                if hidden || change <= 0.1 * t * slope {
                    trial.update_dual(problem, omega);
                    if hidden && set_gradient(problem, s, trial, &mut self.gradient) > 0.25 * size {
                        break 'steps;
                    }
                    std::mem::swap(point, trial);
                    continue 'steps;
                }
                t *= 0.5;
            }
            break;
        }
        point.risk + dot(s, &point.theta)
    }
}

/// The gradient of risk + <s, .>; returns its square.
fn set_gradient<D: Design + ?Sized>(
    problem: &Problem<'_, D>,
    s: &[f64],
    point: &Point,
    gradient: &mut Vec<f64>,
) -> f64 {
    gradient.clear();
    let ridge = problem.ridge();
    gradient.extend(
        (point.correlations.iter().zip(&point.theta).zip(s)).map(|((c, t), s)| c + ridge * t + s),
    );
    dot(gradient, gradient)
}

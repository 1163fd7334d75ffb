//! Block coordinate descent on a quadratic model of the risk plus a (sparse) group lasso, over a working set of groups,
//! with Newton's steps on the non-zeros.
//!
//! The model and the intercept are those of `coordinate_descent`: columns are centred by their h-weighted means. A
//! group with gradient g at theta_g sees the quadratic <g, x - theta_g> + (x - theta_g)'G(x - theta_g)/2, G the Gram
//! matrix of its centred columns plus the ridge. Proximal gradient steps in that small system, with a bound on G's
//! largest eigenvalue for their length, cost k^2 for k features where the gradient costs n k, so that several follow
//! one gradient (Qin, Scheinberg & Goldfarb 2013).

mod newton;

use super::accelerated_gradient::centre;
use super::point::Point;
use super::run::Run;
use super::{Design, Problem};
use crate::error::Result;
use crate::norm::GroupLasso;
use crate::numeric::vectors::dot;
use newton::Newton;

/// Relative curvature below which a centred column is constant up to rounding.
const CONSTANT: f64 = 1e-20;
/// Features of a group up to which its Gram matrix is kept.
pub(super) const MOST_FEATURES: usize = 128;
/// Groups that enter the working set at a time; as many as there are in it where those are more.
const FEWEST_NEW: usize = 32;
/// Proximal steps in the system of one group.
const MOST_STEPS: usize = 20;
/// Share of the first of them below which they end.
const SMALL_STEP: f64 = 0.1;
/// Passes before the first of Newton's steps, and between two.
const BETWEEN: usize = 4;

/// The features of one group, their centred Gram matrix plus the ridge, and a bound on its largest eigenvalue.
#[derive(Debug, Clone, Default)]
struct Part {
    means: Vec<f64>,
    gram: Vec<f64>,
    lipschitz: f64,
}

/// The model and its working set; the vectors are allocated once a run.
#[derive(Debug)]
pub(super) struct GroupDescent {
    norm: GroupLasso,
    groups: Vec<(Vec<usize>, f64)>,
    /// Numbers of the groups in the working set.
    working: Vec<usize>,
    /// h.
    pub curvatures: Vec<f64>,
    total: f64,
    /// Of the groups seen since the curvatures were `parts_of`.
    parts: Vec<Option<Part>>,
    parts_of: Vec<f64>,
    /// The derivative of the model for every record, but for h times the scalar `offset`.
    residual: Vec<f64>,
    offset: f64,
    ridge: f64,
    alpha: f64,
    centred: bool,
    // Of one group.
    gradient: Vec<f64>,
    steps: Vec<f64>,
    old: Vec<f64>,
    new: Vec<f64>,
    moved: Vec<f64>,
    newton: Newton,
    /// Multiplications that Newton's steps may still spend.
    budget: f64,
}

impl GroupDescent {
    pub fn new<D: Design + ?Sized>(problem: &Problem<'_, D>, norm: &GroupLasso) -> Self {
        let groups: Vec<(Vec<usize>, f64)> = (norm.groups())
            .map(|(group, weight)| (group.to_vec(), weight))
            .collect();
        let n = problem.design().n_rows();
        Self {
            norm: norm.clone(),
            parts: vec![None; groups.len()],
            groups,
            working: Vec::new(),
            curvatures: vec![0.0; n],
            total: 0.0,
            parts_of: Vec::new(),
            residual: vec![0.0; n],
            offset: 0.0,
            ridge: problem.ridge(),
            alpha: 0.0,
            centred: problem.fit_intercept(),
            gradient: Vec::new(),
            steps: Vec::new(),
            old: Vec::new(),
            new: Vec::new(),
            moved: Vec::new(),
            newton: Newton::default(),
            budget: 0.0,
        }
    }

    /// The groups that are not zero or cost nothing, and of those that violate optimality at 0 the worst.
    pub fn choose_working_set(&mut self, point: &Point, alpha: f64) {
        self.working.clear();
        let mut violators = Vec::new();
        for (g, (group, weight)) in self.groups.iter().enumerate() {
            if (*weight == 0.0 && self.norm.l1() == 0.0)
                || group.iter().any(|&j| point.theta[j] != 0.0)
            {
                self.working.push(g);
                continue;
            }
            let negated = group.iter().map(|&j| -point.correlations[j]);
            let level = self.norm.group_level(negated, *weight);
            if level > alpha {
                violators.push((level, g));
            }
        }
        let most = FEWEST_NEW.max(self.working.len());
        if violators.len() > most {
            violators.select_nth_unstable_by(most, |a, b| b.0.total_cmp(&a.0));
            violators.truncate(most);
        }
        self.working.extend(violators.iter().map(|(_, g)| g));
        self.working.sort_unstable();
    }

    /// Starts from the weighted slopes of a point, with the present `curvatures` and working set.
    pub fn reset<D: Design + ?Sized>(
        &mut self,
        problem: &Problem<'_, D>,
        slopes: &[f64],
        alpha: f64,
    ) {
        self.alpha = alpha;
        self.offset = 0.0;
        self.residual.copy_from_slice(slopes);
        self.total = self.curvatures.iter().sum();
        if self.parts_of != self.curvatures {
            self.parts_of.clone_from(&self.curvatures);
            self.parts.fill(None);
        }
        for &g in &self.working {
            if self.parts[g].is_none() {
                self.parts[g] = Some(self.part(problem.design(), &self.groups[g].0));
            }
        }
    }

    fn part<D: Design + ?Sized>(&self, design: &D, group: &[usize]) -> Part {
        let (h, k) = (&self.curvatures, group.len());
        let moments: Vec<(f64, f64)> = (group.iter())
            .map(|&j| match self.centred {
                true => design.centred_moments(j, h, self.total),
                false => (0.0, design.squared_norm(j, h)),
            })
            .collect();
        let mut gram = vec![0.0; k * k];
        if k > 1 {
            let mut images = Vec::new();
            self.centred_columns(design, group, &mut images);
            square(&images, h.len(), &mut gram);
        }
        for (a, &(mean, square)) in moments.iter().enumerate() {
            let constant = square <= CONSTANT * self.total * mean * mean;
            gram[a * k + a] = if constant { 0.0 } else { square } + self.ridge;
        }
        // Gershgorin's bound and the Frobenius norm: each is at least the largest eigenvalue.
        let rows = gram
            .chunks_exact(k)
            .map(|row| row.iter().map(|x| x.abs()).sum::<f64>());
        let frobenius: f64 = gram.iter().map(|x| x * x).sum::<f64>().sqrt();
        Part {
            means: moments.into_iter().map(|(mean, _)| mean).collect(),
            lipschitz: rows.fold(0.0, f64::max).min(frobenius),
            gram,
        }
    }

    /// sqrt(h) times the centred columns, one after another.
    fn centred_columns<D: Design + ?Sized>(
        &self,
        design: &D,
        columns: &[usize],
        images: &mut Vec<f64>,
    ) {
        let n = self.curvatures.len();
        images.clear();
        images.resize(columns.len() * n, 0.0);
        let total = if self.centred {
            self.total
        } else {
            f64::INFINITY
        };
        for (&j, image) in columns.iter().zip(images.chunks_exact_mut(n)) {
            design.add_columns(&[j], &[1.0], image);
            centre(image, &self.curvatures, total);
            for (x, h) in image.iter_mut().zip(&self.curvatures) {
                *x *= h.sqrt();
            }
        }
    }

    /// Passes over the working set, and Newton's steps between them, until they bring little; returns the change of
    /// model plus penalty.
    pub fn minimise<D: Design + ?Sized>(
        &mut self,
        design: &D,
        theta: &mut [f64],
        run: &mut Run<'_>,
    ) -> Result<f64> {
        let columns: usize = self.working.iter().map(|&g| self.groups[g].0.len()).sum();
        let pass_cost = 2.0 * (design.n_rows() * columns) as f64;
        let (mut total, mut largest) = (0.0, 0.0f64);
        let mut passes = 0;
        loop {
            let mut decrease = -self.pass(design, theta);
            self.budget += pass_cost;
            passes += 1;
            run.count()?;
            let stalled = |decrease: f64, largest: f64| {
                // NaN ends it too.
                let least = run.accuracy * f64::max(largest, decrease).min(run.gap);
                decrease.is_nan() || decrease <= least
            };
            let stuck = stalled(decrease, largest);
            if passes % BETWEEN == 0 || stuck {
                // Where nothing was gained so far nothing else is left, whatever it costs.
                let saved = self.budget;
                if stuck && total == 0.0 {
                    self.budget = f64::INFINITY;
                }
                let (change, hidden) = self.newton_steps(design, theta);
                decrease = decrease.max(0.0) - change;
                self.budget = self.budget.min(saved);
                if hidden {
                    // What is left is below the rounding of the model.
                    return Ok(total - decrease);
                }
            }
            total -= decrease;
            let ends = stalled(decrease, largest) || run.ends_passes(passes, -total);
            largest = largest.max(decrease);
            if ends {
                return Ok(total);
            }
        }
    }

    /// One pass over the working set: the change of model plus penalty, never positive but for rounding.
    fn pass<D: Design + ?Sized>(&mut self, design: &D, theta: &mut [f64]) -> f64 {
        let mut change = 0.0;
        for at in 0..self.working.len() {
            let g = self.working[at];
            let (Some(part), (group, weight)) = (&self.parts[g], &self.groups[g]) else {
                continue;
            };
            let k = group.len();
            self.gradient.resize(k, 0.0);
            design.dot_columns(group, &self.residual, &mut self.gradient);
            self.old.clear();
            self.old.extend(group.iter().map(|&j| theta[j]));
            for (a, g) in self.gradient.iter_mut().enumerate() {
                *g += self.offset * self.total * part.means[a] + self.ridge * self.old[a];
            }
            self.new.clone_from(&self.old);
            self.steps.clear();
            self.steps.resize(k, 0.0);
            let mut first = 0.0;
            for step in 0..MOST_STEPS {
                if part.lipschitz <= 0.0 {
                    // Constant columns: the intercept does their work.
                    self.new.fill(0.0);
                    break;
                }
                // gradient + G (new - old), then the prox of the step.
                self.moved.clear();
                for a in 0..k {
                    let along = dot(&part.gram[a * k..(a + 1) * k], &self.steps);
                    self.moved
                        .push(self.new[a] - (self.gradient[a] + along) / part.lipschitz);
                }
                self.norm
                    .shrink(&mut self.moved, *weight, self.alpha / part.lipschitz);
                let square: f64 = (self.moved.iter().zip(&self.new))
                    .map(|(a, b)| (a - b) * (a - b))
                    .sum();
                std::mem::swap(&mut self.new, &mut self.moved);
                for (step, (new, old)) in self.steps.iter_mut().zip(self.new.iter().zip(&self.old))
                {
                    *step = new - old;
                }
                first = if step == 0 { square } else { first };
                // One step is exact for one feature.
                if k == 1 || square <= SMALL_STEP * SMALL_STEP * first {
                    break;
                }
            }
            for (step, (new, old)) in self.steps.iter_mut().zip(self.new.iter().zip(&self.old)) {
                *step = new - old;
            }
            if self.steps.iter().all(|step| *step == 0.0) {
                continue;
            }
            for a in 0..k {
                let along = dot(&part.gram[a * k..(a + 1) * k], &self.steps);
                change += self.steps[a] * (self.gradient[a] + 0.5 * along);
                self.offset -= self.steps[a] * part.means[a];
                theta[group[a]] = self.new[a];
            }
            change += self.alpha
                * (self.norm.group_value(&self.new, *weight)
                    - self.norm.group_value(&self.old, *weight));
            design.add_scaled_columns(group, &self.steps, &self.curvatures, &mut self.residual);
        }
        change
    }
}

/// out = the products of all pairs of columns of `images`, n entries each, a full square.
fn square(images: &[f64], n: usize, out: &mut [f64]) {
    let size = images.len() / n;
    for (a, x) in images.chunks_exact(n).enumerate() {
        for (b, y) in images.chunks_exact(n).take(a + 1).enumerate() {
            let product = dot(x, y);
            out[a * size + b] = product;
            out[b * size + a] = product;
        }
    }
}

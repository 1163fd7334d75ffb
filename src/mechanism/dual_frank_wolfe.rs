use std::sync::Arc;

use serde::Deserialize;

use super::minimiser::{check_loss, check_scalar};
use super::minkowski::summands;
use super::noise_law::OutputNoise;
use super::output_perturbation::default_ridge;
use super::public_width;
use crate::accounting::calibrate::{calibrate, calibrate_events};
use crate::accounting::event::Event;
use crate::error::{Error, Result, non_negative, positive};
use crate::loss::Growth;
use crate::mechanism::Mechanism;
use crate::norm::Norm;
use crate::numeric::directed::div_up;
use crate::numeric::linear::norm2;
use crate::plan::defaults::{
    DUAL_RELEASE_SHARE, DUAL_RIDGE_FACTOR, DUAL_STEPS, DUAL_WIDTH_SAMPLES,
};
use crate::plan::{Domain, Fitted, Plan, Problem, Summary};
use crate::polytope::{NormOrder, Simulation, base, symmetric};
use crate::privacy::{Planned, Program, Question, Session, Target};
use crate::question::{DualPath, DualPoint, DualVertex, check_ridge};
use crate::theory::{frank_wolfe_excess, least, printed_iterations};

/// How a step of the dual is made private.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Variant {
    /// Every step releases a noisy theta(s_t); the vertex is the greedy one at it, and the weighted mean of the
    /// releases is free.
    #[default]
    NoisyIterates,
    /// Every step chooses a vertex, one exact choice per Minkowski summand of K; then one noisy release of theta(s_T).
    Selection,
}

/// Private Frank-Wolfe on the dual of mean loss + alpha Omega(theta) + (ridge/2)|theta|^2 (Kumar & Deisenroth 2019,
/// Algorithms 1 and 2, with their Eq. (13) paid for; Bach 2015; [`crate::theory_of_privacy::minkowski`],
/// [`crate::theory_of_privacy::dual`]).
///
/// The dual is max over s in K, K = alpha |P|(F) (alpha B(F) for a seminorm), of min over theta of mean
/// loss + (ridge/2) |theta|^2 + <s, theta>, whose minimiser theta(s) is its gradient. From s_0 = 0,
/// s_{t+1} = s_t + 2/(t + 2) (v_t - s_t), v_t a vertex of K with a large <v_t, theta(s_t)>. The intercept is a column
/// under the ridge and not in K.
///
/// **Eq. (13) reads the data**: theta(s) of a private s is not post-processing. "noisy-iterates" releases theta(s_t)
/// with noise at every step, and its mean with weights t + 1, the mean that belongs to s_T (Bach 2015), costs nothing
/// more; "selection" pays for one release of theta(s_T).
///
/// **Neighbours**: replace-one or add-remove. **Sensitivity** of theta(s): 2 L R2/(n ridge), float error included
/// ([`crate::question::DualPath`]); KD's printed scale L |K| sqrt(8 T ln(1/delta))/(n epsilon) bounds no such thing.
/// **Privacy**: T Gaussian events by the exact Gaussian curve, or T zero-concentrated ones
/// ([`crate::exact::selection::MinkowskiSelection`]) and one Gaussian. **Needs** a catalogued loss and ridge > 0. The
/// norm may be anything, a user's oracle included: it sees released vectors only.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DualFrankWolfe {
    /// Noisy iterates or selection.
    pub variant: Variant,
    /// T; None: a public rule, see [`DualFrankWolfe`]'s plan.
    pub n_iter: Option<usize>,
    /// alpha in scaled units; must be given.
    pub alpha: Option<f64>,
    /// Ridge in scaled units; None: a public rule.
    pub ridge: Option<f64>,
    /// tau of a prox that follows the release (post-processing), in scaled units; None: 0.
    pub threshold: Option<f64>,
}

/// Most iterations that a plan takes.
const MOST: usize = 1 << 20;

/// Largest bound on a residual: beyond it, squares leave the range of floating point.
const MOST_RESIDUAL: f64 = 1e100;

/// T = (Gamma^4 (n epsilon)^2/(L G)^2)^(1/3), the number of iterations of Kumar & Deisenroth 2019, Theorem 4, for
/// a K of diameter Gamma and Gaussian width G and a dual with L1-Lipschitz constant L; at least 1.
///
/// It takes no constants of the noise and no ridge, so the public rule of [`DualFrankWolfe`] is another one.
///
/// ```
/// assert_eq!(dpsparse::mechanism::theorem_4_iterations(1000, 1.0, 1.0, 1.0, 1.0), 100);
/// ```
pub fn theorem_4_iterations(
    n_samples: usize,
    epsilon: f64,
    lipschitz: f64,
    diameter: f64,
    width: f64,
) -> usize {
    let scale = lipschitz * width;
    printed_iterations(diameter * diameter, n_samples as f64, epsilon, scale)
        .round()
        .max(1.0) as usize
}

#[derive(Debug)]
struct Steps {
    norm: Arc<dyn Norm>,
    points: Question<DualPoint>,
    /// The choices of the variant that chooses.
    vertices: Option<Question<DualVertex>>,
    n_iter: usize,
    alpha: f64,
    threshold: f64,
    /// Bound on |s|_2 over K.
    reach: f64,
}

/// Size and Gaussian width of the dual ball.
fn dual_ball(norm: &dyn Norm) -> Result<(f64, f64)> {
    if let Some(lasso) = norm.group_lasso() {
        return Ok((lasso.dual_radius()?, public_width::width(norm)?));
    }
    let f = norm.set_function().ok_or_else(no_polytope)?;
    let simulation = Simulation {
        n_samples: DUAL_WIDTH_SAMPLES,
        seed: 0,
    };
    Ok(if f.is_monotone() {
        (
            symmetric::radius(f, NormOrder::Two)?.value,
            symmetric::gaussian_width(f, simulation)?.value,
        )
    } else {
        (
            base::radius(f, NormOrder::Two)?.value,
            base::gaussian_width(f, simulation)?.value,
        )
    })
}

/// What variant="selection" says of a norm whose dual ball has no vertices to choose among.
fn no_polytope() -> Error {
    Error::UnsoundMechanism(
        "variant=\"selection\" chooses among the vertices of the dual ball, which for a group lasso is a sum of Euclidean \
         balls and no polytope; use variant=\"noisy-iterates\""
            .into(),
    )
}

/// T releases of theta(s_t).
fn noisy_iterates(
    path: &DualPath,
    n_iter: u64,
    (epsilon, delta): (f64, f64),
) -> Result<Question<DualPoint>> {
    let make = |multiplier| Event::gaussian(1.0, multiplier);
    path.points(calibrate(make, n_iter, epsilon, delta, (1e-3, 1e9))?)
}

/// One release of theta(s_T), and T choices of a vertex.
fn choices(
    path: &DualPath,
    n_iter: u64,
    (epsilon, delta): (f64, f64),
    norm: &dyn Norm,
    alpha: f64,
) -> Result<(Question<DualPoint>, Question<DualVertex>)> {
    let share = |rho: f64| rho * (1.0 - DUAL_RELEASE_SHARE) / n_iter as f64;
    let multiplier = |rho: f64| div_up(1.0, (2.0 * rho * DUAL_RELEASE_SHARE).sqrt());
    let events = |rho: f64| -> Result<Vec<(Event, u64)>> {
        Ok(vec![
            (Event::zero_concentrated(share(rho))?, n_iter),
            (Event::gaussian(1.0, multiplier(rho))?, 1),
        ])
    };
    let rho = calibrate_events(events, epsilon, delta, (1e-12, 1e9))?;
    let points = path.points(multiplier(rho))?;
    let function = norm.set_function().ok_or_else(no_polytope)?;
    let vertices = path.vertices(summands(function, alpha)?, share(rho), &points)?;
    Ok((points, vertices))
}

impl Mechanism for DualFrankWolfe {
    fn margin_bound(&self, _: &Domain, _: usize, _: bool, _: Target) -> Result<f64> {
        Ok(1.0) // users' own losses are refused by the plan
    }

    /// T minimises what Frank-Wolfe leaves after T steps, 2 C/(T + 2) with C = (2 |K|)^2/ridge (KD Theorem 2), plus the
    /// noise in a step, sigma sqrt(T) width(K), sigma the noise of one release with the whole budget. On a9a
    /// (l1 and groups, epsilon 1 and 4) the T that it gives are within a factor of 3 of the best of 2, 5, 15, 50 and
    /// 150, and the objective is flat there.
    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Plan> {
        let delta = problem.validate()?;
        let alpha = match self.alpha {
            Some(alpha) => positive("alpha", alpha)?,
            None => {
                return Err(Error::invalid(
                    "alpha",
                    "must be given for dual-frank-wolfe",
                ));
            }
        };
        let threshold = non_negative("threshold", self.threshold.unwrap_or(0.0))?;
        if self.n_iter.is_some_and(|t| t == 0 || t > MOST) {
            let problem = format!("must be between 1 and {MOST}");
            return Err(Error::invalid("n_iter", problem));
        }
        check_loss(&problem)?;
        check_scalar(&problem)?;
        domain.check_free("the dual ball of a cone is unbounded")?;
        let norm = domain.norm(problem.schema().n_features())?;
        let ridge = match self.ridge {
            Some(ridge) => check_ridge(ridge)?,
            None => DUAL_RIDGE_FACTOR * default_ridge(&problem, OutputNoise::Gaussian, delta),
        };
        let (radius, width) = dual_ball(norm.as_ref())?;
        let (reach, width) = (alpha * radius * (1.0 + 1e-9), alpha * width);
        let model = problem.clamped(clamp(&problem, ridge, reach)?)?;
        let minimiser = problem.statement.strongly_convex(&model, None, ridge)?;
        let path = minimiser.path(reach)?;
        let budget = (problem.epsilon, delta);
        let one = noisy_iterates(&path, 1, budget)?.output_scale();
        let curvature = (2.0 * reach).powi(2) / ridge;
        // A greedy vertex moves the score by the noise times the width once: it is not the best of noisy scores.
        let excess = |t: f64| frank_wolfe_excess(curvature, t, one * t.sqrt() * width);
        let n_iter = (self.n_iter).unwrap_or_else(|| {
            least((DUAL_STEPS.0..=DUAL_STEPS.1).map(|t| t as f64), excess) as usize
        });
        let (points, vertices) = match self.variant {
            Variant::NoisyIterates => (noisy_iterates(&path, n_iter as u64, budget)?, None),
            Variant::Selection => {
                let (points, vertices) =
                    choices(&path, n_iter as u64, budget, norm.as_ref(), alpha)?;
                (points, Some(vertices))
            }
        };
        // The weighted mean of T releases has 4/3 of the variance of one with the whole budget, about.
        let noise = match self.variant {
            Variant::NoisyIterates => 4.0 / 3.0 * one * one,
            Variant::Selection => points.output_scale().powi(2),
        };
        let columns = problem.statement.n_columns() as f64;
        let trace = problem.loss.smoothness() * problem.row_bound().powi(2) * problem.curvature()
            + columns * ridge;
        let kind = match self.variant {
            Variant::NoisyIterates => "noisy iterates",
            Variant::Selection => "selection and one release",
        };
        let mut mechanism = format!(
            "dual-frank-wolfe by {kind} with penalty {alpha}, ridge {ridge:.6}, {n_iter} iterations"
        );
        if threshold > 0.0 {
            mechanism += &format!(", then a prox of {threshold}");
        }
        let summary = Summary {
            mechanism,
            n_iter,
            noise_scale: points.output_scale(),
            predicted_excess_risk: excess(n_iter as f64) + 0.5 * trace * noise,
            ..Summary::default()
        };
        let steps = Steps {
            norm,
            points,
            vertices,
            n_iter,
            alpha,
            threshold,
            reach,
        };
        Plan::seal(problem, steps, summary)
    }
}

/// The clamp of the squared loss: 0 = <theta(s), gradient> gives ridge |theta(s)|^2 + <s, theta(s)> <= mean of z (y -
/// z) <= 1/4, as targets fill [-1, 1], so |theta(s)| <= (|s| + sqrt(|s|^2 + ridge))/(2 ridge), and around theta(s) the
/// residual is at most 1 + R2 |theta(s)|. Beyond that the slope is clamped, which changes no minimiser; where there are
/// more records than n_public it may, and the sensitivity is that of the clamped loss.
fn clamp(problem: &Problem, ridge: f64, reach: f64) -> Result<f64> {
    if problem.loss.growth() == Growth::SquaredResidual && problem.residual_bound.is_some() {
        return Err(Error::invalid(
            "residual_bound",
            "is not used by dual-frank-wolfe, which derives the bound from the ridge; leave it at None",
        ));
    }
    let size = (reach + (reach * reach + ridge).sqrt()) / (2.0 * ridge);
    let bound = (problem.row_bound() * size + 1.0) * (1.0 + 1e-12);
    if bound > MOST_RESIDUAL {
        let problem = "is too large for this ridge: solutions leave the range of floating point";
        return Err(Error::invalid("alpha", problem));
    }
    Ok(bound)
}

impl Program<Fitted> for Steps {
    fn questions(&self) -> Vec<Planned> {
        let t = self.n_iter as u64;
        match &self.vertices {
            None => vec![self.points.times(t)],
            Some(vertices) => vec![vertices.times(t), self.points.once()],
        }
    }

    fn run(&self, session: &mut Session<'_>) -> Result<Fitted> {
        let (p, columns) = (self.norm.n_features(), session.statement().n_columns());
        let (mut s, mut mean) = (vec![0.0; columns], vec![0.0; columns]);
        for t in 0..self.n_iter {
            let weight = 2.0 / (t as f64 + 2.0);
            let vertex = match &self.vertices {
                None => {
                    let theta = session.ask(&self.points, &s)?;
                    for (mean, theta) in mean.iter_mut().zip(&theta) {
                        *mean += weight * (theta - *mean);
                    }
                    self.greedy_vertex(&theta[..p])?
                }
                Some(vertices) => session.ask(vertices, &s)?,
            };
            for (s, v) in s.iter_mut().zip(&vertex) {
                *s += weight * (v - *s);
            }
            session.progress(t + 1, self.n_iter)?;
        }
        let mut scaled = match &self.vertices {
            None => mean,
            Some(_) => session.ask(&self.points, &s)?,
        };
        self.norm.threshold(&mut scaled, self.threshold)?;
        Ok(scaled.into())
    }
}

impl Steps {
    /// alpha times the vertex of the dual ball that a released theta points at. No vertex of a submodular function is
    /// longer than `reach`; a user's oracle that is none may give one, and must not leave the set that the plan was
    /// made for.
    fn greedy_vertex(&self, theta: &[f64]) -> Result<Vec<f64>> {
        let mut vertex = vec![0.0; theta.len()];
        self.norm.vertex(theta, &mut vertex)?;
        vertex.iter_mut().for_each(|v| *v *= self.alpha);
        let size = norm2(&vertex);
        if size.is_nan() {
            vertex.fill(0.0);
        } else if size > self.reach {
            let factor = self.reach / size * (1.0 - 1e-12);
            vertex.iter_mut().for_each(|v| *v *= factor);
        }
        Ok(vertex)
    }
}

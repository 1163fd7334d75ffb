use std::sync::Arc;

use serde::Deserialize;

use super::class_scores::ClassScores;
use super::noisy_gradient::{Gradients, noise_of_one};
use super::regularisation::{check_weights, moderate};
use crate::error::{Error, Result};
use crate::mechanism::Mechanism;
use crate::norm::{Blocks, Norm, Potential};
use crate::plan::defaults::MIRROR_STEPS;
use crate::plan::{Domain, Fitted, Plan, Problem, Summary};
use crate::privacy::{Planned, Program, Session, Target};

/// Private mirror descent over the ball {Omega(theta) <= radius}, |b| <= radius, with noisy gradients and steps in the
/// geometry of the ball (Talwar, Thakurta & Zhang 2014; Nemirovski & Yudin 1983; Beck & Teboulle 2003;
/// [`crate::theory_of_privacy::noisy_gradients`]); the mean of the last half of the iterates is released.
///
/// grad psi(theta) <- grad psi(theta) - step g_t, then the Bregman projection on the ball ([`Potential`]); on the
/// simplex psi is the negative entropy and the step a multiplication. The intercept moves in its own Euclidean
/// geometry.
///
/// Three or more classes have a row of theta each, and the ball is that of the largest Omega of a class.
///
/// **Neighbours**: replace-one or add-remove. **Sensitivity**: 2 d_max |x|_2 on the integer gradient
/// (`question/sensitivity.rs`). **Privacy**: T Gaussian mechanisms, by the exact Gaussian curve; iterates are
/// post-processing, so privacy does not depend on the potential, the norm or the projection being right.
///
/// **Excess risk.** With V the largest psi - psi(0) on the ball and N the expected dual norm of the noise on the
/// gradient had it the whole budget, steps of total length L = sqrt(2 V)/N have an expected excess of at most sqrt(2 V)
/// N, whatever T (the noise of T gradients is sqrt(T) times as large, its mean is not). For the l1 ball that is e
/// radius sqrt(ln p (1 + ln p)) times the noise on an entry: the order of the ball's Gaussian width times sqrt(ln p).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MirrorDescent {
    /// T; None: as many as the total length takes, at least 100 and at most 3000.
    pub n_iter: Option<usize>,
    /// Radius in scaled units; None: the public default.
    pub radius: Option<f64>,
    /// psi.
    pub potential: PotentialChoice,
    /// Length of a step in the dual space, in scaled units; None: a public rule.
    pub step: Option<f64>,
}

/// Which potential steps are taken in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PotentialChoice {
    /// That of the ball: "p-norm" for l1 and groups, "entropy" for the simplex, "euclidean" for other norms.
    #[default]
    Auto,
    /// Half the squared q-norm over entries or groups, q = 1 + 1/ln m.
    PNorm,
    /// The negative entropy.
    Entropy,
    /// Half the squared Euclidean norm.
    Euclidean,
}

/// The ball of one class and how steps move in it.
#[derive(Debug, Clone)]
enum Ball {
    Norm {
        potential: Potential,
        norm: Arc<dyn Norm>,
        radius: f64,
    },
    Simplex {
        total: f64,
    },
}

impl Ball {
    fn new(
        domain: &Domain,
        n_features: usize,
        radius: f64,
        choice: PotentialChoice,
    ) -> Result<Self> {
        let refused = |what: &str| Err(Error::invalid("potential", what));
        if matches!(domain, Domain::Simplex) {
            return match choice {
                PotentialChoice::Auto | PotentialChoice::Entropy => {
                    Ok(Ball::Simplex { total: radius })
                }
                _ => refused("must be \"auto\" or \"entropy\" for the simplex"),
            };
        }
        // The projection needs the prox too.
        domain.norm(n_features)?;
        let norm = domain.ball(n_features)?;
        let own = match domain {
            Domain::Groups(groups) if is_partition(groups, n_features) => {
                Blocks::Groups(groups.clone())
            }
            Domain::GroupLasso(lasso) if lasso.largest_group() > 1 => {
                let groups = lasso.groups().map(|(group, _)| group.to_vec());
                Blocks::Groups(groups.collect())
            }
            Domain::GroupLasso(_) => Blocks::Coordinates,
            _ if norm.weights().is_some() => Blocks::Coordinates,
            _ => Blocks::Whole,
        };
        let blocks = match choice {
            PotentialChoice::Auto => own,
            PotentialChoice::Euclidean => Blocks::Whole,
            PotentialChoice::PNorm if own != Blocks::Whole => own,
            PotentialChoice::PNorm => {
                return refused(
                    "\"p-norm\" has a known projection for norm=\"l1\", DisjointGroups(...), GroupLasso(...) and Modular(...); \
                     use \"auto\" or \"euclidean\"",
                );
            }
            PotentialChoice::Entropy => {
                return refused("\"entropy\" is for norm=\"simplex\"; use \"auto\"");
            }
        };
        Ok(Ball::Norm {
            potential: Potential::new(blocks, n_features),
            norm,
            radius,
        })
    }

    /// The largest psi - psi(start) on the ball.
    fn range(&self, n_features: usize) -> Result<f64> {
        Ok(match self {
            Ball::Norm {
                potential,
                norm,
                radius,
            } => {
                let mut reach = norm.reach()?;
                let mut ones = vec![0.0; n_features];
                for group in potential.groups() {
                    group.iter().for_each(|&j| ones[j] = 1.0);
                    reach = reach.max((group.len() as f64).sqrt() / norm.value(&ones)?);
                    group.iter().for_each(|&j| ones[j] = 0.0);
                }
                radius * radius * potential.range(reach)
            }
            Ball::Simplex { total } => total * (n_features.max(2) as f64).ln(),
        })
    }

    /// About the largest dual norm of standard normal noise, and of a row whose entries are in [-1, 1] and whose
    /// Euclidean norm is at most `row`; of the simplex in units of psi, whose modulus is 1/total.
    fn dual_sizes(&self, n_features: usize, row: f64) -> (f64, f64) {
        match self {
            Ball::Norm { potential, .. } => {
                let exponent = potential.dual_exponent();
                let sizes = potential.sizes(n_features);
                let moments: f64 = sizes.iter().map(|&d| chi_moment(d as f64, exponent)).sum();
                let full: f64 = sizes.iter().map(|&d| (d as f64).powf(0.5 * exponent)).sum();
                (
                    moments.powf(1.0 / exponent),
                    full.powf(1.0 / exponent).min(row),
                )
            }
            Ball::Simplex { total } => {
                let largest = (2.0 * (2.0 * n_features.max(2) as f64).ln()).sqrt();
                (total.sqrt() * largest, total.sqrt() * row.min(1.0))
            }
        }
    }

    /// The start in the dual space and the point that belongs to it.
    fn start(&self, dual: &mut [f64], point: &mut [f64]) {
        dual.fill(0.0);
        point.fill(match self {
            Ball::Norm { .. } => 0.0,
            Ball::Simplex { total } => total / point.len() as f64,
        });
    }

    /// The point of the ball that a dual point belongs to, and its own dual.
    fn project(&self, dual: &mut [f64], point: &mut [f64]) -> Result<()> {
        match self {
            Ball::Norm {
                potential,
                norm,
                radius,
            } => potential.project(norm.as_ref(), *radius, dual, point),
            Ball::Simplex { total } => {
                let largest = dual.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
                for (x, z) in point.iter_mut().zip(&mut *dual) {
                    *z -= largest;
                    *x = libm::exp(*z);
                }
                let sum: f64 = point.iter().sum();
                point.iter_mut().for_each(|x| *x *= total / sum);
                Ok(())
            }
        }
    }
}

/// Whether every feature is in exactly one group.
fn is_partition(groups: &[Vec<usize>], n_features: usize) -> bool {
    let mut members: Vec<usize> = groups.concat();
    members.sort_unstable();
    members.into_iter().eq(0..n_features)
}

/// E chi_d^r, of the length of d standard normal entries.
fn chi_moment(d: f64, r: f64) -> f64 {
    (0.5 * r * std::f64::consts::LN_2 + libm::lgamma(0.5 * (d + r)) - libm::lgamma(0.5 * d)).exp()
}

#[derive(Debug)]
struct Steps {
    ball: Ball,
    gradients: Gradients,
    /// 1/n.
    normaliser: f64,
    /// Bound on the intercept.
    radius: f64,
    step: f64,
}

impl MirrorDescent {
    fn size(&self, target: Target) -> Result<f64> {
        Domain::size(self.radius, Problem::default_radius(target))
    }
}

impl Mechanism for MirrorDescent {
    fn weighs_records(&self, target: Target) -> bool {
        target != Target::Classes
    }

    fn margin_bound(
        &self,
        domain: &Domain,
        n_features: usize,
        intercept: bool,
        target: Target,
    ) -> Result<f64> {
        let radius = self.size(target)?;
        // |<theta, x>| <= Omega(theta) * dual(x), and the dual norm of a row in [-1, 1]^p is at most that of ones.
        let features = match Ball::new(domain, n_features, radius, self.potential)? {
            Ball::Norm { norm, .. } => norm.dual(&vec![1.0; n_features])?,
            Ball::Simplex { .. } => 1.0,
        };
        Ok(radius * (features + f64::from(u8::from(intercept))))
    }

    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Plan> {
        problem.validate()?;
        let schema = problem.schema();
        let (p, radius) = (schema.n_features(), self.size(schema.target())?);
        let ball = Ball::new(domain, p, radius, self.potential)?;
        if let Ball::Norm { norm, .. } = &ball {
            check_weights(norm.as_ref())?;
        }
        let one = noise_of_one(&problem)?;
        let (noise, row) = ball.dual_sizes(p, problem.gradient_bound());
        let intercept = f64::from(u8::from(schema.has_intercept()));
        // All classes share a step; psi, and squared dual norms, add up over them and the intercepts.
        let outputs = problem.outputs() as f64;
        let range = outputs * (ball.range(p)? + 0.5 * intercept * radius * radius);
        let noise = one * (outputs * (noise * noise + intercept)).sqrt();
        let total = (2.0 * range).sqrt() / noise;
        let longest = 1.0 / (problem.smoothness() * (row * row + intercept));
        let n_iter = match self.n_iter {
            Some(t) => t,
            None => ((total / longest).ceil() as usize).clamp(MIRROR_STEPS.0, MIRROR_STEPS.1),
        };
        let step = match self.step {
            None => longest.min(total / n_iter.max(1) as f64),
            Some(step) => moderate("step", step)?,
        };
        let gradients = Gradients::calibrated(&problem, n_iter)?;
        let length = step * n_iter as f64;
        let named = match &ball {
            Ball::Simplex { .. } => "the entropy".to_string(),
            Ball::Norm { potential, .. } => format!("exponent {:.3}", potential.exponent()),
        };
        let summary = Summary {
            mechanism: format!(
                "mirror-descent in the geometry of {named} over a ball of radius {radius}, {n_iter} steps of length {step:.4}"
            ),
            n_iter,
            noise_scale: gradients.noise_scale,
            predicted_excess_risk: range / length + 0.5 * length * noise * noise,
            ..Summary::default()
        };
        let steps = Steps {
            normaliser: 1.0 / problem.n_samples() as f64,
            ball,
            gradients,
            radius,
            step,
        };
        Plan::seal(problem, steps, summary)
    }
}

impl Program<Fitted> for Steps {
    fn questions(&self) -> Vec<Planned> {
        vec![self.gradients.planned()]
    }

    fn run(&self, session: &mut Session<'_>) -> Result<Fitted> {
        let n_iter = self.gradients.n_iter;
        let p = session.statement().schema().n_features();
        let columns = session.statement().n_columns();
        let scores = ClassScores(session.statement().schema().target().outputs());
        let entries = scores.0 * columns;
        let (mut dual, mut theta) = (vec![0.0; entries], vec![0.0; entries]);
        for (dual, theta) in dual.chunks_mut(columns).zip(theta.chunks_mut(columns)) {
            self.ball.start(&mut dual[..p], &mut theta[..p]);
        }
        let mut mean = vec![0.0; entries];
        let first_of_mean = n_iter / 2;
        for t in 0..n_iter {
            let mut gradient = self.gradients.ask(session, &theta)?;
            scores.project(&mut gradient);
            for (dual, g) in dual.iter_mut().zip(&gradient) {
                *dual -= self.step * g * self.normaliser;
            }
            for (dual, theta) in dual.chunks_mut(columns).zip(theta.chunks_mut(columns)) {
                self.ball.project(&mut dual[..p], &mut theta[..p])?;
                if let (Some(dual), Some(intercept)) = (dual.get_mut(p), theta.get_mut(p)) {
                    *dual = dual.clamp(-self.radius, self.radius);
                    *intercept = *dual;
                }
            }
            if t >= first_of_mean {
                let weight = 1.0 / (t - first_of_mean + 1) as f64;
                for (mean, theta) in mean.iter_mut().zip(&theta) {
                    *mean += weight * (theta - *mean);
                }
            }
            session.progress(t + 1, n_iter)?;
        }
        Ok(mean.into())
    }
}

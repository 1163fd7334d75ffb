use serde::Deserialize;

use super::minimiser::{Options, check_tilted_scalar, clipped, plan_minimiser, reviewed};
use super::noise_law::TiltLaw;
use crate::accounting::calibrate::about_gaussian_sigma;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::mechanism::Mechanism;
use crate::norm::ReviewedNorm;
use crate::plan::{Domain, Plan, Problem};
use crate::privacy::{Question, Target};
use crate::question::Point;
use crate::theory::least;

/// The minimiser of mean loss + alpha Omega(theta) + (ridge/2)|theta|^2 + <b, theta>/n with a random b (Chaudhuri,
/// Monteleoni & Sarwate 2011; Kifer, Smith & Thakurta 2012; Jain & Thakurta 2014, Theorem 2; Redberg, Koskela & Wang
/// 2023; [`crate::theory_of_privacy::objective_perturbation`]).
///
/// **Neighbours**: replace-one or add-remove. **Privacy**: the event of
/// [`crate::accounting::event::Event::objective_perturbation`] with L R2, s and ln(1 + beta R2^2/(n ridge)), whose
/// curves are those of [`crate::theory_of_privacy::objective_perturbation`]; and a small Gaussian event that covers the
/// float error of the minimiser ([`crate::question::StronglyConvex`]). With Gamma noise pure epsilon: c L R2/scale +
/// ln(1 + beta R2^2/(n ridge)), and lattice Laplace noise for the float error. **Needs** a catalogued Lipschitz loss
/// (squared is refused: use huber), a catalogued norm, ridge > 0.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ObjectivePerturbation {
    /// Law of b.
    pub noise: TiltLaw,
    /// Ridge in scaled units; None: where [`crate::theory::Landscape::ridge_excess`] is least.
    pub ridge: Option<f64>,
    /// alpha in scaled units; None: 0.
    pub alpha: Option<f64>,
    /// tau of a prox that follows the release (post-processing), in scaled units; None: 0.
    pub threshold: Option<f64>,
    /// Clamp of the derivative of the logistic loss, in (0, 1); None: none. Noise is proportional to it.
    pub clip: Option<f64>,
}

impl Mechanism for ObjectivePerturbation {
    fn margin_bound(&self, _: &Domain, _: usize, _: bool, _: Target) -> Result<f64> {
        Ok(1.0) // users' own losses are refused by the plan
    }

    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Plan> {
        let problem = clipped(problem, self.clip)?;
        check_tilted_scalar(&problem)?;
        let norm = reviewed(&problem, domain)?;
        let ridge = match self.ridge {
            Some(ridge) => ridge,
            None => {
                let penalty = self.options(0.0).penalty(&norm);
                default_ridge(&problem, self.noise, penalty.as_ref())?
            }
        };
        let options = self.options(ridge);
        options.check()?;
        let question = tilted(&problem, options.penalty(&norm), ridge, self.noise, &[])?;
        plan_minimiser("objective-perturbation", problem, options, norm, question)
    }
}

impl ObjectivePerturbation {
    fn options(&self, ridge: f64) -> Options {
        Options {
            ridge,
            alpha: self.alpha.unwrap_or(0.0),
            threshold: self.threshold.unwrap_or(0.0),
        }
    }
}

/// The minimiser with a random linear term, which keeps the budget of the problem together with `companions`.
pub(super) fn tilted(
    problem: &Problem,
    penalty: Option<(ReviewedNorm, f64)>,
    ridge: f64,
    noise: TiltLaw,
    companions: &[(Event, u64)],
) -> Result<Question<Point>> {
    let delta = problem.validate()?;
    let minimiser = (problem.statement).strongly_convex(&problem.model()?, penalty, ridge)?;
    minimiser.check_tilted()?;
    let noise = noise.within(&minimiser, companions, problem.epsilon, delta)?;
    minimiser.with_random_tilt(noise)
}

/// The ridge at which the predicted excess is least, by the share of epsilon that ln(1 + kappa) takes there: more ridge
/// means more bias, but a larger part of epsilon for b and less effect of b. Noise that covers the float error counts
/// where it is felt: the smaller the ridge, the farther from the minimiser a proximal descent may end.
fn default_ridge(
    problem: &Problem,
    noise: TiltLaw,
    penalty: Option<&(ReviewedNorm, f64)>,
) -> Result<f64> {
    let delta = problem.validate()?;
    let landscape = problem.landscape();
    let (rows, n) = (problem.row_bound(), problem.n_samples() as f64);
    let moved = problem.statement.changed_contributions() as f64 * problem.lipschitz() * rows;
    let ridge =
        |share: f64| problem.smoothness() * rows * rows / (n * (share * problem.epsilon).exp_m1());
    let allowed = |share: f64| ridge(share).max(problem.least_ridge(rows));
    let excess = |share: f64, output: f64| {
        let left = (1.0 - share) * problem.epsilon;
        let tilt = match noise {
            TiltLaw::Gaussian => about_gaussian_sigma(moved, left, delta),
            TiltLaw::Gamma => moved / left * (landscape.columns + 1.0).sqrt(),
        };
        landscape.ridge_excess(ridge(share), tilt / n, output)
    };
    let output = |share: f64| {
        let minimiser = tilted(problem, penalty.cloned(), allowed(share), noise, &[]);
        minimiser.map_or(f64::INFINITY, |minimiser| minimiser.output_scale())
    };
    let shares = || (1..=36).map(|k| 0.5 * 2f64.powf(-0.25 * f64::from(36 - k)));
    let mut share = least(shares(), |share| excess(share, 0.0));
    // Most minimisers are next to exact.
    if penalty.is_some() && excess(share, output(share)) > 1.01 * excess(share, 0.0) {
        share = least(shares(), |share| excess(share, output(share)));
    }
    let ridge = allowed(share);
    if ridge.is_finite() {
        Ok(ridge)
    } else {
        Err(Error::invalid(
            "epsilon",
            "is too small for objective-perturbation",
        ))
    }
}

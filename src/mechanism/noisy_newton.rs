use std::sync::Arc;

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use serde::Deserialize;

use super::noisy_gradient::{Gradients, noise_of_one};
use crate::error::{Error, Result};
use crate::mechanism::defaults::{
    NEWTON_DAMPING, NEWTON_MOMENTUM, NEWTON_SHARE, NEWTON_STEPS, USER_LOSS_MARGIN,
};
use crate::mechanism::{Domain, Mechanism, Outcome, Plan, Problem};
use crate::norm::{Norm, SetFunctionNorm};
use crate::privacy::answer::{MomentsPlan, NoisyGradient};
use crate::privacy::calibrate::calibrate_events;
use crate::privacy::event::{Adjacency, Event};
use crate::privacy::noise::source::Source;
use crate::privacy::{BoundedData, Target};
use crate::prox::Scratch;

/// Private Newton steps on mean loss + (ridge/2)|theta|^2 with one bound on all Hessians: beta times the second moments
/// of the records (Boehning & Lindsay 1988), released once (Dwork, Talwar, Thakurta & Zhang 2014), then T noisy
/// gradients (MECHANISMS M4, M10); the mean of the last half of the iterates is released.
///
/// theta <- theta + m (theta - theta of before) - (1 - m) (H + lambda I)^-1 (g_t + ridge theta) (Polyak 1964), where H
/// is beta M/n without its negative eigenvalues, plus the ridge. lambda is a public share of the largest eigenvalue
/// that the noise of M has (2 sigma sqrt(p) for a symmetric normal matrix): where the noise hides the curvature, steps
/// are those of gradient descent. For the squared loss M is X'X; with T = 1 (then m = 0) and no clamp on |y| <= 1 the
/// other statistic is X'y, and theta is that of AdaSSP (Wang 2018) with another lambda. Where residuals are small,
/// noise on T clamped gradients is less than noise on X'y. The intercept is not part of the ridge. A last prox, with a
/// public threshold, makes theta sparse.
///
/// **Neighbours**: replace-one or add-remove. **Sensitivity**: sqrt(2) r^2 (or r^2) on the moments ([`MomentsPlan`])
/// and 2 d_max |x|_2 on the gradients ([`crate::privacy::sensitivity`]). **Privacy**: 1 + T Gaussian mechanisms, by the
/// exact Gaussian curve; everything else is post-processing, so privacy does not depend on the loss being convex or
/// smooth.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NoisyNewton {
    /// T; None: [`NEWTON_STEPS`].
    pub n_iter: Option<usize>,
    /// Share of the zCDP budget that the moments take, in (0, 1); None: [`NEWTON_SHARE`].
    pub share: Option<f64>,
    /// lambda in units of the largest eigenvalue that the noise of the moments has, positive; None: [`NEWTON_DAMPING`].
    pub damping: Option<f64>,
    /// Ridge in scaled units; None: 0.
    pub ridge: Option<f64>,
    /// tau of a prox of Omega that follows the release (post-processing), in scaled units; None: 0.
    pub threshold: Option<f64>,
}

#[derive(Debug)]
struct NoisyNewtonPlan {
    problem: Problem,
    norm: Arc<SetFunctionNorm>,
    moments: MomentsPlan,
    gradients: Gradients,
    /// lambda.
    damping: f64,
    ridge: f64,
    threshold: f64,
    predicted_excess_risk: f64,
}

fn non_negative(name: &str, value: Option<f64>) -> Result<f64> {
    let value = value.unwrap_or(0.0);
    if !(value.is_finite() && value >= 0.0) {
        return Err(Error::invalid(name, "must be non-negative and finite"));
    }
    Ok(value)
}

impl NoisyNewton {
    /// Most columns, the intercept included.
    pub const MOST_COLUMNS: usize = MomentsPlan::MOST_COLUMNS;

    /// lambda in units of the mean eigenvalue of the moments of rows that are as long as they may be: far above 1, the
    /// moments of most directions are below their noise, and gradient descent is better. By public facts alone; `rho`
    /// is the zCDP budget.
    pub(super) fn relative_damping(
        n_samples: usize,
        n_columns: usize,
        rho: f64,
        adjacency: Adjacency,
        records_per_person: usize,
    ) -> f64 {
        let multiplier = records_per_person as f64 / (2.0 * NEWTON_SHARE * rho).sqrt();
        // MomentsPlan: the noise off the diagonal, for rows of norm 1.
        let sigma = match adjacency {
            Adjacency::ReplaceOne => multiplier,
            Adjacency::AddRemove => multiplier * 0.5f64.sqrt(),
        };
        let columns = n_columns as f64;
        NEWTON_DAMPING * largest_eigenvalue(sigma, columns) * columns / n_samples as f64
    }
}

/// Of a symmetric matrix of independent normal entries of standard deviation sigma (sqrt(2) sigma on the diagonal), for
/// many columns (Wigner 1958).
fn largest_eigenvalue(sigma: f64, columns: f64) -> f64 {
    2.0 * sigma * columns.sqrt()
}

impl Mechanism for NoisyNewton {
    fn weighs_records(&self) -> bool {
        true
    }

    fn margin_bound(&self, domain: &Domain, n_features: usize, _: bool, _: Target) -> Result<f64> {
        domain.norm(n_features)?;
        // Nothing bounds theta: the table ends here, and a margin beyond takes the derivative at its end.
        Ok(USER_LOSS_MARGIN)
    }

    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Box<dyn Plan>> {
        let delta = problem.validate()?;
        let norm = domain.norm(problem.schema.n_features())?;
        let (ridge, threshold) = (
            non_negative("ridge", self.ridge)?,
            non_negative("threshold", self.threshold)?,
        );
        let share = self.share.unwrap_or(NEWTON_SHARE);
        if !(share > 0.0 && share < 1.0) {
            return Err(Error::invalid("share", "must lie strictly between 0 and 1"));
        }
        let damping = self.damping.unwrap_or(NEWTON_DAMPING);
        if !(damping.is_finite() && damping > 0.0) {
            return Err(Error::invalid("damping", "must be positive and finite"));
        }
        let n_iter = self.n_iter.unwrap_or(NEWTON_STEPS);
        let moments = |multiplier: f64| {
            let (adjacency, person) = (problem.adjacency, problem.records_per_person);
            MomentsPlan::new(&problem.schema, multiplier, adjacency, person)
        };
        moments(1.0)?; // not too wide
        // One multiplier for the whole budget: the inverse squares of the parts' add up to its own.
        let parts = |multiplier: f64| -> Result<(MomentsPlan, Gradients)> {
            let steps = multiplier * (n_iter as f64 / (1.0 - share)).sqrt();
            let gradients = Gradients::with_multiplier(&problem, n_iter, steps)?;
            Ok((moments(multiplier / share.sqrt())?, gradients))
        };
        parts(1.0)?;
        let events = |multiplier: f64| {
            let (moments, gradients) = parts(multiplier)?;
            Ok::<_, Error>(all_events(&moments, &gradients))
        };
        let multiplier = calibrate_events(events, problem.epsilon, delta, (1e-3, 1e7))
            .map_err(|_| Error::invalid("epsilon", "is too small for noisy-newton"))?;
        let (moments, gradients) = parts(multiplier)?;
        let n = problem.n_samples as f64;
        let columns = problem.schema.n_columns() as f64;
        let eigenvalue = largest_eigenvalue(moments.noise_scale(), columns);
        let damping = damping * problem.smoothness() * eigenvalue / n;
        let noise = noise_of_one(&problem)? / (1.0 - share).sqrt();
        let length = n_iter as f64 / (damping + ridge);
        Ok(Box::new(NoisyNewtonPlan {
            predicted_excess_risk: (problem.landscape()).ridge_excess(
                ridge + 1.0 / length,
                noise,
                0.0,
            ),
            problem,
            norm,
            moments,
            gradients,
            damping,
            ridge,
            threshold,
        }))
    }
}

fn all_events(moments: &MomentsPlan, gradients: &Gradients) -> Vec<(Event, u64)> {
    let mut events = vec![(*moments.event(), 1)];
    events.extend(gradients.events());
    events
}

impl NoisyNewtonPlan {
    /// Applies (H + lambda I)^-1 by the eigenvectors of the noisy moments.
    fn inverse(&self, moments: Vec<f64>) -> DMatrix<f64> {
        let d = self.problem.schema.n_columns();
        let scale = self.problem.smoothness() / self.problem.n_samples as f64;
        let eigen = SymmetricEigen::new(DMatrix::from_vec(d, d, moments));
        let inverse = |value: f64| 1.0 / ((scale * value).max(0.0) + self.ridge + self.damping);
        let scaled = &eigen.eigenvectors * DMatrix::from_diagonal(&eigen.eigenvalues.map(inverse));
        scaled * eigen.eigenvectors.transpose()
    }
}

impl Plan for NoisyNewtonPlan {
    fn problem(&self) -> &Problem {
        &self.problem
    }

    fn describe(&self) -> String {
        let threshold = match self.threshold {
            0.0 => String::new(),
            threshold => format!(", then a prox of {threshold}"),
        };
        format!(
            "noisy-newton with ridge {}, {} steps damped by {:.3e}{threshold}",
            self.ridge, self.gradients.n_iter, self.damping
        )
    }

    fn certified(&self) -> bool {
        true
    }

    fn delta(&self) -> f64 {
        self.gradients.delta
    }

    fn n_iter(&self) -> usize {
        self.gradients.n_iter
    }

    fn events(&self) -> Vec<(Event, u64)> {
        all_events(&self.moments, &self.gradients)
    }

    fn noise_scale(&self) -> f64 {
        self.gradients.noise_scale
    }

    fn predicted_excess_risk(&self) -> f64 {
        self.predicted_excess_risk
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("damping", self.damping)]
    }

    fn execute(
        &self,
        data: &BoundedData,
        source: &mut Source,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Outcome> {
        let n_iter = self.gradients.n_iter;
        let moments = (self.moments).release(data, source, &mut || progress(0, n_iter))?;
        let inverse = self.inverse(moments);
        let loss = self.problem.loss.as_ref();
        let mut answer =
            NoisyGradient::new(data, loss, &self.gradients.plan, n_iter as u64, source)?;
        let (p, columns) = (self.problem.schema.n_features(), data.n_columns());
        let normaliser = 1.0 / self.problem.n_samples as f64;
        let mut theta = DVector::<f64>::zeros(columns);
        let (mut gradient, mut mean) = (theta.clone(), theta.clone());
        // theta of before, then the next theta.
        let mut moved = theta.clone();
        let momentum = if n_iter == 1 { 0.0 } else { NEWTON_MOMENTUM };
        let first_of_mean = n_iter / 2;
        for t in 0..n_iter {
            answer.release(theta.as_slice(), gradient.as_mut_slice())?;
            gradient *= normaliser;
            for j in 0..p {
                gradient[j] += self.ridge * theta[j];
            }
            // theta + momentum (theta - before) - (1 - momentum) step
            moved.axpy(momentum, &theta, -momentum);
            moved.gemv(momentum - 1.0, &inverse, &gradient, 1.0);
            moved += &theta;
            std::mem::swap(&mut theta, &mut moved);
            if t >= first_of_mean {
                let weight = 1.0 / (t - first_of_mean + 1) as f64;
                mean.axpy(weight, &theta, 1.0 - weight);
            }
            progress(t + 1, n_iter)?;
        }
        let (spent, secure) = answer.finish();
        let mut events = vec![(*self.moments.event(), 1)];
        events.extend(spent);
        let mut scaled = mean.as_slice().to_vec();
        if self.threshold > 0.0 {
            let mut scratch = Scratch::default();
            (self.norm).prox(
                &mean.as_slice()[..p],
                self.threshold,
                &mut scaled[..p],
                &mut scratch,
            )?;
        }
        Ok(Outcome {
            scaled,
            events,
            secure,
            feature_ranges: None,
        })
    }
}

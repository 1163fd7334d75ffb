use serde::Deserialize;

use crate::accounting::accountant::Accountant;
use crate::accounting::calibrate::{calibrate, rho_from_epsilon};
use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::mechanism::{Mechanism, Outcome, Plan};
use crate::numeric::search::bisect;
use crate::plan::{Domain, Problem};
use crate::privacy::answer::{SmoothLoss, SoftmaxPlan, SoftmaxSampler};
use crate::privacy::{BoundedData, Geometry, Target};

/// Largest number of draws that the public rules consider.
const MAX_DRAWS: u64 = 1_000_000;
/// Regularisations that the search considers.
const BRACKET: (f64, f64) = (1e-90, 1e90);

/// Softmax sampling over the simplex (Jain & Thakurta 2014, Theorems 3 and 4; MECHANISMS M9).
///
/// The mean of m draws e_a, a ~ theta_hat, where theta_hat minimises (1/n) sum l + (lambda/n) sum theta ln theta over
/// the simplex. **Neighbours**: replace-one. **Privacy**: m draws of bounded range eta each
/// ([`SoftmaxPlan`] proves it) compose in Renyi divergence.
///
/// # Public rules for m and lambda
/// The entropy lies in [-ln p, 0], so theta_hat exceeds the least mean loss by at most lambda ln p/n; a mean of m
/// independent draws has variance at most R^2/m in every margin and no bias, so smoothness adds at most Lg R^2/(2 m).
/// - Neither given: m minimises lambda(m) ln p/n + Lg R^2/(2 m), lambda(m) the least whose m draws cost rho(epsilon,
///   delta) of zCDP, m eta^2/8. For large c this is m of order sqrt(n) and an excess of order 1/sqrt(n): the variance
///   falls as 1/m (Theorem 4 pays 1/sqrt(m), hence its n^(-1/3)).
/// - One given: the other is the best that the accountant allows, the least lambda or the largest m (at most 10^6).
/// - Both given: refused where they cost more than (epsilon, delta).
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SimplexSampling {
    /// lambda, in units of the summed loss; None: a public rule.
    pub regularisation: Option<f64>,
    /// m; None: a public rule.
    pub n_draws: Option<u64>,
}

/// What a run of [`SimplexSampling`] will do, fixed before any record is read.
#[derive(Debug, Clone)]
pub struct SimplexSamplingPlan {
    problem: Problem,
    softmax: SoftmaxPlan,
    n_draws: u64,
    delta: f64,
}

impl SimplexSampling {
    /// Plans a run: lambda, the number of draws and the events that they will spend.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use dpsparse::loss::Squared;
    /// use dpsparse::mechanism::{Plan, SimplexSampling};
    /// use dpsparse::plan::{Problem};
    /// use dpsparse::accounting::event::Adjacency;
    /// use dpsparse::privacy::{Bounds, Geometry, Schema, Target};
    /// let bounds = Bounds { lower: vec![-1.0], upper: vec![1.0] };
    /// let target = Target::Interval { low: -1.0, high: 1.0 };
    /// let problem = Problem {
    ///     schema: Schema::new(20, bounds, Geometry::Uncentred, target, false, None)?,
    ///     n_samples: 100_000,
    ///     loss: Arc::new(Squared),
    ///     residual_bound: None,
    ///     epsilon: 1.0,
    ///     delta: Some(1e-6),
    ///     adjacency: Adjacency::ReplaceOne,
    ///     records_per_person: 1,
    /// };
    /// let plan = SimplexSampling::default().plan(problem)?;
    /// assert!(plan.n_iter() > 10 && plan.predicted_excess_risk() < 0.05);
    /// # Ok::<(), dpsparse::Error>(())
    /// ```
    ///
    /// # Errors
    /// Public parameters out of their domains, bounds that are not symmetric, more asked for than (epsilon, delta)
    /// holds; [`Error::UnsoundMechanism`] under add-remove and for losses without a reviewed proof.
    pub fn plan(&self, problem: Problem) -> Result<SimplexSamplingPlan> {
        if problem.adjacency == Adjacency::AddRemove {
            return Err(Error::UnsoundMechanism(
                "softmax sampling is proved under replace-one only: its number of records must be public (MECHANISMS M9)"
                    .into(),
            ));
        }
        let delta = problem.validate()?;
        let loss = reviewed(&problem)?;
        if problem.residual_bound.is_some() {
            return Err(Error::invalid(
                "residual_bound",
                "is not used on the simplex, where residuals are bounded; leave it at None",
            ));
        }
        for (name, refused) in [
            (
                "n_draws",
                self.n_draws.is_some_and(|m| m == 0 || m >= 1 << 31),
            ),
            (
                "regularisation",
                self.regularisation
                    .is_some_and(|l| !(l.is_finite() && l > 0.0)),
            ),
        ] {
            if refused {
                return Err(Error::invalid(
                    name,
                    "must be positive and finite (n_draws below 2^31)",
                ));
            }
        }
        let start = self.regularisation.unwrap_or(1e6);
        let owned = problem.records_per_person as u64;
        let mut softmax = SoftmaxPlan::new(&problem.schema, problem.n_samples, loss, owned, start)?;
        let affordable = |event: &Event, count: u64| -> Result<bool> {
            let mut accountant = Accountant::new();
            accountant.add(*event, count)?;
            Ok(accountant.delta(problem.epsilon)? <= delta
                && accountant.epsilon(delta)? <= problem.epsilon)
        };
        let n_draws = match (self.regularisation, self.n_draws) {
            (Some(_), given) => {
                if !affordable(softmax.event(), given.unwrap_or(1))? {
                    return Err(Error::invalid(
                        "regularisation",
                        "is too small for this epsilon, delta and n_draws: raise it, or leave it at None",
                    ));
                }
                match given {
                    Some(m) => m,
                    None => most(|m| affordable(softmax.event(), m))?,
                }
            }
            (None, given) => {
                let m = match given {
                    Some(m) => m,
                    None => best_draws(
                        &softmax,
                        &problem,
                        rho_from_epsilon(problem.epsilon, delta)?,
                    )?,
                };
                let range = calibrate(
                    Event::exponential,
                    m,
                    problem.epsilon,
                    delta,
                    (1e-12, 1000.0),
                )?;
                softmax.set_regularisation(least_regularisation(&softmax, range)?)?;
                m
            }
        };
        Ok(SimplexSamplingPlan {
            problem,
            softmax,
            n_draws,
            delta,
        })
    }
}

/// The loss as the room knows it.
fn reviewed(problem: &Problem) -> Result<SmoothLoss> {
    match problem.loss.name() {
        "logistic" => Ok(SmoothLoss::Logistic),
        "squared" => Ok(SmoothLoss::Squared),
        _ => Err(Error::UnsoundMechanism(
            "softmax sampling is proved for the logistic and the squared loss only (MECHANISMS M9); frank-wolfe over \
             the simplex takes other losses"
                .into(),
        )),
    }
}

/// The largest m up to [`MAX_DRAWS`] that is affordable; one draw is.
fn most(affordable: impl Fn(u64) -> Result<bool>) -> Result<u64> {
    let (mut low, mut high) = (1, MAX_DRAWS + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if affordable(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// The least lambda whose draws have at most this range.
fn least_regularisation(softmax: &SoftmaxPlan, range: f64) -> Result<f64> {
    let private = |lambda: f64| Ok::<_, Error>(softmax.range_at(lambda) <= range);
    bisect(private, BRACKET.0, BRACKET.1, 1e-12)
}

/// The m that minimises the predicted excess risk at rho-zCDP, on a grid of ratio 1.05.
fn best_draws(softmax: &SoftmaxPlan, problem: &Problem, rho: f64) -> Result<u64> {
    let (mut best, mut least, mut m) = (1, f64::INFINITY, 1);
    while m <= MAX_DRAWS {
        let lambda = least_regularisation(softmax, (8.0 * rho / m as f64).sqrt())?;
        let excess = predicted_excess(softmax, problem, lambda, m);
        if excess < least {
            (best, least) = (m, excess);
        }
        m += (m / 20).max(1);
    }
    Ok(best)
}

/// lambda ln p/n + Lg R^2/(2 m), see [`SimplexSampling`].
fn predicted_excess(softmax: &SoftmaxPlan, problem: &Problem, lambda: f64, m: u64) -> f64 {
    let n = problem.n_samples as f64;
    let p = problem.schema.n_features().max(2) as f64;
    let (smoothness, reach) = (softmax.loss().smoothness(), softmax.reach());
    lambda * p.ln() / n + smoothness * reach * reach / (2.0 * m as f64)
}

impl Mechanism for SimplexSampling {
    fn geometry(
        &self,
        domain: &Domain,
        intercept: bool,
        row_norm: Option<f64>,
    ) -> Result<Geometry> {
        if !matches!(domain, Domain::Simplex) {
            return Err(Error::invalid(
                "norm",
                "must be \"simplex\" for simplex-sampling",
            ));
        }
        if intercept {
            return Err(Error::invalid(
                "fit_intercept",
                "must be False for simplex-sampling",
            ));
        }
        if row_norm.is_some() {
            return Err(Error::invalid(
                "row_norm",
                "is not used by simplex-sampling; leave it at None",
            ));
        }
        Ok(Geometry::Uncentred)
    }

    fn margin_bound(&self, _: &Domain, _: usize, _: bool, _: Target) -> Result<f64> {
        // Users' losses are refused in `plan`; their table is never used.
        Ok(1.0)
    }

    fn plan(&self, problem: Problem, _: &Domain) -> Result<Box<dyn Plan>> {
        Ok(Box::new(SimplexSampling::plan(self, problem)?))
    }
}

impl SimplexSamplingPlan {
    /// The answer that the room gives.
    pub fn softmax(&self) -> &SoftmaxPlan {
        &self.softmax
    }
}

impl Plan for SimplexSamplingPlan {
    fn problem(&self) -> &Problem {
        &self.problem
    }

    fn describe(&self) -> String {
        format!(
            "simplex-sampling, {} draws from the entropic minimiser with regularisation {:.6e}",
            self.n_draws,
            self.softmax.regularisation()
        )
    }

    fn certified(&self) -> bool {
        true
    }

    fn delta(&self) -> f64 {
        self.delta
    }

    /// Draws.
    fn n_iter(&self) -> usize {
        self.n_draws as usize
    }

    fn events(&self) -> Vec<(Event, u64)> {
        vec![(*self.softmax.event(), self.n_draws)]
    }

    /// lambda/n: the temperature of the softmax.
    fn noise_scale(&self) -> f64 {
        self.softmax.regularisation() / self.problem.n_samples as f64
    }

    fn predicted_excess_risk(&self) -> f64 {
        predicted_excess(
            &self.softmax,
            &self.problem,
            self.softmax.regularisation(),
            self.n_draws,
        )
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("regularisation", self.softmax.regularisation()),
            ("n_draws", self.n_draws as f64),
            ("kkt_residual", self.softmax.residual()),
        ]
    }

    fn execute(
        &self,
        data: &BoundedData,
        source: &mut Source,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Outcome> {
        let (m, total) = (self.n_draws, self.n_iter());
        // How often the solver passes over the records is private: it always reports 0 draws.
        let mut sampler =
            SoftmaxSampler::new(data, &self.softmax, m, source, &mut || progress(0, total))?;
        let counts = sampler.draw(m, &mut |done| progress(done as usize, total))?;
        let (events, secure) = sampler.finish();
        let scaled = counts
            .iter()
            .enumerate()
            .map(|(a, &count)| count as f64 / m as f64 * self.softmax.vertex(a))
            .collect();
        Ok(Outcome {
            scaled,
            events,
            secure,
            feature_ranges: None,
        })
    }
}

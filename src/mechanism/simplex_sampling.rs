use serde::Deserialize;

use crate::accounting::accountant::Accountant;
use crate::accounting::calibrate::{calibrate, rho_from_epsilon};
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::mechanism::Mechanism;
use crate::numeric::search::bisect;
use crate::plan::{Domain, Fitted, Plan, Problem, Summary};
use crate::privacy::{Geometry, Planned, Program, Question, Session, Target};
use crate::question::{Softmax, SoftmaxDraws};

/// Largest number of draws that the public rules consider.
const MAX_DRAWS: u64 = 1_000_000;
/// Regularisations that the search considers.
const BRACKET: (f64, f64) = (1e-90, 1e90);

/// Softmax sampling over the simplex (Jain & Thakurta 2014, Theorems 3 and 4; [`crate::theory_of_privacy::softmax`]).
///
/// The mean of m draws e_a, a ~ theta_hat, where theta_hat minimises (1/n) sum l + (lambda/n) sum theta ln theta over
/// the simplex. **Neighbours**: replace-one. **Privacy**: m draws of bounded range eta each
/// ([`Softmax`] proves it) compose in Renyi divergence.
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

#[derive(Debug)]
struct Draws {
    softmax: Softmax,
    question: Question<SoftmaxDraws>,
    n_draws: u64,
}

impl SimplexSampling {
    /// Plans a run: lambda, the number of draws and the events that they will spend; and the entropic minimiser that is
    /// drawn from.
    ///
    /// ```
    /// use dpsparse::accounting::event::Adjacency;
    /// use dpsparse::loss::Squared;
    /// use dpsparse::mechanism::SimplexSampling;
    /// use dpsparse::plan::Problem;
    /// use dpsparse::privacy::{Bounds, Geometry, Schema, Statement, Target};
    /// let bounds = Bounds { lower: vec![-1.0], upper: vec![1.0] };
    /// let target = Target::Interval { low: -1.0, high: 1.0 };
    /// let schema = Schema::new(20, bounds, Geometry::Uncentred, target, false, None)?;
    /// let problem = Problem {
    ///     statement: Statement::new(schema, 100_000, Adjacency::ReplaceOne, 1)?,
    ///     loss: Squared.into(),
    ///     residual_bound: None,
    ///     spread: None,
    ///     opens: false,
    ///     epsilon: 1.0,
    ///     delta: Some(1e-6),
    ///     reason: None,
    ///     assumptions: Vec::new(),
    /// };
    /// let (plan, softmax) = SimplexSampling::default().plan_with_softmax(problem)?;
    /// assert!(plan.summary.n_iter > 10 && plan.summary.predicted_excess_risk < 0.05);
    /// assert_eq!(plan.events()[0].0, softmax.event()?);
    /// # Ok::<(), dpsparse::Error>(())
    /// ```
    ///
    /// # Errors
    /// Public parameters out of their domains, bounds that are not symmetric, more asked for than (epsilon, delta)
    /// holds; [`Error::UnsoundMechanism`] under add-remove and for losses without a reviewed proof.
    pub fn plan_with_softmax(&self, problem: Problem) -> Result<(Plan, Softmax)> {
        let delta = problem.validate()?;
        if problem.residual_bound.is_some() {
            return Err(Error::invalid(
                "residual_bound",
                "is not used on the simplex, where residuals are bounded; leave it at None",
            ));
        }
        self.check()?;
        let start = self.regularisation.unwrap_or(1e6);
        let mut softmax = problem.statement.softmax(&problem.loss, start)?;
        let n_draws = match self.regularisation {
            Some(_) => self.affordable_draws(&softmax, (problem.epsilon, delta))?,
            None => {
                let m = match self.n_draws {
                    Some(m) => m,
                    None => {
                        let rho = rho_from_epsilon(problem.epsilon, delta)?;
                        best_draws(&softmax, &problem, rho)?
                    }
                };
                let bracket = (1e-12, 1000.0);
                let range = calibrate(Event::exponential, m, problem.epsilon, delta, bracket)?;
                softmax.set_regularisation(least_regularisation(&softmax, range)?)?;
                m
            }
        };
        let lambda = softmax.regularisation();
        let summary = Summary {
            mechanism: format!(
                "simplex-sampling, {n_draws} draws from the entropic minimiser with regularisation {lambda:.6e}"
            ),
            n_iter: n_draws as usize,
            // lambda/n: the temperature of the softmax.
            noise_scale: lambda / problem.n_samples() as f64,
            predicted_excess_risk: predicted_excess(&softmax, &problem, lambda, n_draws),
            parameters: vec![
                ("regularisation", lambda),
                ("n_draws", n_draws as f64),
                ("kkt_residual", softmax.residual()),
            ],
            ..Summary::default()
        };
        let draws = Draws {
            question: softmax.draws(n_draws)?,
            softmax: softmax.clone(),
            n_draws,
        };
        Ok((Plan::seal(problem, draws, summary)?, softmax))
    }

    fn check(&self) -> Result<()> {
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
        Ok(())
    }

    /// m at a given lambda: the given one, or the largest, that (epsilon, delta) holds.
    fn affordable_draws(&self, softmax: &Softmax, (epsilon, delta): (f64, f64)) -> Result<u64> {
        let event = softmax.event()?;
        let affordable = |m: u64| -> Result<bool> {
            let mut accountant = Accountant::new();
            accountant.add(event, m)?;
            Ok(accountant.delta(epsilon)? <= delta && accountant.epsilon(delta)? <= epsilon)
        };
        if !affordable(self.n_draws.unwrap_or(1))? {
            return Err(Error::invalid(
                "regularisation",
                "is too small for this epsilon, delta and n_draws: raise it, or leave it at None",
            ));
        }
        match self.n_draws {
            Some(m) => Ok(m),
            None => most(affordable),
        }
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
fn least_regularisation(softmax: &Softmax, range: f64) -> Result<f64> {
    let private = |lambda: f64| Ok::<_, Error>(softmax.range_at(lambda) <= range);
    bisect(private, BRACKET.0, BRACKET.1, 1e-12)
}

/// The m that minimises the predicted excess risk at rho-zCDP, on a grid of ratio 1.05.
fn best_draws(softmax: &Softmax, problem: &Problem, rho: f64) -> Result<u64> {
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
fn predicted_excess(softmax: &Softmax, problem: &Problem, lambda: f64, m: u64) -> f64 {
    let n = problem.n_samples() as f64;
    let p = problem.schema().n_features().max(2) as f64;
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

    fn plan(&self, problem: Problem, _: &Domain) -> Result<Plan> {
        Ok(self.plan_with_softmax(problem)?.0)
    }
}

impl Program<Fitted> for Draws {
    fn questions(&self) -> Vec<Planned> {
        vec![self.question.once()]
    }

    fn run(&self, session: &mut Session<'_>) -> Result<Fitted> {
        let total = self.n_draws as usize;
        session.progress(0, total)?;
        let counts = session.ask(&self.question, ())?;
        session.progress(total, total)?;
        let mean = |(a, &count): (usize, &u64)| {
            count as f64 / self.n_draws as f64 * self.softmax.vertex(a)
        };
        let scaled: Vec<f64> = counts.iter().enumerate().map(mean).collect();
        Ok(scaled.into())
    }
}

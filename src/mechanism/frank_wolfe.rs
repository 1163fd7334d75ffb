use serde::Deserialize;

use crate::accounting::calibrate::{calibrate, rho_from_epsilon};
use crate::accounting::event::Event;
use crate::error::{Error, Result, positive};
use crate::mechanism::Mechanism;
use crate::numeric::kernel::MAX_FEATURE;
use crate::plan::defaults::{LAG, LAGGING_COLUMNS, MAX_ITER};
use crate::plan::{Domain, Fitted, Plan, Problem, Summary};
use crate::polytope::{Selectable, Structure};
use crate::privacy::answer::VertexAt;
use crate::privacy::{Geometry, Planned, Program, Question, RoomModel, Session, Target};
use crate::question::{SelectionNoise, Vertex};
use crate::theory::{frank_wolfe_excess, least, selection_error};

/// How the noise of Frank-Wolfe is scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Calibration {
    /// By the accountant, to exactly the privacy asked for ([`crate::theory_of_privacy`]).
    #[default]
    Tight,
    /// Laplace noise of scale L1 |C| sqrt(8 T ln(1/delta)) / (n epsilon), as TTZ Algorithm 2 prints it. Not
    /// proved under replace-one and violated at epsilon = 10 ([`crate::theory_of_privacy::frank_wolfe`]): for
    /// reproduction, never certified.
    Paper,
}

/// When the slopes of records are taken anew ([`crate::theory_of_privacy::frank_wolfe`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Refresh {
    /// Lagging from [`LAGGING_COLUMNS`] columns on, where slopes may lag and zeros of records stay zeros; else exact.
    #[default]
    Auto,
    /// In every step.
    Exact,
    /// Those of a record once its score has moved by [`LAG`] L/beta: a step costs what changes, whatever the number of
    /// columns. For signed coordinates, one score a record and [`Calibration::Tight`].
    Lagging,
}

/// Private Frank-Wolfe over a polytope (TTZ Algorithm 2, Theorems 2.4 and 2.5;
/// [`crate::theory_of_privacy::frank_wolfe`]).
///
/// theta <- (1 - mu_t) theta + mu_t s_t with mu_t = 2/(t + 2); vertex s_t is chosen by the exact exponential
/// mechanism on the integer scores <s, gradient>. In unnormalised form u <- u + (t + 1) s_t and theta_t = 2
/// u_t / (t (t + 1)), so margins stay integers.
///
/// **Neighbours**: replace-one or add-remove. **Sensitivity**: `question/sensitivity.rs`. **Privacy**:
/// T adaptive selections of bounded range epsilon0 each compose in Renyi divergence.
/// **Penalised** (`penalty` alpha): minimises mean loss + alpha norm(theta) inside the ball by generalised
/// conditional gradient (Harchaoui, Juditsky & Nemirovski 2015): every vertex has norm `radius`, so the
/// linear step compares <s, gradient> + alpha radius with 0 for the origin, which becomes a candidate with a
/// public constant score. Sensitivity and cost stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FrankWolfe {
    /// T; None: the public rule of [`FrankWolfe::plan`].
    pub n_iter: Option<usize>,
    /// alpha of the penalised form, in units of the mean loss per scaled unit of the norm; None: no penalty.
    pub penalty: Option<f64>,
    /// Scale of the noise.
    pub calibration: Calibration,
    /// Must be true for [`Calibration::Paper`].
    pub allow_uncertified: bool,
    /// When slopes are taken anew.
    pub refresh: Refresh,
    /// Whether a choice does the same work whatever its scores are ([`crate::theory_of_privacy::leaks`]): for listed
    /// candidates, [`Refresh::Exact`] and [`Calibration::Tight`]. [`Refresh::Auto`] is then exact.
    pub constant_time: bool,
}

/// Options of `frank-wolfe` by name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Constrained {
    n_iter: Option<usize>,
    radius: Option<f64>,
    calibration: Calibration,
    allow_uncertified: bool,
    refresh: Refresh,
    constant_time: bool,
}

impl Constrained {
    /// Over the ball of this radius, or without one of the public rule's.
    pub(crate) fn over(radius: Option<f64>) -> Self {
        Self {
            radius,
            ..Self::default()
        }
    }
}

/// Options of `penalised-frank-wolfe` by name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Penalised {
    alpha: Option<f64>,
    n_iter: Option<usize>,
    radius: Option<f64>,
    refresh: Refresh,
    constant_time: bool,
}

/// Mechanisms that use the Euclidean norm of a row scale features without centring, and so does a fit without
/// intercept: centring would smuggle one in ([`crate::theory_of_privacy::frank_wolfe`]).
fn geometry(domain: &Domain, intercept: bool, row_norm: Option<f64>) -> Result<Geometry> {
    match (domain, row_norm) {
        (Domain::Linf, _) | (Domain::Groups(_), Some(_)) => Ok(Geometry::Uncentred),
        (_, Some(_)) => Err(Error::invalid(
            "row_norm",
            "is not used by frank-wolfe over this norm; leave it at None",
        )),
        _ if intercept => Ok(Geometry::Centred),
        _ => Ok(Geometry::Uncentred),
    }
}

fn margin_bound(
    radius: Option<f64>,
    domain: &Domain,
    n_features: usize,
    intercept: bool,
    target: Target,
) -> Result<f64> {
    let default = Problem::default_radius(target);
    let polytope = domain.polytope(n_features, intercept, radius, default)?;
    Ok(polytope.margin_bound())
}

impl Mechanism for Constrained {
    fn geometry(
        &self,
        domain: &Domain,
        intercept: bool,
        row_norm: Option<f64>,
    ) -> Result<Geometry> {
        geometry(domain, intercept, row_norm)
    }

    fn margin_bound(
        &self,
        domain: &Domain,
        n_features: usize,
        intercept: bool,
        target: Target,
    ) -> Result<f64> {
        margin_bound(self.radius, domain, n_features, intercept, target)
    }

    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Plan> {
        let mechanism = FrankWolfe {
            n_iter: self.n_iter,
            penalty: None,
            calibration: self.calibration,
            allow_uncertified: self.allow_uncertified,
            refresh: self.refresh,
            constant_time: self.constant_time,
        };
        let polytope = problem.polytope(domain, self.radius)?;
        mechanism.plan(problem, polytope)
    }
}

impl Mechanism for Penalised {
    fn geometry(
        &self,
        domain: &Domain,
        intercept: bool,
        row_norm: Option<f64>,
    ) -> Result<Geometry> {
        geometry(domain, intercept, row_norm)
    }

    fn margin_bound(
        &self,
        domain: &Domain,
        n_features: usize,
        intercept: bool,
        target: Target,
    ) -> Result<f64> {
        margin_bound(self.radius, domain, n_features, intercept, target)
    }

    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Plan> {
        let alpha = self
            .alpha
            .ok_or_else(|| Error::invalid("alpha", "must be given for penalised-frank-wolfe"))?;
        let mechanism = FrankWolfe {
            n_iter: self.n_iter,
            penalty: Some(alpha),
            refresh: self.refresh,
            constant_time: self.constant_time,
            ..FrankWolfe::default()
        };
        let polytope = problem.polytope(domain, self.radius)?;
        mechanism.plan(problem, polytope)
    }
}

#[derive(Debug)]
struct Steps {
    question: Question<Vertex>,
    n_iter: usize,
    /// Length of one integer unit of a vertex coordinate.
    unit: f64,
}

impl FrankWolfe {
    /// Plans a run: number of iterations, calibrated noise and the events that the run will spend.
    ///
    /// With `n_iter` None, T minimises 2 Gamma/(T + 2) + ln|S| 2 D sqrt(T/(8 rho)) (TTZ Theorem 2.5 with the
    /// proved constants), Gamma by [`crate::plan::defaults`], rho the zCDP budget of (epsilon, delta).
    ///
    /// # Errors
    /// Public parameters out of their domains; [`Error::UnsoundMechanism`] for the paper's calibration
    /// without `allow_uncertified`.
    pub fn plan(&self, problem: Problem, polytope: Selectable) -> Result<Plan> {
        let delta = problem.validate()?;
        if self.calibration == Calibration::Paper && !self.allow_uncertified {
            return Err(Error::UnsoundMechanism(
                "calibration=\"paper\" has no proved guarantee; use calibration=\"tight\", or pass \
                 allow_uncertified=True to reproduce the paper's figures without a certificate"
                    .into(),
            ));
        }
        let model = problem.model()?;
        let statement = &problem.statement;
        let sensitivity = statement.score_sensitivity(&model, &polytope)?;
        let score_unit = score_unit(&problem, &model, &polytope, sensitivity);
        let loss_range = sensitivity as f64 * score_unit;
        let rho = rho_from_epsilon(problem.epsilon, delta)?;
        let gamma =
            problem.curvature() * problem.smoothness() * polytope.reach() * polytope.reach();
        let excess = |t: f64| {
            let error = selection_error(polytope.log_vertices(), loss_range, t, rho);
            frank_wolfe_excess(gamma, t, error)
        };
        let n_iter = match self.n_iter {
            Some(0) => return Err(Error::invalid("n_iter", "must be at least 1")),
            Some(t) => t,
            None => least((1..=MAX_ITER).map(|t| t as f64), excess) as usize,
        };
        check_margins(n_iter, &polytope)?;
        let (noise, noise_scale) = match self.calibration {
            Calibration::Tight => tight_noise(&problem, &polytope, n_iter, loss_range)?,
            Calibration::Paper => paper_noise(&problem, &polytope, n_iter, score_unit)?,
        };
        let alpha = (self.penalty)
            .map(|alpha| positive("alpha", alpha))
            .transpose()?;
        let origin = alpha.map(|alpha| alpha * polytope.unit() / score_unit);
        let penalty = alpha.map(|alpha| format!(" with penalty {alpha}"));
        let question = statement.vertex(&model, &polytope, noise, origin)?;
        let lag = self.lag(&problem, &polytope);
        let lags = (lag.is_some()).then_some(", slopes that may lag behind");
        let summary = Summary {
            mechanism: format!(
                "frank-wolfe over the {}{}, {n_iter} iterations{}",
                polytope.name(),
                penalty.unwrap_or_default(),
                lags.unwrap_or_default()
            ),
            parameters: lag
                .map(|lag| ("score_tolerance", lag))
                .into_iter()
                .collect(),
            n_iter,
            // On the linear score of a vertex: 1/eta of the exponential mechanism, or the scale of the paper's noise.
            noise_scale,
            predicted_excess_risk: excess(n_iter as f64),
            ..Summary::default()
        };
        let question = match lag {
            Some(tolerance) => question.lagging(tolerance)?,
            None => question,
        };
        let steps = Steps {
            question: match self.constant_time {
                true => question.in_constant_time()?,
                false => question,
            },
            n_iter,
            unit: polytope.unit(),
        };
        match self.calibration {
            Calibration::Tight => Plan::seal(problem, steps, summary),
            Calibration::Paper => Plan::for_reproduction(problem, steps, summary),
        }
    }
}

impl FrankWolfe {
    /// How far a score moves before the slope of its record is taken anew; None: slopes are exact. By public facts
    /// alone.
    fn lag(&self, problem: &Problem, polytope: &Selectable) -> Option<f64> {
        let takes = || {
            let coordinates = matches!(polytope.structure(), Structure::Coordinates(_));
            let statement = &problem.statement;
            let large = statement.n_columns() >= LAGGING_COLUMNS && statement.keeps_zero();
            let tight = self.calibration == Calibration::Tight;
            coordinates && tight && large && problem.outputs() == 1
        };
        let lags = match self.refresh {
            Refresh::Auto => !self.constant_time && takes(),
            Refresh::Exact => false,
            Refresh::Lagging => true,
        };
        lags.then(|| LAG * problem.lipschitz() / problem.smoothness())
    }
}

/// One integer unit of a score, in units of the mean loss.
fn score_unit(
    problem: &Problem,
    model: &RoomModel,
    polytope: &Selectable,
    sensitivity: u64,
) -> f64 {
    let coordinate = loss_sensitivity(problem);
    match polytope.structure() {
        Structure::Vertices(_) => {
            // Scores of vertices are floored to coarser units: take the unit from the sensitivity itself.
            coordinate * polytope.unit() * polytope.l1_radius() as f64 / sensitivity as f64
        }
        _ => {
            let slopes = model.lattice().bound().linf as f64;
            let contributions = problem.statement.changed_contributions() as f64;
            coordinate * polytope.unit() / (contributions * slopes * f64::from(MAX_FEATURE))
        }
    }
}

/// Refuses so many steps that margins could overflow: |margin| <= sum_t (t + 1) |s_t|_1 16383 is kept below 2^60, since
/// three such terms stay in an i64 for sparse columns.
fn check_margins(n_iter: usize, polytope: &Selectable) -> Result<()> {
    let steps = n_iter as u128 * (n_iter as u128 + 1) / 2;
    if n_iter >= 1 << 31 || steps * polytope.l1_radius().unsigned_abs() as u128 >= 1 << 45 {
        return Err(Error::invalid(
            "n_iter",
            "is too large for integer margins of this polytope",
        ));
    }
    Ok(())
}

/// Noise of [`Calibration::Tight`] on scores of this range, in units of the mean loss; and 1/eta in these.
fn tight_noise(
    problem: &Problem,
    polytope: &Selectable,
    n_iter: usize,
    loss_range: f64,
) -> Result<(SelectionNoise, f64)> {
    let event = |epsilon0: f64| match polytope.structure() {
        Structure::Signs { .. } => Event::zero_concentrated((epsilon0 * epsilon0 / 8.0).next_up()),
        _ => Event::exponential(epsilon0),
    };
    let (delta, bracket) = (problem.validate()?, (1e-12, 1000.0));
    let epsilon0 = calibrate(event, n_iter as u64, problem.epsilon, delta, bracket)?;
    let noise = SelectionNoise::Exponential { epsilon0 };
    Ok((noise, 2.0 * loss_range / epsilon0))
}

/// Noise of [`Calibration::Paper`], where `score_unit` is the integer unit of a score in units of the mean loss; and
/// its scale in these.
fn paper_noise(
    problem: &Problem,
    polytope: &Selectable,
    n_iter: usize,
    score_unit: f64,
) -> Result<(SelectionNoise, f64)> {
    let (t, delta) = (n_iter as f64, problem.validate()?);
    let l1 = problem.lipschitz() * polytope.unit() * polytope.l1_radius() as f64;
    let scale =
        l1 * (8.0 * t * -delta.ln()).sqrt() / (problem.n_samples() as f64 * problem.epsilon);
    let noise = SelectionNoise::Laplace {
        scale: scale / score_unit,
    };
    Ok((noise, scale))
}

/// Sensitivity of a partial derivative of the mean loss with respect to a scaled coefficient: 2 L/n under
/// replace-one, L/n under add-remove, times the records of a person.
fn loss_sensitivity(problem: &Problem) -> f64 {
    let changed = problem.statement.changed_contributions() as f64;
    changed * problem.lipschitz() / problem.n_samples() as f64
}

impl Steps {
    /// theta_t = 2 u_t unit / (t (t + 1)); margins are in lattice units of 1/16383.
    fn margin_unit(&self, t: usize) -> f64 {
        let t = t.max(1) as f64;
        2.0 * self.unit / (t * (t + 1.0) * f64::from(MAX_FEATURE))
    }
}

impl Program<Fitted> for Steps {
    fn questions(&self) -> Vec<Planned> {
        vec![self.question.times(self.n_iter as u64)]
    }

    fn run(&self, session: &mut Session<'_>) -> Result<Fitted> {
        let schema = session.statement().schema();
        let mut iterate = vec![0i64; schema.target().outputs() * schema.n_columns()];
        let mut vertex = Vec::new();
        for t in 0..self.n_iter {
            let at = VertexAt {
                moved: (&vertex, t as i64),
                retired: &[],
                unit: self.margin_unit(t),
            };
            vertex = session.ask(&self.question, at)?;
            let weight = t as i64 + 1;
            for &(j, entry) in &vertex {
                iterate[j as usize] += weight * entry;
            }
            session.progress(t + 1, self.n_iter)?;
        }
        let factor = self.margin_unit(self.n_iter) * f64::from(MAX_FEATURE);
        let scaled: Vec<f64> = iterate.iter().map(|&u| u as f64 * factor).collect();
        Ok(scaled.into())
    }
}

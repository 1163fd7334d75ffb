//! Draws from the entropic minimiser over the simplex (Jain & Thakurta 2014, section 5.1, Theorem 3;
//! [`crate::theory_of_privacy::softmax`]).

use std::sync::Arc;

use super::Question;
use super::statement::Statement;
use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::loss::{Admitted, Logistic, Loss, Squared};
use crate::numeric::blocked::{additions_over_columns, additions_over_records};
use crate::numeric::directed::{mul_up, up};
use crate::numeric::kernel::MAX_FEATURE;
use crate::schema::{Geometry, Schema, Target};

/// Losses that the proof takes: reviewed here as convex, smooth, and evaluated within 2^-45 L.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SmoothLoss {
    /// ln(1 + exp(-y z)): L = 1, derivative 1/4-Lipschitz.
    Logistic,
    /// (1/2)(z - y)^2: |z - y| <= R + 1 on the simplex, as |z| <= R and |y| <= 1; derivative 1-Lipschitz.
    Squared,
}

impl SmoothLoss {
    /// The loss where the proof takes it.
    fn of(loss: &Admitted) -> Result<Self> {
        match loss.catalogued().map(|loss| loss.name()) {
            Some("logistic") => Ok(Self::Logistic),
            Some("squared") => Ok(Self::Squared),
            _ => Err(Error::UnsoundMechanism(
                "softmax sampling is proved for the logistic and the squared loss only; frank-wolfe over the simplex \
                 takes other losses"
                    .into(),
            )),
        }
    }

    /// L, the bound on |l'| where |z| <= `reach`.
    pub fn lipschitz(self, reach: f64) -> f64 {
        match self {
            SmoothLoss::Logistic => 1.0,
            SmoothLoss::Squared => (1.0 + reach).next_up(),
        }
    }

    /// Lg, the Lipschitz constant of l'.
    pub fn smoothness(self) -> f64 {
        match self {
            SmoothLoss::Logistic => Logistic.smoothness(),
            SmoothLoss::Squared => Squared.smoothness(),
        }
    }

    pub(crate) fn derivative(self, z: f64, y: f64) -> f64 {
        match self {
            SmoothLoss::Logistic => Logistic.derivative(z, y),
            SmoothLoss::Squared => Squared.derivative(z, y),
        }
    }

    pub(crate) fn curvature(self, z: f64, y: f64) -> f64 {
        match self {
            SmoothLoss::Logistic => Logistic.curvature(z, y),
            SmoothLoss::Squared => Squared.curvature(z, y),
        }
    }
}

/// Residual that the solver aims at, as a part of L R: it costs as much of epsilon.
const RESIDUAL: f64 = 1.0 / 1024.0;
/// Relative slack of constants that are computed in floats: they take fewer than a thousand roundings.
const SLACK: f64 = 1e-12;

/// phi(c) = sup |change of the gradient of the common records|_inf / (2 L R): c/(1 + c) up to 1, sqrt(c)/2 beyond. See
/// [`Softmax`].
///
/// ```
/// use dpsparse::question::stability;
/// assert_eq!((stability(1.0), stability(4.0)), (0.5, 1.0));
/// ```
pub fn stability(c: f64) -> f64 {
    if c <= 1.0 {
        c / (1.0 + c)
    } else {
        c.sqrt() / 2.0
    }
}

/// What draws from the entropic minimiser cost, and how it is found, all before any data.
///
/// G(theta) = sum_i l(<x_i, theta>; y_i) over n records with |x_i|_inf <= R; theta_hat minimises G + lambda sum theta
/// ln theta over the simplex; a draw is a vertex e_a, a ~ theta_hat.
///
/// **Neighbours**: replace-one (n is a true count); a person owns m records.
/// **Sampled law**: P = softmax(-h q), exactly, for integers q and h = 2^-k: whatever the solver did, P is a point of
/// the simplex with lambda ln P_a = -w q_a + constant, w = h lambda. Its KKT residual, half the range of grad
/// G(P) - w q, is at most tau.
/// **Bounded range** (Theorem 3 with our constant): ln P_a/P'_a has range at most eta = (2 M/lambda)(1 + phi(c)), M = 2
/// m L R + 2 tau, c = n Lg R^2/lambda.
///
/// *Proof.* Let delta = P - P', u = |delta|_1, G_0 the loss of the common records, g = grad G_0(P') - grad G_0(P). The
/// two KKT conditions give lambda (ln P_a - ln P'_a) = g_a + d_a + constant with |d|_inf <= 2 m L R + 2 tau = M: the
/// gradients of m records at P, of as many others at P', two residuals. Times delta, with Pinsker twice: lambda u^2 <=
/// lambda (KL(P, P') + KL(P', P)) <= -S + M u, where S = -<g, delta> = sum_i (l'(z'_i) - l'(z_i))(z'_i - z_i) >= 0.
/// And S <= Lg sum (z'_i - z_i)^2 <= n Lg R^2 u^2 = c lambda u^2. As (l'(z') - l'(z))^2 <= Lg (l'(z') - l'(z))(z' - z),
/// Cauchy-Schwarz gives |g|_inf <= R sqrt(n Lg S). So S <= min(M u - lambda u^2, c lambda u^2), which is greatest
/// at u = M/(2 lambda) for c >= 1 (S = M^2/(4 lambda), |g| <= M sqrt(c)/2) and at u = M/(lambda (1 + c)) below
/// (|g| <= M c/(1 + c)). Each side of the loss is within (|g| + M)/lambda of one constant. QED
///
/// The paper prints 1 + c/2 in place of 1 + phi(c). It is false for c < 1, where phi(c) > c/2, and larger than needed
/// for c > 1.
///
/// **tau** is the sum of the computed residual (at most `tolerance`, checked or proved in `entropic_minimum`),
/// the float error E of a computed gradient, and the rounding to the lattice: scores move by w/2 and 4u of their range,
/// which moves grad G(P) by c times as much. In E, errors are per record: theta (see `softmax`) and its margins
/// move l' by Lg R times their relative error, l' itself errs by 2^-45 L, and the sum over records adds (D + 4) u L R;
/// twice, for second order.
///
/// ```
/// use dpsparse::accounting::event::Adjacency;
/// use dpsparse::loss::Logistic;
/// use dpsparse::privacy::{Bounds, Geometry, Schema, Statement, Target};
/// let bounds = Bounds { lower: vec![-1.0], upper: vec![1.0] };
/// let schema = Schema::new(5, bounds, Geometry::Uncentred, Target::Classes, false, None)?;
/// let statement = Statement::new(schema, 1000, Adjacency::ReplaceOne, 1)?;
/// let plan = statement.softmax(&Logistic.into(), 1000.0)?;
/// let c = 1000.0 * 0.25 / 1000.0;
/// let exact = 4.0 / 1000.0 * (1.0 + c / (1.0 + c));
/// assert!(plan.range() >= exact && plan.range() < 1.01 * exact);
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Softmax {
    statement: Arc<Statement>,
    loss: SmoothLoss,
    factors: Vec<f64>,
    facts: Facts,
    regularisation: f64,
    terms: Terms,
}

/// Constants of the records: R, L, E and the number of contributions that change.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Facts {
    reach: f64,
    lipschitz: f64,
    float_error: f64,
    changed: f64,
}

/// What follows from lambda.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Terms {
    condition: f64,
    tolerance: f64,
    bits: u32,
    residual: f64,
    range: f64,
    fallback: u64,
}

impl Facts {
    fn terms(&self, n_samples: usize, p: usize, smoothness: f64, lambda: f64) -> Terms {
        let (n, log_p) = (n_samples as f64, (p as f64).ln().max(1.0));
        let condition = up(n * smoothness * self.reach * self.reach / lambda, SLACK);
        let scale = self.lipschitz * self.reach;
        // Rounding of one update of the fallback: 4 u n L R, as an error of the gradient (1 + c) times it.
        let per_step = self.float_error + (1.0 + condition) * 4.0 * f64::EPSILON * n * scale;
        let tolerance = (RESIDUAL * scale).max(4.0 * (1.0 + condition) * per_step);

        // k with (1 + c) w/2 <= tolerance/8 where the integers allow it: scores range over 2 n L R/lambda 2^k < 2^61.
        let wished = (4.0 * (1.0 + condition) * lambda / tolerance).log2().ceil();
        let room = (61.0 - (2.0 * n * scale / lambda).log2()).floor();
        let bits = wished.min(room).clamp(0.0, 60.0) as u32;
        let width = lambda * 2f64.powi(-(bits as i32));
        let rounding = (1.0 + condition) * (width / 2.0 + 4.0 * f64::EPSILON * 2.0 * n * scale);
        let residual = up(tolerance + self.float_error + rounding, SLACK);

        let change = self.changed * scale + 2.0 * residual;
        let range = up(2.0 * change / lambda * (1.0 + stability(condition)), SLACK);

        // rho^k n L R <= tolerance/4 and 3 c lambda sqrt(2 ln p) rho^((k-1)/2) <= tolerance/4; -ln rho >= 1/(1 + c).
        let first = (4.0 * n * scale / tolerance).ln();
        let second = 2.0 * (12.0 * condition * lambda * (2.0 * log_p).sqrt() / tolerance).ln();
        let fallback = ((1.0 + condition) * first.max(second).max(0.0)).ceil() + 2.0;
        Terms {
            condition,
            tolerance,
            bits,
            residual,
            range,
            fallback: fallback.min(2f64.powi(62)) as u64,
        }
    }
}

impl Statement {
    /// The entropic minimiser at `regularisation` = lambda, for the logistic or the squared loss.
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`] under add-remove, or for another loss; [`Error::InvalidArgument`] for bounds that
    /// are not symmetric, zeros that a map moved, an intercept, a loss that does not go with the target, or a
    /// regularisation for which no range is finite.
    pub fn softmax(self: &Arc<Self>, loss: &Admitted, regularisation: f64) -> Result<Softmax> {
        if self.adjacency() == Adjacency::AddRemove {
            return Err(Error::UnsoundMechanism(
                "softmax sampling is proved under replace-one only: its number of records must be public".into(),
            ));
        }
        Softmax::new(self, SmoothLoss::of(loss)?, regularisation)
    }
}

impl Softmax {
    fn new(statement: &Arc<Statement>, loss: SmoothLoss, regularisation: f64) -> Result<Self> {
        if statement.schema().max_weight().is_some() {
            return Err(Error::UnsoundMechanism(
                "softmax sampling is proved for records without weights; leave out sample_weight, or use frank-wolfe over \
                 the simplex"
                    .into(),
            ));
        }
        let factors = factors(statement.schema())?;
        if !statement.keeps_zero() {
            return Err(Error::invalid(
                "scale",
                "must not move features for softmax sampling, which takes unstored entries for zeros",
            ));
        }
        if matches!(statement.schema().target(), Target::Multiclass { .. }) {
            return Err(Error::UnsoundMechanism(
                "softmax sampling is proved for one score a record, not for three or more classes"
                    .into(),
            ));
        }
        if loss == SmoothLoss::Logistic && statement.schema().target() != Target::Classes {
            return Err(Error::invalid("loss", "logistic is for two classes"));
        }
        if statement.schema().target().units().is_some() {
            return Err(Error::invalid(
                "loss",
                "of softmax sampling is not for counts",
            ));
        }
        let unit = f64::from(MAX_FEATURE);
        let reach = factors.iter().fold(0.0f64, |r, &f| r.max(mul_up(f, unit)));
        let lipschitz = loss.lipschitz(reach);
        let (n, p) = (statement.n_samples() as f64, factors.len());
        let columns = additions_over_columns(p);
        let relative = 4.0 * (p as f64).ln() + 2.0 * columns + 14.0;
        let per_record = loss.smoothness() * reach * relative
            + (256.0 + additions_over_records(statement.n_samples()) + 4.0) * lipschitz;
        let facts = Facts {
            reach,
            lipschitz,
            float_error: up(f64::EPSILON * n * reach * per_record, SLACK), // EPSILON = 2 u
            changed: statement.changed_contributions() as f64,
        };
        let mut softmax = Self {
            statement: Arc::clone(statement),
            loss,
            factors,
            facts,
            regularisation: 1.0,
            terms: facts.terms(statement.n_samples(), p, loss.smoothness(), 1.0),
        };
        softmax.set_regularisation(regularisation)?;
        Ok(softmax)
    }

    /// The range of one draw at another lambda; falls as lambda grows.
    pub fn range_at(&self, regularisation: f64) -> f64 {
        let p = self.factors.len();
        let smoothness = self.loss.smoothness();
        self.facts
            .terms(self.statement.n_samples(), p, smoothness, regularisation)
            .range
    }

    /// The same at another lambda.
    ///
    /// # Errors
    /// A `regularisation` that is not positive and finite.
    pub fn set_regularisation(&mut self, regularisation: f64) -> Result<()> {
        let p = self.factors.len();
        let terms = self.facts.terms(
            self.statement.n_samples(),
            p,
            self.loss.smoothness(),
            regularisation,
        );
        let usable = (1e-100..=1e100).contains(&regularisation)
            && terms.range.is_finite()
            && terms.condition <= 1e15;
        if !usable {
            return Err(Error::invalid(
                "regularisation",
                "must be positive, between 1e-100 and 1e100, and not vanish beside n_samples times the squared bound",
            ));
        }
        (self.regularisation, self.terms) = (regularisation, terms);
        Ok(())
    }

    pub(crate) fn statement(&self) -> &Arc<Statement> {
        &self.statement
    }

    /// lambda.
    pub fn regularisation(&self) -> f64 {
        self.regularisation
    }

    /// eta: the range of the privacy loss of one draw.
    pub fn range(&self) -> f64 {
        self.terms.range
    }

    /// The event of one draw.
    ///
    /// # Errors
    /// Never for a range that [`Softmax::set_regularisation`] took.
    pub fn event(&self) -> Result<Event> {
        Event::exponential(self.range())
    }

    /// `count` independent draws in one answer.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `n_draws` for none.
    pub fn draws(&self, count: u64) -> Result<Question<SoftmaxDraws>> {
        if count == 0 {
            return Err(Error::invalid("n_draws", "must be at least 1"));
        }
        let events = vec![(self.event()?, count)];
        let softmax = self.clone();
        let answer = SoftmaxDraws { softmax, count };
        let question = Question::new(&self.statement, answer, events).in_one_block();
        Ok(question.of_at_most(self.statement.n_samples()))
    }

    /// tau: no KKT residual of the sampled law is larger.
    pub fn residual(&self) -> f64 {
        self.terms.residual
    }

    /// c = n Lg R^2/lambda.
    pub fn condition(&self) -> f64 {
        self.terms.condition
    }

    /// R, in units of scaled targets.
    pub fn reach(&self) -> f64 {
        self.facts.reach
    }

    /// The loss.
    pub fn loss(&self) -> SmoothLoss {
        self.loss
    }

    /// The scores that are drawn from are integers q: P(a) is proportional to exp(-q_a 2^-bits).
    pub fn bits(&self) -> u32 {
        self.terms.bits
    }

    /// Scaled coefficients of the vertex e_a with unit weight: the user's coefficient is 1 then.
    pub fn vertex(&self, a: usize) -> f64 {
        self.factors[a] * f64::from(MAX_FEATURE)
    }

    pub(crate) fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// Computed residual at which the solver stops.
    pub(crate) fn tolerance(&self) -> f64 {
        self.terms.tolerance
    }

    /// Iterations after which the fallback provably meets the tolerance.
    pub(crate) fn fallback_iterations(&self) -> u64 {
        self.terms.fallback
    }
}

/// x_ia = factor_a times a lattice integer, in units of scaled targets: the user's own units over the largest |y|.
///
/// Features keep one common unit, whatever their bounds: the simplex is one of coefficients in the user's units.
fn factors(schema: &Schema) -> Result<Vec<f64>> {
    if schema.has_intercept() || schema.geometry() != Geometry::Uncentred {
        return Err(Error::invalid(
            "fit_intercept",
            "must be False for softmax sampling over the simplex",
        ));
    }
    if schema.row_norm().is_some() {
        return Err(Error::invalid(
            "row_norm",
            "is not used by softmax sampling; leave it at None",
        ));
    }
    let bounds = schema.bounds();
    let side = |values: &[f64], j: usize| values[if values.len() == 1 { 0 } else { j }];
    let largest = match schema.target() {
        Target::Classes | Target::Multiclass { .. } => 1.0,
        Target::Interval { low, high } | Target::Counts { low, high, .. } => {
            low.abs().max(high.abs())
        }
    };
    (0..schema.n_features())
        .map(|j| {
            let (low, high) = (side(&bounds.lower, j), side(&bounds.upper, j));
            if low != -high || high <= 0.0 {
                return Err(Error::invalid(
                    "bounds",
                    "must be symmetric, (-b, b) with b > 0: without an intercept features cannot be centred, so only \
                     the largest absolute value counts; widen them to it, or subtract the middle yourself",
                ));
            }
            let factor = high / f64::from(MAX_FEATURE) / largest;
            if !(1e-30..=1e30).contains(&factor) {
                return Err(Error::invalid(
                    "bounds",
                    "must be of a size comparable to y_bounds",
                ));
            }
            Ok(factor)
        })
        .collect()
}

/// Draws from the entropic minimiser of one set of records, which stays in the room.
#[derive(Debug, Clone)]
pub struct SoftmaxDraws {
    pub(crate) softmax: Softmax,
    pub(crate) count: u64,
}

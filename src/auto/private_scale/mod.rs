//! Scales of features by private releases, before any mechanism.

mod counts;
mod features;
mod law;
mod means;
mod middle_spread;
mod ranges;
mod releases;
mod scaled_row;
mod spread;
mod target;
mod target_windows;
mod weights;

use std::sync::Arc;

pub(super) use self::middle_spread::models_targets;
use self::releases::{Releases, Scales};
use self::scaled_row::scaled_row;
use self::target::TargetScale;
pub(super) use self::target::in_units_of_spread;
use crate::accounting::accountant::keeps;
use crate::accounting::calibrate::{calibrate_between, epsilon_from_rho, rho_from_epsilon};
use crate::accounting::event::Event;
use crate::auto::Facts;
use crate::error::{Error, Result};
use crate::loss::Growth;
use crate::mechanism::Mechanism;
use crate::plan::defaults::SCALED_INTERCEPT;
use crate::plan::{Domain, FeatureRanges, Fitted, Plan, Problem, Summary};
use crate::privacy::{Bounds, Geometry, Planned, Program, Schema, Session, Statement, Target};

/// Least share of epsilon that scales must leave to the mechanism.
const LEAST_SHARE: f64 = 0.25;
/// Relative width to which the epsilon that is left is found: every step plans the mechanism.
const NEAR: f64 = 3e-5;

/// Any mechanism after a private choice of scales: wide public bounds ruin accuracy, and a small share of the budget
/// finds scales that fit ([`crate::theory_of_privacy::conventions`]: bounds need only be public once they are used).
///
/// What is released first, by public facts alone:
///
/// - ranges of features, two quantiles each by the exponential mechanism ([`Ranges`]): of all features where they
///   can be had with little error; of those alone whose bounds are not [0, 1] or [-1, 1] where not; one range of all
///   values where all bounds are the same and there are too many features for either;
/// - in regressions, where such quantiles could be missed, histograms of the features instead ([`Histograms`]), and the
///   mean and deviation of each that are expected after them, as wide as they leave open;
/// - the means of features that no range moves, whose bounds begin or end at zero ([`ImageSums`]): indicators are
///   around theirs, where rows are shorter, as long as noise on the means does not undo it, and where long rows count
///   less and are not shortened: shortened rows that are moved are not sparse;
/// - or weights of columns ([`AbsoluteSums`]), where a row norm far below sqrt(p) says that records are sparse
///   counts;
/// - then, for mechanisms with Euclidean noise, a typical Euclidean norm of the scaled rows that are not zero
///   ([`TypicalNorm`]), or what the largest entry of a feature with unit bounds asks for where that is more, to which
///   longer rows are shortened; in regressions, and in noisy Newton steps, they count less instead
///   ([`Schema::with_gradient_norm`]), which leaves log odds as they are; where n is too small for it, a public norm.
///
/// First of all, for regressions with squared residuals or quantiles, the middle and the spread of the target
/// ([`TargetQuantile`], or [`TargetHistogram`] where records are few), which is mapped to units of its spread: clamps
/// are in these units, whatever the public bounds.
/// The same of counts, whose rates start at their middle ([`FeatureMap::with_rate`]).
///
/// From then on these are public, records are mapped and clipped again, and the mechanism runs as it is, planned for
/// the epsilon that is left: the largest with which all events together meet (epsilon, delta).
///
/// [`FeatureMap::with_rate`]: crate::privacy::FeatureMap::with_rate
/// [`ImageSums`]: crate::question::ImageSums
/// [`Histograms`]: crate::question::Histograms
/// [`Ranges`]: crate::question::Ranges
/// [`TargetHistogram`]: crate::question::TargetHistogram
/// [`TargetQuantile`]: crate::question::TargetQuantile
/// [`AbsoluteSums`]: crate::question::AbsoluteSums
/// [`TypicalNorm`]: crate::question::TypicalNorm
#[derive(Debug)]
pub struct PrivateScale {
    inner: Box<dyn Mechanism>,
    scales: Scales,
}

impl PrivateScale {
    /// Private scales, then `inner`, for records with these public facts.
    ///
    /// # Errors
    /// As [`Mechanism::geometry`] of `inner`; [`Error::InvalidArgument`] naming `scale` for a mechanism with a norm of
    /// its own kind without an intercept, since ranges move features.
    pub fn new(inner: Box<dyn Mechanism>, facts: &Facts<'_>) -> Result<Self> {
        let geometry = inner.geometry(facts.domain, true, facts.row_norm)?;
        let scales = match geometry {
            Geometry::Uncentred if facts.sparse() => Scales::Weights,
            Geometry::Uncentred
                if facts.movable() && (facts.wide() || inner.weighs_records(facts.target)) =>
            {
                Self::ranges(facts)
            }
            Geometry::Uncentred => Scales::Norm,
            Geometry::Centred if facts.intercept => Scales::Boxes,
            Geometry::Centred => {
                return Err(Error::invalid(
                    "scale",
                    "\"private\" moves features: it needs fit_intercept=True for this mechanism",
                ));
            }
        };
        Ok(Self { inner, scales })
    }

    /// The middle and the spread of the target alone, before `inner`.
    pub(super) fn target(inner: Box<dyn Mechanism>) -> Self {
        let scales = Scales::Target;
        Self { inner, scales }
    }

    /// What ranges are for.
    fn ranges(facts: &Facts<'_>) -> Scales {
        match facts.target {
            Target::Classes | Target::Multiclass { .. } => Scales::Ranges,
            Target::Interval { .. } | Target::Counts { .. } => Scales::Clipped,
        }
    }

    /// The public facts of the scaled records.
    fn scaled_schema(
        &self,
        problem: &Problem,
        target: Target,
        around_means: bool,
    ) -> Result<Schema> {
        let outer = problem.schema();
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let (p, intercept) = (outer.n_features(), outer.has_intercept());
        if matches!(self.scales, Scales::Boxes | Scales::Target) {
            return Schema::new(p, bounds, Geometry::Centred, target, intercept, None);
        }
        let row = scaled_row(p);
        let mut schema = Schema::new(p, bounds, Geometry::Uncentred, target, intercept, Some(row))?;
        if intercept {
            let value = SCALED_INTERCEPT[usize::from(around_means)];
            schema = schema.with_intercept_value(value * row)?;
        }
        if self.inner.weighs_records(target) {
            schema = schema.with_gradient_norm(row)?;
        }
        Ok(schema)
    }

    /// The problem of the inner mechanism, at a budget of its own.
    fn mapped_problem(
        &self,
        problem: &Problem,
        releases: &Releases,
        mapped: &Arc<Statement>,
        (epsilon, delta): (f64, f64),
    ) -> Result<Problem> {
        let target = releases.target();
        let unbounded = problem.loss.growth() == Growth::SquaredResidual;
        let clamped = unbounded && self.inner.weighs_records(mapped.schema().target());
        let problem = Problem {
            statement: Arc::clone(mapped),
            epsilon,
            delta: Some(delta),
            residual_bound: match (problem.residual_bound, target) {
                (None, Some(target)) if clamped => Some(target.clamp()),
                (None, None) if clamped && self.scales.has_norm() => Some(releases.clamp()),
                (given, _) => given,
            },
            spread: target.map(TargetScale::spread),
            opens: releases.opens(),
            loss: match target {
                Some(target) => target.loss(problem)?,
                None => problem.loss.clone(),
            },
            reason: None,
            ..problem.clone()
        };
        match (releases.counts(), problem.residual_bound) {
            (Some(_), Some(given)) => problem.of_counts(given),
            (Some(counts), None) => problem.of_counts(counts.clamp()),
            (None, _) => Ok(problem),
        }
    }
}

/// What targets are mapped to.
fn images(releases: &Releases, given: Target) -> Target {
    match (releases.target(), releases.counts()) {
        (Some(_), _) => Target::Interval {
            low: -1.0,
            high: 1.0,
        },
        (None, Some(counts)) => counts.images(),
        (None, None) => given,
    }
}

/// The releases of the scales, then the inner mechanism on mapped records.
#[derive(Debug)]
struct Scaled {
    releases: Releases,
    mapped: Arc<Statement>,
    inner: Box<dyn Program<Fitted>>,
}

impl Mechanism for PrivateScale {
    fn geometry(
        &self,
        domain: &Domain,
        intercept: bool,
        row_norm: Option<f64>,
    ) -> Result<Geometry> {
        self.inner.geometry(domain, intercept, row_norm)?;
        Ok(match self.scales {
            Scales::Boxes | Scales::Ranges | Scales::Clipped | Scales::Target => Geometry::Centred,
            Scales::Weights | Scales::Norm => Geometry::Uncentred,
        })
    }

    fn margin_bound(
        &self,
        domain: &Domain,
        n_features: usize,
        intercept: bool,
        target: Target,
    ) -> Result<f64> {
        self.inner
            .margin_bound(domain, n_features, intercept, target)
    }

    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Plan> {
        let delta = problem.validate()?;
        let rho = rho_from_epsilon(problem.epsilon, delta)?;
        let weighs = self.inner.weighs_records(problem.schema().target());
        let releases = Releases::new(self.scales, weighs, &problem, rho)?;
        let images = images(&releases, problem.schema().target());
        let schema = self.scaled_schema(&problem, images, releases.has_means())?;
        let mapped = match self.scales.is_linear() {
            true => problem.statement.scaled(schema)?,
            false => problem.statement.mapped(schema)?,
        };
        let plan = |epsilon: f64| {
            let problem = self.mapped_problem(&problem, &releases, &mapped, (epsilon, delta))?;
            self.inner.plan(problem, domain)
        };
        let events = |epsilon: f64| -> Result<Vec<(Event, u64)>> {
            let mut events = releases.events();
            events.extend_from_slice(plan(epsilon)?.events());
            Ok(events)
        };
        let least = LEAST_SHARE * problem.epsilon;
        // What zCDP leaves: of the events that scales spend, all have one.
        let spent: f64 = (releases.events().iter())
            .map(|(event, count)| *count as f64 * event.rho().unwrap_or(0.0))
            .sum();
        let epsilon = if spent == 0.0 {
            problem.epsilon
        } else {
            let guess = epsilon_from_rho((rho - spent).max(0.0), delta)?;
            let budget = (problem.epsilon, delta);
            calibrate_between(events, budget, (problem.epsilon, least), guess, NEAR)?
        };
        // All others were asked.
        if epsilon == least {
            keeps(&events(least)?, (problem.epsilon, delta)).map_err(too_small)?;
        }
        let plan = plan(epsilon)?;
        let certified = plan.certified();
        let (inner, inner_summary) = plan.into_program();
        let summary = Summary {
            mechanism: match releases.describe() {
                nothing if nothing.is_empty() => inner_summary.mechanism,
                scales => format!("{scales}, then {}", inner_summary.mechanism),
            },
            point: None,
            ..inner_summary
        };
        let scaled = Scaled {
            releases,
            mapped,
            inner,
        };
        match certified {
            true => Plan::seal(problem, scaled, summary),
            false => Plan::for_reproduction(problem, scaled, summary),
        }
    }
}

impl Program<Fitted> for Scaled {
    fn questions(&self) -> Vec<Planned> {
        let mut questions = self.releases.planned();
        questions.extend(self.inner.questions());
        questions
    }

    fn run(&self, session: &mut Session<'_>) -> Result<Fitted> {
        let from = Arc::clone(session.statement());
        let (map, found) = self.releases.release(session)?;
        let mut fitted = (self.inner).run(&mut session.mapped(&map, &self.mapped)?)?;
        debug_assert!(fitted.feature_ranges.is_none(), "one map, not two");
        let map = match fitted.near {
            true => map.nearer(),
            false => map,
        };
        let to = self.mapped.schema();
        for scaled in fitted.scaled.chunks_mut(to.n_columns()) {
            map.undo(scaled, to, from.schema());
        }
        let clipped = map.ranges(from.schema());
        let clips = clipped.is_some();
        let undone = |mut image: Vec<f64>| {
            map.undo(&mut image, to, from.schema());
            image
        };
        fitted.trace = fitted.trace.map(|trace| {
            let mut trace = trace.moved(undone);
            trace.clipped_at = self.releases.clipped_at();
            trace
        });
        Ok(Fitted {
            feature_ranges: clipped.or(found).map(|of| FeatureRanges { of, clips }),
            near: false,
            ..fitted
        })
    }
}

fn too_small(error: Error) -> Error {
    match error {
        Error::UnsoundMechanism(_) => Error::invalid(
            "epsilon",
            "is too small for a private scale and this mechanism together; use scale=None",
        ),
        other => other,
    }
}

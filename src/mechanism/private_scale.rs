use super::defaults::{
    MOST_UNIT_RANGES, NORM_LEVEL, NORM_NATS, NORM_SHARE, PUBLIC_NORM, RANGE_LEAST, RANGE_LEVELS,
    RANGE_LIMIT, RANGE_MARGIN, RANGE_NATS, RANGE_SHARE, SCALED_INTERCEPT, SCALED_RESIDUAL,
    SCALED_ROW, WEIGHT_SHARE,
};
use super::{Domain, Facts, Mechanism, Outcome, Plan, Problem};
use crate::error::{Error, Result};
use crate::numeric::search::bisect;
use crate::privacy::accountant::Accountant;
use crate::privacy::answer::{ColumnWeightsPlan, NormPlan, RangePlan, RangesOf};
use crate::privacy::calibrate::rho_from_epsilon;
use crate::privacy::event::Event;
use crate::privacy::noise::source::Source;
use crate::privacy::{BoundedData, Bounds, FeatureMap, Geometry, Schema, Target};

/// Any mechanism after a private choice of scales: wide public bounds ruin accuracy, and a small share of the budget finds
/// scales that fit (MECHANISMS M0: bounds need only be public once they are used).
///
/// What is released first, by public facts alone:
///
/// - ranges of features, two quantiles each by the exponential mechanism ([`RangePlan`]): of all features where they can be
///   had with little error; of those alone whose bounds are not [0, 1] or [-1, 1] where not; one range of all values where
///   all bounds are the same and there are too many features for either;
/// - or weights of columns ([`ColumnWeightsPlan`]), where a row norm far below sqrt(p) says that records are sparse counts;
/// - then, for mechanisms with Euclidean noise, a typical Euclidean norm of the scaled rows ([`NormPlan`]), to which longer rows
///   are shortened; in regressions they count less instead ([`Schema::with_gradient_norm`]).
///
/// From then on these are public, records are mapped and clipped again, and the mechanism runs as it is, planned for the
/// epsilon that is left: the largest with which all events together meet (epsilon, delta).
#[derive(Debug)]
pub struct PrivateScale {
    inner: Box<dyn Mechanism>,
    scales: Scales,
}

/// Which scales are worth their budget, by public facts that are known before there is a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scales {
    /// Ranges, mapped to [-1, 1] with a margin: for mechanisms that use the maximum norm of a row.
    Boxes,
    /// Ranges, mapped to a spread of 1, and a typical norm of rows.
    Ranges,
    /// Weights of columns, and a typical norm of rows.
    Weights,
    /// A typical norm of rows alone.
    Norm,
    /// Nothing: public bounds to [-1, 1], and rows shortened to a public norm. Where n is too small for any release.
    Public,
}

impl PrivateScale {
    /// Private scales, then `inner`, for records with these public facts.
    ///
    /// # Errors
    /// As [`Mechanism::geometry`] of `inner`; [`Error::InvalidArgument`] naming `scale` for a mechanism with a norm of its own
    /// kind without an intercept, since ranges move features.
    pub fn new(inner: Box<dyn Mechanism>, facts: &Facts<'_>) -> Result<Self> {
        let geometry = inner.geometry(facts.domain, true, facts.row_norm)?;
        let scales = match geometry {
            Geometry::Uncentred if facts.sparse() => Scales::Weights,
            Geometry::Uncentred if facts.movable() => Scales::Ranges,
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

    /// The public scales that stand in for private ones where no release is worth its noise: centred features, and rows
    /// shortened to [`PUBLIC_NORM`] sqrt(p), before `inner`, which must be one with Euclidean noise.
    pub(super) fn public(inner: Box<dyn Mechanism>) -> Self {
        let scales = Scales::Public;
        Self { inner, scales }
    }

    /// Whether ranges of features are worth their noise under a zCDP budget.
    pub(super) fn can_range(facts: &Facts<'_>, rho: f64) -> bool {
        let (n, p, person) = (facts.n_samples, facts.n_features, facts.records_per_person);
        RangeChoice::best(facts.bounds, n, p, person, rho).is_some()
    }

    /// What is released of the scales under a zCDP budget, and the facts of the records that they make.
    fn releases(&self, problem: &Problem, rho: f64) -> Result<(Releases, Schema)> {
        let outer = &problem.schema;
        let (n, p) = (problem.n_samples, outer.n_features());
        let person = problem.records_per_person;
        let norm_plan = || {
            let wanted = 4.0 * NORM_NATS * person as f64 / (NORM_LEVEL * n as f64);
            let epsilon0 = (8.0 * NORM_SHARE * rho).sqrt().min(wanted);
            NormPlan::new(epsilon0, NORM_LEVEL, n, person)
        };
        let range_plan = |choice: RangeChoice| {
            RangePlan::new(choice.epsilon0, choice.level, n, choice.of, person)
        };
        let choice = || {
            let sure = |of| RangeChoice::new(of, n, person, rho).at_any_price();
            RangeChoice::best(outer.bounds(), n, p, person, rho)
                .unwrap_or_else(|| sure(RangesOf::Each(not_unit(outer.bounds(), p))))
        };
        let releases = match self.scales {
            Scales::Boxes => Releases {
                ranges: Some(range_plan(
                    RangeChoice::new(RangesOf::Each((0..p as u32).collect()), n, person, rho)
                        .at_any_price(),
                )?),
                weights: None,
                norm: None,
            },
            Scales::Ranges => Releases {
                ranges: Some(range_plan(choice())?),
                weights: None,
                norm: Some(norm_plan()?),
            },
            Scales::Weights => {
                let multiplier = 1.0 / (2.0 * WEIGHT_SHARE * rho).sqrt();
                let plan = ColumnWeightsPlan::new(outer, multiplier, problem.adjacency, person)?;
                Releases {
                    ranges: None,
                    weights: Some(plan),
                    norm: Some(norm_plan()?),
                }
            }
            Scales::Norm => Releases {
                ranges: None,
                weights: None,
                norm: Some(norm_plan()?),
            },
            Scales::Public => Releases {
                ranges: None,
                weights: None,
                norm: None,
            },
        };
        Ok((releases, self.scaled_schema(problem)?))
    }

    /// The public facts of the scaled records.
    fn scaled_schema(&self, problem: &Problem) -> Result<Schema> {
        let outer = &problem.schema;
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let (p, target, intercept) = (outer.n_features(), outer.target(), outer.has_intercept());
        if self.scales == Scales::Boxes {
            return Schema::new(p, bounds, Geometry::Centred, target, intercept, None);
        }
        let mut schema = Schema::new(
            p,
            bounds,
            Geometry::Uncentred,
            target,
            intercept,
            Some(SCALED_ROW),
        )?;
        if intercept {
            schema = schema.with_intercept_value(SCALED_INTERCEPT * SCALED_ROW)?;
        }
        let regression = matches!(target, Target::Interval { .. });
        if regression && self.inner.weighs_records() {
            schema = schema.with_gradient_norm(SCALED_ROW)?;
        }
        Ok(schema)
    }
}

/// The features whose bounds say nothing about how they are spread.
fn not_unit(bounds: &Bounds, p: usize) -> Vec<u32> {
    let features = 0..p as u32;
    features.filter(|&j| !bounds.is_unit(j as usize)).collect()
}

/// Whose ranges, at which quantiles, for how much.
#[derive(Debug)]
struct RangeChoice {
    of: RangesOf,
    epsilon0: f64,
    level: f64,
}

impl RangeChoice {
    /// The exponential mechanism misses a quantile of level q where exp(-epsilon0 q n/(2 m)) times the number of thresholds in
    /// the empty tail is not small: q n epsilon0/(2 m) must be some nats. The level is as low as that allows, and epsilon0 no
    /// larger than the lowest level wants.
    fn new(of: RangesOf, n: usize, person: usize, rho: f64) -> Self {
        let count = match &of {
            RangesOf::Each(features) => features.len().max(1),
            RangesOf::Together(_) => 1,
        };
        let needed = 2.0 * RANGE_NATS * person as f64 / n as f64;
        let most = (8.0 * RANGE_SHARE * rho / (2 * count) as f64).sqrt();
        let epsilon0 = most.min(4.0 * needed / RANGE_LEVELS.0);
        Self {
            of,
            epsilon0,
            level: (needed / epsilon0).max(RANGE_LEVELS.0),
        }
    }

    fn at_any_price(self) -> Self {
        let level = self.level.min(RANGE_LEVELS.1);
        Self { level, ..self }
    }

    /// The finest choice that is worth its noise.
    fn best(bounds: &Bounds, n: usize, p: usize, person: usize, rho: f64) -> Option<Self> {
        let same = !bounds.all_unit(p) && bounds.all_equal(p);
        let together = same.then_some(RangesOf::Together(p));
        let units = p - not_unit(bounds, p).len();
        let all = (units <= MOST_UNIT_RANGES).then(|| RangesOf::Each((0..p as u32).collect()));
        (all.into_iter())
            .chain(together)
            .chain([RangesOf::Each(not_unit(bounds, p))])
            .map(|of| Self::new(of, n, person, rho))
            .find(|choice| choice.level <= RANGE_LEVELS.1)
    }
}

/// The scales' releases, in the order in which they are made.
#[derive(Debug)]
struct Releases {
    ranges: Option<RangePlan>,
    weights: Option<ColumnWeightsPlan>,
    norm: Option<NormPlan>,
}

impl Releases {
    fn events(&self) -> Vec<(Event, u64)> {
        let ranges = self.ranges.iter().flat_map(RangePlan::events);
        let weights = self.weights.iter().flat_map(ColumnWeightsPlan::events);
        let norm = self.norm.iter().flat_map(NormPlan::events);
        ranges.chain(weights).chain(norm).collect()
    }

    fn is_empty(&self) -> bool {
        self.ranges.is_none() && self.weights.is_none() && self.norm.is_none()
    }

    fn describe(&self) -> String {
        if self.is_empty() {
            return "rows shortened to a public norm".into();
        }
        let mut parts = Vec::new();
        if let Some(ranges) = &self.ranges {
            parts.push(match ranges.of() {
                RangesOf::Each(features) => format!("ranges of {} features", features.len()),
                RangesOf::Together(_) => "one range for all features".into(),
            });
        }
        if self.weights.is_some() {
            parts.push("weights of the columns".into());
        }
        if self.norm.is_some() {
            parts.push("a typical row norm".into());
        }
        format!("private {}", parts.join(" and "))
    }

    /// Spends the events and makes the map.
    fn release(&self, data: &BoundedData, source: &mut Source) -> Result<FeatureMap> {
        let p = data.schema().n_features();
        let map = match (&self.ranges, &self.weights) {
            (Some(ranges), _) => {
                let boxes = self.norm.is_none();
                map_of_ranges(
                    ranges.of(),
                    &ranges.release(data, source)?,
                    data.schema(),
                    boxes,
                )
            }
            (None, Some(weights)) => FeatureMap::linear(weights.release(data, source)?),
            (None, None) => FeatureMap::linear(vec![1.0; p]),
        };
        match &self.norm {
            None if self.is_empty() => {
                Ok(map.divided_by(PUBLIC_NORM * (p as f64).sqrt() / SCALED_ROW))
            }
            None => Ok(map),
            Some(norm) => {
                let norm = norm.release(data, &map, source)?;
                Ok(map.divided_by(norm / SCALED_ROW))
            }
        }
    }
}

/// Maps ranges (in scaled units of a centred schema) to [-1, 1], widened by a margin for boxes; features without one from
/// their bounds [0, 1] or [-1, 1] to themselves.
fn map_of_ranges(of: &RangesOf, ranges: &[(f64, f64)], schema: &Schema, boxes: bool) -> FeatureMap {
    let p = schema.n_features();
    let (mut factor, mut shift) = (Vec::with_capacity(p), Vec::with_capacity(p));
    for j in 0..p {
        let (lo, hi) = schema.bounds().of(j);
        let size = lo.abs().max(hi.abs());
        if size > 0.0 {
            factor.push(0.5 * (hi - lo) / size);
            shift.push(0.5 * (hi + lo) / size);
        } else {
            factor.push(0.0);
            shift.push(0.0);
        }
    }
    let mut set = |j: usize, (low, high): (f64, f64)| {
        let middle = 0.5 * (low + high);
        let at_bound = low <= -1.0 || high >= 1.0;
        if !boxes && at_bound && schema.bounds().is_unit(j) {
            return; // an indicator: it fills its bounds, however rare
        }
        // Nothing within the public bounds is clipped: models are linear beyond any limit.
        let least = match (boxes, low == high) {
            (true, _) => RANGE_LEAST,
            // Most values are equal; the others may be anywhere.
            (false, true) => 1.0 + middle.abs(),
            (false, false) => (1.0 + middle.abs()) / RANGE_LIMIT,
        };
        let half = (0.5 * (high - low)).max(least);
        let half = if boxes {
            half * (1.0 + 2.0 * RANGE_MARGIN)
        } else {
            half
        };
        (factor[j], shift[j]) = (1.0 / half, -middle / half);
    };
    match of {
        RangesOf::Each(features) => {
            for (&j, &range) in features.iter().zip(ranges) {
                set(j as usize, range);
            }
        }
        RangesOf::Together(_) => (0..p).for_each(|j| set(j, ranges[0])),
    }
    FeatureMap::new(factor, shift, if boxes { 1.0 } else { f64::INFINITY })
}

#[derive(Debug)]
struct ScaledPlan {
    problem: Problem,
    releases: Releases,
    schema: Schema,
    inner: Box<dyn Plan>,
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
            Scales::Boxes | Scales::Ranges | Scales::Public => Geometry::Centred,
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

    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Box<dyn Plan>> {
        let delta = problem.validate()?;
        let rho = rho_from_epsilon(problem.epsilon, delta)?;
        let (releases, schema) = self.releases(&problem, rho)?;
        let clamped = problem.loss.lipschitz().is_none() && self.inner.weighs_records();
        let plan = |epsilon: f64| {
            let problem = Problem {
                epsilon,
                delta: Some(delta),
                schema: schema.clone(),
                residual_bound: match problem.residual_bound {
                    None if clamped && releases.norm.is_some() => Some(SCALED_RESIDUAL),
                    given => given,
                },
                ..problem.clone()
            };
            self.inner.plan(problem, domain)
        };
        let fits = |epsilon: f64| -> Result<bool> {
            let mut accountant = Accountant::new();
            let inner = plan(epsilon)?.events();
            for (event, count) in releases.events().into_iter().chain(inner) {
                accountant.add(event, count)?;
            }
            Ok(accountant.delta(problem.epsilon)? <= delta
                && accountant.epsilon(delta)? <= problem.epsilon)
        };
        let least = 0.25 * problem.epsilon;
        if !fits(least)? {
            return Err(Error::invalid(
                "epsilon",
                "is too small for a private scale and this mechanism together; use scale=None",
            ));
        }
        let epsilon = bisect(fits, problem.epsilon, least, 1e-4)?;
        Ok(Box::new(ScaledPlan {
            inner: plan(epsilon)?,
            releases,
            schema,
            problem,
        }))
    }
}

impl Plan for ScaledPlan {
    fn problem(&self) -> &Problem {
        &self.problem
    }

    fn describe(&self) -> String {
        let scales = self.releases.describe();
        format!("{scales}, then {}", self.inner.describe())
    }

    fn certified(&self) -> bool {
        self.inner.certified()
    }

    fn delta(&self) -> f64 {
        self.inner.delta()
    }

    fn n_iter(&self) -> usize {
        self.inner.n_iter()
    }

    fn events(&self) -> Vec<(Event, u64)> {
        let mut events = self.releases.events();
        events.extend(self.inner.events());
        events
    }

    fn assumptions(&self) -> Vec<String> {
        self.inner.assumptions()
    }

    fn noise_scale(&self) -> f64 {
        self.inner.noise_scale()
    }

    fn predicted_excess_risk(&self) -> f64 {
        self.inner.predicted_excess_risk()
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        self.inner.parameters()
    }

    fn execute(
        &self,
        data: &BoundedData,
        source: &mut Source,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Outcome> {
        let map = self.releases.release(data, source)?;
        let scaled = map.apply(data, &self.schema)?;
        let mut outcome = self.inner.execute(&scaled, source, progress)?;
        map.undo(&mut outcome.scaled, &self.schema, &self.problem.schema);
        let mut events = self.releases.events();
        events.append(&mut outcome.events);
        Ok(Outcome { events, ..outcome })
    }
}

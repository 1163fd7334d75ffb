use super::{Domain, Mechanism, Outcome, Plan, Problem};
use crate::error::{Error, Result};
use crate::mechanism::defaults::{SCALE_LEVEL, SCALE_MARGIN, SCALE_SHARE};
use crate::numeric::search::bisect;
use crate::privacy::accountant::Accountant;
use crate::privacy::answer::RangePlan;
use crate::privacy::calibrate::rho_from_epsilon;
use crate::privacy::event::Event;
use crate::privacy::noise::source::Source;
use crate::privacy::{BoundedData, Geometry, Target};

/// Any mechanism after a private choice of the features' ranges: wide public bounds ruin accuracy, and a small share of the
/// budget finds ranges that fit (MECHANISMS M0: bounds need only be public once they are used).
///
/// The ranges are released first, two quantiles a feature by the exponential mechanism ([`RangePlan`]); from then on they are
/// public, records are mapped and clipped again, and the mechanism runs as it is, planned for the epsilon that is left: the
/// largest with which all events together meet (epsilon, delta).
#[derive(Debug)]
pub struct PrivateScale {
    inner: Box<dyn Mechanism>,
}

impl PrivateScale {
    /// Private ranges, then `inner`.
    pub fn new(inner: Box<dyn Mechanism>) -> Self {
        Self { inner }
    }
}

#[derive(Debug)]
struct ScaledPlan {
    problem: Problem,
    ranges: RangePlan,
    inner: Box<dyn Plan>,
}

impl Mechanism for PrivateScale {
    fn geometry(
        &self,
        domain: &Domain,
        intercept: bool,
        row_norm: Option<f64>,
    ) -> Result<Geometry> {
        let geometry = self.inner.geometry(domain, intercept, row_norm)?;
        // With an intercept a range may be centred whatever the mechanism: only row norms are larger then.
        Ok(if intercept && row_norm.is_none() {
            Geometry::Centred
        } else {
            geometry
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
        let n_features = problem.schema.n_features();
        let epsilon0 = (8.0 * SCALE_SHARE * rho / (2 * n_features) as f64).sqrt();
        let ranges = RangePlan::new(
            epsilon0,
            SCALE_LEVEL,
            SCALE_MARGIN,
            problem.n_samples,
            n_features,
            problem.records_per_person,
        )?;
        let plan = |epsilon: f64| {
            let problem = Problem {
                epsilon,
                delta: Some(delta),
                ..problem.clone()
            };
            self.inner.plan(problem, domain)
        };
        let fits = |epsilon: f64| -> Result<bool> {
            let mut accountant = Accountant::new();
            let inner = plan(epsilon)?.events();
            for (event, count) in ranges.events().into_iter().chain(inner) {
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
            ranges,
            problem,
        }))
    }
}

impl Plan for ScaledPlan {
    fn problem(&self) -> &Problem {
        &self.problem
    }

    fn describe(&self) -> String {
        format!(
            "private ranges of the features, then {}",
            self.inner.describe()
        )
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
        let mut events = self.ranges.events();
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

    fn execute(
        &self,
        data: &BoundedData,
        source: &mut Source,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Outcome> {
        let ranges = self.ranges.release(data, source)?;
        let rescaled = ranges.rescale(data)?;
        let mut outcome = self.inner.execute(&rescaled, source, progress)?;
        ranges.undo(&mut outcome.scaled, self.problem.schema.geometry());
        let mut events = self.ranges.events();
        events.append(&mut outcome.events);
        Ok(Outcome { events, ..outcome })
    }
}

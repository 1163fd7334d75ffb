use crate::accounting::event::Event;
use crate::error::Result;
use crate::exact::noise::source::Source;
use crate::mechanism::{Mechanism, Outcome, Plan};
use crate::plan::{Domain, Problem};
use crate::privacy::{BoundedData, Geometry, Target};

/// A mechanism with the public reason why it was chosen, which its plan and certificate give.
#[derive(Debug)]
pub(crate) struct Explained {
    pub inner: Box<dyn Mechanism>,
    pub reason: &'static str,
}

#[derive(Debug)]
struct ExplainedPlan {
    inner: Box<dyn Plan>,
    reason: &'static str,
}

impl Mechanism for Explained {
    fn geometry(
        &self,
        domain: &Domain,
        intercept: bool,
        row_norm: Option<f64>,
    ) -> Result<Geometry> {
        self.inner.geometry(domain, intercept, row_norm)
    }

    fn margin_bound(
        &self,
        domain: &Domain,
        n_features: usize,
        intercept: bool,
        target: Target,
    ) -> Result<f64> {
        (self.inner).margin_bound(domain, n_features, intercept, target)
    }

    fn weighs_records(&self) -> bool {
        self.inner.weighs_records()
    }

    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Box<dyn Plan>> {
        let (inner, reason) = (self.inner.plan(problem, domain)?, self.reason);
        Ok(Box::new(ExplainedPlan { inner, reason }))
    }
}

impl Plan for ExplainedPlan {
    fn problem(&self) -> &Problem {
        self.inner.problem()
    }

    fn describe(&self) -> String {
        format!("{} (auto: {})", self.inner.describe(), self.reason)
    }

    fn certified(&self) -> bool {
        self.inner.certified()
    }

    fn assumptions(&self) -> Vec<String> {
        self.inner.assumptions()
    }

    fn delta(&self) -> f64 {
        self.inner.delta()
    }

    fn n_iter(&self) -> usize {
        self.inner.n_iter()
    }

    fn events(&self) -> Vec<(Event, u64)> {
        self.inner.events()
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

    fn non_private_release(
        &self,
        data: &BoundedData,
        source: &mut Source,
    ) -> Result<Option<(Vec<f64>, f64)>> {
        self.inner.non_private_release(data, source)
    }

    fn execute(
        &self,
        data: &BoundedData,
        source: &mut Source,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Outcome> {
        self.inner.execute(data, source, progress)
    }
}

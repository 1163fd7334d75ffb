use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::mechanism::{Mechanism, Outcome, Plan};
use crate::plan::{Domain, Problem};
use crate::privacy::{BoundedData, Bounds, Geometry, Target};

/// The public facts of a fit without its constant features (lower bound = upper bound), which are 0 in every record.
///
/// **Free of charge**: leaving out columns that are public maps neighbouring records to neighbouring records, and the
/// mechanism plans and runs as if they had never been there. Their coefficients are 0. Where the norm is monotone that
/// is the same problem: no other coefficient of a column of zeros has a smaller norm.
#[derive(Debug, Clone)]
pub struct Varying {
    /// The features that vary, ascending.
    features: Vec<u32>,
    bounds: Bounds,
    domain: Domain,
}

impl Varying {
    /// None where every feature varies, or where the norm does not let features be left out (a seminorm, a contiguous
    /// range); so too for facts that no mechanism takes, and that it will say so of.
    ///
    /// ```
    /// use dpsparse::mechanism::Varying;
    /// use dpsparse::plan::Domain;
    /// use dpsparse::privacy::Bounds;
    /// let bounds = Bounds { lower: vec![0.0, 5.0, 0.0], upper: vec![1.0, 5.0, 2.0] };
    /// let varying = Varying::of(&bounds, 3, &Domain::L1)?.unwrap();
    /// assert_eq!(varying.n_features(), 2);
    /// assert_eq!(varying.bounds().upper, [1.0, 2.0]);
    /// # Ok::<(), dpsparse::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `bounds` where no feature varies.
    pub fn of(bounds: &Bounds, n_features: usize, domain: &Domain) -> Result<Option<Self>> {
        // One pair of bounds for all features is one question.
        let shared = bounds.lower.len() == 1 && bounds.upper.len() == 1;
        let asked = if shared { 1 } else { n_features };
        let unusable = |j: usize| {
            let (low, high) = bounds.of(j);
            !(low <= high && low.is_finite() && high.is_finite())
        };
        let varies = |&j: &usize| bounds.of(j).0 < bounds.of(j).1;
        if n_features == 0
            || !bounds.fits(n_features)
            || (0..asked).any(unusable)
            || (0..asked).all(|j| varies(&j))
        {
            return Ok(None);
        }
        let features: Vec<u32> = (0..asked).filter(varies).map(|j| j as u32).collect();
        if features.is_empty() {
            return Err(Error::invalid(
                "bounds",
                "must let at least one feature vary: every lower bound equals its upper bound",
            ));
        }
        let side = |end: fn((f64, f64)) -> f64| {
            let ends = features.iter().map(|&j| end(bounds.of(j as usize)));
            ends.collect()
        };
        let bounds = Bounds {
            lower: side(|(low, _)| low),
            upper: side(|(_, high)| high),
        };
        Ok(domain
            .restricted(n_features, &features)?
            .map(|domain| Self {
                features,
                bounds,
                domain,
            }))
    }

    /// How many features vary.
    pub fn n_features(&self) -> usize {
        self.features.len()
    }

    /// Their bounds.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// The norm on them.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// A mechanism that was made for these facts, on records with all features.
    pub fn around(self, inner: Box<dyn Mechanism>) -> Box<dyn Mechanism> {
        Box::new(OnVarying {
            inner,
            facts: self,
        })
    }
}

#[derive(Debug)]
struct OnVarying {
    inner: Box<dyn Mechanism>,
    facts: Varying,
}

#[derive(Debug)]
struct VaryingPlan {
    inner: Box<dyn Plan>,
    problem: Problem,
    features: Vec<u32>,
}

impl Mechanism for OnVarying {
    fn geometry(&self, _: &Domain, intercept: bool, row_norm: Option<f64>) -> Result<Geometry> {
        (self.inner).geometry(&self.facts.domain, intercept, row_norm)
    }

    fn margin_bound(
        &self,
        _: &Domain,
        _: usize,
        intercept: bool,
        target: Target,
    ) -> Result<f64> {
        let facts = &self.facts;
        (self.inner).margin_bound(&facts.domain, facts.n_features(), intercept, target)
    }

    fn weighs_records(&self) -> bool {
        self.inner.weighs_records()
    }

    fn plan(&self, problem: Problem, _: &Domain) -> Result<Box<dyn Plan>> {
        let features = self.facts.features.clone();
        debug_assert_eq!(features, problem.schema.varying());
        let inner = Problem {
            schema: problem.schema.with_features(&features),
            ..problem.clone()
        };
        Ok(Box::new(VaryingPlan {
            inner: self.inner.plan(inner, &self.facts.domain)?,
            problem,
            features,
        }))
    }
}

impl VaryingPlan {
    /// Values of the features that vary, and of the intercept, among `other` for the constant ones.
    fn spread<T: Copy>(&self, values: &[T], other: T) -> Vec<T> {
        let (some, rest) = values.split_at(self.features.len());
        let mut all = vec![other; self.problem.schema.n_features()];
        for (&j, &value) in self.features.iter().zip(some) {
            all[j as usize] = value;
        }
        all.extend_from_slice(rest);
        all
    }
}

impl Plan for VaryingPlan {
    fn problem(&self) -> &Problem {
        &self.problem
    }

    fn describe(&self) -> String {
        self.inner.describe()
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
        let point = (self.inner).non_private_release(&data.varying()?, source)?;
        Ok(point.map(|(theta, bound)| (self.spread(&theta, 0.0), bound)))
    }

    fn execute(
        &self,
        data: &BoundedData,
        source: &mut Source,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Outcome> {
        let outcome = self.inner.execute(&data.varying()?, source, progress)?;
        Ok(Outcome {
            scaled: self.spread(&outcome.scaled, 0.0),
            feature_ranges: (outcome.feature_ranges).map(|ranges| self.spread(&ranges, (0.0, 0.0))),
            ..outcome
        })
    }
}

use std::sync::Arc;

use crate::error::Result;
use crate::mechanism::Mechanism;
use crate::plan::{Domain, Fitted, Plan, Problem, Summary};
use crate::privacy::{Bounds, Geometry, Planned, Program, Session, Statement, Target};

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
    /// None where every feature varies or none does, or where the norm does not let features be left out (a seminorm, a
    /// contiguous range); so too for facts that no mechanism takes, and that it will say so of.
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
    /// A norm that cannot be restricted.
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
            return Ok(None); // nothing is left to leave out: an intercept alone
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
        Box::new(OnVarying { inner, facts: self })
    }
}

/// Most entries of the images that a trace keeps: 32 MB. Beyond, constant features are so many that intervals are let
/// go.
const MOST_IMAGES: usize = 1 << 22;

#[derive(Debug)]
struct OnVarying {
    inner: Box<dyn Mechanism>,
    facts: Varying,
}

/// The inner mechanism on the features that vary.
#[derive(Debug)]
struct Among {
    inner: Box<dyn Program<Fitted>>,
    varying: Arc<Statement>,
    features: Vec<u32>,
    /// Number of all features.
    n_features: usize,
}

impl Mechanism for OnVarying {
    fn geometry(&self, _: &Domain, intercept: bool, row_norm: Option<f64>) -> Result<Geometry> {
        (self.inner).geometry(&self.facts.domain, intercept, row_norm)
    }

    fn margin_bound(&self, _: &Domain, _: usize, intercept: bool, target: Target) -> Result<f64> {
        let facts = &self.facts;
        (self.inner).margin_bound(&facts.domain, facts.n_features(), intercept, target)
    }

    fn weighs_records(&self, target: Target) -> bool {
        self.inner.weighs_records(target)
    }

    fn plan(&self, problem: Problem, _: &Domain) -> Result<Plan> {
        let varying = problem.statement.varying()?;
        let inner = Problem {
            statement: Arc::clone(&varying),
            reason: None,
            ..problem.clone()
        };
        let plan = self.inner.plan(inner, &self.facts.domain)?;
        let certified = plan.certified();
        let (inner, summary) = plan.into_program();
        let among = Among {
            inner,
            varying,
            features: self.facts.features.clone(),
            n_features: problem.schema().n_features(),
        };
        let point = None;
        let summary = Summary { point, ..summary };
        match certified {
            true => Plan::seal(problem, among, summary),
            false => Plan::for_reproduction(problem, among, summary),
        }
    }
}

impl Among {
    /// Values of the features that vary, and of the intercept, among `other` for the constant ones; the same for each
    /// of several scores.
    fn spread<T: Copy>(&self, values: &[T], outputs: usize, other: T) -> Vec<T> {
        let mut all = Vec::new();
        for values in values.chunks(values.len() / outputs) {
            let (some, rest) = values.split_at(self.features.len());
            let start = all.len();
            all.resize(start + self.n_features, other);
            for (&j, &value) in self.features.iter().zip(some) {
                all[start + j as usize] = value;
            }
            all.extend_from_slice(rest);
        }
        all
    }
}

impl Program<Fitted> for Among {
    fn questions(&self) -> Vec<Planned> {
        self.inner.questions()
    }

    fn run(&self, session: &mut Session<'_>) -> Result<Fitted> {
        let fitted = self.inner.run(&mut session.varying(&self.varying)?)?;
        let outputs = self.varying.schema().target().outputs();
        Ok(Fitted {
            scaled: self.spread(&fitted.scaled, outputs, 0.0),
            feature_ranges: (fitted.feature_ranges)
                .map(|ranges| ranges.map(|of| self.spread(&of, 1, (0.0, 0.0)))),
            near: fitted.near,
            trace: (fitted.trace)
                .filter(|trace| trace.images.len() * self.n_features <= MOST_IMAGES)
                .map(|trace| trace.moved(|image| self.spread(&image, 1, 0.0))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;
    use crate::exact::noise::source::Source;
    use crate::loss::Logistic;
    use crate::mechanism::{CATALOGUE, by_name};
    use crate::privacy::{Curator, MemoryLedger, Schema, release};
    use crate::set_function::ContiguousRange;
    use ndarray::Array2;

    const N: usize = 1000;

    /// Bounds that all mechanisms take, those of features beside each `every`th equal.
    fn bounds(p: usize, every: usize) -> Bounds {
        let side = |end: f64| {
            (0..p)
                .map(|j| if j % every == 0 { end } else { 0.5 })
                .collect()
        };
        Bounds {
            lower: side(-2.0),
            upper: side(2.0),
        }
    }

    fn problem(
        mechanism: &dyn Mechanism,
        domain: &Domain,
        bounds: Bounds,
        intercept: bool,
    ) -> Problem {
        let p = bounds.lower.len();
        let geometry = mechanism.geometry(domain, intercept, None).unwrap();
        let schema = Schema::new(p, bounds, geometry, Target::Classes, intercept, None).unwrap();
        Problem {
            statement: Statement::new(schema, N, Adjacency::ReplaceOne, 1).unwrap(),
            loss: Logistic.into(),
            residual_bound: None,
            spread: None,
            opens: false,
            epsilon: 1.0,
            delta: Some(1e-6),
            reason: None,
            assumptions: Vec::new(),
        }
    }

    /// Every mechanism plans and fits as if 90 constant columns beside 4 others were not there, bit for bit.
    #[test]
    fn constant_features_cost_nothing() {
        let (some, all) = (bounds(4, 1), bounds(94, 24));
        let x = |p: usize, every: usize| {
            Array2::from_shape_fn((N, p), |(i, j)| match j % every {
                0 => ((i * (j / every + 3)) % 17) as f64 / 4.0 - 2.0,
                _ => i as f64, // whatever it is, it is clipped to 0.5
            })
        };
        let y: Vec<f64> = (0..N)
            .map(|i| if i % 17 < 9 { 1.0 } else { -1.0 })
            .collect();
        let groups = (0..4)
            .map(|g| (0..94).filter(|j| j % 4 == g).collect())
            .collect();
        let mut checked = 0;
        for (domain, fewer) in [
            (Domain::L1, Domain::L1),
            (Domain::Linf, Domain::Linf),
            (Domain::Simplex, Domain::Simplex),
            // Features 0, 24, 48 and 72 are in the first of them.
            (
                Domain::Groups(groups),
                Domain::Groups(vec![(0..4).collect()]),
            ),
        ] {
            for name in CATALOGUE.iter().map(|entry| entry.name) {
                let intercept = name != "simplex-sampling";
                let plain = by_name(name, "{}").unwrap();
                if plain.geometry(&fewer, intercept, None).is_err() {
                    continue;
                }
                let expected = problem(plain.as_ref(), &fewer, some.clone(), intercept);
                let Ok(expected) = plain.plan(expected, &fewer) else {
                    continue; // another norm
                };
                let varying = Varying::of(&all, 94, &domain).unwrap().unwrap();
                let wrapped = varying.around(plain);
                let plan = problem(wrapped.as_ref(), &domain, all.clone(), intercept);
                let plan = wrapped.plan(plan, &domain).unwrap();
                let (one, other) = (&plan.summary, &expected.summary);
                assert_eq!(one.noise_scale, other.noise_scale, "{name}");
                assert_eq!(plan.events(), expected.events(), "{name}");
                assert_eq!(one.parameters, other.parameters, "{name}");
                assert_eq!(plan.mechanism(), expected.mechanism());
                let fit = |plan: &Plan, x: Array2<f64>| {
                    let curator = Curator::from_dense(x.view(), &y);
                    let (mut ledger, source) = (MemoryLedger::default(), Source::seeded(3));
                    let report = &mut |_: usize, _: usize| Ok(());
                    let released = release(plan.sealed(), &curator, &mut ledger, source, report);
                    released.unwrap().value.scaled
                };
                let (one, other) = (fit(&plan, x(94, 24)), fit(&expected, x(4, 1)));
                for (j, &theta) in one[..94].iter().enumerate() {
                    let expected = if j % 24 == 0 { other[j / 24] } else { 0.0 };
                    assert_eq!(theta, expected, "{name}, {domain:?}, feature {j}");
                }
                assert_eq!(one[94..], other[4..], "{name}: the intercept");
                checked += 1;
            }
        }
        assert!(checked >= 20, "only {checked} mechanisms were compared");
    }

    #[test]
    fn what_cannot_be_left_out_stays() {
        let all = bounds(94, 24);
        let range = Domain::SetFunction(Arc::new(ContiguousRange::new(94).unwrap()));
        assert!(Varying::of(&all, 94, &range).unwrap().is_none());
        assert!(
            Varying::of(&bounds(4, 1), 4, &Domain::L1)
                .unwrap()
                .is_none()
        );
        // Facts that a mechanism refuses are left to it.
        let overlapping = Domain::Groups(vec![(0..94).collect(), vec![1]]);
        assert!(Varying::of(&all, 94, &overlapping).unwrap().is_none());
        assert!(Varying::of(&all, 95, &Domain::L1).unwrap().is_none());
        let constant = Bounds {
            lower: vec![1.0],
            upper: vec![1.0],
        };
        assert!(Varying::of(&constant, 94, &Domain::L1).unwrap().is_none());
    }
}

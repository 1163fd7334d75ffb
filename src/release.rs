//! What leaves: coefficients and the certificate of what they cost.

use crate::accounting::event::{Adjacency, Event};
use crate::certificate::{Certificate, Terms};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::mechanism::{FeatureScalerPlan, OnlineSimplex, Plan};
use crate::plan::{PrivacyClaim, Problem};
use crate::privacy::{BoundedData, Bounds, Geometry, Schema};

/// A private model in the user's units, with its certificate.
#[derive(Debug, Clone)]
pub struct Release {
    /// One coefficient per feature, in the user's units.
    pub coefficients: Vec<f64>,
    /// Intercept, in the user's units.
    pub intercept: f64,
    /// Released ranges in the user's units, one per feature, that features are clipped to before the coefficients
    /// apply, in the fit and in predictions alike; None where the model is linear everywhere.
    pub feature_ranges: Option<Bounds>,
    /// Iterations made (public: fixed by the plan).
    pub n_iter: usize,
    /// What the release cost.
    pub certificate: Certificate,
}

/// Runs a plan on records that were ingested under its public facts. `progress(done, total)` may stop the
/// run.
///
/// # Errors
/// [`Error::InvalidArgument`] naming `data` when the public facts differ, [`Error::BudgetExceeded`] when the
/// mechanism spent anything but its plan (nothing is released then), an error of `progress`,
/// [`Error::Randomness`].
pub fn run(
    plan: &dyn Plan,
    data: &BoundedData,
    source: &mut Source,
    progress: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<Release> {
    let problem = plan.problem();
    check_facts(data, &problem.schema, &problem.claim())?;
    let outcome = plan.execute(data, source, progress)?;
    if outcome.events != plan.events() {
        return Err(Error::BudgetExceeded(
            "the mechanism did not spend what its plan announced".into(),
        ));
    }
    let (coefficients, intercept) = problem.schema.to_user_units(&outcome.scaled);
    let ranges = outcome.feature_ranges;
    let feature_ranges = ranges.map(|ranges| problem.schema.ranges_to_user_units(&ranges));
    let certificate = certificate_of(plan, outcome.events, outcome.secure);
    Ok(Release {
        coefficients,
        intercept,
        feature_ranges,
        n_iter: plan.n_iter(),
        certificate,
    })
}

/// Releases the ranges of the features that a plan announced, (low, high) of each in the user's units, and what they
/// cost.
///
/// # Errors
/// [`Error::InvalidArgument`] naming `data` when the records were ingested under other public facts,
/// [`Error::Randomness`].
pub fn release_ranges(
    plan: &FeatureScalerPlan,
    data: &BoundedData,
    source: &mut Source,
) -> Result<(Vec<(f64, f64)>, Certificate)> {
    check_facts(data, plan.schema(), plan.claim())?;
    let ranges = plan.execute(data, source)?;
    let certificate = certificate_of_ranges(plan, source.is_secure());
    Ok((ranges, certificate))
}

/// Whether records were ingested under the public facts of a plan, the number of records included where it is public.
fn check_facts(data: &BoundedData, schema: &Schema, claim: &PrivacyClaim) -> Result<()> {
    if data.schema() != schema {
        return Err(Error::invalid(
            "data",
            "were ingested under other public facts than the plan was made for",
        ));
    }
    data.check_count(claim.n_samples, claim.adjacency)
}

/// What is protected as one unit, and what every release about records assumes.
fn terms(claim: &PrivacyClaim) -> (String, Vec<String>) {
    let m = claim.records_per_person;
    let unit = match m {
        1 => "one record (a row of X with its entry of y)".to_string(),
        _ => {
            format!("one person, who owns at most {m} records (rows of X with their entries of y)")
        }
    };
    let mut assumptions = vec![
        "the bounds, feature names, hyper-parameters and the domain (finite values, known labels) are public".into(),
        match claim.adjacency {
            Adjacency::ReplaceOne => "the number of records is public".into(),
            Adjacency::AddRemove => "the public number of records was chosen without looking at the data".into(),
        },
        "values outside of the bounds are clipped to them".into(),
        "how records are stored, and their dtypes, are public".into(),
        "running time is outside the guarantee".into(),
    ];
    if m > 1 {
        assumptions.push(format!("no person owns more than {m} records"));
    }
    (unit, assumptions)
}

/// What a run of `plan` that spent `events` cost.
fn certificate_of(plan: &dyn Plan, events: Vec<(Event, u64)>, secure: bool) -> Certificate {
    let problem: &Problem = plan.problem();
    let schema = &problem.schema;
    let (unit, mut assumptions) = terms(&problem.claim());
    if schema.geometry() == Geometry::Uncentred {
        assumptions.push("features were scaled by the larger of their two absolute bounds".into());
    }
    if problem.loss.name() == "user" {
        assumptions.push("the user's loss was chosen without looking at the data".into());
    }
    assumptions.extend(plan.assumptions());
    let terms = Terms {
        mechanism: plan.describe(),
        claim: (problem.epsilon, plan.delta()),
        adjacency: problem.adjacency,
        unit,
        n_samples: problem.n_samples,
        n_features: schema.n_features(),
        bounds: schema.bounds().clone(),
        row_norm: schema.row_norm(),
        target: Some(schema.target()),
        assumptions,
        secure,
        certified: plan.certified(),
    };
    Certificate::new(terms, events)
}

/// What the release of ranges cost.
fn certificate_of_ranges(plan: &FeatureScalerPlan, secure: bool) -> Certificate {
    let claim = plan.claim();
    let (unit, assumptions) = terms(claim);
    let terms = Terms {
        mechanism: plan.describe(),
        claim: (claim.epsilon, plan.delta()),
        adjacency: claim.adjacency,
        unit,
        n_samples: claim.n_samples,
        n_features: plan.schema().n_features(),
        bounds: plan.schema().bounds().clone(),
        row_norm: None,
        target: None,
        assumptions,
        secure,
        certified: true,
    };
    Certificate::new(terms, plan.events())
}

/// What an online learner cost so far: one event per round that it saw.
pub fn certificate_of_stream(learner: &OnlineSimplex) -> Certificate {
    let plan = learner.plan();
    let unit = match plan.adjacency() {
        Adjacency::ReplaceOne => "the cost vector of one round, replaced by another",
        Adjacency::AddRemove => {
            "the cost vector of one round, present or replaced by zeros (rounds stay public)"
        }
    };
    let mut assumptions = vec![
        "the bound, the number of features, the horizon and the times of the updates are public".into(),
        "costs may depend on released weights and on other costs of the stream, but each person stands behind one \
         round only"
            .into(),
        "running time is outside the guarantee".into(),
    ];
    if learner.restorations() > 0 {
        assumptions.push(
            "of every saved state only one copy was continued: rounds of other copies cost as much again".into(),
        );
    }
    let spent = (learner.round() > 0).then(|| (*plan.event(), learner.round()));
    let terms = Terms {
        mechanism: format!(
            "online-ftrl over the simplex, round {} of {}",
            learner.round(),
            plan.horizon()
        ),
        claim: (plan.epsilon(), plan.delta()),
        adjacency: plan.adjacency(),
        unit: unit.into(),
        n_samples: plan.horizon() as usize,
        n_features: plan.n_features(),
        bounds: Bounds {
            lower: vec![-plan.bound()],
            upper: vec![plan.bound()],
        },
        row_norm: None,
        target: None,
        assumptions,
        secure: learner.is_secure(),
        certified: true,
    };
    Certificate::new(terms, spent.into_iter().collect())
}

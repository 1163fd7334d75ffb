//! What leaves: coefficients and the certificate of what they cost.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::mechanism::{FeatureScalerPlan, OnlineSimplex, Plan, PrivacyClaim, Problem};
use crate::privacy::accountant::Accountant;
use crate::privacy::event::{Adjacency, Event};
use crate::privacy::noise::source::Source;
use crate::privacy::{BoundedData, Bounds, Geometry, Schema, Target};

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
    let certificate = Certificate::new(plan, outcome.events, outcome.secure);
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
    let certificate = Certificate::of_ranges(plan, source.is_secure());
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

/// Some events of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpentEvent {
    /// What was released.
    pub event: Event,
    /// How often.
    pub count: u64,
}

/// The facts from which anyone can recompute the privacy of a release, and the assumptions that they rest on.
///
/// ```
/// # use dpsparse::release::Certificate;
/// # fn example(certificate: Certificate) -> dpsparse::Result<()> {
/// let again = Certificate::from_json(&certificate.to_json())?;
/// assert_eq!(again, certificate);
/// assert!(again.verify());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    format: String,
    mechanism: String,
    claimed_epsilon: f64,
    claimed_delta: f64,
    events: Vec<SpentEvent>,
    adjacency: Adjacency,
    unit: String,
    n_samples: usize,
    bounds: Bounds,
    row_norm: Option<f64>,
    // None for a stream of costs and for ranges of features; the field itself must be there.
    #[serde(deserialize_with = "Option::deserialize")]
    target: Option<Target>,
    assumptions: Vec<String>,
    secure: bool,
    certified: bool,
}

/// Name and version of the JSON format.
const FORMAT: &str = "dpsparse-certificate-1";

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
        "running time is outside the guarantee".into(),
    ];
    if m > 1 {
        assumptions.push(format!("no person owns more than {m} records"));
    }
    (unit, assumptions)
}

impl Certificate {
    /// What a run of `plan` that spent `events` cost.
    fn new(plan: &dyn Plan, events: Vec<(Event, u64)>, secure: bool) -> Self {
        let problem: &Problem = plan.problem();
        let schema = &problem.schema;
        let (unit, mut assumptions) = terms(&problem.claim());
        if schema.geometry() == Geometry::Uncentred {
            assumptions
                .push("features were scaled by the larger of their two absolute bounds".into());
        }
        if problem.loss.name() == "user" {
            assumptions.push("the user's loss was chosen without looking at the data".into());
        }
        assumptions.extend(plan.assumptions());
        Self {
            format: FORMAT.into(),
            mechanism: plan.describe(),
            claimed_epsilon: problem.epsilon,
            claimed_delta: plan.delta(),
            events: events
                .into_iter()
                .map(|(event, count)| SpentEvent { event, count })
                .collect(),
            adjacency: problem.adjacency,
            unit,
            n_samples: problem.n_samples,
            bounds: schema.bounds().clone(),
            row_norm: schema.row_norm(),
            target: Some(schema.target()),
            assumptions,
            secure,
            certified: plan.certified(),
        }
    }

    /// What the release of ranges cost.
    fn of_ranges(plan: &FeatureScalerPlan, secure: bool) -> Self {
        let claim = plan.claim();
        let (unit, assumptions) = terms(claim);
        let events = plan.events().into_iter();
        Self {
            format: FORMAT.into(),
            mechanism: plan.describe(),
            claimed_epsilon: claim.epsilon,
            claimed_delta: plan.delta(),
            events: events
                .map(|(event, count)| SpentEvent { event, count })
                .collect(),
            adjacency: claim.adjacency,
            unit,
            n_samples: claim.n_samples,
            bounds: plan.schema().bounds().clone(),
            row_norm: None,
            target: None,
            assumptions,
            secure,
            certified: true,
        }
    }

    /// What an online learner cost so far: one event per round that it saw.
    pub fn of_stream(learner: &OnlineSimplex) -> Self {
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
        let spent = (learner.round() > 0).then(|| SpentEvent {
            event: *plan.event(),
            count: learner.round(),
        });
        Self {
            format: FORMAT.into(),
            mechanism: format!(
                "online-ftrl over the simplex, round {} of {}",
                learner.round(),
                plan.horizon()
            ),
            claimed_epsilon: plan.epsilon(),
            claimed_delta: plan.delta(),
            events: spent.into_iter().collect(),
            adjacency: plan.adjacency(),
            unit: unit.into(),
            n_samples: plan.horizon() as usize,
            bounds: Bounds {
                lower: vec![-plan.bound()],
                upper: vec![plan.bound()],
            },
            row_norm: None,
            target: None,
            assumptions,
            secure: learner.is_secure(),
            certified: true,
        }
    }

    /// The certificate of a release that was made from several others, about the same people, and from answers that
    /// spent `events`: their costs are added up. What the parts assume is assumed here, once.
    ///
    /// # Errors
    /// No parts; parts of different neighbours or units; events that do not compose.
    pub fn composed(
        parts: &[Self],
        events: &[(Event, u64)],
        mechanism: String,
        (claimed_epsilon, claimed_delta): (f64, f64),
        n_samples: usize,
    ) -> Result<Self> {
        let (first, others) = parts
            .split_first()
            .ok_or_else(|| Error::invalid("parts", "must hold at least one certificate"))?;
        let mut composed = Self {
            mechanism,
            claimed_epsilon,
            claimed_delta,
            n_samples,
            ..first.clone()
        };
        for part in others {
            if part.adjacency != first.adjacency || part.unit != first.unit {
                return Err(Error::invalid(
                    "parts",
                    "must be about the same neighbours and units",
                ));
            }
            composed.events.extend(part.events.iter().cloned());
            composed.secure &= part.secure;
            composed.certified &= part.certified;
            if part.row_norm != first.row_norm {
                composed.row_norm = None;
            }
            for assumption in &part.assumptions {
                if !composed.assumptions.contains(assumption) {
                    composed.assume(assumption.as_str());
                }
            }
        }
        let spent = |&(event, count): &(Event, u64)| SpentEvent { event, count };
        composed.events.extend(events.iter().map(spent));
        composed.events = (composed.accountant()?.events().iter().map(spent)).collect();
        Ok(composed)
    }

    /// Adds an assumption that the caller made, such as a label set taken for public.
    pub fn assume(&mut self, assumption: impl Into<String>) {
        self.assumptions.push(assumption.into());
    }

    fn accountant(&self) -> Result<Accountant> {
        let mut accountant = Accountant::new();
        for spent in &self.events {
            accountant.add(spent.event, spent.count)?;
        }
        Ok(accountant)
    }

    /// The least epsilon proved at this delta; infinite for a release that is not certified.
    ///
    /// # Errors
    /// `delta` outside (0, 1).
    pub fn epsilon(&self, delta: f64) -> Result<f64> {
        let epsilon = self.accountant()?.epsilon(delta)?;
        Ok(if self.certified {
            epsilon
        } else {
            f64::INFINITY
        })
    }

    /// The least delta proved at this epsilon; 1 for a release that is not certified.
    ///
    /// # Errors
    /// `epsilon` negative or not finite.
    pub fn delta(&self, epsilon: f64) -> Result<f64> {
        let delta = self.accountant()?.delta(epsilon)?;
        Ok(if self.certified { delta } else { 1.0 })
    }

    /// Recomputes the claim from the events: true when they cost at most the claimed (epsilon, delta) and the
    /// mechanism is one that is proved. Whether the randomness was secure is a separate fact,
    /// [`Certificate::secure`].
    pub fn verify(&self) -> bool {
        self.certified
            && self
                .delta(self.claimed_epsilon)
                .is_ok_and(|delta| delta <= self.claimed_delta)
    }

    /// (epsilon, delta) as asked for.
    pub fn claim(&self) -> (f64, f64) {
        (self.claimed_epsilon, self.claimed_delta)
    }

    /// The mechanism in words.
    pub fn mechanism(&self) -> &str {
        &self.mechanism
    }

    /// What was spent.
    pub fn events(&self) -> &[SpentEvent] {
        &self.events
    }

    /// Neighbouring relation.
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// What is protected as one unit.
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// The public bounds of the features.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// What the guarantee assumes.
    pub fn assumptions(&self) -> &[String] {
        &self.assumptions
    }

    /// Whether all randomness came from the operating system. Without it there is no guarantee.
    pub fn secure(&self) -> bool {
        self.secure
    }

    /// Whether the guarantee is proved.
    pub fn certified(&self) -> bool {
        self.certified
    }

    /// JSON text that [`Certificate::from_json`] reads back to an equal certificate.
    pub fn to_json(&self) -> String {
        // A plain tree of strings and finite numbers always serialises.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Reads a certificate back.
    ///
    /// # Errors
    /// Text that is not a certificate of this format, or events outside their domains.
    pub fn from_json(text: &str) -> Result<Self> {
        let certificate: Self = serde_json::from_str(text).map_err(|error| {
            Error::invalid(
                "certificate",
                format!("is not readable JSON of a certificate: {error}"),
            )
        })?;
        if certificate.format != FORMAT {
            return Err(Error::invalid(
                "certificate",
                format!("must have the format {FORMAT:?}"),
            ));
        }
        certificate.accountant()?;
        Ok(certificate)
    }
}

impl std::fmt::Display for Certificate {
    /// The certificate in words.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (epsilon, delta) = self.claim();
        if self.certified {
            writeln!(
                f,
                "({epsilon}, {delta:.3e})-differential privacy under {} neighbours",
                self.adjacency
            )?;
        } else {
            writeln!(
                f,
                "NO GUARANTEE: this calibration is not proved; it is for reproduction only"
            )?;
        }
        if !self.secure {
            writeln!(
                f,
                "NO GUARANTEE FOR THIS RUN: its randomness was seeded, not drawn from the operating system"
            )?;
        }
        writeln!(f, "  protects   {}", self.unit)?;
        writeln!(f, "  mechanism  {}", self.mechanism)?;
        for spent in &self.events {
            writeln!(
                f,
                "  spent      {} times: {}",
                spent.count,
                spent.event.describe()
            )?;
        }
        let side = |values: &[f64]| match values {
            [one] => one.to_string(),
            many => format!("{} values", many.len()),
        };
        writeln!(
            f,
            "  bounds     lower {}, upper {}",
            side(&self.bounds.lower),
            side(&self.bounds.upper)
        )?;
        for assumption in &self.assumptions {
            writeln!(f, "  assumes    {assumption}")?;
        }
        Ok(())
    }
}

//! A release: committed, run, and certified from its log.

use super::budget::Budget;
use super::curator::Curator;
use super::seal::Sealed;
use super::session::{Core, Report, Session};
use crate::accounting::event::Adjacency;
use crate::accounting::ledger::{Entry, Ledger};
use crate::certificate::{Certificate, Terms};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::question::{AnyQuestion, Planned};
use crate::question::{MOST_RECORDS, Statement};
use crate::schema::Geometry;

/// That what stands in a certificate was asked in the room: nothing else makes one.
///
/// ```compile_fail,E0423
/// let witness = dpsparse::privacy::Witness(());
/// ```
#[derive(Debug)]
pub struct Witness(());

impl Witness {
    pub(in crate::privacy) fn new() -> Self {
        Self(())
    }

    /// For tests of certificates.
    #[cfg(test)]
    pub(crate) fn of_tests() -> Self {
        Self(())
    }
}

/// What a program let out, and what it cost.
#[derive(Debug, Clone)]
pub struct Released<R> {
    /// What it let out.
    pub value: R,
    /// What it cost and assumes.
    pub certificate: Certificate,
}

/// Runs a sealed program on the records of a curator. Everything that could be refused is refused first; then the
/// events are committed to the ledger; then the first question is answered.
///
/// # Errors
/// [`Error::InvalidData`] for records that the program's statement or its questions do not take; what the ledger
/// refuses; all before anything is spent. An error of `progress`; [`Error::BudgetExceeded`] where the program did not
/// ask for exactly what it announced (nothing is released then); [`Error::Randomness`].
pub fn release<R>(
    plan: &Sealed<R>,
    curator: &Curator<'_>,
    ledger: &mut dyn Ledger,
    source: Source,
    progress: Report<'_>,
) -> Result<Released<R>> {
    let statement = &plan.statement;
    let records = curator.all(statement)?;
    let most = most_records(&plan.planned);
    let mut questions = plan.planned.iter().flat_map(Planned::questions);
    // The size of a part is public under replace-one; under add-remove a part may be all of the records.
    let crowded = |question: &AnyQuestion| match statement.adjacency() {
        Adjacency::ReplaceOne => question.statement.n_samples() > question.most_records,
        Adjacency::AddRemove => records.data.n_records() > question.most_records,
    };
    if questions.any(crowded) {
        return Err(Error::InvalidData(too_many(statement, most)));
    }
    let budget = Budget::new(&plan.planned)?;
    ledger.commit(&Entry {
        adjacency: statement.adjacency(),
        n_samples: statement.n_samples(),
        mechanism: plan.claim.mechanism.clone(),
        claim: (plan.claim.epsilon, plan.claim.delta),
        events: plan.events.clone(),
    })?;
    let secure = source.is_secure();
    let mut core = Core {
        budget,
        source,
        progress: (0, 1),
    };
    let value = (plan.program).run(&mut Session::new(&records, &mut core, progress, curator))?;
    let events = core.budget.finished()?;
    let (unit, mut assumptions) = terms(statement);
    if most < MOST_RECORDS && statement.adjacency() == Adjacency::AddRemove {
        let times = most / statement.n_samples();
        assumptions.push(format!(
            "there are at most {times} times as many records as the public number"
        ));
    }
    assumptions.extend(plan.claim.assumptions.iter().cloned());
    let schema = statement.schema();
    let terms = Terms {
        mechanism: plan.claim.mechanism.clone(),
        claim: (plan.claim.epsilon, plan.claim.delta),
        adjacency: statement.adjacency(),
        unit,
        n_samples: statement.n_samples(),
        n_features: schema.n_features(),
        bounds: schema.bounds().clone(),
        row_norm: schema.row_norm(),
        target: Some(schema.target()),
        assumptions,
        secure,
        certified: plan.certified,
    };
    Ok(Released {
        value,
        certificate: Certificate::new(terms, events, &Witness::new()),
    })
}

/// The most records that every question takes.
fn most_records(planned: &[Planned]) -> usize {
    let questions = planned.iter().flat_map(Planned::questions);
    let most = questions.map(|question: &AnyQuestion| question.most_records);
    most.min().unwrap_or(MOST_RECORDS)
}

fn too_many(statement: &Statement, most: usize) -> String {
    match statement.adjacency() {
        Adjacency::ReplaceOne => "X has too many records for groups of this size".into(),
        Adjacency::AddRemove => format!(
            "X has more than {} times n_public records: this mechanism takes a closer n_public",
            most / statement.n_samples()
        ),
    }
}

/// What is protected as one unit, and what every release about records assumes.
fn terms(statement: &Statement) -> (String, Vec<String>) {
    let m = statement.records_per_person();
    let unit = match m {
        1 => "one record (a row of X with its entry of y)".to_string(),
        _ => {
            format!("one person, who owns at most {m} records (rows of X with their entries of y)")
        }
    };
    let mut assumptions = vec![
        "the bounds, feature names, hyper-parameters and the domain (finite values, known labels) are public".into(),
        match statement.adjacency() {
            Adjacency::ReplaceOne => "the number of records is public".into(),
            Adjacency::AddRemove => "the public number of records was chosen without looking at the data".into(),
        },
        "values outside the bounds are clipped to them".into(),
        "how X is stored (dense or sparse, its precision) is public".into(),
        "running time is outside the guarantee".into(),
    ];
    if statement.adjacency() == Adjacency::AddRemove {
        assumptions.push("there is at least one record, and there are fewer than 2^31".into());
    }
    if m > 1 {
        assumptions.push(format!("no person owns more than {m} records"));
    }
    if statement.schema().geometry() == Geometry::Uncentred {
        assumptions.push("features were scaled by the larger of their two absolute bounds".into());
    }
    (unit, assumptions)
}

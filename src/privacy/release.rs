//! A release: committed, run, and certified from its log.

use std::cell::Cell;
use std::path::Path;

use super::budget::Budget;
use super::checkpoint::{RESUMED, Transcript};
use super::curator::Curator;
use super::seal::Sealed;
use super::session::{Core, Report, Session};
use crate::accounting::event::{Adjacency, Event};
use crate::certificate::ledger::{Entry, Ledger};
use crate::certificate::{Certificate, Terms};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::question::{AnyQuestion, Planned, most_records};

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
    release_resumably(plan, curator, ledger, source, progress, None)
}

/// [`release`] that keeps its answers in the file `checkpoint`, which nobody may read who may not read the model; where
/// that file is there, it goes on from them, and a ledger that holds the release counts nothing more. The proof and the
/// user's promises stand in `checkpoint.rs`.
///
/// The file stays: remove it once the value is safe. Until then another call gives the same value again.
///
/// # Errors
/// As [`release`]; [`Error::Checkpoint`] for a file that is damaged, in use, of another release or cannot be written,
/// before anything is spent, or while it runs for one that can be written no longer.
pub fn release_resumably<R>(
    plan: &Sealed<R>,
    curator: &Curator<'_>,
    ledger: &mut dyn Ledger,
    source: Source,
    progress: Report<'_>,
    checkpoint: Option<&Path>,
) -> Result<Released<R>> {
    let statement = &plan.statement;
    let mut entry = Entry {
        certificate: certified(plan, &source, plan.events.clone(), false),
        records_per_person: statement.records_per_person(),
        release: None,
    };
    // The ledger may hold what stands in a file.
    if checkpoint.is_none_or(|path| !path.exists()) {
        ledger.admits(&entry)?;
    }
    let all: Vec<_> = (plan.planned.iter()).flat_map(Planned::questions).collect();
    let records = curator.all(statement, &all)?;
    let most = most_records(&plan.planned);
    // The size of a part is public under replace-one; under add-remove a part may be all of the records.
    let mut questions = all.into_iter();
    let crowded = |question: &AnyQuestion| match statement.adjacency() {
        Adjacency::ReplaceOne => question.statement.n_samples() > question.most_records,
        Adjacency::AddRemove => records.n_records() > question.most_records,
    };
    if questions.any(crowded) {
        return Err(Error::InvalidData(statement.too_many(most)));
    }
    let budget = Budget::new(&plan.planned)?;
    let transcript = match checkpoint {
        Some(path) => Some(Transcript::open(path, plan, &source)?),
        None => None,
    };
    entry.release = (transcript.as_ref()).map(|transcript| transcript.release().to_owned());
    ledger.commit(&entry).map(drop)?;
    let resumed = transcript.as_ref().is_some_and(Transcript::resumed);
    let mut core = Core {
        budget,
        source,
        progress: Cell::new((0, 1)),
        transcript,
    };
    let value = (plan.program).run(&mut Session::new(records, &mut core, progress, curator))?;
    let events = core.budget.finished()?;
    let certificate = certified(plan, &core.source, events, resumed);
    Ok(Released { value, certificate })
}

/// The certificate of a plan that spent, or will spend, these events.
fn certified<R>(
    plan: &Sealed<R>,
    source: &Source,
    events: Vec<(Event, u64)>,
    resumed: bool,
) -> Certificate {
    let statement = &plan.statement;
    let (unit, mut assumptions) = statement.terms(most_records(&plan.planned));
    assumptions.extend(plan.claim.assumptions.iter().cloned());
    assumptions.extend(resumed.then(|| RESUMED.into()));
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
        secure: source.is_secure(),
        certified: plan.certified,
    };
    Certificate::new(terms, events, &Witness::new())
}

//! Programs, and the seal: what costs more than its claim does not run.

use std::sync::Arc;

use super::checkpoint::digest;
use super::private_sizes;
use super::session::Session;
use crate::accounting::accountant::keeps;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::question::{AnyQuestion, Planned, Statement, events_of};

/// A mechanism at work: which questions it asks, how often, and what it does with the answers. Everything beside the
/// answers is post-processing.
///
/// It cannot write an event, ask of other records, ask more often than it announced, or reach anything that is not
/// private: a [`Session`] is all that it gets.
pub trait Program<R>: std::fmt::Debug + Send + Sync {
    /// All questions, before any record is read.
    fn questions(&self) -> Vec<Planned>;

    /// Asks them all.
    ///
    /// # Errors
    /// Those of [`Session::ask`].
    fn run(&self, session: &mut Session<'_>) -> Result<R>;
}

/// What a release says of itself, and the privacy that it claims.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Privacy parameter.
    pub epsilon: f64,
    /// Privacy parameter.
    pub delta: f64,
    /// The mechanism in words, for the certificate.
    pub mechanism: String,
    /// What the guarantee assumes beside what every release does: public facts that the caller vouches for.
    pub assumptions: Vec<String>,
}

/// A program whose questions keep its claim, for records of one statement.
#[derive(Debug)]
pub struct Sealed<R> {
    pub(in crate::privacy) statement: Arc<Statement>,
    pub(in crate::privacy) program: Box<dyn Program<R>>,
    pub(in crate::privacy) planned: Vec<Planned>,
    pub(in crate::privacy) events: Vec<(Event, u64)>,
    pub(in crate::privacy) claim: Claim,
    pub(in crate::privacy) certified: bool,
}

/// Seals a program: its questions are fixed, and what they cost together keeps the claim.
///
/// # Errors
/// [`Error::UnsoundMechanism`] where they cost more; [`Error::InvalidArgument`] for questions about other records than
/// those of `statement` and what is derived from them.
pub fn seal<R>(
    statement: &Arc<Statement>,
    program: Box<dyn Program<R>>,
    claim: Claim,
) -> Result<Sealed<R>> {
    let sealed = unsealed(statement, program, claim, true)?;
    keeps(&sealed.events, (sealed.claim.epsilon, sealed.claim.delta))?;
    Ok(sealed)
}

/// A program to reproduce figures with, whatever it costs: its certificate says that nothing is guaranteed.
///
/// # Errors
/// Questions about other records.
pub fn for_reproduction<R>(
    statement: &Arc<Statement>,
    program: Box<dyn Program<R>>,
    claim: Claim,
) -> Result<Sealed<R>> {
    unsealed(statement, program, claim, false)
}

fn unsealed<R>(
    statement: &Arc<Statement>,
    program: Box<dyn Program<R>>,
    claim: Claim,
    certified: bool,
) -> Result<Sealed<R>> {
    let planned = program.questions();
    let about = |question: &&AnyQuestion| question.statement.root().same(statement.root());
    if !(planned.iter().flat_map(Planned::questions)).all(|question| about(&question)) {
        return Err(Error::invalid(
            "question",
            "is about other records than those of the program",
        ));
    }
    Ok(Sealed {
        statement: Arc::clone(statement),
        events: events_of(&planned)?,
        program,
        planned,
        claim,
        certified,
    })
}

impl<R> Sealed<R> {
    /// What tells it from others, in every process: public facts, what it asks and costs, and how it was made.
    pub(in crate::privacy) fn digest(&self) -> String {
        let made = (&self.program, &self.planned, self.certified);
        digest(&(&self.statement, &self.events, &self.claim, made))
    }

    /// The public facts of the records that it is for.
    pub fn statement(&self) -> &Arc<Statement> {
        &self.statement
    }

    /// The events that a run will spend, with their counts.
    pub fn events(&self) -> &[(Event, u64)] {
        &self.events
    }

    /// What it claims.
    pub fn claim(&self) -> &Claim {
        &self.claim
    }

    /// Whether its guarantee is proved.
    pub fn certified(&self) -> bool {
        self.certified
    }

    /// The questions that it announced.
    pub fn questions(&self) -> &[Planned] {
        &self.planned
    }

    /// Bytes that the records of a dense table take at most while it runs, by public facts alone: 2 an entry of the
    /// records and of whatever is made of them, in strips of 32 records, and some 50 a record beside.
    ///
    /// # Errors
    /// None where all questions are about these records.
    pub fn bytes_of_table(&self) -> Result<u128> {
        let questions: Vec<_> = self.planned.iter().flat_map(Planned::questions).collect();
        private_sizes::of_table(&self.statement, &questions)
    }

    /// Runs the program within a larger one, whose session holds its questions.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run_within(&self, session: &mut Session<'_>) -> Result<R> {
        self.program.run(session)
    }

    /// The program, to be asked by a larger one: unsealed, it does not run by itself.
    pub fn into_program(self) -> Box<dyn Program<R>> {
        self.program
    }
}

//! What may be asked of records: built by the room alone, from a statement and reviewed parts.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::records::Records;
use super::statement::{MOST_RECORDS, Statement};
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;

/// One question, with what an answer to it costs: the events are computed in here, from the statement and from the
/// noise that will be drawn.
///
/// Questions are made by methods of [`Statement`], asked by [`Session::ask`](super::Session::ask), and planned for by
/// [`Program::questions`](super::Program::questions). A clone is the same question.
#[derive(Debug, Clone)]
pub struct Question<A> {
    id: u64,
    /// Questions that share a state in the room.
    state: u64,
    statement: Arc<Statement>,
    events: Vec<(Event, u64)>,
    pub(in crate::privacy) answer: A,
}

/// A kind of question, and how the room answers it. Its methods take what nothing outside the room has.
pub trait Answer: std::fmt::Debug + Clone + Send + Sync + 'static {
    /// What the caller says when asking: public, as everything outside the room is.
    type At<'a>;
    /// What leaves.
    type Released;
    /// What stays in the room between two answers; it depends on records.
    type State: Any + Send;

    /// Most records that the proof, or the integers, take.
    fn most_records(&self, statement: &Statement) -> usize {
        let _ = statement;
        MOST_RECORDS
    }

    /// Refuses what the caller says, before anything is spent; by public facts alone. The records may have fewer
    /// columns than the statement.
    ///
    /// # Errors
    /// What the question does not take.
    fn check(&self, at: &Self::At<'_>, columns: usize) -> Result<()> {
        let _ = (at, columns);
        Ok(())
    }

    /// A state for these records.
    ///
    /// # Errors
    /// Memory that the machine does not give.
    fn state(&self, records: &dyn Records) -> Result<Self::State>;

    /// Draws. The question is off the plan already.
    ///
    /// # Errors
    /// [`Error::Randomness`], [`Error::Interrupted`].
    fn draw(&self, at: Self::At<'_>, room: Room<'_, '_, Self::State>) -> Result<Self::Released>;
}

/// What an answer works with.
pub struct Room<'r, 'w, S> {
    pub(in crate::privacy) records: &'r dyn Records,
    pub(in crate::privacy) state: &'r mut S,
    pub(in crate::privacy) source: &'r mut Source,
    /// Called from time to time in long work; may stop it (Ctrl-C). It learns nothing but that time passes.
    pub(in crate::privacy) watch: &'r mut (dyn FnMut() -> Result<()> + 'w),
}

static NEXT: AtomicU64 = AtomicU64::new(1);

impl<A> Question<A> {
    pub(in crate::privacy) fn new(
        statement: &Arc<Statement>,
        answer: A,
        events: Vec<(Event, u64)>,
    ) -> Self {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            id,
            state: id,
            statement: Arc::clone(statement),
            events,
            answer,
        }
    }

    /// Adds what an answer costs besides.
    pub(in crate::privacy) fn also_costs(&mut self, event: Event) {
        self.events.push((event, 1));
    }

    /// The same question, working on the state of another one.
    pub(in crate::privacy) fn sharing<B>(self, other: &Question<B>) -> Self {
        Self {
            state: other.state,
            ..self
        }
    }

    /// The statement that it is asked of.
    pub fn statement(&self) -> &Arc<Statement> {
        &self.statement
    }

    /// What one answer costs: events with their counts.
    pub fn events(&self) -> &[(Event, u64)] {
        &self.events
    }

    pub(in crate::privacy) fn id(&self) -> u64 {
        self.id
    }

    pub(in crate::privacy) fn state_id(&self) -> u64 {
        self.state
    }
}

impl<A: Answer> Question<A> {
    /// The question without its kind, `count` times: what a program announces.
    pub fn times(&self, count: u64) -> Planned {
        Planned::Ask(AnyQuestion {
            id: self.id,
            statement: Arc::clone(&self.statement),
            events: self.events.clone(),
            most_records: self.answer.most_records(&self.statement),
            count,
        })
    }

    /// The question once.
    pub fn once(&self) -> Planned {
        self.times(1)
    }
}

/// A question without its kind, and how often it will be asked.
#[derive(Debug, Clone)]
pub struct AnyQuestion {
    pub(in crate::privacy) id: u64,
    pub(in crate::privacy) statement: Arc<Statement>,
    pub(in crate::privacy) events: Vec<(Event, u64)>,
    pub(in crate::privacy) most_records: usize,
    pub(in crate::privacy) count: u64,
}

/// What a program will ask.
#[derive(Debug, Clone)]
pub enum Planned {
    /// One question, so many times.
    Ask(AnyQuestion),
    /// One of several lists of questions, whichever: the choice may depend on earlier answers. It costs what dominates
    /// every one of them.
    OneOf(Vec<Vec<Planned>>),
}

impl Planned {
    /// The events, in order; those of a choice are dominated together.
    ///
    /// # Errors
    /// Counts beyond 2^64, options that no events dominate.
    pub fn events(&self) -> Result<Vec<(Event, u64)>> {
        match self {
            Planned::Ask(question) => {
                let times = |&(event, count): &(Event, u64)| {
                    let total = count.checked_mul(question.count);
                    total
                        .map(|total| (event, total))
                        .ok_or_else(|| Error::invalid("n_iter", "is too large"))
                };
                question.events.iter().map(times).collect()
            }
            Planned::OneOf(options) => {
                let options = options.iter().map(|option| events_of(option));
                crate::accounting::dominating::dominating(&options.collect::<Result<Vec<_>>>()?)
            }
        }
    }

    /// All questions of all options.
    pub(in crate::privacy) fn questions(&self) -> Vec<&AnyQuestion> {
        match self {
            Planned::Ask(question) => vec![question],
            Planned::OneOf(options) => options.iter().flatten().flat_map(Self::questions).collect(),
        }
    }
}

/// The events of several plans, in order, those that are equal and follow each other together; no count is 0.
///
/// # Errors
/// Counts beyond 2^64, options that no events dominate.
pub fn events_of(planned: &[Planned]) -> Result<Vec<(Event, u64)>> {
    let mut events: Vec<(Event, u64)> = Vec::new();
    for part in planned {
        for (event, count) in part.events()?.into_iter().filter(|(_, count)| *count > 0) {
            match events.last_mut() {
                Some((last, total)) if *last == event => {
                    *total = total
                        .checked_add(count)
                        .ok_or_else(|| Error::invalid("n_iter", "is too large"))?;
                }
                _ => events.push((event, count)),
            }
        }
    }
    Ok(events)
}

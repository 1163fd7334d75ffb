//! What a sealed program may still ask: an answer is drawn only after its question was taken off.

use std::sync::Arc;

use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::question::{AnyQuestion, Planned, Statement, events_of};

/// The questions of a sealed program, and how many answers are left of each.
#[derive(Debug)]
pub(in crate::privacy) struct Budget {
    planned: Vec<Left>,
}

#[derive(Debug)]
enum Left {
    Ask {
        question: AnyQuestion,
        asked: u64,
    },
    OneOf {
        options: Vec<Budget>,
        chosen: Option<usize>,
        events: Vec<(Event, u64)>,
    },
}

impl Budget {
    /// # Errors
    /// As [`Planned::events`].
    pub fn new(planned: &[Planned]) -> Result<Self> {
        let left = |part: &Planned| {
            Ok(match part {
                Planned::Ask(question) => Left::Ask {
                    question: question.clone(),
                    asked: 0,
                },
                Planned::OneOf(options) => Left::OneOf {
                    options: (options.iter().map(|option| Self::new(option)))
                        .collect::<Result<_>>()?,
                    chosen: None,
                    events: part.events()?,
                },
            })
        };
        Ok(Self {
            planned: planned.iter().map(left).collect::<Result<_>>()?,
        })
    }

    /// Takes one answer to the question `id` off.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`] where the plan does not hold it, or no longer.
    pub fn spend(&mut self, id: u64) -> Result<()> {
        if self.take(id) {
            return Ok(());
        }
        Err(Error::BudgetExceeded(
            "the mechanism asked for an answer that its plan does not hold".into(),
        ))
    }

    /// Whether it holds a question about the records of a statement, or about what is made of them.
    pub fn expects(&self, statement: &Arc<Statement>) -> bool {
        self.planned.iter().any(|left| match left {
            Left::Ask { question, .. } => question.statement.comes_from(statement),
            Left::OneOf { options, .. } => options.iter().any(|option| option.expects(statement)),
        })
    }

    /// Whether it holds a question about the records of a statement, or about what is made of them other than by
    /// reading a part anew.
    pub fn needs(&self, statement: &Arc<Statement>) -> bool {
        self.planned.iter().any(|left| match left {
            Left::Ask { question, asked } => {
                *asked < question.count && question.statement.is_made_of(statement)
            }
            Left::OneOf { options, .. } => options.iter().any(|option| option.needs(statement)),
        })
    }

    /// Whether a question about the records of a statement, or about what is made of them so, needs them in one block.
    pub fn needs_one_block(&self, statement: &Arc<Statement>) -> bool {
        self.planned.iter().any(|left| match left {
            Left::Ask { question, .. } => {
                question.one_block && question.statement.is_made_of(statement)
            }
            Left::OneOf { options, .. } => {
                (options.iter()).any(|option| option.needs_one_block(statement))
            }
        })
    }

    fn take(&mut self, id: u64) -> bool {
        self.planned.iter_mut().any(|left| match left {
            Left::Ask { question, asked } => {
                let takes = question.id == id && *asked < question.count;
                *asked += u64::from(takes);
                takes
            }
            Left::OneOf {
                options, chosen, ..
            } => match chosen {
                Some(k) => options[*k].take(id),
                None => {
                    *chosen = options.iter_mut().position(|option| option.take(id));
                    chosen.is_some()
                }
            },
        })
    }

    fn is_spent(&self) -> bool {
        self.planned.iter().all(|left| match left {
            Left::Ask { question, asked } => *asked == question.count,
            Left::OneOf {
                options, chosen, ..
            } => chosen.is_some_and(|k| options[k].is_spent()),
        })
    }

    /// The log: what was asked costs these events, in the order of the plan. What was planned and not asked is an
    /// error: how much is asked must not depend on answers, or the events would not compose.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`] where something is left.
    pub fn finished(&self) -> Result<Vec<(Event, u64)>> {
        if !self.is_spent() {
            return Err(Error::BudgetExceeded(
                "the mechanism did not ask for all the answers of its plan".into(),
            ));
        }
        self.log()
    }

    /// What was asked so far.
    ///
    /// # Errors
    /// Never for counts that a plan held.
    pub fn log(&self) -> Result<Vec<(Event, u64)>> {
        let mut log: Vec<Planned> = Vec::new();
        let mut events = Vec::new();
        for left in &self.planned {
            match left {
                Left::Ask { question, asked } if *asked > 0 => {
                    log.push(Planned::Ask(AnyQuestion {
                        count: *asked,
                        ..question.clone()
                    }))
                }
                Left::OneOf {
                    chosen: Some(_),
                    events: dominating,
                    ..
                } => {
                    events.extend(events_of(&log)?);
                    log.clear();
                    events.extend_from_slice(dominating);
                }
                _ => {}
            }
        }
        events.extend(events_of(&log)?);
        Ok(events)
    }
}

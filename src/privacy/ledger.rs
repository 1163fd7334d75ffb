//! The budget of one release: check and commit, only then draw.

use crate::accounting::event::Event;
use crate::error::{Error, Result};

/// The events that a plan announced, spent one by one. An answer draws only after [`Budget::spend`] agreed,
/// so a release can never contain more than its plan.
#[derive(Debug)]
pub struct Budget {
    planned: Vec<(Event, u64)>,
}

impl Budget {
    /// A budget of exactly these events, in this order.
    pub(in crate::privacy) fn new(planned: &[(Event, u64)]) -> Self {
        Self {
            planned: planned.iter().rev().cloned().collect(),
        }
    }

    /// Takes `event` off the plan.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`] when it is not the next planned event, before anything is drawn.
    pub(in crate::privacy) fn spend(&mut self, event: &Event) -> Result<()> {
        match self.planned.last_mut() {
            Some((next, count)) if next == event && *count > 0 => {
                *count -= 1;
                if *count == 0 {
                    self.planned.pop();
                }
                Ok(())
            }
            _ => Err(Error::BudgetExceeded(
                "the mechanism asked for an answer that its plan does not hold".into(),
            )),
        }
    }

    /// Takes all of `events` off the plan, in order.
    ///
    /// # Errors
    /// As [`Budget::spend`].
    pub(in crate::privacy) fn spend_all(&mut self, events: &[(Event, u64)]) -> Result<()> {
        for (event, count) in events {
            for _ in 0..*count {
                self.spend(event)?;
            }
        }
        Ok(())
    }

    /// Refuses a plan that was not spent to its end.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`] where something is left.
    pub(in crate::privacy) fn finished(&self) -> Result<()> {
        if self.planned.is_empty() {
            return Ok(());
        }
        Err(Error::BudgetExceeded(
            "the mechanism did not ask for all the answers of its plan".into(),
        ))
    }
}

//! What a release costs, committed before anything is drawn.

use super::event::{Adjacency, Event};
use crate::error::Result;

/// One release, before it: all its events, which its plan fixed before any record was read.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Neighbouring relation.
    pub adjacency: Adjacency,
    /// Number of records (under add-remove: the public one), or of rounds.
    pub n_samples: usize,
    /// The mechanism in words.
    pub mechanism: String,
    /// (epsilon, delta) that the events keep.
    pub claim: (f64, f64),
    /// Every event that the release will spend.
    pub events: Vec<(Event, u64)>,
}

/// That an entry was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Number of the entry in its ledger, from 0.
    pub number: u64,
}

/// Where releases are written down: durably, before anything is drawn, so that a crash can waste budget and never
/// overspend it. One commit a release: plans fix all events.
pub trait Ledger {
    /// Commits an entry; the release goes on only where that succeeds.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`](crate::Error::BudgetExceeded) where the entry does not fit what is left.
    fn commit(&mut self, entry: &Entry) -> Result<Receipt>;
}

/// Entries in memory, without a limit: what remembers the releases of one process.
///
/// ```
/// use dpsparse::accounting::ledger::MemoryLedger;
/// assert!(MemoryLedger::default().entries().is_empty());
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryLedger {
    entries: Vec<Entry>,
}

impl MemoryLedger {
    /// What was committed.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

impl Ledger for MemoryLedger {
    fn commit(&mut self, entry: &Entry) -> Result<Receipt> {
        self.entries.push(entry.clone());
        Ok(Receipt {
            number: self.entries.len() as u64 - 1,
        })
    }
}

//! What a release costs, committed before anything is drawn.

use super::Certificate;
use super::owner::Owner;
use crate::accounting::event::{Adjacency, Event};
use crate::accounting::filter::Filter;
use crate::error::{Error, Result};

/// One release, before it: what its certificate will say. Its plan fixed all of that before any record was read.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What the release will cost and assume.
    pub certificate: Certificate,
    /// How many records one person may own.
    pub records_per_person: u64,
    /// What tells a release that may go on after a stop from all others: it is committed whenever it goes on. None: it
    /// is made in one run.
    pub release: Option<String>,
}

impl Entry {
    /// Whether a ledger that holds `other` has this release already, so that it costs nothing more.
    pub fn is_held_as(&self, other: &Entry) -> bool {
        self.release.is_some()
            && self.release == other.release
            && self.records_per_person == other.records_per_person
            && self.certificate == other.certificate
    }

    /// Neighbouring relation.
    pub fn adjacency(&self) -> Adjacency {
        self.certificate.adjacency()
    }

    /// Every event that the release will spend.
    pub fn events(&self) -> Vec<(Event, u64)> {
        let events = self.certificate.events().iter();
        events.map(|spent| (spent.event, spent.count)).collect()
    }
}

/// That an entry was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Number of the entry in its ledger, from 0.
    pub number: u64,
}

/// Where releases are written down: durably, before anything is drawn, so that a crash can waste budget and never
/// overspend it. One commit a release: plans fix all events. One that goes on after a stop is committed again, to
/// whatever ledger it goes on with: a ledger that holds it ([`Entry::is_held_as`]) counts nothing then.
pub trait Ledger {
    /// Whether an entry would be committed now: asked before records are read, to spare that for nothing. It commits
    /// nothing and promises nothing.
    ///
    /// # Errors
    /// As [`Ledger::commit`].
    fn admits(&mut self, entry: &Entry) -> Result<()>;

    /// Commits an entry, or finds that it is held; the release goes on only where that succeeds.
    ///
    /// # Errors
    /// Where the ledger keeps a total: [`Error::BudgetExceeded`] where the entry does not fit what is left;
    /// [`Error::UnsoundMechanism`] for a release without a proof; [`Error::InvalidArgument`] for a certificate that was
    /// changed or contradicts itself, one under another neighbour relation, or for persons with fewer records than the
    /// total is for.
    fn commit(&mut self, entry: &Entry) -> Result<Receipt>;
}

/// A total that a ledger keeps: (epsilon, delta) for people with up to so many records, under one neighbour relation,
/// as costs under two do not add up to either.
#[derive(Debug, Clone, PartialEq)]
pub struct Total {
    filter: Filter,
    adjacency: Option<Adjacency>,
    records_per_person: u64,
}

impl Total {
    /// `adjacency` None: that of the first release.
    ///
    /// # Errors
    /// As [`Filter::new`]; `records_per_person` 0.
    pub fn new(
        (epsilon, delta): (f64, f64),
        adjacency: Option<Adjacency>,
        records_per_person: u64,
    ) -> Result<Self> {
        if records_per_person == 0 {
            return Err(Error::invalid("records_per_person", "must be at least 1"));
        }
        Ok(Self {
            filter: Filter::new(epsilon, delta)?,
            adjacency,
            records_per_person,
        })
    }

    /// What is left, and how much there was.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The neighbour relation, where it is known.
    pub fn adjacency(&self) -> Option<Adjacency> {
        self.adjacency
    }

    /// Counts in one release of these events, for the neighbours and persons of all others, or changes nothing.
    ///
    /// # Errors
    /// As [`Filter::add`].
    pub fn add_events(&mut self, events: &[(Event, u64)]) -> Result<()> {
        self.filter.add(events)
    }

    /// Counts an entry in, or changes nothing.
    ///
    /// # Errors
    /// As [`Ledger::commit`].
    pub fn add(&mut self, entry: &Entry) -> Result<()> {
        entry.certificate.countable()?;
        if let Some(ours) = self.adjacency.filter(|&ours| ours != entry.adjacency()) {
            let problem = format!(
                "keeps a total for {} neighbours, and the release is for {} ones: keep one data set a relation",
                ours.name(),
                entry.adjacency().name(),
            );
            return Err(Error::invalid("ledger", problem));
        }
        if entry.records_per_person < self.records_per_person {
            let problem = format!(
                "keeps a total for people with up to {} records: the release must have records_per_person of at least that, \
                 not {}",
                self.records_per_person, entry.records_per_person,
            );
            return Err(Error::invalid("ledger", problem));
        }
        self.filter.add(&entry.events())?;
        self.adjacency = Some(entry.adjacency());
        Ok(())
    }
}

/// Entries in memory, with a total to keep or without: what remembers the releases of one process.
///
/// ```
/// use dpsparse::privacy::{MemoryLedger, Total};
/// assert!(MemoryLedger::default().entries().is_empty());
/// let ledger = MemoryLedger::keeping(Total::new((1.0, 1e-6), None, 1)?);
/// assert_eq!(ledger.total().unwrap().filter().remaining(0.0)?, 1.0);
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryLedger {
    entries: Vec<Entry>,
    total: Option<Total>,
    owner: Owner,
}

impl MemoryLedger {
    /// One that refuses what does not keep `total`.
    pub fn keeping(total: Total) -> Self {
        Self {
            total: Some(total),
            ..Self::default()
        }
    }

    /// What was committed.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What it keeps.
    pub fn total(&self) -> Option<&Total> {
        self.total.as_ref()
    }
}

/// Of a process that was forked from the ledger's.
const WHAT: &str = "a ledger in memory";
const INSTEAD: &str = "keep a ledger in a file, which processes share";

impl Ledger for MemoryLedger {
    fn admits(&mut self, entry: &Entry) -> Result<()> {
        self.owner.check(WHAT, INSTEAD)?;
        self.total
            .clone()
            .map_or(Ok(()), |mut total| total.add(entry))
    }

    fn commit(&mut self, entry: &Entry) -> Result<Receipt> {
        self.owner.check(WHAT, INSTEAD)?;
        let held = self.entries.iter().position(|held| entry.is_held_as(held));
        if held.is_none() {
            if let Some(total) = &mut self.total {
                total.add(entry)?;
            }
            self.entries.push(entry.clone());
        }
        let number = held.unwrap_or(self.entries.len() - 1) as u64;
        Ok(Receipt { number })
    }
}

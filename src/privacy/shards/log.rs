//! What was asked of all shards so far, as far as it still matters: whatever a lost shard needs to become what it was.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::pass::MoveData;
use super::wire::Request;
use crate::error::Result;
use crate::exact::noise::source::Source;
use crate::privacy::derived::Derived;
use crate::schema::Schema;

/// How records came to be.
#[derive(Debug)]
pub(super) enum Made {
    Read {
        schema: Schema,
        /// Within each shard; None: all.
        positions: Option<Vec<Vec<u32>>>,
        /// How many each shard read; None: not yet.
        counts: Option<Arc<[u64]>>,
    },
    Derived {
        of: u64,
        by: Derived,
    },
}

impl Made {
    /// The request to one shard.
    pub(super) fn request(&self, records: u64, shard: usize) -> Request {
        match self {
            Made::Read {
                schema,
                positions,
                counts,
            } => Request::Read {
                records,
                schema: schema.clone(),
                positions: positions.as_ref().map(|all| all[shard].clone()),
                count: counts.as_ref().map(|all| all[shard]),
            },
            Made::Derived { of, by } => Request::Derive {
                records,
                of: *of,
                by: by.clone(),
            },
        }
    }
}

/// Where margins are: the sum of all moves since they were last 0. Margins are exact integers, so one move there leaves
/// what all of them left; its entries stay below 2^46 in all, as theirs do.
#[derive(Debug)]
struct Margins {
    records: u64,
    columns: usize,
    at: Vec<i64>,
}

/// Records and states that are there, in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Of the last request; 0: none.
    pub place: u64,
    last_number: u64,
    made: Vec<(u64, Arc<Made>)>,
    margins: BTreeMap<u64, Margins>,
    /// Numbers of what is no longer there, and not yet said.
    gone: Vec<u64>,
}

impl Log {
    /// The place of the last request. Before the first one it is random, of 62 bits: a shard that is left at a place by
    /// another curator, who read its records under another schema, is at none of this one's.
    ///
    /// # Errors
    /// [`Error::Randomness`](crate::error::Error::Randomness).
    pub(super) fn last_place(&self) -> Result<u64> {
        match self.place {
            0 => Ok((Source::secure()?.bits() >> 2) + 1),
            place => Ok(place),
        }
    }

    /// A number that names nothing yet.
    pub(super) fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    pub(super) fn records(&mut self, number: u64, made: Arc<Made>) {
        self.made.push((number, made));
    }

    /// Margins of `outputs` outputs over so many columns moved.
    pub(super) fn moved(
        &mut self,
        states: u64,
        records: u64,
        (outputs, columns): (usize, usize),
        moves: &[MoveData],
    ) {
        let new = || Margins {
            records,
            columns,
            at: vec![0; outputs * columns],
        };
        let margins = self.margins.entry(states).or_insert_with(new);
        for step in moves {
            let start = step.output as usize * columns;
            for &(column, entry) in &step.direction {
                margins.at[start + column as usize] += step.weight * entry;
            }
        }
    }

    pub(super) fn forget(&mut self, number: u64) {
        self.made.retain(|(other, _)| *other != number);
        self.margins.remove(&number);
        self.gone.push(number);
    }

    /// What is no longer there, said once.
    pub(super) fn take_gone(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.gone)
    }

    /// What brings a new shard here.
    pub(super) fn replay(&self, shard: usize) -> Vec<Request> {
        let records = (self.made.iter()).map(|(number, made)| made.request(*number, shard));
        let margins = (self.margins.iter()).map(|(states, margins)| {
            let outputs = margins.at.chunks(margins.columns.max(1)).enumerate();
            Request::Restore {
                records: margins.records,
                states: *states,
                outputs: (margins.at.len() / margins.columns.max(1)) as u32,
                moves: outputs.map(|(output, at)| restoring(output, at)).collect(),
            }
        });
        records.chain(margins).collect()
    }
}

fn restoring(output: usize, at: &[i64]) -> MoveData {
    let entries = (0..).zip(at.iter().copied());
    MoveData {
        output: output as u32,
        direction: entries.filter(|&(_, entry)| entry != 0).collect(),
        weight: 1,
    }
}

/// A log that handles share.
pub(super) type SharedLog = Arc<Mutex<Log>>;

/// The log, also where a thread ended with it in its hands: it is changed by whole entries.
pub(super) fn locked(log: &SharedLog) -> std::sync::MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records or states that are elsewhere; they are forgotten when nothing holds them any more.
pub(in crate::privacy) struct Remote {
    pub(super) number: u64,
    log: SharedLog,
    /// What it was made of, which a lost shard makes first.
    _origin: Option<Arc<Remote>>,
}

impl Remote {
    pub(super) fn new(log: &SharedLog, number: u64, origin: Option<Arc<Remote>>) -> Arc<Self> {
        Arc::new(Self {
            number,
            log: Arc::clone(log),
            _origin: origin,
        })
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        locked(&self.log).forget(self.number);
    }
}

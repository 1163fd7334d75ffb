//! Records on several machines: each worker holds its clipped integer shard and answers integer sums; the curator, who
//! alone draws noise, adds them up.
//!
//! Integer sums merge exactly, so a release is bit for bit that of the same records in one memory. What travels to the
//! workers is public (`wire`, `pass`): schemas, maps, moves of margins. What travels back is as long as its request
//! says, and is checked to be (`merge`): one integer for each sum, and numbers of records. Those are **not private**:
//! workers, and what carries bytes between them and the curator, are within the boundary that the curator answers for.
//!
//! A shard that is lost with its worker is made anew from its raw records, and goes through what `log` kept of the
//! public requests. Its answers follow from these and from its records alone: a loss changes nothing.

mod log;
mod merge;
mod pass;
mod shard;
#[cfg(test)]
pub(in crate::privacy) mod tests;
mod wire;

pub use merge::{merged_replies, split_reply};
pub use shard::{Shard, ShardSource, TakeRecords};

pub(in crate::privacy) use log::Remote;

use std::sync::{Arc, OnceLock};

use self::log::{Made, SharedLog, locked};
use self::merge::Answer;
use self::pass::PassData;
use self::wire::{Body, Message, Request, encoded};
use super::bounded_data::BoundedData;
use super::changing_sums::Changed;
use super::derived::Derived;
use super::records::{LaggingPass, Pass, Records, States, Sum, Watch};
use crate::accounting::event::Adjacency;
use crate::error::{Error, Result};
use crate::question::{MOST_RECORDS, RoomModel, Statement};
use crate::schema::Schema;

/// Workers that hold the shards of all records, by numbers from 0: a dask cluster, say.
pub trait Workers: Send + Sync {
    /// How many shards there are, at least one.
    fn n_shards(&self) -> usize;

    /// The reply of every shard to the newest request of a script, from [`Shard::answer`]; those of several shards may
    /// come together ([`merged_replies`]), or all of them as the totals of two aggregators ([`split_reply`]).
    ///
    /// A shard that is not where the newest request expects it, or that is lost, needs the whole script.
    ///
    /// # Errors
    /// What keeps workers from answering for good.
    fn ask(&self, script: Script) -> Result<Vec<Vec<u8>>>;
}

/// What the shards are asked next, and what a lost one goes through before.
pub struct Script {
    log: SharedLog,
    after: u64,
    place: u64,
    forget: Vec<u64>,
    newest: Newest,
}

enum Newest {
    Made(u64, Arc<Made>),
    /// For every shard alike.
    Same(Box<Request>),
}

impl Script {
    /// Whether shards read their raw records for it, each by [`Script::whole`].
    pub fn reads_records(&self) -> bool {
        matches!(&self.newest, Newest::Made(_, made) if matches!(**made, Made::Read { .. }))
    }

    /// The newest request, the same for every shard.
    ///
    /// # Errors
    /// [`Error::Workers`] where shards read their records.
    pub fn newest(&self) -> Result<Vec<u8>> {
        match &self.newest {
            Newest::Same(request) => self.message(None, request),
            Newest::Made(number, made) if !self.reads_records() => {
                self.message(None, &made.request(*number, 0))
            }
            Newest::Made(..) => Err(Error::Workers("read their records by whole scripts")),
        }
    }

    /// Everything that one shard needs to answer, wherever it is.
    ///
    /// # Errors
    /// [`Error::Workers`] for a request that cannot be written.
    pub fn whole(&self, shard: usize) -> Result<Vec<u8>> {
        let before = locked(&self.log).replay(shard);
        match &self.newest {
            Newest::Made(number, made) => self.message(Some(before), &made.request(*number, shard)),
            Newest::Same(request) => self.message(Some(before), request),
        }
    }

    fn message(&self, before: Option<Vec<Request>>, request: &Request) -> Result<Vec<u8>> {
        encoded(&Message {
            after: self.after,
            place: self.place,
            forget: self.forget.clone(),
            before,
            request,
        })
    }
}

/// The way to the workers, and what was asked there.
#[derive(Clone)]
pub(in crate::privacy) struct Link {
    workers: Arc<dyn Workers>,
    log: SharedLog,
    /// How many records there are in each shard, once they were read.
    all: Arc<OnceLock<Arc<[u64]>>>,
}

impl Link {
    pub(in crate::privacy) fn new(workers: Arc<dyn Workers>) -> Self {
        Self {
            workers,
            log: SharedLog::default(),
            all: Arc::default(),
        }
    }

    /// One request at a time: answers come in the order of requests.
    fn ask(&self, newest: Newest) -> Result<Answer> {
        let mut log = locked(&self.log);
        let after = log.last_place()?;
        log.place = after + 1;
        let script = Script {
            log: Arc::clone(&self.log),
            after,
            place: log.place,
            forget: log.take_gone(),
            newest,
        };
        drop(log);
        let place = script.place;
        let replies = self.workers.ask(script)?;
        Answer::of(&replies, place, self.workers.n_shards())
    }

    fn same(&self, request: Request) -> Result<Answer> {
        self.ask(Newest::Same(Box::new(request)))
    }

    fn number(&self) -> u64 {
        locked(&self.log).number()
    }

    /// Refuses where a worker does not have so many bytes for a shard.
    ///
    /// # Errors
    /// [`Error::TooLarge`] of a worker, [`Error::Workers`].
    pub(in crate::privacy) fn room(&self, bytes: u128) -> Result<()> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.same(Request::Room { bytes }).map(drop)
    }
}

/// Records that were read, under a schema: what fits any statement with it.
#[derive(Clone)]
pub(in crate::privacy) struct Held {
    link: Link,
    remote: Arc<Remote>,
    schema: Schema,
    /// How many of them each shard holds.
    counts: Arc<[u64]>,
}

impl Held {
    /// The records at some ascending positions among all of them, which were read before; without, all.
    ///
    /// # Errors
    /// Unusable records, or workers that do not answer; positions that are not ascending, or not of records.
    pub(in crate::privacy) fn read(
        link: &Link,
        positions: Option<&[u32]>,
        schema: &Schema,
    ) -> Result<Self> {
        let all = link.all.get();
        let positions = positions
            .map(|positions| within(positions, all.map_or(&[], |all| all)))
            .transpose()?;
        // As many as before, or as many as there are positions.
        let counts = match &positions {
            None => all.cloned(),
            Some(positions) => Some(positions.iter().map(|of| of.len() as u64).collect()),
        };
        let number = link.number();
        let made = Made::Read {
            schema: schema.clone(),
            positions: positions.clone(),
            counts: counts.clone(),
        };
        let answer = link.ask(Newest::Made(number, Arc::new(made)))?;
        let said: Arc<[u64]> = match answer.body {
            Body::Counts(said) => said.into(),
            _ => return Err(Error::Workers("do not say how many records they hold")),
        };
        if counts.is_some_and(|counts| counts != said) {
            return Err(Error::Workers("hold another number of records than before"));
        }
        let n = (said.iter()).try_fold(0u64, |n, &count| n.checked_add(count));
        if positions.is_none() && n.is_none_or(|n| n == 0 || n > MOST_RECORDS as u64) {
            return Err(Error::InvalidData(
                "X must have at least one record and fewer than 2^31".into(),
            ));
        }
        if positions.is_none() {
            link.all.get_or_init(|| Arc::clone(&said));
        }
        let made = Made::Read {
            schema: schema.clone(),
            positions,
            counts: Some(Arc::clone(&said)),
        };
        locked(&link.log).records(number, Arc::new(made));
        Ok(Self {
            link: link.clone(),
            remote: Remote::new(&link.log, number, None),
            schema: schema.clone(),
            counts: said,
        })
    }

    /// Records of the shard that holds most.
    pub(in crate::privacy) fn largest(&self) -> usize {
        self.counts.iter().copied().max().unwrap_or(0) as usize
    }

    fn n_records(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Positions among all records as positions within each shard.
fn within(positions: &[u32], counts: &[u64]) -> Result<Vec<Vec<u32>>> {
    let ascending = positions.windows(2).all(|pair| pair[0] < pair[1]);
    let n: u64 = counts.iter().sum();
    if !ascending || positions.last().is_some_and(|&last| u64::from(last) >= n) {
        return Err(Error::invalid(
            "positions",
            "must be ascending and of records",
        ));
    }
    let (mut rest, mut start) = (positions, 0u64);
    let parts = counts.iter().map(|count| {
        let end = start + count;
        let (here, later) = rest.split_at(rest.partition_point(|&i| u64::from(i) < end));
        let here = here
            .iter()
            .map(|&i| (u64::from(i) - start) as u32)
            .collect();
        (rest, start) = (later, end);
        here
    });
    Ok(parts.collect())
}

/// Bounded records on other machines, with the statement that they were read under.
pub(in crate::privacy) struct Shards {
    statement: Arc<Statement>,
    held: Held,
}

impl Shards {
    /// # Errors
    /// [`Error::InvalidArgument`] naming `data` where the number of records is public and another one.
    pub(in crate::privacy) fn new(held: Held, statement: &Arc<Statement>) -> Result<Self> {
        let n = held.n_records() as usize;
        if statement.adjacency() == Adjacency::ReplaceOne && n != statement.n_samples() {
            return Err(Error::invalid(
                "data",
                "hold another number of records than the plan was made for",
            ));
        }
        Ok(Self {
            statement: Arc::clone(statement),
            held,
        })
    }
}

impl Records for Shards {
    fn statement(&self) -> &Arc<Statement> {
        &self.statement
    }

    fn schema(&self) -> &Schema {
        &self.held.schema
    }

    fn n_records(&self) -> usize {
        self.held.n_records() as usize
    }

    fn derived(&self, by: Derived, to: &Arc<Statement>) -> Result<Box<dyn Records>> {
        let Held { link, remote, .. } = &self.held;
        let (number, schema) = (link.number(), by.schema(&self.held.schema));
        let made = Arc::new(Made::Derived {
            of: remote.number,
            by,
        });
        let answer = link.ask(Newest::Made(number, Arc::clone(&made)))?;
        if answer.body != Body::Done {
            return Err(Error::Workers("do not say that records were made"));
        }
        locked(&link.log).records(number, made);
        let held = Held {
            link: link.clone(),
            remote: Remote::new(&link.log, number, Some(Arc::clone(remote))),
            schema,
            counts: Arc::clone(&self.held.counts),
        };
        let statement = Arc::clone(to);
        Ok(Box::new(Self { statement, held }))
    }

    fn fold(&self, pass: &Pass<'_>, states: &mut States, watch: Watch<'_>) -> Result<Sum> {
        watch()?;
        let Held { link, remote, .. } = &self.held;
        let data = PassData::new(pass)?;
        let (length, n) = (pass.sums(self), i128::from(self.held.n_records()));
        let most = n * data.largest(self.statement.schema().n_features().max(self.n_columns()));
        let (mut kept, mut steps) = (None, None);
        if let PassData::Gradient { moves, fresh, .. } = &data {
            let new = || Remote::new(&link.log, link.number(), Some(Arc::clone(remote)));
            let number = states.elsewhere.get_or_insert_with(new).number;
            kept = Some(number);
            steps = (!fresh).then(|| moves.clone());
        }
        let request = Request::Fold {
            records: remote.number,
            states: kept,
            pass: data,
        };
        let sums = link.same(request)?.sums(length, most)?;
        if let (Some(states), Some(moves), Pass::Gradient { model, .. }) = (kept, &steps, pass) {
            let size = (model.outputs(), self.n_columns());
            locked(&link.log).moved(states, remote.number, size, moves);
        }
        Ok(Sum(sums))
    }

    fn lagging(&self, _: &LaggingPass<'_>, _: &mut States, _: Watch<'_>) -> Result<Changed> {
        self.whole().map(|_| Changed(Vec::new()))
    }

    fn lagging_sum(&self, _: usize, _: &States) -> i64 {
        0
    }

    fn curvature(&self, _: &RoomModel, _: f64, _: &States, out: &mut [f64]) {
        out.fill(0.0);
    }

    fn whole(&self) -> Result<&Arc<BoundedData>> {
        Err(Error::invalid(
            "records",
            "must be in one block for this question",
        ))
    }
}

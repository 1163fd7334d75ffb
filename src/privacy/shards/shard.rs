//! A worker's side: the records of one shard, which answer requests with integer sums.

use std::collections::HashMap;

use super::pass::restore;
use super::wire::{Body, Message, Reply, Request, decoded, encoded, words};
use crate::error::{Error, Result};
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::private_sizes::room;
use crate::privacy::raw::RawBlock;
use crate::privacy::records::States;
use crate::schema::Schema;

/// Takes the features, targets and weights of all records of a shard.
pub type TakeRecords<'a> = &'a mut dyn FnMut(RawBlock<'_>, &[f64], Option<&[f64]>) -> Result<()>;

/// The raw records of one shard, the same ones in the same order whenever they are asked for.
pub trait ShardSource {
    /// Hands over all of them, once; of none, nothing.
    ///
    /// # Errors
    /// What reading raises, and every error of `take`.
    fn read(&self, take: TakeRecords<'_>) -> Result<()>;
}

/// The clipped integer records of one shard, and what passes left beside them.
///
/// It answers integer sums, **which are not private**, to the curator, who alone draws noise: see
/// [`Workers`](super::Workers). Answers follow from the records and from public requests alone.
#[derive(Default)]
pub struct Shard {
    number: u32,
    /// The place of the last request that was answered; 0: none.
    place: u64,
    /// None: a shard without records.
    records: HashMap<u64, Option<BoundedData>>,
    states: HashMap<u64, States>,
    /// The last answer: it may have been lost on its way.
    answer: Vec<u8>,
}

impl Shard {
    /// The shard of a number, without records.
    pub fn new(number: u32) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }

    /// Answers a request of a [`Script`](super::Script); None where others should have come before it, and the whole
    /// script is needed. A request that was answered already gets the same answer, and does nothing.
    ///
    /// # Errors
    /// Unusable records, no memory, what the source raises; then the shard needs the whole script next.
    pub fn answer(
        &mut self,
        request: &[u8],
        source: Option<&dyn ShardSource>,
    ) -> Result<Option<Vec<u8>>> {
        let message: Message<Request> = decoded(request)?;
        if self.place == message.place {
            return Ok(Some(self.answer.clone()));
        }
        if self.place != message.after {
            let Some(before) = &message.before else {
                return Ok(None);
            };
            *self = Self::new(self.number);
            for request in before {
                self.done(request, source)?;
            }
        }
        for number in &message.forget {
            self.records.remove(number);
            self.states.remove(number);
        }
        // Not at any place until it is done.
        self.place = u64::MAX;
        let reply = Reply {
            place: message.place,
            shards: vec![self.number],
            body: self.done(&message.request, source)?,
        };
        self.answer = encoded(&reply)?;
        self.place = message.place;
        Ok(Some(self.answer.clone()))
    }

    fn done(&mut self, request: &Request, source: Option<&dyn ShardSource>) -> Result<Body> {
        match request {
            Request::Read {
                records,
                schema,
                positions,
                count: before,
            } => {
                let source = source.ok_or(Error::Workers("were not given their records"))?;
                let data = read(source, schema, positions.as_deref())?;
                let count = data.as_ref().map_or(0, BoundedData::n_records) as u64;
                if before.is_some_and(|before| before != count) {
                    return Err(OTHERS);
                }
                self.records.insert(*records, data);
                Ok(Body::Counts(vec![count]))
            }
            Request::Derive { records, of, by } => {
                let made = self.of(*of)?.as_ref().map(|data| by.of(data));
                self.records.insert(*records, made);
                Ok(Body::Done)
            }
            Request::Fold {
                records,
                states,
                pass,
            } => {
                let mut fresh = States::default();
                let data = self.records.get(records).ok_or(UNKNOWN)?;
                let states = match states {
                    Some(number) => self.states.entry(*number).or_default(),
                    None => &mut fresh,
                };
                Ok(Body::Sums(match data {
                    Some(data) if data.n_records() > 0 => words(&pass.fold(data, states)?.0),
                    _ => Vec::new(),
                }))
            }
            Request::Restore {
                records,
                states,
                outputs,
                moves,
            } => {
                let mut restored = States::default();
                if let Some(data) = self.of(*records)?.as_ref().filter(|d| d.n_records() > 0) {
                    restore(data, moves, *outputs as usize, &mut restored);
                }
                self.states.insert(*states, restored);
                Ok(Body::Done)
            }
            Request::Room { bytes } => room(u128::from(*bytes)).map(|()| Body::Done),
        }
    }

    /// How many sets of records it holds.
    #[cfg(test)]
    pub(super) fn n_held(&self) -> usize {
        self.records.len()
    }

    fn of(&self, records: u64) -> Result<&Option<BoundedData>> {
        self.records.get(&records).ok_or(UNKNOWN)
    }
}

const OTHERS: Error = Error::Workers("hold another number of records than before");
const UNKNOWN: Error = Error::Workers("were asked about records that they do not hold");

/// Clipped integers of a shard, which holds fewer than 2^31 records.
fn read(
    source: &dyn ShardSource,
    schema: &Schema,
    positions: Option<&[u32]>,
) -> Result<Option<BoundedData>> {
    let mut read = None;
    source.read(&mut |x, y, weights| {
        let n = match &x {
            RawBlock::Double(x) => x.nrows(),
            RawBlock::Single(x) => x.nrows(),
        };
        if n == 0 && y.is_empty() {
            return Ok(());
        }
        let data = match x {
            RawBlock::Double(x) => BoundedData::from_dense(x, y, schema.clone()),
            RawBlock::Single(x) => BoundedData::from_dense(x, y, schema.clone()),
        }?;
        read = Some(data.weighed(weights)?);
        Ok(())
    })?;
    let Some(positions) = positions else {
        return Ok(read);
    };
    let n = read.as_ref().map_or(0, BoundedData::n_records);
    let ascending = positions.windows(2).all(|pair| pair[0] < pair[1]);
    if !ascending || positions.last().is_some_and(|&last| last as usize >= n) {
        return Err(OTHERS);
    }
    Ok(read.map(|data| data.rows(positions)))
}

//! What travels between a curator and the workers that hold the records: public requests there, integer sums back.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::pass::{MoveData, PassData};
use crate::error::{Error, Result};
use crate::privacy::derived::Derived;
use crate::schema::Schema;

/// A public request to one shard. Numbers name records and states, which the curator counts.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Reads the raw records of the shard under a schema: all of them, or those at ascending positions within the
    /// shard.
    Read {
        records: u64,
        schema: Schema,
        positions: Option<Vec<u32>>,
        /// How many there were the last time.
        count: Option<u64>,
    },
    /// Makes records of others.
    Derive { records: u64, of: u64, by: Derived },
    /// Sums over records, with a state that stays beside them where the pass has one.
    Fold {
        records: u64,
        states: Option<u64>,
        pass: PassData,
    },
    /// Margins as these moves from 0 leave them, without a sum.
    Restore {
        records: u64,
        states: u64,
        outputs: u32,
        moves: Vec<MoveData>,
    },
    /// Whether there is memory for so many bytes.
    Room { bytes: u64 },
}

/// A request with its place among those of a release.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Message<R> {
    /// The place that the shard must be at.
    pub after: u64,
    /// The place of this request.
    pub place: u64,
    /// Records and states that are no longer asked about.
    pub forget: Vec<u64>,
    /// What brings a shard that was lost to `after`; None: it must be there.
    pub before: Option<Vec<Request>>,
    pub request: R,
}

/// What shards answer.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Reply {
    /// The place of the request.
    pub place: u64,
    /// Numbers of the shards that it is about.
    pub shards: Vec<u32>,
    pub body: Body,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Body {
    /// Done.
    Done,
    /// How many records there are now, shard by shard.
    Counts(Vec<u64>),
    /// Sums, eight bytes each, lowest first.
    Sums(#[serde(with = "serde_bytes")] Vec<u8>),
    /// One of two vectors that add up to sums modulo 2^64.
    Share(#[serde(with = "serde_bytes")] Vec<u8>),
}

/// What all bytes begin with: they do not describe themselves, and those of another version may be read as something
/// else.
const VERSION: &[u8] = concat!(env!("CARGO_PKG_VERSION"), ":").as_bytes();

pub(super) fn encoded(value: &impl Serialize) -> Result<Vec<u8>> {
    postcard::to_extend(value, VERSION.to_vec())
        .map_err(|_| Error::Workers("were asked what cannot be written"))
}

pub(super) fn decoded<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    match bytes.strip_prefix(VERSION).map(postcard::take_from_bytes) {
        Some(Ok((value, []))) => Ok(value),
        _ => Err(MISREAD),
    }
}

/// Bytes that are no request or no reply.
const MISREAD: Error = Error::Workers("sent or were sent bytes of another version or kind");

/// Sums as bytes.
pub(super) fn words(sums: &[i64]) -> Vec<u8> {
    sums.iter().flat_map(|sum| sum.to_le_bytes()).collect()
}

/// Bytes as sums.
pub(super) fn sums(words: &[u8]) -> Result<Vec<i64>> {
    match words.as_chunks::<8>() {
        (words, []) => Ok(words.iter().map(|word| i64::from_le_bytes(*word)).collect()),
        _ => Err(MISREAD),
    }
}

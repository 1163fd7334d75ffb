//! Replies of shards put together: on a worker that holds several, and at the curator, who trusts none of them.

use super::wire::{Body, Reply, decoded, encoded, sums, words};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;

const WRONG: Error =
    Error::Workers("answered something else than the sums that they were asked for");

/// One reply for those of several shards of a worker: fewer bytes travel.
///
/// # Errors
/// [`Error::Workers`] for replies to different requests, or none.
pub fn merged_replies(replies: &[Vec<u8>]) -> Result<Vec<u8>> {
    let mut all: Option<Reply> = None;
    for reply in replies {
        let reply: Reply = decoded(reply)?;
        all = Some(match all {
            None => reply,
            Some(all) => joined(all, reply)?,
        });
    }
    encoded(&all.ok_or(WRONG)?)
}

fn joined(mut all: Reply, reply: Reply) -> Result<Reply> {
    if all.place != reply.place {
        return Err(WRONG);
    }
    all.shards.extend(reply.shards);
    all.body = match (all.body, reply.body) {
        (Body::Done, Body::Done) => Body::Done,
        (Body::Counts(mut counts), Body::Counts(more)) => {
            counts.extend(more);
            Body::Counts(counts)
        }
        (Body::Sums(one), Body::Sums(other)) => Body::Sums(added(one, other)?),
        (Body::Share(one), Body::Share(other)) => Body::Share(added(one, other)?),
        _ => return Err(WRONG),
    };
    Ok(all)
}

/// Sums modulo 2^64; no bytes are sums over no records.
fn added(one: Vec<u8>, other: Vec<u8>) -> Result<Vec<u8>> {
    match (one.is_empty(), other.is_empty()) {
        (_, true) => return Ok(one),
        (true, _) => return Ok(other),
        _ if one.len() != other.len() => return Err(WRONG),
        _ => {}
    }
    let pairs = sums(&one)?.into_iter().zip(sums(&other)?);
    Ok(words(
        &pairs.map(|(a, b)| a.wrapping_add(b)).collect::<Vec<_>>(),
    ))
}

/// A reply in two halves for two aggregators. The sums of one are uniform modulo 2^64, by the operating system's
/// entropy, whatever the records are; those of the other are what is left. Halves of other replies are the replies.
///
/// **Proof**: r is uniform and independent of the sum s, so s - r mod 2^64 is uniform too: each half alone has a law
/// that does not know s. Sums of halves over workers add up to the sum, exactly, as addition modulo 2^64 commutes; the
/// sum itself is below 2^63 in size. That a worker holds no records at all, and so sends no words, is not hidden.
///
/// # Errors
/// [`Error::Workers`] for bytes that are no reply; [`Error::Randomness`].
pub fn split_reply(reply: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
    let reply: Reply = decoded(reply)?;
    let Body::Sums(words_of) = &reply.body else {
        let same = encoded(&reply)?;
        return Ok((same.clone(), same));
    };
    let mut own = sums(words_of)?;
    let mut source = Source::secure()?;
    let mut masks = Vec::with_capacity(own.len());
    for sum in &mut own {
        let mask = source.bits() as i64;
        *sum = sum.wrapping_sub(mask);
        masks.push(mask);
    }
    let share = |half: &[i64]| {
        encoded(&Reply {
            place: reply.place,
            shards: reply.shards.clone(),
            body: Body::Share(words(half)),
        })
    };
    Ok((share(&masks)?, share(&own)?))
}

/// What all shards answered.
#[derive(Debug)]
pub(super) struct Answer {
    /// Done, counts in the order of the shards, or sums over all of them.
    pub body: Body,
}

impl Answer {
    /// Every one of `n_shards` shards answered the request at `place`, once: by whole replies, or by the totals of two
    /// aggregators, each of shares of all shards.
    ///
    /// # Errors
    /// [`Error::Workers`].
    pub(super) fn of(replies: &[Vec<u8>], place: u64, n_shards: usize) -> Result<Self> {
        let replies = (replies.iter()).map(|reply| decoded::<Reply>(reply));
        let mut replies = replies.collect::<Result<Vec<_>>>()?;
        let shared = |reply: &Reply| matches!(reply.body, Body::Share(_));
        if let [one, other] = &mut replies[..]
            && shared(one)
            && shared(other)
        {
            for half in [&*one, &*other] {
                complete([half], place, n_shards)?;
            }
            let halves = (one.body.clone(), other.body.clone());
            let (Body::Share(one), Body::Share(other)) = halves else {
                return Err(WRONG);
            };
            let body = Body::Sums(added(one, other)?);
            return Ok(Self { body });
        }
        let public = |reply: &Reply| matches!(reply.body, Body::Done | Body::Counts(_));
        if let [one, other] = &replies[..]
            && public(one)
            && one == other
        {
            // What is no sum has no halves: both aggregators have all of it.
            replies.pop();
        }
        complete(&replies, place, n_shards)?;
        if replies.iter().any(shared) {
            return Err(WRONG);
        }
        let all = replies
            .into_iter()
            .map(Ok)
            .reduce(|all, reply| joined(all?, reply?));
        let all = all.ok_or(WRONG)??;
        let body = match all.body {
            Body::Counts(counts) => {
                if counts.len() != n_shards {
                    return Err(WRONG);
                }
                let mut ordered = vec![0; n_shards];
                (all.shards.iter().zip(counts)).for_each(|(&k, count)| ordered[k as usize] = count);
                Body::Counts(ordered)
            }
            body => body,
        };
        Ok(Self { body })
    }

    /// So many sums, none beyond `most` in size.
    ///
    /// # Errors
    /// [`Error::Workers`].
    pub(super) fn sums(self, length: usize, most: i128) -> Result<Vec<i64>> {
        let Body::Sums(bytes) = self.body else {
            return Err(WRONG);
        };
        if bytes.is_empty() {
            return Ok(vec![0; length]);
        }
        let sums = sums(&bytes)?;
        let within = sums.iter().all(|&sum| i128::from(sum).abs() <= most);
        if sums.len() != length || !within {
            return Err(WRONG);
        }
        Ok(sums)
    }
}

/// Refuses replies that are not about each shard once.
fn complete<'r>(
    replies: impl IntoIterator<Item = &'r Reply>,
    place: u64,
    n_shards: usize,
) -> Result<()> {
    let mut seen = vec![false; n_shards];
    for reply in replies {
        for &shard in &reply.shards {
            match seen.get_mut(shard as usize) {
                Some(seen) if !*seen && reply.place == place => *seen = true,
                _ => return Err(WRONG),
            }
        }
    }
    if seen.contains(&false) {
        return Err(WRONG);
    }
    Ok(())
}

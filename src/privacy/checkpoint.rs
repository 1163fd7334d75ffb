//! Answers that a release has given, kept in a file, so that one that was stopped goes on and does not pay twice.
//!
//! **What is kept**: the answers of the room, in order, each with the number of its question in the plan and a digest
//! of what was said when it was asked; a digest of the plan; a mark of the release, random bits that no other has. All
//! of it is public or released: never records, their digests, margins, states, or the generator's key.
//!
//! **What happens.** A release with a file commits its events to the ledger, under its mark, before anything is drawn;
//! then each answer is on the disk before the program gets it. A release that finds a file of its own plan commits them
//! again, and runs the program from its beginning; the first questions get the answers that are kept, in order, and
//! take them off the plan as usual, but nothing is drawn; the next question and all later ones are answered from the
//! records, with fresh noise.
//!
//! **Every ledger counts it.** A ledger that holds the mark counts nothing more
//! ([`Entry::is_held_as`](super::Entry::is_held_as)). One that does not is another one, an older copy, or the first
//! (none was kept before): it counts the whole release before anything more is drawn. So whichever ledger a run is
//! given holds all that the run draws, and what the file gives again.
//!
//! **Why the plan's guarantee holds, once.** Let a_1 .. a_k be the answers that are kept.
//! 1. *What is drawn and not kept is seen by nobody.* The program, and users' code that it calls, get an answer after
//!    it is on the disk. A process that ends between a draw and the write takes the draw with it; whether it ends there
//!    does not depend on it. So the answers that anyone can have seen are those of the file, at every time.
//! 2. *One transcript.* Programs are functions of public facts and of answers ([`Session`](super::Session)), so the
//!    program asks its k + 1st question as the first run would have asked it after a_1 .. a_k. It is drawn from the law
//!    that the first run would have drawn from, by bits that nothing else used. Hence (a_1, .., a_k, a_(k+1), ..) has
//!    the law of one run, and what was committed covers it. Nothing of this asks for exact repetition: events are those
//!    of the question whatever is said when it is asked, and adaptive composition lets that depend on earlier answers
//!    in any way. Digests of what is said find other versions of the program, whose models would be wrong.
//! 3. *One continuation.* Two that go on from the same k answers would release the rest twice. A file is locked while
//!    it is in use, and holds every answer that was handed out. Copies of a file cannot be told from it: that only one
//!    of them goes on is the user's promise, which certificates of releases that were resumed state
//!    ([`Certificate::assumptions`](crate::certificate::Certificate)).
//! 4. *Other records.* Were the records others in the second run, each answer would still be private for the persons
//!    behind its own, and the composed bound would hold for each of them; the model would be of a mixture. That they
//!    are the same is a promise as well. It is not checked: a digest of records would tell of them.
//! 5. *States*, such as margins, are brought by [`Answer::replay`](super::Answer::replay) to where the answers left
//!    them. They decide what is summed, not how far it moves: every state is one that some public moves lead to.
//!
//! **Seeds.** A seeded release keeps how far its generator was after each answer, and goes on from there: the model is
//! that of an uninterrupted release, bit for bit. It has no guarantee before or after. A secure one keeps nothing of
//! the kind: how many bits a draw took tells of its noise.

use std::collections::VecDeque;
use std::fmt::{Debug, Write};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::journal::{Journal, hexadecimal};
use super::seal::Sealed;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::question::Planned;

/// What certificates of resumed releases assume besides.
pub(super) const RESUMED: &str = "the release was resumed from a checkpoint, with the records that it was begun with, and \
     no other copy of the checkpoint was continued: each would cost as much again";

/// Of which release a file holds the answers.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    version: String,
    /// Digest of the sealed plan.
    plan: String,
    /// What tells seeds apart; None: bits of the operating system.
    seeded: Option<u64>,
    /// The mark of the release: random digits.
    release: String,
}

/// An answer.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept<A> {
    question: usize,
    at: String,
    answer: A,
    /// How far a seeded generator was after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<u64>,
}

/// Which question is asked, and how.
pub(super) struct Asked {
    question: usize,
    at: String,
}

/// The answers of a release: those that are kept and still to be given again, then new ones.
#[derive(Debug)]
pub(in crate::privacy) struct Transcript {
    journal: Journal,
    /// Questions of the plan, in its order.
    questions: Vec<u64>,
    again: VecDeque<String>,
    resumed: bool,
    release: String,
}

/// A digest of how something is written: of public facts alone.
pub(super) fn digest(of: &dyn Debug) -> String {
    struct Text(Sha256);
    impl Write for Text {
        fn write_str(&mut self, part: &str) -> std::fmt::Result {
            self.0.update(part.as_bytes());
            Ok(())
        }
    }
    let mut text = Text(Sha256::new());
    // Neither the text nor what is written fails.
    let _ = write!(text, "{of:?}");
    hexadecimal(text.0)
}

/// 128 random bits: no two releases have the same, whatever their seeds.
fn mark() -> Result<String> {
    let mut source = Source::secure()?;
    Ok(format!("{:016x}{:016x}", source.bits(), source.bits()))
}

fn another() -> Error {
    Error::checkpoint(
        "holds the answers of another release: other records, parameters, seed or version; delete it to start anew",
    )
}

impl Transcript {
    /// The answers in a file, which is made where there is none. Nothing is spent.
    ///
    /// # Errors
    /// [`Error::Checkpoint`] for a file that is damaged, in use, of another release, or cannot be written; for a plan
    /// with answers that may not be kept.
    pub fn open<R>(path: &Path, plan: &Sealed<R>, source: &Source) -> Result<Self> {
        let all: Vec<_> = (plan.planned.iter()).flat_map(Planned::questions).collect();
        if !all.iter().all(|question| question.may_be_kept) {
            return Err(Error::checkpoint(
                "cannot be had under add-remove for a search: the split of the records would be in it, and tell how many \
                 there are",
            ));
        }
        let facts = Facts {
            version: env!("CARGO_PKG_VERSION").into(),
            plan: plan.digest(),
            seeded: source.mark(),
            release: mark()?,
        };
        let first = serde_json::to_string(&facts).map_err(|_| another())?;
        let (journal, lines) = Journal::open(path, &first)?;
        let mut again = VecDeque::from(lines);
        let line = again.pop_front().ok_or_else(another)?;
        let found: Facts = serde_json::from_str(&line).map_err(|_| another())?;
        let release = found.release.clone();
        let facts = Facts {
            release: release.clone(),
            ..facts
        };
        if found != facts {
            return Err(another());
        }
        Ok(Self {
            journal,
            questions: all.iter().map(|question| question.id).collect(),
            resumed: !again.is_empty(),
            again,
            release,
        })
    }

    /// The mark of the release.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// Whether there were answers.
    pub fn resumed(&self) -> bool {
        self.resumed
    }

    pub(super) fn asked(&self, question: u64, at: &dyn Debug) -> Asked {
        let place = self.questions.iter().position(|&id| id == question);
        Asked {
            question: place.unwrap_or(usize::MAX),
            at: digest(at),
        }
    }

    /// The answer that is kept for a question, and where a seeded generator was after it; None: it is a new one.
    ///
    /// # Errors
    /// [`Error::Checkpoint`] where it was not the next one, or was asked in another way.
    pub(super) fn again<A: DeserializeOwned>(
        &mut self,
        asked: &Asked,
    ) -> Result<Option<(A, Option<u64>)>> {
        let Some(line) = self.again.pop_front() else {
            return Ok(None);
        };
        let kept: Kept<A> = serde_json::from_str(&line).map_err(|_| another())?;
        if (kept.question, &kept.at) != (asked.question, &asked.at) {
            return Err(another());
        }
        Ok(Some((kept.answer, kept.position)))
    }

    /// Keeps an answer, before anyone sees it.
    ///
    /// # Errors
    /// [`Error::Checkpoint`].
    pub(super) fn keep<A: Serialize>(
        &mut self,
        asked: Asked,
        answer: &A,
        source: &Source,
    ) -> Result<()> {
        let Asked { question, at } = asked;
        self.append(&Kept {
            question,
            at,
            answer,
            position: source.position(),
        })
    }

    fn append(&mut self, line: &impl Serialize) -> Result<()> {
        let line = serde_json::to_string(line);
        let line =
            line.map_err(|_| Error::checkpoint("cannot hold an answer that is not finite"))?;
        self.journal.append(&line)
    }
}

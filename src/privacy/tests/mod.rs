//! The promises of the room, each against the whole of it: a session, a budget, the records, the samplers.
//!
//! - `refusals`: what is refused, and that nothing is drawn then; `before_spending`: what follows from the records.
//! - `derived`: which records a map, of features, targets or scores, makes of others.
//! - `progress`: what is heard of a release at work.
//! - `checkpoints`: a release that was stopped goes on, and is one release.
//! - `neighbours`: what is drawn from moves by no more than events say, for every kind of question.
//! - `classes`: the same for softmax models, whose slopes have three norms.
//! - `lagging`: slopes that may lag behind depend on their own records alone, in every storage.
//! - `covers`: the noise on a perturbed minimiser covers all that sets it apart from the exact one.
//! - `parts`: when a part of the records is read anew.
//! - `laws`: what is drawn around it follows the stated law.
//! - `points`: what points are, before they leave.
//! - `roofline`: no test, a table of how fast passes over dense records are beside a plain read.
//! - `weights`: what a weight does to a record, for every kind of question.

mod before_spending;
mod checkpoints;
mod classes;
mod covers;
mod derived;
mod harness;
mod lagging;
mod laws;
mod neighbours;
mod parts;
mod points;
mod progress;
mod refusals;
mod roofline;
mod weights;

//! The promises of the room, each against the whole of it: a session, a budget, the records, the samplers.
//!
//! - `refusals`: what is refused, and that nothing is drawn then.
//! - `neighbours`: what is drawn from moves by no more than events say, for every kind of question.
//! - `parts`: when a part of the records is read anew.
//! - `laws`: what is drawn around it follows the stated law.

mod harness;
mod laws;
mod neighbours;
mod parts;
mod refusals;

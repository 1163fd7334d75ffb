//! THE TRUSTED ROOM: the only code that reads records, and everything that a guarantee rests on.
//!
//! Audit guide, in reading order:
//!
//! 1. [`schema`](Schema): public facts, and the map of features onto integers.
//! 2. [`bounded_data`](BoundedData), with `dense_records`, `sparse_records`, `lines` and `row_norm`: records are
//!    clipped, rounded and shortened on entry. Fields are visible in here only.
//!    `counts`: how many values lie between public thresholds.
//!    `feature_map` and `feature_clip`: maps and ranges that are public, or were released, applied to them.
//! 3. [`derivative_lattice`](DerivativeLattice): d_i is a clamped integer function of record i and of public state.
//!    `float_products`: products with floats and their errors, for answers that rounded derivatives would break.
//! 4. [`sensitivity`]: the bounds of gradients and scores, with proofs; other answers have theirs beside them.
//!    [`event`], [`accountant`], [`calibrate`]: what an answer costs.
//! 5. [`noise`]: one generator, exact laws. [`selection`]: the exact exponential mechanism.
//! 6. [`answer`]: the only exits. Each takes its event off the budget (`ledger`), then draws.
//!
//! Invariants, each with a test:
//! - nothing outside `privacy` reads a record (it does not compile);
//! - at a public theta, the contribution of record i depends on record i and on public state alone, whatever a user's
//!   loss does: it was tabulated before any record was read;
//! - integers are exact: no result depends on threads, storage or the order of records, and no accumulator overflows;
//! - an answer that the plan does not hold is refused before anything is drawn;
//! - floats never decide a random choice: weights are enclosed in integers and compared with lazily drawn bits.
//!
//! Trusted beyond this folder: the catalogued losses, `numeric` (the one file of it with `unsafe` is `kernel`), the
//! ChaCha20 generator and the operating system's entropy. Not trusted: polytopes' callers, mechanisms, Python, users'
//! losses.
#![forbid(unsafe_code)]

pub mod answer;
mod bounded_data;
mod budget;
mod column_sums;
mod counts;
mod curator;
mod dense_records;
mod feature_clip;
mod feature_map;
mod fine_gradient;
mod float_products;
mod float_records;
mod in_memory;
mod lines;
mod minimiser;
mod private_sizes;
mod records;
mod release;
mod row_norm;
mod seal;
mod second_moments;
mod session;
mod slopes;
mod sparse_records;
mod stream;
#[cfg(test)]
mod tests;

pub use crate::accounting::ledger::{Entry, Ledger, MemoryLedger, Receipt};
pub use crate::accounting::{accountant, calibrate, event};
pub use crate::exact::{noise, selection};
pub use crate::question::{
    Planned, Question, RoomModel, RunningPlan, SlopeBound, SlopeLattice, Statement, events_of,
};
pub use crate::schema::{Bounds, Geometry, Schema, Target};
pub use answer::Answer;
pub use curator::Curator;
pub use feature_map::FeatureMap;
pub use release::{Released, Witness, release};
pub use seal::{Claim, Program, Sealed, for_reproduction, seal};
pub use session::{Report, Session};
pub use sparse_records::{Compressed, Orientation};
pub use stream::RunningSoftmax;

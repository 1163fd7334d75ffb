//! THE TRUSTED ROOM: the only code that reads records.
//!
//! What a guarantee rests on, in reading order:
//!
//! 1. [`schema`](crate::schema): public facts, and the map of features onto integers.
//! 2. [`question`](crate::question): statements of neighbours, sensitivities with their proofs, and what each question
//!    costs. It reads no record.
//! 3. [`exact`](crate::exact) and [`accounting`](crate::accounting): samplers on integers, and what events cost
//!    together.
//! 4. `curator` with `raw`, `blocks` with `columns`, `bounded_data` with `dense_records`, `packed_records`, `packed`,
//!    `sparse_records`, `lines`, `row_norm`, `row_weight`, `record_weights`: records are clipped, rounded, shortened
//!    and weighed on entry. `private_sizes`: memory for them, and for all that is made of them, is asked for then.
//!    `counts`, `feature_map`, `projection`, `feature_clip`: values between public thresholds; public maps, of
//!    features, targets and scores. `derived`: these maps as data. `shards`: records that are on other machines, as the
//!    curator asks them and as a worker answers.
//! 5. `records`, `block`: passes over them, for the answers alone. `lagging_scores`: when a record's slope is taken
//!    anew, where slopes may lag behind; `lagging_gradient`, `changing_sums`, `rare_columns`: what that changes.
//!    `slopes`, `balanced_slopes`, `planes`, `groups`, `one_read`, `sparse_products`, `column_sums`, `second_moments`,
//!    `fine_gradient`, `float_products`: sums in integers, and floats with their errors. `minimiser`: minimisers with
//!    proved gaps.
//! 6. [`answer`]: one file per kind of question draws its answer. [`seal`](seal()), `session`, `budget`,
//!    [`release`](release()): a program is sealed only if its questions cost no more than its claim, and only a sealed
//!    program is run. `checkpoint`, `journal`: answers that were given are kept, and a release that was stopped goes on
//!    from them.
//!
//! Invariants, and the tests that hold them (here in `privacy/tests`, else in `tests/architecture.rs`):
//! - no mechanism reads a record, spends by hand, makes a certificate or answers itself: `the_room_is_sealed`,
//!   `mechanisms_do_not_answer`;
//! - what was not planned is not answered, and what was planned and not asked is not released:
//!   `more_than_was_planned_is_refused`, `less_than_was_planned_is_not_released`;
//! - the ledger is charged before anything is drawn, and the certificate states what was asked:
//!   `the_ledger_comes_first`;
//! - bad arguments spend nothing: `what_is_said_is_checked_first`;
//! - every kind of record that may be derived stands in a statement of its own:
//!   `sessions_are_derived_as_their_statements_say`, `derived.rs`;
//! - no error follows from the records, or from how many there are, once anything is spent: `before_spending.rs`
//!   (blocks in files: as long as the disk works, and others leave the room on it that was there at the start; records
//!   on workers: as long as there are workers);
//! - sums over blocks are those of the whole: `sums_over_blocks_are_those_of_the_whole`, `tests/test_blocks.py`; and of
//!   shards, also of those that were lost: `lost_shards_change_nothing`, `wrong_replies_are_refused`,
//!   `tests/test_distributed.py`;
//! - a release that was stopped and goes on is one release, paid for once: `checkpoints.rs`;
//! - progress tells public numbers alone: `descents_report_their_steps_and_minimisers_none`;
//! - sensitivities bound what neighbours do, and are reached in part: `neighbours.rs`;
//! - what is read from data is checked as what is made: `facts_that_are_read_are_checked`,
//!   `constants_of_no_map_are_refused`, `losses_that_are_read_are_checked`, `plans_that_are_read_are_checked`;
//! - norms that are asked in the room are the crate's own: `what_others_wrote_is_not_reviewed`;
//! - when a slope is taken anew is a matter of its record and of public steps alone: `lagging.rs`;
//! - draws follow the laws that the events state, at false positives of 1e-6: `laws`;
//! - no result depends on threads, storage or the order of records: `every_storage_has_the_same_image`,
//!   `the_error_is_within_its_bound_and_storages_agree`, and `tests/frank_wolfe.rs`.
//!
//! `tests/planted` breaks each of these in turn, and wants the test that is named there to fail.
//!
//! Trusted beyond these rooms: catalogued losses (`loss::Catalogued`), the proxes of reviewed norms and the `minimise`
//! beneath them, `numeric` (whose files `kernel` and `mapped` have the crate's only `unsafe`), the ChaCha20 generator
//! and the operating system's entropy. Not trusted: mechanisms, Python, users' losses and norms.
#![forbid(unsafe_code)]

pub mod answer;
mod balanced_slopes;
mod block;
mod blocks;
mod bounded_data;
mod budget;
mod changing_sums;
mod checkpoint;
mod class_shares;
mod column_sums;
mod columns;
mod counts;
mod curator;
mod curvature;
mod dense_records;
mod derived;
mod feature_clip;
mod feature_map;
mod fine_gradient;
mod float_products;
mod float_records;
mod groups;
mod image_sums;
mod journal;
mod lagging_gradient;
mod lagging_scores;
mod lines;
mod mean_count;
mod minimiser;
mod one_read;
mod packed;
mod packed_records;
mod planes;
mod private_sizes;
mod projection;
mod rare_columns;
mod raw;
mod record_weights;
mod records;
mod release;
mod row_norm;
mod row_weight;
mod running_sums;
mod seal;
mod second_moments;
mod session;
mod shards;
mod slopes;
mod sparse_products;
mod sparse_records;
mod stream;
#[cfg(test)]
mod tests;
mod thresholds;

pub use crate::accounting::{accountant, calibrate, event};
pub use crate::certificate::ledger::{Entry, Ledger, MemoryLedger, Receipt, Total};
pub use crate::exact::{noise, selection};
pub use crate::question::{
    FeatureMap, Planned, Question, RoomModel, RunningPlan, RunningSumsPlan, SlopeBound,
    SlopeLattice, Statement, events_of,
};
pub use crate::schema::{Bounds, Geometry, Schema, Target};
pub use answer::Answer;
pub use curator::Curator;
pub use raw::{BlockSource, RawBlock, TakeBlock};
pub use release::{Released, Witness, release, release_resumably};
pub use running_sums::RunningSums;
pub use seal::{Claim, Program, Sealed, for_reproduction, seal};
pub use session::{Report, Session};
pub use shards::{Script, Shard, ShardSource, TakeRecords, Workers};
pub use shards::{merged_replies, split_reply};
pub use sparse_records::{Compressed, Orientation};
pub use stream::RunningSoftmax;

//! What must not leak around a mechanism.
//!
//! A proof speaks of released values. Whatever else depends on the records and reaches anyone but their curator is a
//! release that nobody paid for.
//!
//! # Never shown
//!
//! Training loss, duality gaps, traces of iterates, numbers of clipped entries, numbers of iterations that depend on
//! records, and texts of errors or warnings with a value from a record. An error of this crate names an argument, a
//! shape or a public fact ([`Error`](crate::Error)); that a check of the domain raised (non-finite values, unknown
//! labels, too many records) is the one thing that it tells, and it is told before anything is spent. What a run may
//! stop for is public: the plan's counts, and the caller's own interrupt.
//!
//! # Never looked at
//!
//! A row norm, the choice of a mechanism, the number of steps and the penalty that are not given are functions of
//! public facts: not of the number of non-zero entries, not of maxima. Empty columns stay candidates: a column is empty
//! by the records' account only.
//!
//! # Functions of the release
//!
//! The support of a model is a function of its released coefficients. A pickle of an estimator holds no record,
//! quantised or not. Weights of records are clipped to a public largest one, by which sensitivities are multiplied.
//!
//! # Running time
//!
//! It depends on data: on how stale rows are refreshed, on how often a sampler rejects, on how soon a minimiser is
//! found. **Timing is outside of the guarantee**, no promise about wall-clock time is made, and a curator who lets
//! others measure it must add a delay. What is proved is that no *expected* number of rounds of a sampler exceeds a
//! bound free of data ([`selection`](super::selection)). How often a run looks whether it is to stop is running time,
//! too: its [`Report`](crate::privacy::Report) is called anew with the same public numbers for as long as an answer
//! works, once a pass of a minimiser, so that whoever counts calls counts passes. Python hears of one in 50 ms.
//!
//! A single choice can be had with the same work whatever its scores are, by inversion instead of rejection
//! ([`draw_in_constant_time`](crate::exact::selection::draw_in_constant_time)): among scores that are all equal the
//! rejection sampler needs fewer rounds than among others, within its bound, which is what shows of choices when they
//! are timed (`benches/timing_side_channel.py`). Passes over records, refreshes of stale rows and exact minimisers have
//! no such variant.
//!
//! # What outlives a process
//!
//! Answers that are kept for a release that may be stopped are released ones. Neither states, nor the generator, nor
//! digests of records are kept; a release that goes on draws fresh bits. Proof: `privacy/checkpoint.rs`.
//!
//! # For the curator
//!
//! Diagnostics that read records without noise have `non_private` in their names ([`privacy`](crate::privacy)).
//!
//! # Code
//!
//! The [`Certificate`](crate::Certificate) lists the events spent, the assumptions, and whether the randomness came
//! from the operating system.

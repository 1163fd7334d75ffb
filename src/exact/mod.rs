//! Exact randomness: integer noise and choices whose laws hold to the last bit, and nothing that reads a record.
//!
//! | folder | what stands there |
//! |---|---|
//! | [`noise`] | the generator, and integer laws |
//! | [`selection`] | the exponential mechanism over integer scores, signs, groups and subsets |
//!
//! # Reading order
//!
//! 1. `numeric::enclosure`, the only arithmetic that a law rests on: exp(-x) between two integers, as near as wanted.
//! 2. [`noise::source`] (words, uniform integers, forks), then [`noise::bernoulli`]: a comparison of lazily drawn
//!    digits with an enclosure. Every law below ends in one of the two.
//! 3. `noise::rate`, `noise::histogram`, `noise::strips`: a point below a histogram, kept if it is below the density;
//!    then the laws on top of it, and [`noise::integer_law`] for vectors.
//! 4. `selection::inverse_temperature` and `selection::dyadic_classes`, then the choices in the order of [`selection`].
//!
//! # Invariants, and the tests that hold them
//!
//! - Enclosures hold the truth, and nest: `fast_enclosure_contains_the_truth`, `narrow_enclosures_nest`,
//!   `bounds_enclose_the_exponent`, `wide_exponents_enclose`.
//! - A coin is exact whatever the first enclosure is: `bernoulli::tests::refinement_is_exact`,
//!   `digits_beyond_the_first_word_are_drawn`, `histogram::tests::refinement_is_exact`.
//! - Integers are uniform below bounds of any width: `below_is_uniform_up_to_the_widest_bounds`.
//! - A sign is independent of its magnitude: `signs_say_nothing_of_magnitudes`.
//! - One word stands for one unit of a histogram: `every_unit_belongs_to_one_word`, `all_words_enumerated`.
//! - A tail that is not covered is refused: `a_tail_that_falls_too_slowly_is_refused`.
//! - Rounding is that of the full real: `rounding_is_exact`, `undecided_rounding_is_drawn_on`.
//! - A class never promises more than the weight: `class_is_a_tight_lower_bound`.
//! - The class of a product is that of the whole product: `a_strong_group_beside_a_large_one`, `words_are_bounded`.
//! - Laws are those that are written down: the tests called `frequencies_follow_the_law`, `tests/test_noise.py`,
//!   `tests/test_selection.py`.
//! - A choice of many summands costs what it says: `neighbours_stay_within_rho`, `a_cut_is_no_cover`,
//!   `subsets_are_no_cross`.
//! - A forked child draws its own noise: `a_forked_source_gets_a_new_key`, `a_forked_child_draws_its_own_vectors`,
//!   `tests/test_fork.py`.
//! - No thread and no look for Ctrl-C changes a value: `threads_change_no_value_and_parts_are_not_repeated`,
//!   `looks_come_in_time_and_stop_the_work`.
//! - Nothing wraps: `nothing_wraps`, `scales_of_the_whole_domain`, `wide_gaps_and_ties`.
//!
//! # Bounds on rounds
//!
//! The time of a sampler may depend on data, but only within a bound that no data can move: an expected number of
//! rounds that is proved beside each loop, and stands here once more. m and k are public sizes.
//!
//! | loop | expected rounds | why |
//! |---|---|---|
//! | [`noise::source::Source::below`] | < 2 | the bound exceeds half of the power of two |
//! | [`noise::bernoulli::bernoulli`], refinements | < 1.01 | the digits fall into a narrow enclosure |
//! | `noise::histogram::Histogram::below` | < 2 | the same |
//! | `noise::strips::Strips::draw` | < 1.2 | strips cover little more than the density |
//! | `noise::strips::Strips::draw_signed` | < 2.4 | and one of two zeros is kept |
//! | `noise::strips`, zeros before a one | < 1.01 words | a word is 0 with probability 2^-64 |
//! | [`noise::rounded_gaussian`], digits | < 2 | an interval holds one tie at most |
//! | [`noise::spherical_gamma`] | none of its own | |
//! | [`selection::exponential`] | < 5 | a weight is above 1/4 of its class, the least score has weight 1 |
//! | [`selection::sign`] | <= 2 | the better sign is kept, and is proposed half the time |
//! | [`selection::cosh_groups`] | < 5 | a whole product is above 1/4.1 of its class |
//! | `selection::signed_subset`, a state | <= 4 | the likeliest of three states is kept |
//! | `selection::signed_subset`, all of m | <= 9 sqrt(min(k, m - k)) + 3 | the threshold expects k, k is the mode |
//! | [`selection::minkowski`] | none of its own | |
//!
//! Tests count the words that are drawn rather than the time: `words_are_bounded`, `large_gaps_and_products`,
//! `rounds_stay_below_their_bound`, `small_weights_are_chosen_soon`.
//!
//! # What is trusted
//!
//! - ChaCha20 (crate `chacha20`) as a source of independent uniform words under a key nobody knows, and its streams
//!   under one key as independent; `getrandom` for that key. Seeded sources carry no guarantee, and certificates say
//!   so.
//! - The integers of `num-bigint`, and those of the language where a comment bounds them: with overflow checks in
//!   builds of this package, and in a crate that depends on it where its profile asks for them ([the crate](crate)).
//! - Floats decide nothing about a law here but in [`noise::spherical_gamma`], which states its distance to an exact
//!   draw; the threshold of `selection::signed_subset` decides the number of rounds alone, and what
//!   `selection::minkowski` spends is rounded up.
//! - Nothing is promised about the time that a draw takes beyond its expectation.
#![forbid(unsafe_code)]

pub mod noise;
pub mod selection;
#[cfg(test)]
pub(crate) mod tap;

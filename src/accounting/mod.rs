//! What releases cost: events, their composition, and the noise that a budget buys. Nothing here reads a record.
//!
//! # For an audit
//!
//! Everything stated about privacy passes through here, so every answer must be an upper bound in exact arithmetic.
//! Read in this order:
//!
//! 1. [`event`], then [`event::gaussian`], [`event::bounded_range`], [`event::randomised_response`], `event::objective`
//!    and [`event::failure`]: what an event is, and its curves with their proofs and slacks;
//! 2. `accountant/renyi.rs` (conversion), `accountant/split.rs` (basic composition), `accountant/exact.rs` (choices,
//!    pure events and noise in any order: the proof), `accountant/choices.rs` and `curve.rs` (the optimum of choices of
//!    one range) and `law.rs` (laws of losses and their sums), [`accountant`] (which bounds are taken together);
//! 3. `memory`: the accountant's answers are kept by every bit of their question;
//! 4. [`dominating`]: what stands for a choice that depends on the data;
//! 5. [`crate::certificate`]: what is recomputed when a certificate is verified;
//! 6. [`filter`]: totals of releases that are chosen one after the other; `certificate/ledger.rs`: where they are
//!    written down.
//!
//! [`calibrate`], `guess` and `guided` may be wrong without harm: a parameter that they return was put to the
//! accountant.
//!
//! | invariant | held by |
//! |---|---|
//! | curves are never below 50-digit references | `tests/test_accounting.py`: `test_gaussian_delta`, `test_bounded_range_renyi`, `test_pure_renyi`, `test_objective_perturbation_renyi`, `test_objective_perturbation_delta`, `test_order_one_is_the_kullback_leibler_divergence` |
//! | nor are conversions, near delta 1 too | `test_delta_is_rounded_up_everywhere`, `test_zcdp_conversion`, `test_composed_renyi_curves` |
//! | curves rise with the order and stay below rho times it | `event::tests::renyi_is_monotone_in_the_order_and_below_rho` |
//! | parameters are in their domain, read back or made | `event::tests::json_round_trips_and_is_checked`, `bad_parameters_are_named` |
//! | one more event never lowers an answer, but for what another grid leaves of epsilon, and every event counts | `accountant::tests::one_more_event_costs_no_less`, `one_more_choice_or_noise_costs_no_less`, `every_event_of_a_composition_counts` |
//! | mixtures are never below their exact curve | `accountant::tests::mixtures_are_never_below_their_exact_curve` |
//! | curves of choices are never below their optimum, and near it | `choices::tests::two_and_three_adaptive_choices_are_their_nested_suprema`, `many_choices_are_never_below_choices_that_are_fixed_beforehand`, `a_step_is_the_supremum_over_chords`, `curve::tests::a_curve_goes_on_above_what_it_bounds`, `tails_lie_above_gaussian_ones`; `test_choices_are_never_below_the_best_that_is_fixed_beforehand`, `test_choices_are_near_the_adaptive_optimum`, `test_many_choices_are_near_the_adaptive_optimum` |
//! | nor do other orders of choices, pure events and noise cost more | `exact::tests::no_order_of_a_mixture_costs_more`, `test_choices_beside_noise`, `test_pure_events_are_the_best_responses` |
//! | laws on grids lie above what they stand for | `law::tests::another_grid_lies_above_and_near`, `a_curve_is_that_of_its_law`, `responses_are_counted`, `sums_are_those_of_independent_losses` |
//! | zCDP parameters of noise are rounded up | `event::tests::costs_of_noise_are_rounded_up` |
//! | failures add to every delta | `test_failures_add_to_every_delta`, `event::failure::tests::it_is_the_privacy_of_a_broken_release` |
//! | delta 0 is stated for pure events alone | `test_delta_zero_is_pure_privacy` |
//! | a remembered answer belongs to its question | `memory::tests::an_answer_is_computed_once_and_belongs_to_its_question`, `every_part_of_a_question_is_in_its_key` |
//! | a calibrated budget is kept by both answers | `calibrate::tests::a_calibrated_budget_is_kept_by_both_answers`, `test_a_calibrated_budget_is_kept_by_both_answers` |
//! | a guide only leads to the edge of what is asked | `guided::tests::the_edge_is_found_from_its_satisfied_side_in_few_evaluations`, `a_guide_that_is_wrong_costs_time_alone` |
//! | dominating events lie above every option | `dominating::tests::curves_of_the_result_dominate_those_of_each_option` |
//! | a certificate that was edited, or contradicts itself, does not verify | `certificate::tests::no_single_edit_leaves_a_certificate_that_verifies`, `contradictions_are_refused_even_under_a_matching_checksum` |
//! | a claim below what was spent does not verify | `certificate::tests::a_claim_below_what_was_spent_does_not_verify` |
//! | releases that a filter lets through keep its total | `filter::tests::what_passes_keeps_the_total`, `no_strategy_breaks_the_total` |
//! | a seeded run never verifies | `certificate::tests::a_seeded_run_has_no_guarantee_and_says_so_first` |
//!
//! Trusted beyond: [`crate::numeric::directed`] (rounding), [`crate::numeric::normal`] and
//! [`crate::numeric::quadrature`] (special functions with stated errors), `exp`, `ln`, `ln_1p`, `exp_m1`, `sinh`,
//! `cosh` and `tanh` of the platform's mathematical library within the few units of 2^-53 that the slacks allow, the
//! theorems cited beside the curves, and that events say truly what was released: that is the part of
//! [`crate::privacy`] and [`crate::exact`].
#![forbid(unsafe_code)]

pub mod accountant;
pub mod calibrate;
pub mod dominating;
pub mod event;
pub mod filter;
mod guess;
mod guided;
mod memory;

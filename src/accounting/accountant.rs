//! Composition of events, and the (epsilon, delta) that it buys ([`crate::theory_of_privacy::noise_and_accounting`]).

mod choices;
mod curve;
mod exact;
mod law;
mod renyi;
mod split;

use super::event::{Adjacency, Event, gaussian, randomised_response};
use super::memory::{Question, remembered};
use crate::error::{Error, Result};
use crate::numeric::directed::{add_up, count_up, div_up, mul_up, sqrt_up, sub_down};
use exact::{Exact, Group};
use split::Split;

/// Adds events up. All answers are upper bounds, rounded up, and hold for adaptively chosen queries as long as the
/// *parameters* of the events were fixed beforehand (choosing those adaptively needs a privacy filter,
/// [`crate::theory_of_privacy::noise_and_accounting`]).
///
/// Of the bounds that apply it gives the least:
/// - Gaussian events alone: the exact curve at ratio sqrt(sum of (sensitivity/sigma)^2) (Dong, Roth & Su 2022,
///   corollary 2), which nothing beats;
/// - events of pure epsilon, alone or with Gaussian ones: basic composition of the summed epsilon, by the curve of
///   randomised response or added to the exact Gaussian curve;
/// - choices, pure and Gaussian events: the curve of independent losses that are worst for each kind, which covers
///   every order; of choices of one range, or of pure events, it is the optimum but for grids and groups (less than
///   0.5 % of epsilon up to 200 choices, 0.7 % for thousands);
/// - anything: the summed Renyi curves, converted at the best order;
/// - objective perturbations: the Renyi bound, or their own curve if there is one alone, else a split of delta;
/// - failures: their probabilities add to the delta of all else ([`super::event::failure`]).
///
/// ```
/// use dpsparse::accounting::accountant::Accountant;
/// use dpsparse::accounting::event::Event;
/// let mut accountant = Accountant::new();
/// accountant.add(Event::exponential(0.1)?, 100)?;
/// let epsilon = accountant.epsilon(1e-6)?;
/// assert!(epsilon > 2.249 && epsilon <= 2.256);
/// assert!(accountant.delta(epsilon)? <= 1.000001e-6);
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Accountant {
    events: Vec<(Event, u64)>,
}

impl Accountant {
    /// No events: epsilon 0, delta 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `count` runs of an event; equal events are kept together.
    ///
    /// # Errors
    /// A parameter out of its domain, `count` 0, or an adjacency other than that of an earlier event.
    pub fn add(&mut self, event: Event, count: u64) -> Result<&mut Self> {
        let event = event.checked()?;
        if count == 0 {
            return Err(Error::invalid("count", "must be at least 1"));
        }
        if let (Some(ours), Some(theirs)) =
            (self.adjacency(), event.objective().map(|o| o.adjacency()))
            && ours != theirs
        {
            return Err(Error::invalid(
                "event",
                "has another adjacency than an earlier event; one budget holds one adjacency",
            ));
        }
        match self.events.iter_mut().find(|(known, _)| *known == event) {
            Some((_, total)) => {
                *total = total
                    .checked_add(count)
                    .ok_or_else(|| Error::invalid("count", "adds up to more than 2^64 - 1"))?;
            }
            None => self.events.push((event, count)),
        }
        Ok(self)
    }

    /// The events in the order of their first addition, with their counts.
    pub fn events(&self) -> &[(Event, u64)] {
        &self.events
    }

    /// The summed zCDP parameter, rounded up; None where an event has none. 0 for no events. Failures are carried
    /// apart: it is the parameter of the release where none happens.
    ///
    /// ```
    /// use dpsparse::accounting::{accountant::Accountant, event::Event};
    /// let mut accountant = Accountant::new();
    /// accountant.add(Event::gaussian(1.0, 2.0)?, 4)?;
    /// assert_eq!(accountant.rho(), Some(0.5));
    /// # Ok::<(), dpsparse::Error>(())
    /// ```
    pub fn rho(&self) -> Option<f64> {
        self.events.iter().try_fold(0.0, |sum, (event, count)| {
            Some(add_up(sum, mul_up(count_up(*count), event.rho()?)))
        })
    }

    /// The least delta for which the composition is proved (epsilon, delta)-DP, rounded up.
    ///
    /// # Errors
    /// `epsilon` negative or not finite.
    pub fn delta(&self, epsilon: f64) -> Result<f64> {
        check_epsilon(epsilon)?;
        let afresh = || Ok(self.delta_afresh(epsilon));
        remembered(Question::Delta, &self.events, &[epsilon], afresh)
    }

    /// As [`Accountant::delta`] at a checked `epsilon`, not remembered: for searches whose result is.
    pub(super) fn delta_afresh(&self, epsilon: f64) -> f64 {
        let parts = self.parts();
        add_up(parts.delta(epsilon), parts.failures).min(1.0)
    }

    /// The least epsilon for which the composition is proved (epsilon, delta)-DP, rounded up; infinite where nothing is
    /// proved, as at `delta` 0 unless every event is pure, or where failures use `delta` up.
    ///
    /// # Errors
    /// `delta` negative, or 1 or more.
    ///
    /// ```
    /// use dpsparse::accounting::{accountant::Accountant, event::Event};
    /// let mut accountant = Accountant::new();
    /// assert_eq!(accountant.add(Event::pure(0.5)?, 2)?.epsilon(0.0)?, 1.0);
    /// assert_eq!(accountant.add(Event::failure(1e-9)?, 1)?.epsilon(1e-9)?, 1.0);
    /// assert_eq!(accountant.epsilon(0.0)?, f64::INFINITY);
    /// # Ok::<(), dpsparse::Error>(())
    /// ```
    pub fn epsilon(&self, delta: f64) -> Result<f64> {
        check_delta(delta)?;
        let afresh = || Ok(self.epsilon_afresh(delta));
        remembered(Question::Epsilon, &self.events, &[delta], afresh)
    }

    /// As [`Accountant::epsilon`] at a checked `delta`, not remembered.
    pub(super) fn epsilon_afresh(&self, delta: f64) -> f64 {
        let parts = self.parts();
        // Rounded down: what is left and the failures add up to at most delta.
        let left = sub_down(delta, parts.failures);
        if left > 0.0 {
            parts.epsilon(left)
        } else if left == 0.0 {
            parts.pure()
        } else {
            f64::INFINITY
        }
    }

    fn adjacency(&self) -> Option<Adjacency> {
        self.events
            .iter()
            .find_map(|(event, _)| event.objective().map(|o| o.adjacency()))
    }

    fn parts(&self) -> Parts {
        let mut plain = Plain {
            gaussian: 0.0,
            pure: Some(0.0),
            rho: 0.0,
            curved: Vec::new(),
            exact: None,
        };
        let mut groups = Some(Vec::new());
        let mut objectives = Vec::new();
        let (mut squares, mut failures) = (0.0, 0.0);
        for &(ref event, times) in &self.events {
            let count = count_up(times);
            if let Some(objective) = event.objective() {
                objectives.push((objective, count));
                continue;
            }
            match (*event, event.pure_epsilon()) {
                (Event::Gaussian { sensitivity, sigma }, _) => {
                    let ratio = div_up(sensitivity, sigma);
                    squares = add_up(squares, mul_up(count, mul_up(ratio, ratio)));
                }
                (Event::Failure { delta }, _) => {
                    failures = add_up(failures, mul_up(count, delta));
                }
                (_, Some(epsilon)) => {
                    plain.pure = plain.pure.map(|sum| add_up(sum, mul_up(count, epsilon)));
                    plain.curved.push((*event, count));
                    let group = match event {
                        Event::Exponential { epsilon0 } => Group::choices(*epsilon0, times),
                        _ => Group::pure(epsilon, times),
                    };
                    groups = groups.and_then(|mut known: Vec<Group>| {
                        known.push(group?);
                        Some(known)
                    });
                }
                (_, None) => {
                    plain.pure = None;
                    let rho = event.rho().unwrap_or(f64::INFINITY);
                    plain.rho = add_up(plain.rho, mul_up(count, rho));
                }
            }
        }
        plain.gaussian = sqrt_up(squares);
        if plain.pure.is_some() {
            plain.exact = groups.and_then(|groups| Exact::new(groups, plain.gaussian));
        }
        plain.rho = add_up(plain.rho, mul_up(squares, 0.5));
        Parts {
            plain,
            split: Split::new(objectives),
            failures,
        }
    }
}

/// The events, sorted by how they add up.
struct Parts {
    plain: Plain,
    split: Split,
    /// Summed probability of the failures, which the two curves below leave out.
    failures: f64,
}

impl Parts {
    fn renyi(&self, order: f64) -> f64 {
        add_up(self.plain.renyi(order), self.split.renyi(order))
    }

    fn delta(&self, epsilon: f64) -> f64 {
        let Self { plain, split, .. } = self;
        if split.is_empty() {
            return plain.delta(epsilon);
        }
        let composed = renyi::delta(|a| self.renyi(a), epsilon);
        if plain.is_empty() {
            composed.min(split.delta(epsilon))
        } else {
            let guide = |left| plain.delta_without_grids(left);
            split.delta_with(epsilon, composed, |left| plain.delta(left), guide)
        }
    }

    /// At delta > 0.
    fn epsilon(&self, delta: f64) -> f64 {
        let Self { plain, split, .. } = self;
        if split.is_empty() {
            return plain.epsilon(delta);
        }
        let composed = renyi::epsilon(|a| self.renyi(a), delta);
        if plain.is_empty() {
            composed.min(split.epsilon(delta))
        } else {
            let guide = |left| plain.epsilon_without_grids(left);
            split.epsilon_with(delta, composed, |left| plain.epsilon(left), guide)
        }
    }

    /// epsilon at delta 0: the sum over pure events, infinite unless all are.
    fn pure(&self) -> f64 {
        match self.plain.pure {
            Some(pure) if self.plain.gaussian == 0.0 && self.split.is_empty() => pure,
            _ => f64::INFINITY,
        }
    }
}

/// Everything but objective perturbations, added up as far as the order allows.
struct Plain {
    /// sqrt(sum of (sensitivity/sigma)^2) over the Gaussian events, 0 for none.
    gaussian: f64,
    /// Summed pure epsilon of the other events; None if one of them has none.
    pure: Option<f64>,
    /// Summed rho of the events whose Renyi curve is a straight line, the Gaussian ones included.
    rho: f64,
    /// The events whose Renyi curve is not a straight line, with their counts.
    curved: Vec<(Event, f64)>,
    /// The exact curve of choices, pure events and noise, where there is nothing else.
    exact: Option<Exact>,
}

impl Plain {
    fn is_empty(&self) -> bool {
        self.rho == 0.0 && self.curved.is_empty()
    }

    fn renyi(&self, order: f64) -> f64 {
        self.curved
            .iter()
            .fold(mul_up(self.rho, order), |sum, (event, count)| {
                add_up(sum, mul_up(*count, event.renyi(order)))
            })
    }

    fn delta(&self, epsilon: f64) -> f64 {
        let bound = self.delta_without_grids(epsilon);
        match &self.exact {
            Some(exact) if bound > 0.0 => bound.min(exact.delta(epsilon)),
            _ => bound,
        }
    }

    fn epsilon(&self, delta: f64) -> f64 {
        let bound = self.epsilon_without_grids(delta);
        match &self.exact {
            Some(exact) if bound > 0.0 => bound.min(exact.epsilon(delta, bound)),
            _ => bound,
        }
    }

    /// By the bounds that have a form.
    fn delta_without_grids(&self, epsilon: f64) -> f64 {
        let basic = match self.pure {
            _ if self.is_empty() => return 0.0,
            Some(0.0) => return gaussian::delta(epsilon, self.gaussian),
            Some(pure) if self.gaussian == 0.0 => randomised_response::delta(epsilon, pure),
            Some(pure) if pure <= epsilon => {
                gaussian::delta(sub_down(epsilon, pure), self.gaussian)
            }
            _ => 1.0,
        };
        if basic == 0.0 {
            return 0.0;
        }
        basic.min(renyi::delta(|a| self.renyi(a), epsilon))
    }

    fn epsilon_without_grids(&self, delta: f64) -> f64 {
        let basic = match self.pure {
            _ if self.is_empty() => return 0.0,
            Some(0.0) => return gaussian::epsilon(delta, self.gaussian),
            Some(pure) if self.gaussian == 0.0 => randomised_response::epsilon(delta, pure),
            Some(pure) => add_up(pure, gaussian::epsilon(delta, self.gaussian)),
            None => f64::INFINITY,
        };
        basic.min(renyi::epsilon(|a| self.renyi(a), delta))
    }
}

/// The tight epsilon of rho-zCDP at `delta`, for calibration.
pub(super) fn epsilon_of_zcdp(rho: f64, delta: f64) -> f64 {
    renyi::epsilon(|a| mul_up(rho, a), delta)
}

pub(super) fn check_epsilon(epsilon: f64) -> Result<()> {
    if epsilon >= 0.0 && epsilon.is_finite() {
        Ok(())
    } else {
        Err(Error::invalid("epsilon", "must be finite and not negative"))
    }
}

/// Of a delta that pure events may keep at 0.
pub(super) fn check_delta(delta: f64) -> Result<()> {
    if (0.0..1.0).contains(&delta) {
        Ok(())
    } else {
        Err(Error::invalid("delta", "must be at least 0 and below 1"))
    }
}

/// Of a delta for releases that are never pure.
pub(super) fn check_positive_delta(delta: f64) -> Result<()> {
    if delta > 0.0 && delta < 1.0 {
        Ok(())
    } else {
        Err(Error::invalid("delta", "must lie strictly between 0 and 1"))
    }
}

/// Refuses events that cost more than (epsilon, delta).
///
/// # Errors
/// [`Error::UnsoundMechanism`] where they do.
pub fn keeps(events: &[(Event, u64)], claim: (f64, f64)) -> Result<()> {
    let (epsilon, delta) = claim;
    let mut accountant = Accountant::new();
    for &(event, count) in events {
        accountant.add(event, count)?;
    }
    if accountant.delta(epsilon)? <= delta && accountant.epsilon(delta)? <= epsilon {
        return Ok(());
    }
    Err(Error::UnsoundMechanism(
        "the questions of this mechanism cost more than the epsilon and delta that it claims"
            .into(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(events: &[(Event, u64)]) -> Accountant {
        let mut accountant = Accountant::new();
        for (event, count) in events {
            accountant.add(*event, *count).unwrap();
        }
        accountant
    }

    fn objective(sigma: f64, adjacency: Adjacency) -> Event {
        Event::objective_perturbation(1.0, sigma, 0.1, adjacency).unwrap()
    }

    #[test]
    fn nothing_costs_nothing() {
        let empty = Accountant::new();
        assert_eq!(empty.epsilon(0.5).unwrap(), 0.0);
        assert_eq!(empty.delta(0.0).unwrap(), 0.0);
        assert_eq!(empty.rho(), Some(0.0));
    }

    #[test]
    fn pure_events_stay_pure() {
        let accountant = of(&[
            (Event::pure(0.5).unwrap(), 1),
            (Event::laplace(1.0, 4.0).unwrap(), 2),
        ]);
        assert_eq!(accountant.delta(1.0).unwrap(), 0.0);
        assert!(accountant.epsilon(1e-9).unwrap() <= 1.0);
        assert!(accountant.delta(0.0).unwrap() <= 0.5f64.tanh() * (1.0 + 1e-12));
    }

    #[test]
    fn gaussians_compose_exactly() {
        let many = of(&[(Event::gaussian(1.0, 10.0).unwrap(), 100)]);
        let one = of(&[(Event::gaussian(1.0, 1.0).unwrap(), 1)]);
        let (e1, e2) = (many.epsilon(1e-6).unwrap(), one.epsilon(1e-6).unwrap());
        assert!((e1 / e2 - 1.0).abs() < 1e-12);
        assert!((e1 - 4.89).abs() < 0.005, "{e1}");
        let discrete = of(&[(Event::discrete_gaussian(1.0, 10.0).unwrap(), 100)]);
        assert!(discrete.epsilon(1e-6).unwrap() > e1);
    }

    /// What has a closed form together: squares of ratios, zCDP parameters and pure epsilons add up.
    #[test]
    fn every_event_of_a_composition_counts() {
        let same = |events: &[(Event, u64)], whole: Event| {
            let (parts, whole) = (of(events), of(&[(whole, 1)]));
            for delta in [1e-9, 1e-5, 0.1] {
                let (ours, truth) = (parts.epsilon(delta).unwrap(), whole.epsilon(delta).unwrap());
                assert!(
                    (ours / truth - 1.0).abs() < 1e-9,
                    "{events:?}: {ours} {truth}"
                );
            }
            let (ours, truth) = (parts.delta(0.7).unwrap(), whole.delta(0.7).unwrap());
            assert!(
                (ours / truth - 1.0).abs() < 1e-9,
                "{events:?}: {ours} {truth}"
            );
            assert!(parts.rho().unwrap() >= whole.rho().unwrap() * (1.0 - 1e-15));
        };
        let gaussian = |ratio: f64| Event::gaussian(ratio, 1.0).unwrap();
        let zcdp = |rho| Event::zero_concentrated(rho).unwrap();
        same(&[(gaussian(0.3), 1), (gaussian(0.4), 1)], gaussian(0.5));
        same(&[(gaussian(0.1), 9), (gaussian(0.2), 4)], gaussian(0.5));
        same(&[(zcdp(0.05), 2), (zcdp(0.1), 3)], zcdp(0.4));
        same(&[(gaussian(0.5), 2), (zcdp(0.1), 1)], zcdp(0.35));
        let discrete = Event::discrete_gaussian(1.0, 2.0).unwrap();
        same(&[(discrete, 2), (zcdp(0.05), 1)], zcdp(0.3));
        let pure = [
            (Event::pure(0.2).unwrap(), 2),
            (Event::laplace(1.0, 5.0).unwrap(), 3),
        ];
        assert!((of(&pure).epsilon(0.0).unwrap() - 1.0).abs() < 1e-12);
        let failing = [
            (Event::failure(1e-3).unwrap(), 3),
            (Event::failure(1e-2).unwrap(), 1),
        ];
        assert!((of(&failing).delta(1.0).unwrap() - 0.013).abs() < 1e-15);
        assert_eq!(of(&failing).epsilon(0.0129).unwrap(), f64::INFINITY);
        assert_eq!(of(&failing).epsilon(0.0131).unwrap(), 0.0);
    }

    /// Randomised response beside Gaussian noise: its loss is e0 with probability p = e^e0/(1 + e^e0), else -e0, so
    /// that delta(epsilon) = p H(epsilon - e0) + (1 - p) H(epsilon + e0), H the Gaussian curve.
    #[test]
    fn mixtures_are_never_below_their_exact_curve() {
        for ratio in [0.2, 1.0, 3.0] {
            for e0 in [0.1, 0.5, 2.0] {
                let gaussian_event = Event::gaussian(ratio, 1.0).unwrap();
                let both = of(&[(gaussian_event, 1), (Event::pure(e0).unwrap(), 1)]);
                let p = 1.0 / (1.0 + (-e0).exp());
                let exact = |epsilon: f64| {
                    let near = gaussian::delta(epsilon - e0, ratio);
                    p * near + (1.0 - p) * gaussian::delta(epsilon + e0, ratio)
                };
                for epsilon in [1.001, 1.5, 3.0, 6.0].map(|times| times * e0) {
                    let stated = both.delta(epsilon).unwrap();
                    assert!(
                        stated >= exact(epsilon) * (1.0 - 1e-9),
                        "{ratio} {e0} {epsilon}"
                    );
                }
                for delta in [1e-9, 1e-4, 1e-2] {
                    let epsilon = both.epsilon(delta).unwrap();
                    assert!(epsilon < e0 || exact(epsilon) <= delta * (1.0 + 1e-9));
                }
            }
        }
    }

    #[test]
    fn merged_and_mixed() {
        let mut accountant = Accountant::new();
        accountant
            .add(Event::exponential(0.1).unwrap(), 2)
            .unwrap()
            .add(Event::exponential(0.1).unwrap(), 3)
            .unwrap();
        assert_eq!(
            accountant.events(),
            &[(Event::exponential(0.1).unwrap(), 5)]
        );
        assert!(accountant.add(Event::exponential(0.1).unwrap(), 0).is_err());
        assert!(
            accountant
                .add(Event::exponential(0.1).unwrap(), u64::MAX)
                .is_err()
        );
        assert!(
            accountant
                .add(Event::Pure { epsilon: f64::NAN }, 1)
                .is_err()
        );
        accountant
            .add(objective(5.0, Adjacency::AddRemove), 1)
            .unwrap();
        assert!(
            accountant
                .add(objective(5.0, Adjacency::ReplaceOne), 1)
                .is_err()
        );
        assert_eq!(accountant.rho(), None);
    }

    #[test]
    fn objective_perturbation_alone_is_its_curve() {
        for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemove] {
            let event = objective(5.0, adjacency);
            let alone = of(&[(event, 1)]);
            assert_eq!(
                alone.delta(1.5).unwrap(),
                event.objective().unwrap().delta(1.5)
            );
            let epsilon = alone.epsilon(1e-6).unwrap();
            assert!(alone.delta(epsilon).unwrap() <= 1e-6);
            assert!(alone.delta(epsilon * (1.0 - 1e-8)).unwrap() > 1e-6);
            let two = of(&[(event, 2)]).epsilon(1e-6).unwrap();
            assert!(two > epsilon && two < 2.2 * epsilon);
            let distinct = of(&[(event, 1), (objective(5.000001, adjacency), 1)]);
            assert!((distinct.epsilon(1e-6).unwrap() / two - 1.0).abs() < 1e-3);
            let company = of(&[(event, 1), (Event::exponential(0.01).unwrap(), 10)]);
            let together = company.epsilon(1e-6).unwrap();
            assert!(
                together > epsilon && together < epsilon + 0.1 + 1e-9,
                "{together} {epsilon}"
            );
            assert!(company.delta(together * (1.0 + 1e-6)).unwrap() <= 1e-6 * 1.01);
        }
    }

    #[test]
    fn arguments_are_checked() {
        let accountant = of(&[(Event::gaussian(1.0, 1.0).unwrap(), 1)]);
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(accountant.delta(bad).is_err());
        }
        for bad in [1.0, -0.1, 2.0, f64::NAN] {
            assert!(accountant.epsilon(bad).is_err());
        }
    }

    fn any_event() -> impl Strategy<Value = Event> {
        prop_oneof![
            (0.1f64..10.0).prop_map(|s| Event::gaussian(1.0, s).unwrap()),
            (0.1f64..10.0).prop_map(|s| Event::discrete_gaussian(1.0, s).unwrap()),
            (0.01f64..3.0).prop_map(|e| Event::exponential(e).unwrap()),
            (0.01f64..3.0).prop_map(|e| Event::pure(e).unwrap()),
            (0.3f64..30.0).prop_map(|s| Event::laplace(1.0, s).unwrap()),
            (1e-4f64..1.0).prop_map(|r| Event::zero_concentrated(r).unwrap()),
            (0.5f64..20.0).prop_map(|s| objective(s, Adjacency::ReplaceOne)),
            (1e-15f64..1e-13).prop_map(|d| Event::failure(d).unwrap()),
        ]
    }

    proptest! {
        #[test]
        fn the_two_answers_agree(
            events in proptest::collection::vec((any_event(), 1u64..5), 1..5),
            log_delta in -25.0f64..-2.0,
        ) {
            let delta = log_delta.exp();
            let accountant = of(&events);
            let epsilon = accountant.epsilon(delta).unwrap();
            prop_assert!(epsilon.is_finite());
            let back = accountant.delta(epsilon * (1.0 + 1e-9) + 1e-12).unwrap();
            prop_assert!(back <= delta * 1.01, "{} {}", back, delta);
            // Nor is less stated at a smaller epsilon, but for what the two searches leave.
            let before = accountant.delta(0.98 * epsilon).unwrap();
            prop_assert!(before >= delta * 0.99 || epsilon < 1e-9, "{} {}", before, delta);
        }

        #[test]
        fn one_more_event_costs_no_less(
            events in proptest::collection::vec((any_event(), 1u64..5), 1..5),
            extra in any_event(),
            log_delta in -25.0f64..-2.0,
            share in 0.0f64..1.5,
        ) {
            let delta = log_delta.exp();
            let mut accountant = of(&events);
            let epsilon = accountant.epsilon(delta).unwrap();
            let before = accountant.delta(share * epsilon * (1.0 + GRIDS)).unwrap();
            accountant.add(extra, 1).unwrap();
            let after = accountant.delta(share * epsilon).unwrap();
            prop_assert!(accountant.epsilon(delta).unwrap() >= epsilon * (1.0 - GRIDS));
            prop_assert!(after >= before * (1.0 - SEARCHED), "{} {}", before, after);
        }

        /// Where grids stay: there it is exact.
        #[test]
        fn one_more_choice_or_noise_costs_no_less(
            epsilon0 in 0.01f64..1.0,
            count in 1u64..300,
            sigma in 1.0f64..30.0,
            log_delta in -25.0f64..-2.0,
        ) {
            let delta = log_delta.exp();
            let choice = Event::exponential(epsilon0).unwrap();
            let mut accountant = of(&[(choice, count)]);
            let alone = accountant.epsilon(delta).unwrap();
            let more = of(&[(choice, count + 1)]).epsilon(delta).unwrap();
            prop_assert!(more >= alone * (1.0 - SEARCHED), "{} {}", more, alone);
            accountant.add(Event::gaussian(1.0, sigma).unwrap(), 1).unwrap();
            let noisy = accountant.epsilon(delta).unwrap();
            prop_assert!(noisy >= alone * (1.0 - SEARCHED), "{} {}", noisy, alone);
        }
    }

    /// What another grid of losses may leave of epsilon.
    const GRIDS: f64 = 5e-3;
    /// What searches over orders and splits of delta may leave, each for itself.
    const SEARCHED: f64 = 1e-9;

    #[test]
    fn a_lone_objective_perturbation_is_no_dearer_than_in_company() {
        // Below 2 sqrt 3 deviations its tail curve claims nothing under replace-one; the Renyi bound does.
        let event = objective(1.0, Adjacency::ReplaceOne);
        let company = of(&[(event, 1), (Event::pure(1e-9).unwrap(), 1)]);
        for epsilon in [1.0, 3.0, 5.0, 9.0] {
            let alone = of(&[(event, 1)]).delta(epsilon).unwrap();
            assert!(alone <= company.delta(epsilon).unwrap(), "{epsilon}");
        }
        for delta in [0.5, 0.1, 1e-6] {
            let alone = of(&[(event, 1)]).epsilon(delta).unwrap();
            assert!(alone <= company.epsilon(delta).unwrap(), "{delta}");
        }
    }

    #[test]
    fn delta_zero_is_for_pure_events_alone() {
        let pure = (Event::pure(0.25).unwrap(), 3);
        assert_eq!(of(&[pure]).epsilon(0.0).unwrap(), 0.75);
        for company in [
            Event::gaussian(1.0, 100.0).unwrap(),
            Event::zero_concentrated(1e-4).unwrap(),
            objective(1e3, Adjacency::ReplaceOne),
            Event::failure(1e-12).unwrap(),
        ] {
            for events in [vec![pure, (company, 1)], vec![(company, 1)]] {
                assert_eq!(of(&events).epsilon(0.0).unwrap(), f64::INFINITY);
            }
        }
        // Failures that take all of delta leave what is pure.
        let failing = [pure, (Event::failure(1e-9).unwrap(), 1)];
        assert_eq!(of(&failing).epsilon(1e-9).unwrap(), 0.75);
    }

    /// Their exact curve, not that of pure events of the same size, nor that of their zCDP parameter.
    #[test]
    fn choices_cost_what_their_own_curve_says() {
        for (epsilon0, count) in [(0.1f64, 100), (0.5, 10)] {
            let choices = of(&[(Event::exponential(epsilon0).unwrap(), count)]);
            let rho = epsilon0 * epsilon0 / 8.0 * count as f64;
            let zcdp = of(&[(Event::zero_concentrated(rho).unwrap(), 1)]);
            let (ours, theirs) = (choices.epsilon(1e-6).unwrap(), zcdp.epsilon(1e-6).unwrap());
            assert!(ours < 0.97 * theirs, "{ours} {theirs}");
        }
    }

    /// Too many for grids: the bounds that have a form.
    #[test]
    fn very_many_pure_events_are_no_dearer_than_one_of_their_sum() {
        let (many, one) = (
            of(&[(Event::pure(1e-4).unwrap(), 10_000)]),
            of(&[(Event::pure(1.0).unwrap(), 1)]),
        );
        let noisy = |accountant: &Accountant| {
            let mut accountant = accountant.clone();
            accountant
                .add(Event::gaussian(1.0, 1e3).unwrap(), 1)
                .unwrap();
            accountant
        };
        for epsilon in [0.0, 0.2, 0.9] {
            assert!(many.delta(epsilon).unwrap() <= one.delta(epsilon).unwrap() * (1.0 + 1e-9));
        }
        for delta in [0.3, 1e-2] {
            assert!(many.epsilon(delta).unwrap() <= one.epsilon(delta).unwrap() * (1.0 + 1e-9));
        }
        assert_eq!(many.delta(1.0 + 1e-9).unwrap(), 0.0);
        // Noise of ratio 0.001 adds to epsilon about as much as to its own curve.
        let (alone, both) = (noisy(&Accountant::new()), noisy(&many));
        assert!(both.delta(1.001).unwrap() <= alone.delta(0.001 - 1e-9).unwrap());
    }

    #[test]
    fn a_claim_is_kept_or_refused() {
        let events = [(Event::gaussian(1.0, 2.0).unwrap(), 3)];
        let epsilon = of(&events).epsilon(1e-6).unwrap();
        assert!(keeps(&events, (epsilon * (1.0 + 1e-9), 1e-6)).is_ok());
        assert!(keeps(&events, (epsilon * (1.0 - 1e-6), 1e-6)).is_err());
        assert!(keeps(&events, (epsilon * (1.0 + 1e-9), 0.9e-6)).is_err());
    }
}

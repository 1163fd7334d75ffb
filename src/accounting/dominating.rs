//! Events that stand for a choice between releases that depends on the data, such as the refit of a search's winner.
//!
//! Composition asks that events be fixed beforehand; here the events of the next release are those of an option k that
//! earlier outputs chose. For every bound that the accountant uses, the events returned state at least what those of
//! each option do, so that the bound holds for the next release whatever k is, given all outputs before it:
//!
//! - *Renyi curves.* An option's events but for objective perturbations have sum R(a) <= (sum rho) a, and one event of
//!   the largest summed rho has that curve. The curve of an objective perturbation, kl + a r^2/2 + ln(2 Phi((a-1)
//!   r))/(a-1) with r in proportion to its ratio M = L R2/s, rises in r (Phi does) and kl and is positive; so as many
//!   as the option with most has, each with the largest M and kl of all, exceed those of every option. Renyi
//!   divergences compose where every conditional law keeps the one curve (Mironov 2017, proposition 1).
//! - *Tail curves and splits of delta.* delta(epsilon) of an objective perturbation is E (1 - e^(epsilon - loss))+ of a
//!   loss that rises in M and kl for every normal draw behind it; under replace-one it is the Gaussian tail
//!   2 H_2M(epsilon - kl), which rises in both, where epsilon is at least kl + 2 M^2 + 2 sqrt(3) M, and 1 elsewhere, a
//!   region that shrinks in both. So whatever (epsilon_i, delta_i) the accountant gives to the larger event the smaller
//!   ones keep, and basic composition needs nothing else (Dwork & Roth 2014, theorem B.1).
//! - *Failures.* Every option fails with at most the largest of the options' sums of probabilities.
//!
//! Exact curves, of Gaussian noise and of its composition with choices and pure events, are lost unless all options
//! spend the same events, which then stand for themselves: they follow from the kinds of the events, and the events
//! returned are of kinds that have none, so that the accountant does not use them.

use super::accountant::Accountant;
use super::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::numeric::directed::{add_up, count_up, div_up, mul_up};

/// Events whose curves lie above those of each of `options`; those of the options themselves where all are equal, none
/// for no options.
///
/// # Errors
/// Events out of their domain, of two adjacencies, or failures of a total probability of 1 or more.
///
/// ```
/// use dpsparse::accounting::dominating::dominating;
/// use dpsparse::accounting::event::Event;
/// let one = vec![(Event::gaussian(1.0, 2.0)?, 4)];
/// let other = vec![(Event::zero_concentrated(0.25)?, 3)];
/// assert_eq!(dominating(&[one.clone(), other])?, [(Event::zero_concentrated(0.75)?, 1)]);
/// assert_eq!(dominating(&[one.clone(), one.clone()])?, one);
/// # Ok::<(), dpsparse::Error>(())
/// ```
pub fn dominating(options: &[Vec<(Event, u64)>]) -> Result<Vec<(Event, u64)>> {
    let Some(first) = options.first() else {
        return Ok(Vec::new());
    };
    let sums = (options.iter())
        .map(|option| Sum::of(option))
        .collect::<Result<Vec<_>>>()?;
    let most = sums.iter().copied().try_fold(Sum::default(), Sum::larger)?;
    if options.iter().all(|option| option == first) {
        return Ok(first.clone());
    }
    let mut events = Vec::new();
    if most.rho > 0.0 {
        events.push((Event::zero_concentrated(most.rho)?, 1));
    }
    if let Some(adjacency) = most.adjacency {
        let event = Event::objective_perturbation(most.ratio, 1.0, most.curvature_log, adjacency)?;
        events.push((event, most.objectives));
    }
    if most.failure > 0.0 {
        events.push((Event::failure(most.failure)?, 1));
    }
    Ok(events)
}

/// What the events of an option add up to, or the largest of every entry over options.
#[derive(Default, Clone, Copy)]
struct Sum {
    /// Of all but objective perturbations and failures.
    rho: f64,
    failure: f64,
    /// How many objective perturbations, and the largest M = L R2/s and kl among them.
    objectives: u64,
    ratio: f64,
    curvature_log: f64,
    adjacency: Option<Adjacency>,
}

impl Sum {
    fn of(events: &[(Event, u64)]) -> Result<Self> {
        // Checks the events, their counts and their adjacency.
        let mut accountant = Accountant::new();
        for &(event, count) in events {
            accountant.add(event, count)?;
        }
        let mut sum = Self::default();
        for &(event, count) in accountant.events() {
            match event {
                Event::ObjectivePerturbation {
                    lipschitz_norm,
                    sigma,
                    curvature_log,
                    adjacency,
                } => {
                    sum.objectives = (sum.objectives.checked_add(count))
                        .ok_or_else(|| Error::invalid("count", "adds up to more than 2^64 - 1"))?;
                    sum.ratio = sum.ratio.max(div_up(lipschitz_norm, sigma));
                    sum.curvature_log = sum.curvature_log.max(curvature_log);
                    sum.adjacency = Some(adjacency);
                }
                Event::Failure { delta } => {
                    sum.failure = add_up(sum.failure, mul_up(count_up(count), delta));
                }
                _ => {
                    let rho = event.rho().unwrap_or(f64::INFINITY);
                    sum.rho = add_up(sum.rho, mul_up(count_up(count), rho));
                }
            }
        }
        Ok(sum)
    }

    fn larger(self, other: Self) -> Result<Self> {
        if let (Some(ours), Some(theirs)) = (self.adjacency, other.adjacency)
            && ours != theirs
        {
            return Err(Error::invalid("options", "must be of one adjacency"));
        }
        Ok(Self {
            rho: self.rho.max(other.rho),
            failure: self.failure.max(other.failure),
            objectives: self.objectives.max(other.objectives),
            ratio: self.ratio.max(other.ratio),
            curvature_log: self.curvature_log.max(other.curvature_log),
            adjacency: self.adjacency.or(other.adjacency),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_event() -> impl Strategy<Value = Event> {
        prop_oneof![
            (0.5f64..20.0).prop_map(|s| Event::gaussian(1.0, s).unwrap()),
            (0.5f64..20.0).prop_map(|s| Event::discrete_gaussian(1.0, s).unwrap()),
            (0.01f64..1.0).prop_map(|e| Event::exponential(e).unwrap()),
            (0.01f64..1.0).prop_map(|e| Event::pure(e).unwrap()),
            (1.0f64..30.0).prop_map(|s| Event::laplace(1.0, s).unwrap()),
            (1e-4f64..0.1).prop_map(|r| Event::zero_concentrated(r).unwrap()),
            (1e-12f64..1e-9).prop_map(|d| Event::failure(d).unwrap()),
            (1.0f64..20.0, 0.0f64..0.3).prop_map(|(s, kl)| {
                Event::objective_perturbation(1.0, s, kl, Adjacency::ReplaceOne).unwrap()
            }),
        ]
    }

    fn accountant(events: &[(Event, u64)]) -> Accountant {
        let mut accountant = Accountant::new();
        for (event, count) in events {
            accountant.add(*event, *count).unwrap();
        }
        accountant
    }

    proptest! {
        #[test]
        fn curves_of_the_result_dominate_those_of_each_option(
            options in prop::collection::vec(prop::collection::vec((any_event(), 1u64..4), 1..4), 1..4),
            excess in 1e-3f64..1e3,
            log_delta in -18.0f64..-3.0,
        ) {
            let result = dominating(&options).unwrap();
            let renyi = |events: &[(Event, u64)]| -> f64 {
                events.iter().map(|(event, count)| *count as f64 * event.renyi(1.0 + excess)).sum()
            };
            let tail = |events: &[(Event, u64)], epsilon: f64| -> f64 {
                events.iter().map(|(event, count)| match event {
                    Event::Failure { delta } => *count as f64 * delta,
                    _ => *count as f64 * event.objective().map_or(0.0, |o| o.delta(epsilon)),
                }).sum()
            };
            let delta = log_delta.exp();
            let stated = accountant(&result);
            let epsilon = stated.epsilon(delta).unwrap();
            for option in &options {
                prop_assert!(renyi(&result) >= renyi(option) * (1.0 - 1e-12));
                for e in [0.0, 0.1, 0.5, 1.0, 3.0, 10.0] {
                    prop_assert!(tail(&result, e) >= tail(option, e) * (1.0 - 1e-9));
                }
                let one = accountant(option);
                prop_assert!(epsilon >= one.epsilon(delta).unwrap() * (1.0 - 1e-6));
                prop_assert!(stated.delta(epsilon).unwrap() >= one.delta(epsilon).unwrap() * (1.0 - 1e-5));
            }
        }
    }

    #[test]
    fn equal_options_stand_for_themselves_and_others_are_checked() {
        let objective =
            |adjacency| Event::objective_perturbation(1.0, 5.0, 0.1, adjacency).unwrap();
        let one = vec![(objective(Adjacency::AddRemove), 2)];
        assert_eq!(dominating(&[one.clone(), one.clone()]).unwrap(), one);
        assert!(dominating(&[]).unwrap().is_empty());
        assert!(dominating(&[vec![], vec![]]).unwrap().is_empty());
        let other = vec![(objective(Adjacency::ReplaceOne), 1)];
        assert!(dominating(&[one.clone(), other]).is_err());
        assert!(dominating(&[vec![(Event::Pure { epsilon: -1.0 }, 1)]]).is_err());
        let failing = |delta, count| vec![(Event::failure(delta).unwrap(), count)];
        let most = dominating(&[failing(1e-9, 3), failing(2e-9, 1)]).unwrap();
        assert_eq!(most.len(), 1);
        assert!(
            matches!(most[0], (Event::Failure { delta }, 1) if (3e-9..3.01e-9).contains(&delta))
        );
        assert!(dominating(&[failing(0.6, 2), one]).is_err());
    }
}

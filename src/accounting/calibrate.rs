//! From a budget to a noise parameter: the accountant is searched, and always answers from the private side
//! ([`crate::theory_of_privacy::noise_and_accounting`]).

use super::accountant::{
    Accountant, check_delta, check_epsilon, check_positive_delta, epsilon_of_zcdp,
};
use super::event::Event;
use super::guess::{EXACT, usual_parameter, usual_rho, zcdp_sigma};
use super::guided::{NEAR, crossing, edge};
use super::memory::{Question, remembered};
use crate::error::{Error, Result};
use crate::numeric::directed::down;

/// Share of delta that is left for roundings: an event that a question makes of the parameter may be a rounding away,
/// where a search over orders ends elsewhere.
const LEFT: f64 = 1e-10;
/// The same of rho.
const LEFT_OF_RHO: f64 = 1e-12;
/// Relative width for pure epsilons, which add up without a search.
const NEAR_PURE: f64 = 1e-13;

/// What a calibration may spend: what was asked for, but for a little of delta.
#[derive(Clone, Copy)]
struct Budget {
    epsilon: f64,
    delta: f64,
}

impl Budget {
    fn of(epsilon: f64, delta: f64) -> Result<Self> {
        check_epsilon(epsilon)?;
        check_delta(delta)?;
        let delta = delta * (1.0 - LEFT);
        Ok(Self { epsilon, delta })
    }

    /// Whether both answers of the accountant meet it; they agree up to rounding, and a budget that was calibrated must
    /// not be reported as exceeded by either.
    fn holds(self, events: &[(Event, u64)]) -> Result<bool> {
        let accountant = of_events(events)?;
        Ok(accountant.delta(self.epsilon)? <= self.delta
            && accountant.epsilon(self.delta)? <= self.epsilon)
    }

    /// How far `events` are from it, for the guide of a search: negative within it. delta falls about as exp(-c
    /// sigma^2) with the noise, so ln(-ln delta) is about linear in ln sigma; a pure epsilon is a power of it.
    fn distance(self, events: &[(Event, u64)]) -> Result<f64> {
        let accountant = of_events(events)?;
        if self.delta > 0.0 {
            Ok(log_log(self.delta) - log_log(accountant.delta(self.epsilon)?))
        } else {
            Ok((accountant.epsilon(self.delta)? / self.epsilon).ln())
        }
    }
}

fn of_events(events: &[(Event, u64)]) -> Result<Accountant> {
    let mut accountant = Accountant::new();
    for &(event, count) in events {
        accountant.add(event, count)?;
    }
    Ok(accountant)
}

fn log_log(delta: f64) -> f64 {
    (-delta.ln()).ln()
}

/// The least noisy parameter in `bracket` for which `count` events `make_event(parameter)` are (epsilon,
/// delta)-DP.
///
/// Noise must be monotone in the parameter; its direction is found from the ends of the bracket. If the whole
/// bracket is private the answer is its less noisy end, told by the Renyi divergence of order 2. The error
/// type is that of `make_event`, for callers with their own.
///
/// # Errors
/// `epsilon`, `delta`, `count` or `bracket` out of their domain, no end of the bracket private, or an error
/// of `make_event`.
///
/// ```
/// use dpsparse::privacy::{calibrate::calibrate, event::Event};
/// let sigma = calibrate(|sigma| Event::gaussian(1.0, sigma), 1, 1.0, 1e-6, (0.1, 100.0))?;
/// assert!((sigma - 4.2247).abs() < 1e-3);
/// let epsilon0 = calibrate(Event::exponential, 100, 1.0, 1e-6, (1e-6, 10.0))?;
/// assert!(epsilon0 > 0.047 && epsilon0 < 0.048);
/// # Ok::<(), dpsparse::Error>(())
/// ```
pub fn calibrate<E: From<Error>>(
    make_event: impl Fn(f64) -> std::result::Result<Event, E>,
    count: u64,
    epsilon: f64,
    delta: f64,
    bracket: (f64, f64),
) -> std::result::Result<f64, E> {
    if count == 0 {
        check_epsilon(epsilon)?;
        check_delta(delta)?;
        return Err(Error::invalid("count", "must be at least 1").into());
    }
    let make_events = |parameter| Ok(vec![(make_event(parameter)?, count)]);
    calibrate_events(make_events, epsilon, delta, bracket)
}

/// As [`calibrate`], for a release of several kinds of events, all made from the one parameter.
///
/// # Errors
/// As [`calibrate`].
pub fn calibrate_events<E: From<Error>>(
    make_events: impl Fn(f64) -> std::result::Result<Vec<(Event, u64)>, E>,
    epsilon: f64,
    delta: f64,
    bracket: (f64, f64),
) -> std::result::Result<f64, E> {
    let budget = Budget::of(epsilon, delta)?;
    let (low, high) = bracket;
    if !(low.is_finite() && high.is_finite() && low < high) {
        return Err(Error::invalid(
            "bracket",
            "must hold two finite numbers, the lower one first",
        )
        .into());
    }
    let holds = |parameter: f64| Ok::<_, E>(budget.holds(&make_events(parameter)?)?);
    let within = |parameter: f64| Ok::<_, E>(budget.distance(&make_events(parameter)?)? <= 0.0);
    let ends = match (within(low)?, within(high)?) {
        (true, true) => {
            let cost = |parameter: f64| -> std::result::Result<f64, E> {
                let events = make_events(parameter)?;
                let costs = events
                    .iter()
                    .map(|(event, count)| *count as f64 * event.renyi(2.0));
                Ok(costs.sum())
            };
            let lower_is_noisier = cost(low)? <= cost(high)?;
            let (noisier, other) = if lower_is_noisier {
                (low, high)
            } else {
                (high, low)
            };
            if holds(other)? {
                return Ok(other);
            }
            (other, noisier)
        }
        (true, false) => (high, low),
        (false, true) => (low, high),
        (false, false) => {
            let pure = |x: f64| Ok::<_, E>(of_events(&make_events(x)?)?.epsilon(0.0)?.is_finite());
            if delta == 0.0 && !(pure(low)? || pure(high)?) {
                return Err(Error::invalid(
                    "delta",
                    "must be positive: not all of these events are purely private",
                )
                .into());
            }
            return Err(not_in_bracket().into());
        }
    };
    let guess = usual_parameter(&make_events, epsilon, delta, bracket)?;
    let near = if delta == 0.0 { NEAR_PURE } else { NEAR };
    let answer = calibrate_between(&make_events, (epsilon, delta), ends, guess, near)?;
    if answer == ends.1 && !holds(answer)? {
        return Err(not_in_bracket().into());
    }
    Ok(answer)
}

/// As [`calibrate_events`] between two parameters of which the first costs too much and the second does not, which are
/// not asked; from a guess, and to a relative width `near`: for events that are dear to make.
///
/// # Errors
/// As [`calibrate`].
pub(crate) fn calibrate_between<E: From<Error>>(
    make_events: impl Fn(f64) -> std::result::Result<Vec<(Event, u64)>, E>,
    (epsilon, delta): (f64, f64),
    ends: (f64, f64),
    guess: f64,
    near: f64,
) -> std::result::Result<f64, E> {
    let budget = Budget::of(epsilon, delta)?;
    let holds = |parameter: f64| Ok::<_, E>(budget.holds(&make_events(parameter)?)?);
    let distance = |parameter: f64| Ok::<_, E>(budget.distance(&make_events(parameter)?)?);
    edge(holds, distance, guess, ends, near)
}

fn not_in_bracket() -> Error {
    Error::invalid(
        "bracket",
        "holds no private parameter at its ends: widen the bracket",
    )
}

/// The least epsilon at `delta` that rho-zCDP implies by the tight conversion, rounded up.
///
/// # Errors
/// `rho` negative or not finite, `delta` not strictly between 0 and 1.
///
/// ```
/// use dpsparse::accounting::calibrate::epsilon_from_rho;
/// assert!((epsilon_from_rho(0.0244, 1e-6)? - 1.0).abs() < 2e-3);
/// assert_eq!(epsilon_from_rho(0.0, 1e-6)?, 0.0);
/// # Ok::<(), dpsparse::Error>(())
/// ```
pub fn epsilon_from_rho(rho: f64, delta: f64) -> Result<f64> {
    check_positive_delta(delta)?;
    if !(rho >= 0.0 && rho.is_finite()) {
        return Err(Error::invalid("rho", "must be finite and not negative"));
    }
    if rho == 0.0 {
        return Ok(0.0);
    }
    Ok(epsilon_of_zcdp(rho, delta))
}

/// The largest rho whose tight conversion meets (epsilon, delta), rounded down.
///
/// # Errors
/// `epsilon` negative or not finite, `delta` not strictly between 0 and 1.
///
/// ```
/// use dpsparse::accounting::calibrate::{epsilon_from_rho, rho_from_epsilon};
/// let rho = rho_from_epsilon(1.0, 1e-6)?;
/// assert!((rho - 0.0244).abs() < 5e-5 && epsilon_from_rho(rho, 1e-6)? <= 1.0);
/// # Ok::<(), dpsparse::Error>(())
/// ```
pub fn rho_from_epsilon(epsilon: f64, delta: f64) -> Result<f64> {
    check_epsilon(epsilon)?;
    check_positive_delta(delta)?;
    remembered(Question::Rho, &[], &[epsilon, delta], || {
        let private = |rho: f64| Ok::<_, Error>(epsilon_of_zcdp(rho, delta) <= epsilon);
        let guide = |rho: f64| Ok((epsilon_of_zcdp(rho, delta) / epsilon).ln());
        let guess = usual_rho(epsilon, delta).max(f64::MIN_POSITIVE);
        let mut low = guess;
        while low > 0.0 && !private(low)? {
            low *= 0.25;
        }
        let mut high = 2.0 * low.max(f64::MIN_POSITIVE);
        while high.is_finite() && private(high)? {
            low = high;
            high *= 4.0;
        }
        let rho = edge(private, guide, 1.1 * low, (high, low), NEAR)?;
        Ok(down(rho, LEFT_OF_RHO))
    })
}

/// The least sigma for which Gaussian noise on an answer of L2 `sensitivity` is (epsilon, delta)-DP by the
/// exact curve, rounded up.
///
/// # Errors
/// `sensitivity` not positive and finite, `epsilon` negative or not finite, `delta` not strictly between 0
/// and 1.
///
/// ```
/// use dpsparse::accounting::calibrate::gaussian_sigma;
/// assert!((gaussian_sigma(1.0, 1.0, 1e-6)? - 4.2247).abs() < 1e-3);
/// # Ok::<(), dpsparse::Error>(())
/// ```
pub fn gaussian_sigma(sensitivity: f64, epsilon: f64, delta: f64) -> Result<f64> {
    check_epsilon(epsilon)?;
    check_positive_delta(delta)?;
    Event::gaussian(sensitivity, 1.0)?;
    remembered(Question::Sigma, &[], &[sensitivity, epsilon, delta], || {
        least_sigma(sensitivity, epsilon, delta)
    })
}

fn least_sigma(sensitivity: f64, epsilon: f64, delta: f64) -> Result<f64> {
    // Afresh: the answers on the way are of no use to anybody else.
    let private = |sigma: f64| -> Result<bool> {
        let accountant = of_events(&[(Event::gaussian(sensitivity, sigma)?, 1)])?;
        let fits = accountant.delta_afresh(epsilon) <= delta;
        Ok(fits && accountant.epsilon_afresh(delta) <= epsilon)
    };
    let guide = |sigma: f64| -> Result<f64> {
        let there = of_events(&[(Event::gaussian(sensitivity, sigma)?, 1)])?.delta_afresh(epsilon);
        Ok(log_log(delta) - log_log(there))
    };
    let too_large = || {
        Error::invalid(
            "sensitivity",
            "needs a noise beyond the range of floating point; rescale the answer",
        )
    };
    let mut high = zcdp_sigma(sensitivity, epsilon, delta);
    while !private(high)? {
        high *= 4.0;
        if !high.is_finite() {
            return Err(too_large());
        }
    }
    let mut low = 0.5 * high;
    while low > 0.0 && guide(low)? <= 0.0 {
        high = low;
        low *= 0.25;
    }
    let above_zero = |sigma: f64| Ok(sigma > 0.0 && private(sigma)?);
    edge(above_zero, guide, EXACT * high, (low, high), NEAR)
}

/// About [`gaussian_sigma`], to a millionth: for public rules that compare many budgets. Not a number where there is
/// none.
pub(crate) fn about_gaussian_sigma(sensitivity: f64, epsilon: f64, delta: f64) -> f64 {
    let guide = |sigma: f64| -> Result<f64> {
        let there = of_events(&[(Event::gaussian(sensitivity, sigma)?, 1)])?.delta_afresh(epsilon);
        Ok(log_log(delta) - log_log(there))
    };
    let numbers = [sensitivity, epsilon, delta];
    let about = remembered(Question::AboutSigma, &[], &numbers, || {
        let high = zcdp_sigma(sensitivity, epsilon, delta);
        let ends = (1e-3 * high, 1e3 * high);
        crossing(guide, EXACT * high, ends, 1e-6).map(|(_, sigma)| sigma)
    });
    about.unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;
    use proptest::prelude::*;

    fn delta_of(event: Event, count: u64, epsilon: f64) -> f64 {
        let mut accountant = Accountant::new();
        accountant.add(event, count).unwrap();
        accountant.delta(epsilon).unwrap()
    }

    #[test]
    fn every_kind_calibrates_to_the_edge() {
        type Maker<'a> = &'a dyn Fn(f64) -> Result<Event>;
        let makers: [(Maker, f64); 7] = [
            (&|s| Event::gaussian(1.0, s), -1.0),
            (&|s| Event::discrete_gaussian(1.0, s), -1.0),
            (&Event::exponential, 1.0),
            (&Event::pure, 1.0),
            (&|s| Event::laplace(1.0, s), -1.0),
            (&Event::zero_concentrated, 1.0),
            (
                &|s| Event::objective_perturbation(1.0, s, 0.1, Adjacency::ReplaceOne),
                -1.0,
            ),
        ];
        for (make, less_noise) in makers {
            for count in [1, 7] {
                let x = calibrate(make, count, 2.0, 1e-6, (1e-4, 1e4)).unwrap();
                assert!(delta_of(make(x).unwrap(), count, 2.0) <= 1e-6);
                let closer = x * (1.0 + less_noise * 1e-6);
                assert!(
                    delta_of(make(closer).unwrap(), count, 2.0) > 1e-6,
                    "{:?}",
                    make(x)
                );
            }
        }
    }

    #[test]
    fn brackets() {
        let make = |s: f64| Event::gaussian(1.0, s);
        assert_eq!(calibrate(make, 1, 1.0, 1e-6, (10.0, 20.0)).unwrap(), 10.0);
        assert_eq!(
            calibrate(Event::exponential, 1, 1.0, 1e-6, (1e-9, 0.5)).unwrap(),
            0.5
        );
        for bad in [
            (0.1, 0.2),
            (1.0, 1.0),
            (2.0, 1.0),
            (f64::NAN, 1.0),
            (1.0, f64::INFINITY),
        ] {
            let error = calibrate(make, 1, 1.0, 1e-6, bad).unwrap_err();
            assert!(error.to_string().starts_with("bracket "), "{error}");
        }
        assert!(calibrate(make, 0, 1.0, 1e-6, (1.0, 2.0)).is_err());
        assert!(calibrate(make, 1, 1.0, 1e-6, (-1.0, 2.0)).is_err());
    }

    #[test]
    fn extreme_budgets() {
        assert!(rho_from_epsilon(0.0, 1e-6).unwrap() > 0.0);
        assert!(rho_from_epsilon(1e6, 1e-6).unwrap() > 9e5);
        let sigma = gaussian_sigma(1.0, 0.0, 1e-12).unwrap();
        assert!((sigma * 1e-12 / 0.398_942_280_401_432_7 - 1.0).abs() < 1e-9);
        assert!(gaussian_sigma(1e300, 0.0, 1e-12).is_err());
        assert!(gaussian_sigma(1e-300, 1.0, 1e-6).unwrap() > 4e-300);
    }

    proptest! {
        #[test]
        fn a_calibrated_budget_is_kept_by_both_answers(
            epsilon in 0.05f64..20.0,
            log_delta in -690.0f64..-1.0,
            company in 0usize..4,
            kind in 0usize..5,
        ) {
            let delta = log_delta.exp();
            let companions = [
                vec![],
                vec![(Event::failure(0.5 * delta).unwrap(), 1)],
                vec![(Event::exponential(0.01 * epsilon).unwrap(), 3)],
                vec![
                    (Event::failure(0.1 * delta).unwrap(), 2),
                    (Event::objective_perturbation(1.0, 1e4, 1e-6, Adjacency::ReplaceOne).unwrap(), 1),
                ],
            ];
            let events = |x: f64| -> Result<Vec<(Event, u64)>> {
                let own = match kind {
                    0 => Event::gaussian(1.0, x),
                    1 => Event::pure(1.0 / x),
                    2 => Event::exponential(1.0 / x),
                    3 => Event::zero_concentrated(1.0 / x),
                    _ => Event::objective_perturbation(1.0, x, 1e-6, Adjacency::ReplaceOne),
                };
                let mut events = companions[company].clone();
                events.push((own?, 3));
                Ok(events)
            };
            let x = calibrate_events(events, epsilon, delta, (1e-6, 1e9)).unwrap();
            let mut accountant = Accountant::new();
            for (event, count) in events(x).unwrap() {
                accountant.add(event, count).unwrap();
            }
            prop_assert!(accountant.delta(epsilon).unwrap() <= delta);
            prop_assert!(accountant.epsilon(delta).unwrap() <= epsilon);
        }

        #[test]
        fn a_calibrated_sigma_keeps_both_answers(epsilon in 1e-3f64..30.0, log_delta in -30.0f64..-1.0) {
            let delta = log_delta.exp();
            let sigma = gaussian_sigma(3.0, epsilon, delta).unwrap();
            let mut accountant = Accountant::new();
            accountant.add(Event::gaussian(3.0, sigma).unwrap(), 1).unwrap();
            prop_assert!(accountant.delta(epsilon).unwrap() <= delta);
            prop_assert!(accountant.epsilon(delta).unwrap() <= epsilon);
        }

        #[test]
        fn rho_and_sigma_are_on_the_private_side(epsilon in 1e-3f64..30.0, log_delta in -30.0f64..-1.0) {
            let delta = log_delta.exp();
            let rho = rho_from_epsilon(epsilon, delta).unwrap();
            prop_assert!(epsilon_from_rho(rho, delta).unwrap() <= epsilon);
            prop_assert!(epsilon_from_rho(rho * (1.0 + 1e-6), delta).unwrap() > epsilon);
            let sigma = gaussian_sigma(3.0, epsilon, delta).unwrap();
            prop_assert!(delta_of(Event::gaussian(3.0, sigma).unwrap(), 1, epsilon) <= delta);
            prop_assert!(delta_of(Event::gaussian(3.0, sigma * (1.0 - 1e-6)).unwrap(), 1, epsilon) > delta);
        }
    }

    #[test]
    fn arguments_are_checked() {
        for bad in [0.0, 1.0, -0.1, 1.5, f64::NAN] {
            for error in [
                rho_from_epsilon(1.0, bad).unwrap_err(),
                epsilon_from_rho(0.1, bad).unwrap_err(),
                gaussian_sigma(1.0, 1.0, bad).unwrap_err(),
            ] {
                assert!(error.to_string().starts_with("delta "), "{error}");
            }
        }
        for bad in [-0.1, f64::INFINITY, f64::NAN] {
            let error = epsilon_from_rho(bad, 1e-6).unwrap_err();
            assert!(error.to_string().starts_with("rho "), "{error}");
            assert!(
                rho_from_epsilon(bad, 1e-6).is_err() && gaussian_sigma(1.0, bad, 1e-6).is_err()
            );
        }
        assert_eq!(epsilon_from_rho(0.0, 1e-6).unwrap(), 0.0);
        // Private as it is, and yet no bracket.
        let make = |s: f64| Event::gaussian(1.0, s);
        assert!(calibrate(make, 1, 1.0, 1e-6, (10.0, 10.0)).is_err());
    }

    #[test]
    fn pure_budgets_are_used_up_and_refuse_what_is_not_pure() {
        for (count, epsilon) in [(1, 2.0), (7, 1.0), (1000, 0.3)] {
            let each = calibrate(Event::pure, count, epsilon, 0.0, (1e-6, 1e2)).unwrap();
            assert!(
                (each * count as f64 / epsilon - 1.0).abs() < 2e-12,
                "{each}"
            );
            let scale = |b: f64| Event::laplace(1.0, b);
            let scale = calibrate(scale, count, epsilon, 0.0, (1e-3, 1e6)).unwrap();
            assert!(
                (count as f64 / scale / epsilon - 1.0).abs() < 2e-12,
                "{scale}"
            );
        }
        let refusal = |make: &dyn Fn(f64) -> Result<Event>, bracket| {
            let error = calibrate(make, 1, 1.0, 0.0, bracket)
                .unwrap_err()
                .to_string();
            error.split_once(' ').unwrap().0.to_string()
        };
        assert_eq!(refusal(&|s| Event::gaussian(1.0, s), (0.1, 10.0)), "delta");
        assert_eq!(refusal(&Event::pure, (2.0, 10.0)), "bracket");
        // Pure at one end alone, where it costs too much.
        let late = |x: f64| {
            if x < 5.0 {
                Event::gaussian(1.0, x)
            } else {
                Event::pure(x)
            }
        };
        assert_eq!(refusal(&late, (0.1, 10.0)), "bracket");
        let early = |x: f64| {
            if x > 5.0 {
                Event::gaussian(1.0, x)
            } else {
                Event::pure(2.0)
            }
        };
        assert_eq!(refusal(&early, (0.1, 10.0)), "bracket");
    }

    #[test]
    fn about_the_noise_is_near_it() {
        for (sensitivity, epsilon, delta) in
            [(1.0, 1.0, 1e-6), (3.0, 0.1, 1e-9), (0.01, 20.0, 1e-3)]
        {
            let exact = gaussian_sigma(sensitivity, epsilon, delta).unwrap();
            let about = about_gaussian_sigma(sensitivity, epsilon, delta);
            assert!((about / exact - 1.0).abs() < 3e-6, "{about} {exact}");
        }
    }
}

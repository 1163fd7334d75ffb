use super::*;
use proptest::prelude::*;

fn gaussian(ratio: f64) -> Vec<(Event, u64)> {
    vec![(Event::gaussian(1.0, 1.0 / ratio).unwrap(), 1)]
}

fn pure(epsilon: f64) -> Vec<(Event, u64)> {
    vec![(Event::pure(epsilon).unwrap(), 1)]
}

fn refused(filter: &mut Filter, events: &[(Event, u64)]) -> bool {
    let before = filter.clone();
    match filter.add(events) {
        Ok(()) => false,
        Err(Error::BudgetExceeded(_)) => {
            assert_eq!(*filter, before, "a refusal changes nothing");
            true
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn figures() {
    // Pure releases add up exactly, as long as they are alone.
    let mut filter = Filter::new(1.0, 0.0).unwrap();
    for _ in 0..4 {
        filter.add(&pure(0.25)).unwrap();
    }
    assert!(refused(&mut filter, &pure(1e-9)));
    assert_eq!(filter.remaining(0.0).unwrap(), 0.0);
    // A first release may use up everything by its own tight curve; then nothing is left.
    let (epsilon, delta) = (1.0, 1e-6);
    let whole = gaussian(1.0 / gaussian_sigma(1.0, epsilon, delta).unwrap());
    let mut filter = Filter::new(epsilon, delta).unwrap();
    assert!((filter.remaining(0.0).unwrap() - 1.0).abs() < 1e-9);
    assert!((filter.remaining(delta).unwrap() - 1.0).abs() < 1e-6);
    filter.add(&whole).unwrap();
    assert_eq!(filter.remaining(delta).unwrap(), 0.0);
    assert!(refused(&mut filter, &gaussian(1e-9)));
    // Many small ones come within a few parts in a hundred of the Renyi optimum.
    let mut filter = Filter::new(epsilon, delta).unwrap();
    let rho = rho_from_epsilon(epsilon, delta).unwrap();
    let share = (2.0 * rho / 1000.0).sqrt();
    let passed = (0..1000)
        .take_while(|_| filter.add(&gaussian(share)).is_ok())
        .count();
    assert!((930..1000).contains(&passed), "{passed}");
    // What fails with some probability uses the reserve.
    let failing = |delta| {
        vec![
            (Event::pure(0.1).unwrap(), 1),
            (Event::failure(delta).unwrap(), 1),
        ]
    };
    let mut filter = Filter::new(epsilon, delta).unwrap();
    filter.add(&failing(4e-7)).unwrap();
    assert!(refused(&mut filter, &failing(2e-7)));
    filter.add(&failing(0.9e-7)).unwrap();
    for (epsilon, delta) in [
        (0.0, 0.1),
        (f64::NAN, 0.1),
        (1.0, 1.0),
        (1.0, -0.1),
        (1.0, f64::NAN),
    ] {
        assert!(Filter::new(epsilon, delta).is_err());
    }
}

/// Among numbers that are not normal, half of delta rounds to 0, or up: what is left is no half then.
#[test]
fn the_reserve_and_what_is_left_are_delta() {
    for units in 1..=9 {
        let delta = f64::from_bits(units);
        let filter = Filter::new(1.0, delta).unwrap();
        let left = delta - reserve(delta);
        assert!(left > 0.0 && reserve(delta) + left == delta);
        assert_eq!(filter.renyi, Some(budget(1.0, left).unwrap()));
        assert!((filter.remaining(0.0).unwrap() - 1.0).abs() < 1e-9);
    }
    assert_eq!(reserve(1e-6), 1e-6 - reserve(1e-6));
}

fn events() -> impl Strategy<Value = Vec<(Event, u64)>> {
    let event = prop_oneof![
        (0.01..1.0f64).prop_map(|ratio| Event::gaussian(1.0, 1.0 / ratio).unwrap()),
        (0.01..1.0f64).prop_map(|epsilon| Event::pure(epsilon).unwrap()),
        (0.01..1.0f64).prop_map(|range| Event::exponential(range).unwrap()),
        (1e-4..0.2f64).prop_map(|rho| Event::zero_concentrated(rho).unwrap()),
        (1e-9..1e-6f64).prop_map(|delta| Event::failure(delta).unwrap()),
    ];
    prop::collection::vec((event, 1..4u64), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever passes keeps the total, by the accountant that knows nothing of the filter; what is said to be left
    /// passes, and a little more does not.
    #[test]
    fn what_passes_keeps_the_total(
        epsilon in 0.1..8.0f64,
        delta in prop_oneof![Just(0.0), 1e-10..1e-3f64],
        releases in prop::collection::vec(events(), 1..12),
    ) {
        let mut filter = Filter::new(epsilon, delta).unwrap();
        let mut accountant = Accountant::new();
        for events in &releases {
            if !refused(&mut filter, events) {
                for (event, count) in events {
                    accountant.add(*event, *count).unwrap();
                }
            }
            prop_assert!(accountant.delta(epsilon).unwrap() <= delta * (1.0 + 1e-9));
        }
        for at in [0.0, delta] {
            let left = filter.remaining(at).unwrap();
            let release = |epsilon: f64| match at > 0.0 {
                true => gaussian(1.0 / gaussian_sigma(1.0, epsilon, at).unwrap()),
                false => pure(epsilon),
            };
            if left > 1e-3 {
                prop_assert!(
                    !refused(&mut filter.clone(), &release(0.999 * left))
                        || !refused(&mut filter.clone(), &pure(0.999 * left))
                );
            }
            // A first release at a tiny delta may be pure as well, which costs less than what its curve says.
            let (filter, more) = (&mut filter.clone(), 1.01 * left + 1e-3);
            prop_assert!(refused(filter, &release(more)) || (at > 0.0 && filter.releases() == 1));
        }
    }
}

/// The best adaptive strategy over four releases, found by going through all of them, keeps the total exactly: two
/// outcomes a release, the loss of randomised response, the next epsilon chosen by what came out.
#[test]
fn no_strategy_breaks_the_total() {
    let choices = [0.05, 0.1, 0.2, 0.3];
    for (epsilon, delta) in [(0.3, 0.2), (0.5, 0.3), (0.2, 0.2)] {
        let filter = Filter::new(epsilon, delta).unwrap();
        let worst = worst(&filter, &choices, epsilon, 0.0, 4);
        // Pure epsilons that added up to epsilon would leave nothing.
        assert!(worst > 0.01 * delta && worst <= delta, "{worst} {delta}");
    }
}

/// sup over strategies of E (1 - exp(epsilon - loss))+ under the law of the output, given the loss so far.
fn worst(filter: &Filter, choices: &[f64], epsilon: f64, loss: f64, left: usize) -> f64 {
    let stop = (1.0 - (epsilon - loss).exp()).max(0.0);
    if left == 0 {
        return stop;
    }
    choices.iter().fold(stop, |most, &choice| {
        let mut after = filter.clone();
        if after.add(&pure(choice)).is_err() {
            return most;
        }
        let heads = 1.0 / (1.0 + (-choice).exp());
        let go_on = |loss: f64| worst(&after, choices, epsilon, loss, left - 1);
        most.max(heads * go_on(loss + choice) + (1.0 - heads) * go_on(loss - choice))
    })
}

/// The divergence that is allowed implies (epsilon, delta) by the conversion, with what rounding needs and no more, and
/// at an order that no other one betters for noise that uses all of it.
#[test]
fn the_divergence_allowed_is_what_its_order_converts() {
    for (epsilon, delta) in [(0.1, 1e-9), (1.0, 5e-7), (8.0, 1e-3), (0.3, 0.1)] {
        let (order, most) = budget(epsilon, delta).unwrap();
        let price = |a: f64| (1.0 - 1.0 / a).ln() - (delta * a).ln() / (a - 1.0);
        let left = (epsilon - (most + price(order))) / (epsilon + price(order).abs());
        assert!((0.5e-12..2e-12).contains(&left), "{left}");
        let rho = rho_from_epsilon(epsilon, delta).unwrap();
        let cost = |a: f64| rho * a + price(a);
        for other in [0.5, 0.9, 1.1, 2.0] {
            let other = 1.0 + other * (order - 1.0);
            assert!(cost(order) <= cost(other), "{order} {other}");
        }
    }
}

#[test]
fn what_was_used_is_told() {
    let mut filter = Filter::new(1.5, 1e-6).unwrap();
    assert_eq!((filter.total(), filter.releases()), ((1.5, 1e-6), 0));
    for releases in 1..4 {
        filter.add(&pure(0.5)).unwrap();
        assert_eq!(filter.releases(), releases);
    }
    let refusal = filter.add(&pure(2.25)).unwrap_err().to_string();
    for part in ["of epsilon 2.25", "budget of epsilon 1.5", "3 releases"] {
        assert!(refusal.contains(part), "{refusal}");
    }
    let never = [(Event::failure(0.5).unwrap(), 1)];
    let refusal = filter.add(&never).unwrap_err().to_string();
    assert!(refusal.contains("without a guarantee"), "{refusal}");
}

#[test]
fn nothing_is_left_after_a_first_release_that_took_the_reserve() {
    let mut filter = Filter::new(6.0, 7e-7).unwrap();
    filter.add(&[(Event::failure(4e-7).unwrap(), 1)]).unwrap();
    assert!(refused(&mut filter, &pure(1e-6)));
    for delta in [0.0, 1e-9, 7e-7] {
        assert_eq!(filter.remaining(delta).unwrap(), 0.0);
    }
}

//! Duals, gauges and ball vertices against brute force over all subsets.

use super::*;
use crate::lovasz::norm;
use crate::minimise::tests::{Double, cut, monotone, subsets, vector};
use crate::set_function::SetFunction;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn dual_norm_is_the_largest_ratio((f, s) in (1..9usize).prop_flat_map(|p| (monotone(p), vector(p)))) {
        let mut largest = 0.0f64;
        for set in subsets(s.len()) {
            let load: f64 = set.iter().map(|&j| s[j].abs()).sum();
            if load > 0.0 {
                largest = largest.max(load / (f.value(&set).unwrap() + 0.0));
            }
        }
        let found = symmetric::dual_norm(&f, &s).unwrap();
        prop_assert!(found == largest || (found - largest).abs() < 1e-9 * largest, "{found} {largest}");
        if largest.is_finite() && largest > 0.0 {
            let scaled: Vec<f64> = s.iter().map(|s| s / largest).collect();
            prop_assert!(symmetric::contains(&f, &scaled, 1e-9).unwrap());
            let outside: Vec<f64> = scaled.iter().map(|s| s * 1.01).collect();
            prop_assert!(!symmetric::contains(&f, &outside, 1e-9).unwrap());
            // The vertex of the norm ball has norm 1 and attains the dual norm.
            let mut x = vec![0.0; s.len()];
            norm_ball::vertex(&f, &s, &mut x).unwrap();
            prop_assert!((norm(&f, &x).unwrap() - 1.0).abs() < 1e-12);
            let inner: f64 = s.iter().zip(&x).map(|(s, x)| s * x).sum();
            prop_assert!((inner + largest).abs() < 1e-9 * largest);
        }
    }

    #[test]
    fn gauge_is_the_largest_ratio((f, mut s) in (2..9usize).prop_flat_map(|p| (cut(p), vector(p))), centred in any::<bool>()) {
        let mean = s.iter().sum::<f64>() / s.len() as f64;
        if centred {
            s.iter_mut().for_each(|s| *s -= mean);
        }
        let mut largest = 0.0f64;
        for set in subsets(s.len()) {
            let (load, price) = (set.iter().map(|&j| s[j]).sum::<f64>(), f.value(&set).unwrap());
            if load.abs() > 1e-9 && (load > 0.0 || set.len() == s.len()) {
                largest = largest.max(if price > 1e-12 { load / price } else { f64::INFINITY });
            }
        }
        let found = base::gauge(&f, &s).unwrap();
        prop_assert!(found == largest || (found - largest).abs() < 1e-9 * largest, "{found} {largest}");
        if largest.is_finite() && largest > 0.0 {
            let scaled: Vec<f64> = s.iter().map(|s| s / largest).collect();
            prop_assert!(base::contains(&f, &scaled, 1e-9).unwrap());
            let outside: Vec<f64> = scaled.iter().map(|s| s * 1.01).collect();
            prop_assert!(!base::contains(&f, &outside, 1e-9).unwrap());
        }
    }
}

/// The greedy vertices of all orders of p features.
fn vertices(f: &Double) -> Vec<Vec<f64>> {
    fn extend(f: &Double, order: &mut Vec<usize>, found: &mut Vec<Vec<f64>>) {
        let p = f.n_features();
        if order.len() == p {
            let (mut gains, mut s) = (vec![0.0; p], vec![0.0; p]);
            f.gains(order, &mut gains).unwrap();
            order.iter().zip(gains).for_each(|(&j, gain)| s[j] = gain);
            found.push(s);
        }
        for j in 0..p {
            if !order.contains(&j) {
                order.push(j);
                extend(f, order, found);
                order.pop();
            }
        }
    }
    let mut found = Vec::new();
    extend(f, &mut Vec::new(), &mut found);
    found
}

fn length(s: &[f64], ord: NormOrder) -> f64 {
    match ord {
        NormOrder::One => s.iter().map(|s| s.abs()).sum(),
        NormOrder::Two => s.iter().map(|s| s * s).sum::<f64>().sqrt(),
        NormOrder::Inf => s.iter().fold(0.0, |m, s| m.max(s.abs())),
    }
}

proptest! {
    #[test]
    fn radius_is_that_of_the_farthest_vertex(f in (1..6usize).prop_flat_map(|p| prop_oneof![3 => monotone(p).boxed(), 1 => cut(p).boxed()])) {
        for ord in [NormOrder::One, NormOrder::Two, NormOrder::Inf] {
            let farthest = vertices(&f).iter().map(|s| length(s, ord)).fold(0.0, f64::max);
            for (j, value) in singletons(&f).unwrap().into_iter().enumerate() {
                prop_assert!((value - f.value(&[j]).unwrap()).abs() < 1e-12);
            }
            let base = base::radius(&f, ord).unwrap();
            prop_assert!(base.exact && (base.value - farthest).abs() < 1e-9, "{ord:?} {base:?} {farthest}");
            if f.is_monotone() {
                let radius = symmetric::radius(&f, ord).unwrap();
                prop_assert!(radius.exact && (radius.value - farthest).abs() < 1e-9, "{ord:?} {radius:?} {farthest}");
            }
        }
    }

    /// Bounds for p above 16 hold, on functions whose radius is known.
    #[test]
    fn bounds_are_bounds(f in monotone(20)) {
        let hidden = Double::Hidden(Box::new(f.clone()));
        let (radius, bound) = (symmetric::radius(&f, NormOrder::Two).unwrap(), symmetric::radius(&hidden, NormOrder::Two).unwrap());
        prop_assert!(!bound.exact);
        prop_assert!(!radius.exact || radius.value <= bound.value * (1.0 + 1e-12));
        // Some greedy vertex is no farther.
        let mut s = vec![0.0; 20];
        crate::lovasz::base_vertex(&f, &(0..20).map(f64::from).collect::<Vec<_>>(), &mut s).unwrap();
        prop_assert!(length(&s, NormOrder::Two) <= radius.value * (1.0 + 1e-12));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::with_cases(100) })]
    /// Formulas against simulation, at 7 standard errors: 200 normal comparisons miss with probability below 1e-9.
    #[test]
    fn widths_agree_with_simulation((f, seed) in ((1..7usize).prop_flat_map(|p| prop_oneof![3 => monotone(p).boxed(), 1 => cut(p).boxed()]), 0..1000u64)) {
        let simulation = Simulation { n_samples: 2000, seed };
        let hidden = Double::Hidden(Box::new(f.clone()));
        let mut pairs = vec![(base::gaussian_width(&f, simulation).unwrap(), base::gaussian_width(&hidden, simulation).unwrap())];
        if f.is_monotone() {
            pairs.push((symmetric::gaussian_width(&f, simulation).unwrap(), symmetric::gaussian_width(&hidden, simulation).unwrap()));
        }
        for (closed, simulated) in pairs {
            prop_assert!(!simulated.exact);
            prop_assert!((closed.value - simulated.value).abs() <= 7.0 * simulated.stderr + 1e-12, "{closed:?} {simulated:?}");
        }
    }
}

/// Threads change no bit; the support function of the vertices is what is averaged.
#[test]
fn simulation_is_reproducible() {
    let f = Double::Hidden(Box::new(Double::Range(5)));
    let simulation = Simulation {
        n_samples: 500,
        seed: 3,
    };
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| symmetric::gaussian_width(&f, simulation).unwrap())
    };
    assert_eq!(on(1), on(3));
    assert!(
        symmetric::gaussian_width(
            &f,
            Simulation {
                n_samples: 1,
                seed: 3
            }
        )
        .is_err()
    );
}

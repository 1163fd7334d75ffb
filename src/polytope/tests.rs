//! Duals, gauges and ball vertices against brute force over all subsets.

use super::*;
use crate::lovasz::norm;
use crate::minimise::tests::{cut, monotone, subsets, vector};
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

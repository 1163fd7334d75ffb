//! Against definitions: random points for the dual norm, optimality of the prox, and what is refused.

use super::*;
use proptest::prelude::*;

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A partition of six features, weights of 0 among them, l1 or not.
fn norms() -> impl Strategy<Value = GroupLasso> {
    let groups = prop_oneof![
        Just(vec![vec![0, 3, 1], vec![2, 5], vec![4]]),
        Just(vec![vec![5, 4, 3, 2, 1, 0]]),
        Just((0..6).map(|j| vec![j]).collect::<Vec<_>>()),
    ];
    let weights = prop::collection::vec(prop_oneof![4 => 0.1..3.0f64, 1 => Just(0.0)], 6);
    let l1 = prop_oneof![Just(0.0), 0.05..2.0f64];
    (groups, weights, l1, any::<bool>()).prop_filter_map(
        "costs nothing",
        |(groups, weights, l1, positive)| {
            let norm = GroupLasso::new(&groups, Some(&weights[..groups.len()]), l1).ok()?;
            Some(if positive { norm.on_positive() } else { norm })
        },
    )
}

fn vector() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(
        prop_oneof![4 => -6.0..6.0f64, 1 => Just(0.0), 1 => Just(1.5)],
        6,
    )
}

/// In the domain of the norm.
fn admitted(norm: &GroupLasso, mut theta: Vec<f64>) -> Vec<f64> {
    if norm.is_positive() {
        theta.iter_mut().for_each(|t| *t = t.max(0.0));
    }
    theta
}

proptest! {
    /// x is the prox where (v - x)/step is a subgradient: no point gains more than it, and x itself gains its norm.
    #[test]
    fn the_prox_is_where_its_optimality_says(
        norm in norms(), v in vector(), step in 0.01..3.0f64, other in vector(),
    ) {
        let mut x = vec![0.0; 6];
        norm.prox(&v, step, &mut x, &mut Scratch::default()).unwrap();
        prop_assert_eq!(&admitted(&norm, x.clone()), &x);
        let s: Vec<f64> = v.iter().zip(&x).map(|(v, x)| (v - x) / step).collect();
        let gained = inner(&s, &x);
        prop_assert!((gained - norm.value(&x).unwrap()).abs() < 1e-9 * (1.0 + gained.abs()));
        let other = admitted(&norm, other);
        prop_assert!(inner(&s, &other) <= norm.value(&other).unwrap() + 1e-9);
    }

    /// |<s, theta>| is at most dual times Omega, and some theta reaches it up to rounding.
    #[test]
    fn the_dual_norm_bounds_every_point_and_the_ball_vertex_reaches_it(
        norm in norms(), s in vector(), theta in vector(),
    ) {
        let theta = admitted(&norm, theta);
        let dual = norm.dual(&s).unwrap();
        if dual.is_finite() {
            prop_assert!(inner(&s, &theta) <= dual * norm.value(&theta).unwrap() * (1.0 + 1e-12) + 1e-12);
        }
        let mut x = vec![0.0; 6];
        let negated: Vec<f64> = s.iter().map(|s| -s).collect();
        let found = norm.ball_vertex(&negated, &mut x);
        if norm.is_seminorm() {
            prop_assert!(!norm.ball_is_bounded() && (found.is_err() || dual.is_finite()));
        } else {
            found.unwrap();
            prop_assert!(norm.value(&x).unwrap() <= 1.0 + 1e-12);
            prop_assert_eq!(&admitted(&norm, x.clone()), &x);
            prop_assert!((inner(&s, &x) - dual).abs() <= 1e-9 * (1.0 + dual));
        }
    }

    /// The bound of a certificate: s/dual is in the dual ball in exact arithmetic, here with twice the digits.
    #[test]
    fn the_dual_norm_is_never_below_itself(norm in norms(), s in vector()) {
        let dual = norm.dual(&s).unwrap();
        if dual > 0.0 && dual.is_finite() {
            for (group, weight) in norm.groups() {
                // The square of |S(s_g, l1 t)| less that of w t, sums of exact products.
                let mut excess = Exact::default();
                for &j in group {
                    let size = if norm.is_positive() { s[j].max(0.0) } else { s[j].abs() };
                    let mut rest = Exact::default();
                    rest.add(size);
                    rest.add_product(-norm.l1(), dual);
                    if rest.0 + rest.1 > 0.0 {
                        excess.add_product(rest.0, rest.0);
                        excess.add_product(2.0 * rest.0, rest.1);
                    }
                }
                let mut least = Exact::default();
                least.add_product(weight, dual);
                excess.add_product(-least.0, least.0);
                excess.add_product(-2.0 * least.0, least.1);
                prop_assert!(excess.0 + excess.1 <= 0.0, "{} {}", excess.0, excess.1);
            }
        }
    }

    #[test]
    fn a_vertex_of_the_dual_ball_gains_the_norm(norm in norms(), theta in vector()) {
        let theta = admitted(&norm, theta);
        let mut s = vec![0.0; 6];
        norm.vertex(&theta, &mut s).unwrap();
        let value = norm.value(&theta).unwrap();
        prop_assert!((inner(&s, &theta) - value).abs() <= 1e-12 * (1.0 + value));
        prop_assert!(norm.dual(&s).unwrap() <= 1.0 + 1e-12);
        let size: f64 = inner(&s, &s);
        prop_assert!(size.sqrt() <= norm.dual_radius().unwrap());
    }

    #[test]
    fn nothing_in_the_ball_is_longer_than_its_reach(norm in norms(), theta in vector()) {
        let (theta, reach) = (admitted(&norm, theta), norm.reach().unwrap());
        let value = norm.value(&theta).unwrap();
        if norm.is_seminorm() {
            prop_assert_eq!(reach, f64::INFINITY);
        } else {
            prop_assert!(inner(&theta, &theta).sqrt() <= reach * value * (1.0 + 1e-12));
        }
    }

    /// Zeros outside the kept features change neither the norm of a point nor, by them, its groups.
    #[test]
    fn a_restriction_is_the_norm_of_vectors_that_are_zero_elsewhere(norm in norms(), theta in vector()) {
        let kept = [4u32, 1, 2];
        let small: Vec<f64> = kept.iter().map(|&j| theta[j as usize]).collect();
        let mut large = vec![0.0; 6];
        kept.iter().for_each(|&j| large[j as usize] = theta[j as usize]);
        let value = norm.value(&large).unwrap();
        match norm.restricted(&kept).unwrap() {
            Some(restricted) => {
                prop_assert!((restricted.value(&small).unwrap() - value).abs() < 1e-12 * (1.0 + value));
                prop_assert_eq!(restricted.is_positive(), norm.is_positive());
            }
            None => prop_assert_eq!(value, 0.0),
        }
    }
}

/// A sum of floats with about twice their digits.
#[derive(Default)]
struct Exact(f64, f64);

impl Exact {
    fn add(&mut self, x: f64) {
        let sum = self.0 + x;
        let part = sum - self.0;
        self.1 += (self.0 - (sum - part)) + (x - part);
        self.0 = sum;
    }

    fn add_product(&mut self, a: f64, b: f64) {
        let product = a * b;
        self.add(product);
        self.1 += a.mul_add(b, -product);
    }
}

/// Overlapping groups: the dual norm is the largest over the groups, and the ball vertex is of one group.
#[test]
fn overlapping_groups_have_a_dual_norm_and_no_prox() {
    let norm = GroupLasso::new(&[vec![0, 1], vec![1, 2]], Some(&[1.0, 2.0]), 0.0).unwrap();
    assert!(norm.overlaps());
    let dual = norm.dual(&[3.0, -4.0, 12.0]).unwrap();
    assert!((dual - 160.0_f64.sqrt() / 2.0).abs() < 1e-12);
    let mut x = [9.0; 3];
    norm.ball_vertex(&[3.0, -4.0, 1.0], &mut x).unwrap();
    assert!((x[0] + 0.6).abs() < 1e-12 && (x[1] - 0.8).abs() < 1e-12 && x[2] == 0.0);
    assert_eq!(norm.reach().unwrap(), 1.0);
    let mut out = [0.0; 3];
    for refused in [
        norm.value(&x).err(),
        norm.prox(&x, 1.0, &mut out, &mut Scratch::default()).err(),
        norm.vertex(&x, &mut out).err(),
        norm.dual_radius().err(),
    ] {
        assert!(
            refused
                .unwrap()
                .to_string()
                .starts_with("norm has groups that overlap")
        );
    }
    assert_eq!(norm.prox_error(), f64::INFINITY);
}

/// What has no square in the range of doubles.
#[test]
fn sizes_at_the_ends_of_the_range_are_scaled() {
    let norm = GroupLasso::new(&[vec![0, 1]], None, 0.0).unwrap();
    for scale in [1e-300, 1e300] {
        let v = [3.0 * scale, -4.0 * scale];
        assert!((norm.value(&v).unwrap() / scale - 5.0).abs() < 1e-12);
        assert!((norm.dual(&v).unwrap() / scale - 5.0).abs() < 1e-12);
        let mut x = [0.0; 2];
        (norm.prox(&v, 2.5 * scale, &mut x, &mut Scratch::default())).unwrap();
        assert!((x[0] / scale - 1.5).abs() < 1e-12 && (x[1] / scale + 2.0).abs() < 1e-12);
        let mut s = [0.0; 2];
        norm.vertex(&v, &mut s).unwrap();
        assert!((s[0] - 0.6).abs() < 1e-12 && (s[1] + 0.8).abs() < 1e-12);
    }
}

#[test]
fn what_is_no_group_lasso_is_refused() {
    let refused = |groups: &[Vec<usize>], weights: Option<&[f64]>, l1: f64| {
        GroupLasso::new(groups, weights, l1)
            .unwrap_err()
            .to_string()
    };
    let pair = [vec![0], vec![1]];
    assert!(refused(&[], None, 0.0).contains("at least one feature"));
    assert!(refused(&[vec![0], vec![]], None, 0.0).contains("group 1 is"));
    assert!(refused(&[vec![0, 0]], None, 0.0).contains("group 0 holds 0 twice"));
    assert!(refused(&[vec![0], vec![2]], None, 0.0).contains("1 is in none"));
    assert!(refused(&[vec![usize::MAX]], None, 0.0).contains("0 is in none"));
    assert!(refused(&[vec![0, 1], vec![0, 1], vec![3]], None, 0.0).contains("2 is in none"));
    assert!(refused(&pair, Some(&[1.0]), 0.0).contains("expected 2, got 1"));
    assert!(refused(&pair, Some(&[1.0, -1.0]), 0.0).contains("non-negative"));
    assert!(refused(&pair, Some(&[1.0, f64::NAN]), 0.0).contains("non-negative"));
    assert!(refused(&pair, None, f64::INFINITY).contains("l1 must be"));
    assert!(refused(&pair, Some(&[0.0, 0.0]), 0.0).contains("nothing is penalised"));
    assert!(GroupLasso::new(&pair, Some(&[0.0, 0.0]), 1.0).is_ok());
}

/// Entries whose length is a whole number: the prox is known to one rounding.
#[test]
fn the_float_error_of_the_prox_is_within_its_bound() {
    let whole: [&[f64]; 4] = [
        &[3.0, 4.0],
        &[2.0, -3.0, 6.0],
        &[1.0, 4.0, -8.0],
        &[1.0; 16],
    ];
    for entries in whole {
        let norm = GroupLasso::new(&[(0..entries.len()).collect()], None, 0.0).unwrap();
        let size = entries.iter().map(|x| x * x).sum::<f64>().sqrt();
        for step in [0.1, 0.3, 1.7, size * (1.0 - 1e-15), size * (1.0 + 1e-15)] {
            let mut x = vec![0.0; entries.len()];
            (norm.prox(entries, step, &mut x, &mut Scratch::default())).unwrap();
            let errors = x.iter().zip(entries).map(|(x, v)| {
                // v (size - step)/size in one rounding of each operation, the difference exact near step = size.
                x - v * ((size - step).max(0.0) / size)
            });
            let error = errors.map(|e| e * e).sum::<f64>().sqrt();
            assert!(
                error <= norm.prox_error() * size,
                "{entries:?} {step}: {error}"
            );
        }
    }
    let mut zero = [1.0; 2];
    let norm = GroupLasso::new(&[vec![0, 1]], None, 0.0).unwrap();
    norm.prox(&[3.0, 4.0], 5.0, &mut zero, &mut Scratch::default())
        .unwrap();
    assert_eq!(zero, [0.0, 0.0]);
}

/// What proofs take: a prox in closed form.
#[test]
fn disjoint_groups_are_reviewed() {
    use crate::norm::ReviewedNorm;
    use std::sync::Arc;
    let disjoint = GroupLasso::new(&[vec![0], vec![1]], None, 0.1).unwrap();
    assert!(ReviewedNorm::new(Arc::new(disjoint)).is_some());
    let overlapping = GroupLasso::new(&[vec![0, 1], vec![1]], None, 0.1).unwrap();
    assert!(ReviewedNorm::new(Arc::new(overlapping)).is_none());
}

//! The enumerated law of small sums: what it costs between score vectors at the bound, and what is drawn.

use std::collections::HashMap;

use super::*;

fn cross(weight: f64, features: &[u32]) -> Summand {
    Summand {
        weight,
        shape: Shape::Cross(features.to_vec()),
    }
}

fn segment(weight: f64, i: u32, j: u32) -> Summand {
    Summand {
        weight,
        shape: Shape::Segment(i, j),
    }
}

fn subsets(weight: f64, features: &[u32], size: usize) -> Summand {
    Summand {
        weight,
        shape: Shape::Subsets(features.into(), size),
    }
}

/// What no difference of scores could hold is refused before a word is drawn.
#[test]
fn scores_that_are_too_large_are_refused() {
    let summands = vec![cross(1.0, &[0]), segment(1.0, 0, 1)];
    let selection = MinkowskiSelection::new(summands, 2, 1.0, 1.0).unwrap();
    let mut vertex = [0.0; 2];
    for score in [i64::MIN, i64::MAX, LARGEST_SCORE + 1] {
        let mut source = Source::limited(1, 0);
        assert!(
            selection
                .draw(&[score, -1], &mut source, &mut vertex)
                .is_err()
        );
    }
    let largest = [LARGEST_SCORE, -LARGEST_SCORE];
    let drawn = selection.draw(&largest, &mut Source::seeded(1), &mut vertex);
    assert!(drawn.is_ok());
}

/// Vertices of one summand with their weight: features and their signs.
fn vertices(summand: &Summand) -> Vec<Vec<(usize, i64)>> {
    match &summand.shape {
        Shape::Cross(features) => features
            .iter()
            .flat_map(|&j| [vec![(j as usize, 1)], vec![(j as usize, -1)]])
            .collect(),
        Shape::Segment(i, j) => [1, -1]
            .map(|s| vec![(*i as usize, s), (*j as usize, -s)])
            .to_vec(),
        Shape::Subsets(features, size) => {
            let mut all = vec![Vec::new()];
            for &j in &**features {
                for k in 0..all.len() {
                    for sign in [1, -1] {
                        let mut longer: Vec<(usize, i64)> = all[k].clone();
                        longer.push((j as usize, sign));
                        all.push(longer);
                    }
                }
            }
            all.retain(|vertex| vertex.len() == *size);
            all
        }
    }
}

/// ln sum exp.
fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    largest + logs.map(|log| (log - largest).exp()).sum::<f64>().ln()
}

/// The law of the whole by its definition: P(v_1, ..., v_G) proportional to exp(sum_g eta_g <v_g, k>), in the order of
/// the product set: ln P, with the vertex sum_g w_g v_g of each.
fn law(summands: &[Summand], etas: &[f64], scores: &[f64]) -> Vec<(f64, Vec<f64>)> {
    let mut law = vec![(0.0, vec![0.0; scores.len()])];
    for (summand, eta) in summands.iter().zip(etas) {
        let mut next = Vec::new();
        for (log, point) in &law {
            for vertex in vertices(summand) {
                let inner: f64 = vertex.iter().map(|&(j, s)| s as f64 * scores[j]).sum();
                let mut point = point.clone();
                (vertex.iter()).for_each(|&(j, s)| point[j] += summand.weight * s as f64);
                next.push((log + eta * inner, point));
            }
        }
        law = next;
    }
    let total = log_sum(law.iter().map(|(log, _)| *log));
    law.iter_mut().for_each(|(log, _)| *log -= total);
    law
}

/// The Renyi divergence of two laws on one set.
fn renyi(p: &[(f64, Vec<f64>)], q: &[(f64, Vec<f64>)], order: f64) -> f64 {
    let terms = (p.iter().zip(q)).map(|((p, _), (q, _))| order * p + (1.0 - order) * q);
    log_sum(terms) / (order - 1.0)
}

/// What the selection draws with: eta_g by its definition, from weights and cost alone.
fn etas(summands: &[Summand], n_features: usize, sensitivity: f64, rho: f64) -> Vec<f64> {
    let load = (0..n_features)
        .map(|j| {
            let of = |s: &&Summand| vertices(s).iter().flatten().any(|&(k, _)| k == j);
            let own = |s: &Summand| match s.shape {
                Shape::Cross(_) | Shape::Subsets(..) => s.weight * s.weight,
                Shape::Segment(..) => 2.0 * s.weight * s.weight,
            };
            summands.iter().filter(of).map(own).sum::<f64>()
        })
        .fold(0.0, f64::max);
    let eta = (2.0 * rho / load).sqrt() / sensitivity;
    summands.iter().map(|s| eta * s.weight).collect()
}

/// Small sums: disjoint and overlapping groups, nested ones, a chain, a triangle, a mixture, signed pairs of features
/// alone and as a part of sorted l1.
fn cases() -> Vec<Vec<Summand>> {
    vec![
        vec![cross(1.0, &[0]), cross(1.0, &[1]), cross(1.0, &[2])],
        vec![cross(1.0, &[0, 1]), cross(2.0, &[2])],
        vec![cross(0.5, &[0, 1]), cross(2.0, &[1, 2])],
        vec![
            cross(1.0, &[0, 1, 2]),
            cross(0.7, &[1, 2]),
            cross(3.0, &[2]),
        ],
        vec![segment(1.0, 0, 1), segment(1.0, 1, 2)],
        vec![segment(1.0, 0, 1), segment(2.0, 1, 2), segment(0.5, 0, 2)],
        vec![cross(1.0, &[0, 2]), segment(1.5, 0, 1)],
        vec![subsets(1.0, &[0, 1, 2], 2)],
        vec![
            cross(0.5, &[0, 1, 2]),
            subsets(0.8, &[2, 0, 1], 2),
            cross(0.3, &[0]),
            cross(0.3, &[1]),
            cross(0.3, &[2]),
        ],
    ]
}

/// Directions d of length 1 over three features.
fn directions() -> Vec<[f64; 3]> {
    let mut all = vec![
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [1.0, -1.0, 0.0],
        [1.0, -2.0, 1.0],
        [1.0, 1.0, 1.0],
    ];
    for a in 0..12 {
        for b in 0..12 {
            let (a, b) = (f64::from(a) * 0.26, f64::from(b) * 0.53);
            all.push([a.sin() * b.cos(), a.sin() * b.sin(), a.cos()]);
        }
    }
    for d in &mut all {
        let size = d.iter().map(|d| d * d).sum::<f64>().sqrt();
        d.iter_mut().for_each(|d| *d /= size);
    }
    all
}

#[test]
fn neighbours_stay_within_rho() {
    let scores = [[0.0, 0.0, 0.0], [3.0, -1.0, 2.0], [-40.0, 41.0, 5.0]];
    for (case, summands) in cases().into_iter().enumerate() {
        let mut tightest = 0.0f64;
        for rho in [1e-3, 0.05, 1.0] {
            let sensitivity = 10.0;
            let selection = MinkowskiSelection::new(summands.clone(), 3, sensitivity, rho).unwrap();
            assert!(selection.rho() <= rho && selection.rho() > 0.999 * rho);
            let etas = etas(&summands, 3, sensitivity, rho);
            for k in scores {
                let p = law(&summands, &etas, &k);
                for d in directions() {
                    let moved: Vec<f64> = (k.iter().zip(d))
                        .map(|(k, d)| k + sensitivity * d)
                        .collect();
                    let q = law(&summands, &etas, &moved);
                    for order in [1.01, 2.0, 10.0, 60.0] {
                        let divergence = renyi(&p, &q, order).max(renyi(&q, &p, order));
                        assert!(
                            divergence <= rho * order * (1.0 + 1e-9) + 1e-12,
                            "case {case}, {rho}, {k:?}, {d:?}, {order}: {divergence}"
                        );
                        tightest = tightest.max(divergence / (rho * order));
                    }
                }
            }
        }
        // Not vacuous: a quarter at least of what is paid is used by some pair.
        assert!(tightest > 0.25, "case {case}: {tightest}");
    }
}

/// A chain of three vertices at the cost that a cover over its edges would have: a pair of neighbours breaks it. Along
/// d = (1, -2, 1) the two segments move by 3/sqrt(6) each, 1.5 in squares, and the cover's load is 2
/// (2 (2/sqrt 6)^2 = 4/3).
#[test]
fn a_cut_is_no_cover() {
    let chain = [segment(1.0, 0, 1), segment(1.0, 1, 2)];
    let (sensitivity, rho) = (1.0, 0.01);
    let as_cover: Vec<Summand> = vec![cross(1.0, &[0, 1]), cross(1.0, &[1, 2])];
    let wrong = etas(&as_cover, 3, sensitivity, rho);
    let right = etas(&chain, 3, sensitivity, rho);
    let d = directions()[4];
    let cost = |etas: &[f64]| {
        let (p, q) = (law(&chain, etas, &[0.0; 3]), law(&chain, etas, &d));
        renyi(&p, &q, 1.01) / 1.01
    };
    assert!(cost(&wrong) > 1.4 * rho, "{}", cost(&wrong));
    assert!(cost(&right) <= rho && cost(&right) > 0.7 * rho);
    // One edge and d = (1, -1): four times what the two-point range of the cover says, eta^2 |d|_inf^2/2.
    let one = [segment(1.0, 0, 1)];
    let (eta, d) = (0.01, [0.5, -0.5]);
    let (p, q) = (law(&one, &[eta], &[0.0; 2]), law(&one, &[eta], &d));
    let cover = eta * eta * 0.25 / 2.0;
    let ratio = renyi(&p, &q, 1.01) / 1.01 / cover;
    assert!((ratio - 4.0).abs() < 0.01, "{ratio}");
}

/// Signed k-subsets at the cost of a cross, |d|_inf^2: k times too little along d = (1, ..., 1). At what is
/// charged, |d|_2^2, no direction costs more, whatever the scores ([`crate::theory_of_privacy::minkowski`]).
#[test]
fn subsets_are_no_cross() {
    let p = 5;
    let all: Vec<u32> = (0..p as u32).collect();
    let ones = vec![1.0; p];
    let eta = 0.01;
    for size in 2..p {
        let pair = [subsets(1.0, &all, size)];
        let (a, b) = (law(&pair, &[eta], &[0.0; 5]), law(&pair, &[eta], &ones));
        let ratio = renyi(&a, &b, 1.01) / 1.01 / (0.5 * eta * eta);
        assert!((ratio / size as f64 - 1.0).abs() < 0.01, "{size}: {ratio}");
    }
    // From scores that leave `size` features tied at the threshold or far above it, by many directions.
    let mut tightest = 0.0f64;
    for size in 2..p {
        let sum = [subsets(1.0, &all, size)];
        for k in [
            [0.0; 5],
            [9.0, 9.0, -9.0, 9.0, 0.0],
            [80.0, 0.0, 0.0, 0.0, 0.0],
            [3.0, -2.0, 1.0, 0.5, 0.1],
        ] {
            for seed in 0..400 {
                let entry = |j: usize| {
                    (f64::from(seed) * 1.7 + 0.3 + j as f64 * f64::from(seed % 13)).sin()
                };
                let mut d: Vec<f64> = (0..p).map(entry).collect();
                if seed % 4 == 0 {
                    d.iter_mut()
                        .skip(1 + seed as usize % 4)
                        .for_each(|d| *d = 0.0);
                }
                let length = d.iter().map(|d| d * d).sum::<f64>().sqrt();
                let moved: Vec<f64> = k.iter().zip(&d).map(|(k, d)| k + d / length).collect();
                for eta in [0.05, 1.0] {
                    let (a, b) = (law(&sum, &[eta], &k), law(&sum, &[eta], &moved));
                    for order in [1.01, 3.0, 20.0] {
                        let cost = renyi(&a, &b, order).max(renyi(&b, &a, order)) / order;
                        assert!(
                            cost <= 0.5 * eta * eta * (1.0 + 1e-9) + 1e-12,
                            "{size} {k:?} {d:?} {cost}"
                        );
                        tightest = tightest.max(cost / (0.5 * eta * eta));
                    }
                }
            }
        }
    }
    assert!(tightest > 0.75, "{tightest}");
}

#[test]
fn frequencies_follow_the_law() {
    // 1 - 1e-6 quantiles of chi-square by degrees of freedom, from scipy.stats.chi2.
    let quantile = |freedom: usize| {
        let z = 4.7534;
        let f = freedom as f64;
        let third = 1.0 - 2.0 / (9.0 * f) + z * (2.0 / (9.0 * f)).sqrt();
        f * third.powi(3) * 1.05 // Wilson & Hilferty (1931), with slack for small f
    };
    let n = 40_000;
    for (case, summands) in cases().into_iter().enumerate() {
        for (which, k) in [[0i64, 0, 0], [300, -150, 220], [-900, 40, 850]]
            .into_iter()
            .enumerate()
        {
            let (sensitivity, rho) = (400.0, 0.6);
            let selection = MinkowskiSelection::new(summands.clone(), 3, sensitivity, rho).unwrap();
            let etas = etas(&summands, 3, sensitivity, rho);
            // Different choices may give the same point: their masses add up.
            let key = |point: &[f64]| -> Vec<i64> {
                point.iter().map(|x| (x * 1000.0).round() as i64).collect()
            };
            let mut expected: HashMap<Vec<i64>, f64> = HashMap::new();
            for (log, point) in law(&summands, &etas, &k.map(|k| k as f64)) {
                *expected.entry(key(&point)).or_default() += log.exp() * f64::from(n);
            }
            let mut counts: HashMap<Vec<i64>, f64> = HashMap::new();
            let mut source = Source::seeded((10 * case + which) as u64);
            let mut vertex = [f64::NAN; 3];
            for _ in 0..n {
                selection.draw(&k, &mut source, &mut vertex).unwrap();
                *counts.entry(key(&vertex)).or_default() += 1.0;
            }
            assert!(counts.keys().all(|key| expected.contains_key(key)));
            // Cells that expect fewer than 5 are pooled.
            let (mut statistic, mut cells) = (0.0, 0);
            let (mut rare, mut rare_expected) = (0.0, 0.0);
            for (key, &e) in &expected {
                let count = counts.get(key).copied().unwrap_or(0.0);
                if e < 5.0 {
                    rare += count;
                    rare_expected += e;
                } else {
                    statistic += (count - e) * (count - e) / e;
                    cells += 1;
                }
            }
            if rare_expected > 5.0 {
                statistic += (rare - rare_expected).powi(2) / rare_expected;
                cells += 1;
            }
            assert!(
                statistic < quantile(cells - 1),
                "case {case}, {which}: {statistic} over {cells}"
            );
        }
    }
}

#[test]
fn bad_sums_are_refused() {
    let refused = |summands: Vec<Summand>, rho: f64| {
        MinkowskiSelection::new(summands, 3, 10.0, rho).unwrap_err()
    };
    for summands in [
        vec![],
        vec![cross(1.0, &[])],
        vec![cross(1.0, &[3])],
        vec![cross(1.0, &[1, 1])],
        vec![segment(1.0, 2, 2)],
        vec![cross(0.0, &[1])],
        vec![cross(f64::NAN, &[1])],
        vec![cross(f64::INFINITY, &[1])],
        vec![segment(-1.0, 0, 1)],
        vec![subsets(1.0, &[0, 1, 2], 1)],
        vec![subsets(1.0, &[0, 1, 2], 3)],
        vec![subsets(1.0, &[0, 1, 1], 2)],
        vec![subsets(1.0, &[0, 1, 3], 2)],
    ] {
        refused(summands, 0.1);
    }
    let message = refused(vec![subsets(1.0, &[0, 1, 2], 2)], 1e-38).to_string();
    assert!(message.starts_with("epsilon is too small for this selection: use a larger epsilon"));
    refused(vec![cross(1.0, &[0])], 0.0);
    refused(vec![cross(1.0, &[0])], f64::NAN);
    // Any budget is taken; a huge one is used up to what the sampler takes.
    let sure = MinkowskiSelection::new(vec![cross(2.0, &[0, 1])], 3, 10.0, 1e12).unwrap();
    let mut vertex = [0.0; 3];
    sure.draw(&[5, -9, 100], &mut Source::seeded(0), &mut vertex)
        .unwrap();
    assert_eq!(vertex, [0.0, -2.0, 0.0]);
    assert!(
        sure.draw(&[5, -9], &mut Source::seeded(0), &mut vertex)
            .is_err()
    );
}

/// Weights as of gains 0.5^k, down to rounding, and a budget that leaves the smallest of them a temperature far below
/// what integers of 64 bits hold: all the same, the choice ends after few words, at a cost within the budget.
#[test]
fn small_weights_are_chosen_soon() {
    let p = 100u32;
    let all: Vec<u32> = (0..p).collect();
    let sum: Vec<Summand> = (2..p as usize)
        .map(|size| subsets(0.5f64.powi(size as i32), &all, size))
        .collect();
    for rho in [1e-12, 1e-4, 1.0] {
        let selection = MinkowskiSelection::new(sum.clone(), 100, 1e4, rho).unwrap();
        assert!(selection.rho() <= rho && selection.rho() > 0.999 * rho);
        let scores: Vec<i64> = (0..100).map(|j| (j - 30) * 1000).collect();
        let mut vertex = vec![0.0; 100];
        // 98 choices of at most 9 sqrt(50) + 3 = 67 rounds of 100 states of 4 proposals of 2 words, in expectation.
        let mut source = Source::limited(3, 98 * 67 * 100 * 8);
        selection.draw(&scores, &mut source, &mut vertex).unwrap();
        let total: f64 = vertex.iter().map(|x| x.abs()).sum();
        let largest: f64 = sum
            .iter()
            .zip(2..)
            .map(|(s, k)| s.weight * f64::from(k))
            .sum();
        assert!(total > 0.0 && total <= largest);
    }
    // Weights as far apart as floats go.
    let far = vec![cross(1e300, &[0]), cross(1e-300, &[1])];
    let selection = MinkowskiSelection::new(far, 3, 10.0, 0.1).unwrap();
    let mut vertex = [0.0; 3];
    selection
        .draw(&[900, 5, 0], &mut Source::limited(1, 1000), &mut vertex)
        .unwrap();
    assert_eq!((vertex[0], vertex[1].abs()), (1e300, 1e-300));
}

//! What every family must satisfy, against brute force over all subsets of up to seven features.

use std::sync::Arc;

use ndarray::Array2;
use proptest::prelude::*;

use super::*;

type F = Arc<dyn SetFunction>;

fn arc<T: SetFunction + 'static>(f: Result<T>) -> F {
    Arc::new(f.unwrap())
}

/// Small quarters: sums of them are exact, and equal weights and zeros are common.
fn weight() -> impl Strategy<Value = f64> {
    (0..12_u8).prop_map(|w| f64::from(w) / 4.0)
}

fn modular(p: usize) -> impl Strategy<Value = F> {
    prop::collection::vec(weight(), p).prop_map(|weights| arc(Modular::new(weights)))
}

/// Gains fall from 3 by random steps, below zero at times.
fn concave_cardinality(p: usize) -> impl Strategy<Value = F> {
    prop::collection::vec(weight(), p).prop_map(|steps| {
        let (mut gain, mut h) = (3.0, 0.0);
        let values = steps.iter().map(|step| {
            gain -= step / 2.0;
            h += gain;
            h
        });
        arc(ConcaveCardinality::new(values.collect()))
    })
}

fn masks(p: usize) -> impl Strategy<Value = Vec<(u32, f64)>> {
    prop::collection::vec((1..1_u32 << p, weight()), 1..6)
}

fn members(mask: u32, p: usize) -> Vec<usize> {
    (0..p).filter(|j| mask >> j & 1 == 1).collect()
}

fn group_cover(p: usize) -> impl Strategy<Value = F> {
    masks(p).prop_map(move |masks| {
        let groups: Vec<_> = masks.iter().map(|&(mask, _)| members(mask, p)).collect();
        let weights = masks.iter().map(|&(_, weight)| weight).collect();
        arc(GroupCover::new(&groups, Some(weights), p))
    })
}

/// Masks that keep a laminar family laminar are taken, the rest are refused by the constructor.
fn tree(p: usize) -> impl Strategy<Value = F> {
    masks(p).prop_map(move |masks| {
        let (mut groups, mut weights) = (Vec::<Vec<usize>>::new(), Vec::new());
        for (mask, weight) in masks {
            groups.push(members(mask, p));
            weights.push(weight);
            let mask_of = |group: &Vec<usize>| group.iter().fold(0, |mask, j| mask | 1 << j);
            let bad = groups[..groups.len() - 1]
                .iter()
                .map(mask_of)
                .any(|other: u32| {
                    other == mask
                        || (other & mask != 0 && other & mask != other && other & mask != mask)
                });
            let made = Tree::new(&groups, Some(weights.clone()), p);
            assert_eq!(made.is_err(), bad, "{groups:?}");
            if bad {
                groups.pop();
                weights.pop();
            }
        }
        arc(Tree::new(&groups, Some(weights), p))
    })
}

fn graph_cut(p: usize) -> impl Strategy<Value = F> {
    prop::collection::vec((0..p, 0..p, weight()), 0..10).prop_map(move |mut edges| {
        edges.retain(|&(i, j, _)| i != j);
        let ends: Vec<_> = edges.iter().map(|&(i, j, _)| (i, j)).collect();
        let weights = edges.iter().map(|edge| edge.2).collect();
        arc(GraphCut::new(&ends, Some(weights), p))
    })
}

/// Labels of features; the last label means no group.
fn partition_rank(p: usize) -> impl Strategy<Value = F> {
    let labels = prop::collection::vec(0..4_usize, p);
    let capacities = prop::collection::vec(1..5_usize, 3);
    (labels, capacities).prop_map(move |(mut labels, capacities)| {
        labels[0] = 0;
        let group = |g| (0..p).filter(|&j| labels[j] == g).collect::<Vec<_>>();
        let kept: Vec<_> = (0..3).filter(|&g| !group(g).is_empty()).collect();
        let groups: Vec<_> = kept.iter().map(|&g| group(g)).collect();
        let capacities: Vec<_> = kept.iter().map(|&g| capacities[g]).collect();
        arc(PartitionRank::new(&groups, &capacities, p))
    })
}

/// B B' of a B with p rows and three columns: rank-deficient from four features on.
fn log_det(p: usize) -> impl Strategy<Value = F> {
    prop::collection::vec(-2.0..2.0f64, 3 * p).prop_map(move |entries| {
        let b = Array2::from_shape_vec((p, 3), entries).unwrap();
        arc(LogDet::new(b.dot(&b.t()).view(), 0.5))
    })
}

fn oracle(p: usize) -> impl Strategy<Value = F> {
    group_cover(p).prop_map(move |f| arc(Oracle::new(p, move |set| f.value(set), None)))
}

/// Every family on p features.
pub(crate) fn basic(p: usize) -> impl Strategy<Value = F> {
    prop_oneof![
        Just(arc(Cardinality::new(p))),
        Just(arc(ContiguousRange::new(p))),
        modular(p),
        concave_cardinality(p),
        group_cover(p),
        tree(p),
        graph_cut(p),
        partition_rank(p),
        log_det(p),
        oracle(p),
    ]
}

fn any_function() -> impl Strategy<Value = F> {
    (1..=7_usize).prop_flat_map(|p| {
        basic(p).prop_recursive(2, 6, 2, |inner| {
            prop_oneof![
                (1..9_u8, inner.clone()).prop_map(|(c, f)| scaled(f64::from(c) / 4.0, f).unwrap()),
                (inner.clone(), inner).prop_map(|(f, g)| sum(f, g).unwrap()),
            ]
        })
    })
}

/// F(A) by the formula of a structure, or None for the general one.
fn formula(structure: Structure<'_>, set: &[usize], p: usize) -> Option<f64> {
    let inside = |j: u32| set.contains(&(j as usize));
    Some(match structure {
        Structure::Modular(weights) => set.iter().map(|&j| weights[j]).sum(),
        Structure::Blocks(blocks) => {
            let met = |block: &Block| block.members.iter().filter(|j| set.contains(j)).count();
            let h = |block: &Block| block.gains[..met(block)].iter().sum::<f64>();
            blocks.iter().map(h).sum()
        }
        Structure::Laminar(groups) | Structure::Cover(groups) => {
            let met = |g: &usize| groups.members(*g).iter().any(|&j| inside(j));
            let weight = |g| groups.weights()[g];
            (0..groups.len()).filter(met).map(weight).sum()
        }
        Structure::Cut(graph) => {
            let edges = graph.edges().iter().zip(graph.weights());
            let cut = edges.filter(|&(&(i, j), _)| inside(i) != inside(j));
            cut.map(|(_, weight)| weight).sum()
        }
        Structure::ContiguousRange => match (set.iter().min(), set.iter().max()) {
            (Some(low), Some(high)) => (p - 1 + high - low + 1) as f64,
            _ => 0.0,
        },
        Structure::Scaled(factor, f) => factor * formula(f.structure(), set, p)?,
        Structure::General => return None,
    })
}

/// What a structure promises beyond its formula.
fn check_promises(structure: Structure<'_>, p: usize) {
    match structure {
        Structure::Modular(weights) => {
            assert!(weights.len() == p && weights.iter().all(|w| *w >= 0.0))
        }
        Structure::Blocks(blocks) => {
            let mut seen = vec![false; p];
            for block in blocks {
                assert_eq!(block.members.len(), block.gains.len());
                assert!(block.gains.windows(2).all(|pair| pair[0] >= pair[1]));
                assert!(block.gains.iter().all(|gain| *gain >= 0.0));
                for &j in &block.members {
                    assert!(!std::mem::replace(&mut seen[j], true));
                }
            }
        }
        Structure::Laminar(groups) => assert!(!crosses(groups)),
        Structure::Cover(groups) => assert!(crosses(groups)),
        Structure::Scaled(factor, f) => {
            assert!(factor > 0.0);
            check_promises(f.structure(), p);
        }
        Structure::Cut(_) | Structure::ContiguousRange | Structure::General => {}
    }
}

fn crosses(groups: &Groups) -> bool {
    let pair = |g: usize, h: usize| {
        let shared = groups
            .members(g)
            .iter()
            .filter(|j| groups.members(h).contains(j))
            .count();
        shared > 0 && shared < groups.members(g).len().min(groups.members(h).len())
    };
    (0..groups.len()).any(|g| (0..g).any(|h| pair(g, h)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_family_keeps_the_contract(
        f in any_function(),
        keys in prop::collection::vec(any::<u32>(), 7),
        cut in 0..=7_usize,
    ) {
        let p = f.n_features();
        let values: Vec<f64> = (0..1_u32 << p).map(|mask| f.value(&members(mask, p)).unwrap()).collect();
        let size = values.iter().fold(0.0, |size: f64, value| size.max(value.abs()));
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * size;
        prop_assert_eq!(values[0].to_bits(), 0.0_f64.to_bits(), "F(empty) is plain zero");

        // Gains along a random order, whole or stopped early.
        let mut order: Vec<usize> = (0..p).collect();
        order.sort_by_key(|&j| keys[j]);
        order.truncate(cut);
        let mut gains = vec![f64::NAN; order.len()];
        f.gains(&order, &mut gains).unwrap();
        let mut mask = 0;
        for (&j, gain) in order.iter().zip(gains) {
            prop_assert!(near(gain, values[mask | 1 << j] - values[mask]));
            mask |= 1 << j;
        }
        // A set is a set: its value does not depend on the order.
        prop_assert!(near(f.value(&order).unwrap(), values[mask]));

        let mut monotone = true;
        for mask in 0..1_usize << p {
            for i in (0..p).filter(|i| mask >> i & 1 == 0) {
                let with_i = values[mask | 1 << i];
                monotone &= with_i >= values[mask] - 1e-9 * size;
                for j in (0..p).filter(|&j| j != i && mask >> j & 1 == 0) {
                    let (with_j, both) = (values[mask | 1 << j], values[mask | 1 << i | 1 << j]);
                    prop_assert!(with_i + with_j >= both + values[mask] - 1e-9 * size);
                }
            }
        }
        // A cut is declared not monotone even where its weights are all zero.
        let zero_cut = !f.is_monotone() && size == 0.0;
        prop_assert!(f.is_monotone() == monotone || zero_cut, "{:?}", f);

        check_promises(f.structure(), p);
        for mask in 0..1_u32 << p {
            if let Some(value) = formula(f.structure(), &members(mask, p), p) {
                prop_assert!(near(value, values[mask as usize]));
            }
        }

        let norm = monotone && (0..p).all(|j| values[1 << j] > 0.0) && !zero_cut;
        prop_assert_eq!(check_norm(f.as_ref(), "norm").is_ok(), norm);
        for (j, gain) in norm_check::last_gains(f.as_ref()).unwrap().into_iter().enumerate() {
            let all = (1 << p) - 1;
            prop_assert!(near(gain, values[all] - values[all ^ 1 << j]));
        }
    }

    /// F on some of the features is F, in values, gains and structure, and keeps what special algorithms need.
    #[test]
    fn restrictions_agree_with_the_function(f in any_function(), kept in 1..128_u32, keys in prop::collection::vec(any::<u32>(), 7)) {
        let p = f.n_features();
        let mut features: Vec<u32> = (0..p as u32).filter(|j| kept >> j & 1 == 1).collect();
        if features.is_empty() {
            features.push(0);
        }
        features.sort_by_key(|&j| keys[j as usize]);
        let kind = |f: &F| {
            let mut structure = f.structure();
            while let Structure::Scaled(_, inner) = structure {
                structure = inner.structure();
            }
            // Nested groups may cease to overlap, and overlapping ones to be anything but nested.
            let name = format!("{structure:?}").split('(').next().map(str::to_owned);
            name.map(|name| name.replace("Laminar", "Cover"))
        };
        match restricted(f.clone(), &features).unwrap() {
            None => {
                let outer: Vec<usize> = features.iter().map(|&j| j as usize).collect();
                let zero = f.value(&outer).unwrap() == 0.0;
                let range = kind(&f).as_deref() == Some("ContiguousRange");
                prop_assert!(!f.is_monotone() || range || zero);
            }
            Some(g) => {
                let q = features.len();
                prop_assert!(g.is_monotone() && g.n_features() == q);
                prop_assert_eq!(kind(&g), kind(&f));
                check_promises(g.structure(), q);
                let size = f.value(&(0..p).collect::<Vec<_>>()).unwrap().abs();
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * size;
                for mask in 0..1_u32 << q {
                    let set = members(mask, q);
                    let outer: Vec<usize> = set.iter().map(|&k| features[k] as usize).collect();
                    let value = f.value(&outer).unwrap();
                    prop_assert!(near(g.value(&set).unwrap(), value));
                    if let Some(formula) = formula(g.structure(), &set, q) {
                        prop_assert!(near(formula, value));
                    }
                    let mut gains = vec![f64::NAN; set.len()];
                    let mut expected = gains.clone();
                    g.gains(&set, &mut gains).unwrap();
                    f.gains(&outer, &mut expected).unwrap();
                    prop_assert!(gains.iter().zip(&expected).all(|(a, b)| near(*a, *b)));
                }
            }
        }
    }
}

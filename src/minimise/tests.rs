//! Test doubles of every structure, brute force, and the minimisers against it. Other rooms' tests use the doubles too.

use super::*;
use crate::set_function::{Block, ConcaveCardinality, Graph, Groups, LogDet};
use proptest::prelude::*;

/// A set function with a declared structure, and one that hides it.
#[derive(Debug, Clone)]
pub(crate) enum Double {
    Modular(Vec<f64>),
    Blocks(usize, Vec<Block>),
    Laminar(Groups),
    Cover(Groups),
    Cut(Graph),
    Range(usize),
    Scaled(f64, Box<Double>),
    Hidden(Box<Double>),
}

impl Double {
    /// F(A) from its definition.
    fn evaluate(&self, set: &[usize]) -> f64 {
        match self {
            Self::Modular(weights) => set.iter().map(|&j| weights[j]).sum(),
            Self::Blocks(_, blocks) => blocks
                .iter()
                .map(|block| {
                    let size = set.iter().filter(|j| block.members.contains(j)).count();
                    block.gains[..size].iter().sum::<f64>()
                })
                .sum(),
            Self::Laminar(groups) | Self::Cover(groups) => (0..groups.len())
                .filter(|&g| set.iter().any(|&j| groups.members(g).contains(&(j as u32))))
                .map(|g| groups.weights()[g])
                .sum(),
            Self::Cut(graph) => graph
                .edges()
                .iter()
                .zip(graph.weights())
                .filter(|((i, j), _)| set.contains(&(*i as usize)) != set.contains(&(*j as usize)))
                .map(|(_, weight)| weight)
                .sum(),
            Self::Range(p) => match (set.iter().min(), set.iter().max()) {
                (Some(min), Some(max)) => (p + max - min) as f64,
                _ => 0.0,
            },
            Self::Scaled(scale, f) => scale * f.evaluate(set),
            Self::Hidden(f) => f.evaluate(set),
        }
    }
}

impl SetFunction for Double {
    fn name(&self) -> &'static str {
        "test double"
    }

    fn n_features(&self) -> usize {
        match self {
            Self::Modular(weights) => weights.len(),
            Self::Blocks(p, _) | Self::Range(p) => *p,
            Self::Laminar(groups) | Self::Cover(groups) => groups.n_features(),
            Self::Cut(graph) => graph.n_features(),
            Self::Scaled(_, f) | Self::Hidden(f) => f.n_features(),
        }
    }

    fn gains(&self, order: &[usize], gains: &mut [f64]) -> Result<()> {
        let mut before = 0.0;
        for (k, gain) in gains.iter_mut().enumerate() {
            let value = self.evaluate(&order[..=k]);
            *gain = value - before;
            before = value;
        }
        Ok(())
    }

    fn is_monotone(&self) -> bool {
        match self {
            Self::Cut(_) => false,
            Self::Scaled(_, f) | Self::Hidden(f) => f.is_monotone(),
            _ => true,
        }
    }

    fn structure(&self) -> Structure<'_> {
        match self {
            Self::Modular(weights) => Structure::Modular(weights),
            Self::Blocks(_, blocks) => Structure::Blocks(blocks),
            Self::Laminar(groups) => Structure::Laminar(groups),
            Self::Cover(groups) => Structure::Cover(groups),
            Self::Cut(graph) => Structure::Cut(graph),
            Self::Range(_) => Structure::ContiguousRange,
            Self::Scaled(scale, f) => Structure::Scaled(*scale, &**f),
            Self::Hidden(_) => Structure::General,
        }
    }
}

/// Positive numbers with ties.
fn weight() -> impl Strategy<Value = f64> {
    prop_oneof![0.1..3.0f64, Just(1.0), Just(2.0)]
}

fn weights(n: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(weight(), n)
}

/// A vector with ties and zeros.
pub(crate) fn vector(p: usize) -> impl Strategy<Value = Vec<f64>> {
    let entry = prop_oneof![4 => -6.0..6.0f64, 1 => Just(1.0), 1 => Just(-1.0), 1 => Just(0.0)];
    prop::collection::vec(entry, p)
}

/// Non-empty subsets of 0..p.
fn groups(p: usize) -> impl Strategy<Value = Vec<Vec<usize>>> {
    let subset = prop::collection::btree_set(0..p, 1..=p);
    prop::collection::vec(subset.prop_map(|set| set.into_iter().collect()), 1..6)
}

/// Nested or disjoint: intervals kept where they fit those before them.
fn laminar(p: usize) -> impl Strategy<Value = Vec<Vec<usize>>> {
    prop::collection::vec((0..p, 1..=p), 1..10).prop_map(move |pairs| {
        let mut kept: Vec<std::ops::Range<usize>> = Vec::new();
        for (start, length) in pairs {
            let new = start..(start + length).min(p);
            let fits = |old: &std::ops::Range<usize>| {
                new.end <= old.start
                    || old.end <= new.start
                    || (old.start <= new.start && new.end <= old.end)
                    || (new.start <= old.start && old.end <= new.end)
            };
            if kept.iter().all(fits) {
                kept.push(new);
            }
        }
        kept.into_iter().map(|range| range.collect()).collect()
    })
}

/// Monotone functions of p features that all structures but the cut are among.
pub(crate) fn monotone(p: usize) -> impl Strategy<Value = Double> {
    let cover = (groups(p), weights(6)).prop_map(move |(groups, weights)| {
        let weights = weights[..groups.len()].to_vec();
        Double::Cover(Groups::new(&groups, Some(weights), p).unwrap())
    });
    let tree = (laminar(p), weights(10)).prop_map(move |(groups, weights)| {
        let weights = weights[..groups.len()].to_vec();
        Double::Laminar(Groups::new(&groups, Some(weights), p).unwrap())
    });
    let blocks = (weights(p), 0..=p, any::<bool>()).prop_map(move |(mut gains, split, leave)| {
        let descending = |gains: &mut [f64]| gains.sort_by(|a, b| b.total_cmp(a));
        descending(&mut gains[..split]);
        descending(&mut gains[split..]);
        let block = |range: std::ops::Range<usize>| Block {
            members: range.clone().rev().collect(),
            gains: gains[range].to_vec(),
        };
        let parts = [block(0..split), block(split..p)];
        let kept = parts.into_iter().filter(|block| !block.members.is_empty());
        Double::Blocks(p, kept.skip(usize::from(leave && split > 0)).collect())
    });
    let any = prop_oneof![
        weights(p).prop_map(Double::Modular),
        cover,
        tree,
        blocks,
        Just(Double::Range(p)),
    ];
    wrapped(any)
}

/// A cut on p features, possibly of parallel edges.
pub(crate) fn cut(p: usize) -> impl Strategy<Value = Double> {
    let edge = (0..p, 0..p, weight());
    let cut = prop::collection::vec(edge, 0..3 * p).prop_map(move |edges| {
        let kept: Vec<_> = edges.into_iter().filter(|(i, j, _)| i != j).collect();
        let pairs: Vec<_> = kept.iter().map(|(i, j, _)| (*i, *j)).collect();
        let weights = kept.iter().map(|(_, _, weight)| *weight).collect();
        Double::Cut(Graph::new(&pairs, Some(weights), p).unwrap())
    });
    wrapped(cut)
}

fn wrapped(f: impl Strategy<Value = Double>) -> impl Strategy<Value = Double> {
    (f, 0..4).prop_map(|(f, wrapping)| match wrapping {
        0 => Double::Scaled(0.7, Box::new(f)),
        1 => Double::Hidden(Box::new(f)),
        _ => f,
    })
}

/// All subsets of 0..p.
pub(crate) fn subsets(p: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..1usize << p).map(move |bits| (0..p).filter(|j| bits >> j & 1 == 1).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn nothing_is_lower(
        (f, s) in (1..9usize).prop_flat_map(|p| (prop_oneof![3 => monotone(p).boxed(), 1 => cut(p).boxed()], vector(p)))
    ) {
        let value = |set: &[usize]| f.evaluate(set) - set.iter().map(|&j| s[j]).sum::<f64>();
        let least = subsets(s.len()).map(|set| value(&set)).fold(f64::INFINITY, f64::min);
        let found = minimise(&f, &s).unwrap();
        prop_assert!((value(&found.set) - found.value).abs() < 1e-12, "{found:?}");
        prop_assert!(found.value - least <= found.gap + 1e-12, "{found:?} {least}");
        prop_assert!(found.gap < 1e-5, "{found:?} {least}");
    }
}

#[test]
fn wrong_vectors_are_refused() {
    assert!(minimise(&Double::Range(3), &[1.0]).is_err());
    assert!(minimise(&Double::Range(1), &[f64::NAN]).is_err());
}

/// Iwata's function |A| |V \ A| - sum over A of (5 j - 2 p), j from 1: its minimum over sets of k features takes the k
/// last ones. F is not monotone, so that the minimum-norm point does the work.
#[test]
fn iwatas_function_is_minimised() {
    for p in [1, 2, 3, 5, 8, 10, 20, 50] {
        let h = |k: usize| (k * (p - k)) as f64;
        let f = ConcaveCardinality::new((1..=p).map(h).collect()).unwrap();
        let s: Vec<f64> = (1..=p).map(|j| 5.0 * j as f64 - 2.0 * p as f64).collect();
        let of = |set: &[usize]| h(set.len()) - set.iter().map(|&j| s[j]).sum::<f64>();
        let last = |k: usize| (p - k..p).collect::<Vec<_>>();
        let least = (0..=p).map(|k| of(&last(k))).fold(f64::INFINITY, f64::min);
        if p <= 10 {
            let all = subsets(p).map(|set| of(&set)).fold(f64::INFINITY, f64::min);
            assert_eq!(all, least);
        }
        let found = minimise(&f, &s).unwrap();
        // Values are integers: a gap below 1 leaves one minimum.
        assert!(found.gap < 1.0, "{p} {found:?}");
        assert_eq!((found.value.round(), of(&found.set)), (least, least), "{p}");
    }
}

/// The point of least norm itself, on bases whose projection of 0 is known, and the minimisers that its signs tell.
#[test]
fn known_points_of_least_norm() {
    // An edge of weight 2 pulls 5 and -1 together by 2 each; a path of two edges of 1 makes one level of three entries.
    let edge = Double::Hidden(Box::new(Double::Cut(
        Graph::new(&[(0, 1)], Some(vec![2.0]), 2).unwrap(),
    )));
    let path = Double::Hidden(Box::new(Double::Cut(
        Graph::new(&[(0, 1), (1, 2)], None, 3).unwrap(),
    )));
    for (f, s, expected) in [
        (&edge, vec![5.0, -1.0], vec![3.0, 1.0]),
        (&edge, vec![1.0, -1.0], vec![0.0, 0.0]),
        (&path, vec![1.0, 0.5, 0.0], vec![0.5, 0.5, 0.5]),
        (&path, vec![4.0, 0.0, -4.0], vec![3.0, 0.0, -3.0]),
    ] {
        // s minus its projection onto B(F) is minus the point of least norm of B(F - s).
        let nearest = min_norm_point::nearest(f, &s, 1.0).unwrap();
        assert!(nearest.gap < 1e-12);
        let x: Vec<f64> = s.iter().zip(&nearest.point).map(|(s, y)| s - y).collect();
        for (x, e) in x.iter().zip(&expected) {
            assert!((x - e).abs() < 1e-6, "{x} {e}");
        }
        // {x > 0} minimises F - s (Bach 2013, proposition 8.3).
        let positive: Vec<usize> = (0..s.len()).filter(|&j| x[j] > 1e-6).collect();
        let of = |set: &[usize]| f.evaluate(set) - set.iter().map(|&j| s[j]).sum::<f64>();
        let least = subsets(s.len())
            .map(|set| of(&set))
            .fold(f64::INFINITY, f64::min);
        assert!((of(&positive) - least).abs() < 1e-9);
    }
}

/// Vertices whose squares are no floats are refused; small ones, whose squares are zero, are told apart or given up.
#[test]
fn sizes_beyond_floats_do_no_harm() {
    let hidden = |weights: Vec<f64>| {
        let edges: Vec<(usize, usize)> = (1..=weights.len()).map(|j| (j - 1, j)).collect();
        let n_features = weights.len() + 1;
        let graph = Graph::new(&edges, Some(weights), n_features).unwrap();
        Double::Hidden(Box::new(Double::Cut(graph)))
    };
    let error = minimise(&hidden(vec![1e160, 1.0]), &[1.0, 2.0, -3.0]).unwrap_err();
    assert!(
        error.to_string().starts_with("function must have values"),
        "{error}"
    );
    for size in [1e-170, 1e-320] {
        let minimum =
            minimise(&hidden(vec![size, size]), &[size, 2.0 * size, -3.0 * size]).unwrap();
        assert!(minimum.value <= 0.0 && minimum.gap >= 0.0, "{minimum:?}");
        assert!(minimum.value - minimum.gap <= -2.0 * size, "{minimum:?}");
    }
}

/// Vertices that hardly differ, of functions that are nearly modular: they are no further apart than squares can tell,
/// and the search goes on all the same.
#[test]
fn vertices_that_hardly_differ_are_told_apart() {
    for off in [1e-2, 1e-3, 3.7e-3, 1e-4, 1e-6] {
        let kernel = ndarray::array![[8.3, off], [off, 3.4]];
        let f = LogDet::new(kernel.view(), 1.0).unwrap();
        for target in [[-5.0, 4.5], [4.5, -5.0], [3.0, 2.2], [0.0, 0.0]] {
            let nearest = min_norm_point::nearest(&f, &target, 1.0).unwrap();
            assert!(nearest.gap <= 1e-12, "{off} {target:?}: {}", nearest.gap);
        }
    }
}

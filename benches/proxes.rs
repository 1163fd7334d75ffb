//! Proxes and greedy vertices, seconds a call on one thread, beside the figures of the fastest peer on a like machine:
//! `cargo bench --bench proxes` (largest p and, after it, a word that the printed names must hold: `-- 100000 tree`).
//!
//! v is standard normal; the step leaves a part of it zero or tied (printed: the share of zeros). The peers: spams for
//! l-infinity, groups, tree and windows, skglm plus a sort for the sorted l1 norm, condat_tv for the chain.

use std::hint::black_box;
use std::time::Instant;

use dpsparse::error::Result;
use dpsparse::lovasz::{sort_descending, support_vertex};
use dpsparse::prox::{Scratch, prox};
use dpsparse::set_function::{Block, Cardinality, Graph, Groups, SetFunction, Structure};

/// A structure alone: its proxes ask for no value.
#[derive(Debug)]
enum Bare {
    Blocks(usize, Vec<Block>),
    Laminar(Groups),
    Cover(Groups),
    Cut(Graph),
    Range(usize),
}

impl SetFunction for Bare {
    fn name(&self) -> &'static str {
        "bare structure"
    }
    fn n_features(&self) -> usize {
        match self {
            Self::Blocks(p, _) | Self::Range(p) => *p,
            Self::Laminar(groups) | Self::Cover(groups) => groups.n_features(),
            Self::Cut(graph) => graph.n_features(),
        }
    }
    fn gains(&self, _order: &[usize], _gains: &mut [f64]) -> Result<()> {
        unreachable!()
    }
    fn is_monotone(&self) -> bool {
        !matches!(self, Self::Cut(_))
    }
    fn structure(&self) -> Structure<'_> {
        match self {
            Self::Blocks(_, blocks) => Structure::Blocks(blocks),
            Self::Laminar(groups) => Structure::Laminar(groups),
            Self::Cover(groups) => Structure::Cover(groups),
            Self::Cut(graph) => Structure::Cut(graph),
            Self::Range(_) => Structure::ContiguousRange,
        }
    }
}

/// Standard normal numbers (Box & Muller on a congruential sequence).
fn normal(p: usize) -> Vec<f64> {
    let mut state = 88_172_645_463_325_252u64;
    let mut uniform = || {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    };
    (0..p)
        .map(|_| (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos())
        .collect()
}

/// The least of some runs.
fn seconds(mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    work();
    let first = start.elapsed().as_secs_f64();
    let runs = ((0.3 / first) as usize).clamp(2, 1000);
    (0..runs).fold(first, |least, _| {
        let start = Instant::now();
        work();
        least.min(start.elapsed().as_secs_f64())
    })
}

fn runs(p: usize, length: usize, stride: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..=p - length)
        .step_by(stride)
        .map(move |start| (start..start + length).collect())
}

fn groups(p: usize, groups: Vec<Vec<usize>>) -> Groups {
    Groups::new(&groups, None, p).unwrap()
}

fn grid(p: usize) -> Graph {
    let side = (p as f64).sqrt() as usize;
    let mut edges = Vec::new();
    for j in 0..side * side {
        if (j + 1) % side > 0 {
            edges.push((j, j + 1));
        }
        if j + side < side * side {
            edges.push((j, j + side));
        }
    }
    Graph::new(&edges, None, side * side).unwrap()
}

/// Name, step, the peer's seconds at p = 1e3, 1e4, 1e5, 1e6, and the function of p features.
type Case = (&'static str, f64, [f64; 4], fn(usize) -> Bare);

const UNKNOWN: f64 = f64::NAN;

fn cases() -> Vec<Case> {
    vec![
        (
            "l-infinity, whole vector",
            30.0,
            [5.2e-6, 9.9e-5, 1.0e-3, 0.0154],
            |p| {
                let mut gains = vec![0.0; p];
                gains[0] = 1.0;
                let members = (0..p).collect();
                Bare::Blocks(p, vec![Block { members, gains }])
            },
        ),
        (
            "groups of 10, l-infinity",
            5.0,
            [8.9e-6, 1.9e-4, 2.2e-3, 0.0232],
            |p| Bare::Laminar(groups(p, runs(p, 10, 10).collect())),
        ),
        (
            "tree, 10 in 100, l-infinity",
            4.0,
            [1.1e-5, 2.4e-4, 2.6e-3, 0.0311],
            |p| {
                Bare::Laminar(groups(
                    p,
                    runs(p, 10, 10).chain(runs(p, 100, 100)).collect(),
                ))
            },
        ),
        (
            "windows of 10, stride 5, dense",
            0.5,
            [1.3e-3, 1.5e-2, 0.199, UNKNOWN],
            |p| Bare::Cover(groups(p, runs(p, 10, 5).collect())),
        ),
        (
            "windows of 10, stride 5",
            3.0,
            [1.3e-3, 1.5e-2, 0.199, UNKNOWN],
            |p| Bare::Cover(groups(p, runs(p, 10, 5).collect())),
        ),
        (
            "windows of 10, stride 5, sparse",
            5.0,
            [1.3e-3, 1.5e-2, 0.199, UNKNOWN],
            |p| Bare::Cover(groups(p, runs(p, 10, 5).collect())),
        ),
        ("sorted l1", 1.0, [2.2e-5, 2.1e-4, 3.7e-3, 0.069], |p| {
            let gains = (0..p).map(|k| 1.5 - k as f64 / p as f64).collect();
            let members = (0..p).collect();
            Bare::Blocks(p, vec![Block { members, gains }])
        }),
        (
            "total variation, chain",
            1.0,
            [5.1e-6, 1.4e-4, 1.8e-3, 0.0186],
            |p| {
                let edges: Vec<_> = (1..p).map(|j| (j - 1, j)).collect();
                Bare::Cut(Graph::new(&edges, None, p).unwrap())
            },
        ),
        ("total variation, chain, smooth", 20.0, [UNKNOWN; 4], |p| {
            let edges: Vec<_> = (1..p).map(|j| (j - 1, j)).collect();
            Bare::Cut(Graph::new(&edges, None, p).unwrap())
        }),
        ("total variation, grid", 0.3, [UNKNOWN; 4], |p| {
            Bare::Cut(grid(p))
        }),
        ("contiguous range", 0.01, [UNKNOWN; 4], Bare::Range),
    ]
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let largest = arguments
        .iter()
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(1_000_000);
    let word = arguments
        .iter()
        .find(|argument| !argument.starts_with('-') && argument.parse::<usize>().is_err());
    let wanted = |name: &str| word.is_none_or(|word| name.contains(word.as_str()));
    println!(
        "{:32} {:>8} {:>10} {:>10} {:>6}",
        "prox", "p", "seconds", "peer", "zeros"
    );
    for (name, step, peer, build) in cases() {
        for (k, p) in [1_000, 10_000, 100_000, 1_000_000].into_iter().enumerate() {
            if p > largest || !wanted(name) {
                continue;
            }
            let f = build(p);
            let v = normal(f.n_features());
            let mut x = vec![0.0; v.len()];
            let mut scratch = Scratch::default();
            let time = seconds(|| {
                prox(&f, black_box(&v), step, black_box(&mut x), &mut scratch).unwrap();
            });
            let zeros = x.iter().filter(|x| **x == 0.0).count() as f64 / p as f64;
            println!("{name:32} {p:8} {time:10.2e} {:10.2e} {zeros:6.3}", peer[k]);
        }
    }
    println!(
        "{:32} {:>8} {:>10} {:>10}",
        "greedy", "p", "seconds", "sorting"
    );
    for p in [1_000, 10_000, 100_000, 1_000_000] {
        if p > largest || !wanted("greedy") {
            continue;
        }
        let theta = normal(p);
        let sizes: Vec<f64> = theta.iter().map(|t| t.abs()).collect();
        let mut keys = sizes.clone();
        let sorting = seconds(|| {
            keys.copy_from_slice(black_box(&sizes));
            keys.sort_unstable_by(|a, b| b.total_cmp(a));
        });
        let f = Cardinality::new(p).unwrap();
        let mut s = vec![0.0; p];
        let time = seconds(|| support_vertex(&f, black_box(&theta), &mut s).unwrap());
        println!(
            "{:32} {p:8} {time:10.2e} {sorting:10.2e}",
            "vertex, cardinality"
        );
        let mut order: Vec<usize> = Vec::new();
        let time = seconds(|| {
            order.clear();
            order.extend(0..p);
            sort_descending(black_box(&sizes), &mut order);
        });
        println!("{:32} {p:8} {time:10.2e} {sorting:10.2e}", "order alone");
    }
}

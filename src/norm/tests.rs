//! What is refused, what a norm knows about itself, and that the prox of every family is one.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::*;
use crate::set_function::contract::basic;
use crate::set_function::{
    Cardinality, ConcaveCardinality, ContiguousRange, GraphCut, GroupCover, Modular, PartitionRank,
    Tree, restricted, scaled,
};
use proptest::prelude::*;

#[test]
fn weights_are_those_of_every_multiple_of_a_modular_function() {
    let norm = |f: Arc<dyn SetFunction>| SetFunctionNorm::new(f).unwrap();
    let modular = Arc::new(Modular::new(vec![1.0, 3.0]).unwrap());
    let twice = scaled(2.0, scaled(0.5, modular).unwrap()).unwrap();
    assert_eq!(norm(twice).weights(), Some(vec![1.0, 3.0]));
    let cardinality = Arc::new(Cardinality::new(2).unwrap());
    assert_eq!(norm(cardinality).weights(), Some(vec![1.0, 1.0]));
    let linf = Arc::new(ConcaveCardinality::new(vec![1.0, 1.0]).unwrap());
    assert_eq!(norm(linf).weights(), None);
}

#[test]
fn a_threshold_moves_features_only() {
    let linf = Arc::new(ConcaveCardinality::new(vec![1.0, 1.0]).unwrap());
    let norm = SetFunctionNorm::new(linf).unwrap();
    let mut scaled = [3.0, -0.5, f64::NAN];
    norm.threshold(&mut scaled, 0.0).unwrap();
    assert_eq!(scaled[..2], [3.0, -0.5]);
    norm.threshold(&mut scaled, 1.0).unwrap();
    assert!(scaled[..2] == [2.0, -0.5] && scaled[2].is_nan());
    // A seminorm too: the two move towards each other.
    let edge = Arc::new(GraphCut::new(&[(0, 1)], None, 2).unwrap());
    let mut scaled = [3.0, 0.0];
    (SetFunctionNorm::new(edge).unwrap())
        .threshold(&mut scaled, 1.0)
        .unwrap();
    assert_eq!(scaled, [2.0, 1.0]);
    // theta >= 0 holds after a threshold of 0 too.
    let positive = GroupLasso::weighted_l1(&[1.0, 1.0]).unwrap().on_positive();
    let mut scaled = [-3.0, 0.5, -1.0];
    positive.threshold(&mut scaled, 0.0).unwrap();
    assert_eq!(scaled, [0.0, 0.5, -1.0]);
    assert!(norm.threshold(&mut [1.0], 1.0).is_err());
    assert!(norm.threshold(&mut [1.0; 2], -1.0).is_err());
    assert!(norm.threshold(&mut [f64::NAN; 2], 1.0).is_err());
}

/// A user's own function that is one of the crate's in all that it says, and keeps how often it is asked.
#[derive(Debug)]
struct Spy {
    inner: Arc<dyn SetFunction>,
    /// Whether it says that it is a multiple of itself.
    turns: bool,
    asked: AtomicUsize,
}

impl SetFunction for Spy {
    fn name(&self) -> &'static str {
        "spy"
    }

    fn n_features(&self) -> usize {
        self.inner.n_features()
    }

    fn gains(&self, order: &[usize], gains: &mut [f64]) -> Result<()> {
        self.asked.fetch_add(1, Relaxed);
        self.inner.gains(order, gains)
    }

    fn is_monotone(&self) -> bool {
        self.inner.is_monotone()
    }

    fn structure(&self) -> Structure<'_> {
        self.asked.fetch_add(1, Relaxed);
        if self.turns {
            Structure::Scaled(1.0, self)
        } else {
            self.inner.structure()
        }
    }
}

fn spy(inner: Arc<dyn SetFunction>, turns: bool) -> Arc<Spy> {
    let asked = AtomicUsize::new(0);
    Arc::new(Spy {
        inner,
        turns,
        asked,
    })
}

/// Proxes of reviewed norms are taken in the room, at points that are not released: what is asked there is the crate's
/// own, whatever another says of itself, alone, as a multiple or restricted.
#[test]
fn what_others_wrote_is_not_reviewed() {
    let cover = || Arc::new(GroupCover::new(&[vec![0, 1], vec![1, 2]], None, 3).unwrap());
    let rank = || Arc::new(PartitionRank::new(&[vec![0, 1], vec![2]], &[1, 1], 3).unwrap());
    let own: [Arc<dyn SetFunction>; 9] = [
        Arc::new(Cardinality::new(3).unwrap()),
        Arc::new(Modular::new(vec![1.0, 2.0, 3.0]).unwrap()),
        Arc::new(ConcaveCardinality::new(vec![1.0, 1.5, 1.5]).unwrap()),
        Arc::new(ContiguousRange::new(3).unwrap()),
        Arc::new(GraphCut::new(&[(0, 1), (1, 2)], None, 3).unwrap()),
        Arc::new(Tree::new(&[vec![0, 1, 2], vec![1]], None, 3).unwrap()),
        cover(),
        rank(),
        restricted(rank(), &[0, 1]).unwrap().unwrap(),
    ];
    let is_reviewed = |f: &Arc<dyn SetFunction>| {
        ReviewedNorm::new(Arc::new(SetFunctionNorm::new(f.clone()).unwrap())).is_some()
    };
    for f in &own {
        let twice = scaled(2.0, f.clone()).unwrap();
        assert!(is_reviewed(f) && is_reviewed(&twice), "{f:?}");
        let other: Arc<dyn SetFunction> = spy(f.clone(), false);
        let twice = scaled(2.0, other.clone()).unwrap();
        assert!(!is_reviewed(&other) && !is_reviewed(&twice), "{f:?}");
    }
    let part = restricted(spy(rank(), false), &[0, 1]).unwrap().unwrap();
    assert!(!is_reviewed(&part));
    // A new function is made of what it said, and it is asked no more.
    let other = spy(cover(), false);
    let copy = restricted(other.clone(), &[0, 1]).unwrap().unwrap();
    let asked = other.asked.load(Relaxed);
    assert!(asked > 0 && is_reviewed(&copy));
    assert_eq!(other.asked.load(Relaxed), asked);
}

#[test]
fn a_multiple_of_itself_is_refused() {
    let f = spy(Arc::new(Cardinality::new(2).unwrap()), true);
    let refused = |error: Error| {
        let text = error.to_string();
        assert!(
            text.starts_with("function must not be a multiple of a multiple"),
            "{text}"
        );
    };
    refused(SetFunctionNorm::new(f.clone()).unwrap_err());
    refused(crate::set_function::sum(f.clone(), f.clone()).unwrap_err());
    refused(restricted(f.clone(), &[0]).unwrap_err());
    let mut out = [0.0; 2];
    for prox in [prox::prox, prox::proved_prox] {
        refused(prox(&*f, &[1.0, 2.0], 1.0, &mut out, &mut Scratch::default()).unwrap_err());
    }
}

#[test]
fn what_is_no_norm_is_refused() {
    let free = Modular::new(vec![1.0, 0.0]).unwrap();
    let error = SetFunctionNorm::new(Arc::new(free)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "function is not a norm: F({1}) = 0, so feature 1 costs nothing; make it cost something, or give it a group of \
         weight 0 of GroupLasso(...), which leaves it free"
    );
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn vector(p: usize) -> impl Strategy<Value = Vec<f64>> {
    let entry = prop_oneof![4 => -6.0..6.0f64, 1 => Just(1.0), 1 => Just(0.0)];
    prop::collection::vec(entry, p)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// What makes a prox one (Bauschke & Combettes 2017, theorem 14.3 and proposition 12.26), for every family: v - x
    /// is the projection of v onto step*K, which is the prox of the conjugate; no point z beats x but by its squared
    /// distance; and x is a firmly non-expansive function of v.
    #[test]
    fn every_family_has_a_prox(
        (f, v, w, z) in (1..7usize).prop_flat_map(|p| (basic(p), vector(p), vector(p), vector(p))),
        step in prop_oneof![0.01..3.0f64, Just(1.0)],
    ) {
        let monotone = f.is_monotone();
        let Ok(norm) = SetFunctionNorm::new(f) else {
            return Ok(());
        };
        let mut scratch = Scratch::default();
        let (mut x, mut y) = (vec![0.0; v.len()], vec![0.0; v.len()]);
        let excess = norm.prox(&v, step, &mut x, &mut scratch).unwrap();
        let other = norm.prox(&w, step, &mut y, &mut scratch).unwrap();
        prop_assert!(excess.max(other) < 1e-8);
        // By strong convexity x and y are off by at most the roots of twice the excesses; vectors are shorter than 20.
        let off = 1e-10 + (2.0 * excess.max(other)).sqrt();
        let omega = |x: &[f64]| step * norm.value(x).unwrap();
        let alone = |j| (0..v.len()).map(|k| f64::from(u8::from(k == j))).collect::<Vec<_>>();
        let singletons: Vec<f64> = (0..v.len()).map(|j| norm.value(&alone(j)).unwrap()).collect();
        let tol = off * (60.0 + 10.0 * step * singletons.iter().sum::<f64>());

        // In step*K, at the vertex of x: no point has a greater product with u than step*Omega, and x has as much.
        let mut u = minus(&v, &x);
        if !monotone {
            let mean = u.iter().sum::<f64>() / u.len() as f64;
            prop_assert!(mean.abs() <= off);
            u.iter_mut().for_each(|u| *u -= mean);
        }
        for point in [&z, &w, &u] {
            prop_assert!(inner(&u, point) <= omega(point) + tol, "{norm:?} {v:?}");
        }
        prop_assert!((inner(&u, &x) - omega(&x)).abs() <= tol, "{norm:?} {v:?}");
        if monotone {
            // Where every |s_j| <= min F({j}) / p, |s|(A) <= F(A): K holds that box.
            let least = singletons.iter().fold(f64::INFINITY, |m, &s| m.min(s));
            let gauge = norm.dual(&u).unwrap();
            prop_assert!(gauge <= step + 2.0 * off * v.len() as f64 / least, "{norm:?} {v:?}");
        }

        let half_square = |a: &[f64]| 0.5 * inner(a, a);
        let value = |x: &[f64]| omega(x) + half_square(&minus(x, &v));
        prop_assert!(value(&x) + half_square(&minus(&z, &x)) <= value(&z) + tol, "{norm:?} {v:?} {z:?}");

        let (moved, from) = (minus(&x, &y), minus(&v, &w));
        prop_assert!(inner(&moved, &moved) <= inner(&moved, &from) + tol, "{norm:?} {v:?} {w:?}");
    }
}

/// grad psi(x) by central differences.
fn gradient_of_potential(q: f64, blocks: &Blocks, x: &[f64]) -> Vec<f64> {
    let psi = |x: &[f64]| {
        let members: Vec<Vec<usize>> = match blocks {
            Blocks::Coordinates => (0..x.len()).map(|j| vec![j]).collect(),
            Blocks::Groups(groups) => groups.clone(),
            Blocks::Whole => vec![(0..x.len()).collect()],
        };
        let norm = |g: &Vec<usize>| g.iter().map(|&j| x[j] * x[j]).sum::<f64>().sqrt();
        let sum: f64 = members.iter().map(|g| norm(g).powf(q)).sum();
        sum.powf(2.0 / q) / (2.0 * (q - 1.0))
    };
    let moved = |j: usize, by: f64| {
        let mut y = x.to_vec();
        y[j] += by;
        psi(&y)
    };
    let step = 1e-6;
    (0..x.len())
        .map(|j| (moved(j, step) - moved(j, -step)) / (2.0 * step))
        .collect()
}

proptest! {
    /// x minimises psi(x) - <z, x> over the ball: no point of the ball is in a direction of descent.
    #[test]
    fn bregman_projections_are_minimisers(
        z in prop::collection::vec(-3.0..3.0f64, 6),
        other in prop::collection::vec(-1.0..1.0f64, 6),
        radius in 0.1..3.0f64,
        kind in 0usize..6,
    ) {
        let groups = vec![vec![0, 1], vec![2, 3, 4], vec![5]];
        let cover = GroupCover::new(&groups, None, 6).unwrap();
        let weights = [1.0, 2.0, 0.5, 1.0, 3.0, 1.0];
        let of = |f: Arc<dyn SetFunction>| Box::new(SetFunctionNorm::new(f).unwrap()) as Box<dyn Norm>;
        let positive = |norm: GroupLasso| Box::new(norm.on_positive()) as Box<dyn Norm>;
        let (blocks, norm) = match kind {
            0 => (Blocks::Coordinates, of(Arc::new(Cardinality::new(6).unwrap()))),
            1 => (Blocks::Groups(groups), of(Arc::new(cover))),
            2 => (Blocks::Whole, of(Arc::new(ConcaveCardinality::new(vec![1.0, 1.5, 1.8, 2.0, 2.0, 2.0]).unwrap()))),
            3 => (Blocks::Coordinates, of(Arc::new(Modular::new(weights.to_vec()).unwrap()))),
            4 => (Blocks::Coordinates, positive(GroupLasso::weighted_l1(&weights).unwrap())),
            _ => (Blocks::Groups(groups.clone()), positive(GroupLasso::new(&groups, None, 0.3).unwrap())),
        };
        let norm = &*norm;
        let potential = Potential::new(blocks.clone(), 6);
        let (mut dual, mut x) = (z.clone(), vec![0.0; 6]);
        potential.project(norm, radius, &mut dual, &mut x).unwrap();
        prop_assert!(norm.value(&x).unwrap() <= radius * (1.0 + 1e-6));
        prop_assert!(!norm.is_positive() || x.iter().all(|x| *x >= 0.0));
        // `dual` is the image of x.
        let mut again = vec![0.0; 6];
        potential.from_dual(&dual, &mut again);
        prop_assert_eq!(&again, &x);
        let smooth = x.iter().all(|x| x.abs() > 1e-4);
        if smooth {
            let gradient = gradient_of_potential(potential.exponent(), &blocks, &x);
            for (a, b) in gradient.iter().zip(&dual) {
                prop_assert!((a - b).abs() <= 1e-4 * (1.0 + b.abs()), "{:?} {:?}", gradient, dual);
            }
        }
        let size = norm.value(&other).unwrap().max(1e-9);
        let least = if norm.is_positive() { 0.0 } else { -1.0 };
        let vertices = (0..6).flat_map(|j| [1.0, least].map(|sign| {
            let mut vertex = vec![0.0; 6];
            vertex[j] = 1.0;
            vertex[j] = sign / norm.value(&vertex).unwrap();
            vertex
        }));
        let allowed = |o: &f64| if norm.is_positive() { o.abs() } else { *o };
        let scaled: Vec<f64> = other.iter().map(|o| allowed(o) / size).collect();
        for to in vertices.chain([scaled]) {
            let slope: f64 = (0..6).map(|j| (dual[j] - z[j]) * (radius * to[j] - x[j])).sum();
            prop_assert!(slope >= -1e-5, "{slope}");
        }
    }
}

//! Covers and graph cuts minus s, as minimum cuts (Picard & Queyranne 1980; Bach 2013, section 10.3).

use super::max_flow::Network;
use crate::set_function::{Graph, Groups};

/// F(A) = sum_g w_g [A meets g] minus s. Features supply (s_j)_+ to their groups, which demand w_g: cutting a group off
/// means paying its weight, leaving a feature means losing s_j. Features with s_j <= 0 never pay.
pub(super) fn cover(groups: &Groups, s: &[f64]) -> (Vec<usize>, f64) {
    let p = s.len();
    let mut network = Network::default();
    network.reset(
        s.iter()
            .map(|s| s.max(0.0))
            .chain(groups.weights().iter().map(|w| -w)),
    );
    for g in 0..groups.len() {
        for &j in groups.members(g) {
            if s[j as usize] > 0.0 {
                network.connect(j as usize, p + g, f64::INFINITY, 0.0);
            }
        }
    }
    network.solve();
    let chosen = |j: usize| s[j] > 0.0 && network.on_source_side(j);
    let set: Vec<usize> = (0..p).filter(|&j| chosen(j)).collect();
    let price: f64 = (0..groups.len())
        .filter(|&g| groups.members(g).iter().any(|&j| chosen(j as usize)))
        .map(|g| groups.weights()[g])
        .sum();
    not_worse_than_empty(set, price, s)
}

/// The weight of the edges that leave A, minus s.
pub(super) fn graph(graph: &Graph, s: &[f64]) -> (Vec<usize>, f64) {
    let mut network = Network::default();
    network.reset(s.iter().copied());
    for (&(i, j), &weight) in graph.edges().iter().zip(graph.weights()) {
        network.connect(i as usize, j as usize, weight, weight);
    }
    network.solve();
    let chosen = |j: u32| network.on_source_side(j as usize);
    let price: f64 = graph
        .edges()
        .iter()
        .zip(graph.weights())
        .filter(|((i, j), _)| chosen(*i) != chosen(*j))
        .map(|(_, weight)| weight)
        .sum();
    let set = (0..s.len()).filter(|&j| chosen(j as u32)).collect();
    not_worse_than_empty(set, price, s)
}

/// The value of a set; the empty set where rounding has made it positive.
fn not_worse_than_empty(set: Vec<usize>, price: f64, s: &[f64]) -> (Vec<usize>, f64) {
    let value = price - set.iter().map(|&j| s[j]).sum::<f64>();
    if value < 0.0 {
        (set, value)
    } else {
        (Vec::new(), 0.0)
    }
}

//! Proxes of covers and cuts in integers, with a proved error: what private mechanisms use, whose noise covers it.
//!
//! v and the weights are rounded to a lattice; from there on the decomposition into level sets (see `decomposition`) is
//! exact, since it adds, subtracts and compares integers alone: levels are fractions and enter multiplied by the size
//! of their piece. It ends whatever the numbers are, every cut making pieces smaller.
//!
//! **Error** ([`error`]), u = 2^-53, h the lattice, m the number of groups or edges. A prox does not expand, so
//! rounding v costs sqrt(p) h/2. With x = prox(v), v - x is a sum of parts s_g of the groups or f_e (e_i - e_j) of the
//! edges, none longer than its weight w, and other weights w' scale each part by w'/w at most: x is also the prox, with
//! w', of a point that is within sum |s_g| |w' - w|/w of v. With |w' - w| <= h covers lose m h, cuts sqrt(2) m h. The
//! parts of one feature have one sign, so sum |s_g|_1 = |v - x|_1, and flows without cycles (of what is tied) have
//! |f_e| <= |v - x|_1: with |v - x|_2 <= |v|_2, no part reaches a weight above sqrt(p) |v|_2 <= p max |v|, where
//! weights are cut off, so that this changes nothing. Values are rounded twice at the end, a factor of all weights once
//! before: 3 u |v|.

use std::ops::Range;

use crate::minimise::max_flow::Network;
use crate::set_function::{Graph, Groups};

/// Most binary digits of max |v|.
const MOST_BITS: u32 = 60;
/// Below this size a point counts as 0.
const TINY: f64 = 1e-250;

/// Binary digits of max |v| for which nothing overflows: targets grow to at most p (m + 1) times it, products with
/// sizes p times more, sums in a network 2 (p + m) times more.
fn bits(p: usize, m: usize) -> u32 {
    let log = |count: usize| usize::BITS - count.leading_zeros();
    MOST_BITS.min(124 - (2 * log(p) + log(m + 1) + log(2 * (p + m))))
}

/// Bound on |out - prox(v)|_2 per unit of |v|_2 for p features and m groups or edges.
pub(super) fn error(p: usize, m: usize) -> f64 {
    let lattice = 2f64.powi(1 - bits(p, m) as i32);
    2f64.powi(-51) + ((p as f64).sqrt() + 1.5 * m as f64) * lattice
}

/// Working memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Exact {
    network: Network<i128>,
    /// Prices of groups or weights of edges, in lattice units.
    weights: Vec<i128>,
    /// t of every feature, in its piece.
    targets: Vec<i128>,
    /// Features and, from p on, groups: pieces are segments.
    nodes: Vec<u32>,
    /// The number of the piece of every node, and its place there.
    piece: Vec<u32>,
    place: Vec<u32>,
    stack: Vec<(usize, usize)>,
    above: Vec<bool>,
    old: Vec<u32>,
}

/// What is decomposed.
enum Problem<'a> {
    Cover(&'a Groups),
    Cut(&'a Graph),
}

/// prox of step*sum_g w_g max_{j in g} |x_j|.
pub(super) fn cover(v: &[f64], groups: &Groups, step: f64, out: &mut [f64], exact: &mut Exact) {
    let Some(unit) = exact.load(v.iter().map(|v| v.abs()), groups.weights(), step) else {
        return out.fill(0.0);
    };
    exact.solve(&Problem::Cover(groups), unit, out);
    for (out, v) in out.iter_mut().zip(v) {
        *out = if *out > 0.0 { out.copysign(*v) } else { 0.0 };
    }
}

/// prox of step*sum_ij w_ij |x_i - x_j|.
pub(super) fn graph(v: &[f64], graph: &Graph, step: f64, out: &mut [f64], exact: &mut Exact) {
    match exact.load(v.iter().copied(), graph.weights(), step) {
        Some(unit) => exact.solve(&Problem::Cut(graph), unit, out),
        None => out.fill(0.0),
    }
}

impl Exact {
    /// Rounds targets and weights to a lattice, and returns its unit; None where all targets are 0.
    fn load(
        &mut self,
        targets: impl Iterator<Item = f64> + Clone,
        weights: &[f64],
        step: f64,
    ) -> Option<f64> {
        let largest = targets.clone().fold(0.0, |size: f64, t| size.max(t.abs()));
        if largest < TINY {
            return None;
        }
        self.targets.clear();
        let p = targets.clone().count();
        // A power of two: largest/unit in [2^(bits - 1), 2^bits), and nothing is lost by the division.
        let exponent = (largest.to_bits() >> 52) as i32 - 1022;
        let unit = 2f64.powi(exponent - bits(p, weights.len()) as i32);
        self.targets
            .extend(targets.map(|t| (t / unit).round() as i128));
        let most = p as i128 * ((largest / unit) as i128 + 1);
        self.weights.clear();
        let weight = |&w: &f64| {
            let product = step * w;
            if product / unit >= most as f64 {
                return most;
            }
            // The product in two floats: to one unit, whatever its size.
            let rest = step.mul_add(w, -product);
            let units = (product / unit).round() as i128 + (rest / unit).round() as i128;
            units.clamp(0, most)
        };
        self.weights.extend(weights.iter().map(weight));
        Some(unit)
    }

    fn solve(&mut self, problem: &Problem<'_>, unit: f64, out: &mut [f64]) {
        let p = self.targets.len();
        let n_nodes = match problem {
            Problem::Cover(_) => p + self.weights.len(),
            Problem::Cut(_) => p,
        };
        self.nodes.clear();
        self.nodes.extend(0..n_nodes as u32);
        self.piece.clear();
        self.piece.resize(n_nodes, 0);
        self.place.clear();
        self.place.resize(n_nodes, 0);
        self.stack.clear();
        self.stack.push((0, n_nodes));
        let mut number = 0;
        while let Some((start, end)) = self.stack.pop() {
            number += 1;
            self.cut(problem, start..end, number, unit, out);
        }
    }

    /// Either gives the features of a piece their value, or splits it.
    fn cut(
        &mut self,
        problem: &Problem<'_>,
        range: Range<usize>,
        number: u32,
        unit: f64,
        out: &mut [f64],
    ) {
        let p = self.targets.len();
        let nodes = &self.nodes[range.clone()];
        let (mut size, mut sum) = (0i128, 0i128);
        for (place, &node) in nodes.iter().enumerate() {
            let node = node as usize;
            self.piece[node] = number;
            self.place[node] = place as u32;
            if node < p {
                size += 1;
                sum += self.targets[node];
            } else {
                sum -= self.weights[node - p];
            }
        }
        if size == 0 {
            return;
        }
        self.connect(problem, range.clone(), number, size, sum);
        self.network.solve();
        self.above.clear();
        (self.above).extend((0..range.len()).map(|place| self.network.on_source_side(place)));
        let gain = self.pay(problem, range.clone(), number, size, sum);
        if gain == 0 {
            // No set is above the level.
            let level = sum as f64 / size as f64 * unit;
            for &node in &self.nodes[range] {
                if (node as usize) < p {
                    out[node as usize] = level;
                }
            }
            return;
        }
        if let Problem::Cut(graph) = problem {
            self.decide(graph, range.clone(), number);
        }
        self.split(range);
    }

    /// The network whose minimum cut is a minimiser of F - (t - level). Everything is multiplied by the size of the
    /// piece: the level is sum/size.
    fn connect(
        &mut self,
        problem: &Problem<'_>,
        range: Range<usize>,
        number: u32,
        size: i128,
        sum: i128,
    ) {
        let p = self.targets.len();
        let nodes = &self.nodes[range];
        let (targets, weights) = (&self.targets, &self.weights);
        self.network.reset(nodes.iter().map(|&node| {
            let node = node as usize;
            if node < p {
                size * targets[node] - sum
            } else {
                -size * weights[node - p]
            }
        }));
        for (place, &node) in nodes.iter().enumerate() {
            let node = node as usize;
            match problem {
                Problem::Cover(groups) if node < p => {
                    for &g in groups.of_feature(node) {
                        let group = p + g as usize;
                        if self.piece[group] == number {
                            let to = self.place[group] as usize;
                            self.network.connect(place, to, i128::MAX / 4, 0);
                        }
                    }
                }
                Problem::Cover(_) => {}
                Problem::Cut(graph) => {
                    for &(other, edge) in graph.incident(node) {
                        let other = other as usize;
                        if node < other && self.piece[other] == number {
                            let capacity = size * weights[edge as usize];
                            let to = self.place[other] as usize;
                            self.network.connect(place, to, capacity, capacity);
                        }
                    }
                }
            }
        }
    }

    /// size (t - level)(A) - size F(A) for the features A above; a group is above, and paid for, if one of its features
    /// is.
    fn pay(
        &mut self,
        problem: &Problem<'_>,
        range: Range<usize>,
        number: u32,
        size: i128,
        sum: i128,
    ) -> i128 {
        let p = self.targets.len();
        let nodes = &self.nodes[range];
        let mut gain = 0;
        for (place, &node) in nodes.iter().enumerate() {
            let node = node as usize;
            if node >= p {
                self.above[place] = false;
            } else if self.above[place] {
                gain += size * self.targets[node] - sum;
            }
        }
        for (place, &node) in nodes.iter().enumerate() {
            let node = node as usize;
            if node >= p || !self.above[place] {
                continue;
            }
            match problem {
                Problem::Cover(groups) => {
                    for &g in groups.of_feature(node) {
                        let group = p + g as usize;
                        let at = self.place[group] as usize;
                        if self.piece[group] == number && !self.above[at] {
                            self.above[at] = true;
                            gain -= size * self.weights[g as usize];
                        }
                    }
                }
                Problem::Cut(graph) => {
                    for &(other, edge) in graph.incident(node) {
                        let other = other as usize;
                        if self.piece[other] == number && !self.above[self.place[other] as usize] {
                            gain -= size * self.weights[edge as usize];
                        }
                    }
                }
            }
        }
        gain
    }

    /// What the edges between both sides cost is decided: it moves into the targets.
    fn decide(&mut self, graph: &Graph, range: Range<usize>, number: u32) {
        for (place, &node) in self.nodes[range].iter().enumerate() {
            if !self.above[place] {
                continue;
            }
            for &(other, edge) in graph.incident(node as usize) {
                let other = other as usize;
                if self.piece[other] == number && !self.above[self.place[other] as usize] {
                    self.targets[node as usize] -= self.weights[edge as usize];
                    self.targets[other] += self.weights[edge as usize];
                }
            }
        }
    }

    /// Makes a piece of either side.
    fn split(&mut self, range: Range<usize>) {
        self.old.clear();
        self.old.extend_from_slice(&self.nodes[range.clone()]);
        let mut next = range.start;
        for side in [true, false] {
            let start = next;
            for (&node, &above) in self.old.iter().zip(&self.above) {
                if above == side {
                    self.nodes[next] = node;
                    next += 1;
                }
            }
            self.stack.push((start, next));
        }
    }
}

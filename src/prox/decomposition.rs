//! Proxes of covers and of graph cuts by decomposition into level sets (Groenevelt 1991; Hochbaum 2001; Mairal,
//! Jenatton, Obozinski & Bach 2011; Bach 2013, section 9.1).
//!
//! A piece is a set of features with a target t and a submodular F (step included). Its prox is constant at the mean
//! level (t(piece) - F(piece))/|piece| unless some A has F(A) < (t - level)(A); a minimiser A of the difference lies
//! above the level and the rest below, and both are pieces again: A with F restricted to A, the rest with F(A + .) -
//! F(A). A minimum cut finds A. Pieces that fall apart into components are split at once, so that all work soon happens
//! on small networks; for covers, a first cut at level 0 finds everything that comes out zero.

use crate::minimise::max_flow::Network;
use crate::set_function::{Graph, Groups};

/// Gains below this multiple of the terms they are the difference of are rounding: the piece is constant.
const TIE: f64 = 1e-14;

/// Working memory: the current pieces are segments of `nodes`.
#[derive(Debug, Clone, Default)]
pub(super) struct Pieces {
    network: Network,
    /// t of every feature, in its piece.
    targets: Vec<f64>,
    /// Features and, from p on, groups.
    nodes: Vec<u32>,
    /// The piece of every node.
    piece: Vec<u32>,
    /// Place of every node in the network of its piece.
    place: Vec<u32>,
    stack: Vec<Piece>,
    /// Nodes of a piece on the source side.
    above: Vec<bool>,
    /// Places of the network, component after component.
    found: Vec<u32>,
    seen: Vec<bool>,
    old: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    start: usize,
    end: usize,
    number: u32,
    /// To be cut at 0 instead of at its mean.
    at_zero: bool,
}

/// What the two structures differ in. Nodes are features and, from p on, what they pay for.
trait Problem {
    /// Calls `arc(other, capacity, back)` for the arcs of a feature, every arc at one of its ends only.
    fn arcs(&self, feature: usize, arc: impl FnMut(usize, f64, f64));

    /// The demand of a node from p on.
    fn price(&self, node: usize) -> f64;
}

struct Cover<'a> {
    groups: &'a Groups,
    step: f64,
}

impl Problem for Cover<'_> {
    fn arcs(&self, feature: usize, mut arc: impl FnMut(usize, f64, f64)) {
        for &g in self.groups.of_feature(feature) {
            arc(self.groups.n_features() + g as usize, f64::INFINITY, 0.0);
        }
    }

    fn price(&self, node: usize) -> f64 {
        self.step * self.groups.weights()[node - self.groups.n_features()]
    }
}

struct Cut<'a> {
    graph: &'a Graph,
    step: f64,
}

impl Problem for Cut<'_> {
    fn arcs(&self, feature: usize, mut arc: impl FnMut(usize, f64, f64)) {
        for &(other, edge) in self.graph.incident(feature) {
            if feature < other as usize {
                let weight = self.step * self.graph.weights()[edge as usize];
                arc(other as usize, weight, weight);
            }
        }
    }

    fn price(&self, _node: usize) -> f64 {
        0.0
    }
}

/// prox of step*sum_g w_g max_{j in g} |x_j|.
pub(super) fn cover(v: &[f64], groups: &Groups, step: f64, out: &mut [f64], pieces: &mut Pieces) {
    let p = v.len();
    pieces.nodes.clear();
    // A feature that is 0 stays 0 and takes no part.
    let features = (0..p as u32).filter(|&j| v[j as usize] != 0.0);
    pieces.nodes.extend(features);
    pieces.nodes.extend(p as u32..(p + groups.len()) as u32);
    pieces.targets.clear();
    pieces.targets.extend(v.iter().map(|v| v.abs()));
    out.fill(0.0);
    pieces.solve(&Cover { groups, step }, p + groups.len(), true, out);
    for (out, v) in out.iter_mut().zip(v) {
        *out = if *out > 0.0 { out.copysign(*v) } else { 0.0 };
    }
}

/// prox of step*sum_ij w_ij |x_i - x_j|.
pub(super) fn graph(v: &[f64], graph: &Graph, step: f64, out: &mut [f64], pieces: &mut Pieces) {
    pieces.nodes.clear();
    pieces.nodes.extend(0..v.len() as u32);
    pieces.targets.clear();
    pieces.targets.extend_from_slice(v);
    pieces.solve(&Cut { graph, step }, v.len(), false, out);
}

impl Pieces {
    /// Solves the piece of all `nodes`, and all that come of it.
    fn solve(&mut self, problem: &impl Problem, n_nodes: usize, at_zero: bool, out: &mut [f64]) {
        self.piece.clear();
        self.piece.resize(n_nodes, u32::MAX);
        self.place.resize(n_nodes, 0);
        for &node in &self.nodes {
            self.piece[node as usize] = 0;
        }
        self.stack.clear();
        self.stack.push(Piece {
            start: 0,
            end: self.nodes.len(),
            number: 0,
            at_zero,
        });
        let mut number = 0;
        while let Some(piece) = self.stack.pop() {
            self.cut(problem, piece, &mut number, out);
        }
    }

    /// Either gives the features of a piece their value, or splits it.
    fn cut(&mut self, problem: &impl Problem, piece: Piece, number: &mut u32, out: &mut [f64]) {
        let (size, sum) = self.total(problem, piece);
        if size == 0 {
            return;
        }
        let level = if piece.at_zero {
            0.0
        } else {
            sum / size as f64
        };
        if size == 1 && !piece.at_zero {
            return self.set(piece, level, out);
        }
        self.connect(problem, piece, level);
        self.network.solve();
        let tied = self.pay(problem, piece, level, size);
        if !piece.at_zero && tied {
            return self.set(piece, level, out);
        }
        self.decide(problem, piece);
        self.split(piece, number);
    }

    /// The number of features of a piece, and (t - F)(piece).
    fn total(&self, problem: &impl Problem, piece: Piece) -> (usize, f64) {
        let (mut size, mut sum) = (0, 0.0);
        for &node in &self.nodes[piece.start..piece.end] {
            let node = node as usize;
            if node < self.targets.len() {
                size += 1;
                sum += self.targets[node];
            } else {
                sum -= problem.price(node);
            }
        }
        (size, sum)
    }

    fn set(&self, piece: Piece, level: f64, out: &mut [f64]) {
        let p = self.targets.len();
        let nodes = &self.nodes[piece.start..piece.end];
        for &node in nodes.iter().filter(|&&node| (node as usize) < p) {
            out[node as usize] = level;
        }
    }

    /// The network whose minimum cut is a minimiser of F - (t - level).
    fn connect(&mut self, problem: &impl Problem, piece: Piece, level: f64) {
        let p = self.targets.len();
        let nodes = &self.nodes[piece.start..piece.end];
        for (place, &node) in nodes.iter().enumerate() {
            self.place[node as usize] = place as u32;
        }
        let targets = &self.targets;
        self.network.reset(nodes.iter().map(|&node| {
            let node = node as usize;
            if node < p {
                targets[node] - level
            } else {
                -problem.price(node)
            }
        }));
        for (place, &node) in nodes.iter().enumerate() {
            if (node as usize) < p {
                problem.arcs(node as usize, |other, capacity, back| {
                    if self.piece[other] == piece.number {
                        let other = self.place[other] as usize;
                        self.network.connect(place, other, capacity, back);
                    }
                });
            }
        }
    }

    /// Marks the features above the level, and the groups with one of these, which are paid for; whether
    /// (t - level - F)(above) is nothing but rounding.
    fn pay(&mut self, problem: &impl Problem, piece: Piece, level: f64, size: usize) -> bool {
        let p = self.targets.len();
        let nodes = &self.nodes[piece.start..piece.end];
        self.above.clear();
        self.above.resize(nodes.len(), false);
        let (mut gain, mut scale, mut n_above) = (0.0, 0.0, 0);
        for (place, &node) in nodes.iter().enumerate() {
            let node = node as usize;
            if node >= p || !self.network.on_source_side(place) {
                continue;
            }
            self.above[place] = true;
            n_above += 1;
            gain += self.targets[node] - level;
            scale += self.targets[node].abs() + level.abs();
            problem.arcs(node, |other, _, _| {
                if other >= p && self.piece[other] == piece.number {
                    self.above[self.place[other] as usize] = true;
                }
            });
        }
        for (place, &node) in nodes.iter().enumerate() {
            let node = node as usize;
            if node >= p {
                if self.above[place] {
                    gain -= problem.price(node);
                    scale += problem.price(node);
                }
                continue;
            }
            problem.arcs(node, |other, weight, _| {
                if other < p && self.piece[other] == piece.number {
                    let end = self.place[other] as usize;
                    if self.above[place] != self.above[end] {
                        gain -= weight;
                        scale += weight;
                    }
                }
            });
        }
        // Sums that overflow tell nothing, and all features together gain nothing but what the level was rounded by,
        // which is more than a multiple of subnormal terms: such pieces would be split for ever.
        gain.is_nan() || gain <= TIE * scale || n_above == size
    }

    /// What the edges between both sides cost is decided: it moves into the targets.
    fn decide(&mut self, problem: &impl Problem, piece: Piece) {
        let p = self.targets.len();
        for (place, &node) in self.nodes[piece.start..piece.end].iter().enumerate() {
            let node = node as usize;
            if node >= p {
                continue;
            }
            problem.arcs(node, |other, weight, _| {
                if other < p && self.piece[other] == piece.number {
                    let end = self.place[other] as usize;
                    if self.above[place] != self.above[end] {
                        let (upper, lower) = if self.above[place] {
                            (node, other)
                        } else {
                            (other, node)
                        };
                        self.targets[upper] -= weight;
                        self.targets[lower] += weight;
                    }
                }
            });
        }
    }

    /// Makes a piece of every component of either side; where the cut was at zero, of the upper side only.
    fn split(&mut self, piece: Piece, number: &mut u32) {
        let size = piece.end - piece.start;
        let waiting = self.stack.len();
        self.old.clear();
        self.old
            .extend_from_slice(&self.nodes[piece.start..piece.end]);
        self.seen.clear();
        self.seen.resize(size, false);
        self.found.clear();
        for first in 0..size {
            if self.seen[first] || (piece.at_zero && !self.above[first]) {
                continue;
            }
            let start = self.found.len();
            self.seen[first] = true;
            self.found.push(first as u32);
            let mut done = start;
            while done < self.found.len() {
                let place = self.found[done] as usize;
                done += 1;
                for other in self.network.neighbours(place) {
                    if !self.seen[other] && self.above[other] == self.above[first] {
                        self.seen[other] = true;
                        self.found.push(other as u32);
                    }
                }
            }
            *number += 1;
            self.stack.push(Piece {
                start: piece.start + start,
                end: piece.start + done,
                number: *number,
                at_zero: false,
            });
        }
        for (k, &place) in self.found.iter().enumerate() {
            self.nodes[piece.start + k] = self.old[place as usize];
        }
        if piece.at_zero {
            // The features left out are zero already.
            for &node in &self.old {
                self.piece[node as usize] = u32::MAX;
            }
        }
        for part in &self.stack[waiting..] {
            for &node in &self.nodes[part.start..part.end] {
                self.piece[node as usize] = part.number;
            }
        }
    }
}

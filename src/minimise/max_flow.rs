//! Maximum flow and minimum cut on a sparse network with real or integer capacities.

use std::ops::{AddAssign, SubAssign};

/// Distance of a node from which no demand can be reached.
const UNREACHED: u32 = u32::MAX;

/// What flows: floats, or integers where no rounding may be.
pub trait Amount: Copy + Default + PartialOrd + AddAssign + SubAssign {}

impl Amount for f64 {}
impl Amount for i128 {}

/// A network of which every node has a balance: a supply where positive (an arc from the source), a demand where
/// negative (an arc to the sink).
///
/// The solver is push-relabel (Goldberg & Tarjan 1988) in first-in-first-out order with exact distances to the demands
/// recomputed now and then (Cherkassky & Goldberg 1997). Only its first phase is run: a maximum preflow, which is all
/// that a minimum cut needs.
///
/// Exactness with floating-point capacities: a push moves min(balance, residual), and x - x = 0 exactly, so that it
/// really empties the node or saturates the arc, and the argument by which the algorithm ends is combinatorial and
/// holds as it stands. At the end no supply is left where a demand can be reached, again exactly: the cut is a minimum
/// cut for capacities that differ from the given ones by the rounding of sums along the arcs of single nodes. With
/// integers it is one of the given capacities, as long as no sum along the arcs of a node overflows.
#[derive(Debug, Clone, Default)]
pub struct Network<N = f64> {
    /// (from, to, capacity, capacity of the way back) before `solve`.
    edges: Vec<(u32, u32, N, N)>,
    balance: Vec<N>,
    starts: Vec<u32>,
    arcs: Vec<Arc<N>>,
    distance: Vec<u32>,
    current: Vec<u32>,
    queue: std::collections::VecDeque<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Arc<N> {
    to: u32,
    /// Number of the opposite arc.
    mate: u32,
    residual: N,
}

impl<N: Amount> Network<N> {
    /// Forgets all, keeps the memory, and starts over with the given balances.
    pub fn reset(&mut self, balances: impl Iterator<Item = N>) {
        self.edges.clear();
        self.balance.clear();
        self.balance.extend(balances);
    }

    /// Adds an arc and its opposite. Capacities are not negative; infinity, or more than can flow, is allowed.
    pub fn connect(&mut self, from: usize, to: usize, capacity: N, back: N) {
        self.edges.push((from as u32, to as u32, capacity, back));
    }

    /// Solves; then [`Network::on_source_side`] tells the cut.
    ///
    /// ```
    /// use dpsparse::minimise::max_flow::Network;
    /// let mut network = Network::default();
    /// network.reset([3.0, 0.0, -5.0].into_iter());
    /// network.connect(0, 1, 2.0, 0.0);
    /// network.connect(1, 2, 9.0, 0.0);
    /// network.solve();
    /// // One unit is stuck in front of the arc of capacity 2.
    /// assert!(network.on_source_side(0) && !network.on_source_side(1));
    /// ```
    pub fn solve(&mut self) {
        self.build();
        self.measure();
        self.queue.clear();
        for node in 0..self.balance.len() {
            if self.balance[node] > N::default() && self.distance[node] != UNREACHED {
                self.queue.push_back(node as u32);
            }
        }
        let patience = 4 * self.arcs.len() + 4 * self.balance.len();
        let mut work = 0;
        while let Some(node) = self.queue.pop_front() {
            work += self.discharge(node as usize);
            if work > patience {
                work = 0;
                self.measure();
                let distance = &self.distance;
                self.queue
                    .retain(|&node| distance[node as usize] != UNREACHED);
            }
        }
        self.measure();
    }

    /// Whether no demand that is left can be reached from the node: the largest source side of a minimum cut.
    pub fn on_source_side(&self, node: usize) -> bool {
        self.distance[node] == UNREACHED
    }

    /// The neighbours of a node, one per arc in either direction.
    pub fn neighbours(&self, node: usize) -> impl Iterator<Item = usize> {
        self.arcs_of(node).map(|arc| self.arcs[arc].to as usize)
    }

    fn arcs_of(&self, node: usize) -> std::ops::Range<usize> {
        self.starts[node] as usize..self.starts[node + 1] as usize
    }

    /// Arcs of one node side by side.
    fn build(&mut self) {
        let n = self.balance.len();
        self.starts.clear();
        self.starts.resize(n + 1, 0);
        for &(from, to, ..) in &self.edges {
            self.starts[from as usize] += 1;
            self.starts[to as usize] += 1;
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        // Filled from the back, so that `starts` ends at the beginnings.
        self.arcs.clear();
        self.arcs.resize(2 * self.edges.len(), Arc::default());
        for &(from, to, capacity, back) in &self.edges {
            self.starts[from as usize] -= 1;
            let forth = self.starts[from as usize];
            self.starts[to as usize] -= 1;
            let opposite = self.starts[to as usize];
            self.arcs[forth as usize] = Arc {
                to,
                mate: opposite,
                residual: capacity,
            };
            self.arcs[opposite as usize] = Arc {
                to: from,
                mate: forth,
                residual: back,
            };
        }
        self.current.clear();
        self.current.extend_from_slice(&self.starts[..n]);
    }

    /// Exact distances to the demands that are left, by breadth-first search over residual arcs backwards.
    fn measure(&mut self) {
        self.distance.clear();
        self.distance.resize(self.balance.len(), UNREACHED);
        let mut frontier = std::mem::take(&mut self.current);
        frontier.clear();
        for node in 0..self.balance.len() {
            if self.balance[node] < N::default() {
                self.distance[node] = 0;
                frontier.push(node as u32);
            }
        }
        let mut done = 0;
        while done < frontier.len() {
            let node = frontier[done] as usize;
            done += 1;
            for arc in self.arcs_of(node) {
                let Arc { to, mate, .. } = self.arcs[arc];
                if self.distance[to as usize] == UNREACHED
                    && self.arcs[mate as usize].residual > N::default()
                {
                    self.distance[to as usize] = self.distance[node] + 1;
                    frontier.push(to);
                }
            }
        }
        frontier.clear();
        frontier.extend_from_slice(&self.starts[..self.balance.len()]);
        self.current = frontier;
    }

    /// Pushes the node's supply towards the demands, lifting it as needed; returns the arcs looked at.
    fn discharge(&mut self, node: usize) -> usize {
        let end = self.starts[node + 1];
        let mut work = 0;
        while self.distance[node] != UNREACHED {
            while self.current[node] < end {
                let index = self.current[node] as usize;
                let arc = self.arcs[index];
                work += 1;
                let to = arc.to as usize;
                if arc.residual > N::default()
                    && self.distance[to] != UNREACHED
                    && self.distance[node] == self.distance[to] + 1
                {
                    let supply = self.balance[node];
                    let amount = if supply < arc.residual {
                        supply
                    } else {
                        arc.residual
                    };
                    let before = self.balance[to];
                    self.arcs[index].residual -= amount;
                    self.arcs[arc.mate as usize].residual += amount;
                    self.balance[node] -= amount;
                    self.balance[to] += amount;
                    if before <= N::default() && self.balance[to] > N::default() {
                        self.queue.push_back(to as u32);
                    }
                    if self.balance[node] == N::default() {
                        return work;
                    }
                }
                self.current[node] += 1;
            }
            let nearest = self
                .arcs_of(node)
                .filter(|&arc| self.arcs[arc].residual > N::default())
                .map(|arc| self.distance[self.arcs[arc].to as usize])
                .min()
                .unwrap_or(UNREACHED);
            work += self.arcs_of(node).len();
            // A path without repetition is shorter than the number of nodes.
            self.distance[node] = if (nearest as usize) < self.balance.len() {
                nearest + 1
            } else {
                UNREACHED
            };
            self.current[node] = self.starts[node];
        }
        work
    }
}

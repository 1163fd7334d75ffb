use crate::set_function::Groups;

/// "No group".
const NONE: u32 = u32::MAX;

/// Groups of which any two are disjoint or nested, as a forest. O(sum of group sizes).
#[derive(Debug, Clone, Default)]
pub struct Forest {
    /// Groups by size, ties by number: children before parents.
    order: Vec<u32>,
    /// The least group above a group, if any.
    parent: Vec<u32>,
    /// The least group of a feature, if any.
    least: Vec<u32>,
}

impl Forest {
    /// The forest of `groups`.
    pub fn new(groups: &Groups) -> Self {
        let mut forest = Self {
            parent: vec![NONE; groups.len()],
            least: vec![NONE; groups.n_features()],
            order: Vec::new(),
        };
        bottom_up(groups, &mut forest.order);
        // Larger groups first: what a feature was last given to is the least group so far that holds it.
        for &g in forest.order.iter().rev() {
            let members = groups.members(g as usize);
            forest.parent[g as usize] = forest.least[members[0] as usize];
            for &j in members {
                forest.least[j as usize] = g;
            }
        }
        forest
    }

    /// Groups, children before parents.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The least group that properly holds group g (of equal groups: the next in order).
    pub fn parent(&self, g: usize) -> Option<usize> {
        (self.parent[g] != NONE).then_some(self.parent[g] as usize)
    }

    /// The least group that holds feature j.
    pub fn least(&self, j: usize) -> Option<usize> {
        (self.least[j] != NONE).then_some(self.least[j] as usize)
    }
}

/// Writes the numbers of nested or disjoint groups, children before parents: by size.
pub(crate) fn bottom_up(groups: &Groups, order: &mut Vec<u32>) {
    let size = |g: &u32| groups.members(*g as usize).len();
    order.clear();
    order.extend(0..groups.len() as u32);
    // Often they are given in this order already.
    if !order.is_sorted_by_key(size) {
        order.sort_unstable_by_key(|g| (size(g), *g));
    }
}

/// F(A) = sum_g w_g [A meets g] over a forest, minus s. A subtree is worth (sum of its children's worths and its own
/// features' (s_j)_+, minus w_g)_+.
pub(super) fn minimise(groups: &Groups, s: &[f64]) -> (Vec<usize>, f64) {
    let forest = Forest::new(groups);
    let mut worth = vec![0.0; groups.len()];
    let mut total = 0.0;
    for (j, &s) in s.iter().enumerate() {
        match forest.least(j) {
            Some(g) => worth[g] += s.max(0.0),
            None => total += s.max(0.0),
        }
    }
    for &g in forest.order() {
        let g = g as usize;
        worth[g] = (worth[g] - groups.weights()[g]).max(0.0);
        match forest.parent(g) {
            Some(parent) => worth[parent] += worth[g],
            None => total += worth[g],
        }
    }
    // A group is in use if it and all above it are worth their price.
    let mut used = vec![false; groups.len()];
    for &g in forest.order().iter().rev() {
        let g = g as usize;
        used[g] = worth[g] > 0.0 && forest.parent(g).is_none_or(|parent| used[parent]);
    }
    let set = (0..s.len())
        .filter(|&j| s[j] > 0.0 && forest.least(j).is_none_or(|g| used[g]))
        .collect();
    (set, -total)
}

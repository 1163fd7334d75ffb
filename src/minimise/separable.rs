//! Sums of functions of single features and of disjoint blocks: every part is minimised alone.

use crate::lovasz::sort_descending;
use crate::set_function::Block;

/// F modular: the features with s_j > w_j.
pub(super) fn modular(weights: &[f64], s: &[f64]) -> (Vec<usize>, f64) {
    let mut value = 0.0;
    let set = (0..s.len())
        .filter(|&j| {
            value += (weights[j] - s[j]).min(0.0);
            s[j] > weights[j]
        })
        .collect();
    (set, value)
}

/// F(A) = sum_b h_b(|A & b|): of a block the k largest s, for the best k; O(p log p).
pub(super) fn blocks(blocks: &[Block], s: &[f64]) -> (Vec<usize>, f64) {
    let mut free = vec![true; s.len()];
    let (mut set, mut total) = (Vec::new(), 0.0);
    let mut order = Vec::new();
    for block in blocks {
        order.clear();
        order.extend_from_slice(&block.members);
        sort_descending(s, &mut order);
        let (mut value, mut best, mut size) = (0.0, 0.0, 0);
        for (k, (&j, gain)) in order.iter().zip(&block.gains).enumerate() {
            free[j] = false;
            value += gain - s[j];
            if value < best {
                (best, size) = (value, k + 1);
            }
        }
        set.extend_from_slice(&order[..size]);
        total += best;
    }
    for j in (0..s.len()).filter(|&j| free[j] && s[j] > 0.0) {
        set.push(j);
        total -= s[j];
    }
    (set, total)
}

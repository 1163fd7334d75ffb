use super::{Scratch, l1_ball_threshold};
use crate::minimise::bottom_up;
use crate::set_function::Groups;

/// prox of step*sum_g w_g max_{j in g} |x_j| for groups of which any two are disjoint or nested: the proxes of the
/// groups one after another, children before parents (Jenatton, Mairal, Obozinski & Bach 2011, theorem 1).
///
/// The prox of one group is what remains of projecting it onto an l1 ball: its entries cut at a level. Expected O(sum
/// of group sizes), the size of `groups`.
pub(super) fn nested_groups(
    v: &[f64],
    groups: &Groups,
    step: f64,
    out: &mut [f64],
    scratch: &mut Scratch,
) {
    let Scratch {
        group_order,
        values,
        members: inside,
        ..
    } = scratch;
    out.copy_from_slice(v);
    bottom_up(groups, group_order);
    for &g in group_order.iter() {
        let members = groups.members(g as usize);
        inside.clear();
        inside.extend(members.iter().map(|&j| out[j as usize]));
        let level = l1_ball_threshold(inside, step * groups.weights()[g as usize], values);
        // Level 0 means that nothing is left. Adding 0 turns -0 into 0.
        for (&j, value) in members.iter().zip(inside.iter()) {
            out[j as usize] = value.clamp(-level, level) + 0.0;
        }
    }
}

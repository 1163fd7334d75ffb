use super::isotonic::isotonic_descending;
use super::{Scratch, l1_ball_threshold};
use crate::lovasz::sort_descending;
use crate::set_function::Block;

/// prox of step*(sorted l1 norm of every block), where the k-th largest entry of a block pays its k-th gain; features
/// in no block are left alone.
///
/// Sort, subtract, make descending again, cut at zero (Bogdan, van den Berg, Sabatti, Su & Candes 2015, algorithm 4):
/// O(p log p). A block that pays for its largest entry only is an l-infinity norm, for which [`l1_ball_threshold`]
/// needs no sort.
pub(super) fn sorted_l1(
    v: &[f64],
    blocks: &[Block],
    step: f64,
    out: &mut [f64],
    scratch: &mut Scratch,
) {
    out.copy_from_slice(v);
    let Scratch {
        order,
        values,
        pools,
        sizes,
        members,
        ..
    } = scratch;
    sizes.clear();
    sizes.extend(v.iter().map(|v| v.abs()));
    for block in blocks {
        if block.gains[1..].iter().all(|&gain| gain == 0.0) {
            members.clear();
            members.extend(block.members.iter().map(|&j| v[j]));
            let level = l1_ball_threshold(members, step * block.gains[0], values);
            for &j in &block.members {
                out[j] = v[j].clamp(-level, level) + 0.0;
            }
            continue;
        }
        order.clear();
        order.extend_from_slice(&block.members);
        sort_descending(sizes, order);
        values.clear();
        values.extend(
            order
                .iter()
                .zip(&block.gains)
                .map(|(&j, gain)| sizes[j] - step * gain),
        );
        isotonic_descending(values, pools);
        for (&j, &value) in order.iter().zip(values.iter()) {
            out[j] = if value > 0.0 {
                value.copysign(v[j])
            } else {
                0.0
            };
        }
    }
}

use std::collections::BinaryHeap;

use crate::minimise::contiguous_range;

/// prox of step*f(|x|) for F(A) = p - 1 + max A - min A + 1, in O(p log p).
///
/// The largest value of |x| is max over A of (|v|(A) - step*F(A))/|A|, by Dinkelbach's method (1967) on the O(p)
/// minimiser; A is where it is attained (Bach 2013, section 9.1, on the level sets of a prox). Given A, features
/// between its ends are free, and those outside pay for the distance to it: on each side that is a sum of maxima over
/// nested groups, {0, ..., k} for every k to the left, solved from the inside of the nest to the outside as in
/// `nested_groups`, with a heap because the groups' sizes add up to p^2.
pub(super) fn range(v: &[f64], step: f64, out: &mut [f64]) {
    let sizes: Vec<f64> = v.iter().map(|v| v.abs()).collect();
    out.fill(0.0);
    if step == 0.0 {
        out.copy_from_slice(v);
        return;
    }
    let (mut level, mut top): (f64, Vec<usize>) = (0.0, Vec::new());
    let mut scaled = vec![0.0; v.len()];
    loop {
        for (scaled, size) in scaled.iter_mut().zip(&sizes) {
            *scaled = (size - level) / step;
        }
        let (set, _) = contiguous_range(&scaled);
        let (Some(first), Some(last)) = (set.first(), set.last()) else {
            break;
        };
        let cost = step * (v.len() + last - first) as f64;
        let ratio = (set.iter().map(|&j| sizes[j]).sum::<f64>() - cost) / set.len() as f64;
        if ratio <= level {
            break;
        }
        (level, top) = (ratio, set);
    }
    let (Some(&first), Some(&last)) = (top.first(), top.last()) else {
        return;
    };
    for j in first..=last {
        out[j] = sizes[j].min(level);
    }
    let mut sides = vec![0.0; first.max(v.len() - 1 - last)];
    nest(sizes[..first].iter(), step, level, &mut sides);
    out[..first].copy_from_slice(&sides[..first]);
    nest(sizes[last + 1..].iter().rev(), step, level, &mut sides);
    for (out, side) in out[last + 1..].iter_mut().rev().zip(&sides) {
        *out = *side;
    }
    for (out, v) in out.iter_mut().zip(v) {
        *out = if *out == 0.0 { 0.0 } else { out.copysign(*v) };
    }
}

/// prox of step*sum_k max(x_0, ..., x_k), all x >= 0, cut at `most` (which it is below anyway, but for rounding).
fn nest<'a>(sizes: impl ExactSizeIterator<Item = &'a f64>, step: f64, most: f64, out: &mut [f64]) {
    let n = sizes.len();
    // (bits of a value >= 0, which are ordered like it; how many entries have it)
    let mut heap: BinaryHeap<(u64, usize)> = BinaryHeap::new();
    let mut levels = Vec::with_capacity(n);
    for (&size, out) in sizes.zip(out.iter_mut()) {
        *out = size;
        heap.push((size.to_bits(), 1));
        let (mut sum, mut count) = (0.0, 0);
        while let Some(&(bits, number)) = heap.peek() {
            let value = f64::from_bits(bits);
            if count > 0 && value * count as f64 <= sum - step {
                break;
            }
            sum += value * number as f64;
            count += number;
            heap.pop();
        }
        let level = ((sum - step) / count as f64).max(0.0);
        if level > 0.0 {
            heap.push((level.to_bits(), count));
        }
        levels.push(level);
    }
    let mut least = most;
    for (out, level) in out[..n].iter_mut().zip(levels).rev() {
        least = least.min(level);
        *out = out.min(least);
    }
}

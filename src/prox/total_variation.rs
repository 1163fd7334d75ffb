use std::collections::VecDeque;

use super::Scratch;
use crate::set_function::Graph;

/// Where the derivative of a message changes from one line to the next: at `at`, its slope and intercept grow by these.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Knot {
    at: f64,
    slope: f64,
    intercept: f64,
}

/// prox of step*sum_j w_j |x_{j+1} - x_j| for a graph all of whose edges join neighbours: total variation on a chain, or on
/// several where edges are missing.
///
/// Johnson's dynamic programme (2013, "A dynamic programming algorithm for the fused lasso and L0-segmentation"): the
/// derivative of the best objective up to j, as a function of x_j, is piecewise linear and increasing; going over an edge of
/// weight w cuts it to [-step*w, step*w]. Every cut drops the knots outside and adds two, so that the whole is O(p) for any
/// weights. An edge of weight 0 forgets the past, as it must. Backwards, x_j is x_{j+1} cut to the interval in which the
/// derivative is not cut: entries that are tied are copies.
pub(super) fn total_variation(
    v: &[f64],
    graph: &Graph,
    step: f64,
    out: &mut [f64],
    scratch: &mut Scratch,
) {
    let p = v.len();
    let Scratch {
        values: bounds,
        knots,
        lower,
        upper,
        ..
    } = scratch;
    bounds.clear();
    bounds.resize(p, 0.0);
    for (&(i, j), weight) in graph.edges().iter().zip(graph.weights()) {
        bounds[i.min(j) as usize] += step * weight;
    }
    lower.clear();
    upper.clear();
    knots.clear();
    let mut before = 0.0;
    for (&v, &bound) in v.iter().zip(bounds.iter()) {
        let low = crossing_from_left(knots, (1.0, -before - v), -bound);
        if bound > 0.0 {
            let high = crossing_from_right(knots, (1.0, before - v), bound);
            let (slope, intercept) = low.1;
            knots.push_front(Knot {
                at: low.0,
                slope,
                intercept: intercept + bound,
            });
            let (slope, intercept) = high.1;
            knots.push_back(Knot {
                at: high.0,
                slope: -slope,
                intercept: bound - intercept,
            });
            lower.push(low.0);
            upper.push(high.0);
        } else {
            knots.clear();
            lower.push(low.0);
            upper.push(low.0);
        }
        before = bound;
    }
    let mut next = 0.0f64;
    for j in (0..p).rev() {
        next = next.max(lower[j]).min(upper[j]);
        out[j] = next;
    }
}

/// Where the derivative reaches `value`, and the line (slope, intercept) on which it does; `line` is the leftmost one. Knots
/// to the left are dropped.
#[inline(always)]
fn crossing_from_left(
    knots: &mut VecDeque<Knot>,
    mut line: (f64, f64),
    value: f64,
) -> (f64, (f64, f64)) {
    while let Some(knot) = knots.front() {
        if line.0 * knot.at + line.1 > value {
            break;
        }
        line = (line.0 + knot.slope, line.1 + knot.intercept);
        knots.pop_front();
    }
    ((value - line.1) / line.0, line)
}

/// The same from the right; `line` is the rightmost one.
#[inline(always)]
fn crossing_from_right(
    knots: &mut VecDeque<Knot>,
    mut line: (f64, f64),
    value: f64,
) -> (f64, (f64, f64)) {
    while let Some(knot) = knots.back() {
        if line.0 * knot.at + line.1 < value {
            break;
        }
        line = (line.0 - knot.slope, line.1 - knot.intercept);
        knots.pop_back();
    }
    ((value - line.1) / line.0, line)
}

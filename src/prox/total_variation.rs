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
    // A cut adds one knot at either end, so that p places to either side of the middle are enough.
    if knots.len() < 2 * p + 2 {
        knots.resize(2 * p + 2, Knot::default());
    }
    let middle = knots.len() / 2;
    // The knots in use are those from `first` up to `end`.
    let (mut first, mut end) = (middle, middle);
    let mut before = 0.0;
    for (&v, &bound) in v.iter().zip(bounds.iter()) {
        // The leftmost line, up to where it reaches -bound.
        let (mut slope, mut intercept) = (1.0, -before - v);
        while first < end {
            let knot = knots[first];
            if slope * knot.at + intercept > -bound {
                break;
            }
            slope += knot.slope;
            intercept += knot.intercept;
            first += 1;
        }
        let low = (-bound - intercept) / slope;
        lower.push(low);
        if bound == 0.0 {
            upper.push(low);
            (first, end) = (middle, middle);
            before = 0.0;
            continue;
        }
        let cut_low = Knot {
            at: low,
            slope,
            intercept: intercept + bound,
        };
        // The rightmost line, down to where it reaches bound.
        (slope, intercept) = (1.0, before - v);
        while first < end {
            let knot = knots[end - 1];
            if slope * knot.at + intercept < bound {
                break;
            }
            slope -= knot.slope;
            intercept -= knot.intercept;
            end -= 1;
        }
        let high = (bound - intercept) / slope;
        upper.push(high);
        first -= 1;
        knots[first] = cut_low;
        knots[end] = Knot {
            at: high,
            slope: -slope,
            intercept: bound - intercept,
        };
        end += 1;
        before = bound;
    }
    let mut next = 0.0f64;
    for j in (0..p).rev() {
        next = next.max(lower[j]).min(upper[j]);
        out[j] = next;
    }
}

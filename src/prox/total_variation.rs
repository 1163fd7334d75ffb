use super::Scratch;
use crate::set_function::Graph;

/// Where the derivative of a message changes from one line to the next: at `at`, its slope and intercept grow by these.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Knot {
    at: f64,
    slope: f64,
    intercept: f64,
}

/// prox of step*sum_j w_j |x_{j+1} - x_j| for a graph all of whose edges join neighbours: total variation on a chain,
/// or on several where edges are missing. O(p): Condat's algorithm, faster on most inputs, until it has gone back too
/// often, and then the dynamic programme, which is linear on all.
pub(super) fn total_variation(
    v: &[f64],
    graph: &Graph,
    step: f64,
    out: &mut [f64],
    scratch: &mut Scratch,
) {
    let mut bounds = std::mem::take(&mut scratch.values);
    bounds.clear();
    bounds.resize(v.len(), 0.0);
    // |u_k| <= |v - x|_1 <= 2 |v|_1 whatever the bounds: larger ones change nothing but the rounding.
    let (eights, rest) = v.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for eight in eights {
        sums.iter_mut().zip(eight).for_each(|(s, v)| *s += v.abs());
    }
    let total = sums.iter().sum::<f64>() + rest.iter().map(|v| v.abs()).sum::<f64>();
    let most = 2.0 * total * (1.0 + 1e-9);
    for (&(i, j), weight) in graph.edges().iter().zip(graph.weights()) {
        bounds[i.min(j) as usize] += step * weight;
    }
    bounds.iter_mut().for_each(|bound| *bound = bound.min(most));
    if !taut_string(v, &bounds, out) {
        dynamic_programme(v, &bounds, out, scratch);
    }
    scratch.values = bounds;
}

/// Steps per entry after which the taut string gives up.
const PATIENCE: usize = 8;

/// Condat's direct algorithm (2013, "A direct algorithm for 1-D total variation denoising"), with a bound per edge.
///
/// x is constant on segments, and u_k = sum_{i<=k} (v_i - x_i) stays in [-bound_k, bound_k]. From the start of a
/// segment on, `low` and `high` are the least and largest value that keep u inside so far; u is at the upper bound with
/// `low` at `low_end` and at the lower bound with `high` at `high_end`. Where not even `low` keeps u inside, the
/// segment ends at `low_end` with that value, and the search starts over behind it; likewise for `high`. The last bound
/// is 0, as is that of a missing edge: there low and high meet. Starting over makes it O(p^2) at worst; false after
/// [`PATIENCE`] p steps.
fn taut_string(v: &[f64], bounds: &[f64], out: &mut [f64]) -> bool {
    let p = v.len();
    let (bounds, out) = (&bounds[..p], &mut out[..p]);
    let (mut start, mut k, mut low_end, mut high_end) = (0, 0, 0, 0);
    let (mut low, mut high) = (v[0] - bounds[0], v[0] + bounds[0]);
    let (mut u_low, mut u_high) = (bounds[0], -bounds[0]);
    let mut patience = PATIENCE * p;
    loop {
        let mut length = 1.0;
        let (end, value, u) = loop {
            if k + 1 >= p {
                out[start..].fill(low);
                return true;
            }
            let (next, bound) = (v[k + 1], bounds[k + 1]);
            u_low += next - low;
            u_high += next - high;
            if u_low < -bound {
                break (low_end, low, bounds[low_end]);
            }
            if u_high > bound {
                break (high_end, high, -bounds[high_end]);
            }
            k += 1;
            length += 1.0;
            // Whether u is past a bound is not to be predicted: selections instead of branches.
            let share = 1.0 / length;
            let (over, under) = (u_low - bound, u_high + bound);
            low += share * if over > 0.0 { over } else { 0.0 };
            high += share * if under < 0.0 { under } else { 0.0 };
            u_low = if over > 0.0 { bound } else { u_low };
            u_high = if under < 0.0 { -bound } else { u_high };
            low_end = if over >= 0.0 { k } else { low_end };
            high_end = if under <= 0.0 { k } else { high_end };
        };
        let taken = k - start + 1;
        if taken > patience {
            return false;
        }
        patience -= taken;
        // Segments are short: a plain loop beats a call.
        for x in &mut out[start..=end] {
            *x = value;
        }
        start = end + 1;
        (k, low_end, high_end) = (start, start, start);
        (low, high) = (v[k] + u - bounds[k], v[k] + u + bounds[k]);
        (u_low, u_high) = (bounds[k], -bounds[k]);
    }
}

/// Johnson's dynamic programme (2013, "A dynamic programming algorithm for the fused lasso and L0-segmentation"): the
/// derivative of the best objective up to j, as a function of x_j, is piecewise linear and increasing; going over an
/// edge cuts it to [-bound, bound]. Every cut drops the knots outside and adds two, so that the whole is O(p) for any
/// bounds. A bound of 0 forgets the past, as it must. Backwards, x_j is x_{j+1} cut to the interval in which the
/// derivative is not cut: entries that are tied are copies.
fn dynamic_programme(v: &[f64], bounds: &[f64], out: &mut [f64], scratch: &mut Scratch) {
    let p = v.len();
    let Scratch {
        knots,
        lower,
        upper,
        ..
    } = scratch;
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
    for (&v, &bound) in v.iter().zip(bounds) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn both_algorithms_agree(
            pairs in prop::collection::vec((-3.0..3.0f64, prop_oneof![0.0..3.0f64, Just(1.0), Just(0.0)]), 1..80),
        ) {
            let (v, mut bounds): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let p = v.len();
            bounds[p - 1] = 0.0;
            let (mut a, mut b) = (vec![0.0; p], vec![0.0; p]);
            dynamic_programme(&v, &bounds, &mut a, &mut Scratch::default());
            if taut_string(&v, &bounds, &mut b) {
                for j in 0..p {
                    prop_assert!((a[j] - b[j]).abs() < 1e-12, "{a:?} {b:?}");
                }
            }
        }
    }

    /// On a ramp the taut string starts over at nearly every entry: the dynamic programme takes over, and is optimal.
    #[test]
    fn the_worst_case_is_left_to_the_dynamic_programme() {
        let p = 4000;
        let v: Vec<f64> = (0..p).map(|j| j as f64 / p as f64).collect();
        let bounds: Vec<f64> = (0..p).map(|j| if j + 1 < p { 10.0 } else { 0.0 }).collect();
        let mut x = vec![0.0; p];
        assert!(!taut_string(&v, &bounds, &mut x));
        dynamic_programme(&v, &bounds, &mut x, &mut Scratch::default());
        let mut u = 0.0;
        for j in 0..p {
            u += v[j] - x[j];
            assert!(u.abs() <= bounds[j] + 1e-9);
            // x steps up only where u is at its lower bound, down only at its upper.
            if j + 1 < p && x[j] != x[j + 1] {
                assert!((u + bounds[j] * (x[j + 1] - x[j]).signum()).abs() < 1e-9);
            }
        }
    }
}

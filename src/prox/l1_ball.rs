use super::soft_threshold;

/// The level t >= 0 at which sum_j (|v_j| - t)_+ = radius, or 0 where |v|_1 <= radius already.
///
/// It is the multiplier of the projection onto {|x|_1 <= radius}: the projection is the soft threshold of v
/// at t (Duchi, Shalev-Shwartz, Singer & Chandra 2008, section 4; their figure 2 is the expected O(p) search
/// below). `radius` = 0 gives |v|_inf. `scratch` is overwritten: a caller that keeps it allocates only once.
///
/// ```
/// use dpsparse::prox::l1_ball_threshold;
/// assert_eq!(l1_ball_threshold(&[3.0, -1.0], 2.0, &mut Vec::new()), 1.0);
/// ```
pub fn l1_ball_threshold(v: &[f64], radius: f64, scratch: &mut Vec<f64>) -> f64 {
    if radius <= 0.0 {
        return v.iter().fold(0.0, |m, x| m.max(x.abs()));
    }
    scratch.clear();
    scratch.extend(v.iter().map(|x| x.abs()));
    if scratch.iter().sum::<f64>() <= radius {
        return 0.0;
    }
    // Entries known to be above the level: their sum and number. `rest` still has to be decided.
    let (mut sum, mut count) = (0.0, 0.0);
    let mut rest = scratch.as_mut_slice();
    while !rest.is_empty() {
        let pivot = rest[rest.len() / 2];
        let larger = partition(rest, |x| x > pivot);
        let from_pivot = larger + partition(&mut rest[larger..], |x| x == pivot);
        let grown_sum = sum + rest[..from_pivot].iter().sum::<f64>();
        let grown_count = count + from_pivot as f64;
        if grown_sum - grown_count * pivot < radius {
            (sum, count) = (grown_sum, grown_count);
            rest = &mut rest[from_pivot..];
        } else {
            rest = &mut rest[..larger];
        }
    }
    ((sum - radius) / count).max(0.0)
}

/// Moves the entries that satisfy `keep` to the front and returns their number.
fn partition(values: &mut [f64], keep: impl Fn(f64) -> bool) -> usize {
    let mut kept = 0;
    for i in 0..values.len() {
        if keep(values[i]) {
            values.swap(i, kept);
            kept += 1;
        }
    }
    kept
}

/// Euclidean projection of v onto {|x|_1 <= radius}, in place.
///
/// ```
/// let mut v = [3.0, -1.0];
/// dpsparse::prox::project_l1_ball(&mut v, 2.0);
/// assert_eq!(v, [2.0, 0.0]);
/// ```
pub fn project_l1_ball(v: &mut [f64], radius: f64) {
    let level = l1_ball_threshold(v, radius, &mut Vec::new());
    for x in v {
        *x = soft_threshold(*x, level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The level by sorting (Held, Wolfe & Crowder 1974): an independent algorithm.
    fn level_by_sorting(v: &[f64], radius: f64) -> f64 {
        let mut sizes: Vec<f64> = v.iter().map(|x| x.abs()).collect();
        sizes.sort_by(|a, b| b.total_cmp(a));
        let (mut sum, mut level) = (0.0, 0.0f64);
        for (k, &size) in sizes.iter().enumerate() {
            sum += size;
            let candidate = (sum - radius) / (k + 1) as f64;
            if candidate < size {
                level = candidate;
            }
        }
        level.max(0.0)
    }

    proptest! {
        #[test]
        fn agrees_with_sorting(
            v in prop::collection::vec(prop_oneof![-5.0..5.0f64, Just(1.0), Just(-1.0), Just(0.0)], 1..40),
            radius in 0.01..20.0f64,
        ) {
            let level = l1_ball_threshold(&v, radius, &mut Vec::new());
            prop_assert!((level - level_by_sorting(&v, radius)).abs() < 1e-12);
        }

        #[test]
        fn projection_is_optimal(
            v in prop::collection::vec(-5.0..5.0f64, 1..30),
            radius in 0.0..20.0f64,
        ) {
            let mut x = v.clone();
            project_l1_ball(&mut x, radius);
            let norm: f64 = x.iter().map(|x| x.abs()).sum();
            prop_assert!(norm <= radius * (1.0 + 1e-12) + 1e-12);
            // Variational inequality <v - x, u - x> <= 0 for every u of the ball; the worst u is a vertex.
            let residual: Vec<f64> = v.iter().zip(&x).map(|(v, x)| v - x).collect();
            let support = radius * residual.iter().fold(0.0f64, |m, r| m.max(r.abs()));
            let at_x: f64 = residual.iter().zip(&x).map(|(r, x)| r * x).sum();
            prop_assert!(support - at_x < 1e-10);
        }
    }
}

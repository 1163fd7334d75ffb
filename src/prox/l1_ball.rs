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
    let mut sum = sum(scratch);
    if sum <= radius {
        return 0.0;
    }
    // Newton's method from below (Michelot 1986): entries under a lower bound of the level are out. It takes few rounds
    // on most inputs; where it stops shrinking the rest fast, selection by pivots bounds the work.
    loop {
        let before = scratch.len();
        let level = (sum - radius) / before as f64;
        sum = keep_above(scratch, level);
        if scratch.len() == before || scratch.is_empty() {
            return level.max(0.0);
        }
        if before > SMALL && scratch.len() > before / 4 * 3 {
            return select(scratch, radius);
        }
    }
}

/// Up to this many entries Newton's method runs to its end: its rounds are cheap and straight.
const SMALL: usize = 64;

/// The sum, in eight interleaved parts, which the processor adds at once.
fn sum(values: &[f64]) -> f64 {
    let (chunks, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, x)| *sum += x);
    }
    sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
}

/// Drops the entries that are not above the level, without a branch; returns the sum of the rest.
fn keep_above(values: &mut Vec<f64>, level: f64) -> f64 {
    let mut kept = 0;
    for k in 0..values.len() {
        let x = values[k];
        values[kept] = x;
        kept += usize::from(x > level);
    }
    values.truncate(kept);
    sum(values)
}

/// The level among `rest`, by partitions around pivots.
fn select(mut rest: &mut [f64], radius: f64) -> f64 {
    // Entries known to be above the level: their sum and number. `rest` still has to be decided.
    let (mut sum, mut count) = (0.0, 0.0);
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

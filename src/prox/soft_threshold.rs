/// prox of `level`*|.| at v: argmin_x (x - v)^2/2 + level*|x| = sign(v) (|v| - level)_+ (Donoho & Johnstone
/// 1994).
///
/// ```
/// use dpsparse::prox::soft_threshold;
/// assert_eq!(soft_threshold(-3.0, 1.0), -2.0);
/// assert_eq!(soft_threshold(0.5, 1.0), 0.0);
/// ```
#[inline(always)]
pub fn soft_threshold(v: f64, level: f64) -> f64 {
    if v > level {
        v - level
    } else if v < -level {
        v + level
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_neighbour_is_better(v in -10.0..10.0f64, level in 0.0..5.0f64, shift in -1.0..1.0f64) {
            let objective = |x: f64| 0.5 * (x - v) * (x - v) + level * x.abs();
            let x = soft_threshold(v, level);
            // The objective is 1-strongly convex.
            prop_assert!(objective(x + shift) >= objective(x) + 0.5 * shift * shift - 1e-12);
        }
    }
}

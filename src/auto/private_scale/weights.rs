//! Weights of columns, from noisy sums of their sizes.

/// Least weight of a column: none is lost.
const LEAST_WEIGHT: f64 = 0.03;
/// Sums below so many standard deviations of the noise count as being there.
const FLOOR: f64 = 2.0;
/// Weights are only used where the largest sum is so many times the floor: otherwise the noise would choose them.
const LEAST_RATIO: f64 = 8.0;

/// One weight in (0, 1] a feature, less for features that are large in many records, as inverse document frequencies
/// have it (Sparck Jones 1972).
///
/// With s_j the noisy sum, floored at twice the noise, and M the largest: w_j = ln(M/s_j)/ln(M/floor), at least 0.03.
pub(super) fn weights_of(noisy: &[i64], sigma: f64) -> Vec<f64> {
    let floor = FLOOR * sigma;
    let largest = noisy.iter().map(|&s| s as f64).fold(floor, f64::max);
    if largest < LEAST_RATIO * floor {
        return vec![1.0; noisy.len()];
    }
    let weight = |&sum: &i64| (largest / (sum as f64).max(floor)).ln() / (largest / floor).ln();
    let weights = noisy.iter().map(weight);
    weights
        .map(|weight| weight.clamp(LEAST_WEIGHT, 1.0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_features_weigh_less() {
        let weights = weights_of(&[1_000_000, 100_000, 2_500], 1000.0);
        assert_eq!(weights[0], LEAST_WEIGHT);
        assert!(weights[0] < weights[1] && weights[1] < weights[2] && weights[2] <= 1.0);
        // Where the noise is larger than every sum all columns are alike.
        assert_eq!(weights_of(&[1_000_000, 100_000, 2_500], 1e6), [1.0; 3]);
    }
}

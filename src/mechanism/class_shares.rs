//! Scores of a constant, of released shares of classes.

use super::class_scores::ClassScores;

/// One score a class, or that of the second of two, of how far the share of each, or of the second, is below an even
/// one, with noise of a standard deviation on it: log odds, of shares that are drawn to even ones by their noise. No
/// share is taken for less than the noise on it.
pub(crate) fn scores_of_shares(mut below: Vec<f64>, noise: f64) -> Vec<f64> {
    without_noise(&mut below, noise);
    if let [below] = below[..] {
        let least = noise.min(0.5);
        let share = (0.5 - below).clamp(least, 1.0 - least);
        return vec![(share / (1.0 - share)).ln()];
    }
    let outputs = below.len();
    let even = 1.0 / outputs as f64;
    let least = noise.min(0.5 * even);
    let mut scores: Vec<f64> = below.iter().map(|g| (even - g).max(least).ln()).collect();
    ClassScores(outputs).project(&mut scores);
    scores
}

/// What is expected of a number, or of one a class, beside noise of a standard deviation: less, and nothing where they
/// may be all noise (James & Stein 1961).
pub(super) fn without_noise(numbers: &mut [f64], noise: f64) {
    let scores = ClassScores(numbers.len());
    scores.project(numbers);
    let squares: f64 = numbers.iter().map(|number| number * number).sum();
    let expected = numbers.len() as f64 * (noise * scores.noise()).powi(2);
    let kept = match squares > expected {
        true => 1.0 - expected / squares,
        false => 0.0,
    };
    numbers.iter_mut().for_each(|number| *number *= kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned<const K: usize>(mut numbers: [f64; K], noise: f64) -> [f64; K] {
        without_noise(&mut numbers, noise);
        numbers
    }

    /// What may be all noise is nothing, far beyond it numbers are themselves, and between they are less.
    #[test]
    fn noise_is_nothing() {
        for number in [0.9, -0.9, 0.0] {
            assert_eq!(cleaned([number], 1.0), [0.0]);
        }
        assert!((cleaned([-100.0], 1.0)[0] + 100.0).abs() < 0.011);
        assert!((cleaned([2.0], 1.0)[0] - 1.5).abs() < 1e-15);
        assert_eq!(cleaned([0.3], 0.0), [0.3]);
    }

    /// Classes are as far from even shares together as noise lets them be: a small one goes with the others, where each
    /// by itself would be even. What all have in common is nothing.
    #[test]
    fn classes_are_cleaned_together() {
        let [a, b, c] = cleaned([2.9, -0.1, -1.3], 1.0);
        // 2.4, -.6 and -1.8 are left without the mean, of 9.36 squared; noise has 2 of it.
        let kept = 1.0 - 2.0 / 9.36;
        for (found, expected) in [(a, 2.4), (b, -0.6), (c, -1.8)] {
            assert!((found / (expected * kept) - 1.0).abs() < 1e-12, "{found}");
        }
        assert_eq!(cleaned([0.5, -0.4, 0.2], 1.0), [0.0; 3]);
    }
}

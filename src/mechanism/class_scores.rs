//! What K scores a record change in the public rules of noisy steps ([`crate::theory_of_privacy::softmax_model`]).
//!
//! Coefficients of a softmax model are free but for what all classes have in common, which no score sees: K - 1
//! directions a feature. At equal probabilities the second derivative is (I - 11'/K)/K, and slopes of one class have
//! the variance (1 - 1/K)/K. Two classes have the scalar model's law at every step: with scores +-z/2 and noise
//! projected onto the directions that are seen, each class moves half as far as z, in opposite directions.

use crate::plan::defaults::AUTO_CLIP;
use crate::theory::Landscape;

/// K, as the rules need it. One score is a scalar loss: every factor is 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClassScores(pub usize);

/// The curvature that steps count on is no less than this, whatever K: the true one, at most 1/2, is then no more than
/// four times as large, which steps with momentum 0.5 bear six times.
const LEAST_CURVATURE: f64 = 0.125;

impl ClassScores {
    fn k(self) -> f64 {
        self.0 as f64
    }

    /// The curvature of K scores at equal probabilities; None for one score.
    pub fn curvature(self) -> Option<f64> {
        (self.0 > 1).then(|| (1.0 / self.k()).max(LEAST_CURVATURE))
    }

    /// The length of a record's slopes at equal probabilities, sqrt(1 - 1/K), in units of that of two classes.
    pub fn slope(self) -> f64 {
        match self.0 {
            1 => 1.0,
            _ => (2.0 * (1.0 - 1.0 / self.k())).sqrt(),
        }
    }

    /// The clamp of slopes that leaves them as they are at equal probabilities, in units of sqrt(2), which bounds them.
    pub fn least_clip(self) -> f64 {
        match self.0 {
            1 => AUTO_CLIP,
            _ => (0.5 - 0.5 / self.k()).sqrt(),
        }
    }

    /// Standard deviation of the noise on one class after the projection, in units of that on an entry of the release:
    /// slopes add up to 0, and so may noise.
    pub fn noise(self) -> f64 {
        match self.0 {
            1 => 1.0,
            _ => (1.0 - 1.0 / self.k()).sqrt(),
        }
    }

    /// One over the standard deviation of the scores of a class, in units of that of their differences.
    fn inverse_signal(self) -> f64 {
        match self.0 {
            1 => 1.0,
            _ => (2.0 / (1.0 - 1.0 / self.k())).sqrt(),
        }
    }

    /// What lambda = N R/sqrt(V) is multiplied by: V is the variance of the scores of one class.
    pub fn shrinkage(self) -> f64 {
        self.inverse_signal()
    }

    /// The same of lambda = N^2 p/(beta V) beside it: beta is the curvature of one class.
    pub fn shrinkage_of_few(self) -> f64 {
        match self.0 {
            1 => 1.0,
            // beta in units of 1/4.
            _ => 0.25 * self.k() * self.inverse_signal(),
        }
    }

    /// The same of lambda = s^2 R^2/(n beta V), s^2 the variance of the slopes of a class: whatever K > 1.
    pub fn shrinkage_of_sampling(self) -> f64 {
        match self.0 {
            1 => 1.0,
            _ => 2.0,
        }
    }

    /// The landscape of all scores together, from that of a rule for one with the smoothness of K: (K - 1) directions a
    /// column, the trace of (I - 11'/K)/K for that of two classes, and scores of each class less spread than their
    /// differences.
    pub fn landscape(self, one: Landscape) -> Landscape {
        if self.0 == 1 {
            return one;
        }
        let others = self.k() - 1.0;
        Landscape {
            columns: others * one.columns,
            trace: 2.0 * others / self.k() * one.trace,
            distance: (0.5 * others).sqrt() * one.distance,
            ..one
        }
    }

    /// Takes from gradients, or coefficients, what all classes have in common: post-processing.
    pub fn project(self, gradient: &mut [f64]) {
        if self.0 == 1 {
            return;
        }
        let columns = gradient.len() / self.0;
        for j in 0..columns {
            let of_classes = (0..self.0).map(|k| gradient[k * columns + j]);
            let mean = of_classes.sum::<f64>() / self.k();
            for k in 0..self.0 {
                gradient[k * columns + j] -= mean;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_classes_take_half_steps_of_the_scalar_model() {
        let two = ClassScores(2);
        // Curvature 1/2 in place of 1/4, and lambda twice as large, in every regime.
        assert_eq!(two.curvature(), Some(0.5));
        assert_eq!((two.slope(), two.shrinkage_of_sampling()), (1.0, 2.0));
        // The noise of one class: sqrt(2) for the sensitivity, projected.
        assert!((2f64.sqrt() * two.noise() - 1.0).abs() < 1e-15);
        assert!((two.shrinkage() - 2.0).abs() < 1e-15);
        assert!((two.shrinkage_of_few() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn projected_gradients_add_up_to_nothing() {
        let mut gradient = vec![1.0, 2.0, 3.0, -1.0, 4.0, 0.5];
        ClassScores(3).project(&mut gradient);
        for j in 0..2 {
            let sum: f64 = (0..3).map(|k| gradient[2 * k + j]).sum();
            assert!(sum.abs() < 1e-15);
        }
        assert!((gradient[0] - gradient[2] + 2.0).abs() < 1e-15);
    }
}

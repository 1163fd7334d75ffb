//! How much of what noisy steps of a softmax model find is noise, and less of it, or more of what they did not reach:
//! post-processing.

use nalgebra::{DVector, Dyn, SymmetricEigen};

use super::class_scores::ClassScores;
use super::damping::Damping;
use crate::plan::defaults::{CLASS_CURVATURE, CLASS_SLOPE};

/// The steps as they act on noise.
#[derive(Debug, Clone, Copy)]
pub(super) struct Propagation {
    /// T.
    pub n_iter: usize,
    /// The mean of the iterates from this one on is released.
    pub first_of_mean: usize,
    pub momentum: f64,
    /// How many times as long they are as the curvature that they count on lets them be.
    pub stride: f64,
    /// What is added to the curvature in the matrix that steps are divided by.
    pub damping: Damping,
    pub ridge: f64,
    /// Curvature of the mean loss per unit of the sums of squares.
    pub scale: f64,
    /// Standard deviation of the noise on an entry of the mean gradient, before the projection.
    pub noise: f64,
}

impl Propagation {
    /// Variance of the mean of the iterates along an eigenvector of the sums of squares, per variance of the noise on a
    /// gradient, were the first steps as long as the others, if the curvature is [`CLASS_CURVATURE`] times what steps
    /// count on.
    ///
    /// Noise of step s moves the iterate after t by r_{t - s}, r_0 = -(1 - m)/(h + lambda + ridge) and then as the
    /// steps go on; the mean by the mean of those that it is over.
    fn variance(&self, value: f64) -> f64 {
        let expected = (self.scale * value).max(0.0);
        let curvature = CLASS_CURVATURE * expected + self.ridge;
        let divisor = expected + self.ridge + self.damping.of(expected);
        let length = (1.0 - self.momentum) * self.stride / divisor;
        let (mut before, mut now) = (0.0, -length);
        // sums[k]: of the first k + 1 responses.
        let mut sums = Vec::with_capacity(self.n_iter);
        let mut sum = 0.0;
        for _ in 0..self.n_iter {
            sum += now;
            sums.push(sum);
            let next = now + self.momentum * (now - before) - length * curvature * now;
            (before, now) = (now, next);
        }
        let first = self.first_of_mean;
        let kept = (self.n_iter - first) as f64;
        let weight = |step: usize| {
            let all = sums[self.n_iter - 1 - step];
            let early = match first.checked_sub(step + 1) {
                Some(last) => sums[last],
                None => 0.0,
            };
            (all - early) / kept
        };
        (0..self.n_iter).map(|step| weight(step).powi(2)).sum()
    }
}

/// The differences that features make between scores, by released second moments. The mean score of every class is no
/// part of them, so that the model of a constant is what is left without any.
///
/// Coefficients are a row a class, the intercept last where there is one.
pub(super) struct Differences<'a> {
    moments: &'a SymmetricEigen<f64, Dyn>,
    values: DVector<f64>,
    /// M times the unit vector of the intercept: sums of the features, in units of its value.
    sums: Option<DVector<f64>>,
}

impl<'a> Differences<'a> {
    pub fn new(moments: &'a SymmetricEigen<f64, Dyn>, intercept: bool) -> Self {
        let columns = moments.eigenvalues.len();
        let values = moments.eigenvalues.map(|value| value.max(0.0));
        let sums = intercept.then(|| {
            let last = moments.eigenvectors.row(columns - 1).transpose();
            &moments.eigenvectors * last.component_mul(&values)
        });
        Self {
            moments,
            values,
            sums,
        }
    }

    /// The moment of the intercept; 0 without one.
    fn whole(&self) -> f64 {
        self.sums.as_ref().map_or(0.0, |sums| sums[sums.len() - 1])
    }

    /// A sum of squared scores less that of their mean, whose sum of products with the intercept is `along`.
    fn centred(&self, square: f64, along: f64) -> f64 {
        match self.whole() > 0.0 {
            true => (square - along * along / self.whole()).max(0.0),
            false => square,
        }
    }

    /// The part of their squares that is more than the noise of `steps`: 1 - E/Q (James & Stein 1961), and no less than
    /// nothing; Q is the sum over the classes, and E what noise adds to it on average.
    pub fn signal(&self, theta: &[f64], steps: &Propagation, scores: ClassScores) -> f64 {
        let columns = self.values.len();
        let noise: f64 = (0..columns)
            .map(|j| {
                let value = self.values[j];
                let along = match &self.sums {
                    Some(_) => value * self.moments.eigenvectors[(columns - 1, j)],
                    None => 0.0,
                };
                steps.variance(value) * self.centred(value, along)
            })
            .sum();
        let expected = noise * (steps.noise * scores.noise()).powi(2) * scores.0 as f64;
        let found: f64 = (theta.chunks(columns))
            .map(|theta| {
                let theta = DVector::from_column_slice(theta);
                let along = self.sums.as_ref().map_or(0.0, |sums| sums.dot(&theta));
                let parts = self.moments.eigenvectors.tr_mul(&theta);
                self.centred(parts.component_mul(&parts).dot(&self.values), along)
            })
            .sum();
        (1.0 - expected / found.max(f64::MIN_POSITIVE)).max(0.0)
    }

    /// Multiplies them by `factor`.
    pub fn stretch(&self, theta: &mut [f64], factor: f64) {
        let columns = self.values.len();
        let features = columns - usize::from(self.sums.is_some());
        let whole = self.whole();
        for theta in theta.chunks_mut(columns) {
            let mut moved = 0.0;
            for (j, theta) in theta[..features].iter_mut().enumerate() {
                moved += (1.0 - factor) * *theta * self.sums.as_ref().map_or(0.0, |sums| sums[j]);
                *theta *= factor;
            }
            if let (Some(last), true) = (theta.get_mut(features), whole > 0.0) {
                *last += moved / whole;
            }
        }
    }
}

/// Multiplies the coefficients of a fit that was clamped at `clip` by the slope that scores have without noise, which
/// leaves every prediction as it is and makes probabilities those of the model: scores of clamped fits are too large.
pub(super) fn without_clamp(theta: &mut [f64], clip: f64, scores: ClassScores) {
    let slope = slope_of_clamped(clip, scores);
    theta.iter_mut().for_each(|theta| *theta *= slope);
}

/// That slope.
pub(super) fn slope_of_clamped(clip: f64, scores: ClassScores) -> f64 {
    1.0 - CLASS_SLOPE * (1.0 - clip).max(0.0) / (1.0 - scores.least_clip()) / scores.0 as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DMatrix;

    fn steps(n_iter: usize, stride: f64) -> Propagation {
        Propagation {
            n_iter,
            first_of_mean: n_iter / 4,
            momentum: 0.5,
            stride,
            damping: Damping {
                least: 0.3,
                n_iter: n_iter as f64,
                noise: 0.7,
                usual: f64::INFINITY,
                hidden: 0.0,
            },
            ridge: 0.1,
            scale: 0.02,
            noise: 0.7,
        }
    }

    /// The variance is that of the steps, impulse by impulse.
    #[test]
    fn noise_goes_through_the_steps() {
        noise_goes_through(steps(9, 1.0));
        noise_goes_through(steps(9, 2.5));
    }

    fn noise_goes_through(steps: Propagation) {
        let value = 35.0;
        let expected = steps.scale * value;
        let curvature = CLASS_CURVATURE * expected + steps.ridge;
        let mean = |noise: &[f64]| {
            let (mut before, mut now, mut sum) = (0.0, 0.0, 0.0);
            for (t, noise) in noise.iter().enumerate() {
                let gradient = curvature * now + noise;
                let step = (1.0 - steps.momentum) * gradient;
                let step =
                    step * steps.stride / (expected + steps.ridge + steps.damping.of(expected));
                (before, now) = (now, now + steps.momentum * (now - before) - step);
                sum += if t >= steps.first_of_mean { now } else { 0.0 };
            }
            sum / 7.0
        };
        let square = |s: usize| {
            let mut noise = [0.0; 9];
            noise[s] = 1.0;
            mean(&noise).powi(2)
        };
        let expected: f64 = (0..9).map(square).sum();
        assert!((steps.variance(value) / expected - 1.0).abs() < 1e-12);
    }

    /// Mean scores stay, and what is as small as its noise goes.
    #[test]
    fn what_is_noise_goes_and_means_stay() {
        // Two features and an intercept of value 1, over three records.
        let records =
            DMatrix::from_row_slice(3, 3, &[1.0, 0.2, 1.0, -0.4, 0.9, 1.0, 0.5, 0.1, 1.0]);
        let moments = SymmetricEigen::new(records.transpose() * &records);
        for (size, noise) in [(1e-3, 0.7), (50.0, 1e-3), (1.0, 0.05)] {
            let theta = [0.4, -1.0, 2.0, 0.3, 0.5, -1.0, -0.7, 0.5, -1.0].map(|t| t * size);
            let mut shrunk = theta;
            let steps = Propagation {
                noise,
                ..steps(20, 1.0)
            };
            let differences = Differences::new(&moments, true);
            let factor = differences.signal(&theta, &steps, ClassScores(3));
            differences.stretch(&mut shrunk, factor);
            assert!((0.0..=1.0).contains(&factor));
            match size {
                1e-3 => assert_eq!(factor, 0.0),
                50.0 => assert!(factor > 0.999),
                _ => assert!(factor > 0.0 && factor < 1.0, "{factor}"),
            }
            for (before, after) in theta.chunks(3).zip(shrunk.chunks(3)) {
                let scores = |theta: &[f64]| &records * DVector::from_column_slice(theta);
                let (before, after) = (scores(before), scores(after));
                assert!((before.mean() - after.mean()).abs() < 1e-9 * size.max(1.0));
                let left = (
                    after.add_scalar(-after.mean()),
                    before.add_scalar(-before.mean()),
                );
                assert!((left.0 - left.1 * factor).amax() < 1e-9 * size.max(1.0));
            }
        }
    }
}

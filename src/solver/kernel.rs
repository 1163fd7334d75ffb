//! Directions in which a seminorm is 0: there the dual point must be orthogonal to X, as with an intercept.

use super::{Design, Problem, cholesky};
use crate::error::Result;
use crate::norm::Norm;
use crate::prox::Scratch;

/// Sum of slopes that counts as rounding, of the sum of all their sizes.
const BALANCED: f64 = 1e-11;
/// Most times that slopes are balanced.
const MOST_BALANCES: usize = 8;

/// Disjoint sets of features whose indicators span the kernel of Omega.
///
/// Omega = f of a set function is 0 exactly where theta is constant on each of a few sets and, for a norm, 0 outside
/// them: the prox with a large step, the projection onto the kernel, shows the sets as its ties.
#[derive(Debug, Default)]
pub(crate) struct Kernel {
    sets: Vec<Vec<usize>>,
    /// X 1_S for every set, one after another, and the intercept's column of ones where there is one.
    images: Vec<f64>,
    gram: Vec<f64>,
    shift: Vec<f64>,
}

impl Kernel {
    /// Empty for a norm.
    pub fn find(norm: &dyn Norm, scratch: &mut Scratch) -> Result<Self> {
        let p = norm.n_features();
        // Distinct entries in (1, 2) without a pattern (the golden ratio's multiples): means of sets differ too.
        let v: Vec<f64> = (1..=p)
            .map(|j| 1.0 + (j as f64 * 0.618_033_988_749_894_9).fract())
            .collect();
        let mut kernel = Self::default();
        if norm.dual(&v)?.is_finite() {
            return Ok(kernel);
        }
        let mut image = vec![0.0; p];
        // In units of the norm's own, whose weights may be of any size.
        let unit = norm.value(&v)?;
        let mut step = if unit > 0.0 { 1.0 / unit } else { 1.0 };
        for _ in 0..60 {
            norm.prox(&v, step, &mut image, scratch)?;
            if norm.value(&image)? <= 1e-12 * unit {
                break;
            }
            step *= 4.0;
        }
        // A larger step still: ties that were about to close are exact.
        norm.prox(&v, 1024.0 * step, &mut image, scratch)?;
        let mut order: Vec<usize> = (0..p).filter(|&j| image[j] != 0.0).collect();
        order.sort_unstable_by(|&i, &j| image[i].total_cmp(&image[j]).then(i.cmp(&j)));
        kernel.sets = order
            .chunk_by(|&i, &j| (image[j] - image[i]).abs() <= 1e-9)
            .map(<[usize]>::to_vec)
            .collect();
        Ok(kernel)
    }

    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Whether dual points need [`Kernel::balance`]: with a ridge they do not.
    pub fn balances(&self) -> bool {
        !self.images.is_empty()
    }

    /// Removes the mean over each set, which is rounding where `s` is a balanced dual point.
    pub fn project_out(&self, s: &mut [f64]) {
        for set in &self.sets {
            let mean = set.iter().map(|&j| s[j]).sum::<f64>() / set.len() as f64;
            set.iter().for_each(|&j| s[j] -= mean);
        }
    }

    /// Prepares [`Kernel::balance`].
    pub fn prepare<D: Design + ?Sized>(&mut self, problem: &Problem<'_, D>) {
        let (n, p) = (problem.design().n_rows(), problem.design().n_columns());
        if self.is_empty() {
            return;
        }
        let mut indicator = vec![0.0; p];
        let mut image = vec![0.0; n];
        for set in &self.sets {
            set.iter().for_each(|&j| indicator[j] = 1.0);
            problem.design().multiply(&indicator, &mut image);
            self.images.extend_from_slice(&image);
            set.iter().for_each(|&j| indicator[j] = 0.0);
        }
        if problem.fit_intercept() {
            self.images.resize(self.images.len() + n, 1.0);
        }
    }

    /// Moves the slopes a by h (X 1_S) c, with the c that makes X'(w a) orthogonal to every set, and sum w a = 0 where
    /// there is an intercept. Where a record's slope has reached the end of its domain its curvature h is 0 and nothing
    /// moves. Slopes that cannot be balanced become 0, which is a dual point too.
    pub fn balance<D: Design + ?Sized>(
        &mut self,
        problem: &Problem<'_, D>,
        z: &[f64],
        slopes: &mut [f64],
    ) {
        // What is left costs a bound as much as the coefficients are large that it stands beside: none of it is worth
        // leaving that another time removes, which is most of what rounding and the factorisation's jitter left.
        let mut last = f64::INFINITY;
        for _ in 0..MOST_BALANCES {
            self.balance_once(problem, z, slopes);
            let left = self.imbalance(problem.weights(), slopes);
            // NaN ends it too.
            if left.is_nan() || left >= 0.5 * last {
                break;
            }
            last = left;
        }
        if !self.is_balanced(problem.weights(), slopes) {
            slopes.fill(0.0);
        }
    }

    fn balance_once<D: Design + ?Sized>(
        &mut self,
        problem: &Problem<'_, D>,
        z: &[f64],
        slopes: &mut [f64],
    ) {
        let n = slopes.len();
        let size = self.images.len() / n;
        self.gram.clear();
        self.gram.resize(size * size, 0.0);
        self.shift.clear();
        self.shift.resize(size, 0.0);
        for (i, (&z, &y)) in z.iter().zip(problem.targets()).enumerate() {
            let w = problem.weights()[i];
            let h = w * problem.loss().curvature(z, y);
            for a in 0..size {
                let x = self.images[a * n + i];
                self.shift[a] -= w * slopes[i] * x;
                for b in 0..=a {
                    self.gram[a * size + b] += h * x * self.images[b * n + i];
                }
            }
        }
        if !cholesky::solve(&mut self.gram, &mut self.shift) {
            return;
        }
        for (i, slope) in slopes.iter_mut().enumerate() {
            let h = problem.loss().curvature(z[i], problem.targets()[i]);
            let moved: f64 = (self.shift.iter().enumerate())
                .map(|(a, c)| c * self.images[a * n + i])
                .sum();
            *slope += h * moved;
        }
    }

    /// Whether every set and the intercept, where there is one, are orthogonal to the dual point up to rounding.
    pub fn is_balanced(&self, weights: &[f64], slopes: &[f64]) -> bool {
        self.imbalance(weights, slopes) <= BALANCED
    }

    /// The largest product of the dual point with a set or the intercept, of the sum of the sizes of all slopes times
    /// the largest entry; NaN where one of them is. A set that few records have, which may be fitted exactly, has
    /// slopes that are rounding of what all others are of.
    fn imbalance(&self, weights: &[f64], slopes: &[f64]) -> f64 {
        let all: f64 = (weights.iter().zip(slopes))
            .map(|(w, a)| (w * a).abs())
            .sum();
        let parts = self.images.chunks_exact(slopes.len()).map(|image| {
            let (mut sum, mut largest) = (0.0f64, 0.0f64);
            for ((x, w), a) in image.iter().zip(weights).zip(slopes) {
                sum += w * a * x;
                largest = largest.max(x.abs());
            }
            let size = all * largest;
            if size == 0.0 { 0.0 } else { sum.abs() / size }
        });
        parts.fold(0.0, |most, part| {
            if part > most || part.is_nan() {
                part
            } else {
                most
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_norms::{Blocks, Difference};
    use super::*;

    #[test]
    fn the_kernel_is_found_by_its_ties() {
        let mut scratch = Scratch::default();
        let mut kernel = Kernel::find(&Difference, &mut scratch).unwrap();
        kernel.sets.sort();
        assert_eq!(kernel.sets, [vec![0, 1], vec![2]]);
        let l1 = Blocks {
            n_features: 3,
            lambda: vec![1.0],
        };
        assert!(Kernel::find(&l1, &mut scratch).unwrap().is_empty());
    }
}

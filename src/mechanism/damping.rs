//! What noisy Newton steps add to the curvature that they divide gradients by
//! ([`crate::theory_of_privacy::noisy_gradients`]).

/// T times the ridge that T steps act as, by the curvature of a direction.
///
/// Along most directions it is lambda. Where hardly any record moves a score, a coefficient of T noisy gradients is
/// noise, and noise of any size hides in it: there the ridge keeps it to what coefficients usually are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Damping {
    /// lambda.
    pub least: f64,
    /// T, in steps of stride 1.
    pub n_iter: f64,
    /// N, the standard deviation of the noise on an entry of the mean of T gradients.
    pub noise: f64,
    /// Standard deviation of coefficients, before anything is known of them; infinite: nothing is expected.
    pub usual: f64,
    /// Largest curvature that is but noise of the moments.
    pub hidden: f64,
}

impl Damping {
    /// In a direction whose curvature, as it was released, is h.
    ///
    /// The mean of gradients at 0 is h times the coefficient and the noise N. What is expected of a coefficient of
    /// standard deviation s is h/(h^2 + k^2) of that mean, k = N/s: the ridge k^2/h. It is k at most, k^2/(h + k), so
    /// that what noise leaves is no more than s; and h is what is more than noise of it.
    pub fn of(&self, curvature: f64) -> f64 {
        let k = self.noise / self.usual;
        let sure = (curvature - self.hidden).max(0.0);
        match k > 0.0 {
            true => self.least.max(self.n_iter * k * k / (sure + k)),
            false => self.least,
        }
    }

    /// The ridge that all steps together act as.
    pub fn ridge(&self, curvature: f64) -> f64 {
        self.of(curvature) / self.n_iter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steep directions have lambda, flat ones a ridge that leaves noise of the usual size, and noise of the moments is
    /// no curvature.
    #[test]
    fn flat_directions_have_the_larger_ridge() {
        let damping = Damping {
            least: 0.02,
            n_iter: 50.0,
            noise: 0.01,
            usual: 2.0,
            hidden: 0.1,
        };
        for flat in [0.0, 0.05, 0.1] {
            assert!((damping.ridge(flat) - 0.01 / 2.0).abs() < 1e-15);
        }
        assert_eq!(damping.of(10.0), 0.02);
        // Between them as the posterior mean has it, for a curvature far beyond k = .005.
        let h: f64 = 0.06;
        let expected = 0.005f64.powi(2) / h;
        let ridge = Damping {
            least: 0.0,
            ..damping
        }
        .ridge(h + 0.1);
        assert!((ridge / expected - 1.0).abs() < 0.1, "{ridge} {expected}");
        let unknown = Damping {
            usual: f64::INFINITY,
            ..damping
        };
        assert_eq!(unknown.of(0.0), 0.02);
        let exact = Damping {
            noise: 0.0,
            ..damping
        };
        assert_eq!(exact.of(0.0), 0.02);
    }
}

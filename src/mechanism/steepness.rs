//! Steps that turn out to be too long ([`crate::theory_of_privacy::noisy_gradients`]).

use super::evidence::Secant;

/// Steps with momentum converge where the curvature is up to 6 times what they are divided by; noise alone looks like 2 times.
const STEEP: f64 = 4.0;
/// So many times it is once they are shortened.
const CALM: f64 = 3.0;

/// What released gradients say of the curvature, beside what steps are divided by.
///
/// Moments are those of rows that count less where they are long, w x, and gradients have w r x: along a direction of long rows the
/// curvature is 1/w times as large. That of counts grows with their rates. Steps that are too long for it grow from one to the
/// next, until two gradients show it beyond any noise.
#[derive(Debug)]
pub(super) struct Steepness {
    /// How long steps are, in units of those that were planned.
    length: f64,
}

impl Steepness {
    /// Of steps that are as long as they were planned.
    pub fn new() -> Self {
        Self { length: 1.0 }
    }

    /// How long steps are, in units of those that were planned.
    pub fn length(&self) -> f64 {
        self.length
    }

    /// Looks at the last move, its square by the matrix that steps are divided by, and how the gradient changed; whether steps are
    /// shorter from here on.
    pub fn shortens(&mut self, secant: &Secant, square: f64) -> bool {
        let ratio = secant.steepness(square);
        let steep = ratio * self.length > STEEP;
        if steep {
            self.length = CALM / ratio;
        }
        steep
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::DVector;

    use super::*;

    /// A curvature of six times the divisor shortens steps to half of it, once; noise that may be all that there is does not, nor
    /// a curvature that steps converge for, nor a start that does not move.
    #[test]
    fn steep_curvatures_shorten_steps() {
        let moved = DVector::from_vec(vec![0.3, -1.0, 0.2, 0.1]);
        let divisor = DVector::from_vec(vec![2.0, 1.0, 2.0, 1.0]);
        let change = moved.component_mul(&divisor);
        let square = moved.dot(&change);
        let of = |times: f64, noise: f64| {
            let mut steepness = Steepness::new();
            let secant = Secant::new(moved.clone(), times * &change, noise);
            let mut look = || steepness.shortens(&secant, square);
            let shortened = look();
            assert!(!look());
            (shortened, steepness.length())
        };
        assert_eq!(of(3.9, 0.0), (false, 1.0));
        let (shortened, length) = of(6.0, 0.0);
        assert!(shortened && (length - 0.5).abs() < 1e-12);
        assert!(of(6.0, 1e-3).0);
        assert_eq!(of(6.0, 1.0), (false, 1.0));
        let still = 0.0 * &moved;
        let nothing = Secant::new(still.clone(), still, 0.0);
        assert!(!Steepness::new().shortens(&nothing, 0.0));
    }
}

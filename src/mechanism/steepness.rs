//! Steps that turn out to be too long ([`crate::theory_of_privacy::noisy_gradients`]).

use super::evidence::Secant;

/// Steps are too long where the curvature is more than this of the largest that they converge for. Noise alone looks
/// like at most a half of that: a step goes along the noise on the gradient before it, and so the change of gradients
/// does.
const STEEP: f64 = 2.0 / 3.0;
/// So much of it is left once they are shortened.
const CALM: f64 = 0.5;

/// What released gradients say of the curvature, beside what steps are divided by.
///
/// Moments are those of rows that count less where they are long, w x, and gradients have w r x: along a direction of
/// long rows the curvature is 1/w times as large. That of counts grows with their rates. Steps that are too long for it
/// grow from one to the next, until two gradients show it beyond any noise.
#[derive(Debug)]
pub(super) struct Steepness {
    /// The largest curvature that steps converge for, beside what they are divided by.
    stable: f64,
    /// How long steps are, in units of those that were planned.
    length: f64,
}

impl Steepness {
    /// Of steps that are as long as they were planned, and converge where the curvature is less than `stable` times
    /// what they are divided by.
    pub fn new(stable: f64) -> Self {
        Self {
            stable,
            length: 1.0,
        }
    }

    /// How long steps are, in units of those that were planned.
    pub fn length(&self) -> f64 {
        self.length
    }

    /// Looks at the last move, its square by the matrix that steps are divided by, and how the gradient changed;
    /// whether steps are shorter from here on.
    pub fn shortens(&mut self, secant: &Secant, square: f64) -> bool {
        let ratio = secant.steepness(square);
        let steep = ratio * self.length > STEEP * self.stable;
        if steep {
            self.length = CALM * self.stable / ratio;
        }
        steep
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::DVector;

    use super::*;

    /// A curvature of six times the divisor shortens steps to half of it, once; noise that may be all that there is
    /// does not, nor a curvature that steps converge for, nor a start that does not move.
    #[test]
    fn steep_curvatures_shorten_steps() {
        let moved = DVector::from_vec(vec![0.3, -1.0, 0.2, 0.1]);
        let divisor = DVector::from_vec(vec![2.0, 1.0, 2.0, 1.0]);
        let change = moved.component_mul(&divisor);
        let square = moved.dot(&change);
        let of = |times: f64, noise: f64| {
            let mut steepness = Steepness::new(6.0);
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
        assert!(!Steepness::new(6.0).shortens(&nothing, 0.0));
    }

    /// Where there is no curvature at all, steps along noise show none, with any momentum: those with .9 were taken for
    /// too long.
    #[test]
    fn noise_shortens_no_steps() {
        let columns = 2000;
        // Xorshift (Marsaglia 2003).
        let mut state = 88172645463325252u64;
        let mut sign = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            f64::from((state >> 63) as u8) * 2.0 - 1.0
        };
        for momentum in [0.0, 0.5, 0.9, 0.97] {
            let stable = 2.0 * (1.0 + momentum) / (1.0 - momentum);
            let mut steepness = Steepness::new(stable);
            let (mut before, mut now) = (DVector::zeros(columns), DVector::zeros(columns));
            let mut last: Option<DVector<f64>> = None;
            for _ in 0..50 {
                let gradient = DVector::from_iterator(columns, (0..columns).map(|_| sign()));
                let moved = &now - &before;
                if let Some(last) = &last {
                    let square = moved.norm_squared();
                    let secant = Secant::new(moved.clone(), &gradient - last, 1.0);
                    assert!(!steepness.shortens(&secant, square), "{momentum}");
                }
                before.copy_from(&now);
                now += momentum * &moved - (1.0 - momentum) * &gradient;
                last = Some(gradient);
            }
        }
    }
}

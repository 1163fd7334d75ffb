//! The discrete Gaussian law, P(k) proportional to exp(-k^2/(2 sigma^2)), exactly.

use super::integer_law::IntegerLaw;
use super::rate::Scale;
use super::source::Source;
use super::strips::{Density, Exponent, Strips, Support};
use crate::error::Result;

/// A sampler for one sigma (the law of Canonne, Kamath & Steinke 2020; sigma is its parameter, not its deviation).
///
/// An integer vector of L2 sensitivity D plus such noise is D^2/(2 sigma^2)-zCDP, but does **not** follow the curve of
/// the continuous Gaussian ([`crate::theory_of_privacy::noise_and_accounting`]). The magnitude is drawn from `strips`,
/// 255 of them up to 8 to 16 sigma (all of the integers below 255 for small sigmas). Zero has one sign only: the other
/// is redrawn.
///
/// ```
/// use dpsparse::exact::noise::{discrete_gaussian::DiscreteGaussian, integer_law::IntegerLaw, source::Source};
/// let law = DiscreteGaussian::new(2.5)?;
/// assert!(law.draw(&mut Source::secure()?).abs() < 100);
/// # Ok::<(), dpsparse::Error>(())
/// ```
pub struct DiscreteGaussian {
    strips: Strips,
}

impl DiscreteGaussian {
    /// # Errors
    /// `sigma` outside [2^-10, 2^40].
    pub fn new(sigma: f64) -> Result<Self> {
        let sigma = Scale::new("sigma", sigma)?;
        let (rate, exponent) = (sigma.half_inverse_square(), Exponent::Square);
        let density = Density { rate, exponent };
        Ok(Self {
            strips: Strips::new(density, Support::Integers, sigma.log_width(), 256),
        })
    }
}

impl IntegerLaw for DiscreteGaussian {
    #[inline]
    fn draw_wide(&self, source: &mut Source) -> i128 {
        self.strips.draw_signed(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_stable() {
        let values = |sigma| {
            let (law, mut source) = (DiscreteGaussian::new(sigma).unwrap(), Source::seeded(42));
            [0; 6].map(|_| law.draw(&mut source))
        };
        assert_eq!(values(1.0), [0, 0, 1, 0, 2, 1]);
        assert_eq!(
            values(1e12),
            [
                -357691707341,
                864745850694,
                1386253888551,
                977449125999,
                -562605805123,
                952459646015
            ]
        );
    }
}

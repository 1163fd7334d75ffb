//! The discrete Laplace law, P(k) proportional to exp(-|k|/scale), exactly.

use super::integer_law::IntegerLaw;
use super::rate::Scale;
use super::source::Source;
use super::strips::{Density, Exponent, Strips, Support};
use crate::error::Result;

/// A sampler for one scale: an integer vector of L1 sensitivity D plus such noise is D/scale private.
///
/// The magnitude is drawn from `strips`, 511 of them up to 16 to 32 scales (all of the integers below 511 for small
/// scales). Zero has one sign only: the other is redrawn.
///
/// ```
/// use dpsparse::exact::noise::{discrete_laplace::DiscreteLaplace, integer_law::IntegerLaw, source::Source};
/// let law = DiscreteLaplace::new(2.5)?;
/// assert!(law.draw(&mut Source::secure()?).abs() < 1000);
/// # Ok::<(), dpsparse::Error>(())
/// ```
pub struct DiscreteLaplace {
    strips: Strips,
}

impl DiscreteLaplace {
    /// # Errors
    /// `scale` outside [2^-10, 2^40].
    pub fn new(scale: f64) -> Result<Self> {
        let scale = Scale::new("scale", scale)?;
        let (rate, exponent) = (scale.inverse(), Exponent::Linear);
        let density = Density { rate, exponent };
        Ok(Self {
            strips: Strips::new(density, Support::Integers, scale.log_width(), 512),
        })
    }
}

impl IntegerLaw for DiscreteLaplace {
    #[inline]
    fn draw_wide(&self, source: &mut Source) -> i128 {
        self.strips.draw_signed(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_follow_the_law() {
        for (scale, seed) in [(0.4, 1), (3.7, 2), (11.0, 3)] {
            let law = DiscreteLaplace::new(scale).unwrap();
            let mut source = Source::seeded(seed);
            let n = 100_000;
            // 11 cells: -4..=4 and the two tails; 10 degrees of freedom, 1 - 1e-6 quantile 48.
            let mut counts = [0f64; 11];
            (0..n).for_each(|_| counts[(law.draw(&mut source).clamp(-5, 5) + 5) as usize] += 1.0);
            let ratio = (-1.0 / scale).exp();
            let mass = |k: i32| (1.0 - ratio) / (1.0 + ratio) * ratio.powi(k.abs());
            let tail = ratio.powi(5) / (1.0 + ratio);
            let statistic: f64 = counts
                .iter()
                .zip(-5i32..=5)
                .map(|(&count, k)| {
                    let expected = f64::from(n) * if k.abs() == 5 { tail } else { mass(k) };
                    (count - expected).powi(2) / expected
                })
                .sum();
            assert!(statistic < 48.0, "{scale}: {statistic}");
        }
    }

    #[test]
    fn values_are_stable() {
        let values = |scale| {
            let (law, mut source) = (DiscreteLaplace::new(scale).unwrap(), Source::seeded(42));
            [0; 6].map(|_| law.draw(&mut source))
        };
        assert_eq!(values(1.0), [0, 0, 1, 0, 2, 1]);
        assert_eq!(
            values(1e12),
            [
                -392051445709,
                1723739309894,
                2863722638375,
                1114888079471,
                -1112361619011,
                1845812843583
            ]
        );
    }
}

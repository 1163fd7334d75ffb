//! The discrete Laplace law P(k) proportional to exp(-|k|/scale), exactly.

use crate::error::{Error, Result};
use crate::numeric::enclosure::{Interval, exp_neg};
use crate::privacy::noise::bernoulli::bernoulli;
use crate::privacy::noise::source::Source;
use num_bigint::BigUint;

/// A sampler for one scale.
///
/// The magnitude is geometric with ratio exp(-1/scale); its low m binary digits are independent, digit i
/// being 1 with probability w/(1 + w), w = exp(-2^i/scale), and what is left is 2^m times a geometric of
/// ratio exp(-2^m/scale).
pub struct DiscreteLaplace {
    scale: BigUint,
    scale_exponent: u32,
    digits: Vec<Interval>,
    rest: Interval,
}

impl DiscreteLaplace {
    /// # Errors
    /// `scale` outside [2^-10, 2^40].
    pub fn new(scale: f64) -> Result<Self> {
        if !(2f64.powi(-10)..=2f64.powi(40)).contains(&scale) {
            return Err(Error::invalid("scale", "must lie between 2^-10 and 2^40"));
        }
        // scale = numerator 2^-62, exactly (its last binary digit is at 2^-62 or above).
        let numerator = BigUint::from((scale * 2f64.powi(62)) as u128);
        let m = (scale.log2().ceil().max(0.0)) as u32;
        let mut this = Self {
            scale: numerator,
            scale_exponent: 62,
            digits: Vec::new(),
            rest: Interval { lo: 0, hi: 0 },
        };
        this.digits = (0..m).map(|i| this.fast(i)).collect();
        this.rest = this.fast(m);
        Ok(this)
    }

    /// Encloses exp(-2^i/scale) in units of 2^-63.
    fn fast(&self, i: u32) -> Interval {
        let (lo, hi) = self.narrow(i, 63);
        let word = |x: BigUint| u64::try_from(&x).unwrap_or(u64::MAX);
        Interval {
            lo: word(lo),
            hi: word(hi),
        }
    }

    fn narrow(&self, i: u32, bits: u64) -> (BigUint, BigUint) {
        exp_neg(
            &(BigUint::from(1u8) << (i + self.scale_exponent)),
            &self.scale,
            0,
            bits,
        )
    }

    fn happens(&self, i: u32, source: &mut Source) -> bool {
        let fast = self.digits.get(i as usize).copied().unwrap_or(self.rest);
        bernoulli(source, fast, |bits| self.narrow(i, bits))
    }

    /// One draw. Magnitudes beyond 2^62 have probability below exp(-2^22) and saturate.
    pub fn draw(&self, source: &mut Source) -> i64 {
        let m = self.digits.len() as u32;
        loop {
            let mut magnitude = 0i64;
            for i in 0..m {
                // Odds w : 1 for the digit 1: propose by a fair bit, accept a 1 with probability w.
                let one = loop {
                    if source.bits() >> 63 == 0 {
                        break false;
                    }
                    if self.happens(i, source) {
                        break true;
                    }
                };
                magnitude |= i64::from(one) << i;
            }
            while magnitude < 1 << 62 && self.happens(m, source) {
                magnitude += 1 << m;
            }
            let negative = source.bits() >> 63 == 1;
            // Zero has one sign only.
            if !(negative && magnitude == 0) {
                return if negative { -magnitude } else { magnitude };
            }
        }
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
}

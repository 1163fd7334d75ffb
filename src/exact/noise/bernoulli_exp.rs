//! The coin that shows one with probability exp(-gamma), exactly.

use num_bigint::BigUint;

use super::bernoulli::bernoulli;
use super::integer_law::IntegerLaw;
use super::source::Source;
use crate::error::{Error, Result};
use crate::numeric::enclosure::{Interval, exp_neg};

/// A sampler for one gamma >= 0, the exact rational number that the double is: uniform bits against an enclosure of
/// exp(-gamma) that is narrowed on demand.
///
/// ```
/// use dpsparse::exact::noise::{bernoulli_exp::BernoulliExp, integer_law::IntegerLaw, source::Source};
/// let mut source = Source::secure()?;
/// assert_eq!(BernoulliExp::new(0.0)?.draw(&mut source), 1);
/// assert_eq!(BernoulliExp::new(1e9)?.draw(&mut source), 0);
/// # Ok::<(), dpsparse::Error>(())
/// ```
pub struct BernoulliExp {
    numerator: BigUint,
    denominator: BigUint,
    fast: Interval,
}

impl BernoulliExp {
    /// # Errors
    /// `gamma` negative or not finite.
    pub fn new(gamma: f64) -> Result<Self> {
        if !(gamma.is_finite() && gamma >= 0.0) {
            return Err(Error::invalid("gamma", "must be finite and not negative"));
        }
        let bits = gamma.abs().to_bits();
        let (raw, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
        // significand 2^(exponent - 1075); a subnormal number has exponent 1 and no leading one.
        let significand = if raw == 0 {
            fraction
        } else {
            fraction | 1 << 52
        };
        let exponent = raw.max(1);
        let numerator = BigUint::from(significand) << exponent.saturating_sub(1075);
        let denominator = BigUint::from(1u8) << 1075u64.saturating_sub(exponent);
        let (lo, hi) = exp_neg(&numerator, &denominator, 0, 63);
        // Both are at most 2^63.
        let word = |x: BigUint| u64::try_from(&x).unwrap_or(1 << 63);
        let fast = Interval {
            lo: if significand == 0 { 1 << 63 } else { word(lo) },
            hi: word(hi),
        };
        Ok(Self {
            numerator,
            denominator,
            fast,
        })
    }
}

impl IntegerLaw for BernoulliExp {
    #[inline]
    fn draw_wide(&self, source: &mut Source) -> i128 {
        let refine = |bits| exp_neg(&self.numerator, &self.denominator, 0, bits);
        i128::from(bernoulli(source, self.fast, refine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(gamma: f64, n: u32) -> f64 {
        let (law, mut source) = (BernoulliExp::new(gamma).unwrap(), Source::seeded(6));
        (0..n).map(|_| law.draw(&mut source)).sum::<i64>() as f64
    }

    #[test]
    fn frequencies_follow_the_law() {
        for gamma in [1e-3, 0.1, std::f64::consts::LN_2, 1.0, 5.0] {
            let (n, p) = (200_000, (-gamma).exp());
            let z = (hits(gamma, n) - f64::from(n) * p) / (f64::from(n) * p * (1.0 - p)).sqrt();
            assert!(z.abs() < 4.9, "{gamma}: {z}"); // two-sided 1e-6
        }
    }

    #[test]
    fn the_ends_of_the_domain() {
        for gamma in [0.0, -0.0, 5e-324, 1e-300, f64::MIN_POSITIVE] {
            assert_eq!(hits(gamma, 100), 100.0);
        }
        for gamma in [100.0, 1e30, f64::MAX] {
            assert_eq!(hits(gamma, 100), 0.0);
        }
        for bad in [-1e-300, -1.0, f64::NAN, f64::INFINITY] {
            assert!(BernoulliExp::new(bad).is_err());
        }
    }

    #[test]
    fn values_are_stable() {
        let (law, mut source) = (BernoulliExp::new(0.7).unwrap(), Source::seeded(42));
        assert_eq!(
            [0; 12].map(|_| law.draw(&mut source)),
            [0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0]
        );
    }
}

//! The exactly rounded continuous Gaussian, round(N(0, sigma^2)).

use std::sync::LazyLock;

use num_bigint::BigUint;

use super::integer_law::IntegerLaw;
use super::rate::{Rate, Scale};
use super::source::Source;
use super::strips::{Density, Digits, Draw, Exponent, Strips, Support};
use crate::error::Result;

/// Binary digits of the first attempt: a standard normal is drawn as an integer in units of 2^-68.
pub(super) const FRACTION: u32 = 68;

/// |N(0, 1)| in units of 2^-FRACTION: strips of width 2^-5 up to 255/32.
pub(super) static HALF_NORMAL: LazyLock<Strips> = LazyLock::new(|| {
    let rate = Rate::new(1u8.into(), BigUint::from(1u8) << (2 * FRACTION + 1));
    let exponent = Exponent::Square;
    Strips::new(
        Density { rate, exponent },
        Support::Reals,
        FRACTION - 5,
        256,
    )
});

/// A sampler for one sigma: an integer vector plus such noise is post-processing of the Gaussian mechanism, so its
/// exact curve holds ([`crate::theory_of_privacy::noise_and_accounting`]).
///
/// A real X = sigma Z is drawn, Z = +-T from `strips` with T known to 68 binary digits, more only on demand (after
/// Karney 2016). X lies between two numbers whose rounded values are computed in integers; where they differ, further
/// digits of T are drawn until they agree. So the value is that of the full real X rounded, and its law is exact. A
/// tie, X + 1/2 an integer, has probability zero.
///
/// **Rounds:** fewer than 2 are expected: an interval of X is at most 2^-27 long, as sigma <= 2^40 and T has 68 digits,
/// so that it holds one tie at most, and 64 further digits leave it undecided with probability 2^-63.
///
/// ```
/// use dpsparse::exact::noise::{integer_law::IntegerLaw, rounded_gaussian::RoundedGaussian, source::Source};
/// let law = RoundedGaussian::new(2.5)?;
/// assert!(law.draw(&mut Source::secure()?).abs() < 100);
/// # Ok::<(), dpsparse::Error>(())
/// ```
pub struct RoundedGaussian {
    normal: &'static Strips,
    significand: u64,
    /// sigma T = significand t 2^-shift for T = t 2^-FRACTION; between 80 and 130.
    shift: u32,
}

impl RoundedGaussian {
    /// # Errors
    /// `sigma` outside [2^-10, 2^40].
    pub fn new(sigma: f64) -> Result<Self> {
        let sigma = Scale::new("sigma", sigma)?;
        Ok(Self {
            normal: &HALF_NORMAL,
            significand: sigma.significand,
            shift: FRACTION + sigma.exponent.unsigned_abs(),
        })
    }

    /// The magnitude rounded, if the known digits decide it.
    #[inline]
    fn decided(&self, draw: &Draw) -> Option<i128> {
        // t + 1 <= 2^72: the product is at most 2^125. For shift > 126 it stands for less than 1/2.
        if draw.digits.is_some() || draw.whole >= 1 << 72 {
            return None;
        }
        if self.shift > 126 {
            return Some(0);
        }
        // X is in [lo, hi), half is at most 2^125: no overflow. Rounded X is floor(X + 1/2).
        let lo = u128::from(self.significand) * draw.whole;
        let hi = lo + u128::from(self.significand);
        let half = 1u128 << (self.shift - 1);
        let rounded = (lo + half) >> self.shift;
        (rounded == (hi - 1 + half) >> self.shift).then_some(rounded as i128)
    }

    /// The same with as many digits as it takes; saturates at the end of 128 bits.
    #[cold]
    fn refined(&self, draw: Draw, source: &mut Source) -> i128 {
        let mut digits = draw
            .digits
            .map_or_else(|| Digits::new(draw.whole), |digits| *digits);
        loop {
            let shift = u64::from(self.shift) + digits.bits;
            let half = BigUint::from(1u8) << (shift - 1);
            let lo = &digits.value * self.significand + half;
            let hi = &lo + self.significand - 1u8;
            let rounded = lo >> shift;
            if rounded == hi >> shift {
                return i128::try_from(rounded).unwrap_or(i128::MAX);
            }
            digits.extend(digits.bits + 64, source);
        }
    }
}

impl IntegerLaw for RoundedGaussian {
    #[inline]
    fn draw_wide(&self, source: &mut Source) -> i128 {
        let draw = self.normal.draw(source);
        let negative = draw.negative;
        let magnitude = match self.decided(&draw) {
            Some(magnitude) => magnitude,
            None => self.refined(draw, source),
        };
        if negative { -magnitude } else { magnitude }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The first attempt and the refined one agree, and are right in rational arithmetic.
        #[test]
        fn rounding_is_exact(sigma_log in -10.0..40.0f64, t in any::<u128>(), drop in 56u32..127) {
            let law = RoundedGaussian::new(sigma_log.exp2()).unwrap();
            let draw = Draw { negative: false, whole: t >> drop, digits: None };
            let decided = law.decided(&draw);
            let whole = BigUint::from(draw.whole);
            let refined = law.refined(draw, &mut Source::seeded(1));
            prop_assert!(decided.is_none_or(|value| value == refined));
            // 2 |value - X| <= 1 for the interval of X, with the tie on either side
            let twice = BigUint::from(refined.unsigned_abs() * 2) << law.shift;
            let one = BigUint::from(1u8) << law.shift;
            prop_assert!(&twice + &one >= &whole * law.significand * 2u8);
            prop_assert!(twice <= (whole + 1u8) * law.significand * 2u8 + one);
        }
    }

    /// An interval that holds a tie: both values occur, each with its share of the interval.
    #[test]
    fn undecided_rounding_is_drawn_on() {
        let law = RoundedGaussian::new(1e12).unwrap();
        let at = |whole| Draw {
            negative: false,
            whole,
            digits: None,
        };
        let tie = 1u128 << (law.shift - 1); // X = 1/2, in units of 2^-shift
        let t = tie / u128::from(law.significand);
        let share = (tie % u128::from(law.significand)) as f64 / law.significand as f64;
        assert!(law.decided(&at(t)).is_none() && (0.05..0.95).contains(&share));
        assert_eq!(
            [t - 1, t + 1].map(|t| law.decided(&at(t))),
            [Some(0), Some(1)]
        );
        let mut source = Source::seeded(4);
        let n = 20_000;
        let ones: i128 = (0..n).map(|_| law.refined(at(t), &mut source)).sum();
        let z = (ones as f64 - f64::from(n) * (1.0 - share))
            / (f64::from(n) * share * (1.0 - share)).sqrt();
        assert!(z.abs() < 4.9, "{z}"); // two-sided 1e-6
    }

    /// P(k) = Phi((k + 1/2)/sigma) - Phi((k - 1/2)/sigma), by the probability of |k| <= 4 and of what is beyond.
    #[test]
    fn frequencies_follow_the_law() {
        let below = |x: f64| libm::erfc(-x / std::f64::consts::SQRT_2) / 2.0;
        for (sigma, seed) in [(0.4, 1), (1.0, 2), (3.7, 3)] {
            let law = RoundedGaussian::new(sigma).unwrap();
            let mut source = Source::seeded(seed);
            let n = 100_000;
            // 11 cells: -4..=4 and the two tails; 10 degrees of freedom, 1 - 1e-6 quantile 46.9.
            let mut counts = [0f64; 11];
            (0..n).for_each(|_| counts[(law.draw(&mut source).clamp(-5, 5) + 5) as usize] += 1.0);
            let end = |k: i32| below((f64::from(k) - 0.5) / sigma);
            let (mut statistic, mut rare) = (0.0, 0.0);
            for (&count, k) in counts.iter().zip(-5i32..=5) {
                let low = if k == -5 { 0.0 } else { end(k) };
                let high = if k == 5 { 1.0 } else { end(k + 1) };
                let expected = f64::from(n) * (high - low);
                if expected < 1e-3 {
                    rare += count;
                } else {
                    statistic += (count - expected).powi(2) / expected;
                }
            }
            assert!(
                statistic < 46.9 && rare == 0.0,
                "{sigma}: {statistic} {rare}"
            );
        }
    }

    #[test]
    fn values_are_stable() {
        let values = |sigma| {
            let (law, mut source) = (RoundedGaussian::new(sigma).unwrap(), Source::seeded(42));
            [0; 6].map(|_| law.draw(&mut source))
        };
        assert_eq!(values(1.0), [0, 1, 1, 1, 0, 1]);
        assert_eq!(
            values(1e12),
            [
                -325318712695,
                786481769587,
                1260790566950,
                951484801349,
                -480436998947,
                835007001704
            ]
        );
    }
}

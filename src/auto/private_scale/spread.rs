//! Where values of features are and how far they are spread, by noisy histograms.

use crate::numeric::normal;
use crate::plan::defaults::{HISTOGRAM_NEAR, HISTOGRAM_NEAR_SHARE};
use crate::question::Histograms;

/// Largest deviation that is looked for: of values all over the bounds, nearly.
const WIDEST: f64 = 0.6;
/// The others are smaller by the root of a half each.
const DEVIATIONS: i32 = 15;
/// A feature that is no wider has one value, nearly.
const NARROW: f64 = 0.007;

/// At which end of its public bounds, scaled to [-1, 1], a feature is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zero {
    Low,
    High,
    /// Between the bounds, or beyond.
    Elsewhere,
}

/// Normal laws of one value, about one deviation from each other, and the shares of them in each bin.
///
/// Bounds say that a feature is not negative where one of them is zero, and then they are as a rule many times its
/// spread: such laws are [`HISTOGRAM_NEAR_SHARE`] of what is expected. All deviations are as likely as each other, and
/// all middles.
#[derive(Debug)]
pub(super) struct Laws {
    laws: Vec<Law>,
    /// Law by law.
    shares: Vec<f64>,
    bins: usize,
}

/// Deviation of values that are all one.
const LEAST: f64 = 1e-6;

#[derive(Debug)]
struct Law {
    middle: f64,
    deviation: f64,
    /// Logarithms of what is expected where a feature is zero at the low end, at the high end, and elsewhere.
    expected: [f64; 3],
}

impl Law {
    /// Of one deviation, with these middles.
    fn all(deviation: f64, middles: Vec<f64>) -> impl Iterator<Item = Self> {
        let near = move |middle: f64| 1.0 + middle < HISTOGRAM_NEAR * deviation;
        let n_near = middles.iter().filter(|&&middle| near(middle)).count() as f64;
        let anywhere = 1.0 / middles.len() as f64;
        let expected = move |near: bool| {
            let share = if near { 1.0 / n_near } else { 0.0 };
            HISTOGRAM_NEAR_SHARE * share + (1.0 - HISTOGRAM_NEAR_SHARE) * anywhere
        };
        middles.into_iter().map(move |middle| Self {
            middle,
            deviation,
            expected: [expected(near(middle)), expected(near(-middle)), anywhere].map(f64::ln),
        })
    }
}

impl Laws {
    pub(super) fn new() -> Self {
        let ends = Histograms::ends();
        let mut all = Self {
            laws: Vec::new(),
            shares: Vec::new(),
            bins: ends.len(),
        };
        let mut share = |law: &Law, up_to: &dyn Fn(f64) -> f64| {
            let mut below = 0.0;
            for end in ends.iter().take(ends.len() - 1) {
                let up_to = up_to((end - law.middle) / law.deviation);
                all.shares.push(up_to - below);
                below = up_to;
            }
            all.shares.push(1.0 - below);
        };
        for step in 0..DEVIATIONS {
            let deviation = WIDEST * 0.5f64.powf(0.5 * f64::from(step));
            let count = (2.0 / deviation).ceil();
            let middles = (0..count as usize).map(|i| -1.0 + (2.0 * i as f64 + 1.0) / count);
            for law in Law::all(deviation, middles.collect()) {
                share(&law, &normal::cdf);
                all.laws.push(law);
            }
        }
        // Values that are nearly all at an end.
        for law in Law::all(LEAST, vec![-1.0, 1.0]) {
            share(&law, &|x| f64::from(u8::from(x >= 0.0)));
            all.laws.push(law);
        }
        all
    }

    /// The mean and the standard deviation of a value, with the law unknown, after `noisy` numbers of n values in the
    /// bins, whose noise has standard deviation `sigma`. None where nearly all values are one.
    ///
    /// The less they tell, the wider: nothing is narrower than is known.
    pub(super) fn posterior(
        &self,
        noisy: &[f64],
        n: f64,
        sigma: f64,
        zero: Zero,
    ) -> Option<(f64, f64)> {
        let log = |(law, shares): (&Law, &[f64])| {
            let off = shares
                .iter()
                .zip(noisy)
                .map(|(share, h)| (h - n * share).powi(2));
            law.expected[zero as usize] - 0.5 * off.sum::<f64>() / (sigma * sigma)
        };
        let each = || self.laws.iter().zip(self.shares.chunks_exact(self.bins));
        let logs: Vec<f64> = each().map(log).collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let [mut total, mut first, mut second] = [0.0; 3];
        for (law, log) in self.laws.iter().zip(logs) {
            let weight = (log - most).exp();
            total += weight;
            first += weight * law.middle;
            second += weight * (law.middle.powi(2) + law.deviation.powi(2));
        }
        let mean = first / total;
        let deviation = (second / total - mean * mean).max(0.0).sqrt();
        (deviation > NARROW).then_some((mean, deviation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of n normal values in the bins, as they are expected.
    fn histogram(middle: f64, deviation: f64, n: f64) -> Vec<f64> {
        let up_to = |end: f64| normal::cdf((end - middle) / deviation);
        let ends = Histograms::ends();
        let mut numbers: Vec<f64> = (ends.iter().map(|&end| n * up_to(end))).collect();
        *numbers.last_mut().unwrap() = n;
        (1..numbers.len())
            .rev()
            .for_each(|b| numbers[b] -= numbers[b - 1]);
        numbers
    }

    /// With little noise middle and spread are found, wherever values are, by bins that are as fine as they are spread.
    #[test]
    fn spreads_are_found() {
        let laws = Laws::new();
        for (middle, deviation) in [
            (0.0, 0.3),
            (-0.9, 0.03),
            (0.4, 0.05),
            (0.97, 0.02),
            (-0.5, 0.5),
        ] {
            for zero in [Zero::Low, Zero::High, Zero::Elsewhere] {
                let noisy = histogram(middle, deviation, 1000.0);
                let (mean, spread) = laws.posterior(&noisy, 1000.0, 20.0, zero).unwrap();
                assert!(
                    (mean - middle).abs() < 0.5 * deviation,
                    "{middle} {deviation}: {mean}"
                );
                assert!(
                    (0.7..1.4).contains(&(spread / deviation)),
                    "{middle} {deviation}: {spread}"
                );
            }
        }
    }

    /// Values that are all one have no spread.
    #[test]
    fn equal_values_have_none() {
        let mut noisy = vec![0.0; Histograms::ends().len()];
        noisy[0] = 1000.0;
        assert_eq!(Laws::new().posterior(&noisy, 1000.0, 20.0, Zero::Low), None);
    }

    /// The more noise there is, the wider: with so much that nothing is known, values may be anywhere.
    #[test]
    fn noise_makes_spreads_wider() {
        let laws = Laws::new();
        let noisy = histogram(-0.8, 0.05, 1000.0);
        let spread = |sigma: f64| {
            laws.posterior(&noisy, 1000.0, sigma, Zero::Elsewhere)
                .unwrap()
                .1
        };
        let spreads = [20.0, 200.0, 400.0, 1e4].map(spread);
        assert!(spreads[0] < 0.06 && spreads[0] < spreads[1] && spreads[1] < spreads[2]);
        assert!(
            spreads[2..]
                .iter()
                .all(|spread| (0.5..0.8).contains(spread)),
            "{spreads:?}"
        );
    }

    /// Where a feature is not negative, what the bins leave open is looked for near zero.
    #[test]
    fn values_are_expected_near_zero() {
        let laws = Laws::new();
        let nothing = vec![0.0; Histograms::ends().len()];
        let mean = |zero: Zero| laws.posterior(&nothing, 1000.0, 1e6, zero).unwrap().0;
        assert!(mean(Zero::Elsewhere).abs() < 1e-5);
        assert!(mean(Zero::Low) < -0.3);
        assert!((mean(Zero::Low) + mean(Zero::High)).abs() < 1e-5);
    }
}

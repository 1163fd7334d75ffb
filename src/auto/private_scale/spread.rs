//! Where values of features, or of targets, are and how far they are spread, by noisy histograms.

use crate::numeric::normal;
use crate::plan::defaults::{HISTOGRAM_NEAR, HISTOGRAM_NEAR_SHARE};
use crate::question::{Bins, Window};

/// Largest deviation that is looked for: of values all over the bounds, nearly.
const WIDEST: f64 = 0.6;
/// The others are smaller by the root of a half each.
const DEVIATIONS: i32 = 15;
/// Middles of laws are so many of their deviations apart. Of 1, 1/2 and 1/4 means of the targets of 62 regressions of
/// 2000 records are off by .36, .31 and .29 deviations, with noise of .07 n on a bin.
const APART: f64 = 0.5;
/// Values that are spread no wider are one value, nearly.
pub(super) const NARROW: f64 = 0.007;

/// At which end of public bounds, scaled to [-1, 1], values are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zero {
    Low,
    High,
    /// Between the bounds, or beyond.
    Elsewhere,
}

impl Zero {
    /// Of these bounds.
    pub fn of(bounds: (f64, f64)) -> Self {
        match bounds {
            (0.0, _) => Self::Low,
            (_, 0.0) => Self::High,
            _ => Self::Elsewhere,
        }
    }

    /// At which end of a window of them values are zero.
    pub fn seen_from(self, window: Window, whole: Window) -> Self {
        let far = match self {
            Self::Low => -window.place(whole.at(-1.0)),
            Self::High => window.place(whole.at(1.0)),
            Self::Elsewhere => f64::INFINITY,
        };
        // The end of a window that is one of the bounds is there but for rounding.
        if far < 1.0 + 1e-3 {
            self
        } else {
            Self::Elsewhere
        }
    }
}

/// What a noisy histogram tells of one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Posterior {
    pub mean: f64,
    /// Standard deviation, with the law unknown: the less is known, the wider, so that nothing is narrower than is
    /// known.
    pub deviation: f64,
    /// Geometric mean of the deviations of laws, which what is not known does not widen.
    pub spread: f64,
}

/// Laws of one value, normal ones and some at both ends, and the shares of them in each bin.
///
/// Bounds say that values are not negative where one of them is zero, and then they are as a rule many times its
/// spread: such laws are [`HISTOGRAM_NEAR_SHARE`] of what is expected. All deviations are as likely as each other, and
/// all middles.
#[derive(Debug)]
pub(super) struct Laws {
    laws: Vec<Law>,
}

/// A noisy histogram.
#[derive(Debug)]
pub(super) struct Seen<'a> {
    /// Shares of the laws in its bins, law by law.
    pub shares: &'a [f64],
    /// Numbers in its bins.
    pub noisy: &'a [f64],
    /// Standard deviation of the noise on each.
    pub sigma: f64,
}

/// How far laws lie beyond a window, in half widths, and the least deviation of those that do. Without them 1000
/// targets whose bounds are 200 000 deviations apart have an R^2 of -13 in one fit of 300 at epsilon 0.3, with them one
/// of -.4.
const BEYOND: (f64, f64) = (3.0, 0.1);
/// Deviations beyond which a law has nothing, nearly.
const FAR: f64 = 6.0;
/// Deviation of values that are all one.
const LEAST: f64 = 1e-6;

/// Shares at the low end of laws of values that are at one end or the other.
const AT_LOW_END: [f64; 11] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];

#[derive(Debug)]
enum Shape {
    Normal,
    /// Such a share at the low end, and the others at the high one.
    Ends(f64),
}

#[derive(Debug)]
struct Law {
    shape: Shape,
    middle: f64,
    deviation: f64,
    /// Logarithms of what is expected where a feature is zero at the low end, at the high end, and elsewhere.
    expected: [f64; 3],
}

impl Law {
    /// Its share up to a place.
    fn up_to(&self, place: f64) -> f64 {
        match self.shape {
            Shape::Normal => match (place - self.middle) / self.deviation {
                FAR.. => 1.0,
                x if x <= -FAR => 0.0,
                x => normal::cdf(x),
            },
            Shape::Ends(_) if place < -1.0 => 0.0,
            Shape::Ends(_) if place >= 1.0 => 1.0,
            Shape::Ends(low) => low,
        }
    }

    /// Of values at both ends, this share of them at the low one.
    fn at_ends(low: f64) -> Self {
        Self {
            shape: Shape::Ends(low),
            middle: 1.0 - 2.0 * low,
            deviation: 2.0 * (low * (1.0 - low)).sqrt(),
            expected: [-(AT_LOW_END.len() as f64).ln(); 3],
        }
    }

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
            shape: Shape::Normal,
            middle,
            deviation,
            expected: [expected(near(middle)), expected(near(-middle)), anywhere].map(f64::ln),
        })
    }
}

/// Answers of so many records a unit.
pub(super) fn in_records(noisy: &[i64], unit: f64) -> Vec<f64> {
    noisy.iter().map(|&number| number as f64 * unit).collect()
}

impl Laws {
    /// Of values that lie within [-1, 1].
    pub(super) fn within() -> Self {
        Self::up_to(1.0)
    }

    /// The same, or of values at both ends, which are together as likely as normal ones of one deviation.
    pub(super) fn within_or_at_ends() -> Self {
        let Self { mut laws } = Self::within();
        laws.extend(AT_LOW_END.map(Law::at_ends));
        Self { laws }
    }

    /// Of values around [-1, 1], and beyond: a window may have lost them.
    pub(super) fn around() -> Self {
        Self::up_to(BEYOND.0)
    }

    /// Laws that are spread as widely as [`BEYOND`] says lie up to a distance from 0, others within [-1, 1].
    fn up_to(distance: f64) -> Self {
        let of_deviation = |step: i32| {
            let deviation = WIDEST * 0.5f64.powf(0.5 * f64::from(step));
            let most = if deviation < BEYOND.1 { 1.0 } else { distance };
            let count = (2.0 * most / (APART * deviation)).ceil();
            let middle = |i: usize| most * (-1.0 + (2.0 * i as f64 + 1.0) / count);
            Law::all(deviation, (0..count as usize).map(middle).collect())
        };
        let laws = (0..DEVIATIONS).flat_map(of_deviation);
        // Values that are nearly all at an end.
        let ends = Law::all(LEAST, vec![-1.0, 1.0]);
        Self {
            laws: laws.chain(ends).collect(),
        }
    }

    /// Shares of each in the bins of a window, law by law; `place` says where in units of the laws what is in units of
    /// the window.
    pub(super) fn shares(&self, bins: Bins, place: impl Fn(f64) -> f64) -> Vec<f64> {
        // What is beyond the window is in the bins at its ends.
        let mut ends: Vec<f64> = (Bins::Fine.ends().iter())
            .map(|&(_, high)| place(high))
            .collect();
        ends.pop();
        let parts = bins.parts();
        let mut up_to = vec![0.0; ends.len() + 2];
        up_to[ends.len() + 1] = 1.0;
        let mut shares = Vec::with_capacity(self.laws.len() * parts.len());
        for law in &self.laws {
            for (share, &end) in up_to[1..].iter_mut().zip(&ends) {
                *share = law.up_to(end);
            }
            shares.extend((parts.iter()).map(|part| up_to[part.end] - up_to[part.start]));
        }
        shares
    }

    /// After histograms of n values.
    pub(super) fn posterior(&self, seen: &[Seen<'_>], n: f64, zero: Zero) -> Posterior {
        let mut logs: Vec<f64> = (self.laws.iter())
            .map(|law| law.expected[zero as usize])
            .collect();
        for one in seen.iter() {
            let each = one.shares.chunks_exact(one.noisy.len());
            for (log, shares) in logs.iter_mut().zip(each) {
                let off = (shares.iter().zip(one.noisy)).map(|(share, h)| (h - n * share).powi(2));
                *log -= 0.5 * off.sum::<f64>() / (one.sigma * one.sigma);
            }
        }
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let [mut total, mut first, mut second, mut logarithms] = [0.0; 4];
        for (law, log) in self.laws.iter().zip(logs) {
            let weight = (log - most).exp();
            total += weight;
            first += weight * law.middle;
            second += weight * (law.middle.powi(2) + law.deviation.powi(2));
            logarithms += weight * law.deviation.ln();
        }
        let mean = first / total;
        Posterior {
            mean,
            deviation: (second / total - mean * mean).max(0.0).sqrt(),
            spread: (logarithms / total).exp(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Bins = Bins::FineAndWide;

    /// After one histogram of 1000 values in units of the laws.
    fn posterior(noisy: &[f64], sigma: f64, zero: Zero) -> Posterior {
        let laws = Laws::within();
        let shares = &laws.shares(BOTH, |place| place);
        let seen = Seen {
            shares,
            noisy,
            sigma,
        };
        laws.posterior(&[seen], 1000.0, zero)
    }

    /// Numbers of n normal values in the bins, as they are expected.
    fn histogram(middle: f64, deviation: f64, n: f64) -> Vec<f64> {
        let up_to = |end: f64| match end {
            ..=-1.0 => 0.0,
            1.0.. => n,
            _ => n * normal::cdf((end - middle) / deviation),
        };
        let number = |&(low, high): &(f64, f64)| up_to(high) - up_to(low);
        BOTH.ends().iter().map(number).collect()
    }

    /// With little noise middle and spread are found, wherever values are, by bins that are as fine as they are spread.
    #[test]
    fn spreads_are_found() {
        for (middle, deviation) in [
            (0.0, 0.3),
            (-0.9, 0.03),
            (0.4, 0.05),
            (0.97, 0.02),
            (-0.5, 0.5),
        ] {
            for zero in [Zero::Low, Zero::High, Zero::Elsewhere] {
                let noisy = histogram(middle, deviation, 1000.0);
                let found = posterior(&noisy, 20.0, zero);
                assert!(
                    (found.mean - middle).abs() < 0.5 * deviation,
                    "{middle} {deviation}: {found:?}"
                );
                for told in [found.deviation, found.spread] {
                    let ratio = told / deviation;
                    assert!(
                        (0.7..1.4).contains(&ratio),
                        "{middle} {deviation}: {found:?}"
                    );
                }
            }
        }
    }

    /// Values that are all one have no spread.
    #[test]
    fn equal_values_have_none() {
        let first = |&(low, _): &(f64, f64)| if low < -1.0 { 1000.0 } else { 0.0 };
        let noisy: Vec<f64> = BOTH.ends().iter().map(first).collect();
        let found = posterior(&noisy, 20.0, Zero::Low);
        assert!(found.deviation < NARROW && found.spread < NARROW);
    }

    /// Values at both ends are as far apart as these, whatever share is at which, and no narrow law at one of them;
    /// normal ones are found as without such laws.
    #[test]
    fn values_at_both_ends_are_found() {
        let laws = Laws::within_or_at_ends();
        let shares = &laws.shares(BOTH, |place| place);
        let found = |noisy: &[f64]| {
            let sigma = 60.0;
            let seen = Seen {
                shares,
                noisy,
                sigma,
            };
            laws.posterior(&[seen], 1000.0, Zero::Low)
        };
        for low in [0.1, 0.25, 0.5, 0.8] {
            let part = |is: bool, share: f64| if is { 1000.0 * share } else { 0.0 };
            let at_ends =
                |&(from, to): &(f64, f64)| part(from < -1.0, low) + part(to > 1.0, 1.0 - low);
            let noisy: Vec<f64> = BOTH.ends().iter().map(at_ends).collect();
            assert_eq!(noisy[..Bins::Fine.ends().len()].iter().sum::<f64>(), 1000.0);
            let (told, deviation) = (found(&noisy), 2.0 * f64::sqrt(low * (1.0 - low)));
            assert!(
                (told.mean - (1.0 - 2.0 * low)).abs() < 0.1,
                "{low}: {told:?}"
            );
            for size in [told.spread, told.deviation] {
                assert!((0.8..1.25).contains(&(size / deviation)), "{low}: {told:?}");
            }
            let without = posterior(&noisy, 60.0, Zero::Low);
            assert!((without.mean - told.mean).abs() > 0.1 || without.spread < 0.7 * deviation);
        }
        for (middle, deviation) in [(0.0, 0.3), (-0.9, 0.03), (0.4, 0.05)] {
            let noisy = histogram(middle, deviation, 1000.0);
            let (one, other) = (found(&noisy), posterior(&noisy, 60.0, Zero::Low));
            assert!((one.mean - other.mean).abs() + (one.spread - other.spread).abs() < 0.01);
        }
    }

    /// A bound that is zero is one of windows that begin, or end, there, and of no other.
    #[test]
    fn zero_is_at_the_end_of_windows_that_reach_it() {
        let counts = Window::ALL.around(0.5, 0.5);
        for whole in [Window::ALL, counts] {
            let (low, high) = (whole.at(-1.0), whole.at(1.0));
            for reach in [1e-9, 1e-3, 0.1] {
                let at = |zero: Zero, point: f64| zero.seen_from(whole.around(point, reach), whole);
                assert_eq!(at(Zero::Low, low), Zero::Low);
                assert_eq!(at(Zero::Low, low + 0.5 * reach), Zero::Low);
                assert_eq!(at(Zero::Low, low + 1.1 * reach), Zero::Elsewhere);
                assert_eq!(at(Zero::Low, high), Zero::Elsewhere);
                assert_eq!(at(Zero::High, high - 0.5 * reach), Zero::High);
                assert_eq!(at(Zero::High, low), Zero::Elsewhere);
                assert_eq!(at(Zero::Elsewhere, low), Zero::Elsewhere);
            }
            for zero in [Zero::Low, Zero::High] {
                assert_eq!(zero.seen_from(whole, whole), zero);
            }
        }
    }

    /// The more noise there is, the wider: with so much that nothing is known, values may be anywhere.
    #[test]
    fn noise_makes_spreads_wider() {
        let noisy = histogram(-0.8, 0.05, 1000.0);
        let found = |sigma: f64| posterior(&noisy, sigma, Zero::Elsewhere);
        let spreads = [20.0, 200.0, 800.0, 1e4].map(|sigma| found(sigma).deviation);
        assert!(spreads[0] < 0.06 && spreads[0] < spreads[1] && spreads[1] < spreads[2]);
        assert!(
            spreads[2..]
                .iter()
                .all(|spread| (0.5..0.8).contains(spread)),
            "{spreads:?}"
        );
    }

    /// What noise hides makes a value uncertain, and no law wider: spreads of targets stay what is typical.
    #[test]
    fn noise_does_not_widen_what_is_typical() {
        let noisy = histogram(-0.8, 0.05, 1000.0);
        for sigma in [20.0, 800.0, 1e4] {
            let found = posterior(&noisy, sigma, Zero::Elsewhere);
            assert!((0.02..0.15).contains(&found.spread), "{sigma}: {found:?}");
            assert!(found.spread < 1.05 * found.deviation);
        }
    }

    /// Where a feature is not negative, what the bins leave open is looked for near zero.
    #[test]
    fn values_are_expected_near_zero() {
        let nothing = vec![0.0; BOTH.ends().len()];
        let mean = |zero: Zero| posterior(&nothing, 1e6, zero).mean;
        assert!(mean(Zero::Elsewhere).abs() < 1e-5);
        assert!(mean(Zero::Low) < -0.3);
        assert!((mean(Zero::Low) + mean(Zero::High)).abs() < 1e-5);
    }

    /// Histograms of the same window tell together what one of them tells with all their precision.
    #[test]
    fn histograms_add_up() {
        let laws = Laws::within();
        let shares = &laws.shares(BOTH, |place| place);
        let mut noisy = histogram(0.3, 0.1, 1000.0);
        (noisy.iter_mut().enumerate()).for_each(|(k, h)| *h += 40.0 * (k as f64).sin());
        let noisy = &noisy[..];
        let seen = |sigma| Seen {
            shares,
            noisy,
            sigma,
        };
        let one = laws.posterior(&[seen(50.0)], 1000.0, Zero::Low);
        let four = laws.posterior(&[100.0; 4].map(seen), 1000.0, Zero::Low);
        for (one, four) in [
            (one.mean, four.mean),
            (one.deviation, four.deviation),
            (one.spread, four.spread),
        ] {
            assert!((one - four).abs() < 1e-9, "{one} {four}");
        }
    }

    /// Bins of a window that lies within the laws', or that these lie within, have what a brute sum over fine steps
    /// has, with all that is beyond the window at its ends.
    #[test]
    fn shares_are_those_of_the_window() {
        let laws = Laws::within();
        for (middle, half) in [(0.3, 0.2), (-1.5, 4.0), (0.0, 1.0)] {
            let shares = laws.shares(BOTH, |place| middle + half * place);
            let bins = BOTH.ends();
            for (law, shares) in laws.laws.iter().zip(shares.chunks_exact(bins.len())) {
                let at = |end: f64| match end {
                    ..=-1.0 => 0.0,
                    1.0.. => 1.0,
                    _ => normal::cdf((middle + half * end - law.middle) / law.deviation),
                };
                for (&(low, high), share) in bins.iter().zip(shares) {
                    assert!((at(high) - at(low) - share).abs() < 1e-8);
                }
                let fine: f64 = shares[..Bins::Fine.ends().len()].iter().sum();
                assert!((fine - 1.0).abs() < 1e-12);
            }
        }
    }

    /// Values that a window has lost are looked for where an earlier one leaves them.
    #[test]
    fn lost_values_are_found_again() {
        let (lost, laws) = ((0.6, 0.2), Laws::around());
        let shares = [
            laws.shares(BOTH, |place| (place - lost.0) / lost.1),
            laws.shares(BOTH, |place| place),
        ];
        // 0.15 and 0.02 in units of all, (0.15 - 0.6)/0.2 = -2.25 and 0.1 in those of the window.
        let noisy = [histogram(0.15, 0.02, 1000.0), histogram(-2.25, 0.1, 1000.0)];
        let seen = [0, 1].map(|k| Seen {
            shares: &shares[k],
            noisy: &noisy[k],
            sigma: 100.0,
        });
        let found = laws.posterior(&seen, 1000.0, Zero::Elsewhere);
        assert!((found.mean + 2.25).abs() < 0.3, "{found:?}");
    }
}

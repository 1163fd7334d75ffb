//! Where values of features, or of targets, are and how far they are spread, by noisy histograms.

use std::sync::{LazyLock, OnceLock};

use super::law::{self, Law};
use crate::question::{Bins, Window};

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
/// spread: such laws are `HISTOGRAM_NEAR_SHARE` of what is expected. All deviations are as likely as each other, and
/// all middles.
#[derive(Debug)]
pub(super) struct Laws {
    laws: Vec<Law>,
    /// Their shares in the bins of a window that is theirs, of each kind of bins: no data change them, and they are
    /// most of the work of a fit of few records.
    own: [OnceLock<Shares>; 2],
}

/// Shares of laws in the bins of a window.
///
/// A wide bin has what the fine ones that it is made of have, and most laws have nothing in most bins: what is kept are
/// the fine bins from the first that has anything up to the last.
#[derive(Debug, Clone)]
pub(super) struct Shares {
    /// The wide bin that each fine one is in, if there are any.
    wide: Vec<usize>,
    /// Of each law the first of its bins, where its shares end, and the sum of the squares of all, wide bins too.
    of_laws: Vec<(usize, usize, f64)>,
    /// The shares, law by law.
    fine: Vec<f64>,
}

impl Shares {
    /// Of these laws; `ends` are the upper ones of all fine bins but the last.
    fn new(laws: &[Law], bins: Bins, ends: &[f64]) -> Self {
        let fine = Bins::Fine.ends().len();
        let wide = (bins.parts().into_iter().skip(fine).enumerate())
            .flat_map(|(k, part)| part.map(move |_| fine + k));
        let mut shares = Self {
            wide: wide.collect(),
            of_laws: Vec::with_capacity(laws.len()),
            fine: Vec::with_capacity(4 * laws.len()),
        };
        let mut first = 0;
        for law in laws {
            let (low, high) = law.support();
            // Laws of one deviation begin one after the other.
            if first > 0 && low <= ends[first - 1] {
                first = 0;
            }
            first += ends[first..].iter().take_while(|&&end| end < low).count();
            let inner = ends[first..].iter().take_while(|&&end| end < high);
            let square = shares.push(first, inner.map(|&end| law.up_to(end)));
            shares.of_laws.push((first, shares.fine.len(), square));
        }
        shares
    }

    /// Of one law more its shares up to the ends of bins from the first on that has anything; the sum of their squares.
    fn push(&mut self, first: usize, up_to: impl Iterator<Item = f64>) -> f64 {
        let (mut square, mut of_wide, mut before) = (0.0, 0.0, 0.0);
        for (bin, up_to) in (first..).zip(up_to.chain([1.0])) {
            let share = up_to - before;
            before = up_to;
            self.fine.push(share);
            square += share * share;
            of_wide += share;
            if self.wide.get(bin) != self.wide.get(bin + 1) {
                square += of_wide * of_wide;
                of_wide = 0.0;
            }
        }
        if self.wide.is_empty() {
            square
        } else {
            square + of_wide * of_wide
        }
    }

    /// Of each law the first of its bins, its shares in those, and the sum of the squares of all.
    fn each(&self) -> impl Iterator<Item = (usize, &[f64], f64)> {
        self.of_laws.iter().scan(0, |start, &(first, end, square)| {
            let own = &self.fine[*start..end];
            *start = end;
            Some((first, own, square))
        })
    }

    /// What a share in each fine bin is to be multiplied by for the inner product of shares in all bins and these
    /// numbers.
    fn factors(&self, noisy: &[f64]) -> Vec<f64> {
        let of_wide = |bin: usize| self.wide.get(bin).map_or(0.0, |&wide| noisy[wide]);
        let fine = Bins::Fine.ends().len();
        (0..fine).map(|bin| noisy[bin] + of_wide(bin)).collect()
    }
}

/// A noisy histogram.
#[derive(Debug)]
pub(super) struct Seen<'a> {
    /// Shares of the laws in its bins.
    pub shares: &'a Shares,
    /// Numbers in its bins.
    pub noisy: &'a [f64],
    /// Standard deviation of the noise on each.
    pub sigma: f64,
}

/// Answers of so many records a unit.
pub(super) fn in_records(noisy: &[i64], unit: f64) -> Vec<f64> {
    noisy.iter().map(|&number| number as f64 * unit).collect()
}

impl Laws {
    /// Of values that lie within [-1, 1].
    pub(super) fn within() -> &'static Self {
        static LAWS: LazyLock<Laws> = LazyLock::new(|| Laws::of(law::within()));
        &LAWS
    }

    /// The same, or of values at both ends, which are together as likely as normal ones of one deviation.
    pub(super) fn within_or_at_ends() -> &'static Self {
        static LAWS: LazyLock<Laws> =
            LazyLock::new(|| Laws::of(law::within().into_iter().chain(law::at_ends()).collect()));
        &LAWS
    }

    /// Of values around [-1, 1], and beyond: a window may have lost them.
    pub(super) fn around() -> &'static Self {
        static LAWS: LazyLock<Laws> = LazyLock::new(|| Laws::of(law::around()));
        &LAWS
    }

    fn of(laws: Vec<Law>) -> Self {
        let own = Default::default();
        Self { laws, own }
    }

    /// Shares of each in the bins of a window in whose units the laws are.
    pub(super) fn own_shares(&self, bins: Bins) -> &Shares {
        let of = match bins {
            Bins::Fine => 0,
            Bins::FineAndWide => 1,
        };
        self.own[of].get_or_init(|| self.shares(bins, |place| place))
    }

    /// Shares of each in the bins of a window; `place` says where in units of the laws what is in units of the window.
    pub(super) fn shares(&self, bins: Bins, place: impl Fn(f64) -> f64) -> Shares {
        // What is beyond the window is in the bins at its ends.
        let mut ends: Vec<f64> = (Bins::Fine.ends().iter())
            .map(|&(_, high)| place(high))
            .collect();
        ends.pop();
        Shares::new(&self.laws, bins, &ends)
    }

    /// After histograms of n values.
    pub(super) fn posterior(&self, seen: &[Seen<'_>], n: f64, zero: Zero) -> Posterior {
        let mut logs: Vec<f64> = (self.laws.iter())
            .map(|law| law.expected[zero as usize])
            .collect();
        for one in seen.iter() {
            // Of the squares of what is off all but the sum over h^2, which laws share.
            let precision = 1.0 / (one.sigma * one.sigma);
            let factors = one.shares.factors(one.noisy);
            for (log, (first, shares, square)) in logs.iter_mut().zip(one.shares.each()) {
                let products = shares
                    .iter()
                    .zip(&factors[first..])
                    .map(|(share, h)| share * h);
                *log += precision * n * (products.sum::<f64>() - 0.5 * n * square);
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
    use crate::numeric::normal;

    const BOTH: Bins = Bins::FineAndWide;

    /// The shares of each law in all bins, fine and wide ones, or fine ones alone.
    fn in_all_bins(shares: &Shares) -> Vec<Vec<f64>> {
        let bins = if shares.wide.is_empty() {
            Bins::Fine
        } else {
            BOTH
        };
        let dense = |(first, own, square): (usize, &[f64], f64)| {
            let mut all = vec![0.0; bins.ends().len()];
            for (bin, share) in (first..).zip(own) {
                all[bin] += share;
                if let Some(&wide) = shares.wide.get(bin) {
                    all[wide] += share;
                }
            }
            let squares: f64 = all.iter().map(|share| share * share).sum();
            assert!((squares - square).abs() < 1e-12, "{all:?}");
            all
        };
        shares.each().map(dense).collect()
    }

    /// After one histogram of 1000 values in units of the laws.
    fn posterior(noisy: &[f64], sigma: f64, zero: Zero) -> Posterior {
        let laws = Laws::within();
        let shares = laws.own_shares(BOTH);
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
        let shares = laws.own_shares(BOTH);
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

    /// Laws weigh as their squared distances from what was seen say.
    #[test]
    fn laws_weigh_by_what_they_are_off() {
        let laws = Laws::within();
        let (n, sigma) = (1000.0, 80.0);
        let mut noisy = histogram(0.3, 0.1, n);
        (noisy.iter_mut().enumerate()).for_each(|(k, h)| *h += 80.0 * (k as f64).sin());
        let log = |(law, shares): (&Law, &Vec<f64>)| {
            let off =
                (shares.iter().zip(&noisy)).map(|(share, h)| ((h - n * share) / sigma).powi(2));
            law.expected[Zero::Low as usize] - 0.5 * off.sum::<f64>()
        };
        let shares = in_all_bins(laws.own_shares(BOTH));
        let logs: Vec<f64> = laws.laws.iter().zip(&shares).map(log).collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights = || logs.iter().map(|log| (log - most).exp());
        let mean = |of: fn(&Law) -> f64| {
            let weighed = weights()
                .zip(&laws.laws)
                .map(|(weight, law)| weight * of(law));
            weighed.sum::<f64>() / weights().sum::<f64>()
        };
        let found = posterior(&noisy, sigma, Zero::Low);
        assert!(
            (found.mean - mean(|law| law.middle)).abs() < 1e-9,
            "{found:?}"
        );
        let spread = mean(|law| law.deviation.ln()).exp();
        assert!((found.spread / spread - 1.0).abs() < 1e-9, "{found:?}");
    }

    /// Histograms of the same window tell together what one of them tells with all their precision.
    #[test]
    fn histograms_add_up() {
        let laws = Laws::within();
        let shares = laws.own_shares(BOTH);
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
        let windows = [(0.3, 0.2), (-1.5, 4.0), (0.0, 1.0)];
        for ((middle, half), bins) in
            (windows.into_iter()).flat_map(|window| [(window, BOTH), (window, Bins::Fine)])
        {
            let shares = laws.shares(bins, |place| middle + half * place);
            let bins = bins.ends();
            for (law, shares) in laws.laws.iter().zip(&in_all_bins(&shares)) {
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
        let moved = laws.shares(BOTH, |place| (place - lost.0) / lost.1);
        let shares = [&moved, laws.own_shares(BOTH)];
        // 0.15 and 0.02 in units of all, (0.15 - 0.6)/0.2 = -2.25 and 0.1 in those of the window.
        let noisy = [histogram(0.15, 0.02, 1000.0), histogram(-2.25, 0.1, 1000.0)];
        let seen = [0, 1].map(|k| Seen {
            shares: shares[k],
            noisy: &noisy[k],
            sigma: 100.0,
        });
        let found = laws.posterior(&seen, 1000.0, Zero::Elsewhere);
        assert!((found.mean + 2.25).abs() < 0.3, "{found:?}");
    }
}

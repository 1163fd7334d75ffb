//! Exact draws from the decreasing laws exp(-rate * t) and exp(-rate * t^2), t >= 0, on integers or reals.
//!
//! Rejection from a histogram (von Neumann; Karney 2016 draws the Gaussian like this with strips as wide as sigma and
//! lazily drawn digits). Strip i < n covers t in [i w, (i + 1) w), w a power of two; its height is an upper bound of
//! the density at i w. Beyond n w stands the tail, in blocks of 32 w: block j has height H 2^-j, H an upper bound of
//! the density at n w. A point uniform below this histogram is kept if it lies below the density.
//!
//! **Exact.** A point kept is uniform below the density, so its t has the law, if the histogram covers the density and
//! the point is uniform below the histogram.
//! - *Cover.* The density decreases, so strips are covered. Block j is, if the exponent grows by j ln 2 or more over j
//!   blocks: linear, it grows by rate 32 w j; square, by rate ((n w + 32 w j)^2 - (n w)^2) >= rate 64 n w^2 j.
//!   [`Strips::new`] checks that this is enough.
//! - *Uniform.* The tail has area 32 w H (1 + 1/2 + 1/4 + ...) = 64 w H: as much as 64 strips of height H, which is
//!   what the [`Histogram`] gives it. In it, block j is drawn with probability 2^-(j+1), then a place and a height,
//!   both uniform. In a strip, w consecutive values of t are equally likely.
//! - *Below.* Decided by enclosures of the density that are narrowed, and digits that are drawn on, until they agree.
//!
//! **Rounds:** fewer than 1.2 are expected, whatever the scale, which is public in any case. The density decreases from
//! 1, so strips exceed its integral by one strip of height 1 at most, and on integers with w = 1 by roundings alone.
//! Scales of 16 w and more have an integral of 16 w at least, so that 16/17 is kept; scales below 16 have w = 1. Where
//! a law has 255 strips (square) or 511 (linear) to 8 and 16 scales, the tail holds 64 w exp(-15.9) at most. Then
//! [`Strips::draw_signed`] keeps half at least: fewer than 2.4 rounds. In the tail, `leading_zeros` and the place, a
//! power of two, take one word but for 2^-64 each.
//!
//! On the reals, t is drawn as an integer and its further binary digits only when something asks for them.

use num_bigint::BigUint;

use super::histogram::Histogram;
use super::rate::Rate;
use super::source::Source;
use crate::numeric::enclosure::{EXPONENT_BITS, Interval, PROBABILITY_BITS, exp2_neg};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Exponent {
    /// rate * t
    Linear,
    /// rate * t^2
    Square,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Support {
    Integers,
    Reals,
}

/// exp(-rate * t) or exp(-rate * t^2).
pub(super) struct Density {
    pub rate: Rate,
    pub exponent: Exponent,
}

pub(super) struct Strips {
    density: Density,
    support: Support,
    log_width: u32,
    histogram: Histogram,
}

/// A draw and a random sign; on the reals t lies in [whole, whole + 1), nearer if `digits` are known.
pub(super) struct Draw {
    pub negative: bool,
    pub whole: u128,
    pub digits: Option<Box<Digits>>,
}

/// A real in [value, value + 1) 2^-bits, its further digits uniform and not drawn yet.
pub(super) struct Digits {
    pub value: BigUint,
    pub bits: u64,
}

impl Draw {
    /// 2^-fraction t as a float, with a relative error of at most 3 2^-53 and an absolute one of 2^-(fraction + 64).
    pub fn float(self, fraction: u32, source: &mut Source) -> f64 {
        // 2^-exponent exactly, as a normal float.
        let power = |exponent: u64| f64::from_bits((1023 - exponent) << 52);
        let fraction = u64::from(fraction);
        match self.digits {
            None => {
                self.whole as f64 * power(fraction) + source.bits() as f64 * power(fraction + 64)
            }
            Some(mut digits) => {
                digits.extend(64, source);
                let drop = digits.value.bits().saturating_sub(64);
                let top = u64::try_from(&(&digits.value >> drop)).unwrap_or(u64::MAX);
                top as f64 * power(fraction + digits.bits - drop)
            }
        }
    }
}

impl Digits {
    pub fn new(whole: u128) -> Self {
        Self {
            value: whole.into(),
            bits: 0,
        }
    }

    /// Draws digits until `bits` of them are known.
    pub fn extend(&mut self, bits: u64, source: &mut Source) {
        while self.bits < bits {
            self.value = (&self.value << 64u32) + source.bits();
            self.bits += 64;
        }
    }
}

impl Strips {
    /// `columns` - 1 strips of width 2^`log_width`, and the tail. The exponent must grow fast enough for the tail:
    /// scales up to 32 widths do, if there are 64 columns or more.
    pub fn new(density: Density, support: Support, log_width: u32, columns: usize) -> Self {
        assert!(log_width < 64);
        let strips = columns as u64 - 1;
        let growth = match density.exponent {
            Exponent::Linear => density.rate.below(32, log_width),
            Exponent::Square => density.rate.below(u128::from(64 * strips), 2 * log_width),
        };
        assert!(growth >= 1 << EXPONENT_BITS, "the tail is not covered");
        let last = u128::from(support == Support::Integers);
        let bounds: Vec<Interval> = (0..u128::from(strips))
            .map(|strip| density.enclose(strip << log_width, ((strip + 1) << log_width) - last))
            .collect();
        let end = u128::from(strips) << log_width;
        let histogram = Histogram::new(&bounds, density.enclose(end, end).hi);
        Self {
            density,
            support,
            log_width,
            histogram,
        }
    }

    /// One draw.
    #[inline]
    pub fn draw(&self, source: &mut Source) -> Draw {
        loop {
            let unit = self.histogram.unit(source.bits());
            let word = source.bits();
            let place = (word >> 1) >> (63 - self.log_width);
            let mut draw = Draw {
                negative: word & 1 == 1,
                whole: (unit.cell as u128) << self.log_width | u128::from(place),
                digits: None,
            };
            if unit.inside || self.keep(unit.cell, unit.height, &mut draw, source) {
                return draw;
            }
        }
    }

    /// One draw on the integers with its sign. Zero has one sign only: the other is drawn again, so that P(k) stays
    /// proportional to the density at |k|.
    #[inline]
    pub fn draw_signed(&self, source: &mut Source) -> i128 {
        loop {
            let draw = self.draw(source);
            match (draw.negative, draw.whole as i128) {
                (true, 0) => {}
                (true, magnitude) => return -magnitude,
                (false, magnitude) => return magnitude,
            }
        }
    }

    /// Whether a point that is not surely below the density is; chooses its place first if it is in the tail.
    #[cold]
    fn keep(&self, cell: usize, mut height: u64, draw: &mut Draw, source: &mut Source) -> bool {
        let mut block = 0;
        let mut fast = Interval {
            lo: 0,
            hi: 1 << PROBABILITY_BITS,
        };
        if cell == self.histogram.strips() {
            block = leading_zeros(source);
            // No overflow while block < 2^59: more zero bits in a row than that would be needed.
            let start = (cell as u128) << self.log_width;
            let place = source.below(32 << self.log_width);
            draw.whole = start + (u128::from(block) << (self.log_width + 5)) + place;
            height = self.histogram.tail_height(source);
        } else {
            let width = u128::from(self.support == Support::Reals);
            fast = self.density.enclose(draw.whole, draw.whole + width);
        }
        let mut digits = Digits::new(draw.whole);
        let kept = self.histogram.below(height, fast, source, |source, bits| {
            if self.support == Support::Integers {
                return self.density.narrow(&digits.value, 0, block, bits);
            }
            digits.extend(bits, source);
            let (_, hi) = self.density.narrow(&digits.value, digits.bits, block, bits);
            let (lo, _) = self
                .density
                .narrow(&(&digits.value + 1u8), digits.bits, block, bits);
            (lo, hi)
        });
        if digits.bits > 0 {
            draw.digits = Some(Box::new(digits));
        }
        kept
    }
}

impl Density {
    /// Encloses the density on [from, to] in units of 2^-63.
    fn enclose(&self, from: u128, to: u128) -> Interval {
        let (near, near_shift) = self.power(from, false);
        let (far, far_shift) = self.power(to, true);
        exp2_neg(Interval {
            lo: self.rate.below(near, near_shift),
            hi: self.rate.above(far, far_shift),
        })
    }

    /// d and a shift with d 2^shift the power of t, rounded down or up: 63 bits of t remain, so its square fits.
    fn power(&self, t: u128, up: bool) -> (u128, u32) {
        match self.exponent {
            Exponent::Linear => (t, 0),
            Exponent::Square => {
                let cut = 65u32.saturating_sub(t.leading_zeros());
                let top = (t >> cut) + u128::from(up && t & ((1 << cut) - 1) != 0);
                (top * top, 2 * cut)
            }
        }
    }

    /// Encloses 2^block times the density at t = value 2^-fraction, in block `block` or beyond, in units of 2^-bits.
    fn narrow(&self, value: &BigUint, fraction: u64, block: u64, bits: u64) -> (BigUint, BigUint) {
        match self.exponent {
            Exponent::Linear => self.rate.weight(value, fraction, block, bits),
            Exponent::Square => self
                .rate
                .weight(&(value * value), 2 * fraction, block, bits),
        }
    }
}

/// How many zeros come before the first one: j with probability 2^-(j+1).
fn leading_zeros(source: &mut Source) -> u64 {
    let mut zeros = 0;
    loop {
        let word = source.bits();
        zeros += u64::from(word.leading_zeros());
        if word != 0 {
            return zeros;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::noise::rate::Scale;

    /// Chi-square of 20 000 draws against the law, over 20 cells of 8 values and what is beyond.
    fn statistic(strips: &Strips, mass: impl Fn(f64) -> f64) -> f64 {
        let mut source = Source::seeded(11);
        let n = 20_000;
        let mut counts = [0f64; 21];
        for _ in 0..n {
            let draw = strips.draw(&mut source);
            counts[usize::try_from(draw.whole / 8).unwrap().min(20)] += 1.0;
        }
        let mut law = [0f64; 21];
        (0..10_000).for_each(|t| law[(t / 8).min(20)] += mass(t as f64));
        let total: f64 = law.iter().sum();
        let means = law.map(|weight| f64::from(n) * weight / total);
        let cells = counts.iter().zip(means).filter(|(_, mean)| *mean > 1e-3);
        cells
            .map(|(count, mean)| (count - mean).powi(2) / mean)
            .sum()
    }

    /// Seven strips only: most draws come from the tail, and from several blocks of it. 20 degrees of freedom, 1 - 1e-6
    /// quantile 66.
    #[test]
    fn the_tail_follows_the_law() {
        let law = |scale, exponent| {
            let scale = Scale::new("scale", scale).unwrap();
            let rate = match exponent {
                Exponent::Linear => scale.inverse(),
                Exponent::Square => scale.half_inverse_square(),
            };
            Strips::new(Density { rate, exponent }, Support::Integers, 0, 8)
        };
        let linear = law(40.0, Exponent::Linear);
        assert!(statistic(&linear, |t| (-t / 40.0).exp()) < 66.0);
        assert!(statistic(&linear, |t| (-t / 44.0).exp()) > 66.0);
        let square = law(17.0, Exponent::Square);
        assert!(statistic(&square, |t| (-t * t / (2.0 * 17.0 * 17.0)).exp()) < 66.0);
        assert!(statistic(&square, |t| (-t * t / (2.0 * 18.5 * 18.5)).exp()) > 66.0);
    }

    #[test]
    fn blocks_of_the_tail_are_geometric() {
        let mut source = Source::seeded(3);
        let zeros = (0..10_000)
            .filter(|_| leading_zeros(&mut source) == 0)
            .count();
        assert!((4_750..5_250).contains(&zeros)); // five standard deviations
    }

    #[test]
    #[should_panic(expected = "the tail is not covered")]
    fn a_tail_that_falls_too_slowly_is_refused() {
        let rate = Scale::new("scale", 100.0).unwrap().inverse();
        let exponent = Exponent::Linear;
        Strips::new(Density { rate, exponent }, Support::Integers, 0, 64);
    }
}

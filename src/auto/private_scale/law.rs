//! What is expected of where values are and how far they are spread.

use std::sync::LazyLock;

use crate::numeric::normal;
use crate::plan::defaults::{HISTOGRAM_NEAR, HISTOGRAM_NEAR_SHARE};

/// Largest deviation that is looked for: of values all over the bounds, nearly.
const WIDEST: f64 = 0.6;
/// The others are smaller by the root of a half each.
const DEVIATIONS: i32 = 15;
/// Middles of laws are so many of their deviations apart. Of 1, 1/2 and 1/4 means of the targets of 62 regressions of
/// 2000 records are off by .36, .31 and .29 deviations, with noise of .07 n on a bin.
const APART: f64 = 0.5;
/// How far laws lie beyond a window, in half widths, and the least deviation of those that do. Without them 1000
/// targets whose bounds are 200 000 deviations apart have an R^2 of -13 in one fit of 300 at epsilon 0.3, with them one
/// of -.4.
const BEYOND: (f64, f64) = (3.0, 0.1);
/// Deviations beyond which a law has nothing, nearly.
const FAR: f64 = 6.0;
/// Knots of the normal law's table in a deviation.
const STEPS: f64 = 32.0;
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

/// What is expected of a value, in half widths of a window around its middle.
#[derive(Debug)]
pub(super) struct Law {
    shape: Shape,
    pub middle: f64,
    pub deviation: f64,
    /// Logarithms of what is expected where a feature is zero at the low end, at the high end, and elsewhere.
    pub expected: [f64; 3],
}

impl Law {
    /// Where it has nothing before, nearly, and nothing beyond.
    pub fn support(&self) -> (f64, f64) {
        match self.shape {
            Shape::Normal => {
                let far = FAR * self.deviation;
                (self.middle - far, self.middle + far)
            }
            Shape::Ends(_) => (-1.0, 1.0),
        }
    }

    /// Its share up to a place in its support.
    pub fn up_to(&self, place: f64) -> f64 {
        match self.shape {
            Shape::Normal => cdf((place - self.middle) / self.deviation),
            Shape::Ends(low) => low,
        }
    }

    /// Of values at both ends, this share of them at the low one.
    fn of_ends(low: f64) -> Self {
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

/// Values at either end, all shares of [`AT_LOW_END`] as likely as each other and together as a deviation is.
pub(super) fn at_ends() -> impl Iterator<Item = Law> {
    AT_LOW_END.into_iter().map(Law::of_ends)
}

/// Laws within [-1, 1].
pub(super) fn within() -> Vec<Law> {
    normal_up_to(1.0)
}

/// Laws around [-1, 1], and beyond.
pub(super) fn around() -> Vec<Law> {
    normal_up_to(BEYOND.0)
}

/// Laws that are spread as widely as [`BEYOND`] says lie up to a distance from 0, others within [-1, 1].
fn normal_up_to(distance: f64) -> Vec<Law> {
    let of_deviation = |step: i32| {
        let deviation = WIDEST * 0.5f64.powf(0.5 * f64::from(step));
        let most = if deviation < BEYOND.1 { 1.0 } else { distance };
        let count = (2.0 * most / (APART * deviation)).ceil();
        let middle = |i: usize| most * (-1.0 + (2.0 * i as f64 + 1.0) / count);
        Law::all(deviation, (0..count as usize).map(middle).collect())
    };
    let laws = (0..DEVIATIONS).flat_map(of_deviation);
    // Values that are nearly all at an end.
    laws.chain(Law::all(LEAST, vec![-1.0, 1.0])).collect()
}

/// The normal law's share up to `x`, within [`FAR`]: by a cubic between knots whose values and densities it has, off by
/// at most h^4/384 of the largest fourth derivative, or 1.4e-9. A fit of few records asks for a hundred thousand.
fn cdf(x: f64) -> f64 {
    /// Shares, and densities over a step, at the knots.
    static KNOTS: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| {
        let knot = |k: usize| k as f64 / STEPS - FAR;
        let of = |x: f64| (normal::cdf(x), normal::density(x) / STEPS);
        (0..=(2.0 * FAR * STEPS) as usize)
            .map(|k| of(knot(k)))
            .collect()
    });
    let t = (x + FAR) * STEPS;
    let k = (t as usize).min(KNOTS.len() - 2);
    let (from, slope) = KNOTS[k];
    let (to, last_slope) = KNOTS[k + 1];
    let (t, rise) = (t - k as f64, to - from);
    let bend = 3.0 * rise - 2.0 * slope - last_slope;
    let twist = slope + last_slope - 2.0 * rise;
    from + t * (slope + t * (bend + t * twist))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between knots, at them and a little beyond the last ones.
    #[test]
    fn shares_are_those_of_the_normal_law() {
        for k in -60_001..=60_001 {
            let x = f64::from(k) * 1e-4;
            assert!((cdf(x) - normal::cdf(x)).abs() < 1.5e-9, "{x}");
        }
    }
}

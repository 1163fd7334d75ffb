//! How many targets of a regression fall into public bins of a window.

use std::sync::Arc;

use super::Question;
use super::gaussian_sum::GaussianSum;
use super::histograms::Bins;
use super::statement::Statement;
use crate::error::{Error, Result};
use crate::numeric::directed::{mul_up, sqrt_up};

/// Noisy numbers of targets in the bins of a window, which is said when it is asked; targets beyond it count at its
/// ends.
///
/// **Sensitivity**: a record is in one bin of each of k kinds. Its contribution has k ones and no negative entry, so
/// sqrt(2 k) for a replaced record and sqrt(k) for one added or removed, m times that for m of them.
#[derive(Debug, Clone)]
pub struct TargetHistogram {
    pub(crate) sum: GaussianSum,
    pub(crate) bins: Bins,
}

/// Where bins are, in scaled units of targets: all of them in [-1, 1], or a part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    middle: f64,
    half: f64,
}

impl Window {
    /// All that targets can be.
    pub const ALL: Self = Self {
        middle: 0.0,
        half: 1.0,
    };

    /// Least half width: floats tell its bins apart.
    pub const LEAST: f64 = 1.0 / (1u64 << 32) as f64;

    /// The part of it around a point, so far to both sides; wider where floats would not tell its bins apart. What is
    /// no number gives all of it.
    pub fn around(self, point: f64, reach: f64) -> Self {
        if point.is_nan() || reach.is_nan() {
            return self;
        }
        let (low, high) = (self.at(-1.0), self.at(1.0));
        let (from, to) = ((point - reach).max(low), (point + reach).min(high));
        let half = (0.5 * (to - from)).max(Self::LEAST).min(self.half);
        let room = self.half - half;
        Self {
            middle: (0.5 * (from + to)).clamp(self.middle - room, self.middle + room),
            half,
        }
    }

    /// The middle of it.
    pub fn middle(self) -> f64 {
        self.middle
    }

    /// Half of its width.
    pub fn half(self) -> f64 {
        self.half
    }

    /// Where a point is in it, from -1 to 1, or beyond.
    pub fn place(self, point: f64) -> f64 {
        (point - self.middle) / self.half
    }

    /// The point at `place` in it, from -1 to 1.
    pub fn at(self, place: f64) -> f64 {
        self.middle + self.half * place
    }
}

impl Statement {
    /// A histogram of the targets of a regression, with noise of standard deviation `multiplier` times the
    /// sensitivity.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `scale` for targets that are classes, and noise that the exact sampler does
    /// not take.
    pub fn target_histogram(
        self: &Arc<Self>,
        multiplier: f64,
        bins: Bins,
    ) -> Result<Question<TargetHistogram>> {
        if self.schema().target().is_classes() {
            let problem = "of targets are those of a regression, not classes";
            return Err(Error::invalid("scale", problem));
        }
        let exact = mul_up(self.changed_non_negative(), sqrt_up(bins.of_one() as f64));
        let sum = GaussianSum::new(exact, bins.thresholds().len() as f64, multiplier)?;
        let events = vec![(sum.event()?, 1)];
        Ok(Question::new(self, TargetHistogram { sum, bins }, events))
    }
}

impl Question<TargetHistogram> {
    /// Standard deviation of the noise on a bin, in the units of the answer.
    pub fn noise_scale(&self) -> f64 {
        self.answer.sum.sigma()
    }

    /// One unit of the answer in records.
    pub fn unit(&self) -> f64 {
        self.answer.sum.unit()
    }

    /// Standard deviation of the noise on a bin, in records.
    pub fn noise(&self) -> f64 {
        self.noise_scale() * self.unit()
    }

    /// Its bins.
    pub fn bins(&self) -> Bins {
        self.answer.bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::{Adjacency, Event};
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use proptest::prelude::*;

    fn statement(target: Target, adjacency: Adjacency, person: usize) -> Arc<Statement> {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let schema = Schema::new(1, bounds, Geometry::Centred, target, true, None).unwrap();
        Statement::new(schema, 100, adjacency, person).unwrap()
    }

    /// sqrt(2 k) of a replaced record in k bins, sqrt(k) of one that is added, as often as a person has records; and
    /// classes have no histogram.
    #[test]
    fn the_sensitivity_is_that_of_a_bin_of_each_kind() {
        let reals = Target::Interval {
            low: 0.0,
            high: 3.0,
        };
        for (adjacency, person, squared) in [
            (Adjacency::ReplaceOne, 1, 2.0),
            (Adjacency::AddRemove, 1, 1.0),
            (Adjacency::ReplaceOne, 3, 18.0),
        ] {
            for (bins, of_one) in [(Bins::Fine, 1.0), (Bins::FineAndWide, 2.0)] {
                let about = statement(reals, adjacency, person);
                let question = about.target_histogram(7.0, bins).unwrap();
                let [(Event::Gaussian { sensitivity, sigma }, 1)] = question.events()[..] else {
                    panic!("{:?}", question.events());
                };
                let exact = f64::sqrt(squared * of_one);
                assert!(sensitivity >= exact && sensitivity < exact * (1.0 + 1e-12));
                assert!(sigma >= 7.0 * sensitivity && question.noise_scale() == sigma);
            }
        }
        let classes = statement(Target::Classes, Adjacency::ReplaceOne, 1);
        assert!(classes.target_histogram(7.0, Bins::Fine).is_err());
    }

    proptest! {
        /// Windows lie within what they are a part of, all that targets or counts can be, hold what lies there of where
        /// they should be, and no two ends of their bins are one, whatever is asked for; wide ones are the whole.
        #[test]
        fn windows_lie_within_what_targets_can_be(
            point in -1.5..1.5f64,
            exponent in -60.0..2.0f64,
            odd in prop::sample::select(vec![0.0, f64::NAN, f64::INFINITY, -1.0]),
        ) {
            for (whole, least) in [(Window::ALL, -1.0), (Window::ALL.around(0.5, 0.5), 0.0)] {
                for reach in [exponent.exp2(), odd] {
                    let window = whole.around(point, reach);
                    let (low, high) = (window.at(-1.0), window.at(1.0));
                    prop_assert!(low >= least - 1e-15 && high <= 1.0 + 1e-15);
                    if reach > 0.0 {
                        for end in [point - reach, point + reach] {
                            let held = low - 1e-15 <= end && end <= high + 1e-15;
                            prop_assert!(held || end <= least + 1e-15 || end >= 1.0 - 1e-15);
                        }
                    }
                    let ends: Vec<f64> =
                        (Bins::Fine.ends().iter()).map(|&(_, high)| window.at(high)).collect();
                    prop_assert!(ends.windows(2).all(|pair| pair[0] < pair[1]));
                    prop_assert!((window.at(window.place(point)) - point).abs() < 1e-9);
                }
                prop_assert_eq!(whole.around(point, 2.5), whole);
            }
        }
    }
}

//! How many values of features, or of targets, fall into public bins.

use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

use super::Question;
use super::gaussian_sum::GaussianSum;
use super::statement::Statement;
use crate::error::{Error, Result};
use crate::numeric::directed::{mul_up, sqrt_up};
use crate::numeric::kernel::MAX_FEATURE;

/// Noisy numbers of values in the bins of every one of some features, or in those of the targets.
///
/// Bins are public: fine ones, 1/32 of the lattice each, the first and the last of them halved again and again towards
/// the end, where many values may be; and wide ones of an eighth over the same values, which stand out of more noise
/// where values are spread over many of the fine ones.
///
/// **Sensitivity**: a record is in one fine and one wide bin of each of c features. Its contribution has 2 c ones and
/// no negative entry, so 2 sqrt(c) for a replaced record and sqrt(2 c) for one added or removed, m times that for m of
/// them. Targets are one feature.
#[derive(Debug, Clone)]
pub struct Histograms {
    pub(crate) sum: GaussianSum,
    pub(crate) of: HistogramsOf,
}

/// What has a histogram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistogramsOf {
    /// Each of these features, ascending.
    Features(Vec<u32>),
    /// The targets of a regression.
    Targets,
}

/// Distance of neighbouring thresholds on the lattice, a power of two.
pub(crate) const STRIDE: i64 = 32;
/// Targets have thresholds at all multiples of 2^-BITS, which are as many.
pub(crate) const BITS: u32 = 9;
/// Thresholds at and above the lower end of the lattice, up to the upper end.
const THRESHOLDS: usize = (2 << BITS) + 1;
/// Thresholds that a fine bin spans where it is not halved, a power of two.
const FINE: usize = 32;
/// Thresholds that a wide bin spans.
const WIDE: usize = 128;
/// Bins that a value is in.
const BINS_OF_ONE: f64 = 2.0;

/// The thresholds of each bin in turn, the fine ones first.
pub(crate) fn bins() -> Vec<Range<usize>> {
    let halves = || (0..FINE.ilog2()).map(|k| 1 << k);
    let whole = repeat_n(FINE, (THRESHOLDS - 1) / FINE - 2);
    // No value is at the first threshold, which is one step beyond the lattice.
    let fine = ([2].into_iter().chain(halves()))
        .chain(whole)
        .chain(halves().rev())
        .chain([1]);
    let wide = [WIDE + 1]
        .into_iter()
        .chain(repeat_n(WIDE, THRESHOLDS / WIDE - 1));
    let mut start = 0;
    let ranges = fine.chain(wide).map(|width| {
        let bin = start..start + width;
        start = bin.end % THRESHOLDS;
        bin
    });
    ranges.collect()
}

impl Histograms {
    /// The bins in scaled units of a centred schema, the fine ones first, both kinds ascending: a bin has the values
    /// above its first end, up to its second.
    ///
    /// ```
    /// use dpsparse::question::Histograms;
    ///
    /// let bins = Histograms::bins();
    /// assert!(bins.iter().all(|(low, high)| low < high));
    /// assert_eq!(bins.iter().filter(|(low, high)| (*low..*high).contains(&0.3)).count(), 2);
    /// ```
    pub fn bins() -> Vec<(f64, f64)> {
        let lowest = (THRESHOLDS as i64 - 1) / 2 * STRIDE;
        let at = |threshold: i64| (threshold * STRIDE - lowest) as f64 / f64::from(MAX_FEATURE);
        let ends = |bin: Range<usize>| (at(bin.start as i64 - 1), at(bin.end as i64 - 1));
        bins().into_iter().map(ends).collect()
    }
}

impl Statement {
    /// Histograms, with noise of standard deviation `multiplier` times the sensitivity.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `scale` for no features, features that are not ascending or that there are
    /// not, and for targets that are classes; and noise that the exact sampler does not take.
    pub fn histograms(
        self: &Arc<Self>,
        multiplier: f64,
        of: HistogramsOf,
    ) -> Result<Question<Histograms>> {
        let schema = self.schema();
        let count = match &of {
            HistogramsOf::Features(features) => {
                let ascending = features.windows(2).all(|pair| pair[0] < pair[1]);
                let p = schema.n_features();
                if !ascending || (features.last()).is_none_or(|&j| j as usize >= p) {
                    return Err(Error::invalid("scale", "needs features of the records"));
                }
                features.len()
            }
            HistogramsOf::Targets if schema.target().is_classes() => {
                let problem = "of targets are those of a regression, not classes";
                return Err(Error::invalid("scale", problem));
            }
            HistogramsOf::Targets => 1,
        };
        let contribution = sqrt_up(BINS_OF_ONE * count as f64);
        let exact = mul_up(self.changed_non_negative(), contribution);
        let entries = count * bins().len();
        let sum = GaussianSum::new(exact, entries as f64, multiplier)?;
        let events = vec![(sum.event()?, 1)];
        Ok(Question::new(self, Histograms { sum, of }, events))
    }
}

impl Question<Histograms> {
    /// Standard deviation of the noise on a bin, in the units of the answer.
    pub fn noise_scale(&self) -> f64 {
        self.answer.sum.sigma()
    }

    /// One unit of the answer in records.
    pub fn unit(&self) -> f64 {
        self.answer.sum.unit()
    }

    /// What has a histogram.
    pub fn of(&self) -> &HistogramsOf {
        &self.answer.of
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::{Adjacency, Event};
    use crate::schema::{Bounds, Geometry, Schema, Target};

    fn statement(adjacency: Adjacency, person: usize) -> Arc<Statement> {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let (geometry, target) = (Geometry::Centred, Target::Classes);
        let schema = Schema::new(5, bounds, geometry, target, true, None).unwrap();
        Statement::new(schema, 100, adjacency, person).unwrap()
    }

    /// 2 sqrt(c) of a replaced record, sqrt(2 c) of one that is added, as often as a person has records.
    #[test]
    fn the_sensitivity_is_that_of_two_bins_a_feature() {
        let replace = Adjacency::ReplaceOne;
        for (adjacency, person, squared) in [
            (replace, 1, 4.0),
            (Adjacency::AddRemove, 1, 2.0),
            (replace, 3, 36.0),
        ] {
            for c in 1..=5u32 {
                let about = statement(adjacency, person);
                let question = about
                    .histograms(7.0, HistogramsOf::Features((0..c).collect()))
                    .unwrap();
                let [(Event::Gaussian { sensitivity, sigma }, 1)] = question.events()[..] else {
                    panic!("{:?}", question.events());
                };
                let exact = (squared * f64::from(c)).sqrt();
                assert!(sensitivity >= exact && sensitivity < exact * (1.0 + 1e-12));
                assert!(sigma >= 7.0 * sensitivity && question.noise_scale() == sigma);
            }
        }
    }

    #[test]
    fn features_are_those_of_the_records_in_order() {
        let about = statement(Adjacency::ReplaceOne, 1);
        assert!(
            about
                .histograms(1.0, HistogramsOf::Features(vec![0, 4]))
                .is_ok()
        );
        for features in [vec![], vec![5], vec![1, 1], vec![2, 0]] {
            let error = about
                .histograms(1.0, HistogramsOf::Features(features))
                .unwrap_err();
            assert_eq!(error.to_string(), "scale needs features of the records");
        }
    }
}

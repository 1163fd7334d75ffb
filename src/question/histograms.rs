//! How many values of features fall into public bins.

use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

use super::Question;
use super::gaussian_sum::GaussianSum;
use super::statement::Statement;
use crate::error::{Error, Result};
use crate::numeric::directed::{mul_up, sqrt_up};
use crate::numeric::kernel::MAX_FEATURE;

/// Noisy numbers of values in the bins of every one of some features.
///
/// **Sensitivity**: a record is in one fine bin of each of c features, and in one wide bin where there are any. Its
/// contribution has k = c ones, or 2 c, and no negative entry, so sqrt(2 k) for a replaced record and sqrt(k) for one
/// added or removed, m times that for m of them.
#[derive(Debug, Clone)]
pub struct Histograms {
    pub(crate) sum: GaussianSum,
    pub(crate) features: Vec<u32>,
    pub(crate) bins: Bins,
}

/// Public bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bins {
    /// 1/32 of the lattice each, the first and the last halved again and again towards the end, where many values may
    /// be.
    Fine,
    /// These, and wide ones of an eighth over the same values: they stand out of more noise where values are spread
    /// over many of the fine ones.
    FineAndWide,
}

/// Distance of neighbouring thresholds on the lattice, a power of two.
pub(crate) const STRIDE: i64 = 32;
/// Thresholds at and above the lower end of the lattice, up to the upper end.
const THRESHOLDS: usize = 1025;
/// Thresholds that a fine bin spans where it is not halved, a power of two.
const FINE: usize = 32;
/// Thresholds that a wide bin spans.
const WIDE: usize = 128;

impl Bins {
    /// In how many of them a value is.
    pub(super) fn of_one(self) -> usize {
        match self {
            Self::Fine => 1,
            Self::FineAndWide => 2,
        }
    }

    /// The thresholds of each in turn, the fine ones first.
    pub(crate) fn thresholds(self) -> Vec<Range<usize>> {
        let halves = || (0..FINE.ilog2()).map(|k| 1 << k);
        let whole = repeat_n(FINE, (THRESHOLDS - 1) / FINE - 2);
        // No value is at the first threshold, which is one step beyond the lattice.
        let fine = ([2].into_iter().chain(halves()))
            .chain(whole)
            .chain(halves().rev())
            .chain([1]);
        let wide = [WIDE + 1]
            .into_iter()
            .chain(repeat_n(WIDE, THRESHOLDS / WIDE - 1))
            .filter(|_| self == Self::FineAndWide);
        let mut start = 0;
        let bins = fine.chain(wide).map(|width| {
            let bin = start..start + width;
            start = bin.end % THRESHOLDS;
            bin
        });
        bins.collect()
    }

    /// The fine bins that each in turn is made of.
    pub(crate) fn parts(self) -> Vec<Range<usize>> {
        let fine = Self::Fine.thresholds();
        let before = |threshold: usize| fine.partition_point(|part| part.start < threshold);
        let parts = |bin: Range<usize>| before(bin.start)..before(bin.end);
        self.thresholds().into_iter().map(parts).collect()
    }

    /// Their ends in scaled units of a centred schema, of the fine ones first, both kinds ascending: a bin has the
    /// values above its first end, up to its second.
    ///
    /// ```
    /// use dpsparse::question::Bins;
    ///
    /// for (bins, of_one) in [(Bins::Fine, 1), (Bins::FineAndWide, 2)] {
    ///     let holds = |(low, high): &(f64, f64)| *low < 0.3 && 0.3 <= *high;
    ///     assert_eq!(bins.ends().iter().filter(|bin| holds(bin)).count(), of_one);
    /// }
    /// ```
    pub fn ends(self) -> Vec<(f64, f64)> {
        let lowest = (THRESHOLDS as i64 - 1) / 2 * STRIDE;
        let at = |threshold: i64| (threshold * STRIDE - lowest) as f64 / f64::from(MAX_FEATURE);
        let ends = |bin: Range<usize>| (at(bin.start as i64 - 1), at(bin.end as i64 - 1));
        self.thresholds().into_iter().map(ends).collect()
    }
}

impl Statement {
    /// Histograms of features, ascending, with noise of standard deviation `multiplier` times the sensitivity.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `scale` for no features, features that are not ascending or that there are
    /// not, and noise that the exact sampler does not take.
    pub fn histograms(
        self: &Arc<Self>,
        multiplier: f64,
        features: Vec<u32>,
        bins: Bins,
    ) -> Result<Question<Histograms>> {
        let ascending = features.windows(2).all(|pair| pair[0] < pair[1]);
        let p = self.schema().n_features();
        if !ascending || (features.last()).is_none_or(|&j| j as usize >= p) {
            return Err(Error::invalid("scale", "needs features of the records"));
        }
        let contribution = sqrt_up((bins.of_one() * features.len()) as f64);
        let exact = mul_up(self.changed_non_negative(), contribution);
        let entries = features.len() * bins.thresholds().len();
        let sum = GaussianSum::new(exact, entries as f64, multiplier)?;
        let events = vec![(sum.event()?, 1)];
        let answer = Histograms {
            sum,
            features,
            bins,
        };
        Ok(Question::new(self, answer, events))
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

    /// Standard deviation of the noise on a bin, in records.
    pub fn noise(&self) -> f64 {
        self.noise_scale() * self.unit()
    }

    /// Its bins.
    pub fn bins(&self) -> Bins {
        self.answer.bins
    }

    /// What has a histogram.
    pub fn features(&self) -> &[u32] {
        &self.answer.features
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

    /// sqrt(2 k) of a replaced record in k bins, sqrt(k) of one that is added, as often as a person has records.
    #[test]
    fn the_sensitivity_is_that_of_a_bin_of_each_kind_a_feature() {
        let replace = Adjacency::ReplaceOne;
        for (adjacency, person, squared) in [
            (replace, 1, 2.0),
            (Adjacency::AddRemove, 1, 1.0),
            (replace, 3, 18.0),
        ] {
            for (c, (bins, of_one)) in (1..=5u32)
                .flat_map(|c| [(Bins::Fine, 1.0), (Bins::FineAndWide, 2.0)].map(|bins| (c, bins)))
            {
                let about = statement(adjacency, person);
                let question = about.histograms(7.0, (0..c).collect(), bins).unwrap();
                let [(Event::Gaussian { sensitivity, sigma }, 1)] = question.events()[..] else {
                    panic!("{:?}", question.events());
                };
                let exact = (squared * of_one * f64::from(c)).sqrt();
                assert!(sensitivity >= exact && sensitivity < exact * (1.0 + 1e-12));
                assert!(sigma >= 7.0 * sensitivity && question.noise_scale() == sigma);
            }
        }
    }

    #[test]
    fn features_are_those_of_the_records_in_order() {
        let about = statement(Adjacency::ReplaceOne, 1);
        let ask = |features| about.histograms(1.0, features, Bins::Fine);
        assert!(ask(vec![0, 4]).is_ok());
        for features in [vec![], vec![5], vec![1, 1], vec![2, 0]] {
            let error = ask(features).err().unwrap();
            assert_eq!(error.to_string(), "scale needs features of the records");
        }
    }
}

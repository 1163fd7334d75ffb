//! How many values of features fall into public bins.

use std::sync::Arc;

use super::Question;
use super::gaussian_sum::GaussianSum;
use super::statement::Statement;
use crate::error::{Error, Result};
use crate::numeric::directed::{mul_up, sqrt_up};
use crate::numeric::kernel::MAX_FEATURE;

/// Noisy numbers of values in the bins of every one of some features.
///
/// Bins are public: 1/32 of the lattice each, the first and the last of them halved again and again towards the end,
/// where many values may be.
///
/// **Sensitivity**: a record is in one bin of each of c features. Its contribution has c ones and no negative entry, so
/// sqrt(2 c) for a replaced record and sqrt(c) for one added or removed, m times that for m of them.
#[derive(Debug, Clone)]
pub struct Histograms {
    pub(crate) sum: GaussianSum,
    /// Ascending.
    pub(crate) features: Vec<u32>,
}

/// Distance of neighbouring thresholds on the lattice, a power of two.
pub(crate) const STRIDE: i64 = 32;
/// Thresholds that a wide bin spans, a power of two.
const WIDE: usize = 32;
/// Thresholds at and above the lower end of the lattice, up to the upper end.
const THRESHOLDS: usize = 1025;

/// For each bin in turn the number of thresholds up to its upper end.
pub(crate) fn thresholds_up_to() -> Vec<usize> {
    let halves = || (0..WIDE.ilog2()).map(|k| 1 << k);
    let wide = std::iter::repeat_n(WIDE, (THRESHOLDS - 1) / WIDE - 2);
    // No value is at the first threshold, which is one step beyond the lattice.
    let low = [2].into_iter().chain(halves());
    let high = halves().rev().chain([1]);
    let widths = low.chain(wide).chain(high);
    let mut sum = 0;
    let up_to = |width: usize| {
        sum += width;
        sum
    };
    widths.map(up_to).collect()
}

impl Histograms {
    /// The upper ends of the bins, ascending, in scaled units of a centred schema: a bin has the values above the end
    /// before, up to its own.
    ///
    /// ```
    /// use dpsparse::question::Histograms;
    ///
    /// let ends = Histograms::ends();
    /// assert!(ends.windows(2).all(|pair| pair[0] < pair[1]));
    /// assert!(ends[0] > -1.0 && *ends.last().unwrap() >= 1.0);
    /// ```
    pub fn ends() -> Vec<f64> {
        let lowest = (THRESHOLDS as i64 - 1) / 2 * STRIDE;
        let end = |&thresholds: &usize| (thresholds as i64 - 1) * STRIDE - lowest;
        let ends = thresholds_up_to();
        ends.iter()
            .map(|thresholds| end(thresholds) as f64 / f64::from(MAX_FEATURE))
            .collect()
    }
}

impl Statement {
    /// Histograms of these features, with noise of standard deviation `multiplier` times the sensitivity.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `scale` for no features, features that are not ascending or that there are
    /// not, and noise that the exact sampler does not take.
    pub fn histograms(
        self: &Arc<Self>,
        multiplier: f64,
        features: Vec<u32>,
    ) -> Result<Question<Histograms>> {
        let p = self.schema().n_features();
        let ascending = features.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending || (features.last()).is_none_or(|&j| j as usize >= p) {
            return Err(Error::invalid("scale", "needs features of the records"));
        }
        let contribution = sqrt_up(features.len() as f64);
        let exact = mul_up(self.changed_non_negative(), contribution);
        let entries = features.len() * thresholds_up_to().len();
        let sum = GaussianSum::new(exact, entries as f64, multiplier)?;
        let events = vec![(sum.event()?, 1)];
        Ok(Question::new(self, Histograms { sum, features }, events))
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

    /// The features, ascending.
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

    /// sqrt(2 c) of a replaced record, sqrt(c) of one that is added, as often as a person has records.
    #[test]
    fn the_sensitivity_is_that_of_one_bin_a_feature() {
        let replace = Adjacency::ReplaceOne;
        for (adjacency, person, squared) in [
            (replace, 1, 2.0),
            (Adjacency::AddRemove, 1, 1.0),
            (replace, 3, 18.0),
        ] {
            for c in 1..=5u32 {
                let about = statement(adjacency, person);
                let question = about.histograms(7.0, (0..c).collect()).unwrap();
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
        assert!(about.histograms(1.0, vec![0, 4]).is_ok());
        for features in [vec![], vec![5], vec![1, 1], vec![2, 0]] {
            let error = about.histograms(1.0, features).unwrap_err();
            assert_eq!(error.to_string(), "scale needs features of the records");
        }
    }
}

use super::quantile::{accumulate, quantile_scores};
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::exact::selection::{ExponentialMechanism, InverseTemperature};
use crate::numeric::kernel::MAX_FEATURE;
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::counts::Thresholds;
use crate::privacy::ledger::Budget;

/// Candidates of all features together: beyond, the grid of thresholds gets coarser.
const MOST_CANDIDATES: usize = 1 << 26;

/// Features that are counted at once.
const FEATURES: usize = 64;

/// Whose ranges are released.
#[derive(Debug, Clone, PartialEq)]
pub enum RangesOf {
    /// One range for each of these features, ascending.
    Each(Vec<u32>),
    /// One range for the values of all features together, `n_features` of them.
    Together(usize),
}

/// How the ranges of features are released: two quantiles of each by the exponential mechanism (Smith 2011).
///
/// Candidates are the thresholds t on the lattice of a feature, k = round(q n) is public, and scores are those of
/// `quantile_scores`. Replacing (or adding, or removing) a record moves #{i: x_ij <= t} by at most 1:
/// sensitivity m for m records a person. The values of p features together move it by p times that. Each choice is a
/// bounded-range event; they compose.
#[derive(Debug, Clone)]
pub struct RangePlan {
    epsilon0: f64,
    sensitivity: u64,
    /// q of the lower end; the upper end has 1 - q.
    level: f64,
    n_samples: usize,
    of: RangesOf,
    event: Event,
}

impl RangePlan {
    /// Two choices of bounded range `epsilon0` a range.
    ///
    /// # Errors
    /// A level outside (0, 1/2), and an epsilon0 that the exact sampler does not take.
    pub fn new(
        epsilon0: f64,
        level: f64,
        n_samples: usize,
        of: RangesOf,
        records_per_person: usize,
    ) -> Result<Self> {
        if !(level > 0.0 && level < 0.5) {
            return Err(Error::invalid("scale", "needs a quantile below one half"));
        }
        let together = match of {
            RangesOf::Each(_) => 1,
            RangesOf::Together(n_features) => n_features,
        };
        let sensitivity = (records_per_person as u64)
            .checked_mul(together as u64)
            .ok_or_else(|| Error::invalid("records_per_person", "is too large"))?;
        InverseTemperature::new(epsilon0, sensitivity)?;
        Ok(Self {
            epsilon0,
            sensitivity,
            level,
            n_samples,
            of,
            event: Event::exponential(epsilon0)?,
        })
    }

    /// Whose ranges they are.
    pub fn of(&self) -> &RangesOf {
        &self.of
    }

    /// q of the lower ends; the upper ends have 1 - q.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// Number of ranges.
    pub fn len(&self) -> usize {
        match &self.of {
            RangesOf::Each(features) => features.len(),
            RangesOf::Together(_) => 1,
        }
    }

    /// Whether no range is released.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The events of the release.
    pub fn events(&self) -> Vec<(Event, u64)> {
        match self.len() as u64 {
            0 => Vec::new(),
            ranges => vec![(self.event, 2 * ranges)],
        }
    }

    /// Spends the events and draws the ranges (low, high), low <= high, in scaled units.
    ///
    /// # Errors
    /// [`Error::Randomness`].
    pub fn release(&self, data: &BoundedData, source: &mut Source) -> Result<Vec<(f64, f64)>> {
        let events = self.events();
        Budget::new(&events).spend_all(&events)?;
        source.renew_after_fork()?;
        let limit = i64::from(MAX_FEATURE);
        let stride = (2 * limit as usize * self.len())
            .div_ceil(MOST_CANDIDATES)
            .max(1) as i64;
        let thresholds = Thresholds { limit, stride };
        let temperature = InverseTemperature::new(self.epsilon0, self.sensitivity)?;
        let entries = match &self.of {
            RangesOf::Each(_) => 1.0,
            RangesOf::Together(n_features) => *n_features as f64,
        } * self.n_samples as f64;
        let (mut scores, mut storage) = (Vec::new(), Vec::new());
        let mut choose = |counts: &[i64], q: f64, source: &mut Source| -> Result<i64> {
            quantile_scores(counts, (q * entries).round() as i64, &mut scores);
            let mechanism =
                ExponentialMechanism::new(&scores, &temperature, std::mem::take(&mut storage))?;
            let choice = mechanism.draw(source);
            storage = mechanism.into_storage();
            Ok(thresholds.at(choice))
        };
        let unit = f64::from(MAX_FEATURE);
        let mut choose_both = |mut counts: Vec<i64>| -> Result<(f64, f64)> {
            accumulate(&mut counts);
            let a = choose(&counts, self.level, source)?;
            let b = choose(&counts, 1.0 - self.level, source)?;
            Ok((a.min(b) as f64 / unit, a.max(b) as f64 / unit))
        };
        let mut ranges = Vec::with_capacity(self.len());
        match &self.of {
            // Some features at a time: counts of all of them at once would fill memory.
            RangesOf::Each(features) => {
                for features in features.chunks(FEATURES) {
                    for counts in data.counts_of_features(features, thresholds) {
                        ranges.push(choose_both(counts)?);
                    }
                }
            }
            RangesOf::Together(_) => ranges.push(choose_both(data.counts_of_all(thresholds))?),
        }
        Ok(ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::privacy::{Compressed, Orientation};
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;

    fn schema(p: usize) -> Schema {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![3.0],
        };
        Schema::new(p, bounds, Geometry::Centred, Target::Classes, true, None).unwrap()
    }

    /// The same seed gives the same ranges, however the records are stored.
    #[test]
    fn storage_changes_no_range() {
        let x = Array2::from_shape_fn((400, 3), |(i, j)| {
            f64::from(u8::from((i + j) % (j + 2) == 0)) * (i % 29) as f64 / 9.0
        });
        for of in [RangesOf::Each(vec![0, 2]), RangesOf::Together(3)] {
            let plan = RangePlan::new(0.2, 0.1, 400, of, 1).unwrap();
            let released = all_kinds(&x, &schema(3))
                .map(|data| plan.release(&data, &mut Source::seeded(5)).unwrap());
            assert_eq!(released[0], released[1]);
            assert_eq!(released[0], released[2]);
        }
    }

    /// 10^6 records with 2 * 10^4 features would fill 40 GB if they were stored densely.
    #[test]
    fn sparse_records_stay_sparse() {
        let (n, p) = (1_000_000, 20_000);
        // Feature 7 is 1 in the first half of the records.
        let starts: Vec<i64> = (0..=p)
            .map(|j| if j <= 7 { 0 } else { n as i64 / 2 })
            .collect();
        let indices: Vec<i64> = (0..n as i64 / 2).collect();
        let x = Compressed {
            starts: &starts,
            indices: &indices,
            values: &vec![1.0; n / 2],
        };
        let y = vec![1.0; n];
        let data =
            BoundedData::from_sparse(x, Orientation::Columns, (n, p), &y, schema(p)).unwrap();
        let plan = RangePlan::new(0.1, 0.1, n, RangesOf::Each(vec![7, 9]), 1).unwrap();
        let ranges = plan.release(&data, &mut Source::seeded(1)).unwrap();
        // In scaled units 0 is -0.5 and 1 is 0.
        let near = |(low, high): (f64, f64), to: (f64, f64)| {
            (low - to.0).abs() < 1e-3 && (high - to.1).abs() < 1e-3
        };
        assert!(
            near(ranges[0], (-0.5, 0.0)) && near(ranges[1], (-0.5, -0.5)),
            "{ranges:?}"
        );
    }
}

use crate::accounting::calibrate::calibrate;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::plan::PrivacyClaim;
use crate::plan::defaults::{RANGE_LEVELS, RANGE_NATS, level_times_epsilon0};
use crate::privacy::answer::{RangePlan, RangesOf};
use crate::privacy::{BoundedData, Bounds, Geometry, Schema, Target};

/// Private ranges of features as a release of their own: two quantiles of each by the exponential mechanism (Smith
/// 2011; MECHANISMS M2), for whatever reads the records afterwards.
///
/// Neighbours, sensitivity (one value of a feature for each record that a person owns) and its proof stand at
/// [`RangePlan`]. A feature whose bounds are equal is constant and costs nothing; the 2 k choices of the k others are
/// events of one range epsilon0, the largest that the accountant allows for (epsilon, delta) (M12). Targets are not
/// read.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureScaler {
    /// Number of records, budget, neighbours.
    pub claim: PrivacyClaim,
    /// Number of features.
    pub n_features: usize,
    /// Public bounds of the features.
    pub bounds: Bounds,
    /// Quantile at the lower end of a range, in (0, 1/2); the upper end has 1 - level. None: the lowest that this
    /// epsilon0 finds reliably, within [`RANGE_LEVELS`].
    pub level: Option<f64>,
}

/// What a [`FeatureScaler`] will release and spend, fixed before any record is read.
#[derive(Debug, Clone)]
pub struct FeatureScalerPlan {
    claim: PrivacyClaim,
    delta: f64,
    schema: Schema,
    level: f64,
    reliable: bool,
    /// None where every feature is constant.
    ranges: Option<RangePlan>,
}

impl FeatureScaler {
    /// Plans the release: level, epsilon0, events.
    ///
    /// ```
    /// use dpsparse::mechanism::{FeatureScaler};
    /// use dpsparse::plan::{PrivacyClaim};
    /// use dpsparse::accounting::event::Adjacency;
    /// use dpsparse::exact::noise::source::Source;
    /// use dpsparse::privacy::{BoundedData, Bounds};
    /// let scaler = FeatureScaler {
    ///     claim: PrivacyClaim {
    ///         n_samples: 2000,
    ///         epsilon: 1.0,
    ///         delta: Some(1e-6),
    ///         adjacency: Adjacency::ReplaceOne,
    ///         records_per_person: 1,
    ///     },
    ///     n_features: 2,
    ///     bounds: Bounds { lower: vec![0.0], upper: vec![1000.0] },
    ///     level: None,
    /// };
    /// let plan = scaler.plan()?;
    /// assert!(plan.is_reliable() && plan.level() == 0.1 && plan.events()[0].1 == 4);
    ///
    /// let x = ndarray::Array2::from_shape_fn((2000, 2), |(i, j)| (i % 50 + 100 * j) as f64);
    /// let data = BoundedData::from_dense(x.view(), &[1.0; 2000], plan.schema().clone())?;
    /// let (ranges, certificate) = dpsparse::release::release_ranges(&plan, &data, &mut Source::secure()?)?;
    /// assert!((ranges[1].0 - 105.0).abs() < 3.0 && (ranges[1].1 - 144.0).abs() < 3.0);
    /// assert!(certificate.verify() && certificate.epsilon(1e-6)? <= 1.0);
    /// # Ok::<(), dpsparse::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming the public parameter that is out of its domain.
    pub fn plan(&self) -> Result<FeatureScalerPlan> {
        let claim = self.claim;
        let delta = claim.validate()?;
        if (self.level).is_some_and(|level| !(level > 0.0 && level < 0.5)) {
            return Err(Error::invalid(
                "level",
                "must lie strictly between 0 and 1/2",
            ));
        }
        let schema = Schema::new(
            self.n_features,
            self.bounds.clone(),
            Geometry::Centred,
            Target::Classes,
            false,
            None,
        )?;
        let varies = |&j: &u32| {
            let (lo, hi) = self.bounds.of(j as usize);
            lo < hi
        };
        let features: Vec<u32> = (0..self.n_features as u32).filter(varies).collect();
        if features.is_empty() {
            return Ok(FeatureScalerPlan {
                claim,
                delta,
                schema,
                level: self.level.unwrap_or(RANGE_LEVELS.0),
                reliable: true,
                ranges: None,
            });
        }
        let choices = 2 * features.len() as u64;
        let bracket = (1e-12, 1000.0);
        let epsilon0 = calibrate(Event::exponential, choices, claim.epsilon, delta, bracket)
            .map_err(|_: Error| Error::invalid("epsilon", "is too small for so many features"))?;
        let (n, person) = (claim.n_samples, claim.records_per_person);
        let [least, wanted] =
            RANGE_NATS.map(|nats| level_times_epsilon0(nats, n, person) / epsilon0);
        let level = (self.level).unwrap_or(wanted.clamp(RANGE_LEVELS.0, RANGE_LEVELS.1));
        let ranges = RangePlan::new(epsilon0, level, n, RangesOf::Each(features), person)?;
        Ok(FeatureScalerPlan {
            claim,
            delta,
            schema,
            level,
            reliable: level >= least,
            ranges: Some(ranges),
        })
    }
}

impl FeatureScalerPlan {
    /// Number of records, budget, neighbours.
    pub fn claim(&self) -> &PrivacyClaim {
        &self.claim
    }

    /// delta that the release will carry.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The public facts under which records must be ingested; any -1 and +1 do for the targets.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Quantile at the lower end of a range.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// Whether so low a quantile is found reliably: a choice prefers a given threshold in the empty tail to one at the
    /// quantile with odds of exp(-9) at most ([`RANGE_NATS`]).
    pub fn is_reliable(&self) -> bool {
        self.reliable
    }

    /// The events of the release.
    pub fn events(&self) -> Vec<(Event, u64)> {
        self.ranges
            .as_ref()
            .map_or_else(Vec::new, RangePlan::events)
    }

    /// The release in words.
    pub fn describe(&self) -> String {
        let count = self.ranges.as_ref().map_or(0, RangePlan::len);
        let level = self.level;
        format!("private ranges of {count} features, quantiles q and 1 - q of each, q = {level}")
    }

    /// Spends the events and draws the ranges: (low, high) of every feature in the user's units, lo <= low <= high <=
    /// hi. Users call [`crate::release::release_ranges`].
    ///
    /// # Errors
    /// [`Error::Randomness`].
    pub fn execute(&self, data: &BoundedData, source: &mut Source) -> Result<Vec<(f64, f64)>> {
        let p = self.schema.n_features();
        let mut scaled = vec![(-1.0, 1.0); p];
        if let Some(plan) = &self.ranges
            && let RangesOf::Each(features) = plan.of()
        {
            for (&j, range) in features.iter().zip(plan.release(data, source)?) {
                scaled[j as usize] = range;
            }
        }
        let ranges = self.schema.ranges_to_user_units(&scaled);
        Ok((0..p).map(|j| ranges.of(j)).collect())
    }
}

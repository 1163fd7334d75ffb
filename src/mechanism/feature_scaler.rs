use crate::accounting::calibrate::calibrate;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::plan::PrivacyClaim;
use crate::plan::defaults::{LEAST_LEVEL, RANGE_LEVEL, level_times_epsilon0};
use crate::privacy::{
    Bounds, Claim, Geometry, Planned, Program, Question, Schema, Sealed, Session, Statement,
    Target, seal,
};
use crate::question::{Ranges, RangesOf};

/// Private ranges of features as a release of their own: two quantiles of each by the exponential mechanism (Smith
/// 2011; [`crate::theory_of_privacy::selection`]), for whatever reads the records afterwards.
///
/// Neighbours, sensitivity (one value of a feature for each record that a person owns) and its proof stand at
/// [`Ranges`]. A feature whose bounds are equal is constant and costs nothing; the 2 k choices of the k others are
/// events of one range epsilon0, the largest that the accountant allows for (epsilon, delta)
/// ([`crate::theory_of_privacy::noise_and_accounting`]). Targets are not read.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureScaler {
    /// Number of records, budget, neighbours.
    pub claim: PrivacyClaim,
    /// Number of features.
    pub n_features: usize,
    /// Public bounds of the features.
    pub bounds: Bounds,
    /// Quantile at the lower end of a range, in (0, 1/2); the upper end has 1 - level. None: the lowest that this
    /// epsilon0 finds reliably, from [`LEAST_LEVEL`] to [`RANGE_LEVEL`].
    pub level: Option<f64>,
    /// What the release takes for granted beside what the room does.
    pub assumptions: Vec<String>,
}

/// What a [`FeatureScaler`] will release and spend, fixed before any record is read.
#[derive(Debug)]
pub struct FeatureScalerPlan {
    sealed: Sealed<Vec<(f64, f64)>>,
    level: f64,
    reliable: bool,
}

#[derive(Debug)]
struct Quantiles {
    /// None where every feature is constant.
    question: Option<Question<Ranges>>,
}

impl FeatureScaler {
    /// Plans the release: level, epsilon0, events.
    ///
    /// ```
    /// use dpsparse::mechanism::{FeatureScaler};
    /// use dpsparse::plan::{PrivacyClaim};
    /// use dpsparse::accounting::event::Adjacency;
    /// use dpsparse::exact::noise::source::Source;
    /// use dpsparse::privacy::{Bounds, Curator, MemoryLedger, release};
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
    ///     assumptions: vec![],
    /// };
    /// let plan = scaler.plan()?;
    /// assert!(plan.is_reliable() && plan.level() == 0.1 && plan.sealed().events()[0].1 == 4);
    ///
    /// let x = ndarray::Array2::from_shape_fn((2000, 2), |(i, j)| (i % 50 + 100 * j) as f64);
    /// let (curator, mut ledger) = (Curator::from_dense(x.view(), &[1.0; 2000]), MemoryLedger::default());
    /// let source = Source::secure()?;
    /// let ranges = release(plan.sealed(), &curator, &mut ledger, source, &mut |_, _| Ok(()))?;
    /// let (ranges, certificate) = (ranges.value, ranges.certificate);
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
        let (n, person) = (claim.n_samples, claim.records_per_person);
        let statement = Statement::new(schema, n, claim.adjacency, person)?;
        let (mut level, mut reliable) = (self.level.unwrap_or(LEAST_LEVEL), true);
        let mut question = None;
        if !features.is_empty() {
            let choices = 2 * features.len() as u64;
            let bracket = (1e-12, 1000.0);
            let epsilon0 = calibrate(Event::exponential, choices, claim.epsilon, delta, bracket)
                .map_err(|_: Error| {
                    Error::invalid("epsilon", "is too small for so many features")
                })?;
            let [least, wanted] = Ranges::nats(features.len())
                .map(|nats| level_times_epsilon0(nats, n, person) / epsilon0);
            level = (self.level).unwrap_or(wanted.clamp(LEAST_LEVEL, RANGE_LEVEL));
            reliable = level >= least;
            question = Some(statement.ranges(epsilon0, level, RangesOf::Each(features))?);
        }
        let count = question.as_ref().map_or(0, |question| question.of().len());
        let room_claim = Claim {
            epsilon: claim.epsilon,
            delta,
            mechanism: format!(
                "private ranges of {count} features, quantiles q and 1 - q of each, q = {level}"
            ),
            assumptions: self.assumptions.clone(),
        };
        let quantiles = Box::new(Quantiles { question });
        Ok(FeatureScalerPlan {
            sealed: seal(&statement, quantiles, room_claim)?,
            level,
            reliable,
        })
    }
}

impl Program<Vec<(f64, f64)>> for Quantiles {
    fn questions(&self) -> Vec<Planned> {
        self.question.iter().map(Question::once).collect()
    }

    fn run(&self, session: &mut Session<'_>) -> Result<Vec<(f64, f64)>> {
        let p = session.statement().schema().n_features();
        let mut scaled = vec![(-1.0, 1.0); p];
        if let Some(question) = &self.question
            && let RangesOf::Each(features) = question.of()
        {
            for (&j, range) in features.iter().zip(session.ask(question, ())?) {
                scaled[j as usize] = range;
            }
        }
        let ranges = session.statement().schema().ranges_to_user_units(&scaled);
        Ok((0..p).map(|j| ranges.of(j)).collect())
    }
}

impl FeatureScalerPlan {
    /// The sealed program: (low, high) of every feature in the user's units, lo <= low <= high <= hi.
    pub fn sealed(&self) -> &Sealed<Vec<(f64, f64)>> {
        &self.sealed
    }

    /// Quantile at the lower end of a range.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// Whether so low a quantile is found reliably, among as few thresholds as there are at least ([`Ranges::nats`]).
    pub fn is_reliable(&self) -> bool {
        self.reliable
    }
}

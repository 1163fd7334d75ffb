//! Ranges of features: two quantiles of each.

use std::sync::Arc;

use super::quantile::{accumulate, quantile_scores};
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::selection::{ExponentialMechanism, InverseTemperature};
use crate::numeric::kernel::MAX_FEATURE;
use crate::privacy::counts::Thresholds;
use crate::privacy::question::{Answer, Question, Room};
use crate::privacy::records::{Pass, Records, States};
use crate::privacy::statement::Statement;

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

impl RangesOf {
    /// Number of ranges.
    pub fn len(&self) -> usize {
        match self {
            RangesOf::Each(features) => features.len(),
            RangesOf::Together(_) => 1,
        }
    }

    /// Whether no range is released.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Some features at a time: counts of all of them at once would fill memory.
    fn counted_together(&self) -> Vec<Option<&[u32]>> {
        match self {
            RangesOf::Each(features) => features.chunks(FEATURES).map(Some).collect(),
            RangesOf::Together(_) => vec![None],
        }
    }

    /// Values that one record adds to a range.
    fn values(&self) -> usize {
        match self {
            RangesOf::Each(_) => 1,
            RangesOf::Together(n_features) => *n_features,
        }
    }
}

/// Ranges of features: two quantiles of each by the exponential mechanism (Smith 2011).
///
/// Candidates are the thresholds t on the lattice of a feature, k = round(q n) is public, and scores are those of
/// `quantile_scores`. **Sensitivity**: replacing (or adding, or removing) a record moves #{i: x_ij <= t} by at most 1, m
/// of them by m; the values of p features together move it by p times that. Each choice is a bounded-range event; they
/// compose.
#[derive(Debug, Clone)]
pub struct Ranges {
    temperature: InverseTemperature,
    /// q of the lower end; the upper end has 1 - q.
    level: f64,
    /// Rank of q and of 1 - q.
    ranks: (i64, i64),
    of: RangesOf,
}

impl Statement {
    /// Ranges with two choices of bounded range `epsilon0` each, at the quantiles `level` and 1 - `level`.
    ///
    /// # Errors
    /// A level outside (0, 1/2), features that there are not, and an epsilon0 that the exact sampler does not take.
    pub fn ranges(
        self: &Arc<Self>,
        epsilon0: f64,
        level: f64,
        of: RangesOf,
    ) -> Result<Question<Ranges>> {
        if !(level > 0.0 && level < 0.5) {
            return Err(Error::invalid("scale", "needs a quantile below one half"));
        }
        let p = self.schema().n_features();
        let known = match &of {
            RangesOf::Each(features) => features.iter().all(|&j| (j as usize) < p),
            RangesOf::Together(n_features) => *n_features == p,
        };
        if !known {
            return Err(Error::invalid("scale", "needs features of the records"));
        }
        let sensitivity = self
            .records_per_person()
            .checked_mul(of.values() as u64)
            .ok_or_else(|| Error::invalid("records_per_person", "is too large"))?;
        let event = Event::exponential(epsilon0)?;
        let values = of.values() as f64 * self.n_samples() as f64;
        let rank = |q: f64| (q * values).round() as i64;
        let events = match of.len() as u64 {
            0 => Vec::new(),
            ranges => vec![(event, 2 * ranges)],
        };
        let ranges = Ranges {
            temperature: InverseTemperature::new(epsilon0, sensitivity)?,
            level,
            ranks: (rank(level), rank(1.0 - level)),
            of,
        };
        Ok(Question::new(self, ranges, events))
    }
}

impl Question<Ranges> {
    /// Whose ranges they are.
    pub fn of(&self) -> &RangesOf {
        &self.answer.of
    }

    /// q of the lower ends; the upper ends have 1 - q.
    pub fn level(&self) -> f64 {
        self.answer.level
    }
}

impl Answer for Ranges {
    type At<'a> = ();
    /// (low, high) of each range, low <= high, in scaled units.
    type Released = Vec<(f64, f64)>;
    type State = States;

    fn state(&self, _: &dyn Records) -> Result<States> {
        Ok(States::default())
    }

    fn draw(&self, (): (), room: Room<'_, '_, States>) -> Result<Vec<(f64, f64)>> {
        let limit = i64::from(MAX_FEATURE);
        let stride = (2 * limit as usize * self.of.len())
            .div_ceil(MOST_CANDIDATES)
            .max(1) as i64;
        let at = Thresholds { limit, stride };
        let (mut scores, mut storage) = (Vec::new(), Vec::new());
        let mut ranges = Vec::with_capacity(self.of.len());
        for features in self.of.counted_together() {
            let pass = Pass::Ranges { features, at };
            let mut counts = room.records.fold(&pass, room.state, room.watch)?.0;
            for counts in counts.chunks_mut(at.len()) {
                accumulate(counts);
                let mut choose = |rank: i64| -> Result<f64> {
                    quantile_scores(counts, rank, &mut scores);
                    let storage_before = std::mem::take(&mut storage);
                    let mechanism =
                        ExponentialMechanism::new(&scores, &self.temperature, storage_before)?;
                    let choice = mechanism.draw(room.source);
                    storage = mechanism.into_storage();
                    Ok(at.at(choice) as f64 / f64::from(MAX_FEATURE))
                };
                let (a, b) = (choose(self.ranks.0)?, choose(self.ranks.1)?);
                ranges.push((a.min(b), a.max(b)));
            }
        }
        Ok(ranges)
    }
}

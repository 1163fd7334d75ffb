use super::quantile::{accumulate, quantile_scores};
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::exact::selection::{ExponentialMechanism, InverseTemperature};
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::feature_map::FeatureMap;
use crate::privacy::ledger::Budget;

/// Candidates are the largest norm times 2^(-k/PER_OCTAVE) for k from 0 to PER_OCTAVE * OCTAVES.
const PER_OCTAVE: usize = 4;
const OCTAVES: usize = 7;

/// How a quantile of the Euclidean norms of rows is released: by the exponential mechanism on a geometric grid
/// (Smith 2011) below the largest norm that a public map allows.
///
/// Scores are those of `quantile_scores`, k = round(q n) is public. A record moves #{i: |x_i| <= t} by at most 1:
/// sensitivity m for m records a person. One bounded-range event.
#[derive(Debug, Clone)]
pub struct NormPlan {
    epsilon0: f64,
    sensitivity: u64,
    level: f64,
    n_samples: usize,
    event: Event,
}

impl NormPlan {
    /// One choice of bounded range `epsilon0`, of the `level` quantile.
    ///
    /// # Errors
    /// A level outside (0, 1), and an epsilon0 that the exact sampler does not take.
    pub fn new(
        epsilon0: f64,
        level: f64,
        n_samples: usize,
        records_per_person: usize,
    ) -> Result<Self> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::invalid(
                "scale",
                "needs a quantile between zero and one",
            ));
        }
        let sensitivity = records_per_person as u64;
        InverseTemperature::new(epsilon0, sensitivity)?;
        Ok(Self {
            epsilon0,
            sensitivity,
            level,
            n_samples,
            event: Event::exponential(epsilon0)?,
        })
    }

    /// The event of the release.
    pub fn events(&self) -> Vec<(Event, u64)> {
        vec![(self.event, 1)]
    }

    /// Spends the event and draws the norm, positive, in scaled units, of the rows that a public map makes.
    ///
    /// # Errors
    /// [`Error::Randomness`].
    pub fn release(
        &self,
        data: &BoundedData,
        map: &FeatureMap,
        source: &mut Source,
    ) -> Result<f64> {
        let events = self.events();
        Budget::new(&events).spend_all(&events)?;
        source.renew_after_fork()?;
        let largest = map.largest_norm(data.schema());
        let candidates: Vec<f64> = (0..=PER_OCTAVE * OCTAVES)
            .rev()
            .map(|k| largest * 2f64.powf(-(k as f64) / PER_OCTAVE as f64))
            .collect();
        let mut counts = vec![0i64; candidates.len() + 1];
        for norm in map.norms(data) {
            counts[candidates.partition_point(|&t| t < norm)] += 1;
        }
        // The last count, of norms beyond the largest candidate by rounding, belongs to no candidate.
        counts.pop();
        accumulate(&mut counts);
        let mut scores = Vec::with_capacity(counts.len());
        let rank = (self.level * self.n_samples as f64).round() as i64;
        quantile_scores(&counts, rank, &mut scores);
        let temperature = InverseTemperature::new(self.epsilon0, self.sensitivity)?;
        let mechanism = ExponentialMechanism::new(&scores, &temperature, Vec::new())?;
        Ok(candidates[mechanism.draw(source)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;

    fn release(rows: &Array2<f64>, epsilon0: f64, level: f64) -> f64 {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let (n, p) = rows.dim();
        let schema = Schema::new(p, bounds, Geometry::Uncentred, Target::Classes, false, None);
        let data = BoundedData::from_dense(rows.view(), &vec![1.0; n], schema.unwrap()).unwrap();
        let plan = NormPlan::new(epsilon0, level, n, 1).unwrap();
        let map = FeatureMap::linear(vec![1.0; p]);
        plan.release(&data, &map, &mut Source::seeded(7)).unwrap()
    }

    /// Many equally long rows, and a spread of lengths: the candidate next above the quantile.
    #[test]
    fn quantiles_are_found() {
        let equal = Array2::from_elem((2000, 16), 0.25); // norm 1, the largest is 4
        let spread = Array2::from_shape_fn((2000, 16), |(i, _)| 0.25 * (i as f64 + 0.5) / 2000.0);
        let step = 2f64.powf(1.0 / PER_OCTAVE as f64) * 1.01;
        for level in [0.1, 0.25, 0.5] {
            let norm = release(&equal, 1.0, level);
            assert!((0.99..=step).contains(&norm), "{norm}");
            let norm = release(&spread, 1.0, level);
            assert!(
                (level * 0.99..=level * step).contains(&norm),
                "{level}: {norm}"
            );
        }
    }
}

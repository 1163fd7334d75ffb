use rayon::prelude::*;

use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::exact::noise::integer_law;
use crate::exact::noise::rounded_gaussian::RoundedGaussian;
use crate::exact::noise::source::Source;
use crate::numeric::directed::{mul_up, sqrt_up};
use crate::privacy::bounded_data::{BoundedData, Features};
use crate::privacy::ledger::Budget;
use crate::schema::Schema;

/// How the weights of columns are released: the noisy sums of |x_ij|, and from them less weight for features that are
/// large in many records, as inverse document frequencies have it (Sparck Jones 1972).
///
/// **Sensitivity** of the integer vector sum_i |x_i|, r the bound on a row's norm in lattice units: r under add-remove.
/// Under replace-one |a - b|^2 = |a|^2 + |b|^2 - 2 <a, b> <= 2 r^2, as no entry is negative: sqrt(2) r.
/// Times m for m records a person. The noise is the exactly rounded Gaussian, so the exact Gaussian curve holds (M12).
#[derive(Debug, Clone)]
pub struct ColumnWeightsPlan {
    sigma: f64,
    event: Event,
}

/// Least weight of a column: none is lost.
const LEAST_WEIGHT: f64 = 0.03;
/// Sums below so many standard deviations of the noise count as being there.
const FLOOR: f64 = 2.0;
/// Weights are only used where the largest sum is so many times the floor: otherwise the noise would choose them.
const LEAST_RATIO: f64 = 8.0;

impl ColumnWeightsPlan {
    /// Noise of standard deviation `multiplier` times the sensitivity on every sum.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `row_norm` for a schema without one, or noise that the exact sampler does not
    /// take.
    pub fn new(
        schema: &Schema,
        multiplier: f64,
        adjacency: Adjacency,
        records_per_person: usize,
    ) -> Result<Self> {
        let row = schema.lattice_row_norm().ok_or_else(|| {
            Error::invalid("row_norm", "must be given for private weights of columns")
        })?;
        let neighbours = match adjacency {
            Adjacency::ReplaceOne => sqrt_up(2.0),
            Adjacency::AddRemove => 1.0,
        };
        let person = mul_up(neighbours, records_per_person as f64);
        let sensitivity = mul_up(person, (row as f64).next_up());
        let sigma = mul_up(multiplier, sensitivity);
        RoundedGaussian::new(sigma)?;
        Ok(Self {
            sigma,
            event: Event::gaussian(sensitivity, sigma)?,
        })
    }

    /// The event of the release.
    pub fn events(&self) -> Vec<(Event, u64)> {
        vec![(self.event, 1)]
    }

    /// Spends the event, draws, and returns one weight in (0, 1] a feature.
    ///
    /// With s_j the noisy sum, floored at twice the noise, and M the largest: w_j = ln(M/s_j)/ln(M/floor), at least
    /// 0.03.
    ///
    /// # Errors
    /// [`Error::Randomness`].
    pub fn release(&self, data: &BoundedData, source: &mut Source) -> Result<Vec<f64>> {
        let events = self.events();
        Budget::new(&events).spend_all(&events)?;
        source.renew_after_fork()?;
        let sums = absolute_sums(data);
        let noise = RoundedGaussian::new(self.sigma)?;
        let noisy = integer_law::add(&noise, source, &sums)?;
        // Post-processing from here on.
        let floor = FLOOR * self.sigma;
        let largest = noisy.iter().map(|&s| s as f64).fold(floor, f64::max);
        if largest < LEAST_RATIO * floor {
            return Ok(vec![1.0; noisy.len()]);
        }
        let weight = |&sum: &i64| (largest / (sum as f64).max(floor)).ln() / (largest / floor).ln();
        Ok(noisy
            .iter()
            .map(|sum| weight(sum).clamp(LEAST_WEIGHT, 1.0))
            .collect())
    }
}

/// sum_i |x_ij| in lattice units for every feature: below 2^31 2^14.
fn absolute_sums(data: &BoundedData) -> Vec<i64> {
    let n = data.n_records();
    match &data.features {
        Features::Dense(columns) => (columns.par_chunks(n))
            .map(|column| column.iter().map(|&x| i64::from(x).abs()).sum())
            .collect(),
        Features::Sparse { columns, base, .. } => (base.par_iter().enumerate())
            .map(|(j, &base)| {
                let base = i64::from(base);
                let change = |(_, x): (usize, i64)| (base + x).abs() - base.abs();
                base.abs() * n as i64 + columns.line(j).map(change).sum::<i64>()
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Bounds, Geometry, Target};
    use proptest::prelude::*;

    fn schema(p: usize) -> Schema {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let target = Target::Classes;
        Schema::new(p, bounds, Geometry::Uncentred, target, false, Some(0.7)).unwrap()
    }

    proptest! {
        /// Replacing a record moves the sums by at most what the event says.
        #[test]
        fn the_sensitivity_holds(
            a in prop::collection::vec(-1.0..1.0f64, 5),
            b in prop::collection::vec(-1.0..1.0f64, 5),
        ) {
            let sums = |row: &[f64]| {
                let x = ndarray::Array2::from_shape_vec((1, 5), row.to_vec()).unwrap();
                absolute_sums(&BoundedData::from_dense(x.view(), &[1.0], schema(5)).unwrap())
            };
            let moved: f64 = (sums(&a).iter().zip(&sums(&b)))
                .map(|(a, b)| ((a - b) as f64).powi(2))
                .sum::<f64>()
                .sqrt();
            let plan = ColumnWeightsPlan::new(&schema(5), 1.0, Adjacency::ReplaceOne, 1).unwrap();
            prop_assert!(moved <= plan.sigma);
        }
    }

    #[test]
    fn common_features_weigh_less() {
        let x = ndarray::Array2::from_shape_fn((40_000, 3), |(i, j)| {
            f64::from(u8::from(i % [1, 10, 400][j] == 0)) * 0.4
        });
        let y = vec![1.0; 40_000];
        let data = BoundedData::from_dense(x.view(), &y, schema(3)).unwrap();
        let plan = ColumnWeightsPlan::new(&schema(3), 10.0, Adjacency::ReplaceOne, 1).unwrap();
        let weights = plan.release(&data, &mut Source::seeded(1)).unwrap();
        assert!(weights[0] < 0.1 && weights[0] < weights[1] && weights[1] < weights[2]);
        assert!(weights[2] <= 1.0);
        // Where the noise is larger than every sum all columns are alike.
        let plan = ColumnWeightsPlan::new(&schema(3), 1e5, Adjacency::ReplaceOne, 1).unwrap();
        let weights = plan.release(&data, &mut Source::seeded(1)).unwrap();
        assert_eq!(weights, [1.0; 3]);
    }
}

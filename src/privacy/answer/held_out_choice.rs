use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::exact::selection::{ExponentialMechanism, InverseTemperature};
use crate::numeric::kernel::MAX_FEATURE;
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::ledger::Budget;
use crate::schema::{Bounds, Target};

/// Most that one record adds to a score; even, so that half of it is an integer.
const LEVELS: i64 = 1 << 16;
/// Sum of the absolute integer coefficients: margins stay below 2^44 2^15 with what rounding adds.
const MARGIN_UNITS: f64 = (1u64 << 44) as f64;

/// A released linear model in the user's units.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearModel {
    /// One coefficient per feature.
    pub coefficients: Vec<f64>,
    /// Added to every score.
    pub intercept: f64,
    /// What features are clipped to first, where they are; predictions are then clipped to the bounds of the targets.
    pub feature_ranges: Option<Bounds>,
}

/// How one of several released models is chosen: the exponential mechanism over their losses on records that none of
/// them was fitted on (held-out validation, as in Chaudhuri, Monteleoni & Sarwate 2011, section 6, there with a generic
/// epsilon).
///
/// **Score** of a model, minimised: the sum over the records of an integer in [0, 2^16], 2^16 times
/// - classification: 1 if the record is misclassified, 0 if not (score 0 counts as the negative class, as in
///   prediction);
/// - regression: min((z - y)^2, 1), y in [-1, 1] by its public bounds: a residual beyond half their width counts as 1.
///
/// **Sensitivity.** At models that are public, what a record adds depends on that record and on the model alone:
/// margins are integer products, exact whatever the order or storage, of features that the model clips or not. With m
/// records a person, replacing a person's records moves every score by at most m 2^16 either way, so the privacy loss
/// eta (q'_k - q_k) - ln(Z/Z') has range at most 2 eta m 2^16 over k. Adding a person moves all scores up, by m 2^16 at
/// most: range eta m 2^16. Set equal to epsilon0, that is [`InverseTemperature`] for a sensitivity of m 2^16, or half
/// of it.
///
/// The models may come from other records of the same people: this is one adaptive step in a composition, and its event
/// is added to theirs.
#[derive(Debug, Clone)]
pub struct HeldOutPlan {
    temperature: InverseTemperature,
    event: Event,
}

impl HeldOutPlan {
    /// A choice of bounded range `epsilon0`.
    ///
    /// # Errors
    /// An epsilon0 that the exact sampler does not take, no records per person or too many.
    pub fn new(epsilon0: f64, adjacency: Adjacency, records_per_person: usize) -> Result<Self> {
        let one = match adjacency {
            Adjacency::ReplaceOne => LEVELS,
            Adjacency::AddRemove => LEVELS / 2,
        };
        let sensitivity = (one as u64)
            .checked_mul(records_per_person as u64)
            .filter(|&bound| bound < 1 << 62)
            .ok_or_else(|| Error::invalid("records_per_person", "is too large"))?;
        Ok(Self {
            temperature: InverseTemperature::new(epsilon0, sensitivity)?,
            event: Event::exponential(epsilon0)?,
        })
    }

    /// The event of the choice.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// Spends the event and draws the index of a model. No data means no records held out: all scores are 0.
    ///
    /// # Errors
    /// No models, models of another shape than the records, or not finite; [`Error::Randomness`].
    pub fn choose(
        &self,
        data: Option<&BoundedData>,
        models: &[LinearModel],
        source: &mut Source,
    ) -> Result<usize> {
        let scores = non_private_scores(data, models)?;
        let choice = ExponentialMechanism::new(&scores, &self.temperature, Vec::new())?;
        let events = [(self.event, 1)];
        Budget::new(&events).spend_all(&events)?;
        source.renew_after_fork()?;
        Ok(choice.draw(source))
    }
}

/// The integer scores of [`HeldOutPlan`], minimised.
///
/// **Not private**: for a curator's own checks, and for tests of the law and of the sensitivity (MECHANISMS M13).
///
/// # Errors
/// Models of another shape than the records, or not finite, or ranges whose ends are not in order; records that were
/// read without an intercept.
pub fn non_private_scores(data: Option<&BoundedData>, models: &[LinearModel]) -> Result<Vec<i64>> {
    let score = |model: &LinearModel| data.map_or(Ok(0), |data| loss(data, model));
    models.iter().map(score).collect()
}

fn loss(data: &BoundedData, model: &LinearModel) -> Result<i64> {
    let schema = &data.schema;
    let theta = schema.to_scaled_units(&model.coefficients, model.intercept)?;
    let clipped = match &model.feature_ranges {
        Some(ranges) => Some(data.clipped(ranges)?),
        None => None,
    };
    let data = clipped.as_ref().unwrap_or(data);
    let size: f64 = theta.iter().map(|theta| theta.abs()).sum();
    if !size.is_finite() {
        return Err(Error::invalid("coefficients", "must be finite"));
    }
    // A power of two: dividing by it is exact.
    let unit = 2f64.powi((size / MARGIN_UNITS).max(1e-290).log2().ceil() as i32);
    let integers = theta.iter().map(|theta| (theta / unit).round() as i64);
    let direction: Vec<(u32, i64)> = (0u32..).zip(integers).collect();
    let mut margins = vec![0i64; data.n_records()];
    data.add_to_margins(&mut margins, &direction, 1);
    let records = margins.iter().zip(&data.targets);
    // No overflow: fewer than 2^31 records of at most 2^16.
    Ok(match data.schema.target() {
        Target::Classes => {
            let wrong = |(&z, &y): (&i64, &f64)| (z > 0) != (y > 0.0);
            LEVELS * records.filter(|&record| wrong(record)).count() as i64
        }
        Target::Interval { .. } => {
            let scale = unit / f64::from(MAX_FEATURE);
            // As predictions: y_bounds are -1 and 1.
            let limit = if clipped.is_some() {
                1.0
            } else {
                f64::INFINITY
            };
            let predicted = |z: i64| (z as f64 * scale).clamp(-limit, limit);
            let squared = |(&z, &y): (&i64, &f64)| (predicted(z) - y).powi(2).min(1.0);
            records
                .map(|record| (LEVELS as f64 * squared(record)).round() as i64)
                .sum()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Bounds, Geometry, Schema};
    use ndarray::Array2;
    use proptest::prelude::*;

    fn data(x: &Array2<f64>, y: &[f64], target: Target) -> BoundedData {
        let bounds = Bounds {
            lower: vec![-1.0, 0.0, 2.0],
            upper: vec![1.0, 5.0, 2.0],
        };
        let schema = Schema::new(3, bounds, Geometry::Centred, target, true, None).unwrap();
        BoundedData::from_dense(x.view(), y, schema).unwrap()
    }

    fn linear(coefficients: &[f64], intercept: f64) -> LinearModel {
        LinearModel {
            coefficients: coefficients.to_vec(),
            intercept,
            feature_ranges: None,
        }
    }

    fn interval() -> Target {
        Target::Interval {
            low: -2.0,
            high: 6.0,
        }
    }

    #[test]
    fn scores_are_errors_and_squared_residuals() {
        // On the lattice exactly: no rounding of the features.
        let x = ndarray::array![[1.0, 0.0, 2.0], [-1.0, 5.0, 2.0], [1.0, 5.0, 2.0]];
        let classes = data(&x, &[1.0, 1.0, -1.0], Target::Classes);
        let models = [
            linear(&[1.0, 0.0, 0.0], 0.0),
            linear(&[0.0, 0.0, 0.0], 0.0),
            linear(&[0.0, -1.0, 0.0], 4.0),
        ];
        let scores = non_private_scores(Some(&classes), &models).unwrap();
        assert_eq!(scores, [2 * LEVELS, 2 * LEVELS, LEVELS]);
        // Residuals 1, -2 and 4 of targets whose half width is 4; then 0 and beyond the clamp.
        let reals = data(&x, &[2.0, 5.0, 2.0], interval());
        let models = [
            linear(&[0.0, 0.6, 0.0], 3.0),
            linear(&[0.0, 0.0, 0.0], 2.0),
            linear(&[0.0, 0.0, 0.0], 1e6),
        ];
        let scores = non_private_scores(Some(&reals), &models).unwrap();
        let sixteenths: Vec<f64> = scores
            .iter()
            .map(|&q| 16.0 * q as f64 / LEVELS as f64)
            .collect();
        assert!((sixteenths[0] - (1.0 + 1.0 + 16.0)).abs() < 1e-3);
        assert!((sixteenths[1] - 9.0).abs() < 1e-3);
        assert_eq!(scores[2], 3 * LEVELS);
    }

    #[test]
    fn nothing_held_out_makes_all_models_equal() {
        let models = vec![linear(&[0.0], 0.0); 3];
        assert_eq!(non_private_scores(None, &models).unwrap(), [0, 0, 0]);
        let plan = HeldOutPlan::new(1.0, Adjacency::AddRemove, 1).unwrap();
        let mut counts = [0; 3];
        let mut source = Source::seeded(0);
        for _ in 0..3000 {
            counts[plan.choose(None, &models, &mut source).unwrap()] += 1;
        }
        // Six standard deviations of a binomial with 1/3.
        assert!(counts.iter().all(|count| (count - 1000i32).abs() < 155));
    }

    #[test]
    fn unusable_models_are_refused() {
        let x = ndarray::array![[0.0, 0.0, 2.0]];
        let data = data(&x, &[1.0], Target::Classes);
        let plan = HeldOutPlan::new(1.0, Adjacency::ReplaceOne, 1).unwrap();
        let mut source = Source::seeded(0);
        let ranged = |lower: &[f64], upper: &[f64]| LinearModel {
            feature_ranges: Some(Bounds {
                lower: lower.to_vec(),
                upper: upper.to_vec(),
            }),
            ..linear(&[0.0; 3], 0.0)
        };
        assert!(non_private_scores(Some(&data), &[ranged(&[0.0; 3], &[0.0; 3])]).is_ok());
        for models in [
            vec![],
            vec![linear(&[0.0; 2], 0.0)],
            vec![linear(&[f64::NAN, 0.0, 0.0], 0.0)],
            vec![linear(&[0.0; 3], f64::INFINITY)],
            vec![ranged(&[0.0; 2], &[0.0; 2])],
            vec![ranged(&[0.0; 3], &[0.0, -1.0, 0.0])],
            vec![ranged(&[0.0, f64::NAN, 0.0], &[0.0; 3])],
        ] {
            assert!(plan.choose(Some(&data), &models, &mut source).is_err());
        }
        assert!(HeldOutPlan::new(0.0, Adjacency::ReplaceOne, 1).is_err());
        assert!(HeldOutPlan::new(1.0, Adjacency::ReplaceOne, 0).is_err());
        assert!(HeldOutPlan::new(1.0, Adjacency::ReplaceOne, usize::MAX).is_err());
    }

    proptest! {
        /// The proof's two facts: every score moves by at most LEVELS, and up only when a record is added. Models clip
        /// features or not.
        #[test]
        fn a_record_moves_scores_as_proved(
            rows in proptest::collection::vec((-2.0f64..2.0, -1.0f64..7.0, -9.0f64..9.0), 2..9),
            models in proptest::collection::vec((-3.0f64..3.0, -3.0f64..3.0, -9.0f64..9.0, 0.0f64..3.0), 1..5),
            regression: bool,
        ) {
            let target = if regression { interval() } else { Target::Classes };
            let ranges = |width: f64| Bounds { lower: vec![-width, width, 2.0], upper: vec![width, 4.0, 2.0] };
            let model = |&(a, b, c, width): &(f64, f64, f64, f64)| LinearModel {
                feature_ranges: (width < 2.0).then(|| ranges(width)),
                ..linear(&[a, b, 0.0], c)
            };
            let models: Vec<LinearModel> = models.iter().map(model).collect();
            let scores = |rows: &[(f64, f64, f64)]| {
                let x = Array2::from_shape_fn((rows.len(), 3), |(i, j)| [rows[i].0, rows[i].1, 2.0][j]);
                let y: Vec<f64> = rows.iter().map(|row| if regression { row.2 } else { row.2.signum() }).collect();
                non_private_scores(Some(&data(&x, &y, target)), &models).unwrap()
            };
            let (all, fewer) = (scores(&rows), scores(&rows[1..]));
            let replaced = scores(&[&rows[1..], &rows[1..2]].concat());
            for ((all, fewer), replaced) in all.iter().zip(&fewer).zip(&replaced) {
                prop_assert!((0..=LEVELS).contains(&(all - fewer)));
                prop_assert!((all - replaced).abs() <= LEVELS);
            }
        }
    }
}

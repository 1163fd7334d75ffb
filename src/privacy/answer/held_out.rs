use super::{Answer, Room};
use crate::error::{Error, Result};
use crate::exact::selection::ExponentialMechanism;
use crate::numeric::kernel::MAX_FEATURE;
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::record_weights::part;
use crate::privacy::records::{Move, Pass, States};
use crate::question::{HeldOut, LEVELS, LinearModel};
use crate::schema::{Schema, Target};

/// Sum of the absolute integer coefficients: margins stay below 2^44 2^15 with what rounding adds.
const MARGIN_UNITS: f64 = (1u64 << 44) as f64;

impl Answer for HeldOut {
    /// The models, in the user's units of the schema.
    type At<'a> = &'a [LinearModel];
    /// Index of a model.
    type Released = usize;
    type State = States;

    fn check(&self, models: &&[LinearModel], schema: &Schema) -> Result<()> {
        if models.is_empty() {
            return Err(Error::invalid("models", "must hold at least one model"));
        }
        (models.iter()).try_for_each(|model| model.scaled(schema).map(drop))
    }

    fn draw(&self, models: &[LinearModel], room: Room<'_, '_, States>) -> Result<usize> {
        let pass = Pass::HeldOut { models };
        let scores = room.records.fold(&pass, room.state, room.watch)?.0;
        let choice = ExponentialMechanism::new(&scores, &self.temperature, Vec::new())?;
        Ok(choice.draw(room.source))
    }
}

/// The score of one model.
///
/// # Errors
/// As [`LinearModel::scaled`]: public facts alone.
pub(in crate::privacy) fn held_out_loss(data: &BoundedData, model: &LinearModel) -> Result<i64> {
    let theta = model.scaled(&data.schema)?;
    let clipped = match &model.feature_ranges {
        Some(ranges) => Some(data.clipped(ranges)?),
        None => None,
    };
    let data = clipped.as_ref().unwrap_or(data);
    // One unit for all scores, so that they compare.
    let size: f64 = theta.iter().map(|theta| theta.abs()).sum();
    // A power of two: dividing by it is exact.
    let unit = 2f64.powi((size / MARGIN_UNITS).max(1e-290).log2().ceil() as i32);
    let directions: Vec<Vec<(u32, i64)>> = (theta.chunks(data.n_columns()))
        .map(|theta| {
            let integers = theta.iter().map(|theta| (theta / unit).round() as i64);
            (0u32..).zip(integers).collect()
        })
        .collect();
    let moves: Vec<Move<'_>> = (directions.iter().enumerate())
        .map(|(output, direction)| Move {
            output,
            direction,
            weight: 1,
        })
        .collect();
    let mut planes = vec![vec![0i64; data.n_records()]; moves.len()];
    data.move_planes(&mut planes, &moves, true);
    let margins = &planes[0];
    Ok(match data.schema.target() {
        Target::Multiclass { .. } => {
            let predicted = |i: usize| {
                let mut best = 0;
                for k in 1..planes.len() {
                    // The first of equal ones, as in predictions.
                    if planes[k][i] > planes[best][i] {
                        best = k;
                    }
                }
                best
            };
            let wrong = |(i, &y): (usize, &f64)| LEVELS * i64::from(predicted(i) as f64 != y);
            total(data, data.targets.iter().enumerate().map(wrong))
        }
        Target::Classes => of_score(data, margins, |z, y| {
            LEVELS * i64::from((z > 0) != (y > 0.0))
        }),
        Target::Interval { .. } => {
            let scale = unit / f64::from(MAX_FEATURE);
            // As predictions: y_bounds are -1 and 1.
            let limit = if clipped.is_some() {
                1.0
            } else {
                f64::INFINITY
            };
            let predicted = |z: i64| (z as f64 * scale).clamp(-limit, limit);
            let squared = |z: i64, y: f64| (predicted(z) - y).powi(2).min(1.0);
            of_score(data, margins, |z, y| {
                (LEVELS as f64 * squared(z, y)).round() as i64
            })
        }
        Target::Counts {
            low,
            high,
            unit: of_rates,
        } => {
            let scale = unit / f64::from(MAX_FEATURE);
            // As predictions, with 1 for the upper bound of counts.
            let predicted = |z: i64| {
                let rate = (z as f64 * scale).min(700.0).exp() * of_rates / high;
                rate.clamp(low / high, 1.0)
            };
            let apart = |z: i64, y: f64| (predicted(z).sqrt() - y.sqrt()).powi(2);
            of_score(data, margins, |z, y| {
                (LEVELS as f64 * apart(z, y)).round() as i64
            })
        }
    })
}

/// The sum of what all records add, by margin and target.
fn of_score(data: &BoundedData, margins: &[i64], level: impl Fn(i64, f64) -> i64) -> i64 {
    let records = margins.iter().zip(&data.targets);
    total(data, records.map(|(&z, &y)| level(z, y)))
}

/// The sum of what all records add, each at most 2^16, or the part that its weight leaves of it.
///
/// No overflow: fewer than 2^31 records.
fn total(data: &BoundedData, levels: impl Iterator<Item = i64>) -> i64 {
    match &data.weights {
        None => levels.sum(),
        Some(weights) => levels
            .zip(weights.shares())
            .map(|(level, &share)| part(level, share))
            .sum(),
    }
}

use rayon::prelude::*;

use super::{Answer, Room};
use crate::error::{Error, Result};
use crate::exact::selection::ExponentialMechanism;
use crate::numeric::kernel::{clip, for_wide_vectors, integer, prefetch};
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::groups::Addends;
use crate::privacy::one_read::SEVERAL;
use crate::privacy::record_weights::part;
use crate::privacy::records::{Move, Pass, States};
use crate::question::{HeldOut, LEVELS, LinearModel, lattice_directions};
use crate::schema::{Schema, Target};

/// Records of a piece of sparse ones.
const CHUNK: usize = 4096;

/// Outputs whose margins are made at once, where a model has no more.
const OUTPUTS: usize = 6;

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

/// A model as integers: for each output a direction, the unit of a margin, and whether features were clipped for it.
struct Integers {
    directions: Vec<Vec<(u32, i64)>>,
    unit: f64,
    clipped: bool,
}

impl Integers {
    /// # Errors
    /// As [`LinearModel::scaled`]: public facts alone.
    fn new(model: &LinearModel, schema: &Schema) -> Result<Self> {
        let theta = model.scaled(schema)?;
        // One unit for all scores, so that they compare.
        let (directions, unit) = lattice_directions(&theta, schema.n_columns());
        Ok(Self {
            directions,
            unit,
            clipped: model.feature_ranges.is_some(),
        })
    }

    fn moves(&self) -> Vec<Move<'_>> {
        (self.directions.iter().enumerate())
            .map(|(output, direction)| Move {
                output,
                direction,
                weight: 1,
            })
            .collect()
    }
}

/// The score of each model. Dense and packed records are read once for all models that clip no features.
///
/// # Errors
/// As [`LinearModel::scaled`]: public facts alone.
pub(in crate::privacy) fn held_out_losses(
    data: &BoundedData,
    models: &[LinearModel],
) -> Result<Vec<i64>> {
    let integers = |model| Integers::new(model, &data.schema);
    let integers: Vec<Integers> = models.iter().map(integers).collect::<Result<_>>()?;
    let plain: Vec<&Integers> = integers.iter().filter(|model| !model.clipped).collect();
    let mut plain = losses(data, &plain).into_iter();
    let loss = |(integers, model): (&Integers, &LinearModel)| match &model.feature_ranges {
        Some(ranges) => Ok(losses(&data.clipped(ranges)?, &[integers])[0]),
        None => Ok(plain.next().unwrap_or_default()),
    };
    integers.iter().zip(models).map(loss).collect()
}

/// The score of each of these models, on the same records.
fn losses(data: &BoundedData, models: &[&Integers]) -> Vec<i64> {
    let n = data.n_records();
    let Some(groups) = data.groups() else {
        let loss = |model: &&Integers| {
            let mut all = vec![vec![0i64; n]; model.directions.len()];
            data.move_planes(&mut all, &model.moves(), true);
            let mut planes = Vec::new();
            let losses = (0..n).step_by(CHUNK).map(|start| {
                let end = n.min(start + CHUNK);
                planes.clear();
                (all.iter()).for_each(|margins| planes.extend_from_slice(&margins[start..end]));
                loss_of(data, start, &planes, model)
            });
            losses.sum()
        };
        return models.iter().map(loss).collect();
    };
    // Of a few models, or of all outputs of one.
    let outputs = models.iter().map(|model| model.directions.len()).max();
    let several = (OUTPUTS / outputs.unwrap_or(1)).max(1);
    let addends = |models: &[&Integers]| {
        let mut moves: Vec<Move<'_>> = models.iter().flat_map(|model| model.moves()).collect();
        (moves.iter_mut().enumerate()).for_each(|(plane, step)| step.output = plane);
        groups.addends(&data.steps(&moves), moves.len())
    };
    let addends: Vec<Addends<'_>> = models.chunks(several).map(addends).collect();
    let chunk = groups.chunk();
    let piece = match &addends[..] {
        // Margins of several outputs at once have no other use for lines.
        [all] if all.constants().len() > 1 => chunk.min(SEVERAL),
        // A piece stays in the nearest cache while all models pass by; and for one output memory waits less where
        // pieces are short.
        _ => groups.piece(),
    };
    let zeros = || vec![0; models.len()];
    (0..n.div_ceil(chunk))
        .into_par_iter()
        .fold(
            || (zeros(), Vec::new()),
            |(mut losses, mut planes): (Vec<i64>, Vec<i64>), k| {
                let end = n.min((k + 1) * chunk);
                for start in (k * chunk..end).step_by(piece) {
                    let m = piece.min(end - start);
                    prefetch(&data.targets[start + m..], m);
                    let models = models.chunks(several).zip(&addends);
                    for (losses, (models, addends)) in losses.chunks_mut(several).zip(models) {
                        planes.clear();
                        planes.resize(addends.constants().len() * m, 0);
                        let mut margins: Vec<&mut [i64]> = planes.chunks_mut(m).collect();
                        addends.add(&mut margins, start);
                        let mut planes = &planes[..];
                        for (loss, model) in losses.iter_mut().zip(models) {
                            let (own, others) = planes.split_at(model.directions.len() * m);
                            *loss += loss_of(data, start, own, model);
                            planes = others;
                        }
                    }
                }
                (losses, planes)
            },
        )
        .map(|(losses, _)| losses)
        .reduce(zeros, |mut losses, more| {
            (losses.iter_mut().zip(more)).for_each(|(loss, more)| *loss += more);
            losses
        })
}

/// What the records from `start` on add to the score of a model, by their margins, those of one output after the other.
fn loss_of(data: &BoundedData, start: usize, planes: &[i64], model: &Integers) -> i64 {
    let m = planes.len() / model.directions.len();
    let (margins, unit) = (&planes[..m], model.unit);
    let records = Part {
        targets: &data.targets[start..][..m],
        shares: (data.weights.as_ref()).map(|weights| &weights.shares()[start..][..m]),
    };
    match data.schema.target() {
        Target::Multiclass { .. } => {
            let predicted = |i: usize| {
                let mut best = i;
                for k in (i + m..planes.len()).step_by(m) {
                    // The first of equal ones, as in predictions.
                    if planes[k] > planes[best] {
                        best = k;
                    }
                }
                best / m
            };
            records.total(|i, y| LEVELS * i64::from(predicted(i) as f64 != y))
        }
        Target::Classes => records.total(
            #[inline(always)]
            |i, y| LEVELS * i64::from((margins[i] > 0) != (y > 0.0)),
        ),
        Target::Interval { .. } => {
            // As predictions: y_bounds are -1 and 1.
            let limit = if model.clipped { 1.0 } else { f64::INFINITY };
            records.total(
                #[inline(always)]
                |i, y| {
                    let predicted = clip(margins[i] as f64 * unit, -limit, limit);
                    let squared = (predicted - y).powi(2);
                    integer((LEVELS as f64 * clip(squared, 0.0, 1.0)).round())
                },
            )
        }
        Target::Counts {
            low,
            high,
            unit: of_rates,
        } => {
            // As predictions, with 1 for the upper bound of counts.
            let predicted = |z: i64| {
                let rate = (z as f64 * unit).min(700.0).exp() * of_rates / high;
                rate.clamp(low / high, 1.0)
            };
            let apart = |z: i64, y: f64| (predicted(z).sqrt() - y.sqrt()).powi(2);
            records.total(|i, y| (LEVELS as f64 * apart(margins[i], y)).round() as i64)
        }
    }
}

/// Consecutive records: targets, and shares where there are weights.
struct Part<'a> {
    targets: &'a [f64],
    shares: Option<&'a [f64]>,
}

impl Part<'_> {
    /// The sum of what all records add, each at most 2^16, by their places and targets; or of the parts that weights
    /// leave of it.
    ///
    /// No overflow: fewer than 2^31 records.
    fn total(&self, level: impl Fn(usize, f64) -> i64) -> i64 {
        let (targets, mut sum) = (self.targets, 0i64);
        for_wide_vectors(
            #[inline(always)]
            || match self.shares {
                None => {
                    for (i, &y) in targets.iter().enumerate() {
                        sum = sum.wrapping_add(level(i, y));
                    }
                }
                Some(shares) => {
                    for (i, (&y, &share)) in targets.iter().zip(shares).enumerate() {
                        sum = sum.wrapping_add(part(level(i, y), share));
                    }
                }
            },
        );
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::schema::{Bounds, Geometry};
    use ndarray::Array2;

    /// Dense records, in chunks and all models in one read, have the losses of sparse ones and of each model alone: for
    /// every kind of target, with weights and without, for models that clip features and others between them.
    #[test]
    fn losses_of_several_models_are_those_of_each_in_every_storage() {
        let (n, p) = (9_001, 20);
        let x = Array2::from_shape_fn((n, p), |(i, j)| ((i * 31 + j * 17) % 9) as f64 / 2.0 - 2.0);
        let own: Vec<f64> = (0..n).map(|i| (i * 5 % 9) as f64 / 4.0).collect();
        for target in [
            Target::Classes,
            Target::Multiclass { classes: 3 },
            Target::Interval {
                low: -2.0,
                high: 3.0,
            },
            Target::counts(0.0, 4.0, true),
        ] {
            let bounds = Bounds {
                lower: vec![-2.0],
                upper: vec![2.0],
            };
            let plain = Schema::new(p, bounds, Geometry::Centred, target, true, None).unwrap();
            let weighted = plain.clone().with_max_weight(2.0).unwrap();
            for schema in [plain, weighted] {
                let models: Vec<LinearModel> = (0..4)
                    .map(|k| {
                        let coefficient = |j: usize| ((j * 13 + k * 7) % 11) as f64 / 20.0 - 0.2;
                        let ranges = Bounds {
                            lower: vec![-1.5; p],
                            upper: vec![0.5; p],
                        };
                        LinearModel {
                            coefficients: (0..p * target.outputs()).map(coefficient).collect(),
                            intercepts: vec![0.1; target.outputs()],
                            feature_ranges: (k == 1).then_some(ranges),
                        }
                    })
                    .collect();
                let weights = schema.max_weight().map(|_| own.as_slice());
                let losses = all_kinds(&x, &schema).map(|mut data| {
                    for (i, y) in data.targets.iter_mut().enumerate() {
                        *y = match target {
                            Target::Multiclass { .. } => (i % 3) as f64,
                            Target::Counts { .. } => (i % 5) as f64 / 4.0,
                            _ => [1.0, -1.0, -1.0][i % 3],
                        };
                    }
                    let data = data.weighed(weights).unwrap();
                    let together = held_out_losses(&data, &models).unwrap();
                    let alone = models.iter().map(|model| {
                        held_out_losses(&data, std::slice::from_ref(model)).unwrap()[0]
                    });
                    assert_eq!(together, alone.collect::<Vec<_>>());
                    together
                });
                assert!(losses[0].iter().all(|&loss| loss > 0));
                assert_eq!(losses[0], losses[1]);
                assert_eq!(losses[0], losses[2]);
            }
        }
    }
    /// The losses are those of what the models predict, in the user's units: of several classes the first of the
    /// largest scores, of others clipped to the bounds of the targets where features are clipped too.
    #[test]
    fn losses_are_those_of_predictions() {
        let (n, p) = (60, 3);
        let x = Array2::from_shape_fn((n, p), |(i, j)| {
            ((i * 37 + j * 23) % 41) as f64 / 10.0 - 2.0
        });
        let weights: Vec<f64> = (0..n).map(|i| [0.5, 2.0, 7.0][i % 3]).collect();
        let bounds = |end: f64, entries: usize| Bounds {
            lower: vec![-end; entries],
            upper: vec![end; entries],
        };
        let (low, high) = (0.5, 6.0);
        for target in [
            Target::Classes,
            Target::Multiclass { classes: 3 },
            Target::Interval { low, high },
            Target::counts(low, high, true),
        ] {
            let y: Vec<f64> = (0..n)
                .map(|i| match target {
                    Target::Classes => [1.0, -1.0, -1.0, 1.0, -1.0][i % 5],
                    Target::Multiclass { .. } => (i * i % 3) as f64,
                    _ => low + (high - low) * (i * 7 % 11) as f64 / 10.0,
                })
                .collect();
            let schema = Schema::new(p, bounds(2.0, 1), Geometry::Centred, target, true, None);
            let schema = schema.unwrap().with_max_weight(2.0).unwrap();
            let data = BoundedData::from_dense(x.view(), &y, schema).unwrap();
            let data = data.weighed(Some(&weights)).unwrap();
            let outputs = target.outputs();
            let model = |size: f64, ranges: Option<Bounds>| LinearModel {
                coefficients: (0..p * outputs)
                    .map(|j| size * (((j * 13) % 7) as f64 / 5.0 - 0.61))
                    .collect(),
                intercepts: (0..outputs).map(|k| 0.9 - 0.2 * k as f64).collect(),
                feature_ranges: ranges,
            };
            // Scores that are equal, and those that are 0.
            let [mut equal, mut zero] = [0; 2].map(|_| model(0.0, None));
            equal.intercepts.fill(-0.3);
            zero.intercepts.fill(0.0);
            let clipping = model(2.0, Some(bounds(0.8, p)));
            let models = [model(1.0, None), clipping, equal, zero];
            let loss = |model: &LinearModel| -> f64 {
                let of = |(i, row): (usize, ndarray::ArrayView1<'_, f64>)| {
                    let clips = model.feature_ranges.is_some();
                    let end = if clips { 0.8 } else { 2.0 };
                    let scores: Vec<f64> = (model.coefficients.chunks(p).zip(&model.intercepts))
                        .map(|(own, intercept)| {
                            let products = own.iter().zip(row).map(|(c, x)| c * x.clamp(-end, end));
                            products.sum::<f64>() + intercept
                        })
                        .collect();
                    let loss = match target {
                        Target::Classes => f64::from((scores[0] > 0.0) != (y[i] > 0.0)),
                        Target::Multiclass { .. } => {
                            let most = scores.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
                            let first = scores.iter().position(|&score| score == most);
                            f64::from(first != Some(y[i] as usize))
                        }
                        Target::Interval { .. } => {
                            let z = if clips {
                                scores[0].clamp(low, high)
                            } else {
                                scores[0]
                            };
                            ((z - y[i]) / (0.5 * (high - low))).powi(2).min(1.0)
                        }
                        Target::Counts { .. } => {
                            let mean = scores[0].exp().clamp(low, high);
                            ((mean / high).sqrt() - (y[i] / high).sqrt()).powi(2)
                        }
                    };
                    loss * (weights[i] / 2.0).min(1.0)
                };
                x.rows().into_iter().enumerate().map(of).sum()
            };
            let found = held_out_losses(&data, &models).unwrap();
            for (model, found) in models.iter().zip(found) {
                let (found, expected) = (found as f64 / LEVELS as f64, loss(model));
                // Features are rounded to 2/16383; nothing is when classes are counted, as no score is near another.
                let rounding = if target.is_classes() {
                    1e-9
                } else {
                    5e-4 * n as f64
                };
                assert!(expected > 0.05 * n as f64, "{target:?} {expected}");
                assert!(
                    (found - expected).abs() <= rounding,
                    "{target:?} {found} {expected}"
                );
            }
        }
    }
}

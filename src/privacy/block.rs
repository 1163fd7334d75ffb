//! Passes over one block of records.

use rayon::prelude::*;

use super::answer::held_out_losses;
use super::balanced_slopes::weigh_others;
use super::bounded_data::BoundedData;
use super::fine_gradient;
use super::one_read::PieceOfSlopes;
use super::planes::by_records;
use super::record_weights::part;
use super::records::{Move, Pass, States, Sum, Watch};
use super::row_norm::RowNorm;
use super::row_weight::RowWeight;
use super::thresholds::{FloatThresholds, all_counts_at};
use super::{column_sums, image_sums, second_moments};
use crate::error::Result;
use crate::numeric::kernel::{for_wide_vectors, prefetch};
use crate::question::RoomModel;

/// Records per piece of work.
const CHUNK: usize = 4096;

/// Consecutive records in one block of memory.
pub(super) struct Block<'a>(pub &'a BoundedData);

/// The slopes of some records of one output, by the lengths of their rows.
fn shorten_slopes(slopes: &mut [i16], weights: &[RowWeight]) {
    for_wide_vectors(
        #[inline(always)]
        || {
            for (slope, weight) in slopes.iter_mut().zip(weights) {
                *slope = weight.of(*slope);
            }
        },
    );
}

impl Block<'_> {
    /// Margins that later passes go on from, as these moves make them.
    pub(super) fn restore(&self, moves: &[Move<'_>], outputs: usize, states: &mut States) {
        let n = self.0.n_records();
        states.margins.resize_with(outputs, || vec![0; n]);
        self.0.move_planes(&mut states.margins, moves, true);
    }

    /// How often each record counts by the length of its row, looked up once for all passes.
    fn shorten<'s>(
        &self,
        weights: &'s mut Option<Option<Vec<RowWeight>>>,
    ) -> Option<&'s [RowWeight]> {
        let weights = weights.get_or_insert_with(|| RowNorm::gradient_weights(self.0));
        weights.as_deref()
    }

    /// Slopes of the records from `start` on, plane by plane, by how often each record counts.
    fn weigh<S: AsRef<[i16]> + AsMut<[i16]>>(
        &self,
        model: &RoomModel,
        start: usize,
        planes: &mut [S],
        weights: Option<&[RowWeight]>,
    ) {
        let balanced = model.model().balanced().is_some();
        if let Some(weights) = weights {
            if balanced {
                weigh_others(planes, |slope, i| weights[start + i].of(slope));
            } else {
                let planes = planes.iter_mut().map(AsMut::as_mut);
                planes.for_each(|slopes| shorten_slopes(slopes, &weights[start..]));
            }
        }
        if let Some(weights) = &self.0.weights {
            if balanced {
                let shares = &weights.shares()[start..];
                weigh_others(planes, |slope, i| part(i64::from(slope), shares[i]) as i16);
            } else {
                let planes = planes.iter_mut().map(AsMut::as_mut);
                planes.for_each(|slopes| weights.weigh_slopes(start, slopes));
            }
        }
    }

    /// The gradients of sparse records, whose margins and slopes lie in memory until all are made.
    fn gradient(
        &self,
        model: &RoomModel,
        (moves, fresh, unit): (&[Move<'_>], bool, f64),
        states: &mut States,
    ) -> Sum {
        let States {
            margins,
            new_margins,
            slopes,
            weights,
            ..
        } = states;
        let margins = if fresh { new_margins } else { margins };
        let (n, outputs) = (self.0.n_records(), model.outputs());
        margins.resize_with(outputs, || vec![0; n]);
        slopes.resize_with(model.planes(), || vec![0; n]);
        self.0.move_planes(margins, moves, fresh);
        model.slopes(margins, unit, &self.0.targets, slopes);
        let weights = self.shorten(weights);
        let columns = self.0.n_columns();
        let mut sums = vec![0; columns * slopes.len()];
        (by_records(slopes, CHUNK).par_iter_mut().enumerate())
            .for_each(|(k, planes)| self.weigh(model, k * CHUNK, planes, weights));
        self.0.gradients(slopes, &mut sums);
        Sum(model.of_all_outputs(sums, columns))
    }

    /// The gradients of other records, in one read.
    fn one_read(
        &self,
        model: &RoomModel,
        (moves, fresh, unit): (&[Move<'_>], bool, f64),
        states: &mut States,
    ) -> Option<Sum> {
        let States {
            margins, weights, ..
        } = states;
        let mut kept = match fresh {
            true => None,
            false => {
                margins.resize_with(model.outputs(), || vec![0; self.0.n_records()]);
                Some(&mut margins[..])
            }
        };
        let weights = self.shorten(weights);
        let targets_of = |start: usize, m: usize| {
            let (targets, next) = (&self.0.targets[start..][..m], start + m);
            prefetch(&self.0.targets[next..], m);
            if let Some(weights) = weights {
                prefetch(&weights[next..], m);
            }
            targets
        };
        if let (Some(loss), [step]) = (model.model().scalar(), moves) {
            let slopes_of = |start: usize, margins: &[i64], slopes: &mut [i16]| {
                let targets = targets_of(start, margins.len());
                model.scalar_slopes(loss, (margins, unit), targets, slopes);
                self.weigh(model, start, &mut [slopes], weights);
            };
            let kept = kept.as_mut().map(|kept| &mut kept[0][..]);
            if let Some(sums) = self.0.gradient_in_one_read(step, kept, slopes_of) {
                return Some(Sum(sums));
            }
        }
        let planes = (model.outputs(), model.planes());
        let slopes_of = |start: usize, margins: &[&mut [i64]], slopes: &mut PieceOfSlopes| {
            let targets = targets_of(start, margins[0].len());
            model.piece_of_slopes(margins, unit, targets, slopes);
            self.weigh(model, start, &mut slopes.planes, weights);
        };
        let sums = (self.0).gradients_in_one_read(planes, moves, kept, slopes_of)?;
        Some(Sum(model.of_all_outputs(sums, self.0.n_columns())))
    }

    /// The sums of these records alone, at least one.
    pub(super) fn fold(
        &self,
        pass: &Pass<'_>,
        states: &mut States,
        watch: Watch<'_>,
    ) -> Result<Sum> {
        Ok(match *pass {
            Pass::Gradient {
                model,
                moves,
                fresh,
                unit,
            } => {
                let at = (moves, fresh, unit);
                (self.one_read(model, at, states))
                    .unwrap_or_else(|| self.gradient(model, at, states))
            }
            Pass::Fine { model, theta } => fine_gradient::pass(self.0, model, theta, states),
            Pass::Moments => {
                let weights = self.shorten(&mut states.weights);
                Sum(second_moments::above(self.0, weights, watch)?)
            }
            Pass::Absolute => Sum(column_sums::absolute(self.0)),
            Pass::Images { map, row_norm } => {
                Sum(image_sums::of_images(self.0, map, RowNorm::new(row_norm)))
            }
            Pass::Gains { chosen } => Sum(column_sums::gains(self.0, chosen)),
            Pass::Ranges { features, at } => Sum(match features {
                Some(features) => self.0.counts_of_features(features, at),
                None => self.0.counts_of_all(at),
            }),
            Pass::Norms { map, candidates } => {
                let candidates = FloatThresholds::Listed(candidates.to_vec());
                Sum(all_counts_at(&candidates, &map.norms(self.0), |norm| norm))
            }
            Pass::Targets { value, thresholds } => {
                Sum(all_counts_at(thresholds, &self.0.targets, |y| value.of(y)))
            }
            Pass::Mean(candidates) => Sum(self.0.about_the_mean(candidates)),
            Pass::Classes => Sum(self.0.shares_of_classes()),
            Pass::HeldOut { models } => Sum(held_out_losses(self.0, models)?),
        })
    }

    /// As [`super::records::Records::curvature`].
    pub(super) fn curvature(
        &self,
        model: &RoomModel,
        factor: f64,
        states: &States,
        out: &mut [f64],
    ) {
        if model.outputs() > 1 && self.0.n_records() > 0 {
            return (self.0).curvature_of_classes(model, factor, &states.scores, out);
        }
        match self.curvatures(model, factor, states) {
            Some(weights) => self.0.weighted_gram(&weights, out),
            None => out.fill(0.0),
        }
    }

    /// `factor` times the curvature of the loss of one output at the scores of the last fine pass, of each record; None
    /// of no records, or of several outputs.
    pub(super) fn curvatures(
        &self,
        model: &RoomModel,
        factor: f64,
        states: &States,
    ) -> Option<Vec<f64>> {
        let (Ok(loss), 1.., 1) = (model.reviewed(), self.0.n_records(), model.outputs()) else {
            return None;
        };
        let records = states.scores.par_iter().zip(&self.0.targets);
        let mut weights: Vec<f64> = records
            .with_min_len(CHUNK)
            .map(|(&z, &y)| loss.curvature(z, y) * factor)
            .collect();
        if let Some(own) = &self.0.weights {
            let pairs = weights.iter_mut().zip(own.shares());
            pairs.for_each(|(weight, share)| *weight *= share);
        }
        Some(weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Logistic;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::question::{FeatureMap, TargetValue};
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;

    /// Dense records, in one read, have the gradient of sparse ones, in two passes, of one output and of several:
    /// beyond a first chunk too each record counts by the length of its own row and by its own weight.
    #[test]
    fn every_record_counts_by_its_own_weights_in_one_read_too() {
        let (n, p) = (9_000, 40);
        let x = Array2::from_shape_fn((n, p), |(i, j)| {
            ((i * 37 + j * 11) % (3 + i % 50)) as f64 / 60.0
        });
        let own: Vec<f64> = (0..n).map(|i| (i * 5 % 9) as f64 / 4.0).collect();
        for target in [Target::Classes, Target::Multiclass { classes: 3 }] {
            let bounds = Bounds {
                lower: vec![-1.0],
                upper: vec![1.0],
            };
            let schema = Schema::new(p, bounds, Geometry::Uncentred, target, true, None).unwrap();
            let schema = schema.with_gradient_norm(0.9).unwrap();
            let schema = schema.with_max_weight(2.0).unwrap();
            let model = RoomModel::for_target(&Logistic.into(), None, target).unwrap();
            let outputs = model.outputs();
            let entry = |j: u32, output: usize| (j, i64::from(j % 7) - 3 + output as i64);
            let directions: Vec<Vec<(u32, i64)>> = (0..outputs)
                .map(|output| (0..=p as u32).map(|j| entry(j, output)).collect())
                .collect();
            let moves: Vec<Move<'_>> = (directions.iter().enumerate())
                .map(|(output, direction)| Move {
                    output,
                    direction,
                    weight: 1,
                })
                .collect();
            let [dense, sparse, _] = all_kinds(&x, &schema).map(|data| {
                let data = data.weighed(Some(&own)).unwrap();
                let pass = Pass::Gradient {
                    model: &model,
                    moves: &moves,
                    fresh: true,
                    unit: 1e-5,
                };
                let sums = Block(&data).fold(&pass, &mut States::default(), &mut || Ok(()));
                sums.unwrap().0
            });
            assert!(dense.iter().any(|&sum| sum != 0));
            assert_eq!(dense, sparse);
        }
    }

    /// A norm or a target at a threshold counts there, and what rounding puts beyond the last one counts at that.
    #[test]
    fn what_lies_at_a_threshold_counts_there() {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let (geometry, target) = (Geometry::Uncentred, Target::Classes);
        let schema = Schema::new(2, bounds, geometry, target, true, None).unwrap();
        let x = ndarray::array![[0.0, 0.25], [0.5, 0.0], [0.5, 0.75]];
        let data = BoundedData::from_dense(x.view(), &[-1.0, 1.0, 1.0], schema).unwrap();
        let counts = |pass: &Pass<'_>| {
            let sums = Block(&data).fold(pass, &mut States::default(), &mut || Ok(()));
            sums.unwrap().0
        };
        let map = FeatureMap::linear(vec![1.0; 2]);
        let norms = map.norms(&data);
        assert!(norms[0] < norms[1] && norms[1] < norms[2]);
        let candidates = &norms[..2];
        assert_eq!(
            counts(&Pass::Norms {
                map: &map,
                candidates
            }),
            [1, 2]
        );
        let value = TargetValue::Itself;
        let of = |thresholds: &[f64]| {
            let thresholds = &FloatThresholds::Listed(thresholds.to_vec());
            counts(&Pass::Targets { value, thresholds })
        };
        assert_eq!(of(&[-1.0, 1.0]), [1, 2]);
        assert_eq!(of(&[-1.0, 0.0, 0.5]), [1, 0, 2]);
        assert_eq!(of(&[-2.0, -1.5]), [0, 3]);
    }
}

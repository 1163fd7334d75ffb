//! Passes over one block of records.

use rayon::prelude::*;

use super::answer::held_out_loss;
use super::bounded_data::BoundedData;
use super::fine_gradient;
use super::records::{Move, Pass, States, Sum, Watch};
use super::row_norm::RowNorm;
use super::{column_sums, second_moments};
use crate::error::Result;
use crate::question::RoomModel;

/// Records per piece of work.
const CHUNK: usize = 4096;

/// Consecutive records in one block of memory.
pub(super) struct Block<'a>(pub &'a BoundedData);

impl Block<'_> {
    fn move_margins(&self, moves: &[Move<'_>], fresh: bool, outputs: usize, states: &mut States) {
        let n = self.0.n_records();
        states.margins.resize_with(outputs, || vec![0; n]);
        states.slopes.resize_with(outputs, || vec![0; n]);
        self.0.move_planes(&mut states.margins, moves, fresh);
    }

    fn gradient(&self, model: &RoomModel, unit: f64, states: &mut States) -> Sum {
        let States {
            margins,
            slopes,
            weights,
            ..
        } = states;
        model.slopes(margins, unit, &self.0.targets, slopes);
        let weights = weights.get_or_insert_with(|| RowNorm::gradient_weights(self.0));
        let columns = self.0.n_columns();
        let mut sums = vec![0; columns * slopes.len()];
        if let Some(weights) = weights {
            for slopes in slopes.iter_mut() {
                (slopes.par_iter_mut())
                    .zip(weights.par_iter())
                    .with_min_len(CHUNK)
                    .for_each(|(slope, weight)| {
                        // Towards zero: never more than the weight allows.
                        *slope = (f64::from(*slope) * *weight) as i16;
                    });
            }
        }
        if let Some(weights) = &self.0.weights {
            slopes
                .iter_mut()
                .for_each(|slopes| weights.weigh_slopes(slopes));
        }
        self.0.gradients(slopes, &mut sums);
        Sum(sums)
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
                self.move_margins(moves, fresh, model.outputs(), states);
                self.gradient(model, unit, states)
            }
            Pass::Fine { model, theta } => fine_gradient::pass(self.0, model, theta, states),
            Pass::Moments => Sum(second_moments::above(self.0, watch)?),
            Pass::Absolute => Sum(column_sums::absolute(self.0)),
            Pass::Ranges { features, at } => Sum(match features {
                Some(features) => self.0.counts_of_features(features, at).concat(),
                None => self.0.counts_of_all(at),
            }),
            Pass::Norms { map, candidates } => {
                let mut counts = vec![0i64; candidates.len() + 1];
                for norm in map.norms(self.0) {
                    counts[candidates.partition_point(|&t| t < norm)] += 1;
                }
                // Norms beyond the largest candidate by rounding belong to none.
                counts.pop();
                Sum(counts)
            }
            Pass::Targets { value, thresholds } => {
                let mut counts = vec![0i64; thresholds.len()];
                for &target in &self.0.targets {
                    // Values beyond the last threshold by rounding belong to it.
                    let place = thresholds.partition_point(|&t| t < value.of(target));
                    counts[place.min(thresholds.len() - 1)] += 1;
                }
                Sum(counts)
            }
            Pass::HeldOut { models } => {
                let losses = models.iter().map(|model| held_out_loss(self.0, model));
                Sum(losses.collect::<Result<_>>()?)
            }
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
        let (Ok(loss), 1..) = (model.reviewed(), self.0.n_records()) else {
            return out.fill(0.0);
        };
        let records = states.scores.iter().zip(&self.0.targets);
        let mut weights: Vec<f64> = records
            .map(|(&z, &y)| loss.curvature(z, y) * factor)
            .collect();
        if let Some(own) = &self.0.weights {
            let pairs = weights.iter_mut().zip(own.shares());
            pairs.for_each(|(weight, share)| *weight *= share);
        }
        self.0.weighted_gram(&weights, out);
    }
}

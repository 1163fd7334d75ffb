//! Records in one block of memory.

use std::sync::Arc;

use rayon::prelude::*;

use super::answer::held_out_loss;
use super::bounded_data::BoundedData;
use super::changing_sums::Changed;
use super::fine_gradient;
use super::records::{LaggingPass, Move, Pass, Records, States, Sum, Watch};
use super::row_norm::RowNorm;
use super::{column_sums, second_moments};
use crate::accounting::event::Adjacency;
use crate::error::{Error, Result};
use crate::question::RoomModel;
use crate::question::Statement;

/// Records per piece of work.
const CHUNK: usize = 4096;

/// Bounded records in one block, with the statement that they were read under.
pub struct InMemory {
    statement: Arc<Statement>,
    pub(in crate::privacy) data: Arc<BoundedData>,
}

/// Towards zero: never more than the weight allows.
pub(in crate::privacy) fn shortened(slope: i16, weight: f64) -> i16 {
    (f64::from(slope) * weight) as i16
}

impl InMemory {
    /// # Errors
    /// [`Error::InvalidArgument`] naming `data` where the number of records is public and another one.
    pub(in crate::privacy) fn new(
        data: Arc<BoundedData>,
        statement: &Arc<Statement>,
    ) -> Result<Self> {
        let public = statement.adjacency() == Adjacency::ReplaceOne;
        if public && data.n_records() != statement.n_samples() {
            return Err(Error::invalid(
                "data",
                "hold another number of records than the plan was made for",
            ));
        }
        Ok(Self {
            statement: Arc::clone(statement),
            data,
        })
    }

    /// Without a look at their number, which is that of other records or not for a release.
    pub(in crate::privacy) fn of_any_size(data: BoundedData, statement: &Arc<Statement>) -> Self {
        Self {
            statement: Arc::clone(statement),
            data: Arc::new(data),
        }
    }

    fn move_margins(&self, moves: &[Move<'_>], fresh: bool, outputs: usize, states: &mut States) {
        let n = self.data.n_records();
        states.margins.resize_with(outputs, || vec![0; n]);
        states.slopes.resize_with(outputs, || vec![0; n]);
        self.data.move_planes(&mut states.margins, moves, fresh);
    }

    fn gradient(&self, model: &RoomModel, unit: f64, states: &mut States) -> Sum {
        let States {
            margins,
            slopes,
            weights,
            ..
        } = states;
        model.slopes(margins, unit, &self.data.targets, slopes);
        let weights = weights.get_or_insert_with(|| RowNorm::gradient_weights(&self.data));
        let columns = self.data.n_columns();
        let mut sums = vec![0; columns * slopes.len()];
        if let Some(weights) = weights {
            for slopes in slopes.iter_mut() {
                (slopes.par_iter_mut())
                    .zip(weights.par_iter())
                    .with_min_len(CHUNK)
                    .for_each(|(slope, weight)| {
                        *slope = shortened(*slope, *weight);
                    });
            }
        }
        if let Some(weights) = &self.data.weights {
            slopes
                .iter_mut()
                .for_each(|slopes| weights.weigh_slopes(slopes));
        }
        self.data.gradients(slopes, &mut sums);
        Sum(sums)
    }
}

impl Records for InMemory {
    fn statement(&self) -> &Arc<Statement> {
        &self.statement
    }

    fn n_records(&self) -> usize {
        self.data.n_records()
    }

    fn n_columns(&self) -> usize {
        self.data.n_columns()
    }

    fn fold(&self, pass: &Pass<'_>, states: &mut States, watch: Watch<'_>) -> Result<Sum> {
        watch()?;
        if self.data.n_records() == 0 {
            return Ok(Sum(vec![0; pass.sums(self)]));
        }
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
            Pass::Fine { model, theta } => fine_gradient::pass(&self.data, model, theta, states),
            Pass::Moments => Sum(second_moments::above(&self.data, watch)?),
            Pass::Absolute => Sum(column_sums::absolute(&self.data)),
            Pass::Ranges { features, at } => Sum(match features {
                Some(features) => self.data.counts_of_features(features, at).concat(),
                None => self.data.counts_of_all(at),
            }),
            Pass::Norms { map, candidates } => {
                let mut counts = vec![0i64; candidates.len() + 1];
                for norm in map.norms(&self.data) {
                    counts[candidates.partition_point(|&t| t < norm)] += 1;
                }
                // Norms beyond the largest candidate by rounding belong to none.
                counts.pop();
                Sum(counts)
            }
            Pass::Targets { value, thresholds } => {
                let mut counts = vec![0i64; thresholds.len()];
                for &target in &self.data.targets {
                    // Values beyond the last threshold by rounding belong to it.
                    let place = thresholds.partition_point(|&t| t < value.of(target));
                    counts[place.min(thresholds.len() - 1)] += 1;
                }
                Sum(counts)
            }
            Pass::HeldOut { models } => {
                let losses = models.iter().map(|model| held_out_loss(&self.data, model));
                Sum(losses.collect::<Result<_>>()?)
            }
        })
    }

    fn lagging(
        &self,
        pass: &LaggingPass<'_>,
        states: &mut States,
        watch: Watch<'_>,
    ) -> Result<Changed> {
        watch()?;
        Ok(self.lagging_gradient(pass, states))
    }

    fn curvature(&self, model: &RoomModel, factor: f64, states: &States, out: &mut [f64]) {
        let (Ok(loss), 1..) = (model.reviewed(), self.data.n_records()) else {
            return out.fill(0.0);
        };
        let records = states.scores.iter().zip(&self.data.targets);
        let mut weights: Vec<f64> = records
            .map(|(&z, &y)| loss.curvature(z, y) * factor)
            .collect();
        if let Some(own) = &self.data.weights {
            let pairs = weights.iter_mut().zip(own.shares());
            pairs.for_each(|(weight, share)| *weight *= share);
        }
        self.data.weighted_gram(&weights, out);
    }

    fn in_memory(&self) -> &InMemory {
        self
    }
}

//! A pass as data that owns what it holds.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::numeric::kernel::{MAX_DERIVATIVE, MAX_FEATURE};
use crate::privacy::block::Block;
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::counts::Thresholds;
use crate::privacy::records::{Move, Pass, States, Sum};
use crate::privacy::thresholds::FloatThresholds;
use crate::question::{
    CLASS_UNIT, FeatureMap, LEVELS, LinearModel, MeanCandidates, ModelData, TargetValue,
};

/// [`Pass`], of those that end in sums over blocks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum PassData {
    Gradient {
        model: ModelData,
        moves: Vec<MoveData>,
        fresh: bool,
        unit: f64,
    },
    Moments,
    Absolute,
    Images {
        map: FeatureMap,
        row_norm: f64,
    },
    Gains {
        chosen: Vec<u32>,
    },
    Ranges {
        features: Option<Vec<u32>>,
        at: Thresholds,
    },
    Norms {
        map: FeatureMap,
        candidates: Vec<f64>,
    },
    Targets {
        value: TargetValue,
        thresholds: FloatThresholds,
    },
    Mean(MeanCandidates),
    Classes,
    HeldOut {
        models: Vec<LinearModel>,
    },
}

/// [`Move`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct MoveData {
    pub output: u32,
    pub direction: Vec<(u32, i64)>,
    pub weight: i64,
}

impl MoveData {
    fn borrowed(&self) -> Move<'_> {
        Move {
            output: self.output as usize,
            direction: &self.direction,
            weight: self.weight,
        }
    }
}

impl PassData {
    /// # Errors
    /// [`Error::InvalidArgument`] for a pass whose states are floats of single records, which are asked for in one
    /// block.
    pub(super) fn new(pass: &Pass<'_>) -> Result<Self> {
        Ok(match *pass {
            Pass::Gradient {
                model,
                moves,
                fresh,
                unit,
            } => PassData::Gradient {
                model: model.as_data(),
                moves: (moves.iter())
                    .map(|step| MoveData {
                        output: step.output as u32,
                        direction: step.direction.to_vec(),
                        weight: step.weight,
                    })
                    .collect(),
                fresh,
                unit,
            },
            Pass::Fine { .. } => {
                return Err(Error::invalid(
                    "records",
                    "must be in one block for this question",
                ));
            }
            Pass::Moments => PassData::Moments,
            Pass::Absolute => PassData::Absolute,
            Pass::Images { map, row_norm } => PassData::Images {
                map: map.clone(),
                row_norm,
            },
            Pass::Gains { chosen } => PassData::Gains {
                chosen: chosen.to_vec(),
            },
            Pass::Ranges { features, at } => PassData::Ranges {
                features: features.map(<[u32]>::to_vec),
                at,
            },
            Pass::Norms { map, candidates } => PassData::Norms {
                map: map.clone(),
                candidates: candidates.to_vec(),
            },
            Pass::Targets { value, thresholds } => PassData::Targets {
                value,
                thresholds: thresholds.clone(),
            },
            Pass::Mean(candidates) => PassData::Mean(candidates.clone()),
            Pass::Classes => PassData::Classes,
            Pass::HeldOut { models } => PassData::HeldOut {
                models: models.to_vec(),
            },
        })
    }

    /// The sums over at least one record.
    ///
    /// # Errors
    /// A model that no curator made.
    pub(super) fn fold(&self, data: &BoundedData, states: &mut States) -> Result<Sum> {
        let mut fold = |pass: Pass<'_>| Block(data).fold(&pass, states, &mut || Ok(()));
        match self {
            PassData::Gradient {
                model,
                moves,
                fresh,
                unit,
            } => fold(Pass::Gradient {
                model: &model.model()?,
                moves: &moves.iter().map(MoveData::borrowed).collect::<Vec<_>>(),
                fresh: *fresh,
                unit: *unit,
            }),
            PassData::Moments => fold(Pass::Moments),
            PassData::Absolute => fold(Pass::Absolute),
            PassData::Images { map, row_norm } => fold(Pass::Images {
                map,
                row_norm: *row_norm,
            }),
            PassData::Gains { chosen } => fold(Pass::Gains { chosen }),
            PassData::Ranges { features, at } => fold(Pass::Ranges {
                features: features.as_deref(),
                at: *at,
            }),
            PassData::Norms { map, candidates } => fold(Pass::Norms { map, candidates }),
            PassData::Targets { value, thresholds } => fold(Pass::Targets {
                value: *value,
                thresholds,
            }),
            PassData::Mean(candidates) => fold(Pass::Mean(candidates)),
            PassData::Classes => fold(Pass::Classes),
            PassData::HeldOut { models } => fold(Pass::HeldOut { models }),
        }
    }

    /// Most that one record of `n_features` features adds to a sum, in size.
    pub(super) fn largest(&self, n_features: usize) -> i128 {
        let entry = i128::from(MAX_FEATURE);
        match self {
            PassData::Gradient { .. } => i128::from(MAX_DERIVATIVE) * entry,
            PassData::Moments => entry * entry,
            PassData::Absolute | PassData::Images { .. } | PassData::Gains { .. } => entry,
            PassData::Ranges { features: None, .. } => n_features as i128,
            PassData::Ranges { .. } | PassData::Norms { .. } | PassData::Targets { .. } => 1,
            PassData::Mean(_) => i128::from(MeanCandidates::LARGEST),
            PassData::Classes => i128::from(CLASS_UNIT),
            PassData::HeldOut { .. } => i128::from(LEVELS),
        }
    }
}

/// Margins of so many outputs at these moves from 0.
pub(super) fn restore(data: &BoundedData, moves: &[MoveData], outputs: usize, states: &mut States) {
    let moves: Vec<Move<'_>> = moves.iter().map(MoveData::borrowed).collect();
    Block(data).restore(&moves, outputs, states);
}

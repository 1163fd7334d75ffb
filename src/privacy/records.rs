//! Records behind one door: passes over them that end in integer sums.
//!
//! Integer sums merge exactly, whatever the order, the thread or the machine, so records may be in one block of memory,
//! in blocks of a file or elsewhere: what asks them sees [`Records`] alone. A pass is data, not code, so that it can
//! travel.

use std::sync::Arc;

use super::bounded_data::BoundedData;
use super::changing_sums::Changed;
use super::counts::Thresholds;
use super::derived::Derived;
use super::lagging_gradient::Lagging;
use super::row_weight::RowWeight;
use super::shards::Remote;
use super::thresholds::FloatThresholds;
use crate::error::Result;
use crate::question::FeatureMap;
use crate::question::LinearModel;
use crate::question::MeanCandidates;
use crate::question::RoomModel;
use crate::question::Statement;
use crate::question::TargetValue;
use crate::schema::Schema;

/// Called before every pass over the records, and in long ones; may stop the work (Ctrl-C). It learns nothing but that
/// time passes.
pub type Watch<'a> = &'a mut (dyn FnMut() -> Result<()> + 'a);

/// Bounded records, read under a statement.
pub trait Records: Sync {
    /// The public facts.
    fn statement(&self) -> &Arc<Statement>;

    /// The public facts that they were read or made under: of fewer features than the statement's, or the same.
    fn schema(&self) -> &Schema;

    /// Number of records: public under replace-one, private under add-remove.
    fn n_records(&self) -> usize;

    /// Columns, the intercept included: those of the statement, or fewer where it speaks of some of the features.
    fn n_columns(&self) -> usize {
        self.schema().n_columns()
    }

    /// What is made of every record by itself, kept where the records are.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::error::Error::Storage), [`Error::Workers`](crate::error::Error::Workers).
    fn derived(&self, by: Derived, to: &Arc<Statement>) -> Result<Box<dyn Records>>;

    /// None of the records, where those that are here can be let go.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::error::Error::Storage).
    fn emptied(&self) -> Result<Option<Box<dyn Records>>> {
        Ok(None)
    }

    /// One pass. Margins, scores and slopes stay in `states`, beside the records.
    ///
    /// # Errors
    /// An error of `watch`; [`Error::Workers`](crate::error::Error::Workers).
    fn fold(&self, pass: &Pass<'_>, states: &mut States, watch: Watch<'_>) -> Result<Sum>;

    /// The gradient at slopes that may lag behind, after margins have moved; the columns alone whose sums changed since
    /// the last such pass, all of them 0 before the first, by their numbers among the columns that are not rare.
    /// Margins, slopes and sums stay in `states`, beside the records.
    ///
    /// # Errors
    /// An error of `watch`.
    fn lagging(
        &self,
        pass: &LaggingPass<'_>,
        states: &mut States,
        watch: Watch<'_>,
    ) -> Result<Changed>;

    /// The sum of one feature, rare or not, at the slopes of the last such pass.
    fn lagging_sum(&self, feature: usize, states: &States) -> i64;

    /// Lower triangle, row by row in a square, of sum_i w_i x_i x_i' in scaled units and plain floats, w_i the `factor`
    /// times the curvature of the loss at the scores of the last [`Pass::Fine`], of several outputs a block for each
    /// two of them: it steers Newton's method and proves nothing.
    fn curvature(&self, model: &RoomModel, factor: f64, states: &States, out: &mut [f64]);

    /// The records in one block of memory, for algorithms that go through them one after the other.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::error::Error::InvalidArgument) where they are in several.
    fn whole(&self) -> Result<&Arc<BoundedData>>;
}

/// What is summed over the records: always bounded integers, each a function of one record and of public state.
pub enum Pass<'a> {
    /// sum_i d_ik x_i for each output k, one after the other, d the slopes of the model at margins that first move.
    /// Here as in [`Pass::Fine`], [`Pass::Moments`], [`Pass::Mean`], [`Pass::Classes`] and [`Pass::HeldOut`] a record
    /// with a weight adds its share.
    Gradient {
        /// The loss.
        model: &'a RoomModel,
        /// How margins move before.
        moves: &'a [Move<'a>],
        /// Whether margins are new ones, which start at 0 and are left to no later pass; others go on from one pass to
        /// the next.
        fresh: bool,
        /// z_i = margin_i * unit.
        unit: f64,
    },
    /// The same at coefficients that may depend on records: slopes in three limbs ([`super::fine_gradient`]), for each
    /// output one sum after the other.
    Fine {
        /// The loss.
        model: &'a RoomModel,
        /// Finite coefficients in scaled units, output by output.
        theta: &'a [f64],
    },
    /// sum_i x_ij x_il for every j <= l, row by row, rows that count less in gradients shortened.
    Moments,
    /// sum_i |x_ij| for every feature.
    Absolute,
    /// The same of images that are shortened to a row norm.
    Images {
        /// The public map.
        map: &'a FeatureMap,
        /// In scaled units.
        row_norm: f64,
    },
    /// sum_i max(x_ij - b_i, 0) for every feature j, b_i the largest of 0 and of x_ia over the chosen features a: what
    /// j adds.
    Gains {
        /// The chosen features.
        chosen: &'a [u32],
    },
    /// For each of these features (None: for the values of all of them together), how many values lie between every
    /// threshold and the one before.
    Ranges {
        /// Whose values.
        features: Option<&'a [u32]>,
        /// Thresholds on the lattice.
        at: Thresholds,
    },
    /// How many rows have an image of at most each of some norms, ascending.
    Norms {
        /// The public map.
        map: &'a FeatureMap,
        /// The norms.
        candidates: &'a [f64],
    },
    /// How many targets have a value between every threshold and the one before.
    Targets {
        /// Which value.
        value: TargetValue,
        /// The thresholds.
        thresholds: &'a FloatThresholds,
    },
    /// What the mean of counts is chosen by: three sums to a rate.
    Mean(&'a MeanCandidates),
    /// The shares of the records of every class added up, in units; of two classes those of -1 first.
    Classes,
    /// The bounded loss of each of some released models.
    HeldOut {
        /// The models, which fit the schema.
        models: &'a [LinearModel],
    },
}

impl Pass<'_> {
    /// How many sums it ends in.
    pub(in crate::privacy) fn sums(&self, records: &dyn Records) -> usize {
        let columns = records.n_columns();
        match self {
            Pass::Gradient { model, .. } => columns * model.outputs(),
            Pass::Fine { model, .. } => columns * model.outputs() * super::fine_gradient::LIMBS,
            Pass::Moments => columns * (columns + 1) / 2,
            Pass::Absolute | Pass::Images { .. } | Pass::Gains { .. } => {
                records.statement().schema().n_features()
            }
            Pass::Ranges { features, at } => features.map_or(1, <[u32]>::len) * at.len(),
            Pass::Norms { candidates, .. } => candidates.len(),
            Pass::Targets { thresholds, .. } => thresholds.len(),
            Pass::Mean(candidates) => MeanCandidates::SUMS * candidates.len(),
            Pass::Classes => records.schema().target().classes(),
            Pass::HeldOut { models } => models.len(),
        }
    }
}

/// sum_i d_i x_i, d_i the slope of a model of one output at the score of record i when that was last taken
/// ([`LaggingScores`](super::lagging_scores::LaggingScores)).
#[derive(Clone, Copy)]
pub struct LaggingPass<'a> {
    /// The loss.
    pub model: &'a RoomModel,
    /// How margins move before.
    pub moves: &'a [Move<'a>],
    /// z_i = margin_i * unit; not negative.
    pub unit: f64,
    /// How far a score moves before its slope is taken anew; positive.
    pub tolerance: f64,
    /// Features with sum_i |x_ij - b_j| of this at most, b_j the lattice value of 0, are rare: their sums wait until
    /// [`Records::lagging_sum`] is asked for them. None: no feature is. The first pass decides.
    pub rare: Option<i64>,
}

/// How the margins of one output move: by `weight` times the inner products of records and `direction`.
///
/// The caller keeps the sum of |weight * entry| over all moves since the last fresh start below 2^46, so that margins
/// stay below 2^60 and sparse columns add at most three such terms.
#[derive(Debug, Clone, Copy)]
pub struct Move<'a> {
    /// Number of the output.
    pub output: usize,
    /// Columns with their entries.
    pub direction: &'a [(u32, i64)],
    /// What the entries are multiplied by.
    pub weight: i64,
}

/// Integer sums; those of two sets of records add up to those of both.
pub struct Sum(pub Vec<i64>);

/// What a pass leaves beside the records for the next one.
#[derive(Default)]
pub struct States {
    /// Of each block, where there are several.
    pub(in crate::privacy) blocks: Vec<States>,
    /// Of records that are elsewhere, which is where theirs are.
    pub(in crate::privacy) elsewhere: Option<Arc<Remote>>,
    /// Margins of each output that go on from pass to pass.
    pub(in crate::privacy) margins: Vec<Vec<i64>>,
    /// Room for margins of sparse records that are made for one pass.
    pub(in crate::privacy) new_margins: Vec<Vec<i64>>,
    /// Slopes of each output.
    pub(in crate::privacy) slopes: Vec<Vec<i16>>,
    /// How often each record counts; None: once each.
    pub(in crate::privacy) weights: Option<Option<Vec<RowWeight>>>,
    /// What lagging passes keep.
    pub(in crate::privacy) lagging: Option<Lagging>,
    /// Scores of the last fine pass, output by output.
    pub(in crate::privacy) scores: Vec<f64>,
    /// Limbs of the last fine pass: for each output from the finest to the coarsest.
    pub(in crate::privacy) limbs: Vec<Vec<i16>>,
}

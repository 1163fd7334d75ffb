//! Questions: what may be asked of records, and what an answer costs. Nothing here reads a record; everything here must
//! be right.
//!
//! Audit guide, in reading order:
//!
//! 1. [`Statement`]: the public facts of a release, and how neighbours are counted.
//! 2. [`RoomModel`]: a reviewed or tabulated loss, and the bounds that its slopes are clamped to.
//! 3. `sensitivity`: the bounds of gradients and scores, with proofs.
//! 4. [`Question`], [`Planned`]: a question with its events, and lists of them; `assumptions`, `space`: what a release
//!    takes for granted, and the memory that it needs.
//! 5. The kinds of questions, by shape:
//!
//! | shape | kinds | proof |
//! |---|---|---|
//! | **sum**: integers of bounded contributions, integer noise | [`Gradient`], [`ScoreSlope`], [`Moments`], [`AbsoluteSums`], [`ImageSums`], [`Histograms`], [`TargetHistogram`], [`ClassCounts`] | a bound on one contribution |
//! | **choose**: integer scores, exact exponential mechanism | [`Vertex`], [`Ranges`], [`TypicalNorm`], [`TargetQuantile`], [`MeanCount`], [`HeldOut`], [`Gains`], [`DualVertex`], [`SoftmaxDraws`] | a bound on the move of a score |
//! | **point**: a stable algorithm, noise on a lattice | [`Point`], [`DualPoint`] | a bound on the move of the point |
//!
//! 6. `objective`, `class_slopes`: how far floats leave a minimiser from the true one, of one score and of several.
//!
//! An event is computed from the statement and from the noise that [`crate::privacy`] will draw; nothing else makes a
//! question, so no mechanism can write an event.
#![forbid(unsafe_code)]

mod absolute_sums;
mod assumptions;
mod class_counts;
mod class_slopes;
mod descent;
mod dual;
pub(crate) mod feature_map;
mod gains;
mod gaussian_sum;
mod gradient;
mod held_out;
pub(crate) mod histograms;
mod image_sums;
mod lattice;
mod mean_count;
mod model;
mod moments;
mod objective;
mod permuted;
mod point;
mod projection;
mod quantile;
pub(crate) mod ranges;
mod running_sums;
mod score_slope;
mod sensitivity;
mod softmax;
mod space;
mod split;
mod statement;
mod stream;
mod strongly_convex;
mod target_histogram;
mod target_quantile;
mod typical_norm;
mod vertex;

pub use absolute_sums::AbsoluteSums;
pub use class_counts::ClassCounts;
pub use descent::{Descent, DescentOptions};
pub use dual::{DualPath, DualPoint, DualVertex};
pub use feature_map::{FeatureMap, Units};
pub use gains::Gains;
pub use gradient::Gradient;
pub use held_out::{HeldOut, LinearModel};
pub use histograms::{Bins, Histograms};
pub use image_sums::ImageSums;
pub use lattice::{GAMMA_FAILURE, PointNoise};
pub use mean_count::MeanCount;
pub use model::{RoomModel, SlopeBound, SlopeLattice};
pub use moments::{MOST_MOMENT_COLUMNS, Moments};
pub use permuted::{Permuted, PermutedOptions};
pub use point::{Point, TiltNoise};
pub use projection::Projection;
pub use ranges::{Ranges, RangesOf};
pub use running_sums::RunningSumsPlan;
pub use score_slope::ScoreSlope;
pub use softmax::{SmoothLoss, Softmax, SoftmaxDraws, stability};
pub use split::Split;
pub use statement::Statement;
pub use stream::RunningPlan;
pub use strongly_convex::StronglyConvex;
pub(crate) use strongly_convex::check_ridge;
pub use target_histogram::{TargetHistogram, Window};
pub use target_quantile::{TargetQuantile, TargetValue};
pub use typical_norm::TypicalNorm;
pub use vertex::{SelectionNoise, Vertex};

pub(crate) use assumptions::most_records;
pub(crate) use class_counts::UNIT as CLASS_UNIT;
pub(crate) use gaussian_sum::GaussianSum;
pub(crate) use gradient::lattice_directions;
pub(crate) use held_out::LEVELS;
pub(crate) use lattice::{LatticeLaw, LatticeNoise};
pub(crate) use mean_count::MeanCandidates;
pub(crate) use model::ModelData;
pub(crate) use objective::Objective;
#[cfg(test)]
pub(crate) use objective::gradient_error;
pub(crate) use point::{Algorithm, DrawnTilt, Tilt};
pub(crate) use quantile::Quantile;
pub(crate) use running_sums::LENGTH;
pub(crate) use space::{Stored, check_sparse, most_beside};
pub(crate) use split::SplitLaw;
pub(crate) use statement::{Derivation, MOST_RECORDS};
pub(crate) use stream::UNIT;

use std::fmt::{Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use self::space::WorkingCopy;
use crate::accounting::event::Event;
use crate::error::{Error, Result};

/// One question, with what an answer to it costs: the events are computed in here, from the statement and from the
/// noise that will be drawn.
///
/// Questions are made by methods of [`Statement`], asked by [`Session::ask`](crate::privacy::Session::ask), and planned
/// for by [`Program::questions`](crate::privacy::Program::questions). A clone is the same question.
#[derive(Clone)]
pub struct Question<A> {
    id: u64,
    /// Questions that share a state in the room.
    state: u64,
    statement: Arc<Statement>,
    events: Vec<(Event, u64)>,
    /// Most records that the proof, or the integers, take.
    most_records: usize,
    copy: WorkingCopy,
    /// Whether an answer goes through all records at once.
    one_block: bool,
    /// Scores of a record that its state keeps.
    outputs: usize,
    /// Whether its state keeps what lagging slopes need.
    lags: bool,
    /// Whether an answer may stand in a checkpoint: it is released as it is.
    may_be_kept: bool,
    pub(crate) answer: A,
}

/// Without the numbers of this process: questions that are written alike are made alike, in every process.
impl<A: Debug> Debug for Question<A> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question")
            .field("statement", &self.statement)
            .field("events", &self.events)
            .field("answer", &self.answer)
            .finish_non_exhaustive()
    }
}

static NEXT: AtomicU64 = AtomicU64::new(1);

impl<A> Question<A> {
    fn new(statement: &Arc<Statement>, answer: A, events: Vec<(Event, u64)>) -> Self {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            id,
            state: id,
            statement: Arc::clone(statement),
            events,
            most_records: MOST_RECORDS,
            copy: WorkingCopy::None,
            one_block: false,
            outputs: 1,
            lags: false,
            may_be_kept: true,
            answer,
        }
    }

    /// The same question, of at most so many records.
    fn of_at_most(self, most_records: usize) -> Self {
        Self {
            most_records,
            ..self
        }
    }

    /// Adds what an answer costs besides.
    fn also_costs(&mut self, event: Event) {
        self.events.push((event, 1));
    }

    /// The same question, whose answers stay in the room.
    fn never_kept(self) -> Self {
        Self {
            may_be_kept: false,
            ..self
        }
    }

    /// The same question, working on the state of another one.
    fn sharing<B>(self, other: &Question<B>) -> Self {
        Self {
            state: other.state,
            ..self
        }
    }

    /// The statement that it is asked of.
    pub fn statement(&self) -> &Arc<Statement> {
        &self.statement
    }

    /// What one answer costs: events with their counts.
    pub fn events(&self) -> &[(Event, u64)] {
        &self.events
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn state_id(&self) -> u64 {
        self.state
    }
}

impl<A> Question<A> {
    /// The question without its kind, `count` times: what a program announces.
    pub fn times(&self, count: u64) -> Planned {
        Planned::Ask(AnyQuestion {
            id: self.id,
            statement: Arc::clone(&self.statement),
            events: self.events.clone(),
            most_records: self.most_records,
            copy: self.copy,
            one_block: self.one_block,
            state: self.state,
            outputs: self.outputs,
            lags: self.lags,
            may_be_kept: self.may_be_kept,
            count,
        })
    }

    /// The question once.
    pub fn once(&self) -> Planned {
        self.times(1)
    }
}

/// A question without its kind, and how often it will be asked.
#[derive(Clone)]
pub struct AnyQuestion {
    pub(crate) id: u64,
    pub(crate) statement: Arc<Statement>,
    pub(crate) events: Vec<(Event, u64)>,
    pub(crate) most_records: usize,
    pub(crate) copy: WorkingCopy,
    pub(crate) one_block: bool,
    pub(crate) state: u64,
    pub(crate) outputs: usize,
    pub(crate) lags: bool,
    pub(crate) may_be_kept: bool,
    pub(crate) count: u64,
}

/// As of [`Question`].
impl Debug for AnyQuestion {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnyQuestion")
            .field("statement", &self.statement)
            .field("events", &self.events)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

/// What a program will ask.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Planned {
    /// One question, so many times.
    Ask(AnyQuestion),
    /// One of several lists of questions, whichever: the choice may depend on earlier answers. It costs what dominates
    /// every one of them.
    OneOf(Vec<Vec<Planned>>),
}

impl Planned {
    /// The events, in order; those of a choice are dominated together.
    ///
    /// # Errors
    /// Counts beyond 2^64, options that no events dominate.
    pub fn events(&self) -> Result<Vec<(Event, u64)>> {
        match self {
            Planned::Ask(question) => {
                let times = |&(event, count): &(Event, u64)| {
                    let total = count.checked_mul(question.count);
                    total
                        .map(|total| (event, total))
                        .ok_or_else(|| Error::invalid("n_iter", "is too large"))
                };
                question.events.iter().map(times).collect()
            }
            Planned::OneOf(options) => {
                let options = options.iter().map(|option| events_of(option));
                crate::accounting::dominating::dominating(&options.collect::<Result<Vec<_>>>()?)
            }
        }
    }

    /// All questions of all options.
    pub(crate) fn questions(&self) -> Vec<&AnyQuestion> {
        match self {
            Planned::Ask(question) => vec![question],
            Planned::OneOf(options) => options.iter().flatten().flat_map(Self::questions).collect(),
        }
    }
}

/// The events of several plans, in order, those that are equal and follow each other together; no count is 0.
///
/// # Errors
/// Counts beyond 2^64, options that no events dominate.
pub fn events_of(planned: &[Planned]) -> Result<Vec<(Event, u64)>> {
    let mut events: Vec<(Event, u64)> = Vec::new();
    for part in planned {
        for (event, count) in part.events()?.into_iter().filter(|(_, count)| *count > 0) {
            match events.last_mut() {
                Some((last, total)) if *last == event => {
                    *total = total
                        .checked_add(count)
                        .ok_or_else(|| Error::invalid("n_iter", "is too large"))?;
                }
                _ => events.push((event, count)),
            }
        }
    }
    Ok(events)
}

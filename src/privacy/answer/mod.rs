//! Answers: how the room draws them. Three shapes, as their questions have ([`crate::question`]).

mod absolute_sums;
mod class_counts;
mod descent;
mod dual;
mod entropic_minimum;
mod gains;
mod gaussian_sum;
mod gradient;
mod held_out;
mod histograms;
mod image_sums;
mod lagging_vertex;
mod lattice;
mod mean_count;
mod moments;
mod permuted;
mod point;
mod quantile;
mod ranges;
mod score_slope;
mod softmax;
mod split;
mod strongly_convex;
mod target_histogram;
mod target_quantile;
mod typical_norm;
mod vertex;

use std::any::Any;
use std::cell::Cell;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::records::Records;
use crate::error::Result;
use crate::exact::noise::source::Source;
use crate::schema::Schema;

pub use split::Part;
pub use vertex::VertexAt;

pub(in crate::privacy) use held_out::held_out_losses;
pub(in crate::privacy) use split::Sides;

/// A kind of question, and how the room answers it. Its methods take what nothing outside the room has.
pub trait Answer: std::fmt::Debug + Clone + Send + Sync + 'static {
    /// What the caller says when asking: public, as everything outside the room is. Written as debug text it is the
    /// same in every process, and differs where it differs.
    type At<'a>: std::fmt::Debug;
    /// What leaves, in a checkpoint too.
    type Released: Serialize + DeserializeOwned;
    /// What stays in the room between two answers; it depends on records.
    type State: Any + Send + Default;

    /// Whether it may be asked of records with fewer features than the statement speaks of.
    fn takes_fewer_features(&self) -> bool {
        false
    }

    /// Refuses what the caller says, before anything is spent; by public facts alone, `schema` those of the records.
    ///
    /// # Errors
    /// What the question does not take.
    fn check(&self, at: &Self::At<'_>, schema: &Schema) -> Result<()> {
        let _ = (at, schema);
        Ok(())
    }

    /// Refuses what is too much after all that was said before, which `state` knows: before anything is spent, and by
    /// public facts alone.
    ///
    /// # Errors
    /// What the question does not take any more.
    fn check_after(&self, at: &Self::At<'_>, state: &Self::State) -> Result<()> {
        let _ = (at, state);
        Ok(())
    }

    /// Draws. The question is off the plan already, so no error follows from the records: one would tell of them.
    ///
    /// # Errors
    /// [`crate::error::Error::Randomness`], [`crate::error::Error::Interrupted`]; what follows from public facts, or
    /// from what is noisy already.
    fn draw(&self, at: Self::At<'_>, room: Room<'_, '_, Self::State>) -> Result<Self::Released>;

    /// Brings the state to where [`Answer::draw`] left it when it released `answer`, for later questions of a release
    /// that is resumed (`checkpoint.rs`). Nothing is drawn, and nothing leaves.
    ///
    /// # Errors
    /// As [`Answer::draw`].
    fn replay(
        &self,
        at: Self::At<'_>,
        answer: &Self::Released,
        room: Room<'_, '_, Self::State>,
    ) -> Result<()> {
        let _ = (at, answer, room);
        Ok(())
    }
}

/// What an answer works with.
pub struct Room<'r, 'w, S> {
    pub(in crate::privacy) records: &'r dyn Records,
    pub(in crate::privacy) state: &'r mut S,
    pub(in crate::privacy) source: &'r mut Source,
    /// Called from time to time in long work; may stop it (Ctrl-C). It learns nothing but that time passes.
    pub(in crate::privacy) watch: &'r mut (dyn FnMut() -> Result<()> + 'w),
    /// Steps done of how many, which `watch` reports: public numbers alone.
    pub(in crate::privacy) progress: &'r Progress,
}

/// Steps done of how many.
pub(in crate::privacy) type Progress = Cell<(usize, usize)>;

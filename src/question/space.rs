//! How much memory the records of a release take at most: by public facts and by how the records are stored.
//!
//! The number of records may be private, and so may the number of their stored entries. So memory is asked for once,
//! before anything is spent, for whatever the questions of a plan can have made of the records: an error in the middle
//! of a release would tell that the privacy was spent on too many of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::statement::{Derivation, Statement};
use super::{AnyQuestion, Question};
use crate::error::{Error, Result};
use crate::numeric::strips;
use crate::schema::Schema;

/// How records came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored {
    /// Number of records.
    pub records: usize,
    /// Stored entries of a sparse matrix; None: dense.
    pub entries: Option<usize>,
    /// Whether features are in files.
    pub in_files: bool,
}

/// A copy of the records that an answer works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkingCopy {
    /// None: they are read as they are.
    None,
    /// One that is stored alike.
    Alike,
}

/// Bytes per record beside its features, at least: a target, a margin, a norm and a weight.
const BYTES_PER_RECORD: u128 = 32;
/// Bytes per record and score beyond one: a margin and a slope.
const BYTES_PER_SCORE: u128 = 10;
/// Bytes per record whose slope may lag behind: the score it was taken at, when it is due and up to three entries of a
/// queue, and for a step in which all are due their numbers, margins, targets and slopes.
const BYTES_PER_LAG: u128 = 128;
/// Bytes per record with a weight, beside: its share, and the root of it.
const BYTES_PER_WEIGHT: u128 = 16;
/// Bytes per entry of a dense matrix.
const ENTRY: u128 = 2;
/// Bytes per stored entry of a sparse matrix: its value and its index, by rows and by columns.
const STORED_ENTRY: u128 = 12;
/// Bytes per row and per column of a sparse matrix: where it starts, and the base of a column.
const LINE: u128 = 10;

impl Statement {
    /// Whether unstored zeros of sparse records are zeros of the records that this statement is about.
    pub(crate) fn keeps_zero(&self) -> bool {
        let schema = self.schema();
        match self.origin() {
            None | Some((_, Derivation::Part)) => {
                (0..schema.n_features()).all(|j| schema.lattice_value(0.0, j) == 0)
            }
            Some((_, Derivation::Mapped | Derivation::Projected)) => false,
            Some((parent, _)) => parent.keeps_zero(),
        }
    }

    /// Whether sparse records are still sparse. Shortening moves each entry of a row whose zeros have moved.
    fn stays_sparse(&self) -> bool {
        match self.origin() {
            None | Some((_, Derivation::Part)) => true,
            Some((parent, Derivation::Mapped | Derivation::Scaled)) => {
                let moved = self.schema().row_norm().is_some() && !self.keeps_zero();
                parent.stays_sparse() && !moved
            }
            Some((parent, Derivation::Restricted | Derivation::Varying)) => parent.stays_sparse(),
            Some((_, Derivation::Projected)) => false,
        }
    }

    /// Bytes of its records, of a part as if it were all of them.
    pub(crate) fn bytes(&self, stored: Stored) -> u128 {
        let (n, p) = (stored.records as u128, self.schema().n_features() as u128);
        let features = match stored.entries {
            _ if stored.in_files => 0,
            Some(entries) if self.stays_sparse() => {
                STORED_ENTRY * entries as u128 + LINE * (n + p + 2)
            }
            // Whole strips.
            _ => ENTRY * n.next_multiple_of(strips::LINE as u128) * p,
        };
        let weights = match self.schema().max_weight() {
            Some(_) => BYTES_PER_WEIGHT * n,
            None => 0,
        };
        BYTES_PER_RECORD * n + weights + features
    }
}

/// Bytes of whatever the questions of a plan make of the records of `root`, beside these, while the most is there.
///
/// # Errors
/// As [`AnyQuestion::bytes`].
pub(crate) fn most_beside(
    root: &Arc<Statement>,
    questions: &[&AnyQuestion],
    stored: Stored,
) -> Result<u128> {
    questions.iter().try_fold(0, |most, question| {
        let scores = question.bytes_of_scores(questions, stored);
        Ok(most.max(question.bytes(root, stored)? + scores))
    })
}

impl AnyQuestion {
    /// Bytes of all records that are there while an answer is drawn, beside those of `root`: one set for each
    /// derivation, one more while a part is read or sparse records change, and a working copy. Dense ones, in columns
    /// or packed, become others of a set without anything beside them.
    ///
    /// # Errors
    /// As [`check_sparse`], for a part that is read under another schema.
    pub(crate) fn bytes(&self, root: &Arc<Statement>, stored: Stored) -> Result<u128> {
        let (mut all, mut largest) = (0, 0);
        let mut spare = stored.entries.is_some();
        let mut at = &self.statement;
        while let Some((parent, by)) = at.origin().filter(|_| !at.same(root)) {
            spare |= by == Derivation::Part;
            if by == Derivation::Part && stored.entries.is_some() {
                check_sparse(at.schema())?;
            }
            let bytes = at.bytes(stored);
            (all, largest) = (all + bytes, bytes.max(largest));
            at = parent;
        }
        let copy = match self.copy {
            WorkingCopy::None => 0,
            WorkingCopy::Alike => self.statement.bytes(stored),
        };
        Ok(all + if spare { largest } else { 0 } + copy)
    }

    /// Bytes of the margins and slopes of several scores a record, beside the first, and of lagging ones, that are kept
    /// while this question is answered: its own, and those of other questions about the same records or about records
    /// that they derive from.
    pub(crate) fn bytes_of_scores(&self, questions: &[&AnyQuestion], stored: Stored) -> u128 {
        let mut states = BTreeMap::new();
        let kept = questions.iter().filter(|other| self.is_asked_within(other));
        for other in kept.copied().chain([self]) {
            let lag = if other.lags { BYTES_PER_LAG } else { 0 };
            let scores = BYTES_PER_SCORE * (other.outputs as u128 - 1);
            states.insert(other.state, scores + lag);
        }
        stored.records as u128 * states.values().sum::<u128>()
    }

    /// Whether it may be asked while the state of `other` is kept.
    fn is_asked_within(&self, other: &AnyQuestion) -> bool {
        let mut at = Some(&self.statement);
        while let Some(statement) = at {
            if statement.same(&other.statement) {
                return true;
            }
            at = statement.origin().map(|(parent, _)| parent);
        }
        false
    }
}

impl<A> Question<A> {
    /// The same question, whose state keeps margins and slopes of so many scores a record, at least one.
    pub(super) fn of_outputs(self, outputs: usize) -> Self {
        Self { outputs, ..self }
    }

    /// The same question, whose answers go through records one after the other, or minimise over them in floats: they
    /// know one block of memory.
    pub(super) fn in_one_block(self) -> Self {
        Self {
            one_block: true,
            ..self
        }
    }

    /// The same question, answered by fine passes of so many scores a record. Each keeps a score, three limbs and,
    /// where the curvature is taken, a probability: 22 bytes, less than three margins with their slopes.
    pub(super) fn of_fine_outputs(self, outputs: usize) -> Self {
        self.of_outputs(1 + 3 * (outputs - 1))
    }

    /// The same question, whose state keeps what lagging slopes need.
    pub(super) fn with_lag(self) -> Self {
        Self {
            lags: true,
            one_block: true,
            ..self
        }
    }

    /// The same question, answered from a copy of the records.
    pub(super) fn on_a_copy(self, copy: WorkingCopy) -> Self {
        Self { copy, ..self }
    }
}

/// Refuses to shorten rows of sparse records whose zeros would move.
///
/// # Errors
/// [`Error::InvalidArgument`] naming `row_norm`.
pub(crate) fn check_sparse(schema: &Schema) -> Result<()> {
    let moved = || (0..schema.n_features()).any(|j| schema.lattice_value(0.0, j) != 0);
    if schema.row_norm().is_some() && moved() {
        return Err(Error::invalid(
            "row_norm",
            "with sparse X needs bounds that contain zero; pass X as a dense array",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;
    use crate::polytope::SignedCoordinates;
    use crate::question::{Planned, RoomModel, SelectionNoise};
    use crate::schema::{Bounds, Geometry, Target};

    fn schema(geometry: Geometry, norm: Option<f64>) -> Schema {
        let bounds = Bounds {
            lower: vec![0.0],
            upper: vec![1.0],
        };
        Schema::new(50, bounds, geometry, Target::Classes, true, norm).unwrap()
    }

    fn root(geometry: Geometry) -> Arc<Statement> {
        Statement::new(schema(geometry, None), 1000, Adjacency::AddRemove, 1).unwrap()
    }

    const SPARSE: Stored = Stored {
        records: 2000,
        entries: Some(3000),
        in_files: false,
    };
    const DENSE: Stored = Stored {
        records: 2000,
        entries: None,
        in_files: false,
    };

    /// Rows that are shortened after zeros have moved are dense, and what is made of them; nothing else is.
    #[test]
    fn sparse_records_stay_sparse_where_zeros_stay() {
        for (geometry, zero) in [(Geometry::Uncentred, true), (Geometry::Centred, false)] {
            let root = root(geometry);
            assert_eq!(root.keeps_zero(), zero);
            let short = || schema(Geometry::Uncentred, Some(1.0));
            for (made, sparse) in [
                (root.mapped(schema(Geometry::Uncentred, None)), true),
                (root.mapped(short()), false),
                (root.scaled(short()), zero),
                (root.restricted(3), true),
                (root.part(schema(Geometry::Uncentred, Some(1.0)), 9), true),
            ] {
                let made = made.unwrap();
                let few = made.restricted(made.schema().n_features()).unwrap();
                for statement in [&made, &few] {
                    assert_eq!(statement.stays_sparse(), sparse);
                    let dense = 2000 * 32 + 2016 * 2 * statement.schema().n_features() as u128;
                    let expected = 2000 * 32
                        + 3000 * 12
                        + 10 * (2000 + 2)
                        + 10 * statement.schema().n_features() as u128;
                    let sized = if sparse { expected } else { dense };
                    assert_eq!(statement.bytes(SPARSE), sized);
                    assert_eq!(statement.bytes(DENSE), dense);
                }
            }
        }
    }

    /// Ten bytes for each further score of a record: of questions whose states are there at once, and of no others.
    #[test]
    fn scores_of_several_classes_count() {
        let schema = |target| {
            let bounds = Bounds {
                lower: vec![-1.0],
                upper: vec![1.0],
            };
            Schema::new(5, bounds, Geometry::Uncentred, target, true, Some(1.0)).unwrap()
        };
        let scores = |classes: u32| {
            let target = match classes {
                2 => Target::Classes,
                _ => Target::Multiclass { classes },
            };
            let root = Statement::new(schema(target), 1000, Adjacency::AddRemove, 1).unwrap();
            let model = RoomModel::for_target(&crate::loss::Logistic.into(), None, target).unwrap();
            let (few, part) = (
                root.restricted(3).unwrap(),
                root.part(schema(target), 900).unwrap(),
            );
            let first = root.gradient(&model, 1.0).unwrap();
            let noise = SelectionNoise::Exponential { epsilon0: 1.0 };
            let entries = first.statement().n_columns() * model.outputs();
            let ball = SignedCoordinates::l1_ball(entries, 1.0).into();
            let asked = [
                first.times(3),
                first.once(),
                root.vertex(&model, &ball, noise, None).unwrap().once(),
                few.gradient(&model, 1.0).unwrap().once(),
                part.held_out(1.0).unwrap().once(),
                root.moments(1.0).unwrap().once(),
            ];
            let asked: Vec<&AnyQuestion> = asked.iter().flat_map(Planned::questions).collect();
            let of = |question: &AnyQuestion| question.bytes_of_scores(&asked, DENSE);
            [asked[0], asked[2], asked[3], asked[4], asked[5]].map(of)
        };
        // Two states of the root; with a third of what derives from it.
        assert_eq!(
            scores(7),
            [2, 2, 3, 3, 2].map(|states| states * 6 * 10 * 2000)
        );
        assert_eq!(scores(2), [0; 5]);
    }

    /// One set for each derivation, one while a part is read or sparse records change, and the working copy.
    #[test]
    fn every_set_that_is_there_at_once_counts() {
        let root = root(Geometry::Centred);
        let part = root.part(schema(Geometry::Centred, None), 900).unwrap();
        let mapped = part.mapped(schema(Geometry::Uncentred, None)).unwrap();
        let set = root.bytes(DENSE);
        let image = root.mapped(schema(Geometry::Uncentred, None)).unwrap();
        for (about, sets) in [(&root, 0), (&part, 2), (&mapped, 3), (&image, 1)] {
            let moments = about.moments(1.0).unwrap();
            let copied = moments.clone().on_a_copy(WorkingCopy::Alike).once();
            let (with, without) = (copied.questions()[0], moments.once());
            let without = without.questions()[0];
            assert_eq!(without.bytes(&root, DENSE), Ok(sets * set));
            assert_eq!(with.bytes(&root, DENSE), Ok((sets + 1) * set));
            assert_eq!(
                most_beside(&root, &[without, with], DENSE),
                Ok((sets + 1) * set)
            );
        }
        let question = image.moments(1.0).unwrap().once();
        let sparse = 2 * image.bytes(SPARSE); // while it changes
        assert_eq!(question.questions()[0].bytes(&root, SPARSE), Ok(sparse));
        let short = root
            .part(schema(Geometry::Centred, Some(1.0)), 900)
            .unwrap();
        let question = short.typical_norm(1.0, 0.5).unwrap().once();
        assert!(question.questions()[0].bytes(&root, DENSE).is_ok());
        assert!(question.questions()[0].bytes(&root, SPARSE).is_err());
    }
}

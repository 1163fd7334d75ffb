//! The keeper of the records: ingestion, and the only home of what is **not private**.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ndarray::ArrayView2;

use super::blocks::Blocks;
use super::bounded_data::BoundedData;
use super::private_sizes::room;
use super::raw::{BlockSource, Dense, Elsewhere, InBlocks, Raw, Sparse};
use super::records::{Move, Pass, Records, States};
use super::shards::{Held, Link, Shards, Workers};
use super::sparse_records::{Compressed, Orientation};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::numeric::mapped;
use crate::question::RoomModel;
use crate::question::Statement;
use crate::question::{AnyQuestion, Question, Stored, most_beside};
use crate::question::{LinearModel, Point, Softmax};
use crate::schema::Schema;

/// Raw records in the hands of the one who may see them. It is made from X and y alone, so nothing that has no records
/// can make one: mechanisms get a [`Session`](super::Session), which leads to none.
///
/// ```
/// use dpsparse::privacy::Curator;
/// let x = ndarray::array![[0.0, 10.0], [5.0, 2.0]];
/// let curator = Curator::from_dense(x.view(), &[1.0, -1.0]);
/// ```
///
/// Reading a record from it does not compile:
/// ```compile_fail,E0616
/// # use dpsparse::privacy::Curator;
/// fn peek(curator: &Curator<'_>) -> f64 { curator.targets[0] }
/// ```
pub struct Curator<'x> {
    raw: Box<dyn Raw + 'x>,
    targets: &'x [f64],
    weights: Option<&'x [f64]>,
}

/// Records that were read, under a schema.
#[derive(Clone)]
pub(in crate::privacy) enum Taken {
    Here(Vec<Arc<BoundedData>>),
    Elsewhere(Held),
}

impl<'x> Curator<'x> {
    /// A dense array of any strides, and one target a record: -1 and +1 for classes.
    pub fn from_dense<T>(x: ArrayView2<'x, T>, y: &'x [f64]) -> Self
    where
        T: Copy + Into<f64> + Sync + 'x,
    {
        Self::from_one_hot(x, Vec::new(), y)
    }

    /// The same of an array some of whose consecutive columns are one-hot blocks, as encoded categories are: of each
    /// record at most one entry of a block is 1, and the others are 0. Blocks ascend. Such columns take a byte of every
    /// record together, and so do other columns of few public values where entries come in bytes; the integers, and so
    /// all models, are the same.
    ///
    /// ```
    /// use dpsparse::privacy::Curator;
    /// let x = ndarray::array![[0.0, 1.0, 0.0, 40.0], [0.0, 0.0, 0.0, 29.5]];
    /// let curator = Curator::from_one_hot(x.view(), vec![0..3], &[1.0, -1.0]);
    /// ```
    pub fn from_one_hot<T>(x: ArrayView2<'x, T>, blocks: Vec<Range<usize>>, y: &'x [f64]) -> Self
    where
        T: Copy + Into<f64> + Sync + 'x,
    {
        Self {
            raw: Box::new(Dense { x, one_hot: blocks }),
            targets: y,
            weights: None,
        }
    }

    /// The same from a sparse matrix: indices are checked and duplicates summed before clipping, zeros stay unstored.
    pub fn from_sparse<T, I>(
        x: Compressed<'x, T, I>,
        orientation: Orientation,
        shape: (usize, usize),
        y: &'x [f64],
    ) -> Self
    where
        T: Copy + Into<f64> + Sync + 'x,
        I: Copy + TryInto<usize> + Sync + 'x,
    {
        Self {
            raw: Box::new(Sparse {
                x,
                orientation,
                shape,
            }),
            targets: y,
            weights: None,
        }
    }

    /// The same records with a weight each, for statements whose schema has a largest one
    /// ([`Schema::with_max_weight`]); what is wrong with them is said when they are read.
    ///
    /// ```
    /// use dpsparse::privacy::Curator;
    /// let x = ndarray::array![[0.0, 10.0], [5.0, 2.0]];
    /// let curator = Curator::from_dense(x.view(), &[1.0, -1.0]).weighted(&[0.5, 2.0]);
    /// ```
    pub fn weighted(self, weights: &'x [f64]) -> Self {
        Self {
            weights: Some(weights),
            ..self
        }
    }

    /// The same from blocks of consecutive records, which are read as often as the records are asked for. Their
    /// integers are kept in memory, or in nameless files of `directory`, where the machine's memory need hold a block
    /// and some 60 bytes a record alone. Models are the same.
    ///
    /// ```
    /// use dpsparse::privacy::{BlockSource, Curator, TakeBlock};
    /// use dpsparse::Error;
    /// struct Halves(ndarray::Array2<f64>);
    /// impl BlockSource for Halves {
    ///     fn n_records(&self) -> usize {
    ///         self.0.nrows()
    ///     }
    ///     fn for_each(&self, take: TakeBlock<'_>) -> Result<(), Error> {
    ///         let (first, second) = self.0.view().split_at(ndarray::Axis(0), self.0.nrows() / 2);
    ///         take(first.into())?;
    ///         take(second.into())
    ///     }
    /// }
    /// let halves = Halves(ndarray::array![[0.0, 10.0], [5.0, 2.0]]);
    /// let curator = Curator::from_blocks(&halves, &[1.0, -1.0], None);
    /// ```
    pub fn from_blocks(
        source: impl BlockSource + 'x,
        y: &'x [f64],
        directory: Option<&Path>,
    ) -> Self {
        Self {
            raw: Box::new(InBlocks::new(Box::new(source), directory)),
            targets: y,
            weights: None,
        }
    }

    /// The same on several machines: each worker holds shards of the records, with their targets and weights, and
    /// answers integer sums. Models are the same. `n_records` is how many there are in all.
    pub fn from_workers(workers: Arc<dyn Workers>, n_records: usize) -> Self {
        Self {
            raw: Box::new(Elsewhere {
                link: Link::new(workers),
                records: n_records,
            }),
            targets: &[],
            weights: None,
        }
    }

    /// The records at some ascending positions (all of them without), read under a schema, wherever they are.
    ///
    /// # Errors
    /// As [`Curator::read`]; [`Error::Workers`].
    pub(in crate::privacy) fn take(
        &self,
        positions: Option<&[u32]>,
        schema: &Schema,
    ) -> Result<Taken> {
        match self.raw.link() {
            None => self.read(positions, schema).map(Taken::Here),
            Some(link) => Held::read(link, positions, schema).map(Taken::Elsewhere),
        }
    }

    /// The records at some ascending positions (all of them without), read under a schema.
    ///
    /// # Errors
    /// Unusable records; positions that are not ascending.
    pub(in crate::privacy) fn read(
        &self,
        positions: Option<&[u32]>,
        schema: &Schema,
    ) -> Result<Vec<Arc<BoundedData>>> {
        let all = self.raw.read(self.targets, self.weights, schema)?;
        let Some(positions) = positions else {
            return Ok(all.into_iter().map(Arc::new).collect());
        };
        let n: usize = all.iter().map(BoundedData::n_records).sum();
        let ascending = positions.windows(2).all(|pair| pair[0] < pair[1]);
        let inside = (positions.last()).is_none_or(|&i| (i as usize) < n);
        if !(ascending && inside) {
            return Err(Error::invalid(
                "positions",
                "must be ascending and of records",
            ));
        }
        let directory = self.raw.directory();
        let (mut rest, mut start) = (positions, 0);
        let picked = all.into_iter().map(|block| {
            let end = start + block.n_records();
            let (here, later) = rest.split_at(rest.partition_point(|&i| (i as usize) < end));
            let here: Vec<u32> = here.iter().map(|&i| i - start as u32).collect();
            (rest, start) = (later, end);
            let rows = block.into_rows(&here);
            Ok(Arc::new(match &directory {
                Some(directory) => rows.in_file(directory)?,
                None => rows,
            }))
        });
        picked.collect()
    }

    /// Records that this curator read, under a statement, and where a question needs them so in one block.
    ///
    /// # Errors
    /// Another number of records than a public one.
    pub(in crate::privacy) fn given(
        &self,
        taken: Taken,
        statement: &Arc<Statement>,
        one_block: bool,
    ) -> Result<Box<dyn Records>> {
        Ok(match taken {
            Taken::Here(blocks) => {
                let records = Blocks::several(blocks, self.raw.directory(), statement)?;
                Box::new(if one_block { records.joined() } else { records })
            }
            Taken::Elsewhere(held) => Box::new(Shards::new(held, statement)?),
        })
    }

    /// All records, read under a statement where there is memory for them, and for what `questions` need beside them.
    ///
    /// # Errors
    /// Unusable records; [`Error::TooLarge`]; [`Error::Storage`]; another number of records than a public one;
    /// [`Error::UnsoundMechanism`] for blocks in files where a question needs all records in memory.
    pub(in crate::privacy) fn all(
        &self,
        statement: &Arc<Statement>,
        questions: &[&AnyQuestion],
    ) -> Result<Box<dyn Records>> {
        let one_block = questions.iter().any(|question| question.one_block);
        let stored = self.raw.stored();
        if one_block && self.raw.link().is_some() {
            return Err(Error::invalid(
                "mechanism",
                "goes through all records at once, which must be in memory of one machine: take a mechanism of noisy \
                 gradients or selections",
            ));
        }
        if one_block && stored.in_files {
            return Err(Error::invalid(
                "mechanism",
                "goes through all records at once, which must be in memory: leave the directory of the blocks out, or \
                 take a mechanism of noisy gradients or selections",
            ));
        }
        let most = |stored: Stored| most_beside(statement, questions, stored);
        if let Some(directory) = self.raw.directory() {
            let in_memory = Stored {
                in_files: false,
                ..stored
            };
            let all = most(in_memory)? + statement.bytes(in_memory);
            let files = u64::try_from(all).unwrap_or(u64::MAX);
            mapped::room(&directory, files).map_err(|_| Error::Storage)?;
        }
        if let Some(link) = self.raw.link() {
            let held = Held::read(link, None, statement.schema())?;
            let largest = Stored {
                records: held.largest(),
                ..stored
            };
            let records = Shards::new(held, statement)?;
            link.room(most(largest)?)?;
            return Ok(Box::new(records));
        }
        let blocks = self.whole(statement)?;
        let records = Blocks::several(blocks, self.raw.directory(), statement)?;
        let records = if one_block { records.joined() } else { records };
        room(most(stored)?)?;
        Ok(Box::new(records))
    }

    /// However many there are.
    fn whole(&self, statement: &Statement) -> Result<Vec<Arc<BoundedData>>> {
        room(statement.bytes(self.raw.stored()))?;
        self.read(None, statement.schema())
    }

    /// The same in one block.
    fn any_size(&self, statement: &Arc<Statement>) -> Result<Blocks> {
        let blocks = self.whole(statement)?;
        Ok(Blocks::of_blocks(blocks, None, statement).joined())
    }

    /// Raises what reading records in this storage under a statement would raise, however many there are.
    ///
    /// # Errors
    /// As a release.
    pub fn check_storage(&self, statement: &Arc<Statement>) -> Result<()> {
        self.whole(statement).map(drop)
    }

    /// The integer gradient sum_i d_i x_i at the public integer coefficients `theta`, with margins z_i = <theta, x_i>
    /// unit.
    ///
    /// **Not private**: for a curator's own checks, and for tests of the sensitivity.
    ///
    /// # Errors
    /// A `theta` of another length than there are columns, or so large that margins could overflow.
    pub fn non_private_integer_gradient(
        &self,
        statement: &Arc<Statement>,
        model: &RoomModel,
        theta: &[i64],
        unit: f64,
    ) -> Result<Vec<i64>> {
        let records = self.any_size(statement)?;
        if theta.len() != records.n_columns() {
            return Err(Error::invalid(
                "theta",
                "must have one entry per column, the intercept included",
            ));
        }
        let sizes = theta.iter().map(|entry| u128::from(entry.unsigned_abs()));
        if sizes.sum::<u128>() >= 1 << 45 {
            return Err(Error::invalid("theta", "is too large for integer margins"));
        }
        let direction: Vec<(u32, i64)> = (0..).zip(theta.iter().copied()).collect();
        let moves = [Move {
            output: 0,
            direction: &direction,
            weight: 1,
        }];
        let pass = Pass::Gradient {
            model,
            moves: &moves,
            fresh: true,
            unit,
        };
        Ok(records
            .fold(&pass, &mut States::default(), &mut || Ok(()))?
            .0)
    }

    /// The point that noise would be added to, and the bound on its L2 sensitivity, both in scaled units; None where a
    /// random linear term stands in for noise.
    ///
    /// **Not private**: for a curator's own checks, and for tests of the sensitivity.
    ///
    /// # Errors
    /// As a release.
    pub fn non_private_point(
        &self,
        question: &Question<Point>,
        source: &mut Source,
    ) -> Result<Option<(Vec<f64>, f64)>> {
        let records = self.all(question.statement(), &[])?;
        question.without_noise(&*records, source)
    }

    /// The integer scores by which released models are compared, minimised: 2^16 for a loss of 1.
    ///
    /// **Not private**: for a curator's own checks, and for tests of the law and of the sensitivity.
    ///
    /// # Errors
    /// Models of another shape than the records, or not finite.
    pub fn non_private_scores(
        &self,
        statement: &Arc<Statement>,
        models: &[LinearModel],
    ) -> Result<Vec<i64>> {
        if self.targets.is_empty() {
            return Ok(vec![0; models.len()]);
        }
        let records = self.any_size(statement)?;
        let pass = Pass::HeldOut { models };
        Ok(records
            .fold(&pass, &mut States::default(), &mut || Ok(()))?
            .0)
    }

    /// The integer scores q that softmax sampling draws from: P(a) is proportional to exp(-q_a 2^-bits).
    ///
    /// **Not private**: for a curator's own checks, and for tests of the KKT residual and of the law.
    ///
    /// # Errors
    /// As a release.
    pub fn non_private_softmax_scores(&self, softmax: &Softmax) -> Result<Vec<i64>> {
        let records = self.all(softmax.statement(), &[])?;
        softmax.scores(records.whole()?, &mut || Ok(()))
    }
}

/// X that counts how often it is read.
#[cfg(test)]
struct Counted<'x> {
    raw: Box<dyn Raw + 'x>,
    reads: &'x std::sync::atomic::AtomicUsize,
}

#[cfg(test)]
impl Raw for Counted<'_> {
    fn read(
        &self,
        y: &[f64],
        weights: Option<&[f64]>,
        schema: &Schema,
    ) -> Result<Vec<BoundedData>> {
        self.reads
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.raw.read(y, weights, schema)
    }

    fn stored(&self) -> Stored {
        self.raw.stored()
    }
}

#[cfg(test)]
impl<'x> Curator<'x> {
    /// The same records, whose readings are counted.
    pub(in crate::privacy) fn counted(self, reads: &'x std::sync::atomic::AtomicUsize) -> Self {
        let raw = Box::new(Counted {
            raw: self.raw,
            reads,
        });
        Self { raw, ..self }
    }
}

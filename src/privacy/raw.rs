//! X as it came: an array, a compressed matrix, or blocks one after the other.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ndarray::ArrayView2;

use super::bounded_data::BoundedData;
use super::shards::Link;
use super::sparse_records::{Compressed, Orientation};
use crate::error::{Error, Result};
use crate::question::Stored;
use crate::schema::Schema;

/// X as it came.
pub(super) trait Raw: Sync {
    /// Bounded integers under a schema, block by block, of these targets and weights: each row by itself.
    fn read(&self, y: &[f64], weights: Option<&[f64]>, schema: &Schema)
    -> Result<Vec<BoundedData>>;

    /// How much there is.
    fn stored(&self) -> Stored;

    /// Where integers are kept, where that is not in memory.
    fn directory(&self) -> Option<Arc<Path>> {
        None
    }

    /// The way to records that are on other machines, where they are.
    fn link(&self) -> Option<&Link> {
        None
    }
}

/// X on other machines, with its targets and weights.
pub(super) struct Elsewhere {
    pub link: Link,
    pub records: usize,
}

impl Raw for Elsewhere {
    fn read(&self, _: &[f64], _: Option<&[f64]>, _: &Schema) -> Result<Vec<BoundedData>> {
        Err(Error::invalid(
            "X",
            "is on other machines, and is not read here",
        ))
    }

    fn stored(&self) -> Stored {
        Stored {
            records: self.records,
            entries: None,
            in_files: false,
        }
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }
}

pub(super) struct Dense<'x, T> {
    pub x: ArrayView2<'x, T>,
    /// Consecutive columns that are one-hot: public.
    pub one_hot: Vec<Range<usize>>,
}

impl<T: Copy + Into<f64> + Sync> Raw for Dense<'_, T> {
    fn read(
        &self,
        y: &[f64],
        weights: Option<&[f64]>,
        schema: &Schema,
    ) -> Result<Vec<BoundedData>> {
        let read = BoundedData::from_array(self.x, &self.one_hot, y, schema.clone())?;
        Ok(vec![read.weighed(weights)?])
    }

    fn stored(&self) -> Stored {
        Stored {
            records: self.x.nrows(),
            entries: None,
            in_files: false,
        }
    }
}

pub(super) struct Sparse<'x, T, I> {
    pub x: Compressed<'x, T, I>,
    pub orientation: Orientation,
    pub shape: (usize, usize),
}

impl<T, I> Raw for Sparse<'_, T, I>
where
    T: Copy + Into<f64> + Sync,
    I: Copy + TryInto<usize> + Sync,
{
    fn read(
        &self,
        y: &[f64],
        weights: Option<&[f64]>,
        schema: &Schema,
    ) -> Result<Vec<BoundedData>> {
        let Self {
            x,
            orientation,
            shape,
        } = self;
        let x = Compressed { ..*x };
        let read = BoundedData::from_sparse(x, *orientation, *shape, y, schema.clone())?;
        Ok(vec![read.weighed(weights)?])
    }

    fn stored(&self) -> Stored {
        Stored {
            records: self.shape.0,
            entries: Some(self.x.values.len()),
            in_files: false,
        }
    }
}

/// One block of consecutive records, dense.
pub enum RawBlock<'a> {
    /// Of doubles.
    Double(ArrayView2<'a, f64>),
    /// Of single precision.
    Single(ArrayView2<'a, f32>),
}

impl<'a> From<ArrayView2<'a, f64>> for RawBlock<'a> {
    fn from(x: ArrayView2<'a, f64>) -> Self {
        RawBlock::Double(x)
    }
}

impl<'a> From<ArrayView2<'a, f32>> for RawBlock<'a> {
    fn from(x: ArrayView2<'a, f32>) -> Self {
        RawBlock::Single(x)
    }
}

/// Takes one block after the other.
pub type TakeBlock<'a> = &'a mut dyn FnMut(RawBlock<'_>) -> Result<()>;

/// Records that come in blocks, the same ones in the same order whenever they are asked for.
pub trait BlockSource: Sync {
    /// Number of records in all blocks.
    fn n_records(&self) -> usize;

    /// Hands over every block.
    ///
    /// # Errors
    /// What reading raises, and every error of `take`.
    fn for_each(&self, take: TakeBlock<'_>) -> Result<()>;
}

impl<S: BlockSource + ?Sized> BlockSource for &S {
    fn n_records(&self) -> usize {
        (**self).n_records()
    }

    fn for_each(&self, take: TakeBlock<'_>) -> Result<()> {
        (**self).for_each(take)
    }
}

pub(super) struct InBlocks<'x> {
    source: Box<dyn BlockSource + 'x>,
    directory: Option<Arc<Path>>,
}

impl<'x> InBlocks<'x> {
    pub(super) fn new(source: Box<dyn BlockSource + 'x>, directory: Option<&Path>) -> Self {
        Self {
            source,
            directory: directory.map(Arc::from),
        }
    }
}

impl Raw for InBlocks<'_> {
    fn read(
        &self,
        y: &[f64],
        weights: Option<&[f64]>,
        schema: &Schema,
    ) -> Result<Vec<BoundedData>> {
        let other = || Error::InvalidData("blocks and y must hold as many records".into());
        let (mut read, mut start) = (Vec::new(), 0);
        self.source.for_each(&mut |block| {
            let n = match &block {
                RawBlock::Double(x) => x.nrows(),
                RawBlock::Single(x) => x.nrows(),
            };
            if n == 0 {
                return Ok(());
            }
            let here = start..start + n;
            let targets = y.get(here.clone()).ok_or_else(other)?;
            let weights = match weights {
                Some(weights) => Some(weights.get(here).ok_or_else(other)?),
                None => None,
            };
            let data = match block {
                RawBlock::Double(x) => BoundedData::from_dense(x, targets, schema.clone()),
                RawBlock::Single(x) => BoundedData::from_dense(x, targets, schema.clone()),
            }?;
            let data = data.weighed(weights)?;
            read.push(match &self.directory {
                Some(directory) => data.in_file(directory)?,
                None => data,
            });
            start += n;
            Ok(())
        })?;
        if start != y.len() || weights.is_some_and(|weights| weights.len() != start) {
            return Err(other());
        }
        Ok(read)
    }

    fn stored(&self) -> Stored {
        Stored {
            records: self.source.n_records(),
            entries: None,
            in_files: self.directory.is_some(),
        }
    }

    fn directory(&self) -> Option<Arc<Path>> {
        self.directory.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;
    use crate::privacy::Curator;
    use crate::privacy::shards::tests::{Local, Raw as Shard};
    use crate::question::Statement;
    use crate::schema::{Bounds, Geometry, Target};
    use ndarray::{Array2, Axis};

    /// A block of doubles and one of single precision, with an empty one in between.
    struct Halves(Array2<f64>, Array2<f32>);

    impl BlockSource for Halves {
        fn n_records(&self) -> usize {
            self.0.nrows() + self.1.nrows()
        }

        fn for_each(&self, take: TakeBlock<'_>) -> Result<()> {
            take(self.0.view().into())?;
            take(self.0.slice_axis(Axis(0), (0..0).into()).into())?;
            take(self.1.view().into())
        }
    }

    fn halves() -> Halves {
        Halves(
            ndarray::array![[0.5, -0.25], [0.0, 1.0]],
            ndarray::array![[-1.0, 0.75]],
        )
    }

    fn schema() -> Schema {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let (geometry, target) = (Geometry::Uncentred, Target::Classes);
        Schema::new(2, bounds, geometry, target, false, None).unwrap()
    }

    #[test]
    fn blocks_have_as_many_records_as_targets_and_weights() {
        let halves = halves();
        let blocks = InBlocks::new(Box::new(&halves), None);
        let weighted = schema().with_max_weight(2.0).unwrap();
        let read = |y: &[f64], weights: Option<&[f64]>| {
            let schema = weights.map_or(schema(), |_| weighted.clone());
            let read = blocks.read(y, weights, &schema);
            read.map(|blocks| (blocks.iter().map(BoundedData::n_records)).collect::<Vec<_>>())
        };
        let (y, weights) = ([1.0, -1.0, 1.0, 1.0], [0.5, 1.0, 2.0, 1.0]);
        assert_eq!(read(&y[..3], None), Ok(vec![2, 1]));
        assert_eq!(read(&y[..3], Some(&weights[..3])), Ok(vec![2, 1]));
        let refused = |read: Result<_>| {
            let error = read.unwrap_err().to_string();
            assert!(error.contains("as many records"), "{error}");
        };
        for (targets, weighed) in [(2, 3), (4, 3), (3, 2), (3, 4), (4, 4), (2, 2)] {
            refused(read(&y[..targets], Some(&weights[..weighed])));
        }
        refused(read(&y[..2], None));
        refused(read(&y, None));
    }

    /// Blocks that are borrowed are those that they are borrowed from, and stay in the folder that was named.
    #[test]
    fn blocks_are_stored_where_they_should_be() {
        let (halves, folder) = (halves(), tempfile::tempdir().unwrap());
        for directory in [None, Some(folder.path())] {
            let blocks = InBlocks::new(Box::new(&halves), directory);
            let stored = blocks.stored();
            assert_eq!((stored.records, stored.entries), (3, None));
            assert_eq!(stored.in_files, directory.is_some());
            assert_eq!(blocks.directory().as_deref(), directory);
        }
    }

    /// Records on other machines are not read as if there were none.
    #[test]
    fn records_elsewhere_are_not_read_here() {
        let shards = vec![Shard(halves().0, vec![1.0, -1.0])];
        let curator = Curator::from_workers(Arc::new(Local::new(shards, 0, false)), 2);
        let statement = Statement::new(schema(), 2, Adjacency::ReplaceOne, 1).unwrap();
        let error = curator.check_storage(&statement).unwrap_err();
        assert!(error.to_string().contains("on other machines"), "{error}");
    }
}

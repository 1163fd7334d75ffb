//! Records in one block of memory or in several, which may be in files.

use std::path::Path;
use std::sync::Arc;

use super::block::Block;
use super::bounded_data::{BoundedData, Features};
use super::changing_sums::Changed;
use super::derived::Derived;
use super::records::{LaggingPass, Pass, Records, States, Sum, Watch};
use crate::accounting::event::Adjacency;
use crate::error::{Error, Result};
use crate::question::{RoomModel, Statement};
use crate::schema::Schema;

/// Bounded records in one block of memory or more, with the statement that they were read under.
pub struct Blocks {
    statement: Arc<Statement>,
    /// At least one; dense, where there are several.
    blocks: Vec<Arc<BoundedData>>,
    /// Where what is made of the blocks is kept, where that is not in memory.
    directory: Option<Arc<Path>>,
}

impl Blocks {
    /// One block.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `data` where the number of records is public and another one.
    #[cfg(test)]
    pub(in crate::privacy) fn new(
        data: Arc<BoundedData>,
        statement: &Arc<Statement>,
    ) -> Result<Self> {
        Self::several(vec![data], None, statement)
    }

    /// # Errors
    /// [`Error::InvalidArgument`] naming `data` where the number of records is public and another one; [`Error::InvalidData`] for no block, or dense ones beside sparse ones.
    pub(in crate::privacy) fn several(
        blocks: Vec<Arc<BoundedData>>,
        directory: Option<Arc<Path>>,
        statement: &Arc<Statement>,
    ) -> Result<Self> {
        let made = Self::of_blocks(blocks, directory, statement);
        let sparse = |data: &Arc<BoundedData>| matches!(data.features, Features::Sparse { .. });
        if made.blocks.is_empty() || (made.blocks.len() > 1 && made.blocks.iter().any(sparse)) {
            return Err(Error::InvalidData(
                "blocks must hold at least one record, and be dense".into(),
            ));
        }
        let public = statement.adjacency() == Adjacency::ReplaceOne;
        if public && made.n_records() != statement.n_samples() {
            return Err(Error::invalid(
                "data",
                "hold another number of records than the plan was made for",
            ));
        }
        Ok(made)
    }

    /// Without a look at their number, which is that of other records or not for a release.
    pub(in crate::privacy) fn of_blocks(
        blocks: Vec<Arc<BoundedData>>,
        directory: Option<Arc<Path>>,
        statement: &Arc<Statement>,
    ) -> Self {
        Self {
            statement: Arc::clone(statement),
            blocks,
            directory,
        }
    }

    /// The same of one block.
    #[cfg(test)]
    pub(in crate::privacy) fn of_any_size(data: BoundedData, statement: &Arc<Statement>) -> Self {
        Self::of_blocks(vec![Arc::new(data)], None, statement)
    }

    /// What is made of every block by itself, kept as the blocks are.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub(in crate::privacy) fn made(&self, by: &Derived, to: &Arc<Statement>) -> Result<Self> {
        let made = self.blocks.iter().map(|block| {
            let made = by.of(block);
            Ok(Arc::new(match &self.directory {
                Some(directory) => made.in_file(directory)?,
                None => made,
            }))
        });
        let blocks = made.collect::<Result<_>>()?;
        Ok(Self::of_blocks(blocks, self.directory.clone(), to))
    }

    /// The same in one block of memory.
    pub(in crate::privacy) fn joined(self) -> Self {
        match self.blocks.len() {
            1 => self,
            _ => Self {
                blocks: vec![Arc::new(BoundedData::joined(&self.blocks))],
                directory: None,
                ..self
            },
        }
    }
}

impl Records for Blocks {
    fn statement(&self) -> &Arc<Statement> {
        &self.statement
    }

    fn n_records(&self) -> usize {
        self.blocks.iter().map(|block| block.n_records()).sum()
    }

    fn schema(&self) -> &Schema {
        &self.blocks[0].schema
    }

    fn derived(&self, by: Derived, to: &Arc<Statement>) -> Result<Box<dyn Records>> {
        Ok(Box::new(self.made(&by, to)?))
    }

    fn emptied(&self) -> Result<Option<Box<dyn Records>>> {
        let none = vec![Arc::new(self.blocks[0].rows(&[]))];
        Ok(Some(Box::new(Self::of_blocks(none, None, &self.statement))))
    }

    fn fold(&self, pass: &Pass<'_>, states: &mut States, watch: Watch<'_>) -> Result<Sum> {
        watch()?;
        let mut sums = vec![0; pass.sums(self)];
        if let [block] = &self.blocks[..] {
            return match block.n_records() {
                0 => Ok(Sum(sums)),
                _ => Block(block).fold(pass, states, watch),
            };
        }
        states
            .blocks
            .resize_with(self.blocks.len(), States::default);
        for (block, states) in self.blocks.iter().zip(&mut states.blocks) {
            if block.n_records() > 0 {
                watch()?;
                let Sum(more) = Block(block).fold(pass, states, watch)?;
                sums.iter_mut()
                    .zip(more)
                    .for_each(|(sum, more)| *sum += more);
            }
        }
        Ok(Sum(sums))
    }

    fn lagging(
        &self,
        pass: &LaggingPass<'_>,
        states: &mut States,
        watch: Watch<'_>,
    ) -> Result<Changed> {
        watch()?;
        Ok(Block(self.whole()?).lagging_gradient(pass, states))
    }

    fn curvature(&self, model: &RoomModel, factor: f64, states: &States, out: &mut [f64]) {
        match self.whole() {
            Ok(block) => Block(block).curvature(model, factor, states, out),
            Err(_) => out.fill(0.0),
        }
    }

    fn whole(&self) -> Result<&Arc<BoundedData>> {
        match &self.blocks[..] {
            [block] => Ok(block),
            _ => Err(Error::invalid(
                "records",
                "must be in one block for this question",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Logistic;
    use crate::privacy::counts::Thresholds;
    use crate::privacy::curator::Curator;
    use crate::privacy::records::Move;
    use crate::privacy::shards::tests::{Local, Raw};
    use crate::question::{FeatureMap, LinearModel, TargetValue};
    use crate::schema::{Bounds, Geometry, Target};
    use ndarray::{Array2, Axis};
    use proptest::prelude::*;

    proptest! {
        /// In every kind of pass that takes blocks, in memory, in files and on workers that lose them, also where a state
        /// stays from pass to pass.
        #[test]
        fn sums_over_blocks_are_those_of_the_whole(
            n in 1usize..60,
            cuts in prop::collection::vec(0usize..60, 0..4),
            entries in prop::collection::vec(-1.5..1.5f64, 180),
            in_files in any::<bool>(),
            period in 0usize..6,
        ) {
            let x = Array2::from_shape_fn((n, 3), |(i, j)| entries[3 * i + j]);
            let y: Vec<f64> = (0..n).map(|i| [1.0, -1.0, 1.0][i % 3]).collect();
            let bounds = Bounds { lower: vec![-1.0], upper: vec![1.0] };
            let schema = Schema::new(3, bounds, Geometry::Centred, Target::Classes, true, None).unwrap();
            let statement = Statement::new(schema.clone(), n, Adjacency::ReplaceOne, 1).unwrap();
            let read = |rows: std::ops::Range<usize>| {
                let part = x.slice_axis(Axis(0), rows.clone().into());
                Arc::new(BoundedData::from_dense(part, &y[rows], schema.clone()).unwrap())
            };
            let mut ends: Vec<usize> = cuts.into_iter().filter(|&cut| cut < n).chain([0, n]).collect();
            ends.sort_unstable();
            ends.dedup();
            let directory = tempfile::tempdir().unwrap();
            let folder = in_files.then(|| Arc::from(directory.path()));
            let parts = ends.windows(2).map(|ends| read(ends[0]..ends[1])).collect();
            let shards = ends.windows(2).map(|ends| {
                let part = x.slice_axis(Axis(0), (ends[0]..ends[1]).into());
                Raw(part.to_owned(), y[ends[0]..ends[1]].to_vec())
            });
            let workers = Arc::new(Local::new(shards.collect(), period, in_files));
            let shards = Curator::from_workers(workers, n).all(&statement, &[]).unwrap();
            let shards = shards.derived(Derived::Varying, &statement).unwrap();
            let parts = Blocks::several(parts, None, &statement).unwrap();
            let parts = Blocks { directory: folder, ..parts };
            // As what is made of blocks is kept.
            let parts = parts.made(&Derived::Varying, &statement).unwrap();
            let whole = Blocks::new(read(0..n), &statement).unwrap();
            let whole = whole.made(&Derived::Varying, &statement).unwrap();
            let model = RoomModel::new(&Logistic.into(), None).unwrap();
            let direction = [(0, 3), (2, -5), (3, 7)];
            let moves = [Move { output: 0, direction: &direction, weight: 1 << 20 }];
            let gradient = |fresh| Pass::Gradient { model: &model, moves: &moves, fresh, unit: 2f64.powi(-36) };
            let map = FeatureMap::linear(vec![0.5, 1.0, -0.2]);
            let models = [LinearModel { coefficients: vec![0.5, -1.0, 2.0], intercepts: vec![0.1], feature_ranges: None }];
            let passes = [
                gradient(true),
                gradient(false),
                Pass::Moments,
                Pass::Absolute,
                Pass::Gains { chosen: &[] },
                Pass::Gains { chosen: &[2, 0] },
                Pass::Ranges { features: Some(&[0, 2]), at: Thresholds { limit: 16_383, stride: 1_000 } },
                Pass::Ranges { features: None, at: Thresholds { limit: 16_383, stride: 5_000 } },
                Pass::Norms { map: &map, candidates: &[0.3, 0.6, 1.8] },
                Pass::HeldOut { models: &models },
                Pass::Targets { value: TargetValue::Itself, thresholds: &[-0.5, 0.5, 1.0] },
            ];
            let [mut of_whole, mut of_parts, mut of_shards] = [(); 3].map(|()| States::default());
            for pass in &passes {
                let Sum(expected) = whole.fold(pass, &mut of_whole, &mut || Ok(())).unwrap();
                let Sum(found) = parts.fold(pass, &mut of_parts, &mut || Ok(())).unwrap();
                prop_assert_eq!(&found, &expected);
                let Sum(found) = shards.fold(pass, &mut of_shards, &mut || Ok(())).unwrap();
                prop_assert_eq!(&found, &expected);
            }
            let joined = parts.joined();
            let mut rows = [vec![0.0; 4], vec![0.0; 4]];
            for i in 0..n {
                joined.whole().unwrap().fill_row(i, &mut rows[0]);
                whole.whole().unwrap().fill_row(i, &mut rows[1]);
                prop_assert_eq!(&rows[0], &rows[1]);
            }
        }
    }
}

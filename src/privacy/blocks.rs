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
    /// [`Error::InvalidArgument`] naming `data` where the number of records is public and another one;
    /// [`Error::InvalidData`] for no block, or dense ones beside sparse ones.
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
        if let [block] = &self.blocks[..]
            && block.n_records() > 0
        {
            return Block(block).fold(pass, states, watch);
        }
        let mut sums = vec![0; pass.sums(self)];
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

    fn lagging_sum(&self, feature: usize, states: &States) -> i64 {
        (self.whole()).map_or(0, |block| Block(block).lagging_sum(feature, states))
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
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::privacy::counts::Thresholds;
    use crate::privacy::curator::Curator;
    use crate::privacy::records::Move;
    use crate::privacy::shards::tests::{Local, Raw};
    use crate::privacy::thresholds::FloatThresholds;
    use crate::question::{
        FeatureMap, LinearModel, MeanCandidates, MeanCount, Question, TargetValue,
    };
    use crate::schema::{Bounds, Geometry, Target};
    use ndarray::{Array2, Axis};
    use proptest::prelude::*;

    proptest! {
        /// In every kind of pass that takes blocks, in memory, in files and on workers that lose them, also where a
        /// state stays from pass to pass.
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
            let moved = FeatureMap::new(vec![0.5, 1.0, -0.2], vec![0.5, -0.1, 0.0], 0.9);
            let models = [LinearModel { coefficients: vec![0.5, -1.0, 2.0], intercepts: vec![0.1], feature_ranges: None }];
            let mean = about_counts(n);
            let mean = &mean.answer.candidates;
            let passes = [
                gradient(true),
                gradient(false),
                Pass::Moments,
                Pass::Absolute,
                Pass::Images { map: &map, row_norm: 0.4 },
                Pass::Images { map: &moved, row_norm: 0.7 },
                Pass::Gains { chosen: &[] },
                Pass::Gains { chosen: &[2, 0] },
                Pass::Ranges { features: Some(&[0, 2]), at: Thresholds { limit: 16_383, stride: 1_000 } },
                Pass::Ranges { features: None, at: Thresholds { limit: 16_383, stride: 5_000 } },
                Pass::Norms { map: &map, candidates: &[0.3, 0.6, 1.8] },
                Pass::Classes,
                Pass::Mean(mean),
                Pass::HeldOut { models: &models },
                Pass::Targets { value: TargetValue::Itself, thresholds: &FloatThresholds::Listed(vec![-0.5, 0.5, 1.0]) },
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

    fn statement(n: usize) -> Arc<Statement> {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let schema =
            Schema::new(3, bounds, Geometry::Centred, Target::Classes, true, None).unwrap();
        Statement::new(schema, n, Adjacency::ReplaceOne, 1).unwrap()
    }

    /// Of other targets than those of the records: passes over targets do not care.
    fn about_counts(n: usize) -> Question<MeanCount> {
        let bounds = statement(n).schema().bounds().clone();
        let target = Target::counts(0.0, 9.0, true);
        let schema = Schema::new(3, bounds, Geometry::Centred, target, true, None).unwrap();
        let counts = Statement::new(schema, n, Adjacency::ReplaceOne, 1).unwrap();
        counts.mean_count(0.1, 3.0, 0.1).unwrap()
    }

    fn entries(n: usize) -> (Array2<f64>, Vec<f64>) {
        let x = Array2::from_shape_fn((n, 3), |(i, j)| ((i * 7 + j * 3) % 11) as f64 / 5.0 - 1.0);
        let y = (0..n).map(|i| [1.0, -1.0, 1.0][i % 3]).collect();
        (x, y)
    }

    static HALVES: FloatThresholds = FloatThresholds::Even(1);

    /// One of each kind.
    fn passes<'a>(
        model: &'a RoomModel,
        models: &'a [LinearModel],
        map: &'a FeatureMap,
        mean: &'a MeanCandidates,
    ) -> [Pass<'a>; 12] {
        let moves: &[Move] = &[];
        let unit = 1.0;
        [
            Pass::Gradient {
                model,
                moves,
                fresh: true,
                unit,
            },
            Pass::Fine {
                model,
                theta: &[0.3, -0.2, 0.1, 0.5],
            },
            Pass::Moments,
            Pass::Absolute,
            Pass::Images { map, row_norm: 0.4 },
            Pass::Gains { chosen: &[1] },
            Pass::Ranges {
                features: None,
                at: Thresholds {
                    limit: 16_383,
                    stride: 5_000,
                },
            },
            Pass::Norms {
                map,
                candidates: &[0.3, 1.8],
            },
            Pass::Classes,
            Pass::Mean(mean),
            Pass::HeldOut { models },
            Pass::Targets {
                value: TargetValue::Itself,
                thresholds: &HALVES,
            },
        ]
    }

    #[test]
    fn blocks_without_records_add_nothing() {
        let (x, y) = entries(9);
        let statement = statement(9);
        let read = |rows: std::ops::Range<usize>| {
            let part = x.slice_axis(Axis(0), rows.clone().into());
            let schema = statement.schema().clone();
            Arc::new(BoundedData::from_dense(part, &y[rows], schema).unwrap())
        };
        let whole = Blocks::new(read(0..9), &statement).unwrap();
        let none = Arc::new(whole.blocks[0].rows(&[]));
        let parts = vec![read(0..4), Arc::clone(&none), read(4..9), none];
        let parts = Blocks::several(parts, None, &statement).unwrap();
        let empty = whole.emptied().unwrap().unwrap();
        let model = RoomModel::new(&Logistic.into(), None).unwrap();
        let coefficients = vec![0.5, -1.0, 2.0];
        let models = [LinearModel {
            coefficients,
            intercepts: vec![0.1],
            feature_ranges: None,
        }];
        let map = FeatureMap::linear(vec![0.5, 1.0, -0.2]);
        let mean = about_counts(9);
        let mean = &mean.answer.candidates;
        for pass in passes(&model, &models, &map, mean) {
            let sums = |records: &dyn Records| {
                records
                    .fold(&pass, &mut States::default(), &mut || Ok(()))
                    .unwrap()
                    .0
            };
            let expected = sums(&whole);
            assert_eq!(sums(&parts), expected);
            assert_eq!(sums(&*empty), vec![0; expected.len()]);
        }
        let folder = tempfile::tempdir().unwrap();
        let directory = Some(Arc::from(folder.path()));
        let joined = Blocks { directory, ..parts }.joined();
        assert!(joined.directory.is_none() && joined.blocks.len() == 1);
        // One block is not copied.
        let block = Arc::clone(&whole.blocks[0]);
        assert!(Arc::ptr_eq(&block, &whole.joined().blocks[0]));
        assert_eq!(joined.n_records(), 9);
    }

    #[test]
    fn blocks_are_dense_or_one_and_as_many_as_said() {
        let (x, y) = entries(4);
        let statement = statement(4);
        let problem = |blocks| {
            let made = Blocks::several(blocks, None, &statement);
            made.err().map(|error| error.to_string())
        };
        let kinds = || all_kinds(&x, statement.schema()).map(Arc::new);
        assert!(problem(vec![]).unwrap().contains("at least one record"));
        for block in kinds() {
            assert!(problem(vec![block]).is_none());
        }
        let [dense, sparse, _] = kinds();
        let of = |block: &Arc<BoundedData>, rows: &[u32]| Arc::new(block.rows(rows));
        assert!(problem(vec![of(&dense, &[0, 1]), of(&dense, &[2, 3])]).is_none());
        let mixed = vec![of(&dense, &[0, 1]), of(&sparse, &[2, 3])];
        assert!(problem(mixed).unwrap().contains("be dense"));
        let few = problem(vec![of(&dense, &[0, 1])]).unwrap();
        assert!(few.contains("another number of records"), "{few}");
        assert_eq!(y.len(), dense.n_records());
    }

    /// Whichever blocks they stand in; not twice, not out of order, not beyond the last.
    #[test]
    fn positions_are_those_of_the_records() {
        struct Halves(Array2<f64>, usize);
        impl crate::privacy::BlockSource for Halves {
            fn n_records(&self) -> usize {
                self.0.nrows()
            }
            fn for_each(&self, take: crate::privacy::TakeBlock<'_>) -> Result<()> {
                let (first, second) = self.0.view().split_at(Axis(0), self.1);
                take(first.into())?;
                take(second.into())
            }
        }
        let (x, y) = entries(9);
        let statement = statement(9);
        let whole = BoundedData::from_dense(x.view(), &y, statement.schema().clone()).unwrap();
        let halves = Halves(x, 4);
        let curator = Curator::from_blocks(&halves, &y, None);
        for positions in [
            &[0u32, 3, 4, 8][..],
            &[4],
            &[3],
            &[],
            &[0, 1, 2, 3, 4, 5, 6, 7, 8],
        ] {
            let blocks = curator.read(Some(positions), statement.schema()).unwrap();
            let joined = BoundedData::joined(&blocks);
            assert_eq!(joined.n_records(), positions.len());
            let (mut ours, mut theirs) = ([0.0; 4], [0.0; 4]);
            for (k, &i) in positions.iter().enumerate() {
                joined.fill_row(k, &mut ours);
                whole.fill_row(i as usize, &mut theirs);
                assert_eq!(ours, theirs);
                assert_eq!(joined.targets[k], whole.targets[i as usize]);
            }
        }
        for bad in [&[1u32, 1][..], &[2, 1], &[9], &[0, 9], &[5, 3]] {
            assert!(
                curator.read(Some(bad), statement.schema()).is_err(),
                "{bad:?}"
            );
        }
    }

    /// What a curator checks by itself is what passes over the records give.
    #[test]
    fn what_is_not_private_is_checked_and_the_same() {
        let (x, y) = entries(9);
        let statement = statement(9);
        let curator = Curator::from_dense(x.view(), &y);
        curator.check_storage(&statement).unwrap();
        let mut broken = x.clone();
        broken[[4, 1]] = f64::NAN;
        let unusable = Curator::from_dense(broken.view(), &y);
        assert!(unusable.check_storage(&statement).is_err());
        let model = RoomModel::new(&Logistic.into(), None).unwrap();
        let gradient = |theta: &[i64]| {
            curator.non_private_integer_gradient(&statement, &model, theta, 2f64.powi(-59))
        };
        let direction = [(0, 3), (1, -1), (2, 2), (3, 5)];
        let moves = [Move {
            output: 0,
            direction: &direction,
            weight: 1,
        }];
        let pass = Pass::Gradient {
            model: &model,
            moves: &moves,
            fresh: true,
            unit: 2f64.powi(-59),
        };
        let whole = curator.all(&statement, &[]).unwrap();
        let sums = |pass: &Pass<'_>| {
            whole
                .fold(pass, &mut States::default(), &mut || Ok(()))
                .unwrap()
                .0
        };
        assert_eq!(gradient(&[3, -1, 2, 5]).unwrap(), sums(&pass));
        assert!(gradient(&[(1 << 45) - 1, 0, 0, 0]).is_ok());
        for bad in [
            &[3, -1, 2][..],
            &[1 << 45, 0, 0, 0],
            &[1 << 44, -(1 << 44), 0, 0],
        ] {
            assert!(gradient(bad).is_err(), "{bad:?}");
        }
        let models = [0.5, -1.0].map(|size| LinearModel {
            coefficients: vec![size, -1.0, 2.0],
            intercepts: vec![0.1],
            feature_ranges: None,
        });
        let scores = curator.non_private_scores(&statement, &models).unwrap();
        assert_eq!(scores, sums(&Pass::HeldOut { models: &models }));
        assert!(scores.len() == 2 && scores[0] != scores[1]);
    }

    /// Of several outputs there are as many sums as a pass says, in one block and in several.
    #[test]
    fn sums_of_classes_are_as_many_as_said() {
        let (x, _) = entries(9);
        let y: Vec<f64> = (0..9).map(|i| f64::from(i % 3)).collect();
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let target = Target::Multiclass { classes: 3 };
        let schema = Schema::new(3, bounds, Geometry::Uncentred, target, true, None).unwrap();
        let statement = Statement::new(schema.clone(), 9, Adjacency::ReplaceOne, 1).unwrap();
        let read = |rows: std::ops::Range<usize>| {
            let part = x.slice_axis(Axis(0), rows.clone().into());
            Arc::new(BoundedData::from_dense(part, &y[rows], schema.clone()).unwrap())
        };
        let whole = Blocks::new(read(0..9), &statement).unwrap();
        let parts = Blocks::several(vec![read(0..4), read(4..9)], None, &statement).unwrap();
        let model = RoomModel::for_target(&Logistic.into(), None, target).unwrap();
        let theta: Vec<f64> = (0..12).map(|k| f64::from(k) / 8.0 - 0.6).collect();
        let (model, theta) = (&model, &theta[..]);
        let gradient = Pass::Gradient {
            model,
            moves: &[],
            fresh: true,
            unit: 1.0,
        };
        for (pass, size) in [(gradient, 12), (Pass::Fine { model, theta }, 36)] {
            let sums = |records: &Blocks| {
                let sums = records.fold(&pass, &mut States::default(), &mut || Ok(()));
                sums.unwrap().0
            };
            assert_eq!(pass.sums(&whole), size);
            assert_eq!(sums(&whole).len(), size);
            assert_eq!(sums(&parts), sums(&whole));
        }
    }
}

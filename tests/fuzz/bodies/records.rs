//! Records from outside: arrays of any floats and sparse matrices of any indices are read or refused before anything is
//! spent. What is read is the same integers in every storage, with values clipped before or here, in any order.

use std::sync::Arc;

use dpsparse::accounting::event::Adjacency;
use dpsparse::exact::noise::source::Source;
use dpsparse::fit::PrivateFit;
use dpsparse::loss::{Admitted, Logistic, Squared};
use dpsparse::ndarray::{Array2, ArrayView2, Axis};
use dpsparse::privacy::{
    BlockSource, Bounds, Compressed, Curator, Geometry, MemoryLedger, Orientation, RoomModel,
    Schema, Statement, TakeBlock, Target,
};
use dpsparse::release::run as release;
use dpsparse::{Error, Result};

use super::choices::Choices;

pub fn run(data: &[u8]) {
    let mut choices = Choices::new(data);
    match choices.below(8) {
        0 => fitted(&mut choices),
        1 => raw_indices(&mut choices),
        _ => every_storage(&mut choices),
    }
}

/// The value, or None for an error of the kinds that are promised before records cost anything.
fn checked<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(
            Error::InvalidArgument { .. }
            | Error::InvalidData(_)
            | Error::UnsoundMechanism(_)
            | Error::BudgetExceeded(_)
            | Error::TooLarge { .. },
        ) => None,
        Err(other) => panic!("another kind of error: {other:?}"),
    }
}

fn bounds(choices: &mut Choices<'_>, p: usize) -> Bounds {
    let pairs = if choices.flag() { 1 } else { p };
    let (mut lower, mut upper) = (choices.floats(pairs), choices.floats(pairs));
    if choices.below(8) > 0 {
        for (low, high) in lower.iter_mut().zip(&mut upper) {
            (*low, *high) = (low.min(*high), high.max(*low));
        }
    }
    Bounds { lower, upper }
}

fn target(choices: &mut Choices<'_>) -> Target {
    match choices.below(3) {
        0 => Target::Classes,
        1 => Target::Interval {
            low: -choices.float().abs(),
            high: choices.float(),
        },
        _ => Target::counts(choices.tame(), choices.float(), true),
    }
}

/// The facts of a statement on n records, or why there is none.
fn stated(choices: &mut Choices<'_>, n: usize, p: usize) -> Result<(Arc<Statement>, RoomModel)> {
    let geometry = *choices.pick(&[Geometry::Centred, Geometry::Uncentred]);
    let (bounds, target, intercept) = (bounds(choices, p), target(choices), choices.flag());
    let row_norm = (choices.below(3) == 0).then(|| choices.float());
    let mut schema = Schema::new(p, bounds, geometry, target, intercept, row_norm)?;
    if choices.below(4) == 0 {
        schema = schema.with_max_weight(choices.float())?;
    }
    let adjacency = *choices.pick(&[Adjacency::ReplaceOne, Adjacency::AddRemove]);
    let statement = Statement::new(schema, n, adjacency, 1 + choices.below(3))?;
    let loss: Admitted = match target {
        Target::Classes => Logistic.into(),
        _ => Squared.into(),
    };
    Ok((statement, RoomModel::for_target(&loss, Some(1.0), target)?))
}

struct InBlocks<'a>(ArrayView2<'a, f64>, usize);

impl BlockSource for InBlocks<'_> {
    fn n_records(&self) -> usize {
        self.0.nrows()
    }

    fn for_each(&self, take: TakeBlock<'_>) -> Result<()> {
        (self.0.axis_chunks_iter(Axis(0), self.1)).try_for_each(|block| take(block.into()))
    }
}

/// Rows (or columns, of a transposed array) in compressed form; zeros are stored too.
fn compressed(x: ArrayView2<'_, f64>) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
    let starts = (0..=x.nrows()).map(|i| (i * x.ncols()) as i32).collect();
    let indices = (0..x.nrows()).flat_map(|_| 0..x.ncols() as i32).collect();
    (starts, indices, x.iter().copied().collect())
}

fn every_storage(choices: &mut Choices<'_>) {
    let (n, p) = (choices.below(12), choices.below(5));
    let Some((statement, model)) = checked(stated(choices, n, p)) else {
        return;
    };
    let schema = statement.schema();
    let x = Array2::from_shape_vec((n, p), choices.floats(n * p)).expect("as many as asked for");
    let classes = schema.target() == Target::Classes && choices.below(8) > 0;
    let y: Vec<f64> = (0..n)
        .map(|_| match classes {
            true => f64::from(choices.below(2) as u8) * 2.0 - 1.0,
            false => choices.float(),
        })
        .collect();
    let weights = schema.max_weight().map(|_| choices.floats(n));
    let theta: Vec<i64> = (0..statement.n_columns())
        .map(|_| i64::from(choices.byte() as i8))
        .collect();
    let unit = choices.tame() / 16384.0;
    let summed = |curator: Curator<'_>| {
        let result = curator.non_private_integer_gradient(&statement, &model, &theta, unit);
        checked(result)
    };
    fn with<'x>(curator: Curator<'x>, weights: &'x Option<Vec<f64>>) -> Curator<'x> {
        match weights {
            Some(weights) => curator.weighted(weights),
            None => curator,
        }
    }
    let whole = summed(with(Curator::from_dense(x.view(), &y), &weights));
    if x.iter()
        .chain(&y)
        .chain(weights.iter().flatten())
        .any(|value| !value.is_finite())
    {
        assert!(whole.is_none(), "entries that are not finite are read");
    }

    let (transposed, rows, columns) = (x.t().to_owned(), compressed(x.view()), compressed(x.t()));
    let by_columns = Curator::from_dense(transposed.t(), &y);
    let blocks = Curator::from_blocks(InBlocks(x.view(), 1 + choices.below(5)), &y, None);
    assert_eq!(summed(with(by_columns, &weights)), whole, "columns");
    assert_eq!(summed(with(blocks, &weights)), whole, "blocks");
    for (of, orientation) in [(&rows, Orientation::Rows), (&columns, Orientation::Columns)] {
        let matrix = Compressed {
            starts: &of.0,
            indices: &of.1,
            values: &of.2,
        };
        let curator = Curator::from_sparse(matrix, orientation, (n, p), &y);
        let sums = summed(with(curator, &weights));
        // Shortening a row would move entries that are not stored, where bounds exclude zero.
        let refused = sums.is_none() && schema.row_norm().or(schema.gradient_norm()).is_some();
        assert!(
            refused || sums == whole,
            "{orientation:?}: {sums:?}, {whole:?}"
        );
    }
    let Some(whole) = whole else {
        return;
    };

    // Another order of the records, clipped already.
    let last_first: Vec<usize> = (0..n).rev().collect();
    let mut clipped = x.select(Axis(0), &last_first);
    for (j, mut column) in clipped.columns_mut().into_iter().enumerate() {
        let (low, high) = schema.bounds().of(j);
        column.mapv_inplace(|value| value.clamp(low, high));
    }
    let clip = |value: f64| match schema.target() {
        Target::Interval { low, high } | Target::Counts { low, high, .. } => value.clamp(low, high),
        _ => value,
    };
    let y: Vec<f64> = last_first.iter().map(|&i| clip(y[i])).collect();
    let weights = weights.map(|weights| last_first.iter().map(|&i| weights[i]).collect());
    let again = summed(with(Curator::from_dense(clipped.view(), &y), &weights));
    assert_eq!(again, Some(whole), "clipped, in another order");
}

/// Matrices whose starts and indices are anything.
fn raw_indices(choices: &mut Choices<'_>) {
    let (n, p) = (choices.below(6), choices.below(5));
    let bounds = Bounds {
        lower: vec![-1.0],
        upper: vec![1.0],
    };
    let schema = Schema::new(
        p,
        bounds,
        Geometry::Uncentred,
        Target::Classes,
        choices.flag(),
        None,
    );
    let statement = schema.and_then(|schema| Statement::new(schema, n, Adjacency::ReplaceOne, 1));
    let Some(statement) = checked(statement) else {
        return;
    };
    let index = |choices: &mut Choices<'_>| match choices.byte() {
        250 => i32::MIN,
        251 => i32::MAX,
        byte @ 252.. => -i32::from(byte),
        byte => i32::from(byte % 8),
    };
    let (n_starts, n_entries) = (choices.below(9), choices.below(12));
    let starts: Vec<i32> = match choices.flag() {
        true => (0..n_starts).map(|_| index(choices)).collect(),
        false => {
            let mut starts: Vec<i32> = (1..n_starts)
                .map(|_| choices.below(n_entries + 1) as i32)
                .collect();
            starts.sort_unstable();
            starts.insert(0, 0);
            starts
        }
    };
    let indices: Vec<i32> = (0..n_entries).map(|_| index(choices)).collect();
    let n_values = (n_entries + choices.below(2)).saturating_sub(choices.below(2));
    let values = choices.floats(n_values);
    let y = vec![1.0; n];
    let matrix = Compressed {
        starts: &starts,
        indices: &indices,
        values: &values,
    };
    let orientation = *choices.pick(&[Orientation::Rows, Orientation::Columns]);
    let curator = Curator::from_sparse(matrix, orientation, (n, p), &y);
    let theta = vec![1; statement.n_columns()];
    let model =
        RoomModel::new(&Logistic.into(), None).expect("the logistic loss bounds its slopes");
    if let Some(sums) =
        checked(curator.non_private_integer_gradient(&statement, &model, &theta, 1e-5))
    {
        let used = *starts.last().expect("a start for each line and the end") as usize;
        assert!(indices[..used].iter().all(|index| *index >= 0));
        assert!(values[..used].iter().all(|value| value.is_finite()));
        assert_eq!(sums.len(), statement.n_columns());
    }
}

/// Whole fits: an error leaves the ledger as it was, and a model is finite.
fn fitted(choices: &mut Choices<'_>) {
    let (n, p) = (1 + choices.below(12), choices.below(5));
    let (name, options) = *choices.pick(&[
        ("frank-wolfe", r#"{"n_iter": 2}"#),
        ("noisy-gradient-frank-wolfe", r#"{"n_iter": 2}"#),
        ("noisy-proximal-gradient", r#"{"n_iter": 2}"#),
        ("output-perturbation", "{}"),
        ("objective-perturbation", "{}"),
    ]);
    let feature_bounds = bounds(choices, p);
    let (low, high, epsilon) = (choices.float(), choices.float(), choices.float());
    // A budget near the largest float keeps some plans busy for minutes: a known weakness, and no guarantee to lose.
    let epsilon = if epsilon > 1e6 { 1e6 } else { epsilon };
    let mut fit = PrivateFit::regressor(low, high)
        .feature_bounds(feature_bounds.lower, feature_bounds.upper)
        .epsilon(epsilon)
        .delta(1e-6)
        .intercept(choices.flag())
        .seed(1)
        .mechanism_by_name(name, options)
        .expect("the options of the mechanism");
    if choices.flag() {
        fit = fit.row_norm(choices.float());
    }
    if choices.below(4) == 0 {
        fit = fit.delta(choices.float());
    }
    let Some(plan) = checked(fit.plan(n, p)) else {
        return;
    };
    let x = Array2::from_shape_vec((n, p), choices.floats(n * p)).expect("as many as asked for");
    let y = choices.floats(n);
    let mut ledger = MemoryLedger::default();
    let source = Source::seeded(u64::from(choices.byte()));
    let curator = Curator::from_dense(x.view(), &y);
    match checked(release(
        &plan,
        &curator,
        &mut ledger,
        source,
        &mut |_, _| Ok(()),
    )) {
        Some(release) => {
            let model = release.coefficients.iter().chain(&release.intercepts);
            // Noise for no budget at all may leave the range of floats.
            assert!(
                epsilon < 1e-3 || model.copied().all(f64::is_finite),
                "{:?}",
                release.coefficients
            );
            assert!(!release.certificate.verify(), "a seeded release verifies");
            assert_eq!(ledger.entries().len(), 1);
        }
        None => assert!(ledger.entries().is_empty(), "a refusal that is paid for"),
    }
}

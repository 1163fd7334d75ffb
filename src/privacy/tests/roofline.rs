//! How close each pass over dense records comes to what the machine allows: a table, not a test of anything.
//!
//! `DPSPARSE_ROOFLINE="1000000 100" RAYON_NUM_THREADS=1 cargo test --release --lib roofline -- --ignored --nocapture`
//!
//! Plain reads of the same memory, and inner products that stay in the nearest cache, take turns with the passes. What
//! is shown is the least processor time a thread of all rounds: on a shared machine the wall clock counts others' work.

use std::hint::black_box;
use std::ops::Range;

use ndarray::Array2;
use rayon::prelude::*;

use crate::loss::{Logistic, Squared};
use crate::numeric::kernel::tests::processor_seconds;
use crate::numeric::kernel::{add_gram, fetch};
use crate::numeric::strips::LINE;
use crate::privacy::block::Block;
use crate::privacy::bounded_data::{BoundedData, Features};
use crate::privacy::counts::Thresholds;
use crate::privacy::records::{Move, Pass, States};
use crate::privacy::row_norm::RowNorm;
use crate::privacy::{Bounds, FeatureMap, Geometry, RoomModel, Schema, Target};
use crate::question::LinearModel;

/// Rounds in which all take turns.
const ROUNDS: usize = 15;

/// Columns whose products stay in the nearest cache, and their lines.
const CACHED: usize = 8;
const CACHED_LINES: usize = 64;

/// What a pass cannot be faster than.
enum Bound {
    /// A plain read of the features.
    Read,
    /// So many products of 16-bit integers, at the rate of inner products in the nearest cache.
    Products(f64),
}

fn schema(p: usize, lower: f64, target: Target) -> Schema {
    let (lower, upper) = (vec![lower], vec![1.0]);
    let bounds = Bounds { lower, upper };
    Schema::new(p, bounds, Geometry::Uncentred, target, true, None).unwrap()
}

/// Indicators, eight to a byte; or, in blocks of ten columns, levels with codes.
fn packed(n: usize, p: usize, one_hot: bool) -> BoundedData {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize
    };
    let mut x = Array2::<u8>::zeros((n, p));
    for mut row in x.rows_mut() {
        if one_hot {
            (0..p)
                .step_by(10)
                .for_each(|first| row[(first + next() % 10).min(p - 1)] = 1);
        } else {
            row.iter_mut().for_each(|x| *x = (next() % 2) as u8);
        }
    }
    let blocks: Vec<Range<usize>> = (0..p)
        .step_by(10)
        .map(|first| first..(first + 10).min(p))
        .collect();
    let blocks = if one_hot { &blocks[..] } else { &[] };
    let y: Vec<f64> = (0..n).map(|i| [1.0, -1.0][i % 2]).collect();
    BoundedData::from_array(x.view(), blocks, &y, schema(p, 0.0, Target::Classes)).unwrap()
}

fn data(n: usize, p: usize, target: Target) -> BoundedData {
    let schema = schema(p, -1.0, target);
    let mut state = 1u32;
    let x = Array2::from_shape_simple_fn((n, p), || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    });
    let y: Vec<f64> = match target {
        Target::Multiclass { classes } => (0..n).map(|i| (i % classes as usize) as f64).collect(),
        _ => (0..n).map(|i| [1.0, -1.0][i % 2]).collect(),
    };
    BoundedData::from_dense(x.view(), &y, schema).unwrap()
}

/// Moves of fresh margins, an output a direction.
fn whole_moves(directions: &[Vec<(u32, i64)>]) -> Vec<Move<'_>> {
    (directions.iter().enumerate())
        .map(|(output, direction)| Move {
            output,
            direction,
            weight: 1,
        })
        .collect()
}

#[test]
#[ignore = "prints a table"]
fn roofline() {
    let asked = std::env::var("DPSPARSE_ROOFLINE").unwrap_or_default();
    let mut sizes = asked.split(' ').flat_map(str::parse::<usize>);
    // All passes, or those whose names hold one of the words after the sizes.
    let words: Vec<&str> = (asked.split(' ').skip(2))
        .filter(|word| !word.is_empty())
        .collect();
    let is_asked = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let (n, p) = (
        sizes.next().unwrap_or(1_000_000),
        sizes.next().unwrap_or(100),
    );
    let threads = rayon::current_num_threads();
    let classes = data(n, p, Target::Classes);
    let several = data(n, p, Target::Multiclass { classes: 3 });
    let (indicators, levels) = (packed(n, p, false), packed(n, p, true));
    let Features::Dense(columns) = &classes.features else {
        unreachable!("dense records")
    };
    let d = p + 1;
    let theta: Vec<f64> = (0..3 * d)
        .map(|j| ((j * 37 % 41) as f64 - 20.0) / 2000.0)
        .collect();
    let logistic = RoomModel::new(&Logistic.into(), None).unwrap();
    let squared = RoomModel::new(&Squared.into(), Some(1.0)).unwrap();
    let softmax = RoomModel::for_target(&Logistic.into(), None, several.schema.target()).unwrap();
    let (directions, unit) = crate::question::lattice_directions(&theta, d);
    let moves = whole_moves(&directions);
    let differences = softmax.differences(&theta, d).unwrap();
    let (differences, unit_of_differences) = crate::question::lattice_directions(&differences, d);
    let moves_of_differences = whole_moves(&differences);
    let few = [Move {
        output: 0,
        direction: &directions[0][..1],
        weight: 1,
    }];
    let models: Vec<LinearModel> = (0..4)
        .map(|k| LinearModel {
            coefficients: theta[k..][..p].to_vec(),
            intercepts: vec![0.1],
            feature_ranges: None,
        })
        .collect();
    let map = FeatureMap::linear(vec![0.9; p]);
    let candidates: Vec<f64> = (1..200).map(|k| f64::from(k) * 0.1).collect();
    let at = Thresholds {
        limit: 16_384,
        stride: 256,
    };
    let all: Vec<u32> = (0..p as u32).collect();
    let step = |model, moves, fresh| Pass::Gradient {
        model,
        moves,
        fresh,
        unit,
    };
    let short = {
        let schema = classes.schema.clone().with_gradient_norm(1e9).unwrap();
        let features = Features::Dense(classes.dense_columns());
        BoundedData {
            schema,
            targets: classes.targets.clone(),
            features,
            weights: None,
        }
    };
    let passes: Vec<(&str, &BoundedData, Pass<'_>)> = vec![
        (
            "gradient step, logistic",
            &classes,
            step(&logistic, &moves[..1], true),
        ),
        (
            "gradient step, squared",
            &classes,
            step(&squared, &moves[..1], true),
        ),
        (
            "step, logistic, rows weighed",
            &short,
            step(&logistic, &moves[..1], true),
        ),
        (
            "step, squared, rows weighed",
            &short,
            step(&squared, &moves[..1], true),
        ),
        (
            "gradient step, one column moved",
            &classes,
            step(&logistic, &few, false),
        ),
        (
            "gradient step, softmax of 3",
            &several,
            Pass::Gradient {
                model: &softmax,
                moves: &moves_of_differences,
                fresh: true,
                unit: unit_of_differences,
            },
        ),
        (
            "fine gradient, logistic",
            &classes,
            Pass::Fine {
                model: &logistic,
                theta: &theta[..d],
            },
        ),
        (
            "step, indicators in bits",
            &indicators,
            step(&logistic, &moves[..1], true),
        ),
        (
            "step, ten levels as codes",
            &levels,
            step(&logistic, &moves[..1], true),
        ),
        (
            "fine, indicators in bits",
            &indicators,
            Pass::Fine {
                model: &logistic,
                theta: &theta[..d],
            },
        ),
        (
            "fine, ten levels as codes",
            &levels,
            Pass::Fine {
                model: &logistic,
                theta: &theta[..d],
            },
        ),
        ("moments, indicators in bits", &indicators, Pass::Moments),
        (
            "held-out loss of 1 model",
            &classes,
            Pass::HeldOut {
                models: &models[..1],
            },
        ),
        (
            "held-out loss of 4 models",
            &classes,
            Pass::HeldOut { models: &models },
        ),
        ("absolute sums", &classes, Pass::Absolute),
        (
            "sums of images",
            &classes,
            Pass::Images {
                map: &map,
                row_norm: 0.15,
            },
        ),
        (
            "ranges of every feature",
            &classes,
            Pass::Ranges {
                features: Some(&all),
                at,
            },
        ),
        (
            "norms of images",
            &classes,
            Pass::Norms {
                map: &map,
                candidates: &candidates,
            },
        ),
        ("second moments", &classes, Pass::Moments),
        ("second moments, rows weighed", &short, Pass::Moments),
    ];
    let lines = columns.strips().lines();
    let cached = &lines[..CACHED * CACHED_LINES];
    let products = (1000 * CACHED * (CACHED + 1) / 2 * CACHED_LINES * LINE) as f64;
    let mut states: Vec<States> = passes.iter().map(|_| States::default()).collect();
    let mut margins = States::default();
    Block(&classes).restore(&moves[..1], 1, &mut margins);
    let mut least = vec![f64::INFINITY; passes.len() + 5];
    let mut slopes = [vec![0i16; n]];
    let mut gram = vec![0.0; d * d];
    let quarter = vec![0.25; n];
    for _ in 0..ROUNDS {
        let mut row = 0;
        let mut time = |is_asked: bool, work: &mut dyn FnMut()| {
            if is_asked {
                let start = processor_seconds();
                work();
                least[row] = f64::min(least[row], (processor_seconds() - start) / threads as f64);
            }
            row += 1;
        };
        time(true, &mut || {
            lines.par_chunks(1 << 14).for_each(fetch);
        });
        time(true, &mut || {
            (0..threads).into_par_iter().for_each(|_| {
                let mut out = [0; CACHED * (CACHED + 1) / 2];
                for _ in 0..1000 {
                    add_gram(black_box(cached), CACHED_LINES, &mut out);
                }
                black_box(out);
            });
        });
        for ((name, data, pass), states) in passes.iter().zip(&mut states) {
            time(is_asked(name), &mut || {
                black_box(Block(data).fold(pass, states, &mut || Ok(())).unwrap().0);
            });
        }
        time(is_asked("slopes alone, logistic"), &mut || {
            logistic.slopes(&margins.margins, unit, &classes.targets, &mut slopes);
            black_box(&slopes);
        });
        time(is_asked("lengths of rows"), &mut || {
            drop(black_box(RowNorm::gradient_weights(&short)));
        });
        time(is_asked("curvature, floats"), &mut || {
            classes.weighted_gram(&quarter, black_box(&mut gram));
        });
    }
    let (bytes, rate) = (2.0 * (n * p) as f64, products / least[1]);
    let pairs = (n * d * (d + 1) / 2) as f64;
    println!(
        "\n{n} x {p}, {threads} threads, {:.1} MB of features",
        bytes / 1e6
    );
    println!(
        "plain read {:.1} GB/s a thread of {threads}; {:.1} G products/s in cache",
        bytes / threads as f64 / least[0] / 1e9,
        rate / 1e9
    );
    let names = passes.iter().map(|(name, ..)| *name);
    let names = ["plain read", "products in cache"]
        .into_iter()
        .chain(names)
        .chain([
            "slopes alone, logistic",
            "lengths of rows",
            "curvature, floats",
        ]);
    for (name, seconds) in names
        .zip(&least)
        .filter(|(name, seconds)| !name.ends_with("in cache") && seconds.is_finite())
    {
        let bound = match name {
            "second moments" | "second moments, rows weighed" | "curvature, floats" => {
                Bound::Products(pairs / threads as f64)
            }
            _ => Bound::Read,
        };
        match bound {
            Bound::Read => println!(
                "| {name:32} | {:8.1} ms | {:5.1} GB/s | {:4.0} % of a read |",
                seconds * 1e3,
                bytes / seconds / 1e9,
                100.0 * least[0] / seconds
            ),
            Bound::Products(products) => println!(
                "| {name:32} | {:8.1} ms | {:5.1} G/s | {:4.0} % of products in cache |",
                seconds * 1e3,
                products * threads as f64 / seconds / 1e9,
                100.0 * products / rate / seconds
            ),
        }
    }
}

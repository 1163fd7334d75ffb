//! What a weight does to a record: nothing where it is the largest one, everything where it is 0, and in between what
//! the record adds is multiplied.

use std::sync::Arc;

use super::harness::{Data, MAX_WEIGHT, P, Row, Setting, View, alone, asked, map, shared};
use super::refusals::is_argument;
use crate::accounting::event::Adjacency;
use crate::error::{Error, Result};
use crate::exact::tap::Seen;
use crate::loss::{Huber, Logistic, Squared};
use crate::polytope::SignedCoordinates;
use crate::privacy::answer::VertexAt;
use crate::privacy::{Bounds, Geometry, RoomModel, Schema, Session, Statement, Target};
use crate::question::{
    DescentOptions, LinearModel, PermutedOptions, PointNoise, Projection, RangesOf, SelectionNoise,
};

const N: usize = 4;

fn schema(target: Target, norm: bool) -> Schema {
    let bounds = Bounds {
        lower: vec![-1.0],
        upper: vec![1.0],
    };
    let schema = Schema::new(P, bounds, Geometry::Uncentred, target, true, None).unwrap();
    match norm {
        true => schema.with_gradient_norm(0.6).unwrap(),
        false => schema,
    }
}

/// The same statement without weights and with them, and every way to derive records from it.
fn pairs(target: Target, model: &RoomModel, adjacency: Adjacency) -> Vec<[Setting; 2]> {
    let projection = Projection::new(vec![2.0, -0.7, 0.0, 0.4], 1.3).unwrap();
    let views = [
        View::Whole,
        View::Mapped(map()),
        View::Restricted(vec![0, 2]),
        View::Varying,
        View::Projected(projection.clone().with_beyond(0.3, vec![0.0; 4]).unwrap()),
        View::Projected(projection),
    ];
    let mut pairs = Vec::new();
    for norm in [false, true] {
        for view in &views {
            let plain = schema(target, norm);
            let weighted = plain.clone().with_max_weight(MAX_WEIGHT).unwrap();
            pairs.push([plain, weighted].map(|schema| {
                let root = Statement::new(schema, N, adjacency, 1).unwrap();
                let about = match view {
                    View::Whole => Arc::clone(&root),
                    View::Mapped(_) => root.mapped(self::schema(target, true)).unwrap(),
                    View::Restricted(_) => root.restricted(2).unwrap(),
                    View::Varying => root.varying().unwrap(),
                    View::Projected(_) => root.projected(1.0, 0.6).unwrap(),
                };
                assert_eq!(about.schema().max_weight(), root.schema().max_weight());
                Setting {
                    name: format!("{target:?}, {norm}, {view:?}"),
                    root,
                    view: view.clone(),
                    about,
                    model: model.clone(),
                }
            }));
        }
    }
    pairs
}

/// What samplers are given by every kind of question that weights change.
fn everything(setting: &Setting, data: &Data) -> Vec<Vec<Seen>> {
    let about = &setting.about;
    let (p, columns) = (about.schema().n_features(), about.n_columns());
    let outputs = about.schema().target().outputs();
    let mut all = Vec::new();
    let mut ask = |planned, ask: &dyn Fn(&mut Session<'_>) -> Result<()>| {
        let (result, seen) = asked(setting, data, &[planned], 3, ask);
        result.unwrap_or_else(|error| panic!("{}: {error}", setting.name));
        assert!(!seen.is_empty());
        all.push(seen);
    };
    let gradient = about.gradient(&setting.model, 1.0).unwrap();
    let theta: Vec<f64> = (0..outputs * columns)
        .map(|j| 0.8 - 0.5 * j as f64)
        .collect();
    ask(gradient.once(), &|session| {
        session.ask(&gradient, &theta).map(drop)
    });
    let moments = about.moments(1.0).unwrap();
    ask(moments.once(), &|session| {
        session.ask(&moments, ()).map(drop)
    });
    let ball = SignedCoordinates::l1_ball(outputs * columns, 1.0).into();
    let noise = SelectionNoise::Exponential { epsilon0: 0.5 };
    let vertex = (about.vertex(&setting.model, &ball, noise, None)).unwrap();
    let at = || VertexAt {
        moved: (&[(0, 3), (1, -2)], 4),
        retired: &[],
        unit: 0.1 / 16_383.0,
    };
    ask(vertex.once(), &|session| {
        session.ask(&vertex, at()).map(drop)
    });
    if about.schema().target().is_classes() {
        let numbers = about.class_counts(0.5).unwrap();
        ask(numbers.once(), &|session| {
            session.ask(&numbers, ()).map(drop)
        });
    }
    if outputs == p {
        let slope = about.score_slope(&setting.model, 1.0).unwrap();
        ask(slope.once(), &|session| {
            session.ask(&slope, &theta).map(drop)
        });
    }
    if about.schema().target().units().is_some() {
        let mean = about.mean_count(0.5, 3.0, 0.1).unwrap();
        ask(mean.once(), &|session| session.ask(&mean, ()).map(drop));
    }
    if outputs > 1 {
        return all;
    }
    let minimiser = about.strongly_convex(&setting.model, None, 0.1).unwrap();
    let noise = PointNoise::Gaussian { multiplier: 1e-3 };
    let point = minimiser.with_output_noise(noise).unwrap();
    ask(point.once(), &|session| session.ask(&point, ()).map(drop));
    if about.adjacency() == Adjacency::ReplaceOne {
        let step = 0.05;
        let options = DescentOptions {
            ridge: 0.0,
            penalty: None,
            n_iter: 5,
            step,
        };
        let descent = about.descent(&setting.model, options).unwrap();
        let point = descent.with_output_noise(noise).unwrap();
        ask(point.once(), &|session| session.ask(&point, ()).map(drop));
        let options = PermutedOptions {
            ridge: 0.0,
            passes: 2,
            batch: 2,
            step,
        };
        let permuted = about.permuted(&setting.model, options).unwrap();
        let point = permuted.with_output_noise(noise).unwrap();
        ask(point.once(), &|session| session.ask(&point, ()).map(drop));
    }
    let held_out = about.held_out(0.7).unwrap();
    let model = |factor: f64, ranges: Option<f64>| LinearModel {
        coefficients: (0..outputs * p)
            .map(|j| factor * (1.0 + j as f64))
            .collect(),
        intercepts: (0..outputs).map(|k| factor * (0.2 - k as f64)).collect(),
        feature_ranges: ranges.map(|end| Bounds {
            lower: vec![-end; p],
            upper: vec![end; p],
        }),
    };
    let models = [model(1.0, None), model(-1.0, Some(0.5))];
    ask(held_out.once(), &|session| {
        session.ask(&held_out, &models).map(drop)
    });
    all
}

fn kinds() -> Vec<(Target, RoomModel)> {
    let interval = Target::Interval {
        low: -1.0,
        high: 1.0,
    };
    let of = |loss, clamp, target| (target, RoomModel::for_target(&loss, clamp, target).unwrap());
    vec![
        of(Logistic.into(), None, Target::Classes),
        of(Huber::new(0.3).unwrap().into(), None, interval),
        of(Squared.into(), Some(0.2), interval),
        of(Logistic.into(), None, Target::Multiclass { classes: 3 }),
    ]
}

fn rows(target: Target) -> Vec<Row> {
    match target {
        Target::Multiclass { classes } => (shared().into_iter().enumerate())
            .map(|(i, (x, _))| (x, (i % classes as usize) as f64))
            .collect(),
        Target::Classes | Target::Interval { .. } | Target::Counts { .. } => shared(),
    }
}

/// Weights at the largest one, and above, change no bit of what any question is answered from.
#[test]
fn full_weights_are_none() {
    alone(|| {
        for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemove] {
            for (target, model) in kinds() {
                for [plain, weighted] in pairs(target, &model, adjacency) {
                    let data = Data::new(&rows(target));
                    let full = data
                        .clone()
                        .weighted(vec![MAX_WEIGHT, 1e300, 5.0, MAX_WEIGHT]);
                    let (one, other) = (everything(&plain, &data), everything(&weighted, &full));
                    assert_eq!(one, other, "{}", plain.name);
                }
            }
        }
    });
}

/// A record of weight 0 is none: means are over the public number.
#[test]
fn records_without_weight_add_nothing() {
    alone(|| {
        for (target, model) in kinds() {
            for [plain, weighted] in pairs(target, &model, Adjacency::AddRemove) {
                let rows = rows(target);
                let left = Data::new(&[rows[0], rows[2], rows[3]]);
                let weights = vec![9.0, 0.0, MAX_WEIGHT, MAX_WEIGHT];
                let with = Data::new(&rows).weighted(weights);
                let (one, other) = (everything(&plain, &left), everything(&weighted, &with));
                // A minimiser is found to a distance; all else is exact.
                for (one, other) in one.iter().zip(&other) {
                    match (&one[0], &other[0]) {
                        (Seen::Point(a), Seen::Point(b)) => {
                            let apart = a.iter().zip(b).map(|(a, b)| (a - b).abs());
                            assert!(apart.fold(0.0, f64::max) < 1e-6, "{}", plain.name);
                        }
                        _ => assert_eq!(one, other, "{}", plain.name),
                    }
                }
            }
        }
    });
}

/// What one record adds is multiplied by its share once, in sums of slopes and in second moments.
#[test]
fn shares_multiply_what_records_add() {
    alone(|| {
        for (target, model) in kinds() {
            for [plain, weighted] in pairs(target, &model, Adjacency::AddRemove) {
                let row = rows(target)[0];
                let full = everything(&plain, &Data::new(&[row]));
                for weight in [0.0, 0.3, 1.0, 3.9, MAX_WEIGHT] {
                    let data = Data::new(&[row]).weighted(vec![weight]);
                    let seen = everything(&weighted, &data);
                    for (kind, (one, part)) in full.iter().zip(&seen).enumerate().take(2) {
                        for (one, part) in one.iter().zip(part) {
                            let (Seen::Integers(one), Seen::Integers(part)) = (one, part) else {
                                panic!("{one:?}");
                            };
                            let of_class = (one.len() / model.outputs()).max(1);
                            for (j, (&one, &part)) in one.iter().zip(part).enumerate() {
                                let exact = one as f64 * weight / MAX_WEIGHT;
                                // Half a unit of a slope, or of each that the own one is minus the sum of, or one
                                // of an entry, and flooring.
                                let is_own = model.outputs() > 1 && j / of_class == row.1 as usize;
                                let slopes = if is_own { model.outputs() - 1 } else { 1 };
                                let unit = [8192.0 * slopes as f64, 16_384.0][kind] * 1.01;
                                assert!((part as f64 - exact).abs() <= unit, "{one} {part}");
                                assert!(part.abs() <= one.abs() + 1, "{}", weighted.name);
                            }
                        }
                    }
                }
            }
        }
    });
}

/// Quantiles and norms, which only set scales, count every record once.
#[test]
fn scales_count_every_record_once() {
    let model = RoomModel::new(&Logistic.into(), None).unwrap();
    let [[plain, weighted], ..] = &pairs(Target::Classes, &model, Adjacency::AddRemove)[..] else {
        panic!("there are settings");
    };
    let data = Data::new(&shared());
    let light = data.clone().weighted(vec![0.0, 0.1, MAX_WEIGHT, 0.0]);
    let ranges = |setting: &Setting, data: &Data| {
        let question = (setting.about).ranges(0.7, 0.3, RangesOf::Each(vec![0, 2]));
        let question = question.unwrap();
        let norm = setting.about.typical_norm(0.7, 0.6).unwrap();
        let planned = [question.once(), norm.once()];
        asked(setting, data, &planned, 3, &|session| {
            session.ask(&question, ())?;
            session.ask(&norm, &map()).map(drop)
        })
        .1
    };
    let seen = ranges(plain, &data);
    assert!(seen.len() == 5 && seen == ranges(weighted, &light));
}

/// Weights go with a statement that speaks of them, and are as many as the records, finite and not negative: else
/// nothing is read.
#[test]
fn weights_and_statements_go_together() {
    let root = |schema: Schema| Statement::new(schema, N, Adjacency::ReplaceOne, 1).unwrap();
    let plain = root(schema(Target::Classes, false));
    let weighted = root(
        (schema(Target::Classes, false))
            .with_max_weight(2.0)
            .unwrap(),
    );
    let data = Data::new(&shared());
    let read = |statement: &Arc<Statement>, weights: Option<Vec<f64>>| {
        let data = match weights {
            Some(weights) => data.clone().weighted(weights),
            None => data.clone(),
        };
        data.curator().all(statement, &[]).map(drop)
    };
    assert!(read(&plain, None).is_ok() && read(&weighted, Some(vec![1.0; N])).is_ok());
    assert!(is_argument(
        &read(&plain, Some(vec![1.0; N])).unwrap_err(),
        "sample_weight"
    ));
    assert!(is_argument(
        &read(&weighted, None).unwrap_err(),
        "sample_weight"
    ));
    for weights in [
        vec![1.0; N - 1],
        vec![1.0, f64::NAN, 1.0, 1.0],
        vec![1.0, f64::INFINITY, 1.0, 1.0],
        vec![1.0, -1.0, 1.0, 1.0],
    ] {
        let error = read(&weighted, Some(weights)).unwrap_err();
        assert!(matches!(error, Error::InvalidData(_)), "{error}");
    }
    for largest in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = schema(Target::Classes, false).with_max_weight(largest);
        assert!(is_argument(&error.unwrap_err(), "max_weight"));
    }
    assert!(!plain.same(&weighted));
    let (unit, assumptions) = weighted.terms(100);
    assert!(unit.contains("sample_weight"));
    assert!(
        assumptions
            .iter()
            .any(|text| text.contains("the public 2 "))
    );
    let (unit, assumptions) = plain.terms(100);
    assert!(!unit.contains("weight") && !assumptions.iter().any(|text| text.contains("weight")));
}

/// Parts have the weights of their records.
#[test]
fn parts_keep_their_weights() {
    let schema = (schema(Target::Classes, false))
        .with_max_weight(4.0)
        .unwrap();
    let data = Data::new(&shared()).weighted(vec![4.0, 1.0, 2.0, 9.0]);
    let curator = data.curator();
    let root = Statement::new(schema, N, Adjacency::ReplaceOne, 1).unwrap();
    let part = root.part(self::schema(Target::Classes, true), 2).unwrap();
    let read = curator.read(Some(&[1, 3]), part.schema()).unwrap();
    assert_eq!([read[0].share(0), read[0].share(1)], [0.25, 1.0]);
}

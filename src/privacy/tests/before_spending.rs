//! What follows from the number of records, or from what is in them, is refused before anything is spent: an error
//! between two answers would tell one record from none, and keep what was spent.

use std::sync::{Arc, LazyLock};

use super::harness::{Data, P, Setting, View, alone, asked, bounds, map, shared};
use super::refusals::{data, is_argument, refused, run, schema, sealed, statement, whole};
use crate::accounting::event::Adjacency;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::exact::selection::{Shape, Summand};
use crate::exact::tap::watched;
use crate::loss::Logistic;
use crate::norm::{ReviewedNorm, SetFunctionNorm};
use crate::polytope::{GroupBall, SignedCoordinates};
use crate::privacy::answer::{Part, VertexAt};
use crate::privacy::{
    Answer, Bounds, Compressed, Curator, FeatureMap, Geometry, MemoryLedger, Orientation, Question,
    RoomModel, Schema, Sealed, Session, Statement, Target, release,
};
use crate::question::{LinearModel, PointNoise, RangesOf, SelectionNoise, TiltNoise};
use crate::set_function::Cardinality;

const START: VertexAt<'_> = VertexAt {
    moved: (&[], 1),
    retired: &[],
    unit: 1.0,
};

/// n empty records of p features in rows that store nothing, released from.
fn run_empty_rows<R>(plan: &Sealed<R>, n: usize, p: usize, ledger: &mut MemoryLedger) -> Result<R> {
    let (starts, y) = (vec![0usize; n + 1], vec![1.0; n]);
    let rows = Compressed::<f64, usize> {
        starts: &starts,
        indices: &[],
        values: &[],
    };
    let curator = Curator::from_sparse(rows, Orientation::Rows, (n, p), &y);
    let source = Source::seeded(3);
    release(plan, &curator, ledger, source, &mut |_, _| Ok(())).map(|released| released.value)
}

fn wide(p: usize, geometry: Geometry, row_norm: Option<f64>) -> Schema {
    Schema::new(p, bounds(), geometry, Target::Classes, true, row_norm).unwrap()
}

fn model() -> RoomModel {
    RoomModel::new(&Logistic.into(), None).unwrap()
}

/// Rows that are shortened after zeros have moved are stored densely: sparse records that then do not fit are refused
/// at the start. Where zeros stay there is room.
#[test]
fn memory_for_images_is_asked_for_first() {
    let n = 1 << 20; // as many features: 2 terabytes
    let root = Statement::new(
        wide(n, Geometry::Uncentred, None),
        n,
        Adjacency::AddRemove,
        1,
    );
    let root = root.unwrap();
    let short = || wide(n, Geometry::Uncentred, Some(1.0));
    let norm = root.typical_norm(0.5, 0.5).unwrap();
    for (about, moved, fits) in [
        (root.mapped(short()).unwrap(), 0.1, false),
        (root.scaled(short()).unwrap(), 0.0, true),
    ] {
        let map = FeatureMap::new(vec![0.5; n], vec![moved; n], 1.0);
        let (first, second) = (norm.clone(), about.typical_norm(0.5, 0.5).unwrap());
        let planned = vec![norm.once(), second.once()];
        let plan = sealed(&root, planned, move |session| {
            session.ask(&first, &map)?;
            session.mapped(&map, &about)?.ask(&second, &map)
        });
        let mut ledger = MemoryLedger::default();
        let (result, seen) = watched(|| run_empty_rows(&plan, n, n, &mut ledger));
        if fits {
            assert!(result.is_ok() && seen.len() == 2 && ledger.entries().len() == 1);
        } else {
            assert_eq!(result.unwrap_err(), Error::TooLarge { bytes: None });
            assert!(seen.is_empty() && ledger.entries().is_empty());
        }
    }
}

/// Noise on the diagonal of second moments is sqrt(2) times that beside it: where the sampler takes the one and not the
/// other, there is no question. It was an error of the draw.
#[test]
fn noise_of_a_diagonal_is_asked_for_first() {
    let root = statement(Adjacency::ReplaceOne);
    let (mut taken, mut refused) = (0, 0);
    for eighths in 35 * 8..40 * 8 {
        let Ok(question) = root.moments(2f64.powf(f64::from(eighths) / 8.0)) else {
            refused += 1;
            continue;
        };
        let (result, _) = asked(&whole(&root), &data(), &[question.once()], 1, &|session| {
            session.ask(&question, ()).map(drop)
        });
        assert_eq!(result, Ok(()));
        taken += 1;
    }
    assert!(taken >= 8 && refused >= 8, "{taken} {refused}");
}

/// A map under which zero moves is none of a statement that says that it stays.
#[test]
fn zeros_stay_where_a_statement_says_so() {
    let root = statement(Adjacency::ReplaceOne);
    let to = root.scaled(schema(Some(0.5))).unwrap();
    let planned = [to.moments(1.0).unwrap().once()];
    for (map, fits) in [(FeatureMap::linear(vec![2.0; P]), true), (map(), false)] {
        let (result, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
            session.mapped(&map, &to).map(drop)
        });
        assert_eq!(result.is_ok(), fits);
    }
}

/// There is memory for the record sets of a plan, and no others are made.
#[test]
fn records_are_made_for_questions_alone() {
    let root = statement(Adjacency::AddRemove);
    let (two, one) = (root.restricted(2).unwrap(), root.restricted(1).unwrap());
    let planned = [two.moments(1.0).unwrap().once()];
    let (result, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
        session.restricted(&[0, 1], &two)?;
        session.restricted(&[0], &one).map(drop)
    });
    assert!(is_argument(
        &result.unwrap_err(),
        "statement is one that no question"
    ));
}

/// A refit among selected features takes at most 16 times the public number of records: more are refused before the
/// selection.
#[test]
fn crowds_are_refused_before_the_first_of_several_questions() {
    let few = Statement::new(schema(None), 1, Adjacency::AddRemove, 1).unwrap();
    let two = few.restricted(2).unwrap();
    let ball = SignedCoordinates::l1_ball(P + 1, 1.0).into();
    let noise = SelectionNoise::Exponential { epsilon0: 1.0 };
    let selection = few.vertex(&model(), &ball, noise, None).unwrap();
    let minimiser = two.strongly_convex(&model(), None, 1.0).unwrap();
    let tilt = TiltNoise::Gaussian {
        sigma: 5.0,
        cover: 20.0,
    };
    let refit = minimiser.with_random_tilt(tilt).unwrap();
    let planned = vec![selection.once(), refit.once()];
    let plan = sealed(&few, planned, move |session| {
        session.ask(&selection, START)?;
        session.restricted(&[0, 1], &two)?.ask(&refit, ())
    });
    for (n, fits) in [(16, true), (17, false)] {
        let (rows, mut ledger) = (Data::new(&vec![shared()[0]; n]), MemoryLedger::default());
        let (result, seen) = watched(|| run(&plan, &rows, &mut ledger));
        assert_eq!(seen.is_empty(), !fits);
        assert_eq!(ledger.entries().len(), usize::from(fits));
        match result {
            Ok(released) => {
                let assumptions = released.certificate.assumptions();
                for stated in ["16 times", "at least one record", "has memory"] {
                    assert!(
                        assumptions.iter().any(|text| text.contains(stated)),
                        "{stated}"
                    );
                }
            }
            Err(error) => assert!(matches!(error, Error::InvalidData(_)), "{error}"),
        }
        assert_eq!(fits, n == 16);
    }
}

/// Sums over the members of a group fit the integers up to n |g| < 2^34.
#[test]
fn groups_too_large_for_so_many_records_are_refused_first() {
    let p = 1 << 20;
    let schema = wide(p, Geometry::Uncentred, None);
    let root = Statement::new(schema, 1, Adjacency::AddRemove, 1).unwrap();
    let groups = GroupBall::new(&[(0..p).collect()], p, true, 1.0).unwrap();
    let noise = SelectionNoise::Exponential { epsilon0: 1.0 };
    let vertex = (root.vertex(&model(), &groups.into(), noise, None)).unwrap();
    let norm = root.typical_norm(0.5, 0.5).unwrap();
    let planned = vec![norm.once(), vertex.once()];
    let plan = sealed(&root, planned, move |session| {
        session.ask(&norm, &FeatureMap::linear(vec![1.0; p]))?;
        session.ask(&vertex, START)
    });
    let mut ledger = MemoryLedger::default();
    let (result, seen) = watched(|| run_empty_rows(&plan, 1 << 14, p, &mut ledger));
    assert!(matches!(result.unwrap_err(), Error::InvalidData(_)));
    assert!(seen.is_empty() && ledger.entries().is_empty());
}

/// A part is read under a schema of its own: what records could fail to have, or their storage, is no surprise later.
#[test]
fn parts_are_readable_where_the_whole_is() {
    let root = statement(Adjacency::AddRemove);
    let n = root.n_samples();
    let interval = Target::Interval {
        low: -1.0,
        high: 1.0,
    };
    let make = |p, target| Schema::new(p, bounds(), Geometry::Uncentred, target, true, None);
    assert!(root.part(make(P, Target::Classes).unwrap(), n).is_ok());
    // A part of what was made of the records is read anew too.
    let two = root.restricted(2).unwrap();
    assert!(two.part(make(P, Target::Classes).unwrap(), n).is_ok());
    for other in [make(P, interval), make(P + 1, Target::Classes)] {
        let error = root.part(other.unwrap(), n).unwrap_err();
        assert!(is_argument(&error, "schema"), "{error}");
    }
    // Bounds beyond zero, and rows that are shortened: not from sparse records.
    let beyond = Bounds {
        lower: vec![0.5],
        upper: vec![1.0],
    };
    let target = Target::Classes;
    let short = Schema::new(P, beyond, Geometry::Uncentred, target, true, Some(1.0));
    let root = Statement::new(schema(None), n, Adjacency::AddRemove, 1).unwrap();
    let part = root.part(short.unwrap(), n).unwrap();
    let (first, second) = (root.moments(1.0).unwrap(), part.moments(1.0).unwrap());
    let plan = sealed(&root, vec![first.once(), second.once()], move |session| {
        session.ask(&first, ())?;
        session.part(Part::All, &part)?.ask(&second, ())
    });
    let mut ledger = MemoryLedger::default();
    let (result, seen) = watched(|| run_empty_rows(&plan, n, P, &mut ledger));
    assert!(is_argument(&result.unwrap_err(), "row_norm"));
    assert!(seen.is_empty() && ledger.entries().is_empty());
    assert!(run(&plan, &data(), &mut ledger).is_ok());
}

/// Coins may leave a part without a record; nothing fails where there is none, and nothing where there is one.
#[test]
fn a_part_may_be_empty() {
    let root = statement(Adjacency::AddRemove);
    let n = root.n_samples();
    let split = root.split(n - 1, 0.999).unwrap();
    let part = root.part(schema(None), 1).unwrap();
    let mapped = part.mapped(schema(Some(0.5))).unwrap();
    let two = mapped.restricted(2).unwrap();
    let (norm, moments) = (
        mapped.typical_norm(0.5, 0.5).unwrap(),
        two.moments(1.0).unwrap(),
    );
    let planned = [split.once(), norm.once(), moments.once()];
    let mut sizes = Vec::new();
    for seed in 0..3 {
        for side in [Part::Training(&split), Part::HeldOut(&split)] {
            let (result, seen) = asked(&whole(&root), &data(), &planned, seed, &|session| {
                session.ask(&split, ())?;
                let mut session = session.part(side, &part)?;
                let mut session = session.mapped(&map(), &mapped)?;
                session.ask(&norm, &FeatureMap::linear(vec![1.0; P]))?;
                session.restricted(&[0, 2], &two)?.ask(&moments, ())
            });
            result.unwrap();
            // The last column is the intercept's: its second moment counts the records.
            let last = seen.iter().rev().find_map(|seen| match seen {
                crate::exact::tap::Seen::Integers(sums) => sums.last().copied(),
                _ => None,
            });
            sizes.push(last.unwrap() / 16_383i64.pow(2));
        }
    }
    assert_eq!(sizes, [0, 4, 0, 4, 0, 4]);
}

/// A model that floats do not hold in scaled units is refused by its public coefficients, whether there are records.
#[test]
fn models_are_checked_before_a_choice_is_spent() {
    let root = statement(Adjacency::AddRemove);
    let choice = root.held_out(1.0).unwrap();
    let model = |size: f64, ranges: Option<Bounds>| LinearModel {
        coefficients: vec![size; P],
        intercepts: vec![0.0],
        feature_ranges: ranges,
    };
    let reversed = Bounds {
        lower: vec![1.0; P],
        upper: vec![-1.0; P],
    };
    let bad = [
        vec![],
        vec![model(1.0, None), model(1e308, None)],
        vec![model(f64::NAN, None)],
        vec![model(1.0, Some(reversed))],
    ];
    let planned = [choice.once()];
    let (result, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
        for models in &bad {
            let error = session.ask(&choice, models).unwrap_err();
            assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
        }
        session.ask(&choice, &[model(1.0, None)])
    });
    assert_eq!(result, Ok(0), "a question that was refused is still there");
}

/// The map of a norm is one of the features of the records, no more and no fewer.
#[test]
fn norms_are_those_of_images() {
    let root = statement(Adjacency::ReplaceOne);
    let norm = root.typical_norm(1.0, 0.5).unwrap();
    for p in [P - 1, P + 1] {
        let map = FeatureMap::linear(vec![1.0; p]);
        let error = refused(&root, &[norm.once()], &|session| session.ask(&norm, &map));
        assert!(is_argument(&error, "map"), "{error}");
    }
}

/// The records of a statement about two features, with one of them.
fn of_fewer<A: Answer>(
    root: &Arc<Statement>,
    question: &Question<A>,
    at: impl Fn() -> A::At<'static>,
) -> (Result<A::Released>, usize) {
    let setting = Setting {
        view: View::Restricted(vec![1]),
        about: Arc::clone(question.statement()),
        ..whole(root)
    };
    let ask = |session: &mut Session<'_>| session.ask(question, at());
    let (result, seen) = asked(&setting, &data(), &[question.once()], 1, &ask);
    (result, seen.len())
}

/// Where a statement lets fewer features than it speaks of, questions answer or refuse; nothing is out of bounds.
#[test]
fn fewer_features_than_stated_are_no_accident() {
    fn refuses<A: Answer<Released: std::fmt::Debug>>(
        root: &Arc<Statement>,
        question: &Question<A>,
        at: impl Fn() -> A::At<'static>,
    ) {
        let (result, seen) = of_fewer(root, question, at);
        let error = result.unwrap_err();
        assert!(
            is_argument(&error, "question needs all the features"),
            "{error}"
        );
        assert_eq!(seen, 0, "something was drawn");
    }
    alone(|| {
        let root = statement(Adjacency::ReplaceOne);
        let two = root.restricted(2).unwrap();
        for of in [RangesOf::Each(vec![0, 1]), RangesOf::Together(2)] {
            refuses(&root, &two.ranges(1.0, 0.3, of).unwrap(), || ());
        }
        static MAP: LazyLock<FeatureMap> = LazyLock::new(|| FeatureMap::linear(vec![1.0; 2]));
        refuses(&root, &two.typical_norm(1.0, 0.5).unwrap(), || &*MAP);
        let ball = SignedCoordinates::l1_ball(3, 1.0).into();
        let noise = SelectionNoise::Exponential { epsilon0: 1.0 };
        let vertex = two.vertex(&model(), &ball, noise, None).unwrap();
        refuses(&root, &vertex, || START);
        refuses(&root, &two.held_out(1.0).unwrap(), || &[]);

        let minimiser = two.strongly_convex(&model(), None, 0.5).unwrap();
        let path = minimiser.path(1.0).unwrap();
        let points = path.points(1.0).unwrap();
        let cross = Summand {
            weight: 1.0,
            shape: Shape::Cross(vec![0, 1]),
        };
        refuses(&root, &points, || &[0.0; 2]);
        let vertices = path.vertices(vec![cross], 0.1, &points).unwrap();
        refuses(&root, &vertices, || &[0.0; 2]);
        let l1 = SetFunctionNorm::new(Arc::new(Cardinality::new(2).unwrap())).unwrap();
        let l1 = ReviewedNorm::new(Arc::new(l1)).unwrap();
        let penalised = two.strongly_convex(&model(), Some((l1, 0.1)), 0.5).unwrap();
        let noise = PointNoise::Gaussian { multiplier: 1.0 };
        refuses(&root, &penalised.with_output_noise(noise).unwrap(), || ());

        let target = Target::Classes;
        let plain = Schema::new(P, bounds(), Geometry::Uncentred, target, false, None).unwrap();
        let plain = Statement::new(plain, shared().len(), Adjacency::ReplaceOne, 1).unwrap();
        let softmax = (plain.restricted(2).unwrap()).softmax(&Logistic.into(), 2.0);
        refuses(&plain, &softmax.unwrap().draws(3).unwrap(), || ());

        // What goes with any number of features.
        let (matrix, _) = of_fewer(&root, &two.moments(1.0).unwrap(), || ());
        assert_eq!(matrix.unwrap().len(), 4);
        let gradient = two.gradient(&model(), 1.0).unwrap();
        assert_eq!(of_fewer(&root, &gradient, || &[0.5; 2]).0.unwrap().len(), 2);
        let point = minimiser.with_output_noise(noise).unwrap();
        assert_eq!(of_fewer(&root, &point, || ()).0.unwrap().len(), 2);
    });
}

/// Softmax sampling reads sparse records without a base: unstored entries must be zeros.
#[test]
fn softmax_takes_no_moved_zeros() {
    let make = |lower: f64| {
        let (lower, upper) = (vec![lower], vec![1.0]);
        let bounds = Bounds { lower, upper };
        Schema::new(P, bounds, Geometry::Uncentred, Target::Classes, false, None).unwrap()
    };
    let n = shared().len();
    let of = |schema| Statement::new(schema, n, Adjacency::ReplaceOne, 1).unwrap();
    let taken = |statement: &Arc<Statement>| statement.softmax(&Logistic.into(), 2.0).is_ok();
    let (zero, beyond) = (of(make(-1.0)), of(make(0.5)));
    assert!(taken(&zero) && taken(&zero.restricted(2).unwrap()));
    assert!(taken(&zero.scaled(make(-1.0)).unwrap()));
    assert!(!taken(&zero.mapped(make(-1.0)).unwrap()));
    // A restricted statement has bounds of its own, whatever those of the records are.
    assert!(!taken(&beyond.restricted(2).unwrap()));
    assert!(!taken(&beyond.scaled(make(-1.0)).unwrap()));
}

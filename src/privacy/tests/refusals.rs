//! What the room refuses, and that nothing is drawn then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::harness::{Data, P, Setting, View, asked, both_tilts, bounds, shared};
use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::exact::selection::{Shape, Summand};
use crate::exact::tap::watched;
use crate::loss::Logistic;
use crate::norm::{GroupLasso, ReviewedNorm};
use crate::polytope::{GroupBall, SignedCoordinates};
use crate::privacy::answer::{Part, VertexAt};
use crate::privacy::budget::Budget;
use crate::privacy::{
    Claim, Compressed, Curator, Entry, FeatureMap, Geometry, Ledger, MemoryLedger, Orientation,
    Planned, Program, Question, Receipt, RoomModel, Schema, Sealed, Session, Statement, Target,
    for_reproduction, release, seal,
};
use crate::question::{AbsoluteSums, Moments, Projection, SelectionNoise, events_of};

/// A program of a closure.
struct Does<F> {
    planned: Vec<Planned>,
    run: F,
}

impl<F> std::fmt::Debug for Does<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.planned)
    }
}

impl<R, F: Fn(&mut Session<'_>) -> Result<R> + Send + Sync> Program<R> for Does<F> {
    fn questions(&self) -> Vec<Planned> {
        self.planned.clone()
    }

    fn run(&self, session: &mut Session<'_>) -> Result<R> {
        (self.run)(session)
    }
}

fn claim(epsilon: f64, delta: f64) -> Claim {
    Claim {
        epsilon,
        delta,
        mechanism: "a test".into(),
        assumptions: vec!["the test is public".into()],
    }
}

pub fn sealed<R: 'static>(
    statement: &Arc<Statement>,
    planned: Vec<Planned>,
    run: impl Fn(&mut Session<'_>) -> Result<R> + Send + Sync + 'static,
) -> Sealed<R> {
    seal(
        statement,
        Box::new(Does { planned, run }),
        claim(50.0, 1e-3),
    )
    .unwrap()
}

pub fn schema(row_norm: Option<f64>) -> Schema {
    let target = Target::Classes;
    Schema::new(P, bounds(), Geometry::Uncentred, target, true, row_norm).unwrap()
}

pub fn statement(adjacency: Adjacency) -> Arc<Statement> {
    Statement::new(schema(Some(1.0)), shared().len(), adjacency, 1).unwrap()
}

pub fn data() -> Data {
    Data::new(&shared())
}

pub fn run<R>(
    plan: &Sealed<R>,
    data: &Data,
    ledger: &mut dyn Ledger,
) -> Result<crate::privacy::Released<R>> {
    release(
        plan,
        &data.curator(),
        ledger,
        Source::seeded(3),
        &mut |_, _| Ok(()),
    )
}

fn released<R>(plan: &Sealed<R>) -> Result<crate::privacy::Released<R>> {
    run(plan, &data(), &mut MemoryLedger::default())
}

pub fn whole(root: &Arc<Statement>) -> Setting {
    Setting {
        name: "whole".into(),
        root: Arc::clone(root),
        view: View::Whole,
        about: Arc::clone(root),
        model: RoomModel::new(&Logistic.into(), None).unwrap(),
    }
}

/// What `ask` returns, which draws nothing.
pub fn refused<R: std::fmt::Debug>(
    root: &Arc<Statement>,
    planned: &[Planned],
    ask: &dyn Fn(&mut Session<'_>) -> Result<R>,
) -> Error {
    let (result, seen) = asked(&whole(root), &data(), planned, 1, ask);
    assert!(seen.is_empty(), "something was drawn: {seen:?}");
    result.unwrap_err()
}

pub fn is_argument(error: &Error, name: &str) -> bool {
    matches!(error, Error::InvalidArgument { .. }) && error.to_string().starts_with(name)
}

/// A question about another statement is refused, however little the statements differ, though it was planned.
#[test]
fn questions_are_about_the_records_of_the_session() {
    let root = statement(Adjacency::ReplaceOne);
    let n = shared().len();
    let others = [
        Statement::new(schema(Some(0.5)), n, Adjacency::ReplaceOne, 1),
        Statement::new(schema(Some(1.0)), n + 1, Adjacency::ReplaceOne, 1),
        Statement::new(schema(Some(1.0)), n, Adjacency::AddRemove, 1),
        Statement::new(schema(Some(1.0)), n, Adjacency::ReplaceOne, 2),
        root.restricted(P),
        root.varying(),
        root.mapped(schema(Some(1.0))),
        root.part(schema(Some(1.0)), n),
    ];
    for other in others {
        let question = other.unwrap().moments(1.0).unwrap();
        let error = refused(&root, &[question.once()], &|session| {
            session.ask(&question, ())
        });
        assert!(
            is_argument(&error, "question is about other records"),
            "{error}"
        );
    }
    // One that says the same is the same.
    let question = statement(Adjacency::ReplaceOne).moments(1.0).unwrap();
    let (answer, _) = asked(&whole(&root), &data(), &[question.once()], 1, &|session| {
        session.ask(&question, ())
    });
    assert!(answer.is_ok());
    // Programs are about their records too.
    let other = Statement::new(schema(Some(0.5)), n, Adjacency::ReplaceOne, 1).unwrap();
    let question = other.moments(10.0).unwrap();
    let program = Does {
        planned: vec![question.once()],
        run: |_: &mut Session<'_>| Ok(()),
    };
    let error = seal(&root, Box::new(program), claim(50.0, 1e-3)).unwrap_err();
    assert!(is_argument(&error, "question"), "{error}");
}

/// The dual path is as sensitive as its bound on s says, for points and for vertices: none is drawn beyond it.
#[test]
fn dual_points_beyond_their_bound_are_refused() {
    let root = statement(Adjacency::ReplaceOne);
    let (columns, reach) = (schema(Some(1.0)).n_columns(), 0.75);
    let minimiser = root
        .strongly_convex(&whole(&root).model, None, 0.5)
        .unwrap();
    let path = minimiser.path(reach).unwrap();
    let points = path.points(1.0).unwrap();
    let cross = Summand {
        weight: 1.0,
        shape: Shape::Cross((0..P as u32).collect()),
    };
    let vertices = path.vertices(vec![cross], 0.1, &points).unwrap();
    let planned = [points.once(), vertices.once()];
    let first = move |entry: f64| -> Vec<f64> {
        let mut s = vec![0.0; columns];
        s[0] = entry;
        s
    };
    for s in [
        first(1.001 * reach),
        first(f64::NAN),
        vec![0.0; columns - 1],
    ] {
        let point = refused(&root, &planned, &|session| session.ask(&points, &s));
        let vertex = refused(&root, &planned, &|session| session.ask(&vertices, &s));
        assert!(
            is_argument(&point, "s ") && is_argument(&vertex, "s "),
            "{point} {vertex}"
        );
    }
    let plan = sealed(&root, planned.to_vec(), move |session| {
        let s = first(reach);
        Ok((
            session.ask(&points, &s)?.len(),
            session.ask(&vertices, &s)?.len(),
        ))
    });
    assert_eq!(released(&plan).unwrap().value, (columns, P));
}

/// Not all candidates may be retired, and margins hold moves of so much.
#[test]
fn vertices_of_nothing_or_too_far_away_are_refused() {
    let root = statement(Adjacency::ReplaceOne);
    let model = whole(&root).model;
    let noise = SelectionNoise::Exponential { epsilon0: 1.0 };
    let columns = [0, 1, 2, 3];
    let at = |retired, weight| VertexAt {
        moved: (&[(0, 2), (1, -2)], weight),
        retired,
        unit: 1e-9,
    };
    let groups = GroupBall::new(&[vec![0, 2], vec![1]], P, true, 1.0).unwrap();
    let ball = SignedCoordinates::l1_ball(P + 1, 1.0);
    for polytope in [groups.into(), ball.into()] {
        let question = root.vertex(&model, &polytope, noise, None).unwrap();
        let planned = [question.times(2)];
        let error = refused(&root, &planned, &|session| {
            session.ask(&question, at(&columns, 1))
        });
        assert!(is_argument(&error, "n_selected"), "{error}");
        let error = refused(&root, &planned, &|session| {
            session.ask(&question, at(&[], 1 << 44))
        });
        assert!(is_argument(&error, "n_iter"), "{error}");
        // What the steps before moved by counts too, in either direction.
        let (answer, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
            session.ask(&question, at(&[], 1 << 43))?;
            Ok(session.ask(&question, at(&[], -(1 << 43))))
        });
        let error = answer.unwrap().unwrap_err();
        assert!(is_argument(&error, "n_iter"), "{error}");
    }
}

/// Features that were chosen are different ones of those that there are, and one is left.
#[test]
fn gains_over_other_sets_are_refused() {
    let root = statement(Adjacency::ReplaceOne);
    let question = root.gains(1.0).unwrap();
    for chosen in [&[0, 0][..], &[3], &[1, 4], &[0, 1, 2], &[2, 1, 2]] {
        let error = refused(&root, &[question.once()], &|session| {
            session.ask(&question, chosen)
        });
        assert!(is_argument(&error, "chosen"), "{chosen:?}: {error}");
    }
    for chosen in [&[][..], &[2], &[2, 0]] {
        let (answer, _) = asked(&whole(&root), &data(), &[question.once()], 1, &|session| {
            session.ask(&question, chosen)
        });
        let feature = answer.unwrap();
        assert!((feature as usize) < P && !chosen.contains(&feature));
    }
}

#[test]
fn more_than_was_planned_is_refused() {
    let root = statement(Adjacency::ReplaceOne);
    let question = root.moments(1.0).unwrap();
    let twin = root.moments(1.0).unwrap();
    let ((once, again, another), seen) = match asked(
        &whole(&root),
        &data(),
        &[question.times(2)],
        1,
        &|session| {
            let once = session
                .ask(&question, ())
                .and(session.ask(&question.clone(), ()));
            Ok((once, session.ask(&question, ()), session.ask(&twin, ())))
        },
    ) {
        (Ok(results), seen) => (results, seen),
        (Err(error), _) => panic!("{error}"),
    };
    assert!(once.is_ok());
    // Beyond the count, and one that is equal but was not announced.
    for error in [again.unwrap_err(), another.unwrap_err()] {
        assert!(matches!(error, Error::BudgetExceeded(_)), "{error}");
    }
    // Two answers of two additions of noise each.
    assert_eq!(integers(&seen), 4);
}

/// Answers are left, but of another question.
#[test]
fn questions_that_were_not_announced_are_refused() {
    let root = statement(Adjacency::ReplaceOne);
    let (announced, twin) = (root.moments(1.0).unwrap(), root.moments(1.0).unwrap());
    let error = refused(&root, &[announced.times(3)], &|session| {
        session.ask(&twin, ())
    });
    assert!(matches!(error, Error::BudgetExceeded(_)), "{error}");
}

/// Events that are equal and follow each other stand together in a list, with the sum of their counts.
#[test]
fn equal_events_add_up() {
    let root = statement(Adjacency::ReplaceOne);
    let (one, twin) = (root.moments(9.0).unwrap(), root.moments(9.0).unwrap());
    let other = root.moments(8.0).unwrap();
    let event = |question: &Question<Moments>| question.events()[0].0;
    let planned = [one.times(2), twin.times(3), other.once(), one.times(4)];
    assert_eq!(
        crate::privacy::events_of(&planned).unwrap(),
        [(event(&one), 5), (event(&other), 1), (event(&one), 4)]
    );
}

fn integers(seen: &[crate::exact::tap::Seen]) -> usize {
    let integers =
        |seen: &&crate::exact::tap::Seen| matches!(seen, crate::exact::tap::Seen::Integers(_));
    seen.iter().filter(integers).count()
}

/// How much is asked must not depend on answers.
#[test]
fn less_than_was_planned_is_not_released() {
    let root = statement(Adjacency::ReplaceOne);
    let question = root.moments(1.0).unwrap();
    for asked in 0..3 {
        let own = question.clone();
        let plan = sealed(&root, vec![question.times(3)], move |session| {
            (0..asked).try_for_each(|_| session.ask(&own, ()).map(drop))
        });
        let error = released(&plan).unwrap_err();
        assert!(matches!(error, Error::BudgetExceeded(_)), "{error}");
    }
    // Nor is what a program caught.
    let own = question.clone();
    let plan = sealed(&root, vec![question.once()], move |session| {
        let first = session.ask(&own, ());
        assert!(session.ask(&own, ()).is_err());
        first.map(drop)
    });
    assert!(released(&plan).is_ok());
}

#[test]
fn sessions_are_derived_as_their_statements_say() {
    let root = statement(Adjacency::ReplaceOne);
    let elsewhere =
        Statement::new(schema(Some(0.5)), shared().len(), Adjacency::ReplaceOne, 1).unwrap();
    let n = shared().len();
    let all = |of: &Arc<Statement>| {
        [
            ("mapped", of.mapped(schema(Some(0.3))).unwrap()),
            ("restricted", of.restricted(2).unwrap()),
            ("varying", of.varying().unwrap()),
            ("projected", of.projected(0.5, 0.5).unwrap()),
            ("part", of.part(schema(None), n).unwrap()),
            ("itself", Arc::clone(of)),
        ]
    };
    for (own, statements) in [(true, all(&root)), (false, all(&elsewhere))] {
        for (name, to) in &statements {
            let derive = |way: &str, session: &mut Session<'_>| -> Result<()> {
                match way {
                    "mapped" => session
                        .mapped(&FeatureMap::linear(vec![1.0; P]), to)
                        .map(drop),
                    "restricted" => session.restricted(&[0, 1], to).map(drop),
                    "varying" => session.varying(to).map(drop),
                    "projected" => {
                        let projection = Projection::new(vec![1.0; P + 1], 1.0)?;
                        session.projected(&projection, to).map(drop)
                    }
                    _ => session.part(Part::All, to).map(drop),
                }
            };
            let planned = [to.moments(1.0).unwrap().once()];
            for way in ["mapped", "restricted", "varying", "projected", "part"] {
                let (result, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
                    derive(way, session)
                });
                assert_eq!(result.is_ok(), own && way == *name, "{way} as {name}");
            }
        }
    }
}

#[test]
fn restrictions_are_to_features_that_the_statement_allows() {
    let root = statement(Adjacency::ReplaceOne);
    let two = root.restricted(2).unwrap();
    for (features, fits) in [
        (vec![0, 2], true),
        (vec![1], true),
        (vec![], true), // the intercept alone
        (vec![0, 1, 2], false),
        (vec![2, 0], false),
        (vec![1, 1], false),
        (vec![1, 3], false),
    ] {
        let planned = [two.moments(1.0).unwrap().once()];
        let (result, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
            session.restricted(&features, &two).map(drop)
        });
        assert_eq!(result.is_ok(), fits, "{features:?}");
    }
    for n_features in [0, P + 1] {
        assert!(root.restricted(n_features).is_err());
    }
    // Records may have fewer features than their statement: others are out of bounds.
    let within = two.restricted(2).unwrap();
    let planned = [within.moments(1.0).unwrap().once()];
    for (features, fits) in [(vec![0], true), (vec![1], false)] {
        let (result, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
            let mut one = session.restricted(&[2], &two)?;
            one.restricted(&features, &within).map(drop)
        });
        assert_eq!(result.is_ok(), fits, "{features:?}");
    }
}

/// Bounds on rows count the features that vary, so a map may not fill one that does not; nor may there be others.
#[test]
fn mapped_records_vary_in_all_their_features() {
    let root = statement(Adjacency::ReplaceOne);
    let constant = crate::schema::Bounds {
        lower: vec![-1.0, 0.0, 0.0],
        upper: vec![1.0, 0.0, 0.0],
    };
    let narrow = Schema::new(
        P,
        constant,
        Geometry::Uncentred,
        Target::Classes,
        true,
        None,
    );
    let error = root.mapped(narrow.unwrap()).unwrap_err();
    assert!(is_argument(&error, "schema"), "{error}");
    let to = root.mapped(schema(Some(0.3))).unwrap();
    for p in [P - 1, P + 1] {
        let planned = [to.moments(1.0).unwrap().once()];
        let (result, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
            session
                .mapped(&FeatureMap::linear(vec![1.0; p]), &to)
                .map(drop)
        });
        assert!(is_argument(&result.unwrap_err(), "map"));
    }
}

/// Positions within a part would be looked up among all records: under add-remove one record more would move them all.
#[test]
fn a_part_has_no_parts() {
    for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemove] {
        let root = statement(adjacency);
        let n = shared().len();
        let training = root.part(schema(None), n - 1).unwrap();
        let (split, inner) = (
            root.split(1, 0.25).unwrap(),
            training.split(1, 0.25).unwrap(),
        );
        let within = training.part(schema(None), n - 2).unwrap();
        let fewer = training.restricted(2).unwrap();
        let again = fewer.part(schema(None), n - 1).unwrap();
        let moments = [&within, &again].map(|about| about.moments(1.0).unwrap().once());
        let planned = [vec![split.once(), inner.once()], moments.into()].concat();
        let (result, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
            session.ask(&split, ())?;
            let mut session = session.part(Part::Training(&split), &training)?;
            session.ask(&inner, ())?;
            session.part(Part::Training(&inner), &within).map(drop)
        });
        assert!(is_argument(&result.unwrap_err(), "part"));
        // Nor has what was made of a part.
        let (result, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
            session.ask(&split, ())?;
            let mut session = session.part(Part::Training(&split), &training)?;
            let mut session = session.restricted(&[0, 1], &fewer)?;
            session.part(Part::All, &again).map(drop)
        });
        assert!(is_argument(&result.unwrap_err(), "part"));
        // And a split must have been asked for.
        let (result, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
            session.part(Part::Training(&split), &training).map(drop)
        });
        assert!(is_argument(&result.unwrap_err(), "split"));
    }
}

/// The log holds what was asked, as often as it was.
#[test]
fn the_log_is_of_what_was_asked() {
    let root = statement(Adjacency::ReplaceOne);
    let planned = [3.0, 5.0].map(|multiplier| root.moments(multiplier).unwrap().times(3));
    let mut budget = Budget::new(&planned).unwrap();
    assert_eq!(budget.log().unwrap(), []);
    let Planned::Ask(second) = &planned[1] else {
        panic!("{planned:?}");
    };
    budget.spend(second.id).unwrap();
    budget.spend(second.id).unwrap();
    let [(event, count)] = events_of(&planned[1..]).unwrap()[..] else {
        panic!("{planned:?}");
    };
    assert_eq!((count, budget.log().unwrap()), (3, vec![(event, 2)]));
    assert!(budget.finished().is_err());
}

/// The seal is as tight as the accountant: a thousandth less of either parameter is refused.
#[test]
fn what_costs_more_than_its_claim_is_not_sealed() {
    let root = statement(Adjacency::ReplaceOne);
    let question = root.moments(3.0).unwrap();
    let program = || -> Box<dyn Program<()>> {
        let own = question.clone();
        Box::new(Does {
            planned: vec![question.times(4)],
            run: move |session: &mut Session<'_>| {
                (0..4).try_for_each(|_| session.ask(&own, ()).map(drop))
            },
        })
    };
    let free = for_reproduction(&root, program(), claim(1e-3, 1e-9)).unwrap();
    let mut accountant = crate::accounting::accountant::Accountant::new();
    for &(event, count) in free.events() {
        accountant.add(event, count).unwrap();
    }
    let epsilon = accountant.epsilon(1e-6).unwrap();
    let delta = accountant.delta(epsilon).unwrap();
    let sealed = seal(&root, program(), claim(epsilon * 1.001, 1e-6)).unwrap();
    assert!(sealed.certified() && !free.certified());
    for (epsilon, delta) in [
        (epsilon * 0.998, 1e-6),
        (epsilon, delta * 0.99),
        (f64::NAN, 1e-6),
        (epsilon, f64::NAN),
        (0.0, 0.0),
    ] {
        let error = seal(&root, program(), claim(epsilon, delta)).unwrap_err();
        let named = matches!(
            error,
            Error::UnsoundMechanism(_) | Error::InvalidArgument { .. }
        );
        assert!(named, "{error}");
    }
    // What was not sealed runs, and its certificate guarantees nothing.
    let certificate = released(&free).unwrap().certificate;
    assert!(!certificate.certified());
    assert_eq!(certificate.epsilon(1e-6).unwrap(), f64::INFINITY);
}

#[test]
fn another_number_of_records_is_refused_where_it_is_public() {
    let plan = |adjacency| {
        let root = statement(adjacency);
        let question = root.moments(1.0).unwrap();
        let own = question.clone();
        sealed(&root, vec![question.once()], move |session| {
            session.ask(&own, ()).map(drop)
        })
    };
    let mut rows = shared();
    rows.push(rows[0]);
    for rows in [rows, shared()[1..].to_vec()] {
        let mut ledger = MemoryLedger::default();
        let (result, seen) =
            watched(|| run(&plan(Adjacency::ReplaceOne), &Data::new(&rows), &mut ledger));
        assert!(result.is_err() && seen.is_empty() && ledger.entries().is_empty());
        assert!(run(&plan(Adjacency::AddRemove), &Data::new(&rows), &mut ledger).is_ok());
        let [entry] = ledger.entries() else {
            panic!("the release is not written down");
        };
        assert_eq!(entry.adjacency(), Adjacency::AddRemove);
        assert_eq!(entry.events(), plan(Adjacency::AddRemove).events());
    }
}

/// What cannot be used is refused before anything is committed, by an error that shows none of it.
#[test]
fn unusable_records_are_refused_without_being_told() {
    let root = statement(Adjacency::AddRemove);
    let interval = Target::Interval {
        low: -1.0,
        high: 1.0,
    };
    let numbers = Schema::new(P, bounds(), Geometry::Uncentred, interval, true, Some(1.0));
    let numbers = Statement::new(numbers.unwrap(), 4, Adjacency::AddRemove, 1).unwrap();
    let plan = |root: &Arc<Statement>| {
        let question = root.moments(1.0).unwrap();
        let own = question.clone();
        sealed(root, vec![question.once()], move |session| {
            session.ask(&own, ()).map(drop)
        })
    };
    let changed = |x: Option<f64>, y: Option<f64>| {
        let mut data = data();
        data.x[(1, 2)] = x.unwrap_or(0.1);
        data.y[2] = y.unwrap_or(1.0);
        data
    };
    let (mut refusals, mut ledger) = (0, MemoryLedger::default());
    let mut refuse = |result: Result<crate::privacy::Released<()>>| {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::InvalidData(_)), "{error}");
        assert!(!error.to_string().contains("62517"), "{error}");
        refusals += 1;
    };
    for root in [&root, &numbers] {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for data in [changed(Some(bad), None), changed(None, Some(bad))] {
                refuse(run(&plan(root), &data, &mut ledger));
            }
            // Three rows or three columns, which is as well: P is 3.
            let x = Compressed {
                values: &[0.62517, bad, 0.3],
                indices: &[0usize, 0, 2],
                starts: &[0, 1, 3, 3],
            };
            for orientation in [Orientation::Rows, Orientation::Columns] {
                let curator = Curator::from_sparse(x, orientation, (3, P), &[1.0; 3]);
                let (plan, source) = (plan(root), Source::seeded(3));
                let quiet = &mut |_: usize, _: usize| Ok(());
                refuse(release(&plan, &curator, &mut ledger, source, quiet));
            }
        }
    }
    for label in [0.62517, 0.0, 2.0] {
        refuse(run(&plan(&root), &changed(None, Some(label)), &mut ledger));
    }
    assert_eq!(refusals, 2 * 3 * 4 + 3);
    assert!(ledger.entries().is_empty());
    assert!(run(&plan(&root), &changed(None, None), &mut ledger).is_ok());
}

/// A seed makes a release reproducible, and so not private: its certificate says so.
#[test]
fn seeded_releases_guarantee_nothing() {
    let root = statement(Adjacency::ReplaceOne);
    let question = root.moments(1.0).unwrap();
    let own = question.clone();
    let plan = sealed(&root, vec![question.once()], move |session| {
        session.ask(&own, ()).map(drop)
    });
    for (source, holds) in [
        (Source::seeded(3), false),
        (Source::secure().unwrap(), true),
    ] {
        let mut ledger = MemoryLedger::default();
        let released = release(
            &plan,
            &data().curator(),
            &mut ledger,
            source,
            &mut |_, _| Ok(()),
        );
        assert_eq!(released.unwrap().certificate.verify(), holds);
    }
}

/// Where no proof covers what is asked there is no question: steps that may expand, several records a person or slopes
/// without a bound under a random linear term, a private number of records.
#[test]
fn what_no_proof_covers_is_refused() {
    use crate::question::{DescentOptions, PermutedOptions};
    let model = RoomModel::new(&Logistic.into(), None).unwrap();
    let of = |adjacency, persons| Statement::new(schema(None), 4, adjacency, persons).unwrap();
    let root = of(Adjacency::ReplaceOne, 1);
    let descend = |root: &Arc<Statement>, ridge: f64, step: f64| {
        let options = DescentOptions {
            ridge,
            penalty: None,
            n_iter: 3,
            step,
        };
        root.descent(&model, options).map(drop)
    };
    let permute = |root: &Arc<Statement>, ridge: f64, step: f64| {
        let options = PermutedOptions {
            ridge,
            passes: 1,
            batch: 1,
            step,
        };
        root.permuted(&model, options).map(drop)
    };
    // beta R2^2 = 1: three features in [-1, 1] and an intercept of 1.
    for (ridge, longest) in [(0.0, 2.0), (0.5, 1.0)] {
        assert!(descend(&root, ridge, longest * 0.999_999).is_ok());
        for step in [longest * 1.000_001, 0.0, -1.0, f64::NAN] {
            assert!(is_argument(
                &descend(&root, ridge, step).unwrap_err(),
                "step"
            ));
        }
    }
    assert!(permute(&root, 0.0, 1.999_999).is_ok());
    for step in [2.000_001, 0.0, -1.0, f64::NAN] {
        assert!(is_argument(&permute(&root, 0.0, step).unwrap_err(), "step"));
    }
    for ridge in [-0.1, f64::NAN, f64::INFINITY] {
        for made in [descend(&root, ridge, 0.1), permute(&root, ridge, 0.1)] {
            assert!(is_argument(&made.unwrap_err(), "ridge"));
        }
        assert!(root.strongly_convex(&model, None, ridge).is_err());
    }
    assert!(root.strongly_convex(&model, None, 0.0).is_err());
    // No factor of a norm but what keeps coefficients from being negative without one.
    let l1 = GroupLasso::weighted_l1(&[1.0; P]).unwrap();
    for (norm, alpha, taken) in [
        (l1.clone(), 0.1, true),
        (l1.clone(), 0.0, false),
        (l1.clone(), -0.1, false),
        (l1.clone().on_positive(), 0.0, true),
        (l1.clone().on_positive(), -0.1, false),
        (l1.clone().on_positive(), f64::NAN, false),
        (l1.on_positive(), f64::INFINITY, false),
    ] {
        let penalty = ReviewedNorm::new(Arc::new(norm)).map(|norm| (norm, alpha));
        let made = root.strongly_convex(&model, penalty, 0.5);
        assert_eq!(made.is_ok(), taken, "{alpha}");
        assert!(made.map_or_else(|error| is_argument(&error, "alpha"), |_| true));
    }
    let unsound = |made: Result<()>| matches!(made.unwrap_err(), Error::UnsoundMechanism(_));
    let private = of(Adjacency::AddRemove, 1);
    assert!(unsound(descend(&private, 0.0, 0.1)) && unsound(permute(&private, 0.0, 0.1)));

    let squared = RoomModel::new(&crate::loss::Squared.into(), Some(2.0)).unwrap();
    let tilt = |root: &Arc<Statement>, model: &RoomModel, noise| {
        let minimiser = root.strongly_convex(model, None, 0.5).unwrap();
        minimiser.with_random_tilt(noise).map(drop)
    };
    for noise in both_tilts() {
        for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemove] {
            assert!(tilt(&of(adjacency, 1), &model, noise).is_ok());
            assert!(unsound(tilt(&of(adjacency, 2), &model, noise)));
            assert!(unsound(tilt(&of(adjacency, 1), &squared, noise)));
        }
    }
}

/// A ledger that refuses.
struct Refusing;

impl Ledger for Refusing {
    fn admits(&mut self, _: &Entry) -> Result<()> {
        Ok(())
    }

    fn commit(&mut self, _: &Entry) -> Result<Receipt> {
        Err(Error::BudgetExceeded("nothing is left".into()))
    }
}

/// A ledger that notes whether the program had started.
struct Noting {
    started: Arc<AtomicBool>,
    committed: Vec<(Entry, bool)>,
}

impl Ledger for Noting {
    fn admits(&mut self, _: &Entry) -> Result<()> {
        Ok(())
    }

    fn commit(&mut self, entry: &Entry) -> Result<Receipt> {
        let started = self.started.load(Ordering::SeqCst);
        self.committed.push((entry.clone(), started));
        Ok(Receipt { number: 0 })
    }
}

#[test]
fn the_ledger_comes_first() {
    let root = statement(Adjacency::AddRemove);
    let question = root.moments(1.0).unwrap();
    let started = Arc::new(AtomicBool::new(false));
    let (own, flag) = (question.clone(), Arc::clone(&started));
    let plan = sealed(&root, vec![question.times(2)], move |session| {
        flag.store(true, Ordering::SeqCst);
        session.ask(&own, ())?;
        session.ask(&own, ()).map(drop)
    });
    let (result, seen) = watched(|| run(&plan, &data(), &mut Refusing));
    assert!(matches!(result.unwrap_err(), Error::BudgetExceeded(_)));
    assert!(seen.is_empty() && !started.load(Ordering::SeqCst));

    let mut ledger = Noting {
        started: Arc::clone(&started),
        committed: Vec::new(),
    };
    let certificate = run(&plan, &data(), &mut ledger).unwrap().certificate;
    let [(entry, false)] = ledger.committed.as_slice() else {
        panic!("one commit, before the program");
    };
    assert_eq!(entry.events(), plan.events());
    assert_eq!(entry.certificate.claim(), (50.0, 1e-3));
    assert_eq!(
        (entry.adjacency(), entry.certificate.n_samples()),
        (root.adjacency(), root.n_samples())
    );
    let spent: Vec<_> = (certificate.events().iter())
        .map(|spent| (spent.event, spent.count))
        .collect();
    assert_eq!(spent, entry.events());
    assert!(started.load(Ordering::SeqCst));
}

/// One of several lists costs what dominates all of them, whichever is taken, and the first question taken decides.
#[test]
fn a_choice_of_questions_spends_what_dominates_and_locks() {
    let root = statement(Adjacency::ReplaceOne);
    let (cheap, dear): (Question<Moments>, Question<AbsoluteSums>) =
        (root.moments(8.0).unwrap(), root.absolute_sums(2.0).unwrap());
    let options = || Planned::OneOf(vec![vec![cheap.times(2)], vec![dear.times(3)]]);
    let dominating = options().events().unwrap();
    let cost = |events: &[(Event, u64)]| {
        let mut accountant = crate::accounting::accountant::Accountant::new();
        for &(event, count) in events {
            accountant.add(event, count).unwrap();
        }
        accountant.delta(1.0).unwrap()
    };
    for option in [cheap.times(2), dear.times(3)] {
        assert!(cost(&dominating) >= cost(&option.events().unwrap()));
    }
    let plan = |first: bool| {
        let (cheap, dear) = (cheap.clone(), dear.clone());
        sealed(&root, vec![options()], move |session| {
            if first {
                session.ask(&cheap, ())?;
                assert!(matches!(
                    session.ask(&dear, ()),
                    Err(Error::BudgetExceeded(_))
                ));
                session.ask(&cheap, ()).map(drop)
            } else {
                for _ in 0..3 {
                    session.ask(&dear, ())?;
                    assert!(matches!(
                        session.ask(&cheap, ()),
                        Err(Error::BudgetExceeded(_))
                    ));
                }
                Ok(())
            }
        })
    };
    for first in [true, false] {
        let certificate = released(&plan(first)).unwrap().certificate;
        let spent: Vec<_> = (certificate.events().iter())
            .map(|spent| (spent.event, spent.count))
            .collect();
        assert_eq!(spent, dominating, "whichever was taken");
    }
    let none = sealed(&root, vec![options()], |_| Ok(()));
    assert!(released(&none).is_err());
}

/// What the integers or the proof take, also of a part: its size is public, and checked before anything is drawn.
#[test]
fn questions_say_how_many_records_they_take() {
    let adjacency = Adjacency::AddRemove;
    let few = Statement::new(schema(None), 1, adjacency, 1).unwrap();
    let model = RoomModel::new(&Logistic.into(), None).unwrap();
    let minimiser = few.strongly_convex(&model, None, 1.0).unwrap();
    let noise = crate::question::PointNoise::Laplace { epsilon: 0.5 };
    let question = minimiser.with_output_noise(noise).unwrap();
    let own = question.clone();
    let plan = sealed(&few, vec![question.once()], move |session| {
        session.ask(&own, ()).map(drop)
    });
    let rows = |n: usize| Data::new(&vec![shared()[0]; n]);
    let mut ledger = MemoryLedger::default();
    assert!(run(&plan, &rows(16), &mut ledger).is_ok());
    let error = run(&plan, &rows(17), &mut ledger).unwrap_err();
    assert!(matches!(error, Error::InvalidData(_)), "{error}");
    // How many there are is private.
    assert!(!error.to_string().contains("17"), "{error}");
    assert_eq!(ledger.entries().len(), 1);

    // Groups of 2^31 columns would be needed to see this at sizes that fit: the public number decides.
    let groups = GroupBall::new(&[(0..P).collect()], P, true, 1.0)
        .unwrap()
        .into();
    let many = Statement::new(schema(None), (1 << 31) - 1, Adjacency::ReplaceOne, 1).unwrap();
    let noise = SelectionNoise::Exponential { epsilon0: 1.0 };
    let Planned::Ask(question) = many.vertex(&model, &groups, noise, None).unwrap().once() else {
        panic!("a question");
    };
    assert!(question.most_records <= ((1 << 34) - 1) / P);
}

/// What is said when asking is checked before the question is spent.
#[test]
fn what_is_said_is_checked_first() {
    let root = statement(Adjacency::ReplaceOne);
    let model = RoomModel::new(&Logistic.into(), None).unwrap();
    let gradient = root.gradient(&model, 1.0).unwrap();
    for theta in [
        vec![0.0; P],
        vec![f64::NAN; P + 1],
        vec![f64::INFINITY; P + 1],
    ] {
        refused(&root, &[gradient.once()], &|session| {
            session.ask(&gradient, &theta)
        });
    }
    let ball = SignedCoordinates::l1_ball(P + 1, 1.0).into();
    let noise = SelectionNoise::Exponential { epsilon0: 1.0 };
    let vertex = root.vertex(&model, &ball, noise, None).unwrap();
    let outside = [(P as u32 + 1, 1)];
    for (moved, unit) in [(&outside[..], 1.0), (&[][..], f64::NAN)] {
        refused(&root, &[vertex.once()], &|session| {
            let at = VertexAt {
                moved: (moved, 1),
                retired: &[],
                unit,
            };
            session.ask(&vertex, at)
        });
    }
    // One move that is too long, and one that is after what was said before.
    let far = [(0, 1 << 45)];
    let at = |weight, retired| VertexAt {
        moved: (&far, weight),
        retired,
        unit: 1.0,
    };
    refused(&root, &[vertex.once()], &|session| {
        session.ask(&vertex, at(2, &[]))
    });
    let columns: Vec<u32> = (0..=P as u32).collect();
    refused(&root, &[vertex.once()], &|session| {
        session.ask(&vertex, at(0, &columns))
    });
    let twice = &[vertex.times(2)];
    let (result, _) = asked(&whole(&root), &data(), twice, 1, &|session| {
        session.ask(&vertex, at(1, &[]))?;
        assert!(session.ask(&vertex, at(1, &[])).is_err());
        session.ask(&vertex, at(0, &[]))
    });
    assert!(result.is_ok(), "{result:?}");
    let minimiser = root.strongly_convex(&model, None, 0.5).unwrap();
    let points = minimiser.path(1.0).unwrap().points(3.0).unwrap();
    for s in [
        vec![0.51; P + 1],
        vec![f64::NAN; P + 1],
        vec![f64::NEG_INFINITY; P + 1],
        vec![0.0; P],
    ] {
        refused(&root, &[points.once()], &|session| session.ask(&points, &s));
    }
    let (result, _) = asked(&whole(&root), &data(), &[gradient.once()], 1, &|session| {
        assert!(session.ask(&gradient, &[0.0]).is_err());
        session.ask(&gradient, &[0.0; P + 1])
    });
    assert!(result.is_ok(), "a question that was refused is still there");
}

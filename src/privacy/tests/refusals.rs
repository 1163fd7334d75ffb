//! What the room refuses, and that nothing is drawn then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::harness::{Data, P, Setting, View, asked, bounds, shared};
use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::exact::tap::watched;
use crate::loss::Logistic;
use crate::polytope::{GroupBall, SignedCoordinates};
use crate::privacy::answer::{Part, VertexAt};
use crate::privacy::{
    Claim, Entry, FeatureMap, Geometry, Ledger, MemoryLedger, Planned, Program, Question, Receipt,
    RoomModel, Schema, Sealed, Session, Statement, Target, for_reproduction, release, seal,
};
use crate::question::{AbsoluteSums, Moments, SelectionNoise};

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

fn sealed<R: 'static>(
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

fn schema(row_norm: Option<f64>) -> Schema {
    let target = Target::Classes;
    Schema::new(P, bounds(), Geometry::Uncentred, target, true, row_norm).unwrap()
}

fn statement(adjacency: Adjacency) -> Arc<Statement> {
    Statement::new(schema(Some(1.0)), shared().len(), adjacency, 1).unwrap()
}

fn data() -> Data {
    Data::new(&shared())
}

fn run<R>(
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

fn whole(root: &Arc<Statement>) -> Setting {
    Setting {
        name: "whole".into(),
        root: Arc::clone(root),
        view: View::Whole,
        about: Arc::clone(root),
        model: RoomModel::new(&Logistic.into(), None).unwrap(),
    }
}

/// What `ask` returns, which draws nothing.
fn refused<R: std::fmt::Debug>(
    root: &Arc<Statement>,
    planned: &[Planned],
    ask: &dyn Fn(&mut Session<'_>) -> Result<R>,
) -> Error {
    let (result, seen) = asked(&whole(root), &data(), planned, 1, ask);
    assert!(seen.is_empty(), "something was drawn: {seen:?}");
    result.unwrap_err()
}

fn is_argument(error: &Error, name: &str) -> bool {
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
                    _ => session.part(Part::All, to).map(drop),
                }
            };
            for way in ["mapped", "restricted", "varying", "part"] {
                let (result, _) = asked(&whole(&root), &data(), &[], 1, &|session| {
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
        let (result, _) = asked(&whole(&root), &data(), &[], 1, &|session| {
            session.restricted(&features, &two).map(drop)
        });
        assert_eq!(result.is_ok(), fits, "{features:?}");
    }
    for n_features in [0, P + 1] {
        assert!(root.restricted(n_features).is_err());
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
        let (result, _) = asked(&whole(&root), &data(), &[], 1, &|session| {
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
        let planned = [split.once(), inner.once()];
        let (result, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
            session.ask(&split, ())?;
            let mut session = session.part(Part::Training(&split), &training)?;
            session.ask(&inner, ())?;
            session.part(Part::Training(&inner), &within).map(drop)
        });
        assert!(is_argument(&result.unwrap_err(), "part"));
        // And a split must have been asked for.
        let (result, _) = asked(&whole(&root), &data(), &planned, 1, &|session| {
            session.part(Part::Training(&split), &training).map(drop)
        });
        assert!(is_argument(&result.unwrap_err(), "split"));
    }
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
    assert!(seal(&root, program(), claim(epsilon * 1.001, 1e-6)).is_ok());
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
        assert_eq!(entry.adjacency, Adjacency::AddRemove);
        assert_eq!(entry.events, plan(Adjacency::AddRemove).events());
    }
}

/// A ledger that refuses.
struct Refusing;

impl Ledger for Refusing {
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
    assert_eq!(entry.events, plan.events());
    assert_eq!(entry.claim, (50.0, 1e-3));
    assert_eq!(
        (entry.adjacency, entry.n_samples),
        (root.adjacency(), root.n_samples())
    );
    let spent: Vec<_> = (certificate.events().iter())
        .map(|spent| (spent.event, spent.count))
        .collect();
    assert_eq!(spent, entry.events);
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
    let (result, _) = asked(&whole(&root), &data(), &[gradient.once()], 1, &|session| {
        assert!(session.ask(&gradient, &[0.0]).is_err());
        session.ask(&gradient, &[0.0; P + 1])
    });
    assert!(result.is_ok(), "a question that was refused is still there");
}

/// Where a statement lets fewer features than it speaks of, questions answer or refuse; nothing is out of bounds.
#[test]
fn fewer_features_than_stated_are_no_accident() {
    let root = statement(Adjacency::ReplaceOne);
    let two = root.restricted(2).unwrap();
    let setting = Setting {
        view: View::Restricted(vec![1]),
        about: Arc::clone(&two),
        ..whole(&root)
    };
    let moments = two.moments(1.0).unwrap();
    let (matrix, _) = asked(&setting, &data(), &[moments.once()], 1, &|session| {
        session.ask(&moments, ())
    });
    assert_eq!(matrix.unwrap().len(), 4);
}

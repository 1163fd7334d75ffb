//! A release that was stopped and goes on is one release: its answers are those that were given, then new ones; it is
//! paid for once; and its file holds what is released, and no more.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::harness::{Data, P};
use super::refusals::{data, sealed, statement};
use crate::accounting::event::Adjacency;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::exact::selection::{Shape, Summand};
use crate::exact::tap::{Seen, watched};
use crate::loss::Logistic;
use crate::polytope::{Selectable, SignedCoordinates, VertexList};
use crate::privacy::answer::{Part, VertexAt};
use crate::privacy::{
    Entry, Ledger, MemoryLedger, Question, Receipt, Released, RoomModel, Sealed, Session,
    release_resumably,
};
use crate::question::{Gradient, SelectionNoise, Vertex};

const STEPS: usize = 6;

fn model() -> RoomModel {
    RoomModel::new(&Logistic.into(), None).unwrap()
}

fn gradients(multiplier: f64) -> Question<Gradient> {
    let root = statement(Adjacency::ReplaceOne);
    root.gradient(&model(), multiplier).unwrap()
}

/// Each gradient at the one before.
fn descent(multiplier: f64) -> Sealed<Vec<Vec<f64>>> {
    let question = gradients(multiplier);
    let (root, planned) = (
        Arc::clone(question.statement()),
        question.times(STEPS as u64),
    );
    let columns = root.n_columns();
    sealed(&root, vec![planned], move |session| {
        let mut at = vec![0.0; columns];
        let mut all = Vec::new();
        for t in 0..STEPS {
            at = session.ask(&question, &at)?;
            all.push(at.clone());
            session.progress(t + 1, STEPS)?;
        }
        Ok(all)
    })
}

/// Vertices, of which each moves the margins; the second is retired at the fourth step.
fn choices(polytope: impl Into<Selectable>, lag: Option<f64>) -> Sealed<Vec<Vec<(u32, i64)>>> {
    let root = statement(Adjacency::ReplaceOne);
    let noise = SelectionNoise::Exponential { epsilon0: 0.8 };
    let question: Question<Vertex> = root
        .vertex(&model(), &polytope.into(), noise, None)
        .unwrap();
    let question = match lag {
        Some(tolerance) => question.lagging(tolerance).unwrap(),
        None => question,
    };
    sealed(&root, vec![question.times(STEPS as u64)], move |session| {
        let (mut vertex, mut all) = (Vec::new(), Vec::<Vec<(u32, i64)>>::new());
        for t in 0..STEPS {
            let retired = match (t, lag) {
                (3, None) => vec![all[1][0].0],
                _ => Vec::new(),
            };
            let at = VertexAt {
                moved: (&vertex, t as i64 + 3),
                retired: &retired,
                unit: 1.0 / (16_383.0 * (1.0 + t as f64)),
            };
            vertex = session.ask(&question, at)?;
            all.push(vertex.clone());
            session.progress(t + 1, STEPS)?;
        }
        Ok(all)
    })
}

/// Points and vertices along a dual path: where each minimisation ends hangs, in its last bits, on where it started,
/// which is where the one before has ended.
fn dual_path() -> Sealed<Vec<Vec<f64>>> {
    let root = statement(Adjacency::ReplaceOne);
    let minimiser = root.strongly_convex(&model(), None, 0.01).unwrap();
    let path = minimiser.path(1.0).unwrap();
    let points = path.points(3.0).unwrap();
    let cross = Summand {
        weight: 1.0,
        shape: Shape::Cross((0..P as u32).collect()),
    };
    let vertices = path.vertices(vec![cross], 0.1, &points).unwrap();
    let half = STEPS as u64 / 2;
    let columns = root.n_columns();
    let planned = vec![points.times(half), vertices.times(half)];
    sealed(&root, planned, move |session| {
        let mut all = Vec::new();
        for t in 0..STEPS {
            let mut s = vec![0.0; columns];
            s[t % P] = 0.1 * (t as f64 + 1.0);
            all.push(match t % 2 {
                0 => session.ask(&points, &s)?,
                _ => session.ask(&vertices, &s)?,
            });
            session.progress(t + 1, STEPS)?;
        }
        Ok(all)
    })
}

/// A release that Ctrl-C stops after so many answers.
fn stopped<R>(
    plan: &Sealed<R>,
    path: &Path,
    source: Source,
    ledger: &mut dyn Ledger,
    after: usize,
) -> Result<Released<R>> {
    let mut report = |done, _| match done == after {
        true => Err(Error::Interrupted),
        false => Ok(()),
    };
    let data = data();
    let (curator, path) = (data.curator(), Some(path));
    release_resumably(plan, &curator, ledger, source, &mut report, path)
}

fn whole<R>(plan: &Sealed<R>, path: &Path, source: Source) -> Result<Released<R>> {
    stopped(plan, path, source, &mut MemoryLedger::default(), usize::MAX)
}

/// What a file holds: the facts of the release, without its mark, and the answers.
fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().skip(1).map(serde_json::from_str);
    let mut lines: Vec<serde_json::Value> = lines.collect::<std::result::Result<_, _>>().unwrap();
    let mark = lines[0].as_object_mut().unwrap().remove("release").unwrap();
    let mark = mark.as_str().unwrap();
    assert!(mark.len() == 32 && mark.bytes().all(|digit| digit.is_ascii_hexdigit()));
    lines
}

/// What a release gives, from whichever answer on it is resumed: each answer drawn once, by what would have been drawn
/// from without a stop, and charged once.
fn is_one_release<R: Clone + PartialEq + std::fmt::Debug>(plan: &Sealed<R>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release");
    let (released, seen) = watched(|| whole(plan, &path, Source::seeded(3)));
    let released = released.unwrap();
    let all = lines(&path);
    assert_eq!(all.len(), STEPS + 1);
    assert!(seen.len() >= STEPS);
    for after in 1..=STEPS {
        std::fs::remove_file(&path).unwrap();
        let mut ledger = MemoryLedger::default();
        let (error, before) =
            watched(|| stopped(plan, &path, Source::seeded(3), &mut ledger, after));
        assert!(matches!(error, Err(Error::Interrupted)));
        assert_eq!(lines(&path), all[..after + 1]);
        let (resumed, later) =
            watched(|| stopped(plan, &path, Source::seeded(3), &mut ledger, usize::MAX));
        let resumed = resumed.unwrap();
        assert_eq!(resumed.value, released.value, "{after}");
        assert_eq!([before, later].concat(), seen);
        assert_eq!(lines(&path), all);
        assert_eq!(ledger.entries().len(), 1);
        assert_eq!(ledger.entries()[0].events(), plan.events());
        let certificate = &resumed.certificate;
        assert_eq!(certificate.events(), released.certificate.events());
        let said = |of: &Released<R>| {
            let assumed = of.certificate.assumptions();
            assumed
                .iter()
                .filter(|text| text.contains("resumed"))
                .count()
        };
        assert_eq!((said(&resumed), said(&released)), (1, 0));
    }
}

#[test]
fn releases_go_on_from_every_answer() {
    is_one_release(&descent(3.0));
    let ball = SignedCoordinates::l1_ball(P + 1, 2.0);
    is_one_release(&choices(ball.clone(), None));
    is_one_release(&choices(ball, Some(0.4)));
    // Entries of other sizes than 1.
    let list = [[1.0, 0.5, 0.0], [-1.0, 0.0, 0.25], [0.3, -0.7, 1.0]].map(|vertex| vertex.to_vec());
    is_one_release(&choices(VertexList::new(&list, P, false).unwrap(), None));
    is_one_release(&dual_path());
}

/// Without a seed too: the answers that were given, then new ones, of the same slopes.
#[test]
fn secure_releases_draw_the_rest_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release");
    let plan = descent(3.0);
    let mut ledger = MemoryLedger::default();
    let source = || Source::secure().unwrap();
    assert!(stopped(&plan, &path, source(), &mut ledger, 2).is_err());
    let kept = std::fs::read(&path).unwrap();
    let mut ends = Vec::new();
    for _ in 0..2 {
        std::fs::write(&path, &kept).unwrap();
        let (resumed, seen) = watched(|| stopped(&plan, &path, source(), &mut ledger, usize::MAX));
        let resumed = resumed.unwrap();
        assert_eq!(seen.len(), STEPS - 2);
        let answers: Vec<Vec<f64>> = (lines(&path)[1..].iter())
            .map(|line| serde_json::from_value(line["answer"].clone()).unwrap())
            .collect();
        assert_eq!(resumed.value, answers);
        assert!(resumed.certificate.secure());
        ends.push((answers, seen));
    }
    assert_eq!(ends[0].0[..2], ends[1].0[..2]);
    // The same sums at the same point, and other noise.
    assert_eq!(ends[0].1[0], ends[1].1[0]);
    assert_ne!(ends[0].0[2], ends[1].0[2]);
    assert_eq!(ledger.entries().len(), 1);
}

/// An answer that a program has seen is never drawn again.
#[test]
fn answers_are_kept_before_the_program_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release");
    let question = gradients(3.0);
    let (root, file) = (Arc::clone(question.statement()), path.clone());
    let plan = sealed(&root.clone(), vec![question.times(4)], move |session| {
        for t in 0..4 {
            let answer = session.ask(&question, &vec![0.5; root.n_columns()])?;
            let kept = lines(&file);
            assert_eq!(kept.len(), t + 2);
            assert_eq!(kept[t + 1]["answer"], serde_json::json!(answer));
        }
        Ok(())
    });
    whole(&plan, &path, Source::secure().unwrap()).unwrap();
}

/// Released answers, which lie on the lattice of their noise, and digests that other records have too.
#[test]
fn files_hold_what_is_released_and_public() {
    let folder = tempfile::tempdir().unwrap();
    let unit = gradients(3.0).answer.unit();
    let keys = |line: &serde_json::Value| -> Vec<String> {
        line.as_object().unwrap().keys().cloned().collect()
    };
    let mut facts = Vec::new();
    for (k, flip) in [1.0, -1.0].into_iter().enumerate() {
        let path = folder.path().join(format!("release {k}"));
        let mut records = data();
        records.x *= flip;
        let of = |data: &Data| {
            release_resumably(
                &descent(3.0),
                &data.curator(),
                &mut MemoryLedger::default(),
                Source::secure().unwrap(),
                &mut |_, _| Ok(()),
                Some(&path),
            )
        };
        of(&records).unwrap();
        let lines = lines(&path);
        assert_eq!(keys(&lines[0]), ["plan", "seeded", "version"]);
        assert!(lines[0]["seeded"].is_null());
        for line in &lines[1..] {
            assert_eq!(keys(line), ["answer", "at", "question"]);
            for entry in line["answer"].as_array().unwrap() {
                let units = entry.as_f64().unwrap() / unit;
                assert!((units - units.round()).abs() <= 1e-9 * units.abs().max(1.0));
            }
        }
        facts.push((lines[0].clone(), lines[1]["at"].clone()));
    }
    // Nor does anything of this process stand in them, such as the numbers of its questions.
    assert_eq!(facts[0], facts[1]);
}

/// Refuses what it is shown and does not hold, after the first so many entries.
struct Stingy(usize, AtomicUsize, Vec<Entry>);

impl Stingy {
    fn new(entries: usize) -> Self {
        Self(entries, AtomicUsize::new(0), Vec::new())
    }
}

impl Ledger for Stingy {
    fn admits(&mut self, _: &Entry) -> Result<()> {
        Ok(())
    }

    fn commit(&mut self, entry: &Entry) -> Result<Receipt> {
        if self.2.iter().any(|held| entry.is_held_as(held)) {
            return Ok(Receipt { number: 0 });
        }
        let number = self.1.fetch_add(1, Ordering::Relaxed);
        if number >= self.0 {
            return Err(Error::BudgetExceeded("there is no more".into()));
        }
        self.2.push(entry.clone());
        Ok(Receipt {
            number: number as u64,
        })
    }
}

#[test]
fn a_refused_release_leaves_no_right_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release");
    let plan = descent(3.0);
    for _ in 0..2 {
        let mut ledger = Stingy::new(0);
        let (error, seen) =
            watched(|| stopped(&plan, &path, Source::seeded(3), &mut ledger, usize::MAX));
        assert!(matches!(error, Err(Error::BudgetExceeded(_))));
        assert!(seen.is_empty());
        assert_eq!(lines(&path).len(), 1);
    }
    // What is paid for goes on where nothing more would be paid for.
    let mut ledger = Stingy::new(1);
    assert!(stopped(&plan, &path, Source::seeded(3), &mut ledger, 2).is_err());
    stopped(&plan, &path, Source::seeded(3), &mut ledger, usize::MAX).unwrap();
    assert_eq!(ledger.1.into_inner(), 1);
}

/// Whichever ledger goes on holds all of the release, once: also one that was not there at first, another one, and an
/// older copy; one with too little left lets nothing be drawn.
#[test]
fn every_ledger_that_goes_on_holds_the_release() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release");
    let plan = descent(3.0);
    let forgetful = &mut MemoryLedger::default();
    assert!(stopped(&plan, &path, Source::seeded(3), forgetful, 1).is_err());
    let mut ledger = MemoryLedger::default();
    let older = ledger.clone();
    for after in [2, 3] {
        assert!(stopped(&plan, &path, Source::seeded(3), &mut ledger, after).is_err());
        assert_eq!(ledger.entries().len(), 1);
    }
    for mut other in [older, MemoryLedger::default()] {
        assert!(stopped(&plan, &path, Source::seeded(3), &mut other, 4).is_err());
        assert_eq!(other.entries().len(), 1);
        assert_eq!(other.entries()[0].events(), plan.events());
    }
    let kept = lines(&path);
    let empty = &mut Stingy::new(0);
    let (error, seen) = watched(|| stopped(&plan, &path, Source::seeded(3), empty, usize::MAX));
    assert!(matches!(error, Err(Error::BudgetExceeded(_))));
    assert_eq!((seen.len(), lines(&path)), (0, kept));
    stopped(&plan, &path, Source::seeded(3), &mut ledger, usize::MAX).unwrap();
    assert_eq!(ledger.entries().len(), 1);
    // Another release of the same plan is another entry, and so is one for more records a person under the same mark.
    std::fs::remove_file(&path).unwrap();
    stopped(&plan, &path, Source::seeded(3), &mut ledger, usize::MAX).unwrap();
    assert_eq!(ledger.entries().len(), 2);
    let mut more = ledger.entries()[0].clone();
    more.records_per_person += 1;
    assert_eq!(ledger.commit(&more).unwrap().number, 2);
    let first = ledger.entries()[0].clone();
    assert_eq!(ledger.commit(&first).unwrap().number, 0);
    // One that is made in a single run has no mark, and is counted whenever it is made.
    let unmarked = Entry {
        release: None,
        ..first
    };
    let numbers = [0; 2].map(|_| ledger.commit(&unmarked).unwrap().number);
    assert_eq!(numbers, [3, 4]);
}

/// Refuses in advance what it would not commit.
struct Candid(Stingy);

impl Ledger for Candid {
    fn admits(&mut self, _: &Entry) -> Result<()> {
        match self.0.1.load(Ordering::Relaxed) < self.0.0 {
            true => Ok(()),
            false => Err(Error::BudgetExceeded("there is no more".into())),
        }
    }

    fn commit(&mut self, entry: &Entry) -> Result<Receipt> {
        self.0.commit(entry)
    }
}

/// What a file says is paid for is not asked about again; without a file it is, before one is made.
#[test]
fn ledgers_are_asked_in_advance_where_no_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release");
    let plan = descent(3.0);
    let mut ledger = Candid(Stingy::new(1));
    assert!(stopped(&plan, &path, Source::seeded(3), &mut ledger, 2).is_err());
    stopped(&plan, &path, Source::seeded(3), &mut ledger, usize::MAX).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (error, seen) =
        watched(|| stopped(&plan, &path, Source::seeded(3), &mut ledger, usize::MAX));
    assert!(matches!(error, Err(Error::BudgetExceeded(_))));
    assert!(seen.is_empty() && !path.exists());
    assert_eq!(ledger.0.1.into_inner(), 1);
}

/// With other noise, another seed, none, or a program that asks elsewhere; nothing is drawn or spent.
#[test]
fn files_of_other_releases_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release");
    let mut ledger = MemoryLedger::default();
    assert!(stopped(&descent(3.0), &path, Source::seeded(3), &mut ledger, 2).is_err());
    let refuse = |plan: &Sealed<Vec<Vec<f64>>>, source: Source, ledger: &mut MemoryLedger| {
        let before = ledger.entries().len();
        let (error, seen) = watched(|| stopped(plan, &path, source, ledger, usize::MAX));
        assert!(matches!(error, Err(Error::Checkpoint(_))), "{error:?}");
        assert_eq!((seen, ledger.entries().len()), (Vec::<Seen>::new(), before));
    };
    for ledger in [&mut MemoryLedger::default(), &mut ledger] {
        refuse(&descent(3.01), Source::seeded(3), ledger);
        refuse(&descent(3.0), Source::seeded(4), ledger);
        refuse(&descent(3.0), Source::secure().unwrap(), ledger);
    }
    // Its questions are the same; what it says when it asks is not.
    let question = gradients(3.0);
    let root = Arc::clone(question.statement());
    let planned = question.times(STEPS as u64);
    let elsewhere = move |session: &mut Session<'_>| {
        let asked = session.ask(&question, &[0.1, 0.0, 0.0, 0.0]);
        asked.map(|answer| vec![answer])
    };
    let elsewhere = sealed(&root, vec![planned], elsewhere);
    refuse(&elsewhere, Source::seeded(3), &mut ledger);
    whole(&descent(3.0), &path, Source::seeded(3)).unwrap();
}

/// Answers that are given again are taken off the plan as new ones are.
#[test]
fn answers_are_given_again_within_the_plan_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release");
    let greedy = |times: usize| {
        let question = gradients(3.0);
        let root = Arc::clone(question.statement());
        sealed(&root.clone(), vec![question.times(2)], move |session| {
            let at = vec![0.0; root.n_columns()];
            let ask = |_| session.ask(&question, &at).map(drop);
            (0..times).try_for_each(ask)
        })
    };
    whole(&greedy(2), &path, Source::seeded(3)).unwrap();
    assert_eq!(lines(&path).len(), 3);
    for times in [1, 3] {
        let again = whole(&greedy(times), &path, Source::seeded(3));
        assert!(matches!(again, Err(Error::BudgetExceeded(_))), "{again:?}");
    }
    whole(&greedy(2), &path, Source::seeded(3)).unwrap();
}

/// Positions of a split are the same for neighbours where records are replaced; else they tell how many there are.
#[test]
fn splits_are_kept_where_they_are_public() {
    let folder = tempfile::tempdir().unwrap();
    for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemove] {
        let path = folder.path().join(adjacency.to_string());
        let root = statement(adjacency);
        let split = root.split(1, 0.25).unwrap();
        let plan = sealed(&root, vec![split.once()], move |session| {
            session.ask(&split, ())
        });
        let released = whole(&plan, &path, Source::secure().unwrap());
        match adjacency {
            Adjacency::ReplaceOne => {
                let sides = released.unwrap().value;
                assert_eq!(sides.len(), 1);
                let again = whole(&plan, &path, Source::secure().unwrap());
                assert_eq!(again.unwrap().value, sides);
            }
            Adjacency::AddRemove => {
                assert!(matches!(released, Err(Error::Checkpoint(_))));
                assert!(!path.exists());
            }
        }
    }
}

/// The sides of a split that was drawn before a stop are those that later questions are about.
#[test]
fn parts_are_those_of_the_split_that_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release");
    let root = statement(Adjacency::ReplaceOne);
    let split = root.split(1, 0.25).unwrap();
    let n = root.n_samples();
    let [training, held_out] =
        [n - 1, 1].map(|n| root.part(root.schema().clone(), n).unwrap().moments(9.0));
    let (training, held_out) = (training.unwrap(), held_out.unwrap());
    let planned = vec![split.once(), training.once(), held_out.once()];
    let plan = sealed(&root, planned, move |session| {
        session.ask(&split, ())?;
        session.progress(1, 3)?;
        let mut part = session.part(Part::Training(&split), training.statement())?;
        let first = part.ask(&training, ())?;
        session.progress(2, 3)?;
        let mut part = session.part(Part::HeldOut(&split), held_out.statement())?;
        let second = part.ask(&held_out, ())?;
        Ok([first, second])
    });
    let (released, seen) = watched(|| whole(&plan, &path, Source::seeded(3)));
    let released = released.unwrap();
    for after in [1, 2] {
        std::fs::remove_file(&path).unwrap();
        let mut ledger = MemoryLedger::default();
        let mut stop =
            |after| watched(|| stopped(&plan, &path, Source::seeded(3), &mut ledger, after));
        let ((error, before), (resumed, later)) = (stop(after), stop(usize::MAX));
        assert!(matches!(error, Err(Error::Interrupted)));
        assert_eq!(resumed.unwrap().value, released.value);
        assert_eq!([before, later].concat(), seen);
    }
}

/// Questions that are alike are told apart by their place in the plan.
#[test]
fn answers_are_given_again_to_their_own_question() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release");
    let alike = |order: [usize; 3]| {
        let root = statement(Adjacency::ReplaceOne);
        let questions = [0; 3].map(|_| root.gradient(&model(), 3.0).unwrap());
        let planned = questions.iter().map(Question::once).collect();
        sealed(&root.clone(), planned, move |session| {
            let at = vec![0.0; root.n_columns()];
            (order.iter()).try_for_each(|&k| session.ask(&questions[k], &at).map(drop))
        })
    };
    whole(&alike([0, 1, 2]), &path, Source::seeded(3)).unwrap();
    for order in [[0, 2, 1], [1, 0, 2], [2, 1, 0]] {
        let again = whole(&alike(order), &path, Source::seeded(3));
        assert!(matches!(again, Err(Error::Checkpoint(_))), "{again:?}");
    }
    whole(&alike([0, 1, 2]), &path, Source::seeded(3)).unwrap();
}

//! Parts of the records are read once for the fits of a search that share their public facts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::harness::{Data, P, bounds, shared};
use crate::accounting::event::Adjacency;
use crate::exact::noise::source::Source;
use crate::exact::tap::watched;
use crate::privacy::answer::Part;
use crate::privacy::budget::Budget;
use crate::privacy::session::{Core, Session};
use crate::privacy::{Geometry, Schema, Statement, Target};

fn schema(row_norm: Option<f64>) -> Schema {
    let geometry = Geometry::Uncentred;
    Schema::new(P, bounds(), geometry, Target::Classes, true, row_norm).unwrap()
}

#[test]
fn a_part_is_read_anew_only_for_another_side_or_other_public_facts() {
    let n = shared().len();
    let root = Statement::new(schema(None), n, Adjacency::ReplaceOne, 1).unwrap();
    let split = root.split(1, 0.25).unwrap();
    let part = |row_norm, n| root.part(schema(row_norm), n).unwrap();
    let (training, held_out) = (Part::Training(&split), Part::HeldOut(&split));
    // Side, public facts, and how often X was read after it.
    let visits: [(Part<'_>, Arc<Statement>, usize); 6] = [
        (training, part(None, n - 1), 1),
        (training, part(None, n - 1), 1),
        (training, part(Some(0.3), n - 1), 2),
        (held_out, part(None, 1), 3),
        (training, part(None, n - 1), 4), // the last reading alone is kept
        (Part::All, part(None, n), 5),
    ];
    let questions: Vec<_> = (visits.iter())
        .map(|(_, statement, _)| statement.moments(3.0).unwrap())
        .collect();
    let mut planned = vec![split.once()];
    planned.extend(questions.iter().map(|question| question.once()));

    let (data, reads) = (Data::new(&shared()), AtomicUsize::new(0));
    let curator = data.curator().counted(&reads);
    let records = curator.all(&root, &[]).unwrap();
    reads.store(0, Ordering::Relaxed);
    let mut core = Core {
        budget: Budget::new(&planned).unwrap(),
        source: Source::seeded(1),
        progress: (0, 1).into(),
    };
    let mut quiet = |_: usize, _: usize| Ok(());
    let mut session = Session::new(&*records, &mut core, &mut quiet, &curator);
    session.ask(&split, ()).unwrap();
    let seen: Vec<_> = (visits.iter().zip(&questions))
        .map(|((part, statement, count), question)| {
            let moments = || session.part(*part, statement)?.ask(question, ());
            let (answer, seen) = watched(moments);
            answer.unwrap();
            assert_eq!(reads.load(Ordering::Relaxed), *count);
            seen
        })
        .collect();
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0], seen[4]);
    for other in [2, 3, 5] {
        assert_ne!(seen[0], seen[other]);
    }
}

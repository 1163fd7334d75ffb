//! Parts of the records are read once for the fits of a search that share their public facts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::Array2;

use super::harness::{Data, P, bounds, shared};
use crate::accounting::event::Adjacency;
use crate::exact::noise::source::Source;
use crate::exact::tap::watched;
use crate::privacy::answer::Part;
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::bounded_data::tests::all_kinds;
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
        transcript: None,
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

/// Records that the plan asks of no more are let go when a part is read; those that it will ask are not.
#[test]
fn records_stay_as_long_as_they_are_asked() {
    let n = shared().len();
    let root = Statement::new(schema(None), n, Adjacency::ReplaceOne, 1).unwrap();
    let split = root.split(1, 0.25).unwrap();
    let part = root.part(schema(None), n - 1).unwrap();
    let (whole, of_part) = (root.moments(3.0).unwrap(), part.moments(3.0).unwrap());
    let planned = [split.once(), whole.times(2), of_part.times(2)];
    let data = Data::new(&shared());
    let curator = data.curator();
    let mut core = Core {
        budget: Budget::new(&planned).unwrap(),
        source: Source::seeded(1),
        progress: (0, 1).into(),
        transcript: None,
    };
    let mut quiet = |_: usize, _: usize| Ok(());
    let records = curator.all(&root, &[]).unwrap();
    let mut session = Session::new(records, &mut core, &mut quiet, &curator);
    session.ask(&split, ()).unwrap();
    let training = Part::Training(&split);
    let mut round = |held: usize| {
        let (answer, seen) = watched(|| session.ask(&whole, ()));
        answer.unwrap();
        session
            .part(training, &part)
            .unwrap()
            .ask(&of_part, ())
            .unwrap();
        assert_eq!(session.n_records_held(), held);
        seen
    };
    assert_eq!(round(n), round(0));
}

/// In place or not, in every storage.
#[test]
fn rows_that_are_picked_are_those_of_their_positions() {
    let x = Array2::from_shape_fn((9, P), |(i, j)| (i * P + j) as f64 / 40.0 - 0.3);
    let schema = schema(None).with_max_weight(8.0).unwrap();
    let weights: Vec<f64> = (0..9).map(f64::from).collect();
    let seen = |data: &BoundedData| -> Vec<(Vec<f64>, f64, f64)> {
        let row = |i| {
            let mut row = vec![0.0; data.n_columns()];
            data.fill_row(i, &mut row);
            (row, data.targets[i], data.share(i))
        };
        (0..data.n_records()).map(row).collect()
    };
    for kind in 0..3 {
        for positions in [vec![], vec![0], vec![8], vec![1, 2, 5, 8], (0..9).collect()] {
            let data = all_kinds(&x, &schema).into_iter().nth(kind).unwrap();
            let data = data.weighed(Some(&weights)).unwrap();
            let all = seen(&data);
            let picked: Vec<_> = positions.iter().map(|&i| all[i as usize].clone()).collect();
            assert_eq!(seen(&data.rows(&positions)), picked);
            assert_eq!(seen(&data.into_rows(&positions)), picked);
        }
    }
}

//! Splits of the records.

use std::sync::Arc;

use super::super::harness::{Data, P, Setting, View, alone, asked, shared};
use super::{CHOICES, choices_follow, integers, model, root};
use crate::accounting::event::Adjacency;
use crate::privacy::Statement;
use crate::privacy::answer::Part;

/// Each set of so many positions is as likely as another one; under add-remove each record has its own coin, whatever
/// stands before it.
#[test]
fn splits_are_drawn_without_a_look() {
    alone(|| {
        let (rows, share) = (shared(), 0.3);
        let n = rows.len();
        let schema = |root: &Arc<Statement>| root.schema().clone();
        let about = |root: &Arc<Statement>| Setting {
            name: "splits".into(),
            root: Arc::clone(root),
            view: View::Whole,
            about: Arc::clone(root),
            model: model(),
        };
        for (adjacency, count) in [(Adjacency::ReplaceOne, 2), (Adjacency::AddRemove, 1)] {
            let root = Statement::new(schema(&root(true)), n, adjacency, 1).unwrap();
            let part = root.part(schema(&root), count).unwrap();
            let (split, question) = (
                root.split(count, share).unwrap(),
                part.moments(1.0).unwrap(),
            );
            let planned = [split.once(), question.once()];
            let data = Data::new(&rows);
            let held_out = |seed: u64| {
                let (answer, seen) = asked(&about(&root), &data, &planned, seed, &|session| {
                    session.ask(&split, ())?;
                    let mut held_out = session.part(Part::HeldOut(&split), &part)?;
                    held_out.ask(&question, ())
                });
                answer.unwrap();
                integers(&seen)
            };
            // Second moments tell sets of records apart: those of each, and nothing of none.
            let plain = Statement::new(schema(&root), n, Adjacency::AddRemove, 1).unwrap();
            let question = plain.moments(1.0).unwrap();
            let sets: Vec<Vec<i64>> = (0..1usize << n)
                .map(|set| {
                    let own: Vec<_> = (0..n)
                        .filter(|i| set >> i & 1 == 1)
                        .map(|i| rows[i])
                        .collect();
                    if own.is_empty() {
                        return vec![0; (P + 1) * (P + 2) / 2];
                    }
                    let setting = about(&plain);
                    let (answer, seen) = asked(
                        &setting,
                        &Data::new(&own),
                        &[question.once()],
                        1,
                        &|session| session.ask(&question, ()),
                    );
                    answer.unwrap();
                    integers(&seen)
                })
                .collect();
            let mut counts = vec![0.0; sets.len()];
            for seed in 0..CHOICES {
                let own = held_out(seed);
                counts[sets.iter().position(|set| *set == own).unwrap()] += 1.0;
            }
            let law: Vec<f64> = (0..sets.len())
                .map(|set| {
                    let size = set.count_ones() as usize;
                    match adjacency {
                        Adjacency::ReplaceOne if size == count => 1.0 / 6.0,
                        Adjacency::ReplaceOne => 0.0,
                        Adjacency::AddRemove => {
                            share.powi(size as i32) * (1.0f64 - share).powi((n - size) as i32)
                        }
                    }
                })
                .collect();
            choices_follow("split", &counts, &law);
        }
    });
}

//! Progress is of public numbers: the steps of a plan, never how long the records take.

use super::harness::{Data, P, shared};
use super::refusals::{sealed, statement};
use crate::accounting::event::Adjacency;
use crate::exact::noise::source::Source;
use crate::loss::Logistic;
use crate::privacy::{MemoryLedger, Question, RoomModel, Statement, release};
use crate::question::{DescentOptions, PermutedOptions, Point, PointNoise};

/// What is heard of a release of one point, equal reports one after the other once.
fn heard(question: &Question<Point>, data: &Data) -> Vec<(usize, usize)> {
    let mut reports = all_heard(question, data);
    reports.dedup();
    reports
}

fn all_heard(question: &Question<Point>, data: &Data) -> Vec<(usize, usize)> {
    let own = question.clone();
    let plan = sealed(
        question.statement(),
        vec![question.once()],
        move |session| {
            session.ask(&own, ())?;
            session.progress(own.steps(), own.steps())
        },
    );
    let (mut ledger, mut reports) = (MemoryLedger::default(), Vec::new());
    let mut report = |done, total| {
        reports.push((done, total));
        Ok(())
    };
    let source = Source::seeded(3);
    release(&plan, &data.curator(), &mut ledger, source, &mut report).unwrap();
    reports
}

#[test]
fn descents_report_their_steps_and_minimisers_none() {
    let root = statement(Adjacency::ReplaceOne);
    let model = RoomModel::new(&Logistic.into(), None).unwrap();
    let noise = PointNoise::Gaussian { multiplier: 3.0 };
    let (ridge, step) = (0.1, 0.1);
    let descent = DescentOptions {
        ridge,
        penalty: None,
        n_iter: 6,
        step,
    };
    let permuted = PermutedOptions {
        ridge,
        passes: 4,
        batch: 3,
        step,
    };
    let descent = root.descent(&model, descent).unwrap();
    let permuted = root.permuted(&model, permuted).unwrap();
    let minimiser = root.strongly_convex(&model, None, ridge).unwrap();
    // Records that are solved in few steps, and in more.
    let mut one = shared();
    one.iter_mut().for_each(|row| row.0 = [0.0; P]);
    for rows in [shared(), one] {
        let data = Data::new(&rows);
        let steps = |total: usize| (0..=total).map(|t| (t, total)).collect::<Vec<_>>();
        let question = descent.with_output_noise(noise).unwrap();
        assert_eq!(heard(&question, &data), steps(6));
        let question = permuted.with_output_noise(noise).unwrap();
        assert_eq!(heard(&question, &data), steps(4));
        let question = minimiser.with_output_noise(noise).unwrap();
        assert_eq!(heard(&question, &data), steps(1));
    }
}

/// A pass over many records can be stopped every 256 steps.
#[test]
fn long_passes_report_on_their_way() {
    let n = 600;
    let schema = statement(Adjacency::ReplaceOne).schema().clone();
    let root = Statement::new(schema, n, Adjacency::ReplaceOne, 1).unwrap();
    let rows: Vec<_> = shared().into_iter().cycle().take(n).collect();
    let options = PermutedOptions {
        ridge: 0.1,
        passes: 2,
        batch: 1,
        step: 0.1,
    };
    let model = RoomModel::new(&Logistic.into(), None).unwrap();
    let permuted = root.permuted(&model, options).unwrap();
    let noise = PointNoise::Gaussian { multiplier: 3.0 };
    let question = permuted.with_output_noise(noise).unwrap();
    let reports = all_heard(&question, &Data::new(&rows));
    let of = |pass: usize| {
        reports
            .iter()
            .filter(|&&report| report == (pass, 2))
            .count()
    };
    // At their begins, at steps 256 and 512, 768 and 1024.
    assert_eq!([of(0), of(1)], [3, 3], "{reports:?}");
}

//! Searches from end to end: which records are read for what.

use std::sync::Arc;

use ndarray::Array2;

use crate::accounting::event::Adjacency;
use crate::exact::noise::source::Source;
use crate::exact::tap::{Seen, watched};
use crate::loss::Logistic;
use crate::mechanism::by_name;
use crate::plan::{Domain, Problem};
use crate::privacy::{Bounds, Curator, MemoryLedger, Schema, Target, release};
use crate::search::{Search, SearchFacts};

const N: usize = 40;

/// Record i alone has feature i, so a gradient at 0 tells who was read; the model is compared on all the others. Under
/// add-remove no number of records would betray a mistake.
#[test]
fn models_are_compared_on_what_none_was_fitted_on() {
    let bounds = Bounds {
        lower: vec![-1.0],
        upper: vec![1.0],
    };
    let x = Array2::<f64>::eye(N);
    let y: Vec<f64> = (0..N)
        .map(|i| if i % 3 == 0 { 1.0 } else { -1.0 })
        .collect();
    let facts = SearchFacts::new(
        N,
        bounds.clone(),
        Target::Classes,
        (N, 10, 0.25),
        Adjacency::AddRemove,
        1,
        None,
    )
    .unwrap();
    let mechanism = by_name("noisy-proximal-gradient", r#"{"n_iter": 1}"#).unwrap();
    let geometry = mechanism.geometry(&Domain::L1, true, None).unwrap();
    let schema = Schema::new(N, bounds, geometry, Target::Classes, true, None).unwrap();
    let problem = Problem {
        statement: facts.part(schema, 30).unwrap(),
        loss: Logistic.into(),
        residual_bound: None,
        spread: None,
        opens: false,
        epsilon: 5.0,
        delta: Some(1e-6),
        reason: None,
        assumptions: vec!["the candidate is public".into()],
    };
    let plan = Arc::new(mechanism.plan(problem, &Domain::L1).unwrap());
    let search = Search::new(&facts, vec![plan], Vec::new(), 1.0).unwrap();
    let sealed = search.seal(7.0, 1e-5, Vec::new()).unwrap();
    for seed in 0..20 {
        let curator = Curator::from_dense(x.view(), &y);
        let (mut ledger, source) = (MemoryLedger::default(), Source::seeded(seed));
        let (released, seen) =
            watched(|| release(&sealed, &curator, &mut ledger, source, &mut |_, _| Ok(())));
        let released = released.unwrap();
        let assumed = released.certificate.assumptions();
        assert!(assumed.iter().any(|a| a == "the candidate is public"));
        let [Seen::Integers(gradient), Seen::Scores(scores, _)] = seen.as_slice() else {
            panic!("a gradient, then a choice: {seen:?}");
        };
        let model = released.value.model;
        let wrong = |i: usize| (model.coefficients[i] + model.intercepts[0] > 0.0) != (y[i] > 0.0);
        let others = (0..N).filter(|&i| gradient[i] == 0);
        assert!((1..N).contains(&others.clone().count()));
        let errors = others.filter(|&i| wrong(i)).count() as i64;
        assert_eq!(*scores, [errors << 16]);
    }
}

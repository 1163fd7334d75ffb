use super::*;
use proptest::prelude::*;
use serde_json::json;

fn certificate(adjacency: Adjacency, secure: bool) -> Certificate {
    let terms = Terms {
        mechanism: "a mechanism".into(),
        claim: (3.0, 1e-6),
        adjacency,
        unit: "one record".into(),
        n_samples: 1000,
        n_features: 2,
        bounds: Bounds {
            lower: vec![-1.0],
            upper: vec![1.0, 2.5],
        },
        row_norm: Some(1.5),
        target: Some(Target::Interval {
            low: -2.0,
            high: 7.0,
        }),
        assumptions: vec!["the bounds are public".into()],
        secure,
        certified: true,
    };
    let events = vec![
        (Event::gaussian(1.0, 20.0).unwrap(), 3),
        (Event::failure(1e-12).unwrap(), 1),
        (
            Event::objective_perturbation(1.0, 10.0, 0.01, adjacency).unwrap(),
            1,
        ),
    ];
    Certificate::new(terms, events, &Witness::of_tests())
}

fn tree() -> Value {
    serde_json::from_str(&certificate(Adjacency::ReplaceOne, true).to_json()).unwrap()
}

/// The text with the checksum of what it holds now.
fn resealed(mut tree: Value) -> String {
    let fields = tree.as_object_mut().unwrap();
    fields.remove("checksum");
    let sum = format!("{:016x}", checksum::of(&tree));
    tree["checksum"] = sum.into();
    tree.to_string()
}

/// Paths of all values below `tree`, containers included.
fn paths(tree: &Value, at: String, found: &mut Vec<String>) {
    match tree {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| paths(value, format!("{at}/{name}"), found)),
        Value::Array(values) => (values.iter().enumerate())
            .for_each(|(i, value)| paths(value, format!("{at}/{i}"), found)),
        _ => {}
    }
    if !at.is_empty() {
        found.push(at);
    }
}

#[test]
fn a_certificate_survives_json_and_states_its_facts() {
    let certificate = certificate(Adjacency::ReplaceOne, true);
    let again = Certificate::from_json(&certificate.to_json()).unwrap();
    assert_eq!(again, certificate);
    assert!(again.verify());
    assert_eq!((again.n_samples(), again.n_features()), (1000, 2));
    assert_eq!(
        (again.row_norm(), again.y_bounds()),
        (Some(1.5), Some((-2.0, 7.0)))
    );
    assert_eq!(again.version(), env!("CARGO_PKG_VERSION"));
    let text = again.to_string();
    assert!(
        text.starts_with("(3, 1.000e-6)-differential privacy"),
        "{text}"
    );
    for part in [
        "n = 1000, p = 2",
        "y_bounds   -2 to 7",
        "row_norm   1.5",
        "upper 2 values",
        env!("CARGO_PKG_VERSION"),
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    // Another layout of the same numbers is the same certificate.
    assert!(Certificate::from_json(&resealed(tree())).unwrap().verify());
    assert_eq!(
        Certificate::from_json(&tree().to_string()).unwrap(),
        certificate
    );
}

#[test]
fn a_seeded_run_has_no_guarantee_and_says_so_first() {
    let seeded = certificate(Adjacency::ReplaceOne, false);
    assert!(!seeded.verify());
    let text = seeded.to_string();
    assert!(text.starts_with("NO GUARANTEE: the randomness"), "{text}");
    assert!(!text.contains("differential privacy under"), "{text}");
    assert!(text.contains("asked for  (3, 1.000e-6) under replace-one neighbours"));
}

#[test]
fn assumptions_keep_the_seal_and_do_not_mend_it() {
    let mut honest = certificate(Adjacency::AddRemove, true);
    honest.assume("the labels are public");
    assert!(honest.verify());
    let edited = tree().to_string().replace("\"count\":3", "\"count\":2");
    let mut edited = Certificate::from_json(&edited).unwrap();
    edited.assume("the labels are public");
    assert!(!edited.verify());
    assert_eq!(edited.epsilon(1e-6).unwrap(), f64::INFINITY);
    assert_eq!(edited.delta(1.0).unwrap(), 1.0);
    assert!(
        edited
            .to_string()
            .starts_with("NO GUARANTEE: this certificate was changed")
    );
}

#[test]
fn the_first_format_is_refused_with_the_reason() {
    let text = tree().to_string().replace(FORMAT, "dpsparse-certificate-1");
    let error = Certificate::from_json(&text).unwrap_err().to_string();
    assert!(error.contains("does not bind its facts"), "{error}");
}

#[test]
fn contradictions_are_refused_even_under_a_matching_checksum() {
    let edits: [(&str, Value); 27] = [
        ("/adjacency", json!("add-remove")), // the objective perturbation is of replace-one
        ("/adjacency", json!("any")),
        ("/claimed_epsilon", json!(0.0)),
        ("/claimed_epsilon", json!(-1.0)),
        ("/claimed_epsilon", json!(null)),
        ("/claimed_delta", json!(1.0)),
        ("/claimed_delta", json!(5.0)),
        ("/claimed_delta", json!(-1e-9)),
        ("/n_samples", json!(0)),
        ("/n_features", json!(0)),
        ("/n_features", json!(3)), // two upper bounds
        ("/unit", json!("")),
        ("/mechanism", json!(" ")),
        ("/version", json!("")),
        ("/row_norm", json!(0.0)),
        ("/row_norm", json!(-1.0)),
        ("/bounds/lower/0", json!(2.0)),
        ("/bounds/upper/1", json!(-3.0)),
        ("/bounds/upper", json!([])),
        ("/bounds", json!([[-1.0], [1.0, 2.5]])),
        ("/target/interval/low", json!(8.0)),
        ("/target/interval", json!([-2.0, 7.0])),
        ("/events", json!([])),
        (
            "/events/0",
            json!([{"kind": "gaussian", "sensitivity": 1.0, "sigma": 20.0}, 3]),
        ),
        ("/events/0/event", json!(["gaussian", 1.0, 20.0])),
        ("/events/0/count", json!(0)),
        ("/events/0/event/sigma", json!(-20.0)),
    ];
    for (path, value) in edits {
        let mut tree = tree();
        *tree.pointer_mut(path).unwrap() = value.clone();
        let read = Certificate::from_json(&resealed(tree));
        assert!(read.is_err(), "{path} {value} was read");
    }
    let nan = tree().to_string().replace("1000", "NaN");
    assert!(Certificate::from_json(&nan).is_err());
}

/// Facts that agree with each other, under a checksum of their own: what was spent is compared with the claim.
#[test]
fn a_claim_below_what_was_spent_does_not_verify() {
    let edits: [(&str, Value); 8] = [
        ("/claimed_epsilon", json!(0.5)),
        ("/claimed_delta", json!(1e-13)),
        ("/claimed_delta", json!(0.0)),
        ("/events/0/count", json!(3000)),
        ("/events/0/event/sigma", json!(2.0)),
        ("/events/1/event/delta", json!(1e-3)),
        ("/events/2/count", json!(9)),
        ("/events/2/event/sigma", json!(1.0)),
    ];
    for (path, value) in edits {
        let mut tree = tree();
        *tree.pointer_mut(path).unwrap() = value.clone();
        let read = Certificate::from_json(&resealed(tree)).unwrap();
        assert!(!read.verify(), "{path} {value}");
        let text = read.to_string();
        assert!(
            text.starts_with("NO GUARANTEE: what was spent costs more"),
            "{text}"
        );
    }
}

/// What does not say what a release cost is not added, and changes nothing; a seed changes no cost.
#[test]
fn what_cannot_be_believed_does_not_add_up() {
    let entry = |certificate: Certificate| ledger::Entry {
        certificate,
        records_per_person: 1,
        release: None,
    };
    let read = |text: &str| Certificate::from_json(text).unwrap();
    let edited = |path: &str, value: Value| {
        let mut tree = tree();
        *tree.pointer_mut(path).unwrap() = value;
        tree
    };
    let mut total = ledger::Total::new((9.0, 1e-5), None, 1).unwrap();
    let changed = edited("/events/0/event/sigma", json!(2000.0));
    for (text, problem) in [
        (changed.to_string(), "was changed after it was written"),
        (
            edited("/n_samples", json!(999)).to_string(),
            "was changed after it was written",
        ),
        (
            resealed(edited("/claimed_epsilon", json!(0.5))),
            "costs more than what is claimed",
        ),
    ] {
        let before = total.clone();
        let error = total.add(&entry(read(&text))).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
        assert!(error.to_string().contains(problem), "{error}");
        assert_eq!(total, before);
    }
    let mut unproved = tree();
    unproved["certified"] = json!(false);
    assert!(matches!(
        total.add(&entry(read(&resealed(unproved)))),
        Err(Error::UnsoundMechanism(_))
    ));
    for secure in [true, false] {
        total
            .add(&entry(certificate(Adjacency::ReplaceOne, secure)))
            .unwrap();
    }
}

/// Neither numbers nor words for a mechanism that is not proved.
#[test]
fn what_is_not_proved_has_no_guarantee() {
    let mut tree = tree();
    tree["certified"] = json!(false);
    let read = Certificate::from_json(&resealed(tree)).unwrap();
    assert!(!read.verify());
    assert_eq!(
        (read.epsilon(1e-6).unwrap(), read.delta(3.0).unwrap()),
        (f64::INFINITY, 1.0)
    );
    assert!(
        read.to_string()
            .starts_with("NO GUARANTEE: this calibration is not proved")
    );
}

/// All that was spent is written, in its order and as often as it was.
#[test]
fn every_event_is_written_with_its_count() {
    let certificate = certificate(Adjacency::ReplaceOne, true);
    let spent: Vec<(Event, u64)> = (certificate.events().iter())
        .map(|spent| (spent.event, spent.count))
        .collect();
    let objective = Event::objective_perturbation(1.0, 10.0, 0.01, Adjacency::ReplaceOne);
    let expected = [
        (Event::gaussian(1.0, 20.0).unwrap(), 3),
        (Event::failure(1e-12).unwrap(), 1),
        (objective.unwrap(), 1),
    ];
    assert_eq!(spent, expected);
    let mut accountant = Accountant::new();
    for (event, count) in expected {
        accountant.add(event, count).unwrap();
    }
    assert_eq!(
        certificate.epsilon(1e-6).unwrap(),
        accountant.epsilon(1e-6).unwrap()
    );
    assert_eq!(
        certificate.delta(1.0).unwrap(),
        accountant.delta(1.0).unwrap()
    );
}

#[test]
fn unknown_and_missing_fields_are_refused_everywhere() {
    let mut found = vec![String::new()];
    paths(&tree(), String::new(), &mut found);
    for path in found {
        let mut added = tree();
        if let Some(fields) = added.pointer_mut(&path).and_then(Value::as_object_mut) {
            fields.insert("extra".into(), json!(1));
            assert!(
                Certificate::from_json(&resealed(added)).is_err(),
                "extra in {path}"
            );
        }
        if let Some((parent, name)) = path.rsplit_once('/') {
            let mut removed = tree();
            if let Some(fields) = removed.pointer_mut(parent).and_then(Value::as_object_mut) {
                fields.remove(name);
                assert!(
                    Certificate::from_json(&removed.to_string()).is_err(),
                    "{path}"
                );
            }
        }
    }
    let twice = tree().to_string().replacen(
        "\"n_samples\":1000",
        "\"n_samples\":1000,\"n_samples\":1000",
        1,
    );
    assert!(Certificate::from_json(&twice).is_err());
}

fn edited(value: &Value, how: u8, factor: f64) -> Value {
    match (value, how) {
        (Value::Number(number), 0) => json!(number.as_f64().unwrap() * factor),
        (Value::Number(number), 1) if number.is_u64() => json!(number.as_u64().unwrap() + 1),
        (Value::Number(number), 1) => json!(number.as_f64().unwrap().next_up()),
        (Value::Number(number), 2) => json!(-number.as_f64().unwrap()),
        (Value::Bool(value), _) => json!(!value),
        (Value::String(text), 0) if text == "replace-one" => json!("add-remove"),
        (Value::String(text), _) => json!(format!("{text}!")),
        (Value::Array(values), 0) => json!(values[..values.len() - 1]),
        (Value::Array(values), _) => json!([values.as_slice(), values.as_slice()].concat()),
        _ => Value::Null,
    }
}

proptest! {
    /// The checksum itself included.
    #[test]
    fn no_single_edit_leaves_a_certificate_that_verifies(
        which in any::<prop::sample::Index>(),
        how in 0u8..4,
        factor in prop_oneof![0.1f64..0.99, 1.01f64..10.0],
    ) {
        let mut found = Vec::new();
        paths(&tree(), String::new(), &mut found);
        let path = which.get(&found);
        let mut tree = tree();
        let place = tree.pointer_mut(path).unwrap();
        *place = edited(place, how, factor);
        let verified = Certificate::from_json(&tree.to_string()).is_ok_and(|read| read.verify());
        prop_assert!(!verified, "{} {}", path, tree);
    }
}

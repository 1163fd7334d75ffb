//! Certificates from outside: any text is read or refused, what is read is written back to an equal one, and none
//! verifies whose facts were edited or whose events cost more than its claim.

use std::sync::OnceLock;

use dpsparse::accounting::accountant::Accountant;
use dpsparse::fit::PrivateFit;
use dpsparse::ndarray::Array2;
use dpsparse::{Certificate, Error};
use serde_json::Value;

use super::choices::Choices;

pub fn run(data: &[u8]) {
    let mut choices = Choices::new(data);
    if choices.flag() {
        edited(&mut choices);
    } else if let Ok(text) = std::str::from_utf8(choices.rest()) {
        read(text);
    }
}

fn read(text: &str) {
    let certificate = match Certificate::from_json(text) {
        Ok(certificate) => certificate,
        Err(Error::InvalidArgument { .. }) => return,
        Err(other) => panic!("another kind of error: {other:?}"),
    };
    let written = certificate.to_json();
    assert_eq!(Certificate::from_json(&written).unwrap(), certificate);
    assert!(certificate.to_string().contains("mechanism"));
    let (epsilon, delta) = certificate.claim();
    let proved = [certificate.epsilon(delta), certificate.delta(epsilon)];
    assert!(proved.iter().flatten().all(|bound| !bound.is_nan()));
    if certificate.verify() {
        let mut accountant = Accountant::new();
        for spent in certificate.events() {
            accountant.add(spent.event, spent.count).unwrap();
        }
        assert!(accountant.delta(epsilon).unwrap() <= delta);
        assert!(certificate.secure() && certificate.certified());
    }
}

/// Certificates of fits with random bits, of several kinds of events.
fn originals() -> &'static [Value] {
    static ORIGINALS: OnceLock<Vec<Value>> = OnceLock::new();
    ORIGINALS.get_or_init(|| {
        let x = Array2::from_shape_fn((200, 2), |(i, j)| ((i * (j + 3)) % 5) as f64 / 2.0 - 1.0);
        let y: Vec<bool> = x.column(0).iter().map(|value| *value > 0.0).collect();
        let of = |name, options| {
            let fit = PrivateFit::classifier()
                .classes([false, true])
                .bounds(-1.0, 1.0)
                .epsilon(1.0)
                .delta(1e-6)
                .mechanism_by_name(name, options);
            let model = fit.unwrap().fit(&x, &y).unwrap();
            assert!(model.certificate().verify());
            serde_json::from_str(&model.certificate().to_json()).unwrap()
        };
        vec![
            of("frank-wolfe", r#"{"n_iter": 3}"#),
            of("noisy-gradient-frank-wolfe", r#"{"n_iter": 3}"#),
            of("objective-perturbation", "{}"),
        ]
    })
}

/// Changes places of a certificate, its checksum left as it is.
fn edited(choices: &mut Choices<'_>) {
    let original = choices.pick(originals());
    let mut tree = original.clone();
    for _ in 0..=choices.below(3) {
        let mut paths = Vec::new();
        places(&tree, String::new(), &mut paths);
        if paths.is_empty() {
            break;
        }
        let at = usize::from(u16::from_le_bytes([choices.byte(), choices.byte()])) % paths.len();
        let place = tree.pointer_mut(&paths[at]).expect("a place of the tree");
        change(place, choices);
    }
    if same(&tree, original) {
        return;
    }
    let text = tree.to_string();
    read(&text);
    if let Ok(certificate) = Certificate::from_json(&text) {
        assert!(
            !certificate.verify(),
            "an edited certificate verifies: {text}"
        );
        assert!(certificate.to_string().starts_with("NO GUARANTEE"));
        let promised = certificate.epsilon(certificate.claim().1);
        assert!(promised.is_ok_and(|epsilon| epsilon == f64::INFINITY));
    }
}

/// All values but the checksum.
fn places(tree: &Value, at: String, found: &mut Vec<String>) {
    match tree {
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(name, _)| *name != "checksum") {
                places(value, format!("{at}/{name}"), found);
            }
        }
        Value::Array(values) => {
            for (i, value) in values.iter().enumerate() {
                places(value, format!("{at}/{i}"), found);
            }
        }
        _ => {}
    }
    if !at.is_empty() {
        found.push(at);
    }
}

fn change(place: &mut Value, choices: &mut Choices<'_>) {
    match (choices.below(8), &mut *place) {
        (0, Value::Array(values)) if !values.is_empty() => {
            values.remove(choices.below(values.len()));
        }
        (1, Value::Array(values)) if !values.is_empty() => {
            values.push(values[choices.below(values.len())].clone());
        }
        (2, Value::Object(fields)) => {
            fields.insert("another".into(), Value::from(choices.byte()));
        }
        (3, Value::Object(fields)) => {
            if let Some(name) = fields.keys().next().cloned() {
                fields.remove(&name);
            }
        }
        (4, Value::Number(number)) => {
            let nearby = number.as_f64().unwrap_or(0.0) * (1.0 + choices.tame() / 8.0);
            *place = Value::from(nearby);
        }
        (5, Value::Number(number)) => {
            let nearby = number.as_f64().unwrap_or(0.0).to_bits() ^ (1 << choices.below(64));
            *place = Value::from(f64::from_bits(nearby));
        }
        (6, Value::Bool(value)) => *value = !*value,
        (7, _) => *place = Value::from(i32::from(choices.byte() as i8)),
        (_, Value::String(text)) => text.push(char::from(choices.byte())),
        _ => *place = Value::Null,
    }
}

/// Whether two trees hold the same; 2 and 2.0 are one number, and 0 and -0 are two.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || a.as_f64().map(f64::to_bits) == b.as_f64().map(f64::to_bits)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

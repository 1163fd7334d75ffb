//! A checksum of a JSON tree that does not depend on how its text is laid out.

use serde_json::{Number, Value};

/// FNV-1a on 64 bits (Fowler, Noll & Vo 1991) over the tree: every value begins with its kind, strings and
/// containers with their length, fields stand in the order of their names. Trees that differ in one byte of this form
/// have different sums: each step is a bijection of the state. Others agree by chance, with probability about 2^-64.
pub(super) fn of(tree: &Value) -> u64 {
    let mut sum = Sum(0xcbf2_9ce4_8422_2325);
    sum.tree(tree);
    sum.0
}

struct Sum(u64);

impl Sum {
    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn word(&mut self, kind: u8, word: u64) {
        self.bytes(&[kind]);
        self.bytes(&word.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.word(b's', text.len() as u64);
        self.bytes(text.as_bytes());
    }

    /// 2 and 2.0 are one number: JSON libraries write either for the other.
    fn number(&mut self, number: &Number) {
        let float = number.as_f64().unwrap_or(f64::NAN);
        match number.as_u64() {
            Some(integer) if integer > 1 << 53 => self.word(b'i', integer),
            _ => self.word(b'f', float.to_bits()),
        }
    }

    fn tree(&mut self, tree: &Value) {
        match tree {
            Value::Null => self.bytes(b"n"),
            Value::Bool(value) => self.word(b'b', u64::from(*value)),
            Value::Number(number) => self.number(number),
            Value::String(text) => self.text(text),
            Value::Array(values) => {
                self.word(b'a', values.len() as u64);
                values.iter().for_each(|value| self.tree(value));
            }
            Value::Object(fields) => {
                self.word(b'o', fields.len() as u64);
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_by_key(|(name, _)| *name);
                for (name, value) in fields {
                    self.text(name);
                    self.tree(value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(text: &str) -> u64 {
        of(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn layout_does_not_count_and_contents_do() {
        let one = sum(r#"{"a": 2, "b": [1.5, null, true, "x"]}"#);
        assert_eq!(one, sum(r#"{"b":[15e-1,null,true,"x"],"a":2.0}"#));
        for other in [
            r#"{"a": 2, "b": [1.5, null, true, "y"]}"#,
            r#"{"a": 2, "b": [1.5, null, false, "x"]}"#,
            r#"{"a": 3, "b": [1.5, null, true, "x"]}"#,
            r#"{"a": 2, "b": [[1.5], null, true, "x"]}"#,
            r#"{"a": 2, "b": [1.5, null, true, "x"], "c": null}"#,
            r#"{"c": 2, "b": [1.5, null, true, "x"]}"#,
            r#"["a", 2, "b", [1.5, null, true, "x"]]"#,
        ] {
            assert_ne!(one, sum(other), "{other}");
        }
        // 2^53 and its neighbours, of which floats hold every second one.
        assert_ne!(sum("9007199254740992"), sum("9007199254740993"));
        assert_ne!(sum("9007199254740993"), sum("9007199254740994"));
        assert_ne!(sum("18446744073709551614"), sum("18446744073709551615"));
        assert_ne!(sum("-0.0"), sum("0.0"));
        // Known answer: the empty string is its kind and its length.
        let mut known = Sum(0xcbf2_9ce4_8422_2325);
        known.bytes(b"foobar");
        assert_eq!(known.0, 0x8594_4171_f739_67e8);
    }
}

//! Texts with switches. Lines keep their numbers: what is inserted has no line breaks.

use crate::Stretch;
use crate::places::{Form, Place};

/// `text` with a switch at each place, and which bytes of it belong to which mutants.
pub fn with_switches(text: &str, mut places: Vec<Place>) -> (String, Vec<Stretch>) {
    // Outermost first; insertions before what begins at the same byte.
    places.sort_by_key(|place| {
        (
            place.start,
            place.end != place.start,
            usize::MAX - place.end,
        )
    });
    let mut writer = Writer {
        text,
        out: String::new(),
        stretches: Vec::new(),
    };
    let end = writer.write(&places, 0, text.len());
    writer.out.push_str(&text[end..]);
    (writer.out, writer.stretches)
}

struct Writer<'a> {
    text: &'a str,
    out: String,
    stretches: Vec<Stretch>,
}

impl Writer<'_> {
    /// Writes from byte `at` on, up to the end of the last place; returns the byte of `text` that is next.
    fn write(&mut self, places: &[Place], mut at: usize, end: usize) -> usize {
        let mut k = 0;
        while k < places.len() {
            let place = &places[k];
            assert!(at <= place.start && place.end <= end, "places overlap");
            self.out.push_str(&self.text[at..place.start]);
            let inside = places[k + 1..]
                .iter()
                .take_while(|other| other.start < place.end)
                .count();
            let began = self.out.len();
            self.place(place, &places[k + 1..=k + inside]);
            self.stretches.push(Stretch {
                start: began,
                end: self.out.len(),
                mutants: place.mutants.iter().map(|(number, _)| *number).collect(),
            });
            at = place.end;
            k += 1 + inside;
        }
        at
    }

    fn place(&mut self, place: &Place, inside: &[Place]) {
        match place.form {
            Form::Guard => {
                let off: Vec<String> = (place.mutants.iter())
                    .map(|(number, _)| format!("!crate::mutant::on({number})"))
                    .collect();
                self.out.push_str(&format!(" if {}", off.join(" && ")));
            }
            Form::Return => {
                for (number, value) in &place.mutants {
                    self.branch(*number, &format!("return {value};"));
                }
            }
            Form::Expression => {
                self.out.push('(');
                for (number, other) in &place.mutants {
                    self.branch(*number, other);
                    self.out.push_str("else ");
                }
                self.out.push_str("{ ");
                let at = self.write(inside, place.start, place.end);
                self.out.push_str(&self.text[at..place.end]);
                self.out.push_str(" })");
            }
        }
    }

    fn branch(&mut self, number: u32, code: &str) {
        self.out
            .push_str(&format!("if crate::mutant::on({number}) {{ "));
        let start = self.out.len();
        self.out.push_str(&code.replace('\n', " "));
        self.stretches.push(Stretch {
            start,
            end: self.out.len(),
            mutants: vec![number],
        });
        self.out.push_str(" } ");
    }
}

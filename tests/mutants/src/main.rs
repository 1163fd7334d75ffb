//! Puts mutants of Rust files behind switches: requests on standard input, texts on standard output, both as JSON.
//!
//! Mutants are those that `cargo mutants --list --json` names, by number. What stands beside a mutant in its own
//! branch is the code as it was: one mutant alone is on in a run, so that branches need no switches inside.

mod places;
mod text;

use std::collections::BTreeMap;
use std::io::Read;

use serde::{Deserialize, Serialize};

/// One mutant, as cargo-mutants lists it.
#[derive(Deserialize)]
pub struct Mutant {
    pub number: u32,
    pub genre: String,
    /// Line and column from 1 of what is replaced.
    pub start: (usize, usize),
    pub replacement: String,
}

/// A file and its mutants.
#[derive(Deserialize)]
struct Request {
    text: String,
    mutants: Vec<Mutant>,
}

/// A stretch of the written text, in bytes, and the mutants that it belongs to.
#[derive(Serialize)]
pub struct Stretch {
    pub start: usize,
    pub end: usize,
    pub mutants: Vec<u32>,
}

/// A file with its switches.
#[derive(Serialize)]
struct Written {
    text: String,
    /// Each mutant's own branch, and each place as a whole with all of its mutants.
    stretches: Vec<Stretch>,
    /// Mutants that no switch can turn: each wants a build of its own.
    alone: Vec<u32>,
    /// Mutants that no syntax has room for.
    unviable: Vec<u32>,
}

fn main() {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).unwrap();
    let requests: BTreeMap<String, Request> = serde_json::from_str(&input).unwrap();
    let written: BTreeMap<String, Written> = requests
        .into_iter()
        .map(|(file, request)| {
            let found = places::find(&request.text, &request.mutants);
            let (text, stretches) = text::with_switches(&request.text, found.places);
            let known = Written {
                text,
                stretches,
                alone: found.alone,
                unviable: found.unviable,
            };
            (file, known)
        })
        .collect();
    println!("{}", serde_json::to_string(&written).unwrap());
}

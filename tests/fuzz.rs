//! What fuzzers run (`tests/fuzz`), over their seeds and a few hundred other inputs, the same in every run.

#[path = "fuzz/bodies/mod.rs"]
mod bodies;

use std::path::Path;

/// Runs a target over the files of its folder, each of them cut short too, and over `more` other inputs.
fn over_seeds(target: &str, run: fn(&[u8]), more: u32) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/seeds")
        .join(target);
    let mut seeds: Vec<_> = (std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    seeds.sort();
    assert!(!seeds.is_empty());
    for seed in seeds {
        let bytes = std::fs::read(&seed).unwrap();
        println!("{}", seed.display());
        run(&bytes);
        run(&bytes[..bytes.len() / 2]);
    }
    // Marsaglia (2003), "Xorshift RNGs".
    let mut state = 2_463_534_242_u32;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 13) as u8
    };
    for length in (0..more).map(|k| k % 200) {
        let bytes: Vec<u8> = (0..length).map(|_| byte()).collect();
        println!("{bytes:?}");
        run(&bytes);
    }
}

#[test]
fn records() {
    over_seeds("records", bodies::records::run, 2000);
}

#[test]
fn set_functions() {
    over_seeds("set_functions", bodies::set_functions::run, 2000);
}

#[test]
fn certificates() {
    over_seeds("certificate", bodies::certificate::run, 400);
}

#[test]
fn checkpoints() {
    over_seeds("checkpoint", bodies::checkpoint::run, 400);
}

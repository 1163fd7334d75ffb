//! Checkpoints from outside: a file of any bytes continues one release or is refused. A seeded release that goes on
//! from a file gives the model of an uninterrupted one, and nothing damaged is taken for a beginning.

use std::path::Path;
use std::sync::OnceLock;

use dpsparse::exact::noise::source::Source;
use dpsparse::fit::PrivateFit;
use dpsparse::ndarray::Array2;
use dpsparse::plan::Plan;
use dpsparse::privacy::{Curator, MemoryLedger};
use dpsparse::release::run_resumably;
use dpsparse::{Error, Release, Result};
use sha2::{Digest, Sha256};

use super::choices::Choices;

/// Answers of the release below.
const STEPS: usize = 3;

struct Original {
    plan: Plan,
    x: Array2<f64>,
    y: Vec<f64>,
    whole: Release,
    /// What the file holds after so many answers.
    after: Vec<Vec<u8>>,
}

fn original() -> &'static Original {
    static ORIGINAL: OnceLock<Original> = OnceLock::new();
    ORIGINAL.get_or_init(|| {
        let x = Array2::from_shape_fn((60, 2), |(i, j)| ((i * (j + 3)) % 5) as f64 / 2.0 - 1.0);
        let y = x.column(0).to_vec();
        let options = format!("{{\"n_iter\": {STEPS}}}");
        let fit = PrivateFit::regressor(-1.0, 1.0)
            .bounds(-1.0, 1.0)
            .epsilon(1.0)
            .delta(1e-6)
            .mechanism_by_name("noisy-gradient-frank-wolfe", &options);
        let plan = fit.unwrap().plan(60, 2).unwrap();
        let folder = folder();
        let mut after = Vec::new();
        for stop in 1..=STEPS {
            let path = folder.path().join(stop.to_string());
            let stopped = resumed(&plan, &x, &y, &path, stop);
            assert!(matches!(stopped, Err(Error::Interrupted)));
            after.push(std::fs::read(&path).unwrap());
        }
        let whole = resumed(&plan, &x, &y, &folder.path().join("whole"), usize::MAX).unwrap();
        Original {
            plan,
            x,
            y,
            whole,
            after,
        }
    })
}

/// In memory where there is such a place: every line waits for the disk.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    }
    .expect("a folder of its own")
}

fn resumed(plan: &Plan, x: &Array2<f64>, y: &[f64], path: &Path, stop: usize) -> Result<Release> {
    let curator = Curator::from_dense(x.view(), y);
    let mut report = |done, _| match done == stop {
        true => Err(Error::Interrupted),
        false => Ok(()),
    };
    let ledger = &mut MemoryLedger::default();
    run_resumably(
        plan,
        &curator,
        ledger,
        Source::seeded(3),
        &mut report,
        Some(path),
    )
}

pub fn run(data: &[u8]) {
    let mut choices = Choices::new(data);
    let original = original();
    let kept = choices.pick(&original.after);
    let head = 1 + kept
        .iter()
        .position(|&byte| byte == b'\n')
        .expect("a first line");
    let mut bytes = kept.clone();
    let kind = choices.below(4);
    match kind {
        0 => bytes = choices.rest().to_vec(),
        1 => {
            // Lines that nobody counted are dropped.
            bytes.extend_from_slice(choices.rest());
        }
        2 => changed(&mut bytes, 0, &mut choices),
        _ => {
            changed(&mut bytes, head, &mut choices);
            let body = &bytes[head.min(bytes.len())..];
            let hash: String = Sha256::digest(body)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            let first = format!("dpsparse-checkpoint-1 {:020} {hash}\n", body.len());
            bytes.splice(..head.min(bytes.len()), first.into_bytes());
        }
    }
    let folder = folder();
    let path = folder.path().join("release");
    std::fs::write(&path, &bytes).unwrap();
    let Original {
        plan, x, y, whole, ..
    } = original;
    match resumed(plan, x, y, &path, usize::MAX) {
        // Whoever can write a hash can write answers: the model is then what they say.
        Ok(release) if kind == 3 => assert!(!release.certificate.verify()),
        Ok(release) => {
            assert!(
                bytes.starts_with(kept) || kind == 0,
                "a damaged file was continued"
            );
            assert_eq!(release.coefficients, whole.coefficients);
            assert_eq!(release.intercepts, whole.intercepts);
        }
        Err(Error::Checkpoint(_)) => assert!(kind != 1, "lines that were not counted do harm"),
        Err(other) => panic!("another kind of error: {other:?}"),
    }
}

/// Flips, cuts, removes or adds bytes behind the first `keep`.
fn changed(bytes: &mut Vec<u8>, keep: usize, choices: &mut Choices<'_>) {
    for _ in 0..=choices.below(3) {
        let space = bytes.len().saturating_sub(keep);
        if space == 0 {
            return;
        }
        let at = keep + usize::from(u16::from_le_bytes([choices.byte(), choices.byte()])) % space;
        match choices.below(5) {
            0 => bytes[at] ^= 1 << choices.below(8),
            1 => bytes[at] = choices.byte(),
            2 => bytes.truncate(at),
            3 => {
                bytes.remove(at);
            }
            _ => bytes.insert(at, choices.byte()),
        }
    }
}

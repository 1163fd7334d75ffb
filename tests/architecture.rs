//! The rules of the tree, checked on the tree: who may import whom, and that the room is sealed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The room (top-level module) that a file belongs to.
fn room(file: &Path) -> String {
    let relative = file.strip_prefix(root().join("src")).unwrap();
    relative
        .iter()
        .next()
        .unwrap()
        .to_str()
        .unwrap()
        .trim_end_matches(".rs")
        .to_string()
}

/// Data flows one way: each room may name the listed ones (and itself).
fn allowed() -> BTreeMap<&'static str, Vec<&'static str>> {
    let layers: [(&str, &[&str]); 27] = [
        ("error", &[]),
        ("theory", &[]),
        ("theory_of_privacy", &[]),
        ("numeric", &["error"]),
        ("loss", &["error", "numeric"]),
        ("set_function", &["error", "numeric"]),
        ("lovasz", &["error", "set_function"]),
        ("minimise", &["error", "numeric", "set_function", "lovasz"]),
        (
            "polytope",
            &["error", "numeric", "set_function", "lovasz", "minimise"],
        ),
        (
            "prox",
            &["error", "numeric", "set_function", "lovasz", "minimise"],
        ),
        (
            "norm",
            &["error", "set_function", "lovasz", "polytope", "prox"],
        ),
        (
            "solver",
            &["error", "numeric", "loss", "polytope", "prox", "norm"],
        ),
        (
            "privacy",
            &[
                "question",
                "accounting",
                "certificate",
                "exact",
                "schema",
                "error",
                "numeric",
                "loss",
                "set_function",
                "polytope",
                "prox",
                "norm",
            ],
        ),
        (
            "question",
            &[
                "accounting",
                "error",
                "exact",
                "loss",
                "norm",
                "numeric",
                "polytope",
                "schema",
            ],
        ),
        ("exact", &["error", "numeric"]),
        ("accounting", &["error", "numeric"]),
        ("schema", &["error", "numeric"]),
        ("certificate", &["error", "accounting", "schema", "privacy"]),
        (
            "plan",
            &[
                "question",
                "error",
                "theory",
                "accounting",
                "loss",
                "set_function",
                "polytope",
                "norm",
                "privacy",
            ],
        ),
        (
            "auto",
            &[
                "question",
                "error",
                "numeric",
                "accounting",
                "exact",
                "loss",
                "privacy",
                "plan",
                "mechanism",
            ],
        ),
        (
            "mechanism",
            &[
                "question",
                "accounting",
                "certificate",
                "exact",
                "plan",
                "error",
                "theory",
                "numeric",
                "loss",
                "set_function",
                "polytope",
                "prox",
                "norm",
                "solver",
                "privacy",
            ],
        ),
        (
            "release",
            &["error", "certificate", "exact", "plan", "privacy"],
        ),
        (
            "fit",
            &[
                "error",
                "accounting",
                "auto",
                "certificate",
                "exact",
                "loss",
                "mechanism",
                "plan",
                "privacy",
                "release",
                "search",
            ],
        ),
        (
            "search",
            &["error", "accounting", "plan", "privacy", "question"],
        ),
        (
            "search_tests",
            &[
                "accounting",
                "exact",
                "loss",
                "mechanism",
                "plan",
                "privacy",
                "search",
            ],
        ),
        (
            "python",
            &[
                "question",
                "accounting",
                "auto",
                "certificate",
                "exact",
                "fit",
                "plan",
                "schema",
                "error",
                "theory",
                "numeric",
                "loss",
                "set_function",
                "lovasz",
                "polytope",
                "prox",
                "norm",
                "solver",
                "privacy",
                "mechanism",
                "release",
                "search",
            ],
        ),
        ("lib", &["error", "certificate", "fit", "release", "python"]),
    ];
    layers
        .into_iter()
        .map(|(name, rooms)| (name, rooms.to_vec()))
        .collect()
}

#[test]
fn imports_flow_one_way() {
    let allowed = allowed();
    let mut checked = 0;
    for file in rust_files(&root().join("src")) {
        let room = room(&file);
        let may = allowed
            .get(room.as_str())
            .unwrap_or_else(|| panic!("{} is in no known room", file.display()));
        for line in fs::read_to_string(&file).unwrap().lines() {
            let code = line.trim_start();
            if code.starts_with("//") {
                continue;
            }
            for (at, _) in code.match_indices("crate::") {
                let rest = &code[at + "crate::".len()..];
                let name: String = rest
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                // `crate::{Error, Result}`-style re-exports of the error type
                if name.is_empty() || name == "Error" || name == "Result" || name == room {
                    continue;
                }
                assert!(
                    may.contains(&name.as_str()),
                    "{} may not import {name}: {code}",
                    file.display()
                );
                checked += 1;
            }
        }
    }
    assert!(
        checked > 40,
        "only {checked} imports were found: the scan is broken"
    );
}

#[test]
fn only_the_python_room_names_pyo3_and_only_kernels_and_maps_of_files_are_unsafe() {
    for file in rust_files(&root().join("src")) {
        let text = fs::read_to_string(&file).unwrap();
        let code: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        if room(&file) != "python" && room(&file) != "lib" {
            assert!(
                code.iter().all(|line| !line.contains("pyo3")),
                "{} names pyo3",
                file.display()
            );
        }
        let kernel = file.starts_with(root().join("src/numeric/kernel"));
        if !kernel && !file.ends_with("numeric/mapped.rs") {
            assert!(
                code.iter()
                    .all(|line| !line.contains("unsafe {") && !line.contains("unsafe fn")),
                "{} is unsafe",
                file.display()
            );
        }
    }
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Compiles a copy of the crate with `code` added to the mechanisms; returns the compiler's messages if it
/// fails.
fn compile_with(name: &str, code: &str) -> Result<(), String> {
    // One at a time, the copy included: to cargo all copies are one package, fresh where its files are older than the
    // last build.
    static COMPILER: Mutex<()> = Mutex::new(());
    let _turn = COMPILER.lock().unwrap_or_else(PoisonError::into_inner);
    let copy = root().join("target").join("sealed").join(name);
    let _ = fs::remove_dir_all(&copy);
    for folder in ["src", "benches"] {
        copy_tree(&root().join(folder), &copy.join(folder));
    }
    for file in ["Cargo.toml", "Cargo.lock", "README.md"] {
        fs::copy(root().join(file), copy.join(file)).unwrap();
    }
    let file = copy.join("src/mechanism/frank_wolfe.rs");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}\n{code}\n")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["check", "--lib", "--offline", "--quiet"])
        .current_dir(&copy)
        .env(
            "CARGO_TARGET_DIR",
            root().join("target").join("sealed").join("target"),
        )
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// A mistake of a mechanism: what it is, its arguments, its body, and the error that the compiler gives.
type Mistake = (&'static str, &'static str, &'static str, &'static str);

const SESSION: &str = "mut session: Session<'_>";
const CURATOR: &str = "curator: &crate::privacy::Curator<'_>";
const QUESTION: &str = "mut question: Question<Vertex>";
const SOURCE: &str = "source: &mut crate::exact::noise::source::Source";
const POINT: &str =
    "point: &Question<crate::question::Point>, source: &mut crate::exact::noise::source::Source";

/// Mistakes that the compiler finds while it resolves names.
const NAMES: &[Mistake] = &[
    (
        "records in blocks",
        "",
        "let _: crate::privacy::blocks::Blocks;",
        "E0603",
    ),
    (
        "bounded records",
        "",
        "let _: crate::privacy::bounded_data::BoundedData;",
        "E0603",
    ),
    (
        "a pass over records",
        "",
        "let _: crate::privacy::records::Pass<'_>;",
        "E0603",
    ),
    (
        "a budget",
        "",
        "let _: crate::privacy::budget::Budget;",
        "E0603",
    ),
    (
        "the state of a release",
        "",
        "let _: crate::privacy::session::Core;",
        "E0603",
    ),
    (
        "what makes a set function the crate's own",
        "",
        "let _: crate::set_function::sealed::Token;",
        "E0603",
    ),
    (
        "a witness",
        "",
        "let _ = crate::privacy::Witness(());",
        "E0423",
    ),
];

/// Mistakes that it finds while it checks types.
const TYPES: &[Mistake] = &[
    (
        "records of a session",
        SESSION,
        "let _ = session.records;",
        "E0616",
    ),
    (
        "the generator",
        SESSION,
        "let _ = &mut session.core.source;",
        "E0616",
    ),
    (
        "spending by hand",
        SESSION,
        "session.core.budget.spend(1);",
        "E0616",
    ),
    (
        "the same noise twice",
        SOURCE,
        "let _ = source.streams();",
        "E0624",
    ),
    (
        "the curator of a session",
        SESSION,
        "let _ = session.curator;",
        "E0616",
    ),
    (
        "what stays in the room",
        SESSION,
        "let _ = session.states;",
        "E0616",
    ),
    ("targets", CURATOR, "let _ = curator.targets;", "E0616"),
    ("raw records", CURATOR, "let _ = &curator.raw;", "E0616"),
    (
        "bounded records of a curator",
        "curator: &crate::privacy::Curator<'_>, statement: &std::sync::Arc<crate::privacy::Statement>",
        "let _ = curator.read(None, statement.schema());",
        "E0624",
    ),
    (
        "a question of its own",
        "statement: &std::sync::Arc<crate::privacy::Statement>, vertex: Vertex",
        "let _ = Question::new(statement, vertex, Vec::new());",
        "E0624",
    ),
    (
        "a cheaper question",
        QUESTION,
        "question.events.clear();",
        "E0616",
    ),
    (
        "a dearer question",
        "mut question: Question<Vertex>, event: Event",
        "question.also_costs(event);",
        "E0624",
    ),
    (
        "another question's state",
        "one: Question<Vertex>, other: Question<Vertex>",
        "one.sharing(&other);",
        "E0624",
    ),
    (
        "a draw",
        "vertex: Vertex",
        "let _ = crate::privacy::Answer::draw(&vertex);",
        "E0061",
    ),
    (
        "a certificate",
        "terms: crate::certificate::Terms",
        "let _ = crate::certificate::Certificate::new(terms, Vec::new());",
        "E0061",
    ),
    (
        "a new witness",
        "",
        "let _ = crate::privacy::Witness::new();",
        "E0624",
    ),
    (
        "scores without a curator",
        "problem: &Problem, models: &[crate::question::LinearModel]",
        "let _ = crate::privacy::Curator::non_private_scores(&problem.statement, models);",
        "E0061",
    ),
    (
        "a point without noise",
        POINT,
        "let _ = point.without_noise(source);",
        "E0624",
    ),
    (
        "a point of a session",
        SESSION,
        "let _ = session.non_private_point();",
        "E0599",
    ),
    (
        "a curator without records",
        "",
        "let _ = crate::privacy::Curator::default();",
        "E0599",
    ),
    (
        "no kind of answer",
        "session: &mut Session<'_>, question: &Question<f64>",
        "let _ = session.ask(question, ());",
        "E0277",
    ),
    (
        "a question asked as one of another kind",
        "session: &mut Session<'_>, question: &Question<Vertex>, theta: &[f64]",
        "let _ = session.ask(question, theta);",
        "E0308",
    ),
];

/// Mistakes that it finds when everything else is right: values made from their fields.
const VALUES: &[Mistake] = &[
    (
        "a session",
        SESSION,
        "let _ = Session { ..session };",
        "E0451",
    ),
    (
        "a question",
        QUESTION,
        "let _ = Question { ..question };",
        "E0451",
    ),
    (
        "a sealed program",
        "sealed: crate::privacy::Sealed<Fitted>",
        "let _ = crate::privacy::Sealed { ..sealed };",
        "E0451",
    ),
    (
        "a statement",
        "statement: crate::privacy::Statement",
        "let _ = crate::privacy::Statement { ..statement };",
        "E0451",
    ),
    ("a plan", "plan: Plan", "let _ = Plan { ..plan };", "E0451"),
];

/// A mechanism that reads records, makes what the room makes, writes an event or answers itself does not compile; one
/// that uses public facts does.
#[test]
fn the_room_is_sealed() {
    let public = "fn facts(session: &mut Session<'_>, question: &Question<Vertex>) -> usize {
        question.events().len() + session.statement().n_samples()
    }";
    assert_eq!(compile_with("public", public), Ok(()));
    for (name, mistakes) in [("names", NAMES), ("types", TYPES), ("values", VALUES)] {
        let functions = (mistakes.iter().enumerate()).map(|(k, (_, arguments, body, _))| {
            format!("fn mistake_{k}({arguments}) {{\n{body}\n}}")
        });
        let code: Vec<String> = functions.collect();
        let messages = compile_with(name, &code.join("\n")).expect_err("mistakes must not compile");
        let messages = format!("\n{messages}");
        for (what, _, body, error) in mistakes {
            // The compiler quotes the line below its error.
            let quoted = messages
                .split("\nerror")
                .find(|message| message.contains(body));
            let found = quoted.is_some_and(|message| message.starts_with(&format!("[{error}]")));
            assert!(
                found,
                "{what} compiles, or fails by something else than {error}: {messages}"
            );
        }
    }
}

/// A kind of answer that a mechanism makes lacks what it cannot name.
#[test]
fn mechanisms_do_not_answer() {
    let own = "#[derive(Debug, Clone)]
        struct Own;
        impl crate::privacy::Answer for Own { type At<'a> = (); type Released = (); type State = (); }";
    let messages = compile_with("own", own).expect_err("an answer of its own must not compile");
    assert!(messages.contains("E0046"), "{messages}");
}

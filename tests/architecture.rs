//! The rules of the tree, checked on the tree: who may import whom, and that the room is sealed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    let layers: [(&str, &[&str]); 23] = [
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
                "accounting",
                "exact",
                "schema",
                "error",
                "numeric",
                "loss",
                "set_function",
                "polytope",
                "prox",
                "norm",
                "solver",
            ],
        ),
        ("exact", &["error", "numeric"]),
        ("accounting", &["error", "numeric"]),
        ("schema", &["error", "numeric"]),
        ("certificate", &["error", "accounting", "schema"]),
        (
            "plan",
            &[
                "error",
                "theory",
                "accounting",
                "schema",
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
                "error",
                "numeric",
                "accounting",
                "exact",
                "schema",
                "loss",
                "privacy",
                "plan",
                "mechanism",
            ],
        ),
        (
            "mechanism",
            &[
                "accounting",
                "exact",
                "schema",
                "plan",
                "error",
                "theory",
                "numeric",
                "loss",
                "set_function",
                "polytope",
                "prox",
                "norm",
                "privacy",
            ],
        ),
        (
            "release",
            &[
                "error",
                "accounting",
                "certificate",
                "exact",
                "schema",
                "plan",
                "mechanism",
                "privacy",
            ],
        ),
        (
            "python",
            &[
                "accounting",
                "auto",
                "certificate",
                "exact",
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
            ],
        ),
        ("lib", &["error", "certificate", "release", "python"]),
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
fn only_the_python_room_names_pyo3_and_only_the_kernel_is_unsafe() {
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
        if !file.ends_with("numeric/kernel.rs") {
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

/// A mechanism that reads a record does not compile; one that uses public facts does.
#[test]
fn the_room_is_sealed() {
    let public =
        "/// Public.\npub fn public_facts(data: &BoundedData) -> usize { data.n_columns() }";
    assert_eq!(compile_with("public", public), Ok(()));
    for (name, code, error) in [
        (
            "targets",
            "/// Leak.\npub fn leak(data: &BoundedData) -> f64 { data.targets[0] }",
            "E0616",
        ),
        (
            "features",
            "/// Leak.\npub fn leak(data: &BoundedData) { let _ = &data.features; }",
            "E0616",
        ),
        (
            "count",
            "/// Leak.\npub fn leak(data: &BoundedData) -> usize { data.n_records() }",
            "E0624",
        ),
        (
            "gradient",
            "/// Leak.\npub fn leak(data: &BoundedData, out: &mut [i64]) { data.gradient(&[1], out); }",
            "E0624",
        ),
    ] {
        let messages = compile_with(name, code).expect_err("reading a record must not compile");
        assert!(messages.contains(error), "{name}: {messages}");
    }
}

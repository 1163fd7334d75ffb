"""A copy of the tree with every mutant behind a switch, and its programs."""

import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from listed import ROOT, Mutant
from trees import git_files

VARIABLE = "DPSPARSE_MUTANT"
REACHED = "DPSPARSE_MUTANTS_REACHED"

# The switchboard, a module of the copy alone: switches sit in inner loops, where two comparisons are all they cost.
MODULE = f"""
pub(crate) mod mutant {{
    use std::sync::atomic::{{AtomicU8, AtomicU32, Ordering::Relaxed}};
    const UNREAD: u32 = u32::MAX;
    const RECORD: u32 = u32::MAX - 1;
    static CHOSEN: AtomicU32 = AtomicU32::new(UNREAD);
    static KNOWN: [AtomicU8; COUNT] = [const {{ AtomicU8::new(0) }}; COUNT];

    /// Whether this mutant is on in this run.
    #[inline(always)]
    pub(crate) fn on(number: u32) -> bool {{
        let chosen = CHOSEN.load(Relaxed);
        chosen == number || (chosen >= RECORD && unusual(number))
    }}

    /// Reads what the run is for, or writes down that the mutant was reached.
    #[cold]
    fn unusual(number: u32) -> bool {{
        use std::io::Write;
        if CHOSEN.load(Relaxed) == UNREAD {{
            let chosen = if std::env::var_os("{REACHED}").is_some() {{ RECORD }} else {{
                std::env::var("{VARIABLE}").map_or(0, |number| number.parse().expect("a number"))
            }};
            CHOSEN.store(chosen, Relaxed);
            return on(number);
        }}
        let known = &KNOWN[number as usize];
        if known.load(Relaxed) == 0 && known.swap(1, Relaxed) == 0 {{
            let path = std::env::var_os("{REACHED}").unwrap();
            let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
            file.and_then(|mut file| file.write_all(format!("{{number}}\\n").as_bytes())).expect("a file to write");
        }}
        false
    }}
}}
"""


class BuildError(Exception):
    """The compiler refused the copy for a reason that is no mutant's."""


def write_tree(folder: Path, changed: Mapping[str, str]) -> None:
    """Makes `folder` hold the files of the repository, those of `changed` with these texts; writes no file in vain."""
    listed = git_files(ROOT)
    for name in listed:
        content = changed[name].encode() if name in changed else (ROOT / name).read_bytes()
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    for path in (folder / "src").rglob("*.rs"):
        if str(path.relative_to(folder)) not in listed:
            path.unlink()


def cargo_environment(work: Path) -> dict[str, str]:
    """What cargo runs with. Switches bring parentheses and dead ends that lints dislike."""
    return os.environ | {"CARGO_TARGET_DIR": str(work / "target"), "RUSTFLAGS": "--cap-lints allow"}


def test_programs(folder: Path, targets: Sequence[str], environment: Mapping[str, str]) -> dict[str, Path]:
    """Builds the programs of these tests (`lib`, or the name of a file in `tests/`), by target."""
    asked = [word for target in targets for word in (["--lib"] if target == "lib" else ["--test", target])]
    command = [
        "cargo",
        "test",
        "--no-run",
        "--locked",
        "--quiet",
        *asked,
        "--message-format",
        "json-render-diagnostics",
    ]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(command)} failed\n{done.stderr[-4000:]}")
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    made = {
        entry["target"]["name"]: Path(entry["executable"])
        for entry in messages
        if entry.get("executable") and entry["profile"]["test"]
    }
    return {target: made["dpsparse" if target == "lib" else target] for target in targets}


@dataclass
class Switched:
    """A copy of the repository's files in `work`, with `mutants` behind switches.

    Files are written only where they change, so that a folder that is used again builds incrementally.
    """

    work: Path
    mutants: Sequence[Mutant]
    unviable: set[int] = field(default_factory=set)
    alone: set[int] = field(default_factory=set)
    _stretches: dict[str, list[dict[str, object]]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where the copy is."""
        return self.work / "tree"

    def write(self) -> None:
        """Makes the folder hold the files of the repository, mutated files with their switches."""
        written = self._with_switches()
        written["src/lib.rs"] = (ROOT / "src/lib.rs").read_text() + MODULE.replace("COUNT", str(1 + len(self.mutants)))
        write_tree(self.folder, written)

    def _with_switches(self) -> dict[str, str]:
        """Texts of the mutated files, of the Rust program beside this one."""
        asked: dict[str, dict[str, object]] = {}
        for file in sorted({mutant.file for mutant in self.mutants}):
            here = [mutant for mutant in self.mutants if mutant.file == file and mutant.number not in self.unviable]
            keys = ("number", "genre", "start", "replacement")
            asked[file] = {
                "text": (ROOT / file).read_text(),
                "mutants": [{key: getattr(mutant, key) for key in keys} for mutant in here],
            }
        manifest = Path(__file__).resolve().parent / "Cargo.toml"
        done = subprocess.run(
            ["cargo", "run", "--locked", "--quiet", "--manifest-path", manifest],
            input=json.dumps(asked),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env={**os.environ, "CARGO_TARGET_DIR": str(self.work / "switches")},
        )
        written = json.loads(done.stdout)
        for file, known in written.items():
            self._stretches[file] = known["stretches"]
            self.alone.update(known["alone"])
            self.unviable.update(known["unviable"])
        return {file: known["text"] for file, known in written.items()}

    def drop_unviable(self) -> None:
        """Writes the copy and checks it until it compiles; mutants that the compiler points at are unviable."""
        while True:
            self.write()
            errors = self._errors()
            if not errors:
                return
            found = {number for error in errors for number in self._blamed(error)}
            if not found - self.unviable:
                raise BuildError("\n".join(str(error["rendered"]) for error in errors[:3]))
            self.unviable |= found
            print(f"{len(errors)} errors, {len(found)} mutants do not compile", flush=True)

    def _errors(self) -> list[dict[str, object]]:
        command = ["cargo", "check", "--locked", "--lib", "--profile", "test", "--message-format", "json"]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=cargo_environment(self.work),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        errors = [
            entry["message"]
            for entry in messages
            if entry["reason"] == "compiler-message" and entry["message"]["level"] == "error"
        ]
        if done.returncode != 0 and not errors:
            raise BuildError(f"{' '.join(command)} failed")
        return [error for error in errors if error["spans"]]

    def _blamed(self, error: dict[str, object]) -> set[int]:
        """The mutants of the innermost stretch that the error points at; of branches rather than of places."""
        spans = sorted(_spans(error), key=lambda span: not span["is_primary"])
        candidates = []
        for rank, span in enumerate(spans):
            around = [
                stretch
                for stretch in self._stretches.get(str(span["file_name"]), [])
                if stretch["start"] <= span["byte_start"] and span["byte_end"] <= stretch["end"]
            ]
            if around:
                innermost = min(around, key=lambda stretch: stretch["end"] - stretch["start"])
                candidates.append((len(innermost["mutants"]) > 1, rank, innermost["mutants"]))
        return set(min(candidates)[2]) if candidates else set()

    def programs(self, targets: Sequence[str]) -> dict[str, Path]:
        """Builds the programs of these tests, by target."""
        return test_programs(self.folder, targets, cargo_environment(self.work))

    def build_module(self, python: Path) -> None:
        """The extension module beside the package's sources, so that PYTHONPATH alone finds both."""
        command = ["cargo", "build", "--lib", "--locked", "--features", "python"]
        settings = {"PYO3_BUILD_EXTENSION_MODULE": "1", "PYO3_PYTHON": str(python)}
        done = subprocess.run(
            [*command, "--message-format", "json-render-diagnostics"],
            cwd=self.folder,
            env={**cargo_environment(self.work), **settings},
            stdout=subprocess.PIPE,
            text=True,
        )
        if done.returncode != 0:
            raise BuildError(f"{' '.join(command)} failed")
        messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        files = [Path(name) for entry in messages for name in entry.get("filenames", []) if _is_ours(entry)]
        library = next(file for file in files if file.suffix in {".so", ".dylib", ".dll"})
        (self.folder / "python/dpsparse/_core.abi3.so").write_bytes(library.read_bytes())


def _is_ours(entry: dict[str, object]) -> bool:
    return entry.get("target", {}).get("name") == "dpsparse"


def _spans(error: dict[str, object]) -> Iterable[dict[str, object]]:
    yield from error["spans"]
    for child in error["children"]:
        yield from _spans(child)

"""A copy of the tree with the bugs in it, its builds and its tests."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from bugs import ROOT, Bug
from switches import MODULE, QUIET, VARIABLE, with_switches


class Verdict(Enum):
    """What became of one run of a test."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    BROKEN = "did not run"  # not built, not found, not collected, skipped


class BuildError(Exception):
    """The compiler refused the copy."""


@dataclass
class Tree:
    """A copy of the repository's files in `folder`, with `bugs`, by number, behind switches; plain if there are none.

    Files are written only where they change, so that a folder that is used again builds incrementally.
    """

    folder: Path
    bugs: Mapping[int, Bug]
    python: Path
    _programs: dict[str, Path] = field(default_factory=dict)

    def write(self) -> None:
        """Makes the folder hold the files of the repository and no others; what git ignores stays."""
        listed = git_files(ROOT)
        for name in listed:
            self._write(name, self._text(name))
        sources = [path for part in ("src", "python", "tests") for path in (self.folder / part).rglob("*.*")]
        for path in sources:
            if path.suffix in {".rs", ".py"} and str(path.relative_to(self.folder)) not in listed:
                path.unlink()

    def _text(self, name: str, alone: Bug | None = None) -> bytes:
        """The file as it stands in the copy; with `alone`, patched by this bug and free of switches."""
        if alone is not None and alone.file == name:
            text = alone.patched((ROOT / name).read_text())
        else:
            here = [(number, bug) for number, bug in self.bugs.items() if bug.file == name and bug.switched]
            if not here and name != "src/lib.rs":
                return (ROOT / name).read_bytes()
            text = with_switches((ROOT / name).read_text(), here)
        return (QUIET + text + MODULE if self.bugs and name == "src/lib.rs" else text).encode()

    def _write(self, name: str, content: bytes) -> None:
        path = self.folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def plant(self, bug: Bug) -> None:
        """Patches the bug's file really; `heal` takes it back."""
        self._write(bug.file, self._text(bug.file, alone=bug))

    def heal(self, bug: Bug) -> None:
        """The file as `write` left it."""
        self._write(bug.file, self._text(bug.file))

    def build(self, suites: Sequence[str]) -> None:
        """Builds what the tests of `suites` need; raises BuildError."""
        for suite in sorted(set(suites)):
            if suite == "python":
                self._build_module()
            elif suite == "architecture":
                self._programs[suite] = self._build_test_of_the_tree(suite)
            else:
                target = ["--lib"] if suite == "rust" else ["--test", suite]
                self._programs[suite] = self._cargo(["test", "--no-run", *target], "executable")

    def _build_test_of_the_tree(self, suite: str) -> Path:
        """A test that reads sources and needs no crate: the compiler alone, in seconds."""
        program = self.folder / "target" / suite
        program.parent.mkdir(exist_ok=True)
        known = {"CARGO_MANIFEST_DIR": str(self.folder), "CARGO": shutil.which("cargo") or "cargo"}
        command = ["rustc", "--test", "--edition", "2024", f"tests/{suite}.rs", "-o", str(program)]
        if subprocess.run(command, cwd=self.folder, env={**os.environ, **known}, check=False).returncode != 0:
            raise BuildError(f"{' '.join(command)} failed")
        return program

    def _build_module(self) -> None:
        """The extension module beside the package's sources, so that PYTHONPATH alone finds both."""
        settings = {"PYO3_BUILD_EXTENSION_MODULE": "1", "PYO3_PYTHON": str(self.python)}
        library = self._cargo(["build", "--lib", "--features", "python"], "filenames", settings)
        self._write("python/dpsparse/_core.abi3.so", library.read_bytes())

    def _cargo(self, command: list[str], key: str, settings: Mapping[str, str] | None = None) -> Path:
        environment = {"CARGO_TARGET_DIR": str(self.folder / "target"), **os.environ, **(settings or {})}
        done = subprocess.run(
            ["cargo", *command, "--locked", "--quiet", "--message-format", "json-render-diagnostics"],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise BuildError(f"cargo {' '.join(command)} failed")
        messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        made = [message for message in messages if str(self.folder / "Cargo.toml") == message.get("manifest_path")]
        if key == "executable":
            return Path(next(message[key] for message in made if message.get(key)))
        libraries = (Path(file) for message in made for file in message.get(key, []))
        return next(file for file in libraries if file.suffix in {".so", ".dylib", ".dll"})

    def run(self, test: str, number: int | None, limit: float) -> tuple[Verdict, str]:
        """Runs one test with the bug of this number switched on; returns its verdict and what it printed.

        `limit`: seconds after which the test and its children are killed.
        """
        suite, _, name = test.partition(":")
        environment = {key: value for key, value in os.environ.items() if key != VARIABLE}
        if number is not None:
            environment[VARIABLE] = str(number)
        if suite == "python":
            environment["PYTHONPATH"] = str(self.folder / "python")
            # Compiled files are known by second and size: a patch of the same second would be mistaken for another.
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
            options = ["-q", "-p", "no:cacheprovider", "--override-ini", "addopts=-m 'not slow'"]
            command = [str(self.python), "-m", "pytest", *options, name]
        else:
            command = [str(self._programs[suite]), "--exact", name]
        status, output = _run(command, self.folder, environment, limit)
        judge = _of_pytest if suite == "python" else _of_cargo
        return Verdict.TIMED_OUT if status is None else judge(status, output), output


def _of_cargo(status: int, output: str) -> Verdict:
    if "running 1 test\n" not in output or " 1 ignored" in output:
        return Verdict.BROKEN
    return Verdict.PASSED if status == 0 else Verdict.FAILED


def _of_pytest(status: int, output: str) -> Verdict:
    """A failure is a test's own, not one of collection (status 2, 4, 5) or of a fixture (`error`)."""
    if status == 0 and re.search(r"\b\d+ passed\b", output):
        return Verdict.PASSED
    return Verdict.FAILED if status == 1 and re.search(r"\b\d+ failed\b", output) else Verdict.BROKEN


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str], limit: float) -> tuple[int | None, str]:
    """Status (None after `limit` seconds) and output; the test's children end with it."""
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, process.communicate()[0]
        return process.returncode, output


def git_files(root: Path) -> list[str]:
    """Tracked and untracked files that git does not ignore and that exist."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (root / name).is_file()]


def make_python(folder: Path) -> Path:
    """A virtual environment with what the package and its tests need, made once in `folder`."""
    python = folder / "bin" / "python"
    if not python.exists():
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        needed = project["dependencies"] + project["optional-dependencies"]["test"]
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        quiet = ["--quiet", "--disable-pip-version-check"]
        subprocess.run([python, "-m", "pip", "install", *quiet, *needed], check=True)
    return python

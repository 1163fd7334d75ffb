"""Which tests reach which mutants, and what becomes of a mutant's tests."""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from switched import REACHED, VARIABLE

LEAST = 5.0  # seconds after which a test with a mutant in it is one that hangs; more where it is as slow without
MULTIPLE = 4.0
PATIENCE = 900.0  # seconds for tests without a mutant

# The same examples in every run; those that fail are neither simplified nor written down for the next.
PROPTEST = {
    "PROPTEST_RNG_SEED": "1",
    "PROPTEST_MAX_SHRINK_ITERS": "0",
    "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "true",
}


@dataclass(frozen=True)
class Test:
    """One test: `name` of the program `suite`, or a file of Python's tests."""

    suite: str
    name: str


@dataclass(frozen=True)
class Known:
    """What a run without a mutant tells of a test: its seconds, and the mutants that it reaches."""

    seconds: float
    reached: frozenset[int]


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: `killed`, `timed out` (killed too), `survived` or `unreached`; and by which test."""

    what: str
    by: str = ""
    seconds: float = 0.0


class TestError(Exception):
    """A test fails without a mutant."""


@dataclass
class Bench:
    """Programs that run tests, and where."""

    folder: Path
    programs: Mapping[str, Path]
    python: Path | None = None

    def tests(self, suite: str) -> list[Test]:
        """All tests of a program."""
        command = [str(self.programs[suite]), "--list", "--format", "terse"]
        listed = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, text=True, check=True).stdout
        return [Test(suite, line.removesuffix(": test")) for line in listed.splitlines() if line.endswith(": test")]

    def know(self, test: Test) -> Known:
        """Runs one test without a mutant, for what it reaches, and then for its seconds."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "reached"
            for settings in ({REACHED: str(path)}, {VARIABLE: "0"}):
                verdict = self._run([test], settings, PATIENCE)
                if verdict.what != "survived":
                    raise TestError(f"{test.suite} {test.name}: {verdict.what} without a mutant")
            reached = path.read_text().split() if path.exists() else []
        return Known(verdict.seconds, frozenset(int(number) for number in reached))

    def try_mutant(self, number: int, tests: Sequence[Test], known: Mapping[Test, Known]) -> Verdict:
        """Runs the tests, in their order, with the mutant on, until one fails."""
        began = time.monotonic()
        for several in _batches(tests, known):
            limit = max(LEAST, MULTIPLE * sum(known[test].seconds for test in several))
            verdict = self._run(several, {VARIABLE: str(number)}, limit)
            if verdict.what != "survived":
                return Verdict(verdict.what, verdict.by, time.monotonic() - began)
        return Verdict("survived" if tests else "unreached", "", time.monotonic() - began)

    def _run(self, tests: Sequence[Test], settings: Mapping[str, str], limit: float) -> Verdict:
        suite = tests[0].suite
        environment = {key: value for key, value in os.environ.items() if key not in (VARIABLE, REACHED)}
        environment |= PROPTEST
        names = [test.name for test in tests]
        if suite == "python":
            environment |= {"PYTHONPATH": str(self.folder / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
            options = ["-x", "-q", "-p", "no:cacheprovider", "--tb=no", "-rf"]
            command = [str(self.python), "-m", "pytest", *options, *names]
        else:
            command = [str(self.programs[suite]), "--test-threads=1", "--exact", *names]
        began = time.monotonic()
        status, last = _run_until_failure(command, self.folder, environment | settings, limit)
        seconds = time.monotonic() - began
        if status == 0:
            return Verdict("survived", "", seconds)
        return Verdict("timed out" if status is None else "killed", f"{suite}: {last}", seconds)


def _batches(tests: Sequence[Test], known: Mapping[Test, Known]) -> Iterator[list[Test]]:
    """Tests of one suite that share a process: a few quick ones first, then more at a time."""
    several: list[Test] = []
    seconds, most = 0.0, 0.5
    for test in tests:
        if several and (test.suite != several[0].suite or seconds + known[test].seconds > most):
            yield several
            several, seconds, most = [], 0.0, min(4.0 * most, 20.0)
        several.append(test)
        seconds += known[test].seconds
    if several:
        yield several


def _run_until_failure(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], limit: float
) -> tuple[int | None, str]:
    """Status (None after `limit` seconds) and the last test named; the first failure ends the process."""
    out_of_time = threading.Event()
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:

        def kill() -> None:
            out_of_time.set()
            _kill(process)

        timer = threading.Timer(limit, kill)
        timer.start()
        last = ""
        for line in process.stdout:
            if line.startswith(("test ", "FAILED ")) and "test result:" not in line:
                last = line.split()[1]
            if line.rstrip().endswith("FAILED") and line.startswith("test "):
                _kill(process)
                break
        timer.cancel()
        status = process.wait()
    return (None if out_of_time.is_set() else status), last


def _kill(process: "subprocess.Popen[str]") -> None:
    """Ends the process and its children."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)

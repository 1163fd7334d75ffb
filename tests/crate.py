"""`cargo test` beside the tests of Python: most of these keep one core busy, and a compiler takes the other."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: The test that waits for it, in this file.
WAITING = "test_crate.py"


class CrateTests:
    """`cargo test`, in a process of its own from the moment that the tests are known."""

    def __init__(self) -> None:
        # The same examples in every run, as in the property tests of Python; a plain `cargo test` tries new ones.
        same = {} if os.environ.get("DPSPARSE_EXPLORE") else {"PROPTEST_RNG_SEED": "20190217"}
        self._output = tempfile.TemporaryFile("w+")  # noqa: SIM115  # `stop` closes it
        self._process = subprocess.Popen(
            ["cargo", "test", "--locked", "--quiet"],
            cwd=ROOT,
            env=os.environ | same,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    def wait(self) -> tuple[int, str]:
        """Return its exit status and all that it printed."""
        status = self._process.wait()
        self._output.seek(0)
        return status, self._output.read()

    def stop(self) -> None:
        """End it where nobody waited for it."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
        self._output.close()


class BesidePython:
    """Starts the crate's tests where the test that waits for them is among several, and lets it be the last."""

    def __init__(self) -> None:
        self.tests: CrateTests | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: item.path.name == WAITING)  # stable: all others stay in their order

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        wanted = any(item.path.name == WAITING for item in session.items)
        if wanted and shutil.which("cargo") and not session.config.option.collectonly:
            self.tests = CrateTests()

    def pytest_unconfigure(self) -> None:
        if self.tests is not None:
            self.tests.stop()

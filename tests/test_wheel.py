"""What ships beside the code: licences of crates, the suite of invariants, and what packages leave out."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_licences_of_all_crates_are_listed_and_shipped():
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    crates = {(crate["name"], crate["version"]) for crate in locked if "source" in crate}
    page = ROOT / "python/THIRD-PARTY-LICENSES.md"
    rows = [line.strip("| ").split(" | ") for line in page.read_text().splitlines() if line.startswith("| ")][1:]
    listed = {(name, version): licence for name, version, licence, *_ in rows}
    assert set(listed) == crates  # else: python .ci/third_party_licenses.py
    assert all(licence and licence != "None" for licence in listed.values())
    assert str(page.relative_to(ROOT)) in PROJECT["license-files"]
    assert all((ROOT / path).is_file() for path in PROJECT["license-files"])


def test_sources_hold_what_tests_read():
    """Who unpacks a source distribution runs the README's commands there: folders with a dot were left out."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]
    shipped = [Path(entry["path"]) for entry in settings["include"] if entry["format"] == "sdist"]
    for path in ("tests/conftest.py", "python/docs/index.md", "benches/SPEED.md", ".ci/run", ".github/CITATION.cff"):
        assert (ROOT / path).is_file()
        assert any(Path(path).is_relative_to(str(pattern).partition("*")[0]) for pattern in shipped), path


class Outcomes:
    """What a run of pytest had to say, test by test."""

    def __init__(self):
        self.passed, self.others = [], []

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or not report.passed:
            (self.passed if report.passed else self.others).append(report.nodeid)


def test_the_invariants_that_ship_hold(tmp_path, monkeypatch):
    """In any folder, without the settings of this project."""
    monkeypatch.chdir(tmp_path)
    outcomes = Outcomes()
    options = ["-c", os.devnull, "--rootdir", str(tmp_path), "-q", "-W", "error", "-p", "no:cacheprovider"]
    assert pytest.main(["--pyargs", "dpsparse", *options], plugins=[outcomes]) == 0
    assert outcomes.others == []
    assert len(outcomes.passed) > 50


#: Runs pytest where what only our own tests need cannot be imported.
WITHOUT = """
import sys

import pytest


class Hidden:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {"hypothesis", "mpmath", "pandas", "polars", "pyarrow", "matplotlib", "dask"}:
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, Hidden())
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_the_invariants_need_nothing_but_pytest(tmp_path):
    command = [sys.executable, "-c", WITHOUT, "--pyargs", "dpsparse", "-q", "-W", "error", "-p", "no:cacheprovider"]
    command += ["--rootdir", str(tmp_path)]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed: it lists what its package holds")
def test_the_crate_is_packaged_without_python():
    command = ["cargo", "package", "--list", "--locked", "--offline", "--allow-dirty"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {"Cargo.toml", "README.md", "src/lib.rs", "LICENSE-MIT", "LICENSE-APACHE"} <= set(listed)
    assert [
        path for path in listed if path.endswith((".py", ".pyi", ".gz")) or path.startswith((".ci", ".github"))
    ] == []

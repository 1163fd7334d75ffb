"""The crate's own tests: `cargo test` without Python, its documentation examples included."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed: the crate's own tests need it")
def test_cargo_test_passes():
    # the same examples in every run, as in the property tests of Python; a plain `cargo test` tries new ones
    environment = os.environ if os.environ.get("DPSPARSE_EXPLORE") else os.environ | {"PROPTEST_RNG_SEED": "20190217"}
    command = ["cargo", "test", "--locked", "--quiet"]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-8000:]
    # a run that tested nothing is no pass
    assert result.stdout.count("test result: ok.") >= 3, result.stdout[-8000:]


def test_the_crate_stands_without_python():
    """The default features of the crate bring no Python in (checked on the manifest: works without cargo too)."""
    manifest = (ROOT / "Cargo.toml").read_text()
    assert "default = []" in manifest
    assert 'python = ["dep:pyo3", "dep:numpy"]' in manifest

"""The crate's own tests: `cargo test` without Python, its documentation examples included."""

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed: the crate's own tests need it")
def test_cargo_test_passes(crate_tests):
    status, output = crate_tests.wait()
    assert status == 0, output[-16000:]
    # a run that tested nothing is no pass
    assert output.count("test result: ok.") >= 3, output[-8000:]


def test_the_crate_stands_without_python():
    """The default features of the crate bring no Python in (checked on the manifest: works without cargo too)."""
    manifest = (ROOT / "Cargo.toml").read_text()
    assert "default = []" in manifest
    assert 'python = ["dep:pyo3", "dep:numpy"]' in manifest

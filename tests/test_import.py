"""What `import dpsparse` brings, and what it leaves for later: each in a process of its own."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dpsparse

ROOT = Path(__file__).resolve().parent.parent
LATER = {"sklearn", "scipy", "narwhals", "pandas", "polars", "pyarrow", "matplotlib", "dask", "hypothesis"}


def run(code):
    """The standard output of code in a fresh interpreter."""
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def test_nothing_heavy_is_imported_before_it_is_asked_for():
    modules = run(
        "import dpsparse, dpsparse.privacy, dpsparse.words, dpsparse.set_functions, sys\n"
        "dpsparse.Plan.curve, dpsparse.Certificate._repr_html_, dpsparse.ScalerPlan._repr_html_, dpsparse.FrankWolfe\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    assert "numpy" in modules
    assert not LATER & set(modules)


def test_every_name_is_there_in_a_fresh_process():
    missing = run(
        "from dpsparse import *\n"
        "import dpsparse, pickle\n"
        "print(*[name for name in dpsparse.__all__ if name not in globals()])\n"
        "assert set(dpsparse.__all__) <= set(dir(dpsparse))\n"
        "assert PrivateSparseClassifier is dpsparse.estimators.PrivateSparseClassifier\n"
        "model = pickle.loads(pickle.dumps(PrivateSparseClassifier(epsilon=2.0)))\n"
        "assert type(model) is PrivateSparseClassifier and model.epsilon == 2.0"
    )
    assert missing == []


def test_names_that_do_not_exist_are_refused():
    with pytest.raises(AttributeError, match="no_such_name"):
        dpsparse.no_such_name  # noqa: B018
    with pytest.raises(ImportError):
        from dpsparse import no_such_name  # noqa: F401


def test_the_version_is_one_everywhere():
    versions = {dpsparse.__version__}
    for file, table in (("pyproject.toml", "project"), ("Cargo.toml", "package")):
        versions.add(tomllib.loads((ROOT / file).read_text())[table]["version"])
    versions.add(re.search(r"^version: (.*)$", (ROOT / ".github/CITATION.cff").read_text(), re.MULTILINE)[1])
    assert len(versions) == 1

"""What the documentation shows must run: docstring examples, the README's example and its two commands."""

import doctest
import importlib
import inspect
import pkgutil
import re
import types
from pathlib import Path

import pytest

import dpsparse

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(dpsparse.__path__, "dpsparse.")
    if not module.name.endswith(("__main__", "._core"))
)
#: Modules whose names users import, beside the package itself.
PUBLIC = [
    "datasets",
    "displays",
    "distributed",
    "losses",
    "mechanisms",
    "models",
    "online",
    "polytopes",
    "privacy",
    "privacy.noise",
    "set_functions",
    "tables",
    "testing",
    "theory",
    "words",
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    if name.startswith("dpsparse.distributed"):
        pytest.importorskip("dask.array", reason="dask is not installed")
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_the_examples_are_found():
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(examples) >= 5


def test_the_readmes_example(capsys, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 1
    fitted, scored = [], []

    class Watched(dpsparse.PrivateSparseClassifier):
        def fit(self, X, y):
            fitted.append(X.copy())
            return super().fit(X, y)

        def score(self, X, y):
            scored.append(X.copy())
            return super().score(X, y)

    monkeypatch.setattr(dpsparse, "PrivateSparseClassifier", Watched)
    exec(compile(blocks[0], "README.md", "exec"), {})
    ((rows,), (others,)) = fitted, scored
    assert not {row.tobytes() for row in rows} & {row.tobytes() for row in others}  # no score on the records of the fit
    assert "differential privacy under replace-one neighbours" in capsys.readouterr().out


def test_the_readmes_commands_are_what_ci_runs():
    readme, script = (ROOT / "README.md").read_text(), (ROOT / ".ci/run").read_text()
    assert "pip install . && dpsparse demo" in readme
    assert 'pip install ".[test]" && pytest' in readme
    assert '".[test]" && pytest' in script


def test_every_public_name_exists_and_is_documented():
    for name in dpsparse.__all__:
        assert getattr(dpsparse, name).__doc__, name


def without_example(part):
    """Modules and unions of types have no examples."""
    return isinstance(part, types.ModuleType | types.UnionType)


def of_the_core():
    """Public names that the compiled core holds: doctest finds no examples in there by itself."""
    names = {}
    for name in ["", *PUBLIC]:
        module = importlib.import_module(f"dpsparse.{name}".rstrip("."))
        for part in module.__all__:
            if getattr(dpsparse._core, part, None) is getattr(module, part):
                names[part] = getattr(module, part)
    return names


@pytest.mark.parametrize("name", sorted(of_the_core()))
def test_docstring_examples_of_the_core(name):
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(of_the_core()[name]), {}, name, None, 0)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


def test_the_core_has_public_names():
    assert {"Accountant", "Certificate", "GaussianEvent", "Plan", "TooLargeError", "calibrate"} <= set(of_the_core())


@pytest.mark.parametrize("name", ["", *PUBLIC])
def test_every_public_name_has_an_example(name):
    module = importlib.import_module(f"dpsparse.{name}".rstrip("."))
    parts = {part: getattr(module, part) for part in module.__all__}
    wanted = {part: what for part, what in parts.items() if not without_example(what)}
    assert [part for part, what in wanted.items() if ">>>" not in (what.__doc__ or "")] == []


def test_top_level_holds_what_the_project_fixes():
    allowed = {".ci", ".git", ".gitignore", "Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md", "CHANGELOG.md"}
    allowed |= {"LICENSE-MIT", "LICENSE-APACHE", "src", "python", "tests", "benches"}
    made_by_tools = {"target", "dist", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".venv", "build"}
    made_by_tools |= {"proptest-regressions"}
    assert {path.name for path in ROOT.iterdir()} <= allowed | made_by_tools

"""What the documentation shows must run: docstrings, the README with its commands, and the pages of the site."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import dpsparse
from dpsparse.mechanisms import MECHANISMS

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(dpsparse.__path__, "dpsparse.")
    if not module.name.endswith(("__main__", "._core"))
)
#: Mechanisms whose page has a statement a mode.
WITH_MODES = {"output_perturbation"}
#: Modules whose names users import, beside the package itself.
PUBLIC = [
    "combinatorial",
    "datasets",
    "displays",
    "distributed",
    "losses",
    "mechanisms",
    "models",
    "norms",
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
    names = {}
    exec(compile(blocks[0], "README.md", "exec"), names)
    ((rows,), (others,)) = fitted, scored
    assert not {row.tobytes() for row in rows} & {row.tobytes() for row in others}  # no score on the records of the fit
    printed = capsys.readouterr().out
    # Neighbours are said, and the table has the rows of every attribute, with the intervals that the text promises.
    assert "Neighbouring records (replace-one) differ in one record" in printed
    table = names["model"].summary().to_dict()
    assert table["attribute"] == ["(intercept)", "age", "smoker", "smoker", "exercise", "exercise", "exercise"]
    ratios = zip(table["odds_ratio_lower"], table["odds_ratio"], table["odds_ratio_upper"], strict=True)
    assert all(low < ratio < high for low, ratio, high in ratios if low is not None)


def pages():
    return sorted((ROOT / "python/docs").rglob("*.md"))


def examples(page):
    """The examples of a page, one session."""
    blocks = re.findall(r"```pycon\n(.*?)```", page.read_text(), re.DOTALL)
    return doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.stem, str(page), 0)


@pytest.mark.parametrize("page", [page for page in pages() if examples(page).examples], ids=lambda page: page.stem)
def test_the_examples_of_a_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest.DocTestRunner().run(examples(page)).failed == 0
    assert list(tmp_path.iterdir()) == []  # it leaves no file where readers try it


def test_pages_run_what_they_show():
    """A block is run (pycon here, python by the tutorial's own test), or is one of those that need a cluster."""
    shown = {
        (page.stem, kind) for page in pages() for kind in re.findall(r"^```(py\w*)$", page.read_text(), re.MULTILINE)
    }
    assert {page for page, kind in shown if kind == "python"} == {"health_table"}
    assert {page for page, kind in shown if kind not in {"python", "pycon"}} == {"several_machines"}
    assert sum(len(examples(page).examples) for page in pages()) > 200


def test_every_mechanism_has_its_page():
    """With a statement, a proof and an example that compares the constants with those of a plan."""
    wanted = {name.replace("-", "_") for name in MECHANISMS} | {"simplex_sampling", "online"}
    for name in wanted:
        text = (ROOT / f"python/docs/mechanisms/{name}.md").read_text()
        for part in ("## Statement" if name not in WITH_MODES else "## Mode", "```pycon", "Beside the code: `src/"):
            assert part in text, (name, part)
    index = (ROOT / "python/docs/mechanisms/index.md").read_text()
    assert all(f"`{name}`" in index for name in MECHANISMS)


def test_every_file_that_a_page_names_is_there():
    """Paths of the sources, and pages that links lead to."""
    for page in [ROOT / "README.md", *(ROOT / ".github").glob("*.md"), *pages()]:
        text = page.read_text()
        for path in re.findall(r"`((?:src|benches|tests|python|\.github|\.ci)/[\w./-]*)`", text):
            assert (ROOT / path).exists(), (page.name, path)
        for link in re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", text):
            assert (page.parent / link).is_file(), (page.name, link)


def test_the_readme_has_no_links_that_break_elsewhere():
    """It is shown where no file of the sources is beside it."""
    text = (ROOT / "README.md").read_text()
    assert re.findall(r"!?\[[^]]*\]\((?!https?://)", text) == []
    assert len(text.splitlines()) < 140


def test_every_public_name_is_in_the_reference():
    reference = "\n".join(page.read_text() for page in (ROOT / "python/docs/api").glob("*.md"))
    modules = re.findall(r"automodule:: (dpsparse[\w.]*)\n(?!   :no-members)", reference)
    for name in ["", *PUBLIC]:
        module = importlib.import_module(f"dpsparse.{name}".rstrip("."))
        for part in module.__all__:
            what = getattr(module, part)
            listed = re.search(rf"::(?: dpsparse\.[\w.]*\.)? ?{part}$", reference, re.MULTILINE)
            whole = f"dpsparse.{name}" in modules or isinstance(what, types.ModuleType)
            assert listed or whole, f"{name}.{part}"


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    for package in ("sphinx", "myst_parser", "numpydoc", "furo"):
        pytest.importorskip(package, reason=f"{package} of the extra docs is not installed")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "-q", str(ROOT / "python/docs"), str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-4000:]
    assert (tmp_path / "mechanisms/frank_wolfe.html").is_file()


def test_the_readmes_commands_are_what_ci_runs():
    readme, script = (ROOT / "README.md").read_text(), (ROOT / ".ci/run").read_text()
    assert "pip install . && dpsparse demo" in readme
    assert 'pip install ".[test]" && pytest' in readme
    assert '".[test]" && pytest' in script
    assert "sphinx-build -W -n python/docs" in readme


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


def test_comments_of_the_crate_fit_120_columns():
    """As Python's do; `cargo fmt` leaves comments alone. Tables and formulas are not broken."""
    prose = re.compile(r"\s*//[/!]?\s+[^|\s](?!.*\S {2,}\S)")
    files = [path for folder in ("src", "tests", "benches") for path in (ROOT / folder).rglob("*.rs")]
    assert len(files) > 300
    long = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if len(line) > 120 and prose.match(line)
    ]
    assert not long


def test_top_level_holds_what_the_project_fixes():
    allowed = {
        ".ci",
        ".git",
        ".github",
        ".gitignore",
        "Cargo.toml",
        "Cargo.lock",
        "pyproject.toml",
        "README.md",
        "CHANGELOG.md",
    }
    allowed |= {"LICENSE-MIT", "LICENSE-APACHE", "src", "python", "tests", "benches"}
    made_by_tools = {"target", "dist", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".venv", "build"}
    made_by_tools |= {"proptest-regressions"}
    assert {path.name for path in ROOT.iterdir()} <= allowed | made_by_tools

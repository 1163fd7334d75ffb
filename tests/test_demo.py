import os
import subprocess
import sys
import textwrap
import time
from importlib.metadata import version

import pytest

import dpsparse.demo
from dpsparse import DpsparseError
from dpsparse.cli import main
from dpsparse.demo import report, run, save_picture


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    pytest.importorskip("matplotlib")
    picture = tmp_path_factory.mktemp("demo") / "picture.png"
    start = time.perf_counter()
    result = run(picture, epsilon=1.0, seed=0, epsilons=(0.5, 4.0))
    return result, time.perf_counter() - start


def test_private_accuracy_lies_between_majority_and_exact(demo):
    result, _ = demo
    assert result.majority_class == "<=50K"
    assert result.private_accuracy > result.majority_accuracy + 0.02
    assert result.private_accuracy < result.exact_accuracy + 0.02
    assert 0.84 < result.exact_accuracy < 0.87


def test_certificate_and_budget(demo):
    result, _ = demo
    assert not result.verified  # a seeded run has no guarantee
    assert not result.secure
    assert result.delta == 1 / result.n_train**2
    assert list(result.accuracy_by_epsilon) == [0.5, 1.0, 4.0]
    assert result.accuracy_by_epsilon[1.0] == result.private_accuracy
    # Every fit counts, the reported one too, and that one once.
    assert result.total_epsilon == 5.5
    assert result.total_delta == 3 * result.delta


def test_selected_features_are_grouped_by_attribute_the_strongest_first(demo):
    result, _ = demo
    assert 0 < len(result.coefficients) < result.n_features
    strength = {}
    for row in result.coefficients:
        strength.setdefault(row.attribute, []).append(abs(row.private))
    in_a_block = [attribute for attribute, sizes in strength.items() for _ in sizes]
    assert [row.attribute for row in result.coefficients] == in_a_block
    totals = [sum(sizes) for sizes in strength.values()]
    assert totals == pytest.approx(sorted(totals, reverse=True))
    for sizes in strength.values():
        assert sizes == sorted(sizes, reverse=True)
        assert min(sizes) > 0


def test_picture_is_saved(demo):
    result, _ = demo
    assert result.picture.read_bytes().startswith(b"\x89PNG")
    assert result.picture.stat().st_size > 10_000


@pytest.mark.parametrize(("name", "start"), [("picture.pdf", b"%PDF"), ("picture.svg", b"<?xml")])
def test_picture_needs_no_pyplot_so_the_backend_stays(demo, tmp_path, monkeypatch, name, start):
    result, _ = demo
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    save_picture(result, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_it_is_quick(demo):
    _, seconds = demo
    assert seconds < 20


def test_report_says_what_matters(demo):
    result, _ = demo
    text = report(result)
    assert result.certificate.splitlines()[0] in text
    assert f"{result.private_accuracy:.3f}" in text
    assert "epsilon 5.5" in text
    assert "therefore not private" in text
    own_words = text.replace(textwrap.indent(result.certificate, "  "), "")
    assert max(map(len, own_words.splitlines())) <= 110


def test_unseeded_run_without_picture(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    result = run(plot=False, epsilons=())
    printed = capsys.readouterr()
    assert result.secure
    assert result.verified
    assert result.picture is None
    assert "therefore not private" not in printed.out
    assert "fitting privately" in printed.err
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_it_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert run(seed=0, epsilons=()).picture is None
    assert "pip install matplotlib" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_progress_without_tqdm(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with dpsparse.demo._progress(2) as stage:
        stage("first")
        stage("second")
    assert capsys.readouterr().err == "[1/2] first\n[2/2] second\n"


def test_command_line_runs_the_demo(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--epsilon", "2", "--seed", "0", "--output", "here.png"]) == 0
    assert "private, epsilon = 2" in capsys.readouterr().out
    assert (tmp_path / "here.png").exists()


def test_an_impossible_budget_is_a_message_and_exit_status_2(tmp_path, capsys):
    assert main(["demo", "--epsilon", "-1", "--no-plot"]) == 2
    printed = capsys.readouterr()
    assert "dpsparse: error: " in printed.err
    assert "Traceback" not in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(
    ("raised", "status"),
    [(DpsparseError("mend this"), 2), (OSError("disk full"), 2), (KeyboardInterrupt(), 130)],
)
def test_exit_statuses(monkeypatch, capsys, raised, status):
    def fail(*args, **kwargs):
        raise raised

    monkeypatch.setattr(dpsparse.demo, "run", fail)
    assert main(["demo"]) == status
    assert capsys.readouterr().err.startswith("dpsparse: ")


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["nonsense"],
        ["demo", "--epsilon", "one"],
        ["demo", "--output", "picture.txt"],
        ["demo", "--output", "no/such/directory/picture.png"],
        ["demo", "--output", "picture.png", "--no-plot"],
    ],
)
def test_wrong_usage_is_refused_before_the_work(argv, monkeypatch, capsys):
    monkeypatch.setattr(dpsparse.demo, "run", lambda *args, **kwargs: pytest.fail("it ran"))
    with pytest.raises(SystemExit) as stopped:
        main(argv)
    assert stopped.value.code == 2
    assert "usage: dpsparse" in capsys.readouterr().err


def test_python_dash_m(tmp_path):
    command = [sys.executable, "-m", "dpsparse", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=os.environ, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"dpsparse {version('dpsparse')}"

"""Fits that were stopped and go on: the same model, paid for once; files that cannot serve; what a file holds."""

import hashlib
import json
import os
import pickle
import re
import subprocess
import sys
import textwrap
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpsparse import (
    BudgetExceededError,
    CheckpointError,
    DisjointGroups,
    DualFrankWolfe,
    FrankWolfe,
    InvalidArgumentError,
    MirrorDescent,
    NoisyGradientFrankWolfe,
    NoisyNewton,
    NoisyProximalGradient,
    ObjectivePerturbation,
    OutputPerturbation,
    PenalisedFrankWolfe,
    PrivateSearchCV,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    SelectRefit,
    SgdOutput,
    Vertices,
)
from dpsparse.privacy import Accountant, Ledger
from dpsparse.set_functions import FromOracle

N, P = 120, 6
HEAD = len("dpsparse-checkpoint-1 ") + 20 + 1 + 64 + 1
CLASSIFIERS = {
    "auto": {},
    "frank-wolfe": {"mechanism": FrankWolfe(n_iter=7)},
    "frank-wolfe over groups": {"mechanism": FrankWolfe(n_iter=7), "norm": DisjointGroups([0, 0, 1, 1, 2, 2])},
    "frank-wolfe over vertices": {"mechanism": FrankWolfe(n_iter=7), "norm": Vertices(np.eye(P).tolist())},
    "frank-wolfe over signs": {"mechanism": FrankWolfe(n_iter=7), "norm": "linf"},
    "frank-wolfe, lagging": {"mechanism": FrankWolfe(n_iter=60, refresh="lagging")},
    "frank-wolfe, private scale": {"mechanism": FrankWolfe(n_iter=7), "scale": "private"},
    "penalised-frank-wolfe": {"mechanism": PenalisedFrankWolfe(alpha=0.01, n_iter=7)},
    "noisy-gradient-frank-wolfe": {"mechanism": NoisyGradientFrankWolfe(n_iter=5)},
    "mirror-descent": {"mechanism": MirrorDescent(n_iter=5)},
    "noisy-proximal-gradient": {"mechanism": NoisyProximalGradient(n_iter=5, alpha=0.01)},
    "noisy-newton": {"mechanism": NoisyNewton(n_iter=5)},
    "noisy-newton, no second moments": {"mechanism": NoisyNewton(n_iter=5, share=0.0)},
    "dual-frank-wolfe": {"mechanism": DualFrankWolfe(n_iter=5, alpha=0.05, ridge=0.2)},
    "dual-frank-wolfe, choices": {"mechanism": DualFrankWolfe("selection", 5, alpha=0.05, ridge=0.2)},
    "output-perturbation": {"mechanism": OutputPerturbation(threshold=0.001)},
    "objective-perturbation": {"mechanism": ObjectivePerturbation()},
    "sgd-output": {"mechanism": SgdOutput(n_passes=2)},
    "select-refit": {"mechanism": SelectRefit(n_selected=2)},
    "select-refit by Newton steps": {"mechanism": SelectRefit(n_selected=2, refit="noisy-newton")},
    "a user's set function": {
        "mechanism": NoisyGradientFrankWolfe(n_iter=5),
        "norm": FromOracle(lambda A: min(len(A), 3.0), P),
    },
    "a user's loss": {"mechanism": FrankWolfe(n_iter=7), "loss": lambda z, y: np.tanh(z - y)},
    "three classes": {"mechanism": FrankWolfe(n_iter=7), "classes": (-1, 0, 1)},
    "three classes by Newton steps": {"mechanism": NoisyNewton(n_iter=5), "classes": (-1, 0, 1)},
}


def estimator(name, **arguments):
    """An estimator by the name of a case; `random_state=None` for noise from the operating system."""
    common = {"bounds": (-1, 1), "epsilon": 3.0, "random_state": 5} | arguments
    if name == "regressor":
        return PrivateSparseRegressor(y_bounds=(-1, 1), **common)
    if name == "counts":
        return PrivateSparsePoissonRegressor(y_bounds=(0, 9), **common)
    if name.startswith("search"):
        del common["bounds"]
        if name == "search among regressors":
            inner = PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-1, 1), n_iter=3)
            return PrivateSearchCV(inner, {"radius": [0.5, 2.0]}, refit_share=0.0, **common)
        inner = PrivateSparseClassifier(bounds=(-1, 1), classes=(-1, 1))
        grid = {"mechanism": [FrankWolfe(n_iter=3), NoisyNewton(n_iter=3)], "scale": [None, "private"]}
        return PrivateSearchCV(inner, grid, **common)
    return PrivateSparseClassifier(**({"classes": (-1, 1)} | common | CLASSIFIERS[name]))


NAMES = [*CLASSIFIERS, "regressor", "counts", "search", "search among regressors"]
SPARSE = ["frank-wolfe", "frank-wolfe, lagging", "noisy-gradient-frank-wolfe"]


def records(name, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.uniform(-1, 1, (N, P)), 2)
    signal = X[:, 0] - X[:, 1] + rng.normal(0, 0.3, N)
    if name.startswith("three"):
        return X, np.select([signal > 0.4, signal < -0.4], [1, -1], 0)
    if "regressor" in name:
        return X, np.clip(signal, -1, 1)
    return X, np.floor(np.exp(signal)) if name == "counts" else np.where(signal > 0, 1, -1)


def model(fitted):
    """All that is released, bit for bit."""
    fitted = getattr(fitted, "best_estimator_", fitted)
    ranges = getattr(fitted, "feature_ranges_", None)
    return (
        np.ravel(fitted.coef_).tolist(),
        np.ravel(fitted.intercept_).tolist(),
        None if ranges is None else ranges.tolist(),
    )


def lines_of(path):
    """The lines behind the first one, which says how many bytes they are and what their hash is."""
    data = path.read_bytes()
    assert data[:HEAD].decode() == head(data[HEAD:])
    return data[HEAD:].decode().splitlines()


def head(body):
    return f"dpsparse-checkpoint-1 {len(body):020d} {hashlib.sha256(body).hexdigest()}\n"


def write(path, lines):
    body = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(head(body).encode() + body)


@contextmanager
def files_stay(monkeypatch):
    """Fits leave their files, as those do that are stopped before their end."""
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", lambda self, missing_ok=False: None)
        yield


def kept(name, path, monkeypatch, X, y, **arguments):
    """A fit whose file is left, and the lines of that file."""
    with files_stay(monkeypatch):
        fitted = estimator(name, **arguments).fit(X, y, checkpoint=path)
    return fitted, lines_of(path)


def test_every_mechanism_is_here():
    catalogue = Path(__file__).resolve().parents[1] / "src" / "mechanism" / "mod.rs"
    names = set(re.findall(r'entry::<.*>\("(.*)"\)', catalogue.read_text()))
    assert len(names) > 10
    # The simplex estimators ask one question of a fit: there is nothing to go on from.
    assert names - {"simplex-sampling"} <= set(CLASSIFIERS)


@pytest.mark.parametrize("name", NAMES)
def test_from_every_answer_on_a_fit_ends_as_if_it_had_not_been_stopped(name, tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    X, y = records(name)
    plain = estimator(name).fit(X, y)
    fitted, lines = kept(name, path, monkeypatch, X, y)
    assert model(fitted) == model(plain)
    assert str(fitted.certificate_.to_json()) == str(plain.certificate_.to_json())
    cost = [(event, count) for event, count in plain.certificate_.events]
    answers = len(lines) - 1
    assert answers >= (1 if "perturbation" in name or name == "sgd-output" else 2)
    places = range(answers + 1) if answers < 15 else sorted({0, 1, answers // 3, answers - 1, answers})
    for done in places:
        write(path, lines[: 1 + done])
        resumed = estimator(name).fit(X, y, checkpoint=path)
        assert model(resumed) == model(plain), done
        assert [(event, count) for event, count in resumed.certificate_.events] == cost
        assumed = [text for text in resumed.certificate_.assumptions if "resumed from a checkpoint" in text]
        assert len(assumed) == (done > 0)
        assert not path.exists()
    # Stopped twice.
    write(path, lines[: 1 + answers // 2])
    with files_stay(monkeypatch):
        estimator(name).fit(X, y, checkpoint=path)
    assert lines_of(path) == lines


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_records_go_on_too(name, tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    X, y = records(name)
    X = sp.csr_array(np.where(np.abs(X) < 0.7, 0, X))
    plain = estimator(name, scale=None).fit(X, y)
    fitted, lines = kept(name, path, monkeypatch, X, y, scale=None)
    for done in (1, 4, len(lines) - 2):
        write(path, lines[: 1 + done])
        assert model(estimator(name, scale=None).fit(X, y, checkpoint=path)) == model(plain) == model(fitted)


@pytest.mark.parametrize("name", NAMES)
def test_secure_fits_keep_their_answers_and_draw_the_rest_anew(name, tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    X, y = records(name)
    fitted, lines = kept(name, path, monkeypatch, X, y, random_state=None)
    assert fitted.certificate_.verify()
    assert not any("position" in line for line in lines)
    done = len(lines) // 2
    ends = []
    for _ in range(2):
        write(path, lines[:done])
        with files_stay(monkeypatch):
            resumed = estimator(name, random_state=None).fit(X, y, checkpoint=path)
        assert resumed.certificate_.verify()
        assert resumed.certificate_.secure
        assert resumed.certificate_.events == fitted.certificate_.events
        assert lines_of(path)[:done] == lines[:done]
        ends.append([json.loads(line)["answer"] for line in lines_of(path)[done:] if "answer" in line])
    if not name.startswith("search"):  # whose refits ask different numbers of questions
        assert len(ends[0]) == len(ends[1]) == len(lines) - max(done, 1)
    continuous = any(isinstance(entry, float) for answer in ends[0] if isinstance(answer, list) for entry in answer)
    assert ends[0] != ends[1] or not continuous
    # All answers are there: the model is that of the file, and nothing is drawn.
    again = estimator(name, random_state=None).fit(X, y, checkpoint=path)
    assert model(again) == model(resumed)


def test_a_file_holds_released_answers_and_digests_of_public_facts_alone(tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    X, y = records("")
    fitted, lines = kept("noisy-gradient-frank-wolfe", path, monkeypatch, X, y, random_state=None)
    assert path.stat().st_mode & 0o777 == 0o600 or os.name != "posix"
    facts, *answers = map(json.loads, lines)
    assert set(facts) == {"version", "plan", "seeded", "release"}
    assert facts["seeded"] is None
    assert re.fullmatch("[0-9a-f]{64}", facts["plan"])
    assert re.fullmatch("[0-9a-f]{32}", facts["release"])
    for number, answer in enumerate(answers):
        assert set(answer) == {"question", "at", "answer"}, number
        assert answer["question"] == 0
        assert re.fullmatch("[0-9a-f]{64}", answer["at"])
        # A gradient: an integer a column, in one unit.
        entries = np.array(answer["answer"])
        assert entries.shape == (P + 1,)
    # Other records of as many rows have the same facts but for the mark: nothing is a function of them but the answers.
    other = tmp_path / "other.checkpoint"
    with files_stay(monkeypatch):
        estimator("noisy-gradient-frank-wolfe", random_state=None).fit(-X[::-1], y, checkpoint=other)
    others, first, *_ = map(json.loads, lines_of(other))
    assert others["release"] != facts["release"]
    assert others | {"release": ""} == facts | {"release": ""}
    assert first["at"] == answers[0]["at"]
    assert fitted.certificate_.verify()
    # Choices are integers: columns and signs.
    _, lines = kept("frank-wolfe", tmp_path / "third.checkpoint", monkeypatch, X, y, random_state=None)
    for line in lines[1:]:
        ((column, sign),) = json.loads(line)["answer"]
        assert column in range(P + 1)
        assert sign in (-1, 1)


def test_every_ledger_that_a_fit_goes_on_with_holds_it_once(tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    X, y = records("")
    budget = (4.0, 1e-5)
    first, accountant = Ledger(tmp_path / "first.db", *budget), Accountant(*budget)
    _, lines = kept("frank-wolfe", path, monkeypatch, X, y)  # begun without a ledger
    for ledger in (accountant, first):
        write(path, lines[:2])
        estimator("frank-wolfe", ledger=ledger).fit(X, y, checkpoint=path)
    for ledger in (accountant, first, pickle.loads(pickle.dumps(accountant)).resume(), Ledger(tmp_path / "first.db")):
        for done in (0, 2, 5):
            write(path, lines[: 1 + done])
            fitted = estimator("frank-wolfe", ledger=ledger).fit(X, y, checkpoint=path)
            assert [entry.events for entry in ledger.entries()] == [fitted.certificate_.events]
    # Another data set of the file, and another file, know nothing of it.
    for other in (Ledger(tmp_path / "first.db", *budget, dataset="other"), Ledger(tmp_path / "second.db", *budget)):
        write(path, lines[:3])
        estimator("frank-wolfe", ledger=other).fit(X, y, checkpoint=path)
        assert len(other.entries()) == 1
    # Another release of the same plan does not fit what is left, and draws nothing.
    _, lines = kept("frank-wolfe", path, monkeypatch, X, y)
    for ledger in (first, accountant):
        write(path, lines[:3])
        with pytest.raises(BudgetExceededError):
            estimator("frank-wolfe", ledger=ledger).fit(X, y, checkpoint=path)
        assert lines_of(path) == lines[:3]
        assert len(ledger.entries()) == 1


def test_files_that_are_damaged_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    X, y = records("")
    _, lines = kept("frank-wolfe", path, monkeypatch, X, y)
    whole = path.read_bytes()
    for damaged in [
        *(whole[:end] for end in (0, 5, HEAD - 1, HEAD, HEAD + 40, len(whole) // 2, len(whole) - 1)),
        whole.replace(b'"answer"', b'"answr" ', 1),
        whole.replace(b"checkpoint-1", b"checkpoint-2"),
        b"something else\n" * 50,
    ]:
        path.write_bytes(damaged)
        refused("frank-wolfe", path, "damaged", X, y)
        assert path.read_bytes() == damaged
    for other in [
        [],
        lines[:1] + lines[2:],
        lines[:3] + lines[4:],
        [*lines[:-1], "{}"],
        [lines[0], *reversed(lines[1:])],
    ]:
        write(path, other)
        refused("frank-wolfe", path, "another release|damaged", X, y)
    path.write_bytes(whole + b'{"question":0,"at":"')  # a line that was begun, and given to nobody
    assert model(estimator("frank-wolfe").fit(X, y, checkpoint=path)) == model(estimator("frank-wolfe").fit(X, y))


def refused(name, path, match, X, y, fit=None, **arguments):
    fit = fit or estimator(name, **arguments)
    with pytest.raises(CheckpointError, match=match) as caught:
        fit.fit(X, y, checkpoint=path)
    assert not vars(fit).keys() - fit.get_params(deep=False).keys()
    return caught.value


def test_a_link_leads_to_the_file_and_stays(tmp_path, monkeypatch):
    """One that leads to no file yet was said to be in use; the end of the fit took the link away, and left the file."""
    path, link = tmp_path / "disk" / "fit.checkpoint", tmp_path / "fit.checkpoint"
    path.parent.mkdir()
    link.symlink_to(path)
    X, y = records("")
    fitted, lines = kept("frank-wolfe", link, monkeypatch, X, y)
    write(path, lines[:4])
    assert model(estimator("frank-wolfe").fit(X, y, checkpoint=link)) == model(fitted)
    assert link.is_symlink()
    assert not path.exists()
    link.unlink()
    link.symlink_to(link)
    refused("frank-wolfe", link, "read or written", X, y)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes that have names")
def test_pipes_and_devices_are_not_read(tmp_path):
    """A fit waited for a pipe for ever, took all memory for a device, and said of another one that it be deleted."""
    X, y = records("")
    refused("frank-wolfe", "/dev/null", "a pipe or a device", X, y)
    path = tmp_path / "fit.checkpoint"
    os.mkfifo(path)
    refused("frank-wolfe", path, "a pipe or a device", X, y)
    assert path.is_fifo()


def test_files_of_other_fits_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    X, y = records("")
    _, lines = kept("frank-wolfe", path, monkeypatch, X, y)
    write(path, lines[:4])
    for arguments in (
        {"random_state": 6},
        {"random_state": None},
        {"epsilon": 3.1},
        {"delta": 1e-9},
        {"bounds": (-1, 2)},
        {"radius": 3.0},
        {"fit_intercept": False},
        {"records_per_person": 2},
        {"loss": "hinge"},
        {"adjacency": "add-remove", "n_public": N, "delta": 1e-6},
    ):
        refused("frank-wolfe", path, "another release", X, y, **arguments)
    refused("penalised-frank-wolfe", path, "another release", X, y)
    refused("search", path, "another release", X, y)
    refused("frank-wolfe", path, "another release", X[:-1], y[:-1])
    refused("frank-wolfe", path, "another release", X[:, :-1], y)
    assert estimator("frank-wolfe").fit(X, y, checkpoint=path).certificate_ is not None


def test_secure_files_are_no_start_for_seeded_fits(tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    X, y = records("")
    _, lines = kept("frank-wolfe", path, monkeypatch, X, y, random_state=None)
    write(path, lines[:4])
    refused("frank-wolfe", path, "another release", X, y)


def test_places_without_room_for_a_file_are_refused_before_anything_is_spent(tmp_path):
    X, y = records("")
    error = refused("frank-wolfe", tmp_path / "none" / "fit.checkpoint", "directory", X, y)
    assert not hasattr(error, "__notes__")
    refused("frank-wolfe", tmp_path, "read or written", X, y)
    for wrong in (3, b"fit.checkpoint", ["fit.checkpoint"]):
        with pytest.raises(InvalidArgumentError, match="checkpoint"):
            estimator("frank-wolfe").fit(X, y, checkpoint=wrong)


def test_searches_under_add_remove_keep_nothing(tmp_path):
    X, y = records("")
    inner = PrivateSparseClassifier(bounds=(-1, 1), classes=(-1, 1), adjacency="add-remove", n_public=N)
    search = PrivateSearchCV(inner, {"n_iter": [2, 3]}, delta=1e-6)
    refused("", tmp_path / "fit.checkpoint", "split of the records", X, y, fit=search)
    assert not any(tmp_path.iterdir())


def test_fits_in_between_pipelines_and_clones_take_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = records("")
    inner = estimator("frank-wolfe")
    pipeline = make_pipeline(FunctionTransformer(), clone(inner))
    pipeline.fit(X, y, privatesparseclassifier__checkpoint="fit.checkpoint")
    assert model(pipeline[-1]) == model(inner.fit(X, y))
    weighted = clone(inner).set_params(max_weight=2.0)
    weights = np.linspace(0, 2, N)
    plain = model(weighted.fit(X, y, weights))
    assert model(weighted.fit(X, y, weights, checkpoint=Path("fit.checkpoint"))) == plain
    assert not any(tmp_path.iterdir())


# --- processes that are killed ---

BEGIN = """
import os, signal, sys, time
import numpy as np
sys.path[:0] = sys.argv[2].split(os.pathsep)
import test_checkpoint as cases
X, y = cases.long_records()
made = cases.long_fit(sys.argv[3], None if sys.argv[4] == "secure" else 5)
print("ready", flush=True)
made.fit(X, y, checkpoint=sys.argv[1])
print("fitted", flush=True)
"""
LONG = {
    "frank-wolfe": {"mechanism": FrankWolfe(n_iter=400)},
    "frank-wolfe, lagging": {"mechanism": FrankWolfe(n_iter=400, refresh="lagging")},
    "noisy-gradient-frank-wolfe": {"mechanism": NoisyGradientFrankWolfe(n_iter=300)},
    "noisy-newton": {"mechanism": NoisyNewton(n_iter=300), "scale": "private"},
    "search": {},
}


def long_records():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (20_000, 40))
    return X, np.where(X[:, 0] > 0.2 * X[:, 1], 1, -1)


def long_fit(name, key):
    common = {"bounds": (-1, 1), "classes": (-1, 1)}
    if name == "search":
        inner = PrivateSparseClassifier(**common)
        grid = {"mechanism": [NoisyGradientFrankWolfe(n_iter=150)], "radius": [1.0, 4.0]}
        return PrivateSearchCV(inner, grid, random_state=key)
    return PrivateSparseClassifier(random_state=key, **common, **LONG[name])


def begun(path, name, kind="seeded"):
    import_path = os.pathsep.join([str(Path(__file__).parent), *(part for part in sys.path if part)])
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(BEGIN), str(path), import_path, name, kind],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline().strip() == "ready", process.stderr.read()
    return process


def ended(process):
    out, err = process.communicate(timeout=60)
    return out.strip(), err


@pytest.mark.parametrize(
    "name",
    [name if name in ("noisy-newton", "search") else pytest.param(name, marks=pytest.mark.slow) for name in LONG],
)
def test_killed_fits_go_on(name, tmp_path):
    path = tmp_path / "fit.checkpoint"
    X, y = long_records()
    plain = model(long_fit(name, 5).fit(X, y))
    sizes = []
    for _ in range(3):
        process = begun(path, name)
        size = path.stat().st_size if path.exists() else 0
        deadline = time.monotonic() + 30
        # Some answers on, at a moment that nothing chose.
        while time.monotonic() < deadline and (not path.exists() or path.stat().st_size < size + 4_000):
            assert process.poll() is None, "the fit is too short for this test"
            time.sleep(0.001)
        process.kill()
        ended(process)
        assert path.exists()
        sizes.append(len(path.read_bytes()))
    assert sizes == sorted(set(sizes))
    resumed = long_fit(name, 5).fit(X, y, checkpoint=path)
    assert model(resumed) == plain
    assert not any(tmp_path.iterdir())


def test_a_killed_secure_fit_has_one_certificate(tmp_path):
    path = tmp_path / "fit.checkpoint"
    X, y = long_records()
    process = begun(path, "frank-wolfe", "secure")
    while not path.exists() or path.stat().st_size < 4_000:
        time.sleep(0.001)
    # It is in use.
    with pytest.raises(CheckpointError, match="in use"):
        long_fit("frank-wolfe", None).fit(X, y, checkpoint=path)
    process.kill()
    ended(process)
    fitted = long_fit("frank-wolfe", None).fit(X, y, checkpoint=path)
    assert fitted.certificate_.verify()
    assert fitted.certificate_.events == fitted.plan(*X.shape).events if hasattr(fitted, "plan") else True
    assert any("resumed" in text for text in fitted.certificate_.assumptions)

"""Ledgers: totals on disk and in memory that hold in races, crashes and on damaged files."""

import contextlib
import copy
import json
import os
import pickle
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import cross_val_score

import dpsparse
from dpsparse import (
    BudgetExceededError,
    Certificate,
    InvalidArgumentError,
    LedgerError,
    PrivateOnlineSimplex,
    PrivateScaler,
    PrivateSearchCV,
    PrivateSimplexClassifier,
    PrivateSimplexRegressor,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    UnsoundMechanismError,
)
from dpsparse.mechanisms import FrankWolfe
from dpsparse.privacy import Accountant, ExponentialEvent, GaussianEvent, Ledger, PureEvent, gaussian_sigma
from processes import needs_fork, run_forked

X = np.random.default_rng(0).uniform(-1, 1, (400, 3))
Y = np.where(X[:, 0] > 0, 1, 0)
TARGET = X[:, 0] / 2
COUNTS = np.floor(3 + 2 * X[:, 0])
ROOT = str(Path(dpsparse.__file__).resolve().parent.parent)


def classifier(epsilon=0.5, delta=1e-7, **options):
    return PrivateSparseClassifier(epsilon, delta, bounds=(-1, 1), classes=(0, 1), **options)


def script(path, body, **names):
    """A process that runs `body` with X, Y and the ledger at `path`."""
    head = f"""
        import os, sys, signal, resource
        import numpy as np
        from dpsparse import *
        from dpsparse.privacy import *
        X = np.random.default_rng(0).uniform(-1, 1, (400, 3))
        Y = np.where(X[:, 0] > 0, 1, 0)
        path = {str(path)!r}
    """
    environment = os.environ | {"PYTHONPATH": ROOT} | names
    text = textwrap.dedent(head) + textwrap.dedent(body)
    return subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def finished(process):
    with process:
        out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return out.strip()


# --- every release goes through it ---

RELEASES = {
    "classifier": lambda ledger: classifier(ledger=ledger).fit(X, Y),
    "regressor": lambda ledger: PrivateSparseRegressor(0.5, 1e-7, bounds=(-1, 1), y_bounds=(-1, 1), ledger=ledger).fit(
        X, TARGET
    ),
    "counts": lambda ledger: PrivateSparsePoissonRegressor(
        0.5, 1e-7, bounds=(-1, 1), y_bounds=(0, 10), ledger=ledger
    ).fit(X, COUNTS),
    "simplex regressor": lambda ledger: PrivateSimplexRegressor(
        0.5, 1e-7, bounds=(-1, 1), y_bounds=(-1, 1), ledger=ledger
    ).fit(X, TARGET),
    "simplex classifier": lambda ledger: PrivateSimplexClassifier(
        0.5, 1e-7, bounds=(-1, 1), classes=(0, 1), ledger=ledger
    ).fit(X, Y),
    "scaler": lambda ledger: PrivateScaler(0.5, 1e-7, bounds=(-1, 1), ledger=ledger).fit(X),
    "search": lambda ledger: PrivateSearchCV(
        PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1)),
        {"radius": [0.1, 1.0]},
        epsilon=0.5,
        delta=1e-7,
        ledger=ledger,
    ).fit(X, Y),
    "online": lambda ledger: PrivateOnlineSimplex(0.5, 1e-7, horizon=10, n_features=3, bound=1.0, ledger=ledger),
}


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
@pytest.mark.parametrize("on_disk", [True, False], ids=["file", "memory"])
def test_every_release_is_written_down_first(release, on_disk, tmp_path):
    ledger = Ledger(tmp_path / "l.db", 1.0, 1e-6) if on_disk else Accountant(1.0, 1e-6)
    fitted = release(ledger)
    [entry] = ledger.entries()
    assert entry.claim == (0.5, 1e-7)
    assert entry.verify()
    certificate = getattr(fitted, "certificate_", None)
    if certificate is not None:
        assert entry.events == certificate.events
    assert 0.0 < ledger.spent(1e-6) <= 0.5
    # Much more than is left: refused before anything is read.
    fit = classifier(20.0, 1e-7, ledger=ledger)
    with pytest.raises(BudgetExceededError):
        fit.fit(X, Y)
    assert not hasattr(fit, "coef_")
    assert len(ledger.entries()) == 1


def test_an_exhausted_budget_is_told_before_records_are_read(tmp_path):
    read = []

    def blocks():
        read.append(1)
        yield X

    ledger = Ledger(tmp_path / "l.db", 0.3, 1e-6)
    source = dpsparse.blocks.from_iterables(blocks, n_samples=400, n_features=3)
    with pytest.raises(BudgetExceededError):
        classifier(ledger=ledger).fit(source, Y)
    assert read == []
    classifier(0.3, 1e-6, ledger=ledger).fit(source, Y)
    assert read


# --- the total ---


@pytest.mark.parametrize("on_disk", [True, False], ids=["file", "memory"])
def test_figures(on_disk, tmp_path):
    ledger = Ledger(tmp_path / "l.db", 1.0, 1e-6) if on_disk else Accountant(1.0, 1e-6)
    assert ledger.remaining(0.0) == 1.0
    assert ledger.remaining(1e-6) == ledger.remaining() == pytest.approx(1.0, abs=1e-6)
    assert ledger.spent() == 0.0
    model, count = classifier(0.3, 1e-6, ledger=ledger), 0
    while ledger.remaining() >= 0.301:
        model.fit(X, Y)
        count += 1
    with pytest.raises(BudgetExceededError, match="does not fit the budget of epsilon 1"):
        model.fit(X, Y)
    # Gaussian noise of .3 each: 3 would fit by adding up.
    assert 7 <= count <= 8
    assert 0.8 < ledger.spent() <= 1.0
    assert ledger.remaining() < 0.3


def test_pure_releases_add_up():
    budget = Accountant(1.0, 1e-9).add(PureEvent(0.25), 3)
    assert budget.remaining(0.0) == 0.25
    with pytest.raises(BudgetExceededError):
        budget.add(PureEvent(0.26))
    budget.add(PureEvent(0.25))
    assert budget.remaining() == 0.0
    assert budget.epsilon(0.0) == 1.0


@given(
    epsilon=st.floats(0.1, 5.0),
    delta=st.sampled_from([0.0, 1e-9, 1e-5]),
    events=st.lists(
        st.one_of(
            st.floats(0.02, 1.0).map(lambda ratio: GaussianEvent(ratio, 1.0)),
            st.floats(0.02, 1.0).map(ExponentialEvent),
            st.floats(0.02, 1.0).map(PureEvent),
        ),
        max_size=20,
    ),
)
def test_what_a_budget_admits_keeps_it(epsilon, delta, events):
    budget = Accountant(epsilon, delta)
    for event in events:
        before = budget.events
        try:
            budget.add(event)
        except BudgetExceededError:
            assert budget.events == before
    assert budget.delta(epsilon) <= delta * (1 + 1e-9)


def test_a_first_release_may_use_all():
    sigma = gaussian_sigma(1.0, 1.0, 1e-6)
    budget = Accountant(1.0, 1e-6).add(GaussianEvent(1.0, sigma))
    assert budget.remaining() == 0.0
    with pytest.raises(BudgetExceededError):
        budget.add(PureEvent(1e-9))


# --- one budget, one statement of neighbours ---


def test_data_sets_and_neighbours_are_kept_apart(tmp_path):
    path = tmp_path / "l.db"
    first, second = Ledger(path, 0.6, 1e-6, dataset="a"), Ledger(path, 2.0, 1e-6, dataset="b")
    classifier(ledger=first).fit(X, Y)
    assert (len(first.entries()), len(second.entries())) == (1, 0)
    other = {"adjacency": "add-remove", "n_public": 400}
    with pytest.raises(InvalidArgumentError, match="relation"):
        classifier(ledger=first, **other).fit(X, Y)
    classifier(ledger=second, **other).fit(X, Y)
    with pytest.raises(InvalidArgumentError, match="relation"):
        classifier(ledger=second).fit(X, Y)
    with pytest.raises(InvalidArgumentError, match="must be those"):
        Ledger(path, 0.7, 1e-6, dataset="a")
    assert (Ledger(path, dataset="a").epsilon, Ledger(path, dataset="b").delta) == (0.6, 1e-6)
    with pytest.raises(InvalidArgumentError, match="dataset"):
        Ledger(path, dataset="c")
    with pytest.raises(InvalidArgumentError, match="path"):
        Ledger(tmp_path / "none.db")


def test_persons_with_more_records_need_releases_that_protect_them(tmp_path):
    ledger = Ledger(tmp_path / "l.db", 1.0, 1e-6, records_per_person=3)
    with pytest.raises(InvalidArgumentError, match="records_per_person"):
        classifier(ledger=ledger).fit(X, Y)
    classifier(ledger=ledger, records_per_person=3).fit(X, Y)
    assert len(ledger.entries()) == 1


def test_what_has_no_guarantee_is_refused_or_said(tmp_path):
    ledger = Ledger(tmp_path / "l.db", 10.0, 1e-5)
    paper = FrankWolfe(calibration="paper", allow_uncertified=True, n_iter=3)
    with pytest.raises(UnsoundMechanismError):
        classifier(mechanism=paper, radius=1.0, ledger=ledger, scale=None).fit(X, Y)
    assert ledger.entries() == []
    assert ledger.secure
    classifier(ledger=ledger, random_state=0).fit(X, Y)
    assert not ledger.secure
    assert str(ledger).startswith("NO GUARANTEE")


def test_bad_arguments(tmp_path):
    path = tmp_path / "l.db"
    for arguments in [(0.0, 1e-6), (-1.0, 1e-6), (np.nan, 1e-6), (1.0, 1.0), (1.0, -1e-9), (1.0, None), (None, 1e-6)]:
        with pytest.raises(InvalidArgumentError):
            Ledger(path, *arguments)
        if arguments != (None, None):
            with pytest.raises(InvalidArgumentError):
                Accountant(*arguments)
    for options in [{"dataset": ""}, {"dataset": 3}, {"adjacency": "x"}, {"records_per_person": 0}, {"timeout": -1}]:
        with pytest.raises(InvalidArgumentError):
            Ledger(path, 1.0, 1e-6, **options)
    with pytest.raises(InvalidArgumentError, match="path"):
        Ledger(3, 1.0, 1e-6)
    assert not path.exists()
    with pytest.raises(InvalidArgumentError, match="ledger must be"):
        classifier(ledger=str(path)).fit(X, Y)
    with pytest.raises(InvalidArgumentError, match="epsilon"):
        Accountant().remaining()
    search = PrivateSearchCV(classifier(ledger=Accountant(1.0, 1e-6)), {"radius": [1.0]})
    with pytest.raises(InvalidArgumentError, match="search's own"):
        search.fit(X, Y)


# --- certificates add up ---


def test_certificates_add_up():
    models = [classifier(epsilon).fit(X, Y) for epsilon in (0.3, 0.4, 0.5)]
    first, second, third = (model.certificate_ for model in models)
    both = first + second
    assert both.entries() == [first, second]
    assert max(first.epsilon(1e-6), second.epsilon(1e-6)) < both.epsilon(1e-6) < 0.7
    assert (both + third).epsilon(1e-6) == sum([first, second, third]).epsilon(1e-6)
    assert (both + both).events == Accountant().add(first).add(second).add(first).add(second).events
    with pytest.raises(TypeError):
        first + 3
    with pytest.raises(TypeError):
        3 + first
    other = classifier(adjacency="add-remove", n_public=400).fit(X, Y).certificate_
    with pytest.raises(InvalidArgumentError, match="neighbour"):
        first + other
    with pytest.raises(InvalidArgumentError, match="count"):
        Accountant().add(first, 2)


def test_accountants_and_ledgers_travel(tmp_path):
    budget = Accountant(2.0, 1e-6).add(PureEvent(0.25), 2).add(classifier().fit(X, Y).certificate_)
    for again in (pickle.loads(pickle.dumps(budget)), copy.deepcopy(budget)):
        assert again.resume() is again
        assert again.events == budget.events
        assert again.entries() == budget.entries()
        assert again.remaining(1e-6) == budget.remaining(1e-6)
        assert repr(again) == repr(budget)
    plain = pickle.loads(pickle.dumps(Accountant().add(GaussianEvent(1.0, 2.0), 3)))
    assert plain.events == ((GaussianEvent(1.0, 2.0), 3),)
    ledger = Ledger(tmp_path / "l.db", 1.0, 1e-6, dataset="d")
    model = classifier(ledger=ledger)
    for again in (clone(model), pickle.loads(pickle.dumps(model))):
        again.fit(X, Y)
    assert len(ledger.entries()) == 2
    fields = json.loads(ledger.export_json())
    assert [entry["kind"] for entry in fields["entries"]] == ["data set", "release", "release"]
    exported = json.dumps(fields["entries"][1]["certificate"])
    assert Certificate.from_json(exported) == ledger.entries()[0]
    assert fields["head"] == ledger.head
    assert "epsilon 0.5 at delta 1e-07" in str(ledger)


def test_a_budget_in_memory_is_one_whoever_copies_it():
    budget = Accountant(1.0, 1e-6)
    model = classifier(0.9, 1e-9, ledger=budget)
    for again in (copy.copy(budget), copy.deepcopy(budget), clone(model).ledger, copy.deepcopy(model).ledger):
        assert again is budget
    with pytest.warns(FitFailedWarning, match="does not fit the budget"):
        scores = cross_val_score(model, X, Y, cv=5)
    assert np.isfinite(scores).sum() == 1
    assert len(budget.entries()) == 1
    assert budget.spent() > 0.5
    with pytest.raises(BudgetExceededError):
        clone(model).fit(X, Y)
    bagged = Accountant(1.0, 1e-6)
    with pytest.raises(BudgetExceededError):
        BaggingClassifier(classifier(0.9, 1e-9, ledger=bagged), n_estimators=4).fit(X, Y)
    assert len(bagged.entries()) == 1
    plain = Accountant().add(PureEvent(0.5))
    for again in (copy.copy(plain), copy.deepcopy(plain)):
        assert again is not plain
        again.add(PureEvent(0.5))
    assert plain.events == ((PureEvent(0.5), 1),)
    clone(classifier(ledger=plain)).fit(X, Y)  # what was fitted is on record
    assert len(plain.entries()) == 1


def test_a_budget_that_was_read_back_spends_nothing_unless_it_goes_on():
    certificate = classifier().fit(X, Y).certificate_
    budget = Accountant(2.0, 1e-6).add(PureEvent(0.25))
    again = pickle.loads(pickle.dumps(budget))
    assert again.remaining(0.0) == 1.75
    for spend in (
        lambda: again.add(PureEvent(0.1)),
        lambda: again.admits(certificate),
        lambda: again.commit(certificate),
        lambda: classifier(ledger=again).fit(X, Y),
    ):
        with pytest.raises(UnsoundMechanismError, match=r"read back .* call resume\(\) .*Ledger"):
            spend()
    assert again.events == budget.events
    assert again.entries() == []
    classifier(ledger=again.resume()).fit(X, Y)
    assert len(again.entries()) == 1
    plain = pickle.loads(pickle.dumps(Accountant().add(certificate)))
    assert len(plain.add(certificate).entries()) == 2


@needs_fork
def test_budgets_and_learners_stay_in_their_process():
    body = """
        import numpy as np
        from dpsparse import *
        from dpsparse.privacy import Accountant, PureEvent
        X = np.random.default_rng(0).uniform(-1, 1, (400, 3))
        budget, plain = Accountant(1.0, 1e-6), Accountant()
        learner = PrivateOnlineSimplex(1.0, 1e-6, horizon=5, n_features=3, bound=1.0)

        def work():
            refused = []
            for name, spend in (
                ("add", lambda: budget.add(PureEvent(0.1))),
                ("fit", lambda: PrivateScaler(0.1, 1e-9, bounds=(-1, 1), ledger=budget).fit(X)),
                ("update", lambda: learner.update(np.ones(3))),
                ("plain", lambda: plain.add(PureEvent(0.1))),
            ):
                try:
                    spend()
                except UnsoundMechanismError as error:
                    assert "forked" in str(error), error
                    refused.append(name)
            return refused
    """
    first, child, later = run_forked(body, ["here(work)", "child(work)", "here(work)"])
    assert first == later == "[]"
    assert child == "['add', 'fit', 'update']"


def with_more_noise(certificate):
    """The certificate as it would be with a hundred times the noise, under the checksum of what it was."""
    fields = json.loads(certificate.to_json())
    gaussian = next(spent for spent in fields["events"] if "sigma" in spent["event"])
    gaussian["event"]["sigma"] *= 100
    return Certificate.from_json(json.dumps(fields))


def test_certificates_that_were_changed_do_not_add_up(tmp_path):
    sound = classifier().fit(X, Y).certificate_
    changed = with_more_noise(sound)
    assert not changed.verify()
    budget, plain = Accountant(1.0, 1e-6), Accountant()
    ledger = Ledger(tmp_path / "l.db", 1.0, 1e-6, dataset="d")
    for spend in (
        lambda: plain.add(changed),
        lambda: budget.add(changed),
        lambda: budget.admits(changed),
        lambda: budget.commit(changed),
        lambda: ledger.commit(changed),
        lambda: sound + changed,
        lambda: changed + sound,
    ):
        with pytest.raises(InvalidArgumentError, match="was changed after it was written"):
            spend()
    assert plain.events == budget.events == ()
    assert ledger.entries() == []


def test_a_file_that_counts_a_changed_certificate_is_refused(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "l.db", 1.0, 1e-6)
    changed = with_more_noise(classifier().fit(X, Y).certificate_)
    with monkeypatch.context() as patch:  # as a version wrote it that did not look

        class Careless:
            def __init__(self, *_arguments, **_options):
                pass

            def add(self, *_arguments):
                pass

            def copy(self):
                return self

        patch.setattr(dpsparse._core, "Total", Careless)
        patch.setattr(dpsparse.privacy.ledger, "Accountant", Careless)
        ledger._read = type(ledger._read)()
        ledger.commit(changed)
    with pytest.raises(LedgerError, match=r"entry 1 of the ledger cannot be counted.*changed"):
        Ledger(tmp_path / "l.db")


def test_accountants_say_whether_releases_were_seeded():
    secure, seeded = classifier().fit(X, Y).certificate_, classifier(random_state=0).fit(X, Y).certificate_
    assert Accountant().secure
    assert Accountant().add(PureEvent(1.0)).add(secure).secure
    assert not Accountant().add(secure).add(seeded).secure
    assert not (secure + seeded).secure


# --- races and crashes ---


def admitted(epsilon):
    """How many scalers of this epsilon fit a total of 1, one after the other."""
    budget = Accountant(1.0, 1e-6)
    with contextlib.suppress(BudgetExceededError):
        for _ in range(1000):
            PrivateScaler(epsilon, 1e-9, bounds=(-1, 1), ledger=budget).fit(X)
    return len(budget.entries())


def test_racing_processes_admit_exactly_what_fits(tmp_path):
    path = tmp_path / "l.db"
    body = """
        ledger = Ledger(path, 1.0, 1e-6)
        done = 0
        for _ in range(6):
            try:
                PrivateScaler(0.2, 1e-9, bounds=(-1, 1), ledger=ledger).fit(X)
                done += 1
            except BudgetExceededError:
                pass
        print(done)
    """
    processes = [script(path, body) for _ in range(8)]
    done = [int(finished(process)) for process in processes]
    fits = admitted(0.2)
    assert 1 < fits < 48
    assert sum(done) == len(Ledger(path).entries()) == fits


def test_what_is_left_is_looked_at_and_written_in_one_transaction(tmp_path):
    path = tmp_path / "l.db"
    ledger = Ledger(path, 1.0, 1e-6)
    with ledger._transaction(), pytest.raises(LedgerError, match="another process"):
        Ledger(path, timeout=0.0)
    assert Ledger(path, timeout=0.0).remaining() > 0


@pytest.mark.skipif(sys.platform != "linux", reason="locks of open file descriptions")
def test_who_copies_the_file_in_a_process_that_commits_lets_no_other_one_in(tmp_path, monkeypatch):
    """POSIX drops all locks of a process on a file that it closes: the second entry took the place of the first."""
    path = tmp_path / "l.db"
    ledger = Ledger(path, 1.0, 1e-6)
    certificate = classifier().fit(X, Y).certificate_
    body = """
        try:
            PrivateScaler(0.5, 1e-9, bounds=(-1, 1), ledger=Ledger(path, timeout=0.3)).fit(X)
            print("released")
        except LedgerError as error:
            print(error)
    """
    append, told = ledger._append, []

    def copied_meanwhile(*entry):
        shutil.copy(path, tmp_path / "copy.db")
        told.append(finished(script(path, body)))
        append(*entry)

    monkeypatch.setattr(ledger, "_append", copied_meanwhile)
    ledger.commit(certificate)
    assert len(Ledger(path).entries()) == 1
    assert "another process" in told[0]


@pytest.mark.skipif(sys.platform != "linux", reason="locks of open file descriptions")
def test_who_copies_a_new_file_amid_its_first_commit_lets_no_other_one_in(tmp_path, monkeypatch):
    """A file that was not there yet had SQLite's locks alone: the new total took the place of the other's releases."""
    path = tmp_path / "l.db"
    body = """
        try:
            PrivateScaler(0.5, 1e-9, bounds=(-1, 1), ledger=Ledger(path, 1.0, 1e-6, timeout=0.3)).fit(X)
            print("released")
        except LedgerError as error:
            print(error)
    """
    append, told = Ledger._append, []

    def copied_meanwhile(ledger, *entry):
        shutil.copy(path, tmp_path / "copy.db")
        told.append(finished(script(path, body)))
        append(ledger, *entry)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "_append", copied_meanwhile)
        Ledger(path, 1.0, 1e-6)
    assert Ledger(path).entries() == []
    assert "another process" in told[0]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_look_amid_a_commit_of_its_own_is_refused_at_once(tmp_path, monkeypatch):
    """As a handler of a signal or a finaliser may have one: it waited for itself, and the file was lost."""
    ledger = Ledger(tmp_path / "l.db", 1.0, 1e-6, timeout=1.0)
    certificate = classifier().fit(X, Y).certificate_
    append = ledger._append

    def looked_at_meanwhile(*entry):
        append(*entry)
        with pytest.raises(LedgerError, match="amid"):
            ledger.remaining()

    monkeypatch.setattr(ledger, "_append", looked_at_meanwhile)
    ledger.commit(certificate)
    assert len(ledger.entries()) == len(Ledger(tmp_path / "l.db").entries()) == 1


@pytest.mark.parametrize("one_file", [False, True])
def test_threads_amid_ledgers_that_look_at_each_others_do_not_wait_for_ever(one_file, tmp_path, monkeypatch):
    """As finalisers may: each held what the other one waited for."""
    paths = [tmp_path / ("l.db" if one_file else f"{k}.db") for k in range(2)]
    ledgers = [Ledger(path, 1.0, 1e-6, timeout=0.5) for path in paths]
    certificate = classifier(epsilon=0.1).fit(X, Y).certificate_
    both = threading.Barrier(2)
    told, waits = [], not one_file  # with one file the second thread is not amid a commit before the first is done

    def amid(k):
        append = ledgers[k]._append

        def looked_at_meanwhile(*entry):
            append(*entry)
            if waits:
                both.wait(timeout=30)
            try:
                ledgers[1 - k].remaining()
            except LedgerError as error:
                told.append(str(error))

        monkeypatch.setattr(ledgers[k], "_append", looked_at_meanwhile)

    def commit(k):
        try:
            ledgers[k].commit(certificate)
        except LedgerError as error:
            told.append(str(error))

    for k in range(2):
        amid(k)
    threads = [threading.Thread(target=commit, args=(k,), daemon=True) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert told
    assert all("0.5 seconds" in text for text in told)
    if not one_file:
        assert [len(Ledger(path).entries()) for path in paths] == [1, 1]


def test_racing_threads_share_one_object(tmp_path):
    ledger = Ledger(tmp_path / "l.db", 1.0, 1e-6)
    done = []

    def work():
        for _ in range(4):
            try:
                PrivateScaler(0.3, 1e-9, bounds=(-1, 1), ledger=ledger).fit(X)
                done.append(1)
            except BudgetExceededError:
                pass

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == len(ledger.entries()) == admitted(0.3) < 24


def kill_at_random(path, folder, rng, processes):
    """Processes that fit and write models, killed at random moments; the entries and models that they leave."""
    body = f"""
        ledger = Ledger(path)
        print("ready", flush=True)
        for k in range(10**6):
            model = PrivateScaler(1e-3, 1e-9, bounds=(-1, 1), ledger=ledger).fit(X)
            with open({str(folder)!r} + f"/{{os.getpid()}}-{{k}}", "w") as file:
                file.write("model")
    """
    for _ in range(processes):
        with script(path, body) as process:
            assert process.stdout.readline().strip() == "ready", process.stderr.read()
            time.sleep(float(rng.uniform(0.05, 0.3)))
            process.send_signal(signal.SIGKILL)
    return len(Ledger(path).entries()), len(list(folder.iterdir()))


def crashes_never_leave_a_model_without_its_entry(tmp_path, kills):
    path, folder = tmp_path / "l.db", tmp_path / "models"
    folder.mkdir()
    Ledger(path, 1e4, 1e-6)
    entries, models = kill_at_random(path, folder, np.random.default_rng(5), kills)
    # A killed fit may waste an entry, never the other way round.
    assert models <= entries <= models + kills
    assert models > 0


def test_crashes_never_leave_a_model_without_its_entry(tmp_path):
    crashes_never_leave_a_model_without_its_entry(tmp_path, 5)


@pytest.mark.slow
def test_two_hundred_crashes_never_leave_a_model_without_its_entry(tmp_path):
    crashes_never_leave_a_model_without_its_entry(tmp_path, 200)


@needs_fork
def test_forks_wait_for_transactions_of_other_threads(tmp_path):
    """SQLite's locks, and those of threads that a child does not have, would be held in it for ever."""
    body = """
        import threading
        ledger = Ledger(path, 1.0, 1e-6, timeout=1.0)
        stopped = threading.Event()

        def work():
            while not stopped.is_set():
                ledger.remaining()

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        statuses = []
        for _ in range(20):
            child = os.fork()
            if not child:
                signal.alarm(5)
                ledger.remaining()
                os._exit(0)
            statuses.append(os.waitpid(child, 0)[1])
        stopped.set()
        for thread in threads:
            thread.join()
        print(statuses)
    """
    assert finished(script(tmp_path / "l.db", body)) == str([0] * 20)


# --- files that cannot be trusted or used ---


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "l.db"
    ledger = Ledger(path, 4.0, 1e-6)
    for _ in range(3):
        classifier(ledger=ledger).fit(X, Y)
    return path


EDITS = {
    "content": "UPDATE entries SET content = replace(content, '0.5', '0.4') WHERE number = 2",
    "total": "UPDATE entries SET content = replace(content, '4.0', '8.0') WHERE number = 0",
    "data set": "UPDATE entries SET dataset = 'other' WHERE number = 3",
    "kind": "UPDATE entries SET kind = 'note' WHERE number = 1",
    "lost entry": "DELETE FROM entries WHERE number = 1",
    "lost last entry": "DELETE FROM entries WHERE number = 3",
    "order": "UPDATE entries SET number = number + 10 WHERE number = 2",
    "hash": "UPDATE entries SET hash = 'x' WHERE number = 3",
    "head": "UPDATE head SET entries = 3",
    "no head": "DELETE FROM head",
    "format": "UPDATE head SET format = 'dpsparse-ledger-0'",
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_edited_files_are_refused(edit, written):
    with contextlib.closing(sqlite3.connect(written)) as connection, connection:
        assert connection.execute(edit).rowcount > 0
    with pytest.raises(LedgerError):
        Ledger(written)
    with pytest.raises(LedgerError):
        Ledger(written, 4.0, 1e-6)


@pytest.mark.parametrize("share", [0.9, 0.5, 0.1, 1e-4])  # of one byte too: SQLite takes it for a new file
def test_truncated_files_are_refused(share, written):
    content = written.read_bytes()
    written.write_bytes(content[: int(share * len(content))])
    with pytest.raises(LedgerError):
        Ledger(written)


def test_files_that_lost_their_tables_are_refused(written):
    """A few bits of the first page say which tables there are; with none, a new total must not begin."""
    content = bytearray(written.read_bytes())
    content[103:105] = b"\0\0"  # how many, in the format of SQLite
    written.write_bytes(content)
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(written)
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(written, 4.0, 1e-6)


@pytest.mark.parametrize("column", ["dataset", "kind", "content", "hash"])
def test_bytes_in_the_place_of_text_are_refused(written, column):
    with contextlib.closing(sqlite3.connect(written)) as connection, connection:
        connection.execute(f"UPDATE entries SET {column} = CAST({column} AS BLOB)")
    with pytest.raises(LedgerError, match="entry 0"):
        Ledger(written)


def test_text_that_is_damaged_is_said_to_be_and_is_not_quoted(written):
    """Python's words had the whole entry, and the advice was that the disk had failed."""
    content = written.read_bytes()
    written.write_bytes(content.replace(b'"certificate"', b'"certific\xe1te"'))
    with pytest.raises(LedgerError, match=r"it is damaged; .*\(malformed text\)$"):
        Ledger(written)
    for column in ("hash", "content"):
        written.write_bytes(
            content.replace(f"{column} TEXT NOT NULL".encode(), f"{column.upper()[:-1]}_ TEXT NOT NULL".encode())
        )
        with pytest.raises(LedgerError, match="it is damaged"):
            Ledger(written)


def test_tables_whose_names_are_no_text_are_refused(written):
    content = written.read_bytes()
    assert content.count(b"CREATE TABLE entries") == 1
    written.write_bytes(content.replace(b"CREATE TABLE entries", b"CREATE TABL\xcc entries"))
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(written)


def chained(path, rows):
    """A file of entries whose chain is right, whatever they are."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM entries")
        found = dpsparse.privacy.ledger._START
        for number, (kind, content) in enumerate(rows):
            found = dpsparse.privacy.ledger._hash(found, number, "default", kind, content)
            connection.execute("INSERT INTO entries VALUES (?, 'default', ?, ?, ?)", (number, kind, content, found))
        connection.execute("UPDATE head SET entries = ?, hash = ?", (len(rows), found))


ODD = ["", "{", "[]", "null", "{}", "[" * 100_000, "9" * 10_000, '"epsilon"']


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("number", [0, 1])
def test_entries_of_another_version_are_refused(number, odd, written):
    """Their chain is right; errors were of Python's kinds, whose texts named nothing that a user has."""
    with contextlib.closing(sqlite3.connect(written)) as connection:
        rows = connection.execute("SELECT kind, content FROM entries ORDER BY number").fetchall()
    chained(written, rows)
    assert len(Ledger(written).entries()) == 3
    chained(written, [(kind, odd if k == number else content) for k, (kind, content) in enumerate(rows)])
    for terms in ((), (4.0, 1e-6)):
        with pytest.raises(LedgerError, match=rf"entry {number} of the ledger cannot be counted: it is not as"):
            Ledger(written, *terms)


def test_entries_that_are_not_understood_are_not_passed_over(written):
    """A second total began the data set anew, and what was of another kind was counted, or shown nowhere."""
    with contextlib.closing(sqlite3.connect(written)) as connection:
        total, *releases = connection.execute("SELECT kind, content FROM entries ORDER BY number").fetchall()
    first = json.loads(releases[0][1])
    for rows, problem in [
        ([total, *releases, (total[0], total[1].replace("4.0", "400.0"))], "entry 4 .* has a total already"),
        ([releases[0], total], "entry 0 .* has no total yet"),
        ([total, ("note", releases[0][1])], "entry 1 .* does not know"),
        ([(total[0], total[1].replace("4.0", "-4.0"))], "entry 0 .* epsilon must be positive"),
        ([total, ("release", json.dumps(first | {"certificate": "{}"}))], "entry 1 .* must have the format"),
        ([total, ("release", json.dumps(first | {"records_per_person": -1}))], "entry 1 .* not as this version"),
    ]:
        chained(written, rows)
        with pytest.raises(LedgerError, match=problem):
            Ledger(written)


def test_a_file_that_was_refused_is_nobodys(written):
    """Whoever kept the error, as notebooks do, kept a lock on the file: a sound copy in its place was of no use."""
    sound = written.read_bytes()
    with contextlib.closing(sqlite3.connect(written)) as connection, connection:
        connection.execute("UPDATE entries SET kind = 'note' WHERE number = 1")
    with pytest.raises(LedgerError, match="entry 1") as kept:
        Ledger(written)
    written.write_bytes(sound)
    ledger = Ledger(written, timeout=0.1)
    classifier(ledger=ledger).fit(X, Y)
    assert len(ledger.entries()) == 4
    assert kept.value is not None


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "x"
    path.write_text("a,b\n1,2\n" * 100)
    with pytest.raises(LedgerError):
        Ledger(path, 1.0, 1e-6)
    other = tmp_path / "y.db"
    with contextlib.closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("CREATE TABLE people (name TEXT)")
    with pytest.raises(LedgerError, match="something else"):
        Ledger(other, 1.0, 1e-6)


def test_an_older_copy_is_told_by_the_head(written, tmp_path):
    older = tmp_path / "older.db"
    shutil.copy(written, older)
    before = Ledger(written).head
    classifier(ledger=Ledger(written)).fit(X, Y)
    head = Ledger(written).head
    assert head != before
    assert Ledger(written, head=head).head == Ledger(written, head=before).head == head
    with pytest.raises(LedgerError, match="older copy"):
        Ledger(older, head=head)


@pytest.mark.parametrize("before", ["", "PRAGMA journal_mode = WAL"], ids=["new", "of an earlier version"])
def test_a_file_that_is_copied_alone_holds_all_entries_whoever_has_it_open(before, written, tmp_path):
    with contextlib.closing(sqlite3.connect(written)) as connection:
        connection.execute(before)
    ledger = Ledger(written)
    with contextlib.closing(sqlite3.connect(written)) as another:
        assert another.execute("SELECT count(*) FROM entries").fetchone() == (4,)
        classifier(ledger=ledger).fit(X, Y)
        assert [path.name for path in written.parent.iterdir()] == ["l.db"]
        shutil.copy(written, tmp_path / "copy.db")
    assert Ledger(tmp_path / "copy.db").head == ledger.head


def test_a_write_ahead_log_that_others_use_is_told(written):
    """Nothing is committed to it; and all that it holds is counted when they have gone."""
    with contextlib.closing(sqlite3.connect(written, isolation_level=None)) as another:
        another.execute("PRAGMA journal_mode = WAL")
        another.execute("SELECT count(*) FROM entries").fetchone()
        with pytest.raises(LedgerError, match="another process"):
            Ledger(written, timeout=0.1)
    assert len(Ledger(written).entries()) == 3


def test_what_is_no_file_is_said_to_be_none(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # which SQLite would wait for
    for path in (tmp_path, tmp_path / "pipe", "/dev/null"):
        with pytest.raises(LedgerError, match="a folder, a pipe or a device"):
            Ledger(path, 1.0, 1e-6)


def test_a_file_of_several_names_is_refused(written):
    """Processes that use different names would not see each other's journals: 240 models had 125 entries."""
    other = written.with_name("other.db")
    os.link(written, other)
    for path in (written, other):
        with pytest.raises(LedgerError, match="hard links"):
            Ledger(path)
    other.unlink()
    assert len(Ledger(written).entries()) == 3


def test_what_a_ledger_has_seen_must_stay_in_its_file(written):
    older, newer = written.with_name("older.db"), written.with_name("newer.db")
    shutil.copy(written, older)
    ledger = Ledger(written)
    classifier(ledger=ledger).fit(X, Y)
    shutil.copy(written, newer)
    os.replace(older, written)
    for _ in range(3):
        with pytest.raises(LedgerError, match="does not"):
            classifier(ledger=ledger).fit(X, Y)
    written.unlink()
    for _ in range(3):
        with pytest.raises(LedgerError, match="gone"):
            classifier(ledger=ledger).fit(X, Y)
    assert not written.exists()
    os.replace(newer, written)
    assert len(ledger.entries()) == 4


@pytest.mark.parametrize("name", ["l.db/below", "n" * 300], ids=["below a file", "too long"])
def test_names_that_no_file_can_have_are_told(name, written):
    with pytest.raises(LedgerError, match="cannot be written to"):
        Ledger(written.parent / name, 1.0, 1e-6)


def test_a_locked_file_is_told(written):
    ledger = Ledger(written, timeout=0.2)
    holder = sqlite3.connect(written, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    model = classifier(ledger=ledger)
    with pytest.raises(LedgerError, match="another process"):
        model.fit(X, Y)
    holder.execute("ROLLBACK")
    holder.close()
    assert not hasattr(model, "coef_")
    assert len(ledger.entries()) == 3


REFUSED = """
    ledger = Ledger(path)
    {before}
    model = PrivateSparseClassifier(0.1, 1e-8, bounds=(-1, 1), classes=(0, 1), ledger=ledger)
    try:
        for _ in range(2000):
            model.fit(X, Y)
            del model.coef_
    except LedgerError as error:
        print(hasattr(model, "coef_"), type(error).__name__, str(error).startswith("the ledger cannot be used"))
"""


def test_a_full_disk_is_told(written):
    before = """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path) + 20_000, resource.RLIM_INFINITY))
    """.replace("\n    ", "\n    ").strip()
    assert finished(script(written, REFUSED.format(before=before))) == "False LedgerError True"
    entries = len(Ledger(written).entries())
    assert entries >= 3
    classifier(0.1, 1e-8, ledger=Ledger(written)).fit(X, Y)  # sound again where there is room


def test_a_file_that_cannot_be_written_is_told(written):
    if os.geteuid() == 0:
        before = "os.setgid(65534); os.setuid(65534)"
        written.parent.chmod(0o555)
        for folder in written.parents[:3]:
            folder.chmod(folder.stat().st_mode | 0o055)
    else:
        before = "os.chmod(path, 0o444); os.chmod(os.path.dirname(path), 0o555)"
    body = REFUSED.format(before=before)
    try:
        assert finished(script(written, body)) == "False LedgerError True"
    finally:
        written.parent.chmod(0o755)
        written.chmod(0o644)
    assert len(Ledger(written).entries()) == 3


def test_a_failing_fsync_is_told(written, tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler: no fsync that fails")
    source, library = tmp_path / "fail.c", tmp_path / "fail.so"
    source.write_text(
        "#include <errno.h>\n#include <stdlib.h>\n"
        'int fsync(int f) { if (getenv("FAIL_FSYNC")) { errno = EIO; return -1; } return 0; }\n'
        "int fdatasync(int f) { return fsync(f); }\n"
    )
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    body = REFUSED.format(before="os.environ['FAIL_FSYNC'] = '1'")
    assert finished(script(written, body, LD_PRELOAD=str(library))) == "False LedgerError True"
    assert len(Ledger(written).entries()) >= 3

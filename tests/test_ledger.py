"""Ledgers: totals on disk and in memory, of releases and of certificates."""

import copy
import json
import pickle

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
from ledgers import X, Y, classifier
from processes import needs_fork, run_forked

TARGET = X[:, 0] / 2
COUNTS = np.floor(3 + 2 * X[:, 0])


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


@pytest.mark.parametrize("error", [KeyboardInterrupt, LedgerError])
def test_a_fit_that_is_stopped_as_its_entry_is_written_says_that_it_may_stand(error):
    """Nothing was said, and the entry was there."""

    class Stopped:
        def admits(self, certificate, records_per_person=1, **mark):
            pass

        def commit(self, certificate, records_per_person=1, **mark):
            raise error

    X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    model = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1), ledger=Stopped())
    with pytest.raises(error) as caught:
        model.fit(X, X[:, 0] > 0)
    notes = getattr(caught.value, "__notes__", [])
    assert any("may stand" in note for note in notes) == (error is KeyboardInterrupt)

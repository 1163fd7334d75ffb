"""Private coverage and facility location against brute force, by enumeration of their law, and at their edges."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsparse import BudgetExceededError, InvalidArgumentError, InvalidDataError
from dpsparse.combinatorial import PrivateCoverage, PrivateFacilityLocation
from dpsparse.privacy import Accountant, Ledger

#: Values are kept as multiples of this.
LATTICE = 16383


def coverage(X, chosen):
    return np.mean(np.max(X[:, list(chosen)], axis=1))


def best_set(X, k):
    return max(itertools.combinations(range(X.shape[1]), k), key=lambda chosen: coverage(X, chosen))


def law(X, k, epsilon0, halved=False, owned=1):
    """The probability of each sequence of choices, by the definition of the exponential mechanism."""
    integers = np.rint(np.clip(X, 0.0, 1.0) * LATTICE)
    bound = owned * np.ceil(LATTICE / 2 if halved else LATTICE)
    result = {(): 1.0}
    for _ in range(k):
        longer = {}
        for chosen, probability in result.items():
            best = integers[:, list(chosen)].max(axis=1) if chosen else np.zeros(len(X))
            left = [j for j in range(X.shape[1]) if j not in chosen]
            gains = np.array([np.maximum(integers[:, j] - best, 0.0).sum() for j in left])
            weights = np.exp(epsilon0 * (gains - gains.max()) / (2 * bound))
            for j, weight in zip(left, weights / weights.sum(), strict=True):
                longer[(*chosen, j)] = probability * weight
        result = longer
    return result


@pytest.mark.parametrize("seed", range(3))
def test_much_budget_is_the_greedy_algorithm(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(400, 8)) ** 4
    model = PrivateFacilityLocation(n_selected=3, epsilon=500.0, delta=1e-6, random_state=seed).fit(X)
    chosen = []
    for _ in range(3):
        left = [j for j in range(8) if j not in chosen]
        chosen.append(max(left, key=lambda j, so_far=tuple(chosen): coverage(X, (*so_far, j))))
    np.testing.assert_array_equal(model.ranking_, chosen)
    np.testing.assert_array_equal(model.support_, np.sort(chosen))
    assert model.value(X) == pytest.approx(coverage(X, chosen), abs=1e-12)
    assert model.value(X) >= (1 - 1 / np.e) * coverage(X, best_set(X, 3))


@pytest.mark.parametrize(("adjacency", "owned"), [("replace-one", 1), ("add-remove", 1), ("replace-one", 3)])
def test_draws_follow_the_law(adjacency, owned):
    """Pearson's statistic over all sequences, at a false-positive rate of 1e-6."""
    from scipy.stats import chi2

    X = np.array([[1.0, 0.5, 0.0], [0.0, 0.75, 1.0], [0.25, 0.0, 0.5]])
    make = {"n_selected": 2, "epsilon": 3.0 * owned, "delta": 1e-6, "records_per_person": owned}
    make |= {"adjacency": adjacency, "n_public": None if adjacency == "replace-one" else 3}
    plan = PrivateFacilityLocation(**make).plan(3, 3)
    ((event, count),) = plan.events
    assert count == 2
    expected = law(X, 2, event.epsilon0, halved=adjacency == "add-remove", owned=owned)
    runs = 1500
    drawn = [tuple(PrivateFacilityLocation(**make, random_state=seed).fit(X).ranking_.tolist()) for seed in range(runs)]
    statistic = sum((drawn.count(key) - runs * p) ** 2 / (runs * p) for key, p in expected.items())
    assert sum(expected.values()) == pytest.approx(1.0)
    assert statistic < chi2.isf(1e-6, len(expected) - 1)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_neighbours_stay_within_the_certificate(adjacency):
    """The law of all sequences of choices, on every pair of a grid of neighbouring data sets."""
    values = [0.0, 0.5, 1.0]
    rows = [np.array(row) for row in itertools.product(values, repeat=3)]
    others = np.array([[1.0, 0.0, 0.5], [0.0, 0.5, 0.5]])
    n_public = None if adjacency == "replace-one" else 3
    model = PrivateFacilityLocation(n_selected=2, epsilon=1.0, delta=1e-6, adjacency=adjacency, n_public=n_public)
    plan = model.plan(3, 3)
    ((event, _),) = plan.events
    halved = adjacency == "add-remove"
    with_row = [law(np.vstack([others, row]), 2, event.epsilon0, halved) for row in rows]
    without = law(others, 2, event.epsilon0, halved)
    pairs = [(a, without) for a in with_row] if halved else list(itertools.product(with_row, repeat=2))
    # Neither choice alone costs more than epsilon0, and both together no more than the plan promises.
    worst = max(
        max(sum(max(p[key] - np.exp(plan.epsilon) * q[key], 0.0) for key in p) for p, q in (pair, pair[::-1]))
        for pair in pairs
    )
    assert worst <= plan.delta
    ranges = [[np.log(p[key] / q[key]) for key in p] for p, q in pairs]
    assert max(max(losses) - min(losses) for losses in ranges) <= 2 * event.epsilon0 * (1 + 1e-9)
    assert max(max(losses) - min(losses) for losses in ranges) > event.epsilon0  # two choices do cost more than one


def test_coverage_is_facility_location_of_zeros_and_ones():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, 7)) < 0.2
    options = {"n_selected": 3, "epsilon": 2.0, "delta": 1e-6, "random_state": 4}
    expected = PrivateFacilityLocation(**options).fit(X.astype(float)).ranking_
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    weighted = PrivateCoverage(**options, weights=np.full(7, 2.5))
    for same in (X, X.astype(float), X.astype(np.int8), sp.csr_matrix(X), sp.csc_array(X.astype(float)), 3 * X, frame):
        np.testing.assert_array_equal(PrivateCoverage(**options).fit(same).ranking_, expected)
        np.testing.assert_array_equal(weighted.fit(same).ranking_, expected)
    model = PrivateCoverage(**options).fit(frame)
    assert list(model.feature_names_in_) == list("abcdefg")
    assert model.value(frame) == np.mean(X[:, model.support_].any(axis=1))
    assert weighted.fit(X).value(X) == pytest.approx(2.5 * model.value(frame))


def test_weights_are_worth_what_they_say():
    X = np.zeros((1000, 3), dtype=bool)
    X[:600, 0] = X[:500, 1] = X[600:, 2] = True
    fit = PrivateCoverage(n_selected=1, epsilon=100.0, weights=[1.0, 2.0, 1.0], random_state=0).fit(X)
    assert fit.support_.tolist() == [1]
    assert PrivateCoverage(n_selected=1, epsilon=100.0, random_state=0).fit(X).support_.tolist() == [0]


def test_values_are_clipped_in_silence():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 2, (300, 4))
    options = {"n_selected": 2, "epsilon": 1.0, "delta": 1e-6, "random_state": 2}
    inside = PrivateFacilityLocation(**options).fit(np.clip(X, 0, 1))
    np.testing.assert_array_equal(PrivateFacilityLocation(**options).fit(X).ranking_, inside.ranking_)
    assert inside.value(X) == inside.value(np.clip(X, 0, 1))


def test_the_certificate_holds_and_the_plan_says_what_it_costs():
    X = np.eye(40, 5) > 0
    model = PrivateCoverage(n_selected=2, epsilon=0.7, delta=1e-5).fit(X)
    certificate = model.certificate_
    assert certificate.verify()
    assert certificate.secure
    assert certificate.epsilon(1e-5) <= 0.7
    assert certificate.events == model.plan(40, 5).events
    assert "greedy" in certificate.mechanism
    seeded = PrivateCoverage(n_selected=2, epsilon=0.7, delta=1e-5, random_state=0).fit(X)
    assert not seeded.certificate_.verify()
    plans = [PrivateCoverage(n_selected=2, epsilon=e, delta=1e-6).plan(1000, 30) for e in (0.5, 1.0, 2.0)]
    short = [plan.shortfall() for plan in plans]
    assert short[0] > short[1] > short[2] > 0
    assert plans[0].shortfall(0.5) < short[0]
    assert "n_selected" not in repr(plans[0])
    assert "epsilon=0.5" in repr(plans[0])
    assert pickle.loads(pickle.dumps(model)).support_.tolist() == model.support_.tolist()
    assert clone(model).n_selected == 2


def test_choices_fall_short_as_rarely_as_stated():
    """300 fits; at beta = .05 more than 48 failures have probability 1e-12."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 6)) < np.linspace(0.1, 0.14, 6)
    plan = PrivateCoverage(n_selected=1, epsilon=0.05, delta=1e-6).plan(*X.shape)
    gains = X.sum(axis=0)
    failures = 0
    for seed in range(300):
        model = PrivateCoverage(n_selected=1, epsilon=0.05, delta=1e-6, random_state=seed).fit(X)
        failures += gains.max() - gains[model.ranking_[0]] > plan.shortfall(0.05)
    assert failures <= 48


def test_budgets_refuse_before_records_are_read(tmp_path):
    X = np.eye(30, 4) > 0
    with Accountant(1.0, 1e-5) as accountant:
        PrivateCoverage(n_selected=1, epsilon=0.8, delta=1e-6, ledger=accountant).fit(X)
        with pytest.raises(BudgetExceededError):
            PrivateCoverage(n_selected=1, epsilon=0.8, delta=1e-6, ledger=accountant).fit(X)
    with Ledger(tmp_path / "ledger.db", 1.0, 1e-5, dataset="clinics") as ledger:
        PrivateCoverage(n_selected=1, epsilon=0.8, delta=1e-6, ledger=ledger).fit(X)
        assert len(ledger.entries()) == 1


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"n_selected": 0}, "n_selected"),
        ({"n_selected": 4}, "n_selected"),
        ({"n_selected": 1.5}, "n_selected"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"adjacency": "both"}, "adjacency"),
        ({"adjacency": "add-remove"}, "n_public"),
        ({"n_public": 10}, "n_public"),
        ({"records_per_person": 0}, "records_per_person"),
        ({"weights": [1.0, 2.0]}, "weights"),
        ({"weights": [1.0, -2.0, 1.0, 1.0]}, "weights"),
        ({"weights": [0.0] * 4}, "weights"),
        ({"weights": ["a"] * 4}, "weights"),
        ({"ledger": "a file"}, "ledger"),
    ],
)
def test_arguments_out_of_their_domains(options, name):
    with pytest.raises(InvalidArgumentError, match=name):
        PrivateCoverage(**({"n_selected": 1} | options)).fit(np.eye(20, 4) > 0)


MALFORMED = {
    "pointer beyond": ("indptr", 4, 7654321),
    "pointer before": ("indptr", 4, -5),
    "last pointer beyond": ("indptr", -1, 7654321),
    "last pointer 0": ("indptr", -1, 0),
    "index beyond": ("indices", 4, 7654321),
    "index before": ("indices", 4, -5),
}


@pytest.mark.parametrize("malformed", MALFORMED)
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array])
@pytest.mark.parametrize("weights", [None, [1.0, 0.5, 1.0]])
def test_malformed_sparse_matrices_are_refused_before_they_are_read(kind, malformed, weights):
    """Operators of scipy read where indices point to: a broken matrix ended the process."""
    X = kind(np.random.default_rng(0).uniform(size=(12, 3)))
    whole = [model.fit(X) for model in (PrivateCoverage(1, weights=weights), PrivateFacilityLocation(1))]
    name, place, value = MALFORMED[malformed]
    array = getattr(X, name).copy()
    array[min(place, len(array) - 2)] = value
    setattr(X, name, array)
    with Accountant(10.0, 1e-5) as accountant:
        for model in (
            PrivateCoverage(1, 1.0, 1e-6, weights=weights, ledger=accountant),
            PrivateFacilityLocation(1, 1.0, 1e-6, ledger=accountant),
        ):
            with pytest.raises(InvalidDataError, match="well-formed") as caught:
                model.fit(X)
            assert "7654321" not in str(caught.value)
        assert accountant.remaining(1e-5) == Accountant(10.0, 1e-5).remaining(1e-5)
    for model in whole:
        with pytest.raises(InvalidDataError, match="well-formed"):
            model.value(X)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array])
@pytest.mark.parametrize("model", [PrivateCoverage(1, random_state=0), PrivateFacilityLocation(1, random_state=0)])
def test_the_callers_matrix_stays_as_it_is(kind, model):
    data, indices, indptr = np.full(6, 0.25), np.array([1, 0, 1, 1, 2, 2]), np.array([0, 3, 4, 6])
    X = kind((data.copy(), indices.copy(), indptr.copy()), shape=(3, 3))
    fitted = clone(model).fit(X)
    worth = fitted.value(X)
    for left, given in ((X.data, data), (X.indices, indices), (X.indptr, indptr)):
        np.testing.assert_array_equal(left, given)
    dense = clone(model).fit(X.toarray())
    assert fitted.ranking_.tolist() == dense.ranking_.tolist()
    assert worth == pytest.approx(dense.value(X.toarray()))


@pytest.mark.parametrize("estimator", [PrivateCoverage, PrivateFacilityLocation])
def test_records_that_are_unusable(estimator):
    model = estimator(n_selected=1)
    for bad in (np.nan, np.inf):
        X = np.full((10, 3), 0.5)
        X[4, 1] = bad
        for broken in (X, sp.csr_matrix(X)):
            with pytest.raises(InvalidDataError, match="NaN or infinity"):
                model.fit(broken)
            assert not hasattr(model, "support_")
    with pytest.raises(InvalidDataError):
        model.fit(np.zeros((0, 3)))
    with pytest.raises(InvalidDataError):
        model.fit([["a", "b"], ["c", "d"]])


@parametrize_with_checks(
    [PrivateCoverage(n_selected=1, delta=1e-6), PrivateFacilityLocation(n_selected=1, delta=1e-6)],
    expected_failed_checks=lambda estimator: {},
)
def test_estimator_checks(estimator, check):
    check(estimator)

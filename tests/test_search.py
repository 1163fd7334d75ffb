"""Hyper-parameter search that is paid for: the law of the choice, its privacy, its budget, and what users meet.

Seeds are fixed; a test of a random law would fail with probability below 1e-6 for another seed.
"""

import gc
import itertools
import json
import math
import pickle
import warnings
import weakref

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import uniform
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsparse import (
    Certificate,
    FrankWolfe,
    InvalidArgumentError,
    InvalidDataError,
    ObjectivePerturbation,
    OutputPerturbation,
    PrivateSearchCV,
    PrivateSimplexRegressor,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
    UnsoundMechanismError,
    _core,
)
from dpsparse.estimators._validation import records as parts
from dpsparse.privacy import (
    Accountant,
    ExponentialEvent,
    GaussianEvent,
    ObjectivePerturbationEvent,
)
from reference.certificates import keeps_its_claim

UNIT = 2**16  # a loss of 1
GRID = {"radius": [1.0, 10.0]}
# Margins of three public models at four records; the labels decide the errors.
MODELS = [(np.array(c), [d], None) for c, d in (([1.0, 0.0], 0.0), ([0.0, -1.0], 0.25), ([0.0, 0.0], 1.0))]
RECORDS = [(x, y, label) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for label in (-1.0, 1.0)]


def held_out(records, y_bounds=None):
    x = np.array([[a, b] for a, b, _ in records]).reshape(-1, 2)
    y = np.array([label for *_, label in records], dtype=float)
    return scores_of(x, y, MODELS, lower=[-1.0], upper=[1.0], y_bounds=y_bounds)


def scores_of(x, y, models, *, lower, upper, y_bounds=None, n_classes=2):
    """The integer scores by which a search compares models on these records."""
    facts = _core.SearchFacts(
        n_samples=10,
        n_features=len(models[0][0]) // len(models[0][1]),
        n_held_out=2,
        share=0.2,
        lower=np.asarray(lower),
        upper=np.asarray(upper),
        y_bounds=y_bounds,
        n_classes=n_classes,
        adjacency="replace-one",
        records_per_person=1,
    )
    return facts.non_private_scores(x, y, models)


def law(scores, epsilon, adjacency, people=1):
    """The law of the definition: eta * 2**16 * m is epsilon/2 under replace-one and epsilon under add-remove."""
    eta = epsilon / (people * (2 if adjacency == "replace-one" else 1))
    weights = np.exp(-eta * (scores - scores.min()) / UNIT)
    return weights / weights.sum()


def errors(records):
    return np.array([sum((a * c[0] + b * c[1] + d > 0) != (y > 0) for a, b, y in records) for c, (d,), _ in MODELS])


# --- the choice ---


def test_scores_are_numbers_of_errors():
    for records in itertools.combinations_with_replacement(RECORDS, 3):
        scores = held_out(records)
        np.testing.assert_array_equal(scores, UNIT * errors(records))


def test_scores_of_regressors_are_clamped_squares():
    rng = np.random.default_rng(0)
    records = [tuple(record) for record in np.column_stack([rng.integers(-4, 5, (50, 2)) / 4, rng.uniform(-9, 9, 50)])]
    scores = held_out(records, y_bounds=(-2.0, 6.0))
    for score, (c, (d,), _) in zip(scores, MODELS, strict=True):
        residuals = [(a * c[0] + b * c[1] + d - np.clip(y, -2, 6)) / 4 for a, b, y in records]
        assert score / UNIT == pytest.approx(sum(min(r * r, 1) for r in residuals), abs=50 * (2**-16 + 1e-3))


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_the_privacy_of_a_choice_by_enumeration(adjacency):
    """All data sets of up to three records: the range of the privacy loss is at most epsilon, and reaches it."""
    epsilon, widest = 0.7, 0.0
    every = {
        records: law(held_out(records), epsilon, adjacency)
        for n in range(4)
        for records in itertools.combinations_with_replacement(RECORDS, n)
    }
    for records, mine in every.items():
        if adjacency == "add-remove":
            neighbours = [tuple(sorted([*records, record])) for record in RECORDS] if len(records) < 3 else []
        else:
            kept = [records[:k] + records[k + 1 :] for k in range(len(records))]
            neighbours = [tuple(sorted([*rest, record])) for rest in kept for record in RECORDS]
        for other in neighbours:
            loss = np.log(mine / every[other])
            widest = max(widest, np.ptp(loss))
    assert widest <= epsilon * (1 + 1e-12)
    assert widest > 0.999 * epsilon


def test_storage_and_order_change_no_score():
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-1, 1, (500, 6)) * (rng.uniform(size=(500, 6)) < 0.4), rng.choice([-1.0, 1.0], 500)
    models = [(rng.normal(size=6), [0.1], ranges) for ranges in (None, np.tile([-0.3, 0.5], (6, 1)), None)]
    bounds = {"lower": np.array([-1.0]), "upper": np.array([2.0]), "y_bounds": None}
    reference = scores_of(x, y, models, **bounds)
    for stored in (np.asfortranarray(x), sp.csr_matrix(x), sp.csc_matrix(x)):
        again = scores_of(parts(stored), y, models, **bounds)
        np.testing.assert_array_equal(again, reference)
    order = rng.permutation(500)
    np.testing.assert_array_equal(scores_of(x[order], y[order], models, **bounds), reference)


@pytest.mark.parametrize("stored", [np.asfortranarray, sp.csr_matrix, sp.csc_matrix])
def test_scores_of_several_classes_are_numbers_of_errors(stored):
    """Against numpy; models with ranges clip; the first of equal scores is predicted."""
    rng = np.random.default_rng(2)
    x, y = rng.integers(-4, 5, (300, 3)) / 4.0, rng.integers(0, 4, 300).astype(float)
    ranges = np.tile([-0.25, 0.5], (3, 1))
    models = [(rng.integers(-3, 4, 12) / 1.0, rng.integers(-2, 3, 4) / 2.0, r) for r in (None, ranges)]
    models.append((np.zeros(12), np.zeros(4), None))
    stored_x = x if stored is np.asfortranarray else parts(stored(x))
    scores = scores_of(stored_x, y, models, lower=[-1.0], upper=[1.0], n_classes=4)
    for score, (coefficients, intercepts, clip) in zip(scores, models, strict=True):
        seen = x if clip is None else np.clip(x, *clip.T)
        margins = seen @ coefficients.reshape(4, 3).T + intercepts
        gap = np.diff(np.sort(margins, axis=1)[:, -2:], axis=1).ravel()
        # Features are rounded to a lattice: what is nearly equal there may be equal here, and the other way round.
        unsure = (gap < 1e-2) & (np.ptp(margins, axis=1) > 0)
        errors = UNIT * (margins.argmax(axis=1) != y)
        assert errors[~unsure].sum() <= score <= errors[~unsure].sum() + UNIT * unsure.sum()
    assert scores[2] == UNIT * (y != 0).sum()
    assert len(set(scores)) == 3


# --- the budget ---


def data(n=600, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    return X, np.where(X[:, 0] - X[:, 1] + rng.logistic(size=n) / 5 > 0, 1, 0)


def classifier(**arguments):
    return PrivateSparseClassifier(**({"bounds": (-1, 1), "classes": (0, 1)} | arguments))


def regressor(**arguments):
    return PrivateSparseRegressor(**({"bounds": (-1, 1), "y_bounds": (-1, 1)} | arguments))


def searches():
    mixed = {"mechanism": ["frank-wolfe", "objective-perturbation", "output-perturbation"]}
    far = {"adjacency": "add-remove", "n_public": 1000}
    return {
        "radii": (classifier(), GRID, {}),
        "iterations": (classifier(), {"n_iter": [2, 5, 9]}, {}),
        "mixed": (classifier(), mixed, {}),
        "no refit": (classifier(), mixed, {"refit_share": 0.0}),
        "one candidate": (classifier(), {"radius": [2.0]}, {}),
        "list of grids": (classifier(), [{"radius": [2.0], "fit_intercept": [False]}, {"n_iter": [3]}], {}),
        "tilts": (classifier(), {"mechanism": [ObjectivePerturbation(ridge=r) for r in (0.05, 0.5)]}, {}),
        "pure": (classifier(), {"mechanism": [OutputPerturbation(noise=k) for k in ("laplace", "gamma")]}, {}),
        "add-remove": (classifier(**far), mixed, {"delta": 1e-6}),
        "add-remove, no refit": (classifier(**far), GRID, {"delta": 1e-6, "refit_share": 0.0}),
        "three records a person": (classifier(records_per_person=3), GRID, {}),
        "private scale": (classifier(), {"scale": [None, "private"]}, {}),
        "regression": (PrivateSparseRegressor(y_bounds=(-1, 2), bounds=(-1, 1)), {"radius": [0.5, 4.0]}, {}),
    }


@pytest.mark.parametrize("name", searches())
def test_the_certificate_is_the_plan_and_keeps_the_budget(name):
    estimator, grid, options = searches()[name]
    search = PrivateSearchCV(estimator, grid, epsilon=3.0, random_state=0, **options)
    X, y = data()
    plan = search.plan(*X.shape)
    certificate = search.fit(X, y).certificate_
    assert sorted(map(repr, certificate.events)) == sorted(map(repr, plan.events))
    assert certificate.claim == (3.0, plan.delta)
    accountant = Accountant()
    for event, count in certificate.events:
        accountant.add(event, count)
    assert accountant.epsilon(plan.delta) <= 3.0
    assert certificate.epsilon(plan.delta) == accountant.epsilon(plan.delta)
    assert certificate.epsilon(plan.delta) > 0.9 * 3.0  # little is left over
    assert keeps_its_claim(certificate)
    assert certificate.adjacency == estimator.adjacency
    assert json.loads(certificate.to_json())["n_samples"] == (estimator.n_public or 600)
    assert Certificate.from_json(certificate.to_json()) == certificate
    forged = json.loads(certificate.to_json()) | {"claimed_epsilon": 1.0}
    assert np.isinf(Certificate.from_json(json.dumps(forged)).epsilon(plan.delta))
    assert "search among" in certificate.mechanism
    assert search.best_estimator_.certificate_ == certificate
    assert search.best_params_ == plan.candidates[search.best_index_] == search.candidates_[search.best_index_]


@pytest.mark.parametrize("name", searches())
def test_all_fits_the_choice_and_the_refit_are_in_the_sum(name):
    """The certificate holds each fit's events, the choice, and what is left dominates every refit at every order."""
    estimator, grid, options = searches()[name]
    plan = PrivateSearchCV(estimator, grid, epsilon=3.0, **options).plan(600, 5)
    left = {}
    for event, count in plan.events:
        left[event] = left.get(event, 0) + count
    for event, count in [
        *itertools.chain.from_iterable(fit.events for fit in plan.fits),
        (ExponentialEvent(plan.selection_epsilon), 1),
    ]:
        left[event] -= count
        assert left[event] >= 0
    assert len(plan.refits) == (0 if options.get("refit_share") == 0.0 else len(plan.candidates))
    for refit in plan.refits:
        for order in (1.001, 1.5, 3.0, 20.0, 500.0):
            spent = sum(count * event.renyi(order) for event, count in refit.events)
            assert sum(count * event.renyi(order) for event, count in left.items()) >= spent * (1 - 1e-12)
    if not plan.refits:
        assert not any(left.values())
    assert plan.fits[0].epsilon < 3.0
    assert plan.n_train + plan.n_held_out == (estimator.n_public or 600)
    assert plan.fits[0].n_samples == plan.n_train


def accountant_of(events):
    accountant = Accountant()
    for event, count in events:
        accountant.add(event, count)
    return accountant


def test_an_unbounded_curve_of_objective_perturbation_rises_with_its_parameters():
    """The proof's monotone curves, alone and in company, with either neighbour relation."""
    for adjacency in ("replace-one", "add-remove"):
        for company in ([], [(GaussianEvent(1.0, 5.0), 1)]):
            grid = [[(m, kl) for kl in (0.0, 0.05, 0.4)] for m in (0.02, 0.1, 0.5)]
            for epsilon in (0.05, 0.5, 2.0):
                deltas = np.array(
                    [
                        [
                            accountant_of([*company, (ObjectivePerturbationEvent(m, 1.0, kl, adjacency), 1)]).delta(
                                epsilon
                            )
                            for m, kl in row
                        ]
                        for row in grid
                    ]
                )
                assert (np.diff(deltas, axis=0) >= -1e-15).all()
                assert (np.diff(deltas, axis=1) >= -1e-15).all()


def test_a_person_with_many_rows_costs_more():
    """Fits and refits have three times the noise at the same events, and the certificate says whom it protects."""
    one, three = (
        PrivateSearchCV(classifier(records_per_person=m, n_iter=5), {"radius": [2.0, 4.0]}, epsilon=2.0).plan(600, 5)
        for m in (1, 3)
    )
    assert three.events == one.events
    for mine, theirs in zip(three.fits + three.refits, one.fits + one.refits, strict=True):
        assert mine.noise_scales[0] == pytest.approx(3 * theirs.noise_scales[0])
    X, y = data()
    model = classifier(records_per_person=3, n_iter=5)
    certificate = PrivateSearchCV(model, {"radius": [2.0]}, epsilon=2.0, random_state=0).fit(X, y).certificate_
    assert "at most 3 records" in certificate.unit
    assert any("more than 3 records" in text for text in certificate.assumptions)


def test_more_candidates_leave_less_for_each():
    budgets = []
    for k in (1, 2, 4, 8):
        search = PrivateSearchCV(classifier(), {"radius": list(range(1, k + 1))}, epsilon=1.0)
        plan = search.plan(20_000, 5)
        budgets.append(plan.fits[0].epsilon)
        assert plan.refits[0].epsilon == pytest.approx(math.sqrt(0.5), rel=0.15)
    assert budgets[0] > budgets[1] > budgets[2] > budgets[3] > 0.05


# --- leaks ---


@pytest.mark.parametrize("refit_share", [0.0, 0.5])
def test_add_remove_searches_carry_the_public_count_only(refit_share):
    X, y = data(500, 3)
    model = classifier(adjacency="add-remove", n_public=600)
    grid = {"mechanism": ["frank-wolfe", "objective-perturbation"]}
    search = PrivateSearchCV(model, grid, epsilon=2.0, delta=1e-6, refit_share=refit_share, random_state=0)
    one, other = (clone(search).fit(X[:n], y[:n]) for n in (500, 499))
    assert one.certificate_ == other.certificate_
    assert one.certificate_.adjacency == "add-remove"
    assert one.best_estimator_.n_public == (600 if refit_share else 480)
    assert search.plan(500, 3).events == search.plan(499, 3).events == one.plan(10**6, 3).events


def hostile():
    X, y = data(300, 3)
    rng = np.random.default_rng(5)
    return {
        "ordinary": (X, y),
        "zeros": (np.zeros((300, 3)), y),
        "far outside": (1e300 * X, y),
        "one class": (X, np.ones(300, dtype=int)),
        "separable": (np.column_stack([y] * 3).astype(float), y),
        "heavy tails": (rng.standard_cauchy((300, 3)), y),
    }


@pytest.mark.parametrize("refit_share", [0.0, 0.5])
def test_plans_certificates_and_outputs_depend_on_public_facts_only(refit_share, capsys):
    grid = {"mechanism": ["frank-wolfe", "objective-perturbation", FrankWolfe(n_iter=2)]}
    seen, best = set(), set()
    for seed, (X, y) in enumerate(hostile().values()):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search = PrivateSearchCV(classifier(), grid, epsilon=2.0, refit_share=refit_share, random_state=seed)
            plan = search.plan(*X.shape)
            search.fit(X, y)
        assert not caught
        seen.add((repr(plan.events), repr(plan.candidates), search.certificate_.to_json()))
        best.add(search.best_index_)
    assert len(seen) == 1
    assert len(best) > 1  # the certificate does not depend on who wins
    assert capsys.readouterr() == ("", "")


def test_a_search_keeps_no_records_and_no_scores():
    X, y = data()
    search = PrivateSearchCV(classifier(), GRID, random_state=0).fit(X, y)
    learned = {name for name in vars(search) if name not in search.get_params(deep=False)}
    assert learned == {
        "best_estimator_",
        "best_index_",
        "best_params_",
        "candidates_",
        "certificate_",
        "classes_",
        "n_features_in_",
    }
    content = pickle.dumps(search)
    for array in (X, X[::2], np.rint(16383 * X).astype(np.int16)):
        flat = array.ravel()
        assert not any(flat[k : k + 2].tobytes() in content for k in range(0, len(flat) - 1, 2))
    references = weakref.ref(X), weakref.ref(y)
    del X, y, array, flat
    gc.collect()
    assert [reference() for reference in references] == [None, None]


@pytest.mark.parametrize("make", [classifier, regressor])
@pytest.mark.parametrize("row", range(0, 60, 7))
def test_unusable_records_are_refused(make, row):
    X, y = data(60, 3)
    y = y.astype(float)
    bad_X, bad_y = X.copy(), y.copy()
    bad_X[row, 1], bad_y[row] = np.nan, np.inf
    for stored, target in ((bad_X, y), (sp.csr_matrix(bad_X), y), (X, bad_y)):
        search = PrivateSearchCV(make(), GRID, random_state=row)
        with pytest.raises(InvalidDataError):
            search.fit(stored, target)
        assert not hasattr(search, "certificate_")
        assert not hasattr(search, "best_estimator_")
    PrivateSearchCV(make(), GRID, random_state=row).fit(X, y)


# --- bad input ---

BAD = {
    "estimator": [
        None,
        "frank-wolfe",
        PrivateSparseClassifier,
        LogisticRegression(),
        PrivateSimplexRegressor(bounds=(-1, 1), y_bounds=(-1, 1)),
        make_pipeline(FunctionTransformer(), classifier()),
        type("Sub", (PrivateSparseClassifier,), {})(),
    ],
    "param_grid": [
        None,
        {},
        [],
        5,
        "radius",
        {"radius": []},
        {"radius": 5.0},
        {"radius": "ab"},
        {"no such": [1]},
        {"epsilon": [1.0, 2.0]},
        {"delta": [1e-6]},
        {"random_state": [0]},
        {"adjacency": ["replace-one"]},
        {"n_public": [5]},
        {"records_per_person": [2]},
        {"bounds": [(-1, 1)]},
        {"classes": [(0, 1)]},
        [GRID, 5],
        {"radius": uniform(1, 2)},
    ],
    "epsilon": [0, -1.0, np.nan, np.inf, "1", True, None, [1.0], 10**400],
    "delta": [0, 1.0, -1e-6, np.nan, "a", True],
    "n_candidates": [0, -1, 1.5, "2", True, 3],
    "held_out": [0, 0.04, 0.46, 1.0, np.nan, "a", None, True],
    "selection_share": [0, 1.0, 0.5, -0.1, np.nan, "a", None],
    "refit_share": [-0.1, 1.0, 0.9, np.nan, "a", None],
    "random_state": ["a", -1, 1.5, object()],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_bad_arguments(name, value):
    arguments = {"estimator": classifier(), "param_grid": GRID, name: value}
    search = PrivateSearchCV(**arguments)
    pattern = "n_candidates|param_grid" if name in ("n_candidates", "param_grid") else "selection_share|refit_share"
    with pytest.raises(InvalidArgumentError, match=name if "share" not in name and name[0] != "p" else pattern):
        search.fit(*data(50, 3))
    assert not hasattr(search, "certificate_")


@pytest.mark.parametrize(
    ("estimator", "grid", "error", "match"),
    [
        (classifier(), {"radius": [1.0, -1.0]}, InvalidArgumentError, "radius"),
        (classifier(), {"mechanism": ["output-perturbation"], "ridge": [0.0]}, UnsoundMechanismError, "ridge"),
        (
            classifier(mechanism=FrankWolfe(n_iter=2, calibration="paper", allow_uncertified=True)),
            GRID,
            UnsoundMechanismError,
            "calibration",
        ),
        (classifier(adjacency="add-remove", n_public=300), GRID, InvalidArgumentError, "delta"),
        (classifier(adjacency="add-remove"), GRID, InvalidArgumentError, "n_public"),
        (classifier(n_public=300), GRID, InvalidArgumentError, "n_public"),
        (classifier(adjacency="other"), GRID, InvalidArgumentError, "adjacency"),
        (classifier(adjacency=["add-remove"]), GRID, InvalidArgumentError, "adjacency"),
        (classifier(records_per_person=0), GRID, InvalidArgumentError, "records_per_person"),
        (PrivateSparseRegressor(y_bounds=(1, 0), bounds=(-1, 1)), GRID, InvalidArgumentError, "y_bounds"),
        (classifier(bounds=(1, 0)), GRID, InvalidArgumentError, "bounds"),
        (classifier(classes=(0, 7)), GRID, InvalidDataError, "label"),
    ],
)
def test_unusable_candidates(estimator, grid, error, match):
    search = PrivateSearchCV(estimator, grid)
    with pytest.raises(error, match=match):
        search.fit(*data(50, 3))
    assert not hasattr(search, "certificate_")


def test_budgets_too_small_and_data_too_few():
    with pytest.raises(InvalidArgumentError, match=r"ridge|epsilon"):
        PrivateSearchCV(classifier(), {"mechanism": [ObjectivePerturbation(ridge=1e-6), "frank-wolfe"]}).plan(100, 3)
    for n in (1, 2):
        with pytest.raises(InvalidArgumentError, match=f"n_samples={n}"):
            PrivateSearchCV(classifier(), GRID).plan(n, 3)
    far = classifier(adjacency="add-remove", n_public=100)
    minimisers = {"mechanism": ["objective-perturbation"]}
    with pytest.raises(InvalidDataError, match="n_public"):
        PrivateSearchCV(far, minimisers, delta=1e-6, refit_share=0.0).fit(*data(1300))
    # Parts may be empty: nothing asks for a record.
    for n in (2, 100, 800):
        assert keeps_its_claim(PrivateSearchCV(far, GRID, delta=1e-6).fit(*data(n)).certificate_)


@pytest.mark.parametrize("epsilon", [0.01, 30.0, 1e3, 1e5])
def test_budgets_of_every_size_are_kept(epsilon):
    search = PrivateSearchCV(classifier(), GRID, epsilon=epsilon, random_state=0).fit(*data())
    assert keeps_its_claim(search.certificate_)
    assert search.certificate_.epsilon(1e-6) <= epsilon


def test_sparse_records_that_a_later_candidate_refuses_cost_nothing():
    X, y = data(60, 3)
    late = {"mechanism": ["frank-wolfe", "output-perturbation"], "row_norm": [None, 1.0]}
    grid = [{"radius": [1.0]}, {"mechanism": ["output-perturbation"], "row_norm": [1]}]
    with pytest.raises(InvalidArgumentError, match="row_norm"):
        PrivateSearchCV(classifier(bounds=(0.5, 1)), grid).fit(sp.csr_matrix(X), y)
    with pytest.raises(InvalidArgumentError, match="row_norm"):
        PrivateSearchCV(classifier(), late).fit(X, y)


# --- as scikit-learn users meet it ---


@parametrize_with_checks(
    [
        PrivateSearchCV(PrivateSparseClassifier(bounds=(-1, 1)), GRID),
        PrivateSearchCV(PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-1, 1)), GRID, refit_share=0.0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_clones_and_pickles():
    X, y = data()
    search = PrivateSearchCV(classifier(), GRID, epsilon=2.0, held_out=0.3, random_state=3)
    copy = clone(search)
    assert copy.get_params()["estimator__classes"] == (0, 1)
    search.fit(X, y)
    again = copy.fit(X, y)
    np.testing.assert_array_equal(again.best_estimator_.coef_, search.best_estimator_.coef_)
    assert again.certificate_ == search.certificate_
    loaded = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), search.predict_proba(X))
    assert loaded.certificate_ == search.certificate_
    assert loaded.score(X, y) == search.score(X, y)
    kept = np.arange(len(y)) % 3 == 0
    part = search.score(X[kept], np.asarray(y)[kept])
    assert search.score(X, y, sample_weight=kept) == pytest.approx(part, abs=1e-12)
    np.testing.assert_array_equal(search.decision_function(X) > 0, search.predict(X) == 1)
    assert clone(search).set_params(random_state=None).fit(X, y).certificate_.secure
    assert search.certificate_.secure is False
    search.set_params(estimator__n_iter=4)
    assert search.plan(600, 5).fits[0].n_iter == 4
    assert search.n_iter_ == search.best_estimator_.n_iter_


def test_secure_searches_differ_and_say_that_they_are_secure():
    X, y = data()
    model = classifier(mechanism="output-perturbation", random_state=0)
    runs = [PrivateSearchCV(model, {"ridge": [0.1, 1.0]}).fit(X, y) for _ in range(3)]
    assert all(run.certificate_.secure for run in runs)
    assert len({run.best_estimator_.coef_.tobytes() for run in runs}) == 3
    assert "NO GUARANTEE" not in repr(runs[0].certificate_)


def test_frames_sparse_records_and_labels():
    X, y = data()
    words = np.where(y == 1, "yes", "no")
    estimator = PrivateSparseClassifier(classes=("no", "yes"), bounds=(-1, 1))
    reference = PrivateSearchCV(estimator, GRID, random_state=0).fit(X, words)
    names = [f"f{j}" for j in range(5)]
    for stored in (pd.DataFrame(X, columns=names), sp.csr_matrix(X), sp.csc_matrix(X), X.tolist()):
        search = PrivateSearchCV(estimator, GRID, random_state=0).fit(stored, words)
        np.testing.assert_array_equal(search.best_estimator_.coef_, reference.best_estimator_.coef_)
        np.testing.assert_array_equal(search.predict(stored), reference.predict(X))
    framed = PrivateSearchCV(estimator, GRID, random_state=0).fit(pd.DataFrame(X, columns=names), words)
    assert list(framed.feature_names_in_) == names == list(framed.best_estimator_.feature_names_in_)
    assert list(framed.classes_) == ["no", "yes"]
    assert not any("labels, read" in text for text in reference.certificate_.assumptions)
    read = PrivateSearchCV(PrivateSparseClassifier(bounds=(-1, 1)), GRID, random_state=0).fit(X, words)
    assert any("labels, read" in text for text in read.certificate_.assumptions)


def test_methods_are_those_of_the_winner():
    assert not hasattr(PrivateSearchCV(classifier(loss="hinge"), GRID), "predict_proba")
    assert hasattr(PrivateSearchCV(classifier(), GRID), "predict_proba")
    assert not hasattr(
        PrivateSearchCV(PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-1, 1)), GRID), "decision_function"
    )


def test_distributions_are_drawn_without_looking():
    search = PrivateSearchCV(classifier(), {"radius": uniform(1, 9), "n_iter": [3, 6]}, n_candidates=4, random_state=0)
    one, other = search.plan(600, 5), search.plan(900, 4)
    assert one.candidates == other.candidates
    assert len(one.candidates) == 4
    assert len({params["radius"] for params in one.candidates}) == 4
    assert search.fit(*data()).best_params_ in list(one.candidates)


# --- worth having ---


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("refit_share", [0.0, 0.5])
def test_a_search_finds_the_better_setting(adjacency, refit_share):
    """One step of Frank-Wolfe sees one feature of two. A wrong choice has probability below exp(-eta Delta), Delta the
    difference in held-out errors, at least 5 % of 1600 in these data: below 1e-6 for each search."""
    X, y = data(8000, 6, seed=1)
    X_test, y_test = data(8000, 6, seed=2)
    public = {"adjacency": "add-remove", "n_public": 8000} if adjacency == "add-remove" else {}
    poor = classifier(n_iter=1, epsilon=4.0, delta=1e-6, **public)
    gains = []
    for seed in range(5):
        options = {"epsilon": 4.0, "delta": 1e-6, "refit_share": refit_share, "random_state": seed}
        search = PrivateSearchCV(poor, {"n_iter": [1, 30]}, **options)
        plan = search.plan(8000, 6)
        assert math.exp(-plan.selection_epsilon / 2 * 0.05 * 1600) < 1e-6
        search.fit(X, y)
        assert search.best_params_ == {"n_iter": 30}
        gains.append(
            search.score(X_test, y_test) - clone(poor).set_params(random_state=seed).fit(X, y).score(X_test, y_test)
        )
    assert min(gains) > 0.05


def test_a_search_for_regressors_finds_the_better_setting():
    """A radius of 0.01 can only predict the middle; the losses differ by more than 100, so a wrong choice has
    probability below exp(-eta 100) < 1e-6."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (6000, 4))
    y = 10 + 8 * X[:, 1] + rng.normal(size=6000)
    model = PrivateSparseRegressor(y_bounds=(0, 20), radius=0.01, bounds=(-1, 1))
    search = PrivateSearchCV(model, {"radius": [0.01, 2.0]}, epsilon=4.0, random_state=0)
    assert math.exp(-search.plan(6000, 4).selection_epsilon / 2 * 100) < 1e-6
    search.fit(X, y)
    assert search.best_params_ == {"radius": 2.0}
    assert search.score(X, y) > 0.8
    assert model.set_params(epsilon=4.0, random_state=0).fit(X, y).score(X, y) < 0.2

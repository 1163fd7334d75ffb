"""Intervals for released coefficients: exact coverage of the fit without its noise, and of a population.

Seeds are fixed. With other seeds a test of coverage would fail with probability below 1e-6 (binomial tails).
"""

import copy
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, chi2

from dpsparse import (
    DisjointGroups,
    DpsparseError,
    InvalidArgumentError,
    OutputPerturbation,
    PrivateSearchCV,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
    SgdOutput,
    UnsoundMechanismError,
    _core,
)
from dpsparse.estimators._validation import records, seed
from dpsparse.estimators.intervals import _law
from dpsparse.set_functions import Cardinality

LEVEL = 1e-6
N, P = 120, 3
LOWER, UPPER = np.array([-1.0, 0.0, -2.0]), np.array([1.0, 4.0, 1.0])
RUNS = 2000

LAWS = {
    "gaussian ridge": OutputPerturbation(),
    "laplace ridge": OutputPerturbation(noise="laplace"),
    "gaussian steps": OutputPerturbation(mode="early-stopping"),
    "laplace steps": OutputPerturbation(mode="early-stopping", noise="laplace"),
    "gaussian sgd": SgdOutput(n_passes=1),
    "laplace sgd": SgdOutput(n_passes=1, noise="laplace"),
    "a penalty": OutputPerturbation(alpha=0.01),
}


def data(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(LOWER, UPPER, (n, P))
    return X, X[:, 0] - 0.5 * X[:, 1] + rng.normal(0, 0.3, n)


def make(kind, mechanism, **arguments):
    arguments = {"epsilon": 2.0, "bounds": (LOWER, UPPER), "mechanism": mechanism, "random_state": 0} | arguments
    if kind == "classifier":
        return PrivateSparseClassifier(classes=(0, 1), **arguments)
    return PrivateSparseRegressor(y_bounds=(-3.0, 2.0), **arguments)


def targets(kind, y):
    return (y > 0).astype(int) if kind == "classifier" else y


def without_noise(estimator, X, y, key=0):
    """Coefficients and intercept of the fit without its noise, in the user's units."""
    kind = "classifier" if isinstance(estimator, PrivateSparseClassifier) else "regressor"
    plan = estimator.plan(*X.shape)
    encoded = np.where(y == 1, 1.0, -1.0) if kind == "classifier" else y
    theta, _ = _core.non_private_release(plan, records(X), encoded, seed=key)
    # Uncentred geometry: x / max(|lo|, |hi|); targets to [-1, 1] around their middle.
    half = 1.0 / np.maximum(np.abs(LOWER), np.abs(UPPER))
    factor, middle = (1.0, 0.0) if kind == "classifier" else (2.5, -0.5)
    if not estimator.fit_intercept:
        return theta[:P] * half * (1.0 if kind == "classifier" else 3.0), None
    return theta[:P] * half * factor, theta[P] * factor + middle


def assert_coverage(hits, trials, confidence, slack=0.0):
    """Neither too few hits nor too many, two-sided at LEVEL; `slack` is added to the law's upper end."""
    assert binom.cdf(hits, trials, confidence) > LEVEL / 2
    assert binom.sf(hits - 1, trials, min(1.0, confidence + slack)) > LEVEL / 2


def released(estimator, X, y, keys):
    """Many fits of one plan: coefficients and intercepts in the user's units, one row a fit."""
    plan = estimator.plan(*X.shape)
    encoded = np.where(y == 1, 1.0, -1.0) if isinstance(estimator, PrivateSparseClassifier) else y
    rows = []
    for key in keys:
        coefficients, intercepts, *_ = _core.fit_private(plan, records(X), encoded, seed=key, progress=None)
        rows.append([*coefficients, *intercepts])
    return np.array(rows)


def half_widths(estimator, level):
    lower, upper = estimator.coef_interval(level)
    low, high = estimator.intercept_interval(level)
    assert lower.shape == upper.shape == estimator.coef_.shape
    return (np.append(upper, high) - np.append(lower, low)) / 2


def deviations(estimator):
    return np.append(estimator.coef_std(), estimator.intercept_std())


def assert_law(noise, estimator, gaussian):
    """Coverage at three levels, and the second moment; one trial per entry, as entries have independent noise."""
    for level in (0.5, 0.9, 0.99):
        hits = np.sum(np.abs(noise) <= half_widths(estimator, level))
        # One lattice unit in at least 500 of a deviation widens by less than 0.0016 of probability.
        assert_coverage(hits, noise.size, level, slack=0.002)
    squares = np.sum((noise / deviations(estimator)) ** 2)
    if gaussian:
        assert chi2.ppf(LEVEL / 2, noise.size) < squares < 1.005 * chi2.isf(LEVEL / 2, noise.size)
    else:
        # The square of a Laplace variable has variance 5 deviations; 5.5 standard errors, and its heavier tail.
        assert abs(squares / noise.size - 1) < 5.5 * np.sqrt(5 / noise.size) + 0.005


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
@pytest.mark.parametrize("name", [name for name in LAWS if "sgd" not in name])
def test_intervals_cover_the_fit_without_noise_as_often_as_they_say(kind, name):
    X, y = data()
    y = targets(kind, y)
    estimator = make(kind, LAWS[name]).fit(X, y)
    np.testing.assert_array_equal(
        released(estimator, X, y, [seed(0)])[0], np.append(estimator.coef_, estimator.intercept_)
    )
    noise = released(estimator, X, y, range(RUNS)) - np.append(*without_noise(estimator, X, y))
    assert_law(noise, estimator, gaussian="laplace" not in name)


@pytest.mark.parametrize("name", ["gaussian sgd", "laplace sgd"])
def test_intervals_cover_the_last_iterate_of_the_same_order(name):
    """The order of the records comes from the same key as the noise: the fit without noise changes with it."""
    X, y = data()
    y = targets("classifier", y)
    estimator = make("classifier", LAWS[name]).fit(X, y)
    truths = [np.append(*without_noise(estimator, X, y, key=key)) for key in range(RUNS)]
    assert len({truth.tobytes() for truth in truths}) == RUNS
    assert_law(released(estimator, X, y, range(RUNS)) - np.array(truths), estimator, gaussian="laplace" not in name)


def test_a_planted_mistake_is_found():
    """Half the deviation is refused by the same bound that the intervals above keep."""
    trials = RUNS * (P + 1)
    with pytest.raises(AssertionError):
        assert_coverage(round(trials * 0.68), trials, 0.9)
    with pytest.raises(AssertionError):
        assert_coverage(round(trials * 0.96), trials, 0.9, slack=0.002)


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_deviations_are_those_of_the_plan_in_the_users_units(kind, fit_intercept):
    X, y = data()
    estimator = make(kind, OutputPerturbation(), fit_intercept=fit_intercept).fit(X, targets(kind, y))
    (scale,) = estimator.plan(N, P).noise_scales
    half = {"classifier": 1.0, "regressor": 2.5 if fit_intercept else 3.0}[kind]
    expected = half * scale / np.maximum(np.abs(LOWER), np.abs(UPPER))
    np.testing.assert_allclose(estimator.coef_std().ravel(), expected, rtol=1e-12)
    assert estimator.coef_std().shape == estimator.coef_.shape
    assert estimator.intercept_std() == pytest.approx(half * scale if fit_intercept else 0.0, rel=1e-12)
    truth, _ = without_noise(estimator, X, targets(kind, y))
    lower, upper = estimator.coef_interval(1 - 1e-9)
    assert ((lower.ravel() <= truth) & (truth <= upper.ravel())).all()
    low, high = estimator.intercept_interval(0.9)
    assert (low == high) == (not fit_intercept)


def test_widths_follow_the_public_facts():
    X, y = data()
    y = targets("classifier", y)

    def width(confidence=0.9, target="fit", **arguments):
        estimator = make("classifier", OutputPerturbation(ridge=0.5), **arguments).fit(X, y)
        lower, upper = estimator.coef_interval(confidence, target)
        np.testing.assert_allclose((lower + upper) / 2, estimator.coef_, atol=1e-12)
        return (upper - lower)[0]

    assert (width(epsilon=4.0) < width(epsilon=1.0)).all()
    assert (width(0.5) < width(0.9)).all()
    assert (width() < width(target="population")).all()
    np.testing.assert_allclose(width(records_per_person=2), 2 * width(), rtol=2e-3)
    np.testing.assert_allclose(2 * width(adjacency="add-remove", n_public=N, delta=1e-6), width(), rtol=2e-3)
    constant = make("classifier", OutputPerturbation(), bounds=([-1, 2, -2], [1, 2, 1])).fit(X, y)
    lower, upper = constant.coef_interval()
    assert lower[0, 1] == upper[0, 1] == 0
    assert constant.coef_std()[0, 1] == 0


def test_the_lattice_is_far_below_the_deviation():
    """What the docstring says: more than 500 units at epsilon below 10; the width of a unit changes nothing."""
    for p in (1, 10, 300):
        for epsilon in (0.1, 1.0, 10.0):
            for mechanism in (OutputPerturbation(), SgdOutput()):
                law = _law(PrivateSparseClassifier(epsilon=epsilon, mechanism=mechanism, bounds=(-1, 1)).plan(1000, p))
                assert law.size > 500
                assert np.log2(law.lattice) == round(np.log2(law.lattice))


def test_pickled_models_have_them_and_changed_ones_do_not():
    X, y = data()
    y = targets("classifier", y)
    estimator = make("classifier", "output-perturbation").fit(X, y)
    loaded = pickle.loads(pickle.dumps(estimator))
    for mine, theirs in zip(estimator.coef_interval(0.7), loaded.coef_interval(0.7), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    far = make("classifier", "output-perturbation", adjacency="add-remove", n_public=99, delta=1e-6).fit(X, y)
    assert far.coef_interval()[0].shape == (1, P)
    for change in ({"epsilon": 3.0}, {"bounds": (-9, 9), "row_norm": 1.0}, {"ridge": 2.0}):
        with pytest.raises(InvalidArgumentError, match="changed"):
            pickle.loads(pickle.dumps(estimator)).set_params(**change).coef_interval()
    assert estimator.set_params(verbose=0, random_state=5).coef_interval()[0].shape == (1, P)  # no facts of the law
    search = PrivateSearchCV(estimator, {"ridge": [0.1, 1.0]}, random_state=0).fit(X, y)
    with pytest.raises(InvalidArgumentError, match="search"):
        search.best_estimator_.coef_interval()


FACTS = {
    "epsilon": 2.5,
    "delta": 1e-7,
    "bounds": (100 * LOWER, 100 * UPPER),
    "upper bounds": {"bounds": (LOWER, 2 * UPPER)},
    "y_bounds": (-300.0, 200.0),
    "row_norm": 0.5,
    "loss": "absolute",
    "norm": "linf",
    "fit_intercept": False,
    "ridge": 2.0,
    "alpha": 0.3,
    "records_per_person": 2,
    "adjacency": {"adjacency": "add-remove", "n_public": N, "delta": 1e-6},
    "mechanism": OutputPerturbation(mode="early-stopping"),
    "noise": {"mechanism": OutputPerturbation(noise="laplace")},
    "no bounds": {"bounds": None},
}


@pytest.mark.filterwarnings("ignore::dpsparse.DefaultBoundsWarning")
@pytest.mark.parametrize("kind", ["classifier", "regressor"])
@pytest.mark.parametrize("name", FACTS)
def test_intervals_after_any_public_fact_has_changed_are_refused(kind, name):
    """Bounds a hundred times narrower than those of the fit gave intervals a hundred times too narrow."""
    change = FACTS[name] if isinstance(FACTS[name], dict) else {name: FACTS[name]}
    if kind == "classifier" and name in ("y_bounds", "loss"):
        change = {"loss": "hinge"}
    X, y = data()
    loss = {} if kind == "classifier" else {"loss": "huber"}
    estimator = make(kind, "output-perturbation", delta=1e-6, **loss).fit(X, targets(kind, y))
    before = estimator.get_params()
    for changed in (estimator, pickle.loads(pickle.dumps(estimator)), copy.deepcopy(estimator)):
        changed.set_params(**change)
        for ask in (changed.coef_interval, changed.intercept_interval, changed.coef_std, changed.intercept_std):
            with pytest.raises(InvalidArgumentError, match="parameters must be those of the fit"):
                ask()
        assert changed.set_params(**before).coef_interval()[0].shape == estimator.coef_.shape


@pytest.mark.parametrize("norm", [DisjointGroups([0, 0, 1]), Cardinality(P)], ids=["groups", "a set function"])
def test_norms_that_are_objects_survive_pickles(norm):
    X, y = data()
    estimator = make("classifier", OutputPerturbation(alpha=0.01), norm=norm).fit(X, targets("classifier", y))
    loaded = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(loaded.coef_interval(), estimator.coef_interval())


def test_bounds_by_names_give_the_same_intervals():
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = dict(zip("cab", zip(LOWER[[2, 0, 1]], UPPER[[2, 0, 1]], strict=True), strict=True))
    plain, mapped = (
        make("classifier", "output-perturbation", bounds=bounds).fit(frame, targets("classifier", y))
        for bounds in ((LOWER, UPPER), named)
    )
    np.testing.assert_array_equal(mapped.coef_interval(), plain.coef_interval())


@pytest.mark.parametrize(
    ("mechanism", "arguments", "reason"),
    [
        ("auto", {}, "none of those"),
        ("frank-wolfe", {}, "chosen"),
        ("penalised-frank-wolfe", {"alpha": 0.1}, "chosen"),
        ("noisy-gradient-frank-wolfe", {}, "later steps"),
        ("noisy-proximal-gradient", {}, "later steps"),
        ("dual-frank-wolfe", {"alpha": 0.01}, "averages"),
        ("objective-perturbation", {}, "curvature"),
        ("select-refit", {}, "curvature"),
        (OutputPerturbation(noise="gamma"), {}, "spherical"),
        (SgdOutput(noise="gamma"), {}, "spherical"),
        (OutputPerturbation(threshold=0.1), {}, "threshold"),
        ("output-perturbation", {"scale": "private"}, "ranges"),
    ],
)
def test_laws_that_are_not_known_are_refused_with_the_reason(mechanism, arguments, reason):
    X, y = data()
    estimator = make("classifier", mechanism, **arguments).fit(X, targets("classifier", y))
    for ask in (
        partial(estimator.coef_interval, target="fit"),
        partial(estimator.intercept_interval, target="fit"),
        estimator.coef_std,
        estimator.intercept_std,
    ):
        with pytest.raises(UnsoundMechanismError, match=reason) as caught:
            ask()
        assert "output-perturbation" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        *[({"confidence": value}, "confidence") for value in (0, 1, -0.1, 1.1, np.nan, "a", None, True)],
        *[({"target": value}, "target") for value in ("", "sample", None, 5)],
    ],
)
def test_bad_arguments(arguments, match):
    X, y = data()
    estimator = make("classifier", "output-perturbation").fit(X, targets("classifier", y))
    for ask in (estimator.coef_interval, estimator.intercept_interval):
        with pytest.raises(InvalidArgumentError, match=match):
            ask(**arguments)


def test_unfitted_models_have_none():
    with pytest.raises(ValueError, match="not fitted"):
        make("classifier", "output-perturbation").coef_interval()


@pytest.mark.parametrize(
    ("mechanism", "arguments"),
    [
        (OutputPerturbation(mode="early-stopping"), {}),
        (SgdOutput(), {}),
        ("output-perturbation", {"records_per_person": 2}),
        ("output-perturbation", {"adjacency": "add-remove", "n_public": N, "delta": 1e-6}),
    ],
)
def test_populations_are_refused_where_nothing_is_proved(mechanism, arguments):
    X, y = data()
    estimator = make("classifier", mechanism, **arguments).fit(X, targets("classifier", y))
    with pytest.raises(UnsoundMechanismError, match="population"):
        estimator.coef_interval(target="population")


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_population_intervals_cover_all_coefficients_at_once(kind):
    """The population is 40 records, each as likely: the minimiser of its expected loss is the fit of all 40.

    Finite-sample bounds are wide: the test is of validity (binomial, 1e-6) and of the width's formula.
    """
    base_X, base_y = data(40, seed=9)
    base_y = targets(kind, base_y)
    mechanism = OutputPerturbation(ridge=0.3)
    # 100 copies of each: the same mean loss, a plan with next to no solver error.
    truth, intercept = without_noise(
        make(kind, mechanism), np.repeat(base_X, 100, axis=0), np.repeat(base_y, 100, axis=0)
    )
    rng = np.random.default_rng(4)
    hits, runs, n = 0, 150, 400
    for number in range(runs):
        rows = rng.integers(40, size=n)
        estimator = make(kind, mechanism, random_state=number).fit(base_X[rows], base_y[rows])
        lower, upper = estimator.coef_interval(0.9, "population")
        low, high = estimator.intercept_interval(0.9, "population")
        hits += bool(((lower.ravel() <= truth) & (truth <= upper.ravel())).all() and low <= intercept <= high)
    assert binom.cdf(hits, runs, 0.9) > LEVEL
    law = _law(estimator.plan(n, P))
    fit_lower, _ = estimator.coef_interval(1 - 0.05 / (P + 1))
    sampling = law.factors * law.lattice * law.sensitivity / 2 * np.sqrt(n) * (1 + np.sqrt(2 * np.log(1 / 0.05)))
    np.testing.assert_allclose((fit_lower - lower).ravel(), sampling, rtol=1e-9)


def test_the_sampling_bound_holds_for_the_minimisers_themselves():
    """|theta - theta_pop| without any noise, against (D2/2) sqrt(n) (1 + sqrt(2 ln(1/a))): kept, and not idle."""
    base_X, base_y = data(40, seed=9)
    base_y = targets("classifier", base_y)
    mechanism, n, runs, a = OutputPerturbation(ridge=0.3), 400, 300, 0.1
    estimator = make("classifier", mechanism)
    encoded = np.where(base_y == 1, 1.0, -1.0)

    def minimiser(rows):
        plan = estimator.plan(len(rows), P)
        return _core.non_private_release(plan, records(base_X[rows]), encoded[rows], seed=0)

    truth, _ = minimiser(np.repeat(np.arange(40), 10))
    rng = np.random.default_rng(5)
    distances, exceeded = [], 0
    for _ in range(runs):
        theta, sensitivity = minimiser(rng.integers(40, size=n))
        distances.append(np.linalg.norm(theta - truth))
        exceeded += distances[-1] > sensitivity / 2 * np.sqrt(n) * (1 + np.sqrt(2 * np.log(1 / a)))
    assert binom.sf(exceeded - 1, runs, a) > LEVEL
    assert max(distances) > 0.02 * sensitivity / 2 * np.sqrt(n)


def test_groups_and_errors_of_the_package():
    X, y = data()
    estimator = make("classifier", OutputPerturbation(alpha=0.01), norm=DisjointGroups([0, 0, 1]))
    lower, upper = estimator.fit(X, targets("classifier", y)).coef_interval()
    assert (lower < upper).all()
    with pytest.raises(DpsparseError):
        estimator.coef_interval(2.0)

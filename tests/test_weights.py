"""Weights of records: what they do to a fit, what they may be, and what a certificate says of them."""

import datetime
import inspect
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import has_fit_parameter

from dpsparse import (
    DisjointGroups,
    DpsparseError,
    FrankWolfe,
    InvalidArgumentError,
    InvalidDataError,
    InvalidTypeError,
    NoisyGradientFrankWolfe,
    NoisyNewton,
    NoisyProximalGradient,
    ObjectivePerturbation,
    OutputPerturbation,
    PenalisedFrankWolfe,
    PrivateScaler,
    PrivateSearchCV,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    SelectRefit,
    SgdOutput,
    SparseClassifier,
    SparsePoissonRegressor,
    SparseRegressor,
    UnsoundMechanismError,
    _core,
)
from dpsparse.mechanisms import DualFrankWolfe
from dpsparse.privacy import Accountant
from dpsparse.tables import Number, Schema
from reference.certificates import keeps_its_claim

N, P = 600, 4
W = 3.0  # the largest weight


def records(kind, n=N, seed=0):
    """Records of a kind with integer weights from 0 to 3."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, P))
    score = 1.5 * X[:, 0] - 0.8 * X[:, 1] + 0.3
    weights = rng.integers(0, 4, n).astype(float)
    if kind == "counts":
        return X, rng.poisson(np.exp(score)).astype(float), weights
    if kind == "regressor":
        return X, score + rng.normal(0, 0.3, n), weights
    noisy = score + rng.logistic(0, 0.5, n)
    if kind == "multiclass":
        return X, np.select([noisy > 0.7, noisy < -0.7], [2, 0], 1), weights
    return X, (noisy > 0).astype(int), weights


def make(kind, **arguments):
    fixed = {"bounds": (-1, 1), "epsilon": 1.0, "delta": 1e-6, "random_state": 0} | arguments
    if kind == "counts":
        return PrivateSparsePoissonRegressor(y_bounds=(0, 20), **fixed)
    if kind == "regressor":
        return PrivateSparseRegressor(y_bounds=(-4, 4), **fixed)
    classes = (0, 1, 2) if kind == "multiclass" else (0, 1)
    return PrivateSparseClassifier(classes=classes, **fixed)


def model(estimator):
    return [*np.ravel(estimator.coef_).tolist(), *np.ravel(estimator.intercept_).tolist()]


GROUPS = DisjointGroups([[0, 1], [2], [3]])
CONFIGURATIONS = {
    f"{kind}, {name}": (kind, arguments)
    for kind, named in {
        "classifier": {
            "auto": {},
            "private scale": {"mechanism": NoisyNewton(n_iter=5), "scale": "private"},
            "frank-wolfe": {"mechanism": FrankWolfe(n_iter=6)},
            "frank-wolfe, linf": {"mechanism": FrankWolfe(n_iter=6), "norm": "linf", "radius": 2.0},
            "penalised": {"mechanism": PenalisedFrankWolfe(n_iter=6), "alpha": 0.01},
            "noisy gradients": {"mechanism": NoisyGradientFrankWolfe(n_iter=6), "row_norm": 1.0},
            "proximal": {"mechanism": NoisyProximalGradient(n_iter=6), "loss": "huber"},
            "output": {"mechanism": OutputPerturbation(), "ridge": 0.1},
            "objective": {"mechanism": ObjectivePerturbation(), "ridge": 0.1},
            "sgd": {"mechanism": SgdOutput(), "ridge": 0.1},
            "dual": {"mechanism": DualFrankWolfe(n_iter=4), "alpha": 0.01, "ridge": 0.1},
            "select-refit": {"mechanism": SelectRefit(n_selected=2)},
            "own loss": {"mechanism": FrankWolfe(n_iter=6), "loss": lambda z, y: np.tanh(z - y)},
        },
        "multiclass": {
            "auto": {},
            "newton": {"mechanism": NoisyNewton(n_iter=5)},
            "frank-wolfe": {"mechanism": FrankWolfe(n_iter=6)},
            "select-refit": {"mechanism": SelectRefit(n_selected=2), "norm": GROUPS},
        },
        "regressor": {
            "auto": {},
            "quantile": {"loss": "pinball"},
            "newton": {"mechanism": NoisyNewton(n_iter=5)},
            "output": {"mechanism": OutputPerturbation(), "ridge": 0.1, "loss": "huber"},
        },
        "counts": {"auto": {}, "frank-wolfe": {"mechanism": FrankWolfe(n_iter=6)}},
    }.items()
    for name, arguments in named.items()
}
every_configuration = pytest.mark.parametrize(("kind", "arguments"), CONFIGURATIONS.values(), ids=CONFIGURATIONS.keys())


@every_configuration
def test_full_weights_change_no_bit(kind, arguments):
    X, y, _ = records(kind)
    auto = "mechanism" not in arguments
    arguments = {"epsilon": 30.0 if auto else 1.0} | arguments
    expected = model(make(kind, **arguments).fit(X, y))
    weighted = make(kind, max_weight=W, **arguments)
    assert model(clone(weighted).fit(X, y)) == expected  # declared, none given
    for weights in (np.full(N, W), W, np.where(y > np.median(y), 1e300, W)):
        full = model(clone(weighted).fit(X, y, sample_weight=weights))
        # "auto" reads off the released moments how much records weigh, where a line follows: about 1.
        assert full == (pytest.approx(expected, rel=0.05) if auto else expected)
    rows, columns = sp.csr_matrix(X), sp.csc_matrix(X)
    light = np.random.default_rng(1).uniform(0, 4, N)
    dense = model(clone(weighted).fit(X, y, sample_weight=light))
    assert dense != expected
    assert [model(clone(weighted).fit(x, y, sample_weight=light)) for x in (rows, columns)] == [dense] * 2


@every_configuration
def test_weights_cost_nothing_and_are_certified(kind, arguments):
    X, y, weights = records(kind)
    estimator = make(kind, max_weight=W, **arguments).fit(X, y, sample_weight=weights)
    certificate = estimator.certificate_
    assert certificate.events == make(kind, **arguments).plan(N, P).events == estimator.plan(N, P).events
    assert "sample_weight" in certificate.unit
    assert any("the public 3 " in text for text in certificate.assumptions)
    assert keeps_its_claim(certificate)
    without = make(kind, max_weight=W, **arguments).fit(X, y).certificate_
    assert "weight" not in without.unit
    assert not any("weights" in text and "public 3" in text for text in without.assumptions)


def repeated(X, y, weights):
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    return X[rows], y[rows]


EXACT_ENOUGH = [
    ("classifier", {}),
    ("classifier", {"mechanism": NoisyProximalGradient(n_iter=150)}),
    ("classifier", {"mechanism": FrankWolfe(n_iter=150), "radius": 8.0}),
    ("classifier", {"mechanism": ObjectivePerturbation(), "ridge": 1e-3}),
    ("classifier", {"mechanism": OutputPerturbation(), "ridge": 0.02}),
    ("multiclass", {}),
    ("regressor", {}),
    ("regressor", {"loss": "huber"}),
    ("regressor", {"loss": "pinball"}),
    ("counts", {}),
]


@pytest.mark.parametrize(("kind", "arguments"), EXACT_ENOUGH)
def test_integer_weights_are_repetitions(kind, arguments):
    X, y, weights = records(kind, n=6000)
    one = make(kind, max_weight=W, epsilon=1000.0, **arguments).fit(X, y, sample_weight=weights)
    mean = weights.mean() / W
    if "ridge" in arguments:
        # The ridge of a weighted mean is larger by what weights over the largest have for a mean.
        arguments = arguments | {"ridge": arguments["ridge"] / mean}
    other = make(kind, epsilon=1000.0, **arguments).fit(*repeated(X, y, weights))
    ignored = make(kind, epsilon=1000.0, **(arguments)).fit(X, np.roll(y, 1))
    scale = np.abs(model(other)).max()
    assert np.abs(np.subtract(model(one), model(other))).max() < 0.06 * scale
    assert np.abs(np.subtract(model(ignored), model(other))).max() > 0.3 * scale


@pytest.mark.parametrize("kind", ["classifier", "regressor", "counts"])
def test_weighted_fits_are_those_of_the_exact_estimators(kind):
    """Two strata with opposite slopes and weights of any size, some of which are clipped."""
    X, y, _ = records(kind, n=6000)
    first = np.arange(6000) % 2 == 0
    X = np.where(first[:, None], X, -X)
    weights = np.random.default_rng(2).uniform(0, 2.5, 6000) * np.where(first, 1.0, 0.2)
    exact = {"classifier": SparseClassifier, "regressor": SparseRegressor, "counts": SparsePoissonRegressor}[kind]
    expected = exact(alpha=1e-4).fit(X, y, sample_weight=np.minimum(weights, 2.0))
    clamp = {"residual_bound": 8.0} if kind == "counts" else {}  # so wide that it clamps nothing
    mechanism = NoisyNewton(n_iter=60)
    estimator = make(kind, mechanism=mechanism, epsilon=1000.0, scale=None, max_weight=2.0, **clamp)
    fitted = estimator.fit(X, y, sample_weight=weights)
    without = exact(alpha=1e-4).fit(X, y)
    scale = np.abs(model(expected)).max()
    assert np.abs(np.subtract(model(fitted), model(expected))).max() < 0.05 * scale
    assert np.abs(np.subtract(model(without), model(expected))).max() > 0.3 * scale


@pytest.mark.parametrize("kind", ["classifier", "multiclass", "regressor", "counts"])
def test_weights_move_the_model_to_the_records_that_have_them(kind):
    """Two strata with opposite slopes: the weights decide between them."""
    X, y, _ = records(kind, n=4000)
    first = np.arange(4000) % 2 == 0
    X = np.where(first[:, None], X, -X)
    for stratum in (first, ~first):
        weights = np.where(stratum, 2.0, 0.1)
        fitted = make(kind, epsilon=50.0, max_weight=2.0).fit(X, y, sample_weight=weights)
        only = make(kind, epsilon=50.0).fit(X[stratum], y[stratum])
        slopes, expected = np.ravel(fitted.coef_), np.ravel(only.coef_)
        assert np.corrcoef(slopes, expected)[0, 1] > 0.9


def test_records_of_weight_zero_are_none():
    """Under add-remove, with one public number: the same noise is added to the same sums."""
    for kind in ("classifier", "multiclass"):
        X, y, weights = records(kind)
        weights = np.where(weights > 0, W, 0)
        for mechanism in (FrankWolfe(n_iter=6), NoisyNewton(n_iter=5), NoisyProximalGradient(n_iter=5)):
            arguments = {"mechanism": mechanism, "scale": None, "adjacency": "add-remove", "n_public": N}
            one = make(kind, max_weight=W, **arguments).fit(X, y, sample_weight=weights)
            other = make(kind, **arguments).fit(X[weights > 0], y[weights > 0])
            assert model(one) == model(other)


def facts(**arguments):
    """What the core takes for Frank-Wolfe on ten records with weights of at most 2."""
    estimator = make("classifier", mechanism=FrankWolfe(n_iter=3), max_weight=2.0, **arguments)
    statement, name, options, _ = estimator._facts(10, P)
    return statement, name, options


WEIGHT = st.one_of(st.sampled_from([0.0, 2.0, 5e-324, 1e300, 1.0]), st.floats(0, 3))
RECORD = st.tuples(*[st.sampled_from([-1.0, 1.0, 0.3, 0.0])] * P, st.sampled_from([-1.0, 1.0]), WEIGHT)


@settings(deadline=None, derandomize=True, max_examples=150, database=None)
@given(st.lists(RECORD, min_size=1, max_size=4), RECORD, RECORD, st.lists(st.integers(-9, 9), min_size=5, max_size=5))
def test_neighbours_may_differ_in_a_weight(common, mine, theirs, theta):
    statement = facts()

    def gradient(rows):
        array = np.array(rows)
        x, y, w = array[:, :P].copy(), array[:, P].copy(), array[:, P + 1].copy()
        return _core.non_private_gradient(*statement, x, y, theta, 1e-5, sample_weight=w)

    one, largest, _ = gradient([mine, *common])
    other, _, _ = gradient([theirs, *common])
    without, _, _ = gradient(common)
    assert np.abs(one - other).max() <= 2 * largest * 16383
    assert np.abs(one - without).max() <= largest * 16383
    # What a record adds is a share of what it adds at the largest weight.
    full, _, _ = gradient([(*mine[:-1], 2.0), *common])
    assert (np.abs(one - without) <= np.abs(full - without)).all()
    share = min(mine[-1], 2.0) / 2.0
    assert (np.abs((one - without) - share * (full - without)) <= 0.5 * 16383).all()


def test_the_bound_is_met_by_full_weights_alone():
    statement = facts()
    x, y = np.ones((1, P)), np.array([1.0])
    theta = [-(2**20)] * P + [0]

    def size(weight):
        weights = np.array([weight])
        return np.abs(_core.non_private_gradient(*statement, x, y, theta, 1.0, sample_weight=weights)[0]).max()

    largest = _core.non_private_gradient(*statement, x, y, theta, 1.0, sample_weight=np.array([2.0]))[1]
    assert size(2.0) == size(1e9) == largest * 16383
    assert size(1.0) == largest // 2 * 16383
    assert size(0.0) == 0


SECRET = 0.7654321
BAD = {
    "not a number": np.where(np.arange(N) == 5, np.nan, SECRET),
    "infinite": np.where(np.arange(N) == 5, np.inf, SECRET),
    "beyond doubles": np.where(np.arange(N) == 5, np.longdouble("1e4000"), np.longdouble(SECRET)),
    "negative": np.where(np.arange(N) == 5, -SECRET, SECRET),
    "one negative number": -SECRET,
    "too few": np.full(N - 1, SECRET),
    "two columns": np.full((N, 2), SECRET),
    "a column": np.full((N, 1), SECRET),
    "text": ["0.7654321"] * N,
    "objects": [object()] * N,
    "dates": [datetime.date(2020, 1, 1)] * N,
    "ragged": [[SECRET], [SECRET, SECRET]],
    "missing": pd.Series([None] * N),
    "categories": pd.Series([SECRET] * N).astype("category"),
    "masked": np.ma.masked_equal(np.full(N, SECRET), SECRET),
    "complex": np.full(N, SECRET + 1j),
}


@pytest.mark.parametrize("weights", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("kind", ["classifier", "multiclass", "regressor", "counts"])
def test_unusable_weights_are_refused_before_anything_is_spent(kind, weights):
    X, y, _ = records(kind)
    estimator = make(kind, max_weight=W, mechanism=FrankWolfe(n_iter=3))
    with pytest.raises((InvalidDataError, InvalidTypeError), match="sample_weight") as refused:
        estimator.fit(X, y, sample_weight=weights)
    assert isinstance(refused.value, DpsparseError)
    told = str(refused.value)
    assert "765" not in told
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None
    assert not hasattr(estimator, "certificate_")


def test_weights_need_a_declared_largest_one():
    X, y, weights = records("classifier")
    for estimator in (make("classifier"), make("multiclass"), make("regressor"), make("counts")):
        assert not has_fit_parameter(estimator, "sample_weight")
        with pytest.raises(InvalidArgumentError, match="declare it as max_weight"):
            estimator.fit(X, y, sample_weight=weights)
        with pytest.raises(InvalidArgumentError, match="declare it as max_weight"):
            estimator.fit(X, y, weights)
        declared = clone(estimator).set_params(max_weight=2.0)
        assert has_fit_parameter(declared, "sample_weight")
        assert "sample_weight" in inspect.signature(type(estimator).fit).parameters
        assert type(estimator).fit.__doc__ == estimator.fit.__doc__ == declared.fit.__doc__
        for one in (estimator, declared):
            fit = pickle.loads(pickle.dumps(one.fit))
            assert inspect.signature(fit) == inspect.signature(one.fit)
            assert fit.__self__.get_params() == one.get_params()
    for largest in (0.0, -1.0, np.nan, np.inf, "2", True):
        with pytest.raises(InvalidArgumentError, match="max_weight"):
            make("classifier", max_weight=largest).fit(X, y, sample_weight=weights)
        with pytest.raises(InvalidArgumentError, match="max_weight"):
            make("classifier", max_weight=largest).plan(N, P)


@pytest.mark.parametrize("largest", [0.0, -1.0, np.nan, np.inf, "2", True, [1.0]])
@pytest.mark.parametrize("kind", ["classifier", "multiclass", "regressor", "counts"])
def test_a_largest_weight_is_checked_where_no_weights_are_given_too(kind, largest):
    X, y, _ = records(kind)
    ledger = Accountant(1.0, 1e-3)
    estimator = make(kind, max_weight=largest, ledger=ledger)
    with pytest.raises(InvalidArgumentError, match=r"^max_weight must be"):
        estimator.fit(X, y)
    assert not hasattr(estimator, "certificate_")
    assert ledger.remaining(1e-3) == 1.0


def test_weights_of_any_container():
    X, y, weights = records("classifier")
    expected = model(make("classifier", max_weight=W).fit(X, y, sample_weight=weights))
    for given_as in (
        weights.tolist(),
        tuple(weights.tolist()),
        weights.astype(np.float32),
        weights.astype(np.int8),
        weights[::-1].copy()[::-1],
        pd.Series(weights, index=np.arange(N)[::-1]),
        pd.Series(weights).astype("Int64"),
        pl.Series(weights),
    ):
        kept = given_as.copy() if isinstance(given_as, np.ndarray) else None
        assert model(make("classifier", max_weight=W).fit(X, y, sample_weight=given_as)) == expected
        assert kept is None or (kept == given_as).all()
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert model(make("classifier", max_weight=W).fit(frame, y, sample_weight=weights)) == expected
    back = pickle.loads(pickle.dumps(make("classifier", max_weight=W).fit(X, y, sample_weight=weights)))
    assert model(back) == expected
    assert has_fit_parameter(back, "sample_weight")


def test_scikit_learn_passes_weights_on():
    X, y, weights = records("classifier")
    estimator = make("classifier", max_weight=W)
    expected = model(clone(estimator).fit(X, y, sample_weight=weights))
    piped = make_pipeline(FunctionTransformer(), clone(estimator))
    piped.fit(X, y, privatesparseclassifier__sample_weight=weights)
    assert model(piped[-1]) == expected
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(estimator).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        piped = make_pipeline(FunctionTransformer(), routed).fit(X, y, sample_weight=weights)
        assert model(piped[-1]) == expected
    assert BaggingClassifier(clone(estimator), n_estimators=2, random_state=0).fit(X, y, sample_weight=weights)


def test_searches_weigh_fits_and_held_out_losses():
    X, y, weights = records("classifier", n=1500)
    grid = {"radius": [0.01, 5.0]}
    arguments = {"epsilon": 8.0, "delta": 1e-6, "random_state": 0}
    estimator = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1), n_iter=10, max_weight=W)
    search = PrivateSearchCV(estimator, grid, **arguments).fit(X, y, sample_weight=weights)
    assert search.best_params_ == {"radius": 5.0}
    assert "sample_weight" in search.certificate_.unit
    assert keeps_its_claim(search.certificate_)
    full = PrivateSearchCV(estimator, grid, **arguments).fit(X, y, sample_weight=np.full(1500, W))
    none = PrivateSearchCV(estimator, grid, **arguments).fit(X, y)
    assert model(full.best_estimator_) == model(none.best_estimator_) != model(search.best_estimator_)
    assert "sample_weight" not in none.certificate_.unit
    rows = sp.csr_matrix(X)
    stored = PrivateSearchCV(estimator, grid, **arguments).fit(rows, y, sample_weight=weights)
    assert model(stored.best_estimator_) == model(search.best_estimator_)
    undeclared = PrivateSearchCV(clone(estimator).set_params(max_weight=None), grid, **arguments)
    assert has_fit_parameter(search, "sample_weight")
    assert not has_fit_parameter(undeclared, "sample_weight")
    with pytest.raises(InvalidArgumentError, match="declare it as max_weight"):
        undeclared.fit(X, y, sample_weight=weights)
    with pytest.raises(InvalidArgumentError, match="max_weight"):
        PrivateSearchCV(estimator, {"max_weight": [1.0, 2.0]}, **arguments).fit(X, y)
    search_facts = _core.SearchFacts(
        n_samples=3,
        n_features=1,
        n_held_out=1,
        share=0.3,
        lower=np.array([-1.0]),
        upper=np.array([1.0]),
        y_bounds=None,
        adjacency="replace-one",
        records_per_person=1,
        max_weight=2.0,
    )
    x, signs = np.array([[1.0], [1.0], [-1.0]]), np.array([1.0, -1.0, -1.0])
    models = [(np.array([one]), np.zeros(1), None) for one in (1.0, -1.0)]
    held_out = search_facts.non_private_scores(x, signs, models, sample_weight=np.array([9.0, 0.5, 0.0]))
    assert held_out.tolist() == [2**14, 2**16]


def test_what_is_not_proved_for_weights_is_refused():
    """Draws from the entropic minimiser: nothing is read or spent."""
    statement = {
        "n_samples": 10,
        "n_features": 2,
        "lower": np.array([-1.0]),
        "upper": np.array([1.0]),
        "row_norm": None,
        "fit_intercept": False,
        "loss": ("logistic", []),
        "residual_bound": None,
        "counts": False,
        "epsilon": 1.0,
        "delta": 1e-6,
        "adjacency": "replace-one",
        "records_per_person": 1,
        "max_weight": None,
        "norm": {"name": "simplex", "groups": None, "vertices": None, "function": None},
        "y_bounds": None,
        "n_classes": 2,
        "assumptions": [],
    }
    assert _core.plan_private(statement, "simplex-sampling", "{}")
    with pytest.raises(UnsoundMechanismError, match="without weights"):
        _core.plan_private(statement | {"max_weight": 2.0}, "simplex-sampling", "{}")
    plan = _core.plan_private(statement, "simplex-sampling", "{}")
    with pytest.raises(InvalidArgumentError, match="sample_weight"):
        _core.fit_private(plan, np.ones((10, 2)), np.ones(10), sample_weight=np.ones(10), seed=0, progress=None)


def test_private_scales_count_every_record_once():
    """So a scaler takes no weights."""
    X, y, weights = records("classifier")
    with pytest.raises(TypeError):
        PrivateScaler(bounds=(-1, 1)).fit(X, y, sample_weight=weights)


def test_intervals_of_weighted_fits():
    X, y, weights = records("classifier")
    estimator = make("classifier", mechanism=OutputPerturbation(), ridge=0.1, max_weight=W)
    for given_weights in (weights, None):
        fitted = clone(estimator).fit(X, y, sample_weight=given_weights)
        low, high = fitted.coef_interval()
        assert (low < fitted.coef_).all()
        assert (fitted.coef_ < high).all()
    statement, name, options, scale = estimator._facts(N, P)
    plan = _core.plan_private(statement, name, options, scale)
    signs = 2.0 * y - 1.0
    point, bound = _core.non_private_release(plan, X, signs, sample_weight=weights, seed=0)
    for i in (0, 1, 2):
        for weight in (0.0, W):
            moved = np.where(np.arange(N) == i, weight, weights)
            other, _ = _core.non_private_release(plan, X, signs, sample_weight=moved, seed=0)
            assert np.linalg.norm(point - other) <= bound


def test_weights_stay_with_their_rows_where_persons_are_capped():
    """Rows beyond `records_per_person` are left out, and their weights with them."""
    n = 300
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.uniform(-1, 1, n), "id": np.arange(n) // 3})
    y = np.where(frame["x"] > 0, "yes", "no")
    weights = rng.uniform(0, 2, n)
    schema = Schema({"x": Number(-1, 1)}, person="id")
    arguments = {"schema": schema, "classes": ("no", "yes"), "adjacency": "add-remove", "n_public": 100}
    estimator = PrivateSparseClassifier(
        delta=1e-6, random_state=0, max_weight=2.0, mechanism=FrankWolfe(n_iter=4), **arguments
    )
    from dpsparse.estimators._validation import read_weighted

    X, left, kept = read_weighted(clone(estimator), frame, y, weights)
    assert len(left) == len(kept) == X.shape[0] == 100
    places = {value: i for i, value in enumerate(frame["x"])}
    assert (kept == weights[[places[value] for value in np.asarray(X)[:, 0]]]).all()
    assert "sample_weight" in estimator.fit(frame, y, sample_weight=weights).certificate_.unit


@pytest.mark.parametrize("largest", [1.0, 4.0, 8.0])
@pytest.mark.parametrize(("name", "value"), [("ridge", 0.1), ("alpha", 0.008)])
def test_penalties_stand_beside_the_mean_of_the_shares(largest, name, value):
    """Whatever the mechanism: shares are so many times as small as their penalties."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (20_000, 3))
    y = X @ [0.3, -0.2, 0.1] + 0.05 * rng.normal(size=20_000)
    weights = rng.uniform(0.5, 1.0, 20_000)
    # Least squares in scaled units, which are those of X and y.
    gram, moment, theta = (X.T * weights) @ X / 20_000, (X.T * weights) @ y / 20_000, np.zeros(3)
    for _ in range(2_000):
        theta = theta - (gram @ theta - moment + (value * theta if name == "ridge" else 0.0))
        theta = np.sign(theta) * np.maximum(np.abs(theta) - (value if name == "alpha" else 0.0), 0.0)
    for mechanism in ("auto", "noisy-newton", "noisy-proximal-gradient"):
        penalty = {name: value / largest}
        facts = {"bounds": (-1, 1), "y_bounds": (-1, 1), "max_weight": largest, "random_state": 0}
        model = PrivateSparseRegressor(1e5, 1e-6, mechanism=mechanism, **facts, **penalty)
        np.testing.assert_allclose(model.fit(X, y, sample_weight=weights).coef_, theta, atol=0.01)

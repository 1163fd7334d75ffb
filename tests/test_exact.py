"""Exact estimators against scikit-learn, scipy and the definition of optimality."""

import pickle
import signal
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsparse import (
    DpsparseError,
    InvalidArgumentError,
    InvalidDataError,
    SparseClassifier,
    SparsePoissonRegressor,
    SparseRegressor,
    path,
)
from dpsparse.norms import GroupLasso
from dpsparse.set_functions import (
    Cardinality,
    ConcaveCardinality,
    FromOracle,
    GraphCut,
    GroupCover,
    LogDet,
    Modular,
    PartitionRank,
    Tree,
)

REGRESSION = ("squared", "huber", "absolute")
CLASSIFICATION = ("logistic", "hinge")
LOSSES = REGRESSION + CLASSIFICATION


@parametrize_with_checks(
    [
        SparseClassifier(),
        SparseClassifier(loss="hinge", alpha=1e-3, class_weight="balanced"),
        SparseRegressor(),
        SparseRegressor(alpha=1e-3),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def loss_values(loss, z, y):
    """The losses written independently of the crate."""
    if loss == "squared":
        return 0.5 * (z - y) ** 2
    if loss in ("huber", "absolute"):
        t = {"huber": 1.0, "absolute": 0.1}[loss]
        r = np.abs(z - y)
        return np.where(r <= t, 0.5 * r**2, t * r - 0.5 * t**2)
    if loss == "logistic":
        return np.logaddexp(0.0, -y * z)
    s = 1.0 - y * z
    return np.where(s <= 0, 0.0, np.where(s < 0.5, s**2, s - 0.25))


def risk(loss, theta, b, X, y, w=None, ridge=0.0):
    return np.average(loss_values(loss, X @ theta + b, y), weights=w) + 0.5 * ridge * theta @ theta


def make(loss, **options):
    return (SparseRegressor if loss in REGRESSION else SparseClassifier)(loss=loss, **options)


def data(loss, n=60, p=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    z = X[:, 0] - 2 * X[:, 1] + 0.5 + 0.5 * rng.standard_normal(n)
    return X, z if loss in REGRESSION else np.where(z > 0, 1.0, -1.0)


def fitted(model):
    return np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])


def test_equals_lasso_and_elastic_net():
    X, y = data("squared", 80, 150)
    for alpha in (1.0, 0.1, 0.01):
        ours = SparseRegressor(alpha=alpha, tol=1e-12).fit(X, y)
        theirs = Lasso(alpha=alpha, tol=1e-12, max_iter=100_000).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
        assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-6)
        ours = SparseRegressor(alpha=0.7 * alpha, ridge=0.3 * alpha, tol=1e-12).fit(X, y)
        theirs = ElasticNet(alpha=alpha, l1_ratio=0.7, tol=1e-12, max_iter=100_000).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)


@pytest.mark.parametrize("alpha", [0.1, 0.01, 0.001])
def test_equals_l1_logistic_regression(alpha):
    X, y = data("logistic", 100, 20)
    ours = SparseClassifier(alpha=alpha, tol=1e-11).fit(X, y)
    theirs = LogisticRegression(C=1 / (len(y) * alpha), l1_ratio=1.0, solver="saga", tol=1e-10, max_iter=100_000).fit(
        X, y
    )
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_penalised_minimum_against_scipy(loss, ridge):
    X, y = data(loss, 40, 4)
    alpha = 0.02
    model = make(loss, alpha=alpha, ridge=ridge, tol=1e-10).fit(X, y)

    # theta = u - v with u, v >= 0 makes the problem smooth.
    def objective(x):
        return risk(loss, x[:4] - x[4:8], x[8], X, y, ridge=ridge) + alpha * x[:8].sum()

    bounds = [(0, None)] * 8 + [(None, None)]
    best = scipy.optimize.minimize(
        objective, np.zeros(9), bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15, "maxfun": 100_000}
    )
    theta, b = fitted(model)
    ours = risk(loss, theta, b, X, y, ridge=ridge) + alpha * np.abs(theta).sum()
    assert ours <= best.fun + 1e-9
    assert ours >= best.fun - 1e-5
    assert model.n_iter_ >= 1


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("radius", [0.3, 2.0, 1e3])
def test_constrained_minimum_against_scipy(loss, ridge, radius):
    X, y = data(loss, 40, 4)
    if loss in CLASSIFICATION:
        y[::5] *= -1  # not separable
    model = make(loss, radius=radius, ridge=ridge, tol=1e-8).fit(X, y)
    theta, b = fitted(model)
    assert np.abs(theta).sum() <= radius

    def objective(x):
        return risk(loss, x[:4] - x[4:8], x[8], X, y, ridge=ridge)

    best = scipy.optimize.minimize(
        objective,
        np.zeros(9),
        bounds=[(0, None)] * 8 + [(None, None)],
        constraints={"type": "ineq", "fun": lambda x: radius - x[:8].sum()},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    ours = risk(loss, theta, b, X, y, ridge=ridge)
    assert ours <= best.fun + 1e-7
    if best.success:
        assert ours >= best.fun - 1e-5


@settings(max_examples=60, deadline=None)
@given(
    loss=st.sampled_from(LOSSES),
    form=st.sampled_from(["alpha", "radius"]),
    size=st.floats(0.01, 5.0),
    ridge=st.sampled_from([0.0, 0.05]),
    intercept=st.booleans(),
    max_iter=st.integers(1, 60),
    seed=st.integers(0, 10_000),
    columns=st.integers(1, 30),
)
def test_gap_bounds_the_suboptimality(loss, form, size, ridge, intercept, max_iter, seed, columns):
    X, y = data(loss, 25, columns, seed) if columns > 1 else (np.arange(25.0)[:, None], data(loss, 25, 2, seed)[1])
    y[:2] = [-1, 1]
    rng = np.random.default_rng(seed)
    X = X * 10.0 ** rng.integers(-2, 3, X.shape[1])
    w = rng.integers(0, 3, len(y)).astype(float)
    w[:2] = 1.0
    options = {form: size, "ridge": ridge, "fit_intercept": intercept}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rough = make(loss, max_iter=max_iter, tol=1e-3, **options).fit(X, y, w)
        precise = make(loss, tol=1e-13, max_iter=20_000, **options).fit(X, y, w)

    def objective(model):
        theta, b = fitted(model)
        penalty = size * np.abs(theta).sum() if form == "alpha" else 0.0
        return risk(loss, theta, b, X, y, w, ridge) + penalty

    assert objective(rough) - objective(precise) <= rough.duality_gap_ + 1e-13
    if form == "radius":
        assert np.abs(rough.coef_).sum() <= size


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", [{"alpha": 0.05}, {"radius": 1.0}])
def test_tolerance_is_reached_and_relative(loss, form):
    X, y = data(loss)
    for scale in (1.0, 1e6) if loss == "squared" else (1.0,):
        model = make(loss, tol=1e-6, **form).fit(X, scale * y)
        at_zero = scipy.optimize.minimize_scalar(lambda b: risk(loss, np.zeros(12), b, X, scale * y)).fun  # noqa: B023
        assert 0.0 <= model.duality_gap_ <= 1.01e-6 * at_zero


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", [{"alpha": 0.05}, {"radius": 1.0}])
def test_weights_are_repetitions(loss, form):
    X, y = data(loss)
    w = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = make(loss, tol=1e-12, ridge=1e-3, **form).fit(X, y, sample_weight=7.5 * w)
    repeated = make(loss, tol=1e-12, ridge=1e-3, **form).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", [{"alpha": 0.02}, {"radius": 1.0}])
def test_storage_does_not_matter(loss, form):
    X, y = data(loss)
    X[np.abs(X) < 1.0] = 0.0
    reference = make(loss, tol=1e-12, ridge=1e-3, **form).fit(X, y)
    duplicated = scipy.sparse.coo_array(X)
    duplicated = scipy.sparse.csr_array(
        (
            np.r_[duplicated.data, duplicated.data] / 2,
            (np.r_[duplicated.row, duplicated.row], np.r_[duplicated.col, duplicated.col]),
        )
    )
    strided = np.zeros((2 * X.shape[0], X.shape[1]))[::2]
    strided[:] = X
    for other in (
        np.asfortranarray(X),
        strided,
        scipy.sparse.csr_matrix(X),
        scipy.sparse.csc_array(X),
        duplicated,
        X.tolist(),
    ):
        model = make(loss, tol=1e-12, ridge=1e-3, **form).fit(other, y)
        np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-6)
        np.testing.assert_allclose(model.predict(other), reference.predict(X), atol=1e-5)


def test_input_is_not_changed():
    X, y = data("squared")
    sparse = scipy.sparse.csc_array(X)
    unsorted = scipy.sparse.csc_array(
        (sparse.data[::-1].copy(), sparse.indices[::-1].copy(), sparse.indptr.copy()), shape=X.shape
    )
    before = unsorted.indices.copy()
    SparseRegressor(alpha=0.1).fit(unsorted, y)
    np.testing.assert_array_equal(unsorted.indices, before)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", [{"alpha": 0.01}, {"radius": 3.0}])
def test_warm_start(loss, form):
    X, y = data(loss, 200, 100)
    cold = make(loss, **form).fit(X, y)
    model = make(loss, warm_start=True, **form).fit(X, y)
    first = model.n_iter_
    again = model.fit(X, y).n_iter_
    assert again < first
    assert again == 0
    wider = model.fit(np.c_[X, X[:, :1] ** 2], y)
    assert wider.coef_.size == 101
    assert cold.n_iter_ == first


WARM = [
    {"alpha": 0.02},
    {"radius": 0.7},
    {"alpha": 0.02, "ridge": 0.1},
    {"radius": 0.7, "ridge": 0.1},
    {"alpha": 0.02, "ridge": 0.1, "solver": "dual-frank-wolfe"},
]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", WARM)
@pytest.mark.parametrize("norm", ["l1", "linf", "windows", "total variation", "modular"])
def test_a_refit_from_the_solution_is_free_and_no_worse(loss, norm, form):
    X, y = data(loss, 150, 20)
    named = {"l1": "l1", "linf": "linf", **set_functions(20)}
    if norm == "total variation" and "radius" in form:
        pytest.skip("the ball of a seminorm is not bounded")
    model = make(loss, norm=named[norm], warm_start=True, **form).fit(X, y)
    coefficients, gap = model.coef_, model.duality_gap_
    model.fit(X, y)
    assert model.n_iter_ <= 2
    # The objective is the same up to rounding, and so is the bound.
    assert model.duality_gap_ <= gap + 1e-13 * risk(loss, np.zeros(20), 0.0, X, y)
    np.testing.assert_array_equal(model.coef_, coefficients)
    # The certificate is computed anew: on other records it is one for them.
    flipped = model.fit(X, -y[::-1])
    alone = make(loss, norm=named[norm], tol=1e-10, **form).fit(X, -y[::-1])

    def objective(model):
        theta, b = fitted(model)
        F = {"l1": Cardinality(20), "linf": GroupCover([list(range(20))])}.get(norm, named[norm])
        penalty = form["alpha"] * omega(F, theta) if "alpha" in form else 0.0
        return risk(loss, theta, b, X, -y[::-1], ridge=form.get("ridge", 0.0)) + penalty

    assert objective(flipped) - objective(alone) <= flipped.duality_gap_ + 1e-12


def test_a_warm_start_takes_what_is_there():
    X, y = data("squared")
    reference = SparseRegressor(alpha=0.1, tol=1e-10).fit(X, y)
    model = SparseRegressor(alpha=0.1, tol=1e-10, warm_start=True)
    model.coef_ = reference.coef_
    assert model.fit(X, y).n_iter_ <= reference.n_iter_
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-6)
    assert model.intercept_ == pytest.approx(reference.intercept_)
    classifier = SparseClassifier(alpha=0.1, warm_start=True)
    classifier.coef_ = [[0.0] * 12]
    classifier.fit(X, y > 0)
    # Fewer records, and a copy that has been elsewhere.
    pickle.loads(pickle.dumps(model)).fit(X[:30], y[:30])
    model.coef_ = np.full(12, 1e300)
    with pytest.raises(DpsparseError, match="start"):
        model.fit(X, y)


@pytest.mark.parametrize("options", [{"alpha": 0.1}, {"radius": 1.0}, {"alpha": 0.1, "norm": "linf"}, *WARM[4:]])
@pytest.mark.parametrize(("of_x", "of_y"), [(1.0, 1e160), (1e100, 1e200), (1e170, 1e140)])
def test_numbers_beyond_the_range_of_floats_are_refused(options, of_x, of_y):
    X, y = data("squared")
    model = SparseRegressor(**options)
    with pytest.raises(DpsparseError, match=r"^X and y must be scaled"):
        model.fit(of_x * X, of_y * y)
    assert not hasattr(model, "coef_")
    if "alpha" in options:
        with pytest.raises(DpsparseError, match=r"^X and y must be scaled"):
            path(of_x * X, of_y * y, [0.1], estimator=model)
        if of_y < 1e200:
            return
        with pytest.raises(DpsparseError, match=r"^X and y must be scaled"):
            path(of_x * X, of_y * y, estimator=model)


@pytest.mark.parametrize("options", [{"alpha": 0.1}, {"radius": 1.0}, {"alpha": 0.1, "norm": "linf"}])
def test_columns_whose_squares_overflow_never_count_as_converged(options):
    X, y = data("squared")
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        model = SparseRegressor(max_iter=50, **options).fit(1e160 * X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.duality_gap_)


@pytest.mark.parametrize("solver", ["auto", "coordinate-descent"])
def test_weighted_l1_norms_go_to_coordinate_descent(solver):
    """On columns of norms from 0.8 to 48, to the precision of the doubles."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 200)) * np.geomspace(0.8, 48.0, 200)[rng.permutation(200)]
    y = X[:, :5] @ [1.0, -1.0, 0.5, 2.0, 1.0] + rng.standard_normal(100)
    weights = np.linspace(0.5, 2.0, 200)
    for F in (Cardinality(200), Modular(weights), 0.5 * Modular(2.0 * weights)):
        w = np.ones(200) if isinstance(F, Cardinality) else weights
        for loss in ("squared", "huber"):
            tol = 1e-14 if loss == "squared" else 1e-12
            estimator = SparseRegressor(loss=loss, norm=F, solver=solver, tol=tol)
            alpha = path(X, y, n_alphas=1, estimator=estimator).alphas[0] / 1000
            model = estimator.set_params(alpha=alpha).fit(X, y)
            at_zero = SparseRegressor(loss=loss, alpha=2000 * alpha).fit(X, y)
            scale = risk(loss, np.zeros(200), at_zero.intercept_, X, y)
            assert model.duality_gap_ <= 5.0 * tol * scale
            # Scaling a column scales its weight.
            plain = SparseRegressor(loss=loss, alpha=alpha, tol=tol).fit(X / w, y)
            ours = risk(loss, model.coef_, model.intercept_, X, y) + alpha * w @ np.abs(model.coef_)
            theirs = risk(loss, plain.coef_, plain.intercept_, X / w, y) + alpha * np.abs(plain.coef_).sum()
            assert ours == pytest.approx(theirs, rel=1e-9, abs=10.0 * tol * scale)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("p", [20, 50])
def test_general_norms_converge_on_badly_scaled_columns(loss, p):
    """Fits that stop early would warn, which is an error here; losses of linear parts have next to no curvature."""
    tol = 1e-12 if loss in ("squared", "logistic") else 1e-8
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, p)) * np.geomspace(0.8, 48.0, p)[rng.permutation(p)]
    z = X[:, :5] @ [1.0, -1.0, 0.5, 2.0, 1.0] + rng.standard_normal(200)
    y = z if loss in REGRESSION else np.where(z > np.median(z), 1.0, -1.0)
    estimator = make(loss, norm=ConcaveCardinality(np.cumsum(np.linspace(2.0, 0.5, p))), tol=tol)
    alpha = path(X, y, n_alphas=1, estimator=estimator).alphas[0] / 1000
    model = estimator.set_params(alpha=alpha).fit(X, y)
    at_zero = scipy.optimize.minimize_scalar(lambda b: risk(loss, np.zeros(p), b, X, y)).fun
    assert model.duality_gap_ <= 5.0 * tol * at_zero


@pytest.mark.parametrize("form", [{"alpha": 0.02}, {"radius": 1.0}, {"radius": 1.0, "ridge": 0.1}])
@pytest.mark.parametrize("loss", LOSSES)
def test_weighted_l1_agrees_with_proximal_gradients(loss, form):
    X, y = data(loss)
    options = {"norm": Modular(np.linspace(0.5, 2.0, 12)), "tol": 1e-9, **form}
    ours = make(loss, **options).fit(X, y)
    theirs = make(loss, solver="proximal-gradient", **options).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    if "radius" in form:
        assert options["norm"].norm(ours.coef_.ravel()) <= 1.0 + 1e-12


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", [{"alpha": 0.05}, {"radius": 1.0}])
def test_a_record_of_weight_zero_is_absent(loss, form):
    X, y = data(loss)
    w = np.where(np.arange(len(y)) % 3 == 0, 0.0, 2.0)
    kept = w > 0
    absent = make(loss, **form).fit(X[kept], y[kept])
    wild = np.where(kept[:, None], X, 1e300)
    targets = y if loss in CLASSIFICATION else np.where(kept, y, -1e300)
    for matrix in (wild, scipy.sparse.csr_array(wild), scipy.sparse.csc_array(wild)):
        model = make(loss, **form).fit(matrix, targets, sample_weight=w)
        np.testing.assert_allclose(model.coef_, absent.coef_, atol=1e-9)
        np.testing.assert_allclose(model.intercept_, absent.intercept_, atol=1e-9)
    if "alpha" in form:
        both = [
            path(matrix, z, [0.05], sample_weight=v, estimator=make(loss))
            for matrix, z, v in ((wild, targets, w), (X[kept], y[kept], None))
        ]
        np.testing.assert_allclose(both[0].coefs, both[1].coefs, atol=1e-9)


@pytest.mark.parametrize("weights", [-1.0, 0.0, "short", "long", "matrix", np.nan, np.inf])
def test_unusable_sample_weights_are_refused_by_name(weights):
    X, y = data("logistic")
    n = len(y)
    bad = {"short": np.ones(n - 1), "long": np.ones(n + 1), "matrix": np.ones((n, 1))}
    w = bad[weights] if isinstance(weights, str) else np.r_[np.zeros(n - 1), weights]
    for model in (SparseClassifier(alpha=0.1), SparseRegressor(alpha=0.1)):
        with pytest.raises(DpsparseError, match=r"^sample_weight"):
            model.fit(X, y, sample_weight=w)
        assert not hasattr(model, "coef_")
        with pytest.raises(DpsparseError, match=r"^sample_weight"):
            path(X, y, [0.1], sample_weight=w, estimator=model)


def test_unscaled_data_converge():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    for model in (
        SparseRegressor(),
        SparseRegressor(radius=1e4),
        SparseRegressor(loss="huber"),
        SparseRegressor(alpha=1e-3),
    ):
        assert model.fit(X, y).n_iter_ < 10_000
    X, y = load_breast_cancer(return_X_y=True)
    for model in (SparseClassifier(), SparseClassifier(loss="hinge"), SparseClassifier(alpha=1e-4)):
        assert model.fit(X, y).n_iter_ < 10_000


def test_degenerate_data():
    X = np.c_[np.ones(6), np.zeros(6), np.arange(6.0), np.arange(6.0)]
    model = SparseRegressor(alpha=0.1).fit(X, np.full(6, 0.1))
    assert model.support_.size == 0
    assert model.intercept_ == pytest.approx(0.1)
    model = SparseRegressor(alpha=0.01, warm_start=True)
    model.coef_, model.intercept_ = np.array([3.0, 2.0, 0.0, 0.0]), 0.0
    model.fit(X, np.arange(6.0))
    assert np.all(model.coef_[:2] == 0)
    assert model.coef_[2:].sum() == pytest.approx(1 - 0.01 / np.var(np.arange(6.0)), abs=1e-3)
    far = np.arange(6.0) + 1e7
    model = SparseRegressor(alpha=1e-6).fit(far[:, None], 1e6 + np.arange(6.0))
    assert model.coef_[0] == pytest.approx(1, abs=1e-2)


def test_max_iter_warns():
    X, y = data("squared", 100, 80)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        model = SparseRegressor(alpha=1e-3, max_iter=2, tol=1e-12).fit(X, y)
    assert model.n_iter_ <= 2


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"alpha": 0.1, "radius": 1.0}, "exclude"),
        ({"alpha": -0.1}, "alpha"),
        ({"alpha": np.nan}, "alpha"),
        ({"alpha": 0.0}, "ridge"),
        ({"alpha": True}, "alpha"),
        ({"alpha": "0.1"}, "alpha"),
        ({"radius": 0.0}, "radius"),
        ({"radius": np.inf}, "radius"),
        ({"ridge": -1.0}, "ridge"),
        ({"tol": -1.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"max_iter": 1.5}, "max_iter"),
        ({"norm": "l3"}, "norm"),
        ({"norm": None}, "norm"),
        ({"solver": "newton"}, "solver"),
        ({"loss": "hinge"}, "loss"),
        ({"loss": "unknown"}, "loss"),
    ],
)
def test_bad_parameters(options, match):
    X, y = data("squared")
    with pytest.raises(InvalidArgumentError, match=match):
        SparseRegressor(**options).fit(X, y)


def test_bad_data():
    X, y = data("logistic")
    bad = X.copy()
    bad[3, 2] = np.nan
    for model in (SparseClassifier(), SparseRegressor()):
        with pytest.raises(ValueError, match="NaN"):
            model.fit(bad, y)
        with pytest.raises(DpsparseError, match="sample_weight"):
            model.fit(X, y, sample_weight=-np.ones(len(y)))
        with pytest.raises(ValueError, match="sample_weight"):
            model.fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(DpsparseError, match="class"):
        SparseClassifier().fit(X, np.ones(len(y)))
    with pytest.raises(DpsparseError, match="binary"):
        SparseClassifier(loss="hinge").fit(X, np.arange(len(y)) % 3)
    with pytest.raises(DpsparseError, match="class"):
        SparseClassifier().fit(X, y, sample_weight=(y > 0).astype(float))


def test_probabilities_only_for_logistic():
    X, y = data("logistic")
    model = SparseClassifier(alpha=0.01).fit(X, y)
    probabilities = model.predict_proba(X * 1e6)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert probabilities.min() >= 0
    assert hasattr(model, "predict_proba")
    assert not hasattr(SparseClassifier(loss="hinge").fit(X, y), "predict_proba")
    assert not hasattr(SparseClassifier(loss="hinge").fit(X, y), "predict_log_proba")
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), rtol=1e-12)
    far = model.predict_log_proba(X * 1e6)
    assert probabilities.min() == 0.0
    np.testing.assert_allclose(far.min(axis=1), -np.abs(model.decision_function(X * 1e6)), rtol=1e-12)


def test_a_fit_that_raises_leaves_the_model_as_it_was():
    """Labels, names and number of columns were those of the fit that had failed, beside the coefficients of another."""
    X = np.random.default_rng(0).normal(size=(50, 2))
    y = np.where(X[:, 0] > 0, "ill", "well")
    for model, good, bad in (
        (SparseClassifier(alpha=0.01), y, X[:, 1] > 0),
        (SparseRegressor(alpha=0.01), X[:, 0], X[:, 1]),
        (SparsePoissonRegressor(alpha=0.01), np.abs(X[:, 0]), np.abs(X[:, 1])),
    ):
        model.fit(X, good)
        before = vars(model).copy()
        with pytest.raises(InvalidDataError):
            model.fit(np.column_stack([X, X]), bad, sample_weight=-np.ones(50))
        assert vars(model).keys() == before.keys()
        assert all(value is before[name] for name, value in vars(model).items())
        fresh = clone(model)
        with pytest.raises(InvalidDataError):
            fresh.fit(X, good, sample_weight=-np.ones(50))
        with pytest.raises(NotFittedError):
            fresh.predict(X)


def test_labels_follow_classes():
    X, y = data("logistic")
    names = np.where(y > 0, "yes", "no")
    model = SparseClassifier(alpha=0.01).fit(X, names)
    assert list(model.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(model.predict(X) == "yes", model.decision_function(X) > 0)
    assert model.score(X, names) > 0.85
    assert model.coef_.shape == (1, 12)
    assert model.intercept_.shape == (1,)


def test_pickle_clone_pipeline_grid_search():
    X, y = data("logistic")
    model = SparseClassifier(radius=2.0).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert clone(model).get_params() == model.get_params()
    pipeline = make_pipeline(StandardScaler(), SparseClassifier())
    search = GridSearchCV(pipeline, {"sparseclassifier__radius": [0.1, 1.0, 5.0]}, cv=3, n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.8


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_feature_names(frame):
    X, y = data("squared")
    names = [f"feature {j}" for j in range(X.shape[1])]
    table = frame({name: X[:, j] for j, name in enumerate(names)})
    model = SparseRegressor(alpha=0.1).fit(table, y)
    assert list(model.feature_names_in_) == names
    np.testing.assert_allclose(model.predict(table), X @ model.coef_ + model.intercept_)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(model.coef_))


def test_verbose_prints(capsys):
    X, y = data("squared")
    SparseRegressor(alpha=0.1, verbose=1).fit(X, y)
    assert "duality gap" in capsys.readouterr().out


def test_interrupt_stops_a_fit():
    X, y = data("absolute", 400, 2000)

    def handler(signum, frame):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            SparseRegressor(loss="absolute", alpha=1e-5, tol=0.0, max_iter=10_000_000).fit(X, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)


def set_functions(p):
    """One norm of every family, and a seminorm."""
    pairs = [[j, j + 1] for j in range(p - 1)]
    return {
        "cardinality": Cardinality(p),
        "modular": Modular(np.linspace(0.5, 2.0, p)),
        "slope": ConcaveCardinality(np.cumsum(np.linspace(2.0, 0.5, p))),
        "groups": GroupCover([list(range(p // 2)), list(range(p // 2, p))]),
        "windows": GroupCover([list(range(j, j + 3)) for j in range(p - 2)]),
        "tree": Tree([[j] for j in range(p)] + [list(range(p // 2)), list(range(p))], n_features=p),
        "rank": PartitionRank([list(range(p // 2)), list(range(p // 2, p))], [2, 1], n_features=p),
        "log det": LogDet(np.eye(p) + 0.5, 1.0),
        "oracle": FromOracle(lambda A: float(np.sqrt(len(A))) if A else 0.0, p),
        "total variation": GraphCut(pairs, n_features=p),
    }


FAMILIES = tuple(set_functions(6))


def omega(F, theta):
    return F.norm(theta) if F.is_monotone else F.lovasz(theta)


@settings(max_examples=80, deadline=None)
@example("total variation", "hinge", "alpha", 0.02, 0.0, True, 1, 1)  # slopes that cannot be balanced
@given(
    family=st.sampled_from(FAMILIES),
    loss=st.sampled_from(LOSSES),
    form=st.sampled_from(["alpha", "radius"]),
    size=st.sampled_from([0.02, 0.1, 1.0]),
    ridge=st.sampled_from([0.0, 0.05]),
    intercept=st.booleans(),
    max_iter=st.integers(1, 30),
    seed=st.integers(0, 10_000),
)
def test_gap_bounds_the_suboptimality_of_every_norm(family, loss, form, size, ridge, intercept, max_iter, seed):
    F = set_functions(6)[family]
    if not F.is_monotone:
        form = "alpha"
    X, y = data(loss, 25, 6, seed)
    y[:2] = [-1, 1]
    options = {form: size, "ridge": ridge, "fit_intercept": intercept, "norm": F}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rough = make(loss, max_iter=max_iter, tol=1e-2, **options).fit(X, y)
    precise = make(loss, tol=1e-6, **options).fit(X, y)
    assert np.isfinite(rough.duality_gap_)

    def objective(model):
        theta, b = fitted(model)
        return risk(loss, theta, b, X, y, ridge=ridge) + (size * omega(F, theta) if form == "alpha" else 0.0)

    assert objective(rough) - objective(precise) <= rough.duality_gap_ + 1e-12
    # Neither is any point around the precise solution better by more than its gap.
    moves = np.random.default_rng(seed).standard_normal((20, 6)) * 10.0 ** -np.arange(20)[:, None]
    theta, b = fitted(precise)
    for move in moves:
        other = clone(precise)
        other.coef_, other.intercept_ = theta + move, b
        if form == "radius":
            other.coef_ *= min(1.0, size * (1 - 1e-12) / omega(F, other.coef_))
        assert objective(precise) - objective(other) <= precise.duality_gap_ + 1e-12
    if form == "radius":
        assert omega(F, np.ravel(rough.coef_)) <= size * (1 + 1e-12)


def test_norms_that_coincide():
    X, y = data("squared", 80, 20)
    p = X.shape[1]

    def solve(norm, **options):
        return SparseRegressor(norm=norm, tol=1e-11, **{"alpha": 0.1, **options}).fit(X, y).coef_

    l1 = Lasso(alpha=0.1, tol=1e-12, max_iter=100_000).fit(X, y).coef_
    for norm in (Cardinality(p), Modular(np.ones(p)), "l1"):
        np.testing.assert_allclose(solve(norm, solver="proximal-gradient"), l1, atol=1e-5)
    linf = solve("linf")
    np.testing.assert_allclose(solve(GroupCover([list(range(p))])), linf, atol=1e-5)
    np.testing.assert_allclose(solve(ConcaveCardinality(np.ones(p))), linf, atol=1e-5)
    sizes = np.abs(solve("linf", alpha=1.0))
    assert np.sum(sizes == sizes.max()) > 1  # ties are exact


@pytest.mark.parametrize("n", [30, 300])
@pytest.mark.parametrize("norm", ["l1", GroupLasso([[0], [1], [2], [3]], [0.0, 1.0, 1.0, 1.0])])
def test_a_free_feature_that_one_record_has_takes_that_record_away(n, norm):
    """Its slope is rounding, of which all was: no dual point was found, and all that a norm holds was 0."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    X[:, 0] = 0.0
    X[3, 0] = 1.0
    y = X @ [0.0, 1.0, 1.0, 1.0] + rng.normal(size=n)
    weights = {"feature_weights": [0.0, 1.0, 1.0, 1.0]} if norm == "l1" else {}
    model = SparseRegressor(norm=norm, alpha=0.1, tol=1e-10, **weights).fit(X, y)
    others = np.arange(n) != 3
    expected = SparseRegressor(alpha=0.1 * n / (n - 1), tol=1e-10).fit(X[others, 1:], y[others])
    np.testing.assert_allclose(model.coef_[1:], expected.coef_, atol=1e-6)
    assert model.duality_gap_ < 1e-8


@pytest.mark.parametrize("size", [1e-30, 1e-13, 1.0, 1e20])
def test_seminorms_of_any_size_are_certified(size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    y = X @ [1.0, 1.0, -1.0, 0.0] + rng.normal(size=40)
    graph = [GraphCut([(0, 1), (1, 2), (2, 3)], [weight] * 3, n_features=4) for weight in (1.0, size)]
    one, other = (SparseRegressor(norm=g, alpha=0.3 / w).fit(X, y) for g, w in zip(graph, (1.0, size), strict=True))
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-4)
    assert other.duality_gap_ < 1e-3


@pytest.mark.parametrize("count", [0.1, 3.0, 7.3, 100.0])
def test_counts_that_are_all_alike_are_fitted_by_a_constant(count):
    X = np.random.default_rng(0).normal(size=(50, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = SparsePoissonRegressor(alpha=0.1).fit(X, np.full(50, count))
    np.testing.assert_allclose(model.predict(X), count, rtol=1e-9)


def test_total_variation_finds_steps():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 30))
    theta = np.repeat([1.0, -1.0, 0.5], 10)
    F = GraphCut([[j, j + 1] for j in range(29)], n_features=30)
    model = SparseRegressor(norm=F, alpha=0.2).fit(X, X @ theta + 0.1 * rng.standard_normal(200))
    assert np.array_equal(np.flatnonzero(np.diff(model.coef_)), [9, 19])
    with pytest.raises(InvalidArgumentError, match="seminorm"):
        SparseRegressor(norm=F, radius=1.0).fit(X, X @ theta)
    with pytest.raises(InvalidArgumentError, match="seminorm"):
        path(X, X @ theta, estimator=SparseRegressor(norm=F))


def test_norms_are_checked():
    X, y = data("squared")
    with pytest.raises(InvalidArgumentError, match="features"):
        SparseRegressor(norm=Cardinality(5), alpha=0.1).fit(X, y)
    with pytest.raises(InvalidArgumentError, match="l1"):
        SparseRegressor(norm="linf", alpha=0.1, solver="coordinate-descent").fit(X, y)


@pytest.mark.parametrize("norm", ["l1", "linf", GroupCover([list(range(6)), list(range(6, 12))])])
@pytest.mark.parametrize("loss", LOSSES)
def test_path(norm, loss):
    X, y = data(loss)
    estimator = make(loss, norm=norm, radius=3.0)
    alphas, coefs, intercepts, gaps = path(X, y, estimator=estimator, n_alphas=5, ratio=0.01)
    assert np.all(coefs[0] == 0)
    assert np.any(coefs[1] != 0)
    np.testing.assert_allclose(alphas[1:] / alphas[:-1], 0.01**0.25)
    assert estimator.radius == 3.0
    # alpha_max is tight: a slightly smaller penalty lets something in.
    assert np.any(path(X, y, [0.999 * alphas[0]], estimator=clone(estimator).set_params(tol=1e-10)).coefs != 0)
    for alpha, coef, intercept, gap in zip(alphas, coefs, intercepts, gaps, strict=True):
        alone = make(loss, norm=norm, alpha=alpha).fit(X, y)
        theta, b = fitted(alone)
        named = {"l1": Cardinality(12), "linf": GroupCover([list(range(12))])}
        F = named[norm] if isinstance(norm, str) else norm
        ours = risk(loss, coef, intercept, X, y) + alpha * F.norm(coef)
        assert ours - risk(loss, theta, b, X, y) - alpha * F.norm(theta) <= gap + 1e-12


def test_path_checks_its_arguments():
    X, y = data("squared")
    for options, match in (
        ({"alphas": [0.1, -1.0]}, "alphas"),
        ({"n_alphas": 0}, "n_alphas"),
        ({"ratio": 1.0}, "ratio"),
        ({"estimator": SparseRegressor(norm="l3")}, "norm"),
    ):
        with pytest.raises(InvalidArgumentError, match=match):
            path(X, y, **options)
    with pytest.warns(ConvergenceWarning, match="gaps"):
        path(X, y, [1e-4], estimator=SparseRegressor(max_iter=1, tol=1e-12))


DUAL_NORMS = {
    "l1": "l1",
    "tree": Tree([[j] for j in range(8)] + [[0, 1, 2, 3], list(range(8))], n_features=8),
    "windows": GroupCover([list(range(j, j + 3)) for j in range(6)]),
    "slope": ConcaveCardinality(np.cumsum(np.linspace(2.0, 0.5, 8))),
    "total variation": GraphCut([[j, j + 1] for j in range(7)], n_features=8),
}


def penalised(loss, model, X, y, w, alpha, ridge):
    theta, b = fitted(model)
    F = Cardinality(X.shape[1]) if model.norm == "l1" else model.norm
    return risk(loss, theta, b, X, y, w, ridge) + alpha * omega(F, theta)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("norm", DUAL_NORMS)
@pytest.mark.parametrize("loss", ["logistic", "squared", "huber", "hinge"])
def test_dual_frank_wolfe_agrees_with_proximal_gradients(loss, norm, intercept, weighted):
    X, y = data(loss, 60, 8)
    X[np.abs(X) < 0.5] = 0.0
    w = np.random.default_rng(1).uniform(0.0, 2.0, len(y)) if weighted else None
    options = {"norm": DUAL_NORMS[norm], "ridge": 0.1, "fit_intercept": intercept, "tol": 1e-11}
    for alpha in (0.02, 0.2, 2.0):
        theirs = make(loss, alpha=alpha, solver="proximal-gradient", **options).fit(X, y, w)
        for matrix in (X, scipy.sparse.csr_array(X)):
            ours = make(loss, alpha=alpha, solver="dual-frank-wolfe", **options).fit(matrix, y, w)
            np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
            np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
            values = [penalised(loss, model, X, y, w, alpha, 0.1) for model in (ours, theirs)]
            assert values[0] - values[1] <= ours.duality_gap_ + 1e-14
            assert values[1] - values[0] <= theirs.duality_gap_ + 1e-14
            # Zeros are exact.
            np.testing.assert_array_equal(ours.support_, theirs.support_)


@settings(max_examples=60, deadline=None)
@given(
    loss=st.sampled_from(LOSSES),
    norm=st.sampled_from(tuple(DUAL_NORMS)),
    alpha=st.sampled_from([0.0, 0.01, 0.1, 1.0]),
    ridge=st.sampled_from([1e-3, 0.1]),
    intercept=st.booleans(),
    max_iter=st.integers(1, 12),
    seed=st.integers(0, 10_000),
)
def test_dual_frank_wolfe_gap_bounds_the_suboptimality(loss, norm, alpha, ridge, intercept, max_iter, seed):
    X, y = data(loss, 25, 8, seed)
    y[:2] = [-1, 1]
    options = {"norm": DUAL_NORMS[norm], "alpha": alpha, "ridge": ridge, "fit_intercept": intercept}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rough = make(loss, solver="dual-frank-wolfe", tol=1e-9, max_iter=max_iter, **options).fit(X, y)
        precise = make(loss, solver="proximal-gradient", tol=1e-11, **options).fit(X, y)
    assert rough.n_iter_ <= max_iter
    excess = penalised(loss, rough, X, y, None, alpha, ridge) - penalised(loss, precise, X, y, None, alpha, ridge)
    assert excess <= rough.duality_gap_ + 1e-13


def test_dual_frank_wolfe_warns_where_it_stops_early():
    X, y = data("logistic", 60, 8)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        SparseClassifier(alpha=0.05, ridge=1e-3, tol=1e-12, max_iter=1, solver="dual-frank-wolfe").fit(X, y)


def test_dual_frank_wolfe_of_many_features():
    X, y = data("logistic", 100, 1200)
    for alpha in (0.3, 0.1):
        options = {"alpha": alpha, "ridge": 1.0, "norm": "linf", "tol": 1e-6}
        theirs = SparseClassifier(**options).fit(X, y)
        ours = SparseClassifier(solver="dual-frank-wolfe", **options).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)


def test_dual_frank_wolfe_path_and_warm_start():
    X, y = data("squared", 60, 8)
    estimator = SparseRegressor(ridge=0.1, solver="dual-frank-wolfe", tol=1e-10, norm=DUAL_NORMS["windows"])
    ours = path(X, y, estimator=estimator, n_alphas=6, ratio=0.01)
    theirs = path(X, y, estimator=estimator.set_params(solver="proximal-gradient"), n_alphas=6, ratio=0.01)
    np.testing.assert_allclose(ours.coefs, theirs.coefs, atol=1e-4)
    model = SparseRegressor(alpha=0.1, ridge=0.1, solver="dual-frank-wolfe", tol=1e-10, warm_start=True).fit(X, y)
    first = model.coef_
    np.testing.assert_allclose(model.fit(X, y).coef_, first, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"alpha": 0.1}, "ridge"),
        ({"alpha": 0.1, "ridge": 0.0, "norm": Cardinality(12)}, "ridge"),
        ({"radius": 1.0, "ridge": 0.1}, "radius"),
        ({"ridge": 0.1}, "radius"),
    ],
)
def test_dual_frank_wolfe_refuses_what_it_cannot_solve(options, match):
    X, y = data("squared")
    with pytest.raises(InvalidArgumentError, match=f"^{match} "):
        SparseRegressor(solver="dual-frank-wolfe", **options).fit(X, y)


@pytest.mark.parametrize("labels", [["no", "yes"], ["no", "perhaps", "yes"]])
def test_weights_of_classes_are_weights_of_their_records(labels):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    y = np.array(labels)[np.minimum((X[:, 0] + rng.standard_normal(200) > 0.4) * (1 + (X[:, 1] > 0)), len(labels) - 1)]
    own = rng.uniform(0.5, 2.0, 200)
    given = {"no": 0.3, "yes": 2.5}
    by_record = np.array([given.get(label, 1.0) for label in y])
    options = {"alpha": 0.01, "tol": 1e-10}
    expected = SparseClassifier(**options).fit(X, y, own * by_record)
    found = SparseClassifier(**options, class_weight=given).fit(X, y, own)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    counts = {label: np.sum(y == label) for label in labels}
    balanced = np.array([200 / (len(labels) * counts[label]) for label in y])
    expected = SparseClassifier(**options).fit(X, y, balanced)
    found = SparseClassifier(**options, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-9)
    along = path(X, y, [0.01], estimator=SparseClassifier(class_weight="balanced", tol=1e-10))
    np.testing.assert_allclose(np.ravel(along.coefs[0]), np.ravel(expected.coef_), atol=1e-6)


@pytest.mark.parametrize("wrong", ["even", 3, {"no": -1.0}, {"no": np.nan}, {"no": "much"}])
def test_weights_of_classes_that_are_none(wrong):
    X, y = np.eye(4, 2), ["no", "yes", "no", "yes"]
    with pytest.raises(InvalidArgumentError, match="class_weight"):
        SparseClassifier(class_weight=wrong).fit(X, y)

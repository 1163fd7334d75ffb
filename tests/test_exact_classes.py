"""Exact fits of three or more classes against scikit-learn, scipy and the definition of optimality."""

import pickle
import signal
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dpsparse import InvalidArgumentError, InvalidDataError, SparseClassifier, SparseRegressor, path
from dpsparse.losses import Logistic
from dpsparse.set_functions import Cardinality

NORMS = ("l1", "l21")
FORMS = ({"alpha": 0.02}, {"radius": 1.5})


def data(n=90, p=6, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    scores = X[:, :3] @ rng.standard_normal((3, k)) + np.linspace(-0.5, 0.5, k) + rng.gumbel(size=(n, k))
    y = scores.argmax(axis=1)
    y[:k] = np.arange(k)
    return X, y


def omega(norm, coefficients):
    return np.abs(coefficients).sum() if norm == "l1" else np.linalg.norm(coefficients, axis=0).sum()


def risk(coefficients, intercepts, X, y, w=None, ridge=0.0):
    z = X @ coefficients.T + intercepts
    losses = logsumexp(z, axis=1) - z[np.arange(len(y)), y]
    return np.average(losses, weights=w) + 0.5 * ridge * (coefficients**2).sum()


def objective(model, X, y, w=None):
    value = risk(model.coef_, model.intercept_, X, y, w, model.ridge)
    return value + (0.0 if model.alpha is None else model.alpha * omega(model.norm, model.coef_))


def at_zero(y, w=None):
    shares = np.bincount(y, weights=w) / (len(y) if w is None else w.sum())
    shares = shares[shares > 0]
    return -(shares * np.log(shares)).sum()


@pytest.mark.parametrize("alpha", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("intercept", [True, False])
def test_equals_l1_logistic_regression(alpha, intercept):
    """Three classes: the median of a feature's coefficients is one of them, so that the minimum is unique."""
    X, y = data(120, 8)
    ours = SparseClassifier(alpha=alpha, tol=1e-13, fit_intercept=intercept).fit(X, y)
    theirs = LogisticRegression(
        C=1 / (len(y) * alpha), l1_ratio=1.0, solver="saga", tol=1e-11, max_iter=200_000, fit_intercept=intercept
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_ - theirs.intercept_.mean(), atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, y) == theirs.score(X, y)
    reached = risk(theirs.coef_, theirs.intercept_, X, y) + alpha * omega("l1", theirs.coef_)
    assert objective(ours, X, y) <= reached + 1e-14


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("ridge", [1.0, 0.01])
def test_equals_l2_logistic_regression(norm, ridge):
    X, y = data(120, 8, k=4)
    ours = SparseClassifier(alpha=0.0, ridge=ridge, norm=norm, tol=1e-13).fit(X, y)
    theirs = LogisticRegression(C=1 / (len(y) * ridge), solver="newton-cg", tol=1e-12, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


def brute_force(norm, X, y, ridge, alpha=None, radius=None, w=None):
    """The minimum by SLSQP: theta = u - v for the l1 norm, a bound on every row's norm for the other."""
    k, p = y.max() + 1, X.shape[1]
    size = p * k

    def theta(x):
        return (x[:size] - x[size : 2 * size] if norm == "l1" else x[:size]).reshape(k, p)

    def total(x):
        return x[: 2 * size].sum() if norm == "l1" else x[size : size + p].sum()

    auxiliary = 2 * size if norm == "l1" else size + p

    def f(x):
        return risk(theta(x), x[auxiliary:], X, y, w, ridge) + (0.0 if alpha is None else alpha * total(x))

    low = [0.0] * (2 * size) if norm == "l1" else [None] * size + [0.0] * p
    bounds = [(bound, None) for bound in low] + [(None, None)] * k
    constraints = []
    if radius is not None:
        constraints.append({"type": "ineq", "fun": lambda x: radius - total(x)})
    if norm == "l21":
        # t_j >= |theta_j|, with both sides squared, which is smooth.
        constraints.append({"type": "ineq", "fun": lambda x: x[size : size + p] ** 2 - (theta(x) ** 2).sum(axis=0)})
    start = np.full(auxiliary + k, 0.01)
    options = {"ftol": 1e-13, "maxiter": 2000}
    return scipy.optimize.minimize(f, start, bounds=bounds, constraints=constraints, method="SLSQP", options=options)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("form", [{"alpha": 0.05}, {"radius": 0.4}, {"radius": 2.0}])
def test_minimum_against_scipy(norm, ridge, form):
    k = 3
    X, y = data(50, 3, k)
    w = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    model = SparseClassifier(norm=norm, ridge=ridge, tol=1e-10, **form).fit(X, y, w)
    best = brute_force(norm, X, y, ridge, w=w, **form)
    if "radius" in form:
        assert omega(norm, model.coef_) <= form["radius"] * (1 + 1e-14)
    # Constraints hold there up to rounding of their squares.
    theirs = best.x[: 3 * k].reshape(k, 3) - (best.x[3 * k : 6 * k].reshape(k, 3) if norm == "l1" else 0.0)
    theirs = theirs * min(1.0, form.get("radius", np.inf) / omega(norm, theirs))
    reached = risk(theirs, best.x[-k:], X, y, w, ridge) + form.get("alpha", 0.0) * omega(norm, theirs)
    assert objective(model, X, y, w) <= reached + 1e-9
    assert objective(model, X, y, w) >= reached - 1e-4


@settings(max_examples=60, deadline=None)
@given(
    norm=st.sampled_from(NORMS),
    form=st.sampled_from(["alpha", "radius"]),
    size=st.floats(0.005, 5.0),
    ridge=st.sampled_from([0.0, 0.05]),
    intercept=st.booleans(),
    max_iter=st.integers(1, 60),
    seed=st.integers(0, 10_000),
    columns=st.integers(3, 20),
    k=st.integers(3, 6),
)
def test_gap_bounds_the_suboptimality(norm, form, size, ridge, intercept, max_iter, seed, columns, k):
    X, y = data(30, columns, k, seed)
    rng = np.random.default_rng(seed)
    X = X * 10.0 ** rng.integers(-1, 2, columns)
    w = rng.integers(0, 3, len(y)).astype(float)
    w[:k] = 1.0
    options = {form: size, "ridge": ridge, "fit_intercept": intercept, "norm": norm}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rough = SparseClassifier(max_iter=max_iter, tol=1e-3, **options).fit(X, y, w)
    precise = SparseClassifier(tol=1e-9, **options).fit(X, y, w)  # a warning would be an error
    assert objective(rough, X, y, w) - objective(precise, X, y, w) <= rough.duality_gap_ + 1e-13
    start = at_zero(y, w) if intercept else np.log(k)
    assert 0.0 <= precise.duality_gap_ <= 1.01e-9 * start
    if form == "radius":
        assert omega(norm, rough.coef_) <= size * (1 + 1e-14)  # sums in another order


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("form", FORMS)
def test_weights_are_repetitions(norm, form):
    X, y = data()
    w = np.random.default_rng(1).integers(0, 4, len(y))
    options = {"norm": norm, "tol": 1e-13, "ridge": 1e-3, **form}
    weighted = SparseClassifier(**options).fit(X, y, sample_weight=7.5 * w)
    repeated = SparseClassifier(**options).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-6)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("form", FORMS)
def test_storage_does_not_matter(norm, form):
    X, y = data()
    X[np.abs(X) < 1.0] = 0.0
    options = {"norm": norm, "tol": 1e-12, "ridge": 1e-3, **form}
    reference = SparseClassifier(**options).fit(X, y)
    for other in (np.asfortranarray(X), sp.csr_matrix(X), sp.csc_array(X), sp.coo_array(X), X.tolist()):
        model = SparseClassifier(**options).fit(other, y)
        np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-5)
        np.testing.assert_allclose(model.decision_function(other), reference.decision_function(X), atol=1e-5)
    shifted = SparseClassifier(**options).fit(X + 100.0, y)
    np.testing.assert_allclose(shifted.coef_, reference.coef_, atol=1e-5)


@pytest.mark.parametrize("norm", NORMS)
def test_supports(norm):
    """The l1 norm selects entries; the other one features, with coefficients of sum 0 where all classes share them."""
    X, y = data(400, 12, k=4)
    model = SparseClassifier(alpha=0.03, norm=norm, tol=1e-10).fit(X, y)
    used = model.coef_ != 0.0
    assert 0 < len(model.support_) < 12
    np.testing.assert_array_equal(model.support_, np.flatnonzero(used.any(axis=0)))
    if norm == "l21":
        np.testing.assert_array_equal(used.any(axis=0), used.all(axis=0))
        np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-12)
    else:
        assert (used.any(axis=0) != used.all(axis=0)).any()
        assert (np.median(model.coef_, axis=0) * np.sort(model.coef_, axis=0)[[1, 2]].prod(axis=0) == 0.0).all()
    np.testing.assert_allclose(model.intercept_.sum(), 0.0, atol=1e-12)


def test_shapes_and_predictions():
    X, y = data(k=4)
    names = np.array(["blue", "green", "red", "white"])
    model = SparseClassifier(alpha=0.01).fit(pd.DataFrame(X, columns=[f"x{j}" for j in range(6)]), names[y])
    assert (model.coef_.shape, model.intercept_.shape) == ((4, 6), (4,))
    np.testing.assert_array_equal(model.classes_, names)
    assert model.feature_names_in_[0] == "x0"
    frame = pd.DataFrame(X, columns=model.feature_names_in_)
    scores, probabilities = model.decision_function(frame), model.predict_proba(frame)
    np.testing.assert_allclose(scores, X @ model.coef_.T + model.intercept_)
    np.testing.assert_allclose(probabilities, np.exp(scores - logsumexp(scores, axis=1, keepdims=True)))
    np.testing.assert_allclose(model.predict_log_proba(frame), scores - logsumexp(scores, axis=1, keepdims=True))
    np.testing.assert_array_equal(model.predict(frame), names[probabilities.argmax(axis=1)])
    assert model.score(frame, names[y]) == np.mean(model.predict(frame) == names[y])
    assert pickle.loads(pickle.dumps(model)).predict(frame).tolist() == model.predict(frame).tolist()
    assert len(model.summary().rows) > 4


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("form", [*FORMS, {"alpha": 0.02, "ridge": 0.1}, {"radius": 0.7, "ridge": 0.1}])
def test_a_refit_from_the_solution_is_free(norm, form):
    X, y = data(150, 20, k=4)
    cold = SparseClassifier(norm=norm, **form).fit(X, y)
    model = SparseClassifier(norm=norm, warm_start=True, **form).fit(X, y)
    coefficients, gap = model.coef_, model.duality_gap_
    assert model.n_iter_ == cold.n_iter_ > 0
    model.fit(X, y)
    assert model.n_iter_ == 0
    assert model.duality_gap_ <= gap + 1e-13
    np.testing.assert_allclose(model.coef_, coefficients, atol=1e-13)
    # The certificate is computed anew: on other records it is one for them.
    flipped = model.fit(X, y[::-1])
    alone = SparseClassifier(norm=norm, tol=1e-10, **form).fit(X, y[::-1])
    assert objective(flipped, X, y[::-1]) - objective(alone, X, y[::-1]) <= flipped.duality_gap_ + 1e-12
    # Other numbers of features, of classes, of records.
    assert model.fit(X[:, :5], y).coef_.shape == (4, 5)
    assert model.fit(X[:, :5], y > 1).coef_.shape == (1, 5)
    assert model.fit(X[:70, :5], y[:70]).coef_.shape == (4, 5)
    model.coef_ = np.full((4, 5), 1e300)
    with pytest.raises(InvalidDataError, match="start"):
        model.fit(X[:, :5], y)


@pytest.mark.parametrize("norm", NORMS)
def test_path(norm):
    X, y = data(120, 10, k=4)
    result = path(X, y, n_alphas=5, ratio=0.01, estimator=SparseClassifier(norm=norm, tol=1e-10))
    assert result.coefs.shape == (5, 4, 10)
    assert result.intercepts.shape == (5, 4)
    assert not result.coefs[0].any()
    assert result.coefs[1].any()
    for alpha, coefs, intercepts, gap in zip(*result, strict=True):
        alone = SparseClassifier(alpha=alpha, norm=norm, tol=1e-10).fit(X, y)
        value = risk(coefs, intercepts, X, y) + alpha * omega(norm, coefs)
        assert abs(value - objective(alone, X, y)) <= gap + alone.duality_gap_ + 1e-13
    # At theta = 0 the scores are those of the classes' shares.
    np.testing.assert_allclose(np.diff(result.intercepts[0]), np.diff(np.log(np.bincount(y))))
    with pytest.warns(ConvergenceWarning, match="duality gaps are above"):
        path(X, y, [1e-3, 1e-4], estimator=SparseClassifier(max_iter=1, tol=1e-12))
    assert path(X, y, [], estimator=SparseClassifier()).coefs.size == 0


def test_two_classes_keep_the_scalar_model():
    X, y = data(k=3)
    y = (y > 0).astype(int)
    l1, l21 = (SparseClassifier(alpha=0.02, norm=norm).fit(X, y) for norm in NORMS)
    np.testing.assert_array_equal(l1.coef_, l21.coef_)
    assert l1.coef_.shape == (1, 6)
    target = X[:, 0] + 0.1
    plain, same = (SparseRegressor(alpha=0.02, norm=norm).fit(X, target) for norm in NORMS)
    np.testing.assert_array_equal(plain.coef_, same.coef_)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"loss": "hinge"}, "this loss: y has 3 classes.*'logistic'.*OneVsRestClassifier"),
        ({"loss": "squared", "norm": "linf"}, "this loss"),
        ({"norm": "linf"}, "this norm.*'l1' or 'l21'"),
        ({"norm": Cardinality(6)}, "this norm"),
        ({"solver": "proximal-gradient"}, "this solver.*'coordinate-descent'"),
        ({"solver": "dual-frank-wolfe", "alpha": 0.1, "ridge": 0.1}, "this solver"),
    ],
)
def test_what_is_for_two_classes_is_refused(options, match):
    X, y = data()
    model = SparseClassifier(**options)
    assert not model.__sklearn_tags__().classifier_tags.multi_class
    with pytest.raises(InvalidArgumentError, match="^Only binary classification is supported by " + match):
        model.fit(X, y)
    assert not hasattr(model, "coef_")
    with pytest.raises(InvalidArgumentError, match="Only binary"):
        path(X, y, [0.1], estimator=model.set_params(solver="auto", ridge=0.0, loss="hinge"))
    assert SparseClassifier(loss=Logistic()).__sklearn_tags__().classifier_tags.multi_class
    assert SparseClassifier(loss=Logistic(), alpha=0.1).fit(X, y).coef_.shape == (3, 6)


def test_unusable_data_are_refused():
    X, y = data()
    model = SparseClassifier(alpha=0.1)
    with pytest.raises(InvalidDataError, match="sample_weight"):
        model.fit(X, y, -np.ones(len(y)))
    with pytest.raises(InvalidDataError, match="every class needs a record of positive weight"):
        model.fit(X, y, (y != 1).astype(float))
    without = SparseClassifier(alpha=0.1, fit_intercept=False).fit(X, y, (y != 1).astype(float))
    assert without.predict_proba(X).shape == (len(y), 3)
    # Squares of columns that overflow never count as converged.
    with pytest.warns(ConvergenceWarning, match="scale the features"):
        model.fit(1e300 * X, y)


@pytest.mark.parametrize("options", [{"alpha": 1e-4}, {"radius": 50.0}])
@pytest.mark.parametrize("norm", NORMS)
def test_separable_and_unscaled_data_converge(options, norm):
    X, y = load_iris(return_X_y=True)
    X = X * np.array([1e3, 1.0, 1e-2, 1.0]) + np.array([0.0, 1e4, 0.0, 0.0])
    model = SparseClassifier(norm=norm, **options).fit(X, y)
    assert model.duality_gap_ <= 1.01e-6 * np.log(3)
    assert model.score(X, y) > 0.95


def test_degenerate_columns():
    X, y = data()
    X[:, 1], X[:, 2] = 0.0, 7.0
    X[:, 4] = X[:, 3]
    for norm in NORMS:
        for form in ({"alpha": 0.01}, {"radius": 3.0}, {"alpha": 0.0, "ridge": 0.1}):
            for intercept in (True, False):
                model = SparseClassifier(norm=norm, fit_intercept=intercept, tol=1e-9, **form).fit(X, y)
                np.testing.assert_allclose(model.coef_[:, 1], 0.0, atol=1e-12)
                assert not intercept or np.abs(model.coef_[:, 2]).max() < 1e-9


def test_max_iter_warns_and_verbose_prints(capsys):
    X, y = data()
    with pytest.warns(ConvergenceWarning, match="duality gap") as caught:
        SparseClassifier(alpha=1e-3, max_iter=2, verbose=1).fit(X, y)
    assert caught[0].filename == __file__
    assert "[dpsparse] end: 2 passes" in capsys.readouterr().out


def test_interrupt_stops_a_fit():
    X, y = load_digits(return_X_y=True)

    def interrupt(*_):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            SparseClassifier(alpha=1e-6, tol=0.0).fit(X, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_grid_search_in_a_pipeline():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), SparseClassifier(alpha=0.1))
    grid = {"sparseclassifier__alpha": [0.3, 0.01], "sparseclassifier__norm": list(NORMS)}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_["sparseclassifier__alpha"] == 0.01
    assert search.best_score_ > 0.93

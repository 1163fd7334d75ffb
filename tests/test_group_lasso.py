"""The group lasso, weights of features, positive coefficients and elastic nets: references, certificates, refusals."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, enet_path

from dpsparse import (
    DisjointGroups,
    DualFrankWolfe,
    InvalidArgumentError,
    MirrorDescent,
    NoisyGradientFrankWolfe,
    NoisyProximalGradient,
    ObjectivePerturbation,
    OutputPerturbation,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
    SelectRefit,
    SparseClassifier,
    SparsePoissonRegressor,
    SparseRegressor,
    UnsoundMechanismError,
    path,
)
from dpsparse.norms import GroupLasso
from dpsparse.testing import PenalisedProblem, check_duality, check_mechanism
from reference.certificates import keeps_its_claim

GROUPS = [[0, 3, 5], [1, 2], [4], [6, 7]]
OVERLAPPING = [[0, 1, 2], [2, 3, 4], [4, 5, 6, 7]]
P = 8


def data(n=60, p=P, seed=0, classes=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.4 * rng.normal(size=(n, 1))
    z = X @ np.array([1.0, 0.0, 0.0, -1.0, 0.3, 0.5, *np.zeros(p - 6)]) + 0.5 * rng.normal(size=n) + 0.7
    return X, np.where(z > 0.5, 1.0, -1.0) if classes else z


def penalty(groups, weights, l1, theta):
    weights = np.ones(len(groups)) if weights is None else weights
    return sum(w * np.linalg.norm(theta[g]) for g, w in zip(groups, weights, strict=True)) + l1 * np.abs(theta).sum()


def smooth(loss, X, y, ridge=0.0):
    """Value and gradient of the mean loss and the ridge at (theta, b)."""

    def at(v):
        theta, b = v[:-1], v[-1]
        z = X @ theta + b
        if loss == "squared":
            value, slope = 0.5 * (z - y) ** 2, z - y
        else:
            value, slope = np.logaddexp(0.0, -y * z), -y / (1.0 + np.exp(y * z))
        gradient = np.append(X.T @ slope / len(y) + ridge * theta, slope.mean())
        return value.mean() + 0.5 * ridge * theta @ theta, gradient

    return at


def smoothed(loss, X, y, groups, weights, l1, alpha, *, ridge=0.0, positive=False):
    """The minimum by scipy, which knows nothing of proxes: theta = u - v, lengths rounded off by less and less."""
    p = X.shape[1]
    weights = np.ones(len(groups)) if weights is None else np.asarray(weights)
    of = np.empty(p, dtype=int)
    for g, members in enumerate(groups):
        of[members] = g
    risk = smooth(loss, X, y, ridge)

    def objective(x, rounding):
        u, v, b = x[:p], x[p : 2 * p], x[2 * p]
        theta = u - v
        value, gradient = risk(np.append(theta, b))
        lengths = np.sqrt(np.bincount(of, weights=theta**2) + rounding**2)
        value += alpha * (weights @ lengths + l1 * (u + v).sum())
        slope = gradient[:p] + alpha * (weights / lengths)[of] * theta
        return value, np.concatenate([slope + alpha * l1, -slope + alpha * l1, gradient[p:]])

    x = np.append(np.full(2 * p, 0.1), 0.0)
    bounds = [(0, None)] * p + [(0, 0 if positive else None)] * p + [(None, None)]
    if positive:
        x[p : 2 * p] = 0.0
    for rounding in 10.0 ** -np.arange(1, 8):
        options = {"ftol": 1e-16, "gtol": 1e-12, "maxiter": 5000, "maxfun": 20_000, "maxcor": 30}
        x = minimize(objective, x, args=(rounding,), jac=True, bounds=bounds, method="L-BFGS-B", options=options).x
    theta = x[:p] - x[p : 2 * p]
    return risk(np.append(theta, x[2 * p]))[0] + alpha * penalty(groups, weights, l1, theta)


def objective_of(model, loss, X, y, norm, alpha, ridge=0.0):
    theta = np.ravel(model.coef_)
    value = smooth(loss, X, y, ridge)(np.append(theta, np.ravel(model.intercept_)))[0]
    return value + alpha * penalty(norm.groups, norm.weights, norm.l1, theta)


@pytest.mark.parametrize("solver", ["auto", "proximal-gradient"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("l1", [0.0, 0.4])
@pytest.mark.parametrize("weights", [None, [1.0, 0.5, 2.0, 0.3]])
def test_minima_are_those_of_a_smoothed(solver, loss, l1, weights):
    X, y = data(classes=loss == "logistic")
    norm = GroupLasso(GROUPS, weights, l1)
    make = SparseClassifier if loss == "logistic" else SparseRegressor
    for alpha, ridge in ((0.05, 0.0), (0.15, 0.1)):
        model = make(loss=loss, norm=norm, alpha=alpha, ridge=ridge, tol=1e-8, solver=solver).fit(X, y)
        value = objective_of(model, loss, X, y, norm, alpha, ridge)
        reference = smoothed(loss, X, y, GROUPS, weights, l1, alpha, ridge=ridge)
        assert model.duality_gap_ <= 1e-7
        # The gap is certified: no other point is better by more, and the reference is a point.
        assert value - model.duality_gap_ - 1e-12 <= reference <= value + 2e-6


def test_groups_of_one_are_the_lasso_and_one_group_is_a_norm():
    X, y = data()
    lasso = Lasso(alpha=0.1, tol=1e-14).fit(X, y)
    model = SparseRegressor(norm=GroupLasso([[j] for j in range(P)]), alpha=0.1, tol=1e-13).fit(X, y)
    np.testing.assert_allclose(model.coef_, lasso.coef_, atol=1e-7)
    # l1 and weights add up there.
    both = SparseRegressor(norm=GroupLasso([[j] for j in range(P)], np.full(P, 0.25), 0.75), alpha=0.1, tol=1e-13)
    np.testing.assert_allclose(both.fit(X, y).coef_, lasso.coef_, atol=1e-7)
    # One group: the gradient has the length alpha, against theta.
    model = SparseRegressor(norm=GroupLasso([range(P)]), alpha=0.1, tol=1e-13).fit(X, y)
    gradient = X.T @ (X @ model.coef_ + model.intercept_ - y) / len(y)
    np.testing.assert_allclose(gradient, -0.1 * model.coef_ / np.linalg.norm(model.coef_), atol=1e-6)


@pytest.mark.parametrize("l1", [0.0, 0.2])
def test_a_group_above_the_size_of_block_steps_is_fitted_too(l1):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 150))
    y = X[:, 0] + 0.1 * rng.normal(size=80)
    norm = GroupLasso([range(140), range(140, 150)], l1=l1)
    model = SparseRegressor(norm=norm, alpha=0.05, tol=1e-7).fit(X, y)
    assert model.duality_gap_ <= 1e-6 * np.mean(y**2)
    small = GroupLasso([range(100), range(100, 150)], l1=l1)
    block, plain = (
        SparseRegressor(norm=small, alpha=0.05, tol=1e-8, solver=solver).fit(X, y)
        for solver in ("coordinate-descent", "proximal-gradient")
    )
    np.testing.assert_allclose(block.coef_, plain.coef_, atol=1e-3)
    with pytest.raises(InvalidArgumentError, match="128"):
        SparseRegressor(norm=norm, alpha=0.05, solver="coordinate-descent").fit(X, y)


def test_duality_of_every_kind():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, P)), rng.normal(size=40)
    signs = np.where(y > 0, 1.0, -1.0)
    for norm in (GroupLasso(GROUPS), GroupLasso(GROUPS, [2.0, 1.0, 0.5, 1.0], 0.3), GroupLasso(GROUPS, np.zeros(4), 1)):
        for loss, target in (("squared", y), ("huber", y), ("logistic", signs), ("hinge", signs)):
            for ridge in (0.0, 0.2):
                problem = PenalisedProblem(X, target, norm, 0.05, loss=loss, ridge=ridge, fit_intercept=True)
                check_duality(problem, n_trials=10)


@pytest.mark.parametrize("kind", ["dense", "csr", "weights"])
def test_storages_and_weights_of_records_agree(kind):
    X, y = data()
    norm = GroupLasso(GROUPS, l1=0.1)
    reference = SparseRegressor(norm=norm, alpha=0.1, tol=1e-12).fit(X, y)
    if kind == "weights":
        half = np.full(len(y), 0.5)
        model = SparseRegressor(norm=norm, alpha=0.1, tol=1e-12).fit(
            np.vstack([X, X]), np.append(y, y), np.append(half, half)
        )
    else:
        model = SparseRegressor(norm=norm, alpha=0.1, tol=1e-12).fit(sp.csr_array(X) if kind == "csr" else X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-6)


def test_the_ball_and_the_penalty_meet():
    X, y = data()
    for norm in (GroupLasso(GROUPS), GroupLasso(GROUPS, [1.0, 2.0, 0.0, 1.0], 0.5)):
        model = SparseRegressor(norm=norm, alpha=0.1, tol=1e-11).fit(X, y)
        radius = norm.norm(model.coef_)
        ball = SparseRegressor(norm=norm, radius=radius, tol=1e-9).fit(X, y)
        assert norm.norm(ball.coef_) <= radius
        np.testing.assert_allclose(ball.coef_, model.coef_, atol=1e-4)


def test_paths_start_where_everything_is_zero():
    X, y = data()
    estimator = SparseRegressor(norm=GroupLasso(GROUPS, l1=0.2), tol=1e-9)
    alphas, coefs, _, gaps = path(X, y, n_alphas=8, ratio=0.01, estimator=estimator)
    assert not coefs[0].any()
    assert coefs[-1].any()
    assert (gaps <= 1e-8 * np.mean(y**2)).all()
    just_below = SparseRegressor(norm=GroupLasso(GROUPS, l1=0.2), alpha=0.999 * alphas[0], tol=1e-12).fit(X, y)
    assert just_below.support_.size > 0


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("intercept", [True, False])
def test_unpenalised_groups_are_free_and_certified(loss, intercept):
    X, y = data(classes=loss == "logistic")
    make = SparseClassifier if loss == "logistic" else SparseRegressor
    norm = GroupLasso(GROUPS, [1.0, 0.0, 1.0, 1.0])
    model = make(loss=loss, norm=norm, alpha=0.1, tol=1e-9, fit_intercept=intercept).fit(X, y)
    assert 0.0 <= model.duality_gap_ <= 1e-8
    theta, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    _, gradient = smooth(loss, X, y)(np.append(theta, b))
    # No slope in the directions that cost nothing, and the least of the penalty elsewhere.
    assert np.abs(gradient[[1, 2]]).max() < 1e-4
    assert theta[[1, 2]].all()
    if intercept:
        reference = smoothed(loss, X, y, GROUPS, norm.weights, 0.0, 0.1)
        value = objective_of(model, loss, X, y, norm, 0.1)
        assert value - model.duality_gap_ - 1e-12 <= reference <= value + 2e-6


@pytest.mark.parametrize("estimator", [SparseRegressor, SparseClassifier])
def test_feature_weights(estimator):
    X, y = data(classes=estimator is SparseClassifier)
    weights = np.array([1.0, 2.0, 0.5, 1.0, 0.0, 1.0, 3.0, 0.0])
    model = estimator(alpha=0.05, feature_weights=weights, tol=1e-10).fit(X, y)
    loss = "logistic" if estimator is SparseClassifier else "squared"
    assert model.duality_gap_ <= 1e-9
    theta = np.ravel(model.coef_)
    _, gradient = smooth(loss, X, y)(np.append(theta, np.ravel(model.intercept_)))
    excess = np.abs(gradient[:-1]) - 0.05 * weights
    assert excess.max() < 1e-4
    support = theta != 0
    np.testing.assert_allclose(gradient[:-1][support], -0.05 * (weights * np.sign(theta))[support], atol=1e-4)
    assert support[[4, 7]].all()
    # Positive weights scale columns: the lasso of X/w.
    weights = np.where(weights == 0.0, 0.7, weights)
    model = estimator(alpha=0.05, feature_weights=weights, tol=1e-12).fit(X, y)
    scaled = estimator(alpha=0.05, tol=1e-12).fit(X / weights, y)
    np.testing.assert_allclose(model.coef_, scaled.coef_ / weights, atol=1e-6)
    # A path needs its penalties where nothing makes all coefficients zero.
    free = estimator(feature_weights=[0.0] + [1.0] * (P - 1), tol=1e-8)
    assert (path(X, y, [0.1, 0.01], estimator=free).gaps <= 1e-7).all()
    with pytest.raises(InvalidArgumentError, match="alphas"):
        path(X, y, estimator=free)


def test_unpenalised_collinear_and_constant_features():
    X, y = data()
    X = np.column_stack([X, X[:, 0], np.ones(len(y))])
    weights = np.append(np.ones(P), [0.0, 0.0])
    model = SparseRegressor(alpha=0.1, feature_weights=weights, tol=1e-8).fit(X, y)
    without = SparseRegressor(alpha=0.1, feature_weights=weights[:-1], tol=1e-8).fit(X[:, :-1], y)
    assert model.duality_gap_ <= 1e-7
    assert model.coef_[0] == 0.0  # its free copy does its work
    np.testing.assert_allclose(model.predict(X), without.predict(X[:, :-1]), atol=1e-3)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_positive_is_the_constrained_minimum(loss):
    X, y = data(n=80)
    if loss == "squared":
        reference = Lasso(alpha=0.05, positive=True, tol=1e-14, max_iter=100_000).fit(X, y)
        model = SparseRegressor(alpha=0.05, positive=True, tol=1e-12).fit(X, y)
        np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-6)
    model = SparseRegressor(loss=loss, alpha=0.05, positive=True, tol=1e-10).fit(X, y)
    assert (model.coef_ >= 0.0).all()
    assert model.coef_[0] > 0.0
    assert model.duality_gap_ <= 1e-9
    ball = SparseRegressor(loss=loss, radius=0.3, positive=True, tol=1e-8).fit(X, y)
    assert (ball.coef_ >= 0.0).all()
    assert np.abs(ball.coef_).sum() <= 0.3
    assert ball.duality_gap_ <= 1e-7
    # From a start with negative entries.
    model = SparseRegressor(loss=loss, alpha=0.05, tol=1e-10, warm_start=True).fit(X, y)
    assert (model.coef_ < 0.0).any()
    again = model.set_params(positive=True).fit(X, y)
    assert (again.coef_ >= 0.0).all()
    assert again.duality_gap_ <= 1e-9


@pytest.mark.parametrize("l1", [0.0, 0.3])
def test_positive_groups_are_a_smoothed(l1):
    X, y = data()
    norm = GroupLasso(GROUPS, [1.0, 0.5, 2.0, 0.3], l1)
    model = SparseRegressor(norm=norm, alpha=0.05, positive=True, tol=1e-9).fit(X, y)
    assert (model.coef_ >= 0.0).all()
    assert model.duality_gap_ <= 1e-8
    reference = smoothed("squared", X, y, GROUPS, norm.weights, l1, 0.05, positive=True)
    value = objective_of(model, "squared", X, y, norm, 0.05)
    assert value - model.duality_gap_ - 1e-12 <= reference <= value + 2e-6


def test_positive_least_squares_with_a_ridge_takes_free_features():
    X, y = data()
    weights = [0.0, *np.ones(P - 1)]
    model = SparseRegressor(alpha=0.05, ridge=0.01, positive=True, feature_weights=weights, tol=1e-9).fit(X, y)
    assert (model.coef_ >= 0.0).all()
    assert model.duality_gap_ <= 1e-8
    with pytest.raises(InvalidArgumentError, match="certifies"):
        SparseRegressor(alpha=0.05, positive=True, feature_weights=weights).fit(X, y)


def test_elastic_nets_are_those_of_scikit_learn():
    X, y = data()
    for ratio in (0.2, 0.7, 1.0):
        theirs = ElasticNet(alpha=0.1, l1_ratio=ratio, tol=1e-14, max_iter=100_000).fit(X, y)
        ours = SparseRegressor(alpha=0.1, l1_ratio=ratio, tol=1e-13).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
        assert ours.duality_gap_ <= 1e-12 * np.mean(y**2)
    assert clone(ours).l1_ratio == 1.0
    # The ridge follows alpha along a path, from scikit-learn's first penalty on.
    centred, target = X - X.mean(axis=0), y - y.mean()
    ours = path(X, y, n_alphas=6, ratio=0.01, estimator=SparseRegressor(l1_ratio=0.5, tol=1e-12))
    first = np.abs(centred.T @ target).max() / len(y) / 0.5
    np.testing.assert_allclose(ours.alphas, np.geomspace(first, 0.01 * first, 6))
    _, theirs, _ = enet_path(centred, target, l1_ratio=0.5, alphas=ours.alphas, tol=1e-12)
    np.testing.assert_allclose(ours.coefs, theirs.T, atol=1e-5)
    # Of two classes and of three, with C = 1/(n alpha).
    for classes in (2, 3):
        labels = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
        theirs = LogisticRegression(
            C=1 / (len(y) * 0.02), l1_ratio=0.5, solver="saga", tol=1e-10, max_iter=100_000
        ).fit(X, labels)
        ours = SparseClassifier(alpha=0.02, l1_ratio=0.5, tol=1e-11).fit(X, labels)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    ours = path(X, labels, [0.05, 0.02], estimator=SparseClassifier(l1_ratio=0.5, tol=1e-10))
    np.testing.assert_allclose(ours.coefs[1], theirs.coef_, atol=1e-4)
    # Groups too.
    norm = GroupLasso(GROUPS)
    tied = SparseRegressor(norm=norm, alpha=0.1, l1_ratio=0.25, tol=1e-12).fit(X, y)
    apart = SparseRegressor(norm=norm, alpha=0.025, ridge=0.075, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(tied.coef_, apart.coef_, atol=1e-8)


def latent_norm(theta, norm):
    """The least cost of parts that add up to theta, by a dual that shares no code: max <s, theta> over |s_g| <= w_g."""
    found = minimize(
        lambda s: -s @ theta,
        np.zeros(theta.size),
        jac=lambda s: -theta,
        constraints=[
            {"type": "ineq", "fun": lambda s, g=g, w=w: w**2 - s[g] @ s[g]}
            for g, w in zip(norm.groups, norm.weights, strict=True)
        ],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    return -found.fun


def test_overlapping_groups_are_the_latent_norm():
    X, y = data()
    norm = GroupLasso(OVERLAPPING, [1.0, 1.2, 0.8])
    assert norm.overlaps
    model = SparseRegressor(norm=norm, alpha=0.1, tol=1e-9).fit(X, y)
    risk = smooth("squared", X, y)

    def value(theta, b):
        return risk(np.append(theta, b))[0] + 0.1 * latent_norm(theta, norm)

    own = value(model.coef_, model.intercept_)
    # In the dual ball up to rounding, and within the certified gap of random points and of scaled ones.
    correlations = X.T @ (y - model.predict(X)) / len(y)
    assert norm.dual_norm(correlations) <= 0.1 * (1 + 1e-4)
    rng = np.random.default_rng(5)
    for size in (0.001, 0.01, 0.1):
        for _ in range(10):
            other = model.coef_ + size * rng.normal(size=P)
            assert value(other, (y - X @ other).mean()) >= own - model.duality_gap_ - 1e-7
    # The support is a union of groups.
    strong = SparseRegressor(norm=norm, alpha=0.6, tol=1e-9).fit(X, y).support_
    unions = [
        np.unique(np.concatenate([OVERLAPPING[g] for g in range(3) if code >> g & 1])).tolist() for code in range(1, 8)
    ]
    assert strong.tolist() in unions
    # The same groups twice are one, and a warm start goes on from its point.
    doubled = SparseRegressor(norm=GroupLasso([*GROUPS, GROUPS[0]]), alpha=0.1, tol=1e-10).fit(X, y)
    once = SparseRegressor(norm=GroupLasso(GROUPS), alpha=0.1, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(doubled.coef_, once.coef_, atol=1e-5)
    warm = SparseRegressor(norm=norm, alpha=0.1, tol=1e-6, warm_start=True).fit(X, y)
    first = warm.n_iter_
    np.testing.assert_allclose(warm.fit(X, y).coef_, model.coef_, atol=1e-3)
    assert warm.n_iter_ <= first
    along = path(sp.csc_array(X), y, [0.1], estimator=SparseRegressor(norm=norm, tol=1e-9))
    np.testing.assert_allclose(along.coefs[0], model.coef_, atol=1e-5)


def test_counts_take_groups():
    X, _ = data()
    y = np.random.default_rng(1).poisson(np.exp(0.5 * X[:, 0]))
    model = SparsePoissonRegressor(norm=GroupLasso(GROUPS), alpha=0.05, tol=1e-8).fit(X, y)
    assert model.duality_gap_ <= 1e-7
    assert set(model.support_) == {0, 3, 5, 6, 7}  # groups as wholes


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"norm": GroupLasso(GROUPS), "feature_weights": np.ones(P)}, "feature_weights is for"),
        ({"norm": "linf", "positive": True}, "positive=True"),
        ({"positive": 1}, "positive must be"),
        ({"feature_weights": np.ones(P - 1)}, "one per feature; got 7"),
        ({"feature_weights": -np.ones(P)}, "not negative"),
        ({"feature_weights": np.zeros(P)}, "not all 0"),
        ({"feature_weights": np.full(P, np.nan)}, "finite"),
        ({"feature_weights": "heavy"}, "feature_weights"),
        ({"norm": GroupLasso([[0], [1]])}, "on 2 features, but X has 8"),
        ({"norm": GroupLasso(OVERLAPPING), "ridge": 0.1}, "overlap"),
        ({"norm": GroupLasso(OVERLAPPING), "l1_ratio": 0.5}, "overlap"),
        ({"norm": GroupLasso(GROUPS, [0, 1, 1, 1]), "alpha": None, "radius": 1.0}, "seminorm"),
        ({"feature_weights": [0] + [1] * 7, "alpha": None, "radius": 1.0}, "seminorm"),
        ({"norm": GroupLasso(GROUPS), "ridge": 0.1, "solver": "dual-frank-wolfe"}, "polytope"),
        ({"l1_ratio": 0.0}, "l1_ratio"),
        ({"l1_ratio": 1.5}, "at most 1"),
        ({"l1_ratio": 0.5, "ridge": 0.1}, "excludes"),
        ({"l1_ratio": 0.5, "alpha": None, "radius": 1.0}, "needs alpha"),
    ],
)
def test_what_has_no_fit_is_refused(arguments, match):
    X, y = data()
    with pytest.raises(InvalidArgumentError, match=match):
        SparseRegressor(**({"alpha": 0.1} | arguments)).fit(X, y)


def test_three_classes_refuse_weights_of_features_and_groups():
    X, y = data()
    labels = np.digitize(y, [0.0, 1.0])
    for arguments in ({"feature_weights": np.ones(P)}, {"norm": GroupLasso(GROUPS)}):
        with pytest.raises(InvalidArgumentError, match="Only binary"):
            SparseClassifier(alpha=0.1, **arguments).fit(X, labels)


def test_the_norm_by_hand():
    norm = GroupLasso([[0, 2], [1]], [2.0, 1.0], 0.5)
    assert norm.norm([3.0, -1.0, 4.0]) == 2.0 * 5.0 + 1.0 + 0.5 * 8.0
    # Of (3, 4): soft thresholds by t/2 have length 2 t at t = 10/(sqrt(15) + ...): checked by its definition.
    t = norm.dual_norm([3.0, 0.0, 4.0])
    assert abs(np.linalg.norm(np.maximum(np.array([3.0, 4.0]) - 0.5 * t, 0.0)) - 2.0 * t) < 1e-12
    x = norm.norm_ball_vertex([-3.0, 0.0, -4.0])
    assert abs(norm.norm(x) - 1.0) < 1e-12
    assert abs(x @ [3.0, 0.0, 4.0] - t) < 1e-12
    assert (norm.n_features, norm.overlaps, norm.l1) == (3, False, 0.5)
    assert repr(norm) == "GroupLasso([[0, 2], [1]], weights=[2.0, 1.0], l1=0.5)"
    assert repr(GroupLasso([[0], [1]])) == "GroupLasso([[0], [1]])"
    for other in (pickle.loads(pickle.dumps(norm)), copy.deepcopy(norm), clone(SparseRegressor(norm=norm)).norm):
        assert other == norm
        assert hash(other) == hash(norm)
        assert other.prox([1.0, 2.0, 3.0], 0.1).tolist() == norm.prox([1.0, 2.0, 3.0], 0.1).tolist()
    assert norm != GroupLasso([[0, 2], [1]])
    norm.groups[0].append(7)
    assert norm.groups == [[0, 2], [1]]
    for wrong in ([1.0, 2.0], [1.0, np.inf, 0.0], "three"):
        with pytest.raises(InvalidArgumentError):
            norm.norm(wrong)
    for arguments in (
        {"groups": []},
        {"groups": [[0], [2]]},
        {"groups": [[0, 0]]},
        {"groups": "all"},
        {"groups": [[0]], "weights": [-1.0]},
        {"groups": [[0]], "weights": [1.0, 1.0]},
        {"groups": [[0]], "l1": -1.0},
        {"groups": [[0]], "weights": [0.0]},
    ):
        with pytest.raises(InvalidArgumentError):
            GroupLasso(**arguments)
    overlapping = GroupLasso(OVERLAPPING)
    for call in (overlapping.norm, overlapping.prox):
        with pytest.raises(InvalidArgumentError, match="overlap"):
            call(np.ones(P))
    assert overlapping.dual_norm(np.ones(P)) == pytest.approx(2.0)


PRIVATE = {
    "proximal": NoisyProximalGradient(n_iter=4, alpha=0.01),
    "noisy-frank-wolfe": NoisyGradientFrankWolfe(n_iter=4),
    "mirror": MirrorDescent(n_iter=4),
    "output": OutputPerturbation(alpha=0.01, threshold=0.001),
    "early": OutputPerturbation(mode="early-stopping", alpha=0.01),
    "objective": ObjectivePerturbation(alpha=0.01),
    "dual": DualFrankWolfe(alpha=0.01, n_iter=4),
}


def private(mechanism, norm, **arguments):
    return PrivateSparseClassifier(
        mechanism=mechanism, norm=norm, bounds=(-1, 1), classes=(-1, 1), epsilon=2.0, random_state=0, **arguments
    )


@pytest.mark.parametrize("name", PRIVATE)
def test_private_mechanisms_take_disjoint_groups(name):
    X, y = data(n=150, classes=True)
    for norm in (GroupLasso(GROUPS), GroupLasso(GROUPS, [1.0, 0.5, 2.0, 1.0], 0.3)):
        model = private(PRIVATE[name], norm)
        plan = model.plan(len(y), P)
        model.fit(np.clip(X, -1, 1), y)
        assert keeps_its_claim(model.certificate_)
        assert model.certificate_.events == plan.events
        assert plan.predicted_excess_risk > 0.0
        assert np.isfinite(model.coef_).all()
    free = private(PRIVATE[name], GroupLasso(GROUPS, [1.0, 0.0, 1.0, 1.0]))
    if name in ("noisy-frank-wolfe", "mirror"):
        with pytest.raises(InvalidArgumentError, match="unbounded"):
            free.plan(len(y), P)
    else:
        assert keeps_its_claim(free.fit(np.clip(X, -1, 1), y).certificate_)


def test_the_point_of_output_perturbation_is_the_exact_minimiser():
    """What noise is added to: the exact fit of the same problem, in scaled units."""
    from dpsparse import _core

    X, y = data(n=120, classes=True)
    X = np.clip(X, -1, 1)
    norm = GroupLasso(GROUPS, l1=0.2)
    model = private(OutputPerturbation(ridge=0.05, alpha=0.03), norm, fit_intercept=False)
    point, bound = _core.non_private_release(model.plan(len(y), P), X, y, seed=0)
    exact = SparseClassifier(norm=norm, alpha=0.03, ridge=0.05, fit_intercept=False, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(point, exact.coef_[0], atol=1e-4)
    # Another record moves it by at most the sensitivity that is paid for.
    moved = X.copy()
    moved[3] = -X[3]
    other, _ = _core.non_private_release(model.plan(len(y), P), moved, y, seed=0)
    assert 0.0 < np.linalg.norm(point - other) <= bound


def test_overlapping_groups_are_private_only_over_their_ball():
    X, y = data(n=150, classes=True)
    norm = GroupLasso(OVERLAPPING)
    model = private(NoisyGradientFrankWolfe(n_iter=30), norm, radius=2.0).fit(np.clip(X, -1, 1), y)
    assert keeps_its_claim(model.certificate_)
    # In the ball, in scaled units, which are those of the bounds here.
    assert latent_norm(model.coef_[0], norm) <= 2.0 + 1e-6
    for name in PRIVATE.keys() - {"noisy-frank-wolfe"}:
        with pytest.raises(UnsoundMechanismError, match="overlap"):
            private(PRIVATE[name], norm).plan(150, P)


@pytest.mark.parametrize(
    "mechanism", ["frank-wolfe", SelectRefit(n_selected=2), DualFrankWolfe(alpha=0.01, variant="selection")]
)
def test_what_selects_vertices_is_refused_before_data(mechanism):
    with pytest.raises(UnsoundMechanismError, match="group lasso"):
        private(mechanism, GroupLasso(GROUPS)).plan(100, P)
    with pytest.raises(UnsoundMechanismError, match="group lasso"):
        private(mechanism, GroupLasso(GROUPS)).fit(np.full((3, P), np.nan), [1, -1, 1])


def test_private_groups_come_out_whole():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (20_000, P))
    y = np.clip(X[:, 0] - X[:, 3] + 0.1 * rng.normal(size=20_000), -2, 2)
    mechanism = NoisyProximalGradient(alpha=0.05)
    model = PrivateSparseRegressor(
        mechanism=mechanism, norm=GroupLasso(GROUPS), bounds=(-1, 1), y_bounds=(-2, 2), epsilon=4.0, random_state=0
    ).fit(X, y)
    assert np.linalg.norm(model.coef_[GROUPS[0]]) > 0.5
    assert np.abs(model.coef_[[1, 2, 4, 6, 7]]).max() < 0.1
    auto = PrivateSparseRegressor(norm=GroupLasso(GROUPS), bounds=(-1, 1), y_bounds=(-2, 2))
    assert "without what is not worth its noise" in auto.plan(1000, P).mechanism
    overlapping = auto.set_params(norm=GroupLasso([[0, 1, 2], [2, 3, 4, 5, 6, 7]]))
    assert overlapping.plan(1000, P).mechanism.startswith("noisy-gradient-frank-wolfe")


def test_the_mechanism_contract_with_groups():
    check_mechanism(
        NoisyProximalGradient(alpha=0.01, n_iter=3), n_features=3, n_runs=300, norm=GroupLasso([[0, 1], [2]])
    )


def test_three_private_classes():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, P))
    y = np.digitize(X[:, 0], [-0.3, 0.3])
    for mechanism in (PRIVATE["proximal"], PRIVATE["noisy-frank-wolfe"], PRIVATE["mirror"], PRIVATE["output"]):
        model = PrivateSparseClassifier(
            mechanism=mechanism, norm=GroupLasso(GROUPS), bounds=(-1, 1), classes=(0, 1, 2), epsilon=2.0, random_state=0
        ).fit(X, y)
        assert model.coef_.shape == (3, P)
        assert keeps_its_claim(model.certificate_)


def test_labels_make_groups():
    norm = GroupLasso(DisjointGroups([0, 0, 1]).index_lists())
    assert norm.groups == [[0, 1], [2]]


def test_peers():
    celer = pytest.importorskip("celer")
    X, y = data(n=100)
    n = len(y)
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    norm = GroupLasso(GROUPS)
    ours = SparseRegressor(norm=norm, alpha=0.1, tol=1e-12).fit(X, y)
    theirs = celer.GroupLasso(groups=GROUPS, alpha=0.1, tol=1e-12, fit_intercept=False).fit(Xc, yc)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    spams = pytest.importorskip("spams")
    labels = np.zeros(P, dtype=np.int32)
    for g, members in enumerate(GROUPS):
        labels[members] = g + 1
    theirs = spams.fistaFlat(
        np.asfortranarray(yc[:, None]),
        np.asfortranarray(Xc),
        np.zeros((P, 1), order="F"),
        loss="square",
        regul="group-lasso-l2",
        lambda1=0.1 * n,
        groups=labels,
        max_it=20_000,
        tol=1e-14,
        intercept=False,
    )
    np.testing.assert_allclose(ours.coef_, theirs[:, 0], atol=1e-4)

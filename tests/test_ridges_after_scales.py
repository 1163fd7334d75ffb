"""``ridge`` and ``l1_ratio`` under "auto": a ridge in units of the public bounds, after scales that are released.

Every test has fixed seeds, so it is deterministic.
"""

import numpy as np
import pytest

from dpsparse import (
    InvalidArgumentError,
    NoisyNewton,
    NoisyProximalGradient,
    PrivateSparsePoissonRegressor,
    SparseClassifier,
    SparsePoissonRegressor,
    SparseRegressor,
)
from dpsparse.set_functions import GroupCover
from sparse_tables import FAR, HIGH, N, P, classes, classifier, counts, off, reals, regressor


@pytest.mark.parametrize("epsilon", [1.0, 1000.0])
@pytest.mark.parametrize(
    "asked", [{"ridge": 1e-3}, {"ridge": 1e-2}, {"alpha": 1e-3, "l1_ratio": 0.1}, {"alpha": 1e-4, "ridge": 1e-2}]
)
def test_reals_are_those_of_the_exact_fit_in_units_of_the_bounds(epsilon, asked):
    X, y = reals()
    exact = SparseRegressor(**{"alpha": 0.0, **asked}).fit(X / FAR, y / HIGH)
    model = regressor(epsilon=epsilon, **asked).fit(X, y)
    # With noise residuals are clamped, and what a ridge leaves of coefficients depends on it.
    assert off(model.coef_ * FAR / HIGH, exact.coef_) < (0.35 if epsilon == 1.0 else 0.1)
    free = regressor(epsilon=epsilon).fit(X, y)
    assert np.linalg.norm(model.coef_) < 0.9 * np.linalg.norm(free.coef_)
    # It costs nothing.
    assert model.certificate_.events == free.certificate_.events


@pytest.mark.parametrize("epsilon", [1.0, 1000.0])
@pytest.mark.parametrize("asked", [{"ridge": 1e-3}, {"ridge": 1e-2}, {"alpha": 3e-3, "l1_ratio": 0.3}])
def test_classes_are_those_of_the_exact_fit_in_units_of_the_bounds(epsilon, asked):
    """On average over four seeds: of forty a third or so are further off at epsilon 1."""
    X, y = classes()
    exact = SparseClassifier(**{"alpha": 0.0, **asked}).fit(X / FAR, y)
    models = [classifier(epsilon=epsilon, random_state=seed, **asked).fit(X, y) for seed in range(4)]
    assert np.mean([off(model.coef_ * FAR, exact.coef_) for model in models]) < 0.2
    for model in models:
        assert model.score(X, y) > exact.score(X / FAR, y) - 0.01


def test_three_classes_have_one_ridge():
    X, y = classes()
    y = np.where(X[:, 5] > 1.0, 2, y)
    exact = SparseClassifier(alpha=0.0, ridge=1e-3).fit(X / FAR, y)
    model = classifier(ridge=1e-3, classes=(-1, 1, 2)).fit(X, y)
    assert off(model.coef_ * FAR, exact.coef_) < 0.2
    assert model.score(X, y) > exact.score(X / FAR, y) - 0.02


def test_counts_are_those_of_the_exact_fit_in_units_of_the_bounds():
    """Rates are in units of an eighth of the largest count."""
    X, y = counts()
    exact = SparsePoissonRegressor(alpha=0.0, ridge=0.01 * 5.0).fit(X / FAR, y)
    model = PrivateSparsePoissonRegressor(
        epsilon=1000.0, delta=1e-9, ridge=0.01, bounds=(-FAR, FAR), y_bounds=(0, 40.0), random_state=0
    ).fit(X, y)
    assert off(model.coef_ * FAR, exact.coef_) < 0.25


@pytest.mark.parametrize(
    "named", [{}, {"mechanism": NoisyProximalGradient(), "scale": "private"}], ids=["auto", "named"]
)
@pytest.mark.parametrize(("loss", "power", "ridge"), [("squared", 2, 2.0), ("huber", 2, 1.0), ("pinball", 1, 0.3)])
def test_bounds_and_a_ridge_in_other_units_leave_the_model(loss, power, ridge, named):
    """Coefficients in scaled units are far/high times the user's, ridges weigh squares; losses high^-power times."""
    X, y = reals()
    models = [
        regressor(
            loss=loss,
            bounds=(-far, far),
            y_bounds=(-high, high),
            ridge=ridge * high ** (2 - power) / far**2,
            **named,
        ).fit(X, y)
        for far, high in ((FAR, HIGH), (10 * FAR, HIGH), (FAR, 4 * HIGH))
    ]
    for model in models[1:]:
        assert off(model.coef_, models[0].coef_) < 0.1
    without = regressor(loss=loss, **named).fit(X, y)
    assert np.linalg.norm(models[0].coef_) < 0.9 * np.linalg.norm(without.coef_)


def test_the_mechanism_by_name_has_these_units_too():
    X, y = reals()
    exact = SparseRegressor(alpha=0.0, ridge=1e-3).fit(X / FAR, y / HIGH)
    elastic = SparseRegressor(alpha=1e-4, ridge=1e-3).fit(X / FAR, y / HIGH)
    for scale in ("private", None):
        for options in ({}, {"share": 0.0, "n_iter": 300}, {"line": 0.06}):
            if scale is None and "share" in options:
                continue  # features of so unequal spread want moments
            facts = {"epsilon": 1000.0, "scale": scale}
            ridge = regressor(mechanism=NoisyNewton(ridge=1e-3, **options), **facts).fit(X, y)
            assert off(ridge.coef_ * FAR / HIGH, exact.coef_) < 0.15
            both = regressor(mechanism=NoisyNewton(ridge=1e-3, alpha=1e-4, **options), **facts).fit(X, y)
            assert off(both.coef_ * FAR / HIGH, elastic.coef_) < 0.15
            assert both.support_.tolist() == elastic.support_.tolist()


def test_proximal_gradients_have_these_units_too():
    X, y = reals()
    for asked in ({"ridge": 1e-3}, {"ridge": 1e-3, "alpha": 1e-4}):
        exact = SparseRegressor(**{"alpha": 0.0, **asked}).fit(X / FAR, y / HIGH)
        model = regressor(epsilon=1000.0, mechanism=NoisyProximalGradient(n_iter=1000), scale="private", **asked)
        model.fit(X, y)
        assert off(model.coef_ * FAR / HIGH, exact.coef_) < 0.1


def test_the_intercept_is_not_under_it():
    """Features far from the middle of their bounds: a ridge that ties the intercept would move the mean by 20."""
    X, y = reals()
    model = regressor(epsilon=1000.0, bounds=(0.0, 4 * FAR), ridge=1e-3).fit(X + 3 * FAR, y)
    assert abs(np.mean(model.predict(X + 3 * FAR) - y)) < 0.3
    assert model.score(X + 3 * FAR, y) > 0.2


def test_shares_of_classes_are_not_under_it():
    X, _ = classes()
    y = np.where(np.random.default_rng(3).random(N) < 0.05, 1, -1)
    shares = classifier(epsilon=10.0, ridge=1.0).fit(X, y).predict_proba(X)[:, 1]
    assert abs(shares.mean() - 0.05) < 0.005
    assert shares.std() < 0.005


def test_a_ridge_of_nothing_changes_nothing():
    X, y = reals()
    free, none = regressor().fit(X, y), regressor(ridge=0.0).fit(X, y)
    np.testing.assert_array_equal(free.coef_, none.coef_)
    huge = regressor(ridge=1e100).fit(X, y)
    assert np.abs(huge.coef_).max() < 1e-6
    assert abs(huge.predict(X).mean() - y.mean()) < 0.5


def test_what_is_chosen_and_said():
    plan = repr(regressor(ridge=1e-4).plan(N, P))
    assert "noisy-newton with ridge 0.0001" in plan
    assert "a penalty" in plan
    assert "noisy-newton with ridge 0.0001" in repr(regressor(ridge=1e-4).plan(N, 511))
    assert "ridge 0.0001" in repr(regressor(ridge=1e-4, radius=2.0).plan(N, P))
    assert "within an l1 ball of radius 2" in repr(regressor(ridge=1e-4, radius=2.0).plan(N, P))
    for others, p in (({}, 512), ({"scale": None}, P), ({"fit_intercept": False}, P), ({"positive": True}, P)):
        assert "noisy-proximal-gradient" in repr(regressor(ridge=1e-4, **others).plan(N, p))
    assert "too few records for a model" in repr(regressor(ridge=1e-4, epsilon=0.1).plan(300, P))


@pytest.mark.parametrize(
    ("asked", "p", "problem"),
    [
        ({"ridge": -1.0}, P, "ridge must be non-negative"),
        ({"ridge": np.nan}, P, "ridge"),
        ({"ridge": 1e101}, P, "at most 1e100"),
        (
            {"ridge": 1e-3, "radius": 1.0, "norm": GroupCover([range(512)], n_features=512)},
            512,
            "leave one of them at None",
        ),
        ({"ridge": 1e-3, "alpha": 1e-3, "l1_ratio": 0.5}, P, "excludes ridge"),
        ({"ridge": 1e-3, "feature_weights": np.ones(P)}, P, "feature_weights"),
        ({"ridge": 1e-3, "n_iter": 30, "radius": 1.0}, P, "ridge is not used"),
        ({"l1_ratio": 0.5}, P, "l1_ratio needs alpha"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_spent(asked, p, problem):
    for epsilon in (1.0, 1000.0):
        with pytest.raises(InvalidArgumentError, match=problem):
            regressor(epsilon=epsilon, **asked).plan(N, p)

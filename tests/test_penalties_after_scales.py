"""``alpha`` under "auto": a penalty in units of the public bounds, after scales that are released.

Every test has fixed seeds, so it is deterministic.
"""

import numpy as np
import pytest

from dpsparse import (
    InvalidArgumentError,
    NoisyNewton,
    NoisyProximalGradient,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    SparseClassifier,
    SparsePoissonRegressor,
    SparseRegressor,
)
from sparse_tables import FAR, HIGH, SUPPORT, THETA, N, P, classes, counts, reals, regressor


@pytest.mark.parametrize(("epsilon", "alpha"), [(1.0, 1e-4), (1000.0, 3e-5), (1000.0, 1e-4)])
def test_reals_are_those_of_the_exact_fit_in_units_of_the_bounds(epsilon, alpha):
    X, y = reals()
    exact = SparseRegressor(alpha=alpha).fit(X / FAR, y / HIGH)
    model = regressor(epsilon=epsilon, alpha=alpha).fit(X, y)
    assert model.support_.tolist() == exact.support_.tolist() == SUPPORT
    scaled = model.coef_ * FAR / HIGH
    assert np.linalg.norm(scaled - exact.coef_) < 0.25 * np.linalg.norm(exact.coef_)
    assert model.score(X, y) > exact.score(X / FAR, y / HIGH) - 0.05


@pytest.mark.parametrize("epsilon", [1.0, 1000.0])
def test_classes_are_those_of_the_exact_fit_in_units_of_the_bounds(epsilon):
    X, y = classes()
    exact = SparseClassifier(alpha=1e-3).fit(X / FAR, y)
    model = PrivateSparseClassifier(
        epsilon=epsilon, delta=1e-9, alpha=1e-3, bounds=(-FAR, FAR), classes=(-1, 1), random_state=0
    ).fit(X, y)
    assert model.support_.tolist() == exact.support_.tolist() == SUPPORT
    scaled = model.coef_ * FAR
    assert np.linalg.norm(scaled - exact.coef_) < 0.4 * np.linalg.norm(exact.coef_)
    assert model.score(X, y) > exact.score(X / FAR, y) - 0.01


@pytest.mark.parametrize("high", [40.0, 400.0])
def test_counts_are_those_of_the_exact_fit_in_units_of_the_bounds(high):
    """Rates are in units of an eighth of the largest count."""
    X, y = counts()
    alpha = 0.002 * 40.0 / high
    exact = SparsePoissonRegressor(alpha=alpha * high / 8).fit(X / FAR, y)
    model = PrivateSparsePoissonRegressor(
        epsilon=1000.0, delta=1e-9, alpha=alpha, bounds=(-FAR, FAR), y_bounds=(0, high), random_state=0
    ).fit(X, y)
    assert model.support_.tolist() == exact.support_.tolist() == SUPPORT
    assert np.linalg.norm(model.coef_ * FAR - exact.coef_) < 0.25 * np.linalg.norm(exact.coef_)


@pytest.mark.parametrize(
    "named", [{}, {"mechanism": "noisy-proximal-gradient", "scale": "private"}], ids=["auto", "named"]
)
@pytest.mark.parametrize(("loss", "power", "alpha"), [("squared", 2, 0.2), ("huber", 2, 0.1), ("pinball", 1, 0.03)])
def test_bounds_and_alpha_in_other_units_leave_the_model(loss, power, alpha, named):
    """Coefficients in scaled units are far/high times the user's; losses high^-power times."""
    X, y = reals()
    models = [
        regressor(
            loss=loss,
            bounds=(-far, far),
            y_bounds=(-high, high),
            alpha=alpha * high ** (1 - power) / far,
            **named,
        ).fit(X, y)
        for far, high in ((FAR, HIGH), (10 * FAR, HIGH), (FAR, 4 * HIGH))
    ]
    for model in models[1:]:
        assert np.linalg.norm(model.coef_ - models[0].coef_) < 0.05 * np.linalg.norm(models[0].coef_)
    without = regressor(loss=loss, alpha=0.0, **named).fit(X, y)
    assert np.abs(models[0].coef_).sum() < 0.9 * np.abs(without.coef_).sum()


def test_units_do_not_hang_on_where_bounds_lie():
    """Bounds of [0, 1] alone are taken as they are, others are centred: alpha is for [-1, 1] in both."""
    rng = np.random.default_rng(2)
    X = rng.uniform(0, 1, (N, P))
    y = 4.0 * X @ THETA + rng.normal(size=N)
    exact = SparseRegressor(alpha=3e-4).fit(2 * X - 1, y / HIGH)
    for far in (1.0, 2.0):
        shifted = X if far == 1.0 else 2 * X - 2  # in [-2, 0]
        bounds = (0.0, 1.0) if far == 1.0 else (-2.0, 0.0)
        model = regressor(epsilon=1000.0, alpha=3e-4, bounds=bounds).fit(shifted, y)
        scaled = model.coef_ * far / 2 / HIGH
        assert np.linalg.norm(scaled - exact.coef_) < 0.15 * np.linalg.norm(exact.coef_)


def test_weights_of_features_weigh_alpha():
    X, y = reals()
    weights = np.ones(P)
    weights[2] = 100.0
    model = regressor(alpha=1e-4, feature_weights=weights).fit(X, y)
    assert model.support_.tolist() == [3, 5, 8]


@pytest.mark.parametrize("epsilon", [1.0, 1000.0])
def test_features_of_weight_zero_are_not_penalised(epsilon):
    X, y = reals()
    weights = np.ones(P)
    weights[[2, 4]] = 0.0
    exact = SparseRegressor(alpha=2e-3, feature_weights=weights).fit(X / FAR, y / HIGH)
    model = regressor(epsilon=epsilon, alpha=2e-3, feature_weights=weights).fit(X, y)
    assert model.support_.tolist() == exact.support_.tolist() == [2, 4]
    assert abs(model.coef_[2] * FAR / HIGH - exact.coef_[2]) < 0.1 * abs(exact.coef_[2])


def test_coefficients_that_are_not_worth_their_noise_are_zero():
    """Forty features that say nothing: the exact fit with so small a penalty has them all, and one without has too."""
    X, y = reals()
    X = np.hstack([X, np.random.default_rng(5).normal(size=(N, 40))])
    assert np.count_nonzero(SparseRegressor(alpha=1e-8).fit(X / FAR, y / HIGH).coef_) == P + 40
    assert np.count_nonzero(regressor(epsilon=1.0).fit(X, y).coef_) == P + 40
    model = regressor(epsilon=1.0, alpha=1e-8).fit(X, y)
    assert set(SUPPORT) <= set(model.support_)
    assert len(model.support_) < 25
    assert model.score(X, y) > 0.74


def test_a_penalty_of_the_size_of_the_noise_is_not_in_these_units():
    """Weights of features without alpha: ten times as wide bounds leave the model as it is."""
    X, y = reals()
    models = [
        regressor(feature_weights=np.arange(1.0, P + 1), bounds=(-far, far), y_bounds=(-high, high)).fit(X, y)
        for far, high in ((FAR, HIGH), (10 * FAR, 10 * HIGH))
    ]
    for model in models:
        assert model.score(X, y) > 0.7
    assert np.linalg.norm(models[1].coef_ - models[0].coef_) < 0.05 * np.linalg.norm(models[0].coef_)


def test_wide_bounds_are_no_reason_to_lose_everything():
    """Penalised Frank-Wolfe in these units has -16."""
    X, y = reals()
    exact = SparseRegressor(alpha=1e-6).fit(X / FAR, y / 10_000).score(X / FAR, y / 10_000)
    assert regressor(epsilon=0.5, alpha=1e-6, y_bounds=(-10_000, 10_000)).fit(X, y).score(X, y) > exact - 0.05


def test_the_mechanism_by_name_after_private_scales_has_the_same_units():
    X, y = reals()
    exact = SparseRegressor(alpha=1e-4).fit(X / FAR, y / HIGH)
    for mechanism in (NoisyNewton(alpha=1e-4), NoisyNewton(alpha=1e-4, line=0.06), NoisyProximalGradient(alpha=1e-4)):
        model = regressor(mechanism=mechanism, scale="private").fit(X, y)
        assert model.support_.tolist() == SUPPORT
        assert np.linalg.norm(model.coef_ * FAR / HIGH - exact.coef_) < 0.2 * np.linalg.norm(exact.coef_)


def test_what_is_chosen_and_said():
    plan = regressor(alpha=1e-4).plan(N, P)
    assert "with an l1 penalty of 0.0001" in repr(plan)
    assert "a penalty" in repr(plan)
    assert "too few records for a model" in repr(regressor(alpha=1e-4, epsilon=0.1).plan(300, P))
    for others in ({"scale": None}, {"fit_intercept": False}):
        assert "frank-wolfe over the l1 ball with penalty" in repr(regressor(alpha=1e-4, **others).plan(N, P))
    for alpha in (-1.0, np.nan, np.inf):
        with pytest.raises(InvalidArgumentError, match="alpha"):
            regressor(alpha=alpha).plan(N, P)
        with pytest.raises(InvalidArgumentError, match="alpha"):
            regressor(alpha=alpha, epsilon=0.1).plan(300, P)

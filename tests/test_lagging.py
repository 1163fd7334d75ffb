"""Frank-Wolfe with slopes that lag behind: one model in every storage, and what plans and certificates say."""

import numpy as np
import pytest
import scipy.sparse as sp

from dpsparse import (
    FrankWolfe,
    InvalidArgumentError,
    PenalisedFrankWolfe,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
)

N, P = 600, 400


def design(seed=0):
    """Sparse counts between 0 and 1, and labels by two frequent columns."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.uniform(size=(N, P)) < 0.02, rng.uniform(0.2, 1, size=(N, P)), 0.0)
    X[:, :2] = rng.uniform(size=(N, 2)) < 0.5
    return sp.csr_matrix(X), X[:, 0] - X[:, 1] + rng.normal(size=N) / 4


X, Z = design()
Y = Z > 0


def classifier(refresh="lagging", n_iter=40, **options):
    options = {"epsilon": 20.0, "fit_intercept": False, "random_state": 3} | options
    return PrivateSparseClassifier(
        mechanism=FrankWolfe(n_iter=n_iter, refresh=refresh), bounds=(0, 1), classes=(False, True), **options
    )


@pytest.mark.parametrize("options", [{}, {"fit_intercept": True}, {"adjacency": "add-remove", "delta": 1e-6}])
def test_storage_changes_no_model(options):
    if "adjacency" in options:
        options = options | {"n_public": N}
    models = [
        classifier(**options).fit(each, Y) for each in (X.toarray(), X, X.tocsc(), np.asfortranarray(X.toarray()))
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        np.testing.assert_array_equal(model.intercept_, models[0].intercept_)
    assert np.count_nonzero(models[0].coef_) > 1


def test_lag_costs_nothing_and_says_so():
    lagging, exact = (classifier(refresh).plan(N, P) for refresh in ("lagging", "exact"))
    assert lagging.events == exact.events
    assert lagging.noise_scales == exact.noise_scales
    assert lagging.parameters == {"score_tolerance": 4 / 128}  # L/(128 beta), beta = 1/4
    assert exact.parameters == {}
    assert classifier("auto").plan(N, P).parameters == {}
    assert classifier("auto").plan(N, 70_000).parameters == lagging.parameters
    model = classifier(random_state=None).fit(X, Y)
    assert "lag behind" in model.certificate_.mechanism
    assert model.certificate_.verify()


def test_scores_are_those_of_exact_slopes_nearly():
    scores = {
        refresh: [classifier(refresh, random_state=seed).fit(X, Y).score(X, Y) for seed in range(8)]
        for refresh in ("exact", "lagging")
    }
    exact, lagging = np.mean(scores["exact"]), np.mean(scores["lagging"])
    assert exact > 0.7  # a half of the labels are coins: .75 is the most
    assert abs(exact - lagging) < 0.02


def test_penalised_fits_and_regressions_take_it():
    mechanism = PenalisedFrankWolfe(alpha=0.01, n_iter=20, refresh="lagging")
    fits = [
        PrivateSparseRegressor(
            mechanism=mechanism, bounds=(0, 1), y_bounds=(-2, 2), fit_intercept=False, epsilon=20, random_state=1
        ).fit(each, np.clip(Z, -2, 2))
        for each in (X, X.toarray())
    ]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert "lag behind" in fits[0].certificate_.mechanism


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        (FrankWolfe(refresh="x"), {}),
        (FrankWolfe(refresh="lagging"), {"norm": "linf", "row_norm": 1.0}),
        (FrankWolfe(refresh="lagging"), {"classes": (0, 1, 2)}),
        (FrankWolfe(refresh="lagging", calibration="paper", allow_uncertified=True), {}),
    ],
)
def test_what_cannot_lag_is_refused(mechanism, options):
    options = {"bounds": (0, 1), "classes": (0, 1), "mechanism": mechanism} | options
    with pytest.raises(InvalidArgumentError, match="refresh"):
        PrivateSparseClassifier(**options).plan(N, P)

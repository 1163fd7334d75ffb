"""A fit of every mechanism: what was planned is spent, the certificate verifies, and the model has learned."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dpsparse import (
    DpsparseError,
    PrivateOnlineSimplex,
    PrivateScaler,
    PrivateSearchCV,
    PrivateSimplexClassifier,
    PrivateSimplexRegressor,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    SparseClassifier,
    UnsoundMechanismError,
)
from dpsparse.mechanisms import MECHANISMS

N, P, EPSILON = 4_000, 5, 20.0
PENALISED = {"penalised-frank-wolfe", "dual-frank-wolfe"}
FEATURES = np.random.default_rng(0).uniform(-1, 1, (N, P))
SCORES = 3 * FEATURES[:, 0] - 2 * FEATURES[:, 1]
NOISE = np.random.default_rng(1).uniform(size=N)
LABELS = np.where(np.log(NOISE / (1 - NOISE)) / 3 < SCORES, "yes", "no")
TARGETS = 0.3 * SCORES + 0.1 * (NOISE - 0.5)


def common(mechanism: str) -> dict[str, Any]:
    """Return parameters that a mechanism is fitted with."""
    return {"mechanism": mechanism, "epsilon": EPSILON, "bounds": (-1, 1)} | (
        {"alpha": 1e-3} if mechanism in PENALISED else {}
    )


def fitted(model: Any, y: npt.NDArray[Any]) -> Any:
    """Fit a model twice: a secure one spends what was planned, and a seeded one, returned, is the same every time."""
    plan = model.plan(N, P)
    certificate = model.fit(FEATURES, y).certificate_
    assert certificate.events == plan.events
    assert certificate.claim == (plan.epsilon, plan.delta)
    assert certificate.verify()
    return model.set_params(random_state=0).fit(FEATURES, y)


@pytest.mark.parametrize("mechanism", ["auto", *MECHANISMS])
def test_classifiers(mechanism: str) -> None:
    """Above nine tenths of what the same fit has without privacy."""
    model = PrivateSparseClassifier(classes=("no", "yes"), **common(mechanism))
    score = fitted(model, LABELS).score(FEATURES, LABELS)
    exact = SparseClassifier(alpha=1e-4).fit(FEATURES, LABELS).score(FEATURES, LABELS)
    assert score > 0.9 * exact


@pytest.mark.parametrize("mechanism", ["auto", *MECHANISMS])
def test_regressors(mechanism: str) -> None:
    """Better than the mean; or the mechanism says why it takes no squared loss."""
    model = PrivateSparseRegressor(y_bounds=(-2, 2), **common(mechanism))
    if mechanism == "objective-perturbation":
        with pytest.raises(UnsoundMechanismError):
            model.plan(N, P)
        model.set_params(loss="huber")
    assert fitted(model, TARGETS).score(FEATURES, TARGETS) > 0.2


def test_three_classes() -> None:
    """One softmax model, one budget."""
    y = np.digitize(SCORES, [-1.0, 1.0])
    model = PrivateSparseClassifier(epsilon=EPSILON, bounds=(-1, 1), classes=(0, 1, 2))
    assert fitted(model, y).coef_.shape == (3, P)
    assert model.score(FEATURES, y) > 0.7


def test_counts() -> None:
    """Rates that rise with the first feature."""
    y = np.random.default_rng(2).poisson(np.exp(0.5 + FEATURES[:, 0]))
    model = PrivateSparsePoissonRegressor(epsilon=EPSILON, bounds=(-1, 1), y_bounds=(0, 30))
    assert fitted(model, y).coef_[0] > 0.5


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (PrivateSimplexClassifier(epsilon=EPSILON, bounds=(-1, 1), classes=("no", "yes")), LABELS),
        (PrivateSimplexRegressor(epsilon=EPSILON, bounds=(-1, 1), y_bounds=(-1, 1)), FEATURES[:, 0]),
    ],
)
def test_the_simplex(model: Any, y: npt.NDArray[Any]) -> None:
    """Shares of a whole, most of it on the first feature."""
    coefficients = np.ravel(fitted(model, y).coef_)
    assert coefficients.min() >= 0
    assert coefficients.sum() == pytest.approx(1)
    assert coefficients.argmax() == 0


def test_the_online_learner_finds_the_cheapest() -> None:
    """And refuses a round past its horizon."""
    for seed in (None, 0):
        learner = PrivateOnlineSimplex(EPSILON, 1e-6, horizon=200, n_features=3, bound=1.0, random_state=seed)
        for _ in range(200):
            learner.update([1.0, -1.0, 1.0])
        assert learner.certificate_.verify() is (seed is None)
    assert learner.weights.tolist() == [0.0, 1.0, 0.0]
    with pytest.raises(DpsparseError):
        learner.update([0.0, 0.0, 0.0])


def test_scaler_and_search() -> None:
    """Both with certificates of their own."""
    scaler = PrivateScaler(epsilon=EPSILON, bounds=(-100, 100)).fit(FEATURES)
    assert np.abs(scaler.transform(FEATURES)).max() <= 1
    assert scaler.certificate_.verify()
    search = PrivateSearchCV(
        PrivateSparseClassifier(bounds=(-1, 1), classes=("no", "yes")), {"scale": [None, "private"]}, epsilon=EPSILON
    )
    assert search.fit(FEATURES, LABELS).certificate_.verify()
    assert search.set_params(random_state=0).fit(FEATURES, LABELS).score(FEATURES, LABELS) > 0.7

"""Mirror descent finds the constrained minimum where noise is small, in every geometry, and refuses what has none."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dpsparse import (
    DisjointGroups,
    InvalidArgumentError,
    MirrorDescent,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
)
from dpsparse.set_functions import ConcaveCardinality, GraphCut, Modular
from reference.certificates import keeps_its_claim

P = 6
NORMS = {
    "l1": "l1",
    "linf": "linf",
    "simplex": "simplex",
    "groups": DisjointGroups([0, 0, 1, 1, 2, 2]),
    "modular": Modular(np.array([1.0, 2.0, 1.0, 0.5, 1.0, 1.0])),
    "sorted": ConcaveCardinality([1.0, 1.7, 2.2, 2.5, 2.7, 2.7]),
}


def omega(name, theta):
    sizes = np.sort(np.abs(theta))[::-1]
    if name == "groups":
        return sum(np.abs(theta[g]).max() for g in ([0, 1], [2, 3], [4, 5]))
    if name == "modular":
        return np.abs(theta) @ [1.0, 2.0, 1.0, 0.5, 1.0, 1.0]
    if name == "sorted":
        return sizes @ np.diff([0.0, 1.0, 1.7, 2.2, 2.5, 2.7, 2.7])
    return {"l1": sizes.sum(), "linf": sizes[0], "simplex": np.sum(theta)}[name]


def problem(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, P))
    y = np.clip(X @ [0.8, -0.5, 0.3, 0.0, 0.0, 0.2] + rng.normal(size=n) / 10, -2, 2)
    return X, y


def best(name, X, y, radius):
    """The least mean squared loss over the ball, by a general solver over theta = positive - negative part."""
    gram, moment = X.T @ X / len(X), X.T @ y / len(X)

    def loss(theta):
        return 0.5 * theta @ gram @ theta - theta @ moment

    if name == "simplex":
        constraints = [{"type": "eq", "fun": lambda theta: theta.sum() - radius}]
        start, bounds = np.full(P, radius / P), [(0, None)] * P
    else:
        constraints = [{"type": "ineq", "fun": lambda theta: radius - omega(name, theta)}]
        start, bounds = np.linspace(0.02, 0.03, P), None
    starts = [start] if name == "simplex" else [start, -start, start * [1, -1, 1, -1, 1, -1]]
    found = [minimize(loss, s, bounds=bounds, constraints=constraints, tol=1e-12) for s in starts]
    return loss, min(result.fun for result in found)


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("potential", ["auto", "euclidean"])
def test_little_noise_is_the_constrained_minimum(name, potential):
    if name == "simplex" and potential == "euclidean":
        pytest.skip("refused: below")
    X, y = problem()
    radius = 0.6
    model = PrivateSparseRegressor(
        epsilon=1e4,
        delta=0.1,
        bounds=(-1, 1),
        y_bounds=(-1, 1),
        mechanism=MirrorDescent(n_iter=1500, potential=potential),
        norm=NORMS[name],
        radius=radius,
        residual_bound=4.0,
        fit_intercept=False,
        random_state=0,
    ).fit(X, np.clip(y, -1, 1))
    loss, least = best(name, X, np.clip(y, -1, 1), radius)
    # Targets and features are in scaled units as they are.
    assert omega(name, model.coef_) <= radius * (1 + 1e-6)
    assert loss(model.coef_) - least <= 2e-3 * abs(least)
    if name == "simplex":
        assert (model.coef_ >= 0).all()
        assert model.coef_.sum() == pytest.approx(radius)


def test_its_certificate_is_that_of_noisy_gradients():
    X, y = problem(2000)
    model = PrivateSparseRegressor(epsilon=1.0, bounds=(-1, 1), y_bounds=(-2, 2), mechanism="mirror-descent")
    plan = model.plan(*X.shape)
    fitted = model.fit(X, y)
    assert fitted.certificate_.verify()
    assert fitted.certificate_.events == plan.events
    assert keeps_its_claim(fitted.certificate_)
    ((event, count),) = plan.events
    assert count == plan.n_iter
    assert type(event).__name__ == "GaussianEvent"


def test_three_classes_have_a_ball_each():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (20_000, 4))
    y = np.argmax(np.column_stack([X[:, 0], X[:, 1], -X[:, 0] - X[:, 1]]) + rng.gumbel(size=(20_000, 3)) / 4, axis=1)
    model = PrivateSparseClassifier(
        epsilon=8.0, bounds=(-1, 1), classes=(0, 1, 2), mechanism=MirrorDescent(radius=2.0), random_state=0
    ).fit(X, y)
    assert (np.abs(model.coef_).sum(axis=1) <= 2 * (1 + 1e-6)).all()
    assert model.score(X, y) > 0.6  # a third by chance


@pytest.mark.parametrize(
    ("norm", "mechanism", "name"),
    [
        ("simplex", MirrorDescent(potential="euclidean"), "potential"),
        ("l1", MirrorDescent(potential="entropy"), "potential"),
        ("linf", MirrorDescent(potential="p-norm"), "potential"),
        ("l1", MirrorDescent(potential="newton"), "potential"),
        ("l1", MirrorDescent(step=0.0), "step"),
        ("l1", MirrorDescent(radius=-1.0), "radius"),
        ("l1", MirrorDescent(n_iter=0), "n_iter"),
        (GraphCut([(0, 1)], n_features=2), MirrorDescent(), "norm"),
    ],
)
def test_what_is_refused(norm, mechanism, name):
    model = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1), norm=norm, mechanism=mechanism)
    with pytest.raises(InvalidArgumentError, match=name):
        model.plan(1000, 2)

"""Records with four features that matter among ten of unequal spread, for models in units of the public bounds."""

import numpy as np

from dpsparse import PrivateSparseClassifier, PrivateSparseRegressor

N, P, FAR, HIGH = 20_000, 10, 20.0, 100.0
THETA = np.array([0.0, 0.0, 1.5, -1.0, 0.0, 0.5, 0.0, 0.0, -0.3, 0.0])
SUPPORT = [2, 3, 5, 8]


def features(seed):
    """Draw features that lie far within their bounds, and return the generator with them."""
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(N, P)) * np.geomspace(0.5, 3, P)


def reals():
    rng, X = features(0)
    return X, X @ THETA + 5.0 + rng.normal(size=N)


def classes():
    rng, X = features(1)
    return X, np.where(rng.random(N) < 1 / (1 + np.exp(-0.5 * X @ THETA)), 1, -1)


def counts():
    rng, X = features(3)
    return X, rng.poisson(np.exp(1.0 + 0.2 * X @ THETA))


def regressor(**arguments):
    facts = {"epsilon": 10.0, "delta": 1e-9, "bounds": (-FAR, FAR), "y_bounds": (-HIGH, HIGH), "random_state": 0}
    return PrivateSparseRegressor(**{**facts, **arguments})


def classifier(**arguments):
    facts = {"epsilon": 1000.0, "delta": 1e-9, "bounds": (-FAR, FAR), "classes": (-1, 1), "random_state": 0}
    return PrivateSparseClassifier(**{**facts, **arguments})


def off(found, exact):
    return np.linalg.norm(found - exact) / np.linalg.norm(exact)

"""Every private estimator and mechanism, small enough to be fitted a thousand times."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dpsparse
from dpsparse import (
    DualFrankWolfe,
    FrankWolfe,
    MirrorDescent,
    NoisyGradientFrankWolfe,
    NoisyNewton,
    NoisyProximalGradient,
    ObjectivePerturbation,
    OutputPerturbation,
    PenalisedFrankWolfe,
    PrivateScaler,
    PrivateSearchCV,
    PrivateSimplexClassifier,
    PrivateSimplexRegressor,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    SelectRefit,
    SgdOutput,
    mechanisms,
)
from dpsparse.set_functions import ConcaveCardinality

N, P = 40, 3
EPSILON, DELTA = 1.0, 1e-6

MECHANISMS = {
    "frank-wolfe": FrankWolfe(n_iter=4),
    "frank-wolfe, constant time": FrankWolfe(n_iter=4, constant_time=True),
    "lagging frank-wolfe": FrankWolfe(n_iter=4, refresh="lagging"),
    "penalised-frank-wolfe": PenalisedFrankWolfe(alpha=0.01, n_iter=4),
    "noisy-gradient-frank-wolfe": NoisyGradientFrankWolfe(n_iter=4),
    "noisy-proximal-gradient": NoisyProximalGradient(n_iter=4, alpha=0.01),
    "mirror-descent": MirrorDescent(n_iter=4),
    "noisy-newton": NoisyNewton(n_iter=3),
    "dual by noisy iterates": DualFrankWolfe("noisy-iterates", n_iter=2, alpha=0.05, ridge=0.5),
    "dual by selection": DualFrankWolfe("selection", n_iter=2, alpha=0.05, ridge=0.5),
    **{f"output, {noise}": OutputPerturbation(ridge=0.5, noise=noise) for noise in ("gaussian", "gamma", "laplace")},
    **{
        f"early stopping, {noise}": OutputPerturbation(mode="early-stopping", n_iter=3, noise=noise)
        for noise in ("gaussian", "gamma", "laplace")
    },
    **{f"objective, {noise}": ObjectivePerturbation(ridge=0.5, noise=noise) for noise in ("gaussian", "gamma")},
    **{f"sgd, {noise}": SgdOutput(n_passes=1, noise=noise) for noise in ("gaussian", "gamma", "laplace")},
    "select-refit": SelectRefit(n_selected=1),
    "select-refit by Newton steps": SelectRefit(n_selected=1, refit="noisy-newton"),
    "auto": "auto",
}
PAIRS = {"norm": ConcaveCardinality([1.0, 2.0, 2.0])}  # what the dual mechanisms take
OF_THREE_CLASSES = ("frank-wolfe", "noisy-newton", "noisy-proximal-gradient", "output, gaussian", "auto")
OF_COUNTS = ("frank-wolfe", "noisy-gradient-frank-wolfe", "auto")


@dataclass(frozen=True)
class Entry:
    """An estimator with a mechanism, and what its targets are."""

    make: Callable[..., Any]
    targets: str
    mechanism: str = ""


def _sparse(kind, name, **facts):
    mechanism = MECHANISMS[name]
    norm = PAIRS if isinstance(mechanism, DualFrankWolfe) else {}

    def make(**arguments):
        return kind(**{"epsilon": EPSILON, "delta": DELTA, "mechanism": mechanism, **norm, **facts, **arguments})

    return make


def _entries():
    box = {"bounds": (-1.0, 1.0)}
    for name in MECHANISMS:
        yield (
            f"classifier: {name}",
            Entry(_sparse(PrivateSparseClassifier, name, classes=(-1, 1), **box), "classes", name),
        )
        loss = {} if name == "auto" else {"loss": "huber"}
        regressor = _sparse(PrivateSparseRegressor, name, y_bounds=(-1.0, 1.0), **loss, **box)
        yield f"regressor: {name}", Entry(regressor, "reals", name)
    for name in OF_THREE_CLASSES:
        make = _sparse(PrivateSparseClassifier, name, classes=(0, 1, 2), **box)
        yield f"three classes: {name}", Entry(make, "three classes", name)
    for name in OF_COUNTS:
        make = _sparse(PrivateSparsePoissonRegressor, name, y_bounds=(0.0, 4.0), **box)
        yield f"counts: {name}", Entry(make, "counts", name)
    simplex = {"epsilon": EPSILON, "delta": DELTA, **box}
    yield (
        "simplex classifier",
        Entry(lambda **arguments: PrivateSimplexClassifier(**{**simplex, "classes": (-1, 1), **arguments}), "classes"),
    )
    facts = {**simplex, "y_bounds": (-1.0, 1.0)}
    yield "simplex regressor", Entry(lambda **arguments: PrivateSimplexRegressor(**{**facts, **arguments}), "reals")
    ranges = {"epsilon": EPSILON, **box}
    yield "scaler", Entry(lambda **arguments: PrivateScaler(**{**ranges, **arguments}), "reals")

    def search(**arguments):
        inner = PrivateSparseClassifier(mechanism=FrankWolfe(n_iter=2), classes=(-1, 1), **box)
        facts = {"estimator": inner, "param_grid": {"radius": [1.0, 3.0]}, "epsilon": EPSILON, "delta": DELTA}
        return PrivateSearchCV(**{**facts, **arguments})

    yield "search", Entry(search, "classes")


CATALOGUE = dict(_entries())


def missing():
    """Private estimators and mechanisms of the package that the catalogue leaves out."""
    estimators = {name for name in dpsparse.__all__ if name.startswith("Private")} - {"PrivateOnlineSimplex"}
    made = {type(entry.make()).__name__ for entry in CATALOGUE.values()}
    objects = {type(mechanism).__name__ for mechanism in MECHANISMS.values()}
    wanted = {name for name in mechanisms.__all__ if isinstance(getattr(mechanisms, name), type)}
    return (estimators - made) | (wanted - objects)


def targets_of(kind, scores):
    match kind:
        case "classes":
            return np.where(scores > 0, 1, -1)
        case "three classes":
            return np.digitize(scores, [-0.5, 0.5])
        case "counts":
            return np.floor(np.exp(np.clip(scores, -2.0, 1.3)))
    return scores


def records(kind, seed=0, n=N, p=P):
    """Features in the bounds, a third of them zero, and targets that depend on them."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.uniform(size=(n, p)) < 0.33, 0.0, rng.uniform(-1, 1, (n, p)))
    return X, targets_of(kind, X[:, 0] - X[:, 1] + rng.normal(0, 0.3, n))


def neighbours(kind, seed=0, n=N, p=P):
    """Data sets that differ from the first one in one record, as far as one can."""
    X, y = records(kind, seed, n, p)
    extreme = targets_of(kind, np.array([-9.0, 9.0]))
    rows = {
        "another": X[1],
        "zero": np.zeros(p),
        "negative zero": np.full(p, -0.0),
        "a corner": np.ones(p),
        "the other corner": -np.ones(p),
        "far outside": np.full(p, 1e308),
        "far below": np.full(p, -1e308),
        "subnormal": np.full(p, 5e-324),
    }
    yield "itself", X, y
    for name, row in rows.items():
        for target in extreme:
            other_X, other_y = X.copy(), y.copy()
            other_X[n // 2], other_y[n // 2] = row, target
            yield f"{name}, {target}", other_X, other_y

"""Rival: the plain exponential-mechanism Frank-Wolfe in numpy (Talwar, Thakurta & Zhang 2015), tuned on the test set.

Each step draws a vertex of the l1 ball by Gumbel noise on the float scores, and T steps compose by zCDP (eps0^2 / 8
each). Its noise is a float: good for accuracy, not for people's data.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from accuracy_problem import Problem, features, targets
from accuracy_tuning import tuned
from dpsparse.privacy import rho_from_epsilon

NAME = "Frank-Wolfe in numpy, tuned on the test set"


class Setting(NamedTuple):
    """One point of the grid; lipschitz clamps the derivative of the loss."""

    epsilon: float
    radius: float
    lipschitz: float


def run(problem: Problem, epsilons: tuple[float, ...], seeds: int, quick: bool) -> list[dict[str, Any]]:
    """Return a row for each epsilon and seed."""
    radii = (10.0, 30.0, 100.0, 300.0) if problem.text else (1.0, 3.0, 10.0, 30.0)
    clamps = (0.3, 1.0) if problem.regression else (1.0,)
    settings = [Setting(*each) for each in product(epsilons, radii, clamps)]
    variants = product(problem.scalings, (1, 40) if quick else (1, 2, 5, 10, 20, 40, 80, 160))
    return tuned(problem, NAME, _fit, variants, settings, seeds)


def _fit(problem: Problem, scaling: str, steps: int, settings: Sequence[Setting], seed: int) -> Iterator[np.ndarray]:
    """Yield margins on the test set, a column per setting."""
    X, y, X_test, _ = problem.split(seed)
    Z, Z_test = (features(problem, each, scaling) for each in (X, X_test))
    theta = _frank_wolfe(problem, Z, targets(problem, y), steps, settings, np.random.default_rng(seed))
    yield np.asarray(Z_test @ theta)


def _frank_wolfe(
    problem: Problem, Z: Any, y: np.ndarray, steps: int, settings: Sequence[Setting], generator: np.random.Generator
) -> np.ndarray:
    n, p = Z.shape
    columns = sp.csc_matrix(Z) if sp.issparse(Z) else np.asfortranarray(Z)
    transposed = columns.T
    radius = np.array([each.radius for each in settings], dtype=np.float32)
    clamp = np.array([each.lipschitz for each in settings], dtype=np.float32)
    eps0 = np.array([(8 * rho_from_epsilon(each.epsilon, problem.delta) / steps) ** 0.5 for each in settings])
    # Scores are +-g_j, summed over records with entries in [-1, 1]; the radius scales score and sensitivity alike.
    scale = (2 * clamp * problem.moved / eps0).astype(np.float32)
    theta = np.zeros((p, len(settings)), dtype=np.float32)
    z = np.zeros((n, len(settings)), dtype=np.float32)
    every = np.arange(len(settings))
    for t in range(steps):
        derivative = z - y[:, None] if problem.regression else -y[:, None] * expit(-y[:, None] * z)
        g = transposed @ np.clip(derivative, -clamp, clamp)
        up = -g + generator.gumbel(size=g.shape).astype(np.float32) * scale
        down = g + generator.gumbel(size=g.shape).astype(np.float32) * scale
        best_up, best_down = up.argmax(axis=0), down.argmax(axis=0)
        rises = up[best_up, every] > down[best_down, every]
        chosen, move = np.where(rises, best_up, best_down), np.where(rises, radius, -radius)
        weight = 2 / (t + 2)
        column = columns[:, chosen]
        z = (1 - weight) * z + weight * move * (column.toarray() if sp.issparse(column) else column)
        theta *= 1 - weight
        theta[chosen, every] += weight * move
    return theta

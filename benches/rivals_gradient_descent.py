"""Rival: full-batch noisy gradient descent in numpy, tuned on the test set.

Per-record gradients are clipped, Gaussian noise is added to their sum, and T steps compose as one Gaussian mechanism
(Gaussian differential privacy); the mean of the last half of the iterates counts. Its noise is a float: good for
accuracy, not for people's data.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from accuracy_problem import OPEN, PEOPLE, Problem, features, row_bound, targets
from accuracy_tuning import tuned
from dpsparse.privacy import gaussian_sigma

NAME = "gradient descent, tuned on the test set"
#: Not private, and no rival: it shows what features clipped to their quantiles would be worth.
UNPAID = "unpaid: gradient descent on quantiles of the data"
#: Numbers of one block of margins: 4 million float32 stay near the caches.
BLOCK = 4_000_000


class Setting(NamedTuple):
    """One point of the grid; clip is a share of the public bound on a row, step a multiple of 1 / mean |x|^2."""

    epsilon: float
    clip: float
    step: float
    momentum: float


def run(problem: Problem, epsilons: tuple[float, ...], seeds: int, quick: bool) -> list[dict[str, Any]]:
    """Return a row for each epsilon and seed."""
    clips: tuple[float, ...] = (1.0, 0.5) if problem.text else (1.0, 0.3, 0.1)
    if problem.collection == PEOPLE:
        clips += (0.03, 0.01, 0.003) if problem.regression else (0.03,)
    sizes: tuple[float, ...] = (1.0, 4.0, 16.0, 64.0)
    momenta: tuple[float, ...] = (0.0, 0.9, 0.97)
    steps: tuple[int, ...] = (1, 3, 10, 30, 100) if problem.text else (1, 3, 10, 30, 100, 300)
    if quick:
        clips, sizes, momenta, steps = clips[::2], (4.0, 64.0), (0.0, 0.9), (1, 30)
    settings = [Setting(*each) for each in product(epsilons, clips, sizes, momenta)]
    rows = tuned(problem, NAME, _fit, product(problem.scalings, steps), settings, seeds)
    if problem.regression and problem.collection == OPEN:
        # The best rival of accuracy_targets.py on diamonds is above least squares, which takes clipped features.
        rows += tuned(problem, UNPAID, _fit, product(["quantiles"], steps), settings, seeds)
    return rows


def _fit(problem: Problem, scaling: str, steps: int, settings: Sequence[Setting], seed: int) -> Iterator[np.ndarray]:
    """Yield margins on the test set, a column per setting."""
    X, y, X_test, _ = problem.split(seed)
    Z, Z_test = (features(problem, each, scaling, train=X) for each in (X, X_test))
    y = targets(problem, y)
    bound = row_bound(problem, scaling)
    generator = np.random.default_rng(seed)
    width = max(1, BLOCK // len(y))
    for start in range(0, len(settings), width):
        theta = _descend(problem, Z, y, bound, steps, settings[start : start + width], generator)
        yield np.asarray(Z_test @ theta)


def _descend(
    problem: Problem,
    Z: Any,
    y: np.ndarray,
    bound: float,
    steps: int,
    settings: Sequence[Setting],
    generator: np.random.Generator,
) -> np.ndarray:
    n, p = Z.shape
    squares = np.asarray((Z.multiply(Z) if hasattr(Z, "multiply") else Z * Z).sum(axis=1)).reshape(-1, 1)
    clip = np.array([setting.clip * bound for setting in settings])
    sensitivity = clip * problem.moved * steps**0.5
    sigma = np.array(
        [gaussian_sigma(d, each.epsilon, problem.delta) for d, each in zip(sensitivity, settings, strict=True)]
    ).astype(np.float32)
    largest = (clip / np.sqrt(np.maximum(squares, 1e-12))).astype(np.float32)
    step = np.array([each.step for each in settings], dtype=np.float32) / np.float32(squares.mean())
    momentum = np.array([each.momentum for each in settings], dtype=np.float32)
    theta, velocity, mean = (np.zeros((p, len(settings)), dtype=np.float32) for _ in range(3))
    transposed = Z.T.tocsr() if hasattr(Z, "tocsr") else Z.T
    for t in range(steps):
        z = Z @ theta
        derivative = z - y[:, None] if problem.regression else -y[:, None] * expit(-y[:, None] * z)
        np.clip(derivative, -largest, largest, out=derivative)
        noise = generator.standard_normal(theta.shape, dtype=np.float32) * sigma
        velocity = momentum * velocity - step * ((transposed @ derivative + noise) / n)
        # A step too long for its curvature diverges: it only has to lose, not to overflow.
        theta = np.clip(theta + velocity, -1e6, 1e6)
        if t >= steps // 2:
            mean += theta
    return mean / (steps - steps // 2)

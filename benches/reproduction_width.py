"""Kumar & Deisenroth 2019, section 5: does the structure of the ball show in the error of a private fit?

Excess risk of mechanisms against n, p, epsilon and the Gaussian width of the ball, for the l1 norm, groups, a tree and
contiguous ranges. Claims: none but that the table is printed; slopes are of log excess against log of what varies, and
"loose" marks where the excess that plans predict by their theorems is more than 3 times what is measured. A part of
``python benches/reproduction.py width``.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from _timing import QUICK, headline
from dpsparse import DisjointGroups, MirrorDescent, PrivateSparseRegressor
from dpsparse.set_functions import Cardinality, ContiguousRange, GroupCover, Tree

#: Features of the true model: its coefficients are of one size and add up to 1.
USED = 4
#: Prediction by a theorem over measurement from which on it is called loose.
LOOSE = 3.0
DELTA = 1e-6
POINT = (5_000, 32, 1.0) if QUICK else (50_000, 32, 1.0)
SEEDS = 2 if QUICK else 5


class Ball(NamedTuple):
    """A norm as estimators take it, its set function, and the true coefficients."""

    norm: Any
    function: Any
    theta: np.ndarray

    @property
    def radius(self) -> float:
        return float(self.function.norm(self.theta))

    def width(self) -> float:
        """Mean over normal vectors of the largest inner product with the ball."""
        normal = np.random.default_rng(0).standard_normal((200, len(self.theta)))
        return self.radius * float(np.mean([self.function.dual_norm(g) for g in normal]))


def true_model(p: int, at: Sequence[int]) -> np.ndarray:
    theta = np.zeros(p)
    theta[list(at)] = 1.0 / USED
    return theta


def subtrees(p: int) -> list[list[int]]:
    """Return the groups of a binary tree over p leaves."""
    groups, size = [], p
    while size >= 1:
        groups += [list(range(start, start + size)) for start in range(0, p, size)]
        size //= 2
    return groups


def balls(p: int) -> dict[str, Ball]:
    fours = [list(range(start, start + USED)) for start in range(0, p, USED)]
    apart, together = true_model(p, range(0, p, p // USED)), true_model(p, range(USED))
    return {
        "l1": Ball("l1", Cardinality(p), apart),
        "groups": Ball(DisjointGroups(fours), GroupCover(fours), together),
        "tree": Ball(Tree(subtrees(p), n_features=p), Tree(subtrees(p), n_features=p), together),
        "ranges": Ball(ContiguousRange(p), ContiguousRange(p), together),
    }


#: Arguments of the estimator; those with a radius are told that of the true model.
MECHANISMS: dict[str, dict[str, Any]] = {
    "mirror-descent": {"mechanism": "mirror-descent"},
    "mirror-descent, Euclidean": {"mechanism": MirrorDescent(potential="euclidean")},
    "noisy-gradient-frank-wolfe": {"mechanism": "noisy-gradient-frank-wolfe"},
    "noisy-proximal-gradient": {"mechanism": "noisy-proximal-gradient"},
    "dual-frank-wolfe": {"mechanism": "dual-frank-wolfe", "alpha": 0.001},
    "output-perturbation": {"mechanism": "output-perturbation"},
    "objective-perturbation": {"mechanism": "objective-perturbation"},
}
OF_A_BALL = ("mirror-descent", "mirror-descent, Euclidean", "noisy-gradient-frank-wolfe")


def huber(residuals: np.ndarray) -> float:
    sizes = np.abs(residuals)
    return float(np.mean(np.where(sizes <= 1.0, 0.5 * sizes**2, sizes - 0.5)))


def measured(name: str, ball: Ball, n: int, epsilon: float) -> tuple[float, float]:
    """Return the median excess of the mean loss over that of the true model, which is 0, and the plan's prediction."""
    p, values = len(ball.theta), []
    arguments = MECHANISMS[name] | ({"radius": ball.radius} if name in OF_A_BALL else {})
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        X = 2.0 * rng.integers(0, 2, (n, p), dtype=np.int8) - 1.0
        model = PrivateSparseRegressor(
            epsilon=epsilon,
            delta=DELTA,
            loss="huber",
            norm=ball.norm,
            bounds=(-1, 1),
            y_bounds=(-1, 1),
            scale=None,
            fit_intercept=False,
            random_state=seed,
            **arguments,
        ).fit(X, X @ ball.theta)
        values.append(huber(X @ (model.coef_ - ball.theta)))
    return float(np.median(values)), model.plan(n, p).predicted_excess_risk


def slope(points: Sequence[float], values: Sequence[float]) -> float:
    return float(np.polyfit(np.log(points), np.log(values), 1)[0])


def against(title: str, points: Sequence[float], at: Callable[[float], tuple[int, int, float]]) -> None:
    """Print slopes of the excess along one axis, a row a mechanism and a column a ball."""
    kinds = list(balls(POINT[1]))
    print(f"  slope of log excess against log {title}, {points[0]:g} to {points[-1]:g}")
    print(f"    {'':>28s}" + "".join(f"{kind:>10s}" for kind in kinds))
    for name in MECHANISMS:
        cells = []
        for kind in kinds:
            values = []
            for n, p, epsilon in map(at, points):
                values.append(measured(name, balls(p)[kind], n, epsilon)[0])
            cells.append(f"{slope(points, values):10.2f}")
        print(f"    {name:>28s}" + "".join(cells), flush=True)


def width() -> None:
    """Print the tables."""
    n, p, epsilon = POINT
    headline(
        f"Kumar & Deisenroth 2019, section 5: structure and error; n {n}, p {p}, epsilon {epsilon:g} unless varied"
    )
    kinds = balls(p)
    print("  Gaussian width of the ball: " + ", ".join(f"{kind} {ball.width():.3f}" for kind, ball in kinds.items()))
    print("  median excess (prediction over it where that is loose)")
    print(f"    {'':>28s}" + "".join(f"{kind:>26s}" for kind in kinds) + "   slope in width")
    for name in MECHANISMS:
        cells, values = [], []
        for ball in kinds.values():
            value, predicted = measured(name, ball, n, epsilon)
            values.append(value)
            ratio = predicted / value
            loose = f" (loose {ratio:.2g})" if math.isfinite(ratio) and ratio > LOOSE else ""
            cells.append(f"{value:.2e}{loose}".rjust(26))
        of_width = slope([ball.width() for ball in kinds.values()], values)
        print(f"    {name:>28s}" + "".join(cells) + f"{of_width:10.2f}", flush=True)
    against("n", [n // 4, n, 4 * n], lambda size: (int(size), p, epsilon))
    against("p", [p // 2, p, 2 * p, 4 * p], lambda size: (n, int(size), epsilon))
    against("epsilon", [epsilon / 4, epsilon, 4 * epsilon], lambda size: (n, p, size))

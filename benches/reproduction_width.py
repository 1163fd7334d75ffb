"""Kumar & Deisenroth 2019, section 5: does the structure of the ball show in the error of a private fit?

Excess risk of mechanisms against n, p, epsilon and the Gaussian width of the ball, for the l1 norm, groups, a tree,
contiguous ranges and a chain (total variation, a seminorm, whose ball is unbounded: mechanisms of a ball refuse).
Claims: none but that the table is printed. Slopes are of log excess against log of what varies, measured beside that
of the excess that plans predict by their theorems; "loose" marks where the prediction is more than 3 times as much.
Where matplotlib is installed, reproduction_width.svg goes to the folder for temporary files.

A part of ``python benches/reproduction.py width``.
"""

import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from _timing import QUICK, headline
from dpsparse import DisjointGroups, InvalidArgumentError, MirrorDescent, PrivateSparseRegressor
from dpsparse.set_functions import Cardinality, ContiguousRange, GraphCut, GroupCover, Tree

try:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    pyplot = None

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
        """Norm of the true coefficients; 0 for a seminorm, which has no ball."""
        return float(self.function.norm(self.theta)) if self.function.is_monotone else 0.0

    def width(self) -> float:
        """Mean over normal vectors of the largest inner product with the ball."""
        if not self.function.is_monotone:
            return math.inf
        normal = np.random.default_rng(0).standard_normal((200, len(self.theta)))
        return self.radius * float(np.mean([self.function.dual_norm(g) for g in normal]))


class Excess(NamedTuple):
    """Median excess risk, and what the plan predicts by its theorem."""

    measured: float
    predicted: float


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


def chain(p: int) -> GraphCut:
    return GraphCut([(j, j + 1) for j in range(p - 1)], n_features=p)


def balls(p: int) -> dict[str, Ball]:
    fours = [list(range(start, start + USED)) for start in range(0, p, USED)]
    apart, together = true_model(p, range(0, p, p // USED)), true_model(p, range(USED))
    return {
        "l1": Ball("l1", Cardinality(p), apart),
        "groups": Ball(DisjointGroups(fours), GroupCover(fours), together),
        "tree": Ball(Tree(subtrees(p), n_features=p), Tree(subtrees(p), n_features=p), together),
        "ranges": Ball(ContiguousRange(p), ContiguousRange(p), together),
        "chain": Ball(chain(p), chain(p), together),
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


def excess(name: str, ball: Ball, n: int, epsilon: float) -> Excess | None:
    """Return the excess of the mean loss over that of the true model, which is 0; None where the norm is refused."""
    p, values = len(ball.theta), []
    arguments = MECHANISMS[name] | ({"radius": ball.radius} if name in OF_A_BALL else {})
    for seed in range(SEEDS):
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
        )
        try:
            predicted = model.plan(n, p).predicted_excess_risk
        except InvalidArgumentError:
            return None
        rng = np.random.default_rng(seed)
        X = 2.0 * rng.integers(0, 2, (n, p), dtype=np.int8) - 1.0
        model.fit(X, X @ ball.theta)
        values.append(huber(X @ (model.coef_ - ball.theta)))
    return Excess(float(np.median(values)), predicted)


def slope(points: Sequence[float], values: Sequence[float]) -> float:
    return float(np.polyfit(np.log(points), np.log(values), 1)[0])


Found = dict[tuple[str, str], list[Excess]]


def against(title: str, points: Sequence[float], at: Callable[[float], tuple[int, int, float]]) -> Found:
    """Print slopes of the excess along one axis, a row a mechanism and a column a ball; return what they are of."""
    kinds, found = list(balls(POINT[1])), {}
    print(f"  slope of log excess against log {title}, {points[0]:g} to {points[-1]:g}; in brackets the theorem's")
    print(f"    {'':>28s}" + "".join(f"{kind:>16s}" for kind in kinds))
    for name in MECHANISMS:
        cells = []
        for kind in kinds:
            values = [excess(name, balls(p)[kind], n, epsilon) for n, p, epsilon in map(at, points)]
            kept = [value for value in values if value is not None]
            if len(kept) < len(points):
                cells.append("refused".rjust(16))
                continue
            found[name, kind] = kept
            by_theorem = [value.predicted for value in kept]
            stated = f"({slope(points, by_theorem):.2f})" if all(map(math.isfinite, by_theorem)) else "(none)"
            cells.append(f"{slope(points, [value.measured for value in kept]):.2f} {stated}".rjust(16))
        print(f"    {name:>28s}" + "".join(cells), flush=True)
    return found


def at_a_point() -> Found:
    """Print the excess at one point, and its slope in the width; return it."""
    n, p, epsilon = POINT
    kinds, found = balls(p), {}
    print("  Gaussian width of the ball: " + ", ".join(f"{kind} {ball.width():.3f}" for kind, ball in kinds.items()))
    print("  median excess (prediction over it where that is loose)")
    print(f"    {'':>28s}" + "".join(f"{kind:>26s}" for kind in kinds) + "   slope in width")
    for name in MECHANISMS:
        cells, widths, values = [], [], []
        for kind, ball in kinds.items():
            value = excess(name, ball, n, epsilon)
            if value is None:
                cells.append("refused".rjust(26))
                continue
            found[name, kind] = [value]
            ratio = value.predicted / value.measured
            loose = f" (loose {ratio:.2g})" if math.isfinite(ratio) and ratio > LOOSE else ""
            cells.append(f"{value.measured:.2e}{loose}".rjust(26))
            if math.isfinite(ball.width()):
                widths.append(ball.width())
                values.append(value.measured)
        print(f"    {name:>28s}" + "".join(cells) + f"{slope(widths, values):10.2f}", flush=True)
    return found


def draw(path: Path, found: dict[str, tuple[Sequence[float], Found]], point: Found) -> None:
    """Draw a row of panels for each axis, a panel for each ball, and one against the width; dotted: by the theorems."""
    kinds = balls(POINT[1])
    size = (2.3 * len(kinds), 2.1 * (len(found) + 1))
    figure, axes = pyplot.subplots(len(found) + 1, len(kinds), figsize=size, sharey="row")
    colours = dict(zip(MECHANISMS, pyplot.get_cmap("tab10").colors, strict=False))
    for row, (title, (points, of)) in zip(axes, found.items(), strict=False):
        for axis, kind in zip(row, kinds, strict=True):
            for name, colour in colours.items():
                values = of.get((name, kind), [])
                if values:
                    axis.loglog(points, [v.measured for v in values], "o-", color=colour, markersize=3, label=name)
                    axis.loglog(points, [v.predicted for v in values], ":", color=colour, linewidth=1.0)
            _frame(axis, f"{kind}, against {title}")
    for axis in axes[-1][1:]:
        axis.axis("off")
    last = axes[-1][0]
    bounded = sorted((ball.width(), kind) for kind, ball in kinds.items() if math.isfinite(ball.width()))
    for name, colour in colours.items():
        at = [(width, point[name, kind][0].measured) for width, kind in bounded if (name, kind) in point]
        last.loglog([width for width, _ in at], [value for _, value in at], "o-", color=colour, markersize=3)
    _frame(last, "all, against the width")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower right", ncols=2, fontsize=9, title="excess risk; dotted: by the theorem")
    figure.tight_layout()
    with pyplot.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dpsparse"}):
        figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    print(f"  {path}")


def _frame(axis: Any, title: str) -> None:
    """Label decades alone, which keeps plots small."""
    axis.minorticks_off()
    axis.set_title(title, fontsize=9)
    axis.tick_params(labelsize=7)


def width() -> None:
    """Print the tables and draw them."""
    n, p, epsilon = POINT
    headline(
        f"Kumar & Deisenroth 2019, section 5: structure and error; n {n}, p {p}, epsilon {epsilon:g} unless varied"
    )
    point = at_a_point()
    axes: dict[str, tuple[Sequence[float], Callable[[float], tuple[int, int, float]]]] = {
        "n": ([n // 4, n, 4 * n], lambda size: (int(size), p, epsilon)),
        "p": ([p // 2, p, 2 * p, 4 * p], lambda size: (n, int(size), epsilon)),
        "epsilon": ([epsilon / 4, epsilon, 4 * epsilon], lambda size: (n, p, size)),
    }
    found = {title: (points, against(title, points, at)) for title, (points, at) in axes.items()}
    if pyplot is not None:
        draw(Path(tempfile.gettempdir()) / "reproduction_width.svg", found, point)
